//! A key that the schema forbids.

use super::key_style::same_name;
use crate::mend::edit::Op;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    name: "unknown-key",
    level: Level::Eager,
    what: "Drops a member that the schema forbids.",
    why: "The tool would not read it. But what it was meant to do is not done, so this is not a \
          sure reading; a member that the schema allows is never dropped.",
    example: Example {
        schema: r#"{"type": "object", "properties": {"path": {"type": "string"}},
                    "additionalProperties": false}"#,
        raw: r#"{"path": "a.txt", "explanation": "to read it"}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::UnknownKeys(keys) = &site.fault.kind else {
        return;
    };
    let Some(name) = keys.first() else { return };
    // A key that was meant for a declared one is not to be dropped.
    let meant = site.absent().any(|absent| same_name(absent, name));
    if let Some((key, _)) = site.member_of(name).filter(|_| !meant) {
        let (object, place) = (site.node.id, site.fault.pointer.join(name));
        out.whole(&RULE, [Op::Remove { object, key, place }]);
    }
}
