//! Changing a tree in place: relinking chains instead of rebuilding.

use super::{Id, Kind, Slot, Text, Tree};

impl<'a> Tree<'a> {
    /// Removes the member with this key node from an object.
    pub(crate) fn remove_member(&mut self, object: Id, key: Id) {
        let mut before = None;
        let mut current = self.slot(object).head;
        for _ in 0..self.slot(object).size {
            let value = self.slot(current).next;
            let following = self.slot(value).next;
            if current == key {
                match before {
                    None => self.slots[object as usize].head = following,
                    Some(last) => self.slots[last as usize].next = following,
                }
                self.slots[object as usize].size -= 1;
                return;
            }
            before = Some(value);
            current = following;
        }
    }

    /// An empty object that stands for `source` as a whole.
    pub(crate) fn empty_object(source: &'a str) -> Tree<'a> {
        let slot = Slot {
            kind: Kind::Object,
            text: Text::Source,
            truth: false,
            next: 1,
            head: 1,
            size: 0,
            start: 0,
            end: source.len() as u32,
        };
        Tree {
            source: source.into(),
            slots: vec![slot],
            buffer: String::new(),
            root: 0,
        }
    }

    /// A tree that is one string.
    pub(crate) fn of_string(text: &str) -> Tree<'static> {
        let slot = Slot {
            kind: Kind::String,
            text: Text::Buffer,
            truth: false,
            next: 1,
            head: 0,
            size: text.len() as u32,
            start: 0,
            end: 0,
        };
        Tree {
            source: "".into(),
            slots: vec![slot],
            buffer: text.to_owned(),
            root: 0,
        }
    }

    /// Was this made by [`Tree::of_string`]?
    pub(crate) fn is_lone_string(&self) -> bool {
        self.slots.len() == 1 && self.source.is_empty()
    }
}
