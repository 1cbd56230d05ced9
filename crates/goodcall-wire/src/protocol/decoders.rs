//! Decoders of providers whose streams are only assembled, not relayed.

use goodcall_core::{Kind, Node};

use crate::stream::{
    CallEvent, CallSlot, Fragment, PartialArgument, id_of, index_slot, push_stop, push_text,
    push_whole_call, raw, text,
};

pub(super) fn bedrock(root: Node<'_>, data: &str) -> Vec<CallEvent> {
    let mut out = Vec::new();
    if let Some(start) = root.get("contentBlockStart") {
        let call = start.get("start").and_then(|start| start.get("toolUse"));
        if let Some(call) = call {
            out.push(CallEvent::Call(
                index_slot(start.get("contentBlockIndex")),
                Fragment {
                    id: id_of(call.get("toolUseId")),
                    name: text(call.get("name")),
                    arguments: None,
                    span: root.span(),
                },
            ));
        }
    }
    if let Some(block) = root.get("contentBlockDelta") {
        let Some(delta) = block.get("delta") else {
            return out;
        };
        push_text(delta.get("text"), &mut out);
        if let Some(call) = delta.get("toolUse") {
            out.push(CallEvent::Call(
                index_slot(block.get("contentBlockIndex")),
                Fragment {
                    id: None,
                    name: None,
                    arguments: raw(call.get("input"), data),
                    span: root.span(),
                },
            ));
        }
    }
    if let Some(end) = root.get("contentBlockStop") {
        out.push(CallEvent::End(index_slot(end.get("contentBlockIndex"))));
    }
    push_stop(
        root.get("messageStop")
            .and_then(|end| end.get("stopReason")),
        &mut out,
    );
    out
}

pub(super) fn gemini(root: Node<'_>, data: &str) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let Some(candidate) = root.get("candidates").and_then(|all| all.element(0)) else {
        return out;
    };
    let parts = candidate
        .get("content")
        .and_then(|content| content.get("parts"));
    for part in parts.into_iter().flat_map(Node::elements) {
        if part.get("thought").and_then(Node::as_bool) != Some(true) {
            push_text(part.get("text"), &mut out);
        }
        let Some(call) = part.get("functionCall") else {
            continue;
        };
        let more = call.get("willContinue").and_then(Node::as_bool) == Some(true);
        let partial = call
            .get("partialArgs")
            .filter(|list| list.kind() == Kind::Array);
        if partial.is_none() && !more && call.get("name").is_some() {
            push_whole_call(call, "args", id_of(call.get("id")), data, &mut out);
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
    push_stop(candidate.get("finishReason"), &mut out);
    out
}

pub(super) fn mcp(root: Node<'_>, data: &str) -> Vec<CallEvent> {
    let mut out = Vec::new();
    if root.get("method").and_then(Node::as_str) == Some("tools/call")
        && let Some(params) = root.get("params")
    {
        let id = root.get("id").and_then(|id| data.get(id.span()));
        let id = id.map(|id| id.trim_matches('"').to_owned());
        push_whole_call(params, "arguments", id, data, &mut out);
    }
    out
}
