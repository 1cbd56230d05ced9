//! Adapts the tree to the `jsonschema` crate, which validates it without a copy.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};

use jsonschema::{JsonType, ValidationError};
use jsonschema_value::{
    Array, Json, JsonNumber, LazyInstance, Node as JsonNode, NodeIdentity, Object,
};
use serde_json::{Number, Value};

use super::budget::spend;
use crate::tree::{
    Decimal, Elements, Kind, Members, Node, Tree, is_integer, is_written_as_integer, to_number,
};

/// Names the tree as a JSON representation towards the validator.
pub(crate) struct TreeJson;

impl Json for TreeJson {
    type Node<'a> = Node<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = Option<Tree<'static>>;

    // A lookup walks the members, so one pass over them replaces any number of lookups.
    const KEYS_PER_LOOKUP: usize = 8;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(
        buffer: &mut Option<Tree<'static>>,
        string: &str,
        f: impl FnOnce(Node<'_>) -> T,
    ) -> T {
        f(buffer.insert(Tree::of_string(string)).root())
    }
}

impl<'a> JsonNode<'a, TreeJson> for Node<'a> {
    type Object = TreeObject<'a>;
    type Array = TreeArray<'a>;
    type Number = TreeNumber<'a>;

    #[inline]
    fn as_object(&self) -> Option<TreeObject<'a>> {
        (self.kind() == Kind::Object && spend()).then(|| TreeObject {
            node: *self,
            asked: Cell::new(0),
            index: OnceCell::new(),
        })
    }

    #[inline]
    fn as_array(&self) -> Option<TreeArray<'a>> {
        (self.kind() == Kind::Array && spend()).then_some(TreeArray(*self))
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        Node::as_str(*self).map(Cow::Borrowed)
    }

    #[inline]
    fn as_number(&self) -> Option<TreeNumber<'a>> {
        self.digits().map(TreeNumber)
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    #[inline]
    fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::Boolean => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equals(*self, expected)
    }

    /// Converts the value for annotations, which nothing reads. A number that does not fit becomes a
    /// string of its digits.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(lossless(*self))
    }

    /// Errors carry no copy of the value, since it is found in the tree by its pointer. Only a key,
    /// which is checked as a string of its own, has no place in the tree.
    fn lazy_value(&self) -> LazyInstance<'a> {
        LazyInstance::Ready(match self.as_str() {
            _ if !spend() => Cow::Borrowed(&AFTER_EXHAUSTION),
            Some(key) if self.tree.is_lone_string() => Cow::Owned(Value::from(key)),
            _ => Cow::Borrowed(&Value::Null),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let address = std::ptr::from_ref(self.tree) as usize;
        Some(NodeIdentity::tagged(address, self.id))
    }
}

/// The instance of errors that were made after the budget ran out. The instance is all that an
/// adapter can attach to an error, and otherwise it is `null` or a key, so that `true` is free to
/// mean this.
static AFTER_EXHAUSTION: Value = Value::Bool(true);

/// Returns true if the validator made this error after the budget ran out.
pub(super) fn is_after_exhaustion(error: &ValidationError<'_>) -> bool {
    matches!(**error.instance(), Value::Bool(true))
}

fn lossless(node: Node<'_>) -> Value {
    match node.kind() {
        Kind::Null => Value::Null,
        Kind::Boolean => Value::Bool(node.as_bool() == Some(true)),
        Kind::String => Value::from(node.as_str().expect("a string has a text")),
        Kind::Number => {
            let digits = node.digits().expect("a number has digits");
            to_number(digits).map_or_else(|| Value::from(digits), Value::Number)
        }
        Kind::Array => node.elements().map(lossless).collect(),
        Kind::Object => {
            let members = node.members();
            members.map(|(key, value)| (key, lossless(value))).collect()
        }
    }
}

/// Compares as JSON Schema does: numbers by value, members in any order.
pub(crate) fn equals(node: Node<'_>, expected: &Value) -> bool {
    match expected {
        Value::Null => node.is_null(),
        Value::Bool(truth) => node.as_bool() == Some(*truth),
        Value::String(text) => node.as_str() == Some(text),
        Value::Number(number) => node
            .digits()
            .is_some_and(|digits| same_number(digits, number)),
        Value::Array(items) => {
            node.kind() == Kind::Array
                && node.len() == items.len()
                && node
                    .elements()
                    .zip(items)
                    .all(|(node, item)| equals(node, item))
        }
        Value::Object(map) => {
            node.kind() == Kind::Object
                && node.len() == map.len()
                && node
                    .members()
                    .all(|(key, value)| map.get(key).is_some_and(|v| equals(value, v)))
        }
    }
}

fn same_number(digits: &str, number: &Number) -> bool {
    if let (Ok(ours), Some(theirs)) = (digits.parse::<u64>(), number.as_u64()) {
        return ours == theirs;
    }
    let theirs = number.to_string();
    Decimal::parse(digits).is_some_and(|ours| Some(ours) == Decimal::parse(&theirs))
}

/// The number of members up to which each lookup walks them; an object with more gets an index.
const WALKED: usize = 32;
/// The number of lookups in a wide object after which an index pays.
const LOOKUPS: u32 = 8;

pub(crate) struct TreeObject<'a> {
    node: Node<'a>,
    /// Lookups so far in a wide object.
    asked: Cell<u32>,
    /// The members by key, once they are looked up often. Without it, thousands of required names in
    /// an object with thousands of members would cost their product.
    index: OnceCell<HashMap<&'a str, Node<'a>>>,
}

impl<'a> TreeObject<'a> {
    #[inline(never)]
    fn get_in_many(&self, key: &str) -> Option<Node<'a>> {
        let asked = self.asked.get();
        if asked < LOOKUPS {
            self.asked.set(asked + 1);
            return self.node.get(key);
        }
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.node.len());
            for (key, value) in self.node.members() {
                // The first of two equal keys is the one that a walk finds.
                index.entry(key).or_insert(value);
            }
            index
        });
        index.get(key).copied()
    }
}

impl<'a> Object<'a, TreeJson> for TreeObject<'a> {
    type Node = Node<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    #[inline]
    fn len(&self) -> usize {
        self.node.len()
    }

    #[inline]
    fn get(&self, key: &Box<str>) -> Option<Node<'a>> {
        if self.node.len() <= WALKED {
            return self.node.get(key);
        }
        self.get_in_many(key)
    }

    #[inline]
    fn members(&self) -> Members<'a> {
        self.node.members()
    }
}

pub(crate) struct TreeArray<'a>(pub(crate) Node<'a>);

impl<'a> Array<'a, TreeJson> for TreeArray<'a> {
    type Node = Node<'a>;
    type ElementsIter = Elements<'a>;

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn elements(&self) -> Elements<'a> {
        self.0.elements()
    }

    fn is_unique(&self) -> bool {
        self.has_no_repeats()
    }
}

impl TreeArray<'_> {
    /// Returns true if no two elements are equal. Few elements are compared with each other, which
    /// needs no text where kinds or lengths differ; many by their canonical texts.
    pub(crate) fn has_no_repeats(&self) -> bool {
        if self.0.len() <= 8 {
            let mut rest = self.0.elements();
            while let Some(element) = rest.next() {
                if rest.clone().any(|other| is_same(element, other)) {
                    return false;
                }
            }
            return true;
        }
        let mut seen = HashSet::with_capacity(self.0.len());
        self.0
            .elements()
            .all(|element| seen.insert(canonical(element)))
    }
}

/// Returns true if two values are equal in JSON Schema's sense.
fn is_same(one: Node<'_>, other: Node<'_>) -> bool {
    if one.kind() != other.kind() || one.len() != other.len() {
        return false;
    }
    match one.kind() {
        Kind::String => one.as_str() == other.as_str(),
        Kind::Array => one
            .elements()
            .zip(other.elements())
            .all(|(a, b)| is_same(a, b)),
        _ => canonical(one) == canonical(other),
    }
}

/// Writes a text that two values share exactly if they are equal in JSON Schema's sense.
pub(crate) fn canonical(node: Node<'_>) -> String {
    let mut out = String::new();
    write_canonical(node, &mut out);
    out
}

fn write_canonical(node: Node<'_>, out: &mut String) {
    match node.kind() {
        Kind::Number => {
            let digits = node.digits().expect("a number has digits");
            match Decimal::parse(digits) {
                Some(decimal) => decimal.write_canonical(out),
                None => out.push_str(digits),
            }
        }
        Kind::Array => {
            out.push('[');
            for element in node.elements() {
                write_canonical(element, out);
                out.push(',');
            }
            out.push(']');
        }
        Kind::Object => {
            let mut members: Vec<_> = node.members().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in members {
                crate::tree::write_string(key, out);
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        _ => node.write(out),
    }
}

/// A number, by its digits.
pub(crate) struct TreeNumber<'a>(&'a str);

impl JsonNumber for TreeNumber<'_> {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        let nearest = || Number::from_f64(self.as_f64()?);
        let number = to_number(self.0).or_else(nearest);
        Cow::Owned(number.unwrap_or_else(|| Number::from(0)))
    }

    #[inline]
    fn is_integer(&self) -> bool {
        is_integer(self.0)
    }

    #[inline]
    fn is_written_as_integer(&self) -> bool {
        is_written_as_integer(self.0)
    }
}

#[cfg(test)]
mod tests {
    use jsonschema_value::conformance;

    use super::*;

    /// Runs the validator's own checks of a representation.
    #[test]
    fn tree_conforms_to_the_validators_contract() {
        let text = conformance::document().to_string();
        let tree = Tree::parse(&text).unwrap();
        conformance::assert_conformance::<TreeJson>(&tree.root());
    }

    #[test]
    fn numbers_are_compared_by_all_their_digits() {
        let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let tree = Tree::parse("[9007199254740993, 100, 1e2, 12345678901234567890123]").unwrap();
        let same = |index, value| equals(tree.root().element(index).unwrap(), &schema(value));
        assert!(same(0, "9007199254740993") && !same(0, "9007199254740992"));
        assert!(same(1, "1e2") && same(2, "100") && !same(1, "101"));
        assert!(
            !same(3, "12345678901234567890123"),
            "the schema's number was rounded by serde"
        );
    }
}
