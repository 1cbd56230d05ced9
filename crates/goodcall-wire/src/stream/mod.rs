//! Assembles calls that arrive in fragments.

mod call_event;
mod early_verdict;
mod partial_arguments;
mod received_calls;

use goodcall_core::{Policy, Refusal, StopReason, Tree};

use crate::call::RawCall;
use crate::envelope::{EnvelopeError, Provider, made_up_id};
use crate::protocol::{self, Decoder};
use crate::text::{Scanner, TextCallScope, TextPiece};
use crate::tools::Tools;
pub(crate) use call_event::{
    CallEvent, CallSlot, Fragment, id_of, index_slot, push_stop, push_text, push_whole_call, raw,
    text,
};
pub(crate) use partial_arguments::PartialArgument;
pub(crate) use received_calls::{Received, ReceivedCalls};

/// What a fragment changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallUpdate {
    /// Text outside calls.
    Text(String),
    /// A thought that was written into the text.
    Reasoning(String),
    /// All text so far was a thought, whose beginning was part of the prompt.
    TextWasReasoning,
    /// A call began; its arguments follow.
    Started {
        /// The id, invented if the provider sent none.
        id: String,
        /// The tool as named by the model.
        name: String,
    },
    /// A call that has not ended can no longer become valid, so that the stream may be stopped.
    Hopeless {
        /// The id of the call.
        id: String,
        /// The refusal, as the model will read it.
        bad: Refusal,
    },
    /// A call is complete.
    Call(RawCall),
}

/// Assembles the calls of one streamed message, whatever the split and the order of fragments.
///
/// ```
/// use goodcall_wire::{Assembler, Provider, Tools, CallUpdate};
///
/// let tools = Tools::read(r#"{"name": "now", "parameters": {}}"#)?;
/// let mut assembler = Assembler::new(Provider::OpenAi, tools);
/// for event in [
///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{"}}]}}]}"#,
///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}"#,
/// ] {
///     assembler.push(event)?;
/// }
/// let updates = assembler.finish();
/// assert!(matches!(&updates[..], [CallUpdate::Call(call)] if call.arguments == "{}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Assembler {
    decoder: Box<dyn Decoder>,
    received: ReceivedCalls,
    /// The ids of the calls that began, invented where the provider sent none.
    ids: Vec<String>,
    tools: Tools,
    /// Boxed because thousands of streams wait at once, and few look for calls in text.
    scanner: Option<Box<Scanner>>,
    /// The number of calls, those in text included.
    started: usize,
    stop: StopReason,
}

impl Assembler {
    /// Returns an assembler for the events of one message.
    pub fn new(provider: Provider, tools: Tools) -> Self {
        Self {
            decoder: protocol::decoder(provider),
            received: ReceivedCalls::new(tools.clone(), Policy::default()),
            ids: Vec::new(),
            tools,
            scanner: None,
            started: 0,
            stop: StopReason::Unknown,
        }
    }

    /// Looks for calls in the message's text, too.
    #[must_use]
    pub fn text_calls(mut self, scope: TextCallScope) -> Self {
        self.scanner = Some(Box::new(Scanner::new(self.tools.clone(), scope)));
        self
    }

    /// Sets the policy for early verdicts: a call that the policy can mend is not hopeless.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.received = ReceivedCalls::new(self.tools.clone(), policy);
        self
    }

    /// The reason why the message ended, if an event named one.
    pub fn stop(&self) -> StopReason {
        self.stop
    }

    /// Takes one event: the JSON of an SSE `data` field, of a chunk, or of a line. `[DONE]` and empty
    /// events are ignored.
    ///
    /// # Errors
    /// If the event is not JSON. The assembler stays usable.
    pub fn push(&mut self, event: &str) -> Result<Vec<CallUpdate>, EnvelopeError> {
        let mut out = Vec::new();
        let event = event.trim();
        let event = event.strip_prefix("data:").map_or(event, str::trim);
        if event.is_empty() || event == "[DONE]" {
            return Ok(out);
        }
        let tree = Tree::parse(event).map_err(|error| EnvelopeError::event(&error))?;
        for event in self.decoder.decode(tree.root()) {
            self.handle(event, &mut out);
        }
        Ok(out)
    }

    /// Takes text of the message that is not an event.
    pub fn push_text(&mut self, text: &str) -> Vec<CallUpdate> {
        let mut out = Vec::new();
        self.handle(CallEvent::Text(text.to_owned()), &mut out);
        out
    }

    /// Ends the message, and returns everything that was undecided.
    pub fn finish(&mut self) -> Vec<CallUpdate> {
        let mut out = Vec::new();
        for number in 0..self.received.len() {
            self.end(number, &mut out);
        }
        if let Some(scanner) = &mut self.scanner {
            let pieces = scanner.finish();
            self.pieces(pieces, &mut out);
        }
        out
    }

    fn handle(&mut self, event: CallEvent, out: &mut Vec<CallUpdate>) {
        match event {
            CallEvent::Text(text) => match &mut self.scanner {
                None => out.push(CallUpdate::Text(text)),
                Some(scanner) => {
                    let pieces = scanner.push(&text);
                    self.pieces(pieces, out);
                }
            },
            CallEvent::Call(slot, fragment) => {
                let received = self.received.add(slot, fragment);
                self.report(received, out);
            }
            CallEvent::Partial {
                slot,
                fragment,
                parts,
                more,
            } => {
                let received = self.received.add_parts(slot, fragment, parts, more);
                let number = received.number;
                self.report(received, out);
                if !more {
                    self.end(number, out);
                }
            }
            CallEvent::Whole { slot, arguments } => {
                if let Some(number) = self.received.find_open(&slot) {
                    self.received.set_whole(number, arguments);
                }
            }
            CallEvent::End(slot) => {
                if let Some(number) = self.received.find_open(&slot) {
                    self.end(number, out);
                }
            }
            CallEvent::Stop(stop) => self.stop = stop,
            CallEvent::TextEnd => {}
        }
    }

    fn pieces(&mut self, pieces: Vec<TextPiece>, out: &mut Vec<CallUpdate>) {
        for piece in pieces {
            match piece {
                TextPiece::Text(text) => out.push(CallUpdate::Text(text)),
                TextPiece::Reasoning(text) => out.push(CallUpdate::Reasoning(text)),
                TextPiece::TextWasReasoning => out.push(CallUpdate::TextWasReasoning),
                TextPiece::Call(mut call) => {
                    let id = made_up_id(self.started);
                    self.started += 1;
                    call.id.get_or_insert(id);
                    out.push(CallUpdate::Call(call));
                }
            }
        }
    }

    /// Reports what a fragment changed. A call keeps the id that it was first reported with.
    fn report(&mut self, received: Received, out: &mut Vec<CallUpdate>) {
        let number = received.number;
        if number >= self.ids.len() {
            self.ids.push(made_up_id(self.started));
            self.started += 1;
        }
        let (sent, name) = self.received.head(number);
        if let Some(sent) = sent {
            sent.clone_into(&mut self.ids[number]);
        }
        let id = self.ids[number].clone();
        if received.named {
            let (id, name) = (id.clone(), name.to_owned());
            out.push(CallUpdate::Started { id, name });
        }
        if let Some(bad) = received.hopeless {
            out.push(CallUpdate::Hopeless { id, bad });
        }
    }

    /// Ends a call, which becomes several if several objects were sent as its arguments.
    fn end(&mut self, number: usize, out: &mut Vec<CallUpdate>) {
        let (_, name) = self.received.head(number);
        let is_named = !name.is_empty();
        if !self.received.end(number) || !is_named {
            return;
        }
        let id = &self.ids[number];
        for (count, call) in self.received.calls(number).into_iter().enumerate() {
            let id = match count {
                0 => id.clone(),
                count => format!("{id}_{count}"),
            };
            out.push(CallUpdate::Call(call.with_id(id)));
        }
    }
}
