//! What a subschema wants, as data for texts.

use serde_json::{Map, Value};

use crate::limits::{DESCRIBED_KEYS, LISTED_NAMES, REF_HOPS};
use crate::report::{Bound, Expected, Types};
use crate::tree::Pointer;

/// What `subschema`, a part of `document`, wants. References are followed, `allOf` is merged,
/// the types of a union are put together.
pub(crate) fn describe(document: &Value, subschema: &Value) -> Expected {
    let mut expected = Expected::default();
    add(document, subschema, &mut expected, REF_HOPS);
    expected
}

fn add(document: &Value, subschema: &Value, expected: &mut Expected, hops: usize) {
    let (Value::Object(map), Some(hops)) = (subschema, hops.checked_sub(1)) else {
        return;
    };
    if let Some(target) = map.get("$ref").and_then(|r| local(document, r)) {
        add(document, target, expected, hops);
    }
    if let Some(Value::Array(parts)) = map.get("allOf") {
        for part in parts {
            add(document, part, expected, hops);
        }
    }
    let own = types_of(map);
    if !own.is_empty() {
        expected.types = own;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(keyword)
            && expected.types.is_empty()
        {
            add_union(document, branches, expected, hops);
        }
    }
    if let Some(items) = map.get("items") {
        expected.items = describe_types(document, items, hops);
    }
    add_keys(document, map, expected);
    add_values(map, expected);
    add_bounds(map, expected);
}

/// The keys that must be there, and the only value of those that have one.
fn add_keys(document: &Value, map: &Map<String, Value>, expected: &mut Expected) {
    let Some(Value::Array(required)) = map.get("required") else {
        return;
    };
    let properties = map.get("properties");
    for name in required.iter().filter_map(Value::as_str) {
        let property = properties.and_then(|p| p.get(name));
        let only = property.and_then(|p| constant(resolve(document, p)));
        let key = match only {
            Some(value) => format!("{name} {value}"),
            None => name.to_owned(),
        };
        if !expected.keys.contains(&key) && expected.keys.len() < DESCRIBED_KEYS {
            expected.keys.push(key);
        }
    }
}

/// The only value that a schema allows.
pub(crate) fn constant(schema: &Value) -> Option<&Value> {
    let only = || match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    schema.get("const").or_else(only)
}

/// A union wants any of its branches' types, unless one branch takes anything.
fn add_union(document: &Value, branches: &[Value], expected: &mut Expected, hops: usize) {
    let mut types = Types::default();
    let mut allowed = Vec::new();
    let mut all_listed = true;
    for branch in branches {
        let mut one = Expected::default();
        add(document, branch, &mut one, hops);
        if one.types.is_empty() && one.allowed.is_empty() {
            return;
        }
        all_listed &= !one.allowed.is_empty() || one.types == Types::named("null");
        types = types.with(one.types);
        allowed.append(&mut one.allowed);
        if !one.items.is_empty() {
            expected.items = one.items;
        }
    }
    expected.types = types;
    if all_listed {
        expected.allowed = allowed;
    }
}

fn describe_types(document: &Value, subschema: &Value, hops: usize) -> Types {
    let mut expected = Expected::default();
    add(document, subschema, &mut expected, hops);
    expected.types
}

/// The target of a reference inside the document.
fn local<'d>(document: &'d Value, reference: &Value) -> Option<&'d Value> {
    document.pointer(reference.as_str()?.strip_prefix('#')?)
}

/// The types that `type` names.
pub(super) fn types_of(map: &Map<String, Value>) -> Types {
    match map.get("type") {
        Some(Value::String(name)) => Types::named(name),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(Types::named)
            .fold(Types::default(), Types::with),
        _ => Types::default(),
    }
}

fn add_values(map: &Map<String, Value>, expected: &mut Expected) {
    if let Some(value) = map.get("const") {
        expected.allowed = vec![value.to_string()];
    } else if let Some(Value::Array(values)) = map.get("enum") {
        expected.allowed = values.iter().map(Value::to_string).collect();
    }
    let text = |keyword: &str| map.get(keyword).and_then(Value::as_str).map(str::to_owned);
    if let Some(pattern) = text("pattern") {
        expected.pattern = Some(pattern);
    }
    if let Some(format) = text("format") {
        expected.format = Some(format);
    }
}

fn add_bounds(map: &Map<String, Value>, expected: &mut Expected) {
    let bound = |plain: &str, exclusive: &str| {
        let flag = map.get(exclusive) == Some(&Value::Bool(true));
        let number = |keyword| map.get(keyword).filter(|v: &&Value| v.is_number());
        let (limit, exclusive) = match number(exclusive) {
            Some(limit) => (limit, true),
            None => (number(plain)?, flag),
        };
        let limit = limit.to_string();
        Some(Bound { limit, exclusive })
    };
    if let Some(minimum) = bound("minimum", "exclusiveMinimum") {
        expected.minimum = Some(minimum);
    }
    if let Some(maximum) = bound("maximum", "exclusiveMaximum") {
        expected.maximum = Some(maximum);
    }
    if let Some(multiple) = map.get("multipleOf") {
        expected.multiple_of = Some(multiple.to_string());
    }
    for (kind, least, most) in [
        ("string", "minLength", "maxLength"),
        ("array", "minItems", "maxItems"),
        ("object", "minProperties", "maxProperties"),
    ] {
        let size = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
        if expected.types.has(kind) && (size(least).is_some() || size(most).is_some()) {
            expected.size = (size(least), size(most));
        }
    }
}

/// A schema with its references inside the document followed.
pub(crate) fn resolve<'d>(document: &'d Value, mut schema: &'d Value) -> &'d Value {
    for _ in 0..REF_HOPS {
        match schema.get("$ref").and_then(|r| local(document, r)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The subschema that declares the member at `pointer`, and the member's name; found by walking
/// down from the root, so only where one place declares it.
pub(crate) fn owner<'d>(
    document: &'d Value,
    pointer: &Pointer,
) -> Option<(&'d Map<String, Value>, String)> {
    let (parent, name) = pointer.split_last()?;
    let mut schema = resolve(document, document);
    for segment in parent.segments() {
        schema = resolve(document, step(document, schema, &segment, REF_HOPS)?);
    }
    let declared = declares(document, schema, &name)?;
    Some((declared, name.into_owned()))
}

/// The part of `schema` that speaks of one member or element.
fn step<'d>(
    document: &'d Value,
    schema: &'d Value,
    segment: &str,
    hops: usize,
) -> Option<&'d Value> {
    let hops = hops.checked_sub(1)?;
    let member = schema.get("properties").and_then(|p| p.get(segment));
    let element = || {
        segment
            .parse::<usize>()
            .ok()
            .and_then(|_| schema.get("items"))
    };
    let rest = || {
        schema
            .get("additionalProperties")
            .filter(|rest| rest.is_object())
    };
    let branch = || {
        branches(schema).find_map(|branch| {
            let branch = resolve(document, branch);
            step(document, branch, segment, hops)
        })
    };
    member.or_else(element).or_else(rest).or_else(branch)
}

fn declares<'d>(
    document: &'d Value,
    schema: &'d Value,
    name: &str,
) -> Option<&'d Map<String, Value>> {
    if schema
        .get("properties")
        .is_some_and(|p| p.get(name).is_some())
    {
        return schema.as_object();
    }
    branches(schema).find_map(|branch| {
        let branch = resolve(document, branch);
        let own = branch
            .get("properties")
            .is_some_and(|p| p.get(name).is_some());
        branch.as_object().filter(|_| own)
    })
}

/// Does an object's schema require this member?
pub(crate) fn requires(object: &Map<String, Value>, name: &str) -> bool {
    let names = object.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)))
}

/// Does any schema for the object around `pointer` require the member at it? All branches of
/// unions count, so that their order does not matter.
pub(crate) fn required(document: &Value, pointer: &Pointer) -> bool {
    let Some((parent, name)) = pointer.split_last() else {
        return false;
    };
    let mut schemas = vec![resolve(document, document)];
    let mut looks = LISTED_NAMES;
    for segment in parent.segments() {
        let around = all_branches(document, schemas, &mut looks);
        let inner = around.iter().filter_map(|schema| {
            let member = schema.get("properties").and_then(|p| p.get(&*segment));
            let element = || segment.parse::<usize>().ok().and(schema.get("items"));
            let rest = || schema.get("additionalProperties");
            member.or_else(element).or_else(rest)
        });
        schemas = inner.map(|schema| resolve(document, schema)).collect();
    }
    let last = all_branches(document, schemas, &mut looks);
    let mut objects = last.iter().filter_map(|schema| schema.as_object());
    objects.any(|object| requires(object, &name))
}

/// These schemas, and all that stand in them for the same value.
fn all_branches<'d>(
    document: &'d Value,
    mut schemas: Vec<&'d Value>,
    looks: &mut usize,
) -> Vec<&'d Value> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied() {
        at += 1;
        for branch in branches(schema) {
            if *looks == 0 {
                return schemas;
            }
            *looks -= 1;
            schemas.push(resolve(document, branch));
        }
    }
    schemas
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array())
        .flatten()
}
