//! Lenient parsing: text that is not JSON, read by rules.
//!
//! Only text that strict parsing refused comes here. Parsing does not fail: it yields a tree and a
//! list of departures from JSON, each with its rule, its level and its bytes. Whether the policy
//! accepts them is judged afterwards, in [`read`](super::read).
//!
//! There is one pass without recursion, which looks ahead by a bounded number of bytes.
//!
//! | file | what it reads |
//! |---|---|
//! | `document`, `prose` | the way to the next value: fences, tags, prose |
//! | `parser`, `members`, `brackets`, `trivia` | the grammar, and recovery from wrong punctuation |
//! | `strings`, `string_end`, `unterminated_string`, `ambiguous_string` | strings in quotes |
//! | `words`, `unquoted`, `numbers`, `escapes`, `backslash_words` | everything else that may be a value |
//! | `source_text`, `typographic`, `lookahead`, `known_keys` | questions about the text ahead |
//! | `containers`, `findings`, `change_recorder` | the parser's state |
//! | `double_encoded` | whole texts that were encoded twice |

mod ambiguous_string;
mod backslash_words;
mod brackets;
mod change_recorder;
mod commas;
mod containers;
mod document;
mod double_encoded;
mod escapes;
mod findings;
mod known_keys;
mod lookahead;
mod members;
mod numbers;
mod parser;
mod prose;
pub(crate) mod rules;
mod source_text;
mod string_end;
mod strings;
mod trivia;
mod typographic;
mod unquoted;
mod unterminated_string;
mod words;

use std::ops::Range;

use super::error::{ParseClass, ParseError};
use super::{Cut, CutKind};
use crate::limits::{ENCODINGS, Limits};
use crate::report::SyntaxExpectation;
use crate::report::{Change, Changes};
use crate::rule::{Level, RuleId};
use crate::snippet::clip;
use crate::stop::StopReason;
use crate::tree::{Kind, Pointer, Tree};
pub(super) use escapes::decode_escape;
pub(crate) use findings::Ambiguity;
use known_keys::KnownKeys;
pub(super) use numbers::{is_number, is_part as is_number_part, strict_end as number_end};
use parser::Parser;
use rules::RuleRef;
use source_text::SourceText;

/// A text as lenient parsing read it, before the policy judges it.
pub(crate) struct LenientReading<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) changes: Changes,
    pub(crate) cut: Option<Cut>,
    /// The number of values at the root. The tree is their array if there are several.
    pub(crate) values: usize,
    pub(crate) repeated_keys: bool,
    pub(crate) ambiguity: Option<Ambiguity>,
}

/// Returns true if a change of this rule decided a value's end by what follows it. If the text was
/// cut off, that value may have been longer.
pub(crate) fn has_unsure_end(rule: RuleId, level: Level) -> bool {
    let unlike = rules::UNLIKE_QUOTES;
    brackets::is_unsure_end(rule) || rule == unlike.id && level == unlike.level
}

/// Returns true if a change guessed where a member begins or ends. A member that it made may be a
/// part of another, so it is never dropped as one that the schema does not know.
pub(crate) fn makes_members(rule: RuleId, level: Level) -> bool {
    const GUESSES: [RuleId; 13] = [
        RuleId::EarlyBracket,
        RuleId::ExtraBracket,
        RuleId::ExtraColon,
        RuleId::InnerQuote,
        RuleId::MissingBrace,
        RuleId::MissingBracket,
        RuleId::MissingColon,
        RuleId::MissingQuote,
        RuleId::MissingValue,
        RuleId::StrayText,
        RuleId::UnquotedKey,
        RuleId::UnquotedString,
        RuleId::WrongBracket,
    ];
    level == Level::Eager && GUESSES.contains(&rule)
}

/// What reading depends on besides the text.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'s> {
    pub(crate) limits: &'s Limits,
    /// The property names of the schema, sorted.
    pub(crate) keys: &'s [String],
    pub(crate) stop: StopReason,
}

/// Reads `text`; `None` if there is no value in it.
pub(crate) fn parse<'a>(
    text: &'a str,
    settings: Settings<'_>,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    read_level(text, settings, 0)
}

/// Reads a text that was decoded `level` times.
fn read_level<'a>(
    text: &'a str,
    settings: Settings<'_>,
    level: usize,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    if level < ENCODINGS {
        if double_encoded::is_escaped(text) {
            let decoded = double_encoded::unescape(text);
            let mut read = read_decoded(text, &decoded, rules::ESCAPED_TEXT, settings, level)?;
            if double_encoded::lacks_quote(text)
                && let Some(read) = &mut read
            {
                // The string around it was cut off, whatever it holds.
                let cut = read.cut.get_or_insert_with(|| Cut::at_root(text.len()));
                cut.kind = CutKind::Inside;
            }
            return Ok(read);
        }
        if double_encoded::has_entities(text) {
            let decoded = double_encoded::decode_entities(text);
            return read_decoded(text, &decoded, rules::HTML_ENTITIES, settings, level);
        }
    }
    read_plain(text, settings)
}

/// Reads a text that is not encoded twice.
fn read_plain<'a>(
    text: &'a str,
    settings: Settings<'_>,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    let limits = settings.limits;
    let source = SourceText::new(text, settings.stop);
    let mut parser = Parser::new(source, limits, KnownKeys::new(settings.keys));
    parser.document()?;
    let parsed = parser.finish();
    if parsed.recorder.is_overflowed() {
        let expected = SyntaxExpectation::Changes(limits.max_changes);
        return Err(ParseError::new(ParseClass::TooLarge, expected, 0));
    }
    if let Some(at) = parsed.findings.stranded() {
        let expected = SyntaxExpectation::End;
        return Err(ParseError::new(ParseClass::Syntax, expected, at));
    }
    let values = parsed.roots.len();
    if values == 0 {
        return Ok(None);
    }
    if values > 1
        && let Some(at) = parsed.deepest
    {
        // The array of all values is one level more.
        let expected = SyntaxExpectation::Depth(limits.depth());
        return Err(ParseError::new(ParseClass::TooDeep, expected, at));
    }
    let repeated_keys = parsed.findings.has_repeated_keys();
    let (mut cut, ambiguity) = parsed.findings.into_parts();
    if let Some(cut) = &mut cut
        && values > 1
    {
        let place = format!("/{}{}", cut.root.min(values - 1), cut.pointer);
        cut.pointer = Pointer::parse(&place).expect("an index before a pointer is a pointer");
    }
    let is_known = |cut: &Cut| cut.because.is_some() && cut.kind == CutKind::Inside;
    if let Some(cut) = cut.as_mut().filter(|cut| !is_known(cut))
        && let Some(at) = brackets::surplus_bracket(text)
    {
        let cause = Ambiguity::new(rules::EXTRA_BRACKET, Pointer::root(), at..at + 1);
        (cut.because, cut.kind) = (Some(cause), CutKind::Inside);
    }
    Ok(Some(LenientReading {
        changes: Changes::recorded(parsed.recorder.finish(), text),
        cut,
        values,
        repeated_keys,
        ambiguity,
        tree: parsed.tree.finish_roots(text, &parsed.roots),
    }))
}

/// The name of the rule that reads a number in another notation.
pub(super) fn number_rule(token: &str) -> Option<RuleId> {
    numbers::normalise(token, false)?.1.map(|rule| rule.id)
}

/// Reads the decoded form of `raw`, strictly if possible, and maps all positions back.
fn read_decoded<'a>(
    raw: &'a str,
    decoded: &double_encoded::DecodedText,
    rule: RuleRef,
    settings: Settings<'_>,
    level: usize,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    let inner = match super::strict::parse(&decoded.text, settings.limits) {
        Ok(strict) if strict.tree.root().kind() != Kind::String => LenientReading {
            changes: Changes::default(),
            cut: None,
            values: 1,
            repeated_keys: strict.repeated_keys,
            ambiguity: None,
            tree: strict.tree,
        },
        _ => match read_level(&decoded.text, settings, level + 1)? {
            Some(inner) => inner,
            None => return Ok(None),
        },
    };
    Ok(Some(map_to_raw(raw, decoded, rule, inner)))
}

/// Reads the object or array that a string at the root holds; `None` if it holds neither.
pub(crate) fn unwrap<'a>(
    text: &'a str,
    tree: &Tree<'_>,
    settings: Settings<'_>,
    level: usize,
) -> Option<LenientReading<'a>> {
    let root = tree.root();
    let holds = root.as_str()?.trim_start();
    if level >= ENCODINGS || !holds.starts_with(['{', '[', '"', '`']) {
        return None;
    }
    let span = root.span();
    let quoted = text.get(span.clone())?;
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let start = span.start + 1;
    let decoded = double_encoded::decode_string(text, start, start + inner.len());
    let strict = super::strict::parse(&decoded.text, settings.limits).ok();
    let Some(strict) = strict.filter(|strict| strict.tree.root().kind() == Kind::String) else {
        let read = read_decoded(text, &decoded, rules::JSON_STRING, settings, level).ok()??;
        let kind = read.tree.root().kind();
        return matches!(kind, Kind::Object | Kind::Array).then_some(read);
    };
    let deeper = unwrap(&decoded.text, &strict.tree, settings, level + 1)?;
    Some(map_to_raw(text, &decoded, rules::JSON_STRING, deeper))
}

/// Maps a reading of a decoded text to the raw one.
fn map_to_raw<'a>(
    raw: &'a str,
    decoded: &double_encoded::DecodedText,
    rule: RuleRef,
    inner: LenientReading<'_>,
) -> LenientReading<'a> {
    let at = |position: usize| decoded.place(position as u32) as usize;
    let moved = |ambiguity: Ambiguity| Ambiguity {
        span: at(ambiguity.span.start)..at(ambiguity.span.end),
        ..ambiguity
    };
    let mut changes = vec![text_change(rule, raw, 0..raw.len())];
    let inner_changes = inner.changes.map_spans(|span| at(span.start)..at(span.end));
    changes.extend(inner_changes);
    LenientReading {
        changes: changes.into(),
        cut: inner.cut.map(|cut| Cut {
            at: at(cut.at),
            because: cut.because.map(moved),
            ..cut
        }),
        values: inner.values,
        repeated_keys: inner.repeated_keys,
        ambiguity: inner.ambiguity.map(moved),
        tree: inner.tree.rebase(raw, |position| decoded.place(position)),
    }
}

/// The change that drops these bytes, or reads them as something else altogether.
pub(super) fn text_change(rule: RuleRef, raw: &str, span: Range<usize>) -> Change {
    Change {
        rule: rule.id,
        level: rule.level,
        pointer: Pointer::root(),
        from: None,
        before: raw.get(span.clone()).map(|text| clip(text, 80).into()),
        after: None,
        is_text: true,
        span,
        count: 1,
    }
}
