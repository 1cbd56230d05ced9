//! Replies that come as one JSON document.

use std::time::Instant;

use bytes::Bytes;
use goodcall_server::has_media_type;
use goodcall_wire::relay::NextStep;
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content_encoding::{ContentEncoding, decode};
use crate::error_reply::ErrorReply;
use crate::headers;
use crate::passed_body::PassedBody;
use crate::proxy::{
    Body, HandlerResult, PendingExchange, body_of, full, set_unjudged, set_verdict,
};
use crate::request_record::Unjudged;
use crate::upstream_body::{CollectError, CollectedBody, collect};

/// Reads a reply, judges it, re-asks where that is needed, and answers the client.
pub(crate) async fn respond(
    mut pending: Box<PendingExchange>,
    reply: Response<Incoming>,
) -> HandlerResult {
    let limits = pending.live.config.limits;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let encoding = ContentEncoding::of(&head.headers);
    let started = Instant::now();
    let collected = collect(body, limits.reply_bytes, limits.idle_time).await;
    pending.record.add_upstream_time(started.elapsed());
    let mut bytes = match collected {
        Ok(CollectedBody::Whole(bytes)) => bytes,
        Ok(CollectedBody::TooLong(start, rest)) => {
            let mut record = pending.record;
            set_unjudged(&mut head.headers, Unjudged::ReplyTooLarge, &mut record);
            record.set_status(head.status);
            let body = PassedBody::new(Some(start), rest, limits.idle_time, record);
            return Ok(Response::from_parts(head, body.boxed_unsync()));
        }
        Err(CollectError::Idle) => return Err((ErrorReply::UpstreamTimeout, pending.record)),
        Err(CollectError::Broken) => return Err((ErrorReply::UpstreamBroken, pending.record)),
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
        let text = std::str::from_utf8(&bytes);
        if let NextStep::Reply(text) = pending.exchange.reply(text.unwrap_or_default()) {
            let bytes = text.map_or(bytes, Bytes::from);
            return Ok(answer(head, bytes, *pending));
        }
        let sent = Instant::now();
        pending.request.forget_idempotency();
        let next = Box::pin(reask(&pending)).await;
        pending.record.add_upstream_time(sent.elapsed());
        let Some(next) = next else {
            pending.record.judgement.reask_failed = true;
            let bytes = pending.exchange.give_up().map_or(bytes, Bytes::from);
            return Ok(answer(head, bytes, *pending));
        };
        (head, bytes) = next;
    }
}

/// Sends the request again. Returns `None` if there is no usable reply.
async fn reask(pending: &PendingExchange) -> Option<(Parts, Bytes)> {
    let body = body_of(&pending.exchange);
    let reply = pending
        .request
        .send(&pending.live.upstream, body)
        .await
        .ok()?;
    if !reply.status().is_success() || !has_media_type(reply.headers(), "application/json") {
        return None;
    }
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let limits = &pending.live.config.limits;
    let encoding = ContentEncoding::of(&head.headers);
    let collected = collect(body, limits.reply_bytes, limits.idle_time).await;
    let Ok(CollectedBody::Whole(mut bytes)) = collected else {
        return None;
    };
    if encoding != ContentEncoding::Plain {
        head.headers.remove(CONTENT_ENCODING);
        bytes = decode(encoding, bytes, limits.reply_bytes)?;
    }
    Some((head, bytes))
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
    record.set_calls(exchange.reasked(), exchange.take_records());
    record.finish();
    Response::from_parts(head, full(bytes))
}
