//! The requests that wait to be written into a store. Adding one never waits.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::config::Retention;
use goodcall_server::RecentRequest;

/// Bytes, roughly, of the requests that wait. Further ones are dropped, and counted.
const MOST_BYTES: usize = 64 << 20;
/// Requests that are written together.
const MOST_TOGETHER: usize = 1000;
/// How long requests are gathered before they are written together.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// The end of the queue that requests are added to.
#[derive(Debug)]
pub(super) struct QueueSender {
    sender: UnboundedSender<Message>,
    state: Arc<QueueState>,
}

/// The end that the thread of a store reads.
pub(super) struct QueueReceiver {
    receiver: UnboundedReceiver<Message>,
    pub(super) state: Arc<QueueState>,
}

/// What both ends know.
#[derive(Debug, Default)]
pub(super) struct QueueState {
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    dropped: AtomicU64,
    /// Whether the store does not answer.
    pub(super) is_away: AtomicBool,
    retention: Mutex<Retention>,
}

enum Message {
    Request(Arc<RecentRequest>),
    /// Asks for everything before it to be written, and for a sign when it is.
    Flush(oneshot::Sender<()>),
}

/// Requests that are written together, and those who wait for it.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) requests: Vec<Arc<RecentRequest>>,
    flushes: Vec<oneshot::Sender<()>>,
}

/// The state of a store, for metrics and the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreFigures {
    pub(crate) waiting: usize,
    pub(crate) dropped: u64,
    pub(crate) is_away: bool,
}

pub(super) fn queue(retention: Retention) -> (QueueSender, QueueReceiver) {
    let (sender, receiver) = unbounded_channel();
    let state = Arc::new(QueueState {
        retention: Mutex::new(retention),
        ..QueueState::default()
    });
    let own = Arc::clone(&state);
    (
        QueueSender { sender, state },
        QueueReceiver {
            receiver,
            state: own,
        },
    )
}

impl QueueSender {
    pub(super) fn add(&self, request: Arc<RecentRequest>) {
        let weight = request.weight();
        let before = self.state.bytes.fetch_add(weight, Ordering::Relaxed);
        if before + weight > MOST_BYTES {
            self.state.bytes.fetch_sub(weight, Ordering::Relaxed);
            self.state.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.state.waiting.fetch_add(1, Ordering::Relaxed);
        if self.sender.send(Message::Request(request)).is_err() {
            self.state.note_dropped(1, weight);
        }
    }

    /// Waits until everything that was added before is written, for this long at most.
    pub(super) async fn flush(&self, limit: Duration) {
        let (done, waiting) = oneshot::channel();
        if self.sender.send(Message::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(limit, waiting).await;
        }
    }

    pub(super) fn keep(&self, retention: Retention) {
        let mut own = self.state.retention.lock();
        *own.as_deref_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut()) = retention;
    }

    pub(super) fn figures(&self) -> StoreFigures {
        StoreFigures {
            waiting: self.state.waiting.load(Ordering::Relaxed),
            dropped: self.state.dropped.load(Ordering::Relaxed),
            is_away: self.state.is_away.load(Ordering::Relaxed),
        }
    }
}

impl QueueState {
    pub(super) fn retention(&self) -> Retention {
        *self
            .retention
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts requests that will never be written.
    fn note_dropped(&self, count: usize, weight: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
        self.note_gone(count, weight);
    }

    fn note_gone(&self, count: usize, weight: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        self.bytes.fetch_sub(weight, Ordering::Relaxed);
    }
}

impl QueueReceiver {
    /// Waits for the next requests; an empty batch says that none came for this long. Returns `None`
    /// when nothing more will come.
    pub(super) async fn next(&mut self, pause: Duration) -> Option<Batch> {
        let mut batch = Batch::default();
        match tokio::time::timeout(pause, self.receiver.recv()).await {
            Ok(Some(first)) => batch.push(first),
            Ok(None) => return None,
            Err(_) => return Some(batch),
        }
        if batch.flushes.is_empty() {
            tokio::time::sleep(GATHER_TIME).await;
        }
        while batch.requests.len() < MOST_TOGETHER
            && let Ok(more) = self.receiver.try_recv()
        {
            batch.push(more);
        }
        Some(batch)
    }

    /// Notes that a batch is written, but for `dropped` of its requests, which cannot be.
    pub(super) fn done(&self, batch: Batch, dropped: usize) {
        let weight = batch.requests.iter().map(|request| request.weight()).sum();
        self.state.note_gone(batch.requests.len(), weight);
        self.state
            .dropped
            .fetch_add(dropped as u64, Ordering::Relaxed);
        for flush in batch.flushes {
            let _ = flush.send(());
        }
    }
}

impl Batch {
    fn push(&mut self, message: Message) {
        match message {
            Message::Request(request) => self.requests.push(request),
            Message::Flush(done) => self.flushes.push(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: usize) -> Arc<RecentRequest> {
        Arc::new(RecentRequest {
            path: "x".repeat(size),
            ..RecentRequest::default()
        })
    }

    #[tokio::test]
    async fn requests_beyond_the_limit_are_counted_and_those_before_it_are_kept() {
        let (sender, mut receiver) = queue(Retention::default());
        for _ in 0..3 {
            sender.add(request(MOST_BYTES / 2 - 1000));
        }
        let figures = sender.figures();
        assert_eq!((figures.waiting, figures.dropped), (2, 1));
        let batch = receiver.next(Duration::ZERO).await.unwrap();
        assert_eq!(batch.requests.len(), 2);
        // They take their place until they are written.
        sender.add(request(MOST_BYTES / 2 - 1000));
        assert_eq!(sender.figures().dropped, 2);
        receiver.done(batch, 0);
        sender.add(request(MOST_BYTES / 2 - 1000));
        let figures = sender.figures();
        assert_eq!((figures.waiting, figures.dropped), (1, 2));
    }

    #[tokio::test]
    async fn flush_waits_for_what_was_added_before_it() {
        let (sender, mut receiver) = queue(Retention::default());
        sender.add(request(1));
        let flushing = tokio::spawn(async move {
            sender.flush(Duration::from_secs(60)).await;
            sender.figures().waiting
        });
        let mut written = 0;
        while let Some(batch) = receiver.next(Duration::from_secs(60)).await {
            written += batch.requests.len();
            receiver.done(batch, 0);
        }
        assert_eq!((written, flushing.await.unwrap()), (1, 0));
    }
}
