//! The parts that one choice of a chat stream is made of.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::call::RawCall;
use crate::relay::extra_fields::ExtraFields;
use crate::relay::text_call_finder::TextCallFinder;
use crate::sse::SseEvent;
use crate::stream::Assembler;

/// The text of a message, and what else it has beside its calls.
#[derive(Clone, Debug)]
pub(super) struct MessageText {
    pub(super) finder: Option<TextCallFinder>,
    /// The calls in the text, each with the text that it was.
    pub(super) calls: Vec<(RawCall, String)>,
    /// The text outside calls.
    pub(super) forwarded: String,
    /// Other fields, such as the reasoning.
    pub(super) extra: ExtraFields,
}

/// The fragments of the calls of a message.
#[derive(Clone, Debug)]
pub(super) struct CallFragments {
    pub(super) assembler: Assembler,
    /// The bytes of arguments that arrived for each call.
    pub(super) sizes: Vec<usize>,
    /// The members of each call beside what is judged, such as a signature.
    pub(super) extras: Vec<Vec<(String, String)>>,
    /// True if a fragment is not of the usual form, so that all calls are written anew.
    pub(super) irregular: bool,
    /// True while every fragment is part of a call that is valid so far.
    pub(super) strict: bool,
    /// The calls of which fragments were forwarded already.
    pub(super) streamed: HashSet<usize>,
}

/// A chunk without its choices.
#[derive(Clone, Debug)]
pub(in crate::relay) struct ChunkShell {
    pub(super) before: String,
    pub(super) after: String,
    /// The message id that the client knows, as JSON.
    pub(super) message_id: Option<String>,
}

/// What the client has, or will have, of this choice.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientView {
    /// The number of calls of earlier replies.
    pub(super) calls_before: usize,
    /// The client's index of each call that is not judged because it has no name.
    pub(super) unnamed: HashMap<usize, usize>,
    /// True if the chunk with the role is held, or was.
    pub(super) owes_role: bool,
    /// True if calls were forwarded in chunks that the relay made.
    pub(super) wrote_calls: bool,
}

/// Where a call was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallSource {
    /// Among the calls of the stream, at this index.
    Stream(usize),
    /// In the text, as this.
    Text(String),
}

impl CallSource {
    pub(super) fn stream_index(&self) -> Option<usize> {
        match self {
            CallSource::Stream(number) => Some(*number),
            CallSource::Text(_) => None,
        }
    }
}

/// A fragment of a call in a chunk: the index of the call, and the span of the fragment.
pub(super) type Piece = (usize, Range<usize>);

/// A chunk that waits for the verdicts.
#[derive(Clone, Debug)]
pub(super) struct HeldChunk {
    pub(super) event: SseEvent,
    pub(super) pieces: Vec<Piece>,
}

/// The content of a chunk.
#[derive(Default)]
pub(in crate::relay) struct Chunk {
    pub(super) pieces: Vec<Piece>,
    pub(super) text: String,
    pub(super) reason: Option<String>,
    pub(super) has_role: bool,
}
