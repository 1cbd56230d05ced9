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

    /// The text at the end of the buffer, from `head` on.
    pub(crate) fn buffered(head: usize, buffer: &str) -> Self {
        Self {
            text: TextStore::Buffer,
            head: head as u32,
            size: (buffer.len() - head) as u32,
        }
    }
}

/// Builds a [`Tree`] from values in document order.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    slots: Vec<Slot>,
    /// Text that is not in the source as it should be.
    pub(crate) buffer: String,
    /// The innermost open container, or [`NONE`].
    open: Id,
    depth: usize,
}

impl TreeBuilder {
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

    /// The kind of the innermost open container.
    #[inline]
    pub(crate) fn container(&self) -> Option<Kind> {
        let slot = self.slots.get(self.open as usize)?;
        Some(slot.kind)
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

    /// Opens an array or an object; its id.
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind, start: usize) -> Id {
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
        id
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
impl TreeBuilder {
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
    pub(crate) fn replace_scalar(&mut self, id: Id, kind: Kind, piece: ScalarText, end: usize) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.kind = kind;
            slot.text = piece.text;
            slot.head = piece.head;
            slot.size = piece.size;
            slot.end = end as u32;
        }
    }

    /// Appends decoded text to the buffer.
    pub(crate) fn append_text<R>(
        &mut self,
        write: impl FnOnce(&mut String) -> R,
    ) -> (ScalarText, R) {
        let head = self.buffer.len();
        let result = write(&mut self.buffer);
        (ScalarText::buffered(head, &self.buffer), result)
    }

    /// Moves a string's text to the end of the buffer, where it can grow.
    pub(crate) fn move_text_to_tail(&mut self, id: Id, source: &str) {
        let Some(slot) = self.slot(id).copied() else {
            return;
        };
        let end = (slot.head + slot.size) as usize;
        if slot.text == TextStore::Buffer && end == self.buffer.len() {
            return;
        }
        let text = self.text(&slot, source).to_owned();
        let (piece, ()) = self.append_text(|buffer| buffer.push_str(&text));
        self.replace_scalar(id, Kind::String, piece, slot.end as usize);
    }

    /// Extends the string at the end of the buffer by a piece that was read after it.
    pub(crate) fn extend_tail(&mut self, id: Id, more: ScalarText, source: &str, end: usize) {
        let Some(head) = self.slot(id).map(|slot| slot.head) else {
            return;
        };
        if more.text == TextStore::Source {
            let range = more.head as usize..(more.head + more.size) as usize;
            self.buffer.push_str(&source[range]);
        }
        let joined = ScalarText::buffered(head as usize, &self.buffer);
        self.replace_scalar(id, Kind::String, joined, end);
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

impl TreeBuilder {
    /// Does this closed object have two members with equal keys?
    pub(crate) fn repeats_key(&self, object: Id, source: &str) -> bool {
        repeats_key(&self.slots, &self.buffer, source, object)
    }
}
