//! Reads the calls of MiniMax M3: `<invoke name="f"><a>1</a><b><c>2</c></b></invoke>`, with nested
//! elements for nested members. Each tag has the prefix `]<]minimax[>[`, so that values may hold any
//! other tag.

use goodcall_core::{SchemaView, Types};

use super::object_writer::ObjectWriter;
use super::tags::attribute;
use super::{FoundCall, untyped_values};
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The prefix of every tag.
const PREFIX: &str = "]<]minimax[>[";
/// The deepest nesting of values.
const MAX_DEPTH: usize = 32;

/// An open element.
#[derive(Default)]
struct OpenElement {
    name: String,
    text: String,
    children: Vec<(String, String)>,
}

/// Reads the calls of one block.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls: Vec<FoundCall> = Vec::new();
    let mut open: Vec<OpenElement> = Vec::new();
    let mut at = 0;
    let mut start = 0;
    while let Some(next) = text[at..].find(PREFIX).map(|from| at + from) {
        if let Some(element) = open.last_mut() {
            element.text.push_str(&text[at..next]);
        }
        at = next + PREFIX.len();
        let Some(tag) = text[at..].strip_prefix('<') else {
            continue;
        };
        let Some(size) = tag.find('>') else { break };
        let inner = &tag[..size];
        at += size + 2;
        if let Some(name) = inner.strip_prefix('/') {
            let Some(element) = open.pop() else { continue };
            if name == "invoke" && open.is_empty() {
                let span = base + start..base + at;
                calls.push(FoundCall::translated(
                    &element.name,
                    object(&element.children),
                    span,
                ));
            } else {
                let json = element_json(&element, &open, tools);
                if let Some(parent) = open.last_mut() {
                    parent.children.push((element.name, json));
                }
            }
        } else if open.is_empty() {
            if let Some(name) = inner
                .strip_prefix("invoke")
                .and_then(|rest| attribute(rest, "name"))
            {
                start = next;
                open.push(OpenElement {
                    name,
                    ..OpenElement::default()
                });
            }
        } else if open.len() < MAX_DEPTH {
            let name = inner.split([' ', '=']).next().unwrap_or(inner).to_owned();
            open.push(OpenElement {
                name,
                ..OpenElement::default()
            });
        }
    }
    if let Some(invoke) = open.first() {
        let span = base + start..base + text.len();
        let mut found = FoundCall::translated(&invoke.name, object(&invoke.children), span);
        found.state = if open.len() > 1 {
            CallState::Cut
        } else {
            CallState::Open
        };
        calls.push(found);
    }
    calls
}

/// The JSON of a closed element, typed by its subschema.
fn element_json(element: &OpenElement, open: &[OpenElement], tools: &Tools) -> String {
    let mut out = String::new();
    let tool = open.first().and_then(|call| tools.meant(&call.name));
    let schema = tool.and_then(ToolDefinition::root).and_then(|root| {
        let path = open.iter().skip(1).map(|element| element.name.as_str());
        schema_at(root, path.chain([element.name.as_str()]))
    });
    let types = schema.map_or(Types::default(), SchemaView::allowed_types);
    if element.children.is_empty() {
        untyped_values::write(&element.text, types, &mut out);
        return out;
    }
    let items = element.children.iter().all(|(name, _)| name == "item");
    if types.has(goodcall_core::JsonType::Array) || (items && types.is_empty()) {
        let items: Vec<_> = element
            .children
            .iter()
            .map(|(_, json)| json.as_str())
            .collect();
        return format!("[{}]", items.join(","));
    }
    object(&element.children)
}

/// Writes an object; members with the same name become a list.
fn object(children: &[(String, String)]) -> String {
    let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (name, json) in children {
        let at = *index.entry(name.as_str()).or_insert(members.len());
        match members.get_mut(at) {
            Some((_, values)) => values.push(json),
            None => members.push((name, vec![json])),
        }
    }
    let mut object = ObjectWriter::new(None);
    for (name, values) in members {
        object.key(name);
        match values.as_slice() {
            [one] => object.json().push_str(one),
            several => object.json().push_str(&format!("[{}]", several.join(","))),
        }
    }
    object.into_json()
}

/// Returns the subschema at a path of names. The elements of a list may have any name.
fn schema_at<'d>(
    root: SchemaView<'d>,
    mut path: impl Iterator<Item = &'d str>,
) -> Option<SchemaView<'d>> {
    path.try_fold(root, |schema, name| {
        let member = schema.declarations(name).next();
        member.or_else(|| schema.resolve().items())
    })
}
