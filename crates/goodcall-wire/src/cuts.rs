//! Edits of a JSON text by place: what nobody asked about stays as it was, byte for byte.

use std::ops::Range;

use goodcall_core::Node;

/// Edits that are applied together.
#[derive(Debug)]
pub(crate) struct Cuts<'t> {
    text: &'t str,
    cuts: Vec<(Range<usize>, String)>,
}

impl<'t> Cuts<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let cuts = Vec::new();
        Self { text, cuts }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }

    /// Other bytes for these.
    pub(crate) fn replace(&mut self, span: Range<usize>, with: impl Into<String>) {
        self.cuts.push((span, with.into()));
    }

    /// A string in place of a value.
    pub(crate) fn string(&mut self, span: Range<usize>, with: &str) {
        self.replace(span, quoted(with));
    }

    /// A new first member of an object.
    pub(crate) fn first(&mut self, object: &Range<usize>, key: &str, value: &str) {
        let at = object.start + 1;
        let rest = self.text.get(at..object.end).unwrap_or_default();
        let comma = if rest.trim_start().starts_with('}') {
            ""
        } else {
            ", "
        };
        self.replace(at..at, format!("{}: {value}{comma}", quoted(key)));
    }

    /// A new last member of an object, or the last element of an array.
    pub(crate) fn last(&mut self, container: Node<'_>, item: &str) {
        let at = container.span().end.saturating_sub(1);
        let more = self.cuts.iter().any(|(span, _)| *span == (at..at));
        let comma = match container.is_empty() && !more {
            true => "",
            false => ",",
        };
        self.replace(at..at, format!("{comma}{item}"));
    }

    /// The value of a member, whether it is there or not.
    pub(crate) fn set(&mut self, object: Node<'_>, key: &str, value: &str) {
        match object.get(key) {
            Some(node) => self.replace(node.span(), value),
            None => self.last(object, &format!("{}:{value}", quoted(key))),
        }
    }

    /// Takes a member away, with one of the commas beside it.
    pub(crate) fn remove(&mut self, object: Node<'_>, key: &str) {
        if let Some((from, to)) = object.key_span(key).zip(object.get(key)) {
            self.remove_element(from.start..to.span().end, true);
        }
    }

    /// Takes an element away, with one of the commas beside it: the one behind it, or the one
    /// before it where there is no other or `behind` is false.
    pub(crate) fn remove_element(&mut self, span: Range<usize>, behind: bool) {
        let (mut start, mut end) = (span.start, span.end);
        let take_behind = behind;
        let bytes = self.text.as_bytes();
        let blank = |byte: &u8| byte.is_ascii_whitespace();
        let behind = bytes.get(end..).unwrap_or_default();
        let skipped = behind.iter().take_while(|byte| blank(byte)).count();
        if take_behind && behind.get(skipped) == Some(&b',') {
            end += skipped + 1;
        } else {
            let before = bytes.get(..start).unwrap_or_default();
            let skipped = before.iter().rev().take_while(|byte| blank(byte)).count();
            if skipped < before.len() && before[before.len() - skipped - 1] == b',' {
                start -= skipped + 1;
            }
        }
        self.replace(start..end, "");
    }

    /// The edited text. Cuts do not overlap; one that would is left out rather than written
    /// wrongly.
    pub(crate) fn apply(mut self) -> String {
        self.cuts.sort_by_key(|(span, _)| (span.start, span.end));
        let added: usize = self.cuts.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(self.text.len() + added);
        let mut at = 0;
        for (span, text) in self.cuts {
            let Some(kept) = self.text.get(at..span.start) else {
                continue;
            };
            out.push_str(kept);
            out.push_str(&text);
            at = span.end;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // A string can always be written.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use goodcall_core::Tree;

    use super::*;

    #[test]
    fn members_come_and_go_with_their_commas() {
        for (text, wanted) in [
            (r#"{"a": 1, "b": 2}"#, r#"{ "b": 2}"#),
            (r#"{"b": 2 , "a": 1}"#, r#"{"b": 2 }"#),
            (r#"{"a": 1}"#, "{}"),
            (r#"{"b": 1}"#, r#"{"b": 1}"#),
        ] {
            let tree = Tree::parse(text).unwrap();
            let mut cuts = Cuts::new(text);
            cuts.remove(tree.root(), "a");
            assert_eq!(cuts.apply(), wanted);
        }
        for (text, wanted) in [
            ("{}", r#"{"a":5}"#),
            (r#"{"b": 1}"#, r#"{"b": 1,"a":5}"#),
            (r#"{"a": {"x": 1}}"#, r#"{"a": 5}"#),
        ] {
            let tree = Tree::parse(text).unwrap();
            let mut cuts = Cuts::new(text);
            cuts.set(tree.root(), "a", "5");
            assert_eq!(cuts.apply(), wanted);
        }
    }
}
