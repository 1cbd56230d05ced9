//! Formats of recordings. Each is one file: what its records look like, and how they are read.

pub(crate) mod batch;
mod cassette;
mod claude_code;
mod codex;
mod exchange;
mod fields;
mod gateway;
mod gen_ai;
mod langchain;
mod langfuse;
mod langsmith;
mod litellm;
mod mcp_log;
mod mcp_record;
mod messages;
mod open_inference;
mod opencode;
mod pending;
mod protocol;
mod spans;

#[cfg(feature = "arrow")]
pub(crate) use fields::{seconds_of_number, seconds_of_text};

use std::borrow::Cow;

use goodcall_core::Node;

use crate::judge::CallJudge;
use crate::recorded::{RecordPlace, RecordedTurn};

/// One record of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogRecord<'r> {
    /// The JSON text.
    pub text: &'r str,
    /// The value.
    pub root: Node<'r>,
    /// Where it is.
    pub place: RecordPlace,
}

impl<'r> LogRecord<'r> {
    /// Returns a record that was parsed already.
    pub fn new(text: &'r str, root: Node<'r>, place: RecordPlace) -> Self {
        Self { text, root, place }
    }

    /// The JSON text of a part of this record.
    pub(crate) fn part(&self, node: Node<'_>) -> &'r str {
        &self.text[node.span()]
    }
}

/// Why a record cannot be read. Reasons are few, since records are counted by them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub Cow<'static, str>);

impl Unreadable {
    pub(crate) const fn because(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

/// Whether records depend on those before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOrder {
    /// Each record stands alone: a file can be read in parts.
    Independent,
    /// Records continue each other: a file is read from its start.
    InOrder,
}

/// A format of recordings.
pub trait LogFormat: Sync {
    /// The name in reports.
    fn name(&self) -> &'static str;

    /// Returns true if this record is of the format, and of no other.
    fn recognises(&self, record: Node<'_>) -> bool;

    /// Whether the records of a file that has this one depend on each other.
    fn order(&self, record: Node<'_>) -> RecordOrder {
        let _ = record;
        RecordOrder::InOrder
    }

    /// Returns a reader for one file, or for a part of one.
    fn reader(&self) -> Box<dyn RecordReader>;
}

/// The number of calls in a record, or why it cannot be read.
pub type CallsRead = Result<usize, Unreadable>;

/// Reads the records of one file, in order. A function is a reader that keeps nothing between records.
pub trait RecordReader: Send {
    /// Reads one record. Returns the number of calls in it.
    ///
    /// # Errors
    /// If the record is not of the format.
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead;

    /// Passes on what was kept back, at the end of the file.
    fn finish(&mut self, out: &mut dyn TurnSink) {
        let _ = out;
    }
}

impl<F> RecordReader for F
where
    F: FnMut(&LogRecord<'_>, &mut dyn TurnSink) -> CallsRead + Send,
{
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        self(record, out)
    }
}

/// Takes the turns that readers find.
pub trait TurnSink {
    /// The judge, which keeps lists of tools by their content.
    fn judge(&self) -> &CallJudge;

    /// Takes one turn.
    fn turn(&mut self, turn: &RecordedTurn<'_>);

    /// Takes note of a part of a record that cannot be read, while the rest can. It counts as a
    /// record of its own.
    fn unreadable_part(&mut self, reason: Unreadable, place: RecordPlace);
}

/// All formats. The first one that recognises a record reads its file, so that forms which others
/// contain come last.
pub const FORMATS: [&dyn LogFormat; 15] = [
    &protocol::Protocol,
    &gateway::GatewayLog,
    &mcp_log::McpLog,
    &mcp_record::McpRecord,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &opencode::Opencode,
    &batch::Batch,
    &cassette::Cassette,
    &spans::Spans,
    &langsmith::LangSmith,
    &langfuse::Langfuse,
    &litellm::LiteLlm,
    &messages::Messages,
    &exchange::Exchanges,
];

/// Finds the format of a record.
pub fn format_of(record: Node<'_>) -> Option<&'static dyn LogFormat> {
    FORMATS.into_iter().find(|format| format.recognises(record))
}
