//! One JSON line a request, written by a thread of its own.

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
use crate::record::Record;

/// Lines that wait to be written; more are left out, and their number is written.
const MOST_WAITING: usize = 4096;
/// Lines of so much time are written at once: a write each, and waking the thread for it, would
/// cost half as much as all the rest of a request.
const GATHERED: Duration = Duration::from_millis(10);
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(1);
/// Notes on a call that a line shows.
const MOST_NOTES: usize = 8;

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Log {
    sender: Option<SyncSender<Told>>,
    left_out: Arc<AtomicU64>,
    arguments: bool,
}

/// What the thread is told.
#[derive(Debug)]
enum Told {
    Line(String),
    /// All that was told before is to be written now.
    Now(oneshot::Sender<()>),
}

impl Log {
    pub(crate) fn new(config: LogConfig) -> Self {
        match config.target {
            LogTarget::Stdout => Self::into(io::stdout(), config.arguments),
            LogTarget::Stderr => Self::into(io::stderr(), config.arguments),
            _ => Self {
                sender: None,
                left_out: Arc::default(),
                arguments: config.arguments,
            },
        }
    }

    fn into(out: impl Write + Send + 'static, arguments: bool) -> Self {
        let (sender, told) = sync_channel(MOST_WAITING);
        let left_out = Arc::<AtomicU64>::default();
        let missing = Arc::clone(&left_out);
        std::thread::spawn(move || write(out, &told, &missing));
        Self {
            sender: Some(sender),
            left_out,
            arguments,
        }
    }

    pub(crate) fn line(&self, record: &Record) {
        if self.sender.is_some() {
            self.tell(line(record, self.arguments));
        }
    }

    fn tell(&self, line: String) {
        if let Some(sender) = &self.sender
            // A log that nobody reads must not stop the traffic.
            && sender.try_send(Told::Line(line)).is_err()
        {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, but not for long.
    pub(crate) async fn written(&self) {
        if let Some(sender) = &self.sender {
            let (done, waiting) = oneshot::channel();
            if sender.try_send(Told::Now(done)).is_ok() {
                let _ = tokio::time::timeout(LAST, waiting).await;
            }
        }
    }
}

/// Writes until nobody is left to tell anything, or the place is gone.
fn write(mut out: impl Write, told: &Receiver<Told>, left_out: &AtomicU64) {
    while let Ok(first) = told.recv() {
        if matches!(first, Told::Line(_)) {
            std::thread::sleep(GATHERED);
        }
        let (mut text, mut waiting) = (String::new(), Vec::new());
        for one in std::iter::once(first).chain(told.try_iter()) {
            match one {
                Told::Line(line) => {
                    text.push_str(&line);
                    text.push('\n');
                }
                Told::Now(done) => waiting.push(done),
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

fn line(record: &Record, arguments: bool) -> String {
    let line = Line { record, arguments };
    // Nothing in a line fails to be written.
    serde_json::to_string(&line).unwrap_or_default()
}

/// What a line shows of a request.
struct Line<'r> {
    record: &'r Record,
    arguments: bool,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record;
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("time", &now())?;
        line.serialize_entry("method", record.method.as_str())?;
        line.serialize_entry("path", &record.path)?;
        line.serialize_entry("status", &record.status)?;
        line.serialize_entry("ms", &milliseconds(record.took))?;
        line.serialize_entry("upstream_ms", &milliseconds(record.upstream))?;
        if let Some(protocol) = record.protocol {
            line.serialize_entry("protocol", protocol.name())?;
            line.serialize_entry("stream", &record.streams)?;
            line.serialize_entry("own_ms", &milliseconds(record.own_time()))?;
            line.serialize_entry("reasked", &record.reasked)?;
        }
        if let Some(model) = &record.model {
            line.serialize_entry("model", model)?;
        }
        if let Some(cause) = &record.cause {
            line.serialize_entry("cause", cause)?;
        }
        let words = [
            ("passed", record.passed),
            ("error", record.error),
            ("loop", record.suspicion),
        ];
        for (key, word) in words {
            if let Some(word) = word {
                line.serialize_entry(key, word)?;
            }
        }
        let marks = [
            ("history_fixed", record.history_fixed),
            ("reask_failed", record.reask_failed),
        ];
        for (key, _) in marks.iter().filter(|(_, set)| *set) {
            line.serialize_entry(key, &true)?;
        }
        if !record.calls.is_empty() {
            let calls = record.calls.iter().map(|call| Call(call, self.arguments));
            line.serialize_entry("calls", &List(calls))?;
        }
        line.end()
    }
}

/// What an iterator gives, as an array.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// What a line shows of a call, with its arguments or without.
struct Call<'r>(&'r CallRecord, bool);

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(call, arguments) = *self;
        let mut one = serializer.serialize_map(None)?;
        one.serialize_entry("tool", &call.tool)?;
        one.serialize_entry("verdict", call.ruled.name())?;
        if call.attempt > 0 {
            one.serialize_entry("attempt", &call.attempt)?;
        }
        if let Some(reason) = call.reason {
            one.serialize_entry("reason", reason)?;
        }
        if !call.notes.is_empty() {
            let notes = call.notes.iter().take(MOST_NOTES);
            let notes = notes.map(|note| Noted(note, call.ruled));
            one.serialize_entry("notes", &List(notes))?;
        }
        if arguments {
            one.serialize_entry("arguments", &call.sent)?;
        }
        one.end()
    }
}

/// What is wrong has a code, what was mended a rule.
struct Noted<'r>(&'r CallNote, CallVerdict);

impl Serialize for Noted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match self.1 {
            CallVerdict::Bad => "code",
            _ => "rule",
        };
        let mut one = serializer.serialize_map(Some(2))?;
        one.serialize_entry(kind, self.0.rule)?;
        one.serialize_entry("field", &self.0.field)?;
        one.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;

    /// Tells what was written, and then waits to be let on.
    struct Slow {
        wrote: Sender<String>,
        on: Receiver<()>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.wrote.send(text).map_err(io::Error::other)?;
            self.on.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_that_nobody_reads_are_counted() {
        let (wrote, written) = std::sync::mpsc::channel();
        let (on, wait) = std::sync::mpsc::channel();
        let log = Log::into(Slow { wrote, on: wait }, false);
        log.tell("first".to_owned());
        assert_eq!(written.recv().unwrap(), "first\n");
        // Its reader is stuck now.
        for number in 0..MOST_WAITING + 3 {
            log.tell(number.to_string());
        }
        on.send(()).unwrap();
        let text = written.recv().unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), MOST_WAITING + 1);
        assert_eq!(lines[0], "0");
        let last = lines[MOST_WAITING];
        assert!(last.starts_with("{\"time\":"), "{last}");
        assert!(last.ends_with(",\"lines_left_out\":3}"), "{last}");
        // And all is written before it is told that it is.
        on.send(()).unwrap();
        log.tell("last".to_owned());
        on.send(()).unwrap();
        log.written().await;
        assert_eq!(written.try_recv().as_deref(), Ok("last\n"));
    }
}
