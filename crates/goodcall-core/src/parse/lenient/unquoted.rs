//! Strings and keys without quotes, or with only the closing one.

use super::known_keys::bare_name;
use super::parser::{Parser, ParserState, StepResult};
use super::rules;
use super::source_text::FULL_WIDTH_LEAD;
use super::strings::in_source;
use super::typographic;
use super::words::literal;
use crate::parse::CutKind;
use crate::tree::Kind;

/// Where a string without an opening quote ends.
struct BareEnd {
    text: usize,
    /// The quote that closes it, right after its text.
    closing_quote: Option<u8>,
}

/// What a byte means to a string without quotes.
enum BareByte {
    Text,
    /// The next byte is text, whatever it is.
    Escape,
    End,
    ClosingQuote,
}

/// The brackets and quotes that are open inside a string without quotes.
#[derive(Default)]
struct BareScan {
    depth: usize,
    /// The first of a pair of quotes: `say "hi"`.
    open_quote: Option<u8>,
}

impl Parser<'_> {
    /// Reads `/pattern/flags` as text.
    pub(super) fn regex(&mut self) -> StepResult {
        let (source, start) = (self.source(), self.at());
        let mut at = start + 1;
        while !matches!(source.byte(at), b'/' | b'\n' | 0) {
            at += if source.byte(at) == b'\\' { 2 } else { 1 };
        }
        let end = source.word_end(at + 1);
        if source.byte(at) != b'/' || !self.value_ends(end) {
            // `/home/me`: a path.
            return self.bare_value();
        }
        self.note_quoted(rules::UNQUOTED_STRING, start, end);
        self.tree_mut()
            .scalar(Kind::String, false, in_source(start, end), (start, end));
        self.move_to(end);
        self.note_cut_at_end();
        self.forget_last_string();
        Ok(self.end_scalar())
    }

    /// Reads a string without quotes, or with only the closing one.
    pub(super) fn bare_value(&mut self) -> StepResult {
        let (source, start) = (self.source(), self.at());
        let bare = self.bare_end(start);
        if bare.text == start {
            return Ok(self.skip_stray_character(ParserState::Value));
        }
        let text = source.as_str()[start..bare.text].trim_end();
        let end = start + text.len();
        if let Some(quote) = bare.closing_quote {
            let after = bare.text + 1;
            let inside = text.bytes().filter(|b| *b == quote).count();
            if inside % 2 == 1 || text.starts_with(typographic::is_quote) {
                // `L"text"`: the quote inside opens it.
                self.note_ambiguous(rules::MISSING_QUOTE, start..after);
            }
            self.note(rules::MISSING_QUOTE, start..start, "\"");
            if quote == b'\'' {
                self.note(rules::OTHER_QUOTES, bare.text..after, "\"");
            }
            let decoded = self.decode_bare(start, end);
            self.tree_mut()
                .scalar(Kind::String, false, decoded, (start, after));
            self.move_to(after);
        } else {
            let rule = match text {
                "NaN" | "Infinity" | "-Infinity" => rules::NOT_A_NUMBER,
                text if is_arithmetic(text) => rules::ARITHMETIC,
                _ => rules::UNQUOTED_STRING,
            };
            let is_unknown = is_expression(text)
                || is_damaged(text)
                || self.continues_in_quotes(text, bare.text)
                || self.holds_member(text);
            if is_unknown && end < source.len() {
                self.note_ambiguous(rule, start..end);
            }
            self.note_quoted(rule, start, end);
            self.tree_mut()
                .scalar(Kind::String, false, in_source(start, end), (start, end));
            self.move_to(bare.text);
        }
        self.note_cut_at_end();
        self.forget_last_string();
        Ok(self.end_scalar())
    }

    /// Returns true for `x ? "a" : "b"`: an operator before a quote, rather than text.
    fn continues_in_quotes(&self, text: &str, end: usize) -> bool {
        let is_operator = |c: char| "?+-*/%|&=<>!~^(".contains(c);
        matches!(self.source().byte(end), b'"' | b'\'') && text.ends_with(is_operator)
    }

    /// Returns true for `red size: 3` where the schema declares `size`: a comma may be missing.
    fn holds_member(&self, text: &str) -> bool {
        let is_key = |word: &str| {
            let name = word.split_once(':').map(|(name, _)| bare_name(name));
            name.is_some_and(|name| self.keys().contains(name))
        };
        self.in_object() && text.split_whitespace().skip(1).any(is_key)
    }

    /// Skips one character that starts no value and no key.
    fn skip_stray_character(&mut self, next: ParserState) -> ParserState {
        let width = self.source().char_width(self.at(), 1);
        self.note_and_skip(rules::STRAY_TEXT, width, "");
        next
    }

    /// Notes that a word at the end of the text may have been longer.
    pub(super) fn note_cut_at_end(&mut self) {
        if self.is_at_end() {
            if self.containers().is_empty() {
                self.note_cut_cause(rules::UNQUOTED_STRING, 0..self.at());
            }
            self.note_cut_inside();
        }
    }

    /// Finds the end of a string without an opening quote.
    fn bare_end(&self, start: usize) -> BareEnd {
        let source = self.source();
        let mut scan = BareScan::default();
        let mut at = start;
        while let Some(byte) = source.bytes().get(at).copied() {
            match self.bare_byte(&mut scan, byte, at, at == start) {
                BareByte::Text => at += 1,
                BareByte::Escape => at += 2,
                BareByte::End => break,
                BareByte::ClosingQuote => {
                    return BareEnd {
                        text: at,
                        closing_quote: Some(byte),
                    };
                }
            }
        }
        BareEnd {
            text: at.min(source.len()),
            closing_quote: None,
        }
    }

    fn bare_byte(&self, scan: &mut BareScan, byte: u8, at: usize, is_first: bool) -> BareByte {
        let source = self.source();
        let after_space = !is_first && source.byte(at - 1) == b' ';
        let next = source.byte(at + 1);
        let ends = match byte {
            b'\n' | b'\r' => true,
            b'(' | b'{' | b'[' => {
                scan.depth += 1;
                false
            }
            b')' | b'}' | b']' if scan.depth > 0 => {
                scan.depth -= 1;
                false
            }
            b')' => self.innermost().is_some_and(|c| c.closer() == Some(b')')),
            b'}' | b']' => true,
            b'\\' if source.after_written_space(at).is_some() => true,
            b'\\' => return BareByte::Escape,
            b',' => scan.depth == 0 && self.comma_ends_bare(at),
            b';' => {
                let member = scan.depth == 0 && source.key_follows(source.skip_space(at + 1));
                member || matches!(next, b'\n' | b'\r' | 0)
            }
            b'/' => after_space && matches!(next, b'/' | b'*'),
            b'#' => after_space && next == b' ',
            b'"' | b'\'' if !is_first => return self.bare_quote(scan, byte, at),
            FULL_WIDTH_LEAD => source.as_str()[at..].starts_with(['，', '｝', '］']),
            _ => false,
        };
        if ends { BareByte::End } else { BareByte::Text }
    }

    /// Returns true if a comma ends a string without quotes. In an object it may be text, unless a
    /// key, a bracket or another line follows it.
    fn comma_ends_bare(&self, comma: usize) -> bool {
        let source = self.source();
        let next = source.skip_space(comma + 1);
        !self.in_object()
            || matches!(
                source.bytes().get(next),
                None | Some(b'}' | b']' | b'/' | b',')
            )
            || source.has_newline(comma, next)
            || source.key_follows(next)
            || source.words_key_end(next).is_some()
            || self.member_without_colon(next)
    }

    /// Returns true for `"key" 1`: a name in quotes with a value right behind it.
    fn member_without_colon(&self, start: usize) -> bool {
        let source = self.source();
        if source.byte(start) != b'"' {
            return false;
        }
        let end = source.word_end(start + 1);
        let value = source.skip_space(end + 1);
        end > start + 1
            && source.byte(end) == b'"'
            && (source.byte(value).is_ascii_digit() || b"-\"{[".contains(&source.byte(value)))
    }

    /// Decides what a quote inside a string without quotes is.
    fn bare_quote(&self, scan: &mut BareScan, quote: u8, at: usize) -> BareByte {
        let source = self.source();
        if scan.open_quote == Some(quote) {
            scan.open_quote = None;
            return BareByte::Text;
        }
        let before = source.bytes()[at - 1];
        // `value "key":`: the next member starts here.
        if self.in_object() && matches!(before, b' ' | b'\t') && source.key_follows(at) {
            return BareByte::End;
        }
        let next = source.skip_space(at + 1);
        if matches!(source.bytes().get(next), None | Some(b',' | b'}' | b']'))
            || source.comma_width(next) > 0
            || next > at + 1 && source.key_follows(next)
        {
            return BareByte::ClosingQuote;
        }
        // `say "hi"`: the first of two inside. An apostrophe has no second.
        if scan.open_quote.is_none() && !before.is_ascii_alphanumeric() {
            scan.open_quote = Some(quote);
        }
        BareByte::Text
    }

    /// Reads a key without quotes, or with only the closing one.
    pub(super) fn bare_key(&mut self) -> StepResult {
        let (source, start) = (self.source(), self.at());
        let limit = self.bare_key_limit(start);
        let name = source.as_str()[start..limit].trim_end();
        let end = start + name.len();
        if limit == source.len() {
            self.move_to(limit);
            self.note_cut_inside();
            return Ok(self.end_of_text(CutKind::Inside));
        }
        if end == start {
            if source.from(start.saturating_sub(1)).starts_with("{%") {
                // `{% name %}`: a template.
                self.note_ambiguous(rules::STRAY_TEXT, start..start + 1);
            }
            return Ok(self.skip_stray_character(ParserState::Key));
        }
        self.move_to(limit);
        let is_first = self.innermost().is_some_and(|object| object.count == 0);
        let follows = source.punctuation(source.skip_space(limit));
        if !is_first
            && !name.contains(' ')
            && matches!(follows, Some((b',' | b';' | b'}' | b']' | b')', _)))
        {
            // `1.234,56`: the rest of the number before it. `{"a": 1, b}`: a name for a value.
            self.note_ambiguous(rules::MISSING_VALUE, start..end);
        }
        // `key value,`: the colon is missing.
        if let Some(space) = name.find(' ')
            && matches!(
                source.byte(source.skip_space(limit)),
                b',' | b'}' | b'"' | b'{' | b'[' | b'\n'
            )
        {
            let end = start + space;
            self.note_quoted(rules::UNQUOTED_KEY, start, end);
            self.move_to(end);
            self.add_key(in_source(start, end), start, end);
            return self.colon();
        }
        let mut end = end;
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            self.advance(1);
            self.note(rules::MISSING_QUOTE, start..start, "\"");
            // `key\": \"value\"`: the quote is escaped.
            if name.ends_with('\\') && end == limit {
                self.note(rules::ESCAPED_QUOTES, end - 1..limit + 1, "\"");
                end -= 1;
            }
        } else {
            let rule = if name.contains(' ') {
                rules::UNQUOTED_WORDS
            } else {
                rules::UNQUOTED_KEY
            };
            self.note_quoted(rule, start, end);
        }
        self.add_key(in_source(start, end), start, self.at());
        self.colon()
    }

    /// The first position that cannot be part of a key without quotes.
    fn bare_key_limit(&self, start: usize) -> usize {
        let source = self.source();
        let starts_no_name = |b: u8| b.is_ascii_punctuation() && !b"_$@.-<&\\".contains(&b);
        if starts_no_name(source.byte(start)) {
            return start;
        }
        let mut at = start;
        while let Some(byte) = source.bytes().get(at).copied() {
            match byte {
                b':' | b'=' | b',' | b'}' | b']' | b'{' | b'[' | b'\n' | b'"' | b'\'' | b')' => {
                    break;
                }
                FULL_WIDTH_LEAD
                    if source.as_str()[at..].starts_with(['：', '，', '｝', '］', '＝']) =>
                {
                    break;
                }
                _ => at += 1,
            }
        }
        at
    }
}

/// Returns true for a call, a variable, a template or a placeholder, whose value is not known:
/// `now()`, `a[0]`, `$name`, `${name}`, `<name>`, `a + b`. Text in quotes of another kind is not plain
/// text, either.
fn is_expression(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    let name = bytes.iter().take_while(is_name).count();
    let is_filled_in = match bytes {
        [b'$' | b'%', next, ..] => next.is_ascii_alphabetic() || b"{(._%".contains(next),
        [b'<', .., b'>'] | [b'.', b'.', b'.'] => true,
        [first, .., last] if first.is_ascii_alphabetic() || *first == b'_' => {
            matches!(
                (bytes.get(name), last),
                (Some(b'('), b')') | (Some(b'['), b']')
            )
        }
        _ => false,
    };
    is_filled_in
        || text.starts_with(typographic::is_quote)
        || text.starts_with("&quot;")
        || has_template(text)
        || has_operator(text) && text.contains(char::is_alphabetic)
}

/// Returns true for `a{b}c`, `~/${a}`, `tag\`x\`` and `L"x"`: text with a part to be filled in, or with
/// a prefix that says how to read it.
fn has_template(text: &str) -> bool {
    // Every other quote opens something.
    let mut opening = text.match_indices('"').step_by(2);
    let is_glued = |(at, _): (usize, &str)| {
        text[..at].ends_with(|c: char| c.is_alphanumeric() || "_$@".contains(c))
    };
    text.contains(['{', '}', '`']) || opening.any(is_glued)
}

/// Returns true if the text holds an operator of a programming language, as in `a + b`, `x => y` and
/// `a if b else c`.
fn has_operator(text: &str) -> bool {
    const SYMBOLS: [&str; 10] = [
        " + ", " || ", " && ", " ?? ", " == ", " != ", " => ", " := ", " -> ", " += ",
    ];
    const STARTS: [&str; 7] = [
        "new ",
        "await ",
        "lambda ",
        "lambda:",
        "typeof ",
        "process.env.",
        "Math.",
    ];
    let has = |word: &str| text.contains(word);
    let first_word = text
        .split(' ')
        .next()
        .expect("a text has at least one part");
    let joins_values =
        |word: &str| has(word) && (text.contains('"') || literal(first_word).is_some());
    SYMBOLS.into_iter().any(has)
        || STARTS.iter().any(|start| text.starts_with(start))
        || has("+\"")
        || has("\"+")
        || has(" if ") && has(" else ")
        || has(" ? ") && has(" : ")
        || is_comprehension(text)
        || joins_values(" or ")
        || joins_values(" and ")
}

/// Returns true for `x * 2 for x in y`.
fn is_comprehension(text: &str) -> bool {
    text.split_once(" for ").is_some_and(|(element, rest)| {
        let variable = rest.split(' ').next().expect("a split has a first part");
        rest.contains(" in ")
            && element
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| w == variable)
    })
}

/// Returns true for `5 * 3`: numbers and operators, which nothing here evaluates.
fn is_arithmetic(text: &str) -> bool {
    let is_operator = |b: u8| matches!(b, b'+' | b'*' | b'/' | b'%');
    let is_part = |b: u8| {
        b.is_ascii_digit() || is_operator(b) || matches!(b, b'-' | b'.' | b' ' | b'(' | b')')
    };
    text.bytes().all(is_part) && text.bytes().skip(1).any(is_operator)
}

/// Returns true for `>"text"` and `\ [1]`, whose quotes and brackets follow a sign that belongs to
/// nothing, for brackets, quotes and backslashes alone, and for the start of a literal, as `nul`.
fn is_damaged(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = text.find(is_word).unwrap_or(text.len());
    let sign = text.find(['"', '\'', '`', '\\', '[', ']', '{', '}']);
    let literals = ["true", "false", "null"];
    let is_part =
        |whole: &&str| text.len() > 2 && text.len() < whole.len() && whole.starts_with(text);
    let is_inside = text[..word].contains(['"', '\'', '`', '[', '{']);
    is_inside || word == text.len() && sign.is_some() || literals.iter().any(is_part)
}
