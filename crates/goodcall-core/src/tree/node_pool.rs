//! A buffer of nodes per thread, which the next tree reuses.
//!
//! Calls are read, judged and dropped one after the other on the same thread. Unless it is large,
//! the buffer of the last tree is kept for the next one instead of going back to the allocator.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use super::Slot;

/// The largest buffer that is kept, in nodes: six kilobytes per thread.
const MAX_KEPT: usize = 256;

thread_local! {
    static SPARE: Cell<Vec<Slot>> = const { Cell::new(Vec::new()) };
}

/// The nodes of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<Slot>);

/// An empty buffer for this many nodes.
#[inline]
pub(crate) fn pooled(nodes: usize) -> Vec<Slot> {
    // A thread that is about to end keeps no buffer.
    let mut buffer = SPARE.try_with(Cell::take).unwrap_or_default();
    if buffer.capacity() < nodes {
        buffer.reserve_exact(nodes);
    }
    buffer
}

impl From<Vec<Slot>> for Slots {
    #[inline]
    fn from(slots: Vec<Slot>) -> Self {
        Self(slots)
    }
}

impl Deref for Slots {
    type Target = Vec<Slot>;

    #[inline]
    fn deref(&self) -> &Vec<Slot> {
        &self.0
    }
}

impl DerefMut for Slots {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Slot> {
        &mut self.0
    }
}

impl Drop for Slots {
    #[inline]
    fn drop(&mut self) {
        if (1..=MAX_KEPT).contains(&self.0.capacity()) {
            let mut buffer = std::mem::take(&mut self.0);
            buffer.clear();
            let _ = SPARE.try_with(|spare| {
                // When two trees are alive at once (a reply and a call inside it), keep whichever
                // buffer is larger.
                let other = spare.take();
                spare.set(if other.capacity() > buffer.capacity() {
                    other
                } else {
                    buffer
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::Tree;

    #[test]
    fn reused_buffer_holds_no_old_nodes() {
        let texts = ["[1,2,3]", "{\"a\": {\"b\": [null]}}", "7", "[[],[],{}]"];
        for text in texts {
            for other in texts {
                let one = Tree::parse(text).expect("JSON");
                drop(Tree::parse(other).expect("JSON"));
                let two = Tree::parse(text).expect("JSON");
                assert_eq!(one, two);
                assert_eq!(two.to_json(), text.replace(' ', ""));
            }
        }
    }
}
