//! Replies that come as one JSON document.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use goodcall_server::has_media_type;
use goodcall_wire::relay::NextStep;
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::content_encoding::{Coding, decode};
use crate::error::Refusal;
use crate::headers;
use crate::proxy::{Answer, Body, Turn, body_of, full, set_verdict, unread};
use crate::record::Record;
use crate::stream;

/// What came of reading a reply.
enum Read {
    Whole(Bytes),
    /// It is longer than is judged: what was read of it, and the rest.
    Long(Bytes, Incoming),
}

/// Reads a reply, judges it, asks again where that is needed, and answers the client.
pub(crate) async fn respond(mut turn: Box<Turn>, reply: Response<Incoming>) -> Answer {
    let (most, idle) = {
        let limits = &turn.live.config.limits;
        (limits.reply_bytes, limits.idle_time)
    };
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let coding = Coding::of(&head.headers);
    let started = Instant::now();
    let read = read(body, most, idle).await;
    turn.record.upstream(started.elapsed());
    let mut bytes = match read {
        Ok(Read::Whole(bytes)) => bytes,
        Ok(Read::Long(start, rest)) => {
            let mut record = turn.record;
            not_judged("too_large", &mut head, &mut record);
            let body = stream::Passing::after(start, rest, idle, record);
            return Ok(Response::from_parts(head, body.boxed_unsync()));
        }
        Err(refusal) => return Err((refusal, turn.record)),
    };
    if coding != Coding::Plain {
        let Some(plain) = decode(coding, bytes.clone(), most) else {
            not_judged("content_encoding", &mut head, &mut turn.record);
            turn.record.finish();
            return Ok(Response::from_parts(head, full(bytes)));
        };
        bytes = plain;
        head.headers.remove(CONTENT_ENCODING);
    }
    loop {
        let text = std::str::from_utf8(&bytes);
        match turn.exchange.reply(text.unwrap_or_default()) {
            NextStep::Reply(text) => {
                let bytes = text.map_or(bytes, Bytes::from);
                return Ok(answer(head, bytes, *turn));
            }
            NextStep::Reask => {}
        }
        let sent = Instant::now();
        turn.asked.is_new();
        let next = Box::pin(ask_again(&turn)).await;
        turn.record.upstream(sent.elapsed());
        match next {
            Some((next, whole)) => (head, bytes) = (next, whole),
            None => {
                turn.record.reask_failed();
                let bytes = turn.exchange.give_up().map_or(bytes, Bytes::from);
                return Ok(answer(head, bytes, *turn));
            }
        }
    }
}

/// A reply that passes as it is, and says why.
fn not_judged(why: &'static str, head: &mut Parts, record: &mut Record) {
    record.not_judged_reply(why);
    set_verdict(&mut head.headers, &unread(why), record);
    record.status(head.status);
}

/// The next reply; `None` if there is none that could be used.
async fn ask_again(turn: &Turn) -> Option<(Parts, Bytes)> {
    let body = body_of(&turn.exchange);
    let reply = turn.asked.send(&turn.live.upstream, body).await.ok()?;
    let usable = reply.status().is_success() && has_media_type(reply.headers(), "application/json");
    if !usable {
        return None;
    }
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    let limits = &turn.live.config.limits;
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

fn answer(mut head: Parts, bytes: Bytes, turn: Turn) -> Response<Body> {
    let Turn {
        mut exchange,
        mut record,
        ..
    } = turn;
    head.headers.remove(CONTENT_LENGTH);
    match exchange.is_unread() {
        true => not_judged("not_json", &mut head, &mut record),
        false => set_verdict(&mut head.headers, &exchange.summary(), &record),
    }
    record.status(head.status);
    record.judged(exchange.reasked(), exchange.take_records());
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
