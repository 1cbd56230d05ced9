//! `<invoke name="f"><a>1</a><b><c>2</c></b></invoke>`: elements for members, nested as the value
//! is. Each tag has a prefix of its own, `]<]minimax[>[`, so values may hold any other tag.

use serde_json::Value;

use super::python_values::quote;
use super::tags::attribute;
use super::{Context, Found, untyped_values};
use crate::call::State;
use crate::declared;

/// What stands before every tag.
pub(crate) const PREFIX: &str = "]<]minimax[>[";
/// Nesting of values.
const MOST_DEPTH: usize = 32;

/// One element, on its way to JSON.
#[derive(Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<(String, String)>,
}

/// The calls of one block.
pub(crate) fn calls(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut calls: Vec<Found> = Vec::new();
    let mut open: Vec<Element> = Vec::new();
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
                calls.push(Found::translated(
                    &element.name,
                    object(&element.children),
                    span,
                ));
            } else {
                let json = element_json(&element, &open, context);
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
                open.push(Element {
                    name,
                    ..Element::default()
                });
            }
        } else if open.len() < MOST_DEPTH {
            let name = inner.split([' ', '=']).next().unwrap_or(inner).to_owned();
            open.push(Element {
                name,
                ..Element::default()
            });
        }
    }
    if let Some(invoke) = open.first() {
        let span = base + start..base + text.len();
        let mut found = Found::translated(&invoke.name, object(&invoke.children), span);
        found.state = if open.len() > 1 {
            State::Cut
        } else {
            State::Open
        };
        calls.push(found);
    }
    calls
}

/// The JSON of a closed element, typed by the schema at its place.
fn element_json(element: &Element, open: &[Element], context: &Context<'_>) -> String {
    let mut out = String::new();
    let tool = open
        .first()
        .and_then(|call| context.tools.meant(&call.name));
    let document = tool
        .and_then(|tool| tool.schema.as_ref().ok())
        .map(|schema| schema.document());
    let place = document.and_then(|document| {
        let path = open.iter().skip(1).map(|element| element.name.as_str());
        place(document, path.chain([element.name.as_str()]))
    });
    let types = match (document, place) {
        (Some(document), Some(place)) => declared::types_at(document, place, &mut 64),
        _ => goodcall_core::Types::default(),
    };
    if element.children.is_empty() {
        untyped_values::write(&element.text, types, &mut out);
        return out;
    }
    let items = element.children.iter().all(|(name, _)| name == "item");
    if types.has("array") || (items && types.is_empty()) {
        let items: Vec<_> = element
            .children
            .iter()
            .map(|(_, json)| json.as_str())
            .collect();
        return format!("[{}]", items.join(","));
    }
    object(&element.children)
}

/// Members as an object; equal names make a list.
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
    let mut out = String::from("{");
    for (count, (name, values)) in members.iter().enumerate() {
        if count > 0 {
            out.push(',');
        }
        quote(name, &mut out);
        out.push(':');
        match values.as_slice() {
            [one] => out.push_str(one),
            several => out.push_str(&format!("[{}]", several.join(","))),
        }
    }
    out.push('}');
    out
}

/// The subschema at a path of names; elements of lists have any name.
fn place(document: &Value, path: impl Iterator<Item = impl AsRef<str>>) -> Option<&Value> {
    let mut schema = document;
    for name in path {
        let member = declared::member(document, schema, name.as_ref())
            .first()
            .copied();
        let items = || {
            let map = schema.as_object()?;
            let schema = declared::target(document, map).unwrap_or(schema);
            schema.get("items")
        };
        schema = member.or_else(items)?;
    }
    Some(schema)
}
