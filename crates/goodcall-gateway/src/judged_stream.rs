//! Replies that come as a stream of events, judged on their way.
//!
//! The client's body is the upstream's body with a relay in between. Nothing is read that the
//! client does not ask for, and a client that goes away closes the upstream's stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use goodcall_wire::relay::{StreamEnd, StreamRelay};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::response::Parts;
use http::{Response, StatusCode};
use http_body::{Body as HttpBody, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Sleep;

use crate::content_encoding::{ContentEncoding, decode};
use crate::failed_reply::{self, MOST_BYTES};
use crate::headers;
use crate::proxy::{
    Body, BoxError, LiveState, PendingExchange, body_of, may_quote_a_call, media_type, set_verdict,
};
use crate::request_record::{ReaskFailure, RequestError, RequestRecord};
use crate::upstream::{RepeatableRequest, with_sources};
use crate::upstream_body::{CollectedBody, PlainBody, TimedBody, collect};

/// A buffer of this many bytes is sent to the client at once.
const FULL_BUFFER: usize = 16 << 10;

/// How many times `poll_frame` wakes itself and returns `Pending` before it sends a partial buffer
/// or an error. hyper polls a body twice per turn and writes in between, so two wake-ups let other
/// tasks run and gather events that are there already.
const WAKE_UPS: u8 = 2;

/// Answers the client with a stream that is judged on its way.
pub(crate) fn respond(pending: PendingExchange, reply: Response<Incoming>) -> Response<Body> {
    let PendingExchange {
        live,
        request,
        mut exchange,
        mut record,
    } = pending;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    head.headers.remove(CONTENT_LENGTH);
    // The verdicts are known only when the stream is over. They are in the log, and in the body
    // where the settings ask for that.
    set_verdict(&mut head.headers, "stream", &record);
    let body = TimedBody::new(body, live.config.limits.idle_time);
    let body = PlainBody::new(ContentEncoding::of(&head.headers), body);
    head.headers.remove(CONTENT_ENCODING);
    record.set_status(head.status);
    let request = exchange.may_ask().then(|| Box::new(request));
    if request.is_none() {
        exchange.forget_body();
    }
    let body = JudgedStream {
        live,
        request,
        relay: StreamRelay::new(exchange),
        media_type: media_type(&head.headers).into_owned(),
        record: Some(record),
        state: StreamState::Reading(body),
        out: Vec::new(),
        wake_ups: 0,
        hold: Hold::default(),
    };
    Response::from_parts(head, body.boxed_unsync())
}

/// Answers the client with a stream in place of an error, in which the relay found `start`. Nothing is
/// sent before the model has been asked again, so that the error can still pass as it came.
pub(crate) async fn respond_to_failure(
    pending: PendingExchange,
    (mut head, bytes): (Parts, Bytes),
    relay: StreamRelay,
    (mut end, out): (StreamEnd, Vec<u8>),
) -> Response<Body> {
    let media_type = relay.exchange().stream_type();
    let mut body = JudgedStream {
        live: pending.live,
        request: Some(Box::new(pending.request)),
        relay,
        media_type: media_type.to_owned(),
        record: Some(pending.record),
        state: StreamState::Done,
        out,
        wake_ups: 0,
        hold: Hold::default(),
    };
    while end == StreamEnd::Reask {
        let failure = match body.reask().await {
            Ok(NextBody::Stream(next)) => {
                body.relay.begin_next();
                body.state = StreamState::Reading(next);
                break;
            }
            Ok(NextBody::Failure(status, next)) => {
                let text = std::str::from_utf8(&next).unwrap_or_default();
                match body.relay.failure(text, &mut body.out) {
                    Some(next) if !body.relay.fell_back() => {
                        end = next;
                        continue;
                    }
                    _ => ReaskFailure::Status(status),
                }
            }
            Err(failure) => failure,
        };
        let mut record = body.record.take().expect("the record is not written yet");
        record.judgement.reask_failed = Some(failure);
        let calls = body.relay.take_records();
        record.set_findings(body.relay.exchange(), calls);
        return failed_reply::pass(head, bytes, record);
    }
    head.status = StatusCode::OK;
    for name in [CONTENT_LENGTH, CONTENT_ENCODING] {
        head.headers.remove(name);
    }
    head.headers
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Some(record) = &mut body.record {
        set_verdict(&mut head.headers, "stream", record);
        record.set_status(head.status);
    }
    if end == StreamEnd::Done {
        body.finish(None);
    }
    Response::from_parts(head, body.boxed_unsync())
}

type NextReply = Pin<Box<dyn Future<Output = Result<NextBody, ReaskFailure>> + Send>>;

/// What answers a re-ask.
enum NextBody {
    Stream(PlainBody),
    /// An error in which a server may quote a call.
    Failure(StatusCode, Bytes),
}

enum StreamState {
    Reading(PlainBody),
    Reasking(NextReply),
    /// The upstream broke off: the client's stream is to break off, too.
    Broken(BoxError),
    Done,
}

struct JudgedStream {
    live: Arc<LiveState>,
    /// The request that is sent again; `None` if this exchange never re-asks.
    request: Option<Box<RepeatableRequest>>,
    relay: StreamRelay,
    /// The media type of the first reply, which the others must have as well.
    media_type: String,
    record: Option<Box<RequestRecord>>,
    state: StreamState,
    /// Bytes for the client.
    out: Vec<u8>,
    /// Wake-ups since something was sent.
    wake_ups: u8,
    hold: Hold,
}

/// How long something has been held back, and when the client gets the next sign of life.
#[derive(Default)]
struct Hold {
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl JudgedStream {
    /// Sends the request again.
    fn reask(&self) -> NextReply {
        let (live, request) = (Arc::clone(&self.live), self.request.clone());
        if let Some(record) = &self.record {
            let exchange = self.relay.exchange();
            let allowed = live.reasks.take(&live.config.reasks, record, exchange);
            if let Err(failure) = allowed {
                return Box::pin(std::future::ready(Err(failure)));
            }
        }
        let body = body_of(self.relay.exchange());
        let expected = self.media_type.clone();
        Box::pin(async move {
            let next = next_body(&live, request, body, &expected).await;
            live.reasks.note(&live.config.reasks, next.is_ok());
            next
        })
    }

    /// Sends the buffer to the client.
    fn flush(&mut self) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.wake_ups = 0;
        let bytes = Bytes::from(std::mem::take(&mut self.out));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    /// Waits for the next sign of life, and returns true once it is due and written. Clients and
    /// the proxies in between close a stream that is silent for long, and one is while a call is
    /// held.
    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(beat) = self.relay.heartbeat() else {
            self.hold.timer = None;
            return false;
        };
        let Some(pause) = self.live.config.limits.heartbeat_time else {
            return false;
        };
        let timer = &mut self.hold.timer;
        let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
        if timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.hold.timer = None;
        self.out.extend_from_slice(beat.as_bytes());
        true
    }

    /// Adds to the record how long the client has waited for what is held.
    fn note_hold(&mut self) {
        let holds = self.relay.is_holding() && !matches!(self.state, StreamState::Done);
        match (holds, self.hold.since) {
            (true, None) => self.hold.since = Some(Instant::now()),
            (false, Some(since)) => {
                self.hold.since = None;
                if let Some(record) = &mut self.record {
                    record.timing.held += since.elapsed();
                }
            }
            _ => {}
        }
    }

    /// Has the server poll again after other tasks had their turn.
    fn wake_later<T>(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        self.wake_ups += 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn break_off(&mut self, error: BoxError) {
        let cause = with_sources(error.as_ref());
        self.relay.abort(&mut self.out);
        self.state = StreamState::Broken(error);
        if let Some(record) = &mut self.record {
            record.error = Some(RequestError::UpstreamBroken);
            record.cause = Some(cause);
        }
    }

    /// Writes the record, with the calls that were judged so far.
    fn finish(&mut self, error: Option<RequestError>) {
        self.state = StreamState::Done;
        self.note_hold();
        if let Some(mut record) = self.record.take() {
            if self.relay.fell_back() {
                record.judgement.reask_failed = Some(ReaskFailure::Empty);
            }
            let calls = self.relay.take_records();
            record.set_findings(self.relay.exchange(), calls);
            record.error = record.error.or(error);
            record.finish();
        }
    }

    /// Ends the stream, or asks again.
    fn go_on(&mut self, end: StreamEnd) {
        if let Some(record) = &self.record {
            let memory = &record.shared().memory;
            memory.note_response(&self.relay);
            if self.live.config.history.remember {
                memory.note_stream(&self.relay);
            }
        }
        match end {
            StreamEnd::Done => self.finish(None),
            StreamEnd::Reask => self.state = StreamState::Reasking(self.reask()),
        }
    }

    /// Forwards the reply before a re-ask that brought none.
    fn give_up(&mut self, failure: ReaskFailure) {
        self.relay.give_up(&mut self.out);
        if let Some(record) = &mut self.record {
            record.judgement.reask_failed = Some(failure);
        }
        self.finish(None);
    }

    /// Takes in what the upstream has; `Pending` if it has nothing yet.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            StreamState::Reading(body) => {
                let Poll::Ready(data) = body.poll(cx) else {
                    return Poll::Pending;
                };
                let started = Instant::now();
                match data {
                    Some(Ok(data)) => self.relay.push(&data, &mut self.out),
                    Some(Err(error)) => self.break_off(error),
                    None => {
                        let end = self.relay.end(&mut self.out);
                        self.go_on(end);
                    }
                }
                if let Some(record) = &mut self.record {
                    record.add_own_time(started.elapsed());
                }
            }
            StreamState::Reasking(next) => {
                let Poll::Ready(next) = next.as_mut().poll(cx) else {
                    return Poll::Pending;
                };
                match next {
                    Ok(NextBody::Stream(body)) => {
                        self.relay.begin_next();
                        self.state = StreamState::Reading(body);
                    }
                    Ok(NextBody::Failure(status, bytes)) => {
                        let text = std::str::from_utf8(&bytes).unwrap_or_default();
                        match self.relay.failure(text, &mut self.out) {
                            Some(end) => self.go_on(end),
                            None => self.give_up(ReaskFailure::Status(status)),
                        }
                    }
                    Err(failure) => self.give_up(failure),
                }
            }
            StreamState::Broken(_) | StreamState::Done => {}
        }
        Poll::Ready(())
    }
}

/// Sends a request again, and waits for what answers it.
async fn next_body(
    live: &LiveState,
    request: Option<Box<RepeatableRequest>>,
    body: Bytes,
    expected: &str,
) -> Result<NextBody, ReaskFailure> {
    let mut request = request.ok_or(ReaskFailure::Unreadable)?;
    let limits = &live.config.limits;
    request.prepare_reask(limits.reask_time);
    let reply = request.send(&live.upstream, body).await;
    let reply = reply.map_err(|error| ReaskFailure::NoReply(error.reply))?;
    let encoding = ContentEncoding::of(reply.headers());
    if may_quote_a_call(&reply) {
        let status = reply.status();
        let body = collect(reply.into_body(), MOST_BYTES, limits.idle_time).await;
        let Ok(CollectedBody::Whole(bytes)) = body else {
            return Err(ReaskFailure::Status(status));
        };
        let plain = match encoding {
            ContentEncoding::Plain => Some(bytes),
            encoding => decode(encoding, bytes, MOST_BYTES),
        };
        return Ok(NextBody::Failure(status, plain.unwrap_or_default()));
    }
    if !reply.status().is_success() {
        return Err(ReaskFailure::Status(reply.status()));
    }
    if !encoding.can_stream() || media_type(reply.headers()) != expected {
        return Err(ReaskFailure::Unreadable);
    }
    let body = TimedBody::new(reply.into_body(), limits.idle_time);
    Ok(NextBody::Stream(PlainBody::new(encoding, body)))
}

impl HttpBody for JudgedStream {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        loop {
            let is_over = matches!(this.state, StreamState::Broken(_) | StreamState::Done);
            if !this.out.is_empty() && (is_over || this.out.len() >= FULL_BUFFER) {
                return this.flush();
            }
            match std::mem::replace(&mut this.state, StreamState::Done) {
                StreamState::Done => return Poll::Ready(None),
                // An error ends the connection at once, so what came before it is written first.
                StreamState::Broken(error) if this.wake_ups < WAKE_UPS => {
                    this.state = StreamState::Broken(error);
                    return this.wake_later(cx);
                }
                StreamState::Broken(error) => {
                    this.finish(None);
                    return Poll::Ready(Some(Err(error)));
                }
                state => this.state = state,
            }
            let advanced = this.advance(cx).is_ready();
            this.note_hold();
            if advanced {
                this.wake_ups = 0;
            } else if this.out.is_empty() {
                if this.poll_heartbeat(cx) {
                    return this.flush();
                }
                return Poll::Pending;
            } else if this.wake_ups < WAKE_UPS {
                // The upstream's events come one by one, though many of them may be there already:
                // those are written together.
                return this.wake_later(cx);
            } else {
                return this.flush();
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, StreamState::Done) && self.out.is_empty()
    }
}

impl Drop for JudgedStream {
    fn drop(&mut self) {
        let error = self.record.as_ref().map(|record| record.left_error());
        self.finish(error);
    }
}
