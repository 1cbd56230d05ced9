//! One choice in a stream of OpenAI Chat Completions, which many other servers speak, too.
//!
//! Nothing marks the end of a call, so calls are held until the message ends.

mod encode;

use std::collections::HashMap;
use std::ops::Range;

use goodcall_core::{Kind, Node, Tree};

use super::form::has;
use super::*;
use crate::definitions::Definition;
use crate::envelope::{Answer, Provider, is_client_side_call, is_safety_stop, legal_name, result};
use crate::relay::{
    CallDecision, CallMemory, Endpoint, ExtraFields, FailedGeneration, FindCall, RecoveredReply,
};
use crate::splice::{Splice, quoted};
use crate::stream::{
    CallEvent, CallSlot, Fragment, id_of, index_slot, push_stop, push_text, raw, text,
};

const CHAT_STOP: StopReasons = StopReasons {
    with_calls: "tool_calls",
    without_calls: "stop",
};
const LEGACY_CHAT_STOP: StopReasons = StopReasons {
    with_calls: "function_call",
    without_calls: "stop",
};

/// Members of a message that hold the reasoning before its calls.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];
/// Members of a call that are judged or written by the relay.
const JUDGED: [&str; 4] = ["index", "id", "type", "function"];

/// Whole messages of Chat Completions.
pub(super) struct ChatForm;

impl Form for ChatForm {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let is_own = url.path.ends_with("/chat/completions");
        is_own.then(|| Endpoint::new(Provider::OpenAi))
    }

    fn tools<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("tools").or_else(|| root.get("functions"))
    }

    fn is_function(&self, entry: Node<'_>) -> bool {
        let definition = Definition::read(entry);
        // The list may also be the legacy `functions`, without a wrapper.
        let has_form = match entry.get("function") {
            Some(_) => definition.wrapper == Some("function"),
            None => definition.kind.is_none(),
        };
        has_form && definition.name().is_some()
    }

    fn has_several_choices(&self, root: Node<'_>) -> bool {
        let count = root.get("n").and_then(Node::digits);
        count.is_some_and(|digits| digits != "1")
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        has(root, "error") || root.get("choices").is_none_or(Node::is_empty)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        let mut choices = root.get("choices").into_iter().flat_map(Node::elements);
        choices.any(|choice| {
            let calls = choice.get("message").and_then(|own| own.get("tool_calls"));
            is_safety_stop(choice.get("finish_reason"))
                || calls.is_some_and(|calls| calls.elements().any(is_client_side_call))
        })
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        let choices = root.get("choices").into_iter().flat_map(Node::elements);
        Layout::Messages(choices.filter_map(|choice| choice.get("message")).collect())
    }

    fn stop_places<'t>(&self, root: Node<'t>) -> Vec<StopPlace<'t>> {
        let choices = root.get("choices").into_iter().flat_map(Node::elements);
        let places = choices.map(|owner| StopPlace {
            owner,
            key: "finish_reason",
            reasons: match owner.get("message") {
                Some(message) if is_legacy(message) => &LEGACY_CHAT_STOP,
                _ => &CHAT_STOP,
            },
        });
        places.collect()
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("reasoning_content")
    }

    fn call(&self, id: &str, name: &str, arguments: &str) -> String {
        let (id, name, arguments) = (quoted(id), quoted(name), quoted(arguments));
        format!(
            r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
        )
    }

    fn failed_generation(&self, root: Node<'_>) -> Option<FailedGeneration> {
        FailedGeneration::in_error(root.get("error")?)
    }

    fn recovered(&self, _: &str, _: Node<'_>, reply: &RecoveredReply<'_>) -> Option<String> {
        let id = quoted(&reply_id(&reply.number));
        let (model, calls) = (quoted(reply.model), &reply.calls);
        let text = Some(reply.text).filter(|text| !text.is_empty());
        let text = text.map_or("null".to_owned(), quoted);
        let message = format!(r#"{{"role":"assistant","content":{text},"tool_calls":[{calls}]}}"#);
        Some(format!(
            r#"{{"id":{id},"object":"chat.completion","created":0,"model":{model},"choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}]}}"#
        ))
    }

    fn memorable(&self, root: Node<'_>, _: &str) -> Vec<CallMemory> {
        let Layout::Messages(messages) = self.layout(root) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for message in messages {
            let reasoning = message
                .members()
                .filter(|(key, value)| REASONING.contains(key) && is_full(*value));
            let reasoning: Vec<_> = reasoning
                .map(|(key, value)| (key.to_owned(), value.to_json()))
                .collect();
            for call in fragments(message, "tool_calls") {
                let extras = call.members().filter(|(key, _)| !JUDGED.contains(key));
                let extras = extras.map(|(key, value)| (key.to_owned(), value.to_json()));
                if let Some(mut memory) = call_memory(call) {
                    memory.call = extras.collect();
                    memory.message.clone_from(&reasoning);
                    out.push(memory);
                }
            }
        }
        out
    }

    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        put_back(request, root, find)
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        let message = root.get("choices")?.element(0)?.get("message")?;
        legal.get(message.span()).map(str::to_owned)
    }

    fn results(&self, reply: &str, answers: &[(&CallDecision, Answer)]) -> String {
        let tree = Tree::parse(reply).ok();
        let is_legacy = tree.is_some_and(|tree| is_legacy(tree.root()));
        let results = answers.iter().map(|(decision, answer)| {
            if is_legacy {
                legacy_result(&decision.call.name, &answer.text)
            } else {
                result(Provider::OpenAi, &decision.call, answer)
            }
        });
        results.collect::<Vec<_>>().join(",")
    }
}

/// Returns true if a message calls in the legacy form, which has its own form of results.
pub(crate) fn is_legacy(message: Node<'_>) -> bool {
    let call = message.get("function_call");
    call.is_some_and(|call| call.kind() == Kind::Object)
}

/// The call of a message, as it is remembered.
fn call_memory(call: Node<'_>) -> Option<CallMemory> {
    let mut memory = CallMemory::read(call.get("function")?, "id", "arguments")?;
    memory.id = text(call.get("id"));
    Some(memory)
}

/// Puts back what a client dropped: reasoning beside the calls, members of calls, and ids that the
/// model wrote itself.
fn put_back(request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
    let mut splice = Splice::new(request);
    let messages: Vec<_> = root.get("messages")?.elements().collect();
    // The new ids of the calls of the last message with calls.
    let mut renamed: HashMap<&str, String> = HashMap::new();
    for message in messages {
        let role = message.get("role").and_then(Node::as_str);
        if role == Some("tool") {
            let id = message.get("tool_call_id");
            let native = id.and_then(|id| renamed.get(id.as_str()?));
            if let Some((id, native)) = id.zip(native) {
                splice.replace_string(id.span(), native);
            }
            continue;
        }
        renamed.clear();
        let mut reasoning: Vec<(String, String)> = Vec::new();
        for call in fragments(message, "tool_calls") {
            let Some(sent) = call_memory(call) else {
                continue;
            };
            let Some(known) = find(sent.id.as_deref(), &sent.name, &sent.arguments) else {
                continue;
            };
            let missing = |owner: Node<'_>, key: &str| owner.get(key).is_none_or(Node::is_null);
            for (key, value) in known.call.iter().filter(|(key, _)| missing(call, key)) {
                splice.set(call, key, value);
            }
            if reasoning.is_empty() {
                reasoning.clone_from(&known.message);
            }
            let native = known.id.as_ref().filter(|_| known.has_native_id());
            if let (Some(id), Some(native)) = (call.get("id"), native)
                && let Some(sent) = id.as_str().filter(|sent| sent != native)
            {
                splice.replace_string(id.span(), native);
                renamed.insert(sent, native.clone());
            }
        }
        let has_any = REASONING
            .iter()
            .any(|key| message.get(key).is_some_and(is_full));
        for (key, value) in reasoning.iter().filter(|_| !has_any) {
            splice.set(message, key, value);
        }
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// The id of a reply that the upstream did not send.
fn reply_id(number: &str) -> String {
    format!("chatcmpl-{number}")
}

/// The key of a message's calls.
pub(crate) fn calls_key(legacy: bool) -> &'static str {
    if legacy {
        "function_call"
    } else {
        "tool_calls"
    }
}

/// A result in the legacy form, which is paired with its call by name.
fn legacy_result(name: &str, text: &str) -> String {
    let (name, text) = (quoted(&legal_name(Provider::OpenAi, name)), quoted(text));
    format!(r#"{{"role":"function","name":{name},"content":{text}}}"#)
}

/// One choice of a stream, which is one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Chat {
    /// The choice's index, once it is known.
    index: Option<String>,
    form: CallForm,
    /// The members of each call beside what is judged, such as a signature.
    extras: Vec<Vec<(String, String)>>,
    /// True if a fragment is not of the usual form, so that all calls are written anew.
    irregular: bool,
    /// The text outside calls.
    said: String,
    /// Other fields of the message, such as the reasoning.
    extra: ExtraFields,
    /// The calls, for the history.
    keys: Vec<CallKey>,
    /// A chunk of the first reply without its choices, for chunks that the relay makes.
    shell: Option<ChunkShell>,
    places: Places,
    role: RoleState,
}

/// Whether the client knows the role of the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RoleState {
    #[default]
    Unknown,
    /// The chunk with it is held, or was.
    Owed,
    Sent,
}

/// The form of a message's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallForm {
    #[default]
    Unknown,
    ToolCalls,
    /// `function_call`: only one, without an index and an id.
    Legacy,
}

/// A chunk without its choices.
#[derive(Clone, Debug)]
struct ChunkShell {
    before: String,
    after: String,
    /// The message id that the client knows, as JSON.
    message_id: Option<String>,
}

impl Chat {
    fn is_legacy(&self) -> bool {
        self.form == CallForm::Legacy
    }

    /// Reads the choice of a chunk into its events.
    fn read(&mut self, choice: Node<'_>, out: &mut Vec<CallEvent>) {
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        for (key, value) in delta.into_iter().flat_map(Node::members) {
            match key {
                "content" => push_text(Some(value), out),
                "tool_calls" if self.form != CallForm::Legacy => {
                    for call in value.elements() {
                        self.form = CallForm::ToolCalls;
                        let slot = index_slot(call.get("index"));
                        let function = call.get("function");
                        out.push(CallEvent::Call(slot, fragment(call, function)));
                    }
                }
                "function_call"
                    if value.kind() == Kind::Object && self.form != CallForm::ToolCalls =>
                {
                    let mut part = fragment(value, Some(value));
                    part.id = None;
                    if self.form == CallForm::Legacy {
                        // One call at most, whatever later fragments call it.
                        part.name = None;
                    }
                    self.form = CallForm::Legacy;
                    out.push(CallEvent::Call(CallSlot::Last, part));
                }
                _ => {}
            }
        }
        push_stop(choice.get("finish_reason"), out);
    }

    /// Keeps the members of a message beside its text and its calls. A role that comes with calls
    /// or with the end, and not with text, is held together with them.
    fn note_members(&mut self, choice: Node<'_>, delta: Node<'_>) {
        let text = delta.get("content").and_then(Node::as_str);
        let is_held = finish_reason(choice).is_some()
            || delta.get("tool_calls").is_some()
            || delta.get("function_call").is_some();
        for (key, value) in delta.members() {
            match key {
                "content" | "tool_calls" | "function_call" => {}
                "role" if self.role != RoleState::Unknown => {}
                "role" if is_held && text.unwrap_or_default().is_empty() => {
                    self.role = RoleState::Owed;
                }
                "role" => self.role = RoleState::Sent,
                _ => self.extra.add(key, value),
            }
        }
    }

    /// Notes whether a fragment is of the usual form: the first one of a call has its name and id,
    /// later ones have neither.
    fn note_form(&mut self, found: FoundFragment<'_>, call: Node<'_>, function: Option<Node<'_>>) {
        let legacy = self.is_legacy();
        let arguments = function.and_then(|function| function.get("arguments"));
        let is_text = arguments.is_none_or(|node| node.is_null() || node.as_str().is_some());
        let index = call.get("index").and_then(Node::digits);
        let in_order = legacy || index == Some(found.number.to_string().as_str());
        let name = function.and_then(|function| function.get("name"));
        let has_name = text(name).is_some_and(|name| !name.is_empty());
        let has_id = id_of(call.get("id")).is_some() && !legacy;
        let is_regular = if found.is_new {
            (has_name || is_client_side_call(call)) && (has_id || legacy)
        } else {
            !has_name && !has_id
        };
        self.irregular |= !(in_order && is_text && is_regular);
    }

    /// Keeps the members of a call that are not judged, because they belong into the history.
    fn note_extras(&mut self, number: usize, call: Node<'_>) {
        let size = self.extras.len().max(number + 1);
        self.extras.resize(size, Vec::new());
        if self.is_legacy() || is_client_side_call(call) {
            return;
        }
        let own = &mut self.extras[number];
        for (key, value) in call.members() {
            if JUDGED.contains(&key) || value.is_null() {
                continue;
            }
            let text = value.written().to_owned();
            match own.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => *known = text,
                None => own.push((key.to_owned(), text)),
            }
        }
    }
}

fn fragment(call: Node<'_>, function: Option<Node<'_>>) -> Fragment {
    let get = |key| function.and_then(|function| function.get(key));
    Fragment {
        id: id_of(call.get("id")),
        name: text(get("name")).filter(|name| !name.is_empty()),
        arguments: raw(get("arguments")),
        span: call.span(),
    }
}

/// Returns true if a choice says anything.
fn has_content(choice: Node<'_>) -> bool {
    let delta = choice.get("delta").or_else(|| choice.get("message"));
    let mut members = delta.into_iter().flat_map(Node::members);
    choice.get("finish_reason").is_some_and(is_full)
        || members.any(|(key, value)| key != "role" && is_full(value))
}

/// The index of a choice, which servers with only one choice may omit.
fn index_of(choice: Node<'_>) -> &str {
    let index = choice.get("index").and_then(Node::digits);
    index.unwrap_or("0")
}

/// The first choice and its delta.
fn delta_of(root: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let choice = root.get("choices")?.element(0)?;
    let delta = choice.get("delta").or_else(|| choice.get("message"))?;
    Some((choice, delta))
}

/// The finish reason of a choice, if it has ended.
fn finish_reason(choice: Node<'_>) -> Option<&str> {
    let reason = choice.get("finish_reason").and_then(Node::as_str);
    reason.filter(|reason| !reason.is_empty())
}

/// The fragments of calls in a delta.
fn fragments<'t>(delta: Node<'t>, key: &str) -> Vec<Node<'t>> {
    match delta.get(key) {
        Some(call) if call.kind() == Kind::Object => vec![call],
        calls => calls.into_iter().flat_map(Node::elements).collect(),
    }
}
