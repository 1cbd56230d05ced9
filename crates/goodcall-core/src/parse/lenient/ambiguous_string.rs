//! Strings whose quotes or brackets do not come out even: they have more than one reading.

use super::parser::Parser;
use super::source_text::SourceText;
use super::string_end::{OpenString, Quote, StringAmbiguity, StringEnd, StringOutcome, StringRole};
use super::typographic;

impl Parser<'_> {
    /// Returns true if this string has another reading that is as good.
    pub(super) fn is_ambiguous_string(&self, string: OpenString, end: &StringEnd) -> bool {
        if string.role == StringRole::Key {
            return end.ambiguity.is_some()
                || end.content.inner_quotes.is_some() && self.holds_members(string, end);
        }
        let undecided = match end.outcome {
            StringOutcome::CutOff => false,
            StringOutcome::QuoteMissing => true,
            StringOutcome::ClosedByOtherQuote => {
                end.ambiguity == Some(StringAmbiguity::PairedQuote)
                    || end.content.inner_quotes.is_some()
            }
            StringOutcome::Closed => end.content.inner_quotes.is_some(),
        };
        // `“5” screen”, "key":`: a quote stands where one seems to be missing.
        let text = &self.source().as_str()[string.start..end.text];
        let ends_in_quote =
            || end.outcome == StringOutcome::QuoteMissing && text.ends_with(typographic::is_quote);
        // `"a": "', "b":` and `"a": "\", "b":`: a text of this one sign that lacks its quote, or an
        // empty text and a backslash.
        let is_sign = match end.outcome {
            StringOutcome::CutOff => false,
            StringOutcome::Closed => text == "\\",
            StringOutcome::QuoteMissing | StringOutcome::ClosedByOtherQuote => {
                text.trim_matches([' ', '"', '\'', '`']).is_empty()
            }
        };
        // `'print("x")`: the quote that seems to end the text ends another one inside it.
        let closing = self.source().as_str()[end.text..].chars().next();
        let is_pair = end.outcome == StringOutcome::ClosedByOtherQuote
            && closing.is_some_and(|quote| text.contains(quote));
        if is_sign || is_pair {
            return true;
        }
        undecided
            && (end.ambiguity.is_some()
                || ends_in_quote()
                || end.outcome == StringOutcome::QuoteMissing && holds_bare_member(text)
                || is_uneven(self.source(), string, end.text)
                || end.content.escapes && has_quoted_escape(self.source(), string, end.text))
    }

    /// Returns true if a key with quotes inside holds what separates members, as in `"a => [1], "b"`
    /// and `“a”  “x”`: then it is several members, or a key and its value, rather than one key.
    fn holds_members(&self, key: OpenString, end: &StringEnd) -> bool {
        let text = self.source().as_str();
        let is_quote = |c: char| "\"'`".contains(c) || typographic::is_quote(c);
        let quotes = end.content.inner_quotes;
        let between = quotes.and_then(|(first, last)| text.get(first..last));
        let between = between.unwrap_or_default().trim_matches(is_quote);
        text[key.start..end.text].contains(['=', ':', '：', ',', '，', '[', '{'])
            || !between.is_empty() && between.trim().is_empty()
    }

    /// Returns true if the text has fields to be filled in: `${name}` in backticks.
    pub(super) fn has_placeholder(&self, string: OpenString, end: &StringEnd) -> bool {
        let text = &self.source().bytes()[string.start..end.text];
        string.quote == Quote::Plain(b'`')
            && (0..text.len().saturating_sub(1))
                .any(|at| text[at..].starts_with(b"${") && !is_escaped(text, at))
    }
}

/// Returns true for `x, max size: 3`: the quote may be missing before the comma, in front of a key
/// without quotes.
fn holds_bare_member(text: &str) -> bool {
    let is_key = |key: &str| {
        key.starts_with(char::is_alphabetic)
            && key.split_whitespace().count() <= 3
            && key
                .chars()
                .all(|c| c.is_alphanumeric() || " _-.".contains(c))
    };
    let is_value = |value: &str| {
        let word = value.split(|c: char| !c.is_ascii_alphabetic()).next();
        value.starts_with(|c: char| c.is_ascii_digit() || "-[{".contains(c))
            || matches!(word, Some("true" | "false" | "null"))
    };
    let mut pieces = text.split(',').skip(1);
    pieces.any(|piece| {
        let member = piece.split_once(':');
        member.is_some_and(|(key, value)| is_key(key.trim()) && is_value(value.trim_start()))
    })
}

/// Returns true if an odd number of backslashes stands before this place.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rev();
    before.take_while(|b| **b == b'\\').count() % 2 == 1
}

/// Returns true if an escape stands between two quotes that are not escaped themselves, as in
/// `"print("a\n")"`: who does not escape the quotes may not escape what is between them either.
fn has_quoted_escape(source: SourceText<'_>, string: OpenString, end: usize) -> bool {
    let (mut at, mut is_open) = (string.start, false);
    while at < end {
        if source.bytes()[at] == b'\\' {
            if is_open && b"\"\\/bfnrtu\n".contains(&source.byte(at + 1)) {
                return true;
            }
            at += 2;
            continue;
        }
        let width = source.closing_width(at, string.quote);
        if width > 0 && !source.is_apostrophe(at, width) {
            is_open = !is_open;
        }
        at += width.max(1);
    }
    false
}

/// Returns true if an escape stands between two single quotes on one line of a text whose line
/// ends are not escaped, as in `print('a\n')`.
pub(super) fn has_escape_in_code(text: &[u8]) -> bool {
    let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let (mut at, mut is_open) = (0, false);
    while at < text.len() {
        match text[at] {
            b'\n' => is_open = false,
            b'\'' if !(is_word(at.wrapping_sub(1)) && is_word(at + 1)) => is_open = !is_open,
            b'\\' => {
                if is_open && matches!(text.get(at + 1), Some(b'n' | b'r' | b't')) {
                    return true;
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// Returns true if an escape stands in the argument of a call, as in `print("a\n")`, in a text whose
/// own quotes are single ones.
pub(super) fn has_escape_in_call(text: &str) -> bool {
    // Asked first, because it is cheap and most such texts have no double quote.
    if !text.contains('"') {
        return false;
    }
    text.split("(\"").skip(1).any(|argument| {
        let mut end = 0;
        let mut has_escape = false;
        while let Some(byte) = argument.as_bytes().get(end).filter(|b| **b != b'"') {
            let next = argument.as_bytes().get(end + 1);
            has_escape |= *byte == b'\\' && matches!(next, Some(b'n' | b'r' | b't'));
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        has_escape && matches!(argument.as_bytes().get(end + 1), Some(b')' | b','))
    })
}

/// Returns true if quotes inside the string have no partner, if brackets stay open, if members stand
/// between its quotes, or if it is an expression.
fn is_uneven(source: SourceText<'_>, string: OpenString, end: usize) -> bool {
    let quote = match string.quote {
        Quote::Triple(byte) => Quote::Plain(byte),
        quote => quote,
    };
    let (mut at, mut balance) = (string.start, 0);
    let mut quotes = Vec::new();
    while at < end {
        match source.bytes()[at] {
            b'\\' => at += 1,
            b'{' | b'[' => balance += 1,
            b'}' | b']' => balance -= 1,
            _ => {
                let width = source.closing_width(at, quote);
                if width > 0 && !source.is_apostrophe(at, width) {
                    quotes.push((at, at + width));
                }
            }
        }
        at += 1;
    }
    balance > 0
        || quotes.len() % 2 == 1
        || has_members(source, &quotes)
        || is_expression(source, string.start, &quotes)
}

/// Returns true for `"a", b 5, c: "d"`: the first of two quotes ends a value, and the second opens
/// that of a key without quotes.
fn has_members(source: SourceText<'_>, quotes: &[(usize, usize)]) -> bool {
    quotes.chunks_exact(2).any(|pair| {
        let between = source.as_str().get(pair[0].1..pair[1].0);
        let between = between.unwrap_or_default().trim();
        let member = between.strip_suffix([':', '=']);
        let key = member.and_then(|member| Some(member.rsplit_once(',')?.1.trim()));
        between.starts_with(',')
            && key.is_some_and(|key| !key.is_empty() && !key.contains(char::is_whitespace))
    })
}

/// Returns true for `"a" + name + "b"` and `"a" if x else "b"`: operators stand between strings,
/// not text. The quotes are those between the outermost two.
fn is_expression(source: SourceText<'_>, start: usize, quotes: &[(usize, usize)]) -> bool {
    let is_operator = |byte: u8| byte.is_ascii_whitespace() || b"+-*/%|&?:=<>!".contains(&byte);
    let is_operand = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,()[]$".contains(&byte);
    !quotes.is_empty()
        && quotes.chunks_exact(2).all(|pair| {
            let before = source.byte(pair[0].0.wrapping_sub(1));
            let opens_inside = pair[0].0 > start
                && (before.is_ascii_whitespace() || b"([{=,:<>".contains(&before));
            let between = source.bytes().get(pair[0].1..pair[1].0).unwrap_or_default();
            let ends = between.first().zip(between.last());
            !opens_inside
                && ends.is_some_and(|(head, tail)| is_operator(*head) && is_operator(*tail))
                && between.iter().all(|b| is_operator(*b) || is_operand(*b))
        })
}
