//! JSON lines of goodcall's own protocol: what `goodcall check --jsonl` reads, and what it writes.
//!
//! Beside the fields of the protocol, a line may have `model`, `server`, `conversation`, `time`,
//! `result`, `is_error` and `tools`. `tool_name` and `arguments` may stand in place of `tool` and
//! `raw`.

use std::borrow::Cow;

use goodcall_core::{Node, StopReason};

use super::fields::{container, content, elements, first_text, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink, Unreadable};
use crate::recorded::{
    KnownTools, OfferedTools, RecordedCall, RecordedResult, RecordedTurn, RecordedVerdict,
    SentArguments, VerdictKind,
};

pub(super) struct Protocol;

impl LogFormat for Protocol {
    fn name(&self) -> &'static str {
        "goodcall"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let asks = record.get("raw").is_some()
            && (record.get("tool").is_some() || record.get("schema").is_some());
        let columns = text(record, "tool_name").is_some() && record.get("arguments").is_some();
        asks || columns || is_answer(record)
    }

    fn order(&self, record: Node<'_>) -> RecordOrder {
        match text(record, "conversation") {
            Some(_) => RecordOrder::InOrder,
            None => RecordOrder::Independent,
        }
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

/// Returns true for a line that `goodcall check --jsonl` has written.
fn is_answer(record: Node<'_>) -> bool {
    let keys = ["verdict", "changes", "issues"];
    keys.iter().all(|key| record.get(key).is_some())
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    let root = record.root;
    let call = if is_answer(root) {
        answer(root)?
    } else {
        asked(record)?
    };
    let mut turn = RecordedTurn::new(record.place.clone());
    turn.conversation = text(root, "conversation").map(Cow::Borrowed);
    turn.model = text(root, "model").map(Cow::Borrowed);
    turn.server = text(root, "server").map(Cow::Borrowed);
    turn.time = time(root, &["time", "timestamp"]);
    turn.stop = stop(text(root, "stop"))?;
    turn.tools = match (root.get("schema"), container(root, "tools")) {
        (Some(schema), _) if !schema.is_null() => out.judge().schema(record.part(schema)),
        (_, Some(tools)) => out.judge().offered(record.part(tools)),
        _ => OfferedTools::NotRecorded(KnownTools::All),
    };
    turn.calls.push(call);
    out.turn(&turn);
    Ok(1)
}

/// Reads the way in which a message ended.
fn stop(word: Option<&str>) -> Result<StopReason, Unreadable> {
    let stop = word.map_or(Ok(StopReason::Unknown), str::parse);
    // The reason is counted: it must not quote what was written.
    let unknown = "unknown stop reason: expected unknown, finished or cut_off";
    stop.map_err(|_| Unreadable::because(unknown))
}

/// A line that asks for a verdict.
fn asked<'r>(record: &LogRecord<'r>) -> Result<RecordedCall<'r>, Unreadable> {
    let root = record.root;
    let sent = root.get("raw").or_else(|| root.get("arguments"));
    let sent = sent.ok_or(Unreadable::because("a call without `raw`"))?;
    let tool = first_text(root, &["tool", "tool_name"]).unwrap_or_default();
    let text_sent = match (sent.as_str(), sent.is_null()) {
        (Some(text), _) => text,
        (None, true) => "",
        // An object stands for its own text.
        (None, false) => record.part(sent),
    };
    let arguments = SentArguments::Text(Cow::Borrowed(text_sent));
    let mut call = RecordedCall::new(tool, arguments);
    call.id = text(root, "id").map(Cow::Borrowed);
    let is_error = root.get("is_error").and_then(Node::as_bool) == Some(true);
    call.result = root
        .get("result")
        .map(|result| RecordedResult::new(content(result), is_error));
    Ok(call)
}

/// A line with a verdict. What was sent is not in it.
fn answer<'r>(root: Node<'r>) -> Result<RecordedCall<'r>, Unreadable> {
    let kind = text(root, "verdict").and_then(VerdictKind::from_name);
    let kind = kind.ok_or(Unreadable::because(
        "unknown verdict: expected good, mended or bad",
    ))?;
    if let Some("bad_line" | "bad_schema") = text(root, "reason") {
        return Err(Unreadable::because("a line that goodcall could not judge"));
    }
    let (list, code) = match kind {
        VerdictKind::Mended => ("changes", "rule"),
        _ => ("issues", "code"),
    };
    let notes = elements(root, list).filter_map(|note| {
        let path = text(note, "path").unwrap_or_default();
        Some((text(note, code)?.to_owned(), dotted(path)))
    });
    let tool = text(root, "tool").unwrap_or_default();
    let mut call = RecordedCall::new(tool, SentArguments::NotRecorded);
    call.verdict = Some(RecordedVerdict::new(kind, notes.collect()));
    Ok(call)
}

fn dotted(path: &str) -> String {
    goodcall_core::Pointer::parse(path).map_or_else(String::new, |pointer| pointer.dotted())
}
