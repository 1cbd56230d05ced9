//! Rollouts of Codex (`~/.codex/sessions/…/rollout-*.jsonl`).
//!
//! Arguments are kept as the model wrote them. Tools are not recorded, except those that were added
//! while a session ran.

use std::borrow::Cow;

use goodcall_core::{Kind, Node};
use goodcall_wire::recorded::TokenCount;

use super::fields::{container, content, text, time};
use super::pending::PendingTurns;
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable};
use crate::recorded::{RecordedCall, RecordedResult, RecordedTurn, SentArguments};

/// The types of lines.
const TYPES: [&str; 5] = [
    "session_meta",
    "response_item",
    "turn_context",
    "event_msg",
    "compacted",
];

pub(super) struct Codex;

impl LogFormat for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let kind = text(record, "type").unwrap_or_default();
        TYPES.contains(&kind) && container(record, "payload").is_some()
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<Rollout>::default()
    }
}

#[derive(Default)]
struct Rollout {
    session: String,
    model: Option<String>,
    turns: PendingTurns,
    after_user: bool,
}

impl RecordReader for Rollout {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        let payload = record.root.get("payload");
        let payload = payload.ok_or(Unreadable::because("a line without a payload"))?;
        match text(record.root, "type") {
            Some("session_meta") => {
                self.session = text(payload, "id").unwrap_or_default().to_owned();
            }
            Some("turn_context") => {
                if let Some(model) = text(payload, "model") {
                    self.model = Some(model.to_owned());
                }
            }
            Some("event_msg") => self.event(payload),
            Some("response_item") => return Ok(self.item(record, payload, out)),
            _ => {}
        }
        Ok(0)
    }

    fn finish(&mut self, out: &mut dyn TurnSink) {
        self.turns.finish(out);
    }
}

impl Rollout {
    fn event(&mut self, payload: Node<'_>) {
        match text(payload, "type") {
            Some("user_message") => self.after_user = true,
            Some("token_count") => {
                let usage = payload
                    .get("info")
                    .and_then(|info| info.get("last_token_usage"));
                if let (Some(count), Some(turn)) =
                    (usage.and_then(TokenCount::read), self.turns.last())
                {
                    turn.tokens = Some(count);
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, record: &LogRecord<'_>, payload: Node<'_>, out: &mut dyn TurnSink) -> usize {
        let call = match text(payload, "type") {
            Some("function_call") => match payload.get("arguments") {
                Some(sent) => sent.as_str().map_or_else(
                    || SentArguments::Value(Cow::Owned(record.part(sent).to_owned())),
                    |sent| SentArguments::Text(Cow::Owned(sent.to_owned())),
                ),
                None => SentArguments::NotRecorded,
            },
            Some("custom_tool_call") => {
                let sent = text(payload, "input").unwrap_or_default();
                SentArguments::Free(Cow::Owned(sent.to_owned()))
            }
            Some("local_shell_call") => payload
                .get("action")
                .map_or(SentArguments::NotRecorded, |action| {
                    SentArguments::Value(Cow::Owned(record.part(action).to_owned()))
                }),
            Some("function_call_output" | "custom_tool_call_output") => {
                self.output(payload);
                return 0;
            }
            Some("message") if text(payload, "role") == Some("user") => {
                self.after_user = true;
                return 0;
            }
            _ => return 0,
        };
        self.call(record, payload, call, out);
        1
    }

    fn call(
        &mut self,
        record: &LogRecord<'_>,
        payload: Node<'_>,
        arguments: SentArguments<'static>,
        out: &mut dyn TurnSink,
    ) {
        let name = match (text(payload, "name"), text(payload, "namespace")) {
            (Some(name), Some(space)) => format!("{space}__{name}"),
            (Some(name), None) => name.to_owned(),
            (None, _) => text(payload, "type").unwrap_or_default().to_owned(),
        };
        let mut call = RecordedCall::new(name, arguments);
        call.id = text(payload, "call_id").map(|id| Cow::Owned(id.to_owned()));
        let turn = match self.turns.open() {
            // Calls in a row are those of one message.
            Some(_) if !self.after_user => self.turns.open().expect("it was there"),
            _ => {
                let mut turn = RecordedTurn::new(record.place.clone());
                turn.conversation = Some(Cow::Owned(self.session.clone()));
                turn.model = self.model.clone().map(Cow::Owned);
                turn.time = time(record.root, &["timestamp"]);
                turn.after_user = std::mem::take(&mut self.after_user);
                self.turns.begin(None, turn, out)
            }
        };
        turn.calls.push(call);
    }

    fn output(&mut self, payload: Node<'_>) {
        let Some(output) = payload.get("output") else {
            return;
        };
        let is_object = output.kind() == Kind::Object;
        let failed = output.get("success").and_then(Node::as_bool) == Some(false);
        let said = match output.get("content").filter(|_| is_object) {
            Some(inner) => content(inner),
            None => content(output),
        };
        let id = text(payload, "call_id").unwrap_or_default();
        self.turns.result(id, RecordedResult::new(said, failed));
    }
}
