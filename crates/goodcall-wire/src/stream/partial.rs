//! Arguments that come as values with paths: `{"jsonPath": "$.a[0]", "stringValue": "x"}`.

use goodcall_core::Node;

/// Segments of one path.
const MOST_DEPTH: usize = 64;
/// Elements of a list that a path may skip.
const MOST_GAP: usize = 16;

/// One value with its path.
#[derive(Clone, Debug)]
pub(super) struct PartialArgument {
    path: Vec<Segment>,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    /// JSON as written.
    Raw(String),
    Object(Vec<(String, Value)>),
    List(Vec<Value>),
}

impl PartialArgument {
    /// Reads one; `None` if it is none.
    pub(super) fn read(node: Node<'_>) -> Option<Self> {
        let path = path(node.get("jsonPath")?.as_str()?)?;
        let scalar = |key| node.get(key).map(|value| Value::Raw(value.to_json()));
        let text = node.get("stringValue").and_then(Node::as_str);
        let value = text.map(|text| Value::Text(text.to_owned()));
        let value = value
            .or_else(|| scalar("numberValue"))
            .or_else(|| scalar("boolValue"));
        let null = || node.get("nullValue").map(|_| Value::Raw("null".to_owned()));
        let value = value.or_else(null)?;
        Some(Self { path, value })
    }
}

/// `$.a.b[0]`, `$['a']`.
fn path(text: &str) -> Option<Vec<Segment>> {
    let mut rest = text.strip_prefix('$')?;
    let mut out = Vec::new();
    while !rest.is_empty() && out.len() < MOST_DEPTH {
        if let Some(behind) = rest.strip_prefix('.') {
            let size = behind.find(['.', '[']).unwrap_or(behind.len());
            out.push(Segment::Key(behind[..size].to_owned()));
            rest = &behind[size..];
            continue;
        }
        let (inner, behind) = rest.strip_prefix('[')?.split_once(']')?;
        out.push(match inner.parse() {
            Ok(index) => Segment::Index(index),
            Err(_) => Segment::Key(inner.trim_matches(['\'', '"']).to_owned()),
        });
        rest = behind;
    }
    (rest.is_empty() && !out.is_empty()).then_some(out)
}

/// The arguments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct PartialArguments(Vec<(String, Value)>);

impl PartialArguments {
    /// Puts a value in its place; text goes on where text of the same path ended.
    pub(super) fn set(&mut self, part: PartialArgument) {
        let mut path = part.path.into_iter();
        let Some(Segment::Key(first)) = path.next() else {
            return;
        };
        let mut place = member(&mut self.0, first);
        for segment in path {
            let Some(next) = step(place, segment) else {
                return;
            };
            place = next;
        }
        match (place, part.value) {
            (Value::Text(text), Value::Text(more)) => text.push_str(&more),
            (place, value) => *place = value,
        }
    }

    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        write_members(&self.0, &mut out);
        out
    }
}

fn member(members: &mut Vec<(String, Value)>, key: String) -> &mut Value {
    // Values of one member follow each other, so the last is the usual one.
    let at = members.iter().rposition(|(known, _)| *known == key);
    let at = at.unwrap_or_else(|| {
        members.push((key, Value::Text(String::new())));
        members.len() - 1
    });
    &mut members[at].1
}

fn step(place: &mut Value, segment: Segment) -> Option<&mut Value> {
    match segment {
        Segment::Key(key) => {
            if !matches!(place, Value::Object(_)) {
                *place = Value::Object(Vec::new());
            }
            match place {
                Value::Object(members) => Some(member(members, key)),
                _ => None,
            }
        }
        Segment::Index(index) => {
            if !matches!(place, Value::List(_)) {
                *place = Value::List(Vec::new());
            }
            let Value::List(list) = place else {
                return None;
            };
            if index >= list.len() + MOST_GAP {
                return None;
            }
            while list.len() < index {
                list.push(Value::Raw("null".to_owned()));
            }
            if list.len() == index {
                list.push(Value::Text(String::new()));
            }
            list.get_mut(index)
        }
    }
}

fn write_members(members: &[(String, Value)], out: &mut String) {
    out.push('{');
    for (count, (key, value)) in members.iter().enumerate() {
        if count > 0 {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(key.as_str()).to_string());
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

/// Paths are bounded, so is this recursion.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Text(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
        Value::Raw(json) => out.push_str(json),
        Value::Object(members) => write_members(members, out),
        Value::List(items) => {
            out.push('[');
            for (count, item) in items.iter().enumerate() {
                if count > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
    }
}
