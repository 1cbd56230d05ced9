//! Fields that many formats have.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, ParseClass, StopReason, Tree};
use goodcall_wire::recorded::stop_reason;
use jiff::Timestamp;

use super::Unreadable;

/// The text of a member.
pub(super) fn text<'t>(node: Node<'t>, key: &str) -> Option<&'t str> {
    node.get(key)
        .and_then(Node::as_str)
        .filter(|text| !text.is_empty())
}

/// The text of the first of these members that is one.
pub(super) fn first_text<'t>(node: Node<'t>, keys: &[&str]) -> Option<&'t str> {
    keys.iter().find_map(|key| text(node, key))
}

/// A member that is an object or an array.
pub(super) fn container<'t>(node: Node<'t>, key: &str) -> Option<Node<'t>> {
    let member = node.get(key)?;
    matches!(member.kind(), Kind::Object | Kind::Array).then_some(member)
}

/// The elements of a member; none if it is not an array.
pub(super) fn elements<'t>(node: Node<'t>, key: &str) -> impl Iterator<Item = Node<'t>> {
    let list = node.get(key).filter(|list| list.kind() == Kind::Array);
    list.into_iter().flat_map(Node::elements)
}

/// The JSON text of a value that recorders keep as itself or as a string. `source` is the text that
/// the node was parsed from.
pub(super) fn json<'t>(node: Node<'t>, source: &'t str) -> Option<Cow<'t, str>> {
    match node.kind() {
        Kind::Object | Kind::Array => source.get(node.span()).map(Cow::Borrowed),
        Kind::String => {
            let text = node.as_str()?;
            let is_json = text.trim_start().starts_with(['{', '[']);
            (is_json && Tree::parse(text).is_ok()).then(|| Cow::Owned(text.to_owned()))
        }
        _ => None,
    }
}

/// Returns true for a string of JSON that ends before its value does: recorders cut long values.
pub(super) fn is_cut_off(node: Node<'_>) -> bool {
    node.as_str().is_some_and(is_cut_off_json)
}

/// Returns true for a text that begins like a JSON value, and ends before it does.
pub(super) fn is_cut_off_json(text: &str) -> bool {
    let is_json = text.trim_start().starts_with(['{', '[']);
    is_json && Tree::parse(text).is_err_and(|error| error.class() == ParseClass::CutOff)
}

/// Says that a recorder has cut a value.
pub(super) const CUT_OFF: Unreadable = Unreadable::because("a value that the recorder has cut off");

/// What the model read: a text, the texts of a list of parts, or the JSON of anything else.
pub(super) fn content(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Null => String::new(),
        Kind::String => node.as_str().expect("a string has a text").to_owned(),
        Kind::Array => {
            let parts = node.elements().map(|part| match text(part, "text") {
                Some(text) => text.to_owned(),
                None => content(part),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => node.to_json(),
    }
}

/// The time of a record, in seconds since 1970.
pub(super) fn time(node: Node<'_>, keys: &[&str]) -> Option<i64> {
    keys.iter().find_map(|key| seconds(node.get(key)?))
}

/// Reads a time: as text, or as a number.
pub(super) fn seconds(node: Node<'_>) -> Option<i64> {
    match node.digits() {
        Some(digits) => seconds_of_number(digits.parse().ok()?),
        None => seconds_of_text(node.as_str()?),
    }
}

/// Reads a number of seconds, milliseconds, microseconds or nanoseconds.
pub(crate) fn seconds_of_number(number: f64) -> Option<i64> {
    // By its size: numbers of seconds have up to 11 digits for the next thousand years.
    let unit = [1e11, 1e14, 1e17]
        .iter()
        .filter(|most| number >= **most)
        .count();
    let seconds = number / 1000_f64.powi(i32::try_from(unit).ok()?);
    (seconds > 0.0 && seconds < 1e11).then_some(seconds as i64)
}

/// Reads a time in ISO 8601, or a number.
pub(crate) fn seconds_of_text(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return seconds_of_number(number);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    // Without a zone: databases write UTC so.
    let zoned = format!("{}Z", text.replacen(' ', "T", 1));
    zoned.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// Reads the way in which a message ended, as any provider or framework names it.
pub(super) fn stop(reason: &str) -> StopReason {
    stop_reason(&reason.replace('-', "_"))
}

/// The host of a URL.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest
        .split(['/', '?', '#'])
        .next()
        .expect("a split has a part");
    host.rsplit('@').next().expect("a split has a part")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_notation() {
        let at = 1_763_200_000;
        for text in [
            "1763200000",
            "1763200000.25",
            "1763200000250",
            "1763200000250000",
            "\"1763200000250000000\"",
            "\"2025-11-15T09:46:40Z\"",
            "\"2025-11-15T09:46:40.123456+00:00\"",
            "\"2025-11-15T10:46:40+01:00\"",
            "\"2025-11-15 09:46:40\"",
            "\"2025-11-15T09:46:40.5\"",
        ] {
            let tree = Tree::parse(text).unwrap();
            assert_eq!(seconds(tree.root()), Some(at), "{text}");
        }
        for text in ["\"yesterday\"", "0", "null", "-5", "1e300"] {
            let tree = Tree::parse(text).unwrap();
            assert_eq!(seconds(tree.root()), None, "{text}");
        }
    }

    #[test]
    fn hosts_have_no_credentials() {
        assert_eq!(
            host("https://user:key@api.example.org:8443/v1?x"),
            "api.example.org:8443"
        );
        assert_eq!(host("localhost/v1"), "localhost");
    }
}
