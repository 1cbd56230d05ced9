//! Arguments that arrive as values with paths: `{"jsonPath": "$.a[0]", "stringValue": "x"}`.

use goodcall_core::Node;

/// The most segments of one path.
const MOST_DEPTH: usize = 64;
/// The most elements of a list that a path may skip.
const MOST_GAP: usize = 16;

/// One value with its path.
#[derive(Clone, Debug)]
pub(crate) struct PartialArgument {
    path: Vec<PathSegment>,
    value: PartialValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug)]
enum PartialValue {
    Text(String),
    /// JSON as written.
    Raw(String),
    Object(Vec<(String, PartialValue)>),
    List(Vec<PartialValue>),
}

impl PartialArgument {
    /// Reads one value; `None` if it has no path or no value.
    pub(crate) fn read(node: Node<'_>) -> Option<Self> {
        let path = path(node.get("jsonPath")?.as_str()?)?;
        let scalar = |key| {
            node.get(key)
                .map(|value| PartialValue::Raw(value.to_json()))
        };
        let text = node.get("stringValue").and_then(Node::as_str);
        let value = text.map(|text| PartialValue::Text(text.to_owned()));
        let value = value
            .or_else(|| scalar("numberValue"))
            .or_else(|| scalar("boolValue"));
        let null = || {
            node.get("nullValue")
                .map(|_| PartialValue::Raw("null".to_owned()))
        };
        let value = value.or_else(null)?;
        Some(Self { path, value })
    }
}

/// Reads a path such as `$.a.b[0]` or `$['a']`.
fn path(text: &str) -> Option<Vec<PathSegment>> {
    let mut rest = text.strip_prefix('$')?;
    let mut out = Vec::new();
    while !rest.is_empty() && out.len() < MOST_DEPTH {
        if let Some(behind) = rest.strip_prefix('.') {
            let size = behind.find(['.', '[']).unwrap_or(behind.len());
            out.push(PathSegment::Key(behind[..size].to_owned()));
            rest = &behind[size..];
            continue;
        }
        let (inner, behind) = rest.strip_prefix('[')?.split_once(']')?;
        out.push(match inner.parse() {
            Ok(index) => PathSegment::Index(index),
            Err(_) => PathSegment::Key(inner.trim_matches(['\'', '"']).to_owned()),
        });
        rest = behind;
    }
    (rest.is_empty() && !out.is_empty()).then_some(out)
}

/// The arguments so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartialArguments(Vec<(String, PartialValue)>);

impl PartialArguments {
    /// Sets a value; text is appended to earlier text of the same path.
    pub(crate) fn set(&mut self, part: PartialArgument) {
        let mut path = part.path.into_iter();
        let Some(PathSegment::Key(first)) = path.next() else {
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
            (PartialValue::Text(text), PartialValue::Text(more)) => text.push_str(&more),
            (place, value) => *place = value,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        write_members(&self.0, &mut out);
        out
    }
}

fn member(members: &mut Vec<(String, PartialValue)>, key: String) -> &mut PartialValue {
    // Values of one member follow each other, so that the last member is the usual one.
    let at = members.iter().rposition(|(known, _)| *known == key);
    let at = at.unwrap_or_else(|| {
        members.push((key, PartialValue::Text(String::new())));
        members.len() - 1
    });
    &mut members[at].1
}

fn step(place: &mut PartialValue, segment: PathSegment) -> Option<&mut PartialValue> {
    match segment {
        PathSegment::Key(key) => {
            if !matches!(place, PartialValue::Object(_)) {
                *place = PartialValue::Object(Vec::new());
            }
            match place {
                PartialValue::Object(members) => Some(member(members, key)),
                _ => None,
            }
        }
        PathSegment::Index(index) => {
            if !matches!(place, PartialValue::List(_)) {
                *place = PartialValue::List(Vec::new());
            }
            let PartialValue::List(list) = place else {
                return None;
            };
            if index >= list.len() + MOST_GAP {
                return None;
            }
            while list.len() < index {
                list.push(PartialValue::Raw("null".to_owned()));
            }
            if list.len() == index {
                list.push(PartialValue::Text(String::new()));
            }
            list.get_mut(index)
        }
    }
}

fn write_members(members: &[(String, PartialValue)], out: &mut String) {
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

/// Writes a value. Paths are bounded, and so is this recursion.
fn write(value: &PartialValue, out: &mut String) {
    match value {
        PartialValue::Text(text) => {
            out.push_str(&serde_json::Value::from(text.as_str()).to_string())
        }
        PartialValue::Raw(json) => out.push_str(json),
        PartialValue::Object(members) => write_members(members, out),
        PartialValue::List(items) => {
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
