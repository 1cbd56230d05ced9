//! One JSON line a request, written by a thread of its own.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{SystemTime, UNIX_EPOCH};

use goodcall_wire::relay::Ruled;
use serde_json::{Map, Value, json};

use crate::config::LogTo;
use crate::record::Record;

/// Lines that wait to be written; more are dropped and counted.
const MOST_WAITING: usize = 4096;

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Log {
    sender: Option<SyncSender<String>>,
    arguments: bool,
}

impl Log {
    pub(crate) fn new(to: LogTo, arguments: bool) -> Self {
        let sender = (to != LogTo::Off).then(|| {
            let (sender, receiver) = sync_channel(MOST_WAITING);
            std::thread::spawn(move || write(to, &receiver));
            sender
        });
        Self { sender, arguments }
    }

    pub(crate) fn line(&self, record: &Record) {
        if let Some(sender) = &self.sender {
            // A log that nobody reads must not stop the traffic.
            let _ = sender.try_send(line(record, self.arguments));
        }
    }
}

fn write(to: LogTo, lines: &Receiver<String>) {
    let mut out: Box<dyn Write> = match to {
        LogTo::Stderr => Box::new(std::io::stderr()),
        _ => Box::new(std::io::stdout()),
    };
    while let Ok(mut text) = lines.recv() {
        text.push('\n');
        while let Ok(more) = lines.try_recv() {
            text.push_str(&more);
            text.push('\n');
        }
        if out
            .write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            return;
        }
    }
}

fn milliseconds(time: std::time::Duration) -> Value {
    let rounded = (time.as_secs_f64() * 1e6).round() / 1e3;
    json!(rounded)
}

fn line(record: &Record, arguments: bool) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut line = Map::new();
    let mut put = |key: &str, value: Value| line.insert(key.to_owned(), value);
    put("time", json!(now.as_secs_f64()));
    put("method", json!(record.method.as_str()));
    put("path", json!(record.path));
    put("status", json!(record.status));
    put("ms", milliseconds(record.took));
    put("upstream_ms", milliseconds(record.upstream));
    if let Some(protocol) = record.protocol {
        put("protocol", json!(protocol.name()));
        put("stream", json!(record.streams));
        put("own_ms", milliseconds(record.own_time()));
        put("reasked", json!(record.reasked));
    }
    if let Some(model) = &record.model {
        put("model", json!(model));
    }
    if let Some(why) = record.passed {
        put("passed", json!(why));
    }
    if let Some(error) = record.error {
        put("error", json!(error));
    }
    if let Some(cause) = &record.cause {
        put("cause", json!(cause));
    }
    if let Some(signal) = record.suspicion {
        put("loop", json!(signal));
    }
    if record.history_fixed {
        put("history_fixed", json!(true));
    }
    if record.reask_failed {
        put("reask_failed", json!(true));
    }
    if !record.calls.is_empty() {
        let calls = record.calls.iter().map(|call| {
            let mut one = Map::new();
            one.insert("tool".to_owned(), json!(call.tool));
            one.insert("verdict".to_owned(), json!(call.ruled.name()));
            if call.attempt > 0 {
                one.insert("attempt".to_owned(), json!(call.attempt));
            }
            if let Some(reason) = call.reason {
                one.insert("reason".to_owned(), json!(reason));
            }
            if !call.notes.is_empty() {
                let notes = call.notes.iter().take(8);
                // What is wrong has a code, what was mended a rule.
                let kind = if call.ruled == Ruled::Bad {
                    "code"
                } else {
                    "rule"
                };
                let notes = notes.map(|note| json!({kind: note.rule, "field": note.field}));
                one.insert("notes".to_owned(), notes.collect());
            }
            if arguments {
                one.insert("arguments".to_owned(), json!(call.sent));
            }
            Value::Object(one)
        });
        put("calls", calls.collect());
    }
    Value::Object(line).to_string()
}
