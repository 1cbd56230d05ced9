//! Unwraps arguments that stand under a key of any name: `{"input": {…}}`, `{"raw": "{…}"}`.

use super::{schema_echo, stringified, wrapped_arguments};
use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::names::{bare, holds_other};
use crate::report::{JsonType, Types};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::AnyWrapper,
    level: Level::Safe,
    what: "Takes the arguments out of an object that holds them whole, as an object or as JSON \
           text, under a key of any name, with nothing beside them but the length of the text and the like.",
    why: "The schema declares no outer key, all keys of the inner object, and accepts the inner \
          object as it is.",
    not_when: &[
        "The key may be the name of another tool (`delete_file`), or says that its content is \
         something else: a result, an example, a condition, what is excluded or was before.",
        "The inner object needs mending itself, or requires nothing.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"raw": "{\"path\": \"a.txt\"}", "len": 17}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

/// The most members of such an object.
const MOST_MEMBERS: usize = 4;

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let node = site.node;
    if !site.fault.pointer.is_root()
        || node.kind() != Kind::Object
        || node.len() > MOST_MEMBERS
        || node.members().any(|(key, _)| site.declares(key))
        || wrapped_arguments::inner(site).is_some()
        || wrapped_arguments::names_another(site)
        || schema_echo::members(site).is_some()
    {
        return;
    }
    let holds = |value: &Node<'_>| {
        value.kind() == Kind::Object || value.as_str().is_some_and(stringified::looks_stringified)
    };
    let mut holders = node.members().filter(|(_, value)| holds(value));
    let (Some((key, value)), None) = (holders.next(), holders.next()) else {
        return;
    };
    let beside = node.members().filter(|(other, _)| *other != key);
    let mut others = beside.map(|(key, value)| {
        let plain = matches!(value.kind(), Kind::Number | Kind::Boolean | Kind::Null);
        plain && ABOUT_TEXT.contains(&bare(key).as_str())
    });
    if may_name_tool(key) || !others.all(|plain| plain) {
        return;
    }
    if value.kind() == Kind::Object {
        if fits(site, value) {
            out.whole(&RULE, [site.replace(NewValue::Node(value.id))]);
        }
    } else if let Some(text) = value.as_str()
        && let Some(tree) = stringified::read(text, Types::of(JsonType::Object), site)
        && fits(site, tree.root())
    {
        out.whole(&RULE, [site.replace(NewValue::Tree(tree))]);
    }
}

/// Returns true if the schema declares every member of the object, requires one of them and
/// accepts the object.
fn fits(site: &Site<'_>, object: Node<'_>) -> bool {
    let schema = site.context.schema.root().resolve();
    object.len() <= MEND_WIDTH
        && object
            .members()
            .all(|(key, _)| schema.property(key).is_some())
        && schema.required().any(|name| object.get(name).is_some())
        && site.context.call_schema().accepts(object)
}

/// Members that may stand beside the arguments because they only describe their text.
const ABOUT_TEXT: [&str; 9] = [
    "len",
    "length",
    "size",
    "bytes",
    "chars",
    "count",
    "valid",
    "truncated",
    "index",
];

/// Words that end the names of wrappers.
const NOUNS: [&str; 14] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "inputs",
    "json",
    "data",
    "body",
    "object",
    "payload",
    "request",
    "value",
    "call",
];

/// Words that are the name of a tool, or begin one.
const VERBS: [&str; 24] = [
    "add", "cancel", "close", "copy", "create", "delete", "edit", "execute", "fetch", "find",
    "get", "insert", "list", "move", "open", "read", "remove", "run", "search", "send", "set",
    "stop", "update", "write",
];

/// Returns true if this key may be the name of another tool, or of something that is not arguments.
fn may_name_tool(key: &str) -> bool {
    if holds_other(key) {
        return true;
    }
    let letters = bare(key);
    if NOUNS.iter().any(|noun| letters.ends_with(noun)) || !key.contains(char::is_lowercase) {
        return false;
    }
    // `__arg1` is one word.
    let words = key.trim_matches(|c: char| !c.is_alphanumeric());
    let is_compound =
        words.contains(['_', '-', '.', '/', ':']) || words.chars().skip(1).any(char::is_uppercase);
    is_compound || VERBS.contains(&letters.as_str())
}
