//! What follows a quote, and how well it fits a string that ended there.
//!
//! A look ahead stops at the next token, the next line or a fixed number of bytes.

use super::numbers::strict_end;
use super::parser::Parser;
use super::source_text::FULL_WIDTH_LEAD;
use super::string_end::StringRole;
use super::words::literal;
use crate::tree::Kind;

/// How sure it is that a quote ends its string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteFit {
    No,
    Maybe,
    Yes,
    /// A colon follows: this quote ends a key.
    Colon,
}

impl QuoteFit {
    fn yes_if(fits: bool) -> Self {
        if fits { QuoteFit::Yes } else { QuoteFit::No }
    }

    fn maybe_if(fits: bool) -> Self {
        if fits { QuoteFit::Maybe } else { QuoteFit::No }
    }
}

impl Parser<'_> {
    /// Says how well what follows a quote fits a string of this role that ended there.
    pub(super) fn quote_fit(&self, after: usize, role: StringRole) -> QuoteFit {
        let mut next = self.source().skip_space(after);
        if self.source().byte(next) == b'\\' {
            let colon = self.source().skip_written_space(next);
            next = match self.source().byte(colon) {
                b':' if role == StringRole::Key => colon,
                _ => self.source().after_written_space(next).unwrap_or(next),
            };
        }
        let Some(byte) = self.source().bytes().get(next).copied() else {
            return QuoteFit::Yes;
        };
        if role == StringRole::Key {
            let opens_string = self.source().typographic_quote(next).is_some();
            return key_fit(if opens_string { b'"' } else { byte }, next > after);
        }
        let punctuation = match byte {
            b':' if role == StringRole::Member => Some(QuoteFit::Colon),
            b':' => Some(QuoteFit::Yes),
            b',' | b';' => Some(self.comma_fit(next, role)),
            b'}' | b']' | b')' => Some(self.closers_fit(next)),
            FULL_WIDTH_LEAD => Some(self.full_width_fit(next, role)),
            b'/' | b'#' | b'-' | b'+' | b'`' => self.comment_or_operator_fit(after, next),
            _ => None,
        };
        punctuation.unwrap_or_else(|| self.value_fit(after, next, role))
    }

    /// A comment, an operator between strings or a fence after a string; `None` for anything else.
    fn comment_or_operator_fit(&self, after: usize, next: usize) -> Option<QuoteFit> {
        let source = self.source();
        match source.byte(next) {
            b'/' => matches!(source.byte(next + 1), b'/' | b'*').then_some(QuoteFit::Yes),
            b'#' => (next > after).then_some(QuoteFit::Maybe),
            b'-' => source
                .is_dash_comment(after, next)
                .then_some(QuoteFit::Maybe),
            b'+' => {
                let operand = source.byte(source.skip_space(next + 1));
                matches!(operand, b'"' | b'\'' | b'`').then_some(QuoteFit::Maybe)
            }
            b'`' => source.bytes()[next..]
                .starts_with(b"```")
                .then_some(QuoteFit::Yes),
            _ => None,
        }
    }

    /// Another value, a key or text after a string, without a comma.
    fn value_fit(&self, after: usize, next: usize, role: StringRole) -> QuoteFit {
        let source = self.source();
        let spaced = next > after;
        let opening = match source.byte(next) {
            byte @ 0x80.. if source.typographic_quote(next).is_none() => byte,
            0x80.. => b'`',
            byte => byte,
        };
        match (role, opening) {
            (StringRole::Member, b'"' | b'\'') if !spaced && source.key_follows(next) => {
                QuoteFit::Yes
            }
            (StringRole::Member, b'"' | b'\'' | b'`') if spaced => {
                if source.key_follows(next) {
                    QuoteFit::Yes
                } else {
                    QuoteFit::Maybe
                }
            }
            (StringRole::Element, b'"' | b'\'' | b'`') if spaced => QuoteFit::Yes,
            (StringRole::Element, b'{' | b'[') if spaced => QuoteFit::Maybe,
            (StringRole::Element, b'0'..=b'9' | b'-') if spaced => self.number_fit(next),
            (StringRole::Member, b'a'..=b'z' | b'A'..=b'Z' | b'_') if spaced => {
                self.bare_key_fit(after, next)
            }
            (StringRole::Member, _) if source.has_newline(after, next) => {
                QuoteFit::yes_if(source.key_follows(next))
            }
            // `"a "b" c"`: the last quote of the text ends it.
            (StringRole::Root, _) if source.last_visible() == source.byte(after - 1) => {
                QuoteFit::No
            }
            (StringRole::Root, _) => QuoteFit::Maybe,
            _ => QuoteFit::No,
        }
    }

    /// `["a" 2]`: fits if a number follows, and nothing else.
    fn number_fit(&self, at: usize) -> QuoteFit {
        let source = self.source();
        let Some(end) = strict_end(source.bytes(), at) else {
            return QuoteFit::No;
        };
        let ends = matches!(source.byte(source.skip_space(end)), 0 | b',' | b']');
        QuoteFit::maybe_if(ends)
    }

    /// `"text" key: 5`: fits if a key without quotes follows, and a value that is not such a word.
    fn bare_key_fit(&self, after: usize, at: usize) -> QuoteFit {
        let source = self.source();
        let Some(end) = source.key_end(at) else {
            return QuoteFit::No;
        };
        if source.has_newline(after, at) {
            return QuoteFit::Yes;
        }
        let value = source.skip_space(source.skip_space(end) + 1);
        let word = source.as_str().get(value..source.word_end(value));
        let is_value = matches!(
            source.byte(value),
            b'"' | b'\'' | b'{' | b'[' | b'0'..=b'9' | b'-'
        );
        QuoteFit::maybe_if(is_value || word.is_some_and(|word| literal(word).is_some()))
    }

    fn full_width_fit(&self, at: usize, role: StringRole) -> QuoteFit {
        match self.source().from(at).chars().next() {
            Some('，') => self.comma_fit(at, role),
            Some('：') if role == StringRole::Member => QuoteFit::Colon,
            Some('｝' | '］' | '）' | '：') => QuoteFit::Yes,
            _ => QuoteFit::No,
        }
    }

    fn comma_fit(&self, comma: usize, role: StringRole) -> QuoteFit {
        let source = self.source();
        let next = source.skip_written_space(comma + source.comma_width(comma).max(1));
        let Some(byte) = source.bytes().get(next).copied() else {
            return QuoteFit::Yes;
        };
        match byte {
            b'}' | b']' | b')' | b',' | b'/' | b'#' => QuoteFit::Yes,
            b'.' if source.bytes()[next..].starts_with(b"...") => QuoteFit::Yes,
            b'-' if source.is_dash_comment(comma, next) => QuoteFit::Yes,
            _ if role == StringRole::Member => self.comma_fit_in_object(comma, next),
            b'"' | b'\'' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'(' | b'`' => QuoteFit::Yes,
            b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'u' | b'I' => {
                let end = source.word_end(next);
                let word = &source.as_str()[next..end];
                if end == source.len() || literal(word).is_some() {
                    QuoteFit::Yes
                } else {
                    QuoteFit::Maybe
                }
            }
            0x80.. if source.typographic_quote(next).is_some() => QuoteFit::Yes,
            _ => QuoteFit::Maybe,
        }
    }

    /// A comma after the value of a member: a key must follow it, if a damaged one.
    fn comma_fit_in_object(&self, comma: usize, next: usize) -> QuoteFit {
        let source = self.source();
        if source.key_follows(next) {
            return QuoteFit::Yes;
        }
        match source.byte(next) {
            b'{' => QuoteFit::Maybe,
            byte if source.opening_quote(next).is_some() => {
                let starts_line = byte < 0x80 && source.has_newline(comma, next);
                QuoteFit::maybe_if(starts_line || source.damaged_key_follows(next))
            }
            _ => QuoteFit::maybe_if(
                source.words_key_end(next).is_some() || source.bare_member_follows(next),
            ),
        }
    }

    /// Says whether the closing brackets that follow close what is open.
    fn closers_fit(&self, at: usize) -> QuoteFit {
        let source = self.source();
        let closers = self.containers().closers_ahead(source, at);
        if !closers.all_match {
            return QuoteFit::Maybe;
        }
        match (source.bytes().get(closers.end), closers.left_open) {
            (None | Some(b',' | b';'), _) => QuoteFit::Yes,
            (Some(b'{' | b'[' | b'`' | b'<' | b')' | b'}' | b']'), 0) => QuoteFit::Yes,
            (Some(_), 0) if source.byte(closers.end - 1) == b'\n' => QuoteFit::Yes,
            (Some(b'/' | b'#' | b'"' | b'{' | b'['), 1..) => QuoteFit::Yes,
            _ => QuoteFit::Maybe,
        }
    }

    /// Returns true if the brackets that close everything follow, and nothing else.
    pub(super) fn only_closers_follow(&self, at: usize) -> bool {
        let source = self.source();
        let closers = self
            .containers()
            .closers_ahead(source, source.skip_space(at));
        closers.all_match && closers.left_open == 0 && closers.end == source.len()
    }

    /// Returns true if all that follows would be read if a string ended here.
    pub(super) fn rest_is_read(&self, after: usize) -> bool {
        let source = self.source();
        let next = source.skip_space(after);
        if !matches!(source.byte(next), b'}' | b']' | b')') {
            return true;
        }
        let closers = self.containers().closers_ahead(source, next);
        let follows = source.byte(closers.end);
        closers.all_match && matches!(follows, 0 | b'{' | b'[' | b',' | b';' | b'<' | b'`')
    }

    /// What a string that is read here is to the container around it.
    pub(super) fn string_role(&self) -> StringRole {
        let container = self.innermost().and_then(|c| self.tree().slot(c.id));
        match container.map(|slot| slot.kind) {
            None => StringRole::Root,
            Some(Kind::Object) => StringRole::Member,
            Some(_) => StringRole::Element,
        }
    }
}

/// Says how well a byte fits after the quote of a key.
fn key_fit(byte: u8, spaced: bool) -> QuoteFit {
    match byte {
        b':' | b'=' | b'}' | b',' | FULL_WIDTH_LEAD | b'{' | b'[' => QuoteFit::Yes,
        b'"' | b'\'' | b'0'..=b'9' if spaced => QuoteFit::Yes,
        b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'-' if spaced => QuoteFit::Maybe,
        _ => QuoteFit::No,
    }
}
