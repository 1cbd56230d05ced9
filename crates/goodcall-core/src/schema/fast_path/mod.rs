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
mod compile_containers;
mod key_table;
mod keyword_groups;
mod references;
mod string_formats;

use jsonschema::Validator;
use serde_json::Value;

pub(crate) use key_table::BYTE_MASKS;
use key_table::KeyTable;
use string_formats::{SimplePattern, StringRecognizer};

use super::misspelt::NameIndex;
use super::options::Draft;
use crate::names::{same_name, spelling_bits};
use crate::tree::{Kind, Node, Slot, Tree, is_written_as_integer};
use crate::validate::{TreeArray, TreeJson, equals, spend};

/// The compiled checks of a schema.
#[derive(Debug)]
pub(crate) struct FastPath {
    /// The first check is that of the root.
    checks: Box<[ValueCheck]>,
    pub(crate) spelling: SpellingSearch,
}

/// How keys are found that may be declared ones misspelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpellingSearch {
    /// A key that an object does not declare is compared with those that it declares.
    OwnNames,
    /// It is compared with all names of the document, because the branches of a union declare
    /// different ones.
    AllNames,
    /// Every key is looked at afterwards, because some objects are left to the validator.
    EveryKey,
}

/// The index of a check.
type CheckId = u32;

/// What one subschema demands. Small, since every value is looked at with one of these.
#[derive(Debug)]
struct ValueCheck {
    /// The kinds that are allowed, one bit each.
    kinds: u8,
    /// True if the same keywords refuse less in some drafts, so that failing this check proves
    /// nothing.
    cannot_reject: bool,
    details: Details,
}

/// What has to be looked at besides the kind of a value.
#[derive(Debug)]
enum Details {
    Nothing,
    /// Of a string, if the value is one; likewise the next three.
    Text(Box<TextCheck>),
    Number(Box<NumberCheck>),
    Array(Box<ArrayCheck>),
    Object(Box<ObjectCheck>),
    /// Keywords about values of different kinds, or of any kind.
    Several(Box<SeveralChecks>),
}

#[derive(Debug, Default)]
struct SeveralChecks {
    text: Option<Box<TextCheck>>,
    number: Option<Box<NumberCheck>>,
    array: Option<Box<ArrayCheck>>,
    object: Option<Box<ObjectCheck>>,
    /// `enum` and `const`, unless they list strings alone.
    values: Option<Box<[Value]>>,
    /// `$ref` and `allOf`.
    all: Box<[CheckId]>,
    /// `anyOf`.
    any: Option<Box<[CheckId]>>,
    /// `oneOf`.
    one: Option<Box<[CheckId]>>,
    condition: Option<Conditional>,
    /// Keywords that the fast path does not know.
    other_keywords: Option<Box<Validator<TreeJson>>>,
}

#[derive(Debug)]
struct TextCheck {
    /// The strings that `enum` and `const` list, found like keys.
    values: Option<KeyTable>,
    /// The least and most characters.
    length: (u32, u32),
    /// `format` and `pattern`.
    forms: Box<[FormCheck]>,
}

/// A keyword about the form of strings: usual values are recognized, the validator checks the others.
#[derive(Debug)]
struct FormCheck {
    recognizer: StringRecognizer,
    validator: Box<Validator<TreeJson>>,
}

/// Bounds of a number, each a float that holds the schema's number exactly, and whether the bound
/// itself is allowed.
#[derive(Debug, Default)]
struct NumberCheck {
    integers_only: bool,
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
    /// The checks of the first elements.
    first: Box<[CheckId]>,
    /// The check of all others.
    element: Option<CheckId>,
}

#[derive(Debug)]
struct ObjectCheck {
    size: (u32, u32),
    /// The declared members, with their checks.
    names: KeyTable,
    /// The bits of the names that are required.
    required: u64,
    /// The bits of all names that a key which is not declared may be meant as.
    spellings: u64,
    patterns: PatternChecks,
    /// What becomes of members that no name and no pattern is for.
    extra: ExtraMembers,
}

/// Patterns of keys, with the checks of their members.
type PatternChecks = Box<[(SimplePattern, CheckId)]>;

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
        draft: Draft,
        asserts_formats: bool,
        build: &dyn Fn(&Value) -> Option<Validator<TreeJson>>,
    ) -> Option<Self> {
        compile::compile(document, draft, asserts_formats, build)
    }

    /// Returns true if this value surely matches; false proves nothing. `names` are those of the
    /// document, for [`SpellingSearch::AllNames`].
    pub(crate) fn accepts(&self, node: Node<'_>, names: Option<&NameIndex>) -> bool {
        let walk = FastPathRun {
            checks: &self.checks,
            tree: node.tree,
            slots: &node.tree.slots,
            source: node.tree.source.as_bytes(),
            root: node.slot(),
            names,
        };
        walk.check(0, node.id, node.slot())
    }
}

/// One value that is being checked.
struct FastPathRun<'w> {
    checks: &'w [ValueCheck],
    tree: &'w Tree<'w>,
    slots: &'w [Slot],
    source: &'w [u8],
    root: &'w Slot,
    /// The names of the document, if more than an object's own have to be compared.
    names: Option<&'w NameIndex>,
}

impl FastPathRun<'_> {
    #[inline(always)]
    fn slot(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    // Inlined into every loop, so that a plain value costs no call.
    #[inline(always)]
    fn check(&self, at: CheckId, id: u32, slot: &Slot) -> bool {
        let Some(check) = self.checks.get(at as usize) else {
            return false;
        };
        check.kinds & bit(slot.kind) != 0
            && (matches!(check.details, Details::Nothing) || self.details(&check.details, id, slot))
    }

    #[inline(never)]
    fn details(&self, details: &Details, id: u32, slot: &Slot) -> bool {
        match (details, slot.kind) {
            (Details::Text(check), Kind::String) => self.text(check, id, slot),
            (Details::Number(check), Kind::Number) => is_in_range(check, self.tree, slot),
            (Details::Array(check), Kind::Array) => self.array(check, id, slot),
            (Details::Object(check), Kind::Object) => self.object(check, slot),
            (Details::Several(checks), _) => self.several(checks, id, slot),
            _ => true,
        }
    }

    #[inline(never)]
    fn text(&self, check: &TextCheck, id: u32, slot: &Slot) -> bool {
        let is_listed = |values: &KeyTable| values.find(self.tree, self.source, slot).is_some();
        check.values.as_ref().is_none_or(is_listed)
            && has_length(self.tree, slot, check.length)
            && (check.forms.is_empty() || self.has_forms(&check.forms, id, slot))
    }

    #[inline(never)]
    fn has_forms(&self, forms: &[FormCheck], id: u32, slot: &Slot) -> bool {
        let text = self.tree.bytes_of(slot);
        forms.iter().all(|form| {
            form.recognizer.recognizes(text) || form.validator.is_valid(self.tree.node(id))
        })
    }

    #[inline(never)]
    fn several(&self, checks: &SeveralChecks, id: u32, slot: &Slot) -> bool {
        let fits = match slot.kind {
            Kind::Object => (checks.object.as_deref()).is_none_or(|c| self.object(c, slot)),
            Kind::Array => (checks.array.as_deref()).is_none_or(|c| self.array(c, id, slot)),
            Kind::String => (checks.text.as_deref()).is_none_or(|c| self.text(c, id, slot)),
            Kind::Number => {
                (checks.number.as_deref()).is_none_or(|c| is_in_range(c, self.tree, slot))
            }
            Kind::Null | Kind::Boolean => true,
        };
        // Branches in branches can double the work at each level, so each one is counted.
        let branch = |at: &CheckId| spend() && self.check(*at, id, slot);
        let node = self.tree.node(id);
        fits && (checks.values.as_deref())
            .is_none_or(|values| values.iter().any(|value| equals(node, value)))
            && (checks.all.iter()).all(|at| self.check(*at, id, slot))
            && (checks.any.as_deref()).is_none_or(|branches| branches.iter().any(branch))
            && (checks.one.as_deref()).is_none_or(|branches| self.exactly_one(branches, id, slot))
            && (checks.condition.as_ref()).is_none_or(|c| self.condition(c, id, slot))
            && (checks.other_keywords.as_deref()).is_none_or(|other| other.is_valid(node))
    }

    #[inline(never)]
    fn array(&self, array: &ArrayCheck, id: u32, slot: &Slot) -> bool {
        let unique = || TreeArray(self.tree.node(id)).has_no_repeats();
        if !within(slot.size, array.size) || (array.unique && !unique()) {
            return false;
        }
        let mut elements = self.elements(slot);
        for (at, (id, slot)) in array.first.iter().zip(&mut elements) {
            if !self.check(*at, id, slot) {
                return false;
            }
        }
        let Some(element) = array.element else {
            return true;
        };
        elements.all(|(id, slot)| self.check(element, id, slot))
    }

    /// The elements of an array.
    #[inline]
    fn elements(&self, slot: &Slot) -> impl Iterator<Item = (u32, &Slot)> {
        let mut next = slot.head;
        (0..slot.size).map(move |_| {
            let id = next;
            let slot = self.slot(id);
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
            let key = self.slot(next);
            let id = key.next;
            let value = self.slot(id);
            next = value.next;
            let fits = match object.names.find(self.tree, self.source, key) {
                Some(name) => {
                    found |= name.bit;
                    self.check(name.check, id, value)
                }
                None => self.extra_member(object, slot, key),
            };
            if !fits {
                return false;
            }
        }
        found & object.required == object.required
            && (object.patterns.is_empty() || self.declared_fit_patterns(object, slot))
    }

    /// Checks the declared members of an object once more, with the patterns that are for them too.
    #[cold]
    #[inline(never)]
    fn declared_fit_patterns(&self, object: &ObjectCheck, slot: &Slot) -> bool {
        let mut next = slot.head;
        (0..slot.size).all(|_| {
            let key = self.slot(next);
            next = self.slot(key.next).next;
            object.names.find(self.tree, self.source, key).is_none()
                || self.pattern_member(object, key, key.next).is_some()
        })
    }

    /// Checks a member that is not declared by its name.
    #[inline(never)]
    fn extra_member(&self, object: &ObjectCheck, slot: &Slot, key: &Slot) -> bool {
        match self.pattern_member(object, key, key.next) {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        match object.extra {
            ExtraMembers::Checked(at) => self.check(at, key.next, self.slot(key.next)),
            ExtraMembers::Refused => false,
            ExtraMembers::Allowed => true,
            ExtraMembers::Open => !self.may_be_meant_otherwise(object, slot, key),
        }
    }

    /// Returns whether a pattern is for this key; `None` if its value surely fails, or nobody knows.
    fn pattern_member(&self, object: &ObjectCheck, key: &Slot, id: u32) -> Option<bool> {
        let mut matched = false;
        for (pattern, at) in &object.patterns {
            if pattern.decides(self.tree.bytes_of(key))? {
                matched = true;
                self.check(*at, id, self.slot(id)).then_some(())?;
            }
        }
        Some(matched)
    }

    /// Returns true if a key that is not declared may be a declared one misspelt, or if the object
    /// may be an envelope around the arguments.
    fn may_be_meant_otherwise(&self, object: &ObjectCheck, slot: &Slot, key: &Slot) -> bool {
        let text = self.tree.text_of(key);
        let is_similar = object.spellings & spelling_bits(text) != 0
            && match self.names {
                Some(names) => names.is_suspicious(text),
                None => object.names.texts().any(|name| same_name(text, name)),
            };
        is_similar || std::ptr::eq(slot, self.root) && self.may_be_envelope(object, slot)
    }

    /// Returns true if the arguments may stand inside this object, of which nothing is declared.
    fn may_be_envelope(&self, object: &ObjectCheck, slot: &Slot) -> bool {
        if slot.size > 4 {
            return false;
        }
        let (mut declared, mut holds) = (false, false);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = self.slot(next);
            let value = self.slot(key.next);
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
fn is_in_range(check: &NumberCheck, tree: &Tree<'_>, slot: &Slot) -> bool {
    // The nearest float is on the same side of a bound as the number, or is the bound.
    let (number, exact) = match small_integer(tree.bytes_of(slot)) {
        Some(whole) => (f64::from(whole), true),
        None => {
            let digits = tree.text_of(slot);
            if check.integers_only && !is_written_as_integer(digits) {
                return false;
            }
            if check.least.is_none() && check.most.is_none() && check.step.is_none() {
                return true;
            }
            (digits.parse().unwrap_or(f64::NAN), false)
        }
    };
    // Equal to a bound only if nothing was rounded.
    let beyond = |number: f64, (bound, included): (f64, bool)| {
        number > bound || (number == bound && included && exact)
    };
    number.is_finite()
        && (check.least).is_none_or(|least| beyond(number, least))
        && (check.most).is_none_or(|(most, included)| beyond(-number, (-most, included)))
        && (check.step).is_none_or(|step| is_multiple(slot, number, step))
}

/// An integer of at most nine digits.
#[inline(always)]
fn small_integer(digits: &[u8]) -> Option<i32> {
    let (digits, sign) = match digits {
        [b'-', digits @ ..] => (digits, -1),
        _ => (digits, 1),
    };
    if digits.len() > 9 {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i32::from(digit);
    }
    Some(sign * number)
}

/// Returns true if this number is surely a multiple of a step that is a whole number of eighths. A
/// float tells numbers of so few digits apart, and the remainder of two floats is exact.
fn is_multiple(slot: &Slot, number: f64, step: f64) -> bool {
    slot.size <= 15 && number.abs() < 1e9 && number % step == 0.0
}

/// Returns true if the string's number of characters is within these bounds.
#[inline(always)]
fn has_length(tree: &Tree<'_>, slot: &Slot, (least, most): (u32, u32)) -> bool {
    // A character has one to four bytes, so that most strings need not be counted.
    if slot.size.div_ceil(4) >= least && slot.size <= most {
        return true;
    }
    count_is_within(tree.text_of(slot), (least, most))
}

#[inline(never)]
fn count_is_within(text: &str, bounds: (u32, u32)) -> bool {
    within(text.chars().count() as u32, bounds)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::{Draft, FastAnswer, Schema};
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
        "[\"a\",1]",
        "[1,\"a\"]",
        "[1,0,\"a\"]",
        "[[1],[1.0]]",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,\"b\":\"x\"}",
        "{\"n\":1,\"l\":{\"n\":2}}",
        "{\"n\":1,\"l\":{\"n\":2.5}}",
        "{\"\\u0061\":1}",
        "{\"a\":1,\"a\":\"x\"}",
        "{\"a_rather_long_name\":1}",
        "{\"b\":\"x\"}",
        "{\"ab\":1,\"ba\":\"x\",\"abc\":null}",
        "{\"é\":1}",
        "{\"a\":\"x\",\"é\":\"x\"}",
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
        r#"{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false}"#,
        r#"{"prefixItems": [{"type": "integer"}, {"minimum": 1}], "minItems": 2}"#,
        r#"{"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}"#,
        r#"{"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false}"#,
        r#"{"items": {"type": "integer"}, "additionalItems": false}"#,
        r#"{"oneOf": [{"prefixItems": [{"type": "string"}]}, {"prefixItems": [{"type": "integer"}]}]}"#,
        r#"{"required": ["a"]}"#,
        r#"{"required": ["a"], "additionalProperties": false}"#,
        r#"{"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}"#,
        r#"{"properties": {"a_rather_long_name": {"type": "string"}}}"#,
        r#"{"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}"#,
        r#"{"patternProperties": {"^[a-b]{1,2}$": {"type": "integer"}, "^b": {"type": "string"}}}"#,
        r#"{"properties": {"a": {"type": "integer"}}, "patternProperties": {"^a": {"minimum": 2}}}"#,
        r#"{"patternProperties": {"^\\w$": {"type": "integer"}}, "additionalProperties": {"type": "string"}}"#,
        r#"{"patternProperties": {"b|c": {"type": "integer"}}, "additionalProperties": false}"#,
        r#"{"oneOf": [{"patternProperties": {"^a$": true}, "additionalProperties": false}, {"required": ["b"]}]}"#,
        r#"{"enum": ["a", "b"], "const": "b"}"#,
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

    /// Tries every value under every keyword, in every draft.
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
            for draft in Draft::ALL.iter().copied() {
                // The oldest ones do not know boolean schemas.
                let Ok(schema) = Schema::options().draft(draft).compile(&document) else {
                    assert!(draft < Draft::Draft7, "{keyword}");
                    continue;
                };
                for value in VALUES {
                    let tree = Tree::parse(value).expect("JSON");
                    if schema.fast_accepts(tree.root()) == FastAnswer::Accepts {
                        sure += 1;
                        let valid = schema.validator_accepts(tree.root());
                        assert!(valid, "{draft:?} {keyword} {value}");
                    }
                }
            }
        }
        assert!(sure > 10_000, "{sure}");
    }
}
