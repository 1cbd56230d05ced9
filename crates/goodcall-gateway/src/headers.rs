//! Headers on their way through.

use goodcall_server::is_hop_by_hop;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, UPGRADE,
};

/// Takes off what belongs to the connection that a message came over.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let hops: Vec<_> = headers
        .keys()
        .filter(|name| is_hop_by_hop(name))
        .cloned()
        .collect();
    for name in named.iter().chain(&hops) {
        headers.remove(name);
    }
}

/// The headers of a request whose reply is to be read: it must not come compressed.
pub(crate) fn for_upstream(headers: &mut HeaderMap, judged: bool) {
    strip(headers);
    headers.remove(HOST);
    if judged {
        headers.remove(CONTENT_LENGTH);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
}

/// Is the connection to become something else? An offer of HTTP/2 may be passed over, and is: such
/// a request is an ordinary one.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let protocol = headers.get(UPGRADE).map(HeaderValue::as_bytes);
    let other = protocol.is_some_and(|protocol| !protocol.eq_ignore_ascii_case(b"h2c"));
    let named = headers.get_all(CONNECTION).iter();
    let mut named = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    other && named.any(|name| name.trim().eq_ignore_ascii_case("upgrade"))
}

/// Makes the head of a reply our own: what belonged to the connection to the upstream goes, its
/// version of HTTP, too.
pub(crate) fn take_over(head: &mut http::response::Parts) {
    strip(&mut head.headers);
    head.version = http::Version::HTTP_11;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_connection_stays_there() {
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
