//! Gemini's rules for schemas, a subset of OpenAPI: no references, no type lists, enums of strings.

use goodcall_core::{Kind, Node};

use super::{MOST_DEPTH, object, target};
use crate::splice::quoted;

/// The most schemas that one schema may become when its references are expanded.
const MOST_STEPS: usize = 4096;

/// The depth at which references are no longer expanded.
const RECURSION_DEPTH: usize = 16;

/// Keywords that are kept as they are.
const KEPT: [&str; 9] = [
    "description",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "nullable",
];

/// Keywords that Gemini refuses wherever they appear, and how to write a schema without them.
pub(crate) const GEMINI_REFUSES: [(&str, &str); 5] = [
    ("oneOf", "oneOf is refused: write anyOf"),
    ("allOf", "allOf is refused: write it out"),
    ("const", "const is not known: write an enum of one value"),
    ("patternProperties", "patternProperties is refused"),
    ("prefixItems", "prefixItems is refused"),
];

/// Returns the schema under Gemini's rules; `None` if it is too large when references are expanded.
pub(super) fn adapt(schema: Node<'_>) -> Option<String> {
    let mut writer = SchemaWriter {
        root: schema,
        steps: MOST_STEPS,
    };
    writer.write(schema, 0)
}

struct SchemaWriter<'t> {
    root: Node<'t>,
    steps: usize,
}

impl<'t> SchemaWriter<'t> {
    fn write(&mut self, node: Node<'t>, depth: usize) -> Option<String> {
        self.steps = self.steps.checked_sub(1)?;
        if depth > MOST_DEPTH {
            return None;
        }
        if node.kind() != Kind::Object {
            return Some(r#"{"type":"string"}"#.to_owned());
        }
        if let Some(target) = target(self.root, node) {
            // A recursive schema ends here; calls are judged by the whole schema anyway.
            if depth > RECURSION_DEPTH {
                return Some(r#"{"type":"object","properties":{}}"#.to_owned());
            }
            return self.write(target, depth + 1);
        }
        let mut members: Vec<(String, String)> = Vec::new();
        let kept = node.members().filter(|(key, _)| KEPT.contains(key));
        members.extend(kept.map(|(key, value)| (key.to_owned(), value.to_json())));
        if let Some(format) = node.get("format").and_then(Node::as_str)
            && matches!(format, "enum" | "date-time")
        {
            members.push(("format".to_owned(), quoted(format)));
        }
        let union = node.get("anyOf").or_else(|| node.get("oneOf"));
        let parts = node
            .get("allOf")
            .map(|all| all.elements().collect::<Vec<_>>());
        if let Some(union) = union {
            self.union(union.elements().collect(), depth, &mut members)?;
        } else if let Some([only]) = parts.as_deref() {
            return self.write(*only, depth + 1);
        } else {
            self.plain(node, depth, &mut members)?;
        }
        Some(object(&members))
    }

    fn union(
        &mut self,
        branches: Vec<Node<'t>>,
        depth: usize,
        members: &mut Vec<(String, String)>,
    ) -> Option<()> {
        let is_null = |branch: &Node<'_>| branch.get("type").and_then(Node::as_str) == Some("null");
        let mut written = Vec::new();
        for branch in branches.iter().filter(|branch| !is_null(branch)) {
            written.push(self.write(*branch, depth + 1)?);
        }
        members.push(("anyOf".to_owned(), format!("[{}]", written.join(","))));
        if branches.iter().any(is_null) {
            members.push(("nullable".to_owned(), "true".to_owned()));
        }
        Some(())
    }

    fn plain(
        &mut self,
        node: Node<'t>,
        depth: usize,
        members: &mut Vec<(String, String)>,
    ) -> Option<()> {
        let kinds = node.get("type");
        let mut names: Vec<&str> = match kinds {
            Some(kinds) if kinds.kind() == Kind::Array => {
                kinds.elements().filter_map(Node::as_str).collect()
            }
            Some(kind) => kind.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        if names.contains(&"null") {
            names.retain(|name| *name != "null");
            members.push(("nullable".to_owned(), "true".to_owned()));
        }
        let values = node
            .get("enum")
            .map(|all| all.elements().collect::<Vec<_>>());
        let values = values.or_else(|| node.get("const").map(|one| vec![one]));
        if let Some(values) = values.filter(|all| all.iter().all(|one| one.as_str().is_some())) {
            let values: Vec<_> = values.iter().map(|one| one.to_json()).collect();
            members.push(("type".to_owned(), quoted("string")));
            members.push(("enum".to_owned(), format!("[{}]", values.join(","))));
            return Some(());
        }
        let kind = match names.as_slice() {
            [one] => (*one).to_owned(),
            [] if node.get("properties").is_some() => "object".to_owned(),
            [] if node.get("items").is_some() => "array".to_owned(),
            [] => "string".to_owned(),
            several => {
                let each = several
                    .iter()
                    .map(|name| format!(r#"{{"type":{}}}"#, quoted(name)));
                let each: Vec<_> = each.collect();
                members.push(("anyOf".to_owned(), format!("[{}]", each.join(","))));
                return Some(());
            }
        };
        members.push(("type".to_owned(), quoted(&kind)));
        if kind == "array" {
            let items = match node
                .get("items")
                .filter(|items| items.kind() == Kind::Object)
            {
                Some(items) => self.write(items, depth + 1)?,
                None => r#"{"type":"string"}"#.to_owned(),
            };
            members.push(("items".to_owned(), items));
        }
        if kind == "object" {
            self.object(node, depth, members)?;
        }
        Some(())
    }

    fn object(
        &mut self,
        node: Node<'t>,
        depth: usize,
        members: &mut Vec<(String, String)>,
    ) -> Option<()> {
        let properties = node.get("properties").into_iter().flat_map(Node::members);
        let mut written = Vec::new();
        for (key, value) in properties {
            written.push((key.to_owned(), self.write(value, depth + 1)?));
        }
        let required = node.get("required").into_iter().flat_map(Node::elements);
        let required = required.filter_map(Node::as_str);
        let required = required.filter(|name| written.iter().any(|(key, _)| key == name));
        let required: Vec<_> = required.map(quoted).collect();
        members.push(("properties".to_owned(), object(&written)));
        if !required.is_empty() {
            members.push(("required".to_owned(), format!("[{}]", required.join(","))));
        }
        Some(())
    }
}
