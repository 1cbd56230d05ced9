//! Laying out a tree in document order.
//!
//! The open containers need no stack of their own: until a container is closed, its `next` holds
//! the id of the container around it.

use std::borrow::Cow;

use super::duplicate_keys::repeats_key;
use super::{Id, Kind, Slot, TextStore, Tree};

/// No node: the value being read is the outermost one.
pub(crate) const NONE: Id = Id::MAX;

/// A piece of scalar text: where it is, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarText {
    pub(crate) text: TextStore,
    pub(crate) head: u32,
    pub(crate) size: u32,
}

impl ScalarText {
    /// The source between two places.
    #[inline]
    pub(crate) fn between(start: usize, end: usize) -> Self {
        Self {
            text: TextStore::Source,
            head: start as u32,
            size: (end - start) as u32,
        }
    }
}

/// Builds a [`Tree`] from values in document order.
#[derive(Debug)]
pub(crate) struct Builder {
    slots: Vec<Slot>,
    /// Text that is not in the source as it should be.
    pub(crate) buffer: String,
    /// The innermost open container, or [`NONE`].
    open: Id,
    depth: usize,
}

impl Builder {
    /// A builder with room for `nodes` nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self {
            slots: Vec::with_capacity(nodes),
            buffer: String::new(),
            open: NONE,
            depth: 0,
        }
    }

    /// Open containers around the next value.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Is the innermost open container an object? `None` if nothing is open.
    #[inline]
    pub(crate) fn in_object(&self) -> Option<bool> {
        let slot = self.slots.get(self.open as usize)?;
        Some(slot.kind == Kind::Object)
    }

    #[inline]
    fn push(&mut self, slot: Slot) {
        if let Some(parent) = self.slots.get_mut(self.open as usize)
            && parent.kind == Kind::Array
        {
            parent.size += 1;
        }
        self.slots.push(slot);
    }

    #[inline]
    fn scalar(&self, kind: Kind, piece: ScalarText, start: usize, end: usize) -> Slot {
        Slot {
            kind,
            text: piece.text,
            truth: false,
            next: self.slots.len() as Id + 1,
            head: piece.head,
            size: piece.size,
            start: start as u32,
            end: end as u32,
        }
    }

    /// A key of the open object; its value must follow.
    #[inline]
    pub(crate) fn key(&mut self, piece: ScalarText, start: usize, end: usize) {
        let slot = self.scalar(Kind::String, piece, start, end);
        if let Some(parent) = self.slots.get_mut(self.open as usize) {
            parent.size += 1;
        }
        self.slots.push(slot);
    }

    #[inline]
    pub(crate) fn string(&mut self, piece: ScalarText, start: usize, end: usize) {
        let slot = self.scalar(Kind::String, piece, start, end);
        self.push(slot);
    }

    #[inline]
    pub(crate) fn number(&mut self, piece: ScalarText, start: usize, end: usize) {
        let slot = self.scalar(Kind::Number, piece, start, end);
        self.push(slot);
    }

    #[inline]
    pub(crate) fn literal(&mut self, kind: Kind, truth: bool, start: usize, end: usize) {
        let nothing = ScalarText {
            text: TextStore::Source,
            head: 0,
            size: 0,
        };
        let mut slot = self.scalar(kind, nothing, start, end);
        slot.truth = truth;
        self.push(slot);
    }

    /// Opens an array or an object.
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind, start: usize) {
        let id = self.slots.len() as Id;
        self.push(Slot {
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
        self.depth += 1;
    }

    /// Closes the innermost container; its id.
    #[inline]
    pub(crate) fn close(&mut self, end: usize) -> Id {
        let id = self.open;
        let following = self.slots.len() as Id;
        if let Some(slot) = self.slots.get_mut(id as usize) {
            self.open = slot.next;
            slot.next = following;
            slot.end = end as u32;
            self.depth -= 1;
        }
        id
    }
}

/// What only the lenient parser does: it learns what a value was after it has read it.
impl Builder {
    /// Nodes so far: the id of the next one.
    pub(crate) fn next_id(&self) -> Id {
        self.slots.len() as Id
    }

    /// Takes back the last node, which must be a scalar that nothing follows yet.
    pub(crate) fn take_back(&mut self) -> Option<Slot> {
        let slot = self.slots.pop()?;
        if let Some(parent) = self.slots.get_mut(self.open as usize) {
            parent.size = parent.size.saturating_sub(1);
        }
        Some(slot)
    }

    /// The open object turns out to be an array: its keys so far become elements.
    pub(crate) fn turn_into_array(&mut self) {
        if let Some(slot) = self.slots.get_mut(self.open as usize) {
            slot.kind = Kind::Array;
        }
    }

    /// An empty closed array becomes an empty object.
    pub(crate) fn turn_into_object(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.kind = Kind::Object;
        }
    }

    /// A closed array with one element becomes that element.
    pub(crate) fn collapse(&mut self, id: Id) {
        let Some(outer) = self.slots.get(id as usize).copied() else {
            return;
        };
        let Some(inner) = self.slots.get(outer.head as usize).copied() else {
            return;
        };
        self.slots[id as usize] = Slot {
            next: outer.next,
            start: outer.start,
            end: outer.end,
            ..inner
        };
    }

    /// Opens the last closed container again; its values must be the last ones read.
    pub(crate) fn reopen(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.next = self.open;
            self.open = id;
            self.depth += 1;
        }
    }

    /// Gives a scalar another text.
    pub(crate) fn retext(&mut self, id: Id, kind: Kind, piece: ScalarText, end: usize) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.kind = kind;
            slot.text = piece.text;
            slot.head = piece.head;
            slot.size = piece.size;
            slot.end = end as u32;
        }
    }

    /// The node with this id.
    pub(crate) fn slot(&self, id: Id) -> Option<&Slot> {
        self.slots.get(id as usize)
    }

    /// The text of a scalar.
    pub(crate) fn text<'b>(&'b self, slot: &Slot, source: &'b str) -> &'b str {
        let range = slot.head as usize..(slot.head + slot.size) as usize;
        match slot.text {
            TextStore::Source => source.get(range).unwrap_or_default(),
            TextStore::Buffer => self.buffer.get(range).unwrap_or_default(),
        }
    }

    /// The tree of one value, or of the array of several.
    pub(crate) fn finish_roots<'a>(mut self, source: Cow<'a, str>, roots: &[Id]) -> Tree<'a> {
        let mut root = roots.first().copied().unwrap_or(0);
        if roots.len() > 1 {
            let bounds = |id: &Id| self.slots.get(*id as usize).map(|s| (s.start, s.end));
            let start = roots.first().and_then(bounds).map_or(0, |(start, _)| start);
            let end = roots.last().and_then(bounds).map_or(0, |(_, end)| end);
            for pair in roots.windows(2) {
                self.slots[pair[0] as usize].next = pair[1];
            }
            self.slots.push(Slot {
                kind: Kind::Array,
                text: TextStore::Source,
                truth: false,
                next: NONE,
                head: root,
                size: roots.len() as u32,
                start,
                end,
            });
            root = self.slots.len() as Id - 1;
        }
        Tree {
            source,
            slots: self.slots.into(),
            buffer: self.buffer,
            root,
        }
    }
}

impl Builder {
    /// Does this closed object have two members with equal keys?
    pub(crate) fn repeats_key(&self, object: Id, source: &str) -> bool {
        repeats_key(&self.slots, &self.buffer, source, object)
    }
}
