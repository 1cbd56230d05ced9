//! Closing brackets: the right one, the wrong one, one too many, none at all.

use std::ops::Range;

use super::containers::Opener;
use super::findings::Ambiguity;
use super::parser::{Parser, ParserState};
use super::rules;
use crate::parse::{Cut, CutKind};
use crate::rule::RuleId;
use crate::tree::{Kind, Pointer};

/// Returns true for the rules that decide where a value ends by what follows it.
pub(super) fn is_unsure_end(rule: RuleId) -> bool {
    matches!(
        rule,
        RuleId::InnerQuote
            | RuleId::MissingQuote
            | RuleId::MissingElementComma
            | RuleId::MissingValue
            | RuleId::ExtraColon
            | RuleId::StrayText
            | RuleId::WrongBracket
    )
}

impl Parser<'_> {
    /// Handles the closing bracket here, which is `width` bytes wide.
    pub(super) fn close(&mut self, bracket: u8, width: usize) -> ParserState {
        let start = self.at();
        let span = start..start + width;
        let Some(container) = self.innermost() else {
            return ParserState::AfterValue;
        };
        let (wanted, dropped) = (container.closer(), container.dropped_braces);
        if wanted == Some(bracket) && dropped > 0 {
            self.drop_partner(span);
            return ParserState::AfterValue;
        }
        if wanted == Some(bracket) {
            self.note_foreign_closer(span);
            self.advance(width);
            self.close_innermost(self.at());
            return ParserState::AfterValue;
        }
        let partner = self.containers().closed_by(bracket);
        if let Some(index) = partner
            && !self.strands_member(index, start + width)
        {
            if index == 0 && self.containers().len() > 1 {
                // `{"tags": ["a"}`: a member may have been meant to follow a bracket of the wrong
                // kind.
                let place = self.place();
                let place = place
                    .split_last()
                    .map_or(Pointer::root(), |(around, _)| around);
                let cause = Ambiguity::new(rules::MISSING_BRACKET, place, span);
                self.note_cut(CutKind::Brackets, Some(cause));
            }
            while self.containers().len() > index + 1 {
                self.note_missing_closer(start);
                self.close_innermost(start);
            }
            self.advance(width);
            self.close_innermost(self.at());
            return ParserState::AfterValue;
        }
        let Some(wanted) = wanted else {
            // Members without braces end where something else is closed, or at the brace that
            // was meant for them.
            self.close_innermost(start);
            if self.containers().is_empty() || partner.is_some() && bracket == b'}' {
                self.note_late_closer(span);
                self.note_and_skip(rules::EXTRA_BRACKET, width, "");
            }
            return ParserState::AfterValue;
        };
        let source = self.source();
        if partner.is_none() && source.byte(source.skip_space(start + width)) == wanted {
            self.drop_extra_closer(span);
        } else if self.repeats_last_closer(bracket) {
            // `[{"a": 1}}, {"a": 2}]`: the element was closed twice.
            self.note_late_closer(span);
            self.note_and_skip(rules::NESTED_BRACE, width, "");
        } else {
            if self.last_end_is_unsure() {
                // The bracket may as well be text of a longer value.
                self.note_cut_inside();
            }
            let right = char::from(wanted).to_string();
            self.note_and_skip(rules::WRONG_BRACKET, width, &right);
            self.close_innermost(self.at());
        }
        ParserState::AfterValue
    }

    /// Drops a bracket that closes nothing.
    fn drop_extra_closer(&mut self, span: Range<usize>) {
        if self.last_end_is_unsure() {
            self.note_ambiguous(rules::INNER_QUOTE, span.clone());
        }
        self.note_late_closer(span.clone());
        self.note_and_skip(rules::EXTRA_BRACKET, span.len(), "");
    }

    /// Notes a closing bracket that closes nothing, if one of its kind was added before: it may
    /// have been meant to close the same container, here.
    pub(super) fn note_late_closer(&mut self, span: Range<usize>) {
        let bracket = self.source().byte(span.start);
        if self.findings().has_added(bracket) {
            self.note_ambiguous(rules::MISSING_BRACKET, span);
        }
    }

    /// Drops the partner of an opening brace that was dropped.
    fn drop_partner(&mut self, span: Range<usize>) {
        let Some(object) = self.innermost_mut() else {
            return;
        };
        object.dropped_braces -= 1;
        let doubled = object.count > 0 && object.dropped_braces == 0 && object.is_doubled;
        let source = self.source();
        let next = source.skip_space(span.end);
        if doubled && next < source.len() && source.punctuation(next).map(|(b, _)| b) != Some(b'}')
        {
            // `{{"a": 1}, {"a": 2}}`: rather a list than an object with doubled braces.
            self.note_ambiguous(rules::EXTRA_BRACKET, span.start..next);
        }
        self.note_and_skip(rules::EXTRA_BRACKET, span.len(), "");
    }

    /// Returns true if the last element ends in this bracket, right before it.
    fn repeats_last_closer(&self, bracket: u8) -> bool {
        let before = &self.source().bytes()[..self.at()];
        self.in_array()
            && self
                .innermost()
                .is_some_and(|array| array.count > 0 && !array.last_is_scalar)
            && before.trim_ascii_end().last() == Some(&bracket)
    }

    /// Notes the closing bracket of a tuple, a call or a set, which is not JSON's.
    fn note_foreign_closer(&mut self, span: Range<usize>) {
        let Some(container) = self.innermost() else {
            return;
        };
        let single = container.is_single();
        match container.opener {
            Opener::Paren => self.note(rules::TUPLE, span, if single { "" } else { "]" }),
            Opener::Call => self.note(rules::CALL, span, ""),
            Opener::Brace if self.in_array() => self.note(rules::SET, span, "]"),
            _ => {}
        }
    }

    pub(super) fn note_missing_closer(&mut self, at: usize) {
        let Some(container) = self.innermost() else {
            return;
        };
        let closer = container.closer();
        if container.is_mixed {
            // `[[1, 2, [3, 4]]`: the bracket may belong after the 2 or at the end.
            self.findings_mut().add_stranded(at);
        }
        if let Some(closer) = closer {
            self.findings_mut().add_closer(closer);
            let closer = char::from(closer).to_string();
            self.note(rules::MISSING_BRACKET, at..at, &closer);
        }
    }

    /// Returns true if closing down to the container at `index` would leave a member that follows
    /// without an object.
    fn strands_member(&self, index: usize, after: usize) -> bool {
        let source = self.source();
        let comma = source.skip_space(after);
        let around = index.checked_sub(1).and_then(|i| self.containers().get(i));
        let skips = index + 1 < self.containers().len();
        if let closer @ (b'}' | b']') = source.byte(comma) {
            return skips && around.is_none_or(|around| around.closer() != Some(closer));
        }
        let width = source.comma_width(comma);
        if width == 0 {
            return false;
        }
        let kind = around
            .and_then(|around| self.tree().slot(around.id))
            .map(|slot| slot.kind);
        if source.key_follows(source.skip_space(comma + width)) {
            return kind != Some(Kind::Object);
        }
        kind.is_none() && skips
    }

    /// Closes everything at the end of the text, and notes how it was cut off.
    pub(super) fn end_of_text(&mut self, kind: CutKind) -> ParserState {
        if self.containers().is_empty() {
            return ParserState::Done;
        }
        let mixed = || self.containers().iter().any(|c| c.is_mixed);
        let kind = if kind == CutKind::Brackets && (self.last_end_is_unsure() || mixed()) {
            CutKind::Inside
        } else {
            kind
        };
        // Members without braces end where the text, its fence or its tag does.
        let ended = self.containers().is_braceless() && self.at() < self.source().len();
        if !ended || kind == CutKind::Inside {
            self.note_cut(kind, None);
        }
        self.drop_lone_key();
        let at = self.at();
        let current = self.roots().current;
        let open = self.containers().iter().rev();
        let closers: String = open
            .filter_map(|container| match container.closer() {
                None if ended || container.id != current => None,
                None => Some('}'),
                Some(closer) => Some(char::from(closer)),
            })
            .collect();
        if !closers.is_empty() {
            self.note(rules::UNCLOSED, at..at, &closers);
        }
        while !self.containers().is_empty() {
            self.close_innermost(at);
        }
        ParserState::Done
    }

    fn note_cut(&mut self, kind: CutKind, because: Option<Ambiguity>) {
        let mut pointer = self.place();
        if kind == CutKind::Brackets
            && let Some((container, _)) = pointer.split_last()
        {
            pointer = container;
        }
        let cut = Cut {
            pointer,
            kind,
            at: self.at(),
            root: self.roots().ids.len(),
            because,
        };
        self.findings_mut().add_cut(cut);
    }

    /// Returns true if what follows the last value decided where it ends: it may then go on after
    /// the end of the text.
    fn last_end_is_unsure(&self) -> bool {
        let last = self.tree().next_id().checked_sub(1);
        let Some(last) = last.and_then(|id| self.tree().slot(id)) else {
            return false;
        };
        let start = last.start as usize;
        let change = self.recorder().last_unsure();
        change.is_some_and(|span| span.start >= start || span.end > start)
    }

    /// Drops a key whose value never came.
    fn drop_lone_key(&mut self) {
        let last = self.tree().next_id().checked_sub(1);
        let key = self.innermost().and_then(|container| container.key);
        if key.is_some() && key == last && self.in_object() {
            self.tree_mut().take_back();
        }
    }
}

/// Finds the first bracket that closes nothing, in a text with more closing brackets than opening ones:
/// nothing is missing at its end. `None` for any other text, and for one that ends inside a string.
pub(super) fn surplus_bracket(text: &str) -> Option<usize> {
    let (mut open, mut opened, mut closed) = (Vec::new(), 0, 0);
    let (mut quote, mut surplus) = (None, None);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => drop(bytes.next()),
            (Some(end), byte) if byte == end => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[') => {
                opened += 1;
                open.push(if byte == b'{' { b'}' } else { b']' });
            }
            (None, b'}' | b']') => {
                closed += 1;
                if open.last() == Some(&byte) {
                    open.pop();
                } else {
                    surplus.get_or_insert(at);
                }
            }
            (None, _) => {}
        }
    }
    surplus.filter(|_| quote.is_none() && closed > opened)
}
