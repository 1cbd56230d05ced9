//! Reads the responses of a server behind a URL: whole bodies and streams of events.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use goodcall_server::has_media_type;
use goodcall_wire::sse::{self, SseEvent, SseReader};
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::time::timeout;

use super::upstream::describe_error;
use crate::frame::{Frame, FrameContent, one_line};

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Events,
    Other,
}

impl BodyKind {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if has_media_type(headers, "application/json") {
            Self::Json
        } else if has_media_type(headers, "text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// What may stand in front of a stream of events without being a part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The message of an event; `None` for events of other types, such as `ping`.
pub(crate) fn message_of(event: &SseEvent) -> Option<&str> {
    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
    event
        .data
        .as_deref()
        .filter(|data| is_message && !data.is_empty())
}

/// Reads a whole body of at most `max_frame` bytes.
pub(crate) async fn read_whole(response: Response, max_frame: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut parts = response.bytes_stream();
    while let Some(part) = parts.next().await {
        body.extend_from_slice(&part.map_err(describe_error)?);
        if body.len() > max_frame {
            return Err(format!("the answer exceeds the limit of {max_frame} bytes"));
        }
    }
    Ok(body)
}

/// Reads the events of a body.
pub(crate) struct EventReader<S> {
    parts: S,
    events: SseReader,
    max_frame: usize,
    has_begun: bool,
}

/// What comes next in a stream of events.
#[derive(Debug)]
pub(crate) enum NextEvent {
    Event(SseEvent),
    /// The end of the stream, with the bytes behind the last complete event.
    End(Vec<u8>),
    /// The stream broke, for this reason.
    Broken(String),
}

pub(crate) fn read_events(
    response: Response,
    max_frame: usize,
) -> EventReader<impl Stream<Item = reqwest::Result<Bytes>>> {
    EventReader {
        parts: response.bytes_stream().boxed(),
        events: SseReader::default(),
        max_frame,
        has_begun: false,
    }
}

impl<S: Stream<Item = reqwest::Result<Bytes>> + Unpin> EventReader<S> {
    /// The next event. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> NextEvent {
        loop {
            if let Some(event) = self.events.next_event() {
                return NextEvent::Event(event);
            }
            match self.parts.next().await {
                Some(Ok(part)) => {
                    let begins = !std::mem::replace(&mut self.has_begun, true);
                    let text = part.strip_prefix(BYTE_ORDER_MARK).filter(|_| begins);
                    self.events.push(text.unwrap_or(&part));
                    if self.events.pending() > self.max_frame {
                        let limit = self.max_frame;
                        let why = format!("an event exceeds the limit of {limit} bytes");
                        return NextEvent::Broken(why);
                    }
                }
                Some(Err(error)) => return NextEvent::Broken(describe_error(error)),
                None => return NextEvent::End(self.events.take_pending()),
            }
        }
    }
}

/// Reads the answer to the request with this canonical id, from a body of either kind.
pub(crate) async fn read_answer(
    id: &str,
    response: Response,
    max_frame: usize,
    limit: Duration,
) -> Result<Frame, String> {
    let answer = timeout(limit, read_answer_unlimited(id, response, max_frame)).await;
    answer.unwrap_or_else(|_| Err("the server did not answer in time".to_owned()))
}

async fn read_answer_unlimited(
    id: &str,
    response: Response,
    max_frame: usize,
) -> Result<Frame, String> {
    if !response.status().is_success() {
        return Err(format!("the server answered with {}", response.status()));
    }
    if BodyKind::of(response.headers()) != BodyKind::Events {
        let body = read_whole(response, max_frame).await?;
        return if is_answer(&body, id) {
            Ok(body)
        } else {
            Err("the server answered with something else".to_owned())
        };
    }
    let mut reader = read_events(response, max_frame);
    loop {
        match reader.next().await {
            NextEvent::Event(event) => {
                let data = message_of(&event).unwrap_or_default().as_bytes();
                if is_answer(data, id) {
                    return Ok(data.to_vec());
                }
            }
            NextEvent::End(_) => return Err("the server did not answer".to_owned()),
            NextEvent::Broken(why) => return Err(why),
        }
    }
}

/// Writes a frame as an event.
pub(crate) fn write_event(frame: Frame) -> Vec<u8> {
    let line = one_line(frame);
    let mut event = Vec::with_capacity(line.len() + 16);
    sse::write(None, &String::from_utf8_lossy(&line), &mut event);
    event
}

fn is_answer(data: &[u8], id: &str) -> bool {
    let message = FrameContent::read(data).single();
    message.is_some_and(|message| message.is_answer_to(id))
}
