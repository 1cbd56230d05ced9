//! Requests and replies as recordings keep them, told apart by their form alone.
//!
//! A log seldom says which provider a request or a reply is of. [`RecordedRequest`] and
//! [`RecordedReply`] find out, whether a reply was recorded whole, as server-sent events, or as a list
//! of chunks.
//!
//! ```
//! use goodcall_core::SchemaCache;
//! use goodcall_wire::recorded::{RecordedReply, RecordedRequest, offered_tools};
//!
//! let request = RecordedRequest::read(r#"{"model": "m", "messages": [], "tools": [
//!     {"type": "web_search_20250305", "name": "web_search"},
//!     {"name": "read", "input_schema": {"type": "object"}}]}"#).unwrap();
//! let tools = offered_tools(request.tools.as_deref().unwrap(), &SchemaCache::default())?;
//! assert_eq!(tools.names().collect::<Vec<_>>(), ["read"]);
//!
//! let reply = r#"{"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
//!     {"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}"#;
//! let reply = RecordedReply::read(reply, &tools).unwrap();
//! assert_eq!(reply.calls[0].arguments, "{}");
//! # Ok::<(), goodcall_wire::ToolsError>(())
//! ```

mod form;
mod reply;
mod usage;

use goodcall_core::{Kind, Node, SchemaCache, StopReason, Tree};

use crate::definitions::Definition;
use crate::envelope::{ConvertibleTools, Envelope, Provider, stop_named};
use crate::request::{HistoryCall, HistoryStep, history};
use crate::tools::{Tools, ToolsError};

pub use reply::RecordedReply;
pub use usage::TokenCount;

/// A recorded request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The provider whose form it has.
    pub provider: Provider,
    /// The model that was asked.
    pub model: Option<String>,
    /// The list of tools as JSON text, for [`offered_tools`]; `None` if there is none.
    pub tools: Option<String>,
    text: String,
}

impl RecordedRequest {
    /// Reads a request. Returns `None` for a text that is not one.
    pub fn read(text: &str) -> Option<Self> {
        let tree = Tree::parse(text).ok()?;
        Self::from_node(tree.root(), text)
    }

    /// Reads a request that is a part of a text which was parsed already.
    pub fn from_node(node: Node<'_>, text: &str) -> Option<Self> {
        let provider = form::request(node)?;
        let part = |node: Node<'_>| text.get(node.span()).map(str::to_owned);
        let model = node.get("model").and_then(Node::as_str);
        Some(Self {
            provider,
            model: model.map(str::to_owned),
            tools: form::tools(node).and_then(part),
            text: part(node)?,
        })
    }

    /// The steps of its history, the oldest first. Results are known for OpenAI's, Anthropic's and
    /// similar forms only.
    pub fn history(&self) -> Vec<HistoryStep> {
        if matches!(self.provider, Provider::Gemini | Provider::Bedrock) {
            return self.calls_without_results();
        }
        history(self.provider, &self.text)
    }

    fn calls_without_results(&self) -> Vec<HistoryStep> {
        let Ok(envelope) = Envelope::read(self.provider, &self.text, &Tools::default()) else {
            return Vec::new();
        };
        let calls = envelope.calls().iter();
        let turn = calls.map(|call| {
            HistoryStep::Turn(vec![HistoryCall {
                id: call.id.clone().unwrap_or_default(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                ..HistoryCall::default()
            }])
        });
        turn.collect()
    }
}

/// Returns true for a value that has the form of a provider's request.
pub fn is_request(node: Node<'_>) -> bool {
    form::request(node).is_some()
}

/// Returns true for a value that has the form of a provider's reply: a response, a message, or a list
/// of messages or chunks.
pub fn is_reply(node: Node<'_>) -> bool {
    form::reply(node).is_some()
}

/// Reads a stop reason as any provider names it, such as `max_tokens` or `tool_calls`.
pub fn stop_reason(name: &str) -> StopReason {
    stop_named(name)
}

/// Reads the functions among the tools of a request. Tools that only their provider can run are
/// passed over: calls of them have no schema.
///
/// # Errors
/// If a function cannot be read, or is defined twice.
pub fn offered_tools(list: &str, schemas: &SchemaCache) -> Result<Tools, ToolsError> {
    let tree = Tree::parse(list)
        .map_err(|error| ToolsError::new(format!("tool definitions must be JSON: {error}")))?;
    let mut functions = ConvertibleTools::default();
    for entry in entries(tree.root()) {
        // Some recorders keep each definition as JSON inside a string.
        if entry.kind() == Kind::Object && !is_nameless(entry) {
            functions.collect(Provider::OpenAi, entry, list);
        }
    }
    functions.functions_with(schemas)
}

/// The entries of a list of tools, or of an object that holds one.
fn entries(root: Node<'_>) -> Vec<Node<'_>> {
    match root.kind() {
        Kind::Array => root.elements().collect(),
        _ => vec![root],
    }
}

/// Returns true for an entry that has neither a name nor a list of definitions inside.
fn is_nameless(entry: Node<'_>) -> bool {
    let has_list = crate::definitions::lists(entry).next().is_some();
    !has_list && Definition::read(entry).name().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider_of(text: &str) -> Option<Provider> {
        RecordedRequest::read(text).map(|request| request.provider)
    }

    #[test]
    fn requests_are_told_apart_by_their_form() {
        for (text, provider) in [
            (
                r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]}"#,
                Provider::OpenAi,
            ),
            (
                r#"{"model":"m","max_tokens":5,"messages":[],"tools":[{"name":"f","input_schema":{}}]}"#,
                Provider::Anthropic,
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}"#,
                Provider::Anthropic,
            ),
            (
                r#"{"model":"m","input":"x","tools":[{"type":"function","name":"f"}]}"#,
                Provider::Responses,
            ),
            (
                r#"{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}"#,
                Provider::Responses,
            ),
            (
                r#"{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}"#,
                Provider::Gemini,
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"text":"x"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]}}"#,
                Provider::Bedrock,
            ),
        ] {
            assert_eq!(provider_of(text), Some(provider), "{text}");
        }
        for other in ["[]", "{}", r#"{"a":1}"#, "not JSON", r#"{"input":5}"#] {
            assert_eq!(provider_of(other), None, "{other}");
        }
    }

    #[test]
    fn tools_of_the_provider_are_passed_over() {
        let schemas = SchemaCache::default();
        for (list, names) in [
            (
                r#"[{"type":"web_search"},{"type":"function","name":"f","parameters":{}}]"#,
                vec!["f"],
            ),
            (
                r#"[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]"#,
                vec!["f", "g"],
            ),
            (
                r#"{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]}"#,
                vec!["f"],
            ),
            (r#"[{"type":"code_interpreter"}]"#, vec![]),
        ] {
            let tools = offered_tools(list, &schemas).unwrap();
            assert_eq!(tools.names().collect::<Vec<_>>(), names, "{list}");
        }
        assert!(offered_tools("nonsense", &schemas).is_err());
    }

    #[test]
    fn history_of_gemini_has_its_calls() {
        let text = r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1.0}}}]}]}"#;
        let steps = RecordedRequest::read(text).unwrap().history();
        let [HistoryStep::Turn(calls)] = &steps[..] else {
            panic!("{steps:?}");
        };
        assert_eq!(
            (calls[0].name.as_str(), calls[0].arguments.as_str()),
            ("f", r#"{"a":1.0}"#)
        );
    }
}
