//! From a schema document to the program.
//!
//! What is stricter than the schema is safe here, since the program never refuses a value; what
//! is laxer is not. So every keyword that could refuse something is either known, or left to a
//! validator of its own, or there is no program.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::string_formats::Witness;
use super::{At, Check, Extra, List, More, Names, Quick, Range, Record, Sure, Values, When, bit};
use crate::limits::{QUICK_CHAIN, QUICK_CHECKS, QUICK_DEPTH, QUICK_REFERRING, QUICK_RESTS};
use crate::schema::View;
use crate::tree::{Kind, Pointer};
use crate::validate::Lean;

/// The program of a document, if it has one; `build` makes a validator like that of the document.
pub(crate) fn compile(
    document: &Value,
    build: &dyn Fn(&Value) -> Option<Validator<Lean>>,
) -> Option<Quick> {
    if !refers_by_place(document) {
        return None;
    }
    let mut compiler = Compiler {
        document,
        build,
        checks: Vec::new(),
        known: HashMap::new(),
        rests: 0,
        referring: 0,
        depth: 0,
        telling: tells_apart(document),
    };
    // The root's check is the first, that of what it names if it is a reference alone.
    if compiler.schema(document)? != 0 {
        return None;
    }
    let checks: Option<Vec<Check>> = compiler.checks.into_iter().collect();
    let checks = checks?;
    let mut chains = vec![None; checks.len()];
    for at in 0..checks.len() {
        chain(&checks, at as At, &mut chains, 0)?;
    }
    Some(Quick(checks.into()))
}

/// Keywords that refuse nothing, and those that hold schemas for others.
const SILENT: [&str; 13] = [
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
const LIST: [&str; 4] = ["items", "minItems", "maxItems", "uniqueItems"];
const TUPLE: [&str; 2] = ["prefixItems", "additionalItems"];
const RECORD: [&str; 5] = [
    "properties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
];
static ANYTHING: Value = Value::Bool(true);
static NOTHING: Value = Value::Bool(false);

/// Returns true if all references of the document name a place in it. Names and bases of schemas
/// below the root make a reference mean something else.
fn refers_by_place(document: &Value) -> bool {
    let moves = |schema: View<'_>, place: &Pointer| {
        let named = NAMING.into_iter().filter_map(|keyword| schema.get(keyword));
        let rebased = ["$id", "id", "$schema"].into_iter();
        let rebased = rebased.filter(|_| !place.is_root());
        let mut rebased = rebased.filter_map(|keyword| schema.get(keyword));
        // As the name of a member, each holds a schema.
        named.into_iter().any(|value| !value.is_object()) || rebased.any(Value::is_string)
    };
    let found = View::root(document).visit(|schema, place| {
        if moves(schema, place) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    found.is_continue()
}

/// Keywords that name schemas, or places, in ways that the program does not follow.
const NAMING: [&str; 6] = [
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$dynamicRef",
    "$recursiveRef",
    "$vocabulary",
];

/// What a schema names that is nothing but a reference.
fn only_reference(schema: &Value) -> Option<&str> {
    let map = schema.as_object()?;
    let others = map.keys().filter(|key| *key != "$ref");
    let alone = others.into_iter().all(|key| SILENT.contains(&key.as_str()));
    map.get("$ref").filter(|_| alone)?.as_str()
}

/// The longest way from a check to others of the same value; `None` if it is too long, or has no
/// end.
fn chain(checks: &[Check], at: At, known: &mut [Option<usize>], depth: usize) -> Option<usize> {
    if let Some(length) = known[at as usize] {
        return Some(length);
    }
    if depth > QUICK_CHAIN {
        return None;
    }
    let check = &checks[at as usize];
    let Some(more) = check.more.as_deref() else {
        known[at as usize] = Some(0);
        return Some(0);
    };
    let when = (more.when.as_ref()).map(|when| [Some(when.test), when.then, when.otherwise]);
    let others = (more.all.iter())
        .chain(more.any.iter().flatten())
        .chain(more.one.iter().flatten())
        .chain(when.iter().flatten().flatten());
    let mut longest = 0;
    for other in others {
        longest = longest.max(1 + chain(checks, *other, known, depth + 1)?);
    }
    known[at as usize] = Some(longest);
    (longest <= QUICK_CHAIN).then_some(longest)
}

struct Compiler<'c> {
    document: &'c Value,
    build: &'c dyn Fn(&Value) -> Option<Validator<Lean>>,
    /// `None` while a check is being made.
    checks: Vec<Option<Check>>,
    /// Checks by the address of their schema in the document.
    known: HashMap<*const Value, At>,
    /// Validators for other keywords so far, and those of them with references.
    rests: usize,
    referring: usize,
    /// Schemas around the one that is being compiled, references followed.
    depth: usize,
    /// Keywords have the meaning by which a value can surely be refused.
    telling: bool,
}

impl<'c> Compiler<'c> {
    fn schema(&mut self, schema: &'c Value) -> Option<At> {
        let address = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&address) {
            return Some(*known);
        }
        if self.checks.len() >= QUICK_CHECKS || self.depth >= QUICK_DEPTH {
            return None;
        }
        if let Some(target) = only_reference(schema) {
            // Its check is that of what it names.
            self.depth += 1;
            let at = self.target(target)?;
            self.depth -= 1;
            self.known.insert(address, at);
            return Some(at);
        }
        let at = self.checks.len();
        self.known.insert(address, at as At);
        self.checks.push(None);
        self.depth += 1;
        let check = match schema {
            Value::Bool(truth) => Check::of_kinds(if *truth { u8::MAX } else { 0 }),
            Value::Object(map) => self.keywords(map)?,
            _ => return None,
        };
        self.depth -= 1;
        self.checks[at] = Some(check);
        Some(at as At)
    }

    fn keywords(&mut self, map: &'c Map<String, Value>) -> Option<Check> {
        let mut check = Check::of_kinds(u8::MAX);
        if map.keys().any(|key| key.starts_with("unevaluated")) {
            // These ask what every other keyword has looked at.
            let rest = Some(self.rest(map.clone())?);
            check.more = Some(Box::new(More {
                rest,
                ..More::default()
            }));
            check.plain = false;
            return Some(check);
        }
        let mut left: Vec<&str> = self.kinds_alone(map, &mut check)?;
        let (mut all, mut any, mut sure) = (Vec::new(), Vec::new(), Vec::new());
        let telling = self.telling;
        check.loose = !telling || (map.contains_key("$ref") && map.len() > 1);
        let mut more = More::default();
        if telling {
            more.when = self.when(map)?;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("type", value) => kinds(&mut check, value)?,
                ("const", value) => more.values = Some(values(std::slice::from_ref(value))),
                ("enum", Value::Array(list)) if !map.contains_key("const") => {
                    more.values = Some(values(list));
                }
                ("format", Value::String(name)) if Witness::of_format(name).is_some() => {
                    sure.push(self.sure(Witness::of_format(name)?, keyword, value)?);
                }
                ("pattern", Value::String(pattern)) if Witness::of_pattern(pattern).is_some() => {
                    sure.push(self.sure(Witness::of_pattern(pattern)?, keyword, value)?);
                }
                ("$ref", value) => all.push(self.target(value.as_str()?)?),
                ("allOf", Value::Array(schemas)) => all.append(&mut self.schemas(schemas)?),
                ("anyOf", Value::Array(schemas)) => any.push(self.schemas(schemas)?.into()),
                ("oneOf", Value::Array(schemas)) if telling => {
                    more.one = Some(self.schemas(schemas)?.into());
                }
                ("if" | "then" | "else", _) if telling => {}
                ("multipleOf", value) if eighths(value).is_some() => {
                    let range = check.number.get_or_insert_default();
                    range.step = eighths(value);
                }
                (known, _) if is_known(known) => {}
                (other, _) => left.push(other),
            }
        }
        more.all = all.into();
        more.any = any.into();
        more.sure = sure.into();
        let rest = left.into_iter().filter_map(|keyword| {
            let value = map.get(keyword)?;
            Some((keyword.to_owned(), value.clone()))
        });
        let rest: Map<String, Value> = rest.collect();
        if !rest.is_empty() {
            more.rest = Some(self.rest(rest)?);
        }
        check.more = more.is_any().then(|| Box::new(more));
        check.plain = check.more.is_none() && check.is_plain();
        Some(check)
    }

    /// What is about values of one kind alone; the keywords that are left.
    fn kinds_alone(
        &mut self,
        map: &'c Map<String, Value>,
        check: &mut Check,
    ) -> Option<Vec<&'static str>> {
        let mut left = Vec::new();
        match length(map, LENGTH) {
            Some(length) => check.length = length,
            None => left.extend(LENGTH),
        }
        match range(map) {
            Some(range) => check.number = range.map(Box::new),
            None => left.extend(BOUNDS),
        }
        let tuple =
            map.contains_key("prefixItems") || map.get("items").is_some_and(Value::is_array);
        if tuple {
            left.extend(TUPLE);
        }
        if tuple || !self.list(map, check)? {
            left.extend(LIST);
        }
        if map.contains_key("patternProperties") || !self.record(map, check)? {
            left.extend(RECORD);
        }
        Some(left)
    }

    fn schemas(&mut self, schemas: &'c [Value]) -> Option<Vec<At>> {
        schemas.iter().map(|schema| self.schema(schema)).collect()
    }

    /// `if`, with what it leads to.
    fn when(&mut self, map: &'c Map<String, Value>) -> Option<Option<When>> {
        let Some(test) = map.get("if") else {
            return Some(None);
        };
        let mut of = |keyword| match map.get(keyword) {
            None => Some(None),
            Some(schema) => self.schema(schema).map(Some),
        };
        let (then, otherwise) = (of("then")?, of("else")?);
        let test = self.schema(test)?;
        Some(Some(When {
            test,
            then,
            otherwise,
        }))
    }

    /// The schema that a reference names.
    fn target(&mut self, target: &str) -> Option<At> {
        let schema = View::root(self.document).referred(target);
        self.schema(schema.filter(|_| !target.contains('%'))?.value())
    }

    /// Lists: `Some(false)` if a keyword is not as it should be.
    fn list(&mut self, map: &'c Map<String, Value>, check: &mut Check) -> Option<bool> {
        if !LIST.iter().any(|keyword| map.contains_key(*keyword)) {
            return Some(true);
        }
        let unique = match map.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => return Some(false),
        };
        let Some(size) = length(map, ["minItems", "maxItems"]) else {
            return Some(false);
        };
        let element = match map.get("items") {
            None => None,
            Some(schema) => Some(self.schema(schema)?),
        };
        check.array = Some(Box::new(List {
            size: size.unwrap_or((0, u32::MAX)),
            unique,
            element,
        }));
        Some(true)
    }

    /// Objects, in the same way.
    fn record(&mut self, map: &'c Map<String, Value>, check: &mut Check) -> Option<bool> {
        if !RECORD.iter().any(|keyword| map.contains_key(*keyword)) {
            return Some(true);
        }
        let properties = match map.get("properties") {
            None => None,
            Some(Value::Object(properties)) => Some(properties),
            Some(_) => return Some(false),
        };
        let required = match map.get("required") {
            None => &[],
            Some(Value::Array(names)) => names.as_slice(),
            Some(_) => return Some(false),
        };
        let required: Option<Vec<&str>> = required.iter().map(Value::as_str).collect();
        let size = length(map, ["minProperties", "maxProperties"]);
        let (Some(required), Some(size)) = (required, size) else {
            return Some(false);
        };
        let extra = match map.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Extra::Allowed,
            Some(Value::Bool(false)) => Extra::Refused,
            Some(schema) => Extra::Checked(self.schema(schema)?),
        };
        let mut wanted = BTreeMap::new();
        for (name, schema) in properties.into_iter().flatten() {
            wanted.insert(name.as_str(), self.schema(schema)?);
        }
        for name in &required {
            // A name that is only required.
            let schema = match extra {
                Extra::Allowed => self.schema(&ANYTHING)?,
                Extra::Refused => self.schema(&NOTHING)?,
                Extra::Checked(at) => at,
            };
            wanted.entry(name).or_insert(schema);
        }
        if !required.is_empty() && wanted.len() > 64 {
            return Some(false);
        }
        let names = Names::new(wanted.into_iter());
        let mut mask = 0;
        for name in &required {
            mask |= names.named(name)?.bit;
        }
        check.object = Some(Box::new(Record {
            size: size.unwrap_or((0, u32::MAX)),
            names,
            required: mask,
            extra,
        }));
        Some(true)
    }

    /// A string keyword with a short way to see that a string has what it wants.
    fn sure(&mut self, witness: Witness, keyword: &str, value: &Value) -> Option<Sure> {
        let alone = Map::from_iter([(keyword.to_owned(), value.clone())]);
        let validator = self.rest(alone)?;
        Some(Sure { witness, validator })
    }

    /// A validator for these keywords alone.
    fn rest(&mut self, mut keywords: Map<String, Value>) -> Option<Box<Validator<Lean>>> {
        self.rests += 1;
        if self.rests > QUICK_RESTS {
            return None;
        }
        let root = self.document.as_object();
        let definitions = |name| root.and_then(|root| root.get(name));
        keywords.retain(|keyword, _| !["$id", "$defs", "definitions"].contains(&&**keyword));
        let mut document = Value::Object(keywords);
        let refers = moved_references(&document)?;
        // Each of these takes a copy of the definitions, and compiles what it reaches of them.
        self.referring += usize::from(refers);
        if self.referring > QUICK_REFERRING {
            return None;
        }
        if let Some(dialect) = definitions("$schema") {
            document["$schema"] = dialect.clone();
        }
        for name in ["$defs", "definitions"] {
            if let Some(value) = definitions(name).filter(|_| refers) {
                // They too must mean the same in the other document.
                moved_references(value)?;
                document[name] = value.clone();
            }
        }
        (self.build)(&document).map(Box::new)
    }
}

impl Check {
    fn of_kinds(kinds: u8) -> Self {
        Self {
            kinds,
            plain: true,
            whole: false,
            loose: false,
            number: None,
            length: None,
            array: None,
            object: None,
            more: None,
        }
    }

    /// Is there nothing to look at in a value of some kind?
    fn is_plain(&self) -> bool {
        let scalar = !self.whole && self.number.is_none() && self.length.is_none();
        scalar && self.array.is_none() && self.object.is_none()
    }
}

impl More {
    fn is_any(&self) -> bool {
        let others = self.all.is_empty() && self.any.is_empty() && self.rest.is_none();
        let others = others && self.one.is_none() && self.when.is_none();
        !others || self.values.is_some() || !self.sure.is_empty()
    }
}

/// Is this keyword read elsewhere, or does it refuse nothing?
fn is_known(keyword: &str) -> bool {
    SILENT.contains(&keyword)
        || LENGTH.contains(&keyword)
        || BOUNDS.contains(&keyword)
        || LIST.contains(&keyword)
        || TUPLE.contains(&keyword)
        || RECORD.contains(&keyword)
        || keyword.starts_with("x-")
}

/// The values of `enum` or `const`.
fn values(list: &[Value]) -> Values {
    let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    match texts {
        Some(texts) => Values::Texts(Names::new(texts.into_iter().map(|text| (text, 0)))),
        None => Values::Any(list.into()),
    }
}

/// `type`: one name, or a list of them.
fn kinds(check: &mut Check, value: &Value) -> Option<()> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        one => std::slice::from_ref(one),
    };
    check.kinds = 0;
    check.whole = true;
    for name in names {
        check.kinds |= bit(match name.as_str()? {
            "string" => Kind::String,
            "integer" => Kind::Number,
            "number" => {
                check.whole = false;
                Kind::Number
            }
            "boolean" => Kind::Boolean,
            "array" => Kind::Array,
            "object" => Kind::Object,
            "null" => Kind::Null,
            _ => return None,
        });
    }
    check.whole &= check.kinds & bit(Kind::Number) != 0;
    Some(())
}

/// The least and the most of a size, if one is given; `None` if it is not a plain number.
fn length(map: &Map<String, Value>, [least, most]: [&str; 2]) -> Option<Option<(u32, u32)>> {
    if !map.contains_key(least) && !map.contains_key(most) {
        return Some(None);
    }
    let bound = |keyword, otherwise| match map.get(keyword) {
        None => Some(otherwise),
        Some(value) => u32::try_from(value.as_u64()?).ok(),
    };
    Some(Some((bound(least, 0)?, bound(most, u32::MAX)?)))
}

/// The bounds of a number, if there are any; `None` if they are not plain numbers.
fn range(map: &Map<String, Value>) -> Option<Option<Range>> {
    let bound = |included, excluded| match (map.get(included), map.get(excluded)) {
        (None, None) => Some(None),
        (Some(value), None) => Some(Some((exact(value)?, true))),
        (None, Some(value)) => Some(Some((exact(value)?, false))),
        (Some(_), Some(_)) => None,
    };
    let range = Range {
        least: bound("minimum", "exclusiveMinimum")?,
        most: bound("maximum", "exclusiveMaximum")?,
        step: None,
    };
    Some((range.least.is_some() || range.most.is_some()).then_some(range))
}

/// A step of whole eighths.
fn eighths(value: &Value) -> Option<f64> {
    let step = value.as_f64()?;
    ((1.0 / 8.0..1e6).contains(&step) && (step * 8.0).fract() == 0.0).then_some(step)
}

/// Do all keywords mean what they mean in the newer dialects? In the oldest ones `const`, `if` and
/// others say nothing.
fn tells_apart(document: &Value) -> bool {
    let known = ["2020-12", "2019-09", "draft-07"];
    match document.get("$schema") {
        None => true,
        Some(Value::String(dialect)) => known.iter().any(|known| dialect.contains(known)),
        Some(_) => false,
    }
}

/// A number that a float holds as it is.
fn exact(value: &Value) -> Option<f64> {
    match value.as_i64() {
        Some(whole) => i32::try_from(whole).ok().map(f64::from),
        None if value.is_f64() => value.as_f64(),
        None => None,
    }
}

/// Returns true if this JSON has references that mean the same in another document with the same
/// definitions, false if it has no references, and `None` if one would mean something else.
fn moved_references(value: &Value) -> Option<bool> {
    let mut refers = false;
    let stays = View::root(value).visit(|schema, _| {
        let target = schema.get("$ref").and_then(Value::as_str);
        refers |= target.is_some();
        let defined =
            |target: &str| target.starts_with("#/$defs/") || target.starts_with("#/definitions/");
        if target.is_none_or(defined) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    });
    stays.is_continue().then_some(refers)
}
