//! The room for a tree's nodes, which is used again.
//!
//! One call after the other is read, judged and dropped on the same thread. Each would ask the
//! allocator for the room of its nodes and give it back; the last one's room, if it is not large,
//! waits for the next call instead.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use super::Slot;

/// Nodes whose room is kept: six kilobytes a thread.
const KEPT: usize = 256;

thread_local! {
    static SPARE: Cell<Vec<Slot>> = const { Cell::new(Vec::new()) };
}

/// The nodes of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<Slot>);

/// Room for this many nodes.
#[inline]
pub(super) fn room(nodes: usize) -> Vec<Slot> {
    // A thread that is about to end has no spare room.
    let mut room = SPARE.try_with(Cell::take).unwrap_or_default();
    if room.capacity() < nodes {
        room.reserve_exact(nodes);
    }
    room
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
        if (1..=KEPT).contains(&self.0.capacity()) {
            let mut room = std::mem::take(&mut self.0);
            room.clear();
            let _ = SPARE.try_with(|spare| {
                // Of two trees at once, as of a reply and of a call in it, the larger room.
                let other = spare.take();
                spare.set(match other.capacity() > room.capacity() {
                    true => other,
                    false => room,
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::Tree;

    /// A tree in used room is like one in new room, whatever was there before.
    #[test]
    fn used_room_is_empty() {
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
