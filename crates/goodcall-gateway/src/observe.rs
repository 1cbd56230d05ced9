//! Observe mode: requests and replies pass as they are, and a copy of each reply is judged once the
//! client has all of it.

use std::time::Instant;

use bytes::Bytes;
use goodcall_server::GatewayLoopMode;
use goodcall_wire::relay::{CallVerdict, Endpoint, Exchange, NextStep, StreamEnd, StreamRelay};
use goodcall_wire::request::has_results;
use http::Response;
use http::request::Parts;
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content_encoding::{ContentEncoding, decode};
use crate::error_reply::ErrorReply;
use crate::passed_body::PassedBody;
use crate::proxy::{
    Body, BoxError, HandlerResult, LiveState, SharedState, is_json, may_quote_a_call, media_type,
    pass_body, pass_reply,
};
use crate::request_record::{RequestRecord, Unjudged};
use crate::upstream::RepeatableRequest;
use crate::upstream_body::{CollectedBody, StartedBody, collect_request};
use crate::{headers, history_loops};

/// What the gateway would have done about a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WouldHave {
    /// Nothing: the reply is good.
    Passed,
    /// Calls, or the reply around them, would have been mended.
    Mended,
    /// The model would have been asked again.
    Reasked,
    /// A bad call would have been forwarded as the setting `give_up` says.
    GivenUp,
}

impl WouldHave {
    /// The name in the log and the metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WouldHave::Passed => "pass",
            WouldHave::Mended => "mend",
            WouldHave::Reasked => "reask",
            WouldHave::GivenUp => "give_up",
        }
    }
}

/// Passes a request and its reply, and has the reply judged.
pub(crate) async fn respond(
    shared: &SharedState,
    live: &LiveState,
    endpoint: Endpoint,
    mut parts: Parts,
    body: Incoming,
    mut record: Box<RequestRecord>,
) -> HandlerResult {
    let limits = &live.config.limits;
    if body.size_hint().lower() > limits.request_bytes as u64 {
        record.set_unjudged_request(&endpoint, Unjudged::RequestTooLarge);
        let body = body.map_err(BoxError::from).boxed_unsync();
        return Box::pin(pass_body(live, parts, body, record)).await;
    }
    let body = match collect_request(body, limits).await {
        Ok(CollectedBody::Whole(body)) => body,
        Ok(CollectedBody::TooLong(start, rest)) => {
            record.set_unjudged_request(&endpoint, Unjudged::RequestTooLarge);
            let body = StartedBody::new(start, rest).boxed_unsync();
            return Box::pin(pass_body(live, parts, body, record)).await;
        }
        Err(_) => return Err((ErrorReply::RequestBroken, record)),
    };
    let started = Instant::now();
    let encoding = ContentEncoding::of(&parts.headers);
    let exchange = read(shared, live, &endpoint, (encoding, &body), &mut record);
    record.begin_span(live, &mut parts.headers);
    headers::for_upstream(&mut parts.headers);
    let Some(request) = RepeatableRequest::new(&live.upstream, &parts, limits.first_byte_time)
    else {
        return Err((ErrorReply::RequestBroken, record));
    };
    record.add_own_time(started.elapsed());
    record.note_sent();
    match request.send(&live.upstream, body).await {
        Ok(reply) => {
            record.note_reply();
            Ok(pass_observed(live, exchange, reply, record))
        }
        Err(error) => Err((record.set_upstream_error(error), record)),
    }
}

/// Reads what the replies to a request are judged by.
fn read(
    shared: &SharedState,
    live: &LiveState,
    endpoint: &Endpoint,
    (encoding, body): (ContentEncoding, &Bytes),
    record: &mut RequestRecord,
) -> Option<Exchange> {
    let most = live.config.limits.request_bytes;
    let plain = match encoding {
        ContentEncoding::Plain => Some(body.clone()),
        encoding => decode(encoding, body.clone(), most),
    };
    let text = plain.as_ref().map(|bytes| std::str::from_utf8(bytes));
    let Some(Ok(text)) = text else {
        record.set_unjudged_request(endpoint, Unjudged::RequestEncoding);
        return None;
    };
    if live.config.history.loops != GatewayLoopMode::Off && has_results(text) {
        let found = history_loops::find(endpoint.provider, text);
        record.history.loop_signal = found.map(|report| report.signal.name());
    }
    let relay = std::sync::Arc::clone(&live.relay);
    match Exchange::new(endpoint.clone(), text, &shared.tools, relay) {
        Ok(mut exchange) => {
            live.apply_settings(&mut exchange);
            record.set_exchange(endpoint.provider, &exchange);
            Some(exchange)
        }
        Err(not_judged) => {
            record.set_unjudged_request(endpoint, Unjudged::Request(not_judged));
            record.set_request_facts(endpoint, text);
            None
        }
    }
}

/// Passes a reply as it is, and copies it if it can be judged.
fn pass_observed(
    live: &LiveState,
    exchange: Option<Exchange>,
    reply: Response<Incoming>,
    mut record: Box<RequestRecord>,
) -> Response<Body> {
    let Some(exchange) = exchange else {
        return pass_reply(live, reply, record);
    };
    let form = match reply_form(&exchange, &reply) {
        Ok(Some(form)) => form,
        Ok(None) => return pass_reply(live, reply, record),
        Err(reason) => {
            record.judgement.unjudged = Some(reason);
            return pass_reply(live, reply, record);
        }
    };
    let limits = &live.config.limits;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    record.set_status(head.status);
    let copy = ReplyCopy {
        exchange,
        form,
        encoding: ContentEncoding::of(&head.headers),
        bytes: Vec::new(),
        most: limits.reply_bytes,
    };
    let body = PassedBody::new(None, body, limits.idle_time, record).observed(copy);
    Response::from_parts(head, body.boxed_unsync())
}

/// Returns how a reply is judged; `None` for an error, in which there is nothing to judge.
fn reply_form(
    exchange: &Exchange,
    reply: &Response<Incoming>,
) -> Result<Option<ReplyForm>, Unjudged> {
    if may_quote_a_call(reply) {
        return Ok(Some(ReplyForm::Failure));
    }
    if !reply.status().is_success() {
        return Ok(None);
    }
    let form = if exchange.is_stream(&media_type(reply.headers())) {
        ReplyForm::Stream
    } else if is_json(reply.headers()) {
        ReplyForm::Whole
    } else {
        return Err(Unjudged::ReplyType);
    };
    if ContentEncoding::of(reply.headers()) == ContentEncoding::Unknown {
        return Err(Unjudged::ReplyEncoding);
    }
    Ok(Some(form))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyForm {
    Stream,
    Whole,
    /// An error in which the upstream may quote a call.
    Failure,
}

/// The copy of a reply that is passing.
pub(crate) struct ReplyCopy {
    exchange: Exchange,
    form: ReplyForm,
    encoding: ContentEncoding,
    bytes: Vec<u8>,
    most: usize,
}

impl ReplyCopy {
    /// Adds what has passed.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // One byte more than may be judged shows that there was too much.
        let free = (self.most + 1).saturating_sub(self.bytes.len());
        self.bytes.extend(bytes.iter().take(free));
    }

    /// Judges the reply in a task of its own, after which the record is written.
    pub(crate) fn judge_later(self, record: Box<RequestRecord>) {
        let reply = CopiedReply(Some((self, record)));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { drop(reply) });
        }
    }

    fn judge(self, record: &mut RequestRecord) {
        if self.bytes.len() > self.most {
            record.judgement.unjudged = Some(Unjudged::ReplyTooLarge);
            return;
        }
        let bytes = Bytes::from(self.bytes);
        let plain = match self.encoding {
            ContentEncoding::Plain => Some(bytes),
            encoding => decode(encoding, bytes, self.most),
        };
        let Some(plain) = plain else {
            record.judgement.unjudged = Some(Unjudged::ReplyEncoding);
            return;
        };
        let text = std::str::from_utf8(&plain).unwrap_or_default();
        let mut exchange = self.exchange;
        let is_reasked = match self.form {
            ReplyForm::Stream => {
                let mut relay = StreamRelay::new(exchange);
                relay.push(&plain, &mut Vec::new());
                let end = relay.end(&mut Vec::new());
                exchange = relay.exchange().clone();
                end == StreamEnd::Reask
            }
            ReplyForm::Whole => exchange.reply(text) == NextStep::Reask,
            ReplyForm::Failure => exchange.failure(text) == NextStep::Reask,
        };
        if exchange.is_unread() {
            record.judgement.unjudged = Some(Unjudged::ReplyNotJson);
        }
        let calls = exchange.take_records();
        record.set_findings(&exchange, calls);
        let judgement = &mut record.judgement;
        let has = |verdict| judgement.calls.iter().any(|call| call.verdict == verdict);
        let would_have = if is_reasked {
            WouldHave::Reasked
        } else if has(CallVerdict::Bad) {
            WouldHave::GivenUp
        } else if has(CallVerdict::Mended) || !judgement.repairs.is_empty() {
            WouldHave::Mended
        } else {
            WouldHave::Passed
        };
        judgement.would_have = Some(would_have);
        judgement.reasked = 0;
    }
}

/// A reply that is judged when this is dropped, so that no record is lost with its task.
struct CopiedReply(Option<(ReplyCopy, Box<RequestRecord>)>);

impl Drop for CopiedReply {
    fn drop(&mut self) {
        if let Some((copy, mut record)) = self.0.take() {
            let started = Instant::now();
            copy.judge(&mut record);
            record.add_own_time(started.elapsed());
            record.finish();
        }
    }
}
