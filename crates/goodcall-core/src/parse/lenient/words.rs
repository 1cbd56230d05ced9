//! Words that are values: literals of other languages, calls, strings with a prefix.

use super::containers::Opener;
use super::parser::{Parser, StepResult};
use super::rules::{self, RuleRef};
use super::strings::Backslashes;
use crate::tree::{Kind, ScalarText};

/// A literal, and the rule that reads it if JSON writes it differently.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    kind: Kind,
    truth: bool,
    rule: Option<RuleRef>,
}

impl Literal {
    fn json(self) -> &'static str {
        match (self.kind, self.truth) {
            (Kind::Null, _) => "null",
            (_, true) => "true",
            (_, false) => "false",
        }
    }
}

/// The literal that a word is, in JSON or in another language.
pub(super) fn literal(word: &str) -> Option<Literal> {
    let (kind, truth, rule) = match word {
        "true" => (Kind::Boolean, true, None),
        "false" => (Kind::Boolean, false, None),
        "null" => (Kind::Null, false, None),
        "True" => (Kind::Boolean, true, Some(rules::PYTHON_LITERAL)),
        "False" => (Kind::Boolean, false, Some(rules::PYTHON_LITERAL)),
        "None" => (Kind::Null, false, Some(rules::PYTHON_LITERAL)),
        "TRUE" => (Kind::Boolean, true, Some(rules::LITERAL_CASE)),
        "FALSE" => (Kind::Boolean, false, Some(rules::LITERAL_CASE)),
        "NULL" | "Null" | "NONE" => (Kind::Null, false, Some(rules::LITERAL_CASE)),
        "undefined" => (Kind::Null, false, Some(rules::UNDEFINED)),
        _ => return None,
    };
    Some(Literal { kind, truth, rule })
}

impl Parser<'_> {
    /// Reads a value that starts with a letter, or with anything that starts no other value.
    pub(super) fn word_value(&mut self) -> StepResult {
        let (source, start) = (self.source(), self.at());
        if matches!(self.peek(), Some(b'+' | b'.')) {
            return self.number_value();
        }
        if self.skip_string_prefix() || source.opening_quote(self.at()).is_some() {
            let prefix = &source.bytes()[start..self.at()];
            if prefix.iter().any(|b| matches!(b, b'f' | b'F')) {
                return self.format_string();
            }
            if prefix.iter().any(|b| matches!(b, b'r' | b'R')) {
                return self.string_value_from(start, Backslashes::Text);
            }
            return self.string_value();
        }
        if self.peek() == Some(b'/') {
            return self.regex();
        }
        let end = source.dotted_end(start);
        let word = &source.as_str()[start..end];
        if let Some(literal) = literal(word)
            && self.value_ends(end)
        {
            return self.literal_value(literal, end);
        }
        if end == source.len()
            && end > start
            && !self.containers().is_empty()
            && let Some(literal) = cut_off_literal(word)
        {
            self.add_literal(literal, end);
            self.note_cut_inside();
            return Ok(self.end_scalar());
        }
        if let Some(step) = self.call(start, end) {
            return step;
        }
        self.bare_value()
    }

    /// Reads the string of `f"…"`, whose fields are not known.
    fn format_string(&mut self) -> StepResult {
        let start = self.at();
        let step = self.string_value();
        let text = &self.source().as_str()[start..self.at()];
        if text.contains('{') {
            self.note_ambiguous(rules::STRING_PREFIX, start..self.at());
        }
        step
    }

    fn literal_value(&mut self, literal: Literal, end: usize) -> StepResult {
        if let Some(rule) = literal.rule {
            self.note(rule, self.at()..end, literal.json());
        }
        self.add_literal(literal, end);
        if self.containers().is_braceless() {
            self.note_cut_at_end();
        }
        Ok(self.end_scalar())
    }

    fn add_literal(&mut self, literal: Literal, end: usize) {
        let start = self.at();
        self.move_to(end);
        self.tree_mut()
            .scalar(literal.kind, literal.truth, ScalarText::NONE, (start, end));
        self.forget_last_string();
    }

    /// Returns true if what follows `end` fits a value that ended there.
    pub(super) fn value_ends(&self, end: usize) -> bool {
        let source = self.source();
        let next = source.skip_space(end);
        match source.bytes().get(next) {
            None | Some(b',' | b'}' | b']' | b')' | b';' | b'#' | b'`' | b'<') => true,
            Some(b'/') => matches!(source.byte(next + 1), b'/' | b'*'),
            Some(b'-') if source.is_dash_comment(end, next) => true,
            Some(b'"' | b'\'') => next > end || source.key_follows(next),
            Some(0x80..) => true,
            Some(b'\\') => source.after_written_space(end).is_some(),
            Some(_) => {
                source.has_newline(end, next)
                    || source.key_follows(next)
                    || self.element_follows(end, next)
            }
        }
    }

    /// Returns true if another element stands at `next`, as in `[1 2]` and `[true false]`.
    pub(super) fn element_follows(&self, end: usize, next: usize) -> bool {
        let source = self.source();
        let word_end = source.dotted_end(next);
        let word = source.as_str().get(next..word_end).unwrap_or_default();
        let number_end = super::numbers::strict_end(source.bytes(), next);
        let is_number = !word.is_empty() && number_end == Some(next + word.len());
        next > end && self.in_array() && (literal(word).is_some() || is_number)
    }

    /// Opens a call: `name(` or `new Name(`.
    fn call(&mut self, start: usize, word_end: usize) -> Option<StepResult> {
        let source = self.source();
        let is_new = &source.as_str()[start..word_end] == "new" && source.byte(word_end) == b' ';
        let end = if is_new {
            source.dotted_end(source.skip_space(word_end))
        } else {
            word_end
        };
        if end == start || source.byte(end) != b'(' || source.byte(start).is_ascii_digit() {
            return None;
        }
        let inside = source.skip_space(end + 1);
        let keeps_value = is_new || is_constructor(&source.as_str()[start..end]);
        let is_value = !source.byte(inside).is_ascii_alphabetic() && source.byte(inside) != b')';
        let is_known = keeps_value && is_value;
        if !self.containers().is_empty() && !is_known {
            // `now()`, `getenv("A")`, `len(x)`: the result is not known.
            return None;
        }
        let name = source.word_end(inside);
        let equals = source.skip_space(name);
        let has_names = name > inside
            && source.byte(equals) == b'='
            && source.byte(equals + 1) != b'='
            && !source.byte(inside).is_ascii_digit();
        let kind = if has_names { Kind::Object } else { Kind::Array };
        self.note(rules::CALL, start..end + 1, "");
        self.move_to(end);
        let step = self.open(Opener::Call, kind);
        if let Some(container) = self.innermost_mut() {
            container.start = start;
        }
        Some(step)
    }

    /// Skips `f`, `r`, `b`, `u` before a quote. Returns false if there is no such prefix.
    pub(super) fn skip_string_prefix(&mut self) -> bool {
        let rest = &self.source().bytes()[self.at()..];
        let letters = rest.iter().take_while(|b| b"fFrRbBuU".contains(b));
        let width = letters.take(2).count();
        let opens = matches!(rest.get(width), Some(b'"' | b'\''));
        // `f"}`: the quote closes a string rather than opening one.
        let closes = matches!(rest.get(width + 1), None | Some(b'}' | b']' | b',' | b':'));
        if width == 0 || !opens || closes {
            return false;
        }
        self.note_and_skip(rules::STRING_PREFIX, width, "");
        true
    }
}

/// Returns true for the name of a type: its call has the value of its argument, as in
/// `ObjectId("…")`, `datetime.date("…")` and `str("…")`.
fn is_constructor(name: &str) -> bool {
    const TYPES: [&str; 16] = [
        "bool",
        "bytes",
        "date",
        "datetime",
        "decimal",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "set",
        "str",
        "string",
        "time",
        "tuple",
        "uuid",
    ];
    let last = name.rsplit('.').next().expect("a split has a last part");
    let is_typed = last.starts_with(|c: char| c.is_ascii_uppercase())
        && last.contains(|c: char| c.is_ascii_lowercase() || last == "UUID");
    is_typed || TYPES.contains(&last)
}

/// The literal that a word at the end of the text is the beginning of.
fn cut_off_literal(word: &str) -> Option<Literal> {
    let mut words = ["true", "false", "null", "True", "False", "None"].into_iter();
    words
        .find(|whole| whole.starts_with(word))
        .and_then(literal)
}
