//! A streamed reply: bytes in, bytes out, and what is held back between them.

use super::choices::Choices;
use super::desk::AtDesk;
use super::exchange::Exchange;
use super::judge::{Judged, Ruling};
use super::messages::Messages;
use super::responses::Responses;
use super::sse::{SseEvent, SseReader};
use crate::envelope::Provider;

/// What becomes of a stream that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client has all of it.
    Done,
    /// The model is asked again, with [`Exchange::body`]; the client's stream stays open.
    Reask,
}

/// Streamed replies to one request, as one stream for the client.
///
/// Text goes through at once; a call is held until it is judged. After [`End::Reask`] the next
/// stream is announced by [`Relay::again`]; if there is none, [`Relay::give_up`] lets go of what
/// is held.
#[derive(Clone, Debug)]
pub struct Relay {
    exchange: Exchange,
    reader: SseReader,
    flow: Flow,
    /// Too much was held: the rest goes through unjudged.
    blind: bool,
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

/// What a flow hands over for the next question.
pub(super) struct Refused<'f> {
    /// The reply as a whole one, every call legal.
    pub(super) legal: String,
    pub(super) rulings: &'f [Ruling],
    /// Calls that the client has already.
    pub(super) passed: usize,
}

impl Relay {
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
        }
    }

    /// The request, and what was found.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// What was found, taken out when all is over.
    pub fn take_records(&mut self) -> Vec<Judged> {
        self.exchange.take_records()
    }

    /// Takes bytes of the stream; what the client gets is added to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.blind {
            return out.extend_from_slice(bytes);
        }
        self.reader.push(bytes);
        let most = self.exchange.judge.settings.max_held;
        let mut held = 0;
        while let Some(event) = self.reader.next() {
            self.event(event, out);
            held = each!(self.flow, flow => flow.held());
            if held > most {
                break;
            }
        }
        if held > most || self.reader.waiting() > most {
            self.blind = true;
            each!(self.flow, flow => flow.let_go(&mut self.exchange, out));
            out.append(&mut self.reader.rest());
        }
    }

    /// The stream is over.
    pub fn end(&mut self, out: &mut Vec<u8>) -> End {
        if self.blind {
            return End::Done;
        }
        if let Some(event) = self.reader.last() {
            self.event(event, out);
        }
        each!(self.flow, flow => flow.end(&mut self.exchange, out));
        let refused = match &self.flow {
            Flow::Chat(flow) => flow.refused(),
            Flow::Messages(flow) => flow.refused(),
            Flow::Responses(flow) => flow.refused(),
        };
        let Some(refused) = refused else {
            return End::Done;
        };
        let Refused {
            legal,
            rulings,
            passed,
        } = refused;
        if self.exchange.ask_again(&legal, rulings, passed) {
            return End::Reask;
        }
        self.give_up(out);
        End::Done
    }

    /// The next stream begins.
    pub fn again(&mut self) {
        self.reader = SseReader::default();
        each!(self.flow, flow => flow.again(&mut self.exchange));
    }

    /// There is no further stream: what is held goes on as the settings say.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        each!(self.flow, flow => flow.give_up(&mut self.exchange, out));
    }

    /// The stream broke off. What is whole and good goes on, half a call does not.
    pub fn cut(&mut self, out: &mut Vec<u8>) {
        if !self.blind {
            each!(self.flow, flow => flow.cut(&mut self.exchange, out));
        }
    }

    fn event(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        each!(self.flow, flow => flow.event(&mut self.exchange, event, out));
    }
}
