//! What a schema declares for one parameter: enough to type text that came without types.

use goodcall_core::Types;
use serde_json::{Map, Value};

/// References and branches followed for one parameter.
const MOST_STEPS: usize = 64;

/// The types declared for a parameter; empty if the schema does not say.
pub(crate) fn types_of(document: &Value, parameter: &str) -> Types {
    let mut types = Types::default();
    let mut steps = MOST_STEPS;
    for place in places(document, parameter) {
        let one = types_at(document, place, &mut steps);
        if one.is_empty() {
            return one;
        }
        types = types.with(one);
    }
    types
}

/// The types declared for the elements of a parameter; empty if the schema does not say.
pub(crate) fn element_types_of(document: &Value, parameter: &str) -> Types {
    let places = places(document, parameter);
    let items = places.first().and_then(|place| {
        let map = place.as_object()?;
        target(document, map).unwrap_or(place).get("items")
    });
    items.map_or(Types::default(), |items| {
        types_at(document, items, &mut MOST_STEPS.clone())
    })
}

/// Does the schema declare this parameter?
pub(crate) fn declares(document: &Value, parameter: &str) -> bool {
    !places(document, parameter).is_empty()
}

/// The types that a subschema allows; empty for any.
pub(crate) fn types_at(document: &Value, schema: &Value, steps: &mut usize) -> Types {
    let mut types = Types::default();
    let Some(map) = schema.as_object() else {
        return types;
    };
    if *steps == 0 {
        return types;
    }
    *steps -= 1;
    match map.get("type") {
        Some(Value::String(name)) => return Types::named(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).map(Types::named);
            return names.fold(types, Types::with);
        }
        _ => {}
    }
    if let Some(target) = target(document, map) {
        return types_at(document, target, steps);
    }
    if let Some(Value::Array(parts)) = map.get("allOf") {
        let mut parts = parts.iter().map(|part| types_at(document, part, steps));
        return parts.find(|types| !types.is_empty()).unwrap_or_default();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(keyword) {
            for branch in branches {
                let one = types_at(document, branch, steps);
                if one.is_empty() {
                    return one;
                }
                types = types.with(one);
            }
            return types;
        }
    }
    let values = map.get("enum").and_then(Value::as_array);
    let values = values.map_or(map.get("const").map(std::slice::from_ref), |all| Some(all));
    let kinds = values.unwrap_or_default().iter().map(kind_of);
    kinds.fold(types, Types::with)
}

fn kind_of(value: &Value) -> Types {
    Types::named(match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    })
}

/// The subschemas that declare a member of this schema.
pub(crate) fn places<'d>(document: &'d Value, parameter: &str) -> Vec<&'d Value> {
    member(document, document, parameter)
}

/// The subschemas that declare a member of `schema`, which is a part of `document`.
pub(crate) fn member<'d>(document: &'d Value, schema: &'d Value, name: &str) -> Vec<&'d Value> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    let mut steps = MOST_STEPS;
    while let Some(map) = open.pop().and_then(Value::as_object) {
        if steps == 0 {
            break;
        }
        steps -= 1;
        found.extend(map.get("properties").and_then(|all| all.get(name)));
        open.extend(target(document, map));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = map.get(keyword).and_then(Value::as_array);
            open.extend(branches.into_iter().flatten());
        }
    }
    found
}

/// Where a reference inside the document leads.
pub(crate) fn target<'d>(document: &'d Value, map: &Map<String, Value>) -> Option<&'d Value> {
    document.pointer(map.get("$ref")?.as_str()?.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_and_unions_are_followed() {
        let document = json!({
            "$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
            "properties": {
                "a": {"$ref": "#/$defs/n"},
                "b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]},
                "c": {"enum": ["x", 1]},
                "d": {},
                "e": {"$ref": "#/$defs/loop"},
            },
        });
        let names = |name| types_of(&document, name).names().collect::<Vec<_>>();
        assert_eq!(names("a"), ["integer"]);
        assert_eq!(names("b"), ["string", "integer"]);
        assert_eq!(names("c"), ["string", "integer"]);
        assert!(names("d").is_empty() && names("e").is_empty() && names("f").is_empty());
        assert!(declares(&document, "d") && !declares(&document, "f"));
    }
}
