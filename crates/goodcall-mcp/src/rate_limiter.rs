//! Counts the calls of each tool within the last minute, for all sessions of a proxy.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which calls are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The calls of the last minute. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimiter(Arc<Mutex<HashMap<String, VecDeque<Instant>>>>);

impl RateLimiter {
    /// Counts a call, or returns how long it must wait because there were `limit` in the last minute.
    pub(crate) fn count(&self, tool: &str, limit: u32, now: Instant) -> Result<(), Duration> {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = tools.entry(tool.to_owned()).or_default();
        while calls
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW)
        {
            calls.pop_front();
        }
        if calls.len() >= limit as usize {
            let oldest = calls.front().copied().unwrap_or(now);
            return Err(WINDOW.saturating_sub(now.saturating_duration_since(oldest)));
        }
        calls.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_last_minute_are_counted_for_each_tool() {
        let limiter = RateLimiter::default();
        let start = Instant::now();
        let count = |tool: &str, seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            limiter
                .clone()
                .count(tool, 2, now)
                .map_err(|wait| wait.as_secs())
        };
        assert_eq!(count("a", 0), Ok(()));
        assert_eq!(count("a", 20), Ok(()));
        assert_eq!(count("a", 30), Err(30));
        assert_eq!(count("b", 30), Ok(()));
        assert_eq!(count("a", 60), Ok(()));
        assert_eq!(count("a", 61), Err(19));
    }
}
