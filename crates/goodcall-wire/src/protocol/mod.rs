//! How each provider writes replies: one folder each, which reads them (`mod.rs`: whole messages, and
//! the events of streams) and writes the events that a client gets (`encode.rs`). What happens to the
//! calls in between is the same for all, in [`relay::pending_calls`](crate::relay).

mod bedrock;
mod chat;
mod decoders;
mod event_edits;
#[cfg(feature = "event-stream")]
mod event_stream;
mod form;
mod framing;
mod gemini;
mod messages;
mod ollama;
mod places;
mod responses;

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use goodcall_core::Node;

use crate::envelope::Provider;
use crate::relay::{CallDecision, Exchange, Usage};
use crate::splice::{Splice, quoted};
use crate::sse::SseEvent;
use crate::stream::CallEvent;

pub(crate) use chat::{calls_key, is_legacy};
pub(crate) use form::{Author, Extension, Form, Layout, RequestUrl, StopPlace, StopReasons};
pub(crate) use framing::{EventReader, EventWriter, Framing};
pub(crate) use places::Places;

use event_edits::{Edited, edited, is_full, numbered, set_index, set_text, split_list};
use event_edits::{type_of, with_spans, write_edited, write_spliced, written_members};

/// A protocol that is relayed: its whole messages, and the stream of one message.
struct Relayed {
    form: &'static dyn Form,
    stream: fn() -> Box<dyn Protocol>,
}

/// The protocols that are relayed. The first one stands in for a provider that is not listed.
static RELAYED: [Relayed; 6] = [
    Relayed {
        form: &chat::ChatForm,
        stream: || Box::<chat::Chat>::default(),
    },
    Relayed {
        form: &responses::ResponsesForm,
        stream: || Box::<responses::Responses>::default(),
    },
    Relayed {
        form: &messages::MessagesForm,
        stream: || Box::<messages::Messages>::default(),
    },
    Relayed {
        form: &gemini::GeminiForm,
        stream: || Box::<gemini::Gemini>::default(),
    },
    Relayed {
        form: &bedrock::BedrockForm,
        stream: || Box::<bedrock::Bedrock>::default(),
    },
    Relayed {
        form: &ollama::OllamaForm,
        stream: || Box::<ollama::Ollama>::default(),
    },
];

fn relayed(provider: Provider) -> &'static Relayed {
    let mut all = RELAYED.iter();
    let own = all.find(|protocol| protocol.form.provider() == provider);
    own.unwrap_or(&RELAYED[0])
}

/// Returns the form of a provider's whole messages.
pub(crate) fn form(provider: Provider) -> &'static dyn Form {
    relayed(provider).form
}

/// The forms of all protocols that are relayed.
pub(crate) fn forms() -> impl Iterator<Item = &'static dyn Form> {
    RELAYED.iter().map(|protocol| protocol.form)
}

/// Returns the protocol of a provider, for the stream of one message.
pub(crate) fn of(provider: Provider) -> Box<dyn Protocol> {
    (relayed(provider).stream)()
}

/// Returns what reads the events of a provider, for the stream of one message.
pub(crate) fn decoder(provider: Provider) -> Box<dyn Decoder> {
    match provider {
        Provider::Mcp => Box::new(Stateless(decoders::mcp)),
        provider => of(provider),
    }
}

/// Reads the events of one message.
pub(crate) trait Decoder: CloneDecoder + fmt::Debug + Send + Sync {
    /// Reads what an event says about text and calls.
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent>;
}

/// Copies a decoder whose type is not known.
pub(crate) trait CloneDecoder {
    fn clone_decoder(&self) -> Box<dyn Decoder>;
}

impl<T: Decoder + Clone + 'static> CloneDecoder for T {
    fn clone_decoder(&self) -> Box<dyn Decoder> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Decoder> {
    fn clone(&self) -> Self {
        self.clone_decoder()
    }
}

/// A decoder for events that can be read one by one.
#[derive(Clone, Debug)]
struct Stateless(fn(Node<'_>) -> Vec<CallEvent>);

impl Decoder for Stateless {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        (self.0)(root)
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

/// What an event at the head of a reply says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamHead {
    /// Nothing yet.
    Undecided,
    /// The reply has content.
    Content,
    /// The reply is an error, or has no content.
    Failure,
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

impl<'d> PlacedPiece<'d> {
    /// The first call of the fragment and its place, unless the client does not get it.
    fn call(&self) -> Option<(&'d CallDecision, usize)> {
        let call = self.calls.first()?;
        Some((call.decision, call.place?))
    }

    /// Like [`PlacedPiece::call`], for a fragment that is a block or in one. Arguments that were
    /// replaced are written before the end of their block, in place of all fragments.
    fn block_call(
        &self,
        write_arguments: fn(&CallDecision, usize, &mut EventWriter),
        out: &mut EventWriter,
    ) -> Option<(&'d CallDecision, usize)> {
        let (decision, place) = self.call()?;
        if decision.arguments.is_some() {
            match self.piece.kind {
                PieceKind::Part => return None,
                PieceKind::End => write_arguments(decision, place, out),
                PieceKind::Begin | PieceKind::Whole => {}
            }
        }
        Some((decision, place))
    }
}

/// An event that was held, and what it is written with.
#[derive(Debug)]
pub(crate) struct HeldEvent<'d> {
    pub(crate) event: &'d SseEvent,
    /// The fragments of calls in it.
    pub(crate) pieces: &'d [PlacedPiece<'d>],
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

impl HeldEvent<'_> {
    fn note_repair(&self, name: &'static str) {
        self.repairs.borrow_mut().push(name);
    }

    /// Corrects the reason why the message ended, where that has to do with its calls.
    fn set_stop_reason(
        &self,
        reasons: &StopReasons,
        (owner, key): (Node<'_>, &str),
        splice: &mut Splice<'_>,
    ) {
        let reason = owner.get(key).and_then(Node::as_str);
        let Some(corrected) = reasons.corrected(reason, self.calls) else {
            return;
        };
        if self.calls > 0 {
            self.note_repair("finish_reason");
        } else if !self.has_decisions {
            return;
        }
        splice.set(owner, key, &quoted(corrected));
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
pub(crate) trait Protocol: CloneProtocol + Decoder {
    /// What the event is to the stream.
    fn kind(&self, root: Node<'_>) -> EventKind {
        let _ = root;
        EventKind::Content
    }

    /// Returns true if an event at the head of a reply has content of it.
    fn has_content(&self, root: Node<'_>) -> bool {
        self.kind(root) == EventKind::Content
    }

    /// What an event at the head of a reply says about it.
    fn head(&self, root: Node<'_>) -> StreamHead {
        match self.kind(root) {
            EventKind::Failure => StreamHead::Failure,
            _ if self.has_content(root) => StreamHead::Content,
            EventKind::Last | EventKind::Close => StreamHead::Failure,
            _ => StreamHead::Undecided,
        }
    }

    /// What clients skip between events, as a sign of life; `None` if there is no such thing.
    fn heartbeat(&self) -> Option<String> {
        Some(": goodcall\n\n".to_owned())
    }

    /// The index of the choice that an event is about; `None` if it is about none.
    fn choice_of<'t>(&self, root: Node<'t>) -> Option<&'t str> {
        let _ = root;
        None
    }

    /// Splits an event about several choices into events about one each; `None` for any other event.
    fn split_choices(&self, root: Node<'_>, data: &str) -> Option<Vec<String>> {
        let _ = (root, data);
        None
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

    /// Returns true if the provider may store a reply as it sends it, under an id that the client
    /// names in its next request. Then calls of two replies cannot be joined, and what the client
    /// gets must be of one reply as far as possible.
    fn is_stored_at_once(&self) -> bool {
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
    fn note(&mut self, root: Node<'_>) {
        let _ = root;
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
    fn late_calls(&mut self, root: Node<'_>) -> Vec<(String, String, Option<String>)> {
        let _ = root;
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

    /// Returns the event that ends a message without saying that its calls could not be read; `None`
    /// for an error.
    fn without_failure(&self, event: &SseEvent) -> Option<SseEvent> {
        let _ = event;
        None
    }

    /// Prepares for a message that has no events of the upstream. Its id is made of `number`.
    fn begin_alone(&mut self, number: &str, model: &str) {
        let _ = (number, model);
    }

    /// The client's indexes of calls or items.
    fn places(&mut self) -> &mut Places;

    /// Forwards an event that is not about calls, but for what a second reply must not repeat.
    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter);

    /// Forwards an event of a call whose place is known, before the call is whole.
    fn forward_at(
        &mut self,
        exchange: &Exchange,
        event: &SseEvent,
        place: usize,
        out: &mut EventWriter,
    ) {
        let _ = place;
        self.forward(exchange, event, out);
    }

    /// Writes a held event with the calls in it as they were decided.
    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter);

    /// Writes a call that has no events of its own.
    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter);

    /// Writes the calls of a fragment behind its first one, if the fragment ends that one.
    fn write_further_calls(&mut self, placed: &PlacedPiece<'_>, out: &mut EventWriter) {
        if placed.piece.kind != PieceKind::End {
            return;
        }
        for more in placed.calls.iter().skip(1) {
            if let Some(place) = more.place {
                self.write_call(more.decision, place, out);
            }
        }
    }

    /// Writes text in place of a call.
    fn write_text(&mut self, decision: &CallDecision, text: &str, out: &mut EventWriter) {
        let _ = decision;
        self.write_text_rest(text, out);
    }

    /// Writes the rest of the text that is open.
    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter);

    /// Returns true if a thought may be written apart from the text.
    fn takes_reasoning(&self) -> bool {
        false
    }

    /// Writes a thought that was found in the text, where the protocol takes one.
    fn write_reasoning(&mut self, _: &str, _: &mut EventWriter) {}

    /// Writes the event that ends a message with calls, which a server left out. Returns false if
    /// there is none that could be written.
    fn write_last(&mut self, out: &mut EventWriter) -> bool;

    /// Writes the event that ends a stream, which a server left out. Returns false if the protocol
    /// has none.
    fn write_close(&mut self, out: &mut EventWriter) -> bool {
        let _ = out;
        false
    }

    /// The reply as JSON, every call in a form that a history may hold.
    fn history(&self, decisions: &Decisions<'_>) -> String;

    /// The id of the reply that the client was told first, and that of the last, if they differ.
    fn aliased_reply(&self) -> Option<(String, String)> {
        None
    }

    /// Begins the next reply, and keeps what the client has.
    fn begin_next(&mut self);
}

/// Copies a protocol whose type is not known.
pub(crate) trait CloneProtocol {
    fn clone_protocol(&self) -> Box<dyn Protocol>;
}

impl<T: Protocol + Clone + 'static> CloneProtocol for T {
    fn clone_protocol(&self) -> Box<dyn Protocol> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Protocol> {
    fn clone(&self) -> Self {
        self.clone_protocol()
    }
}
