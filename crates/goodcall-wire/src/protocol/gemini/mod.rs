//! Gemini's own API: `generateContent` and `streamGenerateContent`. A chunk of a stream has the form
//! of a whole reply, and each call is whole in one of them, unless the request asks for arguments in
//! parts.

mod encode;

use goodcall_core::{Kind, Node, Tree};

use super::form::{block_history, has, user_results};
use super::*;
use crate::envelope::{Answer, Provider, is_safety_stop};
use crate::relay::{
    CallDecision, CallMemory, Endpoint, FailedGeneration, FindCall, QuotedExtent, RecoveredReply,
};
use crate::splice::{Splice, quoted};
use crate::stream::{
    CallEvent, CallSlot, Fragment, PartialArgument, id_of, push_stop, push_text, push_whole_call,
    text,
};

/// Entries of a list of tools that never lead to function calls, as this API and Python's client
/// write them. The provider runs these tools itself.
const OWN_TOOLS: [&str; 16] = [
    "googleSearch",
    "google_search",
    "googleSearchRetrieval",
    "google_search_retrieval",
    "codeExecution",
    "code_execution",
    "urlContext",
    "url_context",
    "googleMaps",
    "google_maps",
    "fileSearch",
    "file_search",
    "retrieval",
    "enterpriseWebSearch",
    "enterprise_web_search",
    "parallelAiSearch",
];
/// The member of a part that holds the signature of the thoughts before it.
const SIGNATURE: &str = "thoughtSignature";
/// Reasons for which a reply ends where a call should be.
const FAILED: [&str; 2] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"];
const FUNCTIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// Whole messages of Gemini.
pub(super) struct GeminiForm;

impl Form for GeminiForm {
    fn provider(&self) -> Provider {
        Provider::Gemini
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let (head, method) = url.path.rsplit_once(':')?;
        let (_, model) = head.rsplit_once('/')?;
        let mut endpoint = Endpoint::new(Provider::Gemini);
        match method {
            "generateContent" => Some(endpoint.of_model(model, false)),
            "streamGenerateContent" => {
                if !url.query.split('&').any(|pair| pair == "alt=sse") {
                    endpoint.framing = Framing::Array;
                }
                Some(endpoint.of_model(model, true))
            }
            _ => None,
        }
    }

    fn is_function(&self, entry: Node<'_>) -> bool {
        FUNCTIONS.iter().any(|key| entry.get(key).is_some())
    }

    fn is_opaque(&self, entry: Node<'_>) -> bool {
        let mut keys = entry.members().map(|(key, _)| key);
        keys.any(|key| !FUNCTIONS.contains(&key) && !OWN_TOOLS.contains(&key))
    }

    fn has_several_choices(&self, root: Node<'_>) -> bool {
        let count = setting(root, ["candidateCount", "candidate_count"]);
        let count = count.and_then(Node::digits);
        count.is_some_and(|digits| digits != "1")
    }

    fn forbids_calls(&self, root: Node<'_>) -> bool {
        let config = either(root, ["toolConfig", "tool_config"]);
        let keys = ["functionCallingConfig", "function_calling_config"];
        let config = config.and_then(|config| either(config, keys));
        let mode = config.and_then(|config| config.get("mode")?.as_str());
        mode.is_some_and(|mode| mode.eq_ignore_ascii_case("none"))
    }

    fn token_limit<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        setting(root, ["maxOutputTokens", "max_output_tokens"])
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("usageMetadata")
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        has(root, "error") || !candidates(root).any(has_content)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        candidates(root).any(|candidate| is_safety_stop(candidate.get("finishReason")))
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        let lists = candidates(root).filter_map(|candidate| candidate.get("content")?.get("parts"));
        Layout::Blocks(lists.collect())
    }

    fn block_texts<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        let text = block.get("text").filter(|_| !is_thought(block));
        text.into_iter().collect()
    }

    fn refuses_empty_text(&self) -> bool {
        true
    }

    fn call(&self, _: &str, name: &str, arguments: &str) -> String {
        let name = quoted(name);
        format!(r#"{{"functionCall":{{"name":{name},"args":{arguments}}}}}"#)
    }

    fn text_block(&self, decision: &CallDecision) -> String {
        format!(r#"{{"text":{}}}"#, quoted(&decision.text))
    }

    fn message(&self, author: Author, text: &str) -> String {
        let role = match author {
            Author::Model => "model",
            Author::User => "user",
        };
        format!(
            r#"{{"role":"{role}","parts":[{{"text":{}}}]}}"#,
            quoted(text)
        )
    }

    fn failed_generation(&self, root: Node<'_>) -> Option<FailedGeneration> {
        let candidate = candidates(root).next().filter(|own| !has_calls(*own))?;
        let reason = candidate.get("finishReason")?.as_str()?;
        if !FAILED.contains(&reason) {
            return None;
        }
        let message = candidate.get("finishMessage").and_then(Node::as_str);
        let message = message.unwrap_or_default();
        // `Malformed function call: print(…)`
        let quoted = message.split_once("function call: ");
        let quoted = quoted.or_else(|| message.split_once("tool call: "));
        FailedGeneration::new(
            quoted.map_or(message, |(_, text)| text),
            QuotedExtent::Whole,
        )
    }

    fn recovered(
        &self,
        failed: &str,
        root: Node<'_>,
        reply: &RecoveredReply<'_>,
    ) -> Option<String> {
        let candidate = candidates(root).next()?;
        let mut splice = Splice::new(failed);
        let said = Some(reply.text).filter(|text| !text.is_empty());
        let said = said.map(|text| format!(r#"{{"text":{}}}"#, quoted(text)));
        // What came before the calls, such as thoughts.
        let before = parts(candidate).filter(|part| !is_blank(*part));
        let before = before.map(|part| part.written().to_owned());
        let parts = before.chain(said).chain([reply.calls.clone()]);
        let parts = parts.collect::<Vec<_>>().join(",");
        let content = format!(r#"{{"role":"model","parts":[{parts}]}}"#);
        splice.set(candidate, "content", &content);
        splice.set(candidate, "finishReason", "\"STOP\"");
        splice.remove(candidate, "finishMessage");
        Some(splice.apply())
    }

    fn memorable(&self, root: Node<'_>, _: &str) -> Vec<CallMemory> {
        let mut out = Vec::new();
        for candidate in candidates(root) {
            // Of parallel calls only the first is signed; the client may get another one first.
            let mut signed = parts(candidate).filter(|part| part.get("functionCall").is_some());
            let first = signed.find_map(|part| part.get(SIGNATURE));
            for part in parts(candidate) {
                let signature = part.get(SIGNATURE).or(first);
                if let Some((mut memory, signature)) = call_memory(part).zip(signature) {
                    let member = (SIGNATURE.to_owned(), signature.to_json());
                    memory.call.push(member);
                    out.push(memory);
                }
            }
        }
        out
    }

    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        let mut splice = Splice::new(request);
        for content in root.get("contents")?.elements() {
            let parts = content.get("parts").into_iter().flat_map(Node::elements);
            let mut calls = parts.filter_map(|part| Some((part, call_memory(part)?)));
            let first = calls.next();
            let Some((part, call)) = first.filter(|(part, _)| part.get(SIGNATURE).is_none()) else {
                continue;
            };
            let known = find(call.id.as_deref(), &call.name, &call.arguments);
            for (key, value) in known.iter().flat_map(|known| &known.call) {
                splice.append(part, &format!("{}:{value}", quoted(key)));
            }
        }
        (!splice.is_empty()).then(|| splice.apply())
    }

    fn first_call_member(&self) -> Option<&'static str> {
        Some(SIGNATURE)
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        let content = candidates(root).next()?.get("content")?;
        let parts = block_history(content.get("parts")?, legal, is_blank)?;
        Some(format!(r#"{{"role":"model","parts":{parts}}}"#))
    }

    fn results(&self, _: &str, answers: &[(&CallDecision, Answer)]) -> String {
        user_results(self.provider(), "parts", answers)
    }
}

/// The call of a part, as it is remembered.
fn call_memory(part: Node<'_>) -> Option<CallMemory> {
    CallMemory::read(part.get("functionCall")?, "id", "args")
}

/// A member under either of its names: the API takes both.
fn either<'t>(node: Node<'t>, keys: [&str; 2]) -> Option<Node<'t>> {
    let mut found = keys.into_iter().filter_map(|key| node.get(key));
    found.find(|value| !value.is_null())
}

/// A setting of how a reply is generated.
fn setting<'t>(root: Node<'t>, keys: [&str; 2]) -> Option<Node<'t>> {
    either(
        either(root, ["generationConfig", "generation_config"])?,
        keys,
    )
}

fn candidates<'t>(root: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    root.get("candidates").into_iter().flat_map(Node::elements)
}

/// The parts of a candidate's content.
fn parts<'t>(candidate: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let content = candidate.get("content");
    let parts = content.and_then(|content| content.get("parts"));
    parts.into_iter().flat_map(Node::elements)
}

fn is_thought(part: Node<'_>) -> bool {
    part.get("thought").and_then(Node::as_bool) == Some(true)
}

/// Returns true for a part that says nothing, which some endpoints refuse in a history. One with a
/// signature is wanted back.
fn is_blank(part: Node<'_>) -> bool {
    part.len() == 1 && part.get("text").and_then(Node::as_str) == Some("")
}

fn has_calls(candidate: Node<'_>) -> bool {
    parts(candidate).any(|part| part.get("functionCall").is_some())
}

/// Returns true if a candidate says anything.
fn has_content(candidate: Node<'_>) -> bool {
    parts(candidate).any(|part| !is_blank(part) && !is_thought(part))
}

/// The stream of one candidate.
#[derive(Clone, Debug, Default)]
pub(super) struct Gemini {
    /// The candidate's index, once it is known.
    index: Option<String>,
    /// Members of the first chunk beside the candidates, for chunks that the relay makes.
    shell: Option<String>,
    /// The id of the reply that the client knows, as JSON.
    reply_id: Option<String>,
    /// The parts of this reply, for the history.
    history: Vec<HistoryPart>,
    /// The signature of the text in the current chunk.
    signature: Option<String>,
    /// The signature of a call that the client does not get, for the first one that it does.
    carried: Option<String>,
    places: Places,
}

/// A part of the reply, as the history needs it.
#[derive(Clone, Debug)]
enum HistoryPart {
    /// Text, and its signature as JSON.
    Text(String, Option<String>),
    /// A part that is neither text nor a call.
    Other(String),
    /// A call, and the part in which it begins.
    Call(CallKey, String),
}

/// Reads a chunk into calls and text.
fn decode(root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let Some(candidate) = candidates(root).next() else {
        return out;
    };
    for part in parts(candidate) {
        if !is_thought(part) {
            push_text(part.get("text"), &mut out);
        }
        let Some(call) = part.get("functionCall") else {
            continue;
        };
        let more = call.get("willContinue").and_then(Node::as_bool) == Some(true);
        let partial = call.get("partialArgs");
        let partial = partial.filter(|list| list.kind() == Kind::Array);
        if partial.is_none() && !more && call.get("name").is_some() {
            push_whole_call(call, "args", id_of(call.get("id")), &mut out);
            continue;
        }
        let values = partial.into_iter().flat_map(Node::elements);
        out.push(CallEvent::Partial {
            // A name begins a call; a part without one continues it.
            slot: if call.get("name").is_some() {
                CallSlot::New
            } else {
                CallSlot::Last
            },
            fragment: Fragment {
                id: id_of(call.get("id")),
                name: text(call.get("name")),
                arguments: None,
                span: call.span(),
            },
            parts: values.filter_map(PartialArgument::read).collect(),
            more,
        });
    }
    push_stop(candidate.get("finishReason"), &mut out);
    out
}
