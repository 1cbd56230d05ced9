//! The sockets: connections in, and a stop that lets streams end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};

use goodcall_wire::relay::Known;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::config::{Config, ConfigError};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::proxy::{Live, Shared, handle};
use crate::tunnel::Tunnels;
use crate::upstream::Upstream;
use crate::window::Window;

/// A gateway; cheap to clone.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Shared>);

impl Gateway {
    /// A gateway with these settings.
    ///
    /// # Errors
    /// If they cannot be used.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let log = Log::new(config.log, config.log_arguments);
        let room = Arc::new(Semaphore::new(
            config.limits.concurrent.min(Semaphore::MAX_PERMITS),
        ));
        let keep = config.store_arguments;
        #[cfg(feature = "store")]
        let (store, before) = match &config.store {
            Some(path) => {
                let (store, before) = crate::store::Store::open(path)?;
                (Some(store), before)
            }
            None => (None, Vec::new()),
        };
        #[cfg(not(feature = "store"))]
        let before = match &config.store {
            Some(_) => return Err(ConfigError::new("this build has no store")),
            None => Vec::new(),
        };
        Ok(Self(Arc::new(Shared {
            live: RwLock::new(Arc::new(live(config)?)),
            known: Known::default(),
            metrics: Metrics::new(),
            window: Window::new(keep, before),
            #[cfg(feature = "store")]
            store,
            log,
            room,
        })))
    }

    /// Takes other settings for the requests to come. Where the gateway listens, what it logs and
    /// how many requests it takes at a time stay as they are.
    ///
    /// # Errors
    /// If they cannot be used; the old ones hold then.
    pub fn reload(&self, config: Config) -> Result<(), ConfigError> {
        let fresh = Arc::new(live(config)?);
        let mut now = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        *now = fresh;
        Ok(())
    }

    /// Serves until `stop` is ready; then takes no new connections, and gives those that are open
    /// the time of the settings to end.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let limits = self.0.live().config.limits;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time);
        builder.http2().timer(TokioTimer::new());
        let (graceful, tunnels) = (GracefulShutdown::new(), Tunnels::default());
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
            let (shared, open) = (Arc::clone(&self.0), tunnels.clone());
            let service = service_fn(move |request| {
                let (shared, open) = (Arc::clone(&shared), open.clone());
                // On the heap: it is gone when the reply's head is there, and a connection whose
                // stream is open for minutes does not carry its size.
                let handled = Box::pin(handle(shared, open, request));
                async move { Ok::<_, std::convert::Infallible>(handled.await) }
            });
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(socket), service);
            let connection = graceful.watch(connection.into_owned());
            tokio::spawn(async move {
                // A connection that breaks is the client's affair.
                let _ = connection.await;
            });
        }
        drop(listener);
        let limit = self.0.live().config.limits.drain_time;
        let streams = tokio::time::timeout(limit, graceful.shutdown());
        let _ = tokio::join!(streams, tunnels.drain(limit));
    }
}

fn live(config: Config) -> Result<Live, ConfigError> {
    Ok(Live {
        upstream: Upstream::new(&config)?,
        settings: Arc::new(config.settings.clone()),
        config,
    })
}
