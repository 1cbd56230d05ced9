//! The log of a goodcall MCP proxy. Verdicts are those of then; where arguments were recorded and
//! definitions are handed in, calls are judged again.

use std::borrow::Cow;

use goodcall_core::Node;

use super::fields::{elements, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable};
use crate::recorded::{
    RecordedCall, RecordedLoop, RecordedResult, RecordedTurn, RecordedVerdict, SentArguments,
    VerdictKind,
};

pub(super) struct McpLog;

impl LogFormat for McpLog {
    fn name(&self) -> &'static str {
        "goodcall-mcp"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let keys = ["time_ms", "server", "tool", "verdict", "outcome"];
        keys.iter().all(|key| record.get(key).is_some())
    }

    fn order(&self, _record: Node<'_>) -> RecordOrder {
        RecordOrder::Independent
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    let root = record.root;
    let mut turn = RecordedTurn::new(record.place.clone());
    turn.server = text(root, "server").map(Cow::Borrowed);
    turn.time = time(root, &["time_ms"]);
    let tool = text(root, "tool").ok_or(Unreadable::because("a call without a tool"))?;
    turn.recorded_loop = text(root, "loop").map(|signal| RecordedLoop::named(signal, tool));
    let sent = root.get("arguments").filter(|sent| !sent.is_null());
    let arguments = sent.map_or(SentArguments::NotRecorded, |sent| {
        SentArguments::Value(Cow::Borrowed(record.part(sent)))
    });
    // The name as sent matters only if the call is judged again.
    let name = text(root, "sent")
        .filter(|_| sent.is_some())
        .unwrap_or(tool);
    let mut call = RecordedCall::new(name, arguments);
    call.verdict = verdict(root);
    call.result = match text(root, "outcome") {
        Some("tool_error" | "error") => Some(RecordedResult::new("", true)),
        _ => None,
    };
    turn.calls.push(call);
    out.turn(&turn);
    Ok(1)
}

/// The verdict of then; `None` for a call that was not checked.
fn verdict(root: Node<'_>) -> Option<RecordedVerdict> {
    let kind = VerdictKind::from_name(text(root, "verdict")?)?;
    let rules = elements(root, "rules").filter_map(Node::as_str);
    let mut notes: Vec<_> = rules.map(|rule| (rule.to_owned(), String::new())).collect();
    if kind == VerdictKind::Bad {
        notes = text(root, "reason")
            .map(|why| (why.to_owned(), String::new()))
            .into_iter()
            .collect();
    }
    Some(RecordedVerdict::new(kind, notes))
}
