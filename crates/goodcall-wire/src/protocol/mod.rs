//! How each provider writes streams: one folder each, which reads events (`mod.rs`) and writes them
//! (`encode.rs`). What happens to the calls in between is the same for all, in
//! [`relay::pending_calls`](crate::relay).

mod chat;
mod decoders;
mod messages;
mod ollama;
mod responses;

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use goodcall_core::{Node, Tree};

use crate::envelope::Provider;
use crate::relay::{CallDecision, Exchange, Usage};
use crate::splice::Splice;
use crate::sse::SseEvent;
use crate::stream::CallEvent;

pub(crate) use chat::{choice_of, split_choices};
pub(crate) use messages::thinking_before;

/// Returns the protocol of a provider, for the stream of one message; that of Chat Completions for
/// one whose streams are not relayed.
pub(crate) fn of(provider: Provider) -> Box<dyn Protocol> {
    match provider {
        Provider::Responses => Box::<responses::Responses>::default(),
        Provider::Anthropic => Box::<messages::Messages>::default(),
        Provider::Ollama => Box::<ollama::Ollama>::default(),
        _ => Box::<chat::Chat>::default(),
    }
}

/// Returns what reads the events of a provider, for the stream of one message.
pub(crate) fn decoder(provider: Provider) -> Box<dyn Decoder> {
    match provider {
        Provider::Gemini => Box::new(Stateless(decoders::gemini)),
        Provider::Bedrock => Box::new(Stateless(decoders::bedrock)),
        Provider::Mcp => Box::new(Stateless(decoders::mcp)),
        provider => of(provider),
    }
}

/// Reads the events of one message.
pub(crate) trait Decoder: fmt::Debug + Send + Sync {
    fn clone_decoder(&self) -> Box<dyn Decoder>;

    /// Reads what an event says about text and calls.
    fn decode(&mut self, root: Node<'_>, data: &str) -> Vec<CallEvent>;
}

impl Clone for Box<dyn Decoder> {
    fn clone(&self) -> Self {
        self.clone_decoder()
    }
}

/// A decoder for events that can be read one by one.
#[derive(Clone, Debug)]
struct Stateless(fn(Node<'_>, &str) -> Vec<CallEvent>);

impl Decoder for Stateless {
    fn clone_decoder(&self) -> Box<dyn Decoder> {
        Box::new(self.clone())
    }

    fn decode(&mut self, root: Node<'_>, data: &str) -> Vec<CallEvent> {
        (self.0)(root, data)
    }
}

/// What an event is to the stream as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A sign of life.
    Heartbeat,
    /// An error, after which nothing follows.
    Failure,
    /// The head of a reply, which the client gets once.
    Head,
    /// An item that the provider wants back only together with the item behind it.
    Companion,
    Content,
    /// The event that ends the message.
    Last,
    /// The event that ends the stream.
    Close,
}

/// A call of a message, by where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKey {
    /// Among the calls of the stream, with this number.
    Stream(usize),
    /// In the text, with this number.
    Text(usize),
    /// Only in the event that ends the message, with this number.
    Late(usize),
}

/// What an event does to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    Begin,
    Part,
    /// All arguments, repeated.
    Whole,
    End,
}

/// A fragment of a call in a held event.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The number of the call.
    pub(crate) number: usize,
    pub(crate) kind: PieceKind,
    pub(crate) span: Range<usize>,
}

/// A fragment of a call in an event that was just read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundFragment<'t> {
    pub(crate) number: usize,
    /// True if the call begins with it.
    pub(crate) is_new: bool,
    pub(crate) root: Node<'t>,
    pub(crate) data: &'t str,
    /// Where it begins in the event.
    pub(crate) start: usize,
}

/// A call as the client gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedCall<'d> {
    pub(crate) decision: &'d CallDecision,
    /// The client's index of the call; `None` if it became text, or is left out.
    pub(crate) place: Option<usize>,
}

/// A fragment with the calls that it is part of.
#[derive(Debug)]
pub(crate) struct PlacedPiece<'d> {
    pub(crate) piece: &'d Piece,
    /// True for the first fragment of its call that the client gets.
    pub(crate) first: bool,
    /// Usually one; several if several objects were sent as arguments; none if it is not judged.
    pub(crate) calls: Vec<PlacedCall<'d>>,
    /// The client's index of a call that is not judged.
    pub(crate) unjudged_place: Option<usize>,
}

/// What a held event is written with.
#[derive(Debug)]
pub(crate) struct HeldContext<'d> {
    pub(crate) exchange: &'d Exchange,
    /// True if a call of the message changes.
    pub(crate) changed: bool,
    /// True for the event that ends the message.
    pub(crate) is_last: bool,
    /// The number of calls that the client has, or will have.
    pub(crate) calls: usize,
    /// True if the message has calls that were judged.
    pub(crate) has_decisions: bool,
    /// The usage that this reply reports.
    pub(crate) usage: &'d Usage,
    /// The calls that are only in this event, each with what becomes of it.
    pub(crate) late: Vec<(usize, LateCall<'d>)>,
    /// The repairs that were made on the way, by their names.
    pub(crate) repairs: RefCell<Vec<&'static str>>,
}

impl HeldContext<'_> {
    fn note_repair(&self, name: &'static str) {
        self.repairs.borrow_mut().push(name);
    }
}

/// What becomes of a call that is only in the last event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LateCall<'d> {
    Call(&'d CallDecision),
    Text(&'d CallDecision),
    LeftOut,
}

/// Returns the decisions on a call.
pub(crate) type Decisions<'d> = dyn Fn(CallKey) -> Vec<&'d CallDecision> + 'd;

/// A provider's form of a streamed message: reads its events, and writes those that the client
/// gets. It keeps what the form needs from event to event: indexes, ids, parts of the history.
pub(crate) trait Protocol: Decoder {
    fn clone_box(&self) -> Box<dyn Protocol>;

    /// What the event is to the stream.
    fn kind(&self, root: Node<'_>) -> EventKind {
        let _ = root;
        EventKind::Content
    }

    /// Returns true if the stream marks where a call begins, so that a fragment without a name
    /// belongs to a call that has begun, or to none.
    fn marks_begin(&self) -> bool {
        true
    }

    /// Returns true if a message has one call at most, whatever its arguments look like.
    fn joins_calls(&self) -> bool {
        false
    }

    /// The number of the message's first invented id, which differs from choice to choice.
    fn first_number(&self) -> usize {
        0
    }

    /// The usage that an event reports.
    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("usage")
    }

    /// Returns true if the reply must not be asked for again: it was stopped for safety, or calls
    /// something that only the client can answer.
    fn is_settled(&self, root: Node<'_>) -> bool {
        let _ = root;
        false
    }

    /// Keeps what the history and later events need of an event.
    fn note(&mut self, root: Node<'_>, data: &str) {
        let _ = (root, data);
    }

    /// Keeps what the history needs of a fragment of a call, and the place of the call.
    fn note_fragment(&mut self, found: FoundFragment<'_>) {
        let _ = found;
    }

    /// Notes the place of a call in the history.
    fn note_call(&mut self, key: CallKey) {
        let _ = key;
    }

    /// Notes text of the current event, and what is left of it without the calls in it.
    fn note_text(&mut self, sent: &str, released: &str) {
        let _ = (sent, released);
    }

    /// Notes that a call has an invented id, so that it must be written anew.
    fn note_made_up_id(&mut self) {}

    /// Returns true if calls must be written anew whatever the verdicts.
    fn is_irregular(&self) -> bool {
        false
    }

    /// Has calls written as they came, because the rest of the stream passes as it comes.
    fn pass_rest(&mut self) {}

    /// Returns true if the first fragment of a call may be forwarded before the call is whole.
    fn may_stream(&self, number: usize) -> bool {
        let _ = number;
        false
    }

    /// Returns the calls that are only in the last event, as name, arguments and id.
    fn late_calls(&mut self, root: Node<'_>, data: &str) -> Vec<(String, String, Option<String>)> {
        let _ = (root, data);
        Vec::new()
    }

    /// Returns the event with this text in place of its own, and nothing else.
    fn only_text(&self, data: &str, text: &str) -> Option<String>;

    /// Returns the event without its text, and the places of the fragments in it.
    fn without_text(&self, data: &str) -> (String, Vec<Range<usize>>) {
        (data.to_owned(), Vec::new())
    }

    /// Returns an event that repeats text with what is left of it; `None` if it stays as it is.
    fn with_repeated_text(&mut self, data: &str) -> Option<String> {
        let _ = data;
        None
    }

    /// The client's index of the next call or item.
    fn take_place(&mut self) -> usize;

    /// Forwards an event that is not about calls, but for what a second reply must not repeat.
    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut Vec<u8>);

    /// Forwards an event of a call whose place is known, before the call is whole.
    fn forward_at(
        &mut self,
        exchange: &Exchange,
        event: &SseEvent,
        place: usize,
        out: &mut Vec<u8>,
    ) {
        let _ = place;
        self.forward(exchange, event, out);
    }

    /// Writes a held event with the calls in it as they were decided.
    fn write_held(
        &mut self,
        event: &SseEvent,
        pieces: &[PlacedPiece<'_>],
        context: &HeldContext<'_>,
        out: &mut Vec<u8>,
    );

    /// Writes a call that has no events of its own.
    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut Vec<u8>);

    /// Writes text in place of a call.
    fn write_text(&mut self, decision: &CallDecision, text: &str, out: &mut Vec<u8>);

    /// Writes the rest of the text that is open.
    fn write_text_rest(&mut self, text: &str, out: &mut Vec<u8>);

    /// Returns true if a thought may be written apart from the text.
    fn takes_reasoning(&self) -> bool {
        false
    }

    /// Writes a thought that was found in the text, where the protocol takes one.
    fn write_reasoning(&mut self, _: &str, _: &mut Vec<u8>) {}

    /// Writes the event that ends a message with calls, which a server left out. Returns false if
    /// there is none that could be written.
    fn write_last(&mut self, out: &mut Vec<u8>) -> bool;

    /// Writes the event that ends a stream, which a server left out. Returns false if the protocol
    /// has none.
    fn write_close(&mut self, out: &mut Vec<u8>) -> bool {
        let _ = out;
        false
    }

    /// The reply as JSON, every call in a form that a history may hold.
    fn history(&self, decisions: &Decisions<'_>) -> String;

    /// Begins the next reply, and keeps what the client has.
    fn begin_next(&mut self);
}

impl Clone for Box<dyn Protocol> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// Writes an event with its edits, or as it arrived if there are none.
fn write_spliced(event: &SseEvent, splice: Splice<'_>, out: &mut Vec<u8>) {
    if splice.is_empty() && !event.raw.is_empty() {
        out.extend_from_slice(&event.raw);
    } else {
        event.write_with(&splice.apply(), out);
    }
}

/// Sets a member to a text, unless it has it.
fn set_text(splice: &mut Splice<'_>, object: Node<'_>, key: &str, text: &str) -> bool {
    let differs = object.get(key).and_then(Node::as_str) != Some(text);
    if differs {
        splice.set(object, key, &crate::splice::quoted(text));
    }
    differs
}

/// The type of an event, for protocols that name it.
fn type_of<'t>(root: Node<'t>) -> &'t str {
    root.get("type").and_then(Node::as_str).unwrap_or_default()
}

/// Edits the JSON of an event; `None` if it is not JSON.
fn edited(data: &str, edit: impl FnOnce(Node<'_>, &mut Splice<'_>)) -> Option<String> {
    let tree = Tree::parse(data).ok()?;
    let mut splice = Splice::new(data);
    edit(tree.root(), &mut splice);
    Some(splice.apply())
}
