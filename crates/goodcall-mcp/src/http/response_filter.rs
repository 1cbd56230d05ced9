//! What a server sends back over HTTP, looked at on its way to the client.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::Response;
use tokio::time::timeout;

use super::response_reader::{self, NextEvent};
use super::sse;
use super::url_listener::{SharedUrlSession, lock};
use crate::call_log::{ProxyLog, ProxyOutcome};
use crate::engine::canonical;
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::judge::ForwardedCall;

/// Looks at the messages that come back for one request.
pub(crate) struct ResponseFilter {
    session: SharedUrlSession,
    log: Arc<ProxyLog>,
    /// Calls without an answer.
    pub(crate) calls: HashMap<String, ForwardedCall>,
    /// Lists without an answer, and their cursors.
    pub(crate) lists: HashMap<String, Option<String>>,
    /// Other requests without an answer.
    pub(crate) others: Vec<String>,
    /// May the client ask for the rest of a stream in another request?
    pub(crate) resumable: bool,
    saw_ids: bool,
}

impl ResponseFilter {
    pub(crate) fn new(session: SharedUrlSession, log: Arc<ProxyLog>) -> Self {
        Self {
            session,
            log,
            calls: HashMap::new(),
            lists: HashMap::new(),
            others: Vec::new(),
            resumable: false,
            saw_ids: false,
        }
    }

    /// A message of the server; what comes back goes to the client.
    pub(crate) fn pass(&mut self, frame: Frame) -> Frame {
        match frame::kind(&frame) {
            Kind::One(outline) => self.one(frame, &outline),
            Kind::Batch(all) => {
                let mut edits = Vec::new();
                for one in all {
                    let part = frame[one.span.clone()].to_vec();
                    let Kind::One(outline) = frame::kind(&part) else {
                        continue;
                    };
                    let passed = self.one(part.clone(), &outline);
                    if passed != part {
                        edits.push((one.span, String::from_utf8_lossy(&passed).into_owned()));
                    }
                }
                match edits.is_empty() {
                    true => frame,
                    false => frame::splice(&frame, edits),
                }
            }
            Kind::Blank | Kind::Junk => frame,
        }
    }

    fn one(&mut self, frame: Frame, outline: &Outline) -> Frame {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        let mut session = lock(&self.session);
        let now = Instant::now();
        match (outline.method.as_deref(), id) {
            (Some("notifications/tools/list_changed"), None) => {
                session.judge.catalogue.changed();
                frame
            }
            (None, Some(id)) => {
                if let (Some(cursor), Some(result)) = (self.lists.remove(&id), &outline.result) {
                    let catalogue = &mut session.judge.catalogue;
                    catalogue.page(&frame, result, cursor.as_deref(), now);
                    return frame;
                }
                let ticket = self.calls.remove(&id).or_else(|| session.open.remove(&id));
                match ticket {
                    Some(ticket) => session.judge.answer(&ticket, frame, outline, now),
                    None => frame,
                }
            }
            _ => frame,
        }
    }

    /// The server is gone: errors for what is open, as one body.
    pub(crate) fn gone(&mut self, why: &str) -> Frame {
        let mut all = self.fail(json_rpc::CLOSED, why, ProxyOutcome::ServerGone);
        let lists = self.lists.drain().map(|(id, _)| id);
        let others = self.others.drain(..).chain(lists);
        all.extend(others.map(|id| json_rpc::error(&id, json_rpc::CLOSED, why)));
        body(all)
    }

    /// The server is too slow: errors for what is open, as one body.
    pub(crate) fn late(&mut self) -> Frame {
        let why = "the server did not answer in time";
        body(self.fail(json_rpc::TIMED_OUT, why, ProxyOutcome::TimedOut))
    }

    fn fail(&mut self, code: i64, why: &str, outcome: ProxyOutcome) -> Vec<Frame> {
        let mut session = lock(&self.session);
        let open = self.calls.drain();
        open.map(|(_, ticket)| {
            session.judge.lost(&ticket, outcome, Instant::now());
            json_rpc::error(&ticket.id, code, why)
        })
        .collect()
    }
}

/// One answer as it is, several as a batch.
fn body(mut all: Vec<Frame>) -> Frame {
    match all.len() {
        0 | 1 => all.pop().unwrap_or_default(),
        _ => [&b"["[..], &all.join(&b','), b"]"].concat(),
    }
}

impl Drop for ResponseFilter {
    /// The client went away, or the stream ended early.
    fn drop(&mut self) {
        let mut session = lock(&self.session);
        for (id, ticket) in self.calls.drain() {
            match self.resumable && self.saw_ids {
                true => drop(session.open.insert(id, ticket)),
                false => session
                    .judge
                    .lost(&ticket, ProxyOutcome::Cancelled, Instant::now()),
            }
        }
        let notes = std::mem::take(&mut session.judge.notes);
        drop(session);
        notes.iter().for_each(|note| self.log.write(note));
    }
}

/// The events of a response, each looked at; `head` goes before them.
pub(crate) fn filtered(
    response: Response,
    filter: ResponseFilter,
    head: Vec<Frame>,
    limit: Option<Duration>,
    most: usize,
) -> impl Stream<Item = io::Result<Bytes>> {
    let reader = response_reader::reader(response, most);
    let head: Vec<u8> = head
        .iter()
        .flat_map(|frame| sse::written(frame, None))
        .collect();
    let start = (Some((reader, filter)), head);
    stream::unfold(start, move |(state, head)| async move {
        if !head.is_empty() {
            return Some((Ok(Bytes::from(head)), (state, Vec::new())));
        }
        let (mut reader, mut filter) = state?;
        let next = match limit.filter(|_| !filter.calls.is_empty()) {
            Some(limit) => timeout(limit, reader.next()).await,
            None => Ok(reader.next().await),
        };
        let errors = |all: Vec<Frame>| -> Vec<u8> {
            all.iter()
                .flat_map(|frame| sse::written(frame, None))
                .collect()
        };
        let why = match next {
            Ok(NextEvent::Event(event)) => {
                filter.saw_ids |= event.id.is_some();
                let bytes = match &event.data {
                    Some(data) => {
                        let passed = filter.pass(data.clone());
                        if passed == *data {
                            event.raw
                        } else {
                            event.with_data(&passed)
                        }
                    }
                    None => event.raw,
                };
                return Some((Ok(Bytes::from(bytes)), (Some((reader, filter)), Vec::new())));
            }
            Ok(NextEvent::End(rest)) if filter.calls.is_empty() => {
                return (!rest.is_empty()).then(|| (Ok(Bytes::from(rest)), (None, Vec::new())));
            }
            // The client asks for the rest.
            Ok(NextEvent::End(_)) if filter.resumable && filter.saw_ids => return None,
            Ok(NextEvent::Broken(why)) if filter.resumable && filter.saw_ids => {
                return Some((Err(io::Error::other(why)), (None, Vec::new())));
            }
            Ok(NextEvent::End(_)) => "the server ended the stream before it answered".to_owned(),
            Ok(NextEvent::Broken(why)) => why,
            Err(_) => {
                let why = "the server did not answer in time";
                let all = errors(filter.fail(json_rpc::TIMED_OUT, why, ProxyOutcome::TimedOut));
                return Some((Ok(Bytes::from(all)), (None, Vec::new())));
            }
        };
        let all = errors(filter.fail(json_rpc::CLOSED, &why, ProxyOutcome::ServerGone));
        match all.is_empty() {
            true => Some((Err(io::Error::other(why)), (None, Vec::new()))),
            false => Some((Ok(Bytes::from(all)), (None, Vec::new()))),
        }
    })
}
