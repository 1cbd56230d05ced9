//! Where members are declared, and whether they are required.

use serde_json::{Map, Value};

use super::Schema;
use crate::limits::{LISTED_NAMES, REF_HOPS};
use crate::tree::Pointer;

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
    let around = all_schemas(document, &parent);
    let mut objects = around.iter().filter_map(|schema| schema.as_object());
    objects.any(|object| requires(object, &name))
}

/// All that any schema for the object around `pointer` declares for the member at it.
pub(crate) fn declarations<'d>(document: &'d Value, pointer: &Pointer) -> Vec<&'d Value> {
    let Some((parent, name)) = pointer.split_last() else {
        return Vec::new();
    };
    let around = all_schemas(document, &parent).into_iter();
    let members = around.filter_map(|schema| schema.get("properties")?.get(&*name));
    members.collect()
}

/// All schemas for the value at `pointer`, those in the branches of unions among them.
fn all_schemas<'d>(document: &'d Value, pointer: &Pointer) -> Vec<&'d Value> {
    let mut schemas = vec![resolve(document, document)];
    let mut looks = LISTED_NAMES;
    for segment in pointer.segments() {
        let around = all_branches(document, schemas, &mut looks);
        let inner = around.iter().filter_map(|schema| {
            let member = schema.get("properties").and_then(|p| p.get(&*segment));
            let element = || segment.parse::<usize>().ok().and(schema.get("items"));
            let rest = || schema.get("additionalProperties");
            member.or_else(element).or_else(rest)
        });
        schemas = inner.map(|schema| resolve(document, schema)).collect();
    }
    all_branches(document, schemas, &mut looks)
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

/// The target of a reference inside the document.
pub(super) fn local<'d>(document: &'d Value, reference: &Value) -> Option<&'d Value> {
    document.pointer(reference.as_str()?.strip_prefix('#')?)
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array())
        .flatten()
}

/// The schema of a member, seen from a keyword that speaks of the object: of the subschema that
/// holds the keyword, or of one around it that is about the same object (`then`, `allOf`, …).
pub(crate) fn member<'d>(schema: &'d Schema, keyword: &str, name: &str) -> Option<&'d Value> {
    let (mut place, _) = keyword.rsplit_once('/')?;
    loop {
        let object = schema.at(place)?;
        if let Some(found) = property(schema.document(), object, name) {
            return Some(found);
        }
        place = around(place)?;
    }
}

/// The schema of a member that a schema declares itself, by a reference or in its `allOf`.
pub(crate) fn property<'d>(
    document: &'d Value,
    schema: &'d Value,
    name: &str,
) -> Option<&'d Value> {
    fn within<'d>(
        document: &'d Value,
        schema: &'d Value,
        name: &str,
        hops: usize,
    ) -> Option<&'d Value> {
        let hops = hops.checked_sub(1)?;
        let own = schema.get("properties").and_then(|p| p.get(name));
        let target = || {
            let target = schema.get("$ref").and_then(|r| local(document, r))?;
            within(document, target, name, hops)
        };
        let part = || {
            let parts = schema.get("allOf")?.as_array()?.iter();
            parts
                .take(LISTED_NAMES)
                .find_map(|part| within(document, part, name, hops))
        };
        own.or_else(target).or_else(part)
    }
    within(document, schema, name, MEMBER_HOPS)
}

/// References and `allOf`s that are followed to find a member.
const MEMBER_HOPS: usize = 4;

/// The place of the schema around this one, if that is about the same value.
fn around(place: &str) -> Option<&str> {
    let (outer, last) = place.rsplit_once('/')?;
    let outer = match last {
        "then" | "else" | "if" => outer,
        _ => {
            let (outer, keyword) = outer.rsplit_once('/')?;
            let applies = [
                "allOf",
                "anyOf",
                "oneOf",
                "dependentSchemas",
                "dependencies",
            ];
            applies.contains(&keyword).then_some(outer)?
        }
    };
    // `then` may be the name of a member or of a definition as well.
    let named = [
        "/properties",
        "/$defs",
        "/definitions",
        "/patternProperties",
    ];
    (!named.iter().any(|name| outer.ends_with(name))).then_some(outer)
}

/// The names of all members that `unevaluatedProperties` or `additionalProperties` lets pass,
/// and whether these are all: no pattern and no condition allows others.
pub(crate) fn names<'d>(schema: &'d Schema, keyword: &str) -> (Vec<&'d str>, bool) {
    let Some((place, last)) = keyword.rsplit_once('/') else {
        return (Vec::new(), false);
    };
    let document = schema.document();
    let mut schemas: Vec<&Value> = schema.at(place).into_iter().collect();
    let (mut names, mut all, mut at) = (Vec::new(), true, 0);
    while let Some(schema) = schemas.get(at).copied() {
        at += 1;
        let own = schema.get("properties").and_then(Value::as_object);
        let room = LISTED_NAMES.saturating_sub(names.len());
        if own.is_some_and(|own| own.len() > room) || schemas.len() > LISTED_NAMES {
            return (Vec::new(), false);
        }
        names.extend(own.into_iter().flat_map(Map::keys).map(String::as_str));
        all &= schema.get("patternProperties").is_none();
        if last != "unevaluatedProperties" {
            break;
        }
        all &= CONDITIONAL.iter().all(|word| schema.get(word).is_none());
        let target = schema.get("$ref").and_then(|r| local(document, r));
        let parts = schema.get("allOf").and_then(Value::as_array);
        schemas.extend(target.into_iter().chain(parts.into_iter().flatten()));
    }
    (names, all)
}

const CONDITIONAL: [&str; 5] = ["anyOf", "oneOf", "then", "else", "dependentSchemas"];
