//! Queues whose senders never wait. Whoever produces items looks at the [`Backlog`] first, so that
//! the memory behind a slow reader is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

/// Bytes that may wait before nothing more should be added.
const FULL: usize = 8 << 20;
/// What an item costs beside its own bytes.
const OVERHEAD: usize = 96;

/// Makes a queue.
pub(crate) fn queue<T>() -> (QueueSender<T>, QueueReceiver<T>) {
    let (to, items) = mpsc::unbounded_channel();
    let backlog = Backlog::default();
    let sender = QueueSender {
        to,
        backlog: backlog.clone(),
    };
    (sender, QueueReceiver { items, backlog })
}

#[derive(Debug)]
pub(crate) struct QueueSender<T> {
    to: mpsc::UnboundedSender<(T, usize)>,
    backlog: Backlog,
}

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        Self {
            to: self.to.clone(),
            backlog: self.backlog.clone(),
        }
    }
}

impl<T> QueueSender<T> {
    /// Adds an item of so many bytes.
    pub(crate) fn send(&self, item: T, bytes: usize) {
        let cost = bytes + OVERHEAD;
        self.backlog.0.bytes.fetch_add(cost, Ordering::AcqRel);
        // Without a receiver nobody reads any more.
        let _ = self.to.send((item, cost));
    }

    pub(crate) fn backlog(&self) -> &Backlog {
        &self.backlog
    }
}

#[derive(Debug)]
pub(crate) struct QueueReceiver<T> {
    items: mpsc::UnboundedReceiver<(T, usize)>,
    backlog: Backlog,
}

impl<T> QueueReceiver<T> {
    /// The next item; `None` after the last. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<T> {
        let (item, cost) = self.items.recv().await?;
        self.done(cost);
        Some(item)
    }

    /// The next item with its cost, which counts as waiting until [`Self::done`] is called.
    pub(crate) async fn take(&mut self) -> Option<(T, usize)> {
        self.items.recv().await
    }

    /// Like [`Self::take`], for an item that is there already.
    pub(crate) fn try_take(&mut self) -> Option<(T, usize)> {
        self.items.try_recv().ok()
    }

    pub(crate) fn done(&self, cost: usize) {
        self.backlog.0.bytes.fetch_sub(cost, Ordering::AcqRel);
        self.backlog.0.changed.notify_waiters();
    }
}

impl<T> Drop for QueueReceiver<T> {
    fn drop(&mut self) {
        self.backlog.0.closed.store(true, Ordering::Release);
        self.backlog.0.changed.notify_waiters();
    }
}

/// How much waits in a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog(Arc<BacklogState>);

#[derive(Debug, Default)]
struct BacklogState {
    bytes: AtomicUsize,
    closed: AtomicBool,
    changed: Notify,
}

impl Backlog {
    /// Returns true if so much waits that nothing should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.0.bytes.load(Ordering::Acquire) > FULL && !self.is_closed()
    }

    /// Returns true if nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Waits until items may be added.
    pub(crate) async fn ready(&self) {
        self.until(|backlog| !backlog.is_full()).await;
    }

    /// Waits until everything was taken, or nobody reads any more.
    pub(crate) async fn empty(&self) {
        let is_empty = |backlog: &Self| backlog.0.bytes.load(Ordering::Acquire) == 0;
        self.until(|backlog| backlog.is_closed() || is_empty(backlog))
            .await;
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.until(Self::is_closed).await;
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            if done(self) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_items_fill_a_queue_by_what_they_cost() {
        let (sender, mut receiver) = queue();
        let mut sent = 0;
        while !sender.backlog().is_full() {
            sender.send((), 1);
            sent += 1;
        }
        assert!(sent < 100_000, "{sent} items of one byte were taken");
        receiver.next().await;
        receiver.next().await;
        sender.backlog().ready().await;
        drop(receiver);
        sender.backlog().closed().await;
    }
}
