//! Transcripts from one provider's form into another's.

use std::collections::HashMap;
use std::fmt;

use goodcall_core::{Kind, Node, Tree};

use super::results::gemini_id;
use super::rewrite::legal_arguments;
use super::{Answer, Provider, definitions, made_up_id, result};
use crate::call::Call;
use crate::cuts::quoted;
use crate::tools::Tools;

/// A transcript that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError(String);

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConvertError {}

/// What a conversion came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The definitions, the messages or the request in the other form.
    pub text: String,
    /// Keys of a request that have no other form: the model's name, how it is sampled.
    pub left_out: Vec<String>,
}

/// A part of a message.
enum Part {
    Text(String),
    Call(Call),
    Result(Call, Answer),
}

struct Message {
    role: String,
    parts: Vec<Part>,
}

/// Turns tool definitions, a list of messages, or a whole request from one provider's form into
/// another's. Arguments keep their digits. A request becomes a request: its tools, its system
/// prompt and its messages; so does a list with a system message, where the other form keeps that
/// message outside of the list. What the other form cannot say (images, reasoning, arguments that
/// are no JSON where only an object will do) is refused, not dropped; settings of the model are named
/// as left out.
///
/// # Errors
/// If the text is neither, or holds what the other form cannot say.
pub fn convert(from: Provider, to: Provider, text: &str) -> Result<Converted, ConvertError> {
    let tree = Tree::parse(text).map_err(|error| ConvertError(format!("not JSON: {error}")))?;
    let root = tree.root();
    let messages = MESSAGES.iter().find_map(|key| root.get(key));
    if messages.is_none() && !is_messages(root) {
        let tools = Tools::read(text).map_err(|error| ConvertError(error.to_string()))?;
        return Ok(Converted {
            text: definitions(to, &tools),
            left_out: Vec::new(),
        });
    }
    let mut reader = Reader {
        from,
        text,
        names: HashMap::new(),
        count: 0,
    };
    let mut found = Vec::new();
    if messages.is_some() {
        for prompt in PROMPTS.iter().filter_map(|key| root.get(key)) {
            found.push(Message {
                role: "system".to_owned(),
                parts: vec![Part::Text(prompt_text(prompt))],
            });
        }
    }
    let list = messages.unwrap_or(root);
    if let Some(text) = list.as_str() {
        // A whole conversation may be one string.
        found.push(Message {
            role: "user".to_owned(),
            parts: vec![Part::Text(text.to_owned())],
        });
    }
    for node in list.elements() {
        found.push(reader.message(node)?);
    }
    let tools = match messages.and(TOOLS.iter().find_map(|key| root.get(key))) {
        Some(_) => Some(Tools::read(text).map_err(|error| ConvertError(error.to_string()))?),
        None => None,
    };
    Ok(Converted {
        text: request(to, found, tools.as_ref(), messages.is_some())?,
        left_out: messages.map(|_| settings(root)).unwrap_or_default(),
    })
}

const MESSAGES: [&str; 3] = ["messages", "contents", "input"];
const PROMPTS: [&str; 4] = [
    "system",
    "systemInstruction",
    "system_instruction",
    "instructions",
];
const TOOLS: [&str; 2] = ["tools", "toolConfig"];

/// What of a request is not said, and has no other form: the model's name, how it is sampled.
fn settings(root: Node<'_>) -> Vec<String> {
    let known = |key: &str| {
        [&MESSAGES[..], &PROMPTS, &TOOLS]
            .iter()
            .any(|keys| keys.contains(&key))
    };
    let keys = root.members().map(|(key, _)| key);
    keys.filter(|key| !known(key)).map(str::to_owned).collect()
}

/// The text of a system prompt, in whatever form.
fn prompt_text(node: Node<'_>) -> String {
    plain(node.get("parts").unwrap_or(node))
}

/// The messages in the provider's form; the whole request, if there is more to say than a list
/// of messages can.
fn request(
    to: Provider,
    messages: Vec<Message>,
    tools: Option<&Tools>,
    whole: bool,
) -> Result<String, ConvertError> {
    let blocks = matches!(
        to,
        Provider::Anthropic | Provider::Gemini | Provider::Bedrock
    );
    let is_prompt = |message: &Message| blocks && is_system(&message.role);
    let (prompts, said): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_prompt);
    let said = write(to, said)?;
    if !whole && prompts.is_empty() {
        return Ok(said);
    }
    let mut out = Vec::new();
    if !prompts.is_empty() {
        let texts = prompts.iter().flat_map(|prompt| &prompt.parts);
        let texts = texts.filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
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
    out.push(format!(r#""{key}":{said}"#));
    if let Some(tools) = tools {
        let list = definitions(to, tools);
        out.push(match to {
            Provider::Bedrock => format!(r#""toolConfig":{list}"#),
            _ => format!(r#""tools":{list}"#),
        });
    }
    Ok(format!("{{{}}}", out.join(",")))
}

fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

/// The arguments of a call where an object is due. Nothing at all is an empty one.
fn object(call: &Call) -> Result<String, ConvertError> {
    let legal = legal_arguments(&call.arguments);
    if legal == call.arguments || call.arguments.trim().is_empty() {
        return Ok(legal);
    }
    Err(ConvertError(format!(
        "the arguments of the call {} to `{}` are no JSON object, and this form takes nothing \
         else: mend them first (goodcall check shows what is wrong)",
        call.id.as_deref().unwrap_or_default(),
        call.name
    )))
}

fn is_messages(root: Node<'_>) -> bool {
    let first = root.element(0).filter(|_| root.kind() == Kind::Array);
    first.is_some_and(|first| {
        let kind = first.get("type").and_then(Node::as_str);
        first.get("role").is_some()
            || matches!(kind, Some("function_call" | "function_call_output"))
    })
}

struct Reader<'t> {
    from: Provider,
    text: &'t str,
    /// The names of calls by their ids: some results name only one of the two.
    names: HashMap<String, String>,
    count: usize,
}

impl Reader<'_> {
    fn message(&mut self, node: Node<'_>) -> Result<Message, ConvertError> {
        let role = node
            .get("role")
            .and_then(Node::as_str)
            .unwrap_or("assistant");
        let mut message = Message {
            role: role.to_owned(),
            parts: Vec::new(),
        };
        if role == "tool" {
            message.parts.push(self.tool_message(node));
            return Ok(message);
        }
        if node.get("role").is_none() {
            message.parts.push(self.part(node)?);
            if matches!(message.parts.last(), Some(Part::Result(..))) {
                message.role = "tool".to_owned();
            }
            return Ok(message);
        }
        let content = node.get("content").or_else(|| node.get("parts"));
        match content {
            Some(text) if text.as_str().is_some() => {
                let text = text.as_str().unwrap_or_default();
                message.parts.push(Part::Text(text.to_owned()));
            }
            Some(list) if list.kind() == Kind::Array => {
                for part in list.elements() {
                    message.parts.push(self.part(part)?);
                }
            }
            _ => {}
        }
        for call in node.get("tool_calls").into_iter().flat_map(Node::elements) {
            let Some(function) = call.get("function") else {
                continue;
            };
            let call = self.call(function, call.get("id"), "arguments");
            message.parts.push(Part::Call(call));
        }
        Ok(message)
    }

    /// A message that is one result.
    fn tool_message(&mut self, node: Node<'_>) -> Part {
        let name = node.get("tool_name").or_else(|| node.get("name"));
        let (id, text) = (node.get("tool_call_id"), node.get("content"));
        self.result(id, name, text, false)
    }

    fn part(&mut self, node: Node<'_>) -> Result<Part, ConvertError> {
        if let Some(text) = node
            .as_str()
            .or_else(|| node.get("text").and_then(Node::as_str))
        {
            return Ok(Part::Text(text.to_owned()));
        }
        if let Some(call) = node.get("functionCall") {
            return Ok(Part::Call(self.call(call, call.get("id"), "args")));
        }
        if let Some(call) = node.get("toolUse") {
            return Ok(Part::Call(self.call(call, call.get("toolUseId"), "input")));
        }
        if let Some(answer) = node.get("functionResponse") {
            let response = answer.get("response");
            let error = response.and_then(|response| response.get("error"));
            let text = error.or_else(|| response.and_then(|response| response.get("output")));
            let text = text.or(response);
            return Ok(self.result(answer.get("id"), answer.get("name"), text, error.is_some()));
        }
        if let Some(answer) = node.get("toolResult") {
            let error = answer.get("status").and_then(Node::as_str) == Some("error");
            return Ok(self.result(answer.get("toolUseId"), None, answer.get("content"), error));
        }
        match node.get("type").and_then(Node::as_str) {
            Some("tool_use") => Ok(Part::Call(self.call(node, node.get("id"), "input"))),
            Some("function_call") => Ok(Part::Call(self.call(
                node,
                node.get("call_id"),
                "arguments",
            ))),
            Some("tool_result") => {
                let error = node.get("is_error").and_then(Node::as_bool) == Some(true);
                Ok(self.result(node.get("tool_use_id"), None, node.get("content"), error))
            }
            Some("function_call_output") => {
                Ok(self.result(node.get("call_id"), None, node.get("output"), false))
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

    fn call(&mut self, node: Node<'_>, id: Option<Node<'_>>, key: &str) -> Call {
        let name = node.get("name").and_then(Node::as_str).unwrap_or_default();
        let id = id.and_then(Node::as_str).map(str::to_owned);
        let id = id.unwrap_or_else(|| made_up_id(self.count));
        self.count += 1;
        self.names.insert(id.clone(), name.to_owned());
        let arguments = node.get(key);
        let raw = arguments.and_then(|node| match node.as_str() {
            Some(text) => Some(text.to_owned()),
            None => self.text.get(node.span()).map(str::to_owned),
        });
        Call::new(&Tools::default(), name, raw.unwrap_or_default()).with_id(id)
    }

    fn result(
        &mut self,
        id: Option<Node<'_>>,
        name: Option<Node<'_>>,
        text: Option<Node<'_>>,
        is_error: bool,
    ) -> Part {
        let name = name.and_then(Node::as_str).map(str::to_owned);
        let id = id.and_then(Node::as_str).map(str::to_owned);
        // A result that names only its tool answers the last call of that tool.
        let id = id.or_else(|| {
            let mut known: Vec<_> = self.names.iter().collect();
            known.sort();
            let same = known
                .iter()
                .rev()
                .find(|(_, known)| Some(known.as_str()) == name.as_deref());
            same.map(|(id, _)| (*id).clone())
        });
        let id = id.unwrap_or_else(|| made_up_id(self.count.saturating_sub(1)));
        let name = name
            .or_else(|| self.names.get(&id).cloned())
            .unwrap_or_default();
        let call = Call::new(&Tools::default(), &name, "").with_id(id);
        let text = text.map(plain).unwrap_or_default();
        Part::Result(call, Answer { text, is_error })
    }
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

/// Messages in the provider's form.
fn write(to: Provider, messages: Vec<Message>) -> Result<String, ConvertError> {
    let mut out: Vec<String> = Vec::new();
    match to {
        Provider::Anthropic | Provider::Gemini | Provider::Bedrock => {
            write_blocks(to, &messages, &mut out)?;
        }
        Provider::Responses => messages
            .into_iter()
            .for_each(|message| write_items(message, &mut out)),
        Provider::OpenAi | Provider::Mistral | Provider::Ollama | Provider::Mcp => {
            for message in messages {
                write_chat(to, message, &mut out)?;
            }
        }
    }
    Ok(format!("[{}]", out.join(",")))
}

/// One message a result, calls beside the content.
fn write_chat(to: Provider, message: Message, out: &mut Vec<String>) -> Result<(), ConvertError> {
    let (mut text, mut calls, mut some) = (String::new(), Vec::new(), false);
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        match part {
            Part::Text(part) => (text, some) = (text + &part, true),
            Part::Call(call) => calls.push(chat_call(to, &call)?),
            Part::Result(call, answer) => out.push(result(to, &call, &answer)),
        }
    }
    if !some && calls.is_empty() {
        return Ok(());
    }
    let content = if some {
        quoted(&text)
    } else {
        "null".to_owned()
    };
    let calls = match calls.is_empty() {
        true => String::new(),
        false => format!(r#","tool_calls":[{}]"#, calls.join(",")),
    };
    out.push(format!(
        r#"{{"role":{},"content":{content}{calls}}}"#,
        quoted(role)
    ));
    Ok(())
}

fn chat_call(to: Provider, call: &Call) -> Result<String, ConvertError> {
    let name = quoted(&call.name);
    if to == Provider::Ollama {
        let arguments = object(call)?;
        return Ok(format!(
            r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#
        ));
    }
    let id = quoted(call.id.as_deref().unwrap_or_default());
    let arguments = quoted(text(call));
    Ok(format!(
        r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    ))
}

/// The arguments of a call where text is due, as they were sent, whatever they are.
fn text(call: &Call) -> &str {
    match call.arguments.trim() {
        "" => "{}",
        _ => &call.arguments,
    }
}

/// One item each.
fn write_items(message: Message, out: &mut Vec<String>) {
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        out.push(match part {
            Part::Text(text) => {
                format!(r#"{{"role":{},"content":{}}}"#, quoted(role), quoted(&text))
            }
            Part::Call(call) => {
                let id = quoted(call.id.as_deref().unwrap_or_default());
                let arguments = quoted(self::text(&call));
                let name = quoted(&call.name);
                format!(
                    r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#
                )
            }
            Part::Result(call, answer) => result(Provider::Responses, &call, &answer),
        });
    }
}

/// Blocks in a message; results belong to the user. What one side says in a row is one message,
/// as parallel results have to be.
fn write_blocks(
    to: Provider,
    messages: &[Message],
    out: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let role = |message: &Message| match (to, message.role.as_str()) {
        (Provider::Gemini, "assistant" | "model") => "model",
        (_, "assistant" | "model") => "assistant",
        _ => "user",
    };
    let key = match to {
        Provider::Gemini => "parts",
        _ => "content",
    };
    for turn in messages.chunk_by(|a, b| role(a) == role(b)) {
        let mut blocks = Vec::new();
        for part in turn.iter().flat_map(|message| &message.parts) {
            blocks.push(block(to, part)?);
        }
        let (role, blocks) = (turn.first().map_or("user", role), blocks.join(","));
        out.push(format!(r#"{{"role":"{role}","{key}":[{blocks}]}}"#));
    }
    Ok(())
}

fn block(to: Provider, part: &Part) -> Result<String, ConvertError> {
    Ok(match part {
        Part::Text(text) if to == Provider::Anthropic => {
            format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
        }
        Part::Text(text) => format!(r#"{{"text":{}}}"#, quoted(text)),
        Part::Result(call, answer) => result(to, call, answer),
        Part::Call(call) => {
            let id = quoted(call.id.as_deref().unwrap_or_default());
            let (name, input) = (quoted(&call.name), object(call)?);
            match to {
                Provider::Gemini => {
                    let id = gemini_id(call);
                    format!(r#"{{"functionCall":{{{id}"name":{name},"args":{input}}}}}"#)
                }
                Provider::Bedrock => {
                    format!(r#"{{"toolUse":{{"toolUseId":{id},"name":{name},"input":{input}}}}}"#)
                }
                _ => format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#),
            }
        }
    })
}
