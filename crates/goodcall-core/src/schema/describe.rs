//! Describes what a subschema demands, as data for texts.

use serde_json::{Map, Value};

use super::View;
use crate::limits::{DESCRIBED_CHARS, DESCRIBED_FORMS, DESCRIBED_KEYS, VIEW_HOPS};
use crate::report::{Bound, Expected, ExpectedArray, JsonType, Key, Types};
use crate::snippet::clip;

/// The number of references that are followed to describe each of an array's first elements.
const FIRST_HOPS: usize = 3;

/// Describes what a schema demands. References are followed, `allOf` is merged, and the types of a
/// union are put together.
pub(crate) fn describe(schema: View<'_>) -> Expected {
    let mut expected = Expected::default();
    add(schema, &mut expected, VIEW_HOPS);
    if expected == Expected::default() {
        add_words(schema, &mut expected);
        add_words(schema.resolve(), &mut expected);
    }
    expected
}

/// Adds what a schema that demands nothing says of the value.
fn add_words(schema: View<'_>, expected: &mut Expected) {
    if expected.prose.examples.is_empty() {
        let examples = schema.get("examples").and_then(Value::as_array);
        let examples = examples.into_iter().flatten().chain(schema.get("default"));
        let short = |value: &Value| clip(&value.to_string(), DESCRIBED_CHARS);
        expected.prose.examples = examples.take(2).map(short).collect();
    }
    if expected.prose.about.is_none() {
        let words = |keyword: &str| schema.get(keyword)?.as_str()?.trim().lines().next();
        let about = words("description").or_else(|| words("title"));
        let about = about.filter(|about| !about.is_empty());
        expected.prose.about = about.map(|about| clip(about, DESCRIBED_CHARS));
    }
}

fn add(schema: View<'_>, expected: &mut Expected, hops: usize) {
    let (Value::Object(map), Some(hops)) = (schema.value(), hops.checked_sub(1)) else {
        return;
    };
    for part in schema.target().into_iter().chain(schema.list("allOf")) {
        add(part, expected, hops);
    }
    let own = schema.types();
    if !own.is_empty() {
        expected.types = own;
    }
    for keyword in ["anyOf", "oneOf"] {
        if schema.get(keyword).is_some_and(Value::is_array) && expected.types.is_empty() {
            add_union(schema.list(keyword), expected, hops);
        }
    }
    if let Some(items) = schema.items() {
        let mut element = Expected::default();
        add(items, &mut element, hops);
        expected.array.items = element.types;
        element.array.element = None;
        // With `prefixItems` this is not what the first elements must be.
        let all = map.get("prefixItems").is_none() && element != Expected::default();
        expected.array.element = all.then(|| Box::new(element));
    }
    add_first(schema, expected, hops);
    add_keys(schema, expected);
    add_values(map, expected);
    add_bounds(map, expected);
}

/// Adds what the first elements of an array must be: `prefixItems`, or a list under `items` as in
/// older drafts.
fn add_first(schema: View<'_>, expected: &mut Expected, hops: usize) {
    let keyword = match schema.get("prefixItems") {
        Some(_) => "prefixItems",
        None => "items",
    };
    let count = schema.get(keyword).and_then(Value::as_array).map(Vec::len);
    if count.is_some_and(|count| count <= DESCRIBED_FORMS) {
        // Their own elements are left out, since these may be such arrays again.
        let hops = hops.min(FIRST_HOPS);
        let each = schema.list(keyword).map(|first| {
            let mut one = Expected::default();
            add(first, &mut one, hops);
            (one.array.element, one.array.first) = (None, Vec::new());
            one
        });
        expected.array.first = each.collect();
    }
}

/// Adds the required keys, with their types or values.
fn add_keys(schema: View<'_>, expected: &mut Expected) {
    let required = schema.get("required").and_then(Value::as_array);
    if required.is_none_or(Vec::is_empty) {
        if schema.own_properties().is_some() && expected.object.keys.is_empty() {
            let all = schema.properties().take(DESCRIBED_KEYS);
            expected.object.may_have = all.map(|(name, member)| key(name, Some(member))).collect();
        }
        return;
    }
    expected.object.may_have.clear();
    for name in schema.required() {
        let property = schema.own_property(name);
        let room = expected.object.keys.len() < DESCRIBED_KEYS;
        let mut known = expected.object.keys.iter_mut();
        match known.find(|key| key.name == name) {
            Some(known) if known.types.is_empty() && known.allowed.is_empty() => {
                *known = key(name, property);
            }
            None if room => expected.object.keys.push(key(name, property)),
            _ => {}
        }
    }
}

/// A key, with what its schema says without looking deeper.
pub(crate) fn key(name: &str, property: Option<View<'_>>) -> Key {
    let name = name.to_owned();
    let Some(property) = property.map(View::resolve) else {
        return Key {
            name,
            ..Key::default()
        };
    };
    let mut types = property.types();
    for keyword in ["anyOf", "oneOf"] {
        let each = |branch: View<'_>| branch.resolve().types();
        if types.is_empty() && !property.list(keyword).map(each).any(Types::is_empty) {
            types = property.list(keyword).map(each).fold(types, Types::with);
        }
    }
    let values = property.get("enum").and_then(Value::as_array);
    let few = values.filter(|values| values.len() <= DESCRIBED_FORMS);
    let allowed = match property.constant() {
        Some(only) => vec![only.to_string()],
        None => few.into_iter().flatten().map(Value::to_string).collect(),
    };
    Key {
        name,
        allowed,
        types,
    }
}

/// Adds the branches of a union, unless one of them allows anything.
fn add_union<'d>(branches: impl Iterator<Item = View<'d>>, expected: &mut Expected, hops: usize) {
    let mut forms = Vec::new();
    for branch in branches {
        let mut one = Expected::default();
        add(branch, &mut one, hops);
        if one == Expected::default() {
            return;
        }
        if one.alternatives.is_empty() {
            forms.push(one);
        } else {
            forms.append(&mut one.alternatives);
        }
    }
    let types = forms.iter().map(|form| form.types);
    let types = types.fold(Types::default(), Types::with);
    let is_null =
        |form: &&Expected| form.types == Types::of(JsonType::Null) && form.allowed.is_empty();
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
    } else if forms.iter().all(is_plain)
        && forms.iter().filter(|f| f.array.element.is_some()).count() < 2
    {
        for form in forms
            .into_iter()
            .filter(|form| form.array.element.is_some())
        {
            (expected.array.items, expected.array.element) = (form.array.items, form.array.element);
        }
    } else if forms.len() <= DESCRIBED_FORMS {
        expected.alternatives = forms;
    } else if forms.iter().any(|form| form.types.is_empty()) {
        // A branch that lists its values has no type, so the types of the others are not all.
        return;
    }
    expected.types = types;
}

/// Returns true if nothing is demanded but a type, of the value or of its elements.
fn is_plain(form: &Expected) -> bool {
    let plain = Expected {
        types: form.types,
        array: ExpectedArray {
            items: form.array.items,
            element: form.array.element.clone(),
            ..ExpectedArray::default()
        },
        ..Expected::default()
    };
    *form == plain && !form.types.is_empty()
}

fn add_values(map: &Map<String, Value>, expected: &mut Expected) {
    if let Some(value) = map.get("const") {
        expected.allowed = vec![value.to_string()];
    } else if let Some(Value::Array(values)) = map.get("enum") {
        expected.allowed = values.iter().map(Value::to_string).collect();
    }
    let text = |keyword: &str| map.get(keyword).and_then(Value::as_str).map(str::to_owned);
    if let Some(pattern) = text("pattern") {
        expected.string.pattern = Some(pattern);
    }
    if let Some(format) = text("format") {
        expected.string.format = Some(format);
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
        expected.number.minimum = Some(minimum);
    }
    if let Some(maximum) = bound("maximum", "exclusiveMaximum") {
        expected.number.maximum = Some(maximum);
    }
    if let Some(multiple) = map.get("multipleOf") {
        expected.number.multiple_of = Some(multiple.to_string());
    }
    for (kind, least, most) in [
        (JsonType::String, "minLength", "maxLength"),
        (JsonType::Array, "minItems", "maxItems"),
        (JsonType::Object, "minProperties", "maxProperties"),
    ] {
        let size = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
        if expected.types.has(kind) && (size(least).is_some() || size(most).is_some()) {
            expected.size = (size(least), size(most));
        }
    }
}
