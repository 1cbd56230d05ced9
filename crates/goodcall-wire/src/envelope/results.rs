//! Writes results of calls in each provider's form.

use super::Provider;
use super::rewrite::legal_name;
use crate::call::RawCall;
use crate::splice::quoted;

/// The result of a call, as text for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The text that the model reads.
    pub text: String,
    /// True if the call failed, or was not run at all.
    pub is_error: bool,
}

impl Answer {
    /// Returns the result of a call that succeeded.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
        }
    }

    /// Returns an error that the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
        }
    }
}

/// Writes the result of a call in the provider's form: a message, an item, a block or a part. It is
/// paired with the call by its id or name, and an error is flagged if the form has a flag.
///
/// ```
/// use goodcall_wire::{Answer, RawCall, Provider, Tools, result};
///
/// let call = RawCall::new(&Tools::default(), "read", "{}").with_id("toolu_1");
/// assert_eq!(
///     result(Provider::Anthropic, &call, &Answer::error("no such file")),
///     r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"no such file","is_error":true}"#
/// );
/// ```
pub fn result(provider: Provider, call: &RawCall, answer: &Answer) -> String {
    let id = quoted(call.id.as_deref().unwrap_or_default());
    let name = quoted(&legal_name(provider, &call.name));
    let text = quoted(&answer.text);
    match provider {
        Provider::OpenAi => {
            format!(r#"{{"role":"tool","tool_call_id":{id},"content":{text}}}"#)
        }
        Provider::Responses => {
            format!(r#"{{"type":"function_call_output","call_id":{id},"output":{text}}}"#)
        }
        Provider::Anthropic => {
            let flag = if answer.is_error {
                r#","is_error":true"#
            } else {
                ""
            };
            format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":{text}{flag}}}"#)
        }
        Provider::Gemini => {
            let key = if answer.is_error { "error" } else { "output" };
            let id = gemini_id(call);
            format!(r#"{{"functionResponse":{{{id}"name":{name},"response":{{"{key}":{text}}}}}}}"#)
        }
        Provider::Bedrock => {
            let status = if answer.is_error { "error" } else { "success" };
            format!(
                r#"{{"toolResult":{{"toolUseId":{id},"content":[{{"text":{text}}}],"status":"{status}"}}}}"#
            )
        }
        Provider::Ollama => {
            format!(r#"{{"role":"tool","tool_name":{name},"content":{text}}}"#)
        }
        Provider::Mistral => {
            format!(r#"{{"role":"tool","tool_call_id":{id},"name":{name},"content":{text}}}"#)
        }
        Provider::Mcp => {
            let flag = answer.is_error;
            format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":{flag}}}"#)
        }
    }
}

/// The id of a call as a member for Gemini, which pairs by name: an invented id is left out of both
/// the call and its result.
pub(super) fn gemini_id(call: &RawCall) -> String {
    let own = call.id.as_deref().filter(|id| !id.starts_with("call_"));
    own.map_or(String::new(), |id| format!(r#""id":{},"#, quoted(id)))
}
