//! Renames `</path>path` to `path`.

use crate::mend::edit::Op;
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::Id;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeyMarkup,
    level: Level::Safe,
    what: "Renames a key with markup around it (`</path>path`, `**path**`) to the declared key \
           that is left without it.",
    why: "The schema does not know the key as sent, the declared one is absent, and the value \
          must fit it.",
    not_when: &["Something else than markup is left beside the declared key."],
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
                out.edits(&RULE, [rename(site, *key, sent, name)]);
            }
        }
        FaultKind::UnknownKeys(_) => {
            let Some((sent, key, _)) = site.unknown() else {
                return;
            };
            let name = without(sent);
            if name != sent && site.declares(&name) && site.node.get(&name).is_none() {
                out.edits(&RULE, [rename(site, key, sent, &name)]);
            }
        }
        _ => {}
    }
}

fn rename(site: &Site<'_>, key: Id, sent: &str, name: &str) -> Op {
    let place = &site.fault.pointer;
    Op::Rename {
        key,
        from: place.join(sent),
        to: place.join(name),
    }
}

/// The key without tags, emphasis, quotes and colons around it.
fn without(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>') else {
            break;
        };
        name.push_str(&rest[..start]);
        rest = &rest[start + end + 1..];
    }
    name.push_str(rest);
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '"' | '\'' | ':' | '>' | '<' | '/');
    match name.trim_matches(is_mark) {
        // `<path>`: the name is that of the tag itself.
        "" => key.trim_matches(is_mark).to_owned(),
        name => name.to_owned(),
    }
}
