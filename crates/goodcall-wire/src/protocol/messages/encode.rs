//! Writes the events that the client gets.

use super::*;
use crate::relay::{CallVerdict, Exchange, legal_call};

impl Decoder for Messages {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        decode(self, root)
    }
}

impl Protocol for Messages {
    fn kind(&self, root: Node<'_>) -> EventKind {
        match type_of(root) {
            "ping" => EventKind::Heartbeat,
            "error" => EventKind::Failure,
            "message_start" => EventKind::Head,
            "message_delta" => EventKind::Last,
            "message_stop" => EventKind::Close,
            _ => EventKind::Content,
        }
    }

    fn heartbeat(&self) -> Option<String> {
        Some("event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned())
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        let message = root.get("message");
        root.get("usage").or_else(|| message?.get("usage"))
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        is_safety_stop(root.get("delta").and_then(|delta| delta.get("stop_reason")))
    }

    fn note(&mut self, root: Node<'_>) {
        let index = root.get("index").and_then(Node::digits);
        index.unwrap_or_default().clone_into(&mut self.index);
        let block = root.get("content_block");
        if let Some(block) = block.filter(|_| !Messages::is_call(root)) {
            self.history.push(HistoryBlock::Other {
                index: self.index.clone(),
                start: block.written().to_owned(),
                added: Vec::new(),
            });
        }
        if let Some(delta) = root.get("delta") {
            self.note_delta(delta);
        }
    }

    fn note_fragment(&mut self, found: FoundFragment<'_>) {
        if found.is_new
            && let Some(block) = found.root.get("content_block")
        {
            let input = block.get("input");
            self.starts.resize(found.number, CallStart::default());
            self.starts.push(CallStart {
                block: block.written().to_owned(),
                is_regular: id_of(block.get("id")).is_some()
                    && input.is_none_or(|input| input.is_empty()),
            });
        }
    }

    fn note_call(&mut self, key: CallKey) {
        self.history.push(HistoryBlock::Call(key));
    }

    fn note_text(&mut self, _: &str, released: &str) {
        self.add("text", released);
    }

    fn may_stream(&self, number: usize) -> bool {
        self.starts
            .get(number)
            .is_some_and(|start| start.is_regular)
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            let owner = root.get("delta").or_else(|| root.get("content_block"));
            if let Some(sent) = owner.and_then(|owner| owner.get("text")) {
                splice.replace_string(sent.span(), text);
            }
        })
    }

    fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        let tree = Tree::parse(event.data()).ok();
        let root = tree.as_ref().map(Tree::root);
        let kind = root.map(type_of).unwrap_or_default();
        if let Some(start) = self.waiting.take() {
            // A text block that stays empty is left out.
            if kind == "content_block_stop" {
                return;
            }
            self.forward_block(&start, true, out);
        }
        let is_start = kind == "content_block_start";
        let block = root.and_then(|root| root.get("content_block"));
        let is_empty_text = block.is_some_and(|block| {
            let text = block.get("text").and_then(Node::as_str);
            type_of(block) == "text" && text.is_none_or(str::is_empty)
        });
        if is_start && is_empty_text && exchange.text_call_scope().is_some() {
            self.waiting = Some(event.clone());
        } else {
            self.forward_block(event, is_start, out);
        }
    }

    fn forward_at(&mut self, _: &Exchange, event: &SseEvent, place: usize, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            set_index(splice, root, "index", place);
            Edited::Forward
        });
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        let [placed] = held.pieces else {
            return write_message_delta(held, out);
        };
        let Some((decision, place)) = placed.block_call(write_arguments, out) else {
            return;
        };
        write_edited(held.event, out, |root, splice| {
            set_index(splice, root, "index", place);
            if let Some(block) = root.get("content_block") {
                set_text(splice, block, "id", decision.id());
                if decision.verdict != CallVerdict::Unjudged || decision.call.alias.is_some() {
                    set_text(splice, block, "name", &decision.call.name);
                }
                if decision.arguments.is_some() {
                    splice.set(block, "input", "{}");
                }
            }
            Edited::Forward
        });
        self.write_further_calls(placed, out);
    }

    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter) {
        let id = quoted(decision.id());
        let name = quoted(&decision.call.name);
        let block = format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{{}}}}"#);
        write_start(&block, place, out);
        write_arguments(decision, place, out);
        write_stop(place, out);
    }

    fn write_text(&mut self, _: &CallDecision, text: &str, out: &mut EventWriter) {
        let place = self.places.take();
        write_start(r#"{"type":"text","text":""}"#, place, out);
        write_text_delta(text, place, out);
        write_stop(place, out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        if let Some(start) = self.waiting.take() {
            self.forward_block(&start, true, out);
        }
        let place = self.places.of(&self.index);
        write_text_delta(text, place, out);
    }

    fn write_last(&mut self, out: &mut EventWriter) -> bool {
        let delta = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":0}}"#;
        out.event(Some("message_delta"), delta);
        true
    }

    fn write_close(&mut self, out: &mut EventWriter) -> bool {
        out.event(Some("message_stop"), r#"{"type":"message_stop"}"#);
        true
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let mut blocks = Vec::new();
        for block in &self.history {
            match block {
                HistoryBlock::Other { start, added, .. } => {
                    blocks.extend(history_block(start, added));
                }
                HistoryBlock::Call(key) => {
                    let start = match key {
                        CallKey::Stream(number) => self.starts.get(*number),
                        CallKey::Text(_) | CallKey::Late(_) => None,
                    };
                    let start = start.map_or("", |start| &start.block);
                    let calls = decisions(*key).into_iter();
                    blocks.extend(calls.map(|decision| history_call(start, decision)));
                }
            }
        }
        format!(r#"{{"content":[{}]}}"#, blocks.join(","))
    }

    fn begin_next(&mut self) {
        *self = Self {
            places: self.places.of_next_reply(),
            ..Self::default()
        };
    }
}

impl Messages {
    /// Forwards an event as it arrived, but for the index of its block.
    fn forward_block(&mut self, event: &SseEvent, is_start: bool, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            if let Some(index) = root.get("index").and_then(Node::digits) {
                let place = if is_start {
                    Some(self.places.begin(index))
                } else {
                    self.places.find(index)
                };
                if let Some(place) = place {
                    set_index(splice, root, "index", place);
                }
            }
            Edited::Forward
        });
    }
}

fn write_message_delta(held: &HeldEvent<'_>, out: &mut EventWriter) {
    let exchange = held.exchange;
    write_edited(held.event, out, |root, splice| {
        if let Some(delta) = root.get("delta") {
            held.set_stop_reason(&MESSAGES_STOP, (delta, "stop_reason"), splice);
        }
        if let Some(usage) = root.get("usage").filter(|_| !exchange.usage.is_empty()) {
            exchange.write_usage(usage, held.usage, splice);
        }
        exchange.append_report(root, splice);
        Edited::Forward
    });
}

fn write_start(block: &str, place: usize, out: &mut EventWriter) {
    let data =
        format!(r#"{{"type":"content_block_start","index":{place},"content_block":{block}}}"#);
    out.event(Some("content_block_start"), &data);
}

fn write_stop(place: usize, out: &mut EventWriter) {
    let data = format!(r#"{{"type":"content_block_stop","index":{place}}}"#);
    out.event(Some("content_block_stop"), &data);
}

fn write_delta(delta: &str, place: usize, out: &mut EventWriter) {
    let data = format!(r#"{{"type":"content_block_delta","index":{place},"delta":{delta}}}"#);
    out.event(Some("content_block_delta"), &data);
}

fn write_text_delta(text: &str, place: usize, out: &mut EventWriter) {
    let text = quoted(text);
    write_delta(
        &format!(r#"{{"type":"text_delta","text":{text}}}"#),
        place,
        out,
    );
}

fn write_arguments(decision: &CallDecision, place: usize, out: &mut EventWriter) {
    let part = quoted(decision.final_arguments());
    let delta = format!(r#"{{"type":"input_json_delta","partial_json":{part}}}"#);
    write_delta(&delta, place, out);
}

/// A call in a form that a history may hold, with the other members of its block.
fn history_call(start: &str, decision: &CallDecision) -> String {
    const JUDGED: [&str; 4] = ["type", "id", "name", "input"];
    let legal = legal_call(Provider::Anthropic, decision);
    let (Ok(start_tree), Ok(tree)) = (Tree::parse(start), Tree::parse(&legal)) else {
        return legal;
    };
    let mut splice = Splice::new(&legal);
    let members = start_tree.root().members();
    for (key, value) in members.filter(|(key, _)| !JUDGED.contains(key)) {
        splice.set(tree.root(), key, value.written());
    }
    splice.apply()
}
