//! The log: one record per call, and warnings for the operator.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goodcall_wire::relay::{CallNote, CallRecord, CallVerdict};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::admin::ProxyAdmin;
use crate::call_span;
use crate::recording::Recorder;

/// One call as it is logged.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProxyRecord {
    /// When the call came, in milliseconds since 1970.
    pub time_ms: u64,
    /// The server's name.
    pub server: String,
    /// The name of the tool that was called.
    pub tool: String,
    /// The name as sent, if it was mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// The verdict on the call.
    pub verdict: ProxyVerdict,
    /// The rules that changed the call.
    pub rules: Vec<&'static str>,
    /// The reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// How the call ended.
    pub outcome: ProxyOutcome,
    /// Milliseconds from the request to the answer.
    pub latency_ms: f64,
    /// The signal of a loop, if the call looks like part of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#loop: Option<&'static str>,
    /// Whether the result matches the tool's output schema; `None` without such a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputCheck>,
    /// The arguments, and what only the page and spans show.
    #[serde(flatten)]
    pub details: CallDetails,
}

/// The arguments of a call, and what only the page and spans show of it.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CallDetails {
    /// The arguments as sent, if the host wants them logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// The arguments that were forwarded in their place, if the host wants them logged.
    #[serde(skip)]
    pub passed: Option<String>,
    /// The text that the model read in place of a result, if the host wants arguments logged.
    #[serde(skip)]
    pub told: Option<String>,
    /// The changes, or the issues of a bad call.
    #[serde(skip)]
    pub notes: Vec<CallNote>,
    /// Whether the call was forwarded as sent, whatever the verdict.
    #[serde(skip)]
    pub is_observed: bool,
    /// The trace that the call is part of: `traceparent` and `tracestate`.
    #[serde(skip)]
    pub trace_context: Vec<(&'static str, String)>,
}

impl ProxyRecord {
    /// The call as the page and the metrics take it.
    pub(crate) fn judged(&self) -> CallRecord {
        let verdict = match self.verdict {
            ProxyVerdict::Good => CallVerdict::Good,
            ProxyVerdict::Mended => CallVerdict::Mended,
            ProxyVerdict::Bad => CallVerdict::Bad,
            ProxyVerdict::Unchecked => CallVerdict::Unjudged,
        };
        let mut call = CallRecord::new(&self.tool, verdict);
        call.reason = self.reason;
        call.notes.clone_from(&self.details.notes);
        if let Some(arguments) = &self.details.arguments {
            arguments.get().clone_into(&mut call.sent);
        }
        call.passed.clone_from(&self.details.passed);
        call.told.clone_from(&self.details.told);
        call
    }
}

/// The verdict on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProxyVerdict {
    /// Valid as sent.
    Good,
    /// Forwarded with its name or arguments mended.
    Mended,
    /// Not forwarded.
    Bad,
    /// Forwarded without a check, because the tool's schema is not known.
    Unchecked,
}

/// How the structured content of a result compares with the tool's output schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputCheck {
    /// It matches.
    Match,
    /// It does not match, or is missing.
    Mismatch,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProxyOutcome {
    /// The tool ran.
    Ok,
    /// The tool ran and reported an error.
    ToolError,
    /// The server answered with a protocol error.
    Error,
    /// The call was not forwarded.
    Refused,
    /// The server did not answer in time.
    TimedOut,
    /// The client cancelled it.
    Cancelled,
    /// The server ended before it answered.
    ServerGone,
}

impl ProxyOutcome {
    /// The name in the log, the metrics and spans, such as `tool_error`.
    pub fn name(self) -> &'static str {
        match self {
            ProxyOutcome::Ok => "ok",
            ProxyOutcome::ToolError => "tool_error",
            ProxyOutcome::Error => "error",
            ProxyOutcome::Refused => "refused",
            ProxyOutcome::TimedOut => "timed_out",
            ProxyOutcome::Cancelled => "cancelled",
            ProxyOutcome::ServerGone => "server_gone",
        }
    }
}

/// One entry of the log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogEntry {
    /// A warning for the operator, on standard error.
    Warning(String),
    /// A call, for the log file.
    Call(Box<ProxyRecord>),
}

/// Writes warnings to standard error, and calls to a file, to the page and as spans.
#[derive(Debug, Default)]
pub struct ProxyLog {
    file: Option<Mutex<File>>,
    recorder: Option<Recorder>,
    admin: OnceLock<Arc<ProxyAdmin>>,
    spans: OnceLock<()>,
    quiet: bool,
}

impl ProxyLog {
    /// A log without a file: calls are not logged.
    pub fn new() -> Self {
        Self::default()
    }

    /// A log that appends one JSON line per call to a file. A new file can be read by its owner only.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Some(Mutex::new(private_file(path)?)),
            ..Self::default()
        })
    }

    /// Records every request of clients with its answer, too, one JSON line each. [`RecordedServer`]
    /// reads the file.
    ///
    /// [`RecordedServer`]: crate::RecordedServer
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn record_to(mut self, path: &Path) -> io::Result<Self> {
        self.recorder = Some(Recorder::to_file(path)?);
        Ok(self)
    }

    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Shows calls on this admin address, too. Only the first one is taken.
    pub fn show_on(&self, admin: Arc<ProxyAdmin>) {
        let _ = self.admin.set(admin);
    }

    /// Makes a span of each call, too, by the tracer provider that is installed.
    pub fn trace(&self) {
        let _ = self.spans.set(());
    }

    /// Suppresses warnings.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Writes one entry.
    pub fn write(&self, entry: &LogEntry) {
        match entry {
            LogEntry::Warning(text) => self.warn(text),
            LogEntry::Call(record) => {
                if let Some(admin) = self.admin.get() {
                    admin.add(record);
                }
                if self.spans.get().is_some() {
                    call_span::record(record);
                }
                let (Some(file), Ok(mut line)) = (&self.file, serde_json::to_string(record)) else {
                    return;
                };
                line.push('\n');
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = file.write_all(line.as_bytes()) {
                    self.warn(&format!("cannot write the log: {error}"));
                }
            }
        }
    }

    /// Warns the operator.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            // Without standard error there is nobody to warn.
            let _ = writeln!(io::stderr(), "goodcall: {text}");
        }
    }
}

/// Opens a file to append to it. A new file can be read by its owner only.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or(Duration::ZERO).as_millis()).unwrap_or(u64::MAX)
}
