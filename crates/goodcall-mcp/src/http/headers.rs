//! Headers: which ones pass, and the mirrors of the newest revision.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::frame::{self, Kind, Outline};
use crate::json_rpc;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// Headers of one connection, which do not pass.
const HOP: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    // Bodies are read here: they must come as they are.
    "accept-encoding",
];

/// The headers that pass.
pub(crate) fn passing(headers: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (name, value) in headers {
        if !HOP.contains(&name.as_str()) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

/// Rewrites the mirrors after a call was mended. Only what the client mirrored is mirrored.
pub(crate) fn mend(headers: &mut HeaderMap, tool: &str, mirrors: &[(String, Option<String>)]) {
    if headers.contains_key(&NAME) {
        set(headers, NAME, tool);
    }
    let version = headers.get(&VERSION).and_then(|value| value.to_str().ok());
    let wanted = headers.contains_key(&METHOD) || json_rpc::is_typed(version);
    for (header, value) in mirrors.iter().filter(|_| wanted) {
        let Ok(name) = HeaderName::try_from(format!("{PARAM}{header}")) else {
            continue;
        };
        match value {
            Some(value) => set(headers, name, value),
            None => drop(headers.remove(name)),
        }
    }
}

/// The headers of our own request for the tools, after those of a call.
pub(crate) fn for_list(headers: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (name, value) in headers {
        if *name != NAME && !name.as_str().starts_with(PARAM) {
            out.append(name.clone(), value.clone());
        }
    }
    if out.contains_key(&METHOD) {
        set(&mut out, METHOD, "tools/list");
    }
    out
}

/// The headers that a request of the newest revision needs, from the request itself.
pub(crate) fn of_frame(bytes: &[u8], mirrors: &[(String, Option<String>)]) -> HeaderMap {
    let mut out = HeaderMap::new();
    let Kind::One(outline) = frame::kind(bytes) else {
        return out;
    };
    let version = json_rpc::version(bytes, outline.params.as_ref());
    let (Some(version), Some(method)) = (version.as_deref(), outline.method.as_deref()) else {
        return out;
    };
    set(&mut out, VERSION, version);
    if !json_rpc::is_typed(Some(version)) {
        return out;
    }
    set(&mut out, METHOD, method);
    if let Some(name) = name(bytes, &outline, method) {
        set(&mut out, NAME, &name);
    }
    for (header, value) in mirrors {
        if let (Ok(name), Some(value)) = (HeaderName::try_from(format!("{PARAM}{header}")), value) {
            set(&mut out, name, value);
        }
    }
    out
}

/// What the newest revision mirrors as a request's name.
fn name(bytes: &[u8], outline: &Outline, method: &str) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    let span = frame::member(bytes, outline.params.as_ref()?, key)?;
    frame::text(bytes, &span).map(|name| name.into_owned())
}

/// Where the headers say something else than the message.
pub(crate) fn mismatch(headers: &HeaderMap, bytes: &[u8]) -> Option<String> {
    let wanted = of_frame(bytes, &[]);
    let found = [METHOD, NAME, VERSION].into_iter().find(|name| {
        let sent = headers.get(name);
        sent.is_some_and(|sent| Some(sent) != wanted.get(name))
    })?;
    Some(format!(
        "the header {found} says something else than the message"
    ))
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(encoded(value)) {
        headers.insert(name, value);
    }
}

/// A value as it can stand in a header: plain ASCII as it is, all else in Base64.
fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let edges = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    match plain && !edges && !marked {
        true => value.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_follow_a_mended_call() {
        let mut headers = HeaderMap::new();
        headers.insert(METHOD, HeaderValue::from_static("tools/call"));
        headers.insert(NAME, HeaderValue::from_static("Get_Weather"));
        headers.insert("mcp-param-zone", HeaderValue::from_static("7"));
        let mirrors = [
            ("Region".to_owned(), Some("Zürich".to_owned())),
            ("Zone".to_owned(), None),
        ];
        mend(&mut headers, "get_weather", &mirrors);
        assert_eq!(headers[NAME], "get_weather");
        assert_eq!(headers["mcp-param-region"], "=?base64?WsO8cmljaA==?=");
        assert!(!headers.contains_key("mcp-param-zone"));
        let list = for_list(&headers);
        assert_eq!(list[METHOD], "tools/list");
        assert!(!list.contains_key(NAME) && !list.contains_key("mcp-param-region"));
    }

    #[test]
    fn a_request_of_the_newest_revision_is_mirrored() {
        let call = br#"{"id":1,"method":"tools/call","params":{"name":"a b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let headers = of_frame(call, &[("X".to_owned(), Some(" y".to_owned()))]);
        assert_eq!(headers[VERSION], "2026-07-28");
        assert_eq!(
            (&headers[METHOD], &headers[NAME]),
            (&"tools/call".parse().unwrap(), &"a b".parse().unwrap())
        );
        assert_eq!(headers["mcp-param-x"], "=?base64?IHk=?=");
        assert!(of_frame(br#"{"id":1,"method":"ping"}"#, &[]).is_empty());
    }
}
