//! Whether the gateway can do its work, for load balancers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::proxy::{LiveState, SharedState};

/// How long an answer holds, so that probes do not become connections to the upstream each time.
const HOLDS: Duration = Duration::from_secs(5);
/// How long the upstream has to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// What was last found out, and when.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

impl Readiness {
    /// Returns why the gateway is not ready: it is stopping, or its upstream accepts no connection.
    pub(crate) async fn check(&self, shared: &SharedState, live: &LiveState) -> Result<(), String> {
        if shared.listener.is_draining.load(Ordering::Relaxed) {
            return Err("stopping".to_owned());
        }
        let mut last = self.0.lock().await;
        if let Some((_, found)) = last.as_ref().filter(|(at, _)| at.elapsed() < HOLDS) {
            return found.clone();
        }
        let found = connect_any(live).await;
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

/// Connects to the upstreams, until one accepts: an upstream that is away must not stop the others.
async fn connect_any(live: &LiveState) -> Result<(), String> {
    let rest = live.config.upstream.takes_rest.then_some(live);
    let routes = live.routes.iter().map(|route| route.live.as_ref());
    let mut found = Err("no upstream".to_owned());
    for upstream in rest.into_iter().chain(routes) {
        found = connect(upstream).await;
        if found.is_ok() {
            break;
        }
    }
    found
}

async fn connect(live: &LiveState) -> Result<(), String> {
    let (host, port) = live.upstream.first_hop();
    let failed = |cause: String| format!("upstream_unreachable: {host}:{port}: {cause}");
    match tokio::time::timeout(CONNECT_TIME, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("no connection in time".to_owned())),
    }
}
