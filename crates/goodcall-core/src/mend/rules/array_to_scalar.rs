//! `["a"]` where a single value is wanted.

use crate::mend::edit::New;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::tree::Kind;

pub(crate) const RULE: Rule = Rule {
    name: "array-to-scalar",
    level: Level::Safe,
    what: "Takes the only element out of an array where no array is allowed.",
    why: "A list of one value, where one value is wanted, says that value. An empty array, one of \
          several elements and one that holds another array are left alone.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"path": ["a.txt"]}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if site.fault.pointer.is_root() || site.wanted().is_none_or(|wanted| wanted.has("array")) {
        return;
    }
    let mut elements = site.node.elements();
    if let (Some(only), None) = (elements.next(), elements.next())
        && !matches!(only.kind(), Kind::Array | Kind::Null)
    {
        out.replace(&RULE, site, New::Node(only.id));
    }
}
