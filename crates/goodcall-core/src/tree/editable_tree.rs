//! A tree with local edits that can be taken back.
//!
//! Every slot that an edit overwrites is kept, so taking an edit back costs what the edit cost,
//! however large the tree is.

use serde_json::Value;

use super::{Id, Kind, Slot, TextStore, Tree};

/// A tree, and the slots that its edits overwrote.
#[derive(Debug)]
pub(crate) struct EditableTree<'a> {
    pub(crate) tree: Tree<'a>,
    saved: Vec<(Id, Slot)>,
    /// The object that last got a member, and that member's value: the end of its chain.
    tail: Option<(Id, Id)>,
    /// The object that last lost a member, that member's index, and the value before it.
    removed: Option<(Id, u32, Id)>,
}

/// A state of an [`EditableTree`] to go back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditMark {
    saved: usize,
    slots: usize,
    buffer: usize,
}

impl<'a> EditableTree<'a> {
    pub(crate) fn new(tree: Tree<'a>) -> Self {
        Self {
            tree,
            saved: Vec::new(),
            tail: None,
            removed: None,
        }
    }

    /// Marks the present state.
    pub(crate) fn mark(&self) -> EditMark {
        EditMark {
            saved: self.saved.len(),
            slots: self.tree.slots.len(),
            buffer: self.tree.buffer.len(),
        }
    }

    /// Takes back every edit since `mark`.
    pub(crate) fn back_to(&mut self, mark: EditMark) {
        while self.saved.len() > mark.saved {
            let (id, slot) = self
                .saved
                .pop()
                .expect("more slots are saved than at the mark");
            self.tree.slots[id as usize] = slot;
        }
        self.tree.slots.truncate(mark.slots);
        self.tree.buffer.truncate(mark.buffer);
        self.tail = None;
        self.removed = None;
    }

    fn set(&mut self, id: Id, slot: Slot) {
        self.saved.push((id, *self.tree.slot(id)));
        self.tree.slots[id as usize] = slot;
        self.tail = self.tail.filter(|(object, _)| *object != id);
        self.removed = self.removed.filter(|(object, ..)| *object != id);
    }

    fn link(&mut self, id: Id, next: Id) {
        let slot = *self.tree.slot(id);
        self.set(id, Slot { next, ..slot });
    }

    fn push(&mut self, slot: Slot) -> Id {
        self.tree.slots.push(slot);
        (self.tree.slots.len() - 1) as Id
    }

    fn text(&mut self, text: &str) -> (u32, u32) {
        let head = self.tree.buffer.len() as u32;
        self.tree.buffer.push_str(text);
        (head, text.len() as u32)
    }

    /// A scalar with this text that takes the place of `like`: same bytes, same next.
    fn scalar_like(&mut self, like: Slot, kind: Kind, text: &str) -> Slot {
        let (head, size) = self.text(text);
        Slot {
            kind,
            text: TextStore::Buffer,
            truth: kind == Kind::Boolean && text == "true",
            head,
            size,
            ..like
        }
    }

    /// Replaces `at` by a scalar. The text is a string's text, a number's digits or a literal.
    pub(crate) fn put_scalar(&mut self, at: Id, kind: Kind, text: &str) {
        let slot = self.scalar_like(*self.tree.slot(at), kind, text);
        self.set(at, slot);
    }

    /// Replaces `at` by the value `from`, which is elsewhere in the tree.
    pub(crate) fn put_node(&mut self, at: Id, from: Id) {
        let next = self.tree.slot(at).next;
        let slot = *self.tree.slot(from);
        self.set(at, Slot { next, ..slot });
    }

    /// Replaces `at` by an array of itself.
    pub(crate) fn wrap(&mut self, at: Id) {
        let slot = *self.tree.slot(at);
        let only = self.push(slot);
        self.set(at, container(slot, Kind::Array, only, 1));
    }

    /// Replaces `at` by an array of these values, which are elsewhere in the tree.
    pub(crate) fn put_elements(&mut self, at: Id, elements: &[Id]) {
        let first = self.tree.slots.len() as Id;
        for (id, next) in elements.iter().zip(first + 1..) {
            let slot = *self.tree.slot(*id);
            self.push(Slot { next, ..slot });
        }
        let slot = *self.tree.slot(at);
        let size = elements.len() as u32;
        self.set(at, container(slot, Kind::Array, first, size));
    }

    /// Replaces `at` by a copy of another tree's value. All of it has the bytes of `at`.
    pub(crate) fn graft(&mut self, at: Id, other: &Tree<'_>) {
        let host = *self.tree.slot(at);
        let shift = self.tree.slots.len() as Id;
        for slot in other.slots.iter() {
            let mut copy = *slot;
            copy.next = slot.next.saturating_add(shift);
            match slot.kind {
                Kind::Array | Kind::Object => copy.head = slot.head.saturating_add(shift),
                Kind::String | Kind::Number => {
                    let (head, size) = self.text(other.text_of(slot));
                    (copy.text, copy.head, copy.size) = (TextStore::Buffer, head, size);
                }
                Kind::Null | Kind::Boolean => {}
            }
            (copy.start, copy.end) = (host.start, host.end);
            self.tree.slots.push(copy);
        }
        self.put_node(at, other.root + shift);
    }

    /// Removes the member with this key node from an object.
    pub(crate) fn remove_member(&mut self, object: Id, key: Id) {
        let owner = *self.tree.slot(object);
        // Members are mostly removed in their order: start where the last one was.
        let last = self.removed.filter(|(o, ..)| *o == object);
        let (mut at, mut before) = last.map_or((0, None), |(_, at, value)| (at, Some(value)));
        let mut current = match before {
            Some(value) if at < owner.size => self.tree.slot(value).next,
            _ => {
                (at, before) = (0, None);
                owner.head
            }
        };
        for _ in 0..owner.size {
            let value = self.tree.slot(current).next;
            let following = self.tree.slot(value).next;
            if current == key {
                let mut owner = owner;
                owner.size -= 1;
                match before {
                    None => owner.head = following,
                    Some(last) => self.link(last, following),
                }
                self.set(object, owner);
                self.tail = None;
                self.removed = before.map(|value| (object, at, value));
                return;
            }
            (at, before, current) = (at + 1, Some(value), following);
            if at == owner.size {
                (at, before, current) = (0, None, owner.head);
            }
        }
    }

    /// Renames a member without moving it.
    pub(crate) fn rename_key(&mut self, key: Id, name: &str) {
        self.put_scalar(key, Kind::String, name);
    }

    /// Appends the member `name` with the value node `value`, which must not be part of another
    /// chain. Returns the key's node.
    pub(crate) fn add_member(&mut self, object: Id, name: &str, value: Id) -> Id {
        let owner = *self.tree.slot(object);
        let bytes = *self.tree.slot(value);
        let slot = self.scalar_like(bytes, Kind::String, name);
        let key = self.push(Slot {
            next: value,
            ..slot
        });
        let mut grown = owner;
        grown.size += 1;
        match self.last_value(object) {
            None => grown.head = key,
            Some(last) => self.link(last, key),
        }
        self.set(object, grown);
        self.tail = Some((object, value));
        key
    }

    fn last_value(&self, object: Id) -> Option<Id> {
        if let Some((owner, value)) = self.tail
            && owner == object
        {
            return Some(value);
        }
        let mut members = self.tree.node(object).members();
        let mut last = None;
        while let Some((_, value)) = members.next_ids() {
            last = Some(value);
        }
        last
    }

    /// Adds a `null` with the bytes of `like` that is not part of any chain yet.
    pub(crate) fn new_node(&mut self, like: Id) -> Id {
        let null = self.scalar_like(*self.tree.slot(like), Kind::Null, "");
        self.push(null)
    }

    /// Replaces `at` by a value from a schema.
    pub(crate) fn put_value(&mut self, at: Id, value: &Value) {
        match value {
            Value::Null => self.put_scalar(at, Kind::Null, ""),
            Value::Bool(truth) => {
                self.put_scalar(at, Kind::Boolean, if *truth { "true" } else { "false" });
            }
            Value::Number(number) => self.put_scalar(at, Kind::Number, &number.to_string()),
            Value::String(text) => self.put_scalar(at, Kind::String, text),
            Value::Array(items) => {
                let mut elements = Vec::with_capacity(items.len());
                for item in items {
                    let node = self.new_node(at);
                    self.put_value(node, item);
                    elements.push(node);
                }
                self.put_elements(at, &elements);
            }
            Value::Object(map) => {
                let slot = *self.tree.slot(at);
                self.set(at, container(slot, Kind::Object, 0, 0));
                for (name, value) in map {
                    let node = self.new_node(at);
                    self.put_value(node, value);
                    self.add_member(at, name, node);
                }
            }
        }
    }
}

fn container(like: Slot, kind: Kind, head: Id, size: u32) -> Slot {
    Slot {
        kind,
        text: TextStore::Source,
        truth: false,
        head,
        size,
        ..like
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn editable(text: &str) -> EditableTree<'_> {
        EditableTree::new(Tree::parse(text).unwrap())
    }

    fn id(tree: &EditableTree<'_>, key: &str) -> Id {
        tree.tree.root().get(key).unwrap().id
    }

    #[test]
    fn going_back_undoes_every_edit() {
        let text = r#"{"a":1,"b":["x",null],"c":{"d":true}}"#;
        let mut tree = editable(text);
        let mark = tree.mark();
        let (a, b, c) = (id(&tree, "a"), id(&tree, "b"), id(&tree, "c"));
        let root = tree.tree.root;
        tree.put_scalar(a, Kind::String, "1");
        tree.wrap(b);
        tree.put_value(c, &json!({"new": [1, {"k": "v"}], "z": null}));
        let node = tree.new_node(a);
        tree.put_value(node, &json!(2.5));
        tree.add_member(root, "e", node);
        let inner = Tree::parse(r#"[{"q":"\n"},3]"#).unwrap();
        tree.graft(node, &inner);
        let key = tree.tree.slot(root).head;
        tree.rename_key(key, "A");
        assert_eq!(
            tree.tree.to_json(),
            r#"{"A":"1","b":[["x",null]],"c":{"new":[1,{"k":"v"}],"z":null},"e":[{"q":"\n"},3]}"#
        );
        tree.remove_member(root, key);
        tree.put_node(root, b);
        assert_eq!(tree.tree.to_json(), r#"[["x",null]]"#);
        tree.back_to(mark);
        assert_eq!(tree.tree.to_json(), text);
    }

    #[test]
    fn new_members_are_appended() {
        let mut tree = editable("{}");
        let root = tree.tree.root;
        for name in ["a", "b", "c"] {
            let node = tree.new_node(root);
            tree.add_member(root, name, node);
        }
        assert_eq!(tree.tree.to_json(), r#"{"a":null,"b":null,"c":null}"#);
    }
}
