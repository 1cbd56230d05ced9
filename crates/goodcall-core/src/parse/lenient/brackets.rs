//! Closing brackets: the right one, the wrong one, one too many, none at all.

use super::parser::{Opener, Parser, ParserState};
use super::rules;
use crate::parse::{Cut, CutKind};
use crate::tree::Kind;

/// Rules that decide where a value ends by what follows it.
pub(super) const DOUBTS: [rules::RuleRef; 7] = [
    rules::INNER_QUOTE,
    rules::MISSING_QUOTE,
    rules::MISSING_ELEMENT_COMMA,
    rules::MISSING_VALUE,
    rules::EXTRA_COLON,
    rules::STRAY_TEXT,
    rules::WRONG_BRACKET,
];

impl Parser<'_> {
    /// A closing bracket of this many bytes stands here.
    pub(super) fn close(&mut self, byte: u8, width: usize) -> ParserState {
        let span = self.at..self.at + width;
        let Some(frame) = self.frames.last() else {
            return ParserState::After;
        };
        let wanted = frame.closer();
        if byte == wanted {
            self.note_foreign_closer(span);
            self.at += width;
            self.pop(self.at);
            return ParserState::After;
        }
        let partner = self.frames.iter().rposition(|frame| frame.closer() == byte);
        match partner {
            Some(index) if !self.strands(index, self.at + width) => {
                while self.frames.len() > index + 1 {
                    self.note_missing_closer(self.at);
                    self.pop(self.at);
                }
                self.at += width;
                self.pop(self.at);
            }
            _ if wanted == 0 => {
                // Members without braces end where something else is closed.
                self.pop(self.at);
                if self.frames.is_empty() {
                    self.note(rules::EXTRA_BRACKET, span, "");
                    self.at += width;
                }
            }
            None if self.byte(self.skip_space(self.at + width)) == wanted => {
                if self.last_is_doubtful() {
                    self.doubt(rules::INNER_QUOTE, span.clone());
                }
                self.note(rules::EXTRA_BRACKET, span, "");
                self.dropped = self.dropped.saturating_sub(1);
                self.at += width;
            }
            _ => {
                if self.last_is_doubtful() {
                    // It may as well be text of a value that goes on.
                    self.cut_inside();
                }
                let right = char::from(wanted).to_string();
                self.note(rules::WRONG_BRACKET, span, &right);
                self.at += width;
                self.pop(self.at);
            }
        }
        ParserState::After
    }

    /// The closing bracket of a tuple, a call or a set is not JSON's.
    fn note_foreign_closer(&mut self, span: std::ops::Range<usize>) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let single = frame.count == 1 && frame.comma.is_none();
        match frame.opener {
            Opener::Paren => self.note(rules::TUPLE, span, if single { "" } else { "]" }),
            Opener::Call => self.note(rules::CALL, span, ""),
            Opener::Brace if self.out.in_object() == Some(false) => {
                self.note(rules::SET, span, "]");
            }
            _ => {}
        }
    }

    pub(super) fn note_missing_closer(&mut self, at: usize) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let closer = frame.closer();
        if frame.mixed {
            // `[[1, 2, [3, 4]]`: after the 2, or at the end? Rather no value than either.
            self.lost.get_or_insert(at);
        }
        if closer != 0 {
            self.note(
                rules::MISSING_BRACKET,
                at..at,
                &char::from(closer).to_string(),
            );
        }
    }

    /// Would closing down to this frame leave a member that follows without an object?
    fn strands(&self, index: usize, after: usize) -> bool {
        let comma = self.skip_space(after);
        let around = index.checked_sub(1).map(|i| self.frames[i]);
        let skips = index + 1 < self.frames.len();
        if let closer @ (b'}' | b']') = self.byte(comma) {
            return skips && around.is_none_or(|frame| frame.closer() != closer);
        }
        let width = self.comma_width(comma);
        if width == 0 {
            return false;
        }
        let next = self.skip_space(comma + width);
        let kind = around
            .and_then(|frame| self.out.slot(frame.id))
            .map(|slot| slot.kind);
        if self.key_follows(next) {
            return kind != Some(Kind::Object);
        }
        kind.is_none() && skips
    }

    /// The text ends here: closes everything, and says how it was cut off.
    pub(super) fn end(&mut self, kind: CutKind) -> ParserState {
        if self.frames.is_empty() {
            return ParserState::Done;
        }
        let kind = match kind {
            CutKind::Brackets if self.last_is_doubtful() || self.frames.iter().any(|f| f.mixed) => {
                CutKind::Inside
            }
            kind => kind,
        };
        // Members without braces end where the text, its fence or its tag does.
        let ended = self.is_braceless() && self.at < self.bytes.len();
        if !ended || kind == CutKind::Inside {
            let mut pointer = self.place();
            if kind == CutKind::Brackets {
                pointer = pointer
                    .split_last()
                    .map_or(pointer.clone(), |(container, _)| container);
            }
            let root = self.roots.len();
            self.cut.get_or_insert(Cut {
                pointer,
                kind,
                at: self.at,
                root,
                because: None,
            });
        }
        self.drop_lone_key();
        let at = self.at;
        let closers: String = self
            .frames
            .iter()
            .rev()
            .filter_map(|frame| match frame.opener {
                Opener::Nothing if ended || frame.id != self.current => None,
                Opener::Nothing => Some('}'),
                _ => Some(char::from(frame.closer())),
            })
            .collect();
        if !closers.is_empty() {
            self.note(rules::UNCLOSED, at..at, &closers);
        }
        while !self.frames.is_empty() {
            self.pop(at);
        }
        ParserState::Done
    }

    /// Is it uncertain where the last value ends? Then it may go on after the end of the text.
    fn last_is_doubtful(&self) -> bool {
        let last = self.out.next_id().checked_sub(1);
        let Some(last) = last.and_then(|id| self.out.slot(id)) else {
            return false;
        };
        let start = last.start;
        let recent = self.notes.record.notes.iter().rev();
        recent
            .take(32)
            .take_while(|note| note.span.1 >= start)
            .any(|note| {
                let inside = note.span.0 >= start || note.span.1 > start;
                inside && DOUBTS.iter().any(|doubt| doubt.id == note.rule)
            })
    }

    /// A key whose value never came is not a member.
    fn drop_lone_key(&mut self) {
        let last = self.out.next_id().checked_sub(1);
        let lone = self.frames.last().is_some_and(|frame| {
            frame.key.is_some() && frame.key == last && self.out.in_object() == Some(true)
        });
        if lone {
            self.out.take_back();
        }
    }
}
