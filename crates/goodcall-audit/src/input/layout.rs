//! How the records of a text file follow each other.

use goodcall_core::Tree;

/// Lines that are looked at for a JSON object.
const MOST_LINES: usize = 64;

/// The order of the records of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One JSON value per line.
    Lines,
    /// JSON values of several lines each, or the elements of one array.
    Values,
    /// YAML.
    Yaml,
    /// Server-sent events.
    Events,
    /// Nothing that is known.
    Unknown,
}

/// Finds out how a text is laid out, from its first bytes. `is_all` says whether they are all.
pub(crate) fn layout(head: &[u8], is_all: bool) -> Layout {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head may end inside a character.
        Err(error) if !is_all && error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).expect("it is valid up to there")
        }
        // A line that is not UTF-8 does not make the others unreadable.
        Err(error) if error.valid_up_to() > 0 && head[0] == b'{' => return Layout::Lines,
        Err(_) => return Layout::Unknown,
    };
    let start = text.trim_start();
    if start.starts_with("data:") || start.starts_with("event:") {
        return Layout::Events;
    }
    if !start.starts_with(['{', '[']) {
        return if is_yaml(text) {
            Layout::Yaml
        } else if has_object_line(start) {
            Layout::Lines
        } else {
            Layout::Unknown
        };
    }
    let mut lines = start.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let Some(second) = lines.next() else {
        // One line, whole or longer than the head: an array is read by its elements.
        return if first.starts_with('[') {
            Layout::Values
        } else {
            Layout::Lines
        };
    };
    // A broken line may be the first one. The second may end with the head.
    let is_line = |line: &str| Tree::parse(line).is_ok() || is_last(text, line) && !is_all;
    let starts = second.starts_with(['{', '[']);
    if Tree::parse(first).is_ok() || starts && is_line(second) && first.trim() != "[" {
        Layout::Lines
    } else {
        Layout::Values
    }
}

/// Returns true if the text ends with this line.
fn is_last(text: &str, line: &str) -> bool {
    text.ends_with(line)
}

/// Returns true if one of the first lines is a JSON object: a program may write a line of its own
/// before its log.
fn has_object_line(text: &str) -> bool {
    let mut lines = text.lines().take(MOST_LINES);
    lines.any(|line| line.starts_with('{') && Tree::parse(line).is_ok())
}

/// Returns true for a text that begins like a YAML mapping with interactions.
fn is_yaml(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("interactions:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_told_by_the_first_bytes() {
        for (text, wanted) in [
            ("{\"a\":1}\n{\"b\":2}\n", Layout::Lines),
            ("\u{feff}{\"a\":1}\n", Layout::Lines),
            ("{\"a\":1}", Layout::Lines),
            ("{\"a\":\n{\"b\":2}\n", Layout::Lines),
            ("{\n  \"a\": 1\n}\n", Layout::Values),
            ("[{\"a\":1},\n {\"a\":2}]", Layout::Values),
            ("[\n{\"a\":1},\n{\"a\":2}\n]", Layout::Values),
            ("[{\"a\":1}]", Layout::Values),
            ("[{\"a\":1}]\n[{\"a\":2}]\n", Layout::Lines),
            ("interactions:\n- request:\n", Layout::Yaml),
            ("version: 1\ninteractions:\n", Layout::Yaml),
            ("data: {}\n\n", Layout::Events),
            ("starting up\n{\"a\":1}\n", Layout::Lines),
            ("#!/bin/sh\n", Layout::Unknown),
            ("#!/bin/sh\n{ ls; }\n", Layout::Unknown),
            ("", Layout::Unknown),
        ] {
            assert_eq!(layout(text.as_bytes(), true), wanted, "{text:?}");
        }
        assert_eq!(layout(b"\xff\xfe\x00", true), Layout::Unknown);
        assert_eq!(layout(b"{\"a\":1}\n\xff\n", true), Layout::Lines);
    }
}
