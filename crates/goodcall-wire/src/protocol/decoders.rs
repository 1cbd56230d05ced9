//! Decoders of providers whose streams are only assembled, not relayed.

use goodcall_core::Node;

use crate::stream::{CallEvent, push_whole_call};

pub(super) fn mcp(root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    if root.get("method").and_then(Node::as_str) == Some("tools/call")
        && let Some(params) = root.get("params")
    {
        let id = root.get("id").map(Node::written);
        let id = id.map(|id| id.trim_matches('"').to_owned());
        push_whole_call(params, "arguments", id, &mut out);
    }
    out
}
