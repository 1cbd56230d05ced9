//! Wraps `{…}` where an array is expected and the object plainly matches its element schema.

use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::{Kind, NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::SingleElement,
    level: Level::Safe,
    what: "Puts a single object into an array of one element where an array is wanted and the \
           object is plainly an element.",
    why: "The schema names the members of an element and requires some. The object has these \
          and no others, and fits as it is, so its keys are not names that the caller chose, as \
          they would be in a map of elements.",
    not_when: &[
        "The object has a member that the schema of the elements does not name.",
        "The schema requires nothing of an element: see `object-to-array`.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"edits": {"type": "array", "items":
                    {"type": "object", "required": ["path"],
                     "properties": {"path": {"type": "string"}}}}}}"#,
        raw: r#"{"edits": {"path": "a.txt"}}"#,
        mended: r#"{"edits":[{"path":"a.txt"}]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let object = site.node.kind() == Kind::Object && site.node.len() <= MEND_WIDTH;
    if object
        && site
            .wanted()
            .is_some_and(|wanted| wanted.has(JsonType::Array))
        && !site.fault.pointer.is_root()
        && is_element(site)
    {
        out.whole(&RULE, [site.replace(NewValue::Wrapped)]);
    }
}

/// Returns true if the schema of the elements, or a branch of it, declares every member of the
/// object and requires some of them.
fn is_element(site: &Site<'_>) -> bool {
    let Some(items) = site.subschema().and_then(View::items).map(View::resolve) else {
        return false;
    };
    let forms = items.alternatives().take(MEND_WIDTH).map(View::resolve);
    std::iter::once(items)
        .chain(forms)
        .any(|form| is_form(form, site.node))
}

fn is_form(form: View<'_>, node: Node<'_>) -> bool {
    form.required().any(|name| node.get(name).is_some())
        && (node.members()).all(|(key, _)| form.property(key).is_some())
}
