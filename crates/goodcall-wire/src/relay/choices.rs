//! Streams of OpenAI Chat Completions: one message, or several choices that come interleaved.

use goodcall_core::{Kind, Node, Tree};

use super::chat::{Chat, index_of};
use super::exchange::Exchange;
use super::flow::Refused;
use super::usage::Usage;
use crate::cuts::Cuts;
use crate::envelope::{is_client_side_call, is_safety_stop};
use crate::sse::{self, SseEvent};

/// Choices of one reply that are judged; OpenAI gives no more.
const MOST_CHOICES: usize = 128;

/// The choices of one stream. Where there are several, each is judged for itself, and none is
/// asked for again: a history holds one message.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// Never empty.
    chats: Vec<Chat>,
    own: Usage,
    done: bool,
}

impl Choices {
    pub(super) fn new(exchange: &Exchange) -> Self {
        Self {
            chats: vec![Chat::new(exchange)],
            own: Usage::default(),
            done: false,
        }
    }

    pub(super) fn again(&mut self, exchange: &mut Exchange) {
        exchange.usage.add(&self.own);
        (self.own, self.done) = (Usage::default(), false);
        self.chats.truncate(1);
        self.chats[0].again(exchange);
    }

    pub(super) fn held(&self) -> usize {
        self.chats.iter().map(Chat::held).sum()
    }

    pub(super) fn event(&mut self, exchange: &mut Exchange, event: SseEvent, out: &mut Vec<u8>) {
        let Some(data) = event.data.as_deref() else {
            return out.extend_from_slice(&event.raw);
        };
        if data.trim() == "[DONE]" {
            for chat in &mut self.chats {
                chat.decide(exchange, out);
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
            self.cut(exchange, out);
            self.done = true;
            return out.extend_from_slice(&event.raw);
        }
        if let Some(usage) = root.get("usage").filter(|node| node.kind() == Kind::Object) {
            self.own.note(usage);
        }
        let choices = root.get("choices");
        if choices.is_some_and(|choices| choices.len() > 1) {
            let parts = parts(root, data);
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
        if !chat.is_open() {
            drop(tree);
            return chat.other(exchange, event, out);
        }
        let chunk = chat.look(root, choice, data);
        exchange.settled |= choice.is_some_and(|choice| {
            let calls = choice
                .get("delta")
                .and_then(|delta| delta.get("tool_calls"));
            is_safety_stop(choice.get("finish_reason"))
                || calls.is_some_and(|calls| calls.elements().any(is_client_side_call))
        });
        drop(tree);
        chat.take(exchange, event, chunk, out);
    }

    /// The place of the choice that a chunk is about; `None` if there are too many.
    fn find(&mut self, exchange: &mut Exchange, choice: Option<Node<'_>>) -> Option<usize> {
        let Some(choice) = choice else {
            return Some(0);
        };
        let index = index_of(choice);
        let found = self.chats.iter().position(|chat| chat.is(index));
        if found.is_none() && self.chats.len() < MOST_CHOICES {
            exchange.several = true;
            self.chats.push(Chat::new(exchange));
            return Some(self.chats.len() - 1);
        }
        found
    }

    pub(super) fn refused(&self) -> Option<Refused<'_>> {
        self.chats[0].refused()
    }

    pub(super) fn end(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.decide(exchange, out);
            // It was refused before another choice came: too late to ask.
            if chat.is_refused() && exchange.several {
                chat.write(exchange, out);
            }
        }
        if !self.chats[0].is_refused() {
            self.close(out);
        }
    }

    pub(super) fn give_up(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.chats[0].write(exchange, out);
        self.close(out);
    }

    /// The end that a server left out.
    fn close(&self, out: &mut Vec<u8>) {
        if !self.done && self.chats.iter().any(Chat::wrote) {
            sse::write(None, "[DONE]", out);
        }
    }

    pub(super) fn cut(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.cut(exchange, out);
        }
    }

    pub(super) fn let_go(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        for chat in &mut self.chats {
            chat.let_go(exchange, out);
        }
    }
}

/// A chunk with several choices as chunks with one each; the last one tells the usage.
fn parts(root: Node<'_>, data: &str) -> Vec<String> {
    let Some(list) = root.get("choices") else {
        return Vec::new();
    };
    let count = list.len();
    let parts = list.elements().enumerate().map(|(at, choice)| {
        let mut cuts = Cuts::new(data);
        let own = data.get(choice.span()).unwrap_or_default();
        cuts.replace(list.span(), format!("[{own}]"));
        if at + 1 < count {
            cuts.remove(root, "usage");
        }
        cuts.apply()
    });
    parts.collect()
}
