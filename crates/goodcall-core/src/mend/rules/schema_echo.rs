//! Unwraps arguments that were sent as `{"type": "object", "properties": {…values…}}`.

use crate::mend::site::{Proposals, Site};
use crate::names::{Words, bare};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::SchemaEcho,
    level: Level::Safe,
    what: "Takes the values out of an echo of the schema: an object out of `{\"type\": \
           \"object\", \"properties\": {…}}`, a single value out of `{\"type\": …, \"value\": \
           …}` or `{\"type\": …, \"description\": …}`.",
    why: "The schema declares neither `properties` nor `type` there, and the inner value is the \
          one that the schema wants.",
    not_when: &[
        "An outer key is declared by the schema, or is not a keyword of JSON Schema.",
        "`type` does not name a JSON type (`{\"type\": \"percent\", \"value\": 10}`).",
        "The description is the schema's own, or several words that describe rather than are the \
         value: they begin with an article, name the key, or are for the most part those of the \
         schema's description.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"type": "object", "properties": {"path": "a.txt"}, "required": ["path"]}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

/// The keys that may accompany `properties` in an echo.
const KEYWORDS: [&str; 7] = [
    "$schema",
    "type",
    "title",
    "description",
    "required",
    "properties",
    "additionalProperties",
];

/// The types of JSON Schema and their names in Python.
const TYPES: [&str; 13] = [
    "string", "number", "integer", "boolean", "array", "object", "null", "str", "float", "int",
    "bool", "list", "dict",
];

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if site.node.kind() != Kind::Object {
        return;
    }
    let inner = match site.wanted() {
        Some(wanted) if !wanted.has(JsonType::Object) => value(site),
        _ => members(site),
    };
    if let Some(inner) = inner {
        out.replace(&RULE, site, NewValue::Node(inner.id));
    }
}

/// Returns the object inside an echo of the schema.
pub(super) fn members<'s>(site: &Site<'s>) -> Option<Node<'s>> {
    if site.node.len() > KEYWORDS.len() {
        return None;
    }
    let inner = site.node.get("properties")?;
    let is_echo = matches!(site.node.get("type")?.as_str(), Some("object" | "dict"))
        && inner.kind() == Kind::Object
        && (site.node.members()).all(|(key, _)| KEYWORDS.contains(&key) && !site.declares(key));
    is_echo.then_some(inner)
}

/// Returns the value inside an echo of a single value's schema. A description that describes is not
/// taken for one.
fn value<'s>(site: &Site<'s>) -> Option<Node<'s>> {
    let key = site.fault.pointer.split_last().map(|(_, key)| key);
    let key = key.unwrap_or_default();
    let declared = site
        .subschema()
        .and_then(|schema| schema.get("description")?.as_str());
    let echoed = |node: Node<'s>| {
        // `{"type": "percent", "value": 10}` is not an echo.
        let is_echo = node.len() == 2 && TYPES.contains(&node.get("type")?.as_str()?);
        let described = || {
            let value = node.get("description")?;
            let is_description = |sent| describes(sent, &key, declared);
            (!value.as_str().is_some_and(is_description)).then_some(value)
        };
        node.get("value").or_else(described).filter(|_| is_echo)
    };
    // `{"type": "list", "items": {"type": "float", "value": 1.5}}` in place of an element.
    let nested = || {
        let node = site.node;
        let is_list = matches!(node.get("type")?.as_str()?, "array" | "list") && node.len() == 2;
        echoed(node.get("items").filter(|_| is_list)?)
    };
    echoed(site.node).or_else(nested)
}

/// Returns true for a text that describes the value of `key`, rather than being the value.
fn describes(sent: &str, key: &str, declared: Option<&str>) -> bool {
    if declared.is_some_and(|declared| bare(declared) == bare(sent)) {
        return true;
    }
    let (words, key) = (Words::of(sent), Words::of(key));
    let count = words.iter().count();
    let shared = |others: &Words| {
        let is_shared = |word: &&str| others.iter().any(|other| other == *word);
        words.iter().filter(is_shared).count()
    };
    let first = sent.split_whitespace().next().unwrap_or_default();
    let has_article = ["a", "an", "the"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word));
    let is_reworded = || declared.is_some_and(|text| 2 * shared(&Words::of(text)) > count);
    count > 1 && (has_article || shared(&key) > 0 || is_reworded())
}
