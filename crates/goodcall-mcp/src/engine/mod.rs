//! One session between a client and a server: messages in, messages out, no I/O.
//!
//! Client and server share one connection each, so the engine remembers the open requests, asks the
//! server for its tools under an id of its own, and holds calls back until it has the list.

mod client;
mod server;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::argument_mirrors::MirroredHeaders;
use crate::call_log::{LogEntry, ProxyOutcome};
use crate::frame::{self, Forwarding, Frame, FrameContent, Message};
use crate::json_rpc;
use crate::json_span::splice;
use crate::judge::{ForwardedCall, Judge};
use crate::options::ProxyOptions;

/// Ids of timed-out requests that are remembered because they may still be answered.
const MAX_EXPIRED: usize = 4096;
/// The prefix of the ids of the proxy's own requests.
const OWN_ID_PREFIX: &str = "goodcall:";

/// One thing that the caller of the [`Engine`] has to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EngineOutput {
    /// Send this frame to the server.
    Server(Frame),
    /// Send this frame to the client.
    Client(Frame),
    /// Write this entry to the log.
    Note(LogEntry),
}

/// The state of one session.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Instant;
/// use goodcall_mcp::{Engine, ProxyOptions, EngineOutput};
///
/// let mut engine = Engine::new(Arc::new(ProxyOptions::default()));
/// let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
/// let out = engine.client_frame(ping.clone(), Instant::now());
/// assert!(matches!(&out[..], [EngineOutput::Server(frame)] if *frame == ping));
/// ```
#[derive(Debug)]
pub struct Engine {
    judge: Judge,
    /// Requests of the client that the server has not answered, by canonical id.
    pending: HashMap<String, PendingRequest>,
    /// The ids of pending calls by progress token.
    tokens: HashMap<String, String>,
    /// Frames that wait for the list of tools.
    held: Vec<Frame>,
    /// Calls about which the user is asked, by the ids of the questions.
    approvals: HashMap<String, Frame>,
    listing: Option<ListRequest>,
    expired: HashSet<String>,
    own_requests: u64,
    questions: OpenQuestions,
    handshake: Handshake,
    out: Vec<EngineOutput>,
}

#[derive(Debug)]
enum PendingRequest {
    Call {
        call: Box<ForwardedCall>,
        deadline: Option<Instant>,
        token: Option<String>,
    },
    List {
        cursor: Option<String>,
    },
    Other,
}

/// Requests of the server that the client has not answered, often because it asks its user. The
/// clock of calls stands still meanwhile.
#[derive(Debug, Default)]
struct OpenQuestions {
    ids: HashSet<String>,
    since: Option<Instant>,
}

/// The proxy's own request for one page of the tools.
#[derive(Debug)]
struct ListRequest {
    id: String,
    cursor: Option<String>,
    context: Option<String>,
    /// Pages that were read before this one.
    pages: usize,
    deadline: Instant,
}

/// How the client opened the session, to be repeated for a server that is started again.
#[derive(Debug, Default)]
struct Handshake {
    initialize: Option<Frame>,
    initialized: Option<Frame>,
    /// The id of the proxy's own `initialize` while its answer is awaited.
    reopening: Option<String>,
    /// Frames that the client sent meanwhile.
    waiting: Vec<Frame>,
}

impl Engine {
    /// Begins a session with a server that was just started.
    pub fn new(options: Arc<ProxyOptions>) -> Self {
        Self {
            judge: Judge::new(options),
            pending: HashMap::new(),
            tokens: HashMap::new(),
            held: Vec::new(),
            approvals: HashMap::new(),
            listing: None,
            expired: HashSet::new(),
            own_requests: 0,
            questions: OpenQuestions::default(),
            handshake: Handshake::default(),
            out: Vec::new(),
        }
    }

    /// Returns true if the client waits for an answer.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || self.is_holding()
    }

    /// Returns true if frames of the client have not been sent to the server yet.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty() || !self.approvals.is_empty() || !self.handshake.waiting.is_empty()
    }

    /// Returns true if the frame has a request, which only a running server can answer.
    pub fn is_request(frame: &[u8]) -> bool {
        let content = FrameContent::read(frame);
        content.messages().iter().any(Message::is_request)
    }

    /// The headers that mirror the arguments of a call.
    pub(crate) fn mirrors(&self, frame: &[u8]) -> MirroredHeaders {
        match FrameContent::read(frame) {
            FrameContent::One(message) if message.method() == Some("tools/call") => {
                self.judge.mirrors(&message)
            }
            _ => Vec::new(),
        }
    }

    /// Takes a frame of the client.
    pub fn client_frame(&mut self, frame: Frame, now: Instant) -> Vec<EngineOutput> {
        match client::parse_error(&frame) {
            Some(error) => {
                let id = frame::id_in_part(&frame, &frame);
                let id = id.as_deref().unwrap_or("null");
                self.answer_error(id, json_rpc::PARSE_ERROR, &error);
            }
            None => self.take_from_client(frame, false, now),
        }
        self.take_output()
    }

    /// Takes a frame of the server.
    pub fn server_frame(&mut self, frame: Frame, now: Instant) -> Vec<EngineOutput> {
        let forwarding = match FrameContent::read(&frame) {
            FrameContent::Blank => Forwarding::Dropped,
            FrameContent::Junk => {
                let server = &self.judge.options.server;
                let length = frame.len();
                self.warn(format!(
                    "{server}: dropped a line of {length} bytes that is not a message"
                ));
                Forwarding::Dropped
            }
            FrameContent::One(message) => self.server_message(&message, now),
            FrameContent::Batch(messages) => self.server_batch(&messages, now),
        };
        let frame = forwarding.apply(frame);
        self.out.extend(frame.map(EngineOutput::Client));
        self.take_output()
    }

    /// Answers the calls whose time limit has passed. To be called at intervals.
    pub fn tick(&mut self, now: Instant) -> Vec<EngineOutput> {
        let listing = self.listing.take_if(|listing| listing.deadline <= now);
        if let Some(listing) = listing {
            self.expire(listing.id);
            self.give_up_listing("the server did not list its tools in time", now);
        }
        let is_over = |pending: &PendingRequest| matches!(pending, PendingRequest::Call { deadline: Some(deadline), .. } if *deadline <= now);
        let over = self.pending.iter().filter(|(_, request)| is_over(request));
        let over = over.filter(|_| self.questions.since.is_none());
        let over: Vec<_> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            if let Some(call) = self.take_call(&id) {
                self.time_out(&call, now);
                self.expire(id);
            }
        }
        self.take_output()
    }

    fn time_out(&mut self, call: &ForwardedCall, now: Instant) {
        let limit = self.judge.time_limit(&call.tool);
        let limit = limit.expect("a call has a deadline only with a time limit");
        let text = goodcall_core::timed_out_text(&call.tool, format_args!("{limit:?}"));
        let cancelled = json_rpc::cancelled(&call.id, "timed out");
        self.out.push(EngineOutput::Server(cancelled));
        self.answer_error(&call.id, json_rpc::TIMED_OUT, &text);
        self.judge.abandon(call, ProxyOutcome::TimedOut, now);
    }

    /// Answers every open request with an error, because the server has ended.
    pub fn server_ended(&mut self, why: &str, now: Instant) -> Vec<EngineOutput> {
        let text = format!("{}: {why}", self.judge.options.server);
        let mut ids: Vec<_> = Vec::new();
        for (id, request) in std::mem::take(&mut self.pending) {
            if let PendingRequest::Call { call, .. } = request {
                self.judge.abandon(&call, ProxyOutcome::ServerGone, now);
            }
            ids.push(id);
        }
        let waiting = std::mem::take(&mut self.handshake.waiting);
        let asked = self.approvals.drain().map(|(_, call)| call);
        for frame in self.held.drain(..).chain(asked).chain(waiting) {
            ids.extend(request_ids(&frame));
        }
        for id in ids {
            self.answer_error(&id, json_rpc::CLOSED, &text);
        }
        self.tokens.clear();
        self.questions = OpenQuestions::default();
        self.listing = None;
        self.handshake.reopening = None;
        self.judge.catalogue.mark_changed();
        self.take_output()
    }

    /// Opens a server that was started again in the same way as the client had opened it before.
    pub fn server_restarted(&mut self) -> Vec<EngineOutput> {
        if let Some(initialize) = self.handshake.initialize.clone() {
            let id = self.own_id("initialize");
            if let Some(frame) = with_id(&initialize, &id) {
                self.handshake.reopening = Some(id);
                self.out.push(EngineOutput::Server(frame));
            }
        }
        self.take_output()
    }

    /// Answers the request to which a line of the server belongs that exceeds the size limit. Only
    /// the beginning and the end of the line are known.
    pub fn oversized(
        &mut self,
        head: &[u8],
        tail: &[u8],
        length: usize,
        now: Instant,
    ) -> Vec<EngineOutput> {
        let limit = self.judge.options.max_frame;
        let server = &self.judge.options.server;
        self.warn(format!(
            "{server}: dropped a line of {length} bytes, which exceeds the limit of {limit}"
        ));
        let id = frame::id_in_part(head, tail);
        if let Some(id) = id.filter(|id| self.pending.contains_key(id)) {
            self.forget(&id, ProxyOutcome::Error, now);
            let text =
                format!("the server's answer of {length} bytes exceeds the limit of {limit} bytes");
            self.answer_error(&id, json_rpc::CLOSED, &text);
        }
        self.take_output()
    }

    /// Notes a request of the server.
    fn ask(&mut self, id: String, now: Instant) {
        if self.questions.ids.len() < MAX_EXPIRED {
            self.questions.ids.insert(id);
            self.questions.since.get_or_insert(now);
        }
    }

    /// Notes that a request of the server is answered. After the last one the clock goes on.
    fn answered(&mut self, id: &str, now: Instant) {
        if !self.questions.ids.remove(id) || !self.questions.ids.is_empty() {
            return;
        }
        let Some(since) = self.questions.since.take() else {
            return;
        };
        let stood = now.saturating_duration_since(since);
        for request in self.pending.values_mut() {
            if let PendingRequest::Call {
                deadline: Some(deadline),
                ..
            } = request
            {
                *deadline += stood;
            }
        }
    }

    /// Removes a request for which nobody waits any more.
    fn forget(&mut self, id: &str, outcome: ProxyOutcome, now: Instant) {
        if let Some(call) = self.take_call(id) {
            self.judge.abandon(&call, outcome, now);
        }
    }

    /// Removes a pending request; returns it if it is a call.
    fn take_call(&mut self, id: &str) -> Option<Box<ForwardedCall>> {
        let PendingRequest::Call { call, token, .. } = self.pending.remove(id)? else {
            return None;
        };
        self.forget_token(token);
        Some(call)
    }

    fn forget_token(&mut self, token: Option<String>) {
        if let Some(token) = token {
            self.tokens.remove(&token);
        }
    }

    fn expire(&mut self, id: String) {
        if self.expired.len() >= MAX_EXPIRED {
            self.expired.clear();
        }
        self.expired.insert(id);
    }

    fn own_id(&mut self, purpose: &str) -> String {
        self.own_requests += 1;
        format!("\"{OWN_ID_PREFIX}{purpose}:{}\"", self.own_requests)
    }

    fn answer_error(&mut self, id: &str, code: i64, text: &str) {
        let answer = json_rpc::error(id, code, text);
        self.out.push(EngineOutput::Client(answer));
    }

    fn warn(&mut self, text: String) {
        self.out.push(EngineOutput::Note(LogEntry::Warning(text)));
    }

    fn take_output(&mut self) -> Vec<EngineOutput> {
        let notes = self.judge.log.drain(..).map(EngineOutput::Note);
        self.out.extend(notes);
        std::mem::take(&mut self.out)
    }
}

/// Returns the request with another id.
pub(crate) fn with_id(request: &[u8], id: &str) -> Option<Frame> {
    let message = FrameContent::read(request).single()?;
    let range = message.id_span()?.range();
    Some(splice(request, vec![(range, id.to_owned())]))
}

/// The ids of the requests in a frame.
fn request_ids(frame: &[u8]) -> Vec<String> {
    let content = FrameContent::read(frame);
    let requests = content.messages().iter().filter(|one| one.is_request());
    requests.filter_map(Message::id).collect()
}
