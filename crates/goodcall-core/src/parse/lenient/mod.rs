//! Lenient parsing: what a model wrote, read as it was evidently meant.
//!
//! Only text that strict parsing refused comes here. Parsing does not fail: it yields a tree and a
//! list of departures from JSON, each with its rule, its level and its bytes. Whether the policy
//! accepts them is judged afterwards, in [`read`](super::read).
//!
//! One pass, no recursion, looking ahead by a bounded number of bytes.

mod ambiguous_string;
mod brackets;
mod change_recorder;
mod document;
mod double_encoded;
mod escapes;
mod lookahead;
mod members;
mod numbers;
mod parser;
pub(crate) mod rules;
mod string_end;
mod strings;
mod trivia;
mod unterminated_string;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use super::error::{ParseClass, ParseError};
use super::{Cut, CutKind};
use crate::limits::{ENCODINGS, Limits};
use crate::report::SyntaxExpectation;
use crate::report::{Change, Changes, Edit};
use crate::rule::{Level, RuleId};
use crate::snippet::clip;
use crate::tree::{Kind, Pointer, Tree};
pub(super) use escapes::decode_escape;
pub(super) use numbers::{is_number, is_part as is_number_part, strict_end as number_end};
use parser::Parser;
use rules::RuleRef;

/// What was read.
pub(crate) struct LenientReading<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) changes: Changes,
    pub(crate) cut: Option<Cut>,
    pub(crate) values: usize,
    pub(crate) repeated_keys: bool,
    pub(crate) doubt: Option<Ambiguity>,
}

/// A place that can be read in more than one way, whatever the policy allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ambiguity {
    /// The rule that would have to choose.
    pub(crate) rule: RuleId,
    pub(crate) pointer: Pointer,
    pub(crate) span: Range<usize>,
}

/// Was a value's end decided by what follows it? Then text that was cut off may have gone on.
pub(crate) fn is_doubtful(rule: RuleId, level: Level) -> bool {
    let unlike = rules::UNLIKE_QUOTES;
    brackets::DOUBTS.iter().any(|doubt| doubt.id == rule)
        || rule == unlike.id && level == unlike.level
}

/// Reads `text`; `None` if there is no value in it.
pub(crate) fn parse<'a>(
    text: &'a str,
    limits: &Limits,
    keys: &[String],
) -> Result<Option<LenientReading<'a>>, ParseError> {
    read_level(text, limits, keys, 0)
}

fn read_level<'a>(
    text: &'a str,
    limits: &Limits,
    keys: &[String],
    level: usize,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    if level < ENCODINGS {
        if double_encoded::is_escaped(text) {
            let decoded = double_encoded::unescape(text);
            let mut read = read_decoded(text, &decoded, rules::ESCAPED_TEXT, limits, keys, level)?;
            if let Some(read) = read.as_mut().filter(|_| double_encoded::lacks_quote(text)) {
                // The string around it was cut off, whatever it holds.
                let cut = read.cut.get_or_insert_with(|| Cut::at_root(text.len()));
                cut.kind = CutKind::Inside;
            }
            return Ok(read);
        }
        if double_encoded::has_entities(text) {
            let decoded = double_encoded::unentity(text);
            return read_decoded(text, &decoded, rules::HTML_ENTITIES, limits, keys, level);
        }
    }
    let mut parser = Parser::new(text, limits, keys);
    parser.document()?;
    if parser.notes.overflow {
        let wanted = SyntaxExpectation::Changes(limits.max_changes);
        return Err(ParseError::new(ParseClass::TooLarge, wanted, 0));
    }
    if let Some(at) = parser.lost {
        return Err(ParseError::new(
            ParseClass::Syntax,
            SyntaxExpectation::End,
            at,
        ));
    }
    if parser.roots.is_empty() {
        return Ok(None);
    }
    let several = parser.roots.len() > 1;
    if several && let Some(at) = parser.deepest {
        // The list of them is one level more.
        let wanted = SyntaxExpectation::Depth(limits.depth());
        return Err(ParseError::new(ParseClass::TooDeep, wanted, at));
    }
    let last = parser.roots.len() - 1;
    let within = |root: usize, pointer: Pointer| match several {
        true => Pointer::parse(&format!("/{}{pointer}", root.min(last))).unwrap_or(pointer),
        false => pointer,
    };
    let mut record = parser.notes.record;
    // What comes after the last value belongs to it.
    record.borders.pop();
    let changes = Changes::recorded(record, text);
    let cut = parser.cut.map(|cut| Cut {
        pointer: within(cut.root, cut.pointer),
        kind: match parser.because {
            Some(_) => CutKind::Inside,
            None => cut.kind,
        },
        because: parser.because,
        ..cut
    });
    Ok(Some(LenientReading {
        changes,
        cut,
        values: parser.roots.len(),
        repeated_keys: parser.repeated_keys,
        doubt: parser.doubt,
        tree: parser.out.finish_roots(Cow::Borrowed(text), &parser.roots),
    }))
}

/// The rule that would read a number in another notation.
pub(super) fn number_rule(token: &str) -> Option<RuleId> {
    numbers::normalise(token, false)?.1.map(|rule| rule.id)
}

/// Reads the decoded form of `raw`, strictly if possible, and maps all positions back.
fn read_decoded<'a>(
    raw: &'a str,
    decoded: &double_encoded::Decoded,
    rule: RuleRef,
    limits: &Limits,
    keys: &[String],
    level: usize,
) -> Result<Option<LenientReading<'a>>, ParseError> {
    let inner = match super::strict::parse(&decoded.text, limits) {
        Ok(strict) if strict.tree.root().kind() != Kind::String => LenientReading {
            changes: Changes::default(),
            cut: None,
            values: 1,
            repeated_keys: strict.repeated_keys,
            doubt: None,
            tree: strict.tree,
        },
        _ => match read_level(&decoded.text, limits, keys, level + 1)? {
            Some(inner) => inner,
            None => return Ok(None),
        },
    };
    Ok(Some(outward(raw, decoded, rule, inner)))
}

/// Reads the object or array that a string at the root holds; `None` if it holds anything else.
pub(crate) fn unwrap<'a>(
    text: &'a str,
    tree: &Tree<'_>,
    limits: &Limits,
    keys: &[String],
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
    let decoded = double_encoded::of_string(text, start, start + inner.len());
    let strict = super::strict::parse(&decoded.text, limits).ok();
    let Some(strict) = strict.filter(|strict| strict.tree.root().kind() == Kind::String) else {
        let read = read_decoded(text, &decoded, rules::JSON_STRING, limits, keys, level).ok()??;
        let kind = read.tree.root().kind();
        return matches!(kind, Kind::Object | Kind::Array).then_some(read);
    };
    let deeper = unwrap(&decoded.text, &strict.tree, limits, keys, level + 1)?;
    Some(outward(text, &decoded, rules::JSON_STRING, deeper))
}

/// What was read from a decoded text, in terms of the raw one.
fn outward<'a>(
    raw: &'a str,
    decoded: &double_encoded::Decoded,
    rule: RuleRef,
    inner: LenientReading<'_>,
) -> LenientReading<'a> {
    let at = |position: usize| decoded.place(position as u32) as usize;
    let moved = |doubt: Ambiguity| Ambiguity {
        span: at(doubt.span.start)..at(doubt.span.end),
        ..doubt
    };
    let mut changes = vec![whole(rule, raw)];
    let inner_changes = inner.changes;
    changes.extend(inner_changes.map_spans(|span| at(span.start)..at(span.end)));
    LenientReading {
        changes: changes.into(),
        cut: inner.cut.map(|cut| Cut {
            at: at(cut.at),
            because: cut.because.map(moved),
            ..cut
        }),
        values: inner.values,
        repeated_keys: inner.repeated_keys,
        doubt: inner.doubt.map(moved),
        tree: inner.tree.rebase(raw, |position| decoded.place(position)),
    }
}

/// A change that is about the whole text.
fn whole(rule: RuleRef, raw: &str) -> Change {
    text_change(rule, raw, 0..raw.len())
}

/// A change that drops these bytes, or reads them as something else altogether.
pub(super) fn text_change(rule: RuleRef, raw: &str, span: Range<usize>) -> Change {
    Change {
        rule: rule.id,
        level: rule.level,
        pointer: Pointer::root(),
        edit: Edit::Text,
        before: raw.get(span.clone()).map(|text| clip(text, 80).into()),
        after: None,
        span,
    }
}
