//! Whether a server can do its work, for load balancers.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How long an answer holds, so that probes do not become connections to the upstream each time.
const HOLDS: Duration = Duration::from_secs(5);

/// What was last found out, and when.
#[derive(Debug, Default)]
pub struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

impl Readiness {
    /// Returns why the server is not ready: what `find` says, or what it has said a few seconds ago.
    ///
    /// # Errors
    /// If the server is not ready.
    pub async fn check(
        &self,
        find: impl Future<Output = Result<(), String>>,
    ) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if let Some((_, found)) = last.as_ref().filter(|(at, _)| at.elapsed() < HOLDS) {
            return found.clone();
        }
        let found = find.await;
        *last = Some((Instant::now(), found.clone()));
        found
    }
}
