//! The parts of a `tools/call` request and of its result.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use goodcall_core::clip;

use crate::frame::{Frame, Message};
use crate::json_rpc;
use crate::json_span::JsonSpan;

/// Characters of a tool's error that the loop detector compares.
const ERROR_CHARS: usize = 400;

/// A `tools/call` request, as far as it is judged.
pub(crate) struct CallRequest<'f> {
    pub(crate) bytes: &'f [u8],
    /// The request's id as JSON text.
    pub(crate) id: &'f str,
    pub(crate) params: JsonSpan<'f>,
    pub(crate) name_span: JsonSpan<'f>,
    pub(crate) name: Cow<'f, str>,
    /// The arguments and their text; `None` if the request has none.
    pub(crate) arguments: Option<(JsonSpan<'f>, &'f str)>,
    /// Whether results of the request's protocol version name their type.
    pub(crate) has_result_type: bool,
    /// Whether the client asks for a task instead of the tool's result.
    is_task: bool,
}

/// A `tools/call` request that is not judged.
#[derive(Debug)]
pub(crate) enum UnreadableCall {
    /// Two readers could read two different calls; this is the answer.
    Ambiguous(Frame),
    /// It breaks the protocol, and the server itself is to say so.
    Malformed,
}

impl<'f> CallRequest<'f> {
    pub(crate) fn read(message: &Message<'f>) -> Result<Self, UnreadableCall> {
        let malformed = || UnreadableCall::Malformed;
        let id = message.raw_id().ok_or_else(malformed)?;
        let params = message.params().ok_or_else(malformed)?;
        if message.repeats_key() || params.repeats_key(&["name", "arguments", "_meta", "task"]) {
            let text = "a key of the request occurs twice";
            let answer = json_rpc::error(id, json_rpc::INVALID_REQUEST, text);
            return Err(UnreadableCall::Ambiguous(answer));
        }
        let name_span = params.get("name").ok_or_else(malformed)?;
        let name = name_span.as_str().ok_or_else(malformed)?;
        let arguments = match params.get("arguments") {
            Some(span) => Some((span, span.raw().ok_or_else(malformed)?)),
            None => None,
        };
        Ok(Self {
            bytes: message.bytes(),
            id,
            params,
            name_span,
            name,
            arguments,
            has_result_type: json_rpc::has_result_type(message.protocol_version().as_deref()),
            is_task: params.get("task").is_some(),
        })
    }

    /// Stands for a malformed request, which is forwarded and logged without a tool's name.
    pub(crate) fn malformed(message: &Message<'f>) -> Self {
        let nothing = JsonSpan::new(message.bytes(), &(0..0));
        Self {
            bytes: message.bytes(),
            id: message.raw_id().unwrap_or("null"),
            params: nothing,
            name_span: nothing,
            name: Cow::Borrowed(""),
            arguments: None,
            has_result_type: false,
            is_task: false,
        }
    }

    /// The trace that the call is part of, as the client names it in `_meta`.
    pub(crate) fn trace_context(&self) -> Vec<(&'static str, String)> {
        let meta = self.params.get("_meta");
        let keys = ["traceparent", "tracestate"].into_iter();
        let values = keys.filter_map(|key| {
            let value = meta.as_ref()?.get(key)?;
            Some((key, value.as_str()?.into_owned()))
        });
        values.collect()
    }

    /// The answer to a call that is not forwarded. It is an error where the client asked for a
    /// task, because a tool's result could not be read as one.
    pub(crate) fn refusal(&self, text: &str, reason: &str) -> Frame {
        if self.is_task {
            json_rpc::error(self.id, json_rpc::INVALID_PARAMS, text)
        } else {
            json_rpc::refusal(self.id, text, reason, self.has_result_type)
        }
    }
}

/// Returns the text with U+FFFD in place of escapes that are half a character; `None` if there are
/// none. Programs that cut strings between the halves write them, and other programs read them.
pub(crate) fn without_lone_surrogates(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = text.get(at..)?.find('\\') {
        at += found;
        let unit = |at: usize| {
            let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&text[done..at]);
                out.push_str("\\ufffd");
                at += 6;
                done = at;
            }
            (Some(_), _) => at += 6,
            // The character behind the backslash may have several bytes.
            (None, _) => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    out.push_str(&text[done..]);
    (done > 0).then_some(out)
}

/// The first text of a result's content.
pub(crate) fn text_of(result: JsonSpan<'_>) -> Option<Cow<'_, str>> {
    let first = result.get("content")?.elements()?.into_iter().next()?;
    first.get("text")?.as_str()
}

/// The first text of a result's content, clipped for the loop detector.
pub(crate) fn first_text(result: JsonSpan<'_>) -> Option<String> {
    text_of(result).map(|text| clip(&text, ERROR_CHARS))
}

/// The message of a JSON-RPC error, clipped for the loop detector.
pub(crate) fn error_text(error: JsonSpan<'_>) -> Option<String> {
    let text = error.get("message")?.as_str()?;
    Some(clip(&text, ERROR_CHARS))
}

/// Returns a hash by which the loop detector compares the bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_replaced_and_whole_ones_stay() {
        for (text, expected) in [
            (r#"{"a":"\ud83d"}"#, Some(r#"{"a":"\ufffd"}"#)),
            (
                r#""\uD83D\uDE00\ude00é\\ud83d\é""#,
                Some(r#""\uD83D\uDE00\ufffdé\\ud83d\é""#),
            ),
            (
                r#""\ud83d\ud83d\ude00\u00e9""#,
                Some(r#""\ufffd\ud83d\ude00\u00e9""#),
            ),
            (r#""\\ud83d \"""#, None),
            ("\\", None),
        ] {
            assert_eq!(without_lone_surrogates(text).as_deref(), expected, "{text}");
        }
    }
}
