//! The admin address of a proxy: the page with its calls, metrics, health and readiness.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use goodcall_server::{
    AdminReach, AdminSource, CallCounters, CallSource, KeptValues, KnownNames, MOST_REQUESTS,
    PageData, Readiness, RecentEnd, RecentRequest, RecentRequests, SharedName, admin_not_found,
    answer_admin,
};
use goodcall_wire::relay::{CallRecord, CallVerdict};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;

use crate::call_log::{OutputCheck, ProxyOutcome, ProxyRecord, ProxyVerdict};
use crate::server_connection::McpServer;

/// What the admin address of a proxy shows.
#[derive(Debug)]
pub struct ProxyAdmin {
    server: McpServer,
    token: Option<String>,
    readiness: Readiness,
    calls: RecentRequests,
    metrics: ProxyMetrics,
}

impl ProxyAdmin {
    /// The admin address of a proxy in front of this server. Clients of the page and the metrics must
    /// send the token, if there is one.
    pub fn new(server: McpServer, token: Option<String>) -> Self {
        Self {
            server,
            token,
            readiness: Readiness::default(),
            calls: RecentRequests::new(Vec::new()),
            metrics: ProxyMetrics::new(),
        }
    }

    /// Counts a call, and keeps it for the page.
    pub(crate) fn add(&self, record: &ProxyRecord) {
        let judged = record.judged();
        self.metrics.count(record, &judged);
        // Where arguments are not wanted there are none, nor the texts that quote them.
        let values = match record.details.arguments {
            Some(_) => KeptValues::All,
            None => KeptValues::Kinds,
        };
        let mut call = RecentRequest::new("", [&judged].into_iter(), values);
        call.asked.route = Some(record.server.clone());
        call.end = recent_end(record, judged.verdict);
        call.figures.ms = record.latency_ms;
        self.calls.add(call);
    }
}

/// What the client got, as the page shows it.
fn recent_end(record: &ProxyRecord, verdict: CallVerdict) -> RecentEnd {
    let error = match record.outcome {
        ProxyOutcome::Ok | ProxyOutcome::ToolError | ProxyOutcome::Refused => None,
        other => Some(Cow::from(other.name())),
    };
    let result = match (record.outcome, record.output) {
        (ProxyOutcome::ToolError, _) => Some(Cow::from("tool_error")),
        (_, Some(OutputCheck::Mismatch)) => Some(Cow::from("output_mismatch")),
        _ => None,
    };
    let mut end = RecentEnd {
        error,
        result,
        loop_signal: record.r#loop.map(Cow::from),
        ..RecentEnd::default()
    };
    if record.details.is_observed {
        end.would = Some(Cow::from(match record.verdict {
            ProxyVerdict::Mended => "mend",
            ProxyVerdict::Bad => "refuse",
            ProxyVerdict::Good | ProxyVerdict::Unchecked => "pass",
        }));
    } else {
        end.outcome = Some(Cow::from(match record.outcome {
            ProxyOutcome::Refused => "bad",
            _ => verdict.name(),
        }));
    }
    end
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ServerLabel {
    server: SharedName,
}

impl CallSource for ServerLabel {
    type Origin = Self;

    fn origin(&self) -> Self {
        self.clone()
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    server: SharedName,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LoopLabels {
    signal: &'static str,
}

/// All counters of a proxy.
#[derive(Debug)]
struct ProxyMetrics {
    registry: Registry,
    calls: CallCounters<ServerLabel>,
    outcomes: Family<OutcomeLabels, Counter>,
    mismatches: Family<ServerLabel, Counter>,
    loops: Family<LoopLabels, Counter>,
    times: Family<ServerLabel, Histogram, fn() -> Histogram>,
    names: KnownNames,
}

impl ProxyMetrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("goodcall");
        let metrics = Self {
            calls: CallCounters::register(&mut registry),
            outcomes: Family::default(),
            mismatches: Family::default(),
            loops: Family::default(),
            times: Family::new_with_constructor(call_times),
            names: KnownNames::default(),
            registry,
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let all = &mut self.registry;
        all.register(
            "call_outcomes",
            "Calls by server and how they ended",
            self.outcomes.clone(),
        );
        all.register(
            "output_mismatches",
            "Results that do not match the output schema of their tool, by server",
            self.mismatches.clone(),
        );
        all.register(
            "loops",
            "Calls that look like part of a loop, by signal",
            self.loops.clone(),
        );
        all.register_with_unit(
            "call",
            "Time from a call to its answer, by server",
            Unit::Seconds,
            self.times.clone(),
        );
        self
    }

    fn count(&self, record: &ProxyRecord, judged: &CallRecord) {
        let server = SharedName::from(record.server.as_str());
        let label = ServerLabel {
            server: Arc::clone(&server),
        };
        let tool = self.names.tool(&judged.tool, &server);
        self.calls.count(judged, &tool, &label);
        let outcome = record.outcome.name();
        let ended = OutcomeLabels { server, outcome };
        self.outcomes.get_or_create(&ended).inc();
        if record.output == Some(OutputCheck::Mismatch) {
            self.mismatches.get_or_create(&label).inc();
        }
        if let Some(signal) = record.r#loop {
            self.loops.get_or_create(&LoopLabels { signal }).inc();
        }
        let seconds = record.latency_ms / 1000.0;
        self.times.get_or_create(&label).observe(seconds);
    }
}

fn call_times() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0,
    ])
}

impl AdminSource for ProxyAdmin {
    fn token(&self) -> Option<String> {
        self.token.clone()
    }

    async fn readiness(&self) -> Result<(), String> {
        self.readiness.check(self.server.readiness()).await
    }

    fn metrics(&self) -> &Registry {
        &self.metrics.registry
    }

    async fn requests(&self, after: u64) -> PageData {
        let (next, requests) = self.calls.since(after, MOST_REQUESTS);
        PageData {
            server: "mcp",
            source: self.calls.name(),
            next,
            active: None,
            store: None,
            requests,
        }
    }
}

/// Serves the page, metrics, health and readiness, until the future is dropped.
///
/// # Errors
/// If the listener cannot be used.
pub async fn serve_admin(listener: TcpListener, admin: Arc<ProxyAdmin>) -> io::Result<()> {
    let reach = AdminReach::of(listener.local_addr()?.ip());
    let answer = move |State(admin): State<Arc<ProxyAdmin>>, request: Request| async move {
        let (head, _) = request.into_parts();
        let request = axum::http::Request::from_parts(head, ());
        let answer = answer_admin(&*admin, &request, reach).await;
        answer.unwrap_or_else(admin_not_found).map(Body::from) as Response
    };
    let paths = axum::Router::new().fallback(answer).with_state(admin);
    axum::serve(listener, paths).await
}
