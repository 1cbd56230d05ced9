//! Errors of the upstream in which it quotes a call that it could not read itself.

use bytes::Bytes;
use goodcall_wire::relay::StreamRelay;
use http::Response;
use http::response::Parts;
use hyper::body::Incoming;

use crate::content_encoding::{ContentEncoding, decode};
use crate::passed_body::PassedBody;
use crate::proxy::{Body, HandlerResult, PendingExchange, full, pass_reply};
use crate::request_record::RequestRecord;
use crate::upstream_body::{CollectedBody, collect};
use crate::{headers, json_reply, judged_stream};

/// The longest error that is read.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Reads an error, and answers the client with the call in it, or with the error as it came.
pub(crate) async fn respond(
    mut pending: Box<PendingExchange>,
    reply: Response<Incoming>,
) -> HandlerResult {
    let limits = pending.live.config.limits;
    let encoding = ContentEncoding::of(reply.headers());
    if encoding == ContentEncoding::Unknown {
        return Ok(pass_reply(&pending.live, reply, pending.record));
    }
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let bytes = match collect(body, MOST_BYTES, limits.idle_time).await {
        Ok(CollectedBody::Whole(bytes)) => bytes,
        Ok(CollectedBody::TooLong(start, rest)) => {
            let mut record = pending.record;
            record.set_status(head.status);
            let body = PassedBody::new(Some(start), rest, limits.idle_time, record);
            let body = http_body_util::BodyExt::boxed_unsync(body);
            return Ok(Response::from_parts(head, body));
        }
        Err(error) => {
            let reply = pending.record.set_upstream_error(error.into());
            return Err((reply, pending.record));
        }
    };
    let plain = match encoding {
        ContentEncoding::Plain => Some(bytes.clone()),
        encoding => decode(encoding, bytes.clone(), MOST_BYTES),
    };
    let plain = plain.unwrap_or_default();
    if !pending.exchange.streams() {
        return Ok(json_reply::respond_to_failure(pending, (head, bytes), &plain).await);
    }
    let mut relay = StreamRelay::new(pending.exchange.clone());
    let mut out = Vec::new();
    let text = std::str::from_utf8(&plain).unwrap_or_default();
    match relay.failure(text, &mut out) {
        Some(end) => {
            let start = (end, out);
            let reply = judged_stream::respond_to_failure(*pending, (head, bytes), relay, start);
            Ok(Box::pin(reply).await)
        }
        None => {
            let calls = relay.take_records();
            pending.record.set_findings(relay.exchange(), calls);
            Ok(pass(head, bytes, pending.record))
        }
    }
}

/// Passes an error as it came.
pub(crate) fn pass(head: Parts, bytes: Bytes, mut record: Box<RequestRecord>) -> Response<Body> {
    record.set_status(head.status);
    record.finish();
    Response::from_parts(head, full(bytes))
}
