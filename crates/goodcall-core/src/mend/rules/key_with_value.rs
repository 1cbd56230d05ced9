//! Reads `{"command=ls": ""}` as `{"command": "ls"}`.

use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Edit, NewValue};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeyWithValue,
    level: Level::Safe,
    what: "Splits a key that holds its value (`command=ls`) where the value beside it is empty.",
    why: "The required key before the `=` is missing, the schema does not know the key as sent, and \
          there is no other text that could be the value.",
    not_when: &[
        "The value is not empty.",
        "There is no text behind the `=`.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["command"],
                    "properties": {"command": {"type": "string"}}}"#,
        raw: r#"{"command=ls": ""}"#,
        mended: r#"{"command":"ls"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::Required(name) = &site.fault.kind else {
        return;
    };
    let sent = site.undeclared();
    let mut found = sent.iter().filter_map(|(key, sent, value)| {
        let text = sent.strip_prefix(name.as_str())?.strip_prefix('=')?;
        let is_value = !text.is_empty() && value.as_str() == Some("");
        is_value.then_some((*key, *sent, text))
    });
    let (Some((key, sent, text)), None) = (found.next(), found.next()) else {
        return;
    };
    let (object, around) = (site.node.id, &site.fault.pointer);
    let remove = Edit::Remove {
        object,
        key,
        place: around.join(sent),
    };
    let add = Edit::Add {
        object,
        place: around.join(name),
        value: NewValue::text(text),
    };
    out.edits(&RULE, [remove, add]);
}
