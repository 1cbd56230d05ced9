//! The log: one JSON line per request, written by a thread of its own.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goodcall_server::LogTarget;
use goodcall_wire::relay::{CallNote, CallRecord, CallVerdict};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tokio::sync::oneshot;

use crate::config::LogConfig;
use crate::observe::WouldHave;
use crate::request_record::{ReaskFailure, RequestError, RequestRecord, Unjudged};

/// Lines that wait to be written; more are left out, and their number is written.
const MOST_WAITING: usize = 4096;
/// How long lines are gathered before they are written together. Waking the thread and writing for
/// each line would cost half as much as all the rest of a request.
const GATHER_TIME: Duration = Duration::from_millis(10);
/// How long a stop waits for the last lines.
const FLUSH_TIME: Duration = Duration::from_secs(1);
/// Notes on a call that a line shows.
const MOST_NOTES: usize = 8;

/// The log of a gateway. Lines that its thread cannot keep up with are counted, not waited for.
#[derive(Debug)]
pub(crate) struct Log {
    sender: Option<SyncSender<LogMessage>>,
    left_out: Arc<AtomicU64>,
    arguments: bool,
}

/// What is sent to the thread that writes.
#[derive(Debug)]
enum LogMessage {
    Line(String),
    /// Asks for everything before it to be written, and for a sign when it is.
    Flush(oneshot::Sender<()>),
}

impl Log {
    pub(crate) fn new(config: &LogConfig) -> Self {
        match config.target {
            LogTarget::Stdout => Self::to(io::stdout(), config.arguments),
            LogTarget::Stderr => Self::to(io::stderr(), config.arguments),
            _ => Self {
                sender: None,
                left_out: Arc::default(),
                arguments: config.arguments,
            },
        }
    }

    fn to(out: impl Write + Send + 'static, arguments: bool) -> Self {
        let (sender, messages) = sync_channel(MOST_WAITING);
        let left_out = Arc::<AtomicU64>::default();
        let missing = Arc::clone(&left_out);
        std::thread::spawn(move || write(out, &messages, &missing));
        Self {
            sender: Some(sender),
            left_out,
            arguments,
        }
    }

    pub(crate) fn line(&self, record: &RequestRecord) {
        if self.sender.is_some() {
            self.send(line(record, self.arguments));
        }
    }

    fn send(&self, line: String) {
        if let Some(sender) = &self.sender
            // A log that nobody reads must not stop the traffic.
            && sender.try_send(LogMessage::Line(line)).is_err()
        {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes that the store is away, or back.
    #[cfg(feature = "store")]
    pub(crate) fn store_event(&self, state: &str, cause: Option<&str>) {
        let mut line = serde_json::json!({"time": now(), "store": state});
        if let Some(cause) = cause {
            line["cause"] = cause.into();
        }
        self.send(line.to_string());
    }

    /// Waits until all lines are written, for a second at most.
    pub(crate) async fn flush(&self) {
        if let Some(sender) = &self.sender {
            let (done, waiting) = oneshot::channel();
            if sender.try_send(LogMessage::Flush(done)).is_ok() {
                let _ = tokio::time::timeout(FLUSH_TIME, waiting).await;
            }
        }
    }
}

/// Writes lines until the log is dropped, or the output is closed.
fn write(mut out: impl Write, messages: &Receiver<LogMessage>, left_out: &AtomicU64) {
    while let Ok(first) = messages.recv() {
        if matches!(first, LogMessage::Line(_)) {
            std::thread::sleep(GATHER_TIME);
        }
        let (mut text, mut waiting) = (String::new(), Vec::new());
        for message in std::iter::once(first).chain(messages.try_iter()) {
            match message {
                LogMessage::Line(line) => {
                    text.push_str(&line);
                    text.push('\n');
                }
                LogMessage::Flush(done) => waiting.push(done),
            }
        }
        let missing = left_out.swap(0, Ordering::Relaxed);
        if missing > 0 {
            text.push_str(&format!(
                "{{\"time\":{},\"lines_left_out\":{missing}}}\n",
                now()
            ));
        }
        let wrote = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if wrote.is_err() {
            return;
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

fn line(record: &RequestRecord, arguments: bool) -> String {
    serde_json::to_string(&LogLine { record, arguments })
        .expect("a line has string keys and no value that fails")
}

/// The JSON form of a request.
struct LogLine<'r> {
    record: &'r RequestRecord,
    arguments: bool,
}

impl Serialize for LogLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { record, arguments } = *self;
        let (exchange, judgement) = (&record.exchange, &record.judgement);
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("time", &now())?;
        line.serialize_entry("method", record.method.as_str())?;
        line.serialize_entry("path", &record.path)?;
        line.serialize_entry("status", &record.status)?;
        line.serialize_entry("ms", &milliseconds(record.timing.total))?;
        line.serialize_entry("upstream_ms", &milliseconds(record.timing.upstream()))?;
        if let Some(protocol) = exchange.protocol {
            line.serialize_entry("protocol", protocol.name())?;
            line.serialize_entry("stream", &exchange.streams)?;
            line.serialize_entry("own_ms", &milliseconds(record.timing.own))?;
            if record.timing.held > Duration::ZERO {
                line.serialize_entry("held_ms", &milliseconds(record.timing.held))?;
            }
            line.serialize_entry("reasked", &judgement.reasked)?;
        }
        let (tokens, refused) = judgement.tokens;
        for (key, count) in [
            ("input_tokens", tokens.input),
            ("output_tokens", tokens.output),
            ("reask_input_tokens", refused.input),
            ("reask_output_tokens", refused.output),
        ] {
            if count > 0 {
                line.serialize_entry(key, &count)?;
            }
        }
        if let Some(model) = &exchange.model {
            line.serialize_entry("model", model)?;
        }
        if let Some(cause) = &record.cause {
            line.serialize_entry("cause", cause)?;
        }
        let reask_failed = judgement.reask_failed.map(ReaskFailure::code);
        let words = [
            ("route", exchange.origin.route.as_deref()),
            ("client", exchange.origin.client.as_deref()),
            ("passed", judgement.unjudged.as_ref().map(Unjudged::name)),
            ("outcome", judgement.outcome()),
            ("would", judgement.would_have.map(WouldHave::name)),
            ("error", record.error.map(RequestError::code)),
            ("loop", record.history.loop_signal),
            ("reask_failed", reask_failed.as_deref()),
        ];
        for (key, word) in words {
            if let Some(word) = word {
                line.serialize_entry(key, word)?;
            }
        }
        if !judgement.repairs.is_empty() {
            line.serialize_entry("repairs", &judgement.repairs)?;
        }
        if judgement.dropped > 0 {
            line.serialize_entry("dropped", &judgement.dropped)?;
        }
        if record.history.fixed {
            line.serialize_entry("history_fixed", &true)?;
        }
        if record.history.restored {
            line.serialize_entry("history_restored", &true)?;
        }
        if !judgement.calls.is_empty() {
            let calls = judgement.calls.iter();
            let calls = calls.map(|call| LoggedCall { call, arguments });
            line.serialize_entry("calls", &Sequence(calls))?;
        }
        line.end()
    }
}

/// Serializes an iterator as an array.
struct Sequence<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Sequence<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// The JSON form of a call.
struct LoggedCall<'r> {
    call: &'r CallRecord,
    arguments: bool,
}

impl Serialize for LoggedCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let call = self.call;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tool", &call.tool)?;
        map.serialize_entry("verdict", call.verdict.name())?;
        if call.attempt > 0 {
            map.serialize_entry("attempt", &call.attempt)?;
        }
        if let Some(reason) = call.reason {
            map.serialize_entry("reason", reason)?;
        }
        if !call.notes.is_empty() {
            let notes = call.notes.iter().take(MOST_NOTES);
            let notes = notes.map(|note| LoggedNote {
                note,
                verdict: call.verdict,
            });
            map.serialize_entry("notes", &Sequence(notes))?;
        }
        if self.arguments {
            map.serialize_entry("arguments", &call.sent)?;
        }
        map.end()
    }
}

/// The JSON form of a note: a bad call's has a `code`, a mended one's the `rule`.
struct LoggedNote<'r> {
    note: &'r CallNote,
    verdict: CallVerdict,
}

impl Serialize for LoggedNote<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = match self.verdict {
            CallVerdict::Bad => "code",
            _ => "rule",
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(key, self.note.rule)?;
        map.serialize_entry("field", &self.note.field)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;

    /// Sends what was written to the test, and then blocks until the test allows the next write.
    struct BlockingWriter {
        wrote: Sender<String>,
        go_on: Receiver<()>,
    }

    impl Write for BlockingWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.wrote.send(text).map_err(io::Error::other)?;
            self.go_on.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_beyond_the_queue_are_counted() {
        let (wrote, written) = std::sync::mpsc::channel();
        let (go_on, wait) = std::sync::mpsc::channel();
        let log = Log::to(BlockingWriter { wrote, go_on: wait }, false);
        log.send("first".to_owned());
        assert_eq!(written.recv().unwrap(), "first\n");
        // The writer is blocked now.
        for number in 0..MOST_WAITING + 3 {
            log.send(number.to_string());
        }
        go_on.send(()).unwrap();
        let text = written.recv().unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), MOST_WAITING + 1);
        assert_eq!(lines[0], "0");
        let last = lines[MOST_WAITING];
        assert!(last.starts_with("{\"time\":"), "{last}");
        assert!(last.ends_with(",\"lines_left_out\":3}"), "{last}");
        // A flush returns only after the last line is written.
        go_on.send(()).unwrap();
        log.send("last".to_owned());
        go_on.send(()).unwrap();
        log.flush().await;
        assert_eq!(written.try_recv().as_deref(), Ok("last\n"));
    }
}
