//! Where a string ends, when its quotes do not say.
//!
//! A quote ends a string if what follows it fits the container around. A look ahead stops at the
//! next quote, the next line or a fixed number of bytes; going back is paid for from the parser's
//! budget. So the work stays linear.

use super::known_keys::KeyAhead;
use super::lookahead::QuoteFit;
use super::parser::Parser;
use super::source_text::{SourceText, find};
use super::typographic::may_lead;
use crate::parse::plain_text::plain_end;
use crate::tree::first_byte;

/// The quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// `"`, `'` or a backtick.
    Plain(u8),
    /// `“`, `”`, `„` and other double quotes, each of which closes all of them.
    Smart,
    /// `‘`, `’`, `‚` and other single quotes.
    SmartSingle,
    /// `«text»`, `「text」` and the like, by the closing one.
    Pair(char),
    /// `"""` or `'''`.
    Triple(u8),
    /// `""text""`.
    Doubled(u8),
    /// `\"text\"`.
    Escaped(u8),
}

/// What a string is to the container around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringRole {
    Key,
    /// The value of a member.
    Member,
    Element,
    Root,
}

/// A string whose opening quote was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenString {
    /// Where its text starts.
    pub(super) start: usize,
    pub(super) quote: Quote,
    pub(super) role: StringRole,
}

/// What a string holds that its text cannot be copied with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringContent {
    pub(super) escapes: bool,
    pub(super) controls: bool,
    /// From the first unescaped quote inside to the end of the last one.
    pub(super) inner_quotes: Option<(usize, usize)>,
}

/// How a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringOutcome {
    Closed,
    /// Closed by a quote of another kind than the one that opened it.
    ClosedByOtherQuote,
    /// It ended although no quote closes it.
    QuoteMissing,
    /// The text ends inside it.
    CutOff,
}

/// Why a string may as well have ended elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringAmbiguity {
    /// `"rm", "-rf"`: one string after another rather than text with quotes in it.
    ListOfStrings,
    /// `["a""b"]`: two strings, or one.
    AdjacentStrings,
    /// `"key"true, "other":`: the schema declares the key, so its colon is missing.
    MissingColon,
    /// A key that the schema declares, or any key if no schema is known, stands inside, outside of
    /// all brackets of the text.
    KeyInside,
    /// It could have ended before, with a member after it that the schema does not declare.
    UndeclaredMemberAfter,
    /// `"say "hi", "key":`: the last quote may be text or the end.
    QuoteBeforeKey,
    /// `"text, ,"key":`: one of the commas may be text.
    CommaBeforeKey,
    /// `"say “hi”, "key":`: the last quote may belong to the text or end it.
    PairedQuote,
}

/// Where a string ends, and how that was decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringEnd {
    /// The end of its text.
    pub(super) text: usize,
    /// The first position behind the string.
    pub(super) after: usize,
    pub(super) outcome: StringOutcome,
    pub(super) content: StringContent,
    /// The schema's keys settled it, or the quotes inside cannot end a string, rather than what
    /// usually follows one.
    pub(super) is_settled: bool,
    pub(super) ambiguity: Option<StringAmbiguity>,
}

impl StringEnd {
    pub(super) fn new(
        text: usize,
        after: usize,
        outcome: StringOutcome,
        content: StringContent,
    ) -> Self {
        Self {
            text,
            after,
            outcome,
            content,
            is_settled: false,
            ambiguity: None,
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.outcome == StringOutcome::CutOff
    }
}

/// The quotes seen inside a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerQuotes {
    pub(super) count: usize,
    /// Those that could be one of a pair: all but apostrophes.
    pub(super) pairable: usize,
    /// The last one, or the start of the string.
    pub(super) last: usize,
}

impl InnerQuotes {
    pub(super) fn are_paired(&self) -> bool {
        self.pairable.is_multiple_of(2)
    }
}

/// The search for the end of a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringSearch {
    pub(super) string: OpenString,
    pub(super) at: usize,
    pub(super) content: StringContent,
    pub(super) quotes: InnerQuotes,
    /// Brackets opened minus brackets closed, up to `balanced_to`.
    balance: i32,
    balanced_to: usize,
    /// The first quote that may be the end.
    pub(super) first_plausible: Option<usize>,
    /// The first line end before a quote or a closing bracket, and the first token after the line
    /// end that was looked at last.
    pub(super) line: Option<usize>,
    line_token: usize,
    /// What speaks against the end that is found.
    pub(super) doubts: EndDoubts,
}

/// What speaks against the end of a string.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndDoubts {
    /// It could have ended before, and the rest would be read, too.
    earlier_end: bool,
    /// A key that the schema declares stands inside, with its colon.
    declared_key: bool,
    pub(super) ambiguity: Option<StringAmbiguity>,
}

impl EndDoubts {
    /// Returns true if the schema's keys may settle the end.
    pub(super) fn leave_keys_to_settle(&self) -> bool {
        !self.earlier_end && !self.declared_key
    }

    fn add(&mut self, ambiguity: StringAmbiguity) {
        self.ambiguity.get_or_insert(ambiguity);
    }
}

impl StringSearch {
    fn new(string: OpenString) -> Self {
        Self {
            string,
            at: string.start,
            content: StringContent::default(),
            quotes: InnerQuotes {
                count: 0,
                pairable: 0,
                last: string.start,
            },
            balance: 0,
            balanced_to: string.start,
            first_plausible: None,
            line: None,
            line_token: 0,
            doubts: EndDoubts::default(),
        }
    }

    pub(super) fn end(&self, text: usize, after: usize, outcome: StringOutcome) -> StringEnd {
        StringEnd {
            ambiguity: self.doubts.ambiguity,
            ..StringEnd::new(text, after, outcome, self.content)
        }
    }

    /// Brackets opened minus brackets closed, from the start of the string to `to`.
    pub(super) fn balance_to(&mut self, source: SourceText<'_>, to: usize) -> i32 {
        let more = source.bytes().get(self.balanced_to..to).unwrap_or_default();
        for byte in more {
            match byte {
                b'{' | b'[' => self.balance += 1,
                b'}' | b']' => self.balance -= 1,
                _ => {}
            }
        }
        self.balanced_to = to.max(self.balanced_to);
        self.balance
    }

    /// Remembers the line end here if a quote or a closing bracket follows it.
    fn note_line_end(&mut self, source: SourceText<'_>) {
        if self.line.is_none() && self.at >= self.line_token {
            self.line_token = source.skip_space(self.at);
            if matches!(source.byte(self.line_token), b'"' | b'}' | b']' | b'\'') {
                self.line = Some(self.at);
            }
        }
    }
}

impl Parser<'_> {
    /// Finds the end of a string.
    pub(super) fn string_end(&mut self, string: OpenString) -> StringEnd {
        let source = self.source();
        match string.quote {
            Quote::Triple(byte) => {
                let mut end = fixed_end(source, string.start, &[byte; 3]);
                // `"""say "bye""""`: the first of four is text.
                while !end.is_cut() && source.byte(end.after) == byte {
                    end.content.inner_quotes = Some((end.text, end.text + 1));
                    end.text += 1;
                    end.after += 1;
                }
                end
            }
            Quote::Pair(closing) => {
                let mut bytes = [0; 4];
                let closing = closing.encode_utf8(&mut bytes);
                fixed_end(source, string.start, closing.as_bytes())
            }
            Quote::Doubled(byte) => fixed_end(source, string.start, &[byte; 2]),
            Quote::Escaped(byte) => escaped_end(source, string.start, byte),
            Quote::Plain(_) | Quote::Smart | Quote::SmartSingle => self.search_end(string),
        }
    }

    /// Weighs one quote after the other until one ends the string.
    pub(super) fn search_end(&mut self, string: OpenString) -> StringEnd {
        let source = self.source();
        let mut s = StringSearch::new(string);
        loop {
            s.at = next_special(source, s.at, string.quote);
            let Some(byte) = source.bytes().get(s.at).copied() else {
                return self.unterminated(s);
            };
            match byte {
                b'\\' => {
                    s.content.escapes = true;
                    s.at = (s.at + 2).min(source.len());
                }
                0..0x20 => {
                    s.content.controls = true;
                    if byte == b'\n' {
                        s.note_line_end(source);
                    }
                    s.at += 1;
                }
                _ => {
                    let width = source.closing_width(s.at, string.quote);
                    if width == 0 {
                        s.at += 1;
                        continue;
                    }
                    let fit = self.quote_fit(s.at + width, string.role);
                    if let Some(end) = self.weigh(&mut s, fit, width) {
                        return end;
                    }
                    self.keep_as_text(&mut s, fit, width);
                }
            }
        }
    }

    /// Decides whether the string ends at, or before, the quote here; `None` if the quote is text.
    ///
    /// The order of the checks is part of the specification: an earlier one takes precedence.
    fn weigh(&mut self, s: &mut StringSearch, fit: QuoteFit, width: usize) -> Option<StringEnd> {
        let (source, at, after) = (self.source(), s.at, s.at + width);
        let closed = |s: &StringSearch| s.end(at, after, StringOutcome::Closed);
        let is_first = s.quotes.count == 0;
        // Nearly every string: its first quote fits. Asked before all else, so that sound strings
        // cost nothing. Without budget for going back, any quote has to do.
        if is_first && fit == QuoteFit::Yes || !self.can_reread() {
            return Some(closed(s));
        }
        // A key with a colon inside lacks its quote. Asked before a doubtful quote may close it:
        // that is the quote of its value.
        if s.string.role == StringRole::Key
            && let Some(colon) = colon_in_key(source, s.quotes.last, at)
        {
            let mut end = self.ends_without_quote(s, colon);
            let key = source.as_str().get(s.string.start..end.text);
            end.is_settled |= key.is_some_and(|key| self.keys().contains(key));
            return Some(end);
        }
        // The quote closes a key, so the string has ended before that key, or the key is text.
        // Nothing below applies to such a quote.
        if fit == QuoteFit::Colon && s.string.role == StringRole::Member && !is_first {
            return self.weigh_key_inside(s, at);
        }
        // `"text, key":`: the quote closes a key that lacks its other one.
        if fit == QuoteFit::Colon
            && s.string.role == StringRole::Member
            && let Some(comma) = self.comma_before_name(s.string.start, at)
        {
            return Some(self.ends_without_quote(s, comma));
        }
        // `["a, "b"]`: the second quote opens another element. Asked before the quote after that
        // may close all of it as one text.
        if s.quotes.count == 1
            && s.string.role == StringRole::Element
            && fit == QuoteFit::Yes
            && let Some(comma) = self.comma_before(s.quotes.last, s.string.start)
        {
            return Some(self.ends_without_quote(s, comma));
        }
        // A first quote that only may fit is still more likely the end than text.
        if is_first && fit == QuoteFit::Maybe {
            return Some(closed(s));
        }
        // A later quote must fit, must not leave brackets or quotes of the text open, and must not
        // be followed by a member that the schema does not know.
        if !is_first && fit == QuoteFit::Yes {
            let balance = s.balance_to(source, at);
            let key = self.keys().after_comma(source, after);
            let paired = s.quotes.are_paired();
            let complete = paired || key == KeyAhead::Unknown && self.only_closers_follow(after);
            if key != KeyAhead::Undeclared && balance <= 0 && complete {
                let keys_settle = !self.keys().is_empty() && s.doubts.leave_keys_to_settle();
                let only_apostrophes = s.quotes.pairable == 0 && !s.doubts.earlier_end;
                return Some(StringEnd {
                    is_settled: paired && keys_settle || only_apostrophes,
                    ..closed(s)
                });
            }
        }
        None
    }

    /// Weighs a quote that ends a key: `"text, "key":`.
    fn weigh_key_inside(&mut self, s: &mut StringSearch, at: usize) -> Option<StringEnd> {
        if let Some(end) = self.ends_before_key(s, at) {
            return Some(end);
        }
        let source = self.source();
        let key = source.as_str().get(s.quotes.last + 1..at);
        let is_declared = self.keys().contains(key.unwrap_or_default());
        if is_declared || self.keys().is_empty() {
            s.doubts.declared_key |= is_declared;
            // Outside of the brackets of the text it is a member.
            if s.balance_to(source, at) <= 0 {
                s.doubts.add(StringAmbiguity::KeyInside);
            }
        }
        None
    }

    /// Takes the quote here as part of the text.
    fn keep_as_text(&self, s: &mut StringSearch, fit: QuoteFit, width: usize) {
        let (source, at, after) = (self.source(), s.at, s.at + width);
        if matches!(fit, QuoteFit::Yes | QuoteFit::Maybe) {
            s.first_plausible.get_or_insert(at);
            if !s.doubts.earlier_end && s.quotes.are_paired() {
                s.doubts.earlier_end = s.balance_to(source, at) <= 0 && self.rest_is_read(after);
                if s.doubts.earlier_end
                    && self.keys().after_comma(source, after) == KeyAhead::Undeclared
                {
                    s.doubts.add(StringAmbiguity::UndeclaredMemberAfter);
                }
            }
        }
        if s.quotes.count == 0
            && let Some(ambiguity) = self.first_quote_ambiguity(s, after)
        {
            s.doubts.add(ambiguity);
        }
        let first = s.content.inner_quotes.map_or(at, |(first, _)| first);
        s.content.inner_quotes = Some((first, after));
        s.quotes.count += 1;
        s.quotes.pairable += usize::from(!source.is_apostrophe(at, width));
        s.quotes.last = at;
        s.at = after;
    }

    /// Says why the first quote may be the end of the string although it was taken as text.
    fn first_quote_ambiguity(&self, s: &StringSearch, after: usize) -> Option<StringAmbiguity> {
        let (source, string) = (self.source(), s.string);
        match string.role {
            StringRole::Member => {
                let comma = source.skip_space(after);
                let width = source.comma_width(comma);
                let next = source.skip_space(comma + width);
                let lists = width > 0 && source.closing_width(next, string.quote) > 0;
                lists.then_some(StringAmbiguity::ListOfStrings)
            }
            StringRole::Element => {
                let adjacent = source.closing_width(after, string.quote) > 0;
                adjacent.then_some(StringAmbiguity::AdjacentStrings)
            }
            StringRole::Key => {
                let key = source.as_str().get(string.start..s.at)?;
                let declared = self.keys().contains(key);
                declared.then_some(StringAmbiguity::MissingColon)
            }
            StringRole::Root => None,
        }
    }
}

/// The colon, or another sign in its place, in a key that lacks its closing quote.
fn colon_in_key(source: SourceText<'_>, start: usize, end: usize) -> Option<usize> {
    let text = source.as_str().get(start..end)?;
    let found = text.find(':').or_else(|| text.find(['=', '：']));
    found.map(|at| start + at)
}

/// The end of a string that only these bytes close.
fn fixed_end(source: SourceText<'_>, start: usize, closing: &[u8]) -> StringEnd {
    let found = find(&source.bytes()[start..], closing);
    let text = found.map_or(source.len(), |n| start + n);
    let inside = &source.bytes()[start..text];
    let content = StringContent {
        escapes: inside.contains(&b'\\'),
        controls: inside.iter().any(|b| *b < 0x20),
        inner_quotes: None,
    };
    match found {
        Some(_) => StringEnd::new(text, text + closing.len(), StringOutcome::Closed, content),
        None => StringEnd::new(text, text, StringOutcome::CutOff, content),
    }
}

/// The end of `\"text\"`: the next quote with at most one backslash before it.
fn escaped_end(source: SourceText<'_>, start: usize, quote: u8) -> StringEnd {
    let bytes = source.bytes();
    let mut at = start;
    while let Some(n) = bytes[at..].iter().position(|b| *b == quote) {
        let closing = at + n;
        let before = bytes[start..closing].iter().rev();
        let slashes = before.take_while(|b| **b == b'\\').count();
        if slashes < 2 {
            let text = closing - slashes;
            let content = StringContent {
                escapes: bytes[start..text].contains(&b'\\'),
                ..StringContent::default()
            };
            return StringEnd::new(text, closing + 1, StringOutcome::Closed, content);
        }
        at = closing + 1;
    }
    let content = StringContent {
        escapes: true,
        ..StringContent::default()
    };
    StringEnd::new(source.len(), source.len(), StringOutcome::CutOff, content)
}

/// The next byte that may matter inside a string: a quote, a backslash or a control character.
#[inline]
pub(super) fn next_special(source: SourceText<'_>, from: usize, quote: Quote) -> usize {
    let rest = source.bytes_from(from);
    let found = match quote {
        Quote::Plain(b'"') => return plain_end(source.bytes(), from.min(source.len())),
        Quote::Plain(byte) => first_byte(rest, |b| b == byte || b == b'\\' || b < 0x20),
        _ => rest
            .iter()
            .position(|b| matches!(b, b'"' | b'\'' | b'\\') || *b < 0x20 || may_lead(*b)),
    };
    found.map_or(source.len(), |n| from + n)
}
