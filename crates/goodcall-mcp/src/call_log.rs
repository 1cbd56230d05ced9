//! What is written down: one record a call, and warnings.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;

/// One call, as a line of the log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProxyRecord {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// The server's name.
    pub server: String,
    /// The tool that was called.
    pub tool: String,
    /// The name as sent, where it was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// `good`, `mended`, `bad`, or `unchecked` where the tool's schema is not known.
    pub verdict: &'static str,
    /// The rules that changed the call.
    pub rules: Vec<&'static str>,
    /// Why it is bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What came of it.
    pub outcome: ProxyOutcome,
    /// From the request to the answer.
    pub latency_ms: f64,
    /// What looks like a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#loop: Option<&'static str>,
    /// Does the result match the tool's output schema? Left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<&'static str>,
    /// The arguments as sent; only where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProxyOutcome {
    /// The tool ran.
    Ok,
    /// The tool ran and said that it failed.
    ToolError,
    /// The server answered with a protocol error.
    Error,
    /// It was not forwarded.
    Refused,
    /// The server did not answer in time.
    TimedOut,
    /// The client called it off.
    Cancelled,
    /// The server ended before it answered.
    ServerGone,
}

/// Something to write down.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogEntry {
    /// For the operator, on standard error.
    Warning(String),
    /// For the log.
    Call(Box<ProxyRecord>),
}

/// Where notes go.
#[derive(Debug, Default)]
pub struct ProxyLog {
    file: Option<Mutex<File>>,
    quiet: bool,
}

impl ProxyLog {
    /// Warnings to standard error, records nowhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records are appended to a file.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Some(Mutex::new(file)),
            quiet: false,
        })
    }

    /// Without warnings on standard error.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Writes one note down.
    pub fn write(&self, note: &LogEntry) {
        match note {
            LogEntry::Warning(text) => self.warn(text),
            LogEntry::Call(record) => {
                let (Some(file), Ok(mut line)) = (&self.file, serde_json::to_string(record)) else {
                    return;
                };
                line.push('\n');
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = file.write_all(line.as_bytes()) {
                    self.warn(&format!("the log cannot be written: {error}"));
                }
            }
        }
    }

    /// A warning for the operator.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            // Where standard error is closed nobody wants to know.
            let _ = writeln!(io::stderr(), "goodcall: {text}");
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or(Duration::ZERO).as_millis()).unwrap_or(u64::MAX)
}
