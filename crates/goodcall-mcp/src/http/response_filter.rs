//! Judges the results in a server's HTTP response on their way to the client.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use goodcall_wire::sse::SseEvent;
use reqwest::Response;
use tokio::time::timeout;

use super::response_reader::{EventReader, NextEvent, read_events, write_event};
use super::url_listener::{SharedUrlSession, lock};
use crate::call_log::{ProxyLog, ProxyOutcome};
use crate::frame::{
    BatchForwarding, Forwarding, Frame, FrameContent, Message, batch_of, canonical, one_line,
};
use crate::json_rpc;
use crate::json_span::JsonSpan;
use crate::judge::ForwardedCall;

/// Requests of a server that are remembered while they are not answered.
const MAX_QUESTIONS: usize = 1024;

/// The requests of one HTTP request that have no answer yet, by canonical id.
#[derive(Default)]
pub(crate) struct OpenRequests {
    pub(crate) calls: HashMap<String, ForwardedCall>,
    /// Requests for the list of tools, with their cursors.
    pub(crate) lists: HashMap<String, Option<String>>,
    pub(crate) others: Vec<String>,
}

/// Judges the messages that come back for one HTTP request.
pub(crate) struct ResponseFilter {
    session: SharedUrlSession,
    log: Arc<ProxyLog>,
    pub(crate) open: OpenRequests,
    /// Whether the client has a session, in which it may ask for the rest of a stream.
    has_session: bool,
    saw_event_ids: bool,
}

impl ResponseFilter {
    pub(crate) fn new(
        session: SharedUrlSession,
        log: Arc<ProxyLog>,
        open: OpenRequests,
        has_session: bool,
    ) -> Self {
        Self {
            session,
            log,
            open,
            has_session,
            saw_event_ids: false,
        }
    }

    /// Judges a frame of the server.
    pub(crate) fn judge(&mut self, frame: &[u8]) -> Forwarding {
        match FrameContent::read(frame) {
            FrameContent::One(message) => self.message(&message),
            FrameContent::Batch(messages) => {
                let mut batch = BatchForwarding::default();
                for message in messages {
                    let forwarding = self.message(&message);
                    batch.push(&message, forwarding);
                }
                batch.finish()
            }
            FrameContent::Blank | FrameContent::Junk => Forwarding::AsSent,
        }
    }

    fn message(&mut self, message: &Message<'_>) -> Forwarding {
        let mut session = lock(&self.session);
        let now = Instant::now();
        match (message.method(), message.id()) {
            (Some("notifications/tools/list_changed"), None) => {
                session.judge.catalogue.mark_changed();
            }
            (None, Some(id)) => {
                if let (Some(cursor), Some(result)) =
                    (self.open.lists.remove(&id), message.result())
                {
                    let catalogue = &mut session.judge.catalogue;
                    catalogue.add_page(result, cursor.as_deref(), now);
                    return Forwarding::AsSent;
                }
                let call = self.open.calls.remove(&id);
                if let Some(call) = call.or_else(|| session.interrupted.remove(&id)) {
                    return session.judge.result(&call, message, now);
                }
            }
            (Some("notifications/cancelled"), None) => {
                let id = message.param("requestId").and_then(JsonSpan::raw);
                id.map(|id| session.questions.remove(&canonical(id)));
            }
            (Some(_), Some(id)) if session.questions.len() < MAX_QUESTIONS => {
                session.questions.insert(id);
            }
            _ => {}
        }
        Forwarding::AsSent
    }

    /// The body with errors for all open requests, because the server cannot be reached.
    pub(crate) fn unreachable(&mut self, why: &str) -> Frame {
        let mut errors = self.fail_calls(json_rpc::CLOSED, why, ProxyOutcome::ServerGone);
        let lists = self.open.lists.drain().map(|(id, _)| id);
        let others = self.open.others.drain(..).chain(lists);
        errors.extend(others.map(|id| json_rpc::error(&id, json_rpc::CLOSED, why)));
        body(errors)
    }

    /// The body with errors for all open calls, because the server did not answer in time.
    pub(crate) fn timed_out(&mut self) -> Frame {
        body(self.time_out_calls())
    }

    fn time_out_calls(&mut self) -> Vec<Frame> {
        let why = "the server did not answer in time";
        self.fail_calls(json_rpc::TIMED_OUT, why, ProxyOutcome::TimedOut)
    }

    fn fail_calls(&mut self, code: i64, why: &str, outcome: ProxyOutcome) -> Vec<Frame> {
        let mut session = lock(&self.session);
        let calls = self.open.calls.drain();
        let errors = calls.map(|(_, call)| {
            session.judge.abandon(&call, outcome, Instant::now());
            json_rpc::error(&call.id, code, why)
        });
        errors.collect()
    }

    /// Returns true if the client can ask for the rest of the stream in another request.
    fn is_resumable(&self) -> bool {
        self.has_session && self.saw_event_ids
    }
}

/// One message as it is, several as a batch.
fn body(mut messages: Vec<Frame>) -> Frame {
    match messages.len() {
        0 | 1 => messages.pop().unwrap_or_default(),
        _ => batch_of(&messages),
    }
}

impl Drop for ResponseFilter {
    /// Settles the calls that are still open, because the client went away or the stream ended.
    fn drop(&mut self) {
        let is_resumable = self.is_resumable();
        let mut session = lock(&self.session);
        for (id, call) in self.open.calls.drain() {
            if is_resumable {
                session.interrupted.insert(id, call);
            } else {
                let outcome = ProxyOutcome::Cancelled;
                session.judge.abandon(&call, outcome, Instant::now());
            }
        }
        let entries = std::mem::take(&mut session.judge.log);
        drop(session);
        entries.iter().for_each(|entry| self.log.write(entry));
    }
}

/// Streams the events of a response through the filter, after the `head`.
pub(crate) fn filter_events(
    response: Response,
    filter: ResponseFilter,
    head: Vec<Frame>,
    limit: Option<Duration>,
    max_frame: usize,
) -> impl Stream<Item = io::Result<Bytes>> {
    let events = FilteredEvents {
        reader: read_events(response, max_frame),
        filter,
        limit,
    };
    let filtered = stream::unfold(Some(events), |events| async {
        let mut events = events?;
        match events.next().await {
            FilteredChunk::More(bytes) => Some((Ok(Bytes::from(bytes)), Some(events))),
            FilteredChunk::Last(bytes) => Some((bytes.map(Bytes::from), None)),
            FilteredChunk::End => None,
        }
    });
    let head = (!head.is_empty()).then(|| Ok(Bytes::from(as_events(head))));
    stream::iter(head).chain(filtered)
}

struct FilteredEvents<S> {
    reader: EventReader<S>,
    filter: ResponseFilter,
    /// How long the next event may take while a call is open.
    limit: Option<Duration>,
}

enum FilteredChunk {
    More(Vec<u8>),
    /// The last bytes, or the error with which the stream breaks off.
    Last(io::Result<Vec<u8>>),
    End,
}

impl<S: Stream<Item = reqwest::Result<Bytes>> + Unpin> FilteredEvents<S> {
    async fn next(&mut self) -> FilteredChunk {
        let has_calls = !self.filter.open.calls.is_empty();
        let next = match self.limit.filter(|_| has_calls) {
            Some(limit) => loop {
                let next = timeout(limit, self.reader.next()).await;
                if next.is_ok() || !lock(&self.filter.session).is_asking(limit) {
                    break next;
                }
            },
            None => Ok(self.reader.next().await),
        };
        let Ok(next) = next else {
            let errors = self.filter.time_out_calls();
            return FilteredChunk::Last(Ok(as_events(errors)));
        };
        match next {
            NextEvent::Event(event) => FilteredChunk::More(self.event(event)),
            NextEvent::End(rest) if !has_calls && rest.is_empty() => FilteredChunk::End,
            NextEvent::End(rest) if !has_calls => FilteredChunk::Last(Ok(rest)),
            NextEvent::End(_) if self.filter.is_resumable() => FilteredChunk::End,
            NextEvent::End(_) => self.fail("the server ended the stream before it answered"),
            NextEvent::Broken(why) if self.filter.is_resumable() => {
                FilteredChunk::Last(Err(io::Error::other(why)))
            }
            NextEvent::Broken(why) => self.fail(&why),
        }
    }

    fn event(&mut self, event: SseEvent) -> Vec<u8> {
        self.filter.saw_event_ids |= event.id.is_some();
        let data = event.data.as_deref().unwrap_or_default();
        match self.filter.judge(data.as_bytes()) {
            Forwarding::Rewritten(data) => {
                event.with_data(&String::from_utf8_lossy(&one_line(data)))
            }
            _ => event.raw,
        }
    }

    /// Answers the open calls with errors; without any the stream breaks off.
    fn fail(&mut self, why: &str) -> FilteredChunk {
        let (code, outcome) = (json_rpc::CLOSED, ProxyOutcome::ServerGone);
        let errors = self.filter.fail_calls(code, why, outcome);
        FilteredChunk::Last(if errors.is_empty() {
            Err(io::Error::other(why.to_owned()))
        } else {
            Ok(as_events(errors))
        })
    }
}

fn as_events(frames: Vec<Frame>) -> Vec<u8> {
    frames.into_iter().flat_map(write_event).collect()
}
