//! JSON Pointers (RFC 6901), and the dotted form that people and models read.

use std::borrow::Cow;
use std::fmt;

use crate::snippet::Snippet;

/// A JSON Pointer: the place of a value inside the arguments.
///
/// ```
/// use goodcall_core::Pointer;
///
/// let place = Pointer::root().join("edits").join("0").join("path");
/// assert_eq!(place.as_str(), "/edits/0/path");
/// assert_eq!(place.dotted(), "edits.0.path");
/// assert_eq!(Pointer::root().dotted(), "Root object");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(Snippet);

impl Pointer {
    /// Returns the pointer to the whole value.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a pointer in RFC 6901 form. Returns `None` if it neither is empty nor starts with `/`.
    pub fn parse(text: &str) -> Option<Self> {
        (text.is_empty() || text.starts_with('/')).then(|| Self(text.into()))
    }

    /// Returns the RFC 6901 form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if this points to the whole value.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this pointer with one more segment, which must not be escaped.
    #[must_use]
    pub fn join(&self, segment: &str) -> Self {
        let mut next = self.clone();
        next.push(segment);
        next
    }

    /// Appends a segment, which must not be escaped.
    pub fn push(&mut self, segment: &str) {
        self.0.push_str("/");
        if !segment.bytes().any(|b| matches!(b, b'~' | b'/')) {
            return self.0.push_str(segment);
        }
        for c in segment.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                c => self.0.push(c),
            }
        }
    }

    /// The length of the RFC 6901 form in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }

    /// Appends an index.
    pub(crate) fn push_index(&mut self, index: u32) {
        let mut digits = [0; 11];
        let mut at = digits.len();
        let mut left = index;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        at -= 1;
        digits[at] = b'/';
        self.0
            .push_str(std::str::from_utf8(&digits[at..]).expect("digits are ASCII"));
    }

    /// Shortens the RFC 6901 form to this many bytes.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Splits off the last segment, unescaped. Returns `None` for the root.
    pub fn split_last(&self) -> Option<(Pointer, Cow<'_, str>)> {
        let bytes = self.0.bytes();
        let slash = bytes.iter().rposition(|b| *b == b'/')?;
        let last = std::str::from_utf8(&bytes[slash + 1..]).expect("a slash is one byte");
        Some((Self(self.0.first_bytes(slash)), unescape(last)))
    }

    /// Iterates over the segments from the root down, unescaped.
    pub fn segments(&self) -> impl Iterator<Item = Cow<'_, str>> {
        // "" has no segment, "/" has one empty segment.
        self.0.split('/').skip(1).map(unescape)
    }

    /// Returns the number of segments.
    pub fn depth(&self) -> usize {
        self.0.bytes().iter().filter(|b| **b == b'/').count()
    }

    /// Returns true if this points to `other`, or to a value inside it.
    pub fn is_within(&self, other: &Pointer) -> bool {
        let rest = self.0.bytes().strip_prefix(other.0.bytes());
        rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
    }

    /// Joins the segments by dots, as people and models read them: `edits.0.path`, or `Root object`
    /// for the root.
    pub fn dotted(&self) -> String {
        if self.is_root() {
            return "Root object".to_owned();
        }
        let segments: Vec<_> = self.segments().collect();
        segments.join(".")
    }
}

impl Pointer {
    /// Returns true if the text of this pointer starts with that of `other`, which does not imply
    /// that its place is inside the other's.
    pub(crate) fn starts_with(&self, other: &Pointer) -> bool {
        self.0.bytes().starts_with(other.0.bytes())
    }

    /// Iterates over the bytes of the segments of a pointer without escapes.
    pub(crate) fn plain_segments(&self) -> impl Iterator<Item = &[u8]> {
        self.0.bytes().split(|b| *b == b'/').skip(1)
    }

    /// Returns true if a segment needs unescaping.
    pub(crate) fn has_escapes(&self) -> bool {
        self.0.bytes().contains(&b'~')
    }
}

/// Takes the first segment, as written, off a pointer.
#[inline]
pub(crate) fn step<'p>(pointer: &mut &'p str) -> Option<&'p str> {
    let rest = pointer.strip_prefix('/')?;
    let end = rest.bytes().position(|b| b == b'/').unwrap_or(rest.len());
    let (segment, following) = rest.split_at(end);
    *pointer = following;
    Some(segment)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of a segment as it is written in a pointer.
pub(crate) fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.bytes().any(|b| b == b'~') {
        Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_survive_escaping() {
        let place = Pointer::root().join("a/b").join("~1").join("");
        assert_eq!(place.as_str(), "/a~1b/~01/");
        assert_eq!(place.segments().collect::<Vec<_>>(), ["a/b", "~1", ""]);
        assert_eq!(place.split_last().unwrap().1, "");
    }

    #[test]
    fn pointer_is_within_whole_segments_only() {
        let parse = |text| Pointer::parse(text).unwrap();
        assert!(parse("/a/b").is_within(&parse("/a")));
        assert!(parse("/a").is_within(&parse("/a")));
        assert!(!parse("/ab").is_within(&parse("/a")));
        assert!(Pointer::parse("a").is_none());
    }
}
