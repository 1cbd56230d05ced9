//! Compiles a schema document into the fast path.
//!
//! The fast path never refuses a value, so a check may be stricter than the schema but not laxer.
//! Every keyword that could refuse something is therefore either compiled, or left to a validator
//! of its own, or the schema has no fast path.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::keyword_groups::{allowed_kinds, eighths, length, range};
use super::references::{has_movable_references, refers_by_place};
use super::string_formats::StringRecognizer;
use super::{
    CheckId, Conditional, Details, ExtraMembers, FastPath, FormCheck, KeyTable, ObjectCheck,
    SeveralChecks, SpellingSearch, TextCheck, ValueCheck,
};
use crate::limits::{
    FAST_CHAIN, FAST_CHECKS, FAST_DEPTH, FAST_REFERRING_VALIDATORS, FAST_VALIDATORS,
};
use crate::schema::{Draft, View};
use crate::tree::Kind;
use crate::validate::TreeJson;

/// Compiles a document, if it has a fast path; `build` makes a validator like the document's own.
pub(crate) fn compile(
    document: &Value,
    draft: Draft,
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
        draft,
        asserts_formats,
        walks_all: true,
    };
    // The root's check is the first, or that of its target if the root is nothing but a reference.
    if compiler.schema(document).ok()? != 0 {
        return None;
    }
    let walks_all = compiler.walks_all;
    let checks: Option<Vec<ValueCheck>> = compiler.checks.into_iter().collect();
    let mut checks = checks?;
    let mut chains = vec![None; checks.len()];
    for id in 0..checks.len() {
        chain(&checks, id as CheckId, &mut chains, 0)?;
    }
    let unions = checks.iter().map(|check| union_spelling(check, &checks));
    let mut spelling = unions.max().unwrap_or(SpellingSearch::OwnNames);
    if !walks_all {
        spelling = SpellingSearch::EveryKey;
    }
    if spelling == SpellingSearch::AllNames {
        // An object that declares nothing may be a branch beside one that does.
        let objects = checks.iter().filter_map(|check| check.details.object());
        let spellings = objects.fold(0, |all, object| all | object.spellings);
        for object in (checks.iter_mut()).filter_map(|check| check.details.object_mut()) {
            object.spellings = spellings;
            if matches!(object.extra, ExtraMembers::Allowed) && object.patterns.is_empty() {
                object.extra = ExtraMembers::Open;
            }
        }
    }
    Some(FastPath {
        checks: checks.into(),
        spelling,
    })
}

/// How keys have to be searched because of the unions of one check. If one branch accepts an object,
/// the names that the others declare are not looked at, so that these matter unless all branches
/// refuse undeclared keys.
fn union_spelling(check: &ValueCheck, checks: &[ValueCheck]) -> SpellingSearch {
    let Details::Several(checked) = &check.details else {
        return SpellingSearch::OwnNames;
    };
    let unions = [checked.any.as_deref(), checked.one.as_deref()];
    let spelling = unions.into_iter().flatten().map(|branches| {
        let branches = branches.iter().map(|id| &checks[*id as usize]);
        let objects = branches.filter(|branch| branch.kinds & super::bit(Kind::Object) != 0);
        let objects: Vec<_> = objects.map(|branch| branch.details.object()).collect();
        let is_closed = |object: &Option<&ObjectCheck>| {
            object.is_some_and(|object| matches!(object.extra, ExtraMembers::Refused))
        };
        if objects.len() < 2 || objects.iter().all(is_closed) {
            SpellingSearch::OwnNames
        } else if objects.iter().all(Option::is_some) {
            SpellingSearch::AllNames
        } else {
            SpellingSearch::EveryKey
        }
    });
    spelling.max().unwrap_or(SpellingSearch::OwnNames)
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
/// Keywords that are read by themselves, whatever their value is.
const SINGLE: [&str; 2] = ["type", "const"];
pub(super) const OBJECT: [&str; 6] = [
    "properties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "patternProperties",
];

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
    if let Details::Several(several) = &checks[id as usize].details {
        let condition = several.condition.as_ref();
        let condition = condition.map(|c| [Some(c.test), c.then, c.otherwise]);
        let others = (several.all.iter())
            .chain(several.any.iter().flatten())
            .chain(several.one.iter().flatten())
            .chain(condition.iter().flatten().flatten());
        for other in others {
            longest = longest.max(1 + chain(checks, *other, known, depth + 1)?);
        }
    }
    known[id as usize] = Some(longest);
    (longest <= FAST_CHAIN).then_some(longest)
}

pub(super) struct Compiler<'c> {
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
    pub(super) draft: Draft,
    asserts_formats: bool,
    /// False if some objects and arrays are left to validators.
    walks_all: bool,
}

impl<'c> Compiler<'c> {
    /// Returns true if keywords mean what they mean in recent drafts, so that a check can tell that a
    /// value is surely refused. In the oldest ones `const`, `if` and others say nothing.
    fn can_reject(&self) -> bool {
        self.draft >= Draft::Draft7
    }

    pub(super) fn schema(&mut self, schema: &'c Value) -> Result<CheckId, NoFastPath> {
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
            Value::Bool(truth) => ValueCheck {
                kinds: if *truth { u8::MAX } else { 0 },
                cannot_reject: false,
                details: Details::Nothing,
            },
            Value::Object(map) => self.keywords(map)?,
            _ => return Err(NoFastPath),
        };
        self.depth -= 1;
        self.checks[index] = Some(check);
        Ok(index as CheckId)
    }

    pub(super) fn schemas(&mut self, schemas: &'c [Value]) -> Result<Box<[CheckId]>, NoFastPath> {
        schemas.iter().map(|schema| self.schema(schema)).collect()
    }

    /// The check of a reference's target.
    fn target(&mut self, reference: &str) -> Result<CheckId, NoFastPath> {
        let target = View::root(self.document).referred(reference);
        let target = target.filter(|_| !reference.contains('%'));
        self.schema(target.ok_or(NoFastPath)?.value())
    }

    fn keywords(&mut self, map: &'c Map<String, Value>) -> Result<ValueCheck, NoFastPath> {
        let mut kinds = u8::MAX;
        let mut checks = SeveralChecks::default();
        if map.keys().any(|key| key.starts_with("unevaluated")) {
            // These depend on what every other keyword has evaluated.
            self.walks_all = false;
            checks.other_keywords = Some(self.validator(map.clone())?);
            return Ok(ValueCheck {
                kinds,
                cannot_reject: true,
                details: Details::Several(Box::new(checks)),
            });
        }
        let mut left = Vec::new();
        checks.number = range(map).or_leave(&BOUNDS, &mut left).map(Box::new);
        checks.array = self.array(map)?.or_leave(&ARRAY, &mut left).map(Box::new);
        checks.object = self.object(map)?.or_leave(&OBJECT, &mut left).map(Box::new);
        let length = length(map, LENGTH).or_leave(&LENGTH, &mut left);
        // Members and elements that are left to a validator are not walked.
        self.walks_all &= left.is_empty();
        if let Some(value) = map.get("type") {
            let allowed = allowed_kinds(value).ok_or(NoFastPath)?;
            kinds = allowed.kinds;
            if allowed.integers_only {
                checks.number.get_or_insert_default().integers_only = true;
            }
        }
        let listed = self.listed(map, &mut kinds, &mut checks);
        checks.text = self.text(map, listed, length, &mut left)?.map(Box::new);
        self.others(map, &mut checks, &mut left)?;
        let left = left
            .into_iter()
            .filter_map(|keyword| map.get_key_value(keyword));
        let left: Map<_, _> = left
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !left.is_empty() {
            checks.other_keywords = Some(self.validator(left)?);
        }
        Ok(ValueCheck {
            kinds,
            cannot_reject: !self.can_reject() || (map.contains_key("$ref") && map.len() > 1),
            details: checks.into(),
        })
    }

    /// Reads `enum` and `const`: the strings, if they list nothing else.
    fn listed(
        &self,
        map: &Map<String, Value>,
        kinds: &mut u8,
        checks: &mut SeveralChecks,
    ) -> Option<KeyTable> {
        let list = match (map.get("const"), map.get("enum")) {
            (Some(value), _) => std::slice::from_ref(value),
            (None, Some(Value::Array(list))) => list.as_slice(),
            _ => return None,
        };
        let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        match texts {
            Some(texts) => {
                *kinds &= super::bit(Kind::String);
                Some(KeyTable::new(texts.into_iter().map(|text| (text, 0))))
            }
            None => {
                checks.values = Some(list.into());
                None
            }
        }
    }

    /// Reads the keywords about strings.
    fn text(
        &mut self,
        map: &'c Map<String, Value>,
        values: Option<KeyTable>,
        length: Option<(u32, u32)>,
        left: &mut Vec<&'c str>,
    ) -> Result<Option<TextCheck>, NoFastPath> {
        let mut forms = Vec::new();
        for keyword in ["format", "pattern"] {
            let Some((keyword, Value::String(form))) = map.get_key_value(keyword) else {
                continue;
            };
            if keyword == "format" && !self.asserts_formats {
                continue;
            }
            match StringRecognizer::of_keyword(keyword, form) {
                Some(recognizer) => {
                    let alone = Map::from_iter([(keyword.clone(), Value::from(form.as_str()))]);
                    let validator = self.validator(alone)?;
                    forms.push(FormCheck {
                        recognizer,
                        validator,
                    });
                }
                None => left.push(keyword),
            }
        }
        if values.is_none() && length.is_none() && forms.is_empty() {
            return Ok(None);
        }
        Ok(Some(TextCheck {
            values,
            length: length.unwrap_or((0, u32::MAX)),
            forms: forms.into(),
        }))
    }

    /// Compiles what is not about values of one kind alone. Keywords that are not known are added to
    /// `left`.
    fn others(
        &mut self,
        map: &'c Map<String, Value>,
        checks: &mut SeveralChecks,
        left: &mut Vec<&'c str>,
    ) -> Result<(), NoFastPath> {
        let mut all = Vec::new();
        if self.can_reject() {
            checks.condition = self.condition(map)?;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("$ref", value) => {
                    all.push(self.target(value.as_str().ok_or(NoFastPath)?)?);
                }
                ("allOf", Value::Array(schemas)) => all.extend(self.schemas(schemas)?),
                ("anyOf", Value::Array(schemas)) => checks.any = Some(self.schemas(schemas)?),
                ("oneOf", Value::Array(schemas)) if self.can_reject() => {
                    checks.one = Some(self.schemas(schemas)?);
                }
                ("if" | "then" | "else", _) if self.can_reject() => {}
                ("multipleOf", value) if eighths(value).is_some() => {
                    checks.number.get_or_insert_default().step = eighths(value);
                }
                ("enum", Value::Array(_)) if !map.contains_key("const") => {}
                ("format" | "pattern", Value::String(_)) => {}
                (known, _) if is_read_elsewhere(known) => {}
                (other, _) => left.push(other),
            }
        }
        checks.all = all.into();
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

impl From<SeveralChecks> for Details {
    /// Keeps the check that is alone.
    fn from(mut checks: SeveralChecks) -> Self {
        let branches = !checks.all.is_empty() || checks.any.is_some() || checks.one.is_some();
        let values = checks.values.is_some() || checks.condition.is_some();
        if branches || values || checks.other_keywords.is_some() {
            return Self::Several(Box::new(checks));
        }
        let SeveralChecks {
            text,
            number,
            array,
            object,
            ..
        } = &mut checks;
        match (text.take(), number.take(), array.take(), object.take()) {
            (None, None, None, None) => Self::Nothing,
            (Some(text), None, None, None) => Self::Text(text),
            (None, Some(number), None, None) => Self::Number(number),
            (None, None, Some(array), None) => Self::Array(array),
            (None, None, None, Some(object)) => Self::Object(object),
            (text, number, array, object) => Self::Several(Box::new(SeveralChecks {
                text,
                number,
                array,
                object,
                ..checks
            })),
        }
    }
}

impl Details {
    fn object(&self) -> Option<&ObjectCheck> {
        match self {
            Self::Object(object) => Some(object),
            Self::Several(checks) => checks.object.as_deref(),
            _ => None,
        }
    }

    fn object_mut(&mut self) -> Option<&mut ObjectCheck> {
        match self {
            Self::Object(object) => Some(object),
            Self::Several(checks) => checks.object.as_deref_mut(),
            _ => None,
        }
    }
}

/// Returns true for a keyword that is read with its group, or refuses nothing.
fn is_read_elsewhere(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
        || SINGLE.contains(&keyword)
        || LENGTH.contains(&keyword)
        || BOUNDS.contains(&keyword)
        || ARRAY.contains(&keyword)
        || OBJECT.contains(&keyword)
        || keyword.starts_with("x-")
}
