//! Each provider's events as the same few operations.

use goodcall_core::{Kind, Node, StopReason, Tree};

use super::partial::PartialArgument;
use crate::envelope::{EnvelopeError, Provider, stop_named};

/// What a fragment belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Index(String),
    /// The provider's name of the item.
    Item(String),
    /// A call of its own.
    New,
    /// The call that began last.
    Last,
}

/// What an event asks for.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Text(String),
    Call {
        slot: Slot,
        id: Option<String>,
        name: Option<String>,
        arguments: Option<String>,
    },
    Partial {
        slot: Slot,
        name: Option<String>,
        parts: Vec<PartialArgument>,
        more: bool,
    },
    Whole {
        slot: Slot,
        arguments: String,
    },
    End(Slot),
    Stop(StopReason),
}

/// The operations of one event.
pub(super) fn ops(provider: Provider, event: &str) -> Result<Vec<Op>, EnvelopeError> {
    let event = event.trim();
    let event = event.strip_prefix("data:").map_or(event, str::trim);
    if event.is_empty() || event == "[DONE]" {
        return Ok(Vec::new());
    }
    let tree = Tree::parse(event).map_err(|error| EnvelopeError::event(&error))?;
    let mut ops = Vec::new();
    let root = tree.root();
    match provider {
        Provider::OpenAi | Provider::Mistral => chat(root, event, &mut ops),
        Provider::Ollama => ollama(root, event, &mut ops),
        Provider::Responses => responses(root, &mut ops),
        Provider::Anthropic => anthropic(root, event, &mut ops),
        Provider::Bedrock => bedrock(root, event, &mut ops),
        Provider::Gemini => gemini(root, event, &mut ops),
        Provider::Mcp => mcp(root, event, &mut ops),
    }
    Ok(ops)
}

fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(Node::as_str).map(str::to_owned)
}

/// A string as its text, anything else as its JSON, as written.
fn raw(node: Option<Node<'_>>, event: &str) -> Option<String> {
    let node = node.filter(|node| !node.is_null())?;
    match node.as_str() {
        Some(text) => Some(text.to_owned()),
        None => event.get(node.span()).map(str::to_owned),
    }
}

fn index(node: Option<Node<'_>>) -> Slot {
    match node.and_then(Node::digits) {
        Some(digits) => Slot::Index(digits.to_owned()),
        None => Slot::Last,
    }
}

fn stop(node: Option<Node<'_>>, ops: &mut Vec<Op>) {
    if let Some(reason) = node.and_then(Node::as_str) {
        ops.push(Op::Stop(stop_named(reason)));
    }
}

fn push_text(node: Option<Node<'_>>, ops: &mut Vec<Op>) {
    if let Some(text) = text(node).filter(|text| !text.is_empty()) {
        ops.push(Op::Text(text));
    }
}

fn id_of(node: Option<Node<'_>>) -> Option<String> {
    text(node).filter(|id| !id.is_empty() && id != "null")
}

fn chat(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    let Some(choice) = root.get("choices").and_then(|choices| choices.element(0)) else {
        return;
    };
    if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
        push_text(delta.get("content"), ops);
        for call in delta.get("tool_calls").into_iter().flat_map(Node::elements) {
            let function = call.get("function");
            ops.push(Op::Call {
                slot: index(call.get("index")),
                id: id_of(call.get("id")),
                name: text(function.and_then(|function| function.get("name"))),
                arguments: raw(
                    function.and_then(|function| function.get("arguments")),
                    event,
                ),
            });
        }
    }
    stop(choice.get("finish_reason"), ops);
}

/// A call is whole in its line.
fn ollama(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    let Some(message) = root.get("message") else {
        return;
    };
    push_text(message.get("content"), ops);
    for call in message
        .get("tool_calls")
        .into_iter()
        .flat_map(Node::elements)
    {
        let Some(function) = call.get("function") else {
            continue;
        };
        whole(function, "arguments", id_of(call.get("id")), event, ops);
    }
    stop(root.get("done_reason"), ops);
}

fn whole(node: Node<'_>, key: &str, id: Option<String>, event: &str, ops: &mut Vec<Op>) {
    ops.push(Op::Call {
        slot: Slot::New,
        id,
        name: text(node.get("name")),
        arguments: raw(node.get(key), event),
    });
    ops.push(Op::End(Slot::Last));
}

fn responses(root: Node<'_>, ops: &mut Vec<Op>) {
    let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
    let item = root.get("item");
    let slot = |node: Option<Node<'_>>| match text(node) {
        Some(id) => Slot::Item(id),
        None => index(root.get("output_index")),
    };
    let is_call =
        |item: &Node<'_>| item.get("type").and_then(Node::as_str) == Some("function_call");
    match kind {
        "response.output_text.delta" => push_text(root.get("delta"), ops),
        "response.output_item.added" => {
            if let Some(item) = item.filter(is_call) {
                ops.push(Op::Call {
                    slot: slot(item.get("id")),
                    id: id_of(item.get("call_id")),
                    name: text(item.get("name")),
                    arguments: text(item.get("arguments")).filter(|text| !text.is_empty()),
                });
            }
        }
        "response.function_call_arguments.delta" => ops.push(Op::Call {
            slot: slot(root.get("item_id")),
            id: None,
            name: None,
            arguments: text(root.get("delta")),
        }),
        "response.function_call_arguments.done" => {
            let arguments = text(root.get("arguments")).unwrap_or_default();
            ops.push(Op::Whole {
                slot: slot(root.get("item_id")),
                arguments,
            });
        }
        "response.output_item.done" => {
            if let Some(item) = item.filter(is_call) {
                let arguments = text(item.get("arguments")).unwrap_or_default();
                ops.push(Op::Whole {
                    slot: slot(item.get("id")),
                    arguments,
                });
                ops.push(Op::End(slot(item.get("id"))));
            }
        }
        "response.completed" | "response.incomplete" => {
            stop(
                root.get("response")
                    .and_then(|response| response.get("status")),
                ops,
            );
        }
        _ => {}
    }
}

fn anthropic(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    let slot = index(root.get("index"));
    match root.get("type").and_then(Node::as_str).unwrap_or_default() {
        "content_block_start" => {
            let Some(block) = root.get("content_block") else {
                return;
            };
            push_text(block.get("text"), ops);
            if block.get("type").and_then(Node::as_str) != Some("tool_use") {
                return;
            }
            // The input here is an empty object that fragments replace.
            let input = block.get("input").filter(|input| !input.is_empty());
            ops.push(Op::Call {
                slot,
                id: id_of(block.get("id")),
                name: text(block.get("name")),
                arguments: raw(input, event),
            });
        }
        "content_block_delta" => {
            let Some(delta) = root.get("delta") else {
                return;
            };
            push_text(delta.get("text"), ops);
            if let Some(part) = text(delta.get("partial_json")) {
                let arguments = Some(part);
                ops.push(Op::Call {
                    slot,
                    id: None,
                    name: None,
                    arguments,
                });
            }
        }
        "content_block_stop" => ops.push(Op::End(slot)),
        "message_delta" => stop(
            root.get("delta").and_then(|delta| delta.get("stop_reason")),
            ops,
        ),
        _ => {}
    }
}

fn bedrock(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    if let Some(start) = root.get("contentBlockStart") {
        let call = start.get("start").and_then(|start| start.get("toolUse"));
        if let Some(call) = call {
            ops.push(Op::Call {
                slot: index(start.get("contentBlockIndex")),
                id: id_of(call.get("toolUseId")),
                name: text(call.get("name")),
                arguments: None,
            });
        }
    }
    if let Some(block) = root.get("contentBlockDelta") {
        let Some(delta) = block.get("delta") else {
            return;
        };
        push_text(delta.get("text"), ops);
        if let Some(call) = delta.get("toolUse") {
            ops.push(Op::Call {
                slot: index(block.get("contentBlockIndex")),
                id: None,
                name: None,
                arguments: raw(call.get("input"), event),
            });
        }
    }
    if let Some(end) = root.get("contentBlockStop") {
        ops.push(Op::End(index(end.get("contentBlockIndex"))));
    }
    stop(
        root.get("messageStop")
            .and_then(|end| end.get("stopReason")),
        ops,
    );
}

fn gemini(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    let Some(candidate) = root.get("candidates").and_then(|all| all.element(0)) else {
        return;
    };
    let parts = candidate
        .get("content")
        .and_then(|content| content.get("parts"));
    for part in parts.into_iter().flat_map(Node::elements) {
        if part.get("thought").and_then(Node::as_bool) != Some(true) {
            push_text(part.get("text"), ops);
        }
        let Some(call) = part.get("functionCall") else {
            continue;
        };
        let more = call.get("willContinue").and_then(Node::as_bool) == Some(true);
        let partial = call
            .get("partialArgs")
            .filter(|list| list.kind() == Kind::Array);
        if partial.is_none() && !more && call.get("name").is_some() {
            whole(call, "args", id_of(call.get("id")), event, ops);
            continue;
        }
        let parts = partial.into_iter().flat_map(Node::elements);
        ops.push(Op::Partial {
            // A name begins a call, the rest goes on with it.
            slot: if call.get("name").is_some() {
                Slot::New
            } else {
                Slot::Last
            },
            name: text(call.get("name")),
            parts: parts.filter_map(PartialArgument::read).collect(),
            more,
        });
    }
    stop(candidate.get("finishReason"), ops);
}

fn mcp(root: Node<'_>, event: &str, ops: &mut Vec<Op>) {
    if root.get("method").and_then(Node::as_str) == Some("tools/call")
        && let Some(params) = root.get("params")
    {
        let id = root.get("id").and_then(|id| event.get(id.span()));
        let id = id.map(|id| id.trim_matches('"').to_owned());
        whole(params, "arguments", id, event, ops);
    }
}
