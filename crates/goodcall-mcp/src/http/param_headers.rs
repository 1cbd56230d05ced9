//! Checks the headers that mirror arguments, for a listener in front of a command: over pipes there
//! are no headers, so nobody else can check them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use tokio::time::timeout;

use super::headers;
use super::session::Session;
use crate::catalogue::{Catalogue, Knowledge, MAX_PAGES};
use crate::frame::{Frame, FrameContent, Message};
use crate::json_rpc;
use crate::judge::mirrors_in;

/// The tools of a server, as far as their arguments are mirrored.
#[derive(Default)]
pub(crate) struct ParamHeaders(Mutex<Catalogue>);

impl ParamHeaders {
    fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an error if a header is missing or contradicts the arguments of a call. The list of
    /// tools is requested when there is none, and before a call is refused because of an old one.
    pub(crate) async fn mismatch(
        &self,
        sent: &HeaderMap,
        call: &Message<'_>,
        session: &Arc<Session>,
        limit: Duration,
    ) -> Option<String> {
        if !call.is_tool_call() {
            return None;
        }
        let knowledge = self.catalogue().knowledge(Instant::now());
        if knowledge == Knowledge::Missing {
            self.list(call, session, limit).await;
        }
        let compare = || headers::param_mismatch(sent, &mirrors_in(&self.catalogue(), call));
        let found = compare();
        let is_recent = self.catalogue().is_recent(Instant::now());
        if found.is_none() || knowledge == Knowledge::Missing || is_recent {
            return found;
        }
        self.list(call, session, limit).await;
        compare()
    }

    /// Requests the tools in the context of a call.
    async fn list(&self, call: &Message<'_>, session: &Arc<Session>, limit: Duration) {
        let context = call.protocol_context();
        let mut cursor = None::<String>;
        for _ in 0..MAX_PAGES {
            let request = json_rpc::list("\"list\"", cursor.as_deref(), context.as_deref());
            let Ok(Some(answer)) = timeout(limit, answer_to(session, request)).await else {
                break;
            };
            let message = FrameContent::read(&answer).single();
            let Some(result) = message.and_then(|message| message.result()) else {
                break;
            };
            let mut catalogue = self.catalogue();
            cursor = catalogue.add_page(result, cursor.as_deref(), Instant::now());
            if cursor.is_none() {
                return;
            }
        }
        // Then nothing is known to be mirrored.
        self.catalogue().mark_unavailable(Instant::now());
    }
}

/// Sends a request, and skips what comes before its answer.
async fn answer_to(session: &Arc<Session>, request: Frame) -> Option<Frame> {
    let mut answers = session.request(request).await;
    loop {
        let frame = answers.next().await?;
        let message = FrameContent::read(&frame).single();
        if message.is_some_and(|message| message.method().is_none()) {
            return Some(frame);
        }
    }
}
