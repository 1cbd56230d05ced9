//! Writes the lines that the client gets.

use super::*;
use crate::relay::{CallDecision, Exchange, Usage, legal_call};

impl Decoder for Ollama {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        decode(root)
    }
}

impl Protocol for Ollama {
    fn kind(&self, root: Node<'_>) -> EventKind {
        if has(root, "error") {
            EventKind::Failure
        } else if root.get("done").and_then(Node::as_bool) == Some(true) {
            EventKind::Last
        } else {
            EventKind::Content
        }
    }

    fn has_content(&self, root: Node<'_>) -> bool {
        let keys = ["content", "tool_calls", "thinking"];
        let has = |message: Node<'_>, key: &str| message.get(key).is_some_and(is_full);
        root.get("message")
            .is_some_and(|message| keys.iter().any(|key| has(message, key)))
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

    fn note(&mut self, root: Node<'_>) {
        let Some(message) = root.get("message") else {
            return;
        };
        if self.head.is_none() {
            let members = written_members(root, |key| ["model", "created_at"].contains(&key));
            self.head = Some(members.map(|member| format!("{member},")).collect());
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
        with_spans(rest, |_| Vec::new())
    }

    fn begin_alone(&mut self, _: &str, model: &str) {
        let head = || format!(r#""model":{},"#, quoted(model));
        self.head.get_or_insert_with(head);
    }

    fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    fn forward(&mut self, _: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        write_spliced(event, Splice::new(event.data()), out);
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        write_edited(held.event, out, |root, splice| {
            let message = root.get("message");
            let list = message.and_then(|message| message.get("tool_calls"));
            if let Some((message, list)) = message.zip(list).filter(|_| held.changed) {
                let calls = list.elements();
                let calls = calls.filter(|call| call.get("function").is_some());
                let written = calls.zip(held.pieces);
                let written = written.filter_map(|(call, placed)| written_call(call, placed));
                let written: Vec<_> = written.collect();
                if written.is_empty() {
                    splice.remove(message, "tool_calls");
                } else {
                    splice.replace(list.span(), format!("[{}]", written.join(",")));
                }
            }
            if held.is_last {
                let exchange = held.exchange;
                exchange.write_usage(root, &Usage::default(), splice);
                exchange.append_report(root, splice);
            }
            Edited::Forward
        });
    }

    fn write_call(&mut self, decision: &CallDecision, _: usize, out: &mut EventWriter) {
        let call = OllamaForm.call("", &decision.call.name, decision.final_arguments());
        out.event(
            None,
            &self.message(&format!(r#""content":"","tool_calls":[{call}]"#)),
        );
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
            places: self.places.of_next_reply(),
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
fn written_call(sent: Node<'_>, placed: &PlacedPiece<'_>) -> Option<String> {
    let Some(call) = placed.calls.first() else {
        return Some(sent.written().to_owned());
    };
    call.place?;
    edited(sent.written(), |root, splice| {
        if let Some(function) = root.get("function") {
            set_text(splice, function, "name", &call.decision.call.name);
            if let Some(arguments) = &call.decision.arguments {
                splice.set(function, "arguments", arguments);
            }
        }
    })
}
