//! Calls as recordings keep them, whatever the format.

use std::borrow::Cow;
use std::sync::Arc;

use goodcall::LoopReport;
use goodcall_core::{Schema, StopReason};
use goodcall_wire::recorded::TokenCount;
use goodcall_wire::{RawCall, Tools};
use serde::{Deserialize, Serialize};

/// Where a call was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordPlace {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// The record in the file, from 1 on: a line, a row, an element, or a value.
    pub record: u64,
    /// The call in the record, from 0 on.
    pub call: u32,
}

impl RecordPlace {
    /// Returns the place of a record.
    pub fn new(file: Arc<str>, record: u64) -> Self {
        Self {
            file,
            record,
            call: 0,
        }
    }
}

impl std::fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.record)
    }
}

/// The calls of one message of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedTurn<'r> {
    /// The record that holds the message.
    pub place: RecordPlace,
    /// The conversation, if the recording tells conversations apart and holds their turns in order.
    pub conversation: Option<Cow<'r, str>>,
    /// Seconds since 1970.
    pub time: Option<i64>,
    /// The model that wrote the message.
    pub model: Option<Cow<'r, str>>,
    /// The server: of the tools where the recording is that of tool servers, else of the model.
    pub server: Option<Cow<'r, str>>,
    /// The tools that were offered.
    pub tools: OfferedTools,
    /// How the message ended.
    pub stop: StopReason,
    /// The tokens that the message took.
    pub tokens: Option<TokenCount>,
    /// True if the user said something before this turn, which ends a row of equal calls.
    pub after_user: bool,
    /// The loop that the turn is part of, if the record itself shows that.
    pub recorded_loop: Option<RecordedLoop>,
    /// The calls, in order.
    pub calls: Vec<RecordedCall<'r>>,
}

impl<'r> RecordedTurn<'r> {
    /// Returns a turn without calls, of which nothing is known.
    pub fn new(place: RecordPlace) -> Self {
        Self {
            place,
            conversation: None,
            time: None,
            model: None,
            server: None,
            tools: OfferedTools::NotRecorded(KnownTools::Some),
            stop: StopReason::Unknown,
            tokens: None,
            after_user: false,
            recorded_loop: None,
            calls: Vec::new(),
        }
    }
}

/// A loop that one record shows: in the history of a request, or as a log names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedLoop {
    /// The pattern by which it was found.
    pub signal: Cow<'static, str>,
    /// The tools that take part.
    pub tools: String,
    /// How many times the pattern was seen; 0 if that was not recorded.
    pub times: u64,
    /// True if the loop is found here for the first time.
    pub is_new: bool,
}

impl RecordedLoop {
    /// Returns a loop that a log names.
    pub fn named(signal: &str, tools: impl Into<String>) -> Self {
        Self {
            signal: Cow::Owned(signal.to_owned()),
            tools: tools.into(),
            times: 0,
            is_new: true,
        }
    }
}

impl From<&LoopReport> for RecordedLoop {
    fn from(report: &LoopReport) -> Self {
        Self {
            signal: Cow::Borrowed(report.signal.name()),
            tools: report.tools.join(", "),
            times: report.times as u64,
            is_new: report.level == 1,
        }
    }
}

/// The tools that were offered when a call was made.
#[derive(Clone, Debug)]
pub enum OfferedTools {
    /// All of them, as recorded.
    Recorded(Tools),
    /// The schema of the tool that was called.
    Schema(Schema),
    /// Recorded, but unusable; the text says why.
    Unusable(Arc<str>),
    /// Not recorded: those that were handed in apply.
    NotRecorded(KnownTools),
}

/// What the tools are that are handed in for recordings without definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownTools {
    /// All that were offered, so that a name which is not among them was made up.
    All,
    /// Some of those that were offered: nothing is said about others.
    Some,
}

/// One recorded call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedCall<'r> {
    /// The id, which results are matched by.
    pub id: Option<Cow<'r, str>>,
    /// The name of the tool as it was sent.
    pub tool: Cow<'r, str>,
    /// The arguments.
    pub arguments: SentArguments<'r>,
    /// The call as it was found in a provider's message, if it was.
    pub found: Option<Box<RawCall>>,
    /// What the model read as the result.
    pub result: Option<RecordedResult<'r>>,
    /// The verdict of a goodcall that saw the call then.
    pub verdict: Option<RecordedVerdict>,
}

impl<'r> RecordedCall<'r> {
    /// Returns a call of this tool with these arguments.
    pub fn new(tool: impl Into<Cow<'r, str>>, arguments: SentArguments<'r>) -> Self {
        Self {
            id: None,
            tool: tool.into(),
            arguments,
            found: None,
            result: None,
            verdict: None,
        }
    }

    /// Returns a call that was found in a provider's message. `kept` says whether the format keeps
    /// the text of arguments.
    pub fn found(call: RawCall, kept: ArgumentsKept) -> Self {
        let text = Cow::Owned(call.arguments.clone());
        Self {
            id: call.id.clone().map(Cow::Owned),
            tool: Cow::Owned(call.name.clone()),
            arguments: match kept {
                ArgumentsKept::AsText => SentArguments::Text(text),
                ArgumentsKept::AsValue => SentArguments::Value(text),
            },
            found: Some(Box::new(call)),
            result: None,
            verdict: None,
        }
    }
}

/// How a format keeps arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsKept {
    /// As the model wrote them.
    AsText,
    /// Parsed: what the model wrote is lost.
    AsValue,
}

/// The arguments of a recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentArguments<'r> {
    /// The text that the model wrote.
    Text(Cow<'r, str>),
    /// The JSON text of a parsed value. Whatever was wrong with the text itself is lost.
    Value(Cow<'r, str>),
    /// Free text for a tool that takes no JSON.
    Free(Cow<'r, str>),
    /// Nothing was recorded.
    NotRecorded,
}

impl SentArguments<'_> {
    /// The text; empty if nothing was recorded.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Value(text) | Self::Free(text) => text,
            Self::NotRecorded => "",
        }
    }
}

/// The result of a recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedResult<'r> {
    /// What the model read.
    pub text: Cow<'r, str>,
    /// True if the recording says that it is an error.
    pub is_error: bool,
}

impl<'r> RecordedResult<'r> {
    /// Returns a result.
    pub fn new(text: impl Into<Cow<'r, str>>, is_error: bool) -> Self {
        Self {
            text: text.into(),
            is_error,
        }
    }
}

/// A verdict that was recorded instead of the arguments that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedVerdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// Each rule or kind of issue, with the field that it is about.
    pub notes: Vec<(String, String)>,
}

impl RecordedVerdict {
    /// Returns a verdict with these notes: rules or kinds of issues, each with its field.
    pub fn new(kind: VerdictKind, notes: Vec<(String, String)>) -> Self {
        Self { kind, notes }
    }
}

/// A verdict without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Valid as sent.
    Good,
    /// Valid after changes.
    Mended,
    /// Not to be run.
    Bad,
}

impl VerdictKind {
    /// Reads a verdict's name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "good" => Some(Self::Good),
            "mended" => Some(Self::Mended),
            "bad" => Some(Self::Bad),
            _ => None,
        }
    }
}

impl From<&goodcall_core::Verdict<'_>> for VerdictKind {
    fn from(verdict: &goodcall_core::Verdict<'_>) -> Self {
        match verdict {
            goodcall_core::Verdict::Good(_) => Self::Good,
            goodcall_core::Verdict::Mended(_) => Self::Mended,
            goodcall_core::Verdict::Bad(_) => Self::Bad,
        }
    }
}
