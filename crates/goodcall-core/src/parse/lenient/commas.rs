//! Commas: between values, after the last one, too many, and missing.

use super::containers::Opener;
use super::parser::{Parser, ParserState, StepResult};
use super::rules;

impl Parser<'_> {
    /// Takes the comma or semicolon behind a value.
    pub(super) fn comma(&mut self, mark: u8, width: usize) -> ParserState {
        let at = self.at();
        let mut other = None;
        if let Some(container) = self.innermost_mut() {
            container.comma = Some(at);
            container.key = None;
            other = container.separator.replace(mark);
        }
        if other.is_some_and(|other| other != mark) && self.in_array() && self.has_decimal_comma() {
            // `[1,5; 2,5]`: four numbers, two with decimal commas, or two rows.
            self.note_ambiguous(rules::WIDE_PUNCTUATION, at..at + width);
        }
        self.advance(width);
        self.forget_last_string();
        if self.in_object() {
            ParserState::Key
        } else {
            ParserState::Value
        }
    }

    /// Returns true if the last comma up to here stands between two digits.
    fn has_decimal_comma(&self) -> bool {
        /// The most bytes of a number that are looked at.
        const NUMBER: usize = 24;
        let near = &self.source().bytes()[self.at().saturating_sub(NUMBER)..];
        let near = &near[..near.len().min(NUMBER + 2)];
        let is_decimal = |three: &[u8]| {
            three[1] == b',' && three[0].is_ascii_digit() && three[2].is_ascii_digit()
        };
        near.windows(3).any(is_decimal)
    }

    /// Notes the comma before a closing bracket.
    pub(super) fn note_trailing_comma(&mut self, comma: usize) {
        let width = self.source().char_width(comma, 0);
        self.note(rules::TRAILING_COMMA, comma..comma + width, "");
    }

    /// Handles a comma where a value should be.
    pub(super) fn comma_before_value(&mut self, width: usize) -> ParserState {
        if self.in_object() {
            self.missing_value();
            return ParserState::AfterValue;
        }
        let end = self.source().commas_end(self.at(), width);
        self.note_and_skip(rules::EMPTY_ELEMENT, end - self.at(), "");
        ParserState::Value
    }

    /// Handles something that follows a value without a comma.
    pub(super) fn missing_comma(&mut self, newline: bool) -> StepResult {
        let (source, at) = (self.source(), self.at());
        let in_object = self.in_object();
        if self.last_string().is_some() && source.opening_quote(at).is_some() {
            let in_parens = self.innermost().is_some_and(|c| c.opener == Opener::Paren);
            let lacks_colon = newline && source.damaged_key_follows(at);
            let is_piece = in_object && !source.key_follows(at) && !lacks_colon;
            if is_piece {
                // `"de" "fr"`: one string in pieces, or two.
                self.note_ambiguous(rules::JOINED_STRINGS, at..at + 1);
            }
            if in_parens || is_piece {
                return self.join_string();
            }
        }
        if in_object && !newline && !source.key_follows(at) && self.skip_stray() {
            return Ok(ParserState::AfterValue);
        }
        let is_glued = self.last_string().is_some() && !source.byte(at - 1).is_ascii_whitespace();
        if is_glued && !in_object && source.opening_quote(at).is_none() {
            // `["a".upper()]`: an expression.
            self.note_ambiguous(rules::MISSING_ELEMENT_COMMA, at..at + 1);
        }
        if is_glued && in_object && self.opens_inside(at) {
            // `"{"a": 1}`: the quote may be text.
            self.note_ambiguous(rules::INNER_QUOTE, at - 1..at);
        }
        let is_member = in_object && (newline || source.key_follows(at));
        let rule = if is_member {
            rules::MISSING_COMMA
        } else if self.is_between_objects() {
            rules::MISSING_OBJECT_COMMA
        } else {
            rules::MISSING_ELEMENT_COMMA
        };
        self.note(rule, at..at, ",");
        self.forget_last_string();
        Ok(if in_object {
            ParserState::Key
        } else {
            ParserState::Value
        })
    }

    /// Returns true if the quote before `at` stands behind a blank, a sign or an opening bracket, as quotes
    /// do that open something.
    fn opens_inside(&self, at: usize) -> bool {
        let before = &self.source().bytes()[..at];
        matches!(
            before,
            [
                ..,
                b' ' | b'{' | b'[' | b'(' | b':' | b'=' | b',',
                b'"' | b'\''
            ]
        )
    }

    /// Returns true for `} {` between two elements of an array.
    fn is_between_objects(&self) -> bool {
        let before = self.source().bytes()[..self.at()].trim_ascii_end();
        let array = self.innermost().filter(|_| self.in_array());
        array.is_some_and(|array| array.count > 0 && !array.last_is_scalar)
            && before.last() == Some(&b'}')
            && self.peek() == Some(b'{')
    }
}
