//! A short way to `yes`: the plain part of a schema as a compact program over the tree's slots.
//!
//! Nearly every call is good, and nearly every tool's schema is objects, lists and scalars with a
//! few bounds. For these the program walks the tree once, without the validator's calls through
//! tables and its copies of what it may have to report. It only ever says that a value surely
//! matches. Whatever it is not sure of (`5.0` for an integer, a bound that floats cannot tell)
//! is left to the validator, which alone can refuse; so are keywords that the program does not
//! know, each in a small validator of its own ([`Check::rest`]).
//!
//! Builds with debug assertions ask the validator about every `yes`.

mod compile;
mod key_table;
mod reject;
mod string_formats;

use jsonschema::Validator;
use serde_json::Value;

use key_table::Names;
use string_formats::Witness;

use crate::tree::{Kind, Node, Slot, Tree, is_written_as_integer};
use crate::validate::{Lean, LeanArray, equals, spend};

/// The checks of a schema; the first is that of the root.
#[derive(Debug)]
pub(crate) struct Quick(Box<[Check]>);

/// A check in its program.
type At = u32;

/// What one subschema wants. Small, since every value is looked at with one of these.
#[derive(Debug)]
struct Check {
    /// The kinds that it admits, a bit each.
    kinds: u8,
    /// There is nothing else to look at.
    plain: bool,
    /// Numbers must be whole.
    whole: bool,
    /// The same keywords refuse less in some dialects: only a yes is sure.
    loose: bool,
    number: Option<Box<Range>>,
    /// Characters of a string.
    length: Option<(u32, u32)>,
    array: Option<Box<List>>,
    object: Option<Box<Record>>,
    /// What is rare.
    more: Option<Box<More>>,
}

/// What is not about one kind of value alone, and keywords that the program does not know.
#[derive(Debug, Default)]
struct More {
    values: Option<Values>,
    /// Other checks of the same value.
    all: Box<[At]>,
    /// Of each of these one at least must say yes to the same value.
    any: Box<[Box<[At]>]>,
    /// Of these exactly one must.
    one: Option<Box<[At]>>,
    /// What the same value must be besides, by what it is.
    when: Option<When>,
    /// Formats and patterns.
    sure: Box<[Sure]>,
    /// Keywords that the program does not know.
    rest: Option<Box<Validator<Lean>>>,
}

/// The values of `enum` and `const`.
#[derive(Debug)]
enum Values {
    /// Strings, found like names.
    Texts(Names),
    Any(Box<[Value]>),
}

/// A keyword about strings: what is seen at once, and what takes the validator.
#[derive(Debug)]
struct Sure {
    witness: Witness,
    validator: Box<Validator<Lean>>,
}

/// Bounds of a number, each a float that holds the schema's number exactly.
#[derive(Debug, Default)]
struct Range {
    least: Option<(f64, bool)>,
    most: Option<(f64, bool)>,
    /// What the number must be a multiple of.
    step: Option<f64>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
struct When {
    test: At,
    then: Option<At>,
    otherwise: Option<At>,
}

#[derive(Debug)]
struct List {
    size: (u32, u32),
    unique: bool,
    element: Option<At>,
}

#[derive(Debug)]
struct Record {
    size: (u32, u32),
    /// Each with its check.
    names: Names,
    /// The names that must be there, a bit each.
    required: u64,
    extra: Extra,
}

/// Members of other names.
#[derive(Clone, Copy, Debug)]
enum Extra {
    Allowed,
    Refused,
    Checked(At),
}

fn bit(kind: Kind) -> u8 {
    1 << kind as u8
}

fn within(size: u32, (least, most): (u32, u32)) -> bool {
    least <= size && size <= most
}

impl Quick {
    /// The program of a document, if it has one; `build` makes a validator like the document's.
    pub(crate) fn new(
        document: &Value,
        build: &dyn Fn(&Value) -> Option<Validator<Lean>>,
    ) -> Option<Self> {
        compile::compile(document, build)
    }

    /// Does this value surely match? If not, the validator knows.
    pub(crate) fn admits(&self, node: Node<'_>) -> bool {
        let walk = Walk {
            checks: &self.0,
            tree: node.tree,
            source: node.tree.source.as_bytes(),
        };
        walk.check(0, node.id, node.slot())
    }
}

/// One value on its way through a program.
struct Walk<'w> {
    checks: &'w [Check],
    tree: &'w Tree<'w>,
    source: &'w [u8],
}

impl Walk<'_> {
    // Part of every loop, so that a plain value costs no call.
    #[inline(always)]
    fn check(&self, at: At, id: u32, slot: &Slot) -> bool {
        let Some(check) = self.checks.get(at as usize) else {
            return false;
        };
        check.kinds & bit(slot.kind) != 0 && (check.plain || self.closer(check, id, slot))
    }

    #[inline(never)]
    fn closer(&self, check: &Check, id: u32, slot: &Slot) -> bool {
        let fits = match slot.kind {
            Kind::Object => match &check.object {
                Some(record) => self.record(record, slot),
                None => true,
            },
            Kind::Array => match &check.array {
                Some(list) => self.list(list, id, slot),
                None => true,
            },
            Kind::String => check
                .length
                .is_none_or(|most| is_long(self.tree, slot, most)),
            Kind::Number => is_number(check, self.tree, slot),
            Kind::Null | Kind::Boolean => true,
        };
        fits && (check.more.as_deref()).is_none_or(|more| self.more(more, id, slot))
    }

    #[inline(never)]
    fn more(&self, check: &More, id: u32, slot: &Slot) -> bool {
        let tree = self.tree;
        let node = Node { tree, id };
        if let Some(values) = &check.values {
            let found = match values {
                Values::Texts(texts) => {
                    slot.kind == Kind::String && texts.find(tree, self.source, slot).is_some()
                }
                Values::Any(values) => values.iter().any(|value| equals(node, value)),
            };
            if !found {
                return false;
            }
        }
        if slot.kind == Kind::String {
            for Sure { witness, validator } in &check.sure {
                let text = tree.text_of(slot).as_bytes();
                if !witness.is_sure(text) && !validator.is_valid(node) {
                    return false;
                }
            }
        }
        let rest = |rest: &Validator<Lean>| rest.is_valid(node);
        // Branches in branches can double at each level: these are counted.
        let branch = |at: &At| spend() && self.check(*at, id, slot);
        (check.all.iter()).all(|at| self.check(*at, id, slot))
            && (check.any.iter()).all(|branches| branches.iter().any(branch))
            && (check.one.as_deref()).is_none_or(|branches| self.is_one(branches, id, slot))
            && (check.when.as_ref()).is_none_or(|when| self.is_when(when, id, slot))
            && check.rest.as_deref().is_none_or(rest)
    }

    #[inline(never)]
    fn list(&self, list: &List, id: u32, slot: &Slot) -> bool {
        let unique = || LeanArray(self.tree.node(id)).has_no_repeats();
        if !within(slot.size, list.size) || (list.unique && !unique()) {
            return false;
        }
        let Some(element) = list.element else {
            return true;
        };
        self.elements(slot)
            .all(|(id, slot)| self.check(element, id, slot))
    }

    /// The elements of an array.
    #[inline]
    fn elements(&self, slot: &Slot) -> impl Iterator<Item = (u32, &Slot)> {
        let mut next = slot.head;
        (0..slot.size).map(move |_| {
            let id = next;
            let slot = self.tree.slot(id);
            next = slot.next;
            (id, slot)
        })
    }

    #[inline(never)]
    fn record(&self, record: &Record, slot: &Slot) -> bool {
        if !within(slot.size, record.size) {
            return false;
        }
        let mut found = 0_u64;
        let mut next = slot.head;
        let mut left = slot.size;
        while left > 0 {
            left -= 1;
            let key = self.tree.slot(next);
            let id = key.next;
            let value = self.tree.slot(id);
            next = value.next;
            let name = record.names.find(self.tree, self.source, key);
            let at = match (name, record.extra) {
                (Some(name), _) => {
                    found |= name.bit;
                    name.check
                }
                (None, Extra::Checked(at)) => at,
                (None, Extra::Refused) => return false,
                (None, Extra::Allowed) => continue,
            };
            if !self.check(at, id, value) {
                return false;
            }
        }
        found & record.required == record.required
    }
}

#[inline(never)]
fn is_number(check: &Check, tree: &Tree<'_>, slot: &Slot) -> bool {
    if !check.whole && check.number.is_none() {
        return true;
    }
    let digits = tree.text_of(slot);
    let Some(range) = check.number.as_deref() else {
        return is_written_as_integer(digits);
    };
    // The nearest float is on the same side of a bound as the number, or is the bound.
    let small = digits.parse::<i32>();
    if check.whole && small.is_err() && !is_written_as_integer(digits) {
        return false;
    }
    let number = match small {
        Ok(whole) => f64::from(whole),
        Err(_) => digits.parse().unwrap_or(f64::NAN),
    };
    // Equal to a bound only if nothing was rounded.
    let beyond = |number: f64, (bound, included): (f64, bool)| {
        number > bound || (number == bound && included && small.is_ok())
    };
    number.is_finite()
        && range.least.is_none_or(|least| beyond(number, least))
        && (range.most).is_none_or(|(most, included)| beyond(-number, (-most, included)))
        && (range.step).is_none_or(|step| is_multiple(digits, number, step))
}

/// Is this number surely a multiple of a step of some eighths? So few digits are held apart from
/// all others by a float, and the remainder of two floats is exact.
fn is_multiple(digits: &str, number: f64, step: f64) -> bool {
    digits.len() <= 15 && number.abs() < 1e9 && number % step == 0.0
}

/// Has the string a number of characters within these?
#[inline(never)]
fn is_long(tree: &Tree<'_>, slot: &Slot, (least, most): (u32, u32)) -> bool {
    // A character has one to four bytes, so that most strings need not be counted.
    if slot.size.div_ceil(4) >= least && slot.size <= most {
        return true;
    }
    let count = tree.text_of(slot).chars().count() as u32;
    within(count, (least, most))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::Schema;
    use crate::tree::Tree;

    /// The calls of the benchmark are plain ones: the program says yes to every valid one, and to
    /// no other.
    #[test]
    fn plain_calls_are_seen_at_once() {
        let rows = include_str!("../../../benches/calls.jsonl");
        for row in rows.lines() {
            let row: Value = serde_json::from_str(row).expect("a row");
            let schema = Schema::compile(&row["schema"]).expect("a schema");
            for (list, sure) in [("valid", true), ("invalid", false)] {
                for call in row[list].as_array().expect("calls") {
                    let text = call.to_string();
                    let tree = Tree::parse(&text).expect("JSON");
                    let said = schema.surely_accepts(tree.root());
                    assert_eq!(said, Some(sure), "{} {text}", row["name"]);
                }
            }
        }
    }

    const VALUES: &[&str] = &[
        "0",
        "5",
        "5.0",
        "5.5",
        "-5",
        "4.999999999999999999",
        "5.000000000000000001",
        "1e400",
        "5e0",
        "9007199254740993",
        "null",
        "true",
        "\"\"",
        "\"a\"",
        "\"\\u0061\"",
        "\"aé\"",
        "\"éééé\"",
        "[]",
        "[1]",
        "[1,1.0]",
        "[\"a\",\"a\"]",
        "[[1],[1.0]]",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,\"b\":\"x\"}",
        "{\"n\":1,\"l\":{\"n\":2}}",
        "{\"n\":1,\"l\":{\"n\":2.5}}",
        "{\"\\u0061\":1}",
        "{\"a\":1,\"a\":\"x\"}",
        "{\"a_rather_long_name\":1}",
    ];
    const KEYWORDS: &[&str] = &[
        r#"{"type": "integer"}"#,
        r#"{"type": ["integer", "null"]}"#,
        r#"{"type": "number"}"#,
        r#"{"minimum": 5}"#,
        r#"{"exclusiveMinimum": 5}"#,
        r#"{"maximum": 5}"#,
        r#"{"exclusiveMaximum": 5}"#,
        r#"{"minimum": 4.5, "maximum": 5.5}"#,
        r#"{"type": "integer", "minimum": 5, "maximum": 9007199254740992}"#,
        r#"{"multipleOf": 2.5}"#,
        r#"{"multipleOf": 5, "minimum": 0}"#,
        r#"{"multipleOf": 0.1}"#,
        r#"{"minLength": 2}"#,
        r#"{"maxLength": 2}"#,
        r#"{"minLength": 4, "maxLength": 4}"#,
        r#"{"pattern": "^a"}"#,
        r#"{"format": "email"}"#,
        r#"{"enum": ["a", ""]}"#,
        r#"{"enum": ["a", 5, [1]]}"#,
        r#"{"const": {"a": 1}}"#,
        r#"{"minItems": 1, "maxItems": 1}"#,
        r#"{"uniqueItems": true}"#,
        r#"{"items": {"type": "integer"}}"#,
        r#"{"items": false}"#,
        r#"{"prefixItems": [{"type": "string"}], "items": {"type": "string"}}"#,
        r#"{"required": ["a"]}"#,
        r#"{"required": ["a"], "additionalProperties": false}"#,
        r#"{"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}"#,
        r#"{"properties": {"a_rather_long_name": {"type": "string"}}}"#,
        r#"{"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}"#,
        r#"{"minProperties": 2}"#,
        r#"{"maxProperties": 0}"#,
        r##"{"$ref": "#/$defs/tree"}"##,
        r##"{"$ref": "#/$defs/loop"}"##,
        r##"{"$ref": "#/$defs/tree", "maxProperties": 1}"##,
        r#"{"anyOf": [{"type": "string"}, {"minimum": 6}]}"#,
        r#"{"allOf": [{"type": "number"}, {"maximum": 4}]}"#,
        r#"{"oneOf": [{"type": "integer"}, {"minimum": 5}]}"#,
        r#"{"oneOf": [{"type": "integer"}, {"type": "string", "minLength": 1}, {"type": "null"}]}"#,
        r#"{"oneOf": [{"const": "a"}, {"enum": ["", "aé"]}, {"enum": ["a"]}]}"#,
        r#"{"oneOf": [{"required": ["a"]}, {"required": ["n"]}]}"#,
        r#"{"oneOf": [{"required": ["a"]}, {"required": ["a", "b"]}]}"#,
        r#"{"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]}"#,
        r#"{"oneOf": [{"properties": {"a": true}, "additionalProperties": false}, {"type": "object", "minProperties": 2}]}"#,
        r#"{"oneOf": [{"items": {"type": "integer"}}, {"items": {"type": "string"}, "minItems": 2}]}"#,
        r##"{"oneOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree", "type": "array"}]}"##,
        r#"{"oneOf": [{"oneOf": [{"type": "string"}, {"type": "null"}]}, {"allOf": [{"type": "number"}]}, {"anyOf": [{"type": "array"}, {"maxProperties": 1, "type": "object"}]}]}"#,
        r#"{"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"type": ["number", "object"]}}"#,
        r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
        r#"{"then": false, "else": false}"#,
        r#"{"not": {"type": "object"}}"#,
        r#"{"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "number"}}"#,
        r#"{"properties": {"a": true}, "unevaluatedProperties": false}"#,
        r##"{"not": {"$ref": "#/$defs/tree"}}"##,
        r##"{"type": "object", "not": {"$ref": "#/$defs/root"}}"##,
        r##"{"items": {"$ref": "#", "unevaluatedItems": false}, "maxItems": 1}"##,
        r##"{"minItems": 1, "items": {"not": {"$ref": "#"}}}"##,
    ];

    /// Tries every value under every keyword.
    #[test]
    fn fast_path_agrees_with_validator() {
        let definitions = json!({
            "tree": {"properties": {"l": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}},
                "required": ["n"], "additionalProperties": false},
            "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "null"}]},
        });
        // A definition that means something else in another document, and one that does not.
        let roots = [json!({"not": {"$ref": "#"}}), json!({"type": "array"})];
        let mut sure = 0;
        for (keyword, root) in KEYWORDS
            .iter()
            .flat_map(|k| roots.iter().map(move |r| (k, r)))
        {
            let mut document: Value = serde_json::from_str(keyword).expect("JSON");
            document["$defs"] = definitions.clone();
            document["$defs"]["root"] = root.clone();
            let schema = Schema::compile(&document).expect("a schema");
            for value in VALUES {
                let tree = Tree::parse(value).expect("JSON");
                if schema.surely_accepts(tree.root()) == Some(true) {
                    sure += 1;
                    assert!(schema.truly_accepts(tree.root()), "{keyword} {value}");
                }
            }
        }
        assert!(sure > 1_000, "{sure}");
    }
}
