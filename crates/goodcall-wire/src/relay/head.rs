//! What a request says beside its messages.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, Tree};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What is needed to judge the replies to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    /// The list of tools, as it is written.
    pub(super) tools: Option<&'a str>,
    /// They are the older `functions`.
    pub(super) old: bool,
    pub(super) model: Option<Cow<'a, str>>,
    /// Several replies are asked for at once.
    pub(super) several: bool,
    pub(super) streams: bool,
}

impl<'a> Head<'a> {
    /// Reads a request; `None` if it is no JSON object.
    pub(super) fn read(body: &'a str) -> Option<Self> {
        // Most of a request is a conversation, of which nothing is needed before the model is asked
        // again.
        Self::usual(body).or_else(|| Self::any(body))
    }

    /// Of a request as clients write it.
    fn usual(body: &'a str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Usual<'a> {
            #[serde(borrow)]
            tools: Option<&'a RawValue>,
            #[serde(borrow)]
            model: Option<Cow<'a, str>>,
            n: Option<u64>,
            stream: Option<bool>,
        }
        let usual: Usual<'a> = serde_json::from_str(body).ok()?;
        // Without tools there may be functions.
        let tools = usual.tools?.get();
        tools.starts_with('[').then_some(Self {
            tools: Some(tools),
            old: false,
            model: usual.model,
            several: usual.n.is_some_and(|n| n != 1),
            streams: usual.stream == Some(true),
        })
    }

    /// Of one in which keys may be repeated and members be of any type.
    fn any(body: &'a str) -> Option<Self> {
        let tree = Tree::parse(body).ok()?;
        let root = tree.root();
        if root.kind() != Kind::Object {
            return None;
        }
        // The last of two counts, as for nearly every reader of JSON.
        let get = |key| {
            let members = root.members().filter(|(name, _)| *name == key);
            members.last().map(|(_, value)| value)
        };
        let tools = get("tools");
        let list = tools.or_else(|| get("functions"));
        let list = list.filter(|list| list.kind() == Kind::Array);
        let model = get("model").and_then(Node::as_str);
        let n = get("n").and_then(Node::digits);
        Some(Self {
            tools: list.and_then(|list| body.get(list.span())),
            old: tools.is_none(),
            model: model.map(|model| Cow::Owned(model.to_owned())),
            several: n.is_some_and(|digits| digits != "1"),
            streams: get("stream").and_then(Node::as_bool) == Some(true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same() {
        for body in [
            r#"{"tools": [{"name": "a"}], "model": "m"}"#,
            r#" {"stream":true,"n":2,"messages":[{"content":"\"tools\":[]"}],"tools":[1, [2]]} "#,
            r#"{"tools":[],"n":1,"stream":false,"model":"a\u00e9\n"}"#,
            r#"{"tools":[],"n":null,"stream":null,"model":null}"#,
        ] {
            let usual = Head::usual(body);
            assert!(usual.is_some(), "{body}");
            assert_eq!(usual, Head::any(body), "{body}");
        }
    }

    #[test]
    fn what_is_odd_is_read_in_full() {
        let head = |body| {
            assert_eq!(Head::usual(body), None, "{body}");
            Head::read(body)
        };
        let old = head(r#"{"functions": [1]}"#).unwrap();
        assert_eq!((old.tools, old.old), (Some("[1]"), true));
        let twice = head(r#"{"tools": [1], "tools": [2]}"#).unwrap();
        assert_eq!(twice.tools, Some("[2]"));
        let odd = head(r#"{"tools": [1], "model": 5, "stream": "yes", "n": "2"}"#).unwrap();
        assert_eq!((odd.model, odd.streams, odd.several), (None, false, false));
        assert_eq!(head(r#"{"tools": {}}"#).unwrap().tools, None);
        for body in ["", "[]", "{", "5", r#"{"tools": [}"#] {
            assert_eq!(head(body), None);
        }
    }
}
