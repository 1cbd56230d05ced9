//! The sessions of `cases/mcp`: the frames of each side, and the engine's outputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goodcall_mcp::{Engine, EngineOutput, LogEntry, ProxyOptions};
use goodcall_server::ConfigFile;

use crate::support;

/// Runs the steps of a session: `client …`, `server …`, `wait SECONDS`, `ended` and `restarted` for
/// the server's process, `oversized TEXT` for a line of the server that exceeds the limit.
fn session(case: &support::Case) -> BTreeMap<String, String> {
    let file = ConfigFile::parse(case.get("config").unwrap_or_default()).unwrap();
    let options = ProxyOptions::from_settings("s", file.mcp_server("s"));
    let mut engine = Engine::new(Arc::new(options));
    let mut now = Instant::now();
    let mut lines = Vec::new();
    let steps = case.get("session").expect("a session");
    for (index, step) in steps.lines().enumerate() {
        let (who, what) = step.split_once(' ').unwrap_or((step, ""));
        let frame = what.as_bytes().to_vec();
        let out = match who {
            "client" => engine.client_frame(frame, now),
            "server" => engine.server_frame(frame, now),
            "wait" => {
                now += Duration::from_secs(what.parse().unwrap());
                engine.tick(now)
            }
            "ended" => engine.server_ended("the server ended", now),
            "restarted" => engine.server_restarted(),
            "oversized" => engine.oversized(what.as_bytes(), what.as_bytes(), 999, now),
            other => panic!("unknown step `{other}`"),
        };
        for out in out {
            lines.push(format!("{}: {}", index + 1, shown(&out, what)));
        }
        if engine.is_waiting() && index + 1 == steps.lines().count() {
            lines.push("the client waits".to_owned());
        }
    }
    BTreeMap::from([("out".to_owned(), lines.join("\n"))])
}

fn shown(out: &EngineOutput, sent: &str) -> String {
    let frame = |frame: &[u8]| match String::from_utf8_lossy(frame) {
        same if same == sent => "as sent".to_owned(),
        other => other.into_owned(),
    };
    match out {
        EngineOutput::Server(bytes) => format!("to server {}", frame(bytes)),
        EngineOutput::Client(bytes) => format!("to client {}", frame(bytes)),
        EngineOutput::Note(LogEntry::Warning(text)) => format!("warning {text}"),
        EngineOutput::Note(LogEntry::Call(record)) => {
            let mut record = serde_json::to_value(record).unwrap();
            for key in ["time_ms", "latency_ms", "server"] {
                record.as_object_mut().unwrap().remove(key);
            }
            format!("log {record}")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn sessions_match_their_cases() {
    support::run_folder("mcp", &["session", "config"], session);
}

#[test]
fn call_that_is_nested_too_deeply_to_be_read_is_forwarded() {
    let mut engine = Engine::new(Arc::new(ProxyOptions::default()));
    let now = Instant::now();
    let nested = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"f","arguments":{{"a":{nested}}}}}}}"#
    );
    let list = r#"{"jsonrpc":"2.0","id":"goodcall:tools:1","result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}}"#;
    engine.client_frame(call.clone().into_bytes(), now);
    let out = engine.server_frame(list.as_bytes().to_vec(), now);
    let is_call = |out: &EngineOutput| matches!(out, EngineOutput::Server(bytes) if *bytes == call.as_bytes());
    assert!(out.iter().any(is_call), "{out:?}");
}
