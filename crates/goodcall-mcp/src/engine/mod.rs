//! One session between a client and a server: messages in, messages out, no I/O.
//!
//! Both sides share one connection each, so the engine keeps what is pending, asks the server for
//! its tools under an id of its own, and holds calls back until it has them.

mod client;
mod server;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use goodcall_core::{ParseClass, Tree};

use crate::call_log::{LogEntry, ProxyOutcome};
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::judge::{ForwardedCall, Judge};
use crate::options::ProxyOptions;

/// Ids of requests that timed out and may still be answered.
const MOST_EXPIRED: usize = 4096;
/// Ids of our own requests start so.
const OWN: &str = "goodcall:";

/// What is to be done with a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EngineOutput {
    /// Send this to the server.
    Server(Frame),
    /// Send this to the client.
    Client(Frame),
    /// Write this down.
    Note(LogEntry),
}

/// One session.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Instant;
/// use goodcall_mcp::{Engine, ProxyOptions, EngineOutput};
///
/// let mut engine = Engine::new(Arc::new(ProxyOptions::default()));
/// let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
/// let out = engine.from_client(ping.clone(), Instant::now());
/// assert!(matches!(&out[..], [EngineOutput::Server(frame)] if *frame == ping));
/// ```
#[derive(Debug)]
pub struct Engine {
    judge: Judge,
    pending: HashMap<String, Pending>,
    /// Progress tokens of pending calls, and whose they are.
    tokens: HashMap<String, String>,
    held: Vec<Frame>,
    listing: Option<Listing>,
    expired: HashSet<String>,
    counter: u64,
    handshake: Handshake,
    out: Vec<EngineOutput>,
}

/// A request of the client that the server has.
#[derive(Debug)]
enum Pending {
    Call {
        ticket: Box<ForwardedCall>,
        deadline: Option<Instant>,
        token: Option<String>,
    },
    List {
        cursor: Option<String>,
    },
    Other,
}

/// Our own request for the tools.
#[derive(Debug)]
struct Listing {
    id: String,
    cursor: Option<String>,
    context: Option<String>,
    pages: usize,
    deadline: Instant,
}

/// How the client opened the session, for a server that is started again.
#[derive(Debug, Default)]
struct Handshake {
    initialize: Option<Frame>,
    initialized: Option<Frame>,
    /// The id of our own `initialize`, while its answer is awaited.
    reviving: Option<String>,
    /// What the client sent meanwhile.
    waiting: Vec<Frame>,
}

impl Engine {
    /// A session with a server that was just started.
    pub fn new(options: Arc<ProxyOptions>) -> Self {
        Self {
            judge: Judge::new(options),
            pending: HashMap::new(),
            tokens: HashMap::new(),
            held: Vec::new(),
            listing: None,
            expired: HashSet::new(),
            counter: 0,
            handshake: Handshake::default(),
            out: Vec::new(),
        }
    }

    /// Does the client wait for answers?
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || !self.held.is_empty() || !self.handshake.waiting.is_empty()
    }

    /// Are there calls that have not reached the server yet?
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty() || !self.handshake.waiting.is_empty()
    }

    /// Is this a request, for which a server is needed?
    pub fn is_request(frame: &[u8]) -> bool {
        let request = |one: &Outline| one.id.is_some() && one.method.is_some();
        match frame::kind(frame) {
            Kind::One(one) => request(&one),
            Kind::Batch(all) => all.iter().any(request),
            Kind::Blank | Kind::Junk => false,
        }
    }

    /// The arguments of a call that are mirrored in headers: header and value.
    pub(crate) fn mirrors(&self, frame: &[u8]) -> Vec<(String, Option<String>)> {
        match frame::kind(frame) {
            Kind::One(one) if one.method.as_deref() == Some("tools/call") => {
                self.judge.mirrors(frame, &one)
            }
            _ => Vec::new(),
        }
    }

    /// A message of the client.
    #[allow(clippy::wrong_self_convention)]
    pub fn from_client(&mut self, frame: Frame, now: Instant) -> Vec<EngineOutput> {
        self.client(frame, false, now);
        self.done()
    }

    /// A message of the server.
    #[allow(clippy::wrong_self_convention)]
    pub fn from_server(&mut self, frame: Frame, now: Instant) -> Vec<EngineOutput> {
        match frame::kind(&frame) {
            Kind::Blank => {}
            Kind::Junk => {
                let server = &self.judge.options.server;
                let length = frame.len();
                self.warn(format!(
                    "{server}: wrote a line of {length} bytes that is no message; it was dropped"
                ));
            }
            Kind::One(outline) => {
                if let Some(frame) = self.server(frame, &outline, now) {
                    self.out.push(EngineOutput::Client(frame));
                }
            }
            Kind::Batch(all) => self.server_batch(&frame, &all, now),
        }
        self.done()
    }

    /// Time passes: calls whose time is over are answered.
    pub fn tick(&mut self, now: Instant) -> Vec<EngineOutput> {
        if self
            .listing
            .as_ref()
            .is_some_and(|listing| listing.deadline <= now)
        {
            if let Some(listing) = self.listing.take() {
                self.expire(listing.id);
            }
            self.unlisted("the server did not list its tools in time", now);
        }
        let over = |(id, pending): (&String, &Pending)| match pending {
            Pending::Call {
                deadline: Some(deadline),
                ..
            } if *deadline <= now => Some(id.clone()),
            _ => None,
        };
        let over: Vec<_> = self.pending.iter().filter_map(over).collect();
        for id in over {
            let Some(Pending::Call { ticket, token, .. }) = self.pending.remove(&id) else {
                continue;
            };
            if let Some(token) = token {
                self.tokens.remove(&token);
            }
            let limit = self.judge.options.time_limit.unwrap_or_default();
            let text = format!(
                "the server did not answer the call of `{}` within {limit:?}",
                ticket.tool()
            );
            self.out.push(EngineOutput::Server(json_rpc::cancelled(
                &ticket.id,
                "timed out",
            )));
            self.out.push(EngineOutput::Client(json_rpc::error(
                &ticket.id,
                json_rpc::TIMED_OUT,
                &text,
            )));
            self.judge.lost(&ticket, ProxyOutcome::TimedOut, now);
            self.expire(id);
        }
        self.done()
    }

    /// The server has ended: whoever waits for it is told.
    pub fn server_gone(&mut self, why: &str, now: Instant) -> Vec<EngineOutput> {
        let text = format!("{}: {why}", self.judge.options.server);
        let mut ids: Vec<_> = Vec::new();
        for (id, pending) in std::mem::take(&mut self.pending) {
            if let Pending::Call { ticket, .. } = pending {
                self.judge.lost(&ticket, ProxyOutcome::ServerGone, now);
            }
            ids.push(id);
        }
        let waiting = std::mem::take(&mut self.handshake.waiting);
        for frame in self.held.drain(..).chain(waiting) {
            ids.extend(request_ids(&frame));
        }
        for id in ids {
            self.out.push(EngineOutput::Client(json_rpc::error(
                &id,
                json_rpc::CLOSED,
                &text,
            )));
        }
        self.tokens.clear();
        self.listing = None;
        self.handshake.reviving = None;
        self.judge.catalogue.changed();
        self.done()
    }

    /// The server was started again: it is opened as the client had opened it before.
    pub fn server_back(&mut self, now: Instant) -> Vec<EngineOutput> {
        if let Some(initialize) = self.handshake.initialize.clone()
            && let Kind::One(Outline { id: Some(span), .. }) = frame::kind(&initialize)
        {
            let id = self.own_id("initialize");
            self.handshake.reviving = Some(id.clone());
            let frame = frame::splice(&initialize, vec![(span, id)]);
            self.out.push(EngineOutput::Server(frame));
        }
        let _ = now;
        self.done()
    }

    /// A line of the server was longer than the limit; its beginning and its end are known.
    pub fn oversized(
        &mut self,
        head: &[u8],
        tail: &[u8],
        length: usize,
        now: Instant,
    ) -> Vec<EngineOutput> {
        let most = self.judge.options.max_frame;
        let text =
            format!("the server's answer of {length} bytes passes the limit of {most} bytes");
        let server = &self.judge.options.server;
        self.warn(format!(
            "{server}: a line of {length} bytes passes the limit of {most}; it was dropped"
        ));
        let id = frame::id_in_part(head, tail).map(|id| canonical(&id));
        if let Some(id) = id.filter(|id| self.pending.contains_key(id)) {
            self.forget(&id, ProxyOutcome::Error, now);
            self.out.push(EngineOutput::Client(json_rpc::error(
                &id,
                json_rpc::CLOSED,
                &text,
            )));
        }
        self.done()
    }

    /// Nobody waits for this request any more.
    fn forget(&mut self, id: &str, outcome: ProxyOutcome, now: Instant) {
        if let Some(Pending::Call { ticket, token, .. }) = self.pending.remove(id) {
            if let Some(token) = token {
                self.tokens.remove(&token);
            }
            self.judge.lost(&ticket, outcome, now);
        }
    }

    fn expire(&mut self, id: String) {
        if self.expired.len() >= MOST_EXPIRED {
            self.expired.clear();
        }
        self.expired.insert(id);
    }

    fn own_id(&mut self, what: &str) -> String {
        self.counter += 1;
        format!("\"{OWN}{what}:{}\"", self.counter)
    }

    fn warn(&mut self, text: String) {
        self.out.push(EngineOutput::Note(LogEntry::Warning(text)));
    }

    fn done(&mut self) -> Vec<EngineOutput> {
        let notes = self.judge.notes.drain(..).map(EngineOutput::Note);
        self.out.extend(notes);
        std::mem::take(&mut self.out)
    }
}

/// Why this is no JSON; `None` if it is. What passes a limit of ours is the server's business.
fn broken(frame: &[u8]) -> Option<String> {
    match Tree::parse_bytes(frame) {
        Ok(_) => None,
        Err(error) if matches!(error.class(), ParseClass::TooDeep | ParseClass::TooLarge) => None,
        Err(error) => Some(format!("Parse error: {error}")),
    }
}

/// An id as it is compared: two ways to write a string are one id.
pub(crate) fn canonical(raw: &str) -> String {
    if raw.contains('\\')
        && let Ok(text) = serde_json::from_str::<String>(raw)
    {
        return frame::quoted(&text);
    }
    raw.to_owned()
}

/// The ids of the requests in a message.
fn request_ids(frame: &[u8]) -> Vec<String> {
    let id = |one: &Outline| {
        let span: &Range<usize> = one.id.as_ref().filter(|_| one.method.is_some())?;
        frame::raw(frame, span).map(canonical)
    };
    match frame::kind(frame) {
        Kind::One(one) => id(&one).into_iter().collect(),
        Kind::Batch(all) => all.iter().filter_map(id).collect(),
        Kind::Blank | Kind::Junk => Vec::new(),
    }
}

/// The progress token of a request.
fn token(frame: &[u8], outline: &Outline) -> Option<String> {
    let meta = frame::member(frame, outline.params.as_ref()?, "_meta")?;
    let token = frame::member(frame, &meta, "progressToken")?;
    frame::raw(frame, &token).map(canonical)
}

fn array(parts: &[Frame]) -> Frame {
    let mut out = vec![b'['];
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(part);
    }
    out.push(b']');
    out
}
