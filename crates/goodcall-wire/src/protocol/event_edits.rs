//! Edits of events that several protocols make alike.

use std::ops::Range;

use goodcall_core::{Node, Tree};

use super::EventWriter;
use crate::splice::{Splice, quoted};
use crate::sse::SseEvent;

/// Whether an edited event is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    Forward,
    LeaveOut,
}

/// Edits an event and writes it. One that is not JSON is written as it arrived.
pub(super) fn write_edited(
    event: &SseEvent,
    out: &mut EventWriter,
    edit: impl FnOnce(Node<'_>, &mut Splice<'_>) -> Edited,
) {
    let data = event.data();
    let Ok(tree) = Tree::parse(data) else {
        return out.raw(event);
    };
    let mut splice = Splice::new(data);
    if edit(tree.root(), &mut splice) == Edited::Forward {
        write_spliced(event, splice, out);
    }
}

/// Sets an index, unless the event has it.
pub(super) fn set_index(splice: &mut Splice<'_>, event: Node<'_>, key: &str, place: usize) {
    let place = place.to_string();
    if event.get(key).and_then(Node::digits) != Some(place.as_str()) {
        splice.set(event, key, &place);
    }
}

/// Writes an event with its edits, or as it arrived if there are none.
pub(super) fn write_spliced(event: &SseEvent, splice: Splice<'_>, out: &mut EventWriter) {
    if splice.is_empty() && !event.raw.is_empty() {
        out.raw(event);
    } else {
        out.with_data(event, &splice.apply());
    }
}

/// Returns true for a value that is neither null nor an empty string.
pub(super) fn is_full(node: Node<'_>) -> bool {
    !node.is_null() && node.as_str() != Some("")
}

/// Splits an event with several choices into events with one each; the last one reports the usage.
/// Returns `None` for any other event.
pub(super) fn split_list(
    root: Node<'_>,
    data: &str,
    key: &str,
    usage: &str,
) -> Option<Vec<String>> {
    let list = root.get(key).filter(|list| list.len() > 1)?;
    let count = list.len();
    let parts = list.elements().enumerate().map(|(at, choice)| {
        let mut splice = Splice::new(data);
        splice.replace(list.span(), format!("[{}]", choice.written()));
        if at + 1 < count {
            splice.remove(root, usage);
        }
        splice.apply()
    });
    Some(parts.collect())
}

/// The number of the first invented id of a choice with this index.
pub(super) fn numbered(index: Option<&str>) -> usize {
    let index = index.unwrap_or_default().parse();
    index.map_or(0, |index: u16| usize::from(index) << 32)
}

/// Sets a member to a text, unless it has it.
pub(super) fn set_text(splice: &mut Splice<'_>, object: Node<'_>, key: &str, text: &str) -> bool {
    let differs = object.get(key).and_then(Node::as_str) != Some(text);
    if differs {
        splice.set(object, key, &quoted(text));
    }
    differs
}

/// The type of an event, for protocols that name it.
pub(super) fn type_of<'t>(root: Node<'t>) -> &'t str {
    root.get("type").and_then(Node::as_str).unwrap_or_default()
}

/// Edits the JSON of an event; `None` if it is not JSON.
pub(super) fn edited(data: &str, edit: impl FnOnce(Node<'_>, &mut Splice<'_>)) -> Option<String> {
    let tree = Tree::parse(data).ok()?;
    let mut splice = Splice::new(data);
    edit(tree.root(), &mut splice);
    Some(splice.apply())
}

/// Returns an event and where its calls are in it.
pub(super) fn with_spans(
    event: Option<String>,
    calls: impl FnOnce(Node<'_>) -> Vec<Node<'_>>,
) -> (String, Vec<Range<usize>>) {
    let event = event.expect("only events that are JSON have text");
    let spans = match Tree::parse(&event) {
        Ok(tree) => calls(tree.root()).into_iter().map(Node::span).collect(),
        Err(_) => Vec::new(),
    };
    (event, spans)
}

/// The members of an object that `is_wanted` accepts, as they were written.
pub(super) fn written_members<'t>(
    object: Node<'t>,
    is_wanted: impl Fn(&str) -> bool + 't,
) -> impl Iterator<Item = String> + 't {
    let members = object.members().filter(move |(key, _)| is_wanted(key));
    members.map(|(key, value)| format!("{}:{}", quoted(key), value.written()))
}
