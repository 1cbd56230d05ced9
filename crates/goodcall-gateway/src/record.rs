//! What is remembered of one request until it is told to the log and the metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodcall_wire::Provider;
use goodcall_wire::relay::{CallRecord, Exchange};
use http::{Method, Request, StatusCode};
use tracing::Span;
use tracing::field::Empty;

use crate::error::{NoReply, Refusal};
use crate::proxy::{Permit, Shared};

/// One request.
pub(crate) struct Record {
    shared: Arc<Shared>,
    started: Instant,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) protocol: Option<Provider>,
    pub(crate) model: Option<String>,
    pub(crate) streams: bool,
    pub(crate) status: u16,
    /// Time spent waiting for the upstream.
    pub(crate) upstream: Duration,
    /// Time that the judging of a stream took.
    pub(crate) added: Option<Duration>,
    pub(crate) took: Duration,
    pub(crate) reasked: u32,
    pub(crate) reask_failed: bool,
    /// Why nothing was judged.
    pub(crate) passed: Option<&'static str>,
    pub(crate) error: Option<&'static str>,
    /// Why the upstream could not be reached.
    pub(crate) cause: Option<String>,
    /// The loop that the conversation is in.
    pub(crate) suspicion: Option<&'static str>,
    pub(crate) history_fixed: bool,
    pub(crate) calls: Vec<CallRecord>,
    permit: Option<Permit>,
    /// For OpenTelemetry; nothing where nobody listens.
    span: Span,
}

impl Record {
    pub(crate) fn new<B>(shared: Arc<Shared>, request: &Request<B>, permit: Permit) -> Box<Self> {
        shared.metrics.begun();
        Box::new(Self {
            shared,
            started: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            protocol: None,
            model: None,
            streams: false,
            status: 0,
            upstream: Duration::ZERO,
            added: None,
            took: Duration::ZERO,
            reasked: 0,
            reask_failed: false,
            passed: None,
            error: None,
            cause: None,
            suspicion: None,
            history_fixed: false,
            calls: Vec::new(),
            permit: Some(permit),
            span: Span::none(),
        })
    }

    pub(crate) fn exchange(&mut self, provider: Provider, exchange: &Exchange) {
        self.protocol = Some(provider);
        self.model = exchange.model().map(str::to_owned);
        self.streams = exchange.streams();
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

    pub(crate) fn not_judged(&mut self, provider: Provider, why: &'static str) {
        self.protocol = Some(provider);
        self.passed = Some(why);
    }

    pub(crate) fn not_judged_reply(&mut self, why: &'static str) {
        self.passed = Some(why);
    }

    pub(crate) fn status(&mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    pub(crate) fn upstream(&mut self, took: Duration) {
        self.upstream += took;
    }

    pub(crate) fn added(&mut self, took: Duration) {
        *self.added.get_or_insert(Duration::ZERO) += took;
    }

    pub(crate) fn judged(&mut self, reasked: u32, calls: Vec<CallRecord>) {
        (self.reasked, self.calls) = (reasked, calls);
    }

    pub(crate) fn reask_failed(&mut self) {
        self.reask_failed = true;
    }

    pub(crate) fn broken(&mut self) {
        self.error = Some("upstream_broken");
    }

    /// What it ends with, as far as it is known now.
    pub(crate) fn ends_with(&mut self, error: Option<&'static str>) {
        self.error = error;
    }

    pub(crate) fn left(&mut self) {
        self.error.get_or_insert("client_left");
    }

    /// The upstream gave no reply: what the client reads of it.
    pub(crate) fn no_reply(&mut self, why: NoReply) -> Refusal {
        self.cause = why.cause;
        why.refusal
    }

    pub(crate) fn refused(&mut self, refusal: Refusal) {
        self.status = refusal.status().as_u16();
        self.error = Some(refusal.code());
        self.finish();
    }

    /// Tells the log and the metrics, once.
    pub(crate) fn finish(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        self.took = self.started.elapsed();
        let shared = Arc::clone(&self.shared);
        shared.metrics.ended(self);
        self.tell_span();
        let live = shared.live();
        live.log.line(self);
        let arguments = live.config.store.arguments;
        #[cfg(feature = "store")]
        match &live.store {
            Some(store) => store.add(shared.window.add(self, arguments, true)),
            None => drop(shared.window.add(self, arguments, false)),
        }
        #[cfg(not(feature = "store"))]
        drop(shared.window.add(self, arguments, false));
        drop(permit);
    }

    fn tell_span(&mut self) {
        let span = std::mem::replace(&mut self.span, Span::none());
        if span.is_disabled() {
            return;
        }
        span.record("http.response.status_code", self.status);
        span.record("goodcall.reasked", self.reasked);
        let calls = &self.calls;
        if let Some(worst) = calls.iter().map(|call| call.ruled).max() {
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
            span.record("error.type", error);
        }
    }

    /// The time that the gateway took for itself.
    pub(crate) fn own_time(&self) -> Duration {
        self.added
            .unwrap_or_else(|| self.took.saturating_sub(self.upstream))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // A client that went away before there was a reply.
        if self.permit.is_some() {
            self.left();
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
