//! Keys, colons and what stands between two members.

use super::parser::{Opener, Parser, ParserState, StepResult};
use super::rules;
use crate::parse::CutKind;
use crate::tree::Kind;

impl Parser<'_> {
    pub(super) fn key(&mut self) -> StepResult {
        self.gap();
        let Some(byte) = self.peek() else {
            return Ok(self.end(CutKind::Inside));
        };
        let (byte, width) = match byte {
            0x80.. => self.wide().unwrap_or((byte, 1)),
            byte => (byte, 1),
        };
        match byte {
            b'}' | b']' | b')' => {
                if let Some(comma) = self.frames.last().and_then(|frame| frame.comma) {
                    self.note_trailing(comma);
                }
                Ok(self.close(byte, width))
            }
            b',' | b';' => {
                let end = self.commas_end(width);
                self.note(rules::EXTRA_COMMA, self.at..end, "");
                self.at = end;
                Ok(ParserState::Key)
            }
            b'{' | b'[' | b'(' => self.bracket_for_key(byte, width),
            b':' | b'=' => {
                self.note(rules::EXTRA_COLON, self.at..self.at + width, "");
                self.at += width;
                Ok(ParserState::Key)
            }
            _ => self.key_text(),
        }
    }

    /// An opening bracket where a key should be.
    fn bracket_for_key(&mut self, byte: u8, width: usize) -> StepResult {
        let around = self.frames.len().checked_sub(2);
        let first = self.frames.last().is_some_and(|frame| frame.count == 0);
        let in_array = around.is_some_and(|i| self.frames[i].opener == Opener::Bracket);
        if first && byte != b'{' {
            self.note_set();
            return Ok(ParserState::Value);
        }
        if !first && byte == b'{' && in_array {
            self.note(rules::MISSING_BRACKET, self.at..self.at, "}");
            self.pop(self.at);
            return Ok(ParserState::Value);
        }
        let follows = self
            .frames
            .last()
            .is_some_and(|frame| frame.comma.is_none());
        if !first && follows {
            // `"text"{more}`: rather no value than one with pieces of text for members.
            self.lost.get_or_insert(self.at);
        }
        self.note(rules::EXTRA_BRACKET, self.at..self.at + width, "");
        self.dropped += 1;
        self.at += width;
        Ok(ParserState::Key)
    }

    /// The open object turns out to be a set.
    fn note_set(&mut self) {
        self.out.turn_into_array();
        if let Some(start) = self.frames.last().map(|frame| frame.start) {
            let width = if self.byte(start) == b'{' { 1 } else { 3 };
            self.note(rules::SET, start..start + width, "[");
        }
    }

    /// What stands between key and value.
    pub(super) fn colon(&mut self) -> StepResult {
        self.gap();
        let start = self.at;
        let (byte, width) = match self.peek() {
            None => return Ok(self.end(CutKind::Inside)),
            Some(0x80..) => self.wide().unwrap_or((0x80, 1)),
            Some(byte) => (byte, 1),
        };
        match byte {
            b':' | b'=' => {
                self.at += width;
                // `=>` is an arrow; `:>` is not.
                while matches!(self.peek(), Some(b':' | b'='))
                    || self.peek() == Some(b'>') && self.byte(self.at - 1) == b'='
                {
                    self.at += 1;
                }
                if byte != b':' || width > 1 || self.at > start + 1 {
                    self.note(rules::COLON_FORM, start..self.at, ":");
                }
                let value = self.skip_space(self.at);
                if self.bytes[value..].starts_with(b"...") {
                    self.at = value;
                    return self.bare_value();
                }
                Ok(ParserState::Value)
            }
            b',' | b'}' | b']' | b')' | b';' => {
                self.key_without_value();
                Ok(ParserState::After)
            }
            b'-' if self.byte(start + 1) == b'>' => {
                self.at += 2;
                self.note(rules::COLON_FORM, start..self.at, ":");
                Ok(ParserState::Value)
            }
            _ => {
                self.note(rules::MISSING_COLON, start..start, ":");
                Ok(ParserState::Value)
            }
        }
    }

    /// `{"a"}`: a set if it is the first, else a member without a value.
    fn key_without_value(&mut self) {
        let first = self
            .frames
            .last()
            .is_some_and(|f| f.count == 0 && f.opener == Opener::Brace);
        if !first {
            return self.missing_value();
        }
        self.note_set();
        self.retype_key();
        self.done();
    }

    /// Something follows a value without a comma.
    pub(super) fn no_comma(&mut self, newline: bool) -> StepResult {
        let in_object = self.out.in_object() == Some(true);
        if self.last_string.is_some() && self.opening_quote().is_some() {
            let joins = in_object && !self.key_follows(self.at)
                || self
                    .frames
                    .last()
                    .is_some_and(|f| f.opener == Opener::Paren);
            if joins {
                return self.join_string();
            }
        }
        if in_object && !newline && !self.key_follows(self.at) && self.skip_stray() {
            return Ok(ParserState::After);
        }
        let sure = in_object && (newline || self.key_follows(self.at));
        let rule = if sure {
            rules::MISSING_COMMA
        } else {
            rules::MISSING_ELEMENT_COMMA
        };
        self.note(rule, self.at..self.at, ",");
        self.last_string = None;
        Ok(if in_object {
            ParserState::Key
        } else {
            ParserState::Value
        })
    }

    /// Skips words between a member and the next comma or bracket.
    fn skip_stray(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let stops = |b: &u8| matches!(b, b',' | b'}' | b']' | b'{' | b'[' | b'\n' | b'"' | b':');
        let length = rest.iter().position(stops).unwrap_or(rest.len());
        if length == 0 {
            return false;
        }
        if rest[..length]
            .iter()
            .any(|b| b.is_ascii_alphanumeric() || *b >= 0x80)
        {
            // It belongs to the value before it: rather no value than a part of one.
            self.doubt(rules::STRAY_TEXT, self.at..self.at + length);
        }
        self.note(rules::STRAY_TEXT, self.at..self.at + length, "");
        self.at += length;
        self.last_string = None;
        true
    }

    /// A string in an array, or at the root, is followed by a colon: it is a key.
    pub(super) fn late_colon(&mut self, width: usize) -> StepResult {
        let around = self.frames.len().checked_sub(2);
        let in_object = self.out.in_object() == Some(true);
        if in_object {
            self.note(rules::EXTRA_COLON, self.at..self.at + width, ",");
            self.at += width;
            return Ok(ParserState::Key);
        }
        let lacks = around.is_some_and(|i| {
            self.out
                .slot(self.frames[i].id)
                .is_some_and(|slot| slot.kind == Kind::Object)
        }) && self.frames.last().is_some_and(|frame| {
            let first = self
                .out
                .slot(frame.id + 1)
                .map_or(0, |slot| slot.start as usize);
            let before = self.bytes.get(frame.start + 1..first).unwrap_or_default();
            frame.count > 1 || before.contains(&b',')
        });
        let Some(slot) = self.out.take_back() else {
            return Ok(ParserState::After);
        };
        let (start, end) = (slot.start as usize, slot.end as usize);
        if let Some(frame) = self.frames.last_mut() {
            frame.count -= 1;
        }
        if lacks {
            self.note_missing_closer(start);
            self.pop(start);
        } else {
            self.note(rules::MISSING_BRACE, start..start, "{");
            let here = self.at;
            self.at = start;
            self.open(Opener::Nothing, Kind::Object)?;
            self.at = here;
        }
        self.push_key(slot, start, end);
        self.colon()
    }

    pub(super) fn missing_value(&mut self) {
        self.note(rules::MISSING_VALUE, self.at..self.at, "null");
        self.out.literal(Kind::Null, false, self.at, self.at);
        self.last_string = None;
        self.done();
    }
}
