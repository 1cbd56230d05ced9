//! Writes the events that the client gets.

use super::*;
use crate::relay::judge::{CallVerdict, GiveUp};
use crate::relay::reask::legal_parts;
use crate::relay::reply::text_block;
use crate::sse;

impl Responses {
    /// Forwards an event as it arrived, but for its sequence number and its item's place and id.
    pub(super) fn forward(&mut self, event: &SseEvent, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let mut splice = Splice::new(data);
        let mut at = usize::MAX;
        self.count(root, &mut splice);
        if let Some(index) = root
            .get("output_index")
            .filter(|node| node.digits().is_some())
        {
            let sent = index_of(root);
            let place = match self.client.places.get(&sent) {
                Some(place) => *place,
                None => {
                    self.client
                        .places
                        .insert(sent.clone(), self.client.next_place);
                    self.client.next_place += 1;
                    self.client.next_place - 1
                }
            };
            at = place;
            if sent != place.to_string() {
                splice.replace(index.span(), place.to_string());
            }
        }
        let done = root.get("type").and_then(Node::as_str) == Some("response.output_item.done");
        if splice.is_empty() && !event.raw.is_empty() {
            if let Some(item) = root.get("item").filter(|_| done) {
                let item = data.get(item.span()).map(str::to_owned);
                self.client.items.extend(item.map(|item| (at, item)));
            }
            return out.extend_from_slice(&event.raw);
        }
        let written = splice.apply();
        if done {
            self.client
                .items
                .extend(item_of(&written).map(|item| (at, item)));
        }
        event.write_with(&written, out);
    }

    /// Replaces an id that an item of an earlier reply has.
    fn rename(&mut self, root: Node<'_>, splice: &mut Splice<'_>) {
        if self.client.earlier_ids.is_empty() {
            return;
        }
        let own = root.get("item").and_then(|item| item.get("id"));
        for node in [own, root.get("item_id")].into_iter().flatten() {
            let Some(id) = node
                .as_str()
                .filter(|id| self.client.earlier_ids.contains(*id))
            else {
                continue;
            };
            let count = self.client.earlier_ids.len();
            let fresh = || format!("{id}_{count}");
            let id = self
                .client
                .renamed_ids
                .entry(id.to_owned())
                .or_insert_with(fresh);
            splice.replace_string(node.span(), id);
        }
    }

    /// Sets the sequence number, so that there are no gaps.
    fn count(&mut self, root: Node<'_>, splice: &mut Splice<'_>) {
        self.rename(root, splice);
        let Some(number) = root.get("sequence_number") else {
            return;
        };
        let sent: Option<u64> = number.digits().and_then(|digits| digits.parse().ok());
        if self.client.sequence == 0 && !self.client.changed {
            self.client.sequence = sent.unwrap_or(0);
        }
        if sent != Some(self.client.sequence) {
            splice.replace(number.span(), self.client.sequence.to_string());
        }
        self.client.sequence += 1;
    }

    /// Forwards an event of an item whose place is known.
    pub(super) fn forward_at(&mut self, event: &SseEvent, place: usize, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let mut splice = Splice::new(data);
        self.count(root, &mut splice);
        if root.get("output_index").is_some() && index_of(root) != place.to_string() {
            splice.set(root, "output_index", &place.to_string());
        }
        if splice.is_empty() {
            out.extend_from_slice(&event.raw);
        } else {
            event.write_with(&splice.apply(), out);
        }
    }

    /// Forwards the first event of a call before the call is complete. Returns false if the call is
    /// not regular, so that it has to be held.
    pub(super) fn stream_start(
        &mut self,
        number: usize,
        event: &SseEvent,
        out: &mut Vec<u8>,
    ) -> bool {
        let item = &self.calls[number];
        let id = item.call.id.clone();
        let fresh = id
            .as_ref()
            .is_some_and(|id| !self.pending.taken_ids.contains(id));
        let as_sent =
            item.call.changes.is_empty() && item.arguments.is_empty() && item.call.alias.is_none();
        let (name, index) = (item.call.name.clone(), item.index.clone());
        let (_, strict) = self
            .pending
            .early
            .fragment(Some(&index), id, Some(name), None);
        if !(fresh && as_sent && strict && self.pending.held.is_empty()) {
            return false;
        }
        let place = self.client.next_place;
        self.client.next_place += 1;
        self.calls[number].streamed = Some(place);
        self.forward_at(event, place, out);
        true
    }

    /// Writes everything that is held, each call as it was decided.
    pub(super) fn encode_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        let give_up = exchange.judge.settings.give_up;
        self.pending.held_bytes = 0;
        let mut places = HashMap::new();
        let mut begun = HashSet::new();
        for (event, role) in std::mem::take(&mut self.pending.held) {
            let (ItemEventRole::Added(number)
            | ItemEventRole::Delta(number)
            | ItemEventRole::Arguments(number)
            | ItemEventRole::Done(number)) = role
            else {
                self.forward_held(exchange, &event, out);
                continue;
            };
            let Some(decision) = self.pending.decisions.get(number).cloned() else {
                continue;
            };
            let as_text = match (decision.is_bad(), give_up, &self.calls[number].text) {
                (false, ..) => None,
                (true, GiveUp::Text, _) => Some(decision.text.clone()),
                (true, GiveUp::AsSent, text) => text.clone(),
            };
            if let Some(text) = as_text {
                self.client.changed = true;
                if begun.insert(number) {
                    self.write_text(&decision, &text, out);
                }
                continue;
            }
            if let Some(place) = self.calls[number].streamed
                && begun.insert(number)
            {
                self.pending.accept(exchange, &decision);
                places.insert(number, place);
            }
            if begun.insert(number) {
                if !self.pending.accept(exchange, &decision) {
                    self.client.changed = true;
                    continue;
                }
                self.client.changed |= decision.arguments.is_some();
                places.insert(number, self.client.next_place);
                self.client.next_place += 1;
                if !matches!(role, ItemEventRole::Added(_)) {
                    self.write_whole(number, &decision, places[&number], out);
                    self.client.changed = true;
                }
            }
            if let Some(place) = places.get(&number).copied() {
                self.write_call(&event, role, &decision, place, out);
            }
        }
    }

    /// Writes the events that a call should have begun with.
    fn write_whole(
        &mut self,
        number: usize,
        decision: &CallDecision,
        place: usize,
        out: &mut Vec<u8>,
    ) {
        let id = decision.call.id.as_deref().unwrap_or_default();
        let own = self.calls[number].id.clone();
        let item = quoted(&own.unwrap_or_else(|| item_id("fc", id)));
        let (id, name) = (quoted(id), quoted(&decision.call.name));
        let arguments = quoted(decision.final_arguments());
        let added = format!(
            r#"{{"type":"response.output_item.added","output_index":{place},"item":{{"type":"function_call","id":{item},"call_id":{id},"name":{name},"arguments":"","status":"in_progress"}}"#
        );
        self.write_event("response.output_item.added", &added, out);
        for (kind, key) in [("delta", "delta"), ("done", "arguments")] {
            let kind = format!("response.function_call_arguments.{kind}");
            let data = format!(
                r#"{{"type":"{kind}","item_id":{item},"output_index":{place},"{key}":{arguments}"#
            );
            self.write_event(&kind, &data, out);
        }
    }

    /// Writes a new event; `open` lacks the sequence number and the last bracket.
    fn write_event(&mut self, kind: &str, open: &str, out: &mut Vec<u8>) {
        let data = format!(r#"{open},"sequence_number":{}}}"#, self.client.sequence);
        self.client.sequence += 1;
        sse::write(Some(kind), &data, out);
    }

    fn write_call(
        &mut self,
        event: &SseEvent,
        role: ItemEventRole,
        decision: &CallDecision,
        place: usize,
        out: &mut Vec<u8>,
    ) {
        let Some(data) = event.data.as_deref() else {
            // A call that was text has no event of its own.
            let id = decision.call.id.as_deref().unwrap_or_default();
            let item = written_call(
                Provider::Responses,
                id,
                &decision.call.name,
                decision.final_arguments(),
            );
            let done = format!(
                r#"{{"type":"response.output_item.done","output_index":{place},"item":{item}"#
            );
            self.client.items.push((place, item));
            return self.write_event("response.output_item.done", &done, out);
        };
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let mended = decision.arguments.as_deref();
        if let (ItemEventRole::Delta(_), Some(_)) = (role, mended) {
            return;
        }
        let mut splice = Splice::new(data);
        if let (ItemEventRole::Arguments(number), Some(arguments)) = (role, mended) {
            let item = root.get("item_id").map(|node: Node<'_>| node.to_json());
            let own = self.calls[number].id.clone().unwrap_or_default();
            let item = item.unwrap_or_else(|| quoted(&own));
            let delta = format!(
                r#"{{"type":"response.function_call_arguments.delta","item_id":{item},"output_index":{place},"delta":{}"#,
                quoted(arguments)
            );
            self.write_event("response.function_call_arguments.delta", &delta, out);
            splice.set(root, "arguments", &quoted(arguments));
        }
        self.count(root, &mut splice);
        if root.get("output_index").is_some() && index_of(root) != place.to_string() {
            splice.set(root, "output_index", &place.to_string());
        }
        if let Some(item) = root.get("item") {
            self.edit_item(item, decision, role, &mut splice);
        }
        let written = if splice.is_empty() && !event.raw.is_empty() {
            out.extend_from_slice(&event.raw);
            data.to_owned()
        } else {
            let written = splice.apply();
            event.write_with(&written, out);
            written
        };
        if let (ItemEventRole::Done(_), Ok(tree)) = (role, Tree::parse(&written)) {
            let item = tree
                .root()
                .get("item")
                .and_then(|item| written.get(item.span()));
            self.client
                .items
                .extend(item.map(|item| (place, item.to_owned())));
        }
    }

    fn edit_item(
        &mut self,
        item: Node<'_>,
        decision: &CallDecision,
        role: ItemEventRole,
        splice: &mut Splice<'_>,
    ) {
        let text = |key| item.get(key).and_then(Node::as_str);
        let id = decision.call.id.as_deref();
        if text("call_id") != id {
            splice.set(item, "call_id", &quoted(id.unwrap_or_default()));
            self.client.changed = true;
        }
        let known = !decision.is_bad() || decision.call.alias.is_some();
        if text("name") != Some(&decision.call.name) && known {
            splice.set(item, "name", &quoted(&decision.call.name));
            self.client.changed = true;
        }
        if let (ItemEventRole::Done(_), Some(arguments)) = (role, decision.arguments.as_deref()) {
            splice.set(item, "arguments", &quoted(arguments));
        }
    }

    fn write_text(&mut self, decision: &CallDecision, text: &str, out: &mut Vec<u8>) {
        let place = self.client.next_place;
        self.client.next_place += 1;
        let id = quoted(&item_id(
            "msg",
            decision.call.id.as_deref().unwrap_or_default(),
        ));
        let text = quoted(text);
        let head = format!(r#""item_id":{id},"output_index":{place},"content_index":0"#);
        let part =
            |text: &str| format!(r#"{{"type":"output_text","text":{text},"annotations":[]}}"#);
        let item = |status: &str, content: &str| {
            format!(
                r#"{{"type":"message","id":{id},"status":"{status}","role":"assistant","content":[{content}]}}"#
            )
        };
        let whole = item("completed", &part(&text));
        for (kind, rest) in [
            (
                "output_item.added",
                format!(
                    r#""output_index":{place},"item":{}"#,
                    item("in_progress", "")
                ),
            ),
            (
                "content_part.added",
                format!(r#"{head},"part":{}"#, part("\"\"")),
            ),
            ("output_text.delta", format!(r#"{head},"delta":{text}"#)),
            ("output_text.done", format!(r#"{head},"text":{text}"#)),
            (
                "content_part.done",
                format!(r#"{head},"part":{}"#, part(&text)),
            ),
            (
                "output_item.done",
                format!(r#""output_index":{place},"item":{whole}"#),
            ),
        ] {
            let kind = format!("response.{kind}");
            self.write_event(&kind, &format!(r#"{{"type":"{kind}",{rest}"#), out);
        }
        self.client.items.push((place, whole));
    }

    fn forward_held(&mut self, exchange: &mut Exchange, event: &SseEvent, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let kind = tree
            .as_ref()
            .and_then(|tree| tree.root().get("type")?.as_str());
        match kind {
            Some("response.completed" | "response.incomplete") => {
                self.write_last(exchange, event, out);
            }
            _ => self.forward(event, out),
        }
    }

    /// Writes the last event, which repeats all items that the client has.
    pub(super) fn write_last(
        &mut self,
        exchange: &mut Exchange,
        event: &SseEvent,
        out: &mut Vec<u8>,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let mut splice = Splice::new(data);
        self.count(root, &mut splice);
        if let Some(response) = root.get("response") {
            self.write_late(exchange);
            if self.client.changed {
                self.client.items.sort_by_key(|(place, _)| *place);
                let items = self.client.items.iter().map(|(_, item)| item.as_str());
                let items = items.collect::<Vec<_>>().join(",");
                splice.set(response, "output", &format!("[{items}]"));
            }
            if let Some(usage) = response.get("usage") {
                exchange
                    .usage
                    .write(usage, &self.pending.usage, &mut splice);
            }
            if exchange.judge.settings.report {
                splice.append(response, &format!("\"goodcall\":{}", exchange.report()));
            }
        }
        if splice.is_empty() {
            out.extend_from_slice(&event.raw);
        } else {
            event.write_with(&splice.apply(), out);
        }
    }

    /// Adds the items that are only in the last event, each call as it was decided.
    fn write_late(&mut self, exchange: &mut Exchange) {
        for said in std::mem::take(&mut self.history) {
            let number = match said {
                HistoryItem::Late(item) => {
                    self.client.items.push((usize::MAX, item));
                    continue;
                }
                HistoryItem::Call(number) if self.calls[number].late => number,
                _ => continue,
            };
            let Some(decision) = self.pending.decisions.get(number).cloned() else {
                continue;
            };
            let sent = self.calls[number].whole.clone().unwrap_or_default();
            let item = match (decision.verdict, exchange.judge.settings.give_up) {
                (CallVerdict::Bad, GiveUp::Text) => text_block(Provider::Responses, &decision),
                (CallVerdict::Bad | CallVerdict::Unjudged, _) if decision.call.alias.is_none() => {
                    sent.clone()
                }
                _ => late_item(&sent, &decision),
            };
            self.client.changed |= item != sent;
            if decision.is_bad() || self.pending.accept(exchange, &decision) {
                self.client.items.push((usize::MAX, item));
            } else {
                self.client.changed = true;
            }
        }
    }

    pub(in crate::relay) fn end(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.end_message(exchange, out);
    }

    pub(in crate::relay) fn give_up(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.forward_all(exchange, out);
    }
}

/// A call's item in a form that a history may hold.
pub(super) fn legal_item(item: &CallItem, decision: &CallDecision) -> String {
    let id = decision.call.id.as_deref().unwrap_or_default();
    let (name, arguments) = legal_parts(Provider::Responses, decision);
    let whole = item.whole.as_deref().unwrap_or_default();
    let Ok(tree) = Tree::parse(whole) else {
        return written_call(Provider::Responses, id, &name, &arguments);
    };
    let mut splice = Splice::new(whole);
    splice.set(tree.root(), "call_id", &quoted(id));
    splice.set(tree.root(), "name", &quoted(&name));
    splice.set(tree.root(), "arguments", &quoted(&arguments));
    splice.apply()
}

/// A call's item for the client: as it was sent, but for corrected members.
fn late_item(sent: &str, decision: &CallDecision) -> String {
    let Ok(tree) = Tree::parse(sent) else {
        return sent.to_owned();
    };
    let root = tree.root();
    let mut splice = Splice::new(sent);
    for (key, wanted) in [
        ("call_id", decision.call.id.as_deref()),
        ("name", Some(decision.call.name.as_str())),
        ("arguments", decision.arguments.as_deref()),
    ] {
        if let Some(wanted) =
            wanted.filter(|wanted| root.get(key).and_then(Node::as_str) != Some(wanted))
        {
            splice.set(root, key, &quoted(wanted));
        }
    }
    splice.apply()
}

/// The item of an event, as JSON.
fn item_of(data: &str) -> Option<String> {
    let tree = Tree::parse(data).ok()?;
    let item = tree.root().get("item")?;
    data.get(item.span()).map(str::to_owned)
}

/// The id of an item.
pub(super) fn id_of(item: &str) -> Option<String> {
    let tree = Tree::parse(item).ok()?;
    tree.root().get("id")?.as_str().map(str::to_owned)
}
