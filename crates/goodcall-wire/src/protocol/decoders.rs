//! Decoders of providers whose streams are only assembled, not relayed.

use goodcall_core::Node;

use crate::stream::{
    CallEvent, Fragment, id_of, index_slot, push_stop, push_text, push_whole_call, raw, text,
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
