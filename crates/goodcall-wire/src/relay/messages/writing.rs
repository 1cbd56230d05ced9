//! Blocks on their way out.

use super::*;
use crate::relay::judge::GiveUp;
use crate::relay::reask::legal_call;
use crate::relay::reply::{due_reason, reasons};
use crate::sse;

/// Where a text block has its citations, which come one by one.
pub(super) const LIST: &str = "citations";

impl Messages {
    /// An event as it came, but for its place in the client's message.
    pub(super) fn pass(&mut self, event: &SseEvent, index: Option<&str>, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let place = match index {
            Some(index) if data.contains("\"content_block_start\"") => {
                self.places.insert(index.to_owned(), self.next);
                self.next += 1;
                Some(self.next - 1)
            }
            Some(index) => self.places.get(index).copied(),
            None => None,
        };
        let moved = place.filter(|place| index != Some(place.to_string().as_str()));
        match moved {
            Some(place) => event.write_with(&moved_to(data, place), out),
            None if event.raw.is_empty() => event.write_with(data, out),
            None => out.extend_from_slice(&event.raw),
        }
    }

    /// The same at a place that is known.
    pub(super) fn pass_at(&self, event: &SseEvent, place: usize, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let index = tree
            .as_ref()
            .and_then(|tree| tree.root().get("index")?.digits());
        match index == Some(place.to_string().as_str()) {
            true => out.extend_from_slice(&event.raw),
            false => event.write_with(&moved_to(data, place), out),
        }
    }

    /// Lets a call begin before it is whole, if it is as it should be so far.
    pub(super) fn stream_start(
        &mut self,
        number: usize,
        event: &SseEvent,
        out: &mut Vec<u8>,
    ) -> bool {
        let block = &self.calls[number];
        let id = block.call.id.clone();
        let fresh = id.as_ref().is_some_and(|id| !self.desk.taken.contains(id));
        let empty = block
            .start
            .as_deref()
            .is_none_or(|start| start.trim() == "{}");
        let as_sent = block.call.changes.is_empty() && block.call.told.is_none();
        let (name, index) = (block.call.name.clone(), block.index.clone());
        let (_, strict) = self.desk.early.fragment(Some(&index), id, Some(name), None);
        if !(fresh && empty && as_sent && strict && self.desk.held.is_empty()) {
            return false;
        }
        let place = self.next;
        self.next += 1;
        self.calls[number].streamed = Some(place);
        self.pass_at(event, place, out);
        true
    }

    /// Everything that is held goes on, each call as it was ruled.
    pub(super) fn write_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        let give_up = exchange.judge.settings.give_up;
        self.desk.bytes = 0;
        let mut places = HashMap::new();
        for (event, role) in std::mem::take(&mut self.desk.held) {
            let number = match role {
                Role::Start(number) | Role::Delta(number) | Role::Stop(number) => number,
                Role::Other => {
                    self.pass_held(exchange, &event, out);
                    continue;
                }
            };
            let Some(ruling) = self.desk.rulings.get(number).cloned() else {
                continue;
            };
            let as_text = match (ruling.is_bad(), give_up, &self.calls[number].text) {
                (false, ..) => None,
                (true, GiveUp::Text, _) => Some(ruling.text.clone()),
                (true, GiveUp::AsSent, text) => text.clone(),
            };
            if let Some(text) = as_text {
                if let Role::Start(_) = role {
                    self.write_text(&text, out);
                }
                continue;
            }
            if let Some(place) = self.calls[number].streamed {
                places.insert(number, place);
                if let Role::Stop(_) = role {
                    self.desk.accept(exchange, &ruling);
                }
            }
            if let Role::Start(_) = role {
                if !self.desk.accept(exchange, &ruling) {
                    continue;
                }
                places.insert(number, self.next);
                self.next += 1;
            }
            let Some(place) = places.get(&number) else {
                continue;
            };
            self.write_call(&event, role, &ruling, *place, out);
        }
    }

    fn write_call(
        &self,
        event: &SseEvent,
        role: Role,
        ruling: &CallDecision,
        place: usize,
        out: &mut Vec<u8>,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&event.raw);
        };
        let root = tree.root();
        let (Role::Start(number) | Role::Delta(number) | Role::Stop(number)) = role else {
            return;
        };
        let whole = ruling.arguments.is_some() || self.calls[number].text.is_some();
        let mut cuts = Cuts::new(data);
        if root.get("index").and_then(Node::digits) != Some(place.to_string().as_str()) {
            cuts.set(root, "index", &place.to_string());
        }
        if let (Role::Start(_), Some(block)) = (role, root.get("content_block")) {
            let text = |key| block.get(key).and_then(Node::as_str);
            let id = ruling.call.id.as_deref();
            if text("id") != id {
                cuts.set(block, "id", &quoted(id.unwrap_or_default()));
            }
            let known = ruling.ruled != CallVerdict::Unjudged || ruling.call.told.is_some();
            if text("name") != Some(&ruling.call.name) && known {
                cuts.set(block, "name", &quoted(&ruling.call.name));
            }
            if whole {
                cuts.set(block, "input", "{}");
            }
        }
        match role {
            Role::Delta(_) if whole => return,
            Role::Stop(_) if whole => {
                let part = quoted(ruling.final_arguments());
                let delta = format!(
                    r#"{{"type":"content_block_delta","index":{place},"delta":{{"type":"input_json_delta","partial_json":{part}}}}}"#
                );
                sse::write(Some("content_block_delta"), &delta, out);
            }
            _ => {}
        }
        match cuts.is_empty() && !event.raw.is_empty() {
            true => out.extend_from_slice(&event.raw),
            false => event.write_with(&cuts.apply(), out),
        }
    }

    /// A block of text.
    fn write_text(&mut self, text: &str, out: &mut Vec<u8>) {
        let (place, text) = (self.next, quoted(text));
        self.next += 1;
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

    fn pass_held(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut Vec<u8>) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let root = tree.as_ref().map(Tree::root);
        let kind = root.and_then(|root| root.get("type")?.as_str());
        if kind == Some("message_delta") {
            return self.write_message_delta(exchange, event, out);
        }
        let index = root.and_then(|root| root.get("index")?.digits());
        self.pass(event, index, out);
    }

    /// The calls that the client has, or will have.
    fn has_calls(&self) -> usize {
        self.desk.accepted.len()
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
        let mut cuts = Cuts::new(data);
        if let Some(delta) = root.get("delta") {
            let calls = self.has_calls();
            let reason = delta.get("stop_reason").and_then(Node::as_str);
            let any = calls > 0 || !self.desk.rulings.is_empty();
            let due =
                due_reason(reasons(Provider::Anthropic, false), reason, calls).filter(|_| any);
            if let Some(due) = due {
                cuts.set(delta, "stop_reason", &quoted(due));
            }
        }
        if let Some(usage) = root.get("usage").filter(|_| !exchange.usage.is_empty()) {
            exchange.usage.write(usage, &self.desk.own, &mut cuts);
        }
        if exchange.judge.settings.report {
            cuts.last(root, &format!("\"goodcall\":{}", exchange.report()));
        }
        match cuts.is_empty() {
            true => out.extend_from_slice(&event.raw),
            false => event.write_with(&cuts.apply(), out),
        }
    }

    pub(in crate::relay) fn end(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.decide(exchange, out);
        if self.desk.stage == Stage::Passed {
            self.close(out);
        }
    }

    pub(in crate::relay) fn give_up(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.pass_all(exchange, out);
        self.close(out);
    }

    /// The end that a server left out.
    fn close(&mut self, out: &mut Vec<u8>) {
        if self.has_calls() == 0 {
            return;
        }
        if !std::mem::replace(&mut self.ended, true) {
            let delta = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":0}}"#;
            sse::write(Some("message_delta"), delta, out);
        }
        if !std::mem::replace(&mut self.desk.done, true) {
            sse::write(Some("message_stop"), r#"{"type":"message_stop"}"#, out);
        }
    }

    /// A text block in the history says only what went on.
    pub(super) fn without_calls(&mut self, index: &str) {
        let calls: Vec<String> = self
            .calls
            .iter()
            .filter_map(|call| call.text.clone())
            .collect();
        for said in &mut self.said {
            if let Said::Block {
                index: own, added, ..
            } = said
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

/// The same event at another place.
fn moved_to(data: &str, place: usize) -> String {
    let Ok(tree) = Tree::parse(data) else {
        return data.to_owned();
    };
    let mut cuts = Cuts::new(data);
    cuts.set(tree.root(), "index", &place.to_string());
    cuts.apply()
}

/// A call as it may stand in a history, with what else its block began with.
pub(super) fn call(begun: &str, ruling: &CallDecision) -> String {
    const JUDGED: [&str; 4] = ["type", "id", "name", "input"];
    let legal = legal_call(Provider::Anthropic, ruling);
    let (Ok(begun_tree), Ok(tree)) = (Tree::parse(begun), Tree::parse(&legal)) else {
        return legal;
    };
    let mut cuts = Cuts::new(&legal);
    let members = begun_tree.root().members();
    for (key, value) in members.filter(|(key, _)| !JUDGED.contains(key)) {
        cuts.set(tree.root(), key, begun.get(value.span()).unwrap_or("null"));
    }
    cuts.apply()
}

/// A block of a reply as it stands in the history; `None` for one that a provider refuses.
pub(super) fn block(start: &str, added: &[(&'static str, String)]) -> Option<String> {
    let tree = Tree::parse(start).ok()?;
    let root = tree.root();
    let mut cuts = Cuts::new(start);
    for (key, text) in added {
        let before = root.get(key).and_then(Node::as_str).unwrap_or_default();
        match *key {
            "input" => cuts.set(root, key, &crate::envelope::legal_arguments(text)),
            LIST => {
                let list = text.trim_start_matches(',');
                cuts.set(root, key, &format!("[{list}]"));
            }
            key => cuts.set(root, key, &quoted(&format!("{before}{text}"))),
        }
    }
    let is_text = root.get("type").and_then(Node::as_str) == Some("text");
    let blank = |text: &str| text.trim().is_empty();
    let empty = root.get("text").and_then(Node::as_str).is_none_or(blank)
        && added
            .iter()
            .all(|(key, text)| *key != "text" || blank(text));
    (!(is_text && empty)).then(|| cuts.apply())
}
