//! Renames the only key that was sent to the only one that is wanted.

use serde_json::Value;

use crate::mend::site::{Proposals, Site};
use crate::names::{Words, bare, is_envelope_key};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::{View, describe};
use crate::tree::{Kind, Node};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::OnlyKey,
    level: Level::Safe,
    what: "Renames the only key that the schema does not declare to the only required one that is \
           missing, where the value shows that it is meant: an object or a list under the same \
           word for a tool that takes nothing else (`grades` for `grade_dict`), or an allowed value \
           under another word for `type` (`kind`, `action`, `mode`).",
    why: "The value fits that member as it is, and there is no other that it could be meant for.",
    not_when: &[
        "The key sent is that of an envelope.",
        "The keys differ in another word than that for a container (`exclude`, `ignored_paths`).",
        "The object that was sent holds the missing key itself.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["type"], "properties":
                    {"type": {"enum": ["add", "delete"]}, "text": {"type": "string"}}}"#,
        raw: r#"{"action": "add", "text": "milk"}"#,
        mended: r#"{"type":"add","text":"milk"}"#,
    },
};

/// Words for what is to be done, or for the kind of something.
const KINDS: [&str; 10] = [
    "action",
    "category",
    "command",
    "kind",
    "method",
    "mode",
    "op",
    "operation",
    "task",
    "type",
];

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::Required(name) = &site.fault.kind else {
        return;
    };
    let ([(key, sent, value)], Some(object)) = (site.undeclared(), site.subschema()) else {
        return;
    };
    let mut missing = object
        .required()
        .filter(|name| site.node.get(name).is_none());
    let is_only_one = missing.next() == Some(name.as_str()) && missing.next().is_none();
    if !is_only_one || is_envelope_key(sent, site.context.tool) {
        return;
    }
    let fits = site.property(name).is_some_and(|property| {
        same_content(sent, name) && is_only_container(site, name, property, *value)
            || names_kind(sent) && names_kind(name) && is_listed(property, *value)
    });
    if fits {
        out.whole(&RULE, [site.rename(*key, sent, name)]);
    }
}

/// Words that only say that a key holds several things.
const CONTAINERS: [&str; 14] = [
    "array",
    "collection",
    "data",
    "dict",
    "dictionary",
    "items",
    "list",
    "map",
    "mapping",
    "object",
    "obj",
    "set",
    "table",
    "values",
];

fn same_content(a: &str, b: &str) -> bool {
    content_words(a).is_some_and(|words| Some(words) == content_words(b))
}

/// The words of a key in the singular, without those for a container.
fn content_words(key: &str) -> Option<Vec<String>> {
    let words = Words::of(key);
    let kept = words.iter().filter(|word| !CONTAINERS.contains(word));
    let mut words: Vec<String> = kept.map(str::to_owned).collect();
    for word in &mut words {
        // `news` are not `new`.
        if word.ends_with('s') && !word.ends_with("ss") && word != "news" {
            word.pop();
        }
    }
    (!words.is_empty()).then_some(words)
}

fn names_kind(key: &str) -> bool {
    KINDS.contains(&bare(key).as_str())
}

fn is_listed(property: View<'_>, value: Node<'_>) -> bool {
    let listed = property.get("enum").and_then(Value::as_array);
    let mut texts = listed.into_iter().flatten().filter_map(Value::as_str);
    value
        .as_str()
        .is_some_and(|sent| texts.any(|text| text == sent))
}

/// Returns true if the tool takes one object or list and nothing else, and gets one that is not
/// empty.
fn is_only_container(site: &Site<'_>, name: &str, property: View<'_>, value: Node<'_>) -> bool {
    let declared = site.properties().map_or(0, serde_json::Map::len);
    let types = describe(property).types;
    declared == 1
        && site.fault.pointer.is_root()
        && matches!(value.kind(), Kind::Object | Kind::Array)
        && !value.is_empty()
        && !types.is_empty()
        && types.admits(value.kind())
        && value.get(name).is_none()
}
