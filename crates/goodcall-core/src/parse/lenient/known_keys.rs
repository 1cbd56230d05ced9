//! The schema's property names, which settle where a string with quotes inside it ends.

use super::source_text::SourceText;
use super::typographic::is_quote;

/// Property names, at any depth of the schema, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownKeys<'a>(&'a [String]);

/// Whether the schema declares the key that follows a comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAhead {
    /// There is no comma with a key after it, or no schema.
    Unknown,
    Declared,
    Undeclared,
}

/// A key without its quotes.
pub(super) fn bare_name(key: &str) -> &str {
    key.trim_matches(|c| matches!(c, '"' | '\'' | '`') || is_quote(c))
}

impl<'a> KnownKeys<'a> {
    /// Takes names that are sorted.
    pub(super) fn new(sorted: &'a [String]) -> Self {
        Self(sorted)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(self, key: &str) -> bool {
        let found = self.0.binary_search_by(|known| known.as_str().cmp(key));
        found.is_ok()
    }

    /// Looks the key up that stands after a comma.
    pub(super) fn after_comma(self, source: SourceText<'_>, after: usize) -> KeyAhead {
        let comma = source.skip_space(after);
        let width = source.comma_width(comma);
        if self.is_empty() || width == 0 {
            return KeyAhead::Unknown;
        }
        let start = source.skip_space(comma + width);
        let end = source.key_end(start);
        let Some(key) = end.and_then(|end| source.as_str().get(start..end)) else {
            return KeyAhead::Unknown;
        };
        if self.contains(bare_name(key)) {
            KeyAhead::Declared
        } else {
            KeyAhead::Undeclared
        }
    }
}
