//! Sessions of opencode: `opencode export`, the rows of its database, and the files of older
//! versions. Tools are not recorded. A call that opencode could not read is one of the tool
//! `invalid`, which names the tool and the error.

use std::borrow::Cow;

use goodcall_core::{Kind, Node};
use goodcall_wire::recorded::TokenCount;

use super::fields::{container, content, elements, stop, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink};
use crate::recorded::{RecordedCall, RecordedResult, RecordedTurn, SentArguments};

pub(super) struct Opencode;

impl LogFormat for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let has_info = container(record, "info").is_some();
        let is_export = has_info && container(record, "messages").is_some();
        let is_message = has_info && container(record, "parts").is_some();
        is_export || is_message || is_part(record)
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<Session>::default()
    }
}

/// Returns true for a part that is a call.
fn is_part(node: Node<'_>) -> bool {
    text(node, "type") == Some("tool") && node.get("state").is_some() && node.get("tool").is_some()
}

#[derive(Default)]
struct Session {
    after_user: bool,
}

impl RecordReader for Session {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        let root = record.root;
        if is_part(root) {
            let mut turn = RecordedTurn::new(record.place.clone());
            turn.calls.push(call(record, root));
            out.turn(&turn);
            return Ok(1);
        }
        if container(root, "parts").is_some() {
            return Ok(self.message(record, root, 0, out));
        }
        let mut count = 0;
        for message in elements(root, "messages") {
            count += self.message(record, message, count, out);
        }
        Ok(count)
    }
}

impl Session {
    fn message(
        &mut self,
        record: &LogRecord<'_>,
        message: Node<'_>,
        before: usize,
        out: &mut dyn TurnSink,
    ) -> usize {
        let Some(info) = message.get("info") else {
            return 0;
        };
        if text(info, "role") == Some("user") {
            self.after_user = true;
            return 0;
        }
        let parts = elements(message, "parts").filter(|part| is_part(*part));
        let calls: Vec<_> = parts.map(|part| call(record, part)).collect();
        if calls.is_empty() {
            return 0;
        }
        let mut turn = RecordedTurn::new(record.place.clone());
        turn.place.call = u32::try_from(before).unwrap_or(u32::MAX);
        let session = text(info, "sessionID").or_else(|| text(message, "sessionID"));
        turn.conversation = session.map(|session| Cow::Owned(session.to_owned()));
        turn.model = text(info, "modelID").map(|model| Cow::Owned(model.to_owned()));
        turn.time = info.get("time").and_then(|of| time(of, &["created"]));
        turn.tokens = info.get("tokens").and_then(tokens);
        if let Some(reason) = text(info, "finish") {
            turn.stop = stop(reason);
        }
        turn.after_user = std::mem::take(&mut self.after_user);
        turn.calls = calls;
        let count = turn.calls.len();
        out.turn(&turn);
        count
    }
}

fn tokens(node: Node<'_>) -> Option<TokenCount> {
    let number = |node: Option<Node<'_>>| node?.digits()?.parse::<u64>().ok();
    let cache = |key| number(node.get("cache").and_then(|cache| cache.get(key))).unwrap_or(0);
    let input = number(node.get("input"))?;
    let output = number(node.get("output")).unwrap_or(0);
    Some(TokenCount::new(
        input + cache("read") + cache("write"),
        output,
    ))
}

fn call(record: &LogRecord<'_>, part: Node<'_>) -> RecordedCall<'static> {
    let name = text(part, "tool").unwrap_or_default();
    let state = part
        .get("state")
        .filter(|state| state.kind() == Kind::Object);
    let member = |key| state.and_then(|state| state.get(key));
    let input = member("input").filter(|input| !input.is_null());
    let id = text(part, "callID").map(|id| Cow::Owned(id.to_owned()));
    if name == "invalid" {
        let of = |key| input.and_then(|input| text(input, key)).unwrap_or_default();
        let tool = of("tool").to_owned();
        let mut call = RecordedCall::new(tool, SentArguments::NotRecorded);
        let said = format!("invalid arguments: {}", of("error"));
        call.result = Some(RecordedResult::new(said, true));
        call.id = id;
        return call;
    }
    let raw = member("raw")
        .and_then(Node::as_str)
        .filter(|raw| !raw.is_empty());
    let arguments = match (raw, input) {
        (Some(raw), _) => SentArguments::Text(Cow::Owned(raw.to_owned())),
        (None, Some(input)) => SentArguments::Value(Cow::Owned(record.part(input).to_owned())),
        (None, None) => SentArguments::NotRecorded,
    };
    let mut call = RecordedCall::new(name.to_owned(), arguments);
    call.id = id;
    call.result = match (member("output"), member("error")) {
        (_, Some(error)) => Some(RecordedResult::new(content(error), true)),
        (Some(output), None) => Some(RecordedResult::new(content(output), false)),
        (None, None) => None,
    };
    call
}
