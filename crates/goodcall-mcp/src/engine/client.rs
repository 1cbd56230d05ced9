//! Frames of the client.

use std::time::Instant;

use goodcall_core::{ParseClass, Tree};

use super::{Engine, EngineOutput, ListRequest, PendingRequest, request_ids};
use crate::call_log::ProxyOutcome;
use crate::frame::{
    BatchForwarding, Forwarding, Frame, FrameContent, Message, batch_of, canonical,
};
use crate::json_rpc;
use crate::json_span::JsonSpan;
use crate::judge::{Approval, CallJudgement, ForwardedCall};

impl Engine {
    /// Takes one frame. `listed` says that it was held back for the list of tools, which was asked
    /// for meanwhile.
    pub(super) fn take_from_client(&mut self, frame: Frame, listed: bool, now: Instant) {
        if self.handshake.reopening.is_some() {
            self.handshake.waiting.push(frame);
            return;
        }
        let broken = if listed { None } else { parse_error(&frame) };
        let forwarding = match (FrameContent::read(&frame), broken) {
            (FrameContent::Blank, _) => Forwarding::Dropped,
            (_, Some(error)) => {
                self.answer_error("null", json_rpc::PARSE_ERROR, &error);
                Forwarding::Dropped
            }
            // It is JSON, but not a message: the server itself is to say so.
            (FrameContent::Junk, None) => Forwarding::AsSent,
            (FrameContent::One(message), None) => self.client_message(&message, listed, now),
            (FrameContent::Batch(messages), None) => {
                self.client_batch(&frame, &messages, listed, now)
            }
        };
        let frame = forwarding.apply(frame);
        self.out.extend(frame.map(EngineOutput::Server));
    }

    fn client_message(&mut self, message: &Message<'_>, listed: bool, now: Instant) -> Forwarding {
        let id = message.id();
        if message.repeats_key() && !self.judge.options.calls.observe {
            let id = id.as_deref().unwrap_or("null");
            let text = "a key of the message occurs twice";
            self.answer_error(id, json_rpc::INVALID_REQUEST, text);
            return Forwarding::Dropped;
        }
        match (message.method(), id) {
            (Some("tools/call"), Some(id)) => match self.judge.call(message, listed, now) {
                CallJudgement::NeedsTools => self.hold(message.bytes(), message, now),
                CallJudgement::NeedsApproval(question) => {
                    self.ask_user(message.bytes(), &question);
                    Forwarding::Dropped
                }
                CallJudgement::AsSent(call) => {
                    self.await_call(id, message, call, now);
                    Forwarding::AsSent
                }
                CallJudgement::Rewritten(frame, call) => {
                    self.await_call(id, message, call, now);
                    Forwarding::Rewritten(frame)
                }
                CallJudgement::Answer(answer) => {
                    self.out.push(EngineOutput::Client(answer));
                    Forwarding::Dropped
                }
            },
            (Some(method), Some(id)) => {
                self.await_other(id, method, message);
                Forwarding::AsSent
            }
            (None, Some(id)) => match self.approvals.remove(&id) {
                Some(call) => {
                    self.take_decision(call, message, now);
                    Forwarding::Dropped
                }
                None => {
                    self.answered(&id, now);
                    Forwarding::AsSent
                }
            },
            (Some("notifications/cancelled"), None) => self.cancel(message, now),
            (Some("notifications/initialized"), None) => {
                self.handshake.initialized = Some(message.bytes().to_vec());
                Forwarding::AsSent
            }
            _ => Forwarding::AsSent,
        }
    }

    /// Holds a call back, and asks the user about it.
    fn ask_user(&mut self, call: &[u8], question: &str) {
        let id = self.own_id("approve");
        let request = json_rpc::elicitation(&id, question);
        self.out.push(EngineOutput::Client(request));
        self.approvals.insert(id, call.to_vec());
    }

    /// Takes what the user has decided about a call.
    fn take_decision(&mut self, call: Frame, answer: &Message<'_>, now: Instant) {
        let action = answer.result().and_then(|result| result.get("action"));
        let is_given = action.and_then(JsonSpan::as_str).as_deref() == Some("accept");
        self.judge.approval = if is_given {
            Approval::Given
        } else {
            Approval::Denied
        };
        self.take_from_client(call, true, now);
        self.judge.approval = Approval::Possible;
    }

    /// Remembers a request that is not a call.
    fn await_other(&mut self, id: String, method: &str, message: &Message<'_>) {
        let request = match method {
            "tools/list" => PendingRequest::List {
                cursor: message.cursor(),
            },
            "initialize" => {
                let capabilities = message.param("capabilities");
                let can_ask = capabilities
                    .and_then(|all| all.get("elicitation"))
                    .is_some();
                if can_ask {
                    self.judge.approval = Approval::Possible;
                }
                self.handshake.initialize = Some(message.bytes().to_vec());
                PendingRequest::Other
            }
            _ => PendingRequest::Other,
        };
        self.pending.insert(id, request);
    }

    fn await_call(
        &mut self,
        id: String,
        message: &Message<'_>,
        call: Box<ForwardedCall>,
        now: Instant,
    ) {
        let token = message
            .progress_token()
            .and_then(JsonSpan::raw)
            .map(canonical);
        if let Some(token) = &token {
            self.tokens.insert(token.clone(), id.clone());
        }
        let limit = self.judge.time_limit(&call.tool);
        let deadline = limit.map(|limit| now + limit);
        let request = PendingRequest::Call {
            call,
            deadline,
            token,
        };
        self.pending.insert(id, request);
    }

    /// Holds a frame back until the tools are known, which are asked for in the context of `call`.
    fn hold(&mut self, frame: &[u8], call: &Message<'_>, now: Instant) -> Forwarding {
        if self.listing.is_none() {
            self.request_tools(None, call.protocol_context(), 0, now);
        }
        self.held.push(frame.to_vec());
        Forwarding::Dropped
    }

    /// Asks the server for a page of its tools.
    pub(super) fn request_tools(
        &mut self,
        cursor: Option<String>,
        context: Option<String>,
        pages: usize,
        now: Instant,
    ) {
        let id = self.own_id("tools");
        let frame = json_rpc::list(&id, cursor.as_deref(), context.as_deref());
        self.out.push(EngineOutput::Server(frame));
        self.listing = Some(ListRequest {
            id,
            cursor,
            context,
            pages,
            deadline: now + self.judge.options.list_limit,
        });
    }

    /// Takes the client's notice that it cancels a request.
    fn cancel(&mut self, message: &Message<'_>, now: Instant) -> Forwarding {
        let id = message.param("requestId").and_then(JsonSpan::raw);
        if let Some(id) = id.map(canonical) {
            let before = self.held.len();
            self.held.retain(|held| !request_ids(held).contains(&id));
            if self.held.len() < before {
                // The request was never sent to the server.
                return Forwarding::Dropped;
            }
            let asked = self.approvals.iter();
            let mut asked = asked.filter(|(_, call)| request_ids(call).contains(&id));
            if let Some(question) = asked.next().map(|(question, _)| question.clone()) {
                self.approvals.remove(&question);
                let cancelled = json_rpc::cancelled(&question, "the call was cancelled");
                self.out.push(EngineOutput::Client(cancelled));
                return Forwarding::Dropped;
            }
            self.forget(&id, ProxyOutcome::Cancelled, now);
        }
        Forwarding::AsSent
    }

    fn client_batch(
        &mut self,
        frame: &[u8],
        messages: &[Message<'_>],
        listed: bool,
        now: Instant,
    ) -> Forwarding {
        // The calls of a batch are judged together, so that it stays one batch.
        if !listed && let Some(call) = messages.iter().find(|one| one.is_tool_call()) {
            return self.hold(frame, call, now);
        }
        let before = self.out.len();
        let mut batch = BatchForwarding::default();
        for message in messages {
            let forwarding = self.client_message(message, true, now);
            batch.push(message, forwarding);
        }
        let mut answers = Vec::new();
        for output in self.out.split_off(before) {
            match output {
                EngineOutput::Client(answer) => answers.push(answer),
                other => self.out.push(other),
            }
        }
        if !answers.is_empty() {
            self.out.push(EngineOutput::Client(batch_of(&answers)));
        }
        batch.finish()
    }
}

/// Returns why the frame is neither a message nor other JSON; `None` if it is. What need not be
/// judged is not parsed, and a frame that only exceeds a limit of the parser is left to the server.
pub(super) fn parse_error(frame: &[u8]) -> Option<String> {
    if !matches!(FrameContent::read(frame), FrameContent::Junk) {
        return None;
    }
    match Tree::parse_bytes(frame) {
        Ok(_) => None,
        Err(error) if matches!(error.class(), ParseClass::TooDeep | ParseClass::TooLarge) => None,
        Err(error) => Some(format!("Parse error: {error}")),
    }
}
