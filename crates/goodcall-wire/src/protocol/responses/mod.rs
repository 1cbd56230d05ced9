//! Streams of OpenAI Responses, whose items have a first and a last event, and whose last event
//! repeats all items.

mod encode;

use std::collections::{HashMap, HashSet};

use goodcall_core::{Node, Tree};

use super::{CallKey, Decisions, EventKind, FoundFragment, edited, set_text, type_of};
use crate::envelope::{Provider, is_client_side_call, is_safety_stop};
use crate::relay::{CallDecision, legal_parts, written_call};
use crate::splice::{Splice, quoted};
use crate::stream::{CallEvent, CallSlot, Fragment, id_of, push_stop, push_text, text};

/// The stream of one response.
#[derive(Clone, Debug, Default)]
pub(super) struct Responses {
    text: PartText,
    calls: Vec<CallItem>,
    /// The calls that are only in the last event, as they were sent.
    late: Vec<String>,
    /// The items of this reply, for the history.
    history: Vec<HistoryItem>,
    client: ClientItems,
}

/// The text of the message part that is open, or was last.
#[derive(Clone, Debug, Default)]
struct PartText {
    scanned: String,
    /// The text outside calls, which was forwarded.
    released: String,
    /// The index of the part, and where it is.
    part: String,
    item: String,
    output_index: String,
    /// The parts of the message whose text changed, with their new text.
    rewritten: Vec<(String, String)>,
}

/// What the client has of all replies.
#[derive(Clone, Debug, Default)]
struct ClientItems {
    /// The items, each with its place.
    items: Vec<(usize, String)>,
    /// The client's place of each item of this reply.
    places: HashMap<String, usize>,
    next_place: usize,
    /// The sequence number of the next event.
    sequence: u64,
    /// The ids of items of earlier replies.
    earlier_ids: HashSet<String>,
    /// The new ids of this reply's items whose ids are taken.
    renamed_ids: HashMap<String, String>,
    /// True if the items differ from those of the upstream's last event.
    changed: bool,
}

/// An item that is a call.
#[derive(Clone, Debug, Default)]
struct CallItem {
    id: Option<String>,
    call_id: Option<String>,
    name: String,
    arguments: String,
    /// The item in its last event.
    whole: Option<String>,
    /// True if it may be forwarded at once: with an id, and without arguments.
    is_regular: bool,
}

/// An item of the reply, as the history needs it.
#[derive(Clone, Debug)]
enum HistoryItem {
    Item(String),
    /// An item that is only in the stream's last event.
    Late(String),
    Call(CallKey),
}

impl Responses {
    /// Returns true if an event is about an item that is a call.
    fn call_item<'t>(root: Node<'t>) -> Option<Node<'t>> {
        root.get("item")
            .filter(|item| type_of(*item) == "function_call")
    }

    /// Notes which part the text of the next events belongs to.
    fn note_part(&mut self, root: Node<'_>) {
        let get = |key: &str| root.get(key).map(|node: Node<'_>| node.to_json());
        if let Some(index) = get("output_index") {
            self.text.output_index = index;
        }
        if let Some(item) = get("item_id") {
            self.text.item = item;
        }
        let part = part_of(root);
        if part != self.text.part {
            self.end_part();
            self.text.part = part;
        }
    }

    /// Ends the text of a part.
    fn end_part(&mut self) {
        let scanned = std::mem::take(&mut self.text.scanned);
        let released = std::mem::take(&mut self.text.released);
        if released != scanned {
            self.text.rewritten.push((self.text.part.clone(), released));
        }
    }
}

fn index_of(root: Node<'_>) -> String {
    let index = root.get("output_index").and_then(Node::digits);
    index.unwrap_or_default().to_owned()
}

/// The index of the part that an event is about.
fn part_of(root: Node<'_>) -> String {
    let index = root.get("content_index").and_then(Node::digits);
    index.unwrap_or("0").to_owned()
}

/// Returns true if an event is about text of the model, and not about reasoning or a refusal.
fn is_text(root: Node<'_>) -> bool {
    let part = root.get("part").map(type_of);
    part.is_none_or(|kind| kind.is_empty() || kind == "output_text")
}

/// Reads an event into calls and text.
fn decode(root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let slot = |id: Option<Node<'_>>| CallSlot::Item(text(id), index_of(root));
    let fragment = |item: Node<'_>, arguments: Option<String>| Fragment {
        id: id_of(item.get("call_id")),
        name: Some(text(item.get("name")).unwrap_or_default()),
        arguments,
        span: root.span(),
    };
    match type_of(root) {
        "response.output_text.delta" => push_text(root.get("delta"), &mut out),
        "response.output_text.done" | "response.content_part.done" if is_text(root) => {
            out.push(CallEvent::TextEnd);
        }
        "response.output_item.added" => {
            if let Some(item) = Responses::call_item(root) {
                let arguments = text(item.get("arguments")).filter(|text| !text.is_empty());
                let fragment = fragment(item, arguments);
                out.push(CallEvent::Call(slot(item.get("id")), fragment));
            }
        }
        "response.function_call_arguments.delta" => {
            let fragment = Fragment {
                arguments: text(root.get("delta")),
                span: root.span(),
                ..Fragment::default()
            };
            out.push(CallEvent::Call(slot(root.get("item_id")), fragment));
        }
        "response.function_call_arguments.done" => {
            let arguments = text(root.get("arguments")).unwrap_or_default();
            let slot = slot(root.get("item_id"));
            out.push(CallEvent::Whole { slot, arguments });
        }
        "response.output_item.done" => {
            out.push(CallEvent::TextEnd);
            let item = root.get("item");
            let slot = slot(item.and_then(|item| item.get("id")));
            if let Some(item) = Responses::call_item(root) {
                // The call may have no first event.
                out.push(CallEvent::Call(slot.clone(), fragment(item, None)));
                let arguments = text(item.get("arguments")).unwrap_or_default();
                let slot = slot.clone();
                out.push(CallEvent::Whole { slot, arguments });
            }
            out.push(CallEvent::End(slot));
        }
        "response.completed" | "response.incomplete" => {
            let response = root.get("response");
            push_stop(
                response.and_then(|response| response.get("status")),
                &mut out,
            );
        }
        _ => {}
    }
    out
}

/// Sets the place of an item in an event.
fn move_to(root: Node<'_>, place: usize, splice: &mut Splice<'_>) {
    if root.get("output_index").is_some() && index_of(root) != place.to_string() {
        splice.set(root, "output_index", &place.to_string());
    }
}

/// A call's item in a form that a history may hold.
fn history_call(sent: &str, decision: &CallDecision) -> String {
    let id = decision.call.id.as_deref().unwrap_or_default();
    let (name, arguments) = legal_parts(Provider::Responses, decision);
    let written = edited(sent, |root, splice| {
        splice.set(root, "call_id", &quoted(id));
        splice.set(root, "name", &quoted(&name));
        splice.set(root, "arguments", &quoted(&arguments));
    });
    written.unwrap_or_else(|| written_call(Provider::Responses, id, &name, &arguments))
}

/// A call's item for the client: as it was sent, but for corrected members.
fn late_item(sent: &str, decision: &CallDecision) -> String {
    let written = edited(sent, |root, splice| {
        for (key, wanted) in [
            ("call_id", decision.call.id.as_deref()),
            ("name", Some(decision.call.name.as_str())),
            ("arguments", decision.arguments.as_deref()),
        ] {
            if let Some(wanted) = wanted {
                set_text(splice, root, key, wanted);
            }
        }
    });
    written.unwrap_or_else(|| sent.to_owned())
}

/// The item of an event, as JSON.
fn item_of(data: &str) -> Option<String> {
    let tree = Tree::parse(data).ok()?;
    let item = tree.root().get("item")?;
    data.get(item.span()).map(str::to_owned)
}

/// The id of an item.
fn id_in(item: &str) -> Option<String> {
    let tree = Tree::parse(item).ok()?;
    tree.root().get("id")?.as_str().map(str::to_owned)
}
