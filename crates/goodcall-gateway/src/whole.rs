//! Replies that come as one JSON document.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use goodcall_wire::relay::{Exchange, Step};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::coding::{Coding, decode};
use crate::error::Refusal;
use crate::headers;
use crate::proxy::{Body, Live, full, set_verdict, unread};
use crate::record::Record;
use crate::stream;
use crate::upstream::Asked;

/// What came of reading a reply.
enum Read {
    Whole(Bytes),
    /// It is longer than is judged: what was read of it, and the rest.
    Long(Bytes, Incoming),
}

/// Reads a reply, judges it, asks again where that is needed, and answers the client.
pub(crate) async fn respond(
    live: Arc<Live>,
    asked: Asked,
    mut exchange: Exchange,
    reply: Response<Incoming>,
    mut record: Record,
) -> Result<Response<Body>, (Refusal, Record)> {
    let limits = live.config.limits;
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let coding = Coding::of(&head.headers);
    let started = Instant::now();
    let read = read(body, limits.reply_bytes, limits.idle_time).await;
    record.upstream(started.elapsed());
    let mut bytes = match read {
        Ok(Read::Whole(bytes)) => bytes,
        Ok(Read::Long(start, rest)) => {
            record.not_judged_reply("too_large");
            set_verdict(&mut head.headers, &unread("too_large"), &record);
            record.status(head.status);
            let body = stream::Passing::after(start, rest, limits.idle_time, record);
            return Ok(Response::from_parts(head, body.boxed_unsync()));
        }
        Err(refusal) => return Err((refusal, record)),
    };
    if coding != Coding::Plain {
        match decode(coding, bytes.clone(), limits.reply_bytes) {
            Some(plain) => {
                bytes = plain;
                head.headers.remove(CONTENT_ENCODING);
            }
            None => {
                record.not_judged_reply("content_encoding");
                set_verdict(&mut head.headers, &unread("content_encoding"), &record);
                record.status(head.status);
                record.finish();
                return Ok(Response::from_parts(head, full(bytes)));
            }
        }
    }
    loop {
        let text = std::str::from_utf8(&bytes);
        let step = exchange.reply(text.unwrap_or_default());
        match step {
            Step::Reply(text) => {
                let bytes = text.map_or(bytes, Bytes::from);
                return Ok(answer(head, bytes, &exchange, record));
            }
            Step::Reask => {}
        }
        let sent = Instant::now();
        let next = ask_again(&live, &asked, &exchange).await;
        record.upstream(sent.elapsed());
        match next {
            Some((next, whole)) => (head, bytes) = (next, whole),
            None => {
                record.reask_failed();
                let bytes = exchange.give_up().map_or(bytes, Bytes::from);
                return Ok(answer(head, bytes, &exchange, record));
            }
        }
    }
}

/// The next reply; `None` if there is none that could be used.
async fn ask_again(
    live: &Live,
    asked: &Asked,
    exchange: &Exchange,
) -> Option<(http::response::Parts, Bytes)> {
    let body = Bytes::from(exchange.body().to_owned());
    let reply = asked.send(&live.upstream, body).await.ok()?;
    let usable =
        reply.status().is_success() && headers::is_type(reply.headers(), "application/json");
    if !usable {
        return None;
    }
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let limits = live.config.limits;
    let coding = Coding::of(&head.headers);
    match read(body, limits.reply_bytes, limits.idle_time).await {
        Ok(Read::Whole(bytes)) if coding == Coding::Plain => Some((head, bytes)),
        Ok(Read::Whole(bytes)) => {
            head.headers.remove(CONTENT_ENCODING);
            Some((head, decode(coding, bytes, limits.reply_bytes)?))
        }
        _ => None,
    }
}

fn answer(
    mut head: http::response::Parts,
    bytes: Bytes,
    exchange: &Exchange,
    mut record: Record,
) -> Response<Body> {
    let headers: &mut HeaderMap = &mut head.headers;
    headers.remove(CONTENT_LENGTH);
    match exchange.is_unread() {
        true => {
            record.not_judged_reply("not_json");
            set_verdict(headers, &unread("not_json"), &record);
        }
        false => set_verdict(headers, &exchange.summary(), &record),
    }
    record.status(head.status);
    record.judged(exchange);
    record.finish();
    Response::from_parts(head, full(bytes))
}

async fn read(mut body: Incoming, most: usize, idle: Duration) -> Result<Read, Refusal> {
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    loop {
        let data = match tokio::time::timeout(idle, body.frame()).await {
            Err(_) => return Err(Refusal::NoReply),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(Refusal::BrokenReply),
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        };
        if first.is_none() && all.is_empty() {
            first = Some(data);
        } else {
            if let Some(before) = first.take() {
                all.extend_from_slice(&before);
            }
            all.extend_from_slice(&data);
        }
        if all.len().max(first.as_ref().map_or(0, Bytes::len)) > most {
            let start = first.unwrap_or_else(|| all.freeze());
            return Ok(Read::Long(start, body));
        }
    }
    Ok(Read::Whole(first.unwrap_or_else(|| all.freeze())))
}
