//! What is remembered of one request until it is written to the log, the metrics and the page.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use goodcall_wire::Provider;
use goodcall_wire::relay::{
    CallRecord, CallVerdict, Endpoint, Exchange, NotJudged, ReplyFacts, RequestFacts, TokenCounts,
};
use http::{HeaderMap, Method, Request, StatusCode};

use crate::error_reply::{ErrorReply, UpstreamError};
use crate::observe::WouldHave;
use crate::proxy::{LiveState, Permit, SharedState};
use crate::recent_request::recent_request;
use crate::request_span::RequestSpan;

/// One request. It is written when it is finished, or dropped.
pub(crate) struct RequestRecord {
    shared: Arc<SharedState>,
    /// Given back when the record is written.
    permit: Option<Permit>,
    /// For OpenTelemetry, where spans are asked for.
    span: Option<Box<RequestSpan>>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) exchange: ExchangeInfo,
    pub(crate) timing: RequestTiming,
    pub(crate) judgement: Judgement,
    pub(crate) history: HistoryInfo,
    pub(crate) error: Option<RequestError>,
    /// Why the upstream could not be reached.
    pub(crate) cause: Option<String>,
}

/// What a request asks for.
#[derive(Default)]
pub(crate) struct ExchangeInfo {
    /// `None` for a request that is passed through unread.
    pub(crate) protocol: Option<Provider>,
    pub(crate) model: Option<String>,
    pub(crate) streams: bool,
    pub(crate) origin: Origin,
}

/// The route that a request took, and the client that sent it, where there are such.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) route: Option<Arc<str>>,
    pub(crate) client: Option<Arc<str>>,
}

pub(crate) struct RequestTiming {
    started: Instant,
    /// When the request was first sent, and how much time the gateway had taken for itself then.
    sent: Option<(Instant, Duration)>,
    /// From the request to the head of the first reply.
    pub(crate) first_byte: Option<Duration>,
    /// Time that the gateway took for itself: reading the request, judging, writing.
    pub(crate) own: Duration,
    /// Time for which a stream held something back that had arrived, re-asks included.
    pub(crate) held: Duration,
    /// From the request to the end of its reply.
    pub(crate) total: Duration,
}

impl RequestTiming {
    /// The time from the first request to the end of the last reply, without the gateway's own.
    pub(crate) fn upstream(&self) -> Duration {
        let Some((sent, own_before)) = self.sent else {
            return Duration::ZERO;
        };
        let before = sent.duration_since(self.started) + self.own.saturating_sub(own_before);
        self.total.saturating_sub(before)
    }
}

/// What was found in the replies.
#[derive(Default)]
pub(crate) struct Judgement {
    pub(crate) unjudged: Option<Unjudged>,
    pub(crate) reasked: u32,
    /// What the gateway would have done, in observe mode.
    pub(crate) would_have: Option<WouldHave>,
    /// Why the last re-ask brought no reply.
    pub(crate) reask_failed: Option<ReaskFailure>,
    /// The tokens of all replies, and of those that were asked for again.
    pub(crate) tokens: (TokenCounts, TokenCounts),
    /// What was repaired around the calls.
    pub(crate) repairs: Vec<&'static str>,
    /// The number of repeated calls that were left out.
    pub(crate) dropped: u32,
    pub(crate) calls: Vec<CallRecord>,
    /// True if the client did not get a whole reply.
    pub(crate) is_cut_off: bool,
    /// What the last reply says about itself, where spans are asked for.
    pub(crate) reply: Option<ReplyFacts>,
}

impl Judgement {
    /// What the client got in the end; `None` if there were no calls, or the gateway only observes.
    pub(crate) fn outcome(&self) -> Option<&'static str> {
        let is_told = self.would_have.is_none();
        is_told.then(|| self.outcome_of(|_| true))?
    }

    /// The names of the tools that were called, in order.
    pub(crate) fn tools(&self) -> BTreeSet<&str> {
        self.calls.iter().map(|call| call.tool.as_str()).collect()
    }

    /// What the client got of a tool that was called; `None` if the gateway only observes.
    pub(crate) fn tool_outcome(&self, tool: &str) -> Option<&'static str> {
        let is_told = self.would_have.is_none();
        is_told.then(|| self.outcome_of(|call| call.tool == tool))?
    }

    /// What the client got of some of the calls. Bad ones that are in no later reply are cured; it is not
    /// known what becomes of them if that reply did not reach the client.
    fn outcome_of(&self, is_meant: impl Fn(&CallRecord) -> bool) -> Option<&'static str> {
        let calls = || self.calls.iter().filter(|call| is_meant(call));
        let last = calls().map(|call| call.attempt).max()?;
        let worst = calls().filter(|call| call.attempt == last);
        let worst = worst.map(|call| call.verdict).max()?;
        let is_bad = |call: &CallRecord| call.verdict == CallVerdict::Bad;
        match worst {
            CallVerdict::Bad if last == self.last_reply() => Some("bad"),
            CallVerdict::Bad => (!self.is_cut_off).then_some("cured"),
            _ if calls().any(is_bad) => Some("cured"),
            other => Some(other.name()),
        }
    }

    /// The index of the reply that the client got, among those to its request.
    fn last_reply(&self) -> u32 {
        if self.reask_failed.is_none() {
            return self.reasked;
        }
        let attempts = self.calls.iter().map(|call| call.attempt);
        attempts.max().unwrap_or_default()
    }
}

/// Why a re-ask brought no reply that could be judged, so that the client got the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaskFailure {
    NoReply(ErrorReply),
    /// It was not sent: a limit on re-asks forbade it.
    Refused(&'static str),
    Status(StatusCode),
    /// Of another type or encoding, too long, or broken off.
    Unreadable,
    /// An error or nothing at the head of a stream.
    Empty,
}

impl ReaskFailure {
    /// The code in the log and the metrics, such as `status_429`.
    pub(crate) fn code(self) -> Cow<'static, str> {
        match self {
            ReaskFailure::NoReply(reply) => reply.code().into(),
            ReaskFailure::Refused(limit) => format!("limit_{limit}").into(),
            ReaskFailure::Status(status) => format!("status_{}", status.as_u16()).into(),
            ReaskFailure::Unreadable => "unreadable".into(),
            ReaskFailure::Empty => "empty".into(),
        }
    }
}

/// What was found in the history of the request.
#[derive(Default)]
pub(crate) struct HistoryInfo {
    /// The signal of the loop that the conversation is in.
    pub(crate) loop_signal: Option<&'static str>,
    pub(crate) fixed: bool,
    /// True if something was put back that the client had dropped.
    pub(crate) restored: bool,
}

/// Why a request or its reply passed unjudged.
#[derive(Clone, Debug)]
pub(crate) enum Unjudged {
    Request(NotJudged),
    RequestEncoding,
    RequestTooLarge,
    Upgrade,
    ReplyType,
    ReplyEncoding,
    ReplyTooLarge,
    ReplyNotJson,
}

impl Unjudged {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Unjudged::Request(request) => request.name(),
            Unjudged::RequestEncoding => "request_encoding",
            Unjudged::RequestTooLarge => "request_too_large",
            Unjudged::Upgrade => "upgrade",
            Unjudged::ReplyType => "content_type",
            Unjudged::ReplyEncoding => "content_encoding",
            Unjudged::ReplyTooLarge => "too_large",
            Unjudged::ReplyNotJson => "not_json",
        }
    }
}

/// Why a request ended without a whole reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The client got a reply of the gateway's own.
    Replied(ErrorReply),
    UpstreamBroken,
    ClientLeft,
    /// The gateway stopped before the reply or the tunnel had ended.
    Stopped,
    TunnelBroken,
    TunnelIdle,
}

impl RequestError {
    /// The code in the log, the metrics and the span.
    pub(crate) fn code(self) -> &'static str {
        match self {
            RequestError::Replied(reply) => reply.code(),
            RequestError::UpstreamBroken => "upstream_broken",
            RequestError::ClientLeft => "client_left",
            RequestError::Stopped => "stopped",
            RequestError::TunnelBroken => "upgrade_broken",
            RequestError::TunnelIdle => "upgrade_idle",
        }
    }
}

impl RequestRecord {
    pub(crate) fn new<B>(
        shared: Arc<SharedState>,
        request: &Request<B>,
        permit: Permit,
    ) -> Box<Self> {
        shared.metrics.begun();
        Box::new(Self {
            shared,
            permit: Some(permit),
            span: None,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            status: 0,
            exchange: ExchangeInfo::default(),
            timing: RequestTiming {
                started: Instant::now(),
                sent: None,
                first_byte: None,
                own: Duration::ZERO,
                held: Duration::ZERO,
                total: Duration::ZERO,
            },
            judgement: Judgement::default(),
            history: HistoryInfo::default(),
            error: None,
            cause: None,
        })
    }

    /// Notes that the replies to this request are judged.
    pub(crate) fn set_exchange(&mut self, provider: Provider, exchange: &Exchange) {
        self.exchange.protocol = Some(provider);
        self.exchange.model = exchange.model().map(str::to_owned);
        self.exchange.streams = exchange.streams();
    }

    /// Begins the span of a request to this upstream, where spans are asked for, and names it as the
    /// parent in the headers for the upstream, unless they must pass as they came.
    pub(crate) fn begin_span(&mut self, live: &LiveState, headers: &mut HeaderMap) {
        if let Some(provider) = self.exchange.protocol
            && live.config.log.otlp.is_some()
        {
            let span = RequestSpan::begin(provider, self, headers, live.upstream.address());
            if !live.config.observe {
                span.pass_on(headers);
            }
            self.span = Some(Box::new(span));
        }
    }

    /// Notes that a request of a known protocol passes unjudged.
    pub(crate) fn set_unjudged_request(&mut self, endpoint: &Endpoint, reason: Unjudged) {
        self.exchange.protocol = Some(endpoint.provider);
        self.exchange.model.clone_from(&endpoint.model);
        self.exchange.streams = endpoint.streams.unwrap_or_default();
        self.judgement.unjudged = Some(reason);
    }

    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    /// Notes what a request asks for whose replies are not judged.
    pub(crate) fn set_request_facts(&mut self, endpoint: &Endpoint, body: &str) {
        if let Some(facts) = RequestFacts::of(endpoint, body) {
            self.exchange.model = facts.model;
            self.exchange.streams = facts.streams;
        }
    }

    /// The state that all requests share.
    pub(crate) fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// Notes that the request is sent to the upstream.
    pub(crate) fn note_sent(&mut self) {
        let own = self.timing.own;
        self.timing
            .sent
            .get_or_insert_with(|| (Instant::now(), own));
    }

    /// Notes that the head of the upstream's reply has come.
    pub(crate) fn note_reply(&mut self) {
        let age = self.age();
        self.timing.first_byte.get_or_insert(age);
    }

    /// The time since the client's request came.
    pub(crate) fn age(&self) -> Duration {
        self.timing.started.elapsed()
    }

    pub(crate) fn add_own_time(&mut self, took: Duration) {
        self.timing.own += took;
    }

    /// The error of a reply that was not read to its end.
    pub(crate) fn left_error(&self) -> RequestError {
        if self.shared.listener.is_stopping.load(Ordering::Relaxed) {
            RequestError::Stopped
        } else {
            RequestError::ClientLeft
        }
    }

    /// Notes what was found in the replies so far.
    pub(crate) fn set_findings(&mut self, exchange: &Exchange, calls: Vec<CallRecord>) {
        self.judgement.reasked = exchange.reasked();
        if let Some(ReaskFailure::Refused(_)) = self.judgement.reask_failed {
            // The last one was prepared, but not sent.
            self.judgement.reasked = self.judgement.reasked.saturating_sub(1);
        }
        self.judgement.tokens = (exchange.tokens(), exchange.refused_tokens());
        self.judgement.repairs = exchange.repairs().collect();
        self.judgement.dropped = exchange.dropped();
        self.judgement.reply = exchange.reply_facts().cloned();
        self.judgement.calls = calls;
    }

    /// Notes why the upstream did not reply. Returns what the client reads.
    pub(crate) fn set_upstream_error(&mut self, error: UpstreamError) -> ErrorReply {
        self.cause = error.cause;
        error.reply
    }

    /// Notes that the client gets a reply of the gateway's own, and writes the record.
    pub(crate) fn finish_with(&mut self, reply: ErrorReply) {
        self.set_status(reply.status());
        self.error = Some(RequestError::Replied(reply));
        self.finish();
    }

    /// Writes the record to the log, the metrics and the page, once.
    pub(crate) fn finish(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        self.timing.total = self.timing.started.elapsed();
        self.judgement.is_cut_off = self.error.is_some();
        let shared = Arc::clone(&self.shared);
        shared.metrics.ended(self);
        if let Some(span) = self.span.take() {
            span.end(self);
        }
        let live = shared.live();
        live.log.line(self);
        let _request = shared
            .recent_requests
            .add(recent_request(self, &live.config.store));
        #[cfg(feature = "store")]
        if let Some(store) = &live.store {
            store.add(_request);
        }
        drop(permit);
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        // The client went away before there was a reply.
        if self.permit.is_some() {
            let error = self.left_error();
            self.error.get_or_insert(error);
            self.finish();
        }
    }
}
