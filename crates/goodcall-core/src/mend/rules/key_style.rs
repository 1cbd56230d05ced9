//! Renames `fileName` to `file_name`.

use std::collections::HashMap;

use crate::mend::site::{Proposals, Site};
use crate::names::{bare, same_name};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::Edit;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeyStyle,
    level: Level::Safe,
    what: "Renames a key that differs from a missing or declared one only in case and \
           separators (`fileName`, `file-name`, `File_Name` for `file_name`). The other keys of \
           the object that are spelled in this way are renamed with it, also where the schema \
           allows extra keys.",
    why: "The schema does not know the key as sent, exactly one declared key is spelled with \
          the same letters and is absent, and the value must fit it.",
    not_when: &[
        "The object is a map: its extra keys have a schema or a pattern.",
        "Two keys match the same declared one, or one key matches two.",
        "The keys are options of one letter, whose case is part of the name: `-I` is not `-i`.",
        "The key has a sign: `-price` may mean the opposite of `price`.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["file_name"],
                    "properties": {"file_name": {"type": "string"}}}"#,
        raw: r#"{"fileName": "a.txt"}"#,
        mended: r#"{"file_name":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    match &site.fault.kind {
        FaultKind::Required(name) => {
            let is_twin = |other: &&str| same_name(other, name);
            for &(key, sent, _) in site.undeclared() {
                if same_name(sent, name)
                    && site.absent().filter(is_twin).nth(1).is_none()
                    && let Some(others) = others(site)
                {
                    let first = site.rename(key, sent, name);
                    out.edits(&RULE, std::iter::once(first).chain(others));
                }
            }
        }
        FaultKind::Misspelt { names, .. } => {
            let Some((sent, key, _)) = site.unknown() else {
                return;
            };
            let mut keys = site.node.members();
            if let [name] = names.as_slice()
                && !keys.any(|(key, _)| key != sent && same_name(key, name))
            {
                out.whole(&RULE, [site.rename(key, sent, name)]);
            }
        }
        FaultKind::UnknownKeys(_) => {
            let Some((sent, key, _)) = site.unknown() else {
                return;
            };
            let mut fitting = site.absent().filter(|name| same_name(name, sent));
            let rivals = site.undeclared().iter();
            if let (Some(name), None) = (fitting.next(), fitting.next())
                && rivals.filter(|(_, key, _)| same_name(key, name)).count() == 1
            {
                out.edits(&RULE, [site.rename(key, sent, name)]);
            }
        }
        _ => {}
    }
}

/// Returns the renames of all optional keys in another style, or `None` if one of them is
/// ambiguous. A missing required key is a fault of its own.
fn others(site: &Site<'_>) -> Option<Vec<Edit>> {
    let object = site.subschema()?;
    let mut free: HashMap<String, Vec<&str>> = HashMap::new();
    for name in site.absent().filter(|name| !object.requires(name)) {
        free.entry(bare(name)).or_default().push(name);
    }
    let mut edits = Vec::new();
    for &(key, sent, _) in site.undeclared() {
        let Some(names) = free.get_mut(&bare(sent)) else {
            continue;
        };
        // Take the name, so that a second key in another style finds nothing and is ambiguous.
        match std::mem::take(names).as_slice() {
            [name] if same_name(sent, name) => edits.push(site.rename(key, sent, name)),
            _ => return None,
        }
    }
    Some(edits)
}
