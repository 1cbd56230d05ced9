//! A streamed reply: bytes in, bytes out, and what is held back between them.

use goodcall_core::{Node, Tree};

use super::choices::Choices;
use super::desk::AtDesk;
use super::exchange::Exchange;
use super::judge::{CallDecision, CallRecord};
use super::messages::Messages;
use super::responses::Responses;
use super::usage::Usage;
use crate::envelope::Provider;
use crate::sse::{SseEvent, SseReader};

/// What becomes of a stream that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The client has all of it.
    Done,
    /// The model is asked again, with [`Exchange::body`]; the client's stream stays open.
    Reask,
}

/// Streamed replies to one request, as one stream for the client.
///
/// Text goes through at once; a call is held until it is judged. After [`StreamEnd::Reask`] the next
/// stream is announced by [`StreamRelay::again`]; if there is none, [`StreamRelay::give_up`] lets go of what
/// is held.
#[derive(Clone, Debug)]
pub struct StreamRelay {
    exchange: Exchange,
    reader: SseReader,
    flow: Flow,
    /// Too much was held: the rest goes through unjudged.
    blind: bool,
    /// The reply that was refused, until the next one says something.
    before: Option<Box<(Flow, Usage)>>,
    /// That reply went on in the end: whatever comes is left out.
    closed: bool,
}

/// What each protocol's stream does with events.
#[derive(Clone, Debug)]
enum Flow {
    Chat(Box<Choices>),
    Messages(Box<Messages>),
    Responses(Box<Responses>),
}

macro_rules! each {
    ($self:expr, $flow:ident => $what:expr) => {
        match &mut $self {
            Flow::Chat($flow) => $what,
            Flow::Messages($flow) => $what,
            Flow::Responses($flow) => $what,
        }
    };
}

/// What an event says at the beginning of a reply.
enum Said {
    /// The reply is on its way.
    Nothing,
    /// It is there.
    Something,
    /// There is none.
    Failure,
}

fn said(provider: Provider, event: &SseEvent) -> Said {
    let Some(data) = event.data.as_deref() else {
        return Said::Nothing;
    };
    if data.trim() == "[DONE]" {
        return Said::Failure;
    }
    let Ok(tree) = Tree::parse(data) else {
        return Said::Something;
    };
    let root = tree.root();
    let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
    match (provider, kind) {
        (Provider::Anthropic, "ping" | "message_start") => Said::Nothing,
        (Provider::Anthropic, "error" | "message_delta" | "message_stop") => Said::Failure,
        (Provider::Responses, "response.created" | "response.in_progress" | "response.queued") => {
            Said::Nothing
        }
        (Provider::Responses, "error" | "response.failed") => Said::Failure,
        (Provider::Anthropic | Provider::Responses, _) => Said::Something,
        _ if root.get("error").is_some_and(|error| !error.is_null()) => Said::Failure,
        _ => {
            let choices = root.get("choices").into_iter().flat_map(Node::elements);
            let says = |choice: Node<'_>| {
                let full = |node: Node<'_>| !node.is_null() && node.as_str() != Some("");
                let delta = choice.get("delta").or_else(|| choice.get("message"));
                let mut delta = delta.into_iter().flat_map(Node::members);
                choice.get("finish_reason").is_some_and(full)
                    || delta.any(|(key, value)| key != "role" && full(value))
            };
            match choices.into_iter().any(says) {
                true => Said::Something,
                false => Said::Nothing,
            }
        }
    }
}

/// What a flow hands over for the next question.
pub(super) struct Refused<'f> {
    /// The reply as a whole one, every call legal.
    pub(super) legal: String,
    pub(super) rulings: &'f [CallDecision],
    /// Calls that the client has already.
    pub(super) passed: usize,
}

impl StreamRelay {
    /// A relay for the stream that answers the request.
    pub fn new(exchange: Exchange) -> Self {
        let flow = match exchange.provider {
            Provider::Anthropic => Flow::Messages(Box::new(Messages::new(&exchange))),
            Provider::Responses => Flow::Responses(Box::new(Responses::new(&exchange))),
            _ => Flow::Chat(Box::new(Choices::new(&exchange))),
        };
        Self {
            exchange,
            reader: SseReader::default(),
            flow,
            blind: false,
            before: None,
            closed: false,
        }
    }

    /// The request, and what was found.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// What was found, taken out when all is over.
    pub fn take_records(&mut self) -> Vec<CallRecord> {
        self.exchange.take_records()
    }

    /// Takes bytes of the stream; what the client gets is added to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.closed {
            return;
        }
        if self.blind {
            return out.extend_from_slice(bytes);
        }
        self.reader.push(bytes);
        let most = self.exchange.judge.settings.max_held;
        let mut held = 0;
        while let Some(event) = self.reader.next_event() {
            self.event(event, out);
            if self.closed {
                return;
            }
            held = each!(self.flow, flow => flow.held());
            if held > most {
                break;
            }
        }
        if held > most || self.reader.pending() > most {
            self.blind = true;
            each!(self.flow, flow => flow.let_go(&mut self.exchange, out));
            out.append(&mut self.reader.take_pending());
        }
    }

    /// The stream is over.
    pub fn end(&mut self, out: &mut Vec<u8>) -> StreamEnd {
        if self.blind || self.closed {
            return StreamEnd::Done;
        }
        if let Some(event) = self.reader.last_event() {
            self.event(event, out);
        }
        if self.closed || self.fall_back(out) {
            return StreamEnd::Done;
        }
        each!(self.flow, flow => flow.end(&mut self.exchange, out));
        let refused = match &self.flow {
            Flow::Chat(flow) => flow.refused(),
            Flow::Messages(flow) => flow.refused(),
            Flow::Responses(flow) => flow.refused(),
        };
        let Some(refused) = refused else {
            return StreamEnd::Done;
        };
        let Refused {
            legal,
            rulings,
            passed,
        } = refused;
        if self.exchange.ask_again(&legal, rulings, passed) {
            return StreamEnd::Reask;
        }
        self.give_up(out);
        StreamEnd::Done
    }

    /// The next stream begins.
    pub fn again(&mut self) {
        self.reader = SseReader::default();
        let before = (self.flow.clone(), self.exchange.usage.clone());
        self.before = Some(Box::new(before));
        each!(self.flow, flow => flow.again(&mut self.exchange));
    }

    /// There is no further stream: what is held goes on as the settings say.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        each!(self.flow, flow => flow.give_up(&mut self.exchange, out));
    }

    /// The stream broke off. What is whole and good goes on, half a call does not.
    pub fn cut(&mut self, out: &mut Vec<u8>) {
        if !self.blind && !self.closed && !self.fall_back(out) {
            each!(self.flow, flow => flow.cut(&mut self.exchange, out));
        }
    }

    /// The next reply says nothing: the one before it goes on after all, if there is one.
    fn fall_back(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(before) = self.before.take() else {
            return false;
        };
        (self.flow, self.exchange.usage) = *before;
        self.give_up(out);
        self.closed = true;
        true
    }

    fn event(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        if self.before.is_some() {
            match said(self.exchange.provider, &event) {
                Said::Nothing => {}
                Said::Something => self.before = None,
                Said::Failure => {
                    self.fall_back(out);
                    return;
                }
            }
        }
        each!(self.flow, flow => flow.event(&mut self.exchange, event, out));
    }
}
