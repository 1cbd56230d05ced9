//! What the server sends.

use std::time::{Duration, Instant};

use super::{Engine, EngineOutput, Pending, array, canonical};
use crate::catalogue::MOST_PAGES;
use crate::frame::{self, Frame, Kind, Outline};

impl Engine {
    /// The list cannot be had: what is held goes through unchecked.
    pub(super) fn unlisted(&mut self, why: &str, now: Instant) {
        let server = &self.judge.options.server;
        self.warn(format!("{server}: {why}; calls are not checked"));
        self.judge.catalogue.unavailable(now);
        self.release(now);
    }

    pub(super) fn release(&mut self, now: Instant) {
        for frame in std::mem::take(&mut self.held) {
            self.client(frame, true, now);
        }
    }

    pub(super) fn server_batch(&mut self, frame: &Frame, all: &[Outline], now: Instant) {
        let mut parts = Vec::new();
        let mut edited = false;
        for one in all {
            let part = frame[one.span.clone()].to_vec();
            let Kind::One(outline) = frame::kind(&part) else {
                continue;
            };
            let kept = self.server(part.clone(), &outline, now);
            edited |= kept.as_ref() != Some(&part);
            parts.extend(kept);
        }
        match (parts.is_empty(), edited) {
            (true, _) => {}
            (false, false) => self.out.push(EngineOutput::Client(frame.clone())),
            (false, true) => self.out.push(EngineOutput::Client(array(&parts))),
        }
    }

    /// One message of the server; what comes back goes to the client.
    pub(super) fn server(
        &mut self,
        frame: Frame,
        outline: &Outline,
        now: Instant,
    ) -> Option<Frame> {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        match (outline.method.as_deref(), id) {
            (Some("notifications/tools/list_changed"), None) => {
                self.judge.catalogue.changed();
                Some(frame)
            }
            (Some("notifications/progress"), None) => {
                self.progress(&frame, outline, now);
                Some(frame)
            }
            (Some(_), _) | (None, None) => Some(frame),
            (None, Some(id)) => self.response(frame, outline, &id, now),
        }
    }

    fn response(
        &mut self,
        frame: Frame,
        outline: &Outline,
        id: &str,
        now: Instant,
    ) -> Option<Frame> {
        if self
            .listing
            .as_ref()
            .is_some_and(|listing| listing.id == id)
        {
            self.listed(&frame, outline, now);
            return None;
        }
        if self.handshake.reviving.as_deref() == Some(id) {
            self.revived(now);
            return None;
        }
        match self.pending.remove(id) {
            Some(Pending::Call { ticket, token, .. }) => {
                if let Some(token) = token {
                    self.tokens.remove(&token);
                }
                Some(self.judge.answer(&ticket, frame, outline, now))
            }
            Some(Pending::List { cursor }) => {
                if let Some(result) = &outline.result {
                    self.judge
                        .catalogue
                        .page(&frame, result, cursor.as_deref(), now);
                }
                Some(frame)
            }
            Some(Pending::Other) => Some(frame),
            None if self.expired.remove(id) => None,
            None => Some(frame),
        }
    }

    /// A page of the list that was asked for here.
    fn listed(&mut self, frame: &Frame, outline: &Outline, now: Instant) {
        let Some(listing) = self.listing.take() else {
            return;
        };
        let Some(result) = &outline.result else {
            return self.unlisted("the server does not list its tools", now);
        };
        let next = self
            .judge
            .catalogue
            .page(frame, result, listing.cursor.as_deref(), now);
        match next {
            Some(_) if listing.pages >= MOST_PAGES => {
                self.unlisted("the server's list of tools does not end", now);
            }
            Some(next) => self.ask(Some(next), listing.context, listing.pages + 1, now),
            None => self.release(now),
        }
    }

    /// The server that was started again is open.
    fn revived(&mut self, now: Instant) {
        self.handshake.reviving = None;
        if let Some(initialized) = self.handshake.initialized.clone() {
            self.out.push(EngineOutput::Server(initialized));
        }
        for frame in std::mem::take(&mut self.handshake.waiting) {
            self.client(frame, false, now);
        }
    }

    fn progress(&mut self, frame: &Frame, outline: &Outline, now: Instant) {
        let token = outline.params.as_ref().and_then(|params| {
            let span = frame::member(frame, params, "progressToken")?;
            frame::raw(frame, &span).map(canonical)
        });
        let id = token.and_then(|token| self.tokens.get(&token));
        if let Some(Pending::Call { deadline, .. }) = id.and_then(|id| self.pending.get_mut(id)) {
            *deadline = self
                .judge
                .options
                .time_limit
                .map(|limit: Duration| now + limit);
        }
    }
}
