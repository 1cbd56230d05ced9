//! What any provider's stream says about text and calls.

use std::ops::Range;

use goodcall_core::{Node, StopReason};

use super::partial_arguments::PartialArgument;
use crate::envelope::stop_named;

/// The call that a fragment belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallSlot {
    Index(String),
    /// An item with an id, if the event names it, at an index.
    Item(Option<String>, String),
    /// A new call.
    New,
    /// The call that began last.
    Last,
}

impl CallSlot {
    /// Returns true for the slot of the same call. Some servers name an item by its index only.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (CallSlot::Item(Some(one), _), CallSlot::Item(Some(other), _)) => one == other,
            (CallSlot::Item(_, one), CallSlot::Item(_, other)) => one == other,
            _ => self == other,
        }
    }
}

/// A fragment of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragment {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<String>,
    /// Its place in the event.
    pub(crate) span: Range<usize>,
}

impl Fragment {
    /// Returns the beginning of a call in an event that is about nothing else.
    pub(crate) fn begin(id: Option<Node<'_>>, name: Option<Node<'_>>, event: Node<'_>) -> Self {
        Self {
            id: id_of(id),
            name: Some(text(name).unwrap_or_default()),
            arguments: None,
            span: event.span(),
        }
    }

    /// Returns a part of a call's arguments in an event that is about nothing else.
    pub(crate) fn part(arguments: Option<String>, event: Node<'_>) -> Self {
        Self {
            arguments,
            span: event.span(),
            ..Self::default()
        }
    }
}

/// What an event says.
#[derive(Clone, Debug)]
pub(crate) enum CallEvent {
    /// Text of the model.
    Text(String),
    /// The text that is open has ended.
    TextEnd,
    Call(CallSlot, Fragment),
    /// A call whose arguments arrive as values at paths.
    Partial {
        slot: CallSlot,
        /// Id, name and place; no arguments.
        fragment: Fragment,
        parts: Vec<PartialArgument>,
        more: bool,
    },
    /// All arguments of a call, repeated.
    Whole {
        slot: CallSlot,
        arguments: String,
    },
    /// A call has ended, or another item in this slot.
    End(CallSlot),
    /// The message has ended.
    Stop(StopReason),
}

/// Returns the text of a string.
pub(crate) fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(Node::as_str).map(str::to_owned)
}

/// Returns a string's text, or the JSON of anything else.
pub(crate) fn raw(node: Option<Node<'_>>) -> Option<String> {
    let node = node.filter(|node| !node.is_null())?;
    let text = node.as_str().unwrap_or_else(|| node.written());
    Some(text.to_owned())
}

pub(crate) fn id_of(node: Option<Node<'_>>) -> Option<String> {
    text(node).filter(|id| !id.is_empty() && id != "null")
}

pub(crate) fn index_slot(node: Option<Node<'_>>) -> CallSlot {
    match node.and_then(Node::digits) {
        Some(digits) => CallSlot::Index(digits.to_owned()),
        None => CallSlot::Last,
    }
}

pub(crate) fn push_stop(node: Option<Node<'_>>, out: &mut Vec<CallEvent>) {
    let reason = node.and_then(Node::as_str);
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        out.push(CallEvent::Stop(stop_named(reason)));
    }
}

pub(crate) fn push_text(node: Option<Node<'_>>, out: &mut Vec<CallEvent>) {
    if let Some(text) = text(node).filter(|text| !text.is_empty()) {
        out.push(CallEvent::Text(text));
    }
}

/// Adds a call that is complete in one event, under its own keys.
pub(crate) fn push_whole_call(
    call: Node<'_>,
    key: &str,
    id: Option<String>,
    out: &mut Vec<CallEvent>,
) {
    let fragment = Fragment {
        id,
        name: text(call.get("name")),
        arguments: raw(call.get(key)),
        span: call.span(),
    };
    out.push(CallEvent::Call(CallSlot::New, fragment));
    out.push(CallEvent::End(CallSlot::Last));
}
