//! Strings that lack their closing quote, and texts that end inside a string.

use super::known_keys::KeyAhead;
use super::parser::Parser;
use super::rules;
use super::source_text::SourceText;
use super::string_end::{
    OpenString, Quote, StringAmbiguity, StringEnd, StringOutcome, StringRole, StringSearch,
};
use super::typographic;
use crate::limits::KEY_BYTES;

impl Parser<'_> {
    /// Ends a string that lacks its closing quote at `limit`, behind the search.
    pub(super) fn ends_without_quote(&mut self, s: &StringSearch, limit: usize) -> StringEnd {
        self.pay_reread(s.at - limit);
        let (source, start) = (self.source(), s.string.start);
        let bytes = source.bytes();
        let mut after = limit;
        let mut end = trim_space(bytes, start, after);
        // `"text], "key":`: the bracket is not text either.
        let mut closable = self.containers().len();
        while closable > 1
            && s.string.role != StringRole::Key
            && ends_with_foreign_closer(&bytes[start..end])
        {
            closable -= 1;
            after = end - 1;
            end = trim_space(bytes, start, after);
        }
        // `"text',`: closed by a quote of the other kind.
        if let Some((last @ (b'\'' | b'`'), before)) = bytes[start..end].split_last()
            && !before.contains(last)
        {
            let mut closed = s.end(end - 1, after, StringOutcome::ClosedByOtherQuote);
            closed.content.inner_quotes = inner_quotes_before(source, s, end - 1);
            return closed;
        }
        // `"text”,`: closed by a typographic quote. One whose partner stands in the text may be
        // text as well.
        let text = source.as_str().get(start..end).unwrap_or_default();
        if matches!(s.string.quote, Quote::Plain(_))
            && let Some(inside) = text.strip_suffix(typographic::is_quote)
        {
            let quote = start + inside.len();
            let mut closed = s.end(quote, after, StringOutcome::ClosedByOtherQuote);
            closed.content.inner_quotes = inner_quotes_before(source, s, quote);
            if inside.contains(typographic::is_quote) {
                closed.ambiguity = Some(StringAmbiguity::PairedQuote);
            }
            return closed;
        }
        // `"C:\dir\",`: the backslash is text, the quote after it is the end.
        let mut outcome = StringOutcome::QuoteMissing;
        if end >= start + 2
            && bytes[end - 2] == b'\\'
            && source.closing_width(end - 1, s.string.quote) == 1
            && !has_escaped_quote(source, start, end - 2)
        {
            end -= 1;
            outcome = StringOutcome::Closed;
        }
        let mut found = s.end(end, after, outcome);
        found.content.inner_quotes = inner_quotes_before(source, s, end);
        found
    }

    /// Ends the string before the comma of `"text, "key":`, where `quote` closes the key.
    pub(super) fn ends_before_key(
        &mut self,
        s: &mut StringSearch,
        quote: usize,
    ) -> Option<StringEnd> {
        let source = self.source();
        let key = source.as_str().get(s.quotes.last + 1..quote)?;
        if key.len() > KEY_BYTES || key.contains('\n') {
            return None;
        }
        let comma = self.comma_before(s.quotes.last, s.string.start)?;
        let declared = self.keys().contains(key);
        // `"{⏎ "key":`: an object as text, whose quotes are not escaped.
        if s.balance_to(source, comma) > 0
            && matches!(source.byte(source.skip_space(s.string.start)), b'{' | b'[')
        {
            return None;
        }
        if s.quotes.count > 1 {
            let text_is_open = s.balance_to(source, comma) > 0 || s.quotes.are_paired();
            if text_is_open || !declared && !self.keys().is_empty() {
                return None;
            }
        }
        let mut end = self.ends_without_quote(s, comma);
        let last = end.text.saturating_sub(1);
        if source.byte(last) == b',' {
            // `"text, ,"key":`: the first comma may be text.
            end.ambiguity.get_or_insert(StringAmbiguity::CommaBeforeKey);
        }
        if s.quotes.count > 1 && source.closing_width(last, s.string.quote) > 0 {
            end.ambiguity.get_or_insert(StringAmbiguity::QuoteBeforeKey);
        }
        end.is_settled = declared && s.doubts.leave_keys_to_settle();
        Some(end)
    }

    /// The comma, or else the first end of a line, between `start` and the quote, if only white
    /// space stands between it and the quote.
    pub(super) fn comma_before(&self, quote: usize, start: usize) -> Option<usize> {
        let source = self.source();
        let mut at = quote;
        let mut line = None;
        while at > start {
            at -= 1;
            match source.bytes()[at] {
                b' ' | b'\t' | b'\r' => {}
                b'\n' => line = Some(at),
                b',' => return Some(at),
                // The last byte of `，`.
                0x8C if at >= start + 2 && source.as_str().is_char_boundary(at - 2) => {
                    let is_comma = source.comma_width(at - 2) == 3;
                    return is_comma.then_some(at - 2).or(line);
                }
                _ => break,
            }
        }
        line
    }

    /// The comma of `"text, key":`, before the name that ends at `quote`.
    pub(super) fn comma_before_name(&self, start: usize, quote: usize) -> Option<usize> {
        let text = self.source().as_str().get(start..quote)?;
        let (before, name) = text.rsplit_once(',')?;
        let name = name.trim_start();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
        (!name.is_empty() && name.chars().all(is_name)).then_some(start + before.len())
    }

    /// Ends a string that nothing has ended before the text did.
    ///
    /// The order of the checks is part of the specification: an earlier one takes precedence.
    pub(super) fn unterminated(&mut self, mut s: StringSearch) -> StringEnd {
        let (source, string) = (self.source(), s.string);
        let length = source.len();
        // A quote that may be the end, if no line that may end the string comes before it. This
        // is the only evidence inside the string itself.
        if let Some(at) = s.first_plausible
            && s.line.is_none_or(|line| line > at)
        {
            self.pay_reread(length - at);
            let mut end = end_at_quote(source, &s, at);
            let inner = s.content.inner_quotes;
            end.content.inner_quotes = inner
                .filter(|(first, _)| *first < at)
                .map(|(first, _)| (first, at));
            return end;
        }
        // The first line that a key or a closing bracket follows, unless the brackets that follow
        // are all the string's own.
        if let Some(line) = s.line
            && !closes_own_brackets(source, string.start)
        {
            self.pay_reread(length - line);
            let limit = self.comma_before(line, string.start).unwrap_or(line);
            s.at = line;
            return self.ends_without_quote(&s, limit);
        }
        // Opened by one kind of quote, closed by the other. Asked after the line, because `'text`
        // may be followed by lines with quotes of the other kind.
        if s.content.inner_quotes.is_none() && matches!(string.quote, Quote::Plain(b'\'' | b'`')) {
            self.pay_reread(length - string.start);
            return self.ends_with_other_quote(string);
        }
        // Everything is closed in the end, so the first quote was the end, and what follows it is
        // stray.
        if let Some((first, _)) = s.content.inner_quotes
            && string.role != StringRole::Key
            && self.before_final_closers(string.start) < length
        {
            self.pay_reread(length - first);
            let mut end = end_at_quote(source, &s, first);
            end.content.inner_quotes = None;
            return end;
        }
        // No evidence at all: the text was cut off inside the string, unless the host says that it
        // was not.
        if let Some(end) = self.ends_in_finished_text(&s) {
            return end;
        }
        let text = match string.role {
            StringRole::Key => length,
            _ => self.before_final_closers(string.start),
        };
        self.explain_cut_string(string, text);
        s.end(text, length, StringOutcome::CutOff)
    }

    /// Ends a string that `'` or a backtick opened at a double quote.
    fn ends_with_other_quote(&mut self, string: OpenString) -> StringEnd {
        let source = self.source();
        let end = self.search_end(OpenString {
            quote: Quote::Plain(b'"'),
            ..string
        });
        let key = self.keys().after_comma(source, end.after);
        let is_settled = end.is_settled || key == KeyAhead::Declared;
        if source.skip_space(end.after) >= source.len() {
            return StringEnd {
                text: source.len(),
                after: source.len(),
                outcome: StringOutcome::CutOff,
                is_settled,
                ..end
            };
        }
        let outcome = match end.outcome {
            StringOutcome::Closed | StringOutcome::ClosedByOtherQuote => {
                StringOutcome::ClosedByOtherQuote
            }
            other => other,
        };
        StringEnd {
            outcome,
            is_settled,
            ..end
        }
    }

    /// Ends the last string of a text that is not cut off: a key before its colon, another string
    /// before the brackets that close everything.
    fn ends_in_finished_text(&mut self, s: &StringSearch) -> Option<StringEnd> {
        let (source, start) = (self.source(), s.string.start);
        if !source.is_finished() {
            return None;
        }
        let limit = match s.string.role {
            StringRole::Root => return None,
            StringRole::Key => source.key_end(start).filter(|end| *end > start)?,
            StringRole::Member | StringRole::Element => {
                let end = self.before_final_closers(start);
                let end = (end < source.len()).then_some(end)?;
                end_before_structure(source, start, end)?
            }
        };
        self.pay_reread(source.len() - limit);
        Some(s.end(limit, limit, StringOutcome::QuoteMissing))
    }

    /// Names what is wrong with the end of the text, if it is not that something was cut off.
    fn explain_cut_string(&mut self, string: OpenString, text: usize) {
        let source = self.source();
        let length = source.len();
        let rest = source.bytes()[string.start..].trim_ascii();
        if !rest.is_empty() && rest.iter().all(|b| b" )}]".contains(b)) {
            // `"text""}`: the quote that opens this string should end another.
            let quote = string.start.saturating_sub(1);
            self.note_cut_cause(rules::INNER_QUOTE, quote..length);
        }
        if text < length
            && text >= string.start + 2
            && source.closing_width(text - 1, string.quote) > 0
            && !has_escaped_quote(source, string.start, text - 2)
        {
            // `"C:\dir\"}`: the quote that should end it has a backslash.
            self.note_cut_cause(rules::MIXED_ESCAPES, text - 2..text);
        }
    }

    /// The end of the text without the brackets (and the fence) that close everything.
    fn before_final_closers(&self, start: usize) -> usize {
        let source = self.source();
        let text = source.as_str();
        let visible_end = |end: usize| start + text[start..end].trim_end().len();
        let mut end = visible_end(text.len());
        if let Some(bare) = text[start..end].strip_suffix("```") {
            end = start + bare.trim_end().len();
        }
        let whole = end;
        for container in self.containers().iter() {
            let Some(closer) = container.closer() else {
                continue;
            };
            let trimmed = visible_end(end);
            if trimmed <= start || source.bytes()[trimmed - 1] != closer {
                return if whole < source.bytes().trim_ascii_end().len() {
                    whole
                } else {
                    text.len()
                };
            }
            end = trimmed - 1;
        }
        visible_end(end)
    }
}

/// Ends a string at the quote at `at`, which is at least one byte wide.
fn end_at_quote(source: SourceText<'_>, s: &StringSearch, at: usize) -> StringEnd {
    let after = at + source.closing_width(at, s.string.quote).max(1);
    s.end(at, after, StringOutcome::Closed)
}

/// The end of the text between `start` and `end` without the white space at its end.
fn trim_space(bytes: &[u8], start: usize, end: usize) -> usize {
    let text = bytes[start..end].iter().rev();
    let space = text.take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    end - space.count()
}

/// The end of a string that lacks its quote, before a key in quotes or at `end`. `None` if its text
/// holds brackets or a key without quotes: it may be more than a string.
fn end_before_structure(source: SourceText<'_>, start: usize, end: usize) -> Option<usize> {
    for at in start..end {
        let next = source.skip_space(at + 1);
        match source.byte(at) {
            b'{' | b'}' | b'[' | b']' => return None,
            b',' if source.key_follows(next) => {
                return source.opening_quote(next).map(|_| at);
            }
            _ => {}
        }
    }
    Some(end)
}

/// Returns true if a text ends with a closing bracket that it does not open.
fn ends_with_foreign_closer(text: &[u8]) -> bool {
    match text.last() {
        Some(b']') => !text.contains(&b'['),
        Some(b'}') => !text.contains(&b'{'),
        _ => false,
    }
}

/// Returns true if the string escapes a quote before this place. Then its author knew how, and the
/// last such quote is text like the others.
fn has_escaped_quote(source: SourceText<'_>, start: usize, to: usize) -> bool {
    let inside = source.bytes().get(start..to).unwrap_or_default();
    let mut pairs = inside.windows(2);
    pairs.any(|pair| pair[0] == b'\\' && matches!(pair[1], b'"' | b'\''))
}

/// The quotes inside a string that ends before the search did.
fn inner_quotes_before(
    source: SourceText<'_>,
    s: &StringSearch,
    end: usize,
) -> Option<(usize, usize)> {
    let (first, last) = s.content.inner_quotes?;
    if last <= end {
        return Some((first, last));
    }
    source.bytes().get(first..end)?;
    let (at, width) = (first..end)
        .rev()
        .map(|at| (at, source.closing_width(at, s.string.quote)))
        .find(|(_, width)| *width > 0)?;
    Some((first, at + width))
}

/// Returns true if there are brackets from `start` to the end of the text, and none closes one that
/// was opened before. They belong to the string, and nothing says where it ends.
fn closes_own_brackets(source: SourceText<'_>, start: usize) -> bool {
    let count = |brackets: [u8; 2]| {
        let rest = source.bytes()[start..].iter();
        rest.filter(|byte| brackets.contains(byte)).count()
    };
    let (opened, closed) = (count(*b"{["), count(*b"}]"));
    opened > 0 && closed <= opened
}
