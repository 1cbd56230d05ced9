//! Streams of OpenAI Responses, whose items have a first and a last event, and whose last event
//! repeats all items.

mod encode;

use std::collections::{HashMap, HashSet};

use goodcall_core::{Kind, Node, Tree};

use super::form::{Extension, has};
use super::*;
use crate::definitions::Definition;
use crate::envelope::{Provider, is_client_side_call, is_safety_stop};
use crate::relay::{CallDecision, Endpoint, legal_parts};
use crate::splice::{Splice, quoted};
use crate::stream::{CallEvent, CallSlot, Fragment, id_of, push_stop, push_text, text};

/// Whole responses.
pub(super) struct ResponsesForm;

impl Form for ResponsesForm {
    fn provider(&self) -> Provider {
        Provider::Responses
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let is_own = url.path.ends_with("/responses");
        is_own.then(|| Endpoint::new(Provider::Responses))
    }

    fn is_function(&self, entry: Node<'_>) -> bool {
        let definition = Definition::read(entry);
        definition.kind == Some("function") && definition.name().is_some()
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        let status = root.get("status").and_then(Node::as_str);
        has(root, "error")
            || status == Some("failed")
            || root.get("output").is_none_or(Node::is_empty)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        let details = root.get("incomplete_details");
        let mut items = root.get("output").into_iter().flat_map(Node::elements);
        is_safety_stop(details.and_then(|details| details.get("reason")))
            || items.any(is_client_side_call)
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        Layout::Blocks(root.get("output").into_iter().collect())
    }

    fn block_texts<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        let is_message = matches!(type_of(block), "message" | "");
        let content = block.get("content").filter(|_| is_message);
        let parts = content.into_iter().flat_map(Node::elements);
        let parts = parts.filter(|part| matches!(type_of(*part), "output_text" | ""));
        parts.filter_map(|part| part.get("text")).collect()
    }

    fn is_companion(&self, block: Node<'_>) -> bool {
        type_of(block) == "reasoning"
    }

    fn is_stored(&self, request: Node<'_>) -> bool {
        request.get("store").and_then(Node::as_bool) != Some(false)
    }

    fn call(&self, id: &str, name: &str, arguments: &str) -> String {
        let item = quoted(&item_id("fc", id));
        let (id, name, arguments) = (quoted(id), quoted(name), quoted(arguments));
        format!(
            r#"{{"type":"function_call","id":{item},"call_id":{id},"name":{name},"arguments":{arguments},"status":"completed"}}"#
        )
    }

    fn text_block(&self, decision: &CallDecision) -> String {
        let id = message_id(decision);
        message_item(&id, "completed", &text_part(&quoted(&decision.text)))
    }

    fn history_of(&self, root: Node<'_>, legal: &str, request: Node<'_>) -> Option<String> {
        let is_stored = self.is_stored(request);
        let output = root.get("output")?.elements();
        let items = output.filter_map(|item| as_input(item, legal, is_stored));
        let items = items.collect::<Vec<_>>().join(",");
        (!items.is_empty()).then_some(items)
    }

    fn extend(&self, extension: Extension<'_>) -> Option<String> {
        let Extension {
            request,
            root,
            reply,
            results,
            ..
        } = &extension;
        let history = root.get("input")?;
        let list = if has(*root, "conversation") {
            // A conversation that the provider stores has the question and the reply already.
            format!("[{results}]")
        } else if history.kind() == Kind::String {
            let question = request.get(history.span())?;
            format!(r#"[{{"role":"user","content":{question}}},{reply},{results}]"#)
        } else {
            return extension.append();
        };
        let mut splice = Splice::new(request);
        splice.replace(history.span(), list);
        Some(splice.apply())
    }
}

/// Returns an output item as an input item. If the provider stores nothing, an item must not refer to
/// a stored one by its id.
fn as_input(item: Node<'_>, text: &str, is_stored: bool) -> Option<String> {
    let written = text.get(item.span())?;
    if is_stored {
        return Some(written.to_owned());
    }
    let kind = type_of(item);
    let encrypted = item.get("encrypted_content").and_then(Node::as_str);
    if kind == "reasoning" && encrypted.is_none() {
        return None;
    }
    let alone = Tree::parse(written).ok()?;
    let mut splice = Splice::new(written);
    if kind == "function_call" {
        splice.remove(alone.root(), "id");
    }
    Some(splice.apply())
}

/// The id of a message that takes the place of a call, as JSON.
fn message_id(decision: &CallDecision) -> String {
    let id = decision.id();
    quoted(&item_id("msg", id))
}

/// A message with this id and content, both as JSON.
fn message_item(id: &str, status: &str, content: &str) -> String {
    format!(
        r#"{{"type":"message","id":{id},"status":"{status}","role":"assistant","content":[{content}]}}"#
    )
}

/// A part of a message with this text, which is JSON already.
fn text_part(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":{text},"annotations":[]}}"#)
}

/// The id of an item, made out of a call's id.
fn item_id(prefix: &str, call: &str) -> String {
    format!("{prefix}_{}", call.trim_start_matches("call_"))
}

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
    places: Places,
    /// The sequence number of the next event.
    sequence: u64,
    /// The ids of items of earlier replies.
    earlier_ids: HashSet<String>,
    /// The new ids of this reply's items whose ids are taken.
    renamed_ids: HashMap<String, String>,
    /// True if the items differ from those of the upstream's last event.
    changed: bool,
    /// The id of the response in the first event, and in the last.
    first_id: Option<String>,
    last_id: Option<String>,
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
    let begin = |item: Node<'_>| Fragment::begin(item.get("call_id"), item.get("name"), root);
    match type_of(root) {
        "response.output_text.delta" => push_text(root.get("delta"), &mut out),
        "response.output_text.done" | "response.content_part.done" if is_text(root) => {
            out.push(CallEvent::TextEnd);
        }
        "response.output_item.added" => {
            if let Some(item) = Responses::call_item(root) {
                let mut fragment = begin(item);
                fragment.arguments = text(item.get("arguments")).filter(|text| !text.is_empty());
                out.push(CallEvent::Call(slot(item.get("id")), fragment));
            }
        }
        "response.function_call_arguments.delta" => {
            let fragment = Fragment::part(text(root.get("delta")), root);
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
                out.push(CallEvent::Call(slot.clone(), begin(item)));
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
    let id = decision.id();
    let (name, arguments) = legal_parts(Provider::Responses, decision);
    let written = edited(sent, |root, splice| {
        splice.set(root, "call_id", &quoted(id));
        splice.set(root, "name", &quoted(&name));
        splice.set(root, "arguments", &quoted(&arguments));
    });
    written.unwrap_or_else(|| ResponsesForm.call(id, &name, &arguments))
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

/// The id of the response that an event is about as a whole.
fn response_id(root: Node<'_>) -> Option<String> {
    let id = root.get("response")?.get("id")?;
    id.as_str().map(str::to_owned)
}
