//! The way from one value at the root to the next.

use super::parser::{Parser, ParserState};
use super::rules;
use super::words::literal;
use crate::parse::error::ParseError;
use crate::tree::Kind;

/// The text before a place outside of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// The start of the text, a fence or prose: any value may start here.
    Start,
    /// A value, with nothing but white space, commas and brackets after it.
    Value,
}

impl Parser<'_> {
    /// Reads every value in the text.
    pub(super) fn document(&mut self) -> Result<(), ParseError> {
        while self.find_value() {
            let before = (self.at(), self.roots().ids.len());
            self.root()?;
            if (self.at(), self.roots().ids.len()) == before {
                // Nothing was read: go on after the next character.
                let width = self.source().char_width(self.at(), 1);
                self.advance(width);
            }
        }
        Ok(())
    }

    /// Moves to the next value. Returns false if there is none.
    fn find_value(&mut self) -> bool {
        let mut before = if self.roots().ids.is_empty() {
            Before::Start
        } else {
            Before::Value
        };
        loop {
            self.skip_trivia();
            let Some(byte) = self.peek() else {
                return false;
            };
            if self.skip_fence() {
                before = Before::Start;
                continue;
            }
            if self.skip_tag() {
                continue;
            }
            if before == Before::Value && self.is_scalar_alone() {
                return true;
            }
            if self.value_starts(byte, before) {
                return true;
            }
            if self.skip_separator(byte) {
                continue;
            }
            if !self.skip_prose() {
                return false;
            }
            before = Before::Start;
        }
    }

    /// Returns true if a value starts with this byte, rather than prose.
    fn value_starts(&mut self, byte: u8, before: Before) -> bool {
        let source = self.source();
        match byte {
            b'{' | b'[' => self.looks_like_container(self.at(), Surroundings::Values),
            b'"' | b'\'' | b'(' | b'0'..=b'9' | b'-' | b'+' if self.is_scalar_root() => true,
            b',' | b';' | b'}' | b']' | b')' if !self.roots().ids.is_empty() => false,
            _ if before == Before::Value => false,
            0x80.. if source.opening_quote(self.at()).is_some() => {
                source.key_follows(self.at()) || !source.has_opener_after(self.at())
            }
            0x80..
                if matches!(
                    source.foreign_punctuation(self.at()),
                    Some((b'{' | b'[' | b'(', _))
                ) =>
            {
                true
            }
            b'\\' if source.opening_quote(self.at()).is_some() => true,
            _ => self.word_starts_value(),
        }
    }

    /// Skips a comma or a closing bracket between two values.
    fn skip_separator(&mut self, byte: u8) -> bool {
        if self.roots().ids.is_empty() {
            return false;
        }
        match byte {
            b',' | b';' => self.note_and_skip(rules::SEVERAL_COMMA, 1, ""),
            b'}' | b']' | b')' => {
                if self.findings().is_requoted() {
                    self.note_ambiguous(rules::INNER_QUOTE, self.at()..self.at() + 1);
                }
                self.note_late_closer(self.at()..self.at() + 1);
                self.note_and_skip(rules::EXTRA_BRACKET, 1, "");
            }
            _ => return false,
        }
        true
    }

    /// Returns true if the scalar here is the value, and not the start of prose.
    fn is_scalar_root(&self) -> bool {
        let (source, at) = (self.source(), self.at());
        if let Some(root) = self.roots().ids.last() {
            let kind = self.tree().slot(*root).map(|slot| slot.kind);
            let is_scalar = kind.is_some_and(|kind| !matches!(kind, Kind::Array | Kind::Object));
            return is_scalar && !source.has_opener_after(at);
        }
        match source.byte(at) {
            b'0'..=b'9' | b'-' | b'+' => {
                let rest = source.from(at);
                rest.len() < 200 && !source.has_opener_after(at) && !rest.contains("```")
            }
            b'(' => true,
            quote => {
                source.key_follows(at)
                    || !source.has_opener_after(at)
                    || quote == b'"' && source.last_visible() == b'"'
            }
        }
    }

    /// Returns true if a JSON scalar stands here, with nothing else on its line but more values.
    fn is_scalar_alone(&self) -> bool {
        let source = self.source();
        let Some(end) = self.strict_scalar_end() else {
            return false;
        };
        let next = source.skip_space(end);
        match source.byte(next) {
            0 | b'{' | b'[' | b',' | b';' => true,
            b'"' => next > end,
            b'`' => source.bytes()[next..].starts_with(b"```"),
            _ => source.has_newline(end, next),
        }
    }

    /// The end of the JSON scalar that starts here.
    fn strict_scalar_end(&self) -> Option<usize> {
        let (source, start) = (self.source(), self.at());
        match source.byte(start) {
            b'"' => {
                let mut at = crate::parse::plain_text::plain_end(source.bytes(), start + 1);
                while source.byte(at) == b'\\' {
                    at = crate::parse::plain_text::plain_end(source.bytes(), at + 2);
                }
                (source.byte(at) == b'"').then_some(at + 1)
            }
            b'-' | b'0'..=b'9' => super::numbers::strict_end(source.bytes(), start),
            b't' | b'f' | b'n' => {
                let end = source.word_end(start);
                let word = &source.as_str()[start..end];
                matches!(word, "true" | "false" | "null").then_some(end)
            }
            _ => None,
        }
    }

    /// Returns true if the word here is a value: a literal, a call or members without braces.
    fn word_starts_value(&mut self) -> bool {
        let (source, start) = (self.source(), self.at());
        let end = source.word_end(start);
        if end == start {
            return false;
        }
        let word = &source.as_str()[start..end];
        let next = source.skip_space(end);
        let is_first = self.roots().ids.is_empty();
        if is_first && literal(word).is_some() && next == source.len() {
            return true;
        }
        if matches!(source.byte(end), b'"' | b'\'')
            && word.len() <= 2
            && word.bytes().all(|b| b"fFrRbBuU".contains(&b))
        {
            return true;
        }
        if matches!(source.byte(end), b'(' | b'.') || word == "new" {
            return self.call_follows(end);
        }
        is_first && matches!(source.byte(next), b':' | b'=') && self.members_follow(start, next)
    }

    /// Returns true if `name` ends a call's name and the call's arguments look like values.
    fn call_follows(&self, name: usize) -> bool {
        let source = self.source();
        let near = source.rest_of_line(name, 120);
        let Some(open) = near.iter().position(|b| *b == b'(') else {
            return false;
        };
        let rest_of_name = source.as_str()[name..name + open].trim();
        if rest_of_name.contains([' ', '{', '"']) {
            return false;
        }
        let inside = source.skip_space(name + open + 1);
        matches!(
            source.byte(inside),
            b'{' | b'[' | b'"' | b'\'' | b')' | b'0'..=b'9' | b'-'
        ) || source.byte(source.skip_space(source.word_end(inside))) == b'='
    }

    /// Returns true for `path=a.txt` and `path: a.txt`, members without braces, unless a value in
    /// brackets follows.
    fn members_follow(&mut self, start: usize, separator: usize) -> bool {
        let source = self.source();
        let arrow = usize::from(source.byte(separator + 1) == b'>');
        let value = source.skip_space(separator + 1 + arrow);
        if matches!(source.byte(value), b'{' | b'[' | b'`') || source.has_opener_after(value) {
            return false;
        }
        let line = start + source.rest_of_line(start, 400).len();
        if value > line || value >= source.len() {
            return false;
        }
        self.note(rules::MISSING_BRACE, start..start, "{");
        self.roots_mut().next_is_braceless = true;
        true
    }

    /// Handles what follows a whole value at the root.
    pub(super) fn after_root(&mut self) -> ParserState {
        let next = self.source().skip_space(self.at());
        if self.last_string().is_some() {
            return match self.source().byte(next) {
                b':' | b'=' => {
                    self.move_to(next);
                    self.root_key()
                }
                b'+' => {
                    self.move_to(next);
                    self.join_string().unwrap_or(ParserState::Done)
                }
                _ => ParserState::Done,
            };
        }
        if self.reopens_root(next) {
            return ParserState::AfterValue;
        }
        if self.goes_on(next) && self.end_is_guessed() {
            // `{text: end}, more`: the bracket and the comma may be text.
            self.note_ambiguous(rules::WRONG_BRACKET, self.at()..next + 1);
        }
        ParserState::Done
    }

    /// Returns true if a comma or a quote follows the root.
    fn goes_on(&self, next: usize) -> bool {
        let source = self.source();
        source.comma_width(next) > 0 || matches!(source.byte(next), b'"' | b'\'')
    }

    /// Returns true if the root ends in a string without quotes, or in a bracket of the wrong kind.
    fn end_is_guessed(&self) -> bool {
        let (source, tree) = (self.source(), self.tree());
        let root = tree.slot(self.roots().current);
        let is_object = root.is_some_and(|slot| slot.kind == Kind::Object);
        let is_closed_by = |bracket: u8| source.bytes()[..self.at()].ends_with(&[bracket]);
        let last = tree.next_id().checked_sub(1).and_then(|id| tree.slot(id));
        let is_bare = last.is_some_and(|slot| {
            let first = source.byte(slot.start as usize);
            slot.kind == Kind::String && first.is_ascii_alphanumeric()
        });
        is_bare || is_object && is_closed_by(b']')
    }

    /// Opens the root again after `{"a": 1}, "b": 2}`, where the bracket came too early.
    fn reopens_root(&mut self, comma: usize) -> bool {
        let (source, end) = (self.source(), self.at());
        let width = source.comma_width(comma);
        let root = self.tree().slot(self.roots().current);
        let is_object = root.is_some_and(|slot| slot.kind == Kind::Object);
        if width == 0
            || !is_object
            || source.byte(end - 1) != b'}'
            || !source.key_follows(source.skip_space(comma + width))
        {
            return false;
        }
        self.note(rules::EARLY_BRACKET, end - 1..end, "");
        self.reopen_root(end);
        true
    }

    /// Handles a colon after a string at the root: members without braces.
    fn root_key(&mut self) -> ParserState {
        let Some(slot) = self.tree_mut().take_back() else {
            return ParserState::Done;
        };
        let (start, end) = (slot.start as usize, slot.end as usize);
        if self.open_braceless(start).is_err() {
            return ParserState::Done;
        }
        self.add_key(slot.scalar_text(), start, end);
        self.colon().unwrap_or(ParserState::Done)
    }
}

/// The text around a bracket outside of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// The start of the text, or other values.
    Values,
    Prose,
}

impl Parser<'_> {
    /// Returns true if a container may start at this bracket.
    pub(super) fn looks_like_container(&self, at: usize, around: Surroundings) -> bool {
        let source = self.source();
        let in_prose = around == Surroundings::Prose;
        let next = source.skip_comments(at + 1);
        let Some(byte) = source.bytes().get(next).copied() else {
            return true;
        };
        match (source.bytes()[at], byte) {
            (_, b'"' | b'\'' | b'{' | b'[' | b'\\' | b'`') => true,
            (b'{', b'}') | (b'[', b']') => true,
            // `{,"key": …`: one comma too many.
            (b'{', b',') => !in_prose || source.byte(source.skip_space(next + 1)) == b'"',
            (_, b',' | b':') => !in_prose,
            (_, 0x80..) => true,
            (b'{', _) => source.key_follows(next) || !in_prose && !source.has_opener_after(at),
            (b'[', b'0'..=b'9' | b'-' | b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'(') => {
                !in_prose
            }
            _ => !in_prose && !source.has_opener_after(at),
        }
    }
}
