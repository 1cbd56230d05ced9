//! Messages that are lists of blocks, in which calls and results are blocks among others.

use std::collections::HashMap;

use goodcall_core::{Kind, Node};

use super::{Elements, HistoryCall, kind, plain, text_of};
use crate::envelope::Provider;
use crate::splice::quoted;

/// The beginning of an id that is not sent, but paired by.
const INVENTED: &str = "call_";

/// How a provider writes calls and results as blocks.
pub(super) struct BlockForm {
    /// The key of a message's list of blocks.
    pub(super) list: &'static str,
    call: BlockKind,
    result: BlockKind,
    /// The key of the arguments in a call.
    arguments: &'static str,
}

/// How a block of one kind is told from others, and the key of the id in it.
#[derive(Clone, Copy)]
struct BlockKind {
    mark: BlockMark,
    id: &'static str,
}

#[derive(Clone, Copy)]
enum BlockMark {
    /// Its `type`.
    Type(&'static str),
    /// The only member of it that matters, whose value is the call or the result.
    Member(&'static str),
}

const ANTHROPIC: BlockForm = BlockForm {
    list: "content",
    call: BlockKind {
        mark: BlockMark::Type("tool_use"),
        id: "id",
    },
    result: BlockKind {
        mark: BlockMark::Type("tool_result"),
        id: "tool_use_id",
    },
    arguments: "input",
};
const BEDROCK: BlockForm = BlockForm {
    list: "content",
    call: BlockKind {
        mark: BlockMark::Member("toolUse"),
        id: "toolUseId",
    },
    result: BlockKind {
        mark: BlockMark::Member("toolResult"),
        id: "toolUseId",
    },
    arguments: "input",
};
const GEMINI: BlockForm = BlockForm {
    list: "parts",
    call: BlockKind {
        mark: BlockMark::Member("functionCall"),
        id: "id",
    },
    result: BlockKind {
        mark: BlockMark::Member("functionResponse"),
        id: "id",
    },
    arguments: "args",
};

impl BlockKind {
    /// Returns the call or the result that a block is.
    fn of<'t>(self, block: Node<'t>) -> Option<Node<'t>> {
        match self.mark {
            BlockMark::Type(own) => (kind(block) == own).then_some(block),
            BlockMark::Member(key) => block.get(key).filter(|node| node.kind() == Kind::Object),
        }
    }
}

/// A call or a result among the blocks of a message.
pub(super) struct FoundBlock<'t> {
    /// The id that calls and results are paired by.
    pub(super) id: String,
    pub(super) block: Node<'t>,
    /// The object that holds name, id and the rest.
    pub(super) inner: Node<'t>,
}

impl BlockForm {
    /// Returns the form of a provider; `None` for one whose calls and results are no blocks.
    pub(super) fn of(provider: Provider) -> Option<&'static Self> {
        match provider {
            Provider::Anthropic => Some(&ANTHROPIC),
            Provider::Bedrock => Some(&BEDROCK),
            Provider::Gemini => Some(&GEMINI),
            _ => None,
        }
    }

    pub(super) fn blocks<'t>(&self, message: Node<'t>) -> Vec<Node<'t>> {
        message.get(self.list).elements_or_none()
    }

    fn find<'t>(&self, message: Node<'t>, of: BlockKind) -> Vec<FoundBlock<'t>> {
        // Without ids, the calls of one tool are paired with its results in order.
        let mut counts: HashMap<String, usize> = HashMap::new();
        let found = self.blocks(message).into_iter().filter_map(|block| {
            let inner = of.of(block)?;
            let mut id = text_of(inner, of.id);
            if id.is_empty() && matches!(of.mark, BlockMark::Member(_)) {
                let name = text_of(inner, "name");
                let count = counts.entry(name.clone()).or_default();
                *count += 1;
                id = format!("{INVENTED}{name}#{count}");
            }
            Some(FoundBlock { id, block, inner })
        });
        found.collect()
    }

    pub(super) fn calls<'t>(&self, message: Node<'t>) -> Vec<FoundBlock<'t>> {
        self.find(message, self.call)
    }

    pub(super) fn results<'t>(&self, message: Node<'t>) -> Vec<FoundBlock<'t>> {
        self.find(message, self.result)
    }

    /// The nodes of the ids that calls have.
    pub(super) fn call_ids<'t>(&self, message: Node<'t>) -> Vec<Node<'t>> {
        let calls = self.calls(message).into_iter();
        // A call without a name is not a call.
        let calls = calls.filter(|call| !text_of(call.inner, "name").is_empty());
        calls
            .filter_map(|call| call.inner.get(self.call.id))
            .collect()
    }

    /// The nodes of the ids that results have.
    pub(super) fn result_ids<'t>(&self, message: Node<'t>) -> Vec<Node<'t>> {
        let results = self.results(message).into_iter();
        results
            .filter_map(|result| result.inner.get(self.result.id))
            .collect()
    }

    /// The calls of a message.
    pub(super) fn history_calls(&self, message: Node<'_>) -> Vec<HistoryCall> {
        let calls = self.calls(message).into_iter().map(|call| HistoryCall {
            id: call.id,
            name: text_of(call.inner, "name"),
            arguments: super::raw(call.inner.get(self.arguments)),
            result: None,
            is_error: false,
        });
        calls.collect()
    }

    /// The text of a result, and whether it is an error.
    pub(super) fn text(&self, result: Node<'_>) -> (String, bool) {
        if let Some(response) = result.get("response") {
            let error = response.get("error").filter(|error| !error.is_null());
            let said = error.or_else(|| response.get("output").or_else(|| response.get("result")));
            return (plain(said.or(Some(response))), error.is_some());
        }
        let flag = result.get("is_error").and_then(Node::as_bool) == Some(true)
            || result.get("status").and_then(Node::as_str) == Some("error");
        (plain(result.get("content")), flag)
    }

    /// A block with text.
    pub(super) fn text_block(&self, text: &str) -> String {
        let text = quoted(text);
        match self.call.mark {
            BlockMark::Type(_) => format!(r#"{{"type":"text","text":{text}}}"#),
            BlockMark::Member(_) => format!(r#"{{"text":{text}}}"#),
        }
    }

    /// A message with results.
    pub(super) fn message(&self, results: &str) -> String {
        let list = self.list;
        format!(r#"{{"role":"user","{list}":[{results}]}}"#)
    }
}
