//! Assembles calls that arrive in fragments.

mod early_verdict;
mod events;
mod partial_arguments;

use goodcall_core::{Policy, Refusal, StopReason};

use crate::call::RawCall;
use crate::envelope::{EnvelopeError, Provider, made_up_id};
use crate::text::{Scanner, TextCallScope, TextPiece};
use crate::tools::Tools;
use early_verdict::EarlyVerdict;
use events::{CallEvent, CallSlot};
use partial_arguments::PartialArguments;

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
    provider: Provider,
    tools: Tools,
    policy: Policy,
    /// Boxed because thousands of streams wait at once, and few look for calls in text.
    scanner: Option<Box<Scanner>>,
    calls: Vec<AssembledCall>,
    started: usize,
    stop: StopReason,
}

/// A call that is being assembled.
#[derive(Clone, Debug)]
struct AssembledCall {
    slot: CallSlot,
    /// The id that the provider sent.
    sent_id: Option<String>,
    id: String,
    name: String,
    arguments: String,
    partial: PartialArguments,
    early: EarlyVerdict,
    /// True once the call was reported as hopeless.
    reported: bool,
    done: bool,
}

impl Assembler {
    /// Returns an assembler for the events of one message.
    pub fn new(provider: Provider, tools: Tools) -> Self {
        Self {
            provider,
            tools,
            policy: Policy::default(),
            scanner: None,
            calls: Vec::new(),
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
        self.policy = policy;
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
        for event in events::read(self.provider, event)? {
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
        for index in 0..self.calls.len() {
            self.end(index, &mut out);
        }
        self.calls.clear();
        if let Some(scanner) = &mut self.scanner {
            let pieces = scanner.finish();
            self.pieces(pieces, &mut out);
        }
        out
    }

    /// Takes a fragment of a call. Returns the index of the call, and whether the call is valid so
    /// far: strict JSON for an offered tool, with no wrong member.
    pub(crate) fn fragment(
        &mut self,
        index: Option<&str>,
        id: Option<String>,
        name: Option<String>,
        arguments: Option<String>,
    ) -> (usize, bool) {
        let slot = index.map_or(CallSlot::Last, |digits| CallSlot::Index(digits.to_owned()));
        let found = self.find(&slot, id.as_deref(), name.as_deref(), &arguments);
        let at = found.unwrap_or_else(|| self.start(slot, id.clone()));
        let mut out = Vec::new();
        self.name(at, id, name, &mut out);
        if let Some(text) = arguments {
            self.arguments(at, &text, &mut out);
        }
        let call = &self.calls[at];
        let offered = self.tools.get(&call.name).is_some();
        (at, offered && !call.reported && call.early.is_strict())
    }

    /// The number of calls that began.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Ends the message, and returns its calls with their indexes. No ids are invented.
    pub(crate) fn take_calls(&mut self) -> Vec<(usize, RawCall)> {
        let mut all = Vec::new();
        for at in 0..self.calls.len() {
            let sent = self.calls[at].sent_id.clone();
            let mut out = Vec::new();
            self.end(at, &mut out);
            for (count, update) in out.into_iter().enumerate() {
                if let CallUpdate::Call(mut call) = update {
                    call.id = sent.clone().filter(|_| count == 0);
                    all.push((at, call));
                }
            }
        }
        all
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
            CallEvent::Call {
                slot,
                id,
                name,
                arguments,
            } => {
                let index = self.find(&slot, id.as_deref(), name.as_deref(), &arguments);
                let index = index.unwrap_or_else(|| self.start(slot, id.clone()));
                self.name(index, id, name, out);
                if let Some(text) = arguments {
                    self.arguments(index, &text, out);
                }
            }
            CallEvent::Partial {
                slot,
                name,
                parts,
                more,
            } => {
                let index = self.find(&slot, None, None, &None);
                let index = index.unwrap_or_else(|| self.start(slot, None));
                self.name(index, None, name, out);
                for part in parts {
                    self.calls[index].partial.set(part);
                }
                if !more {
                    self.calls[index].arguments = self.calls[index].partial.to_json();
                    self.end(index, out);
                }
            }
            CallEvent::Whole { slot, arguments } => {
                // The event repeats all arguments, which matters only if fragments were lost.
                if let Some(index) = self.find(&slot, None, None, &None)
                    && self.calls[index].arguments.len() < arguments.len()
                {
                    self.calls[index].arguments = arguments;
                }
            }
            CallEvent::End(slot) => {
                if let Some(index) = self.find(&slot, None, None, &None) {
                    self.end(index, out);
                }
            }
            CallEvent::Stop(stop) => self.stop = stop,
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

    /// Finds the call of a fragment. Some servers give every call the index 0; then another id, or a
    /// name after complete arguments, begins another call.
    fn find(
        &self,
        slot: &CallSlot,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &Option<String>,
    ) -> Option<usize> {
        let index = match slot {
            CallSlot::New => return None,
            CallSlot::Last => self.calls.len().checked_sub(1)?,
            slot => self.calls.iter().rposition(|call| call.slot == *slot)?,
        };
        let call = &self.calls[index];
        let other_id = id.is_some_and(|id| call.sent_id.as_deref().is_some_and(|own| own != id));
        if other_id {
            // The fragment may continue an earlier call.
            return self
                .calls
                .iter()
                .rposition(|call| call.sent_id.as_deref() == id);
        }
        let same_id = id.is_some() && call.sent_id.as_deref() == id;
        let named = name.is_some_and(|name| !name.is_empty()) && !call.name.is_empty();
        let other_name = named && name != Some(call.name.as_str());
        let again = named && !same_id && call.early.is_complete() && arguments.is_some();
        (!(other_name && !same_id || again || call.done)).then_some(index)
    }

    fn start(&mut self, slot: CallSlot, id: Option<String>) -> usize {
        let made_up = made_up_id(self.started);
        self.started += 1;
        self.calls.push(AssembledCall {
            slot,
            id: id.clone().unwrap_or(made_up),
            sent_id: id,
            name: String::new(),
            arguments: String::new(),
            partial: PartialArguments::default(),
            early: EarlyVerdict::default(),
            reported: false,
            done: false,
        });
        self.calls.len() - 1
    }

    fn name(
        &mut self,
        index: usize,
        id: Option<String>,
        name: Option<String>,
        out: &mut Vec<CallUpdate>,
    ) {
        let call = &mut self.calls[index];
        if let (None, Some(id)) = (&call.sent_id, id) {
            call.id.clone_from(&id);
            call.sent_id = Some(id);
        }
        if let Some(name) = name.filter(|name| !name.is_empty())
            && call.name.is_empty()
        {
            call.name = name;
            let (id, name) = (call.id.clone(), call.name.clone());
            out.push(CallUpdate::Started { id, name });
            if self.tools.meant(&call.name).is_none() {
                call.reported = true;
                let (id, bad) = (call.id.clone(), self.tools.unknown(&call.name));
                out.push(CallUpdate::Hopeless { id, bad });
            }
        }
    }

    fn arguments(&mut self, index: usize, text: &str, out: &mut Vec<CallUpdate>) {
        let call = &mut self.calls[index];
        call.arguments.push_str(text);
        let tool = self.tools.meant(&call.name);
        let hopeless = call.early.push(text, tool, &self.policy);
        if let Some(bad) = hopeless.filter(|_| !call.reported) {
            call.reported = true;
            out.push(CallUpdate::Hopeless {
                id: call.id.clone(),
                bad,
            });
        }
    }

    /// Ends a call, which becomes several if several objects were sent as its arguments.
    fn end(&mut self, index: usize, out: &mut Vec<CallUpdate>) {
        let call = &mut self.calls[index];
        if std::mem::replace(&mut call.done, true) || call.name.is_empty() {
            return;
        }
        let arguments = std::mem::take(&mut call.arguments);
        let mut parts = split(&arguments);
        // Some servers send an empty object before the arguments. It is not a call of its own if the
        // tool has required parameters.
        let needs = |tool: &crate::tools::ToolDefinition| !tool.has_no_required_parameters();
        if parts.len() == 2 && parts[0] == "{}" && self.tools.meant(&call.name).is_some_and(needs) {
            parts.remove(0);
        }
        for (count, part) in parts.into_iter().enumerate() {
            let id = match count {
                0 => call.id.clone(),
                count => format!("{}_{count}", call.id),
            };
            let call = RawCall::new(&self.tools, &call.name, part).with_id(id);
            out.push(CallUpdate::Call(call));
        }
    }
}

/// Splits `{}{}` into the arguments of two calls. Anything else is the arguments of one.
fn split(arguments: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = arguments.trim();
    while rest.starts_with('{') {
        let size = crate::text::object_size(rest);
        let Some(size) = size else {
            return vec![arguments];
        };
        parts.push(&rest[..size]);
        rest = rest[size..].trim_start();
    }
    match (rest.is_empty(), parts.len()) {
        (true, 2..) => parts,
        _ => vec![arguments],
    }
}
