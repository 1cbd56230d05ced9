//! Reads the events of each provider as the same few operations on calls.

use goodcall_core::{Kind, Node, StopReason, Tree};

use super::partial_arguments::PartialArgument;
use crate::envelope::{EnvelopeError, Provider, stop_named};

/// The call that a fragment belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallSlot {
    Index(String),
    /// The provider's id of the item.
    Item(String),
    /// A new call.
    New,
    /// The call that began last.
    Last,
}

/// What an event does to a call.
#[derive(Clone, Debug)]
pub(super) enum CallEvent {
    Text(String),
    Call {
        slot: CallSlot,
        id: Option<String>,
        name: Option<String>,
        arguments: Option<String>,
    },
    Partial {
        slot: CallSlot,
        name: Option<String>,
        parts: Vec<PartialArgument>,
        more: bool,
    },
    Whole {
        slot: CallSlot,
        arguments: String,
    },
    End(CallSlot),
    Stop(StopReason),
}

/// Reads one event of a stream.
pub(super) fn read(provider: Provider, event: &str) -> Result<Vec<CallEvent>, EnvelopeError> {
    let event = event.trim();
    let event = event.strip_prefix("data:").map_or(event, str::trim);
    if event.is_empty() || event == "[DONE]" {
        return Ok(Vec::new());
    }
    let tree = Tree::parse(event).map_err(|error| EnvelopeError::event(&error))?;
    let mut out = Vec::new();
    let root = tree.root();
    match provider {
        Provider::OpenAi | Provider::Mistral => chat(root, event, &mut out),
        Provider::Ollama => ollama(root, event, &mut out),
        Provider::Responses => responses(root, &mut out),
        Provider::Anthropic => anthropic(root, event, &mut out),
        Provider::Bedrock => bedrock(root, event, &mut out),
        Provider::Gemini => gemini(root, event, &mut out),
        Provider::Mcp => mcp(root, event, &mut out),
    }
    Ok(out)
}

fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(Node::as_str).map(str::to_owned)
}

/// Returns a string's text, or the JSON of anything else.
fn raw(node: Option<Node<'_>>, event: &str) -> Option<String> {
    let node = node.filter(|node| !node.is_null())?;
    match node.as_str() {
        Some(text) => Some(text.to_owned()),
        None => event.get(node.span()).map(str::to_owned),
    }
}

fn index(node: Option<Node<'_>>) -> CallSlot {
    match node.and_then(Node::digits) {
        Some(digits) => CallSlot::Index(digits.to_owned()),
        None => CallSlot::Last,
    }
}

fn stop(node: Option<Node<'_>>, out: &mut Vec<CallEvent>) {
    if let Some(reason) = node.and_then(Node::as_str) {
        out.push(CallEvent::Stop(stop_named(reason)));
    }
}

fn push_text(node: Option<Node<'_>>, out: &mut Vec<CallEvent>) {
    if let Some(text) = text(node).filter(|text| !text.is_empty()) {
        out.push(CallEvent::Text(text));
    }
}

fn id_of(node: Option<Node<'_>>) -> Option<String> {
    text(node).filter(|id| !id.is_empty() && id != "null")
}

fn chat(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    let Some(choice) = root.get("choices").and_then(|choices| choices.element(0)) else {
        return;
    };
    if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
        push_text(delta.get("content"), out);
        for call in delta.get("tool_calls").into_iter().flat_map(Node::elements) {
            let function = call.get("function");
            out.push(CallEvent::Call {
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
    stop(choice.get("finish_reason"), out);
}

/// Reads a line of Ollama, which holds complete calls.
fn ollama(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    let Some(message) = root.get("message") else {
        return;
    };
    push_text(message.get("content"), out);
    for call in message
        .get("tool_calls")
        .into_iter()
        .flat_map(Node::elements)
    {
        let Some(function) = call.get("function") else {
            continue;
        };
        whole_call(function, "arguments", id_of(call.get("id")), event, out);
    }
    stop(root.get("done_reason"), out);
}

fn whole_call(
    node: Node<'_>,
    key: &str,
    id: Option<String>,
    event: &str,
    out: &mut Vec<CallEvent>,
) {
    out.push(CallEvent::Call {
        slot: CallSlot::New,
        id,
        name: text(node.get("name")),
        arguments: raw(node.get(key), event),
    });
    out.push(CallEvent::End(CallSlot::Last));
}

fn responses(root: Node<'_>, out: &mut Vec<CallEvent>) {
    let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
    let item = root.get("item");
    let slot = |node: Option<Node<'_>>| match text(node) {
        Some(id) => CallSlot::Item(id),
        None => index(root.get("output_index")),
    };
    let is_call =
        |item: &Node<'_>| item.get("type").and_then(Node::as_str) == Some("function_call");
    match kind {
        "response.output_text.delta" => push_text(root.get("delta"), out),
        "response.output_item.added" => {
            if let Some(item) = item.filter(is_call) {
                out.push(CallEvent::Call {
                    slot: slot(item.get("id")),
                    id: id_of(item.get("call_id")),
                    name: text(item.get("name")),
                    arguments: text(item.get("arguments")).filter(|text| !text.is_empty()),
                });
            }
        }
        "response.function_call_arguments.delta" => out.push(CallEvent::Call {
            slot: slot(root.get("item_id")),
            id: None,
            name: None,
            arguments: text(root.get("delta")),
        }),
        "response.function_call_arguments.done" => {
            let arguments = text(root.get("arguments")).unwrap_or_default();
            out.push(CallEvent::Whole {
                slot: slot(root.get("item_id")),
                arguments,
            });
        }
        "response.output_item.done" => {
            if let Some(item) = item.filter(is_call) {
                let arguments = text(item.get("arguments")).unwrap_or_default();
                out.push(CallEvent::Whole {
                    slot: slot(item.get("id")),
                    arguments,
                });
                out.push(CallEvent::End(slot(item.get("id"))));
            }
        }
        "response.completed" | "response.incomplete" => {
            stop(
                root.get("response")
                    .and_then(|response| response.get("status")),
                out,
            );
        }
        _ => {}
    }
}

fn anthropic(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    let slot = index(root.get("index"));
    match root.get("type").and_then(Node::as_str).unwrap_or_default() {
        "content_block_start" => {
            let Some(block) = root.get("content_block") else {
                return;
            };
            push_text(block.get("text"), out);
            if block.get("type").and_then(Node::as_str) != Some("tool_use") {
                return;
            }
            // The input here is an empty object that fragments replace.
            let input = block.get("input").filter(|input| !input.is_empty());
            out.push(CallEvent::Call {
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
            push_text(delta.get("text"), out);
            if let Some(part) = text(delta.get("partial_json")) {
                let arguments = Some(part);
                out.push(CallEvent::Call {
                    slot,
                    id: None,
                    name: None,
                    arguments,
                });
            }
        }
        "content_block_stop" => out.push(CallEvent::End(slot)),
        "message_delta" => stop(
            root.get("delta").and_then(|delta| delta.get("stop_reason")),
            out,
        ),
        _ => {}
    }
}

fn bedrock(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    if let Some(start) = root.get("contentBlockStart") {
        let call = start.get("start").and_then(|start| start.get("toolUse"));
        if let Some(call) = call {
            out.push(CallEvent::Call {
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
        push_text(delta.get("text"), out);
        if let Some(call) = delta.get("toolUse") {
            out.push(CallEvent::Call {
                slot: index(block.get("contentBlockIndex")),
                id: None,
                name: None,
                arguments: raw(call.get("input"), event),
            });
        }
    }
    if let Some(end) = root.get("contentBlockStop") {
        out.push(CallEvent::End(index(end.get("contentBlockIndex"))));
    }
    stop(
        root.get("messageStop")
            .and_then(|end| end.get("stopReason")),
        out,
    );
}

fn gemini(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    let Some(candidate) = root.get("candidates").and_then(|all| all.element(0)) else {
        return;
    };
    let parts = candidate
        .get("content")
        .and_then(|content| content.get("parts"));
    for part in parts.into_iter().flat_map(Node::elements) {
        if part.get("thought").and_then(Node::as_bool) != Some(true) {
            push_text(part.get("text"), out);
        }
        let Some(call) = part.get("functionCall") else {
            continue;
        };
        let more = call.get("willContinue").and_then(Node::as_bool) == Some(true);
        let partial = call
            .get("partialArgs")
            .filter(|list| list.kind() == Kind::Array);
        if partial.is_none() && !more && call.get("name").is_some() {
            whole_call(call, "args", id_of(call.get("id")), event, out);
            continue;
        }
        let parts = partial.into_iter().flat_map(Node::elements);
        out.push(CallEvent::Partial {
            // A name begins a call; a part without one continues it.
            slot: if call.get("name").is_some() {
                CallSlot::New
            } else {
                CallSlot::Last
            },
            name: text(call.get("name")),
            parts: parts.filter_map(PartialArgument::read).collect(),
            more,
        });
    }
    stop(candidate.get("finishReason"), out);
}

fn mcp(root: Node<'_>, event: &str, out: &mut Vec<CallEvent>) {
    if root.get("method").and_then(Node::as_str) == Some("tools/call")
        && let Some(params) = root.get("params")
    {
        let id = root.get("id").and_then(|id| event.get(id.span()));
        let id = id.map(|id| id.trim_matches('"').to_owned());
        whole_call(params, "arguments", id, event, out);
    }
}
