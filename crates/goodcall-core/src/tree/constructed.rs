//! Trees that were not read from a text.

use super::{Kind, Slot, TextStore, Tree};

impl<'a> Tree<'a> {
    /// An empty object in place of the whole of `source`.
    pub(crate) fn empty_object(source: &'a str) -> Tree<'a> {
        let slot = Slot {
            kind: Kind::Object,
            text: TextStore::Source,
            truth: false,
            next: 1,
            head: 1,
            size: 0,
            start: 0,
            end: source.len() as u32,
        };
        Tree {
            source: source.into(),
            slots: vec![slot].into(),
            buffer: String::new(),
            root: 0,
        }
    }

    /// A tree that consists of one string.
    pub(crate) fn of_string(text: &str) -> Tree<'static> {
        let slot = Slot {
            kind: Kind::String,
            text: TextStore::Buffer,
            truth: false,
            next: 1,
            head: 0,
            size: text.len() as u32,
            start: 0,
            end: 0,
        };
        Tree {
            source: "".into(),
            slots: vec![slot].into(),
            buffer: text.to_owned(),
            root: 0,
        }
    }

    /// Returns true if [`Tree::of_string`] made this tree.
    pub(crate) fn is_lone_string(&self) -> bool {
        self.slots.len() == 1 && self.source.is_empty()
    }
}
