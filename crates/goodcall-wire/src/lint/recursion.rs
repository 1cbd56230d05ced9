//! Finds definitions that refer to themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The definition that other references lead back to: a JSON Pointer, empty for the root. `None` if
/// no definition refers to itself.
pub(super) fn recursion(schema: &Value) -> Option<String> {
    let mut links = BTreeMap::<String, BTreeSet<String>>::new();
    for key in ["$defs", "definitions"] {
        let definitions = schema.get(key).and_then(Value::as_object);
        for (name, definition) in definitions.into_iter().flatten() {
            let at = format!("/{key}/{name}");
            collect(definition, links.entry(at).or_default());
        }
    }
    if let Some(root) = schema.as_object() {
        let found = links.entry(String::new()).or_default();
        for (key, value) in root {
            if !matches!(key.as_str(), "$defs" | "definitions") {
                collect(value, found);
            }
            if key == "$ref" {
                found.extend(value.as_str().and_then(definition_of));
            }
        }
    }
    let mut starts = links.keys();
    starts.find(|start| leads_back(start, &links)).cloned()
}

/// Collects the definitions that are referred to below a schema.
fn collect(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value.as_str()) {
                    ("$ref", Some(reference)) => found.extend(definition_of(reference)),
                    _ => collect(value, found),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|one| collect(one, found)),
        _ => {}
    }
}

/// The definition that a reference leads into; `None` for one outside of the document.
fn definition_of(reference: &str) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let mut parts = pointer.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some(key @ ("$defs" | "definitions")), Some(name)) => Some(format!("/{key}/{name}")),
        _ => Some(String::new()),
    }
}

fn leads_back(start: &str, links: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&String> = links.get(start).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if next == start {
            return true;
        }
        if seen.insert(next) {
            open.extend(links.get(next).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_that_refer_to_themselves_are_found() {
        let list = |to: &str| json!({"type": "array", "items": {"$ref": to}});
        let direct =
            json!({"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"c": list("#/$defs/N")}}}});
        let indirect = json!({"$defs": {"A": list("#/$defs/B"), "B": list("#/$defs/A/items")}});
        let root = json!({"properties": {"c": list("#")}});
        let none = json!({"properties": {"a": list("#/$defs/A"), "b": list("other.json#/x")}, "$defs": {"A": {}}});
        for (schema, expected) in [
            (direct, Some("/$defs/N")),
            (indirect, Some("/$defs/A")),
            (root, Some("")),
            (none, None),
            (json!(true), None),
        ] {
            assert_eq!(recursion(&schema).as_deref(), expected, "{schema}");
        }
    }
}
