//! Which requests a server on the loopback address refuses: those of other sites' pages.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

/// Returns true if a browser made this request for a page of another site.
///
/// A foreign page may have a name that resolves to this machine (DNS rebinding), or may simply send
/// requests here. Both show in `Host` or `Origin`. Only a server that listens on the loopback
/// address can ask: one that listens on the network does not know its own names.
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let host = text(HOST);
    let origin = text(ORIGIN).map(|origin| origin.split_once("://").map_or("", |(_, rest)| rest));
    [host, origin]
        .into_iter()
        .flatten()
        .any(|authority| !names_this_machine(authority))
}

/// Returns true if the authority of a URL is `localhost` or a loopback address, with or without a
/// port.
fn names_this_machine(authority: &str) -> bool {
    let (host, _) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn requests_of_foreign_pages_are_cross_site() {
        let check = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            is_cross_site(&headers)
        };
        assert!(!check("localhost:80", None));
        assert!(!check("127.0.0.1:80", Some("http://localhost:3000")));
        assert!(!check("[::1]:80", Some("http://[::1]")));
        assert!(check("evil.example", None));
        assert!(check("localhost.example", None));
        assert!(check("localhost", Some("https://evil.example")));
        assert!(check("localhost", Some("null")));
        assert!(!is_cross_site(&HeaderMap::new()));
    }
}
