//! What a subschema wants, as data for texts.

use serde_json::{Map, Value};

use super::declared::{local, resolve};
use crate::limits::{DESCRIBED_CHARS, DESCRIBED_FORMS, DESCRIBED_KEYS, REF_HOPS};
use crate::report::{Bound, Expected, Key, Types};
use crate::snippet::clip;

/// References that are followed to tell what each of an array's first elements must be.
const FIRST_HOPS: usize = 3;

/// What `subschema`, a part of `document`, wants. References are followed, `allOf` is merged,
/// the types of a union are put together.
pub(crate) fn describe(document: &Value, subschema: &Value) -> Expected {
    let mut expected = Expected::default();
    add(document, subschema, &mut expected, REF_HOPS);
    if expected == Expected::default() {
        add_words(subschema, &mut expected);
        add_words(resolve(document, subschema), &mut expected);
    }
    expected
}

/// What a schema that demands nothing says of the value.
fn add_words(schema: &Value, expected: &mut Expected) {
    let short = |value: &Value| clip(&value.to_string(), DESCRIBED_CHARS);
    if expected.examples.is_empty() {
        let examples = schema.get("examples").and_then(Value::as_array);
        let examples = examples.into_iter().flatten();
        let default = schema.get("default").into_iter();
        expected.examples = examples.chain(default).take(2).map(short).collect();
    }
    if expected.about.is_none() {
        let words = |keyword: &str| schema.get(keyword)?.as_str()?.trim().lines().next();
        let about = words("description").or_else(|| words("title"));
        let about = about.filter(|about| !about.is_empty());
        expected.about = about.map(|about| clip(about, DESCRIBED_CHARS));
    }
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
        let mut element = Expected::default();
        add(document, items, &mut element, hops);
        expected.items = element.types;
        element.element = None;
        // The first elements may be different ones.
        let all = map.get("prefixItems").is_none() && element != Expected::default();
        expected.element = all.then(|| Box::new(element));
    }
    add_first(document, map, expected, hops);
    add_keys(document, map, expected);
    add_values(map, expected);
    add_bounds(map, expected);
}

/// What the first elements of an array must be: `prefixItems`, or a list of `items` as it was before.
fn add_first(document: &Value, map: &Map<String, Value>, expected: &mut Expected, hops: usize) {
    let first = map.get("prefixItems").or_else(|| map.get("items"));
    let Some(first) = first.and_then(Value::as_array) else {
        return;
    };
    if first.len() <= DESCRIBED_FORMS {
        // What is in them is left out, for they may be such arrays again.
        let hops = hops.min(FIRST_HOPS);
        let each = first.iter().map(|schema| {
            let mut one = Expected::default();
            add(document, schema, &mut one, hops);
            (one.element, one.first) = (None, Vec::new());
            one
        });
        expected.first = each.collect();
    }
}

/// The keys that must be there, with their types or values.
fn add_keys(document: &Value, map: &Map<String, Value>, expected: &mut Expected) {
    let properties = map.get("properties");
    let required = map.get("required").and_then(Value::as_array);
    let Some(required) = required.filter(|names| !names.is_empty()) else {
        if let (true, Some(Value::Object(properties))) = (expected.keys.is_empty(), properties) {
            let all = properties.iter().take(DESCRIBED_KEYS);
            let all = all.map(|(name, property)| key(document, name, Some(property)));
            expected.may_have = all.collect();
        }
        return;
    };
    expected.may_have.clear();
    for name in required.iter().filter_map(Value::as_str) {
        let property = properties.and_then(|p| p.get(name));
        let room = expected.keys.len() < DESCRIBED_KEYS;
        let mut known = expected.keys.iter_mut();
        match known.find(|key| key.name == name) {
            Some(known) if known.types.is_empty() && known.allowed.is_empty() => {
                *known = key(document, name, property);
            }
            None if room => expected.keys.push(key(document, name, property)),
            _ => {}
        }
    }
}

/// A key, and what its schema says at first sight.
pub(crate) fn key(document: &Value, name: &str, property: Option<&Value>) -> Key {
    let name = name.to_owned();
    let Some(property) = property.map(|property| resolve(document, property)) else {
        return Key {
            name,
            ..Key::default()
        };
    };
    let own = |schema: &Value| schema.as_object().map(types_of).unwrap_or_default();
    let mut types = own(property);
    for keyword in ["anyOf", "oneOf"] {
        let branches = property.get(keyword).and_then(Value::as_array);
        let branches = branches.filter(|_| types.is_empty()).into_iter().flatten();
        let each: Vec<_> = branches.map(|b| own(resolve(document, b))).collect();
        if !each.iter().any(|types| types.is_empty()) {
            types = each.into_iter().fold(types, Types::with);
        }
    }
    let values = property.get("enum").and_then(Value::as_array);
    let few = values.filter(|values| values.len() <= DESCRIBED_FORMS);
    let allowed = match constant(property) {
        Some(only) => vec![only.to_string()],
        None => few.into_iter().flatten().map(Value::to_string).collect(),
    };
    Key {
        name,
        allowed,
        types,
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

/// A union wants any of its branches, unless one branch takes anything.
fn add_union(document: &Value, branches: &[Value], expected: &mut Expected, hops: usize) {
    let mut forms = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut one = Expected::default();
        add(document, branch, &mut one, hops);
        if one == Expected::default() {
            return;
        }
        match one.alternatives.is_empty() {
            true => forms.push(one),
            false => forms.append(&mut one.alternatives),
        }
    }
    let types = forms.iter().map(|form| form.types);
    let types = types.fold(Types::default(), Types::with);
    let is_null = |form: &&Expected| form.types == Types::named("null") && form.allowed.is_empty();
    let mut others = forms.iter().filter(|form| !is_null(form));
    let (first, single) = (others.next().cloned(), others.next().is_none());
    let listed = |form: &Expected| !form.allowed.is_empty();
    if forms.iter().all(|form| listed(form) || is_null(&form)) {
        for mut form in forms {
            let null = form.allowed.is_empty().then(|| "null".to_owned());
            expected.allowed.append(&mut form.allowed);
            expected.allowed.extend(null);
        }
    } else if let (Some(only), true) = (first, single && *expected == Expected::default()) {
        *expected = only;
    } else if forms.iter().all(is_plain) && forms.iter().filter(|f| f.element.is_some()).count() < 2
    {
        for form in forms.into_iter().filter(|form| form.element.is_some()) {
            (expected.items, expected.element) = (form.items, form.element);
        }
    } else if forms.len() <= DESCRIBED_FORMS {
        expected.alternatives = forms;
    } else if forms.iter().any(|form| form.types.is_empty()) {
        // A form that lists its values has no type to tell.
        return;
    }
    expected.types = types;
}

/// Is nothing wanted but a type, of the value or of its elements?
fn is_plain(form: &Expected) -> bool {
    let plain = Expected {
        types: form.types,
        items: form.items,
        element: form.element.clone(),
        ..Expected::default()
    };
    *form == plain && !form.types.is_empty()
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
