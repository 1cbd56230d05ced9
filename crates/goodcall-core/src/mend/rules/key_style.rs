//! `fileName` for `file_name`.

use crate::mend::edit::Op;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::tree::Id;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    name: "key-style",
    level: Level::Safe,
    what: "Renames a key that differs from a missing or declared one only in case and separators \
           (`fileName`, `file-name`, `File_Name` for `file_name`).",
    why: "The schema does not know the key as sent, exactly one declared key is spelled with the \
          same letters and is not there, and the value must fit it. Two keys that both match are \
          two readings.",
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
            let twins = site.absent().filter(|other| same_name(other, name)).count();
            if twins > 1 {
                return;
            }
            for (key, sent, _) in site.undeclared() {
                if same_name(sent, name) {
                    out.edits(&RULE, [rename(site, key, sent, name)]);
                }
            }
        }
        FaultKind::UnknownKeys(_) => {
            let Some((sent, key, _)) = site.unknown() else {
                return;
            };
            let mut fitting = site.absent().filter(|name| same_name(name, sent));
            let rivals = site.undeclared().into_iter();
            if let (Some(name), None) = (fitting.next(), fitting.next())
                && rivals.filter(|(_, key, _)| same_name(key, name)).count() == 1
            {
                out.edits(&RULE, [rename(site, key, sent, name)]);
            }
        }
        _ => {}
    }
}

pub(super) fn rename(site: &Site<'_>, key: Id, sent: &str, name: &str) -> Op {
    let object = &site.fault.pointer;
    Op::Rename {
        key,
        from: object.join(sent),
        to: object.join(name),
    }
}

/// The same letters and digits, case and separators aside?
pub(super) fn same_name(a: &str, b: &str) -> bool {
    let letters = |name| {
        str::chars(name)
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
    };
    let only_separators = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || "_- .".contains(c))
    };
    letters(a).eq(letters(b)) && letters(a).next().is_some() && only_separators(a)
}
