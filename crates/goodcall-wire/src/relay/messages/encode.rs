//! Writes the events that the client gets.

use super::*;
use crate::relay::judge::GiveUp;
use crate::relay::reask::legal_call;
use crate::relay::reply::MESSAGES_STOP;
use crate::sse;

/// The key of a text block's citations, which arrive one by one.
pub(super) const CITATIONS: &str = "citations";

impl Messages {
    /// Forwards an event as it arrived, but for the index of its block.
    pub(super) fn forward(&mut self, event: &SseEvent, block: EventBlock<'_>, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let (index, place) = match block {
            EventBlock::Opens(index) => {
                let place = self.take_place();
                self.places.insert(index.to_owned(), place);
                (index, Some(place))
            }
            EventBlock::Inside(index) => (index, self.places.get(index).copied()),
            EventBlock::None => ("", None),
        };
        match place.filter(|place| index != place.to_string()) {
            Some(place) => event.write_with(&moved_to(data, place), out),
            None if event.raw.is_empty() => event.write_with(data, out),
            None => out.extend_from_slice(&event.raw),
        }
    }

    /// The client's index of a new block.
    fn take_place(&mut self) -> usize {
        self.next_place += 1;
        self.next_place - 1
    }

    /// Forwards an event of a block whose index for the client is known.
    pub(super) fn forward_at(&self, event: &SseEvent, place: usize, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let index = tree
            .as_ref()
            .and_then(|tree| tree.root().get("index")?.digits());
        if index == Some(place.to_string().as_str()) {
            out.extend_from_slice(&event.raw);
        } else {
            event.write_with(&moved_to(data, place), out);
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
        let block = &self.calls[number];
        let id = block.call.id.clone();
        let fresh = id
            .as_ref()
            .is_some_and(|id| !self.pending.taken_ids.contains(id));
        let empty = block
            .start_input
            .as_deref()
            .is_none_or(|start| start.trim() == "{}");
        let as_sent = block.call.changes.is_empty() && block.call.alias.is_none();
        let (name, index) = (block.call.name.clone(), block.index.clone());
        let (_, strict) = self
            .pending
            .early
            .fragment(Some(&index), id, Some(name), None);
        if !(fresh && empty && as_sent && strict && self.pending.held.is_empty()) {
            return false;
        }
        let place = self.take_place();
        self.calls[number].streamed = Some(place);
        self.forward_at(event, place, out);
        true
    }

    /// Writes everything that is held, each call as it was decided.
    pub(super) fn encode_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        let give_up = exchange.judge.settings.give_up;
        self.pending.held_bytes = 0;
        let mut places = HashMap::new();
        for (event, role) in std::mem::take(&mut self.pending.held) {
            let number = match role {
                BlockEventRole::Start(number)
                | BlockEventRole::Delta(number)
                | BlockEventRole::Stop(number) => number,
                BlockEventRole::Other => {
                    self.forward_held(exchange, &event, out);
                    continue;
                }
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
                if let BlockEventRole::Start(_) = role {
                    self.write_text(&text, out);
                }
                continue;
            }
            if let Some(place) = self.calls[number].streamed {
                places.insert(number, place);
                if let BlockEventRole::Stop(_) = role {
                    self.pending.accept(exchange, &decision);
                }
            }
            if let BlockEventRole::Start(_) = role {
                if !self.pending.accept(exchange, &decision) {
                    continue;
                }
                places.insert(number, self.take_place());
            }
            let Some(place) = places.get(&number) else {
                continue;
            };
            self.write_call(&event, role, &decision, *place, out);
        }
    }

    fn write_call(
        &self,
        event: &SseEvent,
        role: BlockEventRole,
        decision: &CallDecision,
        place: usize,
        out: &mut Vec<u8>,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let (BlockEventRole::Start(number)
        | BlockEventRole::Delta(number)
        | BlockEventRole::Stop(number)) = role
        else {
            return;
        };
        let whole = decision.arguments.is_some() || self.calls[number].text.is_some();
        let mut splice = Splice::new(data);
        if root.get("index").and_then(Node::digits) != Some(place.to_string().as_str()) {
            splice.set(root, "index", &place.to_string());
        }
        if let (BlockEventRole::Start(_), Some(block)) = (role, root.get("content_block")) {
            let text = |key| block.get(key).and_then(Node::as_str);
            let id = decision.call.id.as_deref();
            if text("id") != id {
                splice.set(block, "id", &quoted(id.unwrap_or_default()));
            }
            let known = decision.verdict != CallVerdict::Unjudged || decision.call.alias.is_some();
            if text("name") != Some(&decision.call.name) && known {
                splice.set(block, "name", &quoted(&decision.call.name));
            }
            if whole {
                splice.set(block, "input", "{}");
            }
        }
        match role {
            BlockEventRole::Delta(_) if whole => return,
            BlockEventRole::Stop(_) if whole => {
                let part = quoted(decision.final_arguments());
                let delta = format!(
                    r#"{{"type":"content_block_delta","index":{place},"delta":{{"type":"input_json_delta","partial_json":{part}}}}}"#
                );
                sse::write(Some("content_block_delta"), &delta, out);
            }
            _ => {}
        }
        if splice.is_empty() && !event.raw.is_empty() {
            out.extend_from_slice(&event.raw);
        } else {
            event.write_with(&splice.apply(), out);
        }
    }

    /// Writes a block of text.
    fn write_text(&mut self, text: &str, out: &mut Vec<u8>) {
        let (place, text) = (self.take_place(), quoted(text));
        let start = format!(
            r#"{{"type":"content_block_start","index":{place},"content_block":{{"type":"text","text":""}}}}"#
        );
        let delta = format!(
            r#"{{"type":"content_block_delta","index":{place},"delta":{{"type":"text_delta","text":{text}}}}}"#
        );
        let stop = format!(r#"{{"type":"content_block_stop","index":{place}}}"#);
        sse::write(Some("content_block_start"), &start, out);
        sse::write(Some("content_block_delta"), &delta, out);
        sse::write(Some("content_block_stop"), &stop, out);
    }

    fn forward_held(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let root = tree.as_ref().map(Tree::root);
        let kind = root.and_then(|root| root.get("type")?.as_str());
        if kind == Some("message_delta") {
            return self.write_message_delta(exchange, event, out);
        }
        let index = root.and_then(|root| root.get("index")?.digits());
        let block = match index {
            Some(index) if kind == Some("content_block_start") => EventBlock::Opens(index),
            Some(index) => EventBlock::Inside(index),
            None => EventBlock::None,
        };
        self.forward(event, block, out);
    }

    /// The number of calls that the client has, or will have.
    fn call_count(&self) -> usize {
        self.pending.accepted.len()
    }

    pub(super) fn write_message_delta(
        &self,
        exchange: &Exchange,
        event: &SseEvent,
        out: &mut Vec<u8>,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let mut splice = Splice::new(data);
        if let Some(delta) = root.get("delta") {
            let calls = self.call_count();
            let reason = delta.get("stop_reason").and_then(Node::as_str);
            let any = calls > 0 || !self.pending.decisions.is_empty();
            let corrected = MESSAGES_STOP.corrected(reason, calls);
            if let Some(reason) = corrected.filter(|_| any) {
                splice.set(delta, "stop_reason", &quoted(reason));
            }
        }
        if let Some(usage) = root.get("usage").filter(|_| !exchange.usage.is_empty()) {
            exchange
                .usage
                .write(usage, &self.pending.usage, &mut splice);
        }
        if exchange.judge.settings.report {
            splice.append(root, &format!("\"goodcall\":{}", exchange.report()));
        }
        if splice.is_empty() {
            out.extend_from_slice(&event.raw);
        } else {
            event.write_with(&splice.apply(), out);
        }
    }

    pub(in crate::relay) fn end(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.end_message(exchange, out);
        if self.pending.state == MessageState::Forwarded {
            self.close(out);
        }
    }

    pub(in crate::relay) fn give_up(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.forward_all(exchange, out);
        self.close(out);
    }

    /// Writes the end that a server omitted.
    fn close(&mut self, out: &mut Vec<u8>) {
        if self.call_count() == 0 {
            return;
        }
        if !std::mem::replace(&mut self.ended, true) {
            let delta = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":0}}"#;
            sse::write(Some("message_delta"), delta, out);
        }
        if !std::mem::replace(&mut self.pending.done, true) {
            sse::write(Some("message_stop"), r#"{"type":"message_stop"}"#, out);
        }
    }

    /// Removes the calls from a text block of the history, which holds the text outside calls.
    pub(super) fn without_calls(&mut self, index: &str) {
        let calls: Vec<String> = self
            .calls
            .iter()
            .filter_map(|call| call.text.clone())
            .collect();
        for history in &mut self.history {
            if let HistoryBlock::Other {
                index: own, added, ..
            } = history
                && own == index
            {
                for (key, text) in added {
                    if *key == "text" {
                        for call in &calls {
                            *text = text.replacen(call.as_str(), "", 1);
                        }
                    }
                }
            }
        }
    }
}

/// The event with another index.
fn moved_to(data: &str, place: usize) -> String {
    let Ok(tree) = Tree::parse(data) else {
        return data.to_owned();
    };
    let mut splice = Splice::new(data);
    splice.set(tree.root(), "index", &place.to_string());
    splice.apply()
}

/// A call in a form that a history may hold, with the other members of its block.
pub(super) fn call(begun: &str, decision: &CallDecision) -> String {
    const JUDGED: [&str; 4] = ["type", "id", "name", "input"];
    let legal = legal_call(Provider::Anthropic, decision);
    let (Ok(begun_tree), Ok(tree)) = (Tree::parse(begun), Tree::parse(&legal)) else {
        return legal;
    };
    let mut splice = Splice::new(&legal);
    let members = begun_tree.root().members();
    for (key, value) in members.filter(|(key, _)| !JUDGED.contains(key)) {
        splice.set(tree.root(), key, begun.get(value.span()).unwrap_or("null"));
    }
    splice.apply()
}

/// A block as the history holds it; `None` for an empty text, which providers refuse.
pub(super) fn block(start: &str, added: &[(&'static str, String)]) -> Option<String> {
    let tree = Tree::parse(start).ok()?;
    let root = tree.root();
    let mut splice = Splice::new(start);
    for (key, text) in added {
        let before = root.get(key).and_then(Node::as_str).unwrap_or_default();
        match *key {
            "input" => splice.set(root, key, &crate::envelope::legal_arguments(text)),
            CITATIONS => {
                let list = text.trim_start_matches(',');
                splice.set(root, key, &format!("[{list}]"));
            }
            key => splice.set(root, key, &quoted(&format!("{before}{text}"))),
        }
    }
    let is_text = root.get("type").and_then(Node::as_str) == Some("text");
    let blank = |text: &str| text.trim().is_empty();
    let empty = root.get("text").and_then(Node::as_str).is_none_or(blank)
        && added
            .iter()
            .all(|(key, text)| *key != "text" || blank(text));
    (!(is_text && empty)).then(|| splice.apply())
}
