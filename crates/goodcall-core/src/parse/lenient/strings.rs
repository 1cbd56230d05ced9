//! Strings: their quotes, their escapes, and pieces that belong together.

use super::ambiguous_string::{has_escape_in_call, has_escape_in_code};
use super::change_recorder::{escaped, start_of};
use super::escapes::{self, EscapedString};
use super::lookahead::QuoteFit;
use super::parser::{Parser, ParserState, StepResult};
use super::rules::{self, RuleRef};
use super::string_end::{
    OpenString, Quote, StringContent, StringEnd, StringOutcome, StringRole, next_special,
};
use crate::parse::CutKind;
use crate::tree::{Kind, ScalarText, TextStore};

/// What backslashes in a string are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backslashes {
    Escapes,
    /// Text, as in Python's `r"…"`.
    Text,
}

/// The most control characters of a string that consists of little else.
const MOST_CONTROLS: usize = 64;

impl Parser<'_> {
    pub(super) fn string_value(&mut self) -> StepResult {
        self.string_value_from(self.at(), Backslashes::Escapes)
    }

    /// Reads the string whose quote stands here as a value that starts at `start`.
    pub(super) fn string_value_from(
        &mut self,
        start: usize,
        backslashes: Backslashes,
    ) -> StepResult {
        let role = self.string_role();
        let (text, end) = self.string(role, backslashes);
        let id = self.tree().next_id();
        let after = self.at();
        self.tree_mut()
            .scalar(Kind::String, false, text, (start, after));
        if end.is_cut() {
            self.note_cut_inside();
        }
        let state = self.end_scalar();
        self.set_last_string(id);
        Ok(state)
    }

    /// Reads the string that opens here.
    fn string(&mut self, role: StringRole, backslashes: Backslashes) -> (ScalarText, StringEnd) {
        let (source, open) = (self.source(), self.at());
        if let Some((quote, end)) = self.sound_end(role) {
            if quote != b'"' {
                self.note_string(rules::OTHER_QUOTES, open..end.after, open + 1..end.text);
            }
            let text = if end.content.escapes {
                self.decode(open + 1, &end, backslashes)
            } else {
                in_source(open + 1, end.text)
            };
            self.move_to(end.after);
            return (text, end);
        }
        let quote = match source.opening_quote(open).unwrap_or(Quote::Plain(b'"')) {
            // `""one" two"`: the second quote is text.
            Quote::Doubled(byte) if !source.has_doubled_quote(open + 2, byte) => Quote::Plain(byte),
            quote => quote,
        };
        let start = (open + source.quote_width(open, quote)).min(source.len());
        let string = OpenString { start, quote, role };
        let end = self.string_end(string);
        self.note_quotes(open, string, &end);
        if self.is_ambiguous_string(string, &end) {
            let inner = end.content.inner_quotes;
            let (first, last) = inner.unwrap_or((end.text, end.text));
            self.note_ambiguous(rules::INNER_QUOTE, first..last);
        }
        let is_fenced = quote == Quote::Plain(b'`') && source.from(open).starts_with("```");
        if (is_fenced || self.has_placeholder(string, &end)) && !end.is_cut() {
            self.note_ambiguous(rules::OTHER_QUOTES, string.start..end.text);
        }
        let text = match quote {
            Quote::Escaped(_) if end.content.escapes => self.decode_twice(start, end.text),
            _ => self.decode(start, &end, backslashes),
        };
        self.move_to(end.after);
        (text, end)
    }

    /// The end of a string here in double or single quotes that has nothing unusual but escapes: the
    /// first quote like the one that opens it closes it for sure. `None` for any other string, of
    /// which [`Parser::string_end`] has to find the end.
    fn sound_end(&self, role: StringRole) -> Option<(u8, StringEnd)> {
        let (source, open) = (self.source(), self.at());
        let quote = source.byte(open);
        if !matches!(quote, b'"' | b'\'') || source.byte(open + 1) == quote {
            return None;
        }
        let mut content = StringContent::default();
        let mut at = next_special(source, open + 1, Quote::Plain(quote));
        while source.byte(at) == b'\\' {
            content.escapes = true;
            at = next_special(source, at + 2, Quote::Plain(quote));
        }
        let closes = source.byte(at) == quote && self.quote_fit(at + 1, role) == QuoteFit::Yes;
        let end = StringEnd::new(at, at + 1, StringOutcome::Closed, content);
        closes.then_some((quote, end))
    }

    fn note_quotes(&mut self, open: usize, string: OpenString, end: &StringEnd) {
        let mismatched = end.outcome == StringOutcome::ClosedByOtherQuote;
        let other_quote = if mismatched && !end.is_settled {
            rules::UNLIKE_QUOTES
        } else {
            rules::OTHER_QUOTES
        };
        if string.quote != Quote::Plain(b'"') {
            let rule = match string.quote {
                Quote::Triple(_) => rules::TRIPLE_QUOTES,
                Quote::Doubled(_) => rules::DOUBLED_QUOTES,
                Quote::Escaped(_) => rules::ESCAPED_QUOTES,
                Quote::Smart | Quote::SmartSingle | Quote::Pair(_) => rules::SMART_QUOTES,
                Quote::Plain(_) => other_quote,
            };
            self.note_string(rule, open..end.after, string.start..end.text);
        } else if mismatched {
            let width = self.source().char_width(end.text, 1);
            self.note(other_quote, end.text..end.text + width, "\"");
        }
        let missing = end.outcome == StringOutcome::QuoteMissing;
        let text = &self.source().bytes()[string.start..end.text];
        let lacks_quote = missing && text.iter().any(|b| b"{}[]".contains(b));
        let is_doubtful = end.content.inner_quotes.is_some() || mismatched || lacks_quote;
        if is_doubtful && string.role != StringRole::Key {
            self.findings_mut().add_requoted();
        }
        if let Some((first, last)) = end.content.inner_quotes {
            let text = self.source().as_str().get(first..last);
            let rule = if end.is_settled {
                rules::INNER_QUOTE_KNOWN
            } else {
                rules::INNER_QUOTE
            };
            self.note(rule, first..last, &escaped(text.unwrap_or_default()));
        }
        if missing {
            let rule = if end.is_settled {
                rules::MISSING_QUOTE_KNOWN
            } else {
                rules::MISSING_QUOTE
            };
            self.note(rule, end.text..end.text, "\"");
        }
    }

    /// Decodes the text of a string.
    fn decode(&mut self, start: usize, end: &StringEnd, backslashes: Backslashes) -> ScalarText {
        let content = end.content;
        if backslashes == Backslashes::Text || !content.escapes {
            if content.controls {
                self.note_controls(start, end.text);
            }
            return in_source(start, end.text);
        }
        let text = &self.source().as_str()[start..end.text];
        let string = EscapedString {
            is_cut: end.is_cut(),
            in_backticks: start > 0 && self.source().byte(start - 1) == b'`',
        };
        let before = &self.source().bytes()[..start];
        let in_other_quotes =
            before.ends_with(b"'") || string.in_backticks || before.ends_with(b"\"\"\"");
        let is_unclear_call = in_other_quotes && !string.is_cut && has_escape_in_call(text);
        let is_ordinary = !content.controls && !string.is_cut && !string.in_backticks;
        if is_ordinary && !is_unclear_call && escapes::are_plain(text.as_bytes()) {
            let (piece, ()) = self
                .tree_mut()
                .append_text(|buffer| escapes::decode_plain(text, buffer));
            return piece;
        }
        let has_raw_lines = content.controls && text.contains('\n');
        if has_raw_lines && has_escape_in_code(text.as_bytes()) && !end.is_cut() {
            self.note_ambiguous(rules::RAW_CONTROL, start..end.text);
        }
        if is_unclear_call {
            self.note_ambiguous(rules::OTHER_QUOTES, start..end.text);
        }
        if content.controls || text.bytes().filter(|b| *b == b'\n').count() > 1 {
            self.note_controls(start, end.text);
        }
        let (piece, decoded) = self
            .tree_mut()
            .append_text(|buffer| escapes::decode(text, string, buffer));
        if let Some(range) = decoded.unclear
            && !string.is_cut
        {
            let span = start + range.start..start + range.end;
            self.note_ambiguous(rules::MIXED_ESCAPES, span);
        }
        for (rule, range) in [
            (rules::BAD_ESCAPE, decoded.bad),
            (rules::MIXED_ESCAPES, decoded.mixed),
            (rules::LONE_SURROGATE, decoded.surrogate),
        ] {
            if let Some(range) = range {
                self.note_escapes(rule, text, start, range);
            }
        }
        piece
    }

    fn note_escapes(
        &mut self,
        rule: RuleRef,
        text: &str,
        start: usize,
        range: std::ops::Range<usize>,
    ) {
        let before = text.get(range.clone()).unwrap_or_default();
        let mut after = String::new();
        escapes::decode(start_of(before), EscapedString::default(), &mut after);
        let span = start + range.start..start + range.end;
        self.note(rule, span, &escaped(&after));
    }

    /// Decodes the text of a string whose quotes are escaped: so are its escapes.
    fn decode_twice(&mut self, start: usize, end: usize) -> ScalarText {
        let text = &self.source().as_str()[start..end];
        let once = super::double_encoded::unescape(text).text;
        let (piece, _) = self
            .tree_mut()
            .append_text(|buffer| escapes::decode(&once, EscapedString::default(), buffer));
        piece
    }

    /// Decodes the text of a string that lacks its opening quote.
    pub(super) fn decode_bare(&mut self, start: usize, end: usize) -> ScalarText {
        let content = StringContent {
            escapes: self.source().bytes()[start..end].contains(&b'\\'),
            ..StringContent::default()
        };
        let end = StringEnd::new(end, end, StringOutcome::Closed, content);
        self.decode(start, &end, Backslashes::Escapes)
    }

    /// Notes the control characters of a text, from the first to the last.
    fn note_controls(&mut self, start: usize, end: usize) {
        let is_control = |b: &u8| *b < 0x20;
        let inside = &self.source().bytes()[start..end];
        let first = inside.iter().position(is_control);
        let last = inside.iter().rposition(is_control);
        // Nobody writes text like this, and each of them takes six bytes in JSON.
        let controls = inside
            .iter()
            .filter(|b| is_control(b) && !b"\t\n\r".contains(b));
        let controls = controls.count();
        if controls > MOST_CONTROLS && 2 * controls > inside.len() {
            self.note_ambiguous(rules::RAW_CONTROL, start..end);
        }
        if let Some((first, last)) = first.zip(last) {
            let text = &self.source().as_str()[start + first..=start + last];
            let span = start + first..start + last + 1;
            self.note(rules::RAW_CONTROL, span, &escaped(text));
        }
    }

    /// Joins the next string to the last one: `"a" + "b"`, `"a" "b"`.
    pub(super) fn join_string(&mut self) -> StepResult {
        let start = self.at();
        if self.peek() == Some(b'+') {
            self.advance(1);
            self.skip_trivia();
        }
        if self.peek().is_none() {
            return Ok(self.end_of_text(CutKind::Inside));
        }
        let opens = self.source().opening_quote(self.at()).is_some();
        let Some(id) = self.last_string().filter(|_| opens) else {
            // `"a" + name`: the sum is not known.
            if self.peek().is_some_and(|b| b.is_ascii_alphanumeric()) {
                self.note_ambiguous(rules::JOINED_STRINGS, start..self.at());
            }
            self.note(rules::STRAY_TEXT, start..self.at(), "");
            return Ok(ParserState::AfterValue);
        };
        self.note(rules::JOINED_STRINGS, start..self.at(), "");
        let source = self.source().as_str();
        self.tree_mut().move_text_to_tail(id, source);
        let role = self.string_role();
        let (piece, end) = self.string(role, Backslashes::Escapes);
        let missing = end.outcome == StringOutcome::QuoteMissing;
        if end.content.inner_quotes.is_some() || missing {
            self.note_ambiguous(rules::JOINED_STRINGS, start..self.at());
        }
        let after = self.at();
        self.tree_mut().extend_tail(id, piece, source, after);
        if end.is_cut() {
            self.note_cut_inside();
        }
        Ok(ParserState::AfterValue)
    }

    /// Reads a key, quoted or not, and what separates it from its value.
    pub(super) fn key_text(&mut self) -> StepResult {
        let start = self.at();
        if self.peek() != Some(b'"') {
            self.skip_string_prefix();
            if self.source().opening_quote(self.at()).is_none() {
                self.move_to(start);
                return self.bare_key();
            }
        }
        let (text, end) = self.string(StringRole::Key, Backslashes::Escapes);
        if end.is_cut() {
            self.note_cut_inside();
            if end.after == self.source().len() {
                return Ok(self.end_of_text(CutKind::Inside));
            }
        }
        self.add_key(text, start, self.at());
        self.colon()
    }

    pub(super) fn add_key(&mut self, text: ScalarText, start: usize, end: usize) {
        let id = self.tree().next_id();
        self.tree_mut().key(text, start, end);
        self.forget_last_string();
        if let Some(object) = self.innermost_mut() {
            object.key = Some(id);
            object.comma = None;
        }
    }
}

/// The text between two places of the raw text, as it stands there.
pub(super) fn in_source(start: usize, end: usize) -> ScalarText {
    ScalarText {
        text: TextStore::Source,
        head: start as u32,
        size: end.saturating_sub(start) as u32,
    }
}
