//! The indexes that a client gets for the calls or blocks of a message.

use std::collections::HashMap;

/// The client's indexes, in the order in which they are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Those of the blocks of this reply, by the upstream's index.
    known: HashMap<String, usize>,
    next: usize,
}

impl Places {
    /// Takes the next index.
    pub(crate) fn take(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// The number of indexes that were taken.
    pub(super) fn taken(&self) -> usize {
        self.next
    }

    /// The index of a block, if it has one.
    pub(super) fn find(&self, upstream: &str) -> Option<usize> {
        self.known.get(upstream).copied()
    }

    /// The index of a block, which takes the next one if it has none.
    pub(super) fn of(&mut self, upstream: &str) -> usize {
        match self.find(upstream) {
            Some(place) => place,
            None => self.begin(upstream),
        }
    }

    /// Takes the next index for a block that begins.
    pub(super) fn begin(&mut self, upstream: &str) -> usize {
        let place = self.take();
        self.known.insert(upstream.to_owned(), place);
        place
    }

    /// Returns the indexes for the next reply, which continue those of this one.
    pub(super) fn of_next_reply(&self) -> Self {
        Self {
            known: HashMap::new(),
            next: self.next,
        }
    }
}
