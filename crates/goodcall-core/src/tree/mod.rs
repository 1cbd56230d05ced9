//! The lean tree: a JSON value as a flat arena that borrows from the text it was read from.
//!
//! One allocation holds all nodes. Strings without escapes and all numbers are slices of the
//! source, so nothing is copied and a number is its digits. Objects keep their order, and every
//! node knows its bytes in the raw text.
//!
//! A node's children form a chain: the container names its first child and how many there are,
//! each child names its next sibling. Parsing lays the chain out in document order; editing
//! relinks it, so a local edit costs no rebuild.

mod byte_search;
mod constructed;
mod de;
mod duplicate_keys;
mod edit;
mod editable_tree;
mod growing_tree;
mod map_key;
mod node;
mod node_pool;
mod number;
mod pointer;
mod raw_value;
mod ser;
mod tree_builder;
mod value;
mod write;

use std::borrow::Cow;
use std::ops::Range;

pub use de::DeserializeError;
pub use node::{Content, Elements, Members, Node};
pub use pointer::Pointer;
pub(crate) use pointer::{step, unescape};
pub use value::Inexact;

pub(crate) use byte_search::{first_byte, last_byte};
pub(crate) use duplicate_keys::repeats_key;
pub(crate) use edit::{Edit, NewValue};
pub(crate) use editable_tree::{EditMark, EditableTree};
pub(crate) use growing_tree::{GrowingTree, OpenText};
pub(crate) use node_pool::{Slots, pooled};
pub(crate) use number::{Decimal, is_integer, is_written_as_integer};
pub(crate) use tree_builder::{ScalarText, TreeBuilder};
pub(crate) use value::to_number;
pub use write::quoted;
pub(crate) use write::write_string;

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number, kept as its digits.
    Number,
    /// A string, decoded.
    String,
    /// An array.
    Array,
    /// An object, in source order.
    Object,
}

impl Kind {
    /// The name JSON Schema uses: `null`, `boolean`, `number`, `string`, `array`, `object`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}

/// Index of a node in its tree.
pub(crate) type Id = u32;

/// Where a scalar's text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStore {
    /// In the source, as written.
    Source,
    /// In the tree's own buffer, because it was decoded or made by an edit.
    Buffer,
}

/// One node in 24 bytes: positions and links are 32 bits wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    pub(crate) text: TextStore,
    pub(crate) truth: bool,
    /// The next sibling, as long as the parent's count says there is one. A key's next is its
    /// value, a value's next is the next key.
    pub(crate) next: Id,
    /// Scalars: offset of the text. Containers: the first child (for objects, the first key).
    pub(crate) head: u32,
    /// Scalars: bytes of text. Containers: number of elements or members.
    pub(crate) size: u32,
    /// Bytes of the raw text, quotes and brackets included.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Slot {
    /// The text of a scalar.
    pub(crate) fn scalar_text(&self) -> ScalarText {
        ScalarText {
            text: self.text,
            head: self.head,
            size: self.size,
        }
    }
}

/// A JSON value as a flat arena over the text it was read from.
///
/// ```
/// use goodcall_core::Tree;
///
/// let tree = Tree::parse(r#"{"id": 12345678901234567890123, "tags": ["a"]}"#)?;
/// let id = tree.root().get("id").unwrap();
/// assert_eq!(id.digits(), Some("12345678901234567890123"));
/// assert_eq!(tree.to_json(), r#"{"id":12345678901234567890123,"tags":["a"]}"#);
/// # Ok::<(), goodcall_core::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    pub(crate) source: Cow<'a, str>,
    pub(crate) slots: Slots,
    /// Decoded strings and texts made by edits, one after the other.
    pub(crate) buffer: String,
    pub(crate) root: Id,
}

impl<'a> Tree<'a> {
    /// The tree of the nodes that a parser laid out in document order.
    #[inline]
    pub(crate) fn laid_out(source: &'a str, slots: Vec<Slot>, buffer: String) -> Self {
        Self {
            source: Cow::Borrowed(source),
            slots: slots.into(),
            buffer,
            root: 0,
        }
    }

    /// Returns the value at the root.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, self.root)
    }

    /// Returns the text that this tree was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the node at a JSON Pointer, if there is one.
    pub fn at(&self, pointer: &Pointer) -> Option<Node<'_>> {
        let mut node = self.root();
        if pointer.has_escapes() {
            for segment in pointer.segments() {
                node = node.child(&segment)?;
            }
            return Some(node);
        }
        let mut segments = pointer.plain_segments();
        segments.try_fold(node, Node::child_at)
    }

    /// Copies the source, so that the tree no longer borrows it.
    pub fn into_owned(self) -> Tree<'static> {
        Tree {
            source: Cow::Owned(self.source.into_owned()),
            slots: self.slots,
            buffer: self.buffer,
            root: self.root,
        }
    }

    /// Turns a tree over a decoded form of `raw` into a tree over `raw`. `place` maps positions;
    /// all text moves to the buffer.
    pub(crate) fn rebase<'r>(mut self, raw: &'r str, place: impl Fn(u32) -> u32) -> Tree<'r> {
        let shift = self.source.len() as u32;
        let mut buffer = self.source.into_owned();
        buffer.push_str(&self.buffer);
        for slot in self.slots.iter_mut() {
            if matches!(slot.kind, Kind::String | Kind::Number) {
                slot.head += if slot.text == TextStore::Buffer {
                    shift
                } else {
                    0
                };
                slot.text = TextStore::Buffer;
            }
            slot.start = place(slot.start);
            slot.end = place(slot.end);
        }
        Tree {
            source: Cow::Borrowed(raw),
            slots: self.slots,
            buffer,
            root: self.root,
        }
    }

    pub(crate) fn node(&self, id: Id) -> Node<'_> {
        Node::new(self, id)
    }

    #[inline]
    pub(crate) fn slot(&self, id: Id) -> &Slot {
        &self.slots[id as usize]
    }

    /// The text of a scalar slot. Offsets are made by the parser or by an edit, always on
    /// character boundaries; a foreign one reads as empty instead of panicking.
    #[inline]
    pub(crate) fn text_of(&self, slot: &Slot) -> &str {
        let range = Range {
            start: slot.head as usize,
            end: slot.head as usize + slot.size as usize,
        };
        match slot.text {
            TextStore::Source => self.source.get(range).unwrap_or_default(),
            TextStore::Buffer => self.buffer.get(range).unwrap_or_default(),
        }
    }

    /// The bytes of a scalar slot's text, which are not looked at for character boundaries.
    #[inline]
    pub(crate) fn bytes_of(&self, slot: &Slot) -> &[u8] {
        let all = match slot.text {
            TextStore::Source => self.source.as_bytes(),
            TextStore::Buffer => self.buffer.as_bytes(),
        };
        let head = slot.head as usize;
        all.get(head..head + slot.size as usize).unwrap_or_default()
    }

    /// Returns true if this is the text of a scalar slot. The length alone decides most of the time.
    #[inline]
    pub(crate) fn is_text(&self, slot: &Slot, text: &[u8]) -> bool {
        slot.size as usize == text.len() && self.bytes_of(slot) == text
    }
}

/// Two trees are equal if they have the same strings, the same digits and the same order.
impl PartialEq for Tree<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.root() == other.root()
    }
}
