//! Langfuse: exported traces with their observations, and observations alone. Exports parse JSON in
//! strings, so that what the model wrote is often lost.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, Tree};
use goodcall_wire::recorded::{TokenCount, is_reply, is_request};
use serde_json::Value;

use super::exchange::Exchange;
use super::fields::{CUT_OFF, container, elements, is_cut_off, json, text, time};
use super::{
    CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable, langchain,
};
use crate::recorded::{KnownTools, OfferedTools, RecordedCall, RecordedTurn, SentArguments};

pub(super) struct Langfuse;

impl LogFormat for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let is_trace = record.get("trace").is_some() && container(record, "observations").is_some();
        let list = elements(record, "observations");
        is_trace || is_observation(record) || list.into_iter().any(is_observation)
    }

    fn order(&self, _record: Node<'_>) -> RecordOrder {
        RecordOrder::Independent
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

fn is_observation(node: Node<'_>) -> bool {
    let kind = text(node, "type");
    let is_kind = matches!(
        kind,
        Some("GENERATION" | "SPAN" | "TOOL" | "EVENT" | "AGENT" | "CHAIN")
    );
    is_kind && (node.get("traceId").is_some() || node.get("trace_id").is_some())
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    if container(record.root, "observations").is_none() {
        return observation(record, record.root, 0, out);
    }
    let mut count = 0;
    for node in elements(record.root, "observations") {
        match observation(record, node, count, out) {
            Ok(calls) => count += calls,
            // The others are read all the same.
            Err(reason) => out.unreadable_part(reason, record.place.clone()),
        }
    }
    Ok(count)
}

fn observation(
    record: &LogRecord<'_>,
    node: Node<'_>,
    before: usize,
    out: &mut dyn TurnSink,
) -> Result<usize, Unreadable> {
    if text(node, "type") != Some("GENERATION") {
        return Ok(0);
    }
    let member = |key: &str| node.get(key).and_then(|node| json(node, record.text));
    let (input, output) = (member("input"), member("output"));
    let mut place = record.place.clone();
    place.call = u32::try_from(before).unwrap_or(u32::MAX);
    let exchange = Exchange {
        request: input.as_deref().map(as_request),
        reply: output.as_deref().map(str::to_owned),
        tools: tools(record, node).or_else(|| input.as_deref().and_then(tools_in)),
        model: text(node, "model").map(str::to_owned),
        time: time(node, &["startTime", "start_time"]),
        text_is_lost: output.as_deref().is_some_and(has_parsed_arguments),
        ..Exchange::default()
    };
    let calls = calls(record, node);
    let reply = output.as_deref().and_then(|text| Tree::parse(text).ok());
    let of_langchain = reply
        .as_ref()
        .and_then(|tree| langchain_message(tree.root()));
    if calls.is_empty() && of_langchain.is_none() {
        return match &reply {
            Some(tree) if is_reply(tree.root()) => exchange.pass_on(&place, out),
            None if node.get("output").is_some_and(is_cut_off) => Err(CUT_OFF),
            // A text, or a form without calls.
            _ => Ok(0),
        };
    }
    let mut turn = RecordedTurn::new(place.clone());
    turn.model = exchange.model.map(Cow::Owned);
    turn.time = exchange.time;
    turn.tokens = node
        .get("usage")
        .or_else(|| node.get("usageDetails"))
        .and_then(tokens);
    turn.tools = match &exchange.tools {
        Some(list) => out.judge().offered(list),
        None => OfferedTools::NotRecorded(KnownTools::Some),
    };
    if let (true, Some(message), Some(tree)) = (calls.is_empty(), of_langchain, &reply) {
        let part = LogRecord::new(tree.source(), tree.root(), place);
        langchain::read_message(&part, message, &mut turn);
    } else {
        turn.calls = calls;
    }
    let count = turn.calls.len();
    out.turn(&turn);
    Ok(count)
}

fn tokens(usage: Node<'_>) -> Option<TokenCount> {
    let number = |key| {
        usage
            .get(key)
            .and_then(|node: Node<'_>| node.digits()?.parse::<u64>().ok())
    };
    match (number("input"), number("output")) {
        (None, None) => TokenCount::read(usage),
        (input, output) => Some(TokenCount::new(input.unwrap_or(0), output.unwrap_or(0))),
    }
}

/// The input as a request: it may be the list of messages alone.
fn as_request(input: &str) -> String {
    match Tree::parse(input) {
        Ok(tree) if tree.root().kind() == Kind::Array => format!(r#"{{"messages":{input}}}"#),
        _ => input.to_owned(),
    }
}

/// The calls in the column `toolCalls`.
fn calls(record: &LogRecord<'_>, node: Node<'_>) -> Vec<RecordedCall<'static>> {
    let listed = elements(node, "toolCalls").filter_map(|call| json(call, record.text));
    let read = |text: Cow<'_, str>| {
        let tree = Tree::parse(&text).ok()?;
        let call = tree.root();
        let inner = container(call, "function").unwrap_or(call);
        let sent = inner.get("arguments").or_else(|| inner.get("args"));
        let arguments = match sent {
            Some(sent) if sent.is_null() => SentArguments::NotRecorded,
            Some(sent) => match sent.as_str() {
                Some(written) => SentArguments::Text(Cow::Owned(written.to_owned())),
                None => SentArguments::Value(Cow::Owned(sent.to_json())),
            },
            None => SentArguments::NotRecorded,
        };
        let name = self::text(inner, "name")?.to_owned();
        let mut made = RecordedCall::new(name, arguments);
        made.id = self::text(call, "id").map(|id| Cow::Owned(id.to_owned()));
        Some(made)
    };
    listed.filter_map(read).collect()
}

/// The definitions beside the input: in their own column, in the attributes of OpenTelemetry, or among
/// the parameters of the model.
fn tools(record: &LogRecord<'_>, node: Node<'_>) -> Option<String> {
    if let Some(columns) = node
        .get("toolDefinitions")
        .filter(|of| of.kind() == Kind::Object)
    {
        let definitions = columns.members().filter_map(|(name, definition)| {
            let text = json(definition, record.text)?;
            let mut value: Value = serde_json::from_str(&text).ok()?;
            let is_wrapped = value.get("function").is_some();
            if let Some(members) = value.as_object_mut().filter(|_| !is_wrapped) {
                members.entry("name").or_insert_with(|| name.into());
            }
            Some(value)
        });
        let definitions: Vec<Value> = definitions.collect();
        if !definitions.is_empty() {
            return Some(Value::from(definitions).to_string());
        }
    }
    let attributes = node
        .get("metadata")
        .and_then(|metadata| metadata.get("attributes"));
    let recorded = attributes.and_then(|of| of.get("gen_ai.tool.definitions"));
    let parameters = node.get("modelParameters").and_then(|of| of.get("tools"));
    let list = recorded.or(parameters)?;
    json(list, record.text).map(Cow::into_owned)
}

/// The definitions inside the input.
fn tools_in(input: &str) -> Option<String> {
    let tree = Tree::parse(input).ok()?;
    let is_request = is_request(tree.root());
    let list = tree
        .root()
        .get("tools")
        .filter(|list| list.kind() == Kind::Array && !is_request)?;
    input.get(list.span()).map(str::to_owned)
}

/// The message of LangChain with calls: the output itself, or the last one in it.
fn langchain_message(output: Node<'_>) -> Option<Node<'_>> {
    if output.kind() == Kind::Array {
        return output
            .elements()
            .filter(|message| langchain::has_calls(*message))
            .last();
    }
    let last = elements(output, "messages").last();
    let message = last.unwrap_or(output);
    langchain::has_calls(message).then_some(message)
}

/// Returns true if the arguments of a call are an object, where providers send a string.
fn has_parsed_arguments(json: &str) -> bool {
    fn search(node: Node<'_>, depth: usize) -> bool {
        depth < 12
            && match node.kind() {
                Kind::Array => node.elements().any(|inner| search(inner, depth + 1)),
                Kind::Object => node.members().any(|(key, inner)| {
                    key == "arguments" && inner.kind() == Kind::Object || search(inner, depth + 1)
                }),
                _ => false,
            }
    }
    Tree::parse(json).is_ok_and(|tree| search(tree.root(), 0))
}
