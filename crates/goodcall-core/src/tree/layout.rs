//! Laying out a tree whose every node is known when it is read, as in strict JSON.
//!
//! The same arena as that of [`TreeBuilder`](super::TreeBuilder), made with less work a node: what changes
//! with every member of the innermost open container stands in the layout itself, and goes into
//! the container's slot only while a container inside it is open. There it takes fields that have
//! no meaning before the container is closed.

use std::borrow::Cow;

use super::build::NONE;
use super::duplicate_keys::{key_bit, repeats_key};
use super::node_pool::room;
use super::{Id, Kind, ScalarText, Slot, TextStore, Tree};

/// Lays out values in document order.
pub(crate) struct Layout {
    slots: Vec<Slot>,
    /// Text that is not in the source as it should be.
    pub(crate) buffer: String,
    /// The innermost open container, or [`NONE`].
    open: Id,
    in_object: bool,
    /// Its elements or members so far.
    size: u32,
    /// One bit for each kind of key so far; two keys with one bit are looked at closely.
    seen: u64,
    twice: u64,
    depth: usize,
}

impl Layout {
    /// A layout with room for `nodes` nodes.
    #[inline]
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self {
            slots: room(nodes),
            buffer: String::new(),
            open: NONE,
            in_object: false,
            size: 0,
            seen: 0,
            twice: 0,
            depth: 0,
        }
    }

    /// Open containers around the next value.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Is the innermost open container an object?
    #[inline]
    pub(crate) fn in_object(&self) -> bool {
        self.in_object
    }

    /// Has the innermost open container nothing in it so far?
    pub(crate) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// A plain key of the open object, from its quote on; its value must follow. The first and
    /// the last byte of an empty one are its quotes.
    #[inline(always)]
    pub(crate) fn key(&mut self, piece: ScalarText, (first, last): (u8, u8), start: usize) {
        self.size += 1;
        let bit = key_bit(first, last, piece.size);
        self.twice |= self.seen & bit;
        self.seen |= bit;
        let end = (piece.head + piece.size) as usize + 1;
        self.push(Kind::String, false, piece, start, end);
    }

    /// A key with escapes: always looked at closely.
    #[cold]
    pub(crate) fn decoded_key(&mut self, piece: ScalarText, start: usize, end: usize) {
        self.size += 1;
        self.twice = 1;
        self.push(Kind::String, false, piece, start, end);
    }

    /// A string, number or literal.
    #[inline(always)]
    pub(crate) fn scalar(
        &mut self,
        kind: Kind,
        truth: bool,
        piece: ScalarText,
        place: (usize, usize),
    ) {
        self.size += u32::from(!self.in_object);
        self.push(kind, truth, piece, place.0, place.1);
    }

    #[inline(always)]
    fn push(&mut self, kind: Kind, truth: bool, piece: ScalarText, start: usize, end: usize) {
        self.slots.push(Slot {
            kind,
            text: piece.text,
            truth,
            next: self.slots.len() as Id + 1,
            head: piece.head,
            size: piece.size,
            start: start as u32,
            end: end as u32,
        });
    }

    /// Opens an array or an object.
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind, start: usize) {
        let id = self.slots.len() as Id;
        if let Some(outer) = self.slots.get_mut(self.open as usize) {
            outer.size = self.size + u32::from(!self.in_object);
            outer.head = self.seen as u32;
            outer.end = (self.seen >> 32) as u32;
            outer.truth = self.twice != 0;
        }
        self.slots.push(Slot {
            kind,
            text: TextStore::Source,
            truth: false,
            next: self.open,
            head: id + 1,
            size: 0,
            start: start as u32,
            end: start as u32,
        });
        self.open = id;
        self.in_object = kind == Kind::Object;
        self.size = 0;
        self.seen = 0;
        self.twice = 0;
        self.depth += 1;
    }

    /// Closes the innermost container. Is it an object with two equal keys?
    #[inline]
    pub(crate) fn close(&mut self, end: usize, source: &str) -> bool {
        let id = self.open;
        let following = self.slots.len() as Id;
        let Some(slot) = self.slots.get_mut(id as usize) else {
            return false;
        };
        self.open = slot.next;
        slot.next = following;
        slot.head = id + 1;
        slot.size = self.size;
        slot.end = end as u32;
        slot.truth = false;
        self.depth -= 1;
        let repeats = self.twice != 0 && repeats_key(&self.slots, &self.buffer, source, id);
        match self.slots.get(self.open as usize) {
            Some(outer) => {
                self.in_object = outer.kind == Kind::Object;
                self.size = outer.size;
                self.seen = u64::from(outer.end) << 32 | u64::from(outer.head);
                self.twice = u64::from(outer.truth);
            }
            None => self.in_object = false,
        }
        repeats
    }

    /// The tree; every container must have been closed.
    #[inline]
    pub(crate) fn finish(self, source: &str) -> Tree<'_> {
        debug_assert!(self.depth == 0 && !self.slots.is_empty());
        Tree {
            source: Cow::Borrowed(source),
            slots: self.slots.into(),
            buffer: self.buffer,
            root: 0,
        }
    }
}
