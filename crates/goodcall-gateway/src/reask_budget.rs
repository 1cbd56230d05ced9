//! How much is spent on re-asks: a budget, reasons and a deadline, and a breaker that stops them for a
//! while when they keep failing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use goodcall_wire::relay::{CallVerdict, Exchange};

use crate::config::ReaskLimits;
use crate::request_record::{ReaskFailure, RequestRecord};

/// Re-asks of a minute that the percentage does not count, so that a quiet gateway can ask at all.
const ALWAYS_ALLOWED: u32 = 10;

/// What was spent in this minute, and how the last re-asks ended.
#[derive(Debug, Default)]
pub(crate) struct ReaskBudget(Mutex<Spent>);

#[derive(Debug, Default)]
struct Spent {
    /// When the minute began that is counted.
    since: Option<Instant>,
    requests: u32,
    reasks: u32,
    /// Failed re-asks in a row.
    failures: u32,
    /// There are no re-asks until then.
    paused_until: Option<Instant>,
}

impl Spent {
    fn begin_minute(&mut self, now: Instant) {
        let minute = Duration::from_secs(60);
        let is_over = |since: Instant| now.duration_since(since) >= minute;
        if self.since.is_none_or(is_over) {
            (self.since, self.requests, self.reasks) = (Some(now), 0, 0);
        }
    }
}

impl ReaskBudget {
    fn spent(&self) -> MutexGuard<'_, Spent> {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.begin_minute(Instant::now());
        spent
    }

    /// Counts a request whose replies are judged.
    pub(crate) fn count_request(&self) {
        self.spent().requests += 1;
    }

    /// Counts a re-ask that the limits allow, or tells why they do not.
    pub(crate) fn take(
        &self,
        limits: &ReaskLimits,
        record: &RequestRecord,
        exchange: &Exchange,
    ) -> Result<(), ReaskFailure> {
        let is_late = |deadline: Duration| record.age() >= deadline;
        if limits.deadline.is_some_and(is_late) {
            return Err(ReaskFailure::Refused("deadline"));
        }
        let last = exchange.records().iter().map(|call| call.attempt).max();
        let mut refused = exchange
            .records()
            .iter()
            .filter(|call| call.verdict == CallVerdict::Bad && Some(call.attempt) == last);
        let is_excepted = |name: &str| limits.not_for.iter().any(|reason| reason.name() == name);
        if refused.any(|call| call.reason.is_some_and(is_excepted)) {
            return Err(ReaskFailure::Refused("reason"));
        }
        let mut spent = self.spent();
        if spent
            .paused_until
            .is_some_and(|until| Instant::now() < until)
        {
            return Err(ReaskFailure::Refused("breaker"));
        }
        if limits.per_minute.is_some_and(|most| spent.reasks >= most) {
            return Err(ReaskFailure::Refused("per_minute"));
        }
        let next = u64::from(spent.reasks) + 1;
        let is_too_much =
            |percent: u32| next * 100 > u64::from(spent.requests) * u64::from(percent);
        if spent.reasks >= ALWAYS_ALLOWED && limits.percent.is_some_and(is_too_much) {
            return Err(ReaskFailure::Refused("percent"));
        }
        spent.reasks += 1;
        Ok(())
    }

    /// Notes whether a re-ask brought a reply. Too many in a row that did not open the breaker.
    pub(crate) fn note(&self, limits: &ReaskLimits, has_reply: bool) {
        let mut spent = self.spent();
        spent.failures = if has_reply { 0 } else { spent.failures + 1 };
        if limits.breaker.is_some_and(|most| spent.failures >= most) {
            spent.failures = 0;
            spent.paused_until = Some(Instant::now() + limits.breaker_time);
        }
    }
}
