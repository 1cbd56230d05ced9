//! Strings: their quotes, their escapes, and pieces that belong together.

use std::ops::Range;

use super::parser::{Parser, ParserState, StepResult};
use super::rules;
use super::string_end::{Quote, StringEnd, StringRole};
use crate::parse::{Cut, CutKind};
use crate::tree::{Id, Kind, ScalarText, Slot, TextStore};

impl Parser<'_> {
    pub(super) fn string_value(&mut self) -> StepResult {
        let start = self.at;
        let role = self.role();
        let (piece, end) = self.string(role, false);
        let id = self.out.next_id();
        self.out.string(piece, start, self.at);
        if end.cut {
            self.cut_inside();
        }
        let state = self.done();
        self.last_string = Some(id);
        Ok(state)
    }

    /// The value that was just read is the one that was cut off.
    pub(super) fn cut_inside(&mut self) {
        let (pointer, root, at) = (self.place(), self.roots.len(), self.bytes.len());
        self.cut.get_or_insert(Cut {
            pointer,
            kind: CutKind::Inside,
            at,
            root,
            because: None,
        });
    }

    /// Reads the string that opens here.
    pub(super) fn string(&mut self, role: StringRole, raw: bool) -> (ScalarText, StringEnd) {
        let open = self.at;
        let quote = match self.opening_quote().unwrap_or(Quote::Plain(b'"')) {
            // `""one" two"`: the second quote is text.
            Quote::Doubled(byte) if !self.doubled_closes(open + 2, byte) => Quote::Plain(byte),
            quote => quote,
        };
        let start = (open + quote.width()).min(self.bytes.len());
        let end = self.string_end(start, quote, role);
        self.note_quotes(open, quote, start, &end);
        let torn = match role {
            StringRole::Key => end.torn,
            _ => self.is_torn(start, quote, &end),
        };
        if torn {
            let (first, last) = end.inner.unwrap_or((end.text, end.text));
            self.doubt(rules::INNER_QUOTE, first..last);
        }
        let piece = match quote {
            Quote::Escaped(_) if end.escapes => self.decode_twice(start, end.text),
            _ => self.decode(start, &end, raw),
        };
        self.at = end.after;
        (piece, end)
    }

    /// There is no telling what was meant here: rather no value than a wrong one.
    pub(super) fn doubt(&mut self, rule: rules::RuleRef, span: Range<usize>) {
        let doubt = self.doubt_at(rule, span);
        self.doubt.get_or_insert(doubt);
    }

    /// This is why the text seems cut off.
    pub(super) fn because(&mut self, rule: rules::RuleRef, span: Range<usize>) {
        let doubt = self.doubt_at(rule, span);
        self.because.get_or_insert(doubt);
    }

    fn doubt_at(&self, rule: rules::RuleRef, span: Range<usize>) -> super::Ambiguity {
        super::Ambiguity {
            rule: rule.id,
            pointer: self.place(),
            span,
        }
    }

    fn note_quotes(&mut self, open: usize, quote: Quote, start: usize, end: &StringEnd) {
        if quote != Quote::Plain(b'"') {
            let rule = match quote {
                Quote::Triple(_) => rules::TRIPLE_QUOTES,
                Quote::Doubled(_) => rules::DOUBLED_QUOTES,
                Quote::Escaped(_) => rules::ESCAPED_QUOTES,
                Quote::Smart | Quote::SmartSingle => rules::SMART_QUOTES,
                Quote::Plain(_) if end.mismatched && !end.settled => rules::UNLIKE_QUOTES,
                Quote::Plain(_) => rules::OTHER_QUOTES,
            };
            self.note_string(rule, open..end.after, start..end.text);
        } else if end.mismatched {
            let rule = match end.settled {
                true => rules::OTHER_QUOTES,
                false => rules::UNLIKE_QUOTES,
            };
            self.note(rule, end.text..end.text + 1, "\"");
        }
        self.requoted |= end.inner.is_some() || end.mismatched || !end.closed && !end.cut;
        if let Some((first, last)) = end.inner {
            let text = self.text.get(first..last).unwrap_or_default();
            let after = super::change_recorder::escaped(text);
            let rule = if end.settled {
                rules::INNER_QUOTE_KNOWN
            } else {
                rules::INNER_QUOTE
            };
            self.note(rule, first..last, &after);
        }
        if !end.closed && !end.cut {
            let rule = if end.settled {
                rules::MISSING_QUOTE_KNOWN
            } else {
                rules::MISSING_QUOTE
            };
            self.note(rule, end.text..end.text, "\"");
        }
    }

    /// The text of a string, decoded.
    fn decode(&mut self, start: usize, end: &StringEnd, raw: bool) -> ScalarText {
        if raw || !end.escapes {
            if end.controls {
                self.note_controls(start, end.text);
            }
            return source(start, end.text);
        }
        let inside = &self.bytes[start..end.text];
        if end.controls || inside.iter().filter(|b| **b == b'\n').count() > 1 {
            self.note_controls(start, end.text);
        }
        let head = self.out.buffer.len();
        let text = &self.text[start..end.text];
        let decoded = super::escapes::decode(text, end.cut, &mut self.out.buffer);
        if let Some(range) = decoded.unclear.filter(|_| !end.cut) {
            let span = start + range.start..start + range.end;
            self.doubt(rules::MIXED_ESCAPES, span);
        }
        for (rule, range) in [
            (rules::BAD_ESCAPE, decoded.bad),
            (rules::MIXED_ESCAPES, decoded.mixed),
            (rules::LONE_SURROGATE, decoded.surrogate),
        ] {
            if let Some(range) = range {
                let before = text.get(range.clone()).unwrap_or_default();
                let mut after = String::new();
                super::escapes::decode(super::change_recorder::start_of(before), false, &mut after);
                let after = super::change_recorder::escaped(&after);
                self.note(rule, start + range.start..start + range.end, &after);
            }
        }
        ScalarText {
            text: TextStore::Buffer,
            head: head as u32,
            size: (self.out.buffer.len() - head) as u32,
        }
    }

    /// The text of a string whose quotes are escaped: so are its escapes.
    fn decode_twice(&mut self, start: usize, end: usize) -> ScalarText {
        let once = super::double_encoded::unescape(&self.text[start..end]).text;
        let head = self.out.buffer.len();
        super::escapes::decode(&once, false, &mut self.out.buffer);
        ScalarText {
            text: TextStore::Buffer,
            head: head as u32,
            size: (self.out.buffer.len() - head) as u32,
        }
    }

    /// The text of a string that lacks its opening quote.
    pub(super) fn decode_bare(&mut self, start: usize, text: usize) -> ScalarText {
        let escapes = self.bytes[start..text].contains(&b'\\');
        let end = StringEnd {
            text,
            escapes,
            ..StringEnd::default()
        };
        self.decode(start, &end, false)
    }

    fn note_controls(&mut self, start: usize, end: usize) {
        let is_control = |b: &u8| *b < 0x20;
        let inside = &self.bytes[start..end];
        let first = inside.iter().position(is_control).unwrap_or(0);
        let last = inside.iter().rposition(is_control).unwrap_or(0);
        if inside.get(first).is_some_and(is_control) {
            let text = &self.text[start + first..=start + last];
            let after = super::change_recorder::escaped(text);
            self.note(rules::RAW_CONTROL, start + first..start + last + 1, &after);
        }
    }

    /// `"a" + "b"`, `"a" "b"`: the next string continues the last one.
    pub(super) fn join_string(&mut self) -> StepResult {
        let start = self.at;
        if self.peek() == Some(b'+') {
            self.at += 1;
            self.gap();
        }
        if self.peek().is_none() {
            return Ok(self.end(CutKind::Inside));
        }
        let Some(id) = self.last_string.filter(|_| self.opening_quote().is_some()) else {
            self.note(rules::STRAY_TEXT, start..self.at, "");
            return Ok(ParserState::After);
        };
        self.note(rules::JOINED_STRINGS, start..self.at, "");
        self.move_to_tail(id);
        let role = self.role();
        let (piece, end) = self.string(role, false);
        if end.inner.is_some() || !end.closed && !end.cut {
            self.doubt(rules::JOINED_STRINGS, start..self.at);
        }
        let Some(slot) = self.out.slot(id).copied() else {
            return Ok(ParserState::After);
        };
        if piece.text == TextStore::Source {
            let range = piece.head as usize..(piece.head + piece.size) as usize;
            self.out.buffer.push_str(&self.text[range]);
        }
        let joined = ScalarText {
            text: TextStore::Buffer,
            head: slot.head,
            size: slot.size + piece.size,
        };
        self.out.retext(id, Kind::String, joined, self.at);
        if end.cut {
            self.cut_inside();
        }
        Ok(ParserState::After)
    }

    /// Moves a string's text to the end of the buffer, where it can grow.
    fn move_to_tail(&mut self, id: Id) {
        let Some(slot) = self.out.slot(id).copied() else {
            return;
        };
        let tail = slot.text == TextStore::Buffer
            && (slot.head + slot.size) as usize == self.out.buffer.len();
        if !tail {
            let text = self.out.text(&slot, self.text).to_owned();
            let head = self.out.buffer.len() as u32;
            self.out.buffer.push_str(&text);
            let piece = ScalarText {
                text: TextStore::Buffer,
                head,
                size: slot.size,
            };
            self.out.retext(id, Kind::String, piece, slot.end as usize);
        }
    }

    /// A key, quoted or not, and what separates it from its value.
    pub(super) fn key_text(&mut self) -> StepResult {
        let start = self.at;
        self.prefix();
        if self.opening_quote().is_some() {
            let (piece, end) = self.string(StringRole::Key, false);
            if end.cut && end.after == self.bytes.len() {
                self.cut_inside();
                return Ok(self.end(CutKind::Inside));
            }
            if end.cut {
                self.cut_inside();
            }
            self.add_key(piece, start, self.at);
            return self.colon();
        }
        self.at = start;
        self.bare_key()
    }

    pub(super) fn add_key(&mut self, piece: ScalarText, start: usize, end: usize) {
        let id = self.out.next_id();
        self.out.key(piece, start, end);
        self.last_string = None;
        if let Some(frame) = self.frames.last_mut() {
            frame.key = Some(id);
            frame.comma = None;
        }
    }

    pub(super) fn push_key(&mut self, slot: Slot, start: usize, end: usize) {
        let piece = ScalarText {
            text: slot.text,
            head: slot.head,
            size: slot.size,
        };
        self.add_key(piece, start, end);
    }
}

/// Text that stands in the source as it should be.
pub(super) fn source(start: usize, end: usize) -> ScalarText {
    ScalarText {
        text: TextStore::Source,
        head: start as u32,
        size: end.saturating_sub(start) as u32,
    }
}
