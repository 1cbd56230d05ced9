//! Why tool calls fail: reads recordings, judges every call, and counts what comes of it.
//!
//! A recording is a file of one of the [`FORMATS`], told by its content. Its calls become
//! [`RecordedTurn`]s, whatever the format; a [`CallJudge`] judges them by the tools that were offered;
//! an [`Aggregate`] counts. [`audit()`] does all of this with every core.

mod aggregate;
mod auditor;
mod batch_requests;
#[cfg(feature = "arrow")]
mod columns;
mod compare;
#[cfg(feature = "sqlite")]
mod export;
mod fixtures;
mod input;
mod judge;
mod loops;
mod playground;
mod readers;
mod recorded;
mod report;
mod result_text;
mod run;
mod secrets;
mod threshold;

pub use aggregate::{
    Aggregate, CallCounts, DefinitionVersions, ExampleCall, ExampleNote, ExampleSettings,
    FailedDefinition, FailureClass, FailureExample, FailureOutcome, FailureStats, Group, GroupKey,
    LoopStats, NamedPlaces, SourceCounts, TurnCost, TurnCosts,
};
pub use auditor::Auditor;
#[cfg(feature = "arrow")]
pub use columns::{COLUMNS, ColumnNames};
pub use compare::{AuditComparison, ComparedShare};
#[cfg(all(feature = "sqlite", feature = "parquet"))]
pub use export::export_parquet;
#[cfg(feature = "sqlite")]
pub use export::{ExportError, each_stored, export_lines};
pub use fixtures::{
    CallFixture, ExpectedIssue, ExpectedOutcome, ReplayedFixture, WrittenFixtures, fixture_files,
    write_fixtures,
};
pub use input::{InputFile, expand};
pub use judge::{CallJudge, Judged, Judgement};
pub use playground::{playground_answer, playground_page};
pub use readers::{
    CallsRead, FORMATS, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable,
    format_of,
};
pub use recorded::{
    ArgumentsKept, KnownTools, OfferedTools, RecordPlace, RecordedCall, RecordedLoop,
    RecordedResult, RecordedTurn, RecordedVerdict, SentArguments, VerdictKind,
};
pub use report::{
    AuditReport, ReportFailure, ReportLoop, ReportProblems, ReportRow, ReportSource, ReportTotals,
};
pub use run::{AuditProgress, AuditSettings, Audited, SavedState, audit};
pub use threshold::{InvalidThreshold, Threshold};
