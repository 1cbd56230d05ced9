//! Laying out a tree in document order.
//!
//! The open containers need no stack of their own. The state of the innermost one is in the builder
//! itself, where it stays in registers on the hot path; the others keep theirs in their slots, in
//! fields that have no meaning before a container is closed. [`Slot::suspend`] and [`Slot::resume`]
//! are the only places that know of it.

use std::borrow::Cow;

use super::duplicate_keys::{key_bit, repeats_key};
use super::node_pool::pooled;
use super::{Id, Kind, Slot, TextStore, Tree};

/// Stands for no node: the value being read is the outermost one.
pub(super) const NONE: Id = Id::MAX;

/// The text of a scalar: where it is, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarText {
    pub(crate) text: TextStore,
    pub(crate) head: u32,
    pub(crate) size: u32,
}

impl ScalarText {
    /// No text, as literals have it.
    pub(crate) const NONE: Self = Self {
        text: TextStore::Source,
        head: 0,
        size: 0,
    };

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

/// What changes with every member of an open container.
#[derive(Clone, Copy, Debug)]
struct OpenState {
    in_object: bool,
    /// Elements or members so far.
    size: u32,
    /// One bit for each kind of key so far.
    seen_keys: u64,
    /// Not 0 if two keys may be equal.
    shared_bits: u64,
}

impl OpenState {
    fn new(kind: Kind) -> Self {
        Self {
            in_object: kind == Kind::Object,
            size: 0,
            seen_keys: 0,
            shared_bits: 0,
        }
    }
}

/// While a container is open, its slot's `next` is the id of the container around it; while it is
/// not the innermost one either, `size`, `head`, `end` and `truth` hold its [`OpenState`].
impl Slot {
    /// Keeps the state of an open container in its slot.
    #[inline(always)]
    fn suspend(&mut self, state: &OpenState) {
        self.size = state.size;
        self.head = state.seen_keys as u32;
        self.end = (state.seen_keys >> 32) as u32;
        self.truth = state.shared_bits != 0;
    }

    /// Takes the state of an open container out of its slot.
    #[inline(always)]
    fn resume(&self) -> OpenState {
        OpenState {
            in_object: self.kind == Kind::Object,
            size: self.size,
            seen_keys: u64::from(self.end) << 32 | u64::from(self.head),
            shared_bits: u64::from(self.truth),
        }
    }
}

/// Builds a [`Tree`] from values in document order.
pub(crate) struct TreeBuilder {
    slots: Vec<Slot>,
    /// Text that the source does not hold as it should be.
    pub(crate) buffer: String,
    /// The innermost open container, or [`NONE`].
    open: Id,
    state: OpenState,
    depth: usize,
}

impl TreeBuilder {
    /// A builder that takes `nodes` nodes before it has to grow.
    #[inline]
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self {
            slots: pooled(nodes),
            buffer: String::new(),
            open: NONE,
            state: OpenState::new(Kind::Array),
            depth: 0,
        }
    }

    /// The number of open containers around the next value.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns true if the innermost open container is an object.
    #[inline]
    pub(crate) fn in_object(&self) -> bool {
        self.state.in_object
    }

    /// Returns true if the innermost open container holds nothing so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.size == 0
    }

    /// Adds a key of the open object that has no escapes, from its quote on; its value must follow.
    /// `ends` are its first and its last byte, or its quotes if it is empty.
    #[inline(always)]
    pub(crate) fn plain_key(&mut self, text: ScalarText, ends: (u8, u8), start: usize) {
        let bit = key_bit(ends.0, ends.1, text.size);
        self.state.size += 1;
        self.state.shared_bits |= self.state.seen_keys & bit;
        self.state.seen_keys |= bit;
        let end = (text.head + text.size) as usize + 1;
        self.push_scalar(Kind::String, false, text, (start, end));
    }

    /// Adds a key of the open object; its value must follow.
    pub(crate) fn key(&mut self, text: ScalarText, start: usize, end: usize) {
        self.state.size += 1;
        // Nothing is known of its bytes.
        self.state.shared_bits = 1;
        self.push_scalar(Kind::String, false, text, (start, end));
    }

    /// Adds a string, number or literal.
    #[inline(always)]
    pub(crate) fn scalar(
        &mut self,
        kind: Kind,
        truth: bool,
        text: ScalarText,
        place: (usize, usize),
    ) {
        self.state.size += u32::from(!self.state.in_object);
        self.push_scalar(kind, truth, text, place);
    }

    #[inline(always)]
    fn push_scalar(&mut self, kind: Kind, truth: bool, text: ScalarText, place: (usize, usize)) {
        self.slots.push(Slot {
            kind,
            text: text.text,
            truth,
            next: self.slots.len() as Id + 1,
            head: text.head,
            size: text.size,
            start: place.0 as u32,
            end: place.1 as u32,
        });
    }

    /// Opens an array or an object; its id.
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind, start: usize) -> Id {
        let id = self.slots.len() as Id;
        if let Some(outer) = self.slots.get_mut(self.open as usize) {
            self.state.size += u32::from(!self.state.in_object);
            outer.suspend(&self.state);
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
        self.state = OpenState::new(kind);
        self.depth += 1;
        id
    }

    /// Closes the innermost container. Returns its id, and true if it may have two equal keys.
    #[inline]
    pub(crate) fn close(&mut self, end: usize) -> (Id, bool) {
        let id = self.open;
        let following = self.slots.len() as Id;
        let may_repeat = self.state.shared_bits != 0;
        let Some(slot) = self.slots.get_mut(id as usize) else {
            return (id, false);
        };
        self.open = slot.next;
        slot.next = following;
        slot.head = id + 1;
        slot.size = self.state.size;
        slot.end = end as u32;
        slot.truth = false;
        self.depth -= 1;
        match self.slots.get(self.open as usize) {
            Some(outer) => self.state = outer.resume(),
            None => self.state.in_object = false,
        }
        (id, may_repeat)
    }

    /// Returns true if this closed object has two members with equal keys.
    pub(crate) fn repeats_key(&self, object: Id, source: &str) -> bool {
        repeats_key(&self.slots, &self.buffer, source, object)
    }

    /// The tree of the only value; every container must have been closed.
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

    /// The tree of one value, or of the array of several.
    pub(crate) fn finish_roots<'a>(mut self, source: &'a str, roots: &[Id]) -> Tree<'a> {
        let mut root = roots.first().copied().unwrap_or(0);
        if let [first, .., last] = *roots {
            for pair in roots.windows(2) {
                self.slots[pair[0] as usize].next = pair[1];
            }
            self.slots.push(Slot {
                kind: Kind::Array,
                text: TextStore::Source,
                truth: false,
                next: NONE,
                head: first,
                size: roots.len() as u32,
                start: self.slots[first as usize].start,
                end: self.slots[last as usize].end,
            });
            root = self.slots.len() as Id - 1;
        }
        Tree {
            source: Cow::Borrowed(source),
            slots: self.slots.into(),
            buffer: self.buffer,
            root,
        }
    }
}

/// What only the lenient parser does: it learns what a value was after it has read it.
impl TreeBuilder {
    /// The id of the next node.
    pub(crate) fn next_id(&self) -> Id {
        self.slots.len() as Id
    }

    /// The node with this id. Of an open container only `kind` and `start` are right.
    pub(crate) fn slot(&self, id: Id) -> Option<&Slot> {
        self.slots.get(id as usize)
    }

    /// The kind of the innermost open container.
    #[inline]
    pub(crate) fn container(&self) -> Option<Kind> {
        self.slot(self.open).map(|slot| slot.kind)
    }

    /// Takes the last node back, which must be a scalar that nothing follows yet.
    pub(crate) fn take_back(&mut self) -> Option<Slot> {
        let slot = self.slots.pop()?;
        self.state.size = self.state.size.saturating_sub(1);
        Some(slot)
    }

    /// Turns the open object into an array: its keys so far become elements.
    pub(crate) fn turn_into_array(&mut self) {
        if let Some(slot) = self.slots.get_mut(self.open as usize) {
            slot.kind = Kind::Array;
            self.state.in_object = false;
        }
    }

    /// Turns an empty closed array into an empty object.
    pub(crate) fn turn_into_object(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.kind = Kind::Object;
        }
    }

    /// Turns a closed array with one element into that element.
    pub(crate) fn collapse(&mut self, id: Id) {
        let Some(outer) = self.slot(id).copied() else {
            return;
        };
        let Some(inner) = self.slot(outer.head).copied() else {
            return;
        };
        self.slots[id as usize] = Slot {
            next: outer.next,
            start: outer.start,
            end: outer.end,
            ..inner
        };
    }

    /// Opens a closed root again; its values must be the last ones read.
    pub(crate) fn reopen_root(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            self.state = OpenState {
                size: slot.size,
                ..OpenState::new(slot.kind)
            };
            slot.next = self.open;
            self.open = id;
            self.depth += 1;
        }
    }

    /// Gives a scalar another kind and text.
    pub(crate) fn replace_scalar(&mut self, id: Id, kind: Kind, text: ScalarText, end: usize) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.kind = kind;
            slot.text = text.text;
            slot.head = text.head;
            slot.size = text.size;
            slot.end = end as u32;
        }
    }

    /// The text of a scalar.
    pub(crate) fn text<'b>(&'b self, slot: &Slot, source: &'b str) -> &'b str {
        let range = slot.head as usize..(slot.head + slot.size) as usize;
        match slot.text {
            TextStore::Source => source.get(range).unwrap_or_default(),
            TextStore::Buffer => self.buffer.get(range).unwrap_or_default(),
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
}
