//! Writes the chunks that the client gets.

use super::*;
use crate::relay::{Exchange, Usage, legal_call, legal_parts};

impl Decoder for Gemini {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        decode(root)
    }
}

impl Protocol for Gemini {
    fn kind(&self, root: Node<'_>) -> EventKind {
        let first = candidates(root).next();
        if has(root, "error") {
            EventKind::Failure
        } else if first.is_some_and(|candidate| has(candidate, "finishReason")) {
            EventKind::Last
        } else {
            EventKind::Content
        }
    }

    fn has_content(&self, root: Node<'_>) -> bool {
        candidates(root).any(has_content)
    }

    fn heartbeat(&self) -> Option<String> {
        // Google's client for Python does not know comments; an empty line ends no event.
        Some("\n".to_owned())
    }

    fn choice_of<'t>(&self, root: Node<'t>) -> Option<&'t str> {
        candidates(root).next().map(index_of)
    }

    fn split_choices(&self, root: Node<'_>, data: &str) -> Option<Vec<String>> {
        split_list(root, data, "candidates", "usageMetadata")
    }

    fn first_number(&self) -> usize {
        numbered(self.index.as_deref())
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        GeminiForm.usage(root)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        GeminiForm.is_settled(root)
    }

    fn note(&mut self, root: Node<'_>) {
        if self.shell.is_none() {
            let keys = ["modelVersion", "responseId", "createTime"];
            let members = written_members(root, |key| keys.contains(&key));
            self.shell = Some(members.map(|member| format!(",{member}")).collect());
            let id = root.get("responseId").map(Node::written);
            self.reply_id = id.map(str::to_owned);
        }
        let Some(candidate) = candidates(root).next() else {
            return;
        };
        if self.index.is_none() {
            self.index = Some(index_of(candidate).to_owned());
        }
        self.signature = None;
        for part in parts(candidate) {
            let is_text = part
                .get("text")
                .and_then(Node::as_str)
                .is_some_and(|text| !text.is_empty());
            if is_text && !is_thought(part) {
                let signature = part.get(SIGNATURE).map(Node::written);
                self.signature = signature.map(str::to_owned);
            } else if part.get("functionCall").is_none() && !is_blank(part) {
                let part = part.written().to_owned();
                self.history.push(HistoryPart::Other(part));
            }
        }
    }

    fn note_fragment(&mut self, found: FoundFragment<'_>) {
        let part = part_at(found.root, found.start).filter(|_| found.is_new);
        if let (Some(part), Some(HistoryPart::Call(_, own))) = (part, self.history.last_mut()) {
            part.written().clone_into(own);
        }
    }

    fn note_call(&mut self, key: CallKey) {
        self.history.push(HistoryPart::Call(key, String::new()));
    }

    fn note_text(&mut self, _: &str, released: &str) {
        let signature = self.signature.take();
        match self.history.last_mut() {
            Some(HistoryPart::Text(text, own)) if own.is_none() => {
                text.push_str(released);
                *own = signature;
            }
            _ if released.is_empty() => {}
            _ => self
                .history
                .push(HistoryPart::Text(released.to_owned(), signature)),
        }
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            if let Some(list) = parts_list(root) {
                let text = quoted(text);
                splice.replace(list.span(), format!(r#"[{{"text":{text}}}]"#));
            }
            for candidate in candidates(root) {
                splice.remove(candidate, "finishReason");
                splice.remove(candidate, "finishMessage");
            }
        })
    }

    fn without_text(&self, data: &str) -> (String, Vec<std::ops::Range<usize>>) {
        let rest = edited(data, |root, splice| {
            if let Some(list) = parts_list(root) {
                let rest = list.elements();
                let rest = rest.filter(|part| GeminiForm.block_texts(*part).is_empty());
                let rest: Vec<_> = rest.map(Node::written).collect();
                splice.replace(list.span(), format!("[{}]", rest.join(",")));
            }
        });
        with_spans(rest, |root| {
            let calls = calls_in(root).into_iter();
            calls.filter_map(|part| part.get("functionCall")).collect()
        })
    }

    fn without_failure(&self, event: &SseEvent) -> Option<SseEvent> {
        let last = edited(event.data(), |root, splice| {
            for candidate in candidates(root) {
                splice.set(candidate, "finishReason", "\"STOP\"");
                splice.remove(candidate, "finishMessage");
            }
        });
        last.map(|last| event.of_same_type(last))
    }

    fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        write_edited(event, out, |root, splice| {
            self.continue_reply(exchange, root, splice);
            Edited::Forward
        });
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        write_edited(held.event, out, |root, splice| {
            self.continue_reply(held.exchange, root, splice);
            if let Some(list) = parts_list(root).filter(|_| held.changed && !held.pieces.is_empty())
            {
                let mut placed = held.pieces.iter();
                let written = list.elements().filter_map(|part| {
                    let sent = part.written();
                    match part.get("functionCall").and_then(|_| placed.next()) {
                        Some(placed) => self.carry(sent, written_part(sent, placed)),
                        None => Some(sent.to_owned()),
                    }
                });
                let mut written: Vec<_> = written.collect();
                if written.is_empty() {
                    if !held.is_last {
                        return Edited::LeaveOut;
                    }
                    written.push(r#"{"text":""}"#.to_owned());
                }
                splice.replace(list.span(), format!("[{}]", written.join(",")));
            }
            if held.is_last {
                held.exchange.append_report(root, splice);
            }
            Edited::Forward
        });
    }

    fn write_call(&mut self, decision: &CallDecision, _: usize, out: &mut EventWriter) {
        let call = GeminiForm.call("", &decision.call.name, decision.final_arguments());
        self.write_part(&call, "", out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        self.write_part(&format!(r#"{{"text":{}}}"#, quoted(text)), "", out);
    }

    fn write_last(&mut self, out: &mut EventWriter) -> bool {
        self.write_part(r#"{"text":""}"#, r#","finishReason":"STOP""#, out);
        true
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let mut parts = Vec::new();
        for part in &self.history {
            match part {
                HistoryPart::Text(text, signature) => {
                    let signature = signature.as_deref();
                    let signature = signature.map(|own| format!(r#","thoughtSignature":{own}"#));
                    let (text, signature) = (quoted(text), signature.unwrap_or_default());
                    parts.push(format!(r#"{{"text":{text}{signature}}}"#));
                }
                HistoryPart::Other(part) => parts.push(part.clone()),
                HistoryPart::Call(key, sent) => {
                    let calls = decisions(*key).into_iter();
                    parts.extend(calls.map(|decision| history_call(sent, decision)));
                }
            }
        }
        let parts = parts.join(",");
        format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}}}}]}}"#)
    }

    fn begin_next(&mut self) {
        *self = Self {
            shell: self.shell.take(),
            reply_id: self.reply_id.take(),
            index: self.index.take(),
            places: self.places.of_next_reply(),
            ..Self::default()
        };
    }
}

impl Gemini {
    /// Edits a chunk of a later reply so that it continues the client's reply.
    fn continue_reply(&self, exchange: &Exchange, root: Node<'_>, splice: &mut Splice<'_>) {
        if exchange.attempt == 0 {
            return;
        }
        if let (Some(sent), Some(id)) = (root.get("responseId"), &self.reply_id) {
            splice.replace(sent.span(), id.as_str());
        }
        if let Some(usage) = GeminiForm.usage(root) {
            exchange.write_usage(usage, &Usage::default(), splice);
        }
    }

    /// Gives the first call that the client gets the signature of one before it that it does not get.
    fn carry(&mut self, sent: &str, written: Option<String>) -> Option<String> {
        let signature = |part: &str| {
            let tree = Tree::parse(part).ok()?;
            tree.root().get(SIGNATURE).map(Node::to_json)
        };
        let Some(written) = written else {
            self.carried = self.carried.take().or_else(|| signature(sent));
            return None;
        };
        match self
            .carried
            .take()
            .filter(|_| signature(&written).is_none())
        {
            Some(carried) => edited(&written, |root, splice| {
                splice.set(root, SIGNATURE, &carried)
            }),
            None => Some(written),
        }
    }

    /// Writes a chunk with one part; `rest` are more members of the candidate.
    fn write_part(&self, part: &str, rest: &str, out: &mut EventWriter) {
        let index = self.index.as_deref().unwrap_or("0");
        let shell = self.shell.as_deref().unwrap_or_default();
        let content = format!(r#"{{"role":"model","parts":[{part}]}}"#);
        let chunk =
            format!(r#"{{"candidates":[{{"content":{content}{rest},"index":{index}}}]{shell}}}"#);
        out.event(None, &chunk);
    }
}

fn index_of(candidate: Node<'_>) -> &str {
    let index = candidate.get("index").and_then(Node::digits);
    index.unwrap_or("0")
}

/// The list of the first candidate's parts.
fn parts_list(root: Node<'_>) -> Option<Node<'_>> {
    let content = candidates(root).next()?.get("content")?;
    content
        .get("parts")
        .filter(|list| list.kind() == Kind::Array)
}

/// The parts of the first candidate that are calls.
fn calls_in(root: Node<'_>) -> Vec<Node<'_>> {
    let parts = candidates(root).next().into_iter().flat_map(parts);
    parts
        .filter(|part| part.get("functionCall").is_some())
        .collect()
}

/// The part whose call begins here.
fn part_at(root: Node<'_>, start: usize) -> Option<Node<'_>> {
    calls_in(root).into_iter().find(|part| {
        let call = part.get("functionCall");
        call.is_some_and(|call| call.span().start == start)
    })
}

/// A part with a call as it was decided; `None` if the client does not get it. All values of a call
/// that was sent in parts go into the first of them.
fn written_part(sent: &str, placed: &PlacedPiece<'_>) -> Option<String> {
    let Some(call) = placed.calls.first() else {
        return Some(sent.to_owned());
    };
    call.place?;
    let Some(arguments) = &call.decision.arguments else {
        return with_name(sent, &call.decision.call.name);
    };
    placed
        .first
        .then(|| with_call(sent, &call.decision.call.name, arguments))
}

fn with_name(sent: &str, name: &str) -> Option<String> {
    edited(sent, |root, splice| {
        if let Some(call) = root
            .get("functionCall")
            .filter(|call| call.get("name").is_some())
        {
            set_text(splice, call, "name", name);
        }
    })
}

/// A part with this call in place of its own, and its other members, such as a signature.
fn with_call(sent: &str, name: &str, arguments: &str) -> String {
    let written = edited(sent, |root, splice| {
        if let Some(call) = root.get("functionCall") {
            set_text(splice, call, "name", name);
            splice.set(call, "args", arguments);
            splice.remove(call, "partialArgs");
            splice.remove(call, "willContinue");
        }
    });
    written.unwrap_or_else(|| GeminiForm.call("", name, arguments))
}

/// A part with a call in a form that a history may hold.
fn history_call(sent: &str, decision: &CallDecision) -> String {
    if sent.is_empty() {
        return legal_call(Provider::Gemini, decision);
    }
    let (name, arguments) = legal_parts(Provider::Gemini, decision);
    with_call(sent, &name, &arguments)
}
