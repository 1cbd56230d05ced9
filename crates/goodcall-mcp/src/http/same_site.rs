//! Who may speak to a listener: pages of foreign sites may not.

use std::net::SocketAddr;

use goodcall_server::is_cross_site;
use reqwest::header::HeaderMap;

/// Is this a request that a browser made for a foreign page? Only where the listener is for this
/// machine alone: who listens to the network has names that are not known here.
pub(crate) fn is_foreign(headers: &HeaderMap, at: SocketAddr) -> bool {
    at.ip().is_loopback() && is_cross_site(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HOST, HeaderValue, ORIGIN};

    #[test]
    fn foreign_names_are_refused() {
        let at: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let check = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            is_foreign(&headers, at)
        };
        assert!(!check("localhost:80", None));
        assert!(!check("127.0.0.1:80", Some("http://localhost:3000")));
        assert!(!check("[::1]:80", Some("http://[::1]")));
        assert!(check("evil.example", None));
        assert!(check("localhost", Some("https://evil.example")));
        assert!(check("localhost", Some("null")));
        assert!(!is_foreign(
            &HeaderMap::new(),
            "0.0.0.0:80".parse().unwrap()
        ));
    }
}
