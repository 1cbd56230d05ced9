//! Fields of a streamed message beside its text and its calls, gathered for the history. Some
//! providers want the reasoning back as they gave it.

use goodcall_core::{Kind, Node};

use crate::splice::quoted;

/// The list of reasoning parts, which may be signed or encrypted.
const PARTS: &str = "reasoning_details";

/// Members of a part whose text arrives in fragments.
const FRAGMENTED: [&str; 3] = ["text", "summary", "data"];

/// The extra fields of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtraFields {
    texts: Vec<(String, String)>,
    /// The members of each reasoning part.
    parts: Vec<Vec<(String, PartMember)>>,
}

#[derive(Clone, Debug)]
enum PartMember {
    Text(String),
    Json(String),
}

impl ExtraFields {
    /// Adds a member of a delta.
    pub(crate) fn add(&mut self, key: &str, value: Node<'_>) {
        match value.as_str() {
            Some(text) => match self.texts.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => known.push_str(text),
                None => self.texts.push((key.to_owned(), text.to_owned())),
            },
            None if key == PARTS => value.elements().for_each(|part| self.add_part(part)),
            None => {}
        }
    }

    /// Adds a part, which continues the last one if it has the same index and type.
    fn add_part(&mut self, part: Node<'_>) {
        if part.kind() != Kind::Object {
            return;
        }
        let members = part.members().filter(|(_, value)| !value.is_null());
        let new = members.map(|(key, value)| {
            let member = match value.as_str() {
                Some(text) => PartMember::Text(text.to_owned()),
                None => PartMember::Json(value.to_json()),
            };
            (key.to_owned(), member)
        });
        let last = self.parts.last_mut().filter(|last| {
            ["index", "type"].iter().all(|key| {
                let own = last.iter().find(|(known, _)| known == key);
                let own = own.map(|(_, member)| member.to_json());
                own.is_some() && own == part.get(key).map(Node::to_json)
            })
        });
        let Some(last) = last else {
            return self.parts.push(new.collect());
        };
        for (key, value) in new {
            let known = last.iter_mut().find(|(known, _)| *known == key);
            match (known, value) {
                (Some((_, PartMember::Text(known))), PartMember::Text(more))
                    if FRAGMENTED.contains(&key.as_str()) =>
                {
                    known.push_str(&more);
                }
                (Some((_, known)), value) => *known = value,
                (None, value) => last.push((key, value)),
            }
        }
    }

    /// Returns the fields as members of a message, each followed by a comma.
    pub(crate) fn to_members(&self) -> String {
        let texts = self.texts.iter();
        let texts = texts.map(|(key, text)| format!("{}:{},", quoted(key), quoted(text)));
        let mut members: String = texts.collect();
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(|part| {
                let part = part.iter();
                let part = part.map(|(key, value)| format!("{}:{}", quoted(key), value.to_json()));
                format!("{{{}}}", part.collect::<Vec<_>>().join(","))
            });
            let parts = parts.collect::<Vec<_>>().join(",");
            members += &format!("\"{PARTS}\":[{parts}],");
        }
        members
    }
}

impl PartMember {
    fn to_json(&self) -> String {
        match self {
            PartMember::Text(text) => quoted(text),
            PartMember::Json(json) => json.clone(),
        }
    }
}
