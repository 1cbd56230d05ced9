//! Writes the events that the client gets.

use super::*;
use crate::protocol::{
    Decoder, EventWriter, HeldContext, PieceKind, PlacedPiece, Protocol, StreamHead, edited,
    set_text, write_spliced,
};
use crate::relay::{Exchange, Usage, legal_call};
use crate::sse::SseEvent;

impl Decoder for Bedrock {
    fn clone_decoder(&self) -> Box<dyn Decoder> {
        Box::new(self.clone())
    }

    fn decode(&mut self, root: Node<'_>, data: &str) -> Vec<CallEvent> {
        decode(root, data)
    }
}

impl Protocol for Bedrock {
    fn clone_box(&self) -> Box<dyn Protocol> {
        Box::new(self.clone())
    }

    fn kind(&self, root: Node<'_>) -> EventKind {
        match event_of(root).map(|(kind, _)| kind) {
            Some("messageStart") => EventKind::Head,
            Some("messageStop") => EventKind::Last,
            Some(kind) if kind.ends_with("Exception") => EventKind::Failure,
            _ => EventKind::Content,
        }
    }

    fn head(&self, root: Node<'_>) -> StreamHead {
        match (self.kind(root), event_of(root)) {
            (EventKind::Head, _) | (_, Some(("contentBlockStop", _))) => StreamHead::Undecided,
            (EventKind::Content, Some((kind, _))) if kind.starts_with("contentBlock") => {
                StreamHead::Content
            }
            _ => StreamHead::Failure,
        }
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

    fn note(&mut self, root: Node<'_>, _: &str) {
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

    fn take_place(&mut self) -> usize {
        self.next_place += 1;
        self.next_place - 1
    }

    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let Some((kind, inner)) = tree.as_ref().and_then(|tree| event_of(tree.root())) else {
            return out.raw(event);
        };
        let mut splice = Splice::new(data);
        if let Some(index) = index_of(inner) {
            let known = self.places.get(index).copied();
            if known.is_none() && kind == "contentBlockStop" {
                // Nothing of the block was forwarded: its text was a call.
                return;
            }
            let place = known.unwrap_or_else(|| self.take_place());
            self.places.insert(index.to_owned(), place);
            move_to(inner, place, &mut splice);
        }
        if let Some(usage) = inner.get("usage").filter(|_| exchange.attempt > 0) {
            exchange.write_usage(usage, &Usage::default(), &mut splice);
        }
        write_spliced(event, splice, out);
    }

    fn write_held(
        &mut self,
        event: &SseEvent,
        pieces: &[PlacedPiece<'_>],
        context: &HeldContext<'_>,
        out: &mut EventWriter,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data).ok();
        let Some((_, inner)) = tree.as_ref().and_then(|tree| event_of(tree.root())) else {
            return out.raw(event);
        };
        let [placed] = pieces else {
            return self.write_stop(event, inner, context, out);
        };
        let call = placed.calls.first();
        let Some((call, place)) = call.and_then(|call| Some((call.decision, call.place?))) else {
            return;
        };
        let kind = placed.piece.kind;
        let whole = call.arguments.is_some();
        if whole && kind == PieceKind::Part {
            return;
        }
        let mut splice = Splice::new(data);
        move_to(inner, place, &mut splice);
        if let Some(start) = inner.get("start").and_then(|start| start.get("toolUse")) {
            let id = call.call.id.as_deref().unwrap_or_default();
            set_text(&mut splice, start, "toolUseId", id);
            if !call.is_bad() || call.call.alias.is_some() {
                set_text(&mut splice, start, "name", &call.call.name);
            }
        }
        if whole && kind == PieceKind::End {
            write_arguments(call, place, out);
        }
        write_spliced(event, splice, out);
        if kind == PieceKind::End {
            for more in placed.calls.iter().skip(1) {
                if let Some(place) = more.place {
                    self.write_call(more.decision, place, out);
                }
            }
        }
    }

    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter) {
        let id = quoted(decision.call.id.as_deref().unwrap_or_default());
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
        let place = self.take_place();
        write_text_delta(text, place, out);
        write_block_stop(place, out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        let known = self.places.get(&self.index).copied();
        let place = known.unwrap_or_else(|| self.take_place());
        self.places.insert(self.index.clone(), place);
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
            next_place: self.next_place,
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

    fn write_stop(
        &self,
        event: &SseEvent,
        stop: Node<'_>,
        context: &HeldContext<'_>,
        out: &mut EventWriter,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let mut splice = Splice::new(data);
        let reason = stop.get("stopReason").and_then(Node::as_str);
        let any = context.calls > 0 || context.has_decisions;
        if let Some(reason) = STOP.corrected(reason, context.calls).filter(|_| any) {
            if context.calls > 0 {
                context.note_repair("finish_reason");
            }
            splice.set(stop, "stopReason", &quoted(reason));
        }
        if context.exchange.judge.settings.report {
            let report = context.exchange.report();
            splice.append(stop, &format!("\"goodcall\":{report}"));
        }
        write_spliced(event, splice, out);
    }
}

/// Sets the index of an event's block.
fn move_to(event: Node<'_>, place: usize, splice: &mut Splice<'_>) {
    let place = place.to_string();
    if index_of(event) != Some(place.as_str()) {
        splice.set(event, "contentBlockIndex", &place);
    }
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
