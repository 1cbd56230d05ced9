//! Reading arguments: strict JSON, and text that a model wrote instead of it.

mod duplicates;
mod error;
mod explain_number_error;
mod lenient;
mod options;
mod plain_text;
mod stream;
mod strict;

pub use error::{ParseClass, ParseError};
pub use options::ReadOptions;
pub use stream::{ParseEvent, StreamParser};

use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::{Actual, Change, Changes, Issue, IssueKind, Reason, Refusal};
use crate::stop::StopReason;
use crate::tree::{Kind, Node, Pointer, Tree};

pub(crate) use duplicates::RULE as DUPLICATE_KEY;
pub(crate) use lenient::makes_members;
pub(crate) use lenient::rules::all as lenient_rules;
pub(crate) use strict::{StrictReading, parse as strictly};

/// A text that was read: its value, every departure from JSON, and where it was cut off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// The value. If the text holds several values (see [`Reading::is_several`]), the array of all
    /// of them, which does not stand in the text itself.
    pub tree: Tree<'a>,
    /// The departures from JSON, in order.
    pub changes: Changes,
    /// Where the text was cut off; `None` if it is complete. The value of a cut-off text is partial.
    pub cut: Option<Cut>,
    /// The number of values in the text, one after the other (`{..}{..}`, or one per line).
    pub values: usize,
}

impl<'a> Reading<'a> {
    /// One whole value that was read without a change.
    pub(crate) fn as_sent(tree: Tree<'a>) -> Self {
        Self {
            tree,
            changes: Changes::default(),
            cut: None,
            values: 1,
        }
    }

    /// Returns true if the text was not cut off.
    pub fn is_complete(&self) -> bool {
        self.cut.is_none()
    }

    /// Returns true if the text holds several values and `tree` is the array of them.
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
    /// The byte offset where the text stopped.
    pub at: usize,
    /// The index of the value that was cut off, if there are several.
    pub(crate) root: usize,
    /// The true cause, if the text ends as a complete one would.
    pub(crate) because: Option<lenient::Ambiguity>,
}

impl Cut {
    /// A cut inside the only value.
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
    /// Parses strict JSON (RFC 8259) with the default limits, and keeps repeated keys.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        Ok(strict::parse(text, &Limits::default())?.tree)
    }

    /// Like [`Tree::parse`], with other limits.
    ///
    /// # Errors
    /// If the text is not JSON, or over a limit.
    pub fn parse_within(text: &'a str, limits: &Limits) -> Result<Self, ParseError> {
        Ok(strict::parse(text, limits)?.tree)
    }

    /// Like [`Tree::parse`], from bytes that must be UTF-8.
    ///
    /// # Errors
    /// If the bytes are not UTF-8 or not JSON.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, ParseError> {
        Ok(strict::parse(strict::utf8(bytes)?, &Limits::default())?.tree)
    }
}

/// Reads arguments from text: as strict JSON, or else as they were evidently meant, as far as the
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

/// Like [`read`], for a text that was parsed strictly already.
pub(crate) fn read_after_strict<'a>(
    text: &'a str,
    strict: Result<StrictReading<'a>, ParseError>,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let strict = match strict {
        Ok(strict) => strict,
        Err(error) => return read_leniently(text, &error, options),
    };
    let is_string = strict.tree.root().kind() == Kind::String;
    if is_string && options.unwrap && !options.policy.is_strict() {
        let keys = options.known_keys();
        let unwrapped = lenient::unwrap(text, &strict.tree, options.for_lenient(keys), 0);
        if let Some(lenient) = unwrapped {
            return judge(lenient, options);
        }
    }
    let mut reading = Reading::as_sent(strict.tree);
    if strict.repeated_keys {
        duplicates::resolve(&mut reading, &options.policy, &options.limits)?;
    }
    Ok(reading)
}

/// Reads a text that strict parsing refused.
fn read_leniently<'a>(
    text: &'a str,
    error: &ParseError,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let readable = matches!(error.class(), ParseClass::Syntax | ParseClass::CutOff);
    if options.policy.is_strict() || !readable {
        return Err(refusal(error, text));
    }
    match lenient::parse(text, options.for_lenient(options.known_keys())) {
        Ok(Some(lenient)) => judge(lenient, options),
        Ok(None) => Err(refusal(error, text)),
        Err(limit) => Err(refusal(&limit, text)),
    }
}

/// Judges a lenient reading by the policy.
fn judge<'a>(
    lenient: lenient::LenientReading<'a>,
    options: &ReadOptions,
) -> Result<Reading<'a>, Refusal> {
    let mut reading = Reading {
        tree: lenient.tree,
        changes: lenient.changes,
        cut: lenient.cut,
        values: lenient.values,
    };
    // The text was cut off inside the first value whose end is unsure, if there is one.
    if options.stop == StopReason::CutOff
        && reading.cut.is_none()
        && let Some(change) = reading.changes.find(lenient::has_unsure_end)
    {
        reading.cut = Some(Cut {
            pointer: change.pointer,
            ..Cut::at_root(reading.tree.source().len())
        });
    }
    let unclosed = lenient::rules::UNCLOSED.id;
    // Missing brackets are judged with the cut, in `may_close`.
    let is_refused = |rule, level| rule != unclosed && !options.policy.allows(rule, level);
    if let Some(change) = reading.changes.find(is_refused) {
        return Err(change_refusal(&change, reading, options.stop));
    }
    if let Some(ambiguity) = lenient.ambiguity {
        match &mut reading.cut {
            Some(cut) => cut.kind = CutKind::Inside,
            None => return Err(ambiguity_refusal(ambiguity, reading.tree.source())),
        }
    }
    // A partial value is only looked at; one that may become a call must have one reading.
    let cut = reading.cut.as_ref();
    let may_run = cut.is_none_or(|cut| may_close(cut, &options.policy, options.stop));
    if lenient.repeated_keys && may_run {
        duplicates::resolve(&mut reading, &options.policy, &options.limits)?;
    } else if lenient.repeated_keys {
        duplicates::drop_in_partial(&mut reading);
    }
    Ok(reading)
}

/// The refusal of a change that the policy does not allow.
fn change_refusal(change: &Change, reading: Reading<'_>, stop: StopReason) -> Refusal {
    if let Some(cut) = reading.cut.as_ref().filter(|cut| cut.because.is_some()) {
        return cut_refusal(cut, reading.tree.source(), stop);
    }
    // Members without braces always end as if they were cut off.
    let is_braceless =
        change.rule == lenient::rules::MISSING_BRACE.id && stop != StopReason::CutOff;
    if let Some(cut) = reading.cut
        && !is_braceless
    {
        return cut_off(cut.pointer, cut.at).placed_in(reading.tree.source());
    }
    let (pointer, span) = (change.pointer.clone(), change.span.clone());
    let mut issue = Issue::new(pointer, IssueKind::Malformed, span);
    issue.expected.to_mut().rule = Some(change.rule);
    issue.actual = change.before.as_deref().map(Actual::text);
    explain_number_error::explain_unfinished(&mut issue, change.before.as_deref());
    Refusal::single(Reason::Malformed, issue).placed_in(reading.tree.source())
}

/// The refusal of a text with several readings, among which no policy chooses.
fn ambiguity_refusal(ambiguity: lenient::Ambiguity, text: &str) -> Refusal {
    let span = ambiguity.span.clone();
    let mut issue = Issue::new(ambiguity.pointer, IssueKind::Malformed, span);
    issue.expected.to_mut().rule = Some(ambiguity.rule);
    let actual = text.get(ambiguity.span).filter(|text| !text.is_empty());
    issue.actual = actual.map(Actual::text);
    Refusal::single(Reason::Malformed, issue).placed_in(text)
}

/// Reads the same value several times in a row as one value, if the policy allows it.
pub(crate) fn drop_repeated_values<'a>(mut reading: Reading<'a>, policy: &Policy) -> Reading<'a> {
    let rule = lenient::rules::REPEATED_VALUE;
    let root = reading.tree.root();
    if reading.values < 2 || !policy.allows(rule.id, rule.level) {
        return reading;
    }
    let mut values = root.elements();
    let first = values.next();
    if let Some(first) = first.filter(|first| values.all(|value| value == *first)) {
        let span = first.span().end..root.span().end;
        let change = lenient::text_change(rule, reading.tree.source(), span);
        reading.changes.to_mut().push(change);
        reading.tree.root = first.id;
        reading.values = 1;
    }
    reading
}

/// Drops empty objects beside the only value that is not empty, if the policy allows it. The schema
/// must not accept an empty object.
pub(crate) fn drop_empty_fragments<'a>(mut reading: Reading<'a>, policy: &Policy) -> Reading<'a> {
    let rule = lenient::rules::EMPTY_FRAGMENT;
    if reading.values < 2 || reading.cut.is_some() || !policy.allows(rule.id, rule.level) {
        return reading;
    }
    let source = reading.tree.source();
    let is_empty = |value: &Node<'_>| value.kind() == Kind::Object && value.is_empty();
    let mut full = reading
        .tree
        .root()
        .elements()
        .filter(|value| !is_empty(value));
    let (Some(only), None) = (full.next(), full.next()) else {
        return reading;
    };
    let id = only.id;
    let fragments = reading.tree.root().elements().filter(is_empty);
    let changes: Vec<Change> = fragments
        .map(|fragment| lenient::text_change(rule, source, fragment.span()))
        .collect();
    reading.changes.to_mut().extend(changes);
    reading.tree.root = id;
    reading.values = 1;
    reading
}

/// Returns true if only brackets are missing and they may be closed, so that the value is complete.
/// Nothing but the host's word says that the model had finished.
fn may_close(cut: &Cut, policy: &Policy, stop: StopReason) -> bool {
    let rule = lenient::rules::UNCLOSED;
    let only_brackets = cut.kind == CutKind::Brackets && stop == StopReason::Finished;
    only_brackets && policy.allows(rule.id, rule.level)
}

/// The refusal of arguments that were cut off.
pub(crate) fn cut_off(pointer: Pointer, at: usize) -> Refusal {
    let issue = Issue::new(pointer, IssueKind::Truncated, at..at);
    Refusal::single(Reason::Truncated, issue)
}

/// The refusal of arguments that were cut off, or whose end is wrong in another way.
fn cut_refusal(cut: &Cut, text: &str, stop: StopReason) -> Refusal {
    match &cut.because {
        Some(cause) if stop != StopReason::CutOff => ambiguity_refusal(cause.clone(), text),
        _ => cut_off(cut.pointer.clone(), cut.at),
    }
}

/// Refuses a reading that cannot be one call, because it was cut off or holds several values.
pub(crate) fn reject_partial_or_multiple(
    reading: &Reading<'_>,
    policy: &Policy,
    stop: StopReason,
) -> Option<Refusal> {
    if let Some(cut) = &reading.cut
        && !may_close(cut, policy, stop)
    {
        return Some(cut_refusal(cut, reading.tree.source(), stop));
    }
    // A number that nothing follows may have had more digits.
    let (root, end) = (reading.tree.root(), reading.tree.source().len());
    if stop == StopReason::CutOff && root.kind() == Kind::Number && root.span().end == end {
        return Some(cut_off(Pointer::root(), end));
    }
    if reading.values > 1 {
        let root = reading.tree.root();
        let mut issue = Issue::new(Pointer::root(), IssueKind::Ambiguous, root.span());
        issue.expected.to_mut().prose.words = Some(format!("one value, not {}", reading.values));
        issue.expected.to_mut().allowed = root
            .elements()
            .take(8)
            .map(|value| Actual::of(value).short)
            .collect();
        return Some(Refusal::single(Reason::Ambiguous, issue));
    }
    None
}

/// Converts bytes to text, or refuses them if they are not UTF-8.
pub(crate) fn utf8_or_refusal(bytes: &[u8]) -> Result<&str, Refusal> {
    strict::utf8(bytes).map_err(|error| {
        let valid = &bytes[..error.offset()];
        refusal(
            &error,
            std::str::from_utf8(valid).expect("bytes that are valid UTF-8"),
        )
    })
}

/// The refusal of a text that could not be parsed.
fn refusal(error: &ParseError, text: &str) -> Refusal {
    let (reason, kind) = match error.class() {
        ParseClass::Empty => (Reason::Empty, IssueKind::Empty),
        ParseClass::CutOff => (Reason::Truncated, IssueKind::Truncated),
        ParseClass::Syntax | ParseClass::NotUtf8 => (Reason::Malformed, IssueKind::Malformed),
        ParseClass::TooDeep | ParseClass::TooLarge => (Reason::TooLarge, IssueKind::Limit),
    };
    let at = error.offset().min(text.len());
    let rest = text.get(at..).unwrap_or_default();
    let width = rest.chars().next().map_or(0, char::len_utf8);
    let mut issue = Issue::new(Pointer::root(), kind, at..at + width);
    issue.expected.to_mut().syntax = Some(error.expected());
    issue.actual = (!rest.is_empty()).then(|| Actual::text(rest));
    if kind == IssueKind::Malformed {
        explain_number_error::explain_in_strict(&mut issue, error.expected(), text, at);
    }
    Refusal::single(reason, issue).placed_in(text)
}
