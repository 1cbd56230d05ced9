//! The gateway's own paths: health, readiness, metrics, and the page for people with its data.

use std::sync::atomic::Ordering;
use std::time::Duration;

use goodcall_server::{
    AdminReach, AdminSource, MOST_REQUESTS, PageData, admin_not_found, answer_admin,
};
use http::{Request, Response};
use prometheus_client::registry::Registry;
use tokio::net::TcpStream;

use crate::proxy::{Body, LiveState, SharedState, full};
#[cfg(feature = "store")]
use crate::store::Shared;

/// Requests of its own that a gateway shows while the store that gateways share is away.
#[cfg(feature = "store")]
const OWN_REQUESTS: usize = 200;
/// How long the upstream has to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// Answers a request for one of the gateway's own paths. Returns `None` for all others. `is_local`
/// says whether the listener is on a loopback address.
pub(crate) async fn respond<B: Sync>(
    shared: &SharedState,
    request: &Request<B>,
    is_local: bool,
) -> Option<Response<Body>> {
    let reach = if is_local {
        AdminReach::ThisMachine
    } else {
        AdminReach::OtherMachines
    };
    let response = answer_admin(shared, request, reach).await?;
    Some(response.map(full))
}

/// The reply of the admin address to every other path.
pub(crate) fn not_found() -> Response<Body> {
    admin_not_found().map(full)
}

impl AdminSource for SharedState {
    fn token(&self) -> Option<String> {
        self.live().config.admin.token.clone()
    }

    /// Returns why the gateway is not ready: it is stopping, or no upstream accepts a connection.
    async fn readiness(&self) -> Result<(), String> {
        if self.listener.is_draining.load(Ordering::Relaxed) {
            return Err("stopping".to_owned());
        }
        let live = self.live();
        self.readiness.check(connect_any(&live)).await
    }

    fn metrics(&self) -> &Registry {
        #[cfg(feature = "store")]
        self.metrics
            .set_store(self.live().store.as_ref().map(|store| store.figures()));
        self.metrics.registry()
    }

    /// Returns the requests of all gateways where they share a store.
    async fn requests(&self, after: u64) -> PageData {
        let own = &self.recent_requests;
        let mut data = PageData {
            server: "gateway",
            source: own.name(),
            next: after,
            active: Some(self.metrics.active()),
            store: None,
            requests: Vec::new(),
        };
        #[cfg(feature = "store")]
        if let Some(store) = self.live().store.clone()
            && let Some(found) = store.shared(after, MOST_REQUESTS).await
        {
            let is_away = match found {
                Shared::Requests(next, requests) => {
                    (data.next, data.requests) = (next, requests);
                    false
                }
                Shared::Away => {
                    data.requests = own.since(0, OWN_REQUESTS).1;
                    true
                }
            };
            let waiting = store.figures().waiting;
            "shared".clone_into(&mut data.source);
            data.store = Some(format!(r#"{{"away":{is_away},"waiting":{waiting}}}"#));
            return data;
        }
        (data.next, data.requests) = own.since(after, MOST_REQUESTS);
        data
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
