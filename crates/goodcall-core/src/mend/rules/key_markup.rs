//! Renames `</path>path` to `path`.

use std::borrow::Cow;

use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeyMarkup,
    level: Level::Safe,
    what: "Renames a key with markup around it (`</path>path`, `**path**`) to the declared key \
           that is left without it.",
    why: "The schema does not know the key as sent, the declared one is absent, and the value \
          must fit it.",
    not_when: &[
        "Something else than markup is left beside the declared key.",
        "A tag says something else than the key's name, a format or that it is a parameter \
         (`<not>path`), a single `<` or `>` may compare (`>price`), or the key is commented out \
         (`//path`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"</path>path": "a.txt"}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    match &site.fault.kind {
        FaultKind::Required(name) => {
            let sent = site.undeclared();
            let mut found = sent.iter().filter(|(_, sent, _)| without(sent) == *name);
            if let (Some((key, sent, _)), None) = (found.next(), found.next()) {
                out.edits(&RULE, [site.rename(*key, sent, name)]);
            }
        }
        FaultKind::UnknownKeys(_) => {
            let Some((sent, key, _)) = site.unknown() else {
                return;
            };
            let name = without(sent);
            if name != sent && site.declares(&name) && site.node.get(&name).is_none() {
                out.edits(&RULE, [site.rename(key, sent, &name)]);
            }
        }
        _ => {}
    }
}

/// Elements that only format a text, or that hold the name of a parameter where calls are written in
/// markup.
const ELEMENTS: [&str; 14] = [
    "arg",
    "arg_key",
    "argument",
    "b",
    "code",
    "em",
    "i",
    "key",
    "name",
    "param",
    "parameter",
    "property",
    "strong",
    "u",
];

/// The key without tags, emphasis, quotes and colons around it.
fn without(key: &str) -> Cow<'_, str> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '"' | '\'' | ':');
    if !key.contains('<') {
        return Cow::Borrowed(key.trim_matches(is_mark));
    }
    let mut name = String::with_capacity(key.len());
    let mut opened = Vec::new();
    let mut rest = key;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else {
            break;
        };
        name.push_str(&rest[..start]);
        let tag = &rest[start + 1..start + length];
        if !tag.starts_with('/') {
            opened.push(tag.trim());
        }
        rest = &rest[start + length + 1..];
    }
    name.push_str(rest);
    let name = match (name.trim_matches(is_mark), opened.as_slice()) {
        // `<path>`: the name is that of the tag itself.
        ("", [tag]) => tag.trim_end_matches('/').trim_matches(is_mark),
        (name, _) => name,
    };
    // `<not>path` and `<=price` say something about the key.
    let is_element = |tag: &&str| *tag == name || ELEMENTS.contains(tag);
    if opened.iter().all(is_element) {
        Cow::Owned(name.to_owned())
    } else {
        Cow::Borrowed(key)
    }
}
