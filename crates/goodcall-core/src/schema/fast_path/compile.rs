//! Compiles a schema document into the fast path.
//!
//! The fast path never refuses a value, so a check may be stricter than the schema but not laxer.
//! Every keyword that could refuse something is therefore either compiled, or left to a validator
//! of its own, or the schema has no fast path.

use std::collections::{BTreeMap, HashMap};

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::keyword_groups::{KeywordGroup, allowed_values, eighths, length, range, set_kinds};
use super::references::{has_movable_references, refers_by_place};
use super::string_formats::StringRecognizer;
use super::{
    ArrayCheck, CheckId, CombinedChecks, Conditional, ExtraMembers, FastPath, KeyTable,
    ObjectCheck, StringCheck, ValueCheck,
};
use crate::limits::{
    FAST_CHAIN, FAST_CHECKS, FAST_DEPTH, FAST_REFERRING_VALIDATORS, FAST_VALIDATORS,
};
use crate::schema::View;
use crate::tree::Kind;
use crate::validate::TreeJson;

/// Compiles a document, if it has a fast path; `build` makes a validator like the document's own.
pub(crate) fn compile(
    document: &Value,
    asserts_formats: bool,
    build: &dyn Fn(&Value) -> Option<Validator<TreeJson>>,
) -> Option<FastPath> {
    if !refers_by_place(document) {
        return None;
    }
    let mut compiler = Compiler {
        document,
        build,
        checks: Vec::new(),
        known: HashMap::new(),
        validators: 0,
        referring: 0,
        depth: 0,
        can_reject: has_recent_keywords(document),
        asserts_formats,
        sees_every_key: true,
    };
    // The root's check is the first, or that of its target if the root is nothing but a reference.
    if compiler.schema(document).ok()? != 0 {
        return None;
    }
    let mut sees_every_key = compiler.sees_every_key;
    let checks: Option<Vec<ValueCheck>> = compiler.checks.into_iter().collect();
    let checks = checks?;
    let mut chains = vec![None; checks.len()];
    for id in 0..checks.len() {
        chain(&checks, id as CheckId, &mut chains, 0)?;
    }
    sees_every_key &= !checks.iter().any(|check| has_open_union(check, &checks));
    Some(FastPath {
        checks: checks.into(),
        sees_every_key,
    })
}

/// Returns true if two branches of a union take objects and one of them allows undeclared keys. If
/// one branch accepts, the names that the other declares are not looked at.
fn has_open_union(check: &ValueCheck, checks: &[ValueCheck]) -> bool {
    let Some(combined) = check.combined.as_deref() else {
        return false;
    };
    let takes_objects = |branch: &&ValueCheck| branch.kinds & super::bit(Kind::Object) != 0;
    let is_closed = |branch: &ValueCheck| {
        let object = branch.object.as_deref();
        object.is_some_and(|object| matches!(object.extra, ExtraMembers::Refused))
    };
    let is_open = |branches: &[CheckId]| {
        let branches = branches.iter().filter_map(|id| checks.get(*id as usize));
        let objects: Vec<_> = branches.filter(takes_objects).collect();
        objects.len() > 1 && !objects.into_iter().all(is_closed)
    };
    combined.any.as_deref().is_some_and(is_open) || combined.one.as_deref().is_some_and(is_open)
}

/// The schema has no fast path: it is too large, or uses what the fast path cannot express.
pub(super) struct NoFastPath;

/// Keywords that refuse nothing, and those that hold schemas for others.
const ANNOTATIONS: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
];
/// Keywords that are read together.
const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const LENGTH: [&str; 2] = ["minLength", "maxLength"];
const ARRAY: [&str; 6] = [
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "additionalItems",
];
const OBJECT: [&str; 6] = [
    "properties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "patternProperties",
];
static ANYTHING: Value = Value::Bool(true);
static NOTHING: Value = Value::Bool(false);

/// The reference of a schema that is nothing but a reference.
fn only_reference(schema: &Value) -> Option<&str> {
    let map = schema.as_object()?;
    let mut others = map.keys().filter(|key| *key != "$ref");
    let alone = others.all(|key| ANNOTATIONS.contains(&key.as_str()));
    map.get("$ref").filter(|_| alone)?.as_str()
}

/// The length of the longest chain of checks of one value that starts at this check; `None` if it
/// is too long, or endless.
fn chain(
    checks: &[ValueCheck],
    id: CheckId,
    known: &mut [Option<usize>],
    depth: usize,
) -> Option<usize> {
    if let Some(length) = known[id as usize] {
        return Some(length);
    }
    if depth > FAST_CHAIN {
        return None;
    }
    let mut longest = 0;
    if let Some(combined) = checks[id as usize].combined.as_deref() {
        let condition = combined.condition.as_ref();
        let condition = condition.map(|c| [Some(c.test), c.then, c.otherwise]);
        let others = (combined.all.iter())
            .chain(combined.any.iter().flatten())
            .chain(combined.one.iter().flatten())
            .chain(condition.iter().flatten().flatten());
        for other in others {
            longest = longest.max(1 + chain(checks, *other, known, depth + 1)?);
        }
    }
    known[id as usize] = Some(longest);
    (longest <= FAST_CHAIN).then_some(longest)
}

struct Compiler<'c> {
    document: &'c Value,
    build: &'c dyn Fn(&Value) -> Option<Validator<TreeJson>>,
    /// `None` while a check is being compiled.
    checks: Vec<Option<ValueCheck>>,
    /// Checks by the address of their schema in the document.
    known: HashMap<*const Value, CheckId>,
    /// Validators for other keywords so far, and how many of them hold references.
    validators: usize,
    referring: usize,
    /// Schemas around the one that is being compiled, references followed.
    depth: usize,
    /// True if keywords mean what they mean in recent drafts, so that a check can tell that a value
    /// is surely refused.
    can_reject: bool,
    asserts_formats: bool,
    /// See [`FastPath::sees_every_key`].
    sees_every_key: bool,
}

impl<'c> Compiler<'c> {
    fn schema(&mut self, schema: &'c Value) -> Result<CheckId, NoFastPath> {
        let address = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        if self.checks.len() >= FAST_CHECKS || self.depth >= FAST_DEPTH {
            return Err(NoFastPath);
        }
        if let Some(target) = only_reference(schema) {
            // The check of its target serves for it.
            self.depth += 1;
            let id = self.target(target)?;
            self.depth -= 1;
            self.known.insert(address, id);
            return Ok(id);
        }
        let index = self.checks.len();
        self.known.insert(address, index as CheckId);
        self.checks.push(None);
        self.depth += 1;
        let check = match schema {
            Value::Bool(truth) => ValueCheck::of_kinds(if *truth { u8::MAX } else { 0 }),
            Value::Object(map) => self.keywords(map)?,
            _ => return Err(NoFastPath),
        };
        self.depth -= 1;
        self.checks[index] = Some(check);
        Ok(index as CheckId)
    }

    fn schemas(&mut self, schemas: &'c [Value]) -> Result<Box<[CheckId]>, NoFastPath> {
        schemas.iter().map(|schema| self.schema(schema)).collect()
    }

    /// The check of a reference's target.
    fn target(&mut self, reference: &str) -> Result<CheckId, NoFastPath> {
        let target = View::root(self.document).referred(reference);
        let target = target.filter(|_| !reference.contains('%'));
        self.schema(target.ok_or(NoFastPath)?.value())
    }

    fn keywords(&mut self, map: &'c Map<String, Value>) -> Result<ValueCheck, NoFastPath> {
        let mut check = ValueCheck::of_kinds(u8::MAX);
        let mut combined = CombinedChecks::default();
        if map.keys().any(|key| key.starts_with("unevaluated")) {
            // These depend on what every other keyword has evaluated.
            self.sees_every_key = false;
            combined.other_keywords = Some(self.validator(map.clone())?);
            check.kinds_only = false;
            check.combined = Some(Box::new(combined));
            return Ok(check);
        }
        let mut left = Vec::new();
        check.length = length(map, LENGTH).or_leave(&LENGTH, &mut left);
        check.number = range(map).or_leave(&BOUNDS, &mut left).map(Box::new);
        check.array = self.array(map)?.or_leave(&ARRAY, &mut left).map(Box::new);
        check.object = self.object(map)?.or_leave(&OBJECT, &mut left).map(Box::new);
        // Members and elements that are left to a validator are not walked.
        self.sees_every_key &= left.is_empty();
        check.cannot_reject = !self.can_reject || (map.contains_key("$ref") && map.len() > 1);
        self.combined(map, &mut check, &mut combined, &mut left)?;
        let left = left
            .into_iter()
            .filter_map(|keyword| map.get_key_value(keyword));
        let left: Map<_, _> = left
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !left.is_empty() {
            combined.other_keywords = Some(self.validator(left)?);
        }
        check.combined = (!combined.is_empty()).then(|| Box::new(combined));
        check.kinds_only = check.combined.is_none() && !check.has_details();
        Ok(check)
    }

    /// Compiles `type` and what is not about values of one kind alone. Keywords that are not known
    /// are added to `left`.
    fn combined(
        &mut self,
        map: &'c Map<String, Value>,
        check: &mut ValueCheck,
        combined: &mut CombinedChecks,
        left: &mut Vec<&'c str>,
    ) -> Result<(), NoFastPath> {
        let mut all = Vec::new();
        let mut strings = Vec::new();
        if self.can_reject {
            combined.condition = self.condition(map)?;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("type", value) => set_kinds(check, value).ok_or(NoFastPath)?,
                ("const", value) => {
                    combined.values = Some(allowed_values(std::slice::from_ref(value)));
                }
                ("enum", Value::Array(list)) if !map.contains_key("const") => {
                    combined.values = Some(allowed_values(list));
                }
                ("format", _) if !self.asserts_formats => {}
                ("format" | "pattern", Value::String(text)) => {
                    match StringRecognizer::of_keyword(keyword, text) {
                        Some(recognizer) => {
                            let alone = Map::from_iter([(keyword.clone(), value.clone())]);
                            let validator = self.validator(alone)?;
                            strings.push(StringCheck {
                                recognizer,
                                validator,
                            });
                        }
                        None => left.push(keyword),
                    }
                }
                ("$ref", value) => {
                    all.push(self.target(value.as_str().ok_or(NoFastPath)?)?);
                }
                ("allOf", Value::Array(schemas)) => all.extend(self.schemas(schemas)?),
                ("anyOf", Value::Array(schemas)) => combined.any = Some(self.schemas(schemas)?),
                ("oneOf", Value::Array(schemas)) if self.can_reject => {
                    combined.one = Some(self.schemas(schemas)?);
                }
                ("if" | "then" | "else", _) if self.can_reject => {}
                ("multipleOf", value) if eighths(value).is_some() => {
                    let range = check.number.get_or_insert_default();
                    range.step = eighths(value);
                }
                (known, _) if is_read_elsewhere(known) => {}
                (other, _) => left.push(other),
            }
        }
        combined.all = all.into();
        combined.strings = strings.into();
        Ok(())
    }

    /// `if`, `then` and `else`.
    fn condition(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<Option<Conditional>, NoFastPath> {
        let Some(test) = map.get("if") else {
            return Ok(None);
        };
        let mut branch = |keyword| {
            map.get(keyword)
                .map(|schema| self.schema(schema))
                .transpose()
        };
        let (then, otherwise) = (branch("then")?, branch("else")?);
        let test = self.schema(test)?;
        Ok(Some(Conditional {
            test,
            then,
            otherwise,
        }))
    }

    fn array(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<KeywordGroup<ArrayCheck>, NoFastPath> {
        let items = map.get("items");
        if map.contains_key("prefixItems") || items.is_some_and(Value::is_array) {
            return Ok(KeywordGroup::LeftToValidator);
        }
        let keywords = ["items", "minItems", "maxItems", "uniqueItems"];
        if !keywords.iter().any(|keyword| map.contains_key(*keyword)) {
            return Ok(KeywordGroup::Absent);
        }
        let unique = match map.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let size = match length(map, ["minItems", "maxItems"]) {
            KeywordGroup::Absent => (0, u32::MAX),
            KeywordGroup::Compiled(size) => size,
            KeywordGroup::LeftToValidator => return Ok(KeywordGroup::LeftToValidator),
        };
        let element = items.map(|schema| self.schema(schema)).transpose()?;
        Ok(KeywordGroup::Compiled(ArrayCheck {
            size,
            unique,
            element,
        }))
    }

    fn object(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<KeywordGroup<ObjectCheck>, NoFastPath> {
        if map.contains_key("patternProperties") {
            return Ok(KeywordGroup::LeftToValidator);
        }
        if !OBJECT.iter().any(|keyword| map.contains_key(*keyword)) {
            return Ok(KeywordGroup::Absent);
        }
        let properties = match map.get("properties") {
            None => None,
            Some(Value::Object(properties)) => Some(properties),
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let required = match map.get("required") {
            None => &[],
            Some(Value::Array(names)) => names.as_slice(),
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let required: Option<Vec<&str>> = required.iter().map(Value::as_str).collect();
        let size = match length(map, ["minProperties", "maxProperties"]) {
            KeywordGroup::Absent => Some((0, u32::MAX)),
            size => size.compiled(),
        };
        let (Some(required), Some(size)) = (required, size) else {
            return Ok(KeywordGroup::LeftToValidator);
        };
        let extra = map.get("additionalProperties");
        let extra = match extra.filter(|extra| !allows_anything(extra)) {
            None if properties.is_some_and(|declared| !declared.is_empty()) => ExtraMembers::Open,
            None => ExtraMembers::Allowed,
            Some(Value::Bool(false)) => ExtraMembers::Refused,
            Some(schema) => ExtraMembers::Checked(self.schema(schema)?),
        };
        let mut members = BTreeMap::new();
        for (name, schema) in properties.into_iter().flatten() {
            members.insert(name.as_str(), self.schema(schema)?);
        }
        for name in &required {
            // A name that is required and not declared.
            let check = match extra {
                ExtraMembers::Allowed | ExtraMembers::Open => self.schema(&ANYTHING)?,
                ExtraMembers::Refused => self.schema(&NOTHING)?,
                ExtraMembers::Checked(id) => id,
            };
            members.entry(name).or_insert(check);
        }
        if !required.is_empty() && members.len() > 64 {
            // There are no bits for so many names.
            return Ok(KeywordGroup::LeftToValidator);
        }
        let names = KeyTable::new(members.into_iter());
        let bits = required.iter().filter_map(|name| names.named(name));
        let required = bits.fold(0, |mask, name| mask | name.bit);
        Ok(KeywordGroup::Compiled(ObjectCheck {
            size,
            names,
            required,
            extra,
        }))
    }

    /// A validator for these keywords alone.
    fn validator(
        &mut self,
        mut keywords: Map<String, Value>,
    ) -> Result<Box<Validator<TreeJson>>, NoFastPath> {
        self.validators += 1;
        if self.validators > FAST_VALIDATORS {
            return Err(NoFastPath);
        }
        let root = View::root(self.document);
        keywords.retain(|keyword, _| !["$id", "$defs", "definitions"].contains(&&**keyword));
        let mut document = Value::Object(keywords);
        let refers = has_movable_references(&document)?;
        // Each of these copies the definitions, and compiles what it reaches of them.
        self.referring += usize::from(refers);
        if self.referring > FAST_REFERRING_VALIDATORS {
            return Err(NoFastPath);
        }
        if let Some(dialect) = root.get("$schema") {
            document["$schema"] = dialect.clone();
        }
        for name in ["$defs", "definitions"] {
            if let Some(value) = root.get(name).filter(|_| refers) {
                has_movable_references(value)?;
                document[name] = value.clone();
            }
        }
        (self.build)(&document).map(Box::new).ok_or(NoFastPath)
    }
}

impl ValueCheck {
    fn of_kinds(kinds: u8) -> Self {
        Self {
            kinds,
            kinds_only: true,
            integers_only: false,
            cannot_reject: false,
            number: None,
            length: None,
            array: None,
            object: None,
            combined: None,
        }
    }

    /// Returns true if values of some kind have to be looked into.
    fn has_details(&self) -> bool {
        let scalar = self.integers_only || self.number.is_some() || self.length.is_some();
        scalar || self.array.is_some() || self.object.is_some()
    }
}

impl CombinedChecks {
    fn is_empty(&self) -> bool {
        let branches = !self.all.is_empty() || self.any.is_some() || self.one.is_some();
        let values = self.values.is_some() || !self.strings.is_empty();
        !branches && !values && self.condition.is_none() && self.other_keywords.is_none()
    }
}

/// Returns true for a schema that demands nothing.
fn allows_anything(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.is_empty(),
        schema => *schema == Value::Bool(true),
    }
}

/// Returns true for a keyword that is read with its group, or refuses nothing.
fn is_read_elsewhere(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
        || LENGTH.contains(&keyword)
        || BOUNDS.contains(&keyword)
        || ARRAY.contains(&keyword)
        || OBJECT.contains(&keyword)
        || keyword.starts_with("x-")
}

/// Returns true if all keywords have the meaning of the recent drafts. In the oldest ones `const`,
/// `if` and others say nothing.
fn has_recent_keywords(document: &Value) -> bool {
    let recent = ["2020-12", "2019-09", "draft-07"];
    match document.get("$schema") {
        None => true,
        Some(Value::String(dialect)) => recent.iter().any(|recent| dialect.contains(recent)),
        Some(_) => false,
    }
}
