//! Headers that a proxy must look at: those of one connection, and the type of a body.

use http::header::{
    CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Returns true if a header belongs to one connection, so that a proxy must not forward it.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    let standard = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    standard.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// Returns true if the body has this media type, such as `application/json`, with or without
/// parameters.
pub fn has_media_type(headers: &HeaderMap, media_type: &str) -> bool {
    let value = headers.get(CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case(media_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn media_type_ignores_case_and_parameters() {
        let mut headers = HeaderMap::new();
        assert!(!has_media_type(&headers, "application/json"));
        let value = HeaderValue::from_static("Application/JSON ; charset=utf-8");
        headers.insert(CONTENT_TYPE, value);
        assert!(has_media_type(&headers, "application/json"));
        assert!(!has_media_type(&headers, "application"));
    }
}
