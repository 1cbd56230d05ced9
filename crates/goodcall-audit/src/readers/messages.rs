//! A conversation with one message per record: lines or elements in the form of Chat Completions,
//! Messages or Responses. Such a file is one conversation, and says nothing of its tools.

use goodcall_core::Node;

use super::exchange::Exchange;
use super::fields::{elements, text};
use super::{CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable};
use crate::recorded::RecordPlace;

/// Bytes of a conversation that are kept.
const MOST_BYTES: usize = 64 << 20;

pub(super) struct Messages;

impl LogFormat for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        is_message(record)
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<Conversation>::default()
    }
}

/// Returns true for a message, or for an item of Responses.
pub(super) fn is_message(node: Node<'_>) -> bool {
    let is_item = matches!(
        text(node, "type"),
        Some("function_call" | "function_call_output" | "reasoning")
    );
    let is_role = matches!(
        text(node, "role"),
        Some("system" | "developer" | "user" | "assistant" | "tool" | "function")
    );
    // A whole reply says more than a message: how it ended, and what it cost.
    let is_reply = node.get("stop_reason").is_some() || node.get("usage").is_some();
    let has_content = node.get("content").is_some() || node.get("tool_calls").is_some();
    is_item || is_role && has_content && !is_reply
}

/// The number of calls in a message.
fn calls_in(message: Node<'_>) -> usize {
    if text(message, "type") == Some("function_call") {
        return 1;
    }
    let blocks = elements(message, "content");
    let uses = blocks.filter(|block| text(*block, "type") == Some("tool_use"));
    elements(message, "tool_calls").count() + uses.count()
}

/// Returns true if these messages are items of Responses.
pub(super) fn are_items<'t>(mut messages: impl Iterator<Item = Node<'t>>) -> bool {
    messages.any(|message| {
        let kind = text(message, "type");
        matches!(kind, Some("function_call" | "function_call_output"))
    })
}

/// The messages so far.
#[derive(Default)]
struct Conversation {
    texts: Vec<String>,
    bytes: usize,
    are_items: bool,
    first: Option<RecordPlace>,
}

impl RecordReader for Conversation {
    fn read(&mut self, record: &LogRecord<'_>, _out: &mut dyn TurnSink) -> CallsRead {
        if !is_message(record.root) {
            return Err(Unreadable::because("not a message"));
        }
        self.bytes += record.text.len();
        if self.bytes > MOST_BYTES {
            return Err(Unreadable::because("a conversation longer than 64 MiB"));
        }
        self.first.get_or_insert_with(|| record.place.clone());
        self.are_items |= are_items(std::iter::once(record.root));
        self.texts.push(record.text.to_owned());
        Ok(calls_in(record.root))
    }

    fn finish(&mut self, out: &mut dyn TurnSink) {
        let Some(place) = self.first.take() else {
            return;
        };
        let list = format!("[{}]", self.texts.join(","));
        // A history is always readable once its messages are.
        let _ = Exchange::of_messages(&list, self.are_items).pass_on(&place, out);
    }
}
