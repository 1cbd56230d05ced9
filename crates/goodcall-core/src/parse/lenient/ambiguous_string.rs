//! Strings whose quotes or brackets do not come out even: they have more than one reading.

use super::parser::Parser;
use super::source_text::SourceText;
use super::string_end::{OpenString, Quote, StringAmbiguity, StringEnd, StringOutcome, StringRole};
use super::typographic;

impl Parser<'_> {
    /// Returns true if this string has another reading that is as good.
    pub(super) fn is_ambiguous_string(&self, string: OpenString, end: &StringEnd) -> bool {
        let text = &self.source().as_str()[string.start..end.text];
        let ends_in_backslash = !end.is_cut() && has_only_last_backslash(text);
        if string.role == StringRole::Key {
            return end.ambiguity.is_some()
                || ends_in_backslash
                || end.content.inner_quotes.is_some()
                    && (self.holds_members(string, end) || self.has_quote_and_sign(text));
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
        // `“5” screen”, "key":` and `` `"a", "key": ``: a quote stands where one seems to be missing.
        let is_double = string.quote == Quote::Plain(b'"');
        let is_end = |c: char| typographic::is_quote(c) || c == '"' && !is_double;
        let ends_in_quote = || end.outcome == StringOutcome::QuoteMissing && text.ends_with(is_end);
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
        if is_sign || is_pair || ends_in_backslash {
            return true;
        }
        undecided
            && (end.ambiguity.is_some()
                || ends_in_quote()
                || end.outcome == StringOutcome::QuoteMissing && holds_bare_member(text)
                || self.is_uneven(string, end)
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

    /// Returns true for the key of `"k"-:`: its quote may have ended it, before a sign that belongs to
    /// nothing. Where the schema declares the key without them, other rules read it.
    fn has_quote_and_sign(&self, key: &str) -> bool {
        let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
        let after = key.rsplit('"').next().unwrap_or_default();
        after.chars().all(is_sign)
            && !self.keys().is_empty()
            && !self.keys().contains(key.trim_matches(is_sign))
    }

    /// Returns true if quotes inside the string have no partner, if brackets stay open, if values or
    /// members stand between its quotes, or if it is an expression.
    fn is_uneven(&self, string: OpenString, end: &StringEnd) -> bool {
        let source = self.source();
        let (lacks_quote, end) = (end.outcome == StringOutcome::QuoteMissing, end.text);
        let quote = match string.quote {
            Quote::Triple(byte) => Quote::Plain(byte),
            quote => quote,
        };
        let (mut at, mut balance, mut escaped) = (string.start, 0, 0);
        let mut quotes = Vec::new();
        while at < end {
            match source.bytes()[at] {
                b'\\' => {
                    escaped += usize::from(source.byte(at + 1) == b'"');
                    at += 1;
                }
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
        // `"a}, "key":` and `""a";, "key":`: the bracket, or the first quote, may not be text.
        let is_first = |pair: &(usize, usize)| pair.0 == string.start;
        balance > 0
            || lacks_quote && (balance < 0 || quotes.first().is_some_and(is_first))
            || quotes.len() % 2 == 1
            || quote == Quote::Plain(b'"') && escaped % 2 == 1
            || quotes
                .chunks_exact(2)
                .any(|pair| self.parts_values(string.start, pair[0], pair[1]))
            || has_members(source, &quotes)
            || is_expression(source, string.start, &quotes)
    }

    /// Returns true for `"a"#, "b"`, `"a", =key": 5` and `"a, "key" 5`: the two quotes end one value and
    /// open another, or stand around a key.
    fn parts_values(&self, start: usize, first: (usize, usize), second: (usize, usize)) -> bool {
        let source = self.source();
        let between = source.as_str().get(first.1..second.0);
        let between = between.unwrap_or_default().trim();
        let name = between.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        if name.is_empty() {
            return !between.is_empty() && !opens_inside(source, start, first.0);
        }
        let has_colon = source.byte(source.skip_space(second.1)) == b':';
        let is_declared = self.keys().contains(name);
        let before = source.bytes()[start..first.0].trim_ascii_end();
        between.starts_with(',')
            && (is_declared || has_colon && !name.contains(char::is_whitespace))
            || between == name && is_declared && !has_colon && before.ends_with(b",")
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
            let between = source.bytes().get(pair[0].1..pair[1].0).unwrap_or_default();
            let ends = between.first().zip(between.last());
            !opens_inside(source, start, pair[0].0)
                && ends.is_some_and(|(head, tail)| is_operator(*head) && is_operator(*tail))
                && between.iter().all(|b| is_operator(*b) || is_operand(*b))
        })
}

/// Returns true if the character before the quote at `at` shows that it opens something: `f("x`.
fn opens_inside(source: SourceText<'_>, start: usize, at: usize) -> bool {
    let before = source.byte(at.wrapping_sub(1));
    at > start && (before.is_ascii_whitespace() || b"([{=,:<>".contains(&before))
}

/// Returns true for `what?\`, whose last backslash may have been meant for the quote after it. The
/// root of a drive ends in one, and so does a path whose other backslashes are text.
fn has_only_last_backslash(text: &str) -> bool {
    let Some(before) = text.strip_suffix('\\').map(str::as_bytes) else {
        return false;
    };
    let mut at = 0;
    while let Some(n) = before[at..].iter().position(|b| *b == b'\\') {
        let next = before.get(at + n + 1);
        if next.is_none_or(|next| !b"\"\\/bfnrtu".contains(next)) {
            return false;
        }
        at += n + 2;
    }
    let is_path = matches!(before, [drive, b':', b'\\', next, ..] if drive.is_ascii_alphabetic() && *next != b'\\');
    !is_path && !before.ends_with(b":")
}
