//! Converts definitions, messages and requests from one provider's form into another's.

use std::fmt;

use goodcall_core::{Kind, Node, Tree};

use super::convertible_tools::ConvertibleTools;
use super::request_settings::{RequestSettings, WrittenSettings};
use super::write_definitions::{list, unknown_fields};
use super::write_messages::write;
use super::{Answer, Provider, TranscriptMessage, TranscriptPart, definitions, made_up_id};
use crate::call::RawCall;
use crate::splice::quoted;
use crate::tools::Tools;

/// The error for a text that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError(pub(super) String);

impl ConvertError {
    pub(super) fn no_conversation() -> Self {
        let words = "MCP has no form for a conversation; definitions can be converted";
        Self(words.to_owned())
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConvertError {}

/// The result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The definitions, the messages or the request in the other form.
    pub text: String,
    /// Everything without an equivalent, in words: the model's name, settings and fields that only
    /// one provider knows, tools that only one provider can run.
    pub left_out: Vec<String>,
    /// True for a conversation, false for definitions alone.
    pub is_conversation: bool,
}

/// Converts tool definitions, a list of messages, or a whole request from one provider's form into
/// another's. Arguments keep their digits.
///
/// A request becomes a request: tools, system prompt, messages, and the settings that most providers
/// know (the limit of tokens, temperature, top p, the choice of a tool). So does a list with a system
/// message, if the target keeps that message outside of the list. A text in the target's form stays
/// as it is.
///
/// Content that the target has no form for (images, reasoning, arguments that are not a JSON object;
/// for MCP, any conversation) is an error, never dropped. Other settings, and fields of tools that
/// the target does not know, are named in [`Converted::left_out`].
///
/// ```
/// use goodcall_wire::{Provider, convert};
///
/// let tools = r#"[{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}},
///     {"type": "web_search_20250305", "name": "web_search"}]"#;
/// let converted = convert(Provider::Anthropic, Provider::OpenAi, tools)?;
/// assert_eq!(
///     converted.text,
///     r#"[{"type":"function","function":{"name":"f","parameters":{}}}]"#
/// );
/// assert_eq!(
///     converted.left_out,
///     ["the tool web_search (web_search_20250305)", "tools[].cache_control"]
/// );
/// # Ok::<(), goodcall_wire::ConvertError>(())
/// ```
///
/// # Errors
/// Fails if the text has none of these forms, or holds content that the target cannot express.
pub fn convert(from: Provider, to: Provider, text: &str) -> Result<Converted, ConvertError> {
    let tree = Tree::parse(text).map_err(|error| ConvertError(format!("not JSON: {error}")))?;
    let root = tree.root();
    let messages = MESSAGES.iter().find_map(|key| root.get(key));
    let is_conversation = messages.is_some() || is_messages(root);
    if is_conversation && to == Provider::Mcp {
        return Err(ConvertError::no_conversation());
    }
    let mut tool_list = ConvertibleTools::default();
    if !is_conversation {
        tool_list.collect(from, root, text);
        let tools = read_functions(&mut tool_list, to)?;
        if from == to {
            return Ok(Converted::unchanged(text, is_conversation));
        }
        return Ok(Converted {
            text: definitions(to, &tools),
            left_out: tool_list.left_out,
            is_conversation,
        });
    }
    if from == to {
        return Ok(Converted::unchanged(text, is_conversation));
    }
    let found = conversation(from, root, messages)?;
    let Some(_) = messages else {
        return Ok(Converted {
            text: write_request(to, found, None)?,
            left_out: Vec::new(),
            is_conversation,
        });
    };
    let mut left_out = Vec::new();
    let known = [&MESSAGES[..], &PROMPTS, &["tools"]].concat();
    let settings = RequestSettings::read(root, &known, &mut left_out);
    let config = root
        .get("toolConfig")
        .and_then(|config| config.get("tools"));
    for list in [root.get("tools"), config].into_iter().flatten() {
        tool_list.collect(from, list, text);
    }
    let tools = if tool_list.is_empty() {
        None
    } else {
        Some(read_functions(&mut tool_list, to)?).filter(|tools| tools.iter().next().is_some())
    };
    let settings = settings.write(to, tools.as_ref(), &mut left_out);
    left_out.append(&mut tool_list.left_out);
    let rest = RequestRest { settings, tools };
    Ok(Converted {
        text: write_request(to, found, Some(rest))?,
        left_out,
        is_conversation,
    })
}

impl Converted {
    /// The result for a text that is in the target's form already.
    fn unchanged(text: &str, is_conversation: bool) -> Self {
        Self {
            text: text.trim().to_owned(),
            left_out: Vec::new(),
            is_conversation,
        }
    }
}

/// Reads the functions, and notes their fields that the target does not know.
fn read_functions(
    tool_list: &mut ConvertibleTools<'_>,
    to: Provider,
) -> Result<Tools, ConvertError> {
    let tools = tool_list.functions();
    let tools = tools.map_err(|error| ConvertError(error.to_string()))?;
    for field in unknown_fields(to, &tools) {
        tool_list.leave_out(format!("tools[].{field}"));
    }
    Ok(tools)
}

/// The messages of a list or of a request, the system prompt first.
fn conversation(
    from: Provider,
    root: Node<'_>,
    messages: Option<Node<'_>>,
) -> Result<Vec<TranscriptMessage>, ConvertError> {
    let mut reader = MessageReader {
        from,
        calls: Vec::new(),
        turn: 0,
    };
    let mut found = Vec::new();
    if messages.is_some() {
        for prompt in PROMPTS.iter().filter_map(|key| root.get(key)) {
            found.push(text_message("system", prompt_text(prompt)));
        }
    }
    let list = messages.unwrap_or(root);
    if let Some(text) = list.as_str() {
        // A whole conversation may be one string.
        found.push(text_message("user", text.to_owned()));
    }
    for node in list.elements() {
        found.push(reader.message(node)?);
    }
    Ok(found)
}

const MESSAGES: [&str; 3] = ["messages", "contents", "input"];
const PROMPTS: [&str; 4] = [
    "system",
    "systemInstruction",
    "system_instruction",
    "instructions",
];

/// Returns a message that is one text.
fn text_message(role: &str, text: String) -> TranscriptMessage {
    let mut message = TranscriptMessage::new(role);
    message.parts.push(TranscriptPart::Text(text));
    message
}

/// The settings and tools of a request.
pub(super) struct RequestRest {
    settings: WrittenSettings,
    tools: Option<Tools>,
}

/// The text of a system prompt in any form.
fn prompt_text(node: Node<'_>) -> String {
    plain(node.get("parts").unwrap_or(node))
}

/// Writes the messages in the target's form, or a whole request if there is more than messages.
pub(super) fn write_request(
    to: Provider,
    messages: Vec<TranscriptMessage>,
    rest: Option<RequestRest>,
) -> Result<String, ConvertError> {
    let blocks = matches!(
        to,
        Provider::Anthropic | Provider::Gemini | Provider::Bedrock
    );
    let is_prompt = |message: &TranscriptMessage| blocks && is_system(&message.role);
    let (prompts, messages): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_prompt);
    let messages = write(to, messages)?;
    if rest.is_none() && prompts.is_empty() {
        return Ok(messages);
    }
    let mut out = Vec::new();
    if !prompts.is_empty() {
        let texts = prompts.iter().flat_map(|prompt| &prompt.parts);
        let texts = texts.filter_map(|part| match part {
            TranscriptPart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text = quoted(&texts.collect::<Vec<_>>().join("\n\n"));
        out.push(match to {
            Provider::Gemini => format!(r#""systemInstruction":{{"parts":[{{"text":{text}}}]}}"#),
            Provider::Bedrock => format!(r#""system":[{{"text":{text}}}]"#),
            _ => format!(r#""system":{text}"#),
        });
    }
    let key = match to {
        Provider::Gemini => "contents",
        Provider::Responses => "input",
        _ => "messages",
    };
    out.push(format!(r#""{key}":{messages}"#));
    if let Some(RequestRest { settings, tools }) = rest {
        out.extend(settings.members);
        match (to, tools) {
            (Provider::Bedrock, Some(tools)) => {
                let choice = settings.choice.map(|choice| format!(",{choice}"));
                let (list, choice) = (list(to, &tools), choice.unwrap_or_default());
                out.push(format!(r#""toolConfig":{{"tools":[{list}]{choice}}}"#));
            }
            (_, Some(tools)) => {
                out.push(format!(r#""tools":{}"#, definitions(to, &tools)));
                out.extend(settings.choice);
            }
            (_, None) => {}
        }
    }
    Ok(format!("{{{}}}", out.join(",")))
}

fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

fn is_messages(root: Node<'_>) -> bool {
    let first = root.element(0).filter(|_| root.kind() == Kind::Array);
    first.is_some_and(|first| {
        let kind = first.get("type").and_then(Node::as_str);
        first.get("role").is_some()
            || matches!(kind, Some("function_call" | "function_call_output"))
    })
}

/// Reads the messages of one provider.
struct MessageReader {
    from: Provider,
    /// The calls so far: some results have only an id, and some only a name.
    calls: Vec<ReadCall>,
    /// The messages so far.
    turn: usize,
}

impl MessageReader {
    fn message(&mut self, node: Node<'_>) -> Result<TranscriptMessage, ConvertError> {
        let role = node
            .get("role")
            .and_then(Node::as_str)
            .unwrap_or("assistant");
        self.turn += 1;
        let mut message = TranscriptMessage::new(role);
        if role == "tool" {
            message.parts.push(self.tool_message(node)?);
            return Ok(message);
        }
        if node.get("role").is_none() {
            message.parts.push(self.part(node)?);
            if matches!(message.parts.last(), Some(TranscriptPart::Result(..))) {
                message.role = "tool".to_owned();
            }
            return Ok(message);
        }
        let content = node.get("content").or_else(|| node.get("parts"));
        match content {
            Some(list) if list.kind() == Kind::Array => {
                for part in list.elements() {
                    message.parts.push(self.part(part)?);
                }
            }
            content => {
                let text = content.and_then(Node::as_str).map(str::to_owned);
                message.parts.extend(text.map(TranscriptPart::Text));
            }
        }
        for call in node.get("tool_calls").into_iter().flat_map(Node::elements) {
            let Some(function) = call.get("function") else {
                continue;
            };
            let call = self.call(function, call.get("id"), "arguments")?;
            message.parts.push(TranscriptPart::Call(call));
        }
        Ok(message)
    }

    /// Reads a message that is one result.
    fn tool_message(&mut self, node: Node<'_>) -> Result<TranscriptPart, ConvertError> {
        let name = node.get("tool_name").or_else(|| node.get("name"));
        let (id, text) = (node.get("tool_call_id"), node.get("content"));
        self.result(id, name, text, false)
    }

    fn part(&mut self, node: Node<'_>) -> Result<TranscriptPart, ConvertError> {
        if let Some(text) = node
            .as_str()
            .or_else(|| node.get("text").and_then(Node::as_str))
        {
            return Ok(TranscriptPart::Text(text.to_owned()));
        }
        if let Some(call) = node.get("functionCall") {
            let mut call = self.call(call, call.get("id"), "args")?;
            let signature = node.get("thoughtSignature").and_then(Node::as_str);
            call.signature = signature.map(str::to_owned);
            return Ok(TranscriptPart::Call(call));
        }
        if let Some(call) = node.get("toolUse") {
            return Ok(TranscriptPart::Call(self.call(
                call,
                call.get("toolUseId"),
                "input",
            )?));
        }
        if let Some(answer) = node.get("functionResponse") {
            let response = answer.get("response");
            let error = response.and_then(|response| response.get("error"));
            let text = error.or_else(|| response.and_then(|response| response.get("output")));
            let text = text.or(response);
            return self.result(answer.get("id"), answer.get("name"), text, error.is_some());
        }
        if let Some(answer) = node.get("toolResult") {
            let error = answer.get("status").and_then(Node::as_str) == Some("error");
            return self.result(answer.get("toolUseId"), None, answer.get("content"), error);
        }
        match node.get("type").and_then(Node::as_str) {
            Some("tool_use") => Ok(TranscriptPart::Call(self.call(
                node,
                node.get("id"),
                "input",
            )?)),
            Some("function_call") => Ok(TranscriptPart::Call(self.call(
                node,
                node.get("call_id"),
                "arguments",
            )?)),
            Some("tool_result") => {
                let error = node.get("is_error").and_then(Node::as_bool) == Some(true);
                self.result(node.get("tool_use_id"), None, node.get("content"), error)
            }
            Some("function_call_output") => {
                self.result(node.get("call_id"), None, node.get("output"), false)
            }
            kind => {
                let kind = kind.unwrap_or("of an unknown kind");
                let (name, keys) = (self.from.name(), node.members().map(|(key, _)| key));
                let keys: Vec<_> = keys.take(3).collect();
                Err(ConvertError(format!(
                    "a {name} part {kind} {keys:?} has no other form"
                )))
            }
        }
    }

    fn call(
        &mut self,
        node: Node<'_>,
        id: Option<Node<'_>>,
        key: &str,
    ) -> Result<RawCall, ConvertError> {
        let id = id.and_then(Node::as_str).map(str::to_owned);
        let id = id.unwrap_or_else(|| made_up_id(self.calls.len()));
        let Some(name) = node.get("name").and_then(Node::as_str) else {
            return Err(ConvertError(format!("the call {id} has no name")));
        };
        self.calls.push(ReadCall {
            id: id.clone(),
            name: name.to_owned(),
            turn: self.turn,
            is_answered: false,
        });
        let raw = node.get(key).map_or("", |arguments| {
            arguments.as_str().unwrap_or_else(|| arguments.written())
        });
        Ok(RawCall::new(&Tools::default(), name, raw).with_id(id))
    }

    fn result(
        &mut self,
        id: Option<Node<'_>>,
        name: Option<Node<'_>>,
        text: Option<Node<'_>>,
        is_error: bool,
    ) -> Result<TranscriptPart, ConvertError> {
        let id = id.and_then(Node::as_str);
        let name = name.and_then(Node::as_str);
        let answered = match id {
            Some(id) => self.calls.iter_mut().rfind(|call| call.id == id),
            None => self.answered_by_name(name),
        };
        let known = answered.map(|call| {
            call.is_answered = true;
            (call.id.clone(), call.name.clone())
        });
        let (id, name) = match (id, name, known) {
            (None, _, Some(known)) => known,
            (None, name, None) => {
                let name = name.unwrap_or("an unknown tool");
                let what = format!("a result of {name} answers no call before it");
                return Err(ConvertError(what));
            }
            (Some(id), Some(name), _) => (id.to_owned(), name.to_owned()),
            (Some(id), None, Some((_, name))) => (id.to_owned(), name),
            (Some(id), None, None) => (id.to_owned(), String::new()),
        };
        let call = RawCall::new(&Tools::default(), &name, "").with_id(id);
        let text = text.map(plain).unwrap_or_default();
        Ok(TranscriptPart::Result(call, Answer { text, is_error }))
    }

    /// The call that a result without an id answers: the first of its tool in the last turn that has
    /// no answer yet. If they all have one, the last of its tool.
    fn answered_by_name(&mut self, name: Option<&str>) -> Option<&mut ReadCall> {
        let turn = self.calls.last()?.turn;
        let is_same = |call: &ReadCall| name.is_none_or(|name| call.name == name);
        let is_open = |call: &ReadCall| !call.is_answered && is_same(call);
        let mut all = self.calls.iter();
        let first = all.position(|call| call.turn == turn && is_open(call));
        let last = || self.calls.iter().rposition(is_open);
        let any = || self.calls.iter().rposition(is_same);
        let at = first.or_else(last).or_else(any)?;
        self.calls.get_mut(at)
    }
}

/// A call that was read, for the results that answer it.
struct ReadCall {
    id: String,
    name: String,
    /// The message that it is in.
    turn: usize,
    is_answered: bool,
}

/// The text of a result: a string, the texts of its parts, or JSON.
fn plain(node: Node<'_>) -> String {
    if let Some(text) = node.as_str() {
        return text.to_owned();
    }
    if node.kind() == Kind::Array {
        let parts: Vec<_> = node
            .elements()
            .map(|part| match part.get("text").and_then(Node::as_str) {
                Some(text) => text.to_owned(),
                None => part.get("json").unwrap_or(part).to_json(),
            })
            .collect();
        return parts.join("\n");
    }
    node.to_json()
}
