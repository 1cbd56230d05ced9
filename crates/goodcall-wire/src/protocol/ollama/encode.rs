//! Writes the lines that the client gets.

use super::*;
use crate::protocol::{
    Decoder, EventWriter, HeldContext, PlacedPiece, Protocol, StreamHead, edited, is_full,
    set_text, write_spliced,
};
use crate::relay::{CallDecision, Exchange, Usage, legal_call};
use crate::splice::Splice;
use crate::sse::SseEvent;

impl Decoder for Ollama {
    fn clone_decoder(&self) -> Box<dyn Decoder> {
        Box::new(self.clone())
    }

    fn decode(&mut self, root: Node<'_>, data: &str) -> Vec<CallEvent> {
        decode(root, data)
    }
}

impl Protocol for Ollama {
    fn clone_box(&self) -> Box<dyn Protocol> {
        Box::new(self.clone())
    }

    fn kind(&self, root: Node<'_>) -> EventKind {
        if has(root, "error") {
            EventKind::Failure
        } else if root.get("done").and_then(Node::as_bool) == Some(true) {
            EventKind::Last
        } else {
            EventKind::Content
        }
    }

    fn head(&self, root: Node<'_>) -> StreamHead {
        let message = root.get("message");
        let full = |key| message.is_some_and(|message| message.get(key).is_some_and(is_full));
        match self.kind(root) {
            EventKind::Failure => StreamHead::Failure,
            _ if full("content") || full("tool_calls") || full("thinking") => StreamHead::Content,
            EventKind::Last => StreamHead::Failure,
            _ => StreamHead::Undecided,
        }
    }

    fn heartbeat(&self) -> Option<String> {
        // Lines of JSON have no comments; an empty text changes nothing.
        Some(self.message(r#""content":"""#) + "\n")
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        OllamaForm.usage(root)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        OllamaForm.is_settled(root)
    }

    fn note(&mut self, root: Node<'_>, data: &str) {
        let Some(message) = root.get("message") else {
            return;
        };
        if self.head.is_none() {
            let members = root
                .members()
                .filter(|(key, _)| ["model", "created_at"].contains(key));
            let members = members.map(|(key, value)| {
                format!(
                    "{}:{},",
                    quoted(key),
                    data.get(value.span()).unwrap_or("null")
                )
            });
            self.head = Some(members.collect());
        }
        for (key, value) in message.members() {
            if !["role", "content", "tool_calls"].contains(&key) {
                self.extra.add(key, value);
            }
        }
    }

    fn note_call(&mut self, key: CallKey) {
        self.keys.push(key);
    }

    fn note_text(&mut self, _: &str, released: &str) {
        self.said.push_str(released);
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            if let Some(message) = root.get("message") {
                if let Some(sent) = message.get("content") {
                    splice.replace_string(sent.span(), text);
                }
                splice.remove(message, "tool_calls");
            }
            // The rest of the line ends the message, and reports the usage.
            for key in [
                "done_reason",
                "total_duration",
                "load_duration",
                "prompt_eval_count",
            ] {
                splice.remove(root, key);
            }
            if let Some(done) = root.get("done") {
                splice.replace(done.span(), "false");
            }
        })
    }

    fn without_text(&self, data: &str) -> (String, Vec<std::ops::Range<usize>>) {
        let rest = edited(data, |root, splice| {
            let sent = root
                .get("message")
                .and_then(|message| message.get("content"));
            if let Some(sent) = sent {
                splice.replace_string(sent.span(), "");
            }
        });
        // Calls are found in their list, not by their places.
        (rest.unwrap_or_default(), Vec::new())
    }

    fn begin_alone(&mut self, _: &str, model: &str) {
        let head = || format!(r#""model":{},"#, quoted(model));
        self.head.get_or_insert_with(head);
    }

    fn take_place(&mut self) -> usize {
        self.next_place += 1;
        self.next_place - 1
    }

    fn forward(&mut self, _: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        let data = event.data.as_deref().unwrap_or_default();
        write_spliced(event, Splice::new(data), out);
    }

    fn write_held(
        &mut self,
        event: &SseEvent,
        pieces: &[PlacedPiece<'_>],
        context: &HeldContext<'_>,
        out: &mut EventWriter,
    ) {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.raw(event);
        };
        let mut splice = Splice::new(data);
        let message = tree.root().get("message");
        let list = message.and_then(|message| message.get("tool_calls"));
        if let (Some(message), Some(list)) = (message, list)
            && context.changed
        {
            let calls = list
                .elements()
                .filter(|call| call.get("function").is_some());
            let written = calls.zip(pieces).filter_map(|(call, placed)| {
                let sent = data.get(call.span()).unwrap_or_default();
                written_call(sent, placed)
            });
            let written: Vec<_> = written.collect();
            if written.is_empty() {
                splice.remove(message, "tool_calls");
            } else {
                splice.replace(list.span(), format!("[{}]", written.join(",")));
            }
        }
        if context.is_last {
            let exchange = context.exchange;
            exchange.write_usage(tree.root(), &Usage::default(), &mut splice);
            if exchange.judge.settings.report {
                let report = exchange.report();
                splice.append(tree.root(), &format!("\"goodcall\":{report}"));
            }
        }
        write_spliced(event, splice, out);
    }

    fn write_call(&mut self, decision: &CallDecision, _: usize, out: &mut EventWriter) {
        let call = OllamaForm.call("", &decision.call.name, decision.final_arguments());
        out.event(
            None,
            &self.message(&format!(r#""content":"","tool_calls":[{call}]"#)),
        );
    }

    fn write_text(&mut self, _: &CallDecision, text: &str, out: &mut EventWriter) {
        self.write_text_rest(text, out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        out.event(
            None,
            &self.message(&format!(r#""content":{}"#, quoted(text))),
        );
    }

    fn takes_reasoning(&self) -> bool {
        true
    }

    fn write_reasoning(&mut self, text: &str, out: &mut EventWriter) {
        if !text.is_empty() {
            let thinking = format!(r#""content":"","thinking":{}"#, quoted(text));
            out.event(None, &self.message(&thinking));
        }
    }

    fn write_last(&mut self, out: &mut EventWriter) -> bool {
        let head = self.head.as_deref().unwrap_or_default();
        let message = r#""message":{"role":"assistant","content":""}"#;
        let line = format!(r#"{{{head}{message},"done":true,"done_reason":"stop"}}"#);
        out.event(None, &line);
        true
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let calls = self.keys.iter().flat_map(|key| decisions(*key));
        let calls: Vec<_> = calls
            .map(|decision| legal_call(Provider::Ollama, decision))
            .collect();
        let (extra, calls) = (self.extra.to_members(), calls.join(","));
        let said = quoted(&self.said);
        format!(
            r#"{{"message":{{"role":"assistant",{extra}"content":{said},"tool_calls":[{calls}]}}}}"#
        )
    }

    fn begin_next(&mut self) {
        *self = Self {
            head: self.head.take(),
            next_place: self.next_place,
            ..Self::default()
        };
    }
}

impl Ollama {
    /// A line with these members of the message.
    fn message(&self, members: &str) -> String {
        let head = self.head.as_deref().unwrap_or_default();
        format!(r#"{{{head}"message":{{"role":"assistant",{members}}},"done":false}}"#)
    }
}

/// A call as it was decided; `None` if the client does not get it.
fn written_call(sent: &str, placed: &PlacedPiece<'_>) -> Option<String> {
    let Some(call) = placed.calls.first() else {
        return Some(sent.to_owned());
    };
    call.place?;
    edited(sent, |root, splice| {
        if let Some(function) = root.get("function") {
            set_text(splice, function, "name", &call.decision.call.name);
            if let Some(arguments) = &call.decision.arguments {
                splice.set(function, "arguments", arguments);
            }
        }
    })
}
