//! Requests and replies of providers: pairs, transcripts, and replies alone.
//!
//! A pair is an object with the request under one key and the reply under another, each as JSON, as a
//! string of JSON, or wrapped once more (`{"request": {"body": …}}`). A streamed reply is a string of
//! events or a list of chunks.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, Tree};
use goodcall_wire::recorded::{self, RecordedReply, RecordedRequest};
use goodcall_wire::request::{HistoryCall, HistoryStep};
use goodcall_wire::{Provider, Tools};

use super::fields::{
    CUT_OFF, container, elements, first_text, host, is_cut_off_json, json, text, time,
};
use super::messages;
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable};
use crate::loops;
use crate::recorded::{
    ArgumentsKept, KnownTools, OfferedTools, RecordPlace, RecordedCall, RecordedResult,
    RecordedTurn, SentArguments,
};

/// Keys of a request, and of what is around its body.
const REQUESTS: [&str; 7] = [
    "request",
    "req",
    "request_body",
    "body",
    "input",
    "inputs",
    "kwargs",
];
/// Keys of a reply.
const REPLIES: [&str; 8] = [
    "response",
    "resp",
    "response_body",
    "output",
    "outputs",
    "reply",
    "completion",
    "result",
];
/// Keys of a body inside a request or a reply.
const BODIES: [&str; 5] = ["parsed_body", "body", "string", "json", "data"];
/// Keys of the time of an exchange.
const TIMES: [&str; 8] = [
    "timestamp",
    "time",
    "created_at",
    "start_time",
    "startTime",
    "started_at",
    "created",
    "date",
];

pub(super) struct Exchanges;

impl LogFormat for Exchanges {
    fn name(&self) -> &'static str {
        "exchanges"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let is_conversation = record.kind() == Kind::Array
            && !record.is_empty()
            && record.elements().all(messages::is_message);
        is_conversation || Pair::find(record).is_some()
    }

    fn order(&self, _record: Node<'_>) -> RecordOrder {
        RecordOrder::Independent
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    if record.root.kind() == Kind::Array {
        let are_items = messages::are_items(record.root.elements());
        return Exchange::of_messages(record.text, are_items).pass_on(&record.place, out);
    }
    if is_lone_chunk(record.root) {
        return Err(Unreadable::because(
            "a chunk of a stream by itself: expected the chunks of a reply in one record",
        ));
    }
    let pair = Pair::find(record.root).ok_or(Unreadable::because("no request and no reply"))?;
    if let (None, Some(answer)) = (pair.reply, failed_answer(record.root)) {
        return without_reply(answer);
    }
    let source = |node: Node<'_>| json(node, record.text).map(Cow::into_owned);
    let exchange = Exchange {
        request: pair.request.and_then(source),
        reply: pair.reply.and_then(|node| match node.kind() {
            // Events are not JSON.
            Kind::String => node.as_str().map(str::to_owned),
            _ => source(node),
        }),
        time: time(record.root, &TIMES),
        server: first_text(record.root, &["url", "uri", "base_url", "endpoint"])
            .map(|url| host(url).to_owned()),
        ..Exchange::default()
    };
    exchange.pass_on(&record.place, out)
}

/// Returns true for a chunk of OpenAI's, which holds a part of a call at most.
fn is_lone_chunk(root: Node<'_>) -> bool {
    elements(root, "choices").any(|choice| container(choice, "delta").is_some())
}

/// What a record has in place of a reply, beside a request under a key of its own. Beside the
/// members of a request itself such a key may mean anything.
fn failed_answer(root: Node<'_>) -> Option<Node<'_>> {
    if is_request(root) {
        return None;
    }
    REPLIES.iter().find_map(|key| root.get(key))
}

/// Says what it means that a request has no reply: it failed, or was answered by text alone.
/// Otherwise the reply cannot be read.
pub(super) fn without_reply(answer: Node<'_>) -> CallsRead {
    const UNKNOWN: Unreadable = Unreadable::because("a reply of an unknown form");
    if let Some(text) = answer.as_str() {
        return match Tree::parse(text) {
            Ok(tree) if tree.root().kind() != Kind::String => without_reply(tree.root()),
            Err(_) if is_cut_off_json(text) => Err(CUT_OFF),
            Err(_) if text.trim_start().starts_with("data:") => Err(UNKNOWN),
            _ => Ok(0),
        };
    }
    let is_error = |node: Node<'_>| node.get("error").is_some_and(|error| !error.is_null());
    let status = ["status", "status_code", "statusCode"]
        .iter()
        .find_map(|key| answer.get(key));
    let status = status.map(|status| status.get("code").unwrap_or(status));
    let status = status.and_then(|status| status.digits()?.parse::<u32>().ok());
    if answer.is_null() || is_error(answer) || status.is_some_and(|status| status >= 400) {
        return Ok(0);
    }
    // Embeddings and moderations are asked for in the form of Responses.
    if text(answer, "object") == Some("list") || container(answer, "results").is_some() {
        return Ok(0);
    }
    let bodies = BODIES.iter().filter_map(|key| answer.get(key));
    let mut bodies = bodies.filter(|body| !body.is_null());
    bodies.next().map_or(Err(UNKNOWN), without_reply)
}

/// The request and the reply of a record.
struct Pair<'t> {
    request: Option<Node<'t>>,
    reply: Option<Node<'t>>,
}

impl<'t> Pair<'t> {
    fn find(root: Node<'t>) -> Option<Self> {
        if root.kind() == Kind::String {
            let reply = Some(root).filter(|root| is_reply(*root));
            return reply.map(|_| Self {
                request: None,
                reply,
            });
        }
        if root.kind() != Kind::Object {
            return None;
        }
        // The record may be a request itself, or a reply.
        if is_request(root) && !has_reply_key(root) {
            return Some(Self {
                request: Some(root),
                reply: None,
            });
        }
        if is_reply(root) {
            // A stored completion may name its own tools.
            let request = container(root, "tools").map(|_| root);
            return Some(Self {
                request,
                reply: Some(root),
            });
        }
        let request = REQUESTS
            .iter()
            .find_map(|key| body(root.get(key)?, is_request));
        let request = request.or_else(|| Some(root).filter(|root| is_request(*root)));
        let reply = REPLIES
            .iter()
            .find_map(|key| body(root.get(key)?, is_reply));
        (request.is_some() || reply.is_some()).then_some(Self { request, reply })
    }
}

fn has_reply_key(root: Node<'_>) -> bool {
    REPLIES.iter().any(|key| {
        root.get(key)
            .is_some_and(|reply| body(reply, is_reply).is_some())
    })
}

/// Finds the body that passes a test: the node itself, or a part of it.
fn body<'t>(node: Node<'t>, test: fn(Node<'_>) -> bool) -> Option<Node<'t>> {
    if test(node) {
        return Some(node);
    }
    let inner = BODIES.iter().filter_map(|key| node.get(key));
    inner.into_iter().find(|inner| test(*inner))
}

/// Returns true for a request, or for a string that holds one.
fn is_request(node: Node<'_>) -> bool {
    match node.as_str() {
        Some(text) => Tree::parse(text).is_ok_and(|tree| recorded::is_request(tree.root())),
        None => recorded::is_request(node),
    }
}

/// Returns true for a reply, or for a string that holds one.
fn is_reply(node: Node<'_>) -> bool {
    match node.as_str() {
        Some(text) => RecordedReply::read(text, &Tools::default()).is_some(),
        None => recorded::is_reply(node),
    }
}

/// One request with its reply, from any format.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The request as JSON text.
    pub(super) request: Option<String>,
    /// The reply as JSON text, or as events.
    pub(super) reply: Option<String>,
    /// The list of tools as JSON text, if it stands outside of the request.
    pub(super) tools: Option<String>,
    /// Why none of the tools can be used, if that is so.
    pub(super) unusable_tools: Option<&'static str>,
    pub(super) model: Option<String>,
    pub(super) server: Option<String>,
    pub(super) time: Option<i64>,
    /// Set if the format parses arguments.
    pub(super) text_is_lost: bool,
}

impl Exchange {
    /// A conversation that is a list of messages, or of items of Responses.
    pub(super) fn of_messages(list: &str, are_items: bool) -> Self {
        let key = if are_items { "input" } else { "messages" };
        Self {
            request: Some(format!("{{\"{key}\":{list}}}")),
            ..Self::default()
        }
    }

    /// Returns true if the request is one to a model.
    pub(super) fn is_of_a_model(&self) -> bool {
        let request = self.request.as_deref();
        request.is_some_and(|request| RecordedRequest::read(request).is_some())
    }

    /// Passes on the calls of the reply; without a reply, those of the request's history. Returns
    /// their number.
    pub(super) fn pass_on(
        self,
        place: &RecordPlace,
        out: &mut dyn TurnSink,
    ) -> Result<usize, Unreadable> {
        let request = self.request.as_deref().and_then(RecordedRequest::read);
        let tools = self.tools.as_deref();
        let tools = tools.or_else(|| request.as_ref()?.tools.as_deref());
        let tools = match (self.unusable_tools, tools) {
            (Some(why), _) => OfferedTools::Unusable(why.into()),
            (None, Some(list)) => out.judge().offered(list),
            (None, None) => OfferedTools::NotRecorded(KnownTools::Some),
        };
        let Some(reply) = &self.reply else {
            let request = request.ok_or(Unreadable::because("no request and no reply"))?;
            return Ok(self.pass_on_history(&request, tools, place, out));
        };
        let reply = RecordedReply::read(reply, out.judge().known(&tools))
            .ok_or(Unreadable::because("a reply of an unknown form"))?;
        let mut turn = self.turn(place, tools);
        let asked = request.as_ref().and_then(|request| request.model.clone());
        turn.model = turn
            .model
            .or_else(|| reply.model.clone().or(asked).map(Cow::Owned));
        turn.stop = reply.stop;
        turn.tokens = reply.tokens;
        turn.recorded_loop = request.and_then(|request| loops::in_history(request.history()));
        let kept = self.kept(reply.provider, reply.is_stream);
        turn.calls.extend(
            reply
                .calls
                .into_iter()
                .map(|call| RecordedCall::found(call, kept)),
        );
        let count = turn.calls.len();
        out.turn(&turn);
        Ok(count)
    }

    fn turn(&self, place: &RecordPlace, tools: OfferedTools) -> RecordedTurn<'static> {
        let mut turn = RecordedTurn::new(place.clone());
        turn.model = self.model.clone().map(Cow::Owned);
        turn.server = self.server.clone().map(Cow::Owned);
        turn.time = self.time;
        turn.tools = tools;
        turn
    }

    /// Providers that send arguments as an object have parsed them already, unless they stream.
    fn kept(&self, provider: Provider, is_stream: bool) -> ArgumentsKept {
        let as_object = matches!(
            provider,
            Provider::Anthropic | Provider::Gemini | Provider::Bedrock | Provider::Ollama
        );
        if self.text_is_lost || as_object && !is_stream {
            ArgumentsKept::AsValue
        } else {
            ArgumentsKept::AsText
        }
    }

    /// Passes on the turns of a conversation that is recorded as a whole.
    fn pass_on_history(
        &self,
        request: &RecordedRequest,
        tools: OfferedTools,
        place: &RecordPlace,
        out: &mut dyn TurnSink,
    ) -> usize {
        let (mut count, mut after_user) = (0, false);
        let kept = self.kept(request.provider, false);
        let model = self.model.clone().or_else(|| request.model.clone());
        for step in request.history() {
            let HistoryStep::Turn(calls) = step else {
                after_user = true;
                continue;
            };
            let mut turn = self.turn(place, tools.clone());
            turn.model = model.clone().map(Cow::Owned);
            turn.conversation = Some(Cow::Owned(place.to_string()));
            turn.after_user = std::mem::take(&mut after_user);
            turn.place.call = u32::try_from(count).unwrap_or(u32::MAX);
            count += calls.len();
            turn.calls
                .extend(calls.into_iter().map(|call| past_call(call, kept)));
            out.turn(&turn);
        }
        count
    }
}

/// A call of a history.
fn past_call(past: HistoryCall, kept: ArgumentsKept) -> RecordedCall<'static> {
    let text = Cow::Owned(past.arguments);
    let arguments = match kept {
        ArgumentsKept::AsText => SentArguments::Text(text),
        ArgumentsKept::AsValue => SentArguments::Value(text),
    };
    let mut call = RecordedCall::new(past.name, arguments);
    call.id = Some(Cow::Owned(past.id));
    let is_error = past.is_error;
    call.result = past.result.map(|text| RecordedResult::new(text, is_error));
    call
}
