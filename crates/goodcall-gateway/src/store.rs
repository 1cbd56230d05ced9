//! Where requests are kept: in an SQLite file, or in a PostgreSQL database that gateways share.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_url;
mod queue;
mod sqlite;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use goodcall_server::{RecentRequest, StoreTarget};

#[cfg(feature = "postgres")]
pub use self::postgres::each_stored;
use self::queue::QueueSender;
pub(crate) use self::queue::StoreFigures;
use crate::config::{GatewayConfigError, Retention};
use crate::log::Log;

/// Requests that a store keeps.
const MOST_ROWS: u64 = 1_000_000;
/// Requests that are written between two removals of old rows, and the longest time between them.
const TRIM_EVERY: usize = 10_000;
const TRIM_PAUSE: Duration = Duration::from_secs(60);
/// How long a stop waits for the last requests.
const FLUSH_TIME: Duration = Duration::from_secs(5);

/// A store, written by a thread of its own. No request waits for it.
#[derive(Debug)]
pub(crate) struct Store {
    queue: QueueSender,
    #[cfg(feature = "postgres")]
    reader: Option<postgres::Reader>,
}

/// What a page gets of a store that many gateways write.
#[derive(Debug)]
pub(crate) enum Shared {
    /// The number of the last request, and the requests, each as JSON.
    Requests(u64, Vec<String>),
    /// The store does not answer.
    Away,
}

impl Store {
    /// Opens or creates a store. Returns it with the last requests of this gateway's file.
    pub(crate) fn open(
        target: &StoreTarget,
        retention: Retention,
        _log: &Arc<Log>,
    ) -> Result<(Self, Vec<RecentRequest>), GatewayConfigError> {
        match target {
            StoreTarget::File(path) => {
                let (queue, last) = sqlite::open(path, retention)?;
                let store = Self {
                    queue,
                    #[cfg(feature = "postgres")]
                    reader: None,
                };
                Ok((store, last))
            }
            #[cfg(feature = "postgres")]
            StoreTarget::Postgres(url) => {
                let (queue, reader) = postgres::open(url, target, retention, Arc::clone(_log))?;
                let reader = Some(reader);
                Ok((Self { queue, reader }, Vec::new()))
            }
            other => Err(GatewayConfigError::new(format!(
                "{other}: this build has no store of that kind; build it with the feature `postgres`"
            ))),
        }
    }

    /// Keeps requests as these settings say from now on.
    pub(crate) fn keep(&self, retention: Retention) {
        self.queue.keep(retention);
    }

    /// Has a request written. Those that the store cannot keep up with are dropped, and counted.
    pub(crate) fn add(&self, request: Arc<RecentRequest>) {
        self.queue.add(request);
    }

    /// Waits until everything is written, for a few seconds at most.
    pub(crate) async fn flush(&self) {
        self.queue.flush(FLUSH_TIME).await;
    }

    pub(crate) fn figures(&self) -> StoreFigures {
        self.queue.figures()
    }

    /// Returns at most `most` requests of all gateways after the one with the number `after`; `None`
    /// for a file, which only this gateway writes.
    pub(crate) async fn shared(&self, _after: u64, _most: usize) -> Option<Shared> {
        #[cfg(feature = "postgres")]
        if let Some(reader) = &self.reader {
            return Some(reader.since(_after, _most).await);
        }
        None
    }
}

/// The JSON text of a request.
fn entry(request: &RecentRequest) -> String {
    serde_json::to_string(request).expect("a request is always JSON")
}

/// Runs what a store's thread does.
fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    if let Ok(runtime) = runtime {
        runtime.block_on(work);
    }
}
