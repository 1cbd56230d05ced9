//! Writes the events that the client gets.

use super::*;
use crate::relay::{CallVerdict, Exchange};

impl Decoder for Responses {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        decode(root)
    }
}

impl Protocol for Responses {
    fn kind(&self, root: Node<'_>) -> EventKind {
        match type_of(root) {
            "error" | "response.failed" => EventKind::Failure,
            "response.created" | "response.in_progress" | "response.queued" => EventKind::Head,
            "response.completed" | "response.incomplete" => EventKind::Last,
            // The provider refuses reasoning without the item that followed it.
            kind if kind.starts_with("response.reasoning")
                || root.get("item").map(type_of) == Some("reasoning") =>
            {
                EventKind::Companion
            }
            _ => EventKind::Content,
        }
    }

    fn has_content(&self, root: Node<'_>) -> bool {
        self.kind(root) != EventKind::Head
    }

    fn is_stored_at_once(&self) -> bool {
        true
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("response")?.get("usage")
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        let details = root
            .get("response")
            .and_then(|response| response.get("incomplete_details"));
        is_safety_stop(details.and_then(|details| details.get("reason")))
            || (type_of(root) == "response.output_item.added"
                && root.get("item").is_some_and(is_client_side_call))
    }

    fn note(&mut self, root: Node<'_>) {
        match type_of(root) {
            "response.output_item.added" if Self::call_item(root).is_none() => {
                self.text = PartText::default();
            }
            "response.output_text.delta" => self.note_part(root),
            "response.output_item.done" if Self::call_item(root).is_none() => {
                let item = root.get("item").map(|item| item.written().to_owned());
                self.history.extend(item.map(HistoryItem::Item));
            }
            _ => {}
        }
    }

    fn note_fragment(&mut self, found: FoundFragment<'_>) {
        let size = self.calls.len().max(found.number + 1);
        self.calls.resize(size, CallItem::default());
        let call = &mut self.calls[found.number];
        let Some(item) = Self::call_item(found.root) else {
            let part = found.root.get("delta").and_then(Node::as_str);
            call.arguments.push_str(part.unwrap_or_default());
            return;
        };
        let arguments = text(item.get("arguments")).unwrap_or_default();
        if found.is_new {
            call.id = text(item.get("id"));
            call.call_id = id_of(item.get("call_id"));
            call.name = text(item.get("name")).unwrap_or_default();
            call.is_regular = call.call_id.is_some() && arguments.is_empty();
        }
        if arguments.len() > call.arguments.len() {
            call.arguments = arguments;
        }
        if type_of(found.root) == "response.output_item.done" {
            call.whole = Some(item.written().to_owned());
            self.client.changed |= found.is_new;
        }
    }

    fn note_call(&mut self, key: CallKey) {
        self.history.push(HistoryItem::Call(key));
    }

    fn note_text(&mut self, sent: &str, released: &str) {
        self.text.scanned.push_str(sent);
        self.text.released.push_str(released);
        self.client.changed |= sent != released;
    }

    fn may_stream(&self, number: usize) -> bool {
        self.calls.get(number).is_some_and(|call| call.is_regular)
    }

    fn late_calls(&mut self, root: Node<'_>) -> Vec<(String, String, Option<String>)> {
        let is_item = |item: &HistoryItem| matches!(item, HistoryItem::Item(_));
        let only_last = !self.history.iter().any(is_item);
        let output = root
            .get("response")
            .and_then(|response| response.get("output"));
        let mut calls = Vec::new();
        for item in output.into_iter().flat_map(Node::elements) {
            let text = |key| item.get(key).and_then(Node::as_str).unwrap_or_default();
            let written = item.written().to_owned();
            if type_of(item) != "function_call" {
                if only_last {
                    self.history.push(HistoryItem::Late(written));
                }
                continue;
            }
            // Some servers give their items other ids in the last event.
            let is_known = self.calls.iter().any(|call| {
                let same = |own: Option<&str>, key| own.is_some_and(|own| own == text(key));
                same(call.id.as_deref(), "id")
                    || same(call.call_id.as_deref(), "call_id")
                    || (call.name == text("name") && call.arguments == text("arguments"))
            });
            if is_known {
                continue;
            }
            let key = CallKey::Late(self.late.len());
            self.history.push(HistoryItem::Call(key));
            self.late.push(written);
            let (name, arguments) = (text("name").to_owned(), text("arguments").to_owned());
            calls.push((name, arguments, id_of(item.get("call_id"))));
        }
        calls
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            if let Some(sent) = root.get("delta") {
                splice.replace_string(sent.span(), text);
            }
        })
    }

    fn with_repeated_text(&mut self, data: &str) -> Option<String> {
        self.end_part();
        let rewritten = &self.text.rewritten;
        let tree = Tree::parse(data).ok().filter(|_| !rewritten.is_empty())?;
        let root = tree.root();
        let mut splice = Splice::new(data);
        if let Some(content) = root.get("item").and_then(|item| item.get("content")) {
            for (index, said) in rewritten {
                let part = index.parse().ok().and_then(|index| content.element(index));
                if let Some(text) = part.and_then(|part| part.get("text")) {
                    splice.replace_string(text.span(), said);
                }
            }
        } else {
            let text = root.get("text").or_else(|| root.get("part")?.get("text"));
            let part = part_of(root);
            let said = rewritten.iter().find(|(own, _)| *own == part);
            if let Some(((_, said), text)) = said.zip(text) {
                splice.replace_string(text.span(), said);
            }
        }
        let rewritten = splice.apply();
        if type_of(root) == "response.output_item.done"
            && let (Some(HistoryItem::Item(item)), Some(said)) =
                (self.history.last_mut(), item_of(&rewritten))
        {
            *item = said;
        }
        Some(rewritten)
    }

    fn places(&mut self) -> &mut Places {
        &mut self.client.places
    }

    fn forward(&mut self, _: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            let mut at = usize::MAX;
            self.count(root, splice);
            if let Some(index) = root.get("output_index").and_then(Node::digits) {
                at = self.client.places.of(index);
                set_index(splice, root, "output_index", at);
            }
            if self.client.first_id.is_none() {
                self.client.first_id = response_id(root);
            }
            if type_of(root) == "response.output_item.done" {
                self.note_item(at, splice);
            }
            Edited::Forward
        });
    }

    fn forward_at(&mut self, _: &Exchange, event: &SseEvent, place: usize, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            self.count(root, splice);
            move_to(root, place, splice);
            Edited::Forward
        });
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        let [placed] = held.pieces else {
            return self.write_completed(held, out);
        };
        self.client.changed |= held.changed && placed.first;
        let number = placed.piece.number;
        let Some((call, place)) = placed.call() else {
            self.client.changed = true;
            return;
        };
        let kind = placed.piece.kind;
        if placed.first && kind != PieceKind::Begin {
            let own = self.calls[number].id.clone();
            self.write_begin(own, call, place, out);
            self.client.changed = true;
        }
        self.write_piece(held.event, placed, (call, place), out);
        if kind == PieceKind::End {
            self.client.changed |= placed.calls.len() > 1;
        }
        self.write_further_calls(placed, out);
    }

    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter) {
        self.write_begin(None, decision, place, out);
        self.client.changed = true;
        let (id, name) = (decision.id(), &decision.call.name);
        let item = ResponsesForm.call(id, name, decision.final_arguments());
        let done =
            format!(r#"{{"type":"response.output_item.done","output_index":{place},"item":{item}"#);
        self.client.items.push((place, item));
        self.write_event("response.output_item.done", &done, out);
    }

    fn write_text(&mut self, decision: &CallDecision, text: &str, out: &mut EventWriter) {
        let place = self.client.places.take();
        let (id, text) = (message_id(decision), quoted(text));
        let head = format!(r#""item_id":{id},"output_index":{place},"content_index":0"#);
        let whole = message_item(&id, "completed", &text_part(&text));
        let start = message_item(&id, "in_progress", "");
        let (empty, part) = (text_part("\"\""), text_part(&text));
        for (kind, rest) in [
            (
                "output_item.added",
                format!(r#""output_index":{place},"item":{start}"#),
            ),
            ("content_part.added", format!(r#"{head},"part":{empty}"#)),
            ("output_text.delta", format!(r#"{head},"delta":{text}"#)),
            ("output_text.done", format!(r#"{head},"text":{text}"#)),
            ("content_part.done", format!(r#"{head},"part":{part}"#)),
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

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        let or = |text: &str, other: &str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.to_owned()
            }
        };
        let (item, index) = (
            or(&self.text.item, "\"\""),
            or(&self.text.output_index, "0"),
        );
        let text = quoted(text);
        let delta = format!(
            r#"{{"type":"response.output_text.delta","item_id":{item},"output_index":{index},"content_index":0,"delta":{text},"sequence_number":0}}"#
        );
        let event = SseEvent::new("response.output_text.delta", delta);
        write_edited(&event, out, |root, splice| {
            self.count(root, splice);
            if let Some(place) = self.client.places.find(&index_of(root)) {
                move_to(root, place, splice);
            }
            Edited::Forward
        });
    }

    fn aliased_reply(&self) -> Option<(String, String)> {
        let (first, last) = (self.client.first_id.clone()?, self.client.last_id.clone()?);
        (first != last).then_some((first, last))
    }

    fn write_last(&mut self, _: &mut EventWriter) -> bool {
        // Only the provider knows the response's id and usage.
        false
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let mut items = Vec::new();
        for item in &self.history {
            match item {
                HistoryItem::Item(item) | HistoryItem::Late(item) => items.push(item.clone()),
                HistoryItem::Call(key) => {
                    let whole = match key {
                        CallKey::Stream(number) => self.calls.get(*number),
                        CallKey::Text(_) | CallKey::Late(_) => None,
                    };
                    let whole = whole.and_then(|call| call.whole.as_deref());
                    let late = match key {
                        CallKey::Late(number) => self.late.get(*number).map(String::as_str),
                        CallKey::Stream(_) | CallKey::Text(_) => None,
                    };
                    let sent = whole.or(late).unwrap_or_default();
                    let calls = decisions(*key).into_iter().enumerate();
                    items.extend(calls.map(|(at, decision)| {
                        history_call(if at == 0 { sent } else { "" }, decision)
                    }));
                }
            }
        }
        items.retain(|item| !item.is_empty());
        format!(r#"{{"output":[{}]}}"#, items.join(","))
    }

    fn begin_next(&mut self) {
        let mut client = std::mem::take(&mut self.client);
        let ids = client.items.iter().filter_map(|(_, item)| id_in(item));
        client.earlier_ids.extend(ids.collect::<Vec<_>>());
        client.places = client.places.of_next_reply();
        client.renamed_ids.clear();
        client.changed = true;
        *self = Self {
            client,
            ..Self::default()
        };
    }
}

impl Responses {
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

    /// Writes the events that a call should have begun with.
    fn write_begin(
        &mut self,
        own: Option<String>,
        decision: &CallDecision,
        place: usize,
        out: &mut EventWriter,
    ) {
        let id = decision.id();
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
    fn write_event(&mut self, kind: &str, open: &str, out: &mut EventWriter) {
        let data = format!(r#"{open},"sequence_number":{}}}"#, self.client.sequence);
        self.client.sequence += 1;
        out.event(Some(kind), &data);
    }

    /// Notes the item of an event as the client gets it.
    fn note_item(&mut self, place: usize, splice: &Splice<'_>) {
        let item = item_of(&splice.clone().apply());
        self.client.items.extend(item.map(|item| (place, item)));
    }

    fn write_piece(
        &mut self,
        event: &SseEvent,
        placed: &PlacedPiece<'_>,
        (decision, place): (&CallDecision, usize),
        out: &mut EventWriter,
    ) {
        let (kind, mended) = (placed.piece.kind, decision.arguments.as_deref());
        if kind == PieceKind::Part && mended.is_some() {
            return;
        }
        let whole = mended.filter(|_| kind == PieceKind::Whole);
        if let (Some(arguments), Ok(tree)) = (whole, Tree::parse(event.data())) {
            let item = tree.root().get("item_id").map(Node::to_json);
            let own = self.calls[placed.piece.number].id.clone();
            let own = || quoted(&own.unwrap_or_else(|| item_id("fc", decision.id())));
            let item = item.unwrap_or_else(own);
            let delta = format!(
                r#"{{"type":"response.function_call_arguments.delta","item_id":{item},"output_index":{place},"delta":{}"#,
                quoted(arguments)
            );
            self.write_event("response.function_call_arguments.delta", &delta, out);
        }
        write_edited(event, out, |root, splice| {
            if let Some(arguments) = whole {
                splice.set(root, "arguments", &quoted(arguments));
            }
            self.count(root, splice);
            move_to(root, place, splice);
            if let Some(item) = root.get("item") {
                self.client.changed |= set_text(splice, item, "call_id", decision.id());
                if !decision.is_bad() || decision.call.alias.is_some() {
                    let name = &decision.call.name;
                    self.client.changed |= set_text(splice, item, "name", name);
                }
                if let (PieceKind::End, Some(arguments)) = (kind, mended) {
                    splice.set(item, "arguments", &quoted(arguments));
                }
            }
            if kind == PieceKind::End {
                self.note_item(place, splice);
            }
            Edited::Forward
        });
    }

    /// Writes the last event, which repeats all items that the client has.
    fn write_completed(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        let exchange = held.exchange;
        write_edited(held.event, out, |root, splice| {
            self.count(root, splice);
            let Some(response) = root.get("response") else {
                return Edited::Forward;
            };
            self.add_late(held);
            if self.client.changed {
                self.client.items.sort_by_key(|(place, _)| *place);
                let items = self.client.items.iter().map(|(_, item)| item.as_str());
                let items = items.collect::<Vec<_>>().join(",");
                splice.set(response, "output", &format!("[{items}]"));
            }
            if let Some(usage) = response.get("usage") {
                exchange.write_usage(usage, held.usage, splice);
            }
            if exchange.request.is_stored {
                self.client.last_id = response_id(root);
            } else if let Some(first) = self.client.first_id.as_deref()
                && has(response, "id")
            {
                // Nobody can ask for either response.
                set_text(splice, response, "id", first);
            }
            exchange.append_report(response, splice);
            Edited::Forward
        });
    }

    /// Adds the items that are only in the last event, each call as it was decided.
    fn add_late(&mut self, held: &HeldEvent<'_>) {
        for item in std::mem::take(&mut self.history) {
            let number = match item {
                HistoryItem::Late(item) => {
                    self.client.items.push((usize::MAX, item));
                    continue;
                }
                HistoryItem::Call(CallKey::Late(number)) => number,
                _ => continue,
            };
            let late = held.late.iter().find(|(late, _)| *late == number);
            let sent = &self.late[number];
            let item = match late {
                Some((_, LateCall::Text(decision))) => ResponsesForm.text_block(decision),
                Some((_, LateCall::Call(decision))) => {
                    let is_open =
                        matches!(decision.verdict, CallVerdict::Bad | CallVerdict::Unjudged);
                    if is_open && decision.call.alias.is_none() {
                        sent.clone()
                    } else {
                        late_item(sent, decision)
                    }
                }
                _ => {
                    self.client.changed = true;
                    continue;
                }
            };
            self.client.changed |= item != *sent;
            self.client.items.push((usize::MAX, item));
        }
    }
}
