//! Anthropic's rules for schemas: an object at the root, without unions, with plain keys.

use goodcall_core::Node;

use super::{object, target};
use crate::splice::quoted;

/// The most characters of a key.
const MOST_KEY: usize = 64;

const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Returns the schema under Anthropic's rules. The unions of the root become one object with the
/// parameters of all branches.
pub(super) fn adapt(schema: Node<'_>, request: &str) -> Option<String> {
    let is_object = schema.get("type").and_then(Node::as_str) == Some("object");
    let has_union = UNIONS.iter().any(|key| schema.get(key).is_some());
    let mut keys = schema.get("properties").into_iter().flat_map(Node::members);
    if is_object && !has_union && keys.all(|(key, _)| legal_key(key) == key) {
        return request.get(schema.span()).map(str::to_owned);
    }
    let unions = UNIONS.iter().filter_map(|key| schema.get(key));
    let branches = unions.flat_map(Node::elements);
    let branches = branches.map(|branch| target(schema, branch).unwrap_or(branch));
    let mut properties: Vec<(String, String)> = Vec::new();
    for owner in [schema].into_iter().chain(branches) {
        for (key, value) in owner.get("properties").into_iter().flat_map(Node::members) {
            let key = legal_key(key);
            if !properties.iter().any(|(known, _)| *known == key) {
                properties.push((key, value.to_json()));
            }
        }
    }
    let mut members = vec![
        ("type".to_owned(), quoted("object")),
        ("properties".to_owned(), object(&properties)),
    ];
    for (key, value) in schema.members() {
        let written = match key {
            "type" | "properties" => continue,
            key if UNIONS.contains(&key) => continue,
            "required" => {
                let names = value.elements().filter_map(Node::as_str);
                let names: Vec<_> = names.map(|name| quoted(&legal_key(name))).collect();
                format!("[{}]", names.join(","))
            }
            _ => value.to_json(),
        };
        members.push((key.to_owned(), written));
    }
    Some(object(&members))
}

/// Returns the name of a parameter with every character replaced that Anthropic refuses.
fn legal_key(key: &str) -> String {
    let legal = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') => c,
        _ => '_',
    };
    let legal: String = key.chars().take(MOST_KEY).map(legal).collect();
    if legal.is_empty() {
        "_".to_owned()
    } else {
        legal
    }
}
