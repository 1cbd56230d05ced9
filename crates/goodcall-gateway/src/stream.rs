//! Replies that come as a stream of events.
//!
//! The client's body is the upstream's body with a relay in between. Nothing is read that the
//! client does not ask for, and a client that goes away takes the upstream's stream with it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use goodcall_server::has_media_type;
use goodcall_wire::relay::{StreamEnd, StreamRelay};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant as Clock, Sleep};

use crate::content_encoding::{Coding, Decoder};
use crate::headers;
use crate::proxy::{Body, BoxError, Live, Turn, body_of, set_verdict};
use crate::record::Record;
use crate::upstream::Asked;

/// Bytes that are gathered before they go on at once.
const ENOUGH: usize = 16 << 10;

/// How often the server is told to ask again before it gets what was gathered, or an error. It asks
/// twice in a turn, and writes in between; then others have theirs.
const TURN: u8 = 2;

/// Answers the client with a stream that is judged on its way.
pub(crate) fn respond(turn: Turn, reply: Response<Incoming>) -> Response<Body> {
    let Turn {
        live,
        asked,
        mut exchange,
        mut record,
    } = turn;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    head.headers.remove(CONTENT_LENGTH);
    // What is found is known only when the stream is over: it is in the log, and in the body
    // where that is asked for.
    set_verdict(&mut head.headers, "stream", &record);
    let body = Source::new(Coding::of(&head.headers), body);
    head.headers.remove(CONTENT_ENCODING);
    record.status(head.status);
    let idle = live.config.limits.idle_time;
    let asked = exchange.may_ask().then(|| Box::new(asked));
    if asked.is_none() {
        exchange.forget_body();
    }
    let body = Judging {
        live,
        asked,
        relay: StreamRelay::new(exchange),
        record: Some(record),
        state: State::Reading(body),
        timer: Box::pin(tokio::time::sleep(idle)),
        out: Vec::new(),
        waited: 0,
    };
    Response::from_parts(head, body.boxed_unsync())
}

type Asking = Pin<Box<dyn Future<Output = Option<Source>> + Send>>;

/// The bytes of a reply, as they were meant.
enum Source {
    Plain(Incoming),
    Coded(Box<Coded>),
}

/// A compressed body.
struct Coded {
    body: Incoming,
    decoder: Decoder,
    /// What was not decoded yet.
    rest: Bytes,
    ended: bool,
}

impl Source {
    fn new(coding: Coding, body: Incoming) -> Self {
        match Decoder::new(coding) {
            None => Source::Plain(body),
            Some(decoder) => Source::Coded(Box::new(Coded {
                body,
                decoder,
                rest: Bytes::new(),
                ended: false,
            })),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        match self {
            Source::Plain(body) => frame(body, cx),
            Source::Coded(coded) => coded.poll(cx),
        }
    }
}

fn frame(body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
    let frame = Pin::new(body).poll_frame(cx);
    frame.map(|frame| {
        let frame = frame?;
        let data = frame.map(|frame| frame.into_data().unwrap_or_default());
        Some(data.map_err(BoxError::from))
    })
}

impl Coded {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        if self.rest.is_empty() && !self.ended {
            match frame(&mut self.body, cx) {
                Poll::Ready(Some(Ok(data))) => self.rest = data,
                Poll::Ready(None) => self.ended = true,
                other => return other,
            }
        }
        let broken = |error: std::io::Error| Some(Err(BoxError::from(error)));
        Poll::Ready(match (self.rest.is_empty(), self.ended) {
            (true, true) => self.decoder.end().map_or_else(broken, |()| None),
            _ => {
                let part = self.decoder.part(&mut self.rest);
                part.map_or_else(broken, |part| Some(Ok(Bytes::from(part))))
            }
        })
    }
}

enum State {
    Reading(Source),
    Asking(Asking),
    /// The upstream broke off: the client is to see that, too.
    Broken(BoxError),
    Done,
}

/// A stream that is judged.
struct Judging {
    live: Arc<Live>,
    /// What is asked again, if anything is.
    asked: Option<Box<Asked>>,
    relay: StreamRelay,
    record: Option<Box<Record>>,
    state: State,
    timer: Pin<Box<Sleep>>,
    out: Vec<u8>,
    /// How often the server was told to ask again since something went on.
    waited: u8,
}

impl Judging {
    fn ask(&self) -> Asking {
        let (live, asked) = (Arc::clone(&self.live), self.asked.clone());
        let body = body_of(self.relay.exchange());
        Box::pin(async move {
            let mut asked = asked?;
            asked.is_new();
            let reply = asked.send(&live.upstream, body).await.ok()?;
            let coding = Coding::of(reply.headers());
            let usable = reply.status().is_success()
                && coding != Coding::Unknown
                && has_media_type(reply.headers(), "text/event-stream");
            usable.then(|| Source::new(coding, reply.into_body()))
        })
    }

    /// The upstream did something: its time begins anew.
    fn rest(&mut self) {
        let idle = self.live.config.limits.idle_time;
        self.timer.as_mut().reset(Clock::now() + idle);
    }

    /// Hands on what was gathered.
    fn give(&mut self) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.waited = 0;
        let bytes = Bytes::from(std::mem::take(&mut self.out));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    /// Has the server ask again when others had their turn.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        self.waited += 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn broken(&mut self, error: BoxError) {
        self.relay.cut(&mut self.out);
        self.state = State::Broken(error);
        if let Some(record) = &mut self.record {
            record.broken();
        }
    }

    fn done(&mut self) {
        self.state = State::Done;
        if let Some(mut record) = self.record.take() {
            record.judged(self.relay.exchange().reasked(), self.relay.take_records());
            record.finish();
        }
    }

    /// Takes what the upstream has; `Pending` if it has nothing yet.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Reading(body) => {
                let data = match body.poll(cx) {
                    Poll::Ready(data) => data,
                    Poll::Pending => {
                        if self.timer.as_mut().poll(cx).is_ready() {
                            self.broken("the upstream stopped in the middle of its reply".into());
                            return Poll::Ready(());
                        }
                        return Poll::Pending;
                    }
                };
                self.rest();
                let started = Instant::now();
                match data {
                    Some(Ok(data)) => self.relay.push(&data, &mut self.out),
                    Some(Err(error)) => self.broken(error),
                    None => match self.relay.end(&mut self.out) {
                        StreamEnd::Done => self.done(),
                        StreamEnd::Reask => self.state = State::Asking(self.ask()),
                    },
                }
                if let Some(record) = &mut self.record {
                    record.added(started.elapsed());
                }
            }
            State::Asking(asking) => {
                let Poll::Ready(next) = asking.as_mut().poll(cx) else {
                    return Poll::Pending;
                };
                match next {
                    Some(body) => {
                        self.rest();
                        self.relay.again();
                        self.state = State::Reading(body);
                    }
                    None => {
                        self.relay.give_up(&mut self.out);
                        if let Some(record) = &mut self.record {
                            record.reask_failed();
                        }
                        self.done();
                    }
                }
            }
            State::Broken(_) | State::Done => {}
        }
        Poll::Ready(())
    }
}

impl HttpBody for Judging {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        loop {
            let over = matches!(this.state, State::Broken(_) | State::Done);
            if !this.out.is_empty() && (over || this.out.len() >= ENOUGH) {
                return this.give();
            }
            match std::mem::replace(&mut this.state, State::Done) {
                State::Done => return Poll::Ready(None),
                // An error ends the connection at once: what came before it is to be written.
                State::Broken(error) if this.waited < TURN => {
                    this.state = State::Broken(error);
                    return this.wait(cx);
                }
                State::Broken(error) => {
                    this.done();
                    return Poll::Ready(Some(Err(error)));
                }
                state => this.state = state,
            }
            if this.step(cx).is_ready() {
                this.waited = 0;
            } else {
                if this.out.is_empty() {
                    return Poll::Pending;
                }
                // Events are handed over one by one, though many of them came at once: those that
                // are there already are written together.
                if this.waited < TURN {
                    return this.wait(cx);
                }
                return this.give();
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Done) && self.out.is_empty()
    }
}

impl Drop for Judging {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.judged(self.relay.exchange().reasked(), self.relay.take_records());
            record.left();
            record.finish();
        }
    }
}

/// A body that passes as it is, within a time limit.
pub(crate) struct Passing {
    start: Option<Bytes>,
    body: Incoming,
    timer: Option<Pin<Box<Sleep>>>,
    idle: Duration,
    record: Option<Box<Record>>,
}

impl Passing {
    pub(crate) fn new(body: Incoming, idle: Duration, record: Box<Record>) -> Self {
        Self {
            start: None,
            body,
            timer: None,
            idle,
            record: Some(record),
        }
    }

    /// A body whose start was read already.
    pub(crate) fn after(start: Bytes, body: Incoming, idle: Duration, record: Box<Record>) -> Self {
        let mut passing = Self::new(body, idle, record);
        passing.start = Some(start);
        passing
    }

    fn finish(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.finish();
        }
    }
}

impl HttpBody for Passing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(start) = this.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(None) => {
                this.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(frame))) => {
                this.timer = None;
                if this.body.is_end_stream() {
                    this.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                if let Some(record) = &mut this.record {
                    record.broken();
                }
                this.finish();
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Pending => {
                let idle = this.idle;
                let timer = this
                    .timer
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
                match timer.as_mut().poll(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(()) => {
                        this.finish();
                        let error = "the upstream stopped in the middle of its reply";
                        Poll::Ready(Some(Err(error.into())))
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.start {
            None => self.body.size_hint(),
            Some(start) => {
                let rest = self.body.size_hint();
                let mut hint = SizeHint::new();
                let size = start.len() as u64;
                hint.set_lower(rest.lower().saturating_add(size));
                if let Some(upper) = rest.upper() {
                    hint.set_upper(upper.saturating_add(size));
                }
                hint
            }
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.finish();
        }
    }
}
