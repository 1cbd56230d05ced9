//! Laying out a tree in document order.
//!
//! The open containers need no stack of their own: while a container is open, the `next` of its slot
//! is the id of the container around it.

use std::borrow::Cow;

use super::duplicate_keys::repeats_key;
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

impl Slot {
    /// A string, number or literal, as the node with this id.
    #[inline(always)]
    pub(crate) fn scalar(
        id: Id,
        (kind, truth): (Kind, bool),
        text: ScalarText,
        (start, end): (u32, u32),
    ) -> Self {
        Self {
            kind,
            text: text.text,
            truth,
            next: id + 1,
            head: text.head,
            size: text.size,
            start,
            end,
        }
    }

    /// An array or object that nothing was read of yet, as the node with this id.
    #[inline(always)]
    pub(crate) fn container(id: Id, kind: Kind, start: u32) -> Self {
        Self {
            kind,
            text: TextStore::Source,
            truth: false,
            next: NONE,
            head: id + 1,
            size: 0,
            start,
            end: start,
        }
    }

    /// Ends a container, before the node with the id `next`.
    #[inline(always)]
    pub(crate) fn close(&mut self, next: Id, size: u32, end: u32) {
        self.next = next;
        self.size = size;
        self.end = end;
    }
}

/// The bytes of decoded text that a tree has room for before its buffer grows.
const FIRST_BUFFER: usize = 128;

/// Builds a [`Tree`] from values in document order.
pub(crate) struct TreeBuilder {
    slots: Vec<Slot>,
    /// Text that the source does not hold as it should be.
    pub(crate) buffer: String,
    /// The innermost open container, or [`NONE`].
    open: Id,
    depth: usize,
}

impl TreeBuilder {
    /// A builder that takes `nodes` nodes before it has to grow.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self {
            slots: pooled(nodes),
            buffer: String::new(),
            open: NONE,
            depth: 0,
        }
    }

    /// The number of open containers around the next value.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Counts a key, or a value that has none, in the innermost open container.
    fn count(&mut self, is_key: bool) {
        if let Some(slot) = self.slots.get_mut(self.open as usize) {
            slot.size += u32::from(is_key == (slot.kind == Kind::Object));
        }
    }

    /// Adds a key of the open object; its value must follow.
    pub(crate) fn key(&mut self, text: ScalarText, start: usize, end: usize) {
        self.count(true);
        self.push_scalar((Kind::String, false), text, (start, end));
    }

    /// Adds a string, number or literal.
    pub(crate) fn scalar(
        &mut self,
        kind: Kind,
        truth: bool,
        text: ScalarText,
        place: (usize, usize),
    ) {
        self.count(false);
        self.push_scalar((kind, truth), text, place);
    }

    fn push_scalar(&mut self, kind: (Kind, bool), text: ScalarText, place: (usize, usize)) {
        let place = (place.0 as u32, place.1 as u32);
        let slot = Slot::scalar(self.next_id(), kind, text, place);
        self.slots.push(slot);
    }

    /// Opens an array or an object; its id.
    pub(crate) fn open(&mut self, kind: Kind, start: usize) -> Id {
        self.count(false);
        let id = self.next_id();
        let mut slot = Slot::container(id, kind, start as u32);
        slot.next = self.open;
        self.slots.push(slot);
        self.open = id;
        self.depth += 1;
        id
    }

    /// Closes the innermost container; its id.
    pub(crate) fn close(&mut self, end: usize) -> Id {
        let (id, following) = (self.open, self.next_id());
        if let Some(slot) = self.slots.get_mut(id as usize) {
            self.open = slot.next;
            slot.close(following, slot.size, end as u32);
            self.depth -= 1;
        }
        id
    }

    /// Returns true if this closed object has two members with equal keys.
    pub(crate) fn repeats_key(&self, object: Id, source: &str) -> bool {
        repeats_key(&self.slots, &self.buffer, source, object)
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

    /// The node with this id. Of an open container, `next` and `end` are not right yet.
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
        if let Some(around) = self.slots.get_mut(self.open as usize) {
            around.size = around.size.saturating_sub(1);
        }
        Some(slot)
    }

    /// Turns the open object into an array: its keys so far become elements.
    pub(crate) fn turn_into_array(&mut self) {
        if let Some(slot) = self.slots.get_mut(self.open as usize) {
            slot.kind = Kind::Array;
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
        if head == 0 {
            self.buffer.reserve(FIRST_BUFFER);
        }
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
