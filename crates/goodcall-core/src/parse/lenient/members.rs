//! Keys, colons and the members that they make.

use super::containers::Opener;
use super::known_keys::bare_name;
use super::parser::{Parser, ParserState, StepResult};
use super::rules;
use crate::parse::CutKind;
use crate::tree::{Kind, ScalarText};

impl Parser<'_> {
    pub(super) fn key(&mut self) -> StepResult {
        self.skip_trivia();
        let Some((byte, width)) = self.source().punctuation(self.at()) else {
            return Ok(self.end_of_text(CutKind::Inside));
        };
        match byte {
            b'}' | b']' | b')' => {
                if let Some(comma) = self.innermost().and_then(|container| container.comma) {
                    self.note_trailing_comma(comma);
                }
                Ok(self.close(byte, width))
            }
            b',' | b';' => {
                let end = self.source().commas_end(self.at(), width);
                self.note_and_skip(rules::EXTRA_COMMA, end - self.at(), "");
                Ok(ParserState::Key)
            }
            b'{' | b'[' | b'(' => self.bracket_for_key(byte, width),
            b':' | b'=' => {
                self.note_and_skip(rules::EXTRA_COLON, width, "");
                Ok(ParserState::Key)
            }
            _ => self.key_text(),
        }
    }

    /// Handles an opening bracket where a key should be.
    fn bracket_for_key(&mut self, bracket: u8, width: usize) -> StepResult {
        let around = self.containers().around_innermost();
        let in_list = around.is_some_and(|around| around.opener == Opener::Bracket);
        let object = self.innermost();
        let is_first = object.is_some_and(|object| object.count == 0);
        let lacks_comma = object.is_some_and(|object| object.comma.is_none());
        if is_first && bracket != b'{' {
            self.note_set();
            return Ok(ParserState::Value);
        }
        if !is_first && bracket == b'{' && in_list {
            self.findings_mut().add_closer(b'}');
            self.note(rules::MISSING_BRACKET, self.at()..self.at(), "}");
            self.close_innermost(self.at());
            return Ok(ParserState::Value);
        }
        let after_scalar = object.is_some_and(|object| object.last_is_scalar);
        if !is_first && lacks_comma {
            // `"text"{more}`: the rest would be read as members made of pieces of text.
            let at = self.at();
            self.findings_mut().add_stranded(at);
        } else if !is_first && (!after_scalar || bracket != b'{' || !self.knows_key_inside(width)) {
            // `"list": {"a": 1}, {"a": 2}`: a list without brackets, or members of this object.
            self.note_ambiguous(rules::NESTED_BRACE, self.at()..self.at() + width);
        }
        let rule = if is_first {
            rules::EXTRA_BRACKET
        } else {
            rules::NESTED_BRACE
        };
        self.note_and_skip(rule, width, "");
        if let Some(object) = self.innermost_mut() {
            object.dropped_braces += u32::from(bracket == b'{');
            object.is_doubled = is_first;
        }
        Ok(ParserState::Key)
    }

    /// Returns true if the schema declares the first key inside the bracket here, or if no schema is
    /// known.
    fn knows_key_inside(&self, width: usize) -> bool {
        let source = self.source();
        let start = source.skip_space(self.at() + width);
        let key = source
            .key_end(start)
            .and_then(|end| source.as_str().get(start..end));
        self.keys().is_empty() || key.is_some_and(|key| self.keys().contains(bare_name(key)))
    }

    /// Notes that the open object turns out to be a set.
    fn note_set(&mut self) {
        self.tree_mut().turn_into_array();
        if let Some(start) = self.innermost().map(|container| container.start) {
            let is_ascii = self.source().byte(start) == b'{';
            let width = if is_ascii { 1 } else { 3 };
            self.note(rules::SET, start..start + width, "[");
        }
    }

    /// Reads the colon between key and value, or another sign in its place.
    pub(super) fn colon(&mut self) -> StepResult {
        if let [
            b':',
            b' ',
            b'"' | b'{' | b'[' | b'0'..=b'9' | b'A'..=b'z',
            ..,
        ] = self.source().bytes_from(self.at())
        {
            self.advance(2);
            return Ok(ParserState::Value);
        }
        self.skip_trivia();
        let start = self.at();
        let Some((byte, width)) = self.source().punctuation(start) else {
            return Ok(self.end_of_text(CutKind::Inside));
        };
        match byte {
            b':' | b'=' => {
                self.advance(width);
                self.skip_more_of_colon();
                if byte != b':' || width > 1 || self.at() > start + 1 {
                    self.note(rules::COLON_FORM, start..self.at(), ":");
                }
                let value = self.source().skip_space(self.at());
                if self.source().bytes()[value..].starts_with(b"...") {
                    self.move_to(value);
                    return self.bare_value();
                }
                Ok(ParserState::Value)
            }
            b',' | b'}' | b']' | b')' | b';' => {
                self.key_without_value();
                Ok(ParserState::AfterValue)
            }
            b'-' if self.source().byte(start + 1) == b'>' => {
                self.note_and_skip(rules::COLON_FORM, 2, ":");
                Ok(ParserState::Value)
            }
            _ => {
                self.note(rules::MISSING_COLON, start..start, ":");
                Ok(ParserState::Value)
            }
        }
    }

    /// Skips the rest of `::`, `:=`, `==` and `=>`. `:>` is not an arrow.
    fn skip_more_of_colon(&mut self) {
        loop {
            match self.peek() {
                Some(b':' | b'=') => self.advance(1),
                Some(b'>') if self.source().byte(self.at() - 1) == b'=' => self.advance(1),
                _ => return,
            }
        }
    }

    /// Handles `{"a"}`: a set if it is the first, else a member without a value.
    fn key_without_value(&mut self) {
        let object = self.innermost();
        let is_first = object.is_some_and(|o| o.count == 0 && o.opener == Opener::Brace);
        if !is_first {
            return self.missing_value();
        }
        if self.is_placeholder() {
            let key = self.innermost().map_or(0, |container| container.start);
            self.note_ambiguous(rules::SET, key..self.at());
        }
        self.note_set();
        self.retype_key();
        self.end_scalar();
    }

    /// Returns true for `{name}` and `{{name}}`, where a value is to be filled in.
    fn is_placeholder(&self) -> bool {
        let Some(key) = self.innermost().and_then(|container| container.key) else {
            return false;
        };
        let first = self.tree().slot(key).map_or(0, |slot| slot.start as usize);
        self.source().byte(first).is_ascii_alphabetic() && self.peek() == Some(b'}')
    }

    /// Skips words between a member and the next comma or bracket. Returns false if there are none.
    pub(super) fn skip_stray(&mut self) -> bool {
        let rest = &self.source().bytes()[self.at()..];
        let stops = |b: &u8| matches!(b, b',' | b'}' | b']' | b'{' | b'[' | b'\n' | b'"' | b':');
        let length = rest.iter().position(stops).unwrap_or(rest.len());
        if length == 0 {
            return false;
        }
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
        if rest[..length].iter().any(is_word) {
            // It belongs to the value before it.
            self.note_ambiguous(rules::STRAY_TEXT, self.at()..self.at() + length);
        }
        self.note_and_skip(rules::STRAY_TEXT, length, "");
        self.forget_last_string();
        true
    }

    /// Handles a colon after a string in an array: the string is a key.
    pub(super) fn late_colon(&mut self, width: usize) -> StepResult {
        if self.in_object() {
            self.note_and_skip(rules::EXTRA_COLON, width, ",");
            return Ok(ParserState::Key);
        }
        let lacks_closer = self.array_lacks_closer();
        let Some(slot) = self.tree_mut().take_back() else {
            return Ok(ParserState::AfterValue);
        };
        let (start, end) = (slot.start as usize, slot.end as usize);
        if let Some(array) = self.innermost_mut() {
            array.count -= 1;
        }
        if lacks_closer {
            self.note_missing_closer(start);
            self.close_innermost(start);
        } else {
            self.open_braceless(start)?;
        }
        self.add_key(slot.scalar_text(), start, end);
        self.colon()
    }

    /// Returns true if the open array stands in an object and the key that was just read follows
    /// other elements: its bracket is missing.
    fn array_lacks_closer(&self) -> bool {
        let around = self.containers().around_innermost();
        let around = around.and_then(|around| self.tree().slot(around.id));
        around.is_some_and(|slot| slot.kind == Kind::Object)
            && self.innermost().is_some_and(|array| {
                let first = self.tree().slot(array.id + 1);
                let first = first.map_or(0, |slot| slot.start as usize);
                let before = self.source().bytes().get(array.start + 1..first);
                array.count > 1 || before.unwrap_or_default().contains(&b',')
            })
    }

    /// Opens an object without braces whose first key starts at `start`, behind the parser.
    pub(super) fn open_braceless(&mut self, start: usize) -> StepResult {
        self.note(rules::MISSING_BRACE, start..start, "{");
        let here = self.at();
        self.move_to(start);
        let opened = self.open(Opener::Nothing, Kind::Object);
        self.move_to(here);
        opened
    }

    pub(super) fn missing_value(&mut self) {
        let at = self.at();
        self.note(rules::MISSING_VALUE, at..at, "null");
        self.tree_mut()
            .scalar(Kind::Null, false, ScalarText::NONE, (at, at));
        self.forget_last_string();
        self.end_scalar();
    }
}
