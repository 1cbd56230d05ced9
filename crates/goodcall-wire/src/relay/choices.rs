//! Streams of OpenAI Chat Completions: one message, or several choices that arrive interleaved.

use goodcall_core::{Kind, Node, Tree};

use super::chat::{Chat, index_of};
use super::exchange::Exchange;
use super::reask::RefusedReply;
use super::usage::Usage;
use crate::envelope::{is_client_side_call, is_safety_stop};
use crate::splice::Splice;
use crate::sse::{self, SseEvent};

/// The most choices of one reply that are judged; OpenAI sends no more.
const MOST_CHOICES: usize = 128;

/// The choices of one stream. Several choices are judged one by one, and never asked for again,
/// because a history holds one message.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// Never empty.
    chats: Vec<Chat>,
    usage: Usage,
    done: bool,
}

impl Choices {
    pub(super) fn new(exchange: &Exchange) -> Self {
        Self {
            chats: vec![Chat::new(exchange)],
            usage: Usage::default(),
            done: false,
        }
    }

    pub(super) fn begin_next(&mut self, exchange: &mut Exchange) {
        exchange.usage.add(&self.usage);
        (self.usage, self.done) = (Usage::default(), false);
        self.chats.truncate(1);
        self.chats[0].begin_next(exchange);
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.chats.iter().map(Chat::held_bytes).sum()
    }

    pub(super) fn event(&mut self, exchange: &mut Exchange, event: SseEvent, out: &mut Vec<u8>) {
        let Some(data) = event.data.as_deref() else {
            return out.extend_from_slice(&event.raw);
        };
        if data.trim() == "[DONE]" {
            for chat in &mut self.chats {
                chat.end_message(exchange, out);
            }
            self.done = true;
            return self.chats[0].other(exchange, event, out);
        }
        let Ok(tree) = Tree::parse(data) else {
            return self.chats[0].other(exchange, event, out);
        };
        let root = tree.root();
        if root.get("error").is_some_and(|error| !error.is_null()) {
            drop(tree);
            self.abort(exchange, out);
            self.done = true;
            return out.extend_from_slice(&event.raw);
        }
        if let Some(usage) = root.get("usage").filter(|node| node.kind() == Kind::Object) {
            self.usage.note(usage);
        }
        let choices = root.get("choices");
        if choices.is_some_and(|choices| choices.len() > 1) {
            let parts = split_choices(root, data);
            drop(tree);
            for part in parts {
                self.event(exchange, event.of_same_type(part), out);
            }
            return;
        }
        let choice = choices.and_then(|choices| choices.element(0));
        let Some(at) = self.find(exchange, choice) else {
            return out.extend_from_slice(&event.raw);
        };
        let chat = &mut self.chats[at];
        if !chat.is_receiving() {
            drop(tree);
            return chat.other(exchange, event, out);
        }
        let chunk = chat.read(root, choice, data);
        exchange.settled |= choice.is_some_and(|choice| {
            let calls = choice
                .get("delta")
                .and_then(|delta| delta.get("tool_calls"));
            is_safety_stop(choice.get("finish_reason"))
                || calls.is_some_and(|calls| calls.elements().any(is_client_side_call))
        });
        drop(tree);
        chat.handle(exchange, event, chunk, out);
    }

    /// Returns the position of the choice that a chunk is about; `None` if there are too many.
    fn find(&mut self, exchange: &mut Exchange, choice: Option<Node<'_>>) -> Option<usize> {
        let Some(choice) = choice else {
            return Some(0);
        };
        let index = index_of(choice);
        let found = self.chats.iter().position(|chat| chat.has_index(index));
        if found.is_none() && self.chats.len() < MOST_CHOICES {
            exchange.request.several_choices = true;
            self.chats.push(Chat::new(exchange));
            return Some(self.chats.len() - 1);
        }
        found
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        self.chats[0].refused()
    }

    pub(super) fn end(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.end_message(exchange, out);
            // A second choice arrived after this one was refused, so that it cannot be asked for.
            if chat.is_refused() && exchange.request.several_choices {
                chat.write_held(exchange, out);
            }
        }
        if !self.chats[0].is_refused() {
            self.close(out);
        }
    }

    pub(super) fn give_up(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.chats[0].write_held(exchange, out);
        self.close(out);
    }

    /// Writes the end that a server omitted.
    fn close(&self, out: &mut Vec<u8>) {
        if !self.done && self.chats.iter().any(Chat::wrote_calls) {
            sse::write(None, "[DONE]", out);
        }
    }

    pub(super) fn abort(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.abort(exchange, out);
        }
    }

    pub(super) fn release_unjudged(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.release_unjudged(exchange, out);
        }
    }
}

/// Splits a chunk with several choices into chunks with one each; the last one reports the usage.
fn split_choices(root: Node<'_>, data: &str) -> Vec<String> {
    let Some(list) = root.get("choices") else {
        return Vec::new();
    };
    let count = list.len();
    let parts = list.elements().enumerate().map(|(at, choice)| {
        let mut splice = Splice::new(data);
        let own = data.get(choice.span()).unwrap_or_default();
        splice.replace(list.span(), format!("[{own}]"));
        if at + 1 < count {
            splice.remove(root, "usage");
        }
        splice.apply()
    });
    parts.collect()
}
