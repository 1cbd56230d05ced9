//! Reads the calls of MiniMax M3: `<invoke name="f"><a>1</a><b><c>2</c></b></invoke>`, with nested
//! elements for nested members. Each tag has the prefix `]<]minimax[>[`, so that values may hold any
//! other tag.

use std::ops::Range;

use goodcall_core::{Change, SchemaView, Types};

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
    /// The changes that reading its values took.
    changes: Vec<Change>,
    /// There is text between its children, so that some value ended too early.
    is_mixed: bool,
}

impl OpenElement {
    fn named(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Takes a child that has ended.
    fn take(&mut self, mut child: Self, json: String) {
        self.changes.append(&mut child.changes);
        self.is_mixed |= child.is_mixed || !self.text.trim().is_empty();
        self.children.push((child.name, json));
    }

    /// The call of an element `invoke`.
    fn call(mut self, span: Range<usize>, state: CallState) -> FoundCall {
        let mut found = FoundCall::translated(&self.name, object(&self.children), span.clone());
        for change in &mut self.changes {
            change.span = span.clone();
        }
        found.changes = self.changes;
        let mixed = self.is_mixed || !self.text.trim().is_empty();
        found.state = if mixed && state == CallState::Whole {
            CallState::Unreadable("no text between the values".to_owned())
        } else {
            state
        };
        found
    }
}

/// Reads the calls of one block.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls: Vec<FoundCall> = Vec::new();
    let mut open: Vec<OpenElement> = Vec::new();
    let mut at = 0;
    let mut start = 0;
    while let Some(next) = text[at..].find(PREFIX).map(|from| at + from) {
        let inner = tag_at(&text[next + PREFIX.len()..]);
        let closes = |element: &OpenElement| {
            let own = if open.len() == 1 {
                "invoke"
            } else {
                element.name.as_str()
            };
            inner.is_some_and(|inner| inner.strip_prefix('/') == Some(own))
        };
        let opens = |inner: &&str| !inner.starts_with('/') && open.len() < MAX_DEPTH;
        let closes = open.last().is_some_and(closes);
        let Some(inner) = inner.filter(|inner| closes || opens(inner)) else {
            // Part of the value.
            if let Some(element) = open.last_mut() {
                element.text.push_str(&text[at..next + PREFIX.len()]);
            }
            at = next + PREFIX.len();
            continue;
        };
        if let Some(element) = open.last_mut() {
            element.text.push_str(&text[at..next]);
        }
        at = next + PREFIX.len() + inner.len() + 2;
        if closes {
            let element = open.pop().expect("an element is open");
            match element_json(&element, &open, tools) {
                _ if open.is_empty() => {
                    calls.push(element.call(base + start..base + at, CallState::Whole));
                }
                (json, change) => {
                    let parent = open.last_mut().expect("an element is open");
                    parent.changes.extend(change);
                    parent.take(element, json);
                }
            }
        } else if !open.is_empty() {
            let name = inner.split([' ', '=']).next().unwrap_or(inner);
            open.push(OpenElement::named(name.to_owned()));
        } else if let Some(name) = inner
            .strip_prefix("invoke")
            .and_then(|rest| attribute(rest, "name"))
        {
            start = next;
            open.push(OpenElement::named(name));
        }
    }
    let cut = open.len() > 1;
    if let Some(invoke) = open.into_iter().next() {
        let state = if cut { CallState::Cut } else { CallState::Open };
        calls.push(invoke.call(base + start..base + text.len(), state));
    }
    calls
}

/// The text inside the tag at the start of `text`.
fn tag_at(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    inner.split_once('>').map(|(inner, _)| inner)
}

/// The JSON of a closed element, typed by its subschema, and the change that reading it took.
fn element_json(
    element: &OpenElement,
    open: &[OpenElement],
    tools: &Tools,
) -> (String, Option<Change>) {
    let mut out = String::new();
    let tool = open.first().and_then(|call| tools.meant(&call.name));
    let schema = tool.and_then(ToolDefinition::root).and_then(|root| {
        let path = open.iter().skip(1).map(|element| element.name.as_str());
        schema_at(root, path.chain([element.name.as_str()]))
    });
    let types = schema.map_or(Types::default(), SchemaView::allowed_types);
    if element.children.is_empty() {
        let change = untyped_values::write(&element.text, types, &mut out);
        return (out, change);
    }
    let items = element.children.iter().all(|(name, _)| name == "item");
    if types.has(goodcall_core::JsonType::Array) || (items && types.is_empty()) {
        let items: Vec<_> = element
            .children
            .iter()
            .map(|(_, json)| json.as_str())
            .collect();
        return (format!("[{}]", items.join(",")), None);
    }
    (object(&element.children), None)
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
