//! Logins through a listener in front of a URL.
//!
//! A client compares the address that it uses with the one that the server's metadata name, and
//! does not log in if they differ. So the metadata, and the header that leads to them, name the
//! listener. Tokens pass as they are. [`login_relay`] makes them tokens for the server.
//!
//! [`login_relay`]: super::login_relay

use reqwest::Url;
use reqwest::header::{HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use crate::json_span::{JsonSpan, quoted, splice};
use crate::login::discovery::RESOURCE_METADATA as METADATA;

/// The address under which a client knows the listener, such as `http://127.0.0.1:8080`.
#[derive(Clone, Debug)]
pub(crate) struct OwnOrigin(String);

impl OwnOrigin {
    /// Takes the origin from the headers of a request; `None` if it does not say.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let host = headers.get(HOST).and_then(|value| value.to_str().ok())?;
        // A proxy in front of the listener may have ended TLS.
        let scheme = match text("x-forwarded-proto") {
            Some("https") => "https",
            _ => "http",
        };
        Some(Self(format!("{scheme}://{host}")))
    }

    /// The listener's own address with this path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns true if an address is one of the listener.
    pub(crate) fn has(&self, address: &str) -> bool {
        let rest = address.strip_prefix(self.0.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Lets the header of a response that asks for a login lead to the listener's metadata. Returns
    /// the path of the server's own, if it is not one of those at which clients look anyway.
    pub(crate) fn rewrite_challenge(
        &self,
        headers: &mut HeaderMap,
        server: &Url,
    ) -> Option<String> {
        let from = server.origin().ascii_serialization();
        let mut elsewhere = None;
        let mut rewrite = |value: &HeaderValue| {
            let text = value.to_str().ok()?;
            let (before, rest) = text.split_once("resource_metadata=")?;
            let (quote, address) = match rest.strip_prefix('"') {
                Some(address) => ("\"", address),
                None => ("", rest),
            };
            let address = address.strip_prefix(from.as_str())?;
            let end = address.find(['"', ',', ' ']).unwrap_or(address.len());
            let (path, after) = address.split_at(end);
            let own = &self.0;
            let here = if path.starts_with(METADATA) {
                path.to_owned()
            } else {
                elsewhere = Some(path.to_owned());
                format!("{METADATA}{}", endpoint_path(server))
            };
            let text = format!("{before}resource_metadata={quote}{own}{here}{after}");
            HeaderValue::try_from(text).ok()
        };
        let challenges: Vec<_> = headers.get_all(WWW_AUTHENTICATE).iter().cloned().collect();
        headers.remove(WWW_AUTHENTICATE);
        for challenge in challenges {
            let own = rewrite(&challenge).unwrap_or(challenge);
            headers.append(WWW_AUTHENTICATE, own);
        }
        elsewhere
    }

    /// Lets the metadata that a client asked for name the listener as the resource.
    pub(crate) fn rewrite_metadata(&self, path: &str, body: Vec<u8>, server: &Url) -> Vec<u8> {
        if !path.starts_with(METADATA) {
            return body;
        }
        let document = JsonSpan::document(&body);
        let resource = document.get("resource");
        let address = resource.and_then(|resource| Url::parse(&resource.as_str()?).ok());
        let (Some(resource), Some(address)) = (resource, address) else {
            return body;
        };
        if address.origin() != server.origin() {
            return body;
        }
        let asked = path[METADATA.len()..]
            .split('?')
            .next()
            .expect("a split has a part");
        let path = if asked.is_empty() {
            address.path()
        } else {
            asked
        };
        let path = if path == "/" { "" } else { path };
        let own = quoted(&format!("{}{path}", self.0));
        splice(&body, vec![(resource.range(), own)])
    }
}

/// The path of the server's metadata for which a client asks with this path: the endpoint may have
/// another name here, and the server may have named a place `elsewhere`.
pub(crate) fn metadata_path(
    path: &str,
    is_endpoint: impl Fn(&str) -> bool,
    server: &Url,
    elsewhere: Option<&str>,
) -> String {
    match (path.strip_prefix(METADATA), elsewhere) {
        (Some(asked), Some(elsewhere)) if asked.is_empty() || is_endpoint(asked) => {
            elsewhere.to_owned()
        }
        (Some(asked), None) if asked.len() > 1 && is_endpoint(asked) => {
            format!("{METADATA}{}", endpoint_path(server))
        }
        _ => path.to_owned(),
    }
}

/// The path of the server, which is empty for the root.
fn endpoint_path(server: &Url) -> &str {
    server.path().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnOrigin {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("127.0.0.1:8080"));
        OwnOrigin::of(&headers).unwrap()
    }

    #[test]
    fn challenge_leads_to_the_listener() {
        let server = Url::parse("https://s.example/v1/mcp").unwrap();
        for (sent, expected) in [
            (
                r#"Bearer error="x", resource_metadata="https://s.example/.well-known/oauth-protected-resource/v1/mcp", scope="a""#,
                r#"Bearer error="x", resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/v1/mcp", scope="a""#,
            ),
            (
                r#"Bearer resource_metadata="https://other.example/m""#,
                r#"Bearer resource_metadata="https://other.example/m""#,
            ),
            ("Basic realm=\"x\"", "Basic realm=\"x\""),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(WWW_AUTHENTICATE, HeaderValue::try_from(sent).unwrap());
            assert_eq!(own().rewrite_challenge(&mut headers, &server), None);
            assert_eq!(headers[WWW_AUTHENTICATE], expected);
        }
    }

    #[test]
    fn metadata_at_a_place_of_its_own_are_found_where_clients_look() {
        let server = Url::parse("https://s.example/v1/mcp").unwrap();
        let mut headers = HeaderMap::new();
        let sent = r#"Bearer resource_metadata="https://s.example/custom/m.json?x=1", scope="a""#;
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(sent));
        let elsewhere = own().rewrite_challenge(&mut headers, &server);
        assert_eq!(elsewhere.as_deref(), Some("/custom/m.json?x=1"));
        let expected = r#"Bearer resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/v1/mcp", scope="a""#;
        assert_eq!(headers[WWW_AUTHENTICATE], expected);
        let is_endpoint = |path: &str| path == "/v1/mcp";
        let asked = |suffix: &str| {
            let path = format!("{METADATA}{suffix}");
            metadata_path(&path, is_endpoint, &server, elsewhere.as_deref())
        };
        assert_eq!(asked("/v1/mcp"), "/custom/m.json?x=1");
        assert_eq!(asked(""), "/custom/m.json?x=1");
        assert_eq!(asked("/other"), format!("{METADATA}/other"));
    }

    #[test]
    fn metadata_name_the_listener_as_the_resource() {
        let server = Url::parse("https://s.example/v1/mcp").unwrap();
        let rewrite = |path: &str, body: &str| {
            let body = own().rewrite_metadata(path, body.as_bytes().to_vec(), &server);
            String::from_utf8(body).unwrap()
        };
        let text = r#"{ "resource" : "https://s.example/v1/mcp", "authorization_servers":["https://a.example"]}"#;
        let there = |path: &str| {
            let own = format!("http://127.0.0.1:8080{path}");
            text.replace("https://s.example/v1/mcp", &own)
        };
        let path = |suffix: &str| format!("{METADATA}{suffix}");
        assert_eq!(rewrite(&path("/mcp"), text), there("/mcp"));
        assert_eq!(rewrite(&path(""), text), there("/v1/mcp"));
        assert_eq!(rewrite("/.well-known/openid-configuration", text), text);
        let foreign = text.replace("s.example", "t.example");
        assert_eq!(rewrite(&path(""), &foreign), foreign);
        assert_eq!(rewrite(&path(""), "{"), "{");
        let asked =
            |suffix: &str| metadata_path(&path(suffix), |path| path == "/mcp", &server, None);
        assert_eq!(asked("/mcp"), path("/v1/mcp"));
        assert_eq!(asked(""), path(""));
        assert_eq!(asked("/other"), path("/other"));
    }
}
