//! Puts `5` into quotes where a string is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NumberToString,
    level: Level::Safe,
    what: "Writes a number or a boolean as a string where a string is wanted, with exactly the \
           characters that were sent.",
    why: "Nothing but quotes is added. An identifier of any length keeps all its digits, and \
          one that is not a number in JSON (`+14155551234`, `0xff0000`) keeps its notation.",
    not_when: &["The value is `1` or `0` and a boolean is allowed as well."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"id": {"type": "string"}}}"#,
        raw: r#"{"id": 12345678901234567890}"#,
        mended: r#"{"id":"12345678901234567890"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if !site
        .wanted()
        .is_some_and(|wanted| wanted.has(JsonType::String))
    {
        return;
    }
    let text = match (site.node.digits(), site.node.as_bool()) {
        (Some(digits), _) => digits,
        (_, Some(true)) => "true",
        (_, Some(false)) => "false",
        _ => return,
    };
    if matches!(site.node.digits(), Some("0" | "1"))
        && site
            .declared_types()
            .is_some_and(|types| types.has(JsonType::Boolean))
    {
        return;
    }
    let sent = as_sent(site.node, text).unwrap_or(text);
    out.replace(&RULE, site, NewValue::text(sent));
}

/// Returns the value as it was sent if it is a number or literal in a notation other than JSON's,
/// such as `0xff`, `+1`, `007` or `True`.
fn as_sent<'s>(node: Node<'s>, text: &str) -> Option<&'s str> {
    let sent = node.tree.source().get(node.span())?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-._,".contains(c);
    let literal = node.as_bool().is_some() && sent.eq_ignore_ascii_case(text);
    let number = node.digits().is_some()
        && sent.contains(|c: char| c.is_ascii_digit())
        && sent.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    (sent.chars().all(plain) && (literal || number)).then_some(sent)
}
