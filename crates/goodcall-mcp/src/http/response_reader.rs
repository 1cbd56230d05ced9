//! One request and what comes back for it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::timeout;

use super::sse::{SseEvent, SseEvents};
use super::upstream::words;
use crate::engine::canonical;
use crate::frame::{self, Frame, Kind};

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Events,
    Other,
}

/// What a body is, by its headers.
pub(crate) fn content(headers: &HeaderMap) -> BodyKind {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match kind.to_ascii_lowercase().as_str() {
        "application/json" => BodyKind::Json,
        "text/event-stream" => BodyKind::Events,
        _ => BodyKind::Other,
    }
}

/// A whole body, if it is not longer than `most`.
pub(crate) async fn whole(response: Response, most: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut parts = response.bytes_stream();
    while let Some(part) = parts.next().await {
        body.extend_from_slice(&part.map_err(words)?);
        if body.len() > most {
            return Err(format!("the answer passes the limit of {most} bytes"));
        }
    }
    Ok(body)
}

/// The events of a body.
pub(crate) struct EventReader<S> {
    parts: S,
    events: SseEvents,
    most: usize,
}

/// What a stream of events has next.
#[derive(Debug)]
pub(crate) enum NextEvent {
    Event(SseEvent),
    /// The end, with bytes that are no whole event.
    End(Vec<u8>),
    Broken(String),
}

pub(crate) fn reader(
    response: Response,
    most: usize,
) -> EventReader<impl Stream<Item = reqwest::Result<Bytes>>> {
    EventReader {
        parts: response.bytes_stream().boxed(),
        events: SseEvents::new(most),
        most,
    }
}

impl<S: Stream<Item = reqwest::Result<Bytes>> + Unpin> EventReader<S> {
    /// The next event. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> NextEvent {
        loop {
            if let Some(event) = self.events.next() {
                return NextEvent::Event(event);
            }
            match self.parts.next().await {
                Some(Ok(part)) => {
                    if !self.events.push(&part) {
                        let most = self.most;
                        return NextEvent::Broken(format!(
                            "an event passes the limit of {most} bytes"
                        ));
                    }
                }
                Some(Err(error)) => return NextEvent::Broken(words(error)),
                None => return NextEvent::End(self.events.rest()),
            }
        }
    }
}

/// The response with this id, from a body of either kind.
pub(crate) async fn answer_to(
    id: &str,
    response: Response,
    most: usize,
    limit: Duration,
) -> Result<Frame, String> {
    let read = async {
        if !response.status().is_success() {
            return Err(format!("the server answered with {}", response.status()));
        }
        match content(response.headers()) {
            BodyKind::Events => {
                let mut reader = reader(response, most);
                loop {
                    match reader.next().await {
                        NextEvent::Event(SseEvent {
                            data: Some(data), ..
                        }) if is_answer(&data, id) => {
                            return Ok(data);
                        }
                        NextEvent::Event(_) => {}
                        NextEvent::End(_) => return Err("the server did not answer".to_owned()),
                        NextEvent::Broken(why) => return Err(why),
                    }
                }
            }
            BodyKind::Json | BodyKind::Other => {
                let body = whole(response, most).await?;
                match is_answer(&body, id) {
                    true => Ok(body),
                    false => Err("the server answered with something else".to_owned()),
                }
            }
        }
    };
    let read = timeout(limit, read).await;
    read.unwrap_or_else(|_| Err("the server did not answer in time".to_owned()))
}

fn is_answer(data: &[u8], id: &str) -> bool {
    match frame::kind(data) {
        Kind::One(one) => {
            let found = one.id.as_ref().filter(|_| one.method.is_none());
            found
                .and_then(|span| frame::raw(data, span))
                .map(canonical)
                .as_deref()
                == Some(id)
        }
        _ => false,
    }
}
