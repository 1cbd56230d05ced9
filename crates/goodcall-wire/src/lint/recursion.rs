//! Finds parts of a schema that refer to themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The part of a schema that the references in it lead back to: a JSON Pointer, empty for the root.
/// `None` if no part refers to itself.
pub(super) fn recursion(schema: &Value) -> Option<String> {
    let mut targets = BTreeSet::new();
    collect(schema, &mut targets);
    let links = targets.iter().filter_map(|target| {
        let mut found = BTreeSet::new();
        match schema.pointer(target)? {
            // Definitions are a part of the root only where they are referred to.
            Value::Object(root) if target.is_empty() => {
                let rest = root.iter();
                let rest = rest.filter(|(key, _)| !matches!(key.as_str(), "$defs" | "definitions"));
                for (key, value) in rest {
                    collect_member(key, value, &mut found);
                }
            }
            part => collect(part, &mut found),
        }
        Some((target.clone(), found))
    });
    let links: BTreeMap<_, _> = links.collect();
    let mut starts = links.keys();
    starts.find(|start| leads_back(start, &links)).cloned()
}

/// Collects the parts of the document that are referred to below a schema.
fn collect(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                collect_member(key, value, found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|one| collect(one, found)),
        _ => {}
    }
}

fn collect_member(key: &str, value: &Value, found: &mut BTreeSet<String>) {
    match (key, value.as_str()) {
        // A reference to another document leads nowhere here.
        ("$ref", Some(reference)) => {
            found.extend(reference.strip_prefix('#').map(str::to_owned));
        }
        _ => collect(value, found),
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
    fn parts_that_refer_to_themselves_are_found() {
        let list = |to: &str| json!({"type": "array", "items": {"$ref": to}});
        let direct =
            json!({"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"c": list("#/$defs/N")}}}});
        let indirect = json!({"$defs": {"A": list("#/$defs/B"), "B": list("#/$defs/A/items")}});
        let root = json!({"properties": {"c": list("#")}});
        let shared = json!({"properties": {"a": {"type": "string"}, "b": list("#/properties/a")}});
        let missing = json!({"properties": {"a": list("#/nope")}});
        let none = json!({"properties": {"a": list("#/$defs/A"), "b": list("other.json#/x")}, "$defs": {"A": {}}});
        for (schema, expected) in [
            (direct, Some("/$defs/N")),
            (indirect, Some("/$defs/A/items")),
            (root, Some("")),
            (shared, None),
            (missing, None),
            (none, None),
            (json!(true), None),
        ] {
            assert_eq!(recursion(&schema).as_deref(), expected, "{schema}");
        }
    }
}
