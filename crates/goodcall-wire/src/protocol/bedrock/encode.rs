//! Writes the events that the client gets.

use super::*;
use crate::relay::{Usage, legal_call};

impl Decoder for Bedrock {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        decode(root)
    }
}

impl Protocol for Bedrock {
    fn kind(&self, root: Node<'_>) -> EventKind {
        match event_of(root).map(|(kind, _)| kind) {
            Some("messageStart") => EventKind::Head,
            Some("messageStop") => EventKind::Last,
            Some(kind) if kind.ends_with("Exception") => EventKind::Failure,
            _ => EventKind::Content,
        }
    }

    fn has_content(&self, root: Node<'_>) -> bool {
        let kind = event_of(root).map(|(kind, _)| kind);
        matches!(kind, Some("contentBlockStart" | "contentBlockDelta"))
    }

    fn heartbeat(&self) -> Option<String> {
        // There is no event that all clients skip.
        None
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("metadata")?.get("usage")
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        let end = root.get("messageStop");
        is_safety_stop(end.and_then(|end| end.get("stopReason")))
    }

    fn note(&mut self, root: Node<'_>) {
        let Some((_, event)) = event_of(root) else {
            return;
        };
        let index = index_of(event).unwrap_or_default();
        index.clone_into(&mut self.index);
        let reasoning = event
            .get("delta")
            .and_then(|delta| delta.get("reasoningContent"));
        for (key, value) in reasoning.into_iter().flat_map(Node::members) {
            let Some(text) = value.as_str() else {
                continue;
            };
            let parts = self.reasoning();
            match parts.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => known.push_str(text),
                None => parts.push((key.to_owned(), text.to_owned())),
            }
        }
    }

    fn note_call(&mut self, key: CallKey) {
        let block = HistoryBlock::Call(key);
        self.history.push((self.index.clone(), block));
    }

    fn note_text(&mut self, _: &str, released: &str) {
        match self.history.last_mut() {
            Some((index, HistoryBlock::Text(text))) if *index == self.index => {
                text.push_str(released);
            }
            _ => {
                let block = HistoryBlock::Text(released.to_owned());
                self.history.push((self.index.clone(), block));
            }
        }
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            let delta = root
                .get("contentBlockDelta")
                .and_then(|event| event.get("delta"));
            if let Some(sent) = delta.and_then(|delta| delta.get("text")) {
                splice.replace_string(sent.span(), text);
            }
        })
    }

    fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            let Some((kind, inner)) = event_of(root) else {
                return Edited::Forward;
            };
            if let Some(index) = index_of(inner) {
                if kind == "contentBlockStop" && self.places.find(index).is_none() {
                    // Nothing of the block was forwarded: its text was a call.
                    return Edited::LeaveOut;
                }
                set_index(splice, inner, INDEX, self.places.of(index));
            }
            if let Some(usage) = inner.get("usage").filter(|_| exchange.attempt > 0) {
                exchange.write_usage(usage, &Usage::default(), splice);
            }
            Edited::Forward
        });
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        let [placed] = held.pieces else {
            return write_stop(held, out);
        };
        let Some((call, place)) = placed.block_call(write_arguments, out) else {
            return;
        };
        write_edited(held.event, out, |root, splice| {
            let Some((_, inner)) = event_of(root) else {
                return Edited::Forward;
            };
            set_index(splice, inner, INDEX, place);
            if let Some(start) = inner.get("start").and_then(|start| start.get("toolUse")) {
                set_text(splice, start, "toolUseId", call.id());
                if !call.is_bad() || call.call.alias.is_some() {
                    set_text(splice, start, "name", &call.call.name);
                }
            }
            Edited::Forward
        });
        self.write_further_calls(placed, out);
    }

    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter) {
        let id = quoted(decision.id());
        let name = quoted(&decision.call.name);
        let start = format!(r#"{{"toolUse":{{"toolUseId":{id},"name":{name}}}}}"#);
        out.event(
            None,
            &format!(r#"{{"contentBlockStart":{{"contentBlockIndex":{place},"start":{start}}}}}"#),
        );
        write_arguments(decision, place, out);
        write_block_stop(place, out);
    }

    fn write_text(&mut self, _: &CallDecision, text: &str, out: &mut EventWriter) {
        let place = self.places.take();
        write_text_delta(text, place, out);
        write_block_stop(place, out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        let place = self.places.of(&self.index);
        write_text_delta(text, place, out);
    }

    fn write_last(&mut self, out: &mut EventWriter) -> bool {
        out.event(None, r#"{"messageStop":{"stopReason":"tool_use"}}"#);
        true
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let mut blocks = Vec::new();
        for (_, block) in &self.history {
            match block {
                HistoryBlock::Text(text) if text.trim().is_empty() => {}
                HistoryBlock::Text(text) => {
                    blocks.push(format!(r#"{{"text":{}}}"#, quoted(text)));
                }
                HistoryBlock::Reasoning(parts) => blocks.push(reasoning_block(parts)),
                HistoryBlock::Call(key) => {
                    let calls = decisions(*key).into_iter();
                    blocks.extend(calls.map(|call| legal_call(Provider::Bedrock, call)));
                }
            }
        }
        let blocks = blocks.join(",");
        format!(r#"{{"output":{{"message":{{"role":"assistant","content":[{blocks}]}}}}}}"#)
    }

    fn begin_next(&mut self) {
        *self = Self {
            places: self.places.of_next_reply(),
            ..Self::default()
        };
    }
}

impl Bedrock {
    /// The parts of the reasoning block that the last event was about.
    fn reasoning(&mut self) -> &mut Vec<(String, String)> {
        let is_open = matches!(self.history.last(),
            Some((index, HistoryBlock::Reasoning(_))) if *index == self.index);
        if !is_open {
            let block = HistoryBlock::Reasoning(Vec::new());
            self.history.push((self.index.clone(), block));
        }
        match self.history.last_mut() {
            Some((_, HistoryBlock::Reasoning(parts))) => parts,
            _ => unreachable!("the last block is the reasoning that was just looked at"),
        }
    }
}

fn write_stop(held: &HeldEvent<'_>, out: &mut EventWriter) {
    write_edited(held.event, out, |root, splice| {
        if let Some((_, stop)) = event_of(root) {
            held.set_stop_reason(&STOP, (stop, "stopReason"), splice);
            held.exchange.append_report(stop, splice);
        }
        Edited::Forward
    });
}

fn write_delta(delta: &str, place: usize, out: &mut EventWriter) {
    out.event(
        None,
        &format!(r#"{{"contentBlockDelta":{{"contentBlockIndex":{place},"delta":{delta}}}}}"#),
    );
}

fn write_text_delta(text: &str, place: usize, out: &mut EventWriter) {
    write_delta(&format!(r#"{{"text":{}}}"#, quoted(text)), place, out);
}

fn write_arguments(decision: &CallDecision, place: usize, out: &mut EventWriter) {
    let input = quoted(decision.final_arguments());
    write_delta(&format!(r#"{{"toolUse":{{"input":{input}}}}}"#), place, out);
}

fn write_block_stop(place: usize, out: &mut EventWriter) {
    out.event(
        None,
        &format!(r#"{{"contentBlockStop":{{"contentBlockIndex":{place}}}}}"#),
    );
}

/// A block of reasoning as a history has it: the parts of its text are one object there.
fn reasoning_block(parts: &[(String, String)]) -> String {
    let member = |wanted: &str| {
        let found = parts.iter().find(|(key, _)| key == wanted);
        found.map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)))
    };
    let text: Vec<_> = ["text", "signature"]
        .iter()
        .filter_map(|key| member(key))
        .collect();
    let inner = if text.is_empty() {
        member("redactedContent").unwrap_or_default()
    } else {
        format!(r#""reasoningText":{{{}}}"#, text.join(","))
    };
    format!(r#"{{"reasoningContent":{{{inner}}}}}"#)
}
