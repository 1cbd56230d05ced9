//! OpenAI's strict mode: every parameter is required, and an optional one may be null.

use goodcall_core::{Kind, Node, Tree};

use super::{MOST_DEPTH, object};
use crate::splice::{Splice, quoted};

/// Keywords that strict mode accepts. Others are left out; calls are judged by them anyway.
const ACCEPTED: [&str; 20] = [
    "type",
    "description",
    "title",
    "enum",
    "const",
    "properties",
    "items",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
    "minItems",
    "maxItems",
];

/// Returns the schema in strict form; `None` if strict mode has no form for it.
pub(super) fn adapt(schema: Node<'_>) -> Option<String> {
    let is_object = schema.get("type").and_then(Node::as_str) == Some("object");
    let union = ["anyOf", "oneOf", "allOf", "not", "if"];
    let plain = union.iter().all(|key| schema.get(key).is_none());
    (is_object && plain).then(|| write(schema, 0))?
}

fn write(node: Node<'_>, depth: usize) -> Option<String> {
    if depth > MOST_DEPTH || node.kind() != Kind::Object {
        return None;
    }
    if let Some(reference) = node.get("$ref") {
        // Strict mode allows no other keyword beside a reference.
        return Some(format!(r#"{{"$ref":{}}}"#, reference.to_json()));
    }
    if ["allOf", "not", "if", "patternProperties"]
        .iter()
        .any(|key| node.get(key).is_some())
    {
        return None;
    }
    let mut members = Vec::new();
    for (key, value) in node.members() {
        let written = match key {
            "properties" => continue,
            "items" => write(value, depth + 1)?,
            "anyOf" | "oneOf" => {
                let branches = value.elements().map(|branch| write(branch, depth + 1));
                let branches = branches.collect::<Option<Vec<_>>>()?;
                members.push(("anyOf".to_owned(), format!("[{}]", branches.join(","))));
                continue;
            }
            "$defs" | "definitions" => {
                let inner = value.members();
                let inner =
                    inner.map(|(key, value)| Some((key.to_owned(), write(value, depth + 1)?)));
                object(&inner.collect::<Option<Vec<_>>>()?)
            }
            key if ACCEPTED.contains(&key) => value.to_json(),
            _ => continue,
        };
        members.push((key.to_owned(), written));
    }
    let kinds = node.get("type");
    let has = |name: &str| {
        kinds.is_some_and(|kinds| {
            kinds.as_str() == Some(name) || kinds.elements().any(|kind| kind.as_str() == Some(name))
        })
    };
    if has("array") && node.get("items").is_none() {
        return None;
    }
    if has("object") || node.get("properties").is_some() {
        members.extend(properties(node, depth)?);
    }
    Some(object(&members))
}

/// Writes the parameters of an object, all of them required.
fn properties(node: Node<'_>, depth: usize) -> Option<Vec<(String, String)>> {
    let properties = node.get("properties");
    let others = node.get("additionalProperties");
    let is_map = match others {
        Some(others) => others.kind() == Kind::Object || others.as_bool() == Some(true),
        None => properties.is_none(),
    };
    if is_map {
        // Strict mode has no form for a map.
        return None;
    }
    let required: Vec<_> = node
        .get("required")
        .into_iter()
        .flat_map(Node::elements)
        .collect();
    let (mut written, mut names) = (Vec::new(), Vec::new());
    for (key, value) in properties.into_iter().flat_map(Node::members) {
        let is_required = required.iter().any(|name| name.as_str() == Some(key));
        let mut schema = write(value, depth + 1)?;
        if !is_required {
            schema = nullable(value, &schema);
        }
        written.push((key.to_owned(), schema));
        names.push(quoted(key));
    }
    Some(vec![
        ("properties".to_owned(), object(&written)),
        ("required".to_owned(), format!("[{}]", names.join(","))),
        ("additionalProperties".to_owned(), "false".to_owned()),
    ])
}

/// Allows null as well.
fn nullable(sent: Node<'_>, schema: &str) -> String {
    let kinds = sent.get("type");
    let simple = kinds.and_then(Node::as_str).filter(|_| {
        let closed = ["enum", "const", "anyOf", "oneOf", "$ref"];
        closed.iter().all(|key| sent.get(key).is_none())
    });
    let tree = Tree::parse(schema);
    match (simple, tree) {
        (Some(kind), Ok(tree)) => {
            let mut splice = Splice::new(schema);
            splice.set(
                tree.root(),
                "type",
                &format!(r#"[{},"null"]"#, quoted(kind)),
            );
            splice.apply()
        }
        _ => format!(r#"{{"anyOf":[{schema},{{"type":"null"}}]}}"#),
    }
}
