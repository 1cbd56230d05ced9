//! The text that a scanner has received, addressed by byte offsets into the whole text.

use std::ops::Range;

/// Bytes that are dropped together once they are no longer needed.
const DROP_AT_ONCE: usize = 1 << 16;
/// Bytes that stay before the cursor, to see whether a name begins inside a word.
const KEEP_BEFORE_CURSOR: usize = 64;

/// The answer to a question about text that may not have arrived in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// More of the text is needed to answer.
    NeedMore,
}

impl Match {
    /// `Yes` or `No`, by a condition.
    pub(super) fn of(condition: bool) -> Self {
        if condition { Self::Yes } else { Self::No }
    }
}

/// The part of a text that is known, from `base` on. Positions are offsets into the whole text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'t> {
    text: &'t str,
    base: usize,
    ended: bool,
}

impl<'t> Window<'t> {
    /// A text that is known from its start to its end.
    pub(super) fn whole(text: &'t str) -> Self {
        Self {
            text,
            base: 0,
            ended: true,
        }
    }

    /// The same text, as if more of it were to come.
    pub(super) fn unended(self) -> Self {
        Self {
            ended: false,
            ..self
        }
    }

    /// The text up to `end`, as if more of it were to come.
    pub(super) fn until(self, end: usize) -> Self {
        Self {
            text: self.before(end),
            base: self.base,
            ended: false,
        }
    }

    /// Returns true if no more text follows.
    pub(super) fn has_ended(self) -> bool {
        self.ended
    }

    /// The offset behind the last known byte.
    pub(super) fn end(self) -> usize {
        self.base + self.text.len()
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at - self.base).copied()
    }

    /// The known text from `at` on.
    pub(super) fn from(self, at: usize) -> &'t str {
        &self.text[at - self.base..]
    }

    /// The known bytes from `at` on, which need not be the start of a character.
    pub(super) fn bytes_from(self, at: usize) -> &'t [u8] {
        &self.text.as_bytes()[at - self.base..]
    }

    pub(super) fn slice(self, range: Range<usize>) -> &'t str {
        &self.text[range.start - self.base..range.end - self.base]
    }

    /// The text before `at`, as far as it is kept.
    pub(super) fn before(self, at: usize) -> &'t str {
        &self.text[..at - self.base]
    }

    /// The start of the character that holds the byte at `at`.
    pub(super) fn char_start(self, mut at: usize) -> usize {
        while !self.text.is_char_boundary(at - self.base) {
            at -= 1;
        }
        at
    }

    /// Returns `Yes` if `marker` begins at `at`, and `NeedMore` if it still may.
    pub(super) fn match_at(self, at: usize, marker: &str) -> Match {
        let (rest, marker) = (self.bytes_from(at), marker.as_bytes());
        if !self.ended && rest.len() < marker.len() && marker.starts_with(rest) {
            return Match::NeedMore;
        }
        Match::of(rest.starts_with(marker))
    }
}

/// The text of a scanner, which grows at its end and forgets its start.
#[derive(Clone, Debug)]
pub(super) struct InputBuffer {
    text: String,
    base: usize,
    ended: bool,
}

impl InputBuffer {
    /// An empty buffer for text that begins at the offset `base`.
    pub(super) fn starting_at(base: usize) -> Self {
        Self {
            text: String::new(),
            base,
            ended: false,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        // To add one byte takes less than to copy a text of one byte.
        match text.as_bytes() {
            [byte] => self.push_ascii(*byte),
            _ => self.text.push_str(text),
        }
    }

    /// Adds a character of one byte. The mask tells the compiler that one byte is all it takes.
    pub(super) fn push_ascii(&mut self, byte: u8) {
        debug_assert!(byte.is_ascii());
        self.text.push(char::from(byte & 0x7f));
    }

    /// The offset behind the last known byte.
    pub(super) fn end_offset(&self) -> usize {
        self.base + self.text.len()
    }

    /// Records that no more text follows.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn window(&self) -> Window<'_> {
        Window {
            text: &self.text,
            base: self.base,
            ended: self.ended,
        }
    }

    /// Forgets most of the text before `at`, once there is enough of it to be worth the copy.
    pub(super) fn forget_before(&mut self, at: usize) {
        let unneeded = (at - self.base).saturating_sub(KEEP_BEFORE_CURSOR);
        if unneeded < DROP_AT_ONCE || unneeded < self.text.len() / 2 {
            return;
        }
        let keep_from = self.window().char_start(self.base + unneeded);
        self.text.drain(..keep_from - self.base);
        self.base = keep_from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_valid_when_the_start_is_forgotten() {
        let mut input = InputBuffer::starting_at(10);
        input.push(&"é".repeat(DROP_AT_ONCE));
        let end = input.window().end();
        input.push("tail");
        input.forget_before(end);
        let window = input.window();
        assert!(window.before(end).len() < 2 * KEEP_BEFORE_CURSOR);
        assert_eq!(window.from(end), "tail");
        assert_eq!(window.slice(end..end + 2), "ta");
        assert_eq!(window.match_at(end + 2, "ix"), Match::No);
        assert_eq!(window.match_at(end + 2, "ils"), Match::NeedMore);
    }
}
