//! A tree that can be looked at while it is being read.
//!
//! Unlike those of a [`TreeBuilder`](super::TreeBuilder), its open containers are always right, so
//! that the value so far can be shown at any time.

use std::borrow::Cow;

use super::{Id, Kind, Slot, Slots, TextStore, Tree};

/// Which string is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenText {
    Key,
    Value,
}

/// A tree that owns its source, and what is open in it.
#[derive(Clone, Debug)]
pub(crate) struct GrowingTree {
    tree: Tree<'static>,
    open: Vec<Id>,
    /// A key whose value has not started. It becomes a node together with its value.
    key: Option<Slot>,
    /// The position up to which the source's text of the open string is in the buffer.
    copied: usize,
}

impl GrowingTree {
    pub(crate) fn new() -> Self {
        Self {
            tree: Tree {
                source: Cow::Owned(String::new()),
                slots: Slots::default(),
                buffer: String::new(),
                root: 0,
            },
            open: Vec::new(),
            key: None,
            copied: 0,
        }
    }

    /// The value so far; `None` before it has started.
    pub(crate) fn tree(&self) -> Option<&Tree<'static>> {
        (!self.tree.slots.is_empty()).then_some(&self.tree)
    }

    pub(crate) fn source(&self) -> &str {
        &self.tree.source
    }

    pub(crate) fn source_mut(&mut self) -> &mut String {
        self.tree.source.to_mut()
    }

    pub(crate) fn into_source(self) -> String {
        self.tree.source.into_owned()
    }

    /// The number of open containers.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn in_object(&self) -> bool {
        let innermost = self.open.last().map(|id| self.tree.slot(*id));
        innermost.is_some_and(|slot| slot.kind == Kind::Object)
    }

    /// Adds a number or a literal that is complete. Only a number has a text.
    pub(crate) fn add_scalar(&mut self, kind: Kind, truth: bool, start: usize, end: usize) {
        let (head, size) = match kind {
            Kind::Number => (start, end - start),
            _ => (0, 0),
        };
        self.add(Slot {
            truth,
            head: head as u32,
            size: size as u32,
            ..empty(kind, start, end)
        });
    }

    /// Opens an array or an object.
    pub(crate) fn open(&mut self, kind: Kind, start: usize) {
        let id = self.add(empty(kind, start, start));
        self.tree.slots[id as usize].head = id + 1;
        self.open.push(id);
    }

    /// Closes the innermost container; its kind.
    pub(crate) fn close(&mut self, end: usize) -> Option<Kind> {
        let following = self.tree.slots.len() as Id;
        let id = self.open.pop()?;
        let slot = &mut self.tree.slots[id as usize];
        slot.next = following;
        slot.end = end as u32;
        Some(slot.kind)
    }

    /// Adds a node, the key before it if there is one; its id.
    fn add(&mut self, slot: Slot) -> Id {
        if let Some(parent) = self.open.last() {
            self.tree.slots[*parent as usize].size += 1;
        }
        if let Some(key) = self.key.take() {
            let next = self.tree.slots.len() as Id + 1;
            self.tree.slots.push(Slot { next, ..key });
        }
        let id = self.tree.slots.len() as Id;
        self.tree.slots.push(Slot {
            next: id + 1,
            ..slot
        });
        id
    }

    /// Starts a string whose quote is at `start`.
    pub(crate) fn open_text(&mut self, which: OpenText, start: usize) {
        let text = start + 1;
        let slot = Slot {
            head: text as u32,
            ..empty(Kind::String, start, start)
        };
        match which {
            OpenText::Key => {
                self.key = Some(Slot {
                    end: text as u32,
                    ..slot
                });
            }
            OpenText::Value => {
                self.add(slot);
            }
        }
        self.copied = text;
    }

    fn text_slot(&mut self, which: OpenText) -> Option<&mut Slot> {
        match which {
            OpenText::Key => self.key.as_mut(),
            OpenText::Value => self.tree.slots.last_mut(),
        }
    }

    /// Extends the open string by the source up to `end`.
    pub(crate) fn extend_text(&mut self, which: OpenText, end: usize) {
        let is_decoded = self
            .text_slot(which)
            .is_some_and(|slot| slot.text == TextStore::Buffer);
        if is_decoded {
            let more = &self.tree.source[self.copied..end];
            self.tree.buffer.push_str(more);
            self.copied = end;
        }
        self.update_text(which, end);
    }

    /// Extends the open string by an escape that stands before `end`, decoded.
    pub(crate) fn extend_decoded(
        &mut self,
        which: OpenText,
        decoded: &str,
        escape: (usize, usize),
    ) {
        let (start, end) = escape;
        let head = self.tree.buffer.len() as u32;
        let copied = self.copied;
        // The text moves to the buffer, where what is decoded can follow it.
        if let Some(slot) = self.text_slot(which)
            && slot.text == TextStore::Source
        {
            slot.text = TextStore::Buffer;
            slot.head = head;
            let plain = &self.tree.source[copied..start];
            self.tree.buffer.push_str(plain);
        }
        self.tree.buffer.push_str(decoded);
        self.copied = end;
        self.update_text(which, end);
    }

    /// Brings the slot of the open string up to date.
    fn update_text(&mut self, which: OpenText, end: usize) {
        let buffered = self.tree.buffer.len();
        if let Some(slot) = self.text_slot(which) {
            let text_end = match slot.text {
                TextStore::Buffer => buffered,
                TextStore::Source => end,
            };
            slot.size = (text_end as u32).saturating_sub(slot.head);
            slot.end = end as u32;
        }
    }

    /// Ends the open string behind its closing quote.
    pub(crate) fn close_text(&mut self, which: OpenText, end: usize) {
        if let Some(slot) = self.text_slot(which) {
            slot.end = end as u32;
        }
    }

    /// The key whose value has not started.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|slot| self.tree.text_of(slot))
    }
}

/// A node without text or children.
fn empty(kind: Kind, start: usize, end: usize) -> Slot {
    Slot {
        kind,
        text: TextStore::Source,
        truth: false,
        next: 0,
        head: 0,
        size: 0,
        start: start as u32,
        end: end as u32,
    }
}
