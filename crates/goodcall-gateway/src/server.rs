//! The sockets: connections in, and a stop that lets streams end.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use goodcall_wire::relay::ToolsCache;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::{GatewayConfig, GatewayConfigError};
use crate::connection;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::proxy::{Live, Shared};
use crate::recent_calls::{Entry, Window};
#[cfg(feature = "store")]
use crate::store::Store;
use crate::tunnel::Tunnels;
use crate::upstream::Upstream;
use crate::workers::Workers;

/// A gateway; cheap to clone.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Shared>);

impl Gateway {
    /// A gateway with these settings.
    ///
    /// # Errors
    /// If they cannot be used.
    pub fn new(config: GatewayConfig) -> Result<Self, GatewayConfigError> {
        let (live, before) = live(config, None)?;
        Ok(Self(Arc::new(Shared {
            live: RwLock::new(Arc::new(live)),
            known: ToolsCache::default(),
            metrics: Metrics::new(),
            window: Window::new(before),
            open: AtomicUsize::new(0),
            local: AtomicBool::new(false),
        })))
    }

    /// Takes other settings for the requests to come; those that are open keep theirs. Gives the
    /// names of the settings that differ and hold until a restart.
    ///
    /// # Errors
    /// If they cannot be used; the old ones hold then.
    pub fn reload(&self, config: GatewayConfig) -> Result<Vec<&'static str>, GatewayConfigError> {
        let before = self.0.live();
        let mut kept = Vec::new();
        if config.listen != before.config.listen {
            kept.push("listen");
        }
        if config.threads != before.config.threads {
            kept.push("threads");
        }
        let (fresh, _) = live(config, Some(&before))?;
        let mut now = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        *now = Arc::new(fresh);
        Ok(kept)
    }

    /// Serves until `stop` is ready; then takes no new connections, and gives those that are open
    /// the time of the settings to end.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let at = listener.local_addr();
        let local = at.is_ok_and(|at| at.ip().is_loopback());
        self.0.local.store(local, Ordering::Relaxed);
        let tunnels = Tunnels::default();
        // Each connection holds one end: it is told of the stop, and its own end is seen.
        let (stopping, told) = watch::channel(());
        let threads = self.0.live().config.threads;
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
                // Out of file handles, most likely: others must end first.
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            };
            let _ = socket.set_nodelay(true);
            workers.give(socket, told.clone());
        }
        drop((listener, told));
        let limit = self.0.live().config.limits.drain_time;
        let _ = stopping.send(());
        let streams = tokio::time::timeout(limit, stopping.closed());
        let _ = tokio::join!(streams, tunnels.drain(limit));
        workers.end().await;
        self.0.live().log.written().await;
    }
}

/// What the settings ask for, and the calls that a store has kept. A log and a store that do not
/// change go on.
fn live(
    config: GatewayConfig,
    before: Option<&Live>,
) -> Result<(Live, Vec<Entry>), GatewayConfigError> {
    let log = match before {
        Some(before) if before.config.log == config.log => Arc::clone(&before.log),
        _ => Arc::new(Log::new(config.log)),
    };
    #[cfg(feature = "store")]
    let (store, kept) = store(&config, before)?;
    #[cfg(not(feature = "store"))]
    let kept = match &config.store.path {
        Some(_) => return Err(GatewayConfigError::new("this build has no store")),
        None => Vec::new(),
    };
    let live = Live {
        upstream: Upstream::new(&config)?,
        settings: Arc::new(config.relay.clone()),
        log,
        #[cfg(feature = "store")]
        store,
        config,
    };
    Ok((live, kept))
}

#[cfg(feature = "store")]
fn store(
    config: &GatewayConfig,
    before: Option<&Live>,
) -> Result<(Option<Arc<Store>>, Vec<Entry>), GatewayConfigError> {
    match (&config.store.path, before) {
        (Some(path), Some(before)) if before.config.store.path.as_ref() == Some(path) => {
            Ok((before.store.clone(), Vec::new()))
        }
        (Some(path), _) => {
            let (store, kept) = Store::open(path)?;
            Ok((Some(Arc::new(store)), kept))
        }
        (None, _) => Ok((None, Vec::new())),
    }
}
