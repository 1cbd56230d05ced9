//! A streamed reply: upstream bytes in, client bytes out, and calls held back in between.

use goodcall_core::{Node, Tree};

use super::choices::Choices;
use super::exchange::Exchange;
use super::judge::CallRecord;
use super::messages::Messages;
use super::pending_calls::PendingCallStream;
use super::responses::Responses;
use super::usage::Usage;
use crate::envelope::Provider;
use crate::sse::{SseEvent, SseReader};

/// What a gateway has to do after the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// End the client's stream: the client has everything.
    Done,
    /// Ask the model again, with [`Exchange::body`], and keep the client's stream open.
    Reask,
}

/// Joins the streamed replies to one request into one stream for the client.
///
/// Text is forwarded at once; a call is held until it is judged. After [`StreamEnd::Reask`] call
/// [`StreamRelay::begin_next`] and push the next stream, or [`StreamRelay::give_up`] if there is none.
#[derive(Clone, Debug)]
pub struct StreamRelay {
    exchange: Exchange,
    reader: SseReader,
    protocol: ProtocolStream,
    /// True if too much was held: the rest is forwarded unjudged.
    unjudged: bool,
    /// The reply that was refused, until the next one has content.
    refused: Option<Box<(ProtocolStream, Usage)>>,
    /// True if the refused reply was forwarded after all: further events are ignored.
    closed: bool,
}

/// The stream of one protocol.
#[derive(Clone, Debug)]
enum ProtocolStream {
    Chat(Box<Choices>),
    Messages(Box<Messages>),
    Responses(Box<Responses>),
}

macro_rules! each {
    ($self:expr, $stream:ident => $what:expr) => {
        match &mut $self {
            ProtocolStream::Chat($stream) => $what,
            ProtocolStream::Messages($stream) => $what,
            ProtocolStream::Responses($stream) => $what,
        }
    };
}

/// What an event at the head of a reply says about it.
enum StreamHead {
    /// Nothing yet.
    Undecided,
    /// The reply has content.
    Content,
    /// The reply is an error, or has no content.
    Failure,
}

fn stream_head(provider: Provider, event: &SseEvent) -> StreamHead {
    let Some(data) = event.data.as_deref() else {
        return StreamHead::Undecided;
    };
    if data.trim() == "[DONE]" {
        return StreamHead::Failure;
    }
    let Ok(tree) = Tree::parse(data) else {
        return StreamHead::Content;
    };
    let root = tree.root();
    let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
    match (provider, kind) {
        (Provider::Anthropic, "ping" | "message_start") => StreamHead::Undecided,
        (Provider::Anthropic, "error" | "message_delta" | "message_stop") => StreamHead::Failure,
        (Provider::Responses, "response.created" | "response.in_progress" | "response.queued") => {
            StreamHead::Undecided
        }
        (Provider::Responses, "error" | "response.failed") => StreamHead::Failure,
        (Provider::Anthropic | Provider::Responses, _) => StreamHead::Content,
        _ if root.get("error").is_some_and(|error| !error.is_null()) => StreamHead::Failure,
        _ => {
            let mut choices = root.get("choices").into_iter().flat_map(Node::elements);
            if choices.any(has_content) {
                StreamHead::Content
            } else {
                StreamHead::Undecided
            }
        }
    }
}

fn has_content(choice: Node<'_>) -> bool {
    let full = |node: Node<'_>| !node.is_null() && node.as_str() != Some("");
    let delta = choice.get("delta").or_else(|| choice.get("message"));
    let mut members = delta.into_iter().flat_map(Node::members);
    choice.get("finish_reason").is_some_and(full)
        || members.any(|(key, value)| key != "role" && full(value))
}

impl StreamRelay {
    /// Returns a relay for the stream that answers the request.
    pub fn new(exchange: Exchange) -> Self {
        let protocol = match exchange.provider {
            Provider::Anthropic => ProtocolStream::Messages(Box::new(Messages::new(&exchange))),
            Provider::Responses => ProtocolStream::Responses(Box::new(Responses::new(&exchange))),
            _ => ProtocolStream::Chat(Box::new(Choices::new(&exchange))),
        };
        Self {
            exchange,
            reader: SseReader::default(),
            protocol,
            unjudged: false,
            refused: None,
            closed: false,
        }
    }

    /// The request, and the records of its calls.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Takes out the records of all calls, for when the stream is over.
    pub fn take_records(&mut self) -> Vec<CallRecord> {
        self.exchange.take_records()
    }

    /// Returns true while something is held back that has arrived.
    pub fn is_holding(&self) -> bool {
        let held = match &self.protocol {
            ProtocolStream::Chat(stream) => stream.held_bytes(),
            ProtocolStream::Messages(stream) => stream.held_bytes(),
            ProtocolStream::Responses(stream) => stream.held_bytes(),
        };
        !self.unjudged && !self.closed && (held > 0 || self.refused.is_some())
    }

    /// What to send to the client as a sign of life while something is held: an event or a comment
    /// that clients skip. `None` if nothing is held.
    pub fn heartbeat(&self) -> Option<&'static str> {
        self.is_holding().then_some(match self.exchange.provider {
            Provider::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            _ => ": goodcall\n\n",
        })
    }

    /// Returns true if the client got the refused reply because the next one had no content.
    pub fn fell_back(&self) -> bool {
        self.closed
    }

    /// Takes bytes of the upstream's stream, and appends bytes for the client to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.closed {
            return;
        }
        if self.unjudged {
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
            held = each!(self.protocol, stream => stream.held_bytes());
            if held > most {
                break;
            }
        }
        if held > most || self.reader.pending() > most {
            self.unjudged = true;
            each!(self.protocol, stream => stream.release_unjudged(&mut self.exchange, out));
            out.append(&mut self.reader.take_pending());
        }
    }

    /// Ends the upstream's stream.
    pub fn end(&mut self, out: &mut Vec<u8>) -> StreamEnd {
        if self.unjudged || self.closed {
            return StreamEnd::Done;
        }
        if let Some(event) = self.reader.last_event() {
            self.event(event, out);
        }
        if self.closed || self.fall_back(out) {
            return StreamEnd::Done;
        }
        each!(self.protocol, stream => stream.end(&mut self.exchange, out));
        let refused = match &self.protocol {
            ProtocolStream::Chat(stream) => stream.refused(),
            ProtocolStream::Messages(stream) => stream.refused(),
            ProtocolStream::Responses(stream) => stream.refused(),
        };
        let Some(refused) = refused else {
            return StreamEnd::Done;
        };
        if self.exchange.ask_again(&refused) {
            return StreamEnd::Reask;
        }
        self.give_up(out);
        StreamEnd::Done
    }

    /// Begins the stream that answers a re-ask.
    pub fn begin_next(&mut self) {
        self.reader = SseReader::default();
        let refused = (self.protocol.clone(), self.exchange.usage.clone());
        self.refused = Some(Box::new(refused));
        each!(self.protocol, stream => stream.begin_next(&mut self.exchange));
    }

    /// Forwards what is held as the settings say, because there is no further stream.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        each!(self.protocol, stream => stream.give_up(&mut self.exchange, out));
    }

    /// Ends a stream that broke off. Complete good calls are forwarded, an incomplete one is not.
    pub fn abort(&mut self, out: &mut Vec<u8>) {
        if !self.unjudged && !self.closed && !self.fall_back(out) {
            each!(self.protocol, stream => stream.abort(&mut self.exchange, out));
        }
    }

    /// Forwards the refused reply after all, because the next one has no content. Returns false if
    /// there is no refused reply.
    fn fall_back(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(refused) = self.refused.take() else {
            return false;
        };
        (self.protocol, self.exchange.usage) = *refused;
        self.give_up(out);
        self.closed = true;
        true
    }

    fn event(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        if self.refused.is_some() {
            match stream_head(self.exchange.provider, &event) {
                StreamHead::Undecided => {}
                StreamHead::Content => self.refused = None,
                StreamHead::Failure => {
                    self.fall_back(out);
                    return;
                }
            }
        }
        each!(self.protocol, stream => stream.event(&mut self.exchange, event, out));
    }
}
