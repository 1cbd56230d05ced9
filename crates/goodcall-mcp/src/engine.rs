//! One session between a client and a server: messages in, messages out, no I/O.
//!
//! Both sides share one connection each, so the engine keeps what is pending, asks the server for
//! its tools under an id of its own, and holds calls back until it has them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goodcall_core::{ParseClass, Tree};

use crate::answer;
use crate::catalogue::MOST_PAGES;
use crate::frame::{self, Frame, Kind, Outline};
use crate::keeper::{Judged, Keeper, Ticket};
use crate::options::Options;
use crate::record::{Note, Outcome};

/// Ids of requests that timed out and may still be answered.
const MOST_EXPIRED: usize = 4096;
/// Ids of our own requests start so.
const OWN: &str = "goodcall:";

/// What is to be done with a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Out {
    /// Send this to the server.
    Server(Frame),
    /// Send this to the client.
    Client(Frame),
    /// Write this down.
    Note(Note),
}

/// One session.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Instant;
/// use goodcall_mcp::{Engine, Options, Out};
///
/// let mut engine = Engine::new(Arc::new(Options::default()));
/// let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
/// let out = engine.from_client(ping.clone(), Instant::now());
/// assert!(matches!(&out[..], [Out::Server(frame)] if *frame == ping));
/// ```
#[derive(Debug)]
pub struct Engine {
    keeper: Keeper,
    pending: HashMap<String, Pending>,
    /// Progress tokens of pending calls, and whose they are.
    tokens: HashMap<String, String>,
    held: Vec<Frame>,
    listing: Option<Listing>,
    expired: HashSet<String>,
    counter: u64,
    handshake: Handshake,
    out: Vec<Out>,
}

/// A request of the client that the server has.
#[derive(Debug)]
enum Pending {
    Call {
        ticket: Box<Ticket>,
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
    pub fn new(options: Arc<Options>) -> Self {
        Self {
            keeper: Keeper::new(options),
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
                self.keeper.mirrors(frame, &one)
            }
            _ => Vec::new(),
        }
    }

    /// A message of the client.
    #[allow(clippy::wrong_self_convention)]
    pub fn from_client(&mut self, frame: Frame, now: Instant) -> Vec<Out> {
        self.client(frame, false, now);
        self.done()
    }

    /// A message of the server.
    #[allow(clippy::wrong_self_convention)]
    pub fn from_server(&mut self, frame: Frame, now: Instant) -> Vec<Out> {
        match frame::kind(&frame) {
            Kind::Blank => {}
            Kind::Junk => {
                let server = &self.keeper.options.server;
                let length = frame.len();
                self.warn(format!(
                    "{server}: wrote a line of {length} bytes that is no message; it was dropped"
                ));
            }
            Kind::One(outline) => {
                if let Some(frame) = self.server(frame, &outline, now) {
                    self.out.push(Out::Client(frame));
                }
            }
            Kind::Batch(all) => self.server_batch(&frame, &all, now),
        }
        self.done()
    }

    /// Time passes: calls whose time is over are answered.
    pub fn tick(&mut self, now: Instant) -> Vec<Out> {
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
            let limit = self.keeper.options.time_limit.unwrap_or_default();
            let text = format!(
                "the server did not answer the call of `{}` within {limit:?}",
                ticket.tool()
            );
            self.out
                .push(Out::Server(answer::cancelled(&ticket.id, "timed out")));
            self.out.push(Out::Client(answer::error(
                &ticket.id,
                answer::TIMED_OUT,
                &text,
            )));
            self.keeper.lost(&ticket, Outcome::TimedOut, now);
            self.expire(id);
        }
        self.done()
    }

    /// The server has ended: whoever waits for it is told.
    pub fn server_gone(&mut self, why: &str, now: Instant) -> Vec<Out> {
        let text = format!("{}: {why}", self.keeper.options.server);
        let mut ids: Vec<_> = Vec::new();
        for (id, pending) in std::mem::take(&mut self.pending) {
            if let Pending::Call { ticket, .. } = pending {
                self.keeper.lost(&ticket, Outcome::ServerGone, now);
            }
            ids.push(id);
        }
        let waiting = std::mem::take(&mut self.handshake.waiting);
        for frame in self.held.drain(..).chain(waiting) {
            ids.extend(request_ids(&frame));
        }
        for id in ids {
            self.out
                .push(Out::Client(answer::error(&id, answer::CLOSED, &text)));
        }
        self.tokens.clear();
        self.listing = None;
        self.handshake.reviving = None;
        self.keeper.catalogue.changed();
        self.done()
    }

    /// The server was started again: it is opened as the client had opened it before.
    pub fn server_back(&mut self, now: Instant) -> Vec<Out> {
        if let Some(initialize) = self.handshake.initialize.clone()
            && let Kind::One(Outline { id: Some(span), .. }) = frame::kind(&initialize)
        {
            let id = self.own_id("initialize");
            self.handshake.reviving = Some(id.clone());
            let frame = frame::splice(&initialize, vec![(span, id)]);
            self.out.push(Out::Server(frame));
        }
        let _ = now;
        self.done()
    }

    /// A line of the server was longer than the limit; its beginning and its end are known.
    pub fn oversized(&mut self, head: &[u8], tail: &[u8], length: usize, now: Instant) -> Vec<Out> {
        let most = self.keeper.options.max_frame;
        let text =
            format!("the server's answer of {length} bytes passes the limit of {most} bytes");
        let server = &self.keeper.options.server;
        self.warn(format!(
            "{server}: a line of {length} bytes passes the limit of {most}; it was dropped"
        ));
        let id = frame::id_in_part(head, tail).map(|id| canonical(&id));
        if let Some(id) = id.filter(|id| self.pending.contains_key(id)) {
            self.forget(&id, Outcome::Error, now);
            self.out
                .push(Out::Client(answer::error(&id, answer::CLOSED, &text)));
        }
        self.done()
    }

    fn client(&mut self, frame: Frame, listed: bool, now: Instant) {
        if self.handshake.reviving.is_some() {
            self.handshake.waiting.push(frame);
            return;
        }
        match frame::kind(&frame) {
            Kind::Blank => {}
            _ if !listed && let Some(why) = broken(&frame) => {
                self.out.push(Out::Client(answer::error(
                    "null",
                    answer::PARSE_ERROR,
                    &why,
                )));
            }
            // JSON, but nothing that is sent between client and server: the server says so.
            Kind::Junk => self.out.push(Out::Server(frame)),
            Kind::One(outline) => self.client_one(frame, &outline, listed, now),
            Kind::Batch(all) => self.client_batch(frame, &all, listed, now),
        }
    }

    fn client_one(&mut self, frame: Frame, outline: &Outline, listed: bool, now: Instant) {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        if outline.twice {
            let id = id.as_deref().unwrap_or("null");
            let text = "a key of the message stands there twice";
            self.out.push(Out::Client(answer::error(
                id,
                answer::INVALID_REQUEST,
                text,
            )));
            return;
        }
        match (outline.method.as_deref(), id) {
            (Some("tools/call"), Some(id)) => {
                match self.keeper.call(&frame, outline, listed, now) {
                    Judged::List => self.hold(frame, outline, now),
                    Judged::AsSent(ticket) => self.send(frame, id, outline, ticket, now),
                    Judged::Forward(mended, ticket) => {
                        self.send_as(mended.into_owned(), &frame, id, outline, ticket, now);
                    }
                    Judged::Answer(answer) => self.out.push(Out::Client(answer)),
                }
            }
            (Some(method), Some(id)) => {
                self.expect(method, &frame, outline, id);
                self.out.push(Out::Server(frame));
            }
            (Some("notifications/cancelled"), None) => self.cancel(frame, outline, now),
            (Some("notifications/initialized"), None) => {
                self.handshake.initialized = Some(frame.clone());
                self.out.push(Out::Server(frame));
            }
            _ => self.out.push(Out::Server(frame)),
        }
    }

    /// A request that is not a call goes to the server.
    fn expect(&mut self, method: &str, frame: &Frame, outline: &Outline, id: String) {
        let pending = match method {
            "tools/list" => {
                let cursor = outline.params.as_ref().and_then(|params| {
                    let span = frame::member(frame, params, "cursor")?;
                    frame::text(frame, &span).map(|cursor| cursor.into_owned())
                });
                Pending::List { cursor }
            }
            "initialize" => {
                self.handshake.initialize = Some(frame.clone());
                Pending::Other
            }
            _ => Pending::Other,
        };
        self.pending.insert(id, pending);
    }

    fn send(
        &mut self,
        frame: Frame,
        id: String,
        outline: &Outline,
        ticket: Box<Ticket>,
        now: Instant,
    ) {
        let token = token(&frame, outline);
        self.await_call(id, token, ticket, now);
        self.out.push(Out::Server(frame));
    }

    fn send_as(
        &mut self,
        mended: Frame,
        frame: &Frame,
        id: String,
        outline: &Outline,
        ticket: Box<Ticket>,
        now: Instant,
    ) {
        let token = token(frame, outline);
        self.await_call(id, token, ticket, now);
        self.out.push(Out::Server(mended));
    }

    fn await_call(&mut self, id: String, token: Option<String>, ticket: Box<Ticket>, now: Instant) {
        if let Some(token) = &token {
            self.tokens.insert(token.clone(), id.clone());
        }
        let deadline = self.keeper.options.time_limit.map(|limit| now + limit);
        let call = Pending::Call {
            ticket,
            deadline,
            token,
        };
        self.pending.insert(id, call);
    }

    /// Keeps a message back until the tools are known.
    fn hold(&mut self, frame: Frame, outline: &Outline, now: Instant) {
        if self.listing.is_none() {
            let context = answer::context(&frame, outline.params.as_ref());
            self.ask(None, context, 0, now);
        }
        self.held.push(frame);
    }

    /// Asks the server for a page of its tools.
    fn ask(&mut self, cursor: Option<String>, context: Option<String>, pages: usize, now: Instant) {
        let id = self.own_id("tools");
        let frame = answer::list(&id, cursor.as_deref(), context.as_deref());
        self.out.push(Out::Server(frame));
        self.listing = Some(Listing {
            id,
            cursor,
            context,
            pages,
            deadline: now + self.keeper.options.list_limit,
        });
    }

    /// The list cannot be had: what is held goes through unchecked.
    fn unlisted(&mut self, why: &str, now: Instant) {
        let server = &self.keeper.options.server;
        self.warn(format!("{server}: {why}; calls are not checked"));
        self.keeper.catalogue.unavailable(now);
        self.release(now);
    }

    fn release(&mut self, now: Instant) {
        for frame in std::mem::take(&mut self.held) {
            self.client(frame, true, now);
        }
    }

    /// The client calls off a request.
    fn cancel(&mut self, frame: Frame, outline: &Outline, now: Instant) {
        let id = outline.params.as_ref().and_then(|params| {
            let span = frame::member(&frame, params, "requestId")?;
            frame::raw(&frame, &span).map(canonical)
        });
        if let Some(id) = id {
            let before = self.held.len();
            self.held.retain(|held| !request_ids(held).contains(&id));
            if self.held.len() < before {
                // The server has never heard of it.
                return;
            }
            self.forget(&id, Outcome::Cancelled, now);
        }
        self.out.push(Out::Server(frame));
    }

    /// Nobody waits for this request any more.
    fn forget(&mut self, id: &str, outcome: Outcome, now: Instant) {
        if let Some(Pending::Call { ticket, token, .. }) = self.pending.remove(id) {
            if let Some(token) = token {
                self.tokens.remove(&token);
            }
            self.keeper.lost(&ticket, outcome, now);
        }
    }

    fn client_batch(&mut self, frame: Frame, all: &[Outline], listed: bool, now: Instant) {
        let is_call =
            |one: &&Outline| one.id.is_some() && one.method.as_deref() == Some("tools/call");
        if let Some(call) = all.iter().find(is_call).filter(|_| !listed) {
            // The calls of a batch are judged together.
            return self.hold(frame, call, now);
        }
        let before = std::mem::take(&mut self.out);
        let mut edited = false;
        for one in all {
            let part = frame[one.span.clone()].to_vec();
            let Kind::One(outline) = frame::kind(&part) else {
                continue;
            };
            self.client_one(part, &outline, true, now);
        }
        let (mut forward, mut answers) = (Vec::new(), Vec::new());
        for (out, one) in std::mem::replace(&mut self.out, before)
            .into_iter()
            .zip(all)
        {
            match out {
                Out::Server(part) => {
                    edited |= part != frame[one.span.clone()];
                    forward.push(part);
                }
                Out::Client(part) => answers.push(part),
                Out::Note(note) => self.out.push(Out::Note(note)),
            }
        }
        if !answers.is_empty() {
            self.out.push(Out::Client(array(&answers)));
        }
        if !forward.is_empty() {
            let whole = !edited && answers.is_empty();
            let frame = if whole { frame } else { array(&forward) };
            self.out.push(Out::Server(frame));
        }
    }

    fn server_batch(&mut self, frame: &Frame, all: &[Outline], now: Instant) {
        let mut parts = Vec::new();
        let mut edited = false;
        for one in all {
            let part = frame[one.span.clone()].to_vec();
            let Kind::One(outline) = frame::kind(&part) else {
                continue;
            };
            let kept = self.server(part.clone(), &outline, now);
            edited |= kept.as_ref() != Some(&part);
            parts.extend(kept);
        }
        match (parts.is_empty(), edited) {
            (true, _) => {}
            (false, false) => self.out.push(Out::Client(frame.clone())),
            (false, true) => self.out.push(Out::Client(array(&parts))),
        }
    }

    /// One message of the server; what comes back goes to the client.
    fn server(&mut self, frame: Frame, outline: &Outline, now: Instant) -> Option<Frame> {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        match (outline.method.as_deref(), id) {
            (Some("notifications/tools/list_changed"), None) => {
                self.keeper.catalogue.changed();
                Some(frame)
            }
            (Some("notifications/progress"), None) => {
                self.progress(&frame, outline, now);
                Some(frame)
            }
            (Some(_), _) | (None, None) => Some(frame),
            (None, Some(id)) => self.response(frame, outline, &id, now),
        }
    }

    fn response(
        &mut self,
        frame: Frame,
        outline: &Outline,
        id: &str,
        now: Instant,
    ) -> Option<Frame> {
        if self
            .listing
            .as_ref()
            .is_some_and(|listing| listing.id == id)
        {
            self.listed(&frame, outline, now);
            return None;
        }
        if self.handshake.reviving.as_deref() == Some(id) {
            self.revived(now);
            return None;
        }
        match self.pending.remove(id) {
            Some(Pending::Call { ticket, token, .. }) => {
                if let Some(token) = token {
                    self.tokens.remove(&token);
                }
                Some(self.keeper.answer(&ticket, frame, outline, now))
            }
            Some(Pending::List { cursor }) => {
                if let Some(result) = &outline.result {
                    self.keeper
                        .catalogue
                        .page(&frame, result, cursor.as_deref(), now);
                }
                Some(frame)
            }
            Some(Pending::Other) => Some(frame),
            None if self.expired.remove(id) => None,
            None => Some(frame),
        }
    }

    /// A page of the list that was asked for here.
    fn listed(&mut self, frame: &Frame, outline: &Outline, now: Instant) {
        let Some(listing) = self.listing.take() else {
            return;
        };
        let Some(result) = &outline.result else {
            return self.unlisted("the server does not list its tools", now);
        };
        let next = self
            .keeper
            .catalogue
            .page(frame, result, listing.cursor.as_deref(), now);
        match next {
            Some(_) if listing.pages >= MOST_PAGES => {
                self.unlisted("the server's list of tools does not end", now);
            }
            Some(next) => self.ask(Some(next), listing.context, listing.pages + 1, now),
            None => self.release(now),
        }
    }

    /// The server that was started again is open.
    fn revived(&mut self, now: Instant) {
        self.handshake.reviving = None;
        if let Some(initialized) = self.handshake.initialized.clone() {
            self.out.push(Out::Server(initialized));
        }
        for frame in std::mem::take(&mut self.handshake.waiting) {
            self.client(frame, false, now);
        }
    }

    fn progress(&mut self, frame: &Frame, outline: &Outline, now: Instant) {
        let token = outline.params.as_ref().and_then(|params| {
            let span = frame::member(frame, params, "progressToken")?;
            frame::raw(frame, &span).map(canonical)
        });
        let id = token.and_then(|token| self.tokens.get(&token));
        if let Some(Pending::Call { deadline, .. }) = id.and_then(|id| self.pending.get_mut(id)) {
            *deadline = self
                .keeper
                .options
                .time_limit
                .map(|limit: Duration| now + limit);
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
        self.out.push(Out::Note(Note::Warning(text)));
    }

    fn done(&mut self) -> Vec<Out> {
        let notes = self.keeper.notes.drain(..).map(Out::Note);
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
