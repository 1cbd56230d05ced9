//! Renames `file_pth` to `file_path`.

use crate::mend::site::{Proposals, Site};
use crate::names::{same_name, typo_of};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeyTypo,
    level: Level::Eager,
    what: "Renames a key that is a typo of a missing or declared one.",
    why: "One declared key is one or two letters away, no other is near, and the value must fit \
          it. But two keys can be neighbours and mean different things.",
    not_when: &[
        "The difference is a prefix that turns the meaning (`no_dry_run`), or a sign that negates \
         or compares (`!verbose`, `>price`).",
        "Two keys that were sent are typos of the same declared one.",
        "The key sent holds a value (`command=ls`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["file_path"],
                    "properties": {"file_path": {"type": "string"}}}"#,
        raw: r#"{"file_pth": "a.txt"}"#,
        mended: r#"{"file_path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    match &site.fault.kind {
        FaultKind::Required(name) => {
            for &(key, sent, _) in site.undeclared() {
                if meant(site, sent) == Some(name) {
                    out.edits(&RULE, [site.rename(key, sent, name)]);
                }
            }
        }
        FaultKind::UnknownKeys(_) => {
            let found = site.unknown().and_then(|(sent, key, _)| {
                let name = meant(site, sent)?;
                let rivals = site.undeclared().iter();
                let rivals = rivals.filter(|(_, key, _)| meant(site, key) == Some(name));
                (rivals.count() == 1).then(|| site.rename(key, sent, name))
            });
            if let Some(edit) = found {
                out.edits(&RULE, [edit]);
            }
        }
        _ => {}
    }
}

/// Returns the key that this one is a typo of. A key in another style is not a typo, nor is one with a
/// value in it (`command=ls`), which would be lost.
fn meant<'s>(site: &Site<'s>, sent: &str) -> Option<&'s str> {
    let is_typo = |name: &&str| !same_name(sent, name) && !sent.contains('=');
    typo_of(sent, site.absent()).filter(is_typo)
}
