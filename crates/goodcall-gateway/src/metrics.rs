//! What Prometheus reads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::error::Refusal;
use crate::record::Record;

/// Names of tools that get a line of their own; clients choose them, so there is a limit.
const MOST_TOOLS: usize = 256;
/// Characters of such a name.
const MOST_CHARS: usize = 80;

/// The name of a tool: all counters of one share it.
type Name = Arc<str>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Requests {
    protocol: &'static str,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Calls {
    tool: Name,
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Rules {
    tool: Name,
    rule: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reasons {
    tool: Name,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Errors {
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Loops {
    signal: &'static str,
}

/// All counters of one gateway.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Requests, Counter>,
    calls: Family<Calls, Counter>,
    mends: Family<Rules, Counter>,
    refusals: Family<Reasons, Counter>,
    errors: Family<Errors, Counter>,
    loops: Family<Loops, Counter>,
    reasks: Counter,
    active: Gauge,
    added: Histogram,
    upstream: Histogram,
    tools: Mutex<HashSet<Name>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let quick = [
            0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01,
            0.1, 1.0,
        ];
        let slow = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
        let mut metrics = Self {
            registry: Registry::with_prefix("goodcall"),
            requests: Family::default(),
            calls: Family::default(),
            mends: Family::default(),
            refusals: Family::default(),
            errors: Family::default(),
            loops: Family::default(),
            reasks: Counter::default(),
            active: Gauge::default(),
            added: Histogram::new(quick),
            upstream: Histogram::new(slow),
            tools: Mutex::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        all.register(
            "requests",
            "Requests by protocol and status",
            self.requests.clone(),
        );
        all.register(
            "calls",
            "Tool calls by tool and verdict",
            self.calls.clone(),
        );
        all.register("mends", "Changes by tool and rule", self.mends.clone());
        all.register(
            "refusals",
            "Bad calls by tool and reason",
            self.refusals.clone(),
        );
        all.register(
            "errors",
            "Requests without a whole reply, by cause",
            self.errors.clone(),
        );
        all.register(
            "reasks",
            "Questions that were asked again",
            self.reasks.clone(),
        );
        all.register(
            "loops",
            "Requests whose history is a loop, by signal",
            self.loops.clone(),
        );
        all.register("active_requests", "Requests under way", self.active.clone());
        let seconds = || Unit::Seconds;
        all.register_with_unit(
            "added",
            "Time that the gateway took",
            seconds(),
            self.added.clone(),
        );
        all.register_with_unit(
            "upstream",
            "Time that the upstream took to reply",
            seconds(),
            self.upstream.clone(),
        );
    }

    /// Requests under way.
    pub(crate) fn active(&self) -> i64 {
        self.active.get()
    }

    pub(crate) fn begun(&self) {
        self.active.inc();
    }

    pub(crate) fn refused(&self, refusal: Refusal) {
        if refusal == Refusal::Busy {
            self.errors
                .get_or_create(&Errors {
                    code: refusal.code(),
                })
                .inc();
        }
    }

    pub(crate) fn ended(&self, record: &Record) {
        self.active.dec();
        let protocol = record.protocol.map_or("other", |protocol| protocol.name());
        let status = u32::from(record.status);
        self.requests
            .get_or_create(&Requests { protocol, status })
            .inc();
        if let Some(code) = record.error {
            self.errors.get_or_create(&Errors { code }).inc();
        }
        if let Some(signal) = record.suspicion {
            self.loops.get_or_create(&Loops { signal }).inc();
        }
        self.reasks.inc_by(u64::from(record.reasked));
        self.upstream.observe(record.upstream.as_secs_f64());
        if record.protocol.is_some() {
            self.added.observe(record.own_time().as_secs_f64());
        }
        for call in &record.calls {
            let tool = self.tool(&call.tool);
            let verdict = call.ruled.name();
            if let Some(reason) = call.reason {
                let tool = tool.clone();
                self.refusals.get_or_create(&Reasons { tool, reason }).inc();
            } else {
                for note in &call.notes {
                    let (tool, rule) = (tool.clone(), note.rule);
                    self.mends.get_or_create(&Rules { tool, rule }).inc();
                }
            }
            self.calls.get_or_create(&Calls { tool, verdict }).inc();
        }
    }

    /// The name under which a tool is counted.
    fn tool(&self, name: &str) -> Name {
        let end = name.char_indices().nth(MOST_CHARS).map(|(end, _)| end);
        let name = &name[..end.unwrap_or(name.len())];
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tools.get(name) {
            return Arc::clone(known);
        }
        if tools.len() >= MOST_TOOLS {
            return "(other)".into();
        }
        let name = Name::from(name);
        tools.insert(Arc::clone(&name));
        name
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
