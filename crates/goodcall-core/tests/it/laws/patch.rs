//! A JSON value with exact numbers, and the operations of RFC 6902 on it.

use goodcall_core::{Change, Kind, Node, Pointer, Tree};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// A number, as its digits.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn parse(text: &str) -> Json {
        Json::of(Tree::parse(text).expect("JSON").root())
    }

    pub(crate) fn of(node: Node<'_>) -> Json {
        match node.kind() {
            Kind::Null => Json::Null,
            Kind::Boolean => Json::Bool(node.as_bool() == Some(true)),
            Kind::Number => Json::Number(node.digits().unwrap_or_default().to_owned()),
            Kind::String => Json::Text(node.as_str().unwrap_or_default().to_owned()),
            Kind::Array => Json::Array(node.elements().map(Json::of).collect()),
            Kind::Object => {
                let members = node
                    .members()
                    .map(|(key, value)| (key.to_owned(), Json::of(value)));
                Json::Object(members.collect())
            }
        }
    }

    /// Sorts the members of all objects.
    pub(crate) fn sorted(self) -> Json {
        match self {
            Json::Array(items) => Json::Array(items.into_iter().map(Json::sorted).collect()),
            Json::Object(members) => {
                let members = members
                    .into_iter()
                    .map(|(key, value)| (key, value.sorted()));
                let mut members: Vec<_> = members.collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Json::Object(members)
            }
            other => other,
        }
    }

    pub(crate) fn numbers(&self, found: &mut Vec<String>) {
        match self {
            Json::Number(digits) => found.push(digits.clone()),
            Json::Array(items) => items.iter().for_each(|item| item.numbers(found)),
            Json::Object(members) => members.iter().for_each(|(_, value)| value.numbers(found)),
            _ => {}
        }
    }

    /// Writes the value with the members of all objects in reverse order.
    pub(crate) fn write_reversed(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(truth) => out.push_str(&truth.to_string()),
            Json::Number(digits) => out.push_str(digits),
            Json::Text(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_reversed(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().rev().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&serde_json::Value::from(key.as_str()).to_string());
                    out.push(':');
                    value.write_reversed(out);
                }
                out.push('}');
            }
        }
    }

    fn at(&mut self, place: &Pointer) -> &mut Json {
        place.segments().fold(self, |node, segment| match node {
            Json::Array(items) => {
                let index: usize = segment.parse().expect("an index");
                items.get_mut(index).expect("an element")
            }
            Json::Object(members) => {
                let found = members.iter_mut().find(|(key, _)| *key == segment);
                &mut found.unwrap_or_else(|| panic!("no {place}")).1
            }
            _ => panic!("no {place}"),
        })
    }

    fn remove(&mut self, place: &Pointer) -> Json {
        let (parent, name) = place.split_last().expect("a member");
        let Json::Object(members) = self.at(&parent) else {
            panic!("{parent} is no object");
        };
        let found = members.iter().position(|(key, _)| *key == name);
        members
            .remove(found.unwrap_or_else(|| panic!("no {place}")))
            .1
    }

    fn add(&mut self, place: &Pointer, value: Json) {
        let (parent, name) = place.split_last().expect("a member");
        let Json::Object(members) = self.at(&parent) else {
            panic!("{parent} is no object");
        };
        assert!(
            members.iter().all(|(key, _)| *key != name),
            "{place} is there"
        );
        members.push((name.into_owned(), value));
    }

    /// Applies one change as an operation of RFC 6902.
    pub(crate) fn apply(&mut self, change: &Change) {
        let value =
            |side: &Option<goodcall_core::Snippet>| Json::parse(side.as_deref().expect("a value"));
        let place = &change.pointer;
        match (&change.from, &change.before, &change.after) {
            (None, None, _) => self.add(place, value(&change.after)),
            (None, Some(_), None) => assert_eq!(self.remove(place), value(&change.before)),
            (None, Some(_), Some(_)) => {
                let old = self.at(place);
                assert_eq!(*old, value(&change.before));
                *old = value(&change.after);
            }
            (Some(from), ..) => {
                let moved = self.remove(from);
                assert_eq!(moved, value(&change.after));
                self.add(place, moved);
            }
        }
    }
}
