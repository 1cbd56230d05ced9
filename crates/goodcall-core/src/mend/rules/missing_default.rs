//! A required member that is missing, with a default in the schema.

use crate::mend::edit::{New, Op};
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    name: "missing-default",
    level: Level::Safe,
    what: "Adds a required member that is missing with the default that its schema names.",
    why: "The tool itself says what it takes when nothing is sent. A default that does not match \
          its own schema is not used, and a value without a default is never invented.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["unit"],
                    "properties": {"unit": {"type": "string", "default": "celsius"}}}"#,
        raw: "{}",
        mended: r#"{"unit":"celsius"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::Required(name) = &site.fault.kind else {
        return;
    };
    let default = site
        .property(name)
        .and_then(|property| property.get("default"));
    if let Some(default) = default {
        let (object, place) = (site.node.id, site.fault.pointer.join(name));
        let value = New::Value(default.clone());
        out.whole(
            &RULE,
            [Op::Add {
                object,
                place,
                value,
            }],
        );
    }
}
