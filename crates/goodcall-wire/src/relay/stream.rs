//! A streamed reply: upstream bytes in, client bytes out, and calls held back in between.

use std::mem;

use goodcall_core::{Node, Tree};

use super::exchange::Exchange;
use super::judge::CallRecord;
use super::pending_calls::PendingCalls;
use super::reask::RefusedReply;
use super::usage::Usage;
use crate::protocol::{EventKind, EventReader, EventWriter, StreamHead};
use crate::sse::SseEvent;

/// The most choices of one reply that are judged; OpenAI sends no more.
const MOST_CHOICES: usize = 128;

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
    reader: EventReader,
    /// True once the client has something of the stream.
    has_begun: bool,
    /// Never empty; several if a reply has several choices.
    messages: Vec<Message>,
    state: RelayState,
    /// The refused reply and the usage before it, until the next reply has content.
    refused: Option<Box<(Vec<Message>, Usage)>>,
}

impl StreamRelay {
    /// Returns a relay for the stream that answers the request.
    pub fn new(exchange: Exchange) -> Self {
        Self {
            messages: vec![Message::new(&exchange)],
            reader: EventReader::new(exchange.framing),
            has_begun: false,
            exchange,
            state: RelayState::Judging,
            refused: None,
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

    /// The last reply as JSON, with the calls that the client has; `None` if it has none.
    pub(super) fn last_reply(&self) -> Option<String> {
        let calls = &self.messages[0].calls;
        let reply = (calls.call_count() > 0).then(|| calls.reply())?;
        // The client has the thinking of earlier replies, too.
        Some(self.exchange.with_thinking(reply))
    }

    /// The id of the response that the client was told first, and that of the last, if they differ.
    pub(super) fn aliased_response(&self) -> Option<(String, String)> {
        self.messages[0].calls.protocol().aliased_reply()
    }

    /// Returns true while something is held back that has arrived.
    pub fn is_holding(&self) -> bool {
        let holds = self.held_bytes() > 0 || self.refused.is_some();
        holds && self.state == RelayState::Judging
    }

    /// What to send to the client as a sign of life while something is held: an event or a comment
    /// that clients skip. `None` if nothing is held.
    pub fn heartbeat(&self) -> Option<String> {
        self.is_holding()
            .then(|| self.messages[0].calls.heartbeat())
            .flatten()
    }

    /// Returns true if the client got the refused reply because the next one had no content.
    pub fn fell_back(&self) -> bool {
        self.state == RelayState::FellBack
    }

    fn held_bytes(&self) -> usize {
        let messages = self.messages.iter();
        messages.map(|message| message.calls.held_bytes()).sum()
    }

    /// Runs a step that writes events, and appends their bytes to `out`.
    fn writing<T>(
        &mut self,
        out: &mut Vec<u8>,
        step: impl FnOnce(&mut Self, &mut EventWriter) -> T,
    ) -> T {
        let framing = self.exchange.framing;
        let mut writer = EventWriter::new(framing, mem::take(out), self.has_begun);
        let done = step(self, &mut writer);
        (*out, self.has_begun) = writer.finish();
        done
    }

    /// Takes bytes of the upstream's stream, and appends bytes for the client to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self.state {
            RelayState::FellBack => {}
            RelayState::Passing => out.extend_from_slice(bytes),
            RelayState::Judging => {
                self.reader.push(bytes);
                self.writing(out, Self::read_events);
            }
        }
    }

    /// Reads the events that are whole.
    fn read_events(&mut self, out: &mut EventWriter) {
        let most = self.exchange.judge.settings.max_held;
        let mut held = 0;
        while let Some(event) = self.reader.next_event() {
            self.event(event, out);
            if self.state != RelayState::Judging {
                return;
            }
            held = self.held_bytes();
            if held > most {
                break;
            }
        }
        if held > most || self.reader.pending() > most {
            self.state = RelayState::Passing;
            for message in &mut self.messages {
                message.calls.release_unjudged(&mut self.exchange, out);
            }
            out.bytes(&self.reader.take_pending());
        }
    }

    /// Ends the upstream's stream.
    pub fn end(&mut self, out: &mut Vec<u8>) -> StreamEnd {
        self.writing(out, Self::end_reply)
    }

    fn end_reply(&mut self, out: &mut EventWriter) -> StreamEnd {
        if self.state != RelayState::Judging {
            return StreamEnd::Done;
        }
        if let Some(event) = self.reader.last_event() {
            self.event(event, out);
        }
        if self.state != RelayState::Judging || self.fall_back(out) {
            return StreamEnd::Done;
        }
        let exchange = &mut self.exchange;
        for message in &mut self.messages {
            message.calls.end_message(exchange, out);
            // A second choice arrived after this one was refused, so that it cannot be asked for.
            if message.calls.is_refused() && exchange.request.several_choices {
                message.calls.forward_all(exchange, out);
            }
        }
        let Some(refused) = self.messages[0].calls.refused() else {
            exchange.set_last_usage(self.messages[0].calls.usage().clone());
            self.close(out);
            return StreamEnd::Done;
        };
        let stop = self.messages[0].calls.stop();
        if exchange.ask_again(&refused, stop) {
            if let RefusedReply::Calls { legal, .. } = &refused {
                exchange.note_thinking(legal);
            }
            return StreamEnd::Reask;
        }
        self.forward_refused(out);
        StreamEnd::Done
    }

    /// Judges an error that came instead of a stream, as [`Exchange::failure`] does for whole replies.
    /// Returns `None`, and appends nothing, if the error is to be passed as it arrived.
    pub fn failure(&mut self, text: &str, out: &mut Vec<u8>) -> Option<StreamEnd> {
        let is_quote = Tree::parse(text).is_ok_and(|tree| {
            let failed = self.exchange.form().failed_generation(tree.root());
            failed.is_some()
        });
        if !is_quote || self.state != RelayState::Judging {
            return None;
        }
        if self.messages[0].calls.is_refused() {
            self.begin_next();
        }
        let number = self.exchange.made_up_number(0);
        let model = self.exchange.model().unwrap_or_default().to_owned();
        self.messages[0].calls.begin_alone(&number, &model);
        let mut written = Vec::new();
        let end = self.writing(&mut written, |relay, out| {
            relay.read(SseEvent::default().of_same_type(text.to_owned()), out);
            let is_recovered = relay.messages[0].calls.is_recovered();
            if is_recovered || relay.messages[0].calls.is_refused() {
                relay.refused = None;
                return Some(relay.end_reply(out));
            }
            None
        });
        if end.is_some() {
            out.append(&mut written);
        } else if self.refused.is_some() {
            self.writing(out, Self::fall_back);
            return Some(StreamEnd::Done);
        }
        end
    }

    /// Begins the stream that answers a re-ask.
    pub fn begin_next(&mut self) {
        self.reader = EventReader::new(self.exchange.framing);
        let refused = (self.messages.clone(), self.exchange.usage.clone());
        self.refused = Some(Box::new(refused));
        self.messages.truncate(1);
        self.messages[0].calls.begin_next(&mut self.exchange);
    }

    /// Forwards what is held as the settings say, because there is no further stream.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        self.writing(out, Self::forward_refused);
    }

    fn forward_refused(&mut self, out: &mut EventWriter) {
        let usage = self.messages[0].calls.usage().clone();
        self.exchange.set_last_usage(usage);
        self.messages[0].calls.forward_all(&mut self.exchange, out);
        self.close(out);
    }

    /// Writes the ends that a server left out.
    fn close(&mut self, out: &mut EventWriter) {
        let exchange = &mut self.exchange;
        for message in &mut self.messages {
            message.calls.finish(exchange, out);
        }
        let is_closed = self
            .messages
            .iter()
            .any(|message| message.calls.is_closed());
        let mut with_calls = self.messages.iter_mut();
        let with_calls = with_calls.find(|message| message.calls.call_count() > 0);
        if let Some(message) = with_calls.filter(|_| !is_closed) {
            message.calls.close(exchange, out);
        }
        if self.reader.has_ended() {
            out.end();
        }
    }

    /// Ends a stream that broke off. Complete good calls are forwarded, an incomplete one is not.
    pub fn abort(&mut self, out: &mut Vec<u8>) {
        self.writing(out, |relay, out| {
            if relay.state == RelayState::Judging && !relay.fall_back(out) {
                for message in &mut relay.messages {
                    message.calls.abort(&mut relay.exchange, out);
                }
            }
        });
    }

    /// Forwards the refused reply after all, because the next one has no content. Returns false if
    /// there is no refused reply.
    fn fall_back(&mut self, out: &mut EventWriter) -> bool {
        let Some(refused) = self.refused.take() else {
            return false;
        };
        (self.messages, self.exchange.usage) = *refused;
        // The reply that falls back had ended.
        self.reader.set_ended();
        self.forward_refused(out);
        self.state = RelayState::FellBack;
        true
    }

    fn event(&mut self, event: SseEvent, out: &mut EventWriter) {
        if self.refused.is_some() {
            match self.messages[0].calls.head(&event) {
                StreamHead::Undecided => {}
                StreamHead::Content => self.refused = None,
                StreamHead::Failure => {
                    self.fall_back(out);
                    return;
                }
            }
        }
        self.read(event, out);
    }

    /// Reads an event, and gives it to the message that it is about.
    fn read(&mut self, mut event: SseEvent, out: &mut EventWriter) {
        let Some(data) = event.data.take() else {
            return out.raw(&event);
        };
        let tree = Tree::parse(&data).ok();
        let Some(root) = tree.as_ref().map(Tree::root) else {
            drop(tree);
            let is_end = data.trim() == "[DONE]";
            for message in self.messages.iter_mut().skip(1).filter(|_| is_end) {
                message.calls.end_message(&mut self.exchange, out);
            }
            event.data = Some(data);
            let first = &mut self.messages[0].calls;
            return first.handle(&mut self.exchange, event, None, out);
        };
        let first = self.messages[0].calls.protocol();
        if let Some(parts) = first.split_choices(root, &data) {
            for part in parts {
                self.read(event.of_same_type(part), out);
            }
            return;
        }
        let Some(at) = self.message_of(root) else {
            return out.raw(&event);
        };
        let calls = &mut self.messages[at].calls;
        let read = calls.read(&mut self.exchange, root);
        drop(tree);
        event.data = Some(data);
        if read.0 == EventKind::Failure {
            for message in self.messages.iter_mut().skip(1) {
                message.calls.abort(&mut self.exchange, out);
            }
        }
        let calls = &mut self.messages[at].calls;
        calls.handle(&mut self.exchange, event, Some(read), out);
    }

    /// Returns the position of the message that an event is about, which is the first if it is
    /// about none; `None` if there are too many.
    fn message_of(&mut self, root: Node<'_>) -> Option<usize> {
        let Some(index) = self.messages[0].calls.protocol().choice_of(root) else {
            return Some(0);
        };
        let known = self.messages.iter().position(|message| {
            let own = message.index.as_deref();
            own.is_none_or(|own| own == index)
        });
        let at = match known {
            Some(at) => at,
            None if self.messages.len() >= MOST_CHOICES => return None,
            None => {
                self.exchange.request.several_choices = true;
                self.messages.push(Message::new(&self.exchange));
                self.messages.len() - 1
            }
        };
        let own = &mut self.messages[at].index;
        own.get_or_insert_with(|| index.to_owned());
        Some(at)
    }
}

/// One message of a reply: its only one, or a choice.
#[derive(Clone, Debug)]
struct Message {
    /// The index of the choice, once it is known.
    index: Option<String>,
    calls: PendingCalls,
}

impl Message {
    fn new(exchange: &Exchange) -> Self {
        Self {
            index: None,
            calls: PendingCalls::new(exchange),
        }
    }
}

/// What happens to the bytes of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayState {
    Judging,
    /// There was too much to hold, so that the rest passes as it comes.
    Passing,
    /// The client got the refused reply, because the next one had no content.
    FellBack,
}
