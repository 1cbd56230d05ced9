//! Headers of requests and replies that are passed on.

use goodcall_server::is_hop_by_hop;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, UPGRADE,
};

/// Removes the headers that belong to the connection a message came over.
fn strip(headers: &mut HeaderMap) {
    let named = connection_options(headers).filter_map(|name| name.parse().ok());
    let standard = headers.keys().filter(|name| is_hop_by_hop(name)).cloned();
    let names: Vec<HeaderName> = named.chain(standard).collect();
    for name in names {
        headers.remove(name);
    }
}

/// The values of `Connection`, such as `close`, or names of headers.
fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
}

/// Rewrites the headers of a request for the connection to the upstream.
pub(crate) fn for_upstream(headers: &mut HeaderMap) {
    strip(headers);
    headers.remove(HOST);
}

/// Rewrites the headers of a request whose body may change and whose reply must come uncompressed.
pub(crate) fn for_judging(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Returns true if the connection is to switch to another protocol. An offer of HTTP/2 (`h2c`) may
/// be ignored, and is.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let protocol = headers.get(UPGRADE).map(HeaderValue::as_bytes);
    protocol.is_some_and(|protocol| !protocol.eq_ignore_ascii_case(b"h2c"))
        && connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"))
}

/// Makes the head of an upstream's reply one of ours: without the headers of the upstream's
/// connection, and in our version of HTTP.
pub(crate) fn take_over(head: &mut http::response::Parts) {
    strip(&mut head.headers);
    head.version = http::Version::HTTP_11;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer k"),
            ("x-own", "2"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "x-own"]);
    }
}
