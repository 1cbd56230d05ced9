//! What is remembered of one request until it is written to the log, the metrics and the page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodcall_wire::Provider;
use goodcall_wire::relay::{CallRecord, Exchange, NotJudged};
use http::{Method, Request, StatusCode};
use tracing::Span;
use tracing::field::Empty;

use crate::error_reply::{ErrorReply, UpstreamError};
use crate::proxy::{Permit, SharedState};

/// One request. It is written when it is finished, or dropped.
pub(crate) struct RequestRecord {
    shared: Arc<SharedState>,
    /// Given back when the record is written.
    permit: Option<Permit>,
    /// For OpenTelemetry; disabled where nobody subscribes.
    span: Span,
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
}

pub(crate) struct RequestTiming {
    started: Instant,
    /// Time spent waiting for the upstream.
    pub(crate) upstream: Duration,
    /// Time that the judging of a stream took.
    judging: Option<Duration>,
    /// From the request to the end of its reply.
    pub(crate) total: Duration,
}

impl RequestTiming {
    /// The time that the gateway took for itself.
    pub(crate) fn own(&self) -> Duration {
        self.judging
            .unwrap_or_else(|| self.total.saturating_sub(self.upstream))
    }
}

/// What was found in the replies.
#[derive(Default)]
pub(crate) struct Judgement {
    pub(crate) unjudged: Option<Unjudged>,
    pub(crate) reasked: u32,
    pub(crate) reask_failed: bool,
    pub(crate) calls: Vec<CallRecord>,
}

/// What was found in the history of the request.
#[derive(Default)]
pub(crate) struct HistoryInfo {
    /// The signal of the loop that the conversation is in.
    pub(crate) loop_signal: Option<&'static str>,
    pub(crate) fixed: bool,
}

/// Why a request or its reply passed unjudged.
#[derive(Clone, Debug)]
pub(crate) enum Unjudged {
    Request(NotJudged),
    RequestEncoding,
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
    /// The gateway stopped while a tunnel was open.
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
            span: Span::none(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            status: 0,
            exchange: ExchangeInfo::default(),
            timing: RequestTiming {
                started: Instant::now(),
                upstream: Duration::ZERO,
                judging: None,
                total: Duration::ZERO,
            },
            judgement: Judgement::default(),
            history: HistoryInfo::default(),
            error: None,
            cause: None,
        })
    }

    /// Notes that the replies to this request are judged, and opens its span.
    pub(crate) fn set_exchange(&mut self, provider: Provider, exchange: &Exchange) {
        self.exchange = ExchangeInfo {
            protocol: Some(provider),
            model: exchange.model().map(str::to_owned),
            streams: exchange.streams(),
        };
        let (model, vendor) = (exchange.model().unwrap_or_default(), vendor(provider));
        self.span = tracing::info_span!(
            "chat",
            otel.name = format_args!("chat {model}"),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = vendor,
            gen_ai.request.model = model,
            http.response.status_code = Empty,
            goodcall.verdict = Empty,
            goodcall.rules = Empty,
            goodcall.reason = Empty,
            goodcall.reasked = Empty,
            error.type = Empty,
        );
    }

    /// Notes that a request of a known protocol passes unjudged.
    pub(crate) fn set_unjudged_request(&mut self, provider: Provider, reason: Unjudged) {
        self.exchange.protocol = Some(provider);
        self.judgement.unjudged = Some(reason);
    }

    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    pub(crate) fn add_upstream_time(&mut self, took: Duration) {
        self.timing.upstream += took;
    }

    pub(crate) fn add_judging_time(&mut self, took: Duration) {
        *self.timing.judging.get_or_insert(Duration::ZERO) += took;
    }

    pub(crate) fn set_calls(&mut self, reasked: u32, calls: Vec<CallRecord>) {
        self.judgement.reasked = reasked;
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
        let shared = Arc::clone(&self.shared);
        shared.metrics.ended(self);
        self.close_span();
        let live = shared.live();
        live.log.line(self);
        let _calls = shared.recent_calls.add(self, &live.config.store);
        #[cfg(feature = "store")]
        if let Some(store) = &live.store {
            store.add(_calls);
        }
        drop(permit);
    }

    fn close_span(&mut self) {
        let span = std::mem::replace(&mut self.span, Span::none());
        if span.is_disabled() {
            return;
        }
        span.record("http.response.status_code", self.status);
        span.record("goodcall.reasked", self.judgement.reasked);
        let calls = &self.judgement.calls;
        if let Some(worst) = calls.iter().map(|call| call.verdict).max() {
            span.record("goodcall.verdict", worst.name());
        }
        let rules: Vec<_> = calls
            .iter()
            .flat_map(|call| &call.notes)
            .map(|note| note.rule)
            .collect();
        if !rules.is_empty() {
            span.record("goodcall.rules", rules.join(","));
        }
        if let Some(reason) = calls.iter().find_map(|call| call.reason) {
            span.record("goodcall.reason", reason);
        }
        if let Some(error) = self.error {
            span.record("error.type", error.code());
        }
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        // The client went away before there was a reply.
        if self.permit.is_some() {
            self.error.get_or_insert(RequestError::ClientLeft);
            self.finish();
        }
    }
}

/// The provider's name in the OpenTelemetry conventions.
fn vendor(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        _ => "openai",
    }
}
