//! `file_pth` for `file_path`.

use super::key_style::rename;
use super::typo::typo_of;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    name: "key-typo",
    level: Level::Eager,
    what: "Renames a key that is a typo of a missing or declared one.",
    why: "One declared key is one or two letters away, no other is near, and the value must fit \
          it. Two keys can still be neighbours and mean different things.",
    example: Example {
        schema: r#"{"type": "object", "required": ["file_path"],
                    "properties": {"file_path": {"type": "string"}}}"#,
        raw: r#"{"file_pth": "a.txt"}"#,
        mended: r#"{"file_path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    match &site.fault.kind {
        FaultKind::Required(name) => {
            for (key, sent, _) in site.undeclared() {
                if typo_of(sent, site.absent()) == Some(name) {
                    out.edits(&RULE, [rename(site, key, sent, name)]);
                }
            }
        }
        FaultKind::UnknownKeys(keys) => {
            let found = keys.first().and_then(|sent| {
                let (key, _) = site.member_of(sent)?;
                let name = typo_of(sent, site.absent())?;
                Some(rename(site, key, sent, name))
            });
            if let Some(op) = found {
                out.edits(&RULE, [op]);
            }
        }
        _ => {}
    }
}
