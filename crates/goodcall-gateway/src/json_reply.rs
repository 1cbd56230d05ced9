//! Replies that come as one JSON document.

use std::time::Instant;

use bytes::Bytes;
use goodcall_wire::relay::NextStep;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::response::Parts;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content_encoding::{ContentEncoding, decode};
use crate::passed_body::PassedBody;
use crate::proxy::{
    Body, HandlerResult, PendingExchange, body_of, full, is_json, may_quote_a_call, set_unjudged,
    set_verdict,
};
use crate::request_record::{ReaskFailure, Unjudged};
use crate::upstream_body::{CollectedBody, collect};
use crate::{failed_reply, headers};

/// Reads a reply, judges it, re-asks where that is needed, and answers the client.
pub(crate) async fn respond(
    mut pending: Box<PendingExchange>,
    reply: Response<Incoming>,
) -> HandlerResult {
    let limits = pending.live.config.limits;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let encoding = ContentEncoding::of(&head.headers);
    let collected = collect(body, limits.reply_bytes, limits.idle_time).await;
    let mut bytes = match collected {
        Ok(CollectedBody::Whole(bytes)) => bytes,
        Ok(CollectedBody::TooLong(start, rest)) => {
            let mut record = pending.record;
            set_unjudged(&mut head.headers, Unjudged::ReplyTooLarge, &mut record);
            record.set_status(head.status);
            let body = PassedBody::new(Some(start), rest, limits.idle_time, record);
            return Ok(Response::from_parts(head, body.boxed_unsync()));
        }
        Err(error) => {
            let reply = pending.record.set_upstream_error(error.into());
            return Err((reply, pending.record));
        }
    };
    if encoding != ContentEncoding::Plain {
        let Some(plain) = decode(encoding, bytes.clone(), limits.reply_bytes) else {
            let mut record = pending.record;
            set_unjudged(&mut head.headers, Unjudged::ReplyEncoding, &mut record);
            record.set_status(head.status);
            record.finish();
            return Ok(Response::from_parts(head, full(bytes)));
        };
        bytes = plain;
        head.headers.remove(CONTENT_ENCODING);
    }
    Ok(judge(pending, (head, bytes)).await)
}

/// Answers a client whose first reply is an error; `plain` is its body, decoded.
pub(crate) async fn respond_to_failure(
    mut pending: Box<PendingExchange>,
    (mut head, bytes): (Parts, Bytes),
    plain: &[u8],
) -> Response<Body> {
    match step(&mut pending, &head, plain) {
        NextStep::Reply(Some(text)) => {
            make_success(&mut head);
            answer(head, Bytes::from(text), *pending)
        }
        NextStep::Reply(None) => {
            let calls = pending.exchange.take_records();
            pending.record.set_findings(&pending.exchange, calls);
            failed_reply::pass(head, bytes, pending.record)
        }
        NextStep::Reask => ask_again(pending, (head, bytes)).await,
    }
}

/// Judges a reply, and asks the model again where that is needed.
async fn judge(mut pending: Box<PendingExchange>, (head, bytes): (Parts, Bytes)) -> Response<Body> {
    match step(&mut pending, &head, &bytes) {
        NextStep::Reply(text) => answer(head, text.map_or(bytes, Bytes::from), *pending),
        NextStep::Reask => ask_again(pending, (head, bytes)).await,
    }
}

fn step(pending: &mut PendingExchange, head: &Parts, bytes: &[u8]) -> NextStep {
    let started = Instant::now();
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let next = if head.status.is_success() {
        pending.exchange.reply(text)
    } else {
        pending.exchange.failure(text)
    };
    pending.record.add_own_time(started.elapsed());
    next
}

/// Asks the model again until a reply is good, or there is none. `last` is what the client gets then.
async fn ask_again(mut pending: Box<PendingExchange>, mut last: (Parts, Bytes)) -> Response<Body> {
    loop {
        let limit = pending.live.config.limits.reask_time;
        pending.request.prepare_reask(limit);
        // A client that leaves now has caused these calls, too.
        let calls = pending.exchange.records().to_vec();
        pending.record.set_findings(&pending.exchange, calls);
        let live = &pending.live;
        let limits = &live.config.reasks;
        let allowed = live.reasks.take(limits, &pending.record, &pending.exchange);
        if let Err(failure) = allowed {
            return keep_last(last, failure, pending);
        }
        let next = Box::pin(reask(&pending)).await;
        live.reasks.note(limits, next.is_ok());
        let (mut head, bytes) = match next {
            Ok(next) => next,
            Err(failure) => return keep_last(last, failure, pending),
        };
        let is_success = head.status.is_success();
        match step(&mut pending, &head, &bytes) {
            NextStep::Reply(Some(text)) => {
                make_success(&mut head);
                return answer(head, Bytes::from(text), *pending);
            }
            NextStep::Reply(None) if is_success => return answer(head, bytes, *pending),
            NextStep::Reply(None) => {
                return keep_last(last, ReaskFailure::Status(head.status), pending);
            }
            NextStep::Reask if is_success => last = (head, bytes),
            NextStep::Reask => {}
        }
    }
}

/// Answers with the reply before a re-ask that brought none.
fn keep_last(
    (head, bytes): (Parts, Bytes),
    failure: ReaskFailure,
    mut pending: Box<PendingExchange>,
) -> Response<Body> {
    pending.record.judgement.reask_failed = Some(failure);
    match pending.exchange.give_up() {
        Some(text) => answer(head, Bytes::from(text), *pending),
        None if head.status.is_success() => answer(head, bytes, *pending),
        None => {
            let calls = pending.exchange.take_records();
            pending.record.set_findings(&pending.exchange, calls);
            failed_reply::pass(head, bytes, pending.record)
        }
    }
}

/// Turns the head of an error into that of a reply.
fn make_success(head: &mut Parts) {
    if !head.status.is_success() {
        head.status = StatusCode::OK;
        head.headers.remove(CONTENT_ENCODING);
    }
}

/// Sends the request again.
async fn reask(pending: &PendingExchange) -> Result<(Parts, Bytes), ReaskFailure> {
    let body = body_of(&pending.exchange);
    let upstream = &pending.live.upstream;
    let reply = pending.request.send(upstream, body).await;
    let reply = reply.map_err(|error| ReaskFailure::NoReply(error.reply))?;
    if !reply.status().is_success() && !may_quote_a_call(&reply) {
        return Err(ReaskFailure::Status(reply.status()));
    }
    if !is_json(reply.headers()) {
        return Err(ReaskFailure::Unreadable);
    }
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let limits = &pending.live.config.limits;
    let encoding = ContentEncoding::of(&head.headers);
    let collected = collect(body, limits.reply_bytes, limits.idle_time).await;
    let Ok(CollectedBody::Whole(mut bytes)) = collected else {
        return Err(ReaskFailure::Unreadable);
    };
    if encoding != ContentEncoding::Plain {
        head.headers.remove(CONTENT_ENCODING);
        let plain = decode(encoding, bytes, limits.reply_bytes);
        bytes = plain.ok_or(ReaskFailure::Unreadable)?;
    }
    Ok((head, bytes))
}

fn answer(mut head: Parts, bytes: Bytes, pending: PendingExchange) -> Response<Body> {
    let PendingExchange {
        live,
        mut exchange,
        mut record,
        ..
    } = pending;
    head.headers.remove(CONTENT_LENGTH);
    if live.config.history.remember
        && let Ok(reply) = std::str::from_utf8(&bytes)
    {
        record.shared().memory.note_reply(&exchange, reply);
    }
    if exchange.is_unread() {
        set_unjudged(&mut head.headers, Unjudged::ReplyNotJson, &mut record);
    } else {
        set_verdict(&mut head.headers, &exchange.summary(), &record);
    }
    record.set_status(head.status);
    let calls = exchange.take_records();
    record.set_findings(&exchange, calls);
    record.finish();
    Response::from_parts(head, full(bytes))
}
