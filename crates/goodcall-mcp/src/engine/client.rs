//! What the client sends.

use std::time::Instant;

use super::{Engine, EngineOutput, Listing, Pending, array, broken, canonical, request_ids, token};
use crate::call_log::ProxyOutcome;
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::judge::{CallJudgement, ForwardedCall};

impl Engine {
    pub(super) fn client(&mut self, frame: Frame, listed: bool, now: Instant) {
        if self.handshake.reviving.is_some() {
            self.handshake.waiting.push(frame);
            return;
        }
        match frame::kind(&frame) {
            Kind::Blank => {}
            _ if !listed && let Some(why) = broken(&frame) => {
                self.out.push(EngineOutput::Client(json_rpc::error(
                    "null",
                    json_rpc::PARSE_ERROR,
                    &why,
                )));
            }
            // JSON, but nothing that is sent between client and server: the server says so.
            Kind::Junk => self.out.push(EngineOutput::Server(frame)),
            Kind::One(outline) => self.client_one(frame, &outline, listed, now),
            Kind::Batch(all) => self.client_batch(frame, &all, listed, now),
        }
    }

    fn client_one(&mut self, frame: Frame, outline: &Outline, listed: bool, now: Instant) {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        if outline.twice {
            let id = id.as_deref().unwrap_or("null");
            let text = "a key of the message stands there twice";
            self.out.push(EngineOutput::Client(json_rpc::error(
                id,
                json_rpc::INVALID_REQUEST,
                text,
            )));
            return;
        }
        match (outline.method.as_deref(), id) {
            (Some("tools/call"), Some(id)) => match self.judge.call(&frame, outline, listed, now) {
                CallJudgement::List => self.hold(frame, outline, now),
                CallJudgement::AsSent(ticket) => self.send(frame, id, outline, ticket, now),
                CallJudgement::Forward(mended, ticket) => {
                    self.send_as(mended.into_owned(), &frame, id, outline, ticket, now);
                }
                CallJudgement::Answer(answer) => self.out.push(EngineOutput::Client(answer)),
            },
            (Some(method), Some(id)) => {
                self.await_other(method, &frame, outline, id);
                self.out.push(EngineOutput::Server(frame));
            }
            (Some("notifications/cancelled"), None) => self.cancel(frame, outline, now),
            (Some("notifications/initialized"), None) => {
                self.handshake.initialized = Some(frame.clone());
                self.out.push(EngineOutput::Server(frame));
            }
            _ => self.out.push(EngineOutput::Server(frame)),
        }
    }

    /// A request that is not a call goes to the server.
    fn await_other(&mut self, method: &str, frame: &Frame, outline: &Outline, id: String) {
        let pending = match method {
            "tools/list" => {
                let cursor = outline.params.as_ref().and_then(|params| {
                    let span = frame::member(frame, params, "cursor")?;
                    frame::text(frame, &span).map(|cursor| cursor.into_owned())
                });
                Pending::List { cursor }
            }
            "initialize" => {
                self.handshake.initialize = Some(frame.clone());
                Pending::Other
            }
            _ => Pending::Other,
        };
        self.pending.insert(id, pending);
    }

    fn send(
        &mut self,
        frame: Frame,
        id: String,
        outline: &Outline,
        ticket: Box<ForwardedCall>,
        now: Instant,
    ) {
        let token = token(&frame, outline);
        self.await_call(id, token, ticket, now);
        self.out.push(EngineOutput::Server(frame));
    }

    fn send_as(
        &mut self,
        mended: Frame,
        frame: &Frame,
        id: String,
        outline: &Outline,
        ticket: Box<ForwardedCall>,
        now: Instant,
    ) {
        let token = token(frame, outline);
        self.await_call(id, token, ticket, now);
        self.out.push(EngineOutput::Server(mended));
    }

    fn await_call(
        &mut self,
        id: String,
        token: Option<String>,
        ticket: Box<ForwardedCall>,
        now: Instant,
    ) {
        if let Some(token) = &token {
            self.tokens.insert(token.clone(), id.clone());
        }
        let deadline = self.judge.options.time_limit.map(|limit| now + limit);
        let call = Pending::Call {
            ticket,
            deadline,
            token,
        };
        self.pending.insert(id, call);
    }

    /// Keeps a message back until the tools are known.
    fn hold(&mut self, frame: Frame, outline: &Outline, now: Instant) {
        if self.listing.is_none() {
            let context = json_rpc::context(&frame, outline.params.as_ref());
            self.ask(None, context, 0, now);
        }
        self.held.push(frame);
    }

    /// Asks the server for a page of its tools.
    pub(super) fn ask(
        &mut self,
        cursor: Option<String>,
        context: Option<String>,
        pages: usize,
        now: Instant,
    ) {
        let id = self.own_id("tools");
        let frame = json_rpc::list(&id, cursor.as_deref(), context.as_deref());
        self.out.push(EngineOutput::Server(frame));
        self.listing = Some(Listing {
            id,
            cursor,
            context,
            pages,
            deadline: now + self.judge.options.list_limit,
        });
    }

    /// The client calls off a request.
    fn cancel(&mut self, frame: Frame, outline: &Outline, now: Instant) {
        let id = outline.params.as_ref().and_then(|params| {
            let span = frame::member(&frame, params, "requestId")?;
            frame::raw(&frame, &span).map(canonical)
        });
        if let Some(id) = id {
            let before = self.held.len();
            self.held.retain(|held| !request_ids(held).contains(&id));
            if self.held.len() < before {
                // The server has never heard of it.
                return;
            }
            self.forget(&id, ProxyOutcome::Cancelled, now);
        }
        self.out.push(EngineOutput::Server(frame));
    }

    fn client_batch(&mut self, frame: Frame, all: &[Outline], listed: bool, now: Instant) {
        let is_call =
            |one: &&Outline| one.id.is_some() && one.method.as_deref() == Some("tools/call");
        if let Some(call) = all.iter().find(is_call).filter(|_| !listed) {
            // The calls of a batch are judged together.
            return self.hold(frame, call, now);
        }
        let before = std::mem::take(&mut self.out);
        let mut edited = false;
        for one in all {
            let part = frame[one.span.clone()].to_vec();
            let Kind::One(outline) = frame::kind(&part) else {
                continue;
            };
            self.client_one(part, &outline, true, now);
        }
        let (mut forward, mut answers) = (Vec::new(), Vec::new());
        for (out, one) in std::mem::replace(&mut self.out, before)
            .into_iter()
            .zip(all)
        {
            match out {
                EngineOutput::Server(part) => {
                    edited |= part != frame[one.span.clone()];
                    forward.push(part);
                }
                EngineOutput::Client(part) => answers.push(part),
                EngineOutput::Note(note) => self.out.push(EngineOutput::Note(note)),
            }
        }
        if !answers.is_empty() {
            self.out.push(EngineOutput::Client(array(&answers)));
        }
        if !forward.is_empty() {
            let whole = !edited && answers.is_empty();
            let frame = if whole { frame } else { array(&forward) };
            self.out.push(EngineOutput::Server(frame));
        }
    }
}
