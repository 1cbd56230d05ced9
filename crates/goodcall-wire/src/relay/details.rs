//! What a streamed message has beside its text and its calls, gathered so that it can stand in a
//! history: the reasoning most of all, which some providers want back as they gave it.

use goodcall_core::{Kind, Node};

use crate::cuts::quoted;

/// The list of reasoning parts, with signatures and what is encrypted.
const LIST: &str = "reasoning_details";

/// Members of a part whose text comes in pieces.
const PIECES: [&str; 3] = ["text", "summary", "data"];

/// Texts and parts of one message, by their key.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    texts: Vec<(String, String)>,
    /// Each part's members.
    parts: Vec<Vec<(String, Member)>>,
}

#[derive(Clone, Debug)]
enum Member {
    Text(String),
    Json(String),
}

impl Details {
    /// Takes a member of a delta.
    pub(super) fn add(&mut self, key: &str, value: Node<'_>) {
        match value.as_str() {
            Some(text) => match self.texts.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => known.push_str(text),
                None => self.texts.push((key.to_owned(), text.to_owned())),
            },
            None if key == LIST => value.elements().for_each(|part| self.add_part(part)),
            None => {}
        }
    }

    /// A part goes on where it has the number and the type of the last one.
    fn add_part(&mut self, part: Node<'_>) {
        if part.kind() != Kind::Object {
            return;
        }
        let number =
            |part: Node<'_>| Some((part.get("index")?.to_json(), part.get("type")?.to_json()));
        let members = part.members().filter(|(_, value)| !value.is_null());
        let last = self.parts.last_mut().filter(|last| {
            let get = |key: &str| last.iter().find(|(known, _)| known == key);
            let own = get("index").zip(get("type"));
            let own = own.map(|((_, index), (_, kind))| (index.to_json(), kind.to_json()));
            own.is_some() && own == number(part)
        });
        let new = members.map(|(key, value)| {
            let text = value.as_str().map(|text| Member::Text(text.to_owned()));
            (
                key.to_owned(),
                text.unwrap_or_else(|| Member::Json(value.to_json())),
            )
        });
        let Some(last) = last else {
            return self.parts.push(new.collect());
        };
        for (key, value) in new {
            let known = last.iter_mut().find(|(known, _)| *known == key);
            match (known, value) {
                (Some((_, Member::Text(known))), Member::Text(more))
                    if PIECES.contains(&key.as_str()) =>
                {
                    known.push_str(&more);
                }
                (Some((_, known)), value) => *known = value,
                (None, value) => last.push((key, value)),
            }
        }
    }

    /// All of it as members of a message, each with a comma behind it.
    pub(super) fn to_members(&self) -> String {
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
            members += &format!("\"{LIST}\":[{parts}],");
        }
        members
    }
}

impl Member {
    fn to_json(&self) -> String {
        match self {
            Member::Text(text) => quoted(text),
            Member::Json(json) => json.clone(),
        }
    }
}
