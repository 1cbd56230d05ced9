//! Which requests a server on the loopback address refuses: those of other sites' pages.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue};

/// Returns true if a browser made this request for a page of another site.
///
/// A foreign page may have a name that resolves to this machine (DNS rebinding), or may simply send
/// requests here. Both show in `Host`, `Origin` or `Sec-Fetch-Site`. Only a server that listens on
/// the loopback address can ask: one that listens on the network does not know its own names.
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(|value| value.to_str().unwrap_or(""));
    let is_foreign = |authority: &str| !is_loopback_authority(authority);
    host.is_some_and(is_foreign) || is_from_foreign_page(headers, |origin| !is_foreign(origin))
}

/// Returns true if a browser made this request for a page whose origin is not trusted. `trusts` is
/// asked about the authority of the origin, such as `localhost:3000`.
///
/// Pictures and links of a page are requested without an `Origin`. Browsers then say in
/// `Sec-Fetch-Site` whether the page is of another site.
pub fn is_from_foreign_page(headers: &HeaderMap, trusts: impl Fn(&str) -> bool) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or("").to_owned();
    match headers.get(ORIGIN).map(text) {
        Some(origin) => !trusts(origin.split_once("://").map_or("", |(_, rest)| rest)),
        None => {
            let site = headers.get("sec-fetch-site").map(text);
            matches!(site.as_deref(), Some("cross-site" | "same-site"))
        }
    }
}

/// Returns true if the authority of a URL is `localhost` or a loopback address, with or without a
/// port.
pub fn is_loopback_authority(authority: &str) -> bool {
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

    #[test]
    fn picture_in_a_foreign_page_is_cross_site() {
        for (site, is_foreign) in [
            ("cross-site", true),
            ("same-site", true),
            ("same-origin", false),
            ("none", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("127.0.0.1:4203"));
            headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            assert_eq!(is_cross_site(&headers), is_foreign, "{site}");
        }
    }
}
