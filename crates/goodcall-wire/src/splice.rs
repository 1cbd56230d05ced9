//! Edits of a JSON text by byte range: bytes that no edit covers stay as they were.

use std::ops::Range;

use goodcall_core::Node;
pub(crate) use goodcall_core::quoted;

/// Edits of one text that are applied together.
#[derive(Clone, Debug)]
pub(crate) struct Splice<'t> {
    text: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

/// Which comma goes with a removed element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comma {
    /// The one after it, or the one before it if there is none after it.
    After,
    /// The one before it.
    Before,
}

impl<'t> Splice<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let edits = Vec::new();
        Self { text, edits }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    pub(crate) fn replace(&mut self, span: Range<usize>, with: impl Into<String>) {
        self.edits.push((span, with.into()));
    }

    /// Replaces a value by a string, which is quoted here.
    pub(crate) fn replace_string(&mut self, span: Range<usize>, with: &str) {
        self.replace(span, quoted(with));
    }

    /// Inserts a member before all others of an object.
    pub(crate) fn insert_first(&mut self, object: &Range<usize>, key: &str, value: &str) {
        let at = object.start + 1;
        let rest = &self.text[at..object.end];
        let comma = if rest.trim_start().starts_with('}') {
            ""
        } else {
            ", "
        };
        self.replace(at..at, format!("{}: {value}{comma}", quoted(key)));
    }

    /// Appends a member (`"key":value`) to an object, or an element to an array.
    pub(crate) fn append(&mut self, container: Node<'_>, item: &str) {
        let at = container.span().end.saturating_sub(1);
        let appended = self.edits.iter().any(|(span, _)| *span == (at..at));
        let comma = if container.is_empty() && !appended {
            ""
        } else {
            ","
        };
        self.replace(at..at, format!("{comma}{item}"));
    }

    /// Sets the value of a member, which is appended if the object does not have it.
    pub(crate) fn set(&mut self, object: Node<'_>, key: &str, value: &str) {
        match object.get(key) {
            Some(node) => self.replace(node.span(), value),
            None => self.append(object, &format!("{}:{value}", quoted(key))),
        }
    }

    /// Removes a member with one of the commas beside it.
    pub(crate) fn remove(&mut self, object: Node<'_>, key: &str) {
        if let Some((from, to)) = object.key_span(key).zip(object.get(key)) {
            self.remove_element(from.start..to.span().end, Comma::After);
        }
    }

    /// Removes an element with one of the commas beside it.
    pub(crate) fn remove_element(&mut self, span: Range<usize>, comma: Comma) {
        let (mut start, mut end) = (span.start, span.end);
        let bytes = self.text.as_bytes();
        let after = &bytes[end..];
        let blanks_after = after.len() - after.trim_ascii_start().len();
        if comma == Comma::After && after.get(blanks_after) == Some(&b',') {
            end += blanks_after + 1;
        } else {
            let before = &bytes[..start];
            if let Some(rest) = before.trim_ascii_end().strip_suffix(b",") {
                start = rest.len();
            }
        }
        self.replace(start..end, "");
    }

    /// Returns the edited text. Edits must not overlap; one that does is skipped, so that the
    /// result is never garbled.
    pub(crate) fn apply(mut self) -> String {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let added: usize = self.edits.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(self.text.len() + added);
        let mut at = 0;
        for (span, text) in self.edits {
            let Some(kept) = self.text.get(at..span.start) else {
                continue;
            };
            out.push_str(kept);
            out.push_str(&text);
            at = span.end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use goodcall_core::Tree;

    use super::*;

    #[test]
    fn members_are_removed_and_set_with_their_commas() {
        for (text, wanted) in [
            (r#"{"a": 1, "b": 2}"#, r#"{ "b": 2}"#),
            (r#"{"b": 2 , "a": 1}"#, r#"{"b": 2 }"#),
            (r#"{"a": 1}"#, "{}"),
            (r#"{"b": 1}"#, r#"{"b": 1}"#),
        ] {
            let tree = Tree::parse(text).unwrap();
            let mut splice = Splice::new(text);
            splice.remove(tree.root(), "a");
            assert_eq!(splice.apply(), wanted);
        }
        for (text, wanted) in [
            ("{}", r#"{"a":5}"#),
            (r#"{"b": 1}"#, r#"{"b": 1,"a":5}"#),
            (r#"{"a": {"x": 1}}"#, r#"{"a": 5}"#),
        ] {
            let tree = Tree::parse(text).unwrap();
            let mut splice = Splice::new(text);
            splice.set(tree.root(), "a", "5");
            assert_eq!(splice.apply(), wanted);
        }
    }
}
