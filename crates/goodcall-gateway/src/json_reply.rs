//! Replies that come as one JSON document.

use std::time::Instant;

use bytes::Bytes;
use goodcall_wire::relay::NextStep;
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content_encoding::{ContentEncoding, decode};
use crate::headers;
use crate::passed_body::PassedBody;
use crate::proxy::{
    Body, HandlerResult, PendingExchange, body_of, full, is_json, set_unjudged, set_verdict,
};
use crate::request_record::{ReaskFailure, Unjudged};
use crate::upstream_body::{CollectedBody, collect};

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
    loop {
        let started = Instant::now();
        let text = std::str::from_utf8(&bytes);
        let next = pending.exchange.reply(text.unwrap_or_default());
        pending.record.add_own_time(started.elapsed());
        if let NextStep::Reply(text) = next {
            let bytes = text.map_or(bytes, Bytes::from);
            return Ok(answer(head, bytes, *pending));
        }
        pending.request.prepare_reask(limits.reask_time);
        // A client that leaves now has caused these calls, too.
        let calls = pending.exchange.records().to_vec();
        pending.record.set_findings(&pending.exchange, calls);
        match Box::pin(reask(&pending)).await {
            Ok(next) => (head, bytes) = next,
            Err(failure) => {
                pending.record.judgement.reask_failed = Some(failure);
                let bytes = pending.exchange.give_up().map_or(bytes, Bytes::from);
                return Ok(answer(head, bytes, *pending));
            }
        }
    }
}

/// Sends the request again.
async fn reask(pending: &PendingExchange) -> Result<(Parts, Bytes), ReaskFailure> {
    let body = body_of(&pending.exchange);
    let upstream = &pending.live.upstream;
    let reply = pending.request.send(upstream, body).await;
    let reply = reply.map_err(|error| ReaskFailure::NoReply(error.reply))?;
    if !reply.status().is_success() {
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
        mut exchange,
        mut record,
        ..
    } = pending;
    head.headers.remove(CONTENT_LENGTH);
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
