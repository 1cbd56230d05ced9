//! Counters and histograms for Prometheus.

#[cfg(feature = "store")]
use std::sync::atomic::Ordering;

use goodcall_server::{CallCounters, KnownNames, QuickFamily};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use self::labels::{
    ErrorLabels, FailureLabels, LoopLabels, ObservedLabels, OutcomeLabels, RepairLabels,
    RequestLabels, Source, TokenLabels, ToolOutcomeLabels,
};
use crate::error_reply::ErrorReply;
use crate::request_record::{Judgement, Origin, RequestRecord};
#[cfg(feature = "store")]
use crate::store::StoreFigures;

mod labels;

/// The upper ends of the buckets for the gateway's own time, in seconds.
const QUICK: [f64; 12] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.1,
    1.0,
];
/// The upper ends of the buckets for the time of a model, in seconds.
const SLOW: [f64; 11] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Re-asks, what became of them, and repairs around calls.
#[derive(Debug, Default)]
struct ReaskCounters {
    sent: Family<Source, Counter>,
    repairs: Family<RepairLabels, Counter>,
    failed: Family<FailureLabels, Counter>,
}

/// What the clients got, or what they would have got.
#[derive(Debug, Default)]
struct OutcomeCounters {
    outcomes: QuickFamily<OutcomeLabels>,
    tools: QuickFamily<ToolOutcomeLabels>,
    errors: Family<ErrorLabels, Counter>,
    observed: Family<ObservedLabels, Counter>,
    tokens: QuickFamily<TokenLabels>,
}

/// How long requests took, and where.
#[derive(Debug)]
struct Times {
    added: Histogram,
    held: Histogram,
    upstream: QuickFamily<Source, Histogram>,
    first_byte: QuickFamily<Source, Histogram>,
}

/// What holds at this moment.
#[derive(Debug, Default)]
struct Gauges {
    active: Gauge,
    store_away: Gauge,
    store_waiting: Gauge,
    /// Counted by the store itself, and copied here.
    store_dropped: Counter,
}

/// All counters of one gateway.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: QuickFamily<RequestLabels>,
    calls: CallCounters<Source>,
    loops: Family<LoopLabels, Counter>,
    outcomes: OutcomeCounters,
    reasks: ReaskCounters,
    gauges: Gauges,
    times: Times,
    names: KnownNames,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let slow: fn() -> Histogram = || Histogram::new(SLOW);
        let mut registry = Registry::with_prefix("goodcall");
        let mut metrics = Self {
            calls: CallCounters::register(&mut registry),
            registry,
            requests: QuickFamily::default(),
            loops: Family::default(),
            outcomes: OutcomeCounters::default(),
            reasks: ReaskCounters::default(),
            gauges: Gauges::default(),
            times: Times {
                added: Histogram::new(QUICK),
                held: slow(),
                upstream: QuickFamily::new_with_constructor(slow),
                first_byte: QuickFamily::new_with_constructor(slow),
            },
            names: KnownNames::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        all.register(
            "requests",
            "Requests by protocol and status",
            self.requests.family(),
        );
        all.register(
            "errors",
            "Requests without a whole reply, by cause",
            self.outcomes.errors.clone(),
        );
        all.register(
            "reasks",
            "Requests that were sent again for a bad call",
            self.reasks.sent.clone(),
        );
        all.register(
            "reask_failures",
            "Re-asks without a usable reply, by cause",
            self.reasks.failed.clone(),
        );
        all.register(
            "repairs",
            "Replies that were repaired around their calls, by what was repaired",
            self.reasks.repairs.clone(),
        );
        all.register(
            "outcomes",
            "Requests with calls, by what the client got after all re-asks",
            self.outcomes.outcomes.family(),
        );
        all.register(
            "tool_outcomes",
            "Tools that a request's replies call, by what the client got after all re-asks",
            self.outcomes.tools.family(),
        );
        all.register(
            "observed",
            "Replies in observe mode, by what the gateway would have done",
            self.outcomes.observed.clone(),
        );
        all.register(
            "tokens",
            "Tokens of all replies, by kind; refused ones were asked for again",
            self.outcomes.tokens.family(),
        );
        all.register(
            "loops",
            "Requests whose history is a loop, by signal",
            self.loops.clone(),
        );
        self.register_gauges();
        self.register_times();
    }

    fn register_gauges(&mut self) {
        let (all, gauges) = (&mut self.registry, &self.gauges);
        let active = gauges.active.clone();
        all.register("active_requests", "Requests under way", active);
        all.register(
            "store_away",
            "1 while the store does not answer",
            gauges.store_away.clone(),
        );
        all.register(
            "store_waiting_requests",
            "Requests that wait to be written into the store",
            gauges.store_waiting.clone(),
        );
        all.register(
            "store_dropped_requests",
            "Requests that were not written into the store, since too many waited or it refused them",
            gauges.store_dropped.clone(),
        );
    }

    fn register_times(&mut self) {
        let all = &mut self.registry;
        let seconds = || Unit::Seconds;
        all.register_with_unit(
            "added",
            "Time that the gateway took for itself",
            seconds(),
            self.times.added.clone(),
        );
        all.register_with_unit(
            "held",
            "Time for which a stream held back what had arrived, re-asks included",
            seconds(),
            self.times.held.clone(),
        );
        all.register_with_unit(
            "upstream",
            "Time from the request to the end of the upstream's reply",
            seconds(),
            self.times.upstream.family(),
        );
        all.register_with_unit(
            "first_byte",
            "Time from the request to the head of the upstream's first reply",
            seconds(),
            self.times.first_byte.family(),
        );
    }

    /// The number of requests under way.
    pub(crate) fn active(&self) -> i64 {
        self.gauges.active.get()
    }

    /// Takes over the state of the store, if there is one.
    #[cfg(feature = "store")]
    pub(crate) fn set_store(&self, figures: Option<StoreFigures>) {
        let Some(figures) = figures else { return };
        let gauges = &self.gauges;
        gauges.store_away.set(i64::from(figures.is_away));
        gauges.store_waiting.set(figures.waiting as i64);
        let dropped = gauges.store_dropped.inner();
        dropped.store(figures.dropped, Ordering::Relaxed);
    }

    pub(crate) fn begun(&self) {
        self.gauges.active.inc();
    }

    /// Counts a request that was refused before it had a record.
    pub(crate) fn busy(&self) {
        self.count_error(ErrorReply::Busy.code(), &Origin::default());
    }

    fn count_error(&self, code: &'static str, origin: &Origin) {
        let origin = origin.clone();
        let labels = ErrorLabels { code, origin };
        self.outcomes.errors.get_or_create(&labels).inc();
    }

    pub(crate) fn ended(&self, record: &RequestRecord) {
        self.gauges.active.dec();
        let protocol = record.exchange.protocol;
        let model = record.exchange.model.as_deref().unwrap_or_default();
        let source = Source {
            model: self.names.model(model),
            origin: record.exchange.origin.clone(),
        };
        let labels = RequestLabels {
            protocol: protocol.map_or("other", |protocol| protocol.name()),
            status: u32::from(record.status),
            source: source.clone(),
        };
        self.requests.get(&labels).inc();
        if let Some(error) = record.error {
            self.count_error(error.code(), &source.origin);
        }
        if let Some(signal) = record.history.loop_signal {
            self.loops.get_or_create(&LoopLabels { signal }).inc();
        }
        self.count_reasks(&record.judgement, &source);
        self.count_outcome(&record.judgement, &source);
        let source = source.without_client();
        self.count_calls(&record.judgement, &source);
        self.observe_times(record, &source);
    }

    fn count_reasks(&self, judgement: &Judgement, source: &Source) {
        if judgement.reasked > 0 {
            let sent = self.reasks.sent.get_or_create(source);
            sent.inc_by(u64::from(judgement.reasked));
        }
        if let Some(failure) = judgement.reask_failed {
            let labels = FailureLabels {
                code: failure.code().into_owned(),
                source: source.clone(),
            };
            self.reasks.failed.get_or_create(&labels).inc();
        }
        for repair in &judgement.repairs {
            let labels = RepairLabels { repair };
            self.reasks.repairs.get_or_create(&labels).inc();
        }
    }

    /// Counts what the client got, or would have got, and what it cost.
    fn count_outcome(&self, judgement: &Judgement, source: &Source) {
        if let Some(outcome) = judgement.outcome() {
            let source = source.clone();
            let labels = OutcomeLabels { outcome, source };
            self.outcomes.outcomes.get(&labels).inc();
        }
        if let Some(would_have) = judgement.would_have {
            let labels = ObservedLabels {
                would: would_have.name(),
                source: source.clone(),
            };
            self.outcomes.observed.get_or_create(&labels).inc();
        }
        let (tokens, refused) = judgement.tokens;
        for (kind, count) in [
            ("input", tokens.input),
            ("output", tokens.output),
            ("refused_input", refused.input),
            ("refused_output", refused.output),
        ] {
            if count > 0 {
                let source = source.clone();
                let labels = TokenLabels { kind, source };
                self.outcomes.tokens.get(&labels).inc_by(count);
            }
        }
    }

    fn observe_times(&self, record: &RequestRecord, source: &Source) {
        let (judgement, timing) = (&record.judgement, &record.timing);
        let protocol = record.exchange.protocol;
        if let Some(first_byte) = timing.first_byte {
            let times = self.times.first_byte.get(source);
            times.observe(first_byte.as_secs_f64());
        }
        let upstream = self.times.upstream.get(source);
        upstream.observe(timing.upstream().as_secs_f64());
        if protocol.is_some() {
            self.times.added.observe(timing.own.as_secs_f64());
        }
        if record.exchange.streams && judgement.unjudged.is_none() && protocol.is_some() {
            self.times.held.observe(timing.held.as_secs_f64());
        }
    }

    fn count_calls(&self, judgement: &Judgement, source: &Source) {
        for name in judgement.tools() {
            let tool = self.names.tool(name, &source.model);
            for call in judgement.calls.iter().filter(|call| call.tool == name) {
                self.calls.count(call, &tool, source);
            }
            if let Some(outcome) = judgement.tool_outcome(name) {
                let labels = ToolOutcomeLabels {
                    tool,
                    outcome,
                    source: source.clone(),
                };
                self.outcomes.tools.get(&labels).inc();
            }
        }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }
}
