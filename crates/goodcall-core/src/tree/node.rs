//! Reading a tree: nodes, members, elements.

use std::ops::Range;

use super::{Id, Kind, Slot, Tree};

/// One value inside a [`Tree`]; cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    pub(crate) tree: &'t Tree<'t>,
    pub(crate) id: Id,
}

impl<'t> Node<'t> {
    #[inline]
    pub(crate) fn new(tree: &'t Tree<'t>, id: Id) -> Self {
        Self { tree, id }
    }

    #[inline]
    pub(crate) fn slot(self) -> &'t Slot {
        self.tree.slot(self.id)
    }

    /// Returns the type of this value.
    #[inline]
    pub fn kind(self) -> Kind {
        self.slot().kind
    }

    /// Returns the bytes of this value in the raw text, quotes and brackets included. A value made
    /// by a mend has the bytes of the value that it was made from.
    pub fn span(self) -> Range<usize> {
        let slot = self.slot();
        slot.start as usize..slot.end as usize
    }

    /// Returns the text of this value as it was written, quotes and brackets included.
    pub fn written(self) -> &'t str {
        let text = self.tree.source.get(self.span());
        text.expect("a value lies inside the text that it was read from")
    }

    /// Returns the decoded string, if this is one.
    #[inline]
    pub fn as_str(self) -> Option<&'t str> {
        let slot = self.slot();
        (slot.kind == Kind::String).then(|| self.tree.text_of(slot))
    }

    /// Returns the digits of a number as they were written.
    #[inline]
    pub fn digits(self) -> Option<&'t str> {
        let slot = self.slot();
        (slot.kind == Kind::Number).then(|| self.tree.text_of(slot))
    }

    /// Returns the boolean, if this is one.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        let slot = self.slot();
        (slot.kind == Kind::Boolean).then_some(slot.truth)
    }

    /// Returns true if this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Returns the number of elements or members; 0 for scalars.
    #[inline]
    pub fn len(self) -> usize {
        let slot = self.slot();
        match slot.kind {
            Kind::Array | Kind::Object => slot.size as usize,
            _ => 0,
        }
    }

    /// Returns true if this value has no elements and no members.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns what this node holds.
    #[inline(always)]
    pub fn content(self) -> Content<'t> {
        let (tree, slot) = (self.tree, self.slot());
        let (next, left) = (slot.head, slot.size);
        match slot.kind {
            Kind::Null => Content::Null,
            Kind::Boolean => Content::Boolean(slot.truth),
            Kind::Number => Content::Number(tree.bytes_of(slot)),
            Kind::String => Content::String(tree.bytes_of(slot)),
            Kind::Array => Content::Array(Elements { tree, next, left }),
            Kind::Object => Content::Object(Members { tree, next, left }),
        }
    }

    /// Iterates over the elements of an array. Other values have none.
    #[inline]
    pub fn elements(self) -> Elements<'t> {
        let slot = self.slot();
        Elements {
            tree: self.tree,
            next: slot.head,
            left: if slot.kind == Kind::Array {
                slot.size
            } else {
                0
            },
        }
    }

    /// Iterates over the members of an object in source order. Other values have none.
    #[inline]
    pub fn members(self) -> Members<'t> {
        let slot = self.slot();
        Members {
            tree: self.tree,
            next: slot.head,
            left: if slot.kind == Kind::Object {
                slot.size
            } else {
                0
            },
        }
    }

    /// Returns true if this value has more than `most` levels of arrays and objects.
    pub(crate) fn is_deeper_than(self, most: usize) -> bool {
        if !matches!(self.kind(), Kind::Array | Kind::Object) {
            return false;
        }
        let Some(most) = most.checked_sub(1) else {
            return true;
        };
        self.elements().any(|inner| inner.is_deeper_than(most))
            || self.members().any(|(_, inner)| inner.is_deeper_than(most))
    }

    /// Returns the value of the first member with this key.
    pub fn get(self, key: &str) -> Option<Node<'t>> {
        self.get_bytes(key.as_bytes())
    }

    fn get_bytes(self, key: &[u8]) -> Option<Node<'t>> {
        let Members { tree, next, left } = self.members();
        // Walks the slots instead of the members: this runs many times for each message.
        let slots = &*tree.slots;
        let mut next = next as usize;
        for _ in 0..left {
            let name = &slots[next];
            if tree.is_text(name, key) {
                return Some(Node::new(tree, name.next));
            }
            next = slots[name.next as usize].next as usize;
        }
        None
    }

    /// Returns the bytes of this key in the raw text, if the object has it.
    pub fn key_span(self, key: &str) -> Option<Range<usize>> {
        let mut members = self.members();
        while let Some((id, _)) = members.next_ids() {
            let name = Node::new(self.tree, id);
            if name.as_str() == Some(key) {
                return Some(name.span());
            }
        }
        None
    }

    /// Returns the element at this index.
    pub fn element(self, index: usize) -> Option<Node<'t>> {
        self.elements().nth(index)
    }

    /// Follows one segment of a JSON Pointer: a key of an object, or an index of an array.
    pub fn child(self, segment: &str) -> Option<Node<'t>> {
        self.child_at(segment.as_bytes())
    }

    /// Like [`Node::child`], with the bytes of a segment.
    pub(super) fn child_at(self, segment: &[u8]) -> Option<Node<'t>> {
        match self.kind() {
            Kind::Object => self.get_bytes(segment),
            Kind::Array => {
                let canonical = segment == b"0" || !matches!(segment, [b'0' | b'+', ..]);
                let digits = std::str::from_utf8(segment).ok().filter(|_| canonical)?;
                self.element(digits.parse().ok()?)
            }
            _ => None,
        }
    }
}

/// What a node holds, with texts as bytes. Made for code that turns a whole tree into values of
/// another kind: it looks at a node once, and checks no text for character boundaries.
#[derive(Clone, Debug)]
pub enum Content<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// The digits as they were written, which are ASCII.
    Number(&'t [u8]),
    /// The decoded string in UTF-8.
    String(&'t [u8]),
    /// The elements of an array.
    Array(Elements<'t>),
    /// The members of an object.
    Object(Members<'t>),
}

/// Two nodes are equal if they have the same strings, the same digits and the same order.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.slot(), other.slot());
        if a.kind != b.kind {
            return false;
        }
        match a.kind {
            Kind::Null => true,
            Kind::Boolean => a.truth == b.truth,
            Kind::Number | Kind::String => self.tree.text_of(a) == other.tree.text_of(b),
            Kind::Array => a.size == b.size && self.elements().eq(other.elements()),
            Kind::Object => a.size == b.size && self.members().eq(other.members()),
        }
    }
}

/// Iterator over the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'t> {
    tree: &'t Tree<'t>,
    next: Id,
    left: u32,
}

impl<'t> Iterator for Elements<'t> {
    type Item = Node<'t>;

    #[inline]
    fn next(&mut self) -> Option<Node<'t>> {
        self.left = self.left.checked_sub(1)?;
        let id = self.next;
        self.next = self.tree.slot(id).next;
        Some(Node::new(self.tree, id))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// Iterator over the members of an object: key and value.
#[derive(Clone, Debug)]
pub struct Members<'t> {
    tree: &'t Tree<'t>,
    next: Id,
    left: u32,
}

impl<'t> Members<'t> {
    /// Like `next`, with the key in UTF-8, which is not checked for character boundaries.
    #[inline(always)]
    pub fn next_bytes(&mut self) -> Option<(&'t [u8], Node<'t>)> {
        let (key, value) = self.next_ids()?;
        let key = self.tree.bytes_of(self.tree.slot(key));
        Some((key, Node::new(self.tree, value)))
    }

    /// Like `next`, with the ids of key and value.
    #[inline(always)]
    pub(crate) fn next_ids(&mut self) -> Option<(Id, Id)> {
        self.left = self.left.checked_sub(1)?;
        let key = self.next;
        let value = self.tree.slot(key).next;
        self.next = self.tree.slot(value).next;
        Some((key, value))
    }
}

impl<'t> Iterator for Members<'t> {
    type Item = (&'t str, Node<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.next_ids()?;
        let name = self.tree.text_of(self.tree.slot(key));
        Some((name, Node::new(self.tree, value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Members<'_> {}

#[cfg(test)]
mod tests {
    use super::Content;
    use crate::tree::Tree;

    /// Writes a value from what its nodes hold.
    fn write(content: Content<'_>, out: &mut String) {
        let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
        match content {
            Content::Null => out.push_str("null"),
            Content::Boolean(truth) => out.push_str(if truth { "true" } else { "false" }),
            Content::Number(digits) => out.push_str(text(digits)),
            Content::String(string) => out.push_str(&crate::tree::quoted(text(string))),
            Content::Array(elements) => {
                out.push('[');
                for element in elements {
                    write(element.content(), out);
                    out.push(';');
                }
                out.push(']');
            }
            Content::Object(mut members) => {
                out.push('{');
                while let Some((key, value)) = members.next_bytes() {
                    out.push_str(text(key));
                    out.push('=');
                    write(value.content(), out);
                    out.push(';');
                }
                out.push('}');
            }
        }
    }

    #[test]
    fn content_is_what_was_written() {
        let text = r#"{"a": [1.50, true, null, "é\n"], "\u0062": {}, "c": {"d": false, "e": []}}"#;
        let tree = Tree::parse(text).expect("JSON");
        let mut out = String::new();
        write(tree.root().content(), &mut out);
        assert_eq!(
            out,
            r#"{a=[1.50;true;null;"é\n";];b={};c={d=false;e=[];};}"#
        );
    }
}
