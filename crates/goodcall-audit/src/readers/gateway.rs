//! What a goodcall gateway keeps: its log, and the rows of its store. Verdicts are those of then;
//! where arguments were recorded and definitions are handed in, calls are judged again.

use std::borrow::Cow;

use goodcall_core::Node;

use super::fields::{elements, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable};
use crate::recorded::{
    RecordedCall, RecordedLoop, RecordedTurn, RecordedVerdict, SentArguments, VerdictKind,
};

pub(super) struct GatewayLog;

impl LogFormat for GatewayLog {
    fn name(&self) -> &'static str {
        "goodcall-gateway"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let is_line = ["method", "path", "upstream_ms"];
        let is_row = ["id", "path", "status", "ms", "reasked"];
        let is_early_row = ["seq", "verdict", "attempt", "protocol"];
        let has = |keys: &[&str]| keys.iter().all(|key| record.get(key).is_some());
        has(&is_line) || has(&is_row) || has(&is_early_row)
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
    if root.get("lines_left_out").is_some() {
        return Err(Unreadable::because("lines that the log left out"));
    }
    if root.get("store").is_some() {
        return Err(Unreadable::because("a remark on the store"));
    }
    let mut turn = RecordedTurn::new(record.place.clone());
    turn.model = text(root, "model").map(Cow::Borrowed);
    turn.server = text(root, "protocol").map(Cow::Borrowed);
    turn.time = time(root, &["time"]);
    if root.get("seq").is_some() {
        turn.calls.push(call(root)?);
    } else {
        for logged in elements(root, "calls") {
            turn.calls.push(call(logged)?);
        }
    }
    let signal = text(root, "loop");
    turn.recorded_loop = signal.map(|signal| {
        let tool = turn.calls.first().map(|call| call.tool.to_string());
        RecordedLoop::named(signal, tool.unwrap_or_default())
    });
    let count = turn.calls.len();
    out.turn(&turn);
    Ok(count)
}

fn call<'r>(logged: Node<'r>) -> Result<RecordedCall<'r>, Unreadable> {
    let tool = text(logged, "tool").unwrap_or_default();
    let sent = logged.get("arguments").and_then(Node::as_str);
    let arguments = match sent {
        Some(sent) => SentArguments::Text(Cow::Borrowed(sent)),
        None => SentArguments::NotRecorded,
    };
    let mut call = RecordedCall::new(tool, arguments);
    let verdict = text(logged, "verdict").unwrap_or_default();
    if verdict != "unjudged" {
        let kind = VerdictKind::from_name(verdict).ok_or(Unreadable::because(
            "unknown verdict: expected good, mended, bad or unjudged",
        ))?;
        let mut notes: Vec<_> = elements(logged, "notes")
            .filter_map(|note| {
                let code = text(note, "rule").or_else(|| text(note, "code"))?;
                let field = text(note, "field").unwrap_or_default();
                Some((code.to_owned(), field.to_owned()))
            })
            .collect();
        if notes.is_empty() {
            notes.extend(text(logged, "reason").map(|why| (why.to_owned(), String::new())));
        }
        call.verdict = Some(RecordedVerdict::new(kind, notes));
    }
    Ok(call)
}
