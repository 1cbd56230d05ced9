//! The headers that pass, and those of protocol version 2026-07-28 that mirror the message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use goodcall_server::is_hop_by_hop;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue};

use crate::argument_mirrors::MirroredHeaders;
use crate::frame::{FrameContent, Message};
use crate::json_rpc;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// Headers that a proxy sets itself. Bodies are read here, and must not be compressed.
const OWN_HEADERS: [HeaderName; 3] = [HOST, CONTENT_LENGTH, ACCEPT_ENCODING];

/// Returns the headers that pass.
pub(crate) fn passing(headers: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (name, value) in headers {
        if !is_hop_by_hop(name) && !OWN_HEADERS.contains(name) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

/// Rewrites the mirrors after a call was mended, if the client has sent any.
pub(crate) fn mend(headers: &mut HeaderMap, tool: &str, mirrors: &MirroredHeaders) {
    if headers.contains_key(&NAME) {
        set(headers, NAME, tool);
    }
    let version = headers.get(&VERSION).and_then(|value| value.to_str().ok());
    if !headers.contains_key(&METHOD) && !json_rpc::has_result_type(version) {
        return;
    }
    for (header, value) in mirrors {
        let Ok(name) = HeaderName::try_from(format!("{PARAM}{header}")) else {
            continue;
        };
        match value {
            Some(value) => set(headers, name, value),
            None => drop(headers.remove(name)),
        }
    }
}

/// Returns the headers of the proxy's own request for the tools, made of those of a call.
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

/// Returns the headers that a request of protocol version 2026-07-28 needs.
pub(crate) fn of_frame(frame: &[u8], mirrors: &MirroredHeaders) -> HeaderMap {
    let mut out = HeaderMap::new();
    let Some(message) = FrameContent::read(frame).single() else {
        return out;
    };
    let version = message.protocol_version();
    let (Some(version), Some(method)) = (version.as_deref(), message.method()) else {
        return out;
    };
    set(&mut out, VERSION, version);
    if !json_rpc::has_result_type(Some(version)) {
        return out;
    }
    set(&mut out, METHOD, method);
    if let Some(name) = mirrored_name(&message, method) {
        set(&mut out, NAME, &name);
    }
    for (header, value) in mirrors {
        if let (Ok(name), Some(value)) = (HeaderName::try_from(format!("{PARAM}{header}")), value) {
            set(&mut out, name, value);
        }
    }
    out
}

/// The parameter that is mirrored as the request's name.
fn mirrored_name(message: &Message<'_>, method: &str) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    message.param(key)?.to_text()
}

/// Returns an error if a header that mirrors a request of protocol version 2026-07-28 is missing or
/// contradicts it. A notification needs none.
pub(crate) fn mismatch(headers: &HeaderMap, frame: &[u8]) -> Option<String> {
    let expected = of_frame(frame, &Vec::new());
    let message = FrameContent::read(frame).single();
    let is_request = message.is_some_and(|message| message.is_request());
    [METHOD, NAME, VERSION].into_iter().find_map(|name| {
        match (headers.get(&name), expected.get(&name)) {
            (None, Some(_)) if is_request => Some(format!("the header {name} is missing")),
            (Some(sent), expected) if !is_mirror(sent, expected) => {
                Some(format!("the header {name} contradicts the message"))
            }
            _ => None,
        }
    })
}

/// Returns an error if a header that mirrors an argument is missing or contradicts it.
pub(crate) fn param_mismatch(headers: &HeaderMap, mirrors: &MirroredHeaders) -> Option<String> {
    mirrors.iter().find_map(|(header, value)| {
        let name = format!("{PARAM}{header}");
        let mut sent = headers.get_all(&name).iter();
        let wrong = match (sent.next(), value) {
            (None, None) => return None,
            (None, Some(_)) => "is missing",
            (Some(_), _) if sent.next().is_some() => "occurs twice",
            (Some(sent), Some(value)) if is_param(sent, value) => return None,
            (Some(_), _) => "contradicts the arguments",
        };
        Some(format!("the header {name} {wrong}"))
    })
}

/// Returns true if a header has the value of an argument. Integers are compared as numbers.
fn is_param(sent: &HeaderValue, value: &str) -> bool {
    let Some(sent) = decoded(sent).and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return false;
    };
    sent == value || integer(&sent).is_some_and(|sent| integer(value).as_ref() == Some(&sent))
}

/// The sign and the digits of an integer, which may have a fraction of zeros.
fn integer(text: &str) -> Option<(bool, &str)> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_integer = is_number(whole) && is_number(fraction) && fraction.bytes().all(|b| b == b'0');
    is_integer.then(|| (is_negative, whole.trim_start_matches('0')))
}

fn is_mirror(sent: &HeaderValue, expected: Option<&HeaderValue>) -> bool {
    let sent = decoded(sent);
    sent.is_some() && sent == expected.and_then(decoded)
}

/// The value of a mirrored header; `None` if it cannot be decoded.
fn decoded(value: &HeaderValue) -> Option<Vec<u8>> {
    let bytes = value.as_bytes();
    let inner = bytes
        .strip_prefix(b"=?base64?")
        .and_then(|rest| rest.strip_suffix(b"?="));
    match inner {
        Some(inner) => BASE64_STANDARD.decode(inner).ok(),
        None => Some(bytes.to_vec()),
    }
}

/// Returns the protocol version that the headers name.
pub(crate) fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(&VERSION)?.to_str().ok()
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(encoded(value)) {
        headers.insert(name, value);
    }
}

/// Encodes a value for a header: plain ASCII stays as it is, all else becomes Base64.
fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let edges = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !edges && !marked {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(value))
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
        let mirrors = vec![
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
    fn headers_that_mirror_arguments_are_compared_with_them() {
        let mirrors = vec![
            ("Region".to_owned(), Some("Zürich".to_owned())),
            ("Zone".to_owned(), Some("42".to_owned())),
            ("Gone".to_owned(), None),
        ];
        let sent = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name = HeaderName::try_from(format!("mcp-param-{name}")).unwrap();
                headers.append(name, value.parse().unwrap());
            }
            param_mismatch(&headers, &mirrors).unwrap_or_default()
        };
        let region = ("region", "=?base64?WsO8cmljaA==?=");
        for zone in ["42", "42.0", "042"] {
            assert_eq!(sent(&[region, ("zone", zone)]), "", "{zone}");
        }
        for (headers, wrong) in [
            (&[("zone", "42")][..], "mcp-param-Region is missing"),
            (&[region, ("zone", "42.5")], "mcp-param-Zone contradicts"),
            (&[region, ("zone", "-42")], "mcp-param-Zone contradicts"),
            (
                &[region, ("zone", "42"), ("zone", "42")],
                "Zone occurs twice",
            ),
            (&[region, ("zone", "42"), ("gone", "")], "Gone contradicts"),
            (
                &[("region", "=?base64?WsO8cmljaA?="), ("zone", "42")],
                "Region contradicts",
            ),
            (
                &[("region", "=?base64?WsO8!cmljaA==?="), ("zone", "42")],
                "Region contradicts",
            ),
        ] {
            assert!(
                sent(headers).contains(wrong),
                "{headers:?}: {}",
                sent(headers)
            );
        }
    }

    #[test]
    fn request_of_2026_07_28_is_mirrored() {
        let call = br#"{"id":1,"method":"tools/call","params":{"name":"a b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let mirrors = vec![("X".to_owned(), Some(" y".to_owned()))];
        let headers = of_frame(call, &mirrors);
        assert_eq!(headers[VERSION], "2026-07-28");
        assert_eq!(
            (&headers[METHOD], &headers[NAME]),
            (&"tools/call".parse().unwrap(), &"a b".parse().unwrap())
        );
        assert_eq!(headers["mcp-param-x"], "=?base64?IHk=?=");
        assert!(of_frame(br#"{"id":1,"method":"ping"}"#, &Vec::new()).is_empty());
    }
}
