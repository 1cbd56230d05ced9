//! Transcripts of Claude Code (`~/.claude/projects/…/SESSION.jsonl`).
//!
//! A message may be spread over several lines with the same `message.id`. Input that could not be
//! parsed is kept as `{"raw", "len"}`. Tools are not recorded.

use std::borrow::Cow;

use goodcall_core::{Kind, Node};
use goodcall_wire::recorded::TokenCount;

use super::fields::{content, elements, stop, text, time};
use super::pending::PendingTurns;
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable};
use crate::recorded::{RecordedCall, RecordedResult, RecordedTurn, SentArguments};

pub(super) struct ClaudeCode;

impl LogFormat for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let kind = text(record, "type");
        let has_message = record
            .get("message")
            .is_some_and(|m| m.kind() == Kind::Object);
        let is_line = matches!(kind, Some("assistant" | "user")) && has_message;
        is_line && (record.get("uuid").is_some() || record.get("sessionId").is_some())
            || kind == Some("summary") && record.get("leafUuid").is_some()
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<Transcript>::default()
    }
}

#[derive(Default)]
struct Transcript {
    turns: PendingTurns,
    after_user: bool,
}

impl RecordReader for Transcript {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        match text(record.root, "type") {
            Some("assistant") => Ok(self.assistant(record, out)),
            Some("user") => {
                self.user(record.root);
                Ok(0)
            }
            Some(_) => Ok(0),
            None => Err(Unreadable::because("a line without a type")),
        }
    }

    fn finish(&mut self, out: &mut dyn TurnSink) {
        self.turns.finish(out);
    }
}

impl Transcript {
    fn assistant(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> usize {
        let Some(message) = record.root.get("message") else {
            return 0;
        };
        let uses: Vec<_> = elements(message, "content")
            .filter(|block| text(*block, "type") == Some("tool_use"))
            .collect();
        let id = text(message, "id");
        let known = id.is_some_and(|id| self.turns.of_message(id).is_some());
        if uses.is_empty() && !known {
            return 0;
        }
        let turn = match id
            .filter(|_| known)
            .and_then(|id| self.turns.of_message(id))
        {
            Some(turn) => turn,
            None => {
                let mut turn = RecordedTurn::new(record.place.clone());
                turn.conversation = Some(Cow::Owned(conversation(record.root)));
                turn.model = text(message, "model").map(|model| Cow::Owned(model.to_owned()));
                turn.time = time(record.root, &["timestamp"]);
                turn.after_user = std::mem::take(&mut self.after_user);
                self.turns.begin(id, turn, out)
            }
        };
        if let Some(reason) = text(message, "stop_reason") {
            turn.stop = stop(reason);
        }
        // Every line of a message repeats what it cost so far.
        if let Some(count) = message.get("usage").and_then(TokenCount::read) {
            turn.tokens = Some(count);
        }
        let count = uses.len();
        turn.calls
            .extend(uses.into_iter().map(|call| tool_use(record, call)));
        count
    }

    fn user(&mut self, root: Node<'_>) {
        let Some(content_node) = root
            .get("message")
            .and_then(|message| message.get("content"))
        else {
            return;
        };
        let mut has_results = false;
        for block in content_node.elements() {
            if text(block, "type") != Some("tool_result") {
                continue;
            }
            has_results = true;
            let is_error = block.get("is_error").and_then(Node::as_bool) == Some(true);
            let said = block.get("content").map(content).unwrap_or_default();
            let id = text(block, "tool_use_id").unwrap_or_default();
            self.turns.result(id, RecordedResult::new(said, is_error));
        }
        let is_meta = root.get("isMeta").and_then(Node::as_bool) == Some(true);
        self.after_user |= !has_results && !is_meta;
    }
}

/// A call. Input that is not JSON is kept as its text.
fn tool_use(record: &LogRecord<'_>, block: Node<'_>) -> RecordedCall<'static> {
    let arguments = match block.get("input") {
        None => SentArguments::NotRecorded,
        Some(input) => match unparsed(input) {
            Some(raw) => SentArguments::Text(Cow::Owned(raw.to_owned())),
            None => SentArguments::Value(Cow::Owned(record.part(input).to_owned())),
        },
    };
    let name = text(block, "name").unwrap_or_default().to_owned();
    let mut call = RecordedCall::new(name, arguments);
    call.id = text(block, "id").map(|id| Cow::Owned(id.to_owned()));
    call
}

/// The text of input that could not be parsed.
fn unparsed(input: Node<'_>) -> Option<&str> {
    let raw = input.get("raw")?.as_str()?;
    (input.len() == 2 && input.get("len").is_some()).then_some(raw)
}

/// The conversation of a line: a session, or one of its agents.
fn conversation(root: Node<'_>) -> String {
    let session = text(root, "sessionId").unwrap_or_default();
    let agent = text(root, "agentId").unwrap_or_default();
    let is_side = root.get("isSidechain").and_then(Node::as_bool) == Some(true);
    format!("{session}/{agent}/{is_side}")
}
