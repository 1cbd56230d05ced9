//! Short pieces of text that need no allocation.
//!
//! Reading a broken text may take a change for every few bytes; nearly all of them are short.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Bytes that are kept in place.
const IN_PLACE: usize = 30;

/// A piece of text, as a rule a short one. It reads as a `str`.
#[derive(Clone)]
pub struct Snippet(Kept);

#[derive(Clone)]
enum Kept {
    Here(u8, [u8; IN_PLACE]),
    Apart(String),
}

impl Snippet {
    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Only whole characters are kept.
            Kept::Here(..) => std::str::from_utf8(self.bytes()).expect("whole characters are kept"),
            Kept::Apart(text) => text,
        }
    }

    /// Its bytes, without a look at what they are: enough to compare and to search them.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Here(size, bytes) => &bytes[..usize::from(*size)],
            Kept::Apart(text) => text.as_bytes(),
        }
    }

    /// How many bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Kept::Here(size, _) => usize::from(*size),
            Kept::Apart(text) => text.len(),
        }
    }

    /// Returns true if the text is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn push_str(&mut self, more: &str) {
        match &mut self.0 {
            Kept::Here(size, bytes) => {
                let start = usize::from(*size);
                let end = start + more.len();
                if let Some(room) = bytes.get_mut(start..end) {
                    room.copy_from_slice(more.as_bytes());
                    *size = end as u8;
                    return;
                }
                let mut text = String::with_capacity(2 * end);
                text.push_str(self.as_str());
                text.push_str(more);
                self.0 = Kept::Apart(text);
            }
            Kept::Apart(text) => text.push_str(more),
        }
    }

    pub(crate) fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// Returns the first bytes, which must be whole characters.
    #[inline]
    pub(crate) fn first_bytes(&self, most: usize) -> Self {
        match &self.0 {
            Kept::Here(size, bytes) => Self(Kept::Here((most as u8).min(*size), *bytes)),
            Kept::Apart(text) => text[..most].into(),
        }
    }

    /// Keeps the first bytes, which must be whole characters.
    pub(crate) fn truncate(&mut self, most: usize) {
        match &mut self.0 {
            Kept::Here(size, _) if most < usize::from(*size) => *size = most as u8,
            Kept::Here(..) => {}
            Kept::Apart(text) => text.truncate(most),
        }
    }
}

impl Default for Snippet {
    #[inline]
    fn default() -> Self {
        Self(Kept::Here(0, [0; IN_PLACE]))
    }
}

impl From<&str> for Snippet {
    #[inline]
    fn from(text: &str) -> Self {
        let mut snippet = Self::default();
        snippet.push_str(text);
        snippet
    }
}

impl From<&String> for Snippet {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Snippet {
    fn from(text: String) -> Self {
        match text.len() {
            0..=IN_PLACE => Self::from(text.as_str()),
            _ => Self(Kept::Apart(text)),
        }
    }
}

impl From<Snippet> for String {
    fn from(snippet: Snippet) -> Self {
        match snippet.0 {
            Kept::Apart(text) => text,
            Kept::Here(..) => snippet.as_str().to_owned(),
        }
    }
}

impl Deref for Snippet {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Snippet {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for Snippet {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl PartialEq<str> for Snippet {
    fn eq(&self, other: &str) -> bool {
        self.bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Snippet {
    fn eq(&self, other: &&str) -> bool {
        self.bytes() == other.as_bytes()
    }
}

impl Eq for Snippet {}

impl PartialOrd for Snippet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Snippet {
    fn cmp(&self, other: &Self) -> Ordering {
        // The order of texts is that of their bytes.
        self.bytes().cmp(other.bytes())
    }
}

impl Hash for Snippet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

/// Characters of raw text kept on each side of a change.
pub(crate) const MOST_CHARS: usize = 80;

/// Appends a text as far as a change shows it.
#[inline]
pub(crate) fn push_clipped(text: &str, out: &mut Snippet) {
    if text.len() <= MOST_CHARS || text.chars().nth(MOST_CHARS).is_none() {
        return out.push_str(text);
    }
    let end = text.char_indices().nth(MOST_CHARS - 1);
    out.push_str(end.map_or(text, |(at, _)| &text[..at]));
    out.push('…');
}

/// Shortens `text` to at most `most` characters; the last one is `…` if anything was left out.
pub fn clip(text: &str, most: usize) -> String {
    // No text has more characters than bytes.
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(most.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_are_kept() {
        let mut snippet = Snippet::default();
        let mut text = String::new();
        for piece in ["", "a", "é", "some words, ", "and 😀 more", &"x".repeat(40)] {
            snippet.push_str(piece);
            text.push_str(piece);
            assert_eq!(snippet, *text);
            assert_eq!(snippet.len(), text.len());
            assert_eq!(Snippet::from(text.clone()), snippet);
            assert_eq!(String::from(snippet.clone()), text);
        }
        snippet.truncate(4);
        assert_eq!(snippet, "aés");
        let mut short = Snippet::from("short");
        short.truncate(9);
        short.truncate(2);
        assert_eq!(short, "sh");
    }
}
