//! JSON-RPC messages that the proxy writes itself, and its additions to those of the server.

use goodcall::ChangeRecord;
use goodcall_core::Change;
use serde_json::{Value, json};

use crate::frame::{Frame, Message};
use crate::json_span::{quoted, splice};

/// JSON-RPC: the message is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the message is not a valid request.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: the parameters are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// MCP: the connection to the server is closed.
pub(crate) const CLOSED: i64 = -32000;
/// MCP: the server did not answer in time.
pub(crate) const TIMED_OUT: i64 = -32001;
/// MCP: there is no such resource.
pub(crate) const NO_RESOURCE: i64 = -32002;
/// MCP: a header contradicts the message.
pub(crate) const HEADER_MISMATCH: i64 = -32020;

/// JSON-RPC: there is no such method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// MCP: the protocol version is not supported.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The protocol versions that are known.
pub(crate) const VERSIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    RESULT_TYPES,
];

/// The first protocol version whose results name their type.
const RESULT_TYPES: &str = "2026-07-28";

/// The key of the changes to a call in the result's `_meta`.
const CHANGES_KEY: &str = "goodcall/changes";
/// The key of the reason for a refusal in the result's `_meta`.
const REASON_KEY: &str = "goodcall/reason";

/// Writes an error response. `id` is JSON text.
pub(crate) fn error(id: &str, code: i64, message: &str) -> Frame {
    let message = quoted(message);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}"
    )
    .into_bytes()
}

/// Writes the error for a request of a protocol version that is not known. One that names its version
/// itself can only be repeated with a version in which requests do so.
pub(crate) fn unsupported_version(id: &str, version: &str, names_itself: bool) -> Frame {
    version_error(id, version, |known| {
        !names_itself || has_result_type(Some(known))
    })
}

/// Writes the error for a request of a protocol version without a handshake, where one is needed.
pub(crate) fn handshake_needed(id: &str, version: &str) -> Frame {
    version_error(id, version, |known| !has_result_type(Some(known)))
}

fn version_error(id: &str, version: &str, is_supported: impl Fn(&str) -> bool) -> Frame {
    let supported = VERSIONS.iter().filter(|known| is_supported(known));
    let supported: Vec<_> = supported.collect();
    let data = json!({"supported": supported, "requested": version});
    let message = quoted(&format!("unsupported protocol version `{version}`"));
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{UNSUPPORTED_VERSION},\
         \"message\":{message},\"data\":{data}}}}}"
    )
    .into_bytes()
}

/// Writes a tool execution error, whose text tells the model why the call was not forwarded.
pub(crate) fn refusal(id: &str, text: &str, reason: &str, has_result_type: bool) -> Frame {
    let mut result = json!({
        "content": [{"type": "text", "text": text}],
        "isError": true,
        "_meta": {REASON_KEY: reason},
    });
    if has_result_type {
        result["resultType"] = Value::from("complete");
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// Returns true if results of this protocol version name their type.
pub(crate) fn has_result_type(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= RESULT_TYPES)
}

/// Writes a request for one page of the tools.
pub(crate) fn list(id: &str, cursor: Option<&str>, context: Option<&str>) -> Frame {
    page("tools/list", id, cursor, context)
}

/// Writes a request for one page of a list.
pub(crate) fn page(method: &str, id: &str, cursor: Option<&str>, context: Option<&str>) -> Frame {
    let mut params = Vec::new();
    if let Some(cursor) = cursor {
        params.push(format!("\"cursor\":{}", quoted(cursor)));
    }
    if let Some(context) = context {
        params.push(format!("\"_meta\":{context}"));
    }
    let params = params.join(",");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
        .into_bytes()
}

/// Writes the notice that the request with this id is cancelled.
pub(crate) fn cancelled(id: &str, why: &str) -> Frame {
    let why = quoted(why);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
         \"params\":{{\"requestId\":{id},\"reason\":{why}}}}}"
    )
    .into_bytes()
}

/// Writes the request that asks the user whether to go on.
pub(crate) fn elicitation(id: &str, question: &str) -> Frame {
    let params = json!({
        "message": question,
        "requestedSchema": {"type": "object", "properties": {}},
    });
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"elicitation/create\",\"params\":{params}}}"
    )
    .into_bytes()
}

/// Writes the answer that says no more than that a request was done.
pub(crate) fn empty_result(id: &str) -> Frame {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}").into_bytes()
}

/// Writes the notice that a list has changed: that of tools, prompts or resources.
pub(crate) fn list_changed(list: &str) -> Frame {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{list}/list_changed\"}}").into_bytes()
}

/// Adds the changes to the `_meta` of a response's result. Every other byte stays.
pub(crate) fn with_changes(response: &Message<'_>, changes: &[Change]) -> Frame {
    let bytes = response.bytes();
    let records: Vec<_> = changes.iter().map(ChangeRecord::from).collect();
    // Only an object has a place for them.
    let result = response.result().filter(|result| result.is_object());
    let (Some(result), Ok(records)) = (result, serde_json::to_string(&records)) else {
        return bytes.to_vec();
    };
    let member = format!("\"{CHANGES_KEY}\":{records}");
    let edit = match result.get("_meta") {
        Some(meta) if meta.is_object() => meta.append_member(&member),
        Some(meta) => (meta.range(), format!("{{{member}}}")),
        None => result.append_member(&format!("\"_meta\":{{{member}}}")),
    };
    splice(bytes, vec![edit])
}

#[cfg(test)]
mod tests {
    use goodcall_core::{Level, RuleId};

    use super::*;
    use crate::frame::FrameContent;

    fn text(frame: Frame) -> String {
        String::from_utf8(frame).unwrap()
    }

    #[test]
    fn changes_are_added_beside_other_metadata() {
        let change = Change::text(RuleId::ToolName, Level::Safe, "A", "a", 0..0);
        let added = r#""goodcall/changes":[{"rule":"tool-name","level":"safe","path":"","before":"A","after":"a"}]"#;
        for (result, expected) in [
            (
                r#"{"content":[]}"#,
                format!(r#"{{"content":[],"_meta":{{{added}}}}}"#),
            ),
            (
                r#"{"_meta": {"a":1} , "b":2}"#,
                format!(r#"{{"_meta": {{"a":1,{added}}} , "b":2}}"#),
            ),
            (r#"{"_meta":null}"#, format!(r#"{{"_meta":{{{added}}}}}"#)),
            ("null", "null".to_owned()),
            (r#"["a"]"#, r#"["a"]"#.to_owned()),
            (r#""text""#, r#""text""#.to_owned()),
        ] {
            let response = format!(r#"{{"id":1,"result":{result}}}"#);
            let message = FrameContent::read(response.as_bytes()).single().unwrap();
            let changed = with_changes(&message, std::slice::from_ref(&change));
            assert_eq!(text(changed), format!(r#"{{"id":1,"result":{expected}}}"#));
        }
    }

    #[test]
    fn own_requests_carry_only_what_the_protocol_needs() {
        let request = br#"{"params":{"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = FrameContent::read(request).single().unwrap();
        let context = message.protocol_context();
        assert_eq!(
            text(list("\"l\"", Some("c"), context.as_deref())),
            r#"{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"cursor":"c","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        );
        assert!(has_result_type(message.protocol_version().as_deref()));
        assert!(!has_result_type(Some("2025-11-25")));
    }
}
