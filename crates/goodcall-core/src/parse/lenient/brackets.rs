//! Closing brackets: the right one, the wrong one, one too many, none at all.

use super::parser::{Opener, Parser, State};
use super::rules;
use crate::parse::{Cut, CutKind};
use crate::tree::Kind;

impl Parser<'_> {
    /// A closing bracket of this many bytes stands here.
    pub(super) fn close(&mut self, byte: u8, width: usize) -> State {
        let span = self.at..self.at + width;
        let Some(frame) = self.frames.last() else {
            return State::After;
        };
        let wanted = frame.closer();
        if byte == wanted {
            self.at += width;
            self.pop(self.at);
            return State::After;
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
                self.note(rules::EXTRA_BRACKET, span, "");
                self.at += width;
            }
            _ => {
                let right = char::from(wanted).to_string();
                self.note(rules::WRONG_BRACKET, span, &right);
                self.at += width;
                self.pop(self.at);
            }
        }
        State::After
    }

    pub(super) fn note_missing_closer(&mut self, at: usize) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let closer = frame.closer();
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
    pub(super) fn end(&mut self, kind: CutKind) -> State {
        let bare = matches!(self.frames.as_slice(), [only] if only.opener == Opener::Nothing);
        if self.frames.is_empty() {
            return State::Done;
        }
        if !bare || kind == CutKind::Inside {
            let pointer = self.place();
            let root = self.roots.len();
            self.cut.get_or_insert(Cut {
                pointer,
                kind,
                at: self.at,
                root,
            });
        }
        self.drop_lone_key();
        let at = self.at;
        let first = self.frames.len();
        let closers: String = self
            .frames
            .iter()
            .rev()
            .map(|f| char::from(f.closer()))
            .filter(|c| *c != '\0')
            .collect();
        if first > 0 && !closers.is_empty() {
            self.note(rules::UNCLOSED, at..at, &closers);
        }
        while !self.frames.is_empty() {
            self.pop(at);
        }
        State::Done
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
