//! The fast path: the plain part of a schema, compiled into checks that run over the tree's slots.
//!
//! Nearly every call is good, and nearly every tool's schema is objects, lists and scalars with a
//! few bounds. For these the fast path walks the tree once, without the validator's dynamic calls
//! and without copying what an error might have to report. It only ever says that a value surely
//! matches. Everything it is not sure of (`5.0` for an integer, a bound that floats cannot decide)
//! goes to the validator, which alone refuses. Keywords that the fast path does not know go to
//! small validators of their own ([`CombinedChecks::other_keywords`]).
//!
//! Builds with debug assertions check every acceptance against the validator.

mod branches;
mod compile;
mod key_table;
mod keyword_groups;
mod references;
mod string_formats;

use jsonschema::Validator;
use serde_json::Value;

use key_table::KeyTable;
use string_formats::StringRecognizer;

use crate::names::same_name;
use crate::tree::{Kind, Node, Slot, Tree, is_written_as_integer};
use crate::validate::{TreeArray, TreeJson, equals, spend};

/// The compiled checks of a schema.
#[derive(Debug)]
pub(crate) struct FastPath {
    /// The first check is that of the root.
    checks: Box<[ValueCheck]>,
    /// True if a key that may be a declared one misspelt is never overlooked.
    pub(crate) sees_every_key: bool,
}

/// The index of a check.
type CheckId = u32;

/// What one subschema demands. Small, since every value is looked at with one of these.
#[derive(Debug)]
struct ValueCheck {
    /// The kinds that are allowed, one bit each.
    kinds: u8,
    /// True if there is nothing to look at but the kind.
    kinds_only: bool,
    integers_only: bool,
    /// True if the same keywords refuse less in some drafts, so that failing this check proves
    /// nothing.
    cannot_reject: bool,
    number: Option<Box<NumberRange>>,
    /// The least and most characters of a string.
    length: Option<(u32, u32)>,
    array: Option<Box<ArrayCheck>>,
    object: Option<Box<ObjectCheck>>,
    /// Rare keywords, kept apart so that a check stays small.
    combined: Option<Box<CombinedChecks>>,
}

/// Keywords that are not about one kind of value alone, and those that the fast path does not know.
#[derive(Debug, Default)]
struct CombinedChecks {
    /// `enum` and `const`.
    values: Option<AllowedValues>,
    /// `$ref` and `allOf`.
    all: Box<[CheckId]>,
    /// `anyOf`.
    any: Option<Box<[CheckId]>>,
    /// `oneOf`.
    one: Option<Box<[CheckId]>>,
    condition: Option<Conditional>,
    /// `format` and `pattern`.
    strings: Box<[StringCheck]>,
    other_keywords: Option<Box<Validator<TreeJson>>>,
}

/// The values of `enum` and `const`.
#[derive(Debug)]
enum AllowedValues {
    /// Strings alone, found like keys.
    Texts(KeyTable),
    Any(Box<[Value]>),
}

/// A keyword about strings: usual values are recognized, the validator checks the others.
#[derive(Debug)]
struct StringCheck {
    recognizer: StringRecognizer,
    validator: Box<Validator<TreeJson>>,
}

/// Bounds of a number, each a float that holds the schema's number exactly, and whether the bound
/// itself is allowed.
#[derive(Debug, Default)]
struct NumberRange {
    least: Option<(f64, bool)>,
    most: Option<(f64, bool)>,
    /// The value of `multipleOf`.
    step: Option<f64>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
struct Conditional {
    test: CheckId,
    then: Option<CheckId>,
    otherwise: Option<CheckId>,
}

#[derive(Debug)]
struct ArrayCheck {
    size: (u32, u32),
    unique: bool,
    element: Option<CheckId>,
}

#[derive(Debug)]
struct ObjectCheck {
    size: (u32, u32),
    /// The declared members, with their checks.
    names: KeyTable,
    /// The bits of the names that are required.
    required: u64,
    extra: ExtraMembers,
}

/// What becomes of members that are not declared.
#[derive(Clone, Copy, Debug)]
enum ExtraMembers {
    /// Allowed, in an object that declares no names.
    Allowed,
    /// Allowed, unless they may be declared ones misspelt.
    Open,
    Refused,
    Checked(CheckId),
}

fn bit(kind: Kind) -> u8 {
    1 << kind as u8
}

fn within(size: u32, (least, most): (u32, u32)) -> bool {
    least <= size && size <= most
}

impl FastPath {
    /// Compiles a document, if it has a fast path; `build` makes a validator like the document's own.
    pub(crate) fn new(
        document: &Value,
        asserts_formats: bool,
        build: &dyn Fn(&Value) -> Option<Validator<TreeJson>>,
    ) -> Option<Self> {
        compile::compile(document, asserts_formats, build)
    }

    /// Returns true if this value surely matches; false proves nothing.
    pub(crate) fn accepts(&self, node: Node<'_>) -> bool {
        let walk = FastPathRun {
            checks: &self.checks,
            tree: node.tree,
            source: node.tree.source.as_bytes(),
        };
        walk.check(0, node.id, node.slot())
    }
}

/// One value that is being checked.
struct FastPathRun<'w> {
    checks: &'w [ValueCheck],
    tree: &'w Tree<'w>,
    source: &'w [u8],
}

impl FastPathRun<'_> {
    // Inlined into every loop, so that a plain value costs no call.
    #[inline(always)]
    fn check(&self, at: CheckId, id: u32, slot: &Slot) -> bool {
        let Some(check) = self.checks.get(at as usize) else {
            return false;
        };
        check.kinds & bit(slot.kind) != 0
            && (check.kinds_only || self.check_details(check, id, slot))
    }

    #[inline(never)]
    fn check_details(&self, check: &ValueCheck, id: u32, slot: &Slot) -> bool {
        let fits = match slot.kind {
            Kind::Object => match &check.object {
                Some(object) => self.object(object, slot),
                None => true,
            },
            Kind::Array => match &check.array {
                Some(array) => self.array(array, id, slot),
                None => true,
            },
            Kind::String => check
                .length
                .is_none_or(|length| has_length(self.tree, slot, length)),
            Kind::Number => check_number(check, self.tree, slot),
            Kind::Null | Kind::Boolean => true,
        };
        fits && (check.combined.as_deref()).is_none_or(|check| self.combined(check, id, slot))
    }

    #[inline(never)]
    fn combined(&self, check: &CombinedChecks, id: u32, slot: &Slot) -> bool {
        let tree = self.tree;
        let node = Node { tree, id };
        if let Some(values) = &check.values {
            let found = match values {
                AllowedValues::Texts(texts) => {
                    slot.kind == Kind::String && texts.find(tree, self.source, slot).is_some()
                }
                AllowedValues::Any(values) => values.iter().any(|value| equals(node, value)),
            };
            if !found {
                return false;
            }
        }
        if slot.kind == Kind::String {
            for StringCheck {
                recognizer,
                validator,
            } in &check.strings
            {
                let text = tree.text_of(slot).as_bytes();
                if !recognizer.recognizes(text) && !validator.is_valid(node) {
                    return false;
                }
            }
        }
        // Branches in branches can double the work at each level, so each one is counted.
        let branch = |at: &CheckId| spend() && self.check(*at, id, slot);
        (check.all.iter()).all(|at| self.check(*at, id, slot))
            && (check.any.as_deref()).is_none_or(|branches| branches.iter().any(branch))
            && (check.one.as_deref()).is_none_or(|branches| self.exactly_one(branches, id, slot))
            && (check.condition.as_ref()).is_none_or(|c| self.condition(c, id, slot))
            && (check.other_keywords.as_deref()).is_none_or(|other| other.is_valid(node))
    }

    #[inline(never)]
    fn array(&self, array: &ArrayCheck, id: u32, slot: &Slot) -> bool {
        let unique = || TreeArray(self.tree.node(id)).has_no_repeats();
        if !within(slot.size, array.size) || (array.unique && !unique()) {
            return false;
        }
        let Some(element) = array.element else {
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
    fn object(&self, object: &ObjectCheck, slot: &Slot) -> bool {
        if !within(slot.size, object.size) {
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
            let name = object.names.find(self.tree, self.source, key);
            let at = match (name, object.extra) {
                (Some(name), _) => {
                    found |= name.bit;
                    name.check
                }
                (None, ExtraMembers::Checked(at)) => at,
                (None, ExtraMembers::Refused) => return false,
                (None, ExtraMembers::Allowed) => continue,
                (None, ExtraMembers::Open) => {
                    if self.may_be_meant_otherwise(object, slot, key) {
                        return false;
                    }
                    continue;
                }
            };
            if !self.check(at, id, value) {
                return false;
            }
        }
        found & object.required == object.required
    }

    /// Returns true if a key that is not declared may be a declared one misspelt, or if the object
    /// may be an envelope around the arguments.
    #[cold]
    #[inline(never)]
    fn may_be_meant_otherwise(&self, object: &ObjectCheck, slot: &Slot, key: &Slot) -> bool {
        let text = self.tree.text_of(key);
        if object.names.texts().any(|name| same_name(text, name)) {
            return true;
        }
        if slot.size > 4 {
            return false;
        }
        let (mut declared, mut holds) = (false, false);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = self.tree.slot(next);
            let value = self.tree.slot(key.next);
            declared |= object.names.find(self.tree, self.source, key).is_some();
            holds |= match value.kind {
                Kind::Object => true,
                Kind::String => self.tree.text_of(value).starts_with('{'),
                _ => false,
            };
            next = value.next;
        }
        holds && !declared
    }
}

#[inline(never)]
fn check_number(check: &ValueCheck, tree: &Tree<'_>, slot: &Slot) -> bool {
    if !check.integers_only && check.number.is_none() {
        return true;
    }
    let digits = tree.text_of(slot);
    let Some(range) = check.number.as_deref() else {
        return is_written_as_integer(digits);
    };
    // The nearest float is on the same side of a bound as the number, or is the bound.
    let small = digits.parse::<i32>();
    if check.integers_only && small.is_err() && !is_written_as_integer(digits) {
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

/// Returns true if this number is surely a multiple of a step that is a whole number of eighths. A
/// float tells numbers of so few digits apart, and the remainder of two floats is exact.
fn is_multiple(digits: &str, number: f64, step: f64) -> bool {
    digits.len() <= 15 && number.abs() < 1e9 && number % step == 0.0
}

/// Returns true if the string's number of characters is within these bounds.
#[inline(never)]
fn has_length(tree: &Tree<'_>, slot: &Slot, (least, most): (u32, u32)) -> bool {
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

    use crate::schema::{FastAnswer, Schema};
    use crate::tree::Tree;

    /// The benchmark's calls are plain ones, so the fast path decides every valid one.
    #[test]
    fn fast_path_accepts_every_valid_benchmark_call() {
        let rows = include_str!("../../../benches/calls.jsonl");
        for row in rows.lines() {
            let row: Value = serde_json::from_str(row).expect("a row");
            let asserting = Schema::options().formats(true);
            let schema = asserting.compile(&row["schema"]).expect("a schema");
            for (list, expected) in [
                ("valid", FastAnswer::Accepts),
                ("invalid", FastAnswer::Unsure),
            ] {
                for call in row[list].as_array().expect("calls") {
                    let text = call.to_string();
                    let tree = Tree::parse(&text).expect("JSON");
                    let answer = schema.fast_accepts(tree.root());
                    assert_eq!(answer, expected, "{} {text}", row["name"]);
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
                if schema.fast_accepts(tree.root()) == FastAnswer::Accepts {
                    sure += 1;
                    assert!(schema.validator_accepts(tree.root()), "{keyword} {value}");
                }
            }
        }
        assert!(sure > 1_000, "{sure}");
    }
}
