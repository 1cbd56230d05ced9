//! Reading arguments: strict JSON, and what a model wrote instead of it.

mod duplicates;
mod error;
mod explain_number_error;
mod lenient;
mod options;
mod stream;
mod strict;

pub use error::{ParseClass, ParseError};
pub use options::ReadOptions;
pub use stream::{ParseEvent, StreamParser};

use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::{Actual, Change, Changes, Issue, IssueKind, Reason, Refusal};
use crate::rule::Level;
use crate::stop::StopReason;
use crate::tree::{Kind, Pointer, Tree};

pub(crate) use duplicates::RULE as DUPLICATE_KEY;
pub(crate) use lenient::rules::all as lenient_rules;
pub(crate) use strict::{StrictReading, parse as strictly};

/// A text that was read: its value, every departure from JSON, and whether it was complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// The value; the array of all values if there are several.
    pub tree: Tree<'a>,
    /// What was read as something that JSON would write differently.
    pub changes: Changes,
    /// Where the text was cut off; `None` if it is complete. The value is then partial.
    pub cut: Option<Cut>,
    /// How many values stand in the text, one after the other (`{..}{..}`, one a line).
    pub values: usize,
}

impl Reading<'_> {
    /// Was the text complete?
    pub fn is_complete(&self) -> bool {
        self.cut.is_none()
    }

    /// Are there several values, of which `tree` is the array?
    pub fn is_several(&self) -> bool {
        self.values > 1
    }
}

/// Where a text was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The value that was being read.
    pub pointer: Pointer,
    /// What is missing.
    pub kind: CutKind,
    /// The byte of the raw text where it stopped.
    pub at: usize,
    /// Which of several values.
    pub(crate) root: usize,
    /// What is wrong instead, if the text ends as a whole one would.
    pub(crate) because: Option<lenient::Ambiguity>,
}

impl Cut {
    /// Inside the only value.
    pub(crate) fn at_root(at: usize) -> Self {
        Self {
            pointer: Pointer::root(),
            kind: CutKind::Inside,
            at,
            root: 0,
            because: None,
        }
    }
}

/// What is missing from a text that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutKind {
    /// The text stops after a whole value: only the brackets that close what is open are missing.
    Brackets,
    /// The text stops inside a string, a number, a word or a key, or where one must follow. A
    /// number at the very end counts here: it may have had more digits.
    Inside,
}

impl<'a> Tree<'a> {
    /// Parses strict JSON (RFC 8259) with the default limits. Repeated keys are kept.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        Ok(strict::parse(text, &Limits::default())?.tree)
    }

    /// Like [`Tree::parse`], from bytes that must be UTF-8.
    ///
    /// # Errors
    /// If the bytes are not UTF-8 or not JSON.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, ParseError> {
        Ok(strict::parse(strict::utf8(bytes)?, &Limits::default())?.tree)
    }
}

/// Reads arguments from text: strictly, or else as they were evidently meant, as far as the
/// policy allows.
///
/// ```
/// use goodcall_core::{Policy, ReadOptions, read};
///
/// let reading = read("```json\n{'path': 'a.txt',}\n```", &ReadOptions::new()).unwrap();
/// assert_eq!(reading.tree.to_json(), r#"{"path":"a.txt"}"#);
/// assert_eq!(reading.changes[0].rule, goodcall_core::RuleId::CodeFence);
///
/// let reading = read(r#"{"path": "a.t"#, &ReadOptions::new()).unwrap();
/// assert_eq!(reading.tree.to_json(), r#"{"path":"a.t"}"#);
/// assert_eq!(reading.cut.unwrap().pointer.as_str(), "/path");
///
/// assert!(read("{'path': 'a.txt'}", &ReadOptions::new().policy(Policy::strict())).is_err());
/// ```
///
/// # Errors
/// If there is nothing to read, if the policy does not allow a change that reading it takes, or
/// if it can be read in more than one way.
pub fn read<'a>(text: &'a str, options: &ReadOptions) -> Result<Reading<'a>, Refusal> {
    read_after_strict(text, strict::parse(text, &options.limits), options)
}

/// The same from what came of strict parsing on.
pub(crate) fn read_after_strict<'a>(
    text: &'a str,
    strict: Result<StrictReading<'a>, ParseError>,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let strict = match strict {
        Ok(strict) => strict,
        Err(error) => return leniently(text, &error, options),
    };
    let unwrapped = match strict.tree.root().kind() {
        Kind::String if options.unwrap && !options.policy.is_strict() => lenient::unwrap(
            text,
            &strict.tree,
            &options.limits,
            &options.known_keys(),
            0,
        ),
        _ => None,
    };
    if let Some(lenient) = unwrapped {
        return finish(lenient, options);
    }
    let mut reading = Reading {
        tree: strict.tree,
        changes: Changes::default(),
        cut: None,
        values: 1,
    };
    if strict.repeated_keys {
        duplicates::resolve(&mut reading, &options.policy, &options.limits)?;
    }
    Ok(reading)
}

/// Reads what strict parsing refused.
fn leniently<'a>(
    text: &'a str,
    error: &ParseError,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let hopeless = !matches!(error.class(), ParseClass::Syntax | ParseClass::CutOff);
    if options.policy.is_strict() || hopeless {
        return Err(refusal(error, text));
    }
    match lenient::parse(text, &options.limits, &options.known_keys()) {
        Ok(Some(lenient)) => finish(lenient, options),
        Ok(None) => Err(refusal(error, text)),
        Err(limit) => Err(refusal(&limit, text)),
    }
}

/// Judges what was read by the policy.
fn finish<'a>(
    lenient: lenient::LenientReading<'a>,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let mut reading = Reading {
        tree: lenient.tree,
        changes: lenient.changes,
        cut: lenient.cut,
        values: lenient.values,
    };
    let unclosed = lenient::rules::UNCLOSED.id;
    if options.stop == StopReason::CutOff
        && reading.cut.is_none()
        && let Some(change) = reading.changes.find(lenient::has_unsure_end)
    {
        // What was cut off may have been inside that value.
        let at = reading.tree.source().len();
        reading.cut = Some(Cut {
            pointer: change.pointer,
            ..Cut::at_root(at)
        });
    }
    if options.stop == StopReason::Finished {
        reading.changes.set_level(unclosed, Level::Safe);
    }
    let refused = reading
        .changes
        .find(|rule, level| rule != unclosed && !options.policy.allows(rule, level));
    if let Some(change) = refused {
        return Err(unsure(&change, reading, options.stop));
    }
    match (&mut reading.cut, lenient.ambiguity) {
        (Some(cut), Some(_)) => cut.kind = CutKind::Inside,
        (None, Some(doubt)) => return Err(doubtful(doubt, reading.tree.source())),
        (_, None) => {}
    }
    // A partial value is only looked at; one that may become a call must have one reading.
    let cut = reading.cut.as_ref();
    let may_run = cut.is_none_or(|cut| may_close(cut, &options.policy, options.stop));
    if lenient.repeated_keys && may_run {
        duplicates::resolve(&mut reading, &options.policy, &options.limits)?;
    }
    Ok(reading)
}

/// The policy does not allow this change.
fn unsure(change: &Change, reading: Reading<'_>, stop: StopReason) -> Refusal {
    if let Some(cut) = reading.cut.as_ref().filter(|cut| cut.because.is_some()) {
        return not_whole(cut, reading.tree.source(), stop);
    }
    // Members without braces look unfinished to the last.
    let braceless = change.rule == lenient::rules::MISSING_BRACE.id && stop != StopReason::CutOff;
    let cut = reading.cut.filter(|_| !braceless);
    let (reason, code) = match cut {
        Some(_) => (Reason::Truncated, IssueKind::Truncated),
        None => (Reason::Malformed, IssueKind::Malformed),
    };
    let mut issue = Issue::new(change.pointer.clone(), code, change.span.clone());
    if let Some(cut) = cut {
        issue = Issue::new(cut.pointer, code, cut.at..cut.at);
    } else {
        issue.expected.rule = Some(change.rule);
        issue.actual = change.before.as_deref().map(Actual::text);
        explain_number_error::tell_half(&mut issue, change.before.as_deref());
    }
    Refusal::single(reason, issue).placed_in(reading.tree.source())
}

/// There are several readings, and no policy chooses among them.
fn doubtful(doubt: lenient::Ambiguity, text: &str) -> Refusal {
    let mut issue = Issue::new(doubt.pointer, IssueKind::Malformed, doubt.span.clone());
    issue.expected.rule = Some(doubt.rule);
    let got = text.get(doubt.span).filter(|got| !got.is_empty());
    issue.actual = got.map(Actual::text);
    Refusal::single(Reason::Malformed, issue).placed_in(text)
}

/// The same value several times in a row is one value, if the policy says so.
pub(crate) fn without_repeats<'a>(mut reading: Reading<'a>, policy: &Policy) -> Reading<'a> {
    let rule = lenient::rules::REPEATED_VALUE;
    let root = reading.tree.root();
    if reading.values < 2 || !policy.allows(rule.id, rule.level) {
        return reading;
    }
    let mut values = root.elements();
    let first = values.next();
    if let Some(first) = first.filter(|first| values.all(|value| value == *first)) {
        let span = first.span().end..root.span().end;
        reading
            .changes
            .push(lenient::text_change(rule, reading.tree.source(), span));
        reading.tree.root = first.id;
        reading.values = 1;
    }
    reading
}

/// May the missing brackets be closed, so that the value is a whole one?
fn may_close(cut: &Cut, policy: &Policy, stop: StopReason) -> bool {
    let rule = lenient::rules::UNCLOSED;
    let level = match stop {
        StopReason::Finished => Level::Safe,
        _ => rule.level,
    };
    let whole = cut.kind == CutKind::Brackets && stop != StopReason::CutOff;
    whole && policy.allows(rule.id, level)
}

/// The arguments were cut off here.
pub(crate) fn cut_off(pointer: Pointer, at: usize) -> Refusal {
    let issue = Issue::new(pointer, IssueKind::Truncated, at..at);
    Refusal::single(Reason::Truncated, issue)
}

/// The arguments were cut off, or something else is wrong at their end.
fn not_whole(cut: &Cut, text: &str, stop: StopReason) -> Refusal {
    match &cut.because {
        Some(doubt) if stop != StopReason::CutOff => doubtful(doubt.clone(), text),
        _ => cut_off(cut.pointer.clone(), cut.at),
    }
}

/// Why what was read cannot be one call: it was cut off, or it is several values.
pub(crate) fn reject_partial_or_multiple(
    reading: &Reading<'_>,
    policy: &Policy,
    stop: StopReason,
) -> Option<Refusal> {
    if let Some(cut) = &reading.cut
        && !may_close(cut, policy, stop)
    {
        return Some(not_whole(cut, reading.tree.source(), stop));
    }
    // A number that nothing follows may have had more digits.
    let (root, end) = (reading.tree.root(), reading.tree.source().len());
    if stop == StopReason::CutOff && root.kind() == Kind::Number && root.span().end == end {
        return Some(cut_off(Pointer::root(), end));
    }
    if reading.values > 1 {
        let root = reading.tree.root();
        let mut issue = Issue::new(Pointer::root(), IssueKind::Ambiguous, root.span());
        issue.expected.words = Some(format!("one value, not {}", reading.values));
        issue.expected.allowed = root
            .elements()
            .take(8)
            .map(|value| Actual::of(value).short)
            .collect();
        return Some(Refusal::single(Reason::Ambiguous, issue));
    }
    None
}

/// The text in bytes that should be UTF-8.
///
/// # Errors
/// If they are not.
pub(crate) fn utf8_or_refusal(bytes: &[u8]) -> Result<&str, Refusal> {
    strict::utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.offset()).unwrap_or_default();
        refusal(&error, std::str::from_utf8(valid).unwrap_or_default())
    })
}

/// A parse error as a verdict.
fn refusal(error: &ParseError, text: &str) -> Refusal {
    let (reason, code) = match error.class() {
        ParseClass::Empty => (Reason::Empty, IssueKind::Empty),
        ParseClass::CutOff => (Reason::Truncated, IssueKind::Truncated),
        ParseClass::Syntax | ParseClass::NotUtf8 => (Reason::Malformed, IssueKind::Malformed),
        ParseClass::TooDeep | ParseClass::TooLarge => (Reason::TooLarge, IssueKind::Limit),
    };
    let at = error.offset().min(text.len());
    let rest = text.get(at..).unwrap_or_default();
    let width = rest.chars().next().map_or(0, char::len_utf8);
    let mut issue = Issue::new(Pointer::root(), code, at..at + width);
    issue.expected.syntax = Some(error.wanted());
    issue.actual = (!rest.is_empty()).then(|| Actual::text(rest));
    if code == IssueKind::Malformed {
        explain_number_error::tell_strict(&mut issue, error.wanted(), text, at);
    }
    Refusal::single(reason, issue).placed_in(text)
}
