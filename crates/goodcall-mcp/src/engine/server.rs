//! Frames of the server.

use std::time::Instant;

use super::{Engine, EngineOutput, PendingRequest};
use crate::catalogue::MAX_PAGES;
use crate::frame::{BatchForwarding, Forwarding, Message, canonical};
use crate::json_span::JsonSpan;

impl Engine {
    /// Lets the held frames go through unchecked, because the list of tools cannot be had.
    pub(super) fn give_up_listing(&mut self, why: &str, now: Instant) {
        let server = &self.judge.options.server;
        self.warn(format!("{server}: {why}; calls are not checked"));
        self.judge.catalogue.mark_unavailable(now);
        self.release_held(now);
    }

    fn release_held(&mut self, now: Instant) {
        for frame in std::mem::take(&mut self.held) {
            self.take_from_client(frame, true, now);
        }
    }

    pub(super) fn server_batch(&mut self, messages: &[Message<'_>], now: Instant) -> Forwarding {
        let mut batch = BatchForwarding::default();
        for message in messages {
            let forwarding = self.server_message(message, now);
            batch.push(message, forwarding);
        }
        batch.finish()
    }

    pub(super) fn server_message(&mut self, message: &Message<'_>, now: Instant) -> Forwarding {
        match (message.method(), message.id()) {
            (None, Some(id)) => return self.response(&id, message, now),
            (Some("notifications/tools/list_changed"), None) => {
                self.judge.catalogue.mark_changed();
            }
            (Some("notifications/progress"), None) => self.progress(message, now),
            (Some("notifications/cancelled"), None) => {
                let id = message.param("requestId").and_then(JsonSpan::raw);
                if let Some(id) = id.map(canonical) {
                    self.answered(&id, now);
                }
            }
            (Some(_), Some(id)) => self.ask(id, now),
            _ => {}
        }
        Forwarding::AsSent
    }

    fn response(&mut self, id: &str, message: &Message<'_>, now: Instant) -> Forwarding {
        if self
            .listing
            .as_ref()
            .is_some_and(|listing| listing.id == id)
        {
            self.take_page(message, now);
            return Forwarding::Dropped;
        }
        if self.handshake.reopening.as_deref() == Some(id) {
            self.finish_reopening(now);
            return Forwarding::Dropped;
        }
        match self.pending.remove(id) {
            Some(PendingRequest::Call { call, token, .. }) => {
                self.forget_token(token);
                self.judge.result(&call, message, now)
            }
            Some(PendingRequest::List { cursor }) => {
                if let Some(result) = message.result() {
                    let cursor = cursor.as_deref();
                    self.judge.catalogue.add_page(result, cursor, now);
                }
                Forwarding::AsSent
            }
            Some(PendingRequest::Other) => Forwarding::AsSent,
            None if self.expired.remove(id) => Forwarding::Dropped,
            None => Forwarding::AsSent,
        }
    }

    /// Takes a page of the list that the proxy itself has asked for.
    fn take_page(&mut self, message: &Message<'_>, now: Instant) {
        let Some(listing) = self.listing.take() else {
            return;
        };
        let Some(result) = message.result() else {
            return self.give_up_listing("the server does not list its tools", now);
        };
        let cursor = listing.cursor.as_deref();
        match self.judge.catalogue.add_page(result, cursor, now) {
            Some(_) if listing.pages >= MAX_PAGES => {
                self.give_up_listing("the server's list of tools does not end", now);
            }
            Some(next) => {
                self.request_tools(Some(next), listing.context, listing.pages + 1, now);
            }
            None => self.release_held(now),
        }
    }

    /// Completes the handshake with a server that was started again, and sends what has waited.
    fn finish_reopening(&mut self, now: Instant) {
        self.handshake.reopening = None;
        if let Some(initialized) = self.handshake.initialized.clone() {
            self.out.push(EngineOutput::Server(initialized));
        }
        for frame in std::mem::take(&mut self.handshake.waiting) {
            self.take_from_client(frame, false, now);
        }
    }

    /// Extends the deadline of the call whose progress is reported.
    fn progress(&mut self, message: &Message<'_>, now: Instant) {
        let token = message.param("progressToken").and_then(JsonSpan::raw);
        let id = token.and_then(|token| self.tokens.get(&canonical(token)));
        let pending = id.and_then(|id| self.pending.get_mut(id));
        if let Some(PendingRequest::Call { call, deadline, .. }) = pending {
            let limit = self.judge.time_limit(&call.tool);
            *deadline = limit.map(|limit| now + limit);
        }
    }
}
