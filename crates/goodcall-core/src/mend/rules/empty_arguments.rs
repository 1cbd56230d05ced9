//! Reads empty text and null as `{}` for a tool without required parameters.

use crate::report::Change;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::Schema;
use crate::tree::{Kind, Node, Pointer, Tree};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EmptyArguments,
    level: Level::Safe,
    what: "Reads no arguments at all, `null` or an empty string as `{}` for a tool that \
           requires nothing.",
    why: "The tool accepts `{}`, and there is nothing else that no arguments could mean.",
    not_when: &[
        "The schema does not accept `{}`.",
        "The message was cut off.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"limit": {"type": "integer"}}}"#,
        raw: "null",
        mended: "{}",
    },
};

/// Returns true if the value is null or a blank string.
pub(crate) fn is_nothing(root: Node<'_>) -> bool {
    match root.kind() {
        Kind::Null => true,
        Kind::String => root.as_str().is_some_and(|text| text.trim().is_empty()),
        _ => false,
    }
}

/// Returns `{}` in place of empty arguments, if the schema accepts it.
pub(crate) fn propose<'a>(raw: &'a str, schema: &Schema) -> Option<(Tree<'a>, Change)> {
    if !schema.accepts_empty_object() {
        return None;
    }
    let sent = raw.trim();
    let change = Change {
        rule: RULE.id,
        level: RULE.level,
        pointer: Pointer::root(),
        from: None,
        before: (!sent.is_empty()).then(|| sent.into()),
        after: Some("{}".into()),
        is_text: false,
        span: 0..raw.len(),
        count: 1,
    };
    Some((Tree::empty_object(raw), change))
}
