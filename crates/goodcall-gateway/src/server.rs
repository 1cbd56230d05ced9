//! The gateway itself: accepts connections, takes new settings, and stops so that streams can end.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use goodcall_server::{Readiness, RecentRequest, RecentRequests};
use goodcall_wire::relay::{Memory, ToolsCache};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::clients::Clients;
use crate::config::{GatewayConfig, GatewayConfigError};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::proxy::{ListenerState, LiveState, SharedState};
use crate::routes::{self, Route};
#[cfg(feature = "store")]
use crate::store::Store;
use crate::tunnel::Tunnels;
use crate::upstream::Upstream;
use crate::workers::Workers;
use crate::{connection, listener_tls};

/// A gateway. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<SharedState>);

impl Gateway {
    /// Makes a gateway with these settings, and opens its log and its store.
    ///
    /// # Errors
    /// If they cannot be used.
    pub fn new(config: GatewayConfig) -> Result<Self, GatewayConfigError> {
        let (live, earlier) = live_state(config, None)?;
        Ok(Self(Arc::new(SharedState {
            live: RwLock::new(Arc::new(live)),
            tools: ToolsCache::default(),
            memory: Memory::default(),
            metrics: Metrics::new(),
            recent_requests: RecentRequests::new(earlier),
            open: AtomicUsize::new(0),
            listener: ListenerState::default(),
            readiness: Readiness::default(),
        })))
    }

    /// Takes other settings for later requests; open ones keep theirs. Returns the names of the
    /// settings that differ but take effect only at a restart.
    ///
    /// # Errors
    /// If they cannot be used. The old settings stay in force then.
    pub fn reload(&self, config: GatewayConfig) -> Result<Vec<&'static str>, GatewayConfigError> {
        let before = self.0.live();
        let mut kept = Vec::new();
        if config.listener.address != before.config.listener.address {
            kept.push("listen");
        }
        if config.admin.address != before.config.admin.address {
            kept.push("admin");
        }
        if config.listener.threads != before.config.listener.threads {
            kept.push("threads");
        }
        let (fresh, _) = live_state(config, Some(&before))?;
        let mut now = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        *now = Arc::new(fresh);
        Ok(kept)
    }

    /// Serves until `stop` is ready. Then no new connections are accepted, and open ones have
    /// [`drain_time`](crate::GatewayLimits::drain_time) to end.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let is_local = is_loopback(&listener);
        let serves_admin = match self.0.live().config.admin.address {
            None => is_local,
            Some(address) => address == self.0.live().config.listener.address,
        };
        let own = &self.0.listener;
        own.is_local.store(is_local, Ordering::Relaxed);
        own.serves_admin.store(serves_admin, Ordering::Relaxed);
        let tunnels = Tunnels::default();
        // Each connection holds a receiver: it sees the stop, and dropping it shows that it ended.
        let (stopping, stop_signal) = watch::channel(());
        let threads = self.0.live().config.listener.threads;
        let (shared, open) = (Arc::clone(&self.0), tunnels.clone());
        let workers = Workers::start(threads, move |socket, stop| {
            connection::serve(Arc::clone(&shared), open.clone(), socket, stop)
        });
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            let Ok((socket, _)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let _ = socket.set_nodelay(true);
            workers.give(socket, stop_signal.clone());
        }
        own.is_draining.store(true, Ordering::Relaxed);
        drop((listener, stop_signal));
        let limit = self.0.live().config.limits.drain_time;
        let _ = stopping.send(());
        let streams = tokio::time::timeout(limit, stopping.closed());
        let _ = tokio::join!(streams, tunnels.drain(limit));
        // What is still open is cut off now, by the gateway and not by its client.
        own.is_stopping.store(true, Ordering::Relaxed);
        workers.end().await;
        let live = self.0.live();
        #[cfg(feature = "store")]
        if let Some(store) = &live.store {
            store.flush().await;
        }
        live.log.flush().await;
    }

    /// Serves the page, metrics, health and readiness on an address of their own, until the future is
    /// dropped.
    pub async fn serve_admin(&self, listener: TcpListener) {
        let is_local = is_loopback(&listener);
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            tokio::spawn(connection::serve_admin(
                Arc::clone(&self.0),
                socket,
                is_local,
            ));
        }
    }
}

/// The pause after a connection that could not be accepted, most likely for want of file handles:
/// others must end first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

fn is_loopback(listener: &TcpListener) -> bool {
    let address = listener.local_addr();
    address.is_ok_and(|address| address.ip().is_loopback())
}

/// Makes what the settings ask for, and reads the requests that a store has kept. A log and a store
/// that do not change are taken over from `before`.
fn live_state(
    config: GatewayConfig,
    before: Option<&LiveState>,
) -> Result<(LiveState, Vec<RecentRequest>), GatewayConfigError> {
    let log = match before {
        Some(before) if before.config.log == config.log => Arc::clone(&before.log),
        _ => Arc::new(Log::new(&config.log)),
    };
    #[cfg(feature = "store")]
    let (store, kept) = store(&config, before, &log)?;
    #[cfg(not(feature = "store"))]
    let kept = match &config.store.target {
        Some(_) => {
            return Err(GatewayConfigError::new(
                "store: this build has no store; build it with the feature `store`",
            ));
        }
        None => Vec::new(),
    };
    let recorders = Recorders {
        log,
        #[cfg(feature = "store")]
        store,
    };
    let mut live = recorders.state(config, before)?;
    for route in &live.config.upstream.routes {
        let mut earlier = before.into_iter().flat_map(|before| &before.routes);
        let earlier = earlier.find(|earlier| *earlier.name == *route.name);
        let earlier = earlier.map(|earlier| earlier.live.as_ref());
        let own = recorders
            .state(route.config.clone(), earlier)
            .map_err(|error| GatewayConfigError::caused(format!("routes.{}", route.name), error))?;
        live.routes.push(Route::new(route, Arc::new(own))?);
    }
    routes::sort(&mut live.routes);
    live.clients = match &live.config.listener.client_keys {
        Some(path) => Some(Clients::read(path)?),
        None => None,
    };
    live.tls = match &live.config.listener.tls {
        Some(files) => Some(listener_tls::acceptor(files)?),
        None => None,
    };
    Ok((live, kept))
}

/// What all routes write to.
struct Recorders {
    log: Arc<Log>,
    #[cfg(feature = "store")]
    store: Option<Arc<Store>>,
}

impl Recorders {
    /// Makes the state of one upstream. The count of its re-asks goes on after a reload.
    fn state(
        &self,
        config: GatewayConfig,
        before: Option<&LiveState>,
    ) -> Result<LiveState, GatewayConfigError> {
        let models = config.upstream.models.iter().map(|(pattern, policies)| {
            let mut relay = config.relay.clone();
            relay.policies = policies.clone();
            (pattern.clone(), Arc::new(relay))
        });
        let reasks = before.map(|before| Arc::clone(&before.reasks));
        Ok(LiveState {
            upstream: Upstream::new(&config)?,
            relay: Arc::new(config.relay.clone()),
            models: models.collect(),
            routes: Vec::new(),
            clients: None,
            tls: None,
            reasks: reasks.unwrap_or_default(),
            log: Arc::clone(&self.log),
            #[cfg(feature = "store")]
            store: self.store.clone(),
            config,
        })
    }
}

#[cfg(feature = "store")]
fn store(
    config: &GatewayConfig,
    before: Option<&LiveState>,
    log: &Arc<Log>,
) -> Result<(Option<Arc<Store>>, Vec<RecentRequest>), GatewayConfigError> {
    match (&config.store.target, before) {
        (Some(target), Some(before)) if before.config.store.target.as_ref() == Some(target) => {
            if let Some(store) = &before.store {
                store.keep(config.store.retention);
            }
            Ok((before.store.clone(), Vec::new()))
        }
        (Some(target), _) => {
            let (store, kept) = Store::open(target, config.store.retention, log)?;
            Ok((Some(Arc::new(store)), kept))
        }
        (None, _) => Ok((None, Vec::new())),
    }
}
