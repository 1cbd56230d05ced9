//! Messages that the proxy writes itself, and what it adds to those of the server.

use std::ops::Range;

use goodcall::ChangeRecord;
use goodcall_core::{Change, Refusal};
use serde_json::{Value, json};

use crate::frame::{self, Frame};

/// JSON-RPC: the message is no JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the message is no request.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: the parameters are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// MCP: the connection to the server is closed.
pub(crate) const CLOSED: i64 = -32000;
/// MCP: the server did not answer in time.
pub(crate) const TIMED_OUT: i64 = -32001;

/// MCP: a header says something else than the message.
pub(crate) const HEADER_MISMATCH: i64 = -32020;

/// From this revision on a result says of what type it is.
const RESULT_TYPES: &str = "2026-07-28";
/// The key of a request's revision, from that one on.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Keys of a request that belong to the protocol start so.
const PROTOCOL_KEYS: &str = "io.modelcontextprotocol/";

/// What goodcall did to a call, in the result's `_meta`.
const CHANGES_KEY: &str = "goodcall/changes";
/// Why a call was refused, in the result's `_meta`.
const REASON_KEY: &str = "goodcall/reason";

/// An error response; `id` is JSON text.
pub(crate) fn error(id: &str, code: i64, message: &str) -> Frame {
    let message = frame::quoted(message);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}"
    )
    .into_bytes()
}

/// A tool execution error: the call was not forwarded, and the model reads why.
pub(crate) fn refusal(id: &str, text: &str, reason: &str, typed: bool) -> Frame {
    let mut result = json!({
        "content": [{"type": "text", "text": text}],
        "isError": true,
        "_meta": {REASON_KEY: reason},
    });
    if typed {
        result["resultType"] = Value::from("complete");
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// The revision that a request names in its `_meta`.
pub(crate) fn version(bytes: &[u8], params: Option<&Range<usize>>) -> Option<String> {
    let meta = frame::member(bytes, params?, "_meta")?;
    let version = frame::member(bytes, &meta, VERSION_KEY)?;
    frame::text(bytes, &version).map(|version| version.into_owned())
}

/// Does a result of this revision say of what type it is?
pub(crate) fn is_typed(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= RESULT_TYPES)
}

/// What a request of ours needs of the `_meta` of the client's: revision, client, capabilities.
pub(crate) fn context(bytes: &[u8], params: Option<&Range<usize>>) -> Option<String> {
    let meta = frame::member(bytes, params?, "_meta")?;
    let members = frame::members(bytes, &meta);
    let kept = members.iter().filter_map(|(key, span)| {
        let value = frame::raw(bytes, span).filter(|_| key.starts_with(PROTOCOL_KEYS))?;
        Some(format!("{}:{value}", frame::quoted(key)))
    });
    let kept: Vec<_> = kept.collect();
    (!kept.is_empty()).then(|| format!("{{{}}}", kept.join(",")))
}

/// A request for one page of the tools.
pub(crate) fn list(id: &str, cursor: Option<&str>, context: Option<&str>) -> Frame {
    let mut params = Vec::new();
    if let Some(cursor) = cursor {
        params.push(format!("\"cursor\":{}", frame::quoted(cursor)));
    }
    if let Some(context) = context {
        params.push(format!("\"_meta\":{context}"));
    }
    let params = params.join(",");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{{params}}}}}")
        .into_bytes()
}

/// The client's request is called off.
pub(crate) fn cancelled(id: &str, why: &str) -> Frame {
    let why = frame::quoted(why);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
         \"params\":{{\"requestId\":{id},\"reason\":{why}}}}}"
    )
    .into_bytes()
}

/// The response with the changes in its result's `_meta`; every other byte stays.
pub(crate) fn with_changes(bytes: &[u8], result: &Range<usize>, changes: &[Change]) -> Frame {
    let records: Vec<_> = changes.iter().map(ChangeRecord::from).collect();
    let Ok(records) = serde_json::to_string(&records) else {
        return bytes.to_vec();
    };
    let member = format!("\"{CHANGES_KEY}\":{records}");
    let edit = match frame::member(bytes, result, "_meta") {
        Some(meta) if bytes.get(meta.start) == Some(&b'{') => frame::adding(bytes, &meta, &member),
        Some(meta) => (meta, format!("{{{member}}}")),
        None => frame::adding(bytes, result, &format!("\"_meta\":{{{member}}}")),
    };
    frame::splice(bytes, vec![edit])
}

/// The name of the reason, for logs and `_meta`.
pub(crate) fn reason(bad: &Refusal) -> &'static str {
    bad.reason.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodcall_core::Level;

    fn text(frame: Frame) -> String {
        String::from_utf8(frame).unwrap()
    }

    #[test]
    fn changes_are_added_beside_what_is_there() {
        let change = Change::text(goodcall_core::RuleId::ToolName, Level::Safe, "A", "a", 0..0);
        let added = r#""goodcall/changes":[{"rule":"tool-name","level":"safe","path":"","before":"A","after":"a"}]"#;
        for (result, wanted) in [
            (
                r#"{"content":[]}"#,
                format!(r#"{{"content":[],"_meta":{{{added}}}}}"#),
            ),
            (
                r#"{"_meta": {"a":1} , "b":2}"#,
                format!(r#"{{"_meta": {{"a":1,{added}}} , "b":2}}"#),
            ),
            (r#"{"_meta":null}"#, format!(r#"{{"_meta":{{{added}}}}}"#)),
        ] {
            let bytes = result.as_bytes();
            let changed = with_changes(bytes, &(0..bytes.len()), std::slice::from_ref(&change));
            assert_eq!(text(changed), wanted);
        }
    }

    #[test]
    fn our_requests_carry_what_the_protocol_needs_and_no_more() {
        let params = br#"{"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let span = 0..params.len();
        let context = context(params, Some(&span));
        assert_eq!(
            text(list("\"l\"", Some("c"), context.as_deref())),
            r#"{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"cursor":"c","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        );
        assert!(is_typed(version(params, Some(&span)).as_deref()));
        assert!(!is_typed(Some("2025-11-25")));
    }
}
