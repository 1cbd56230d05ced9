//! Writes the chunks that the client gets.

use super::*;
use crate::relay::{Exchange, Usage, legal_call, legal_parts};

impl Decoder for Chat {
    fn decode(&mut self, root: Node<'_>) -> Vec<CallEvent> {
        let mut out = Vec::new();
        if let Some(choice) = root.get("choices").and_then(|all| all.element(0)) {
            self.read(choice, &mut out);
        }
        out
    }
}

impl Protocol for Chat {
    fn kind(&self, root: Node<'_>) -> EventKind {
        let choice = root.get("choices").and_then(|all| all.element(0));
        if has(root, "error") {
            EventKind::Failure
        } else if choice.is_some_and(|choice| finish_reason(choice).is_some()) {
            EventKind::Last
        } else {
            EventKind::Content
        }
    }

    fn has_content(&self, root: Node<'_>) -> bool {
        let mut choices = root.get("choices").into_iter().flat_map(Node::elements);
        choices.any(has_content)
    }

    fn choice_of<'t>(&self, root: Node<'t>) -> Option<&'t str> {
        root.get("choices")?.element(0).map(index_of)
    }

    fn split_choices(&self, root: Node<'_>, data: &str) -> Option<Vec<String>> {
        split_list(root, data, "choices", "usage")
    }

    fn marks_begin(&self) -> bool {
        false
    }

    fn joins_calls(&self) -> bool {
        self.is_legacy()
    }

    fn first_number(&self) -> usize {
        numbered(self.index.as_deref())
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        let choice = root.get("choices").and_then(|all| all.element(0));
        choice.is_some_and(|choice| {
            let calls = choice
                .get("delta")
                .and_then(|delta| delta.get("tool_calls"));
            is_safety_stop(choice.get("finish_reason"))
                || calls.is_some_and(|calls| calls.elements().any(is_client_side_call))
        })
    }

    fn note(&mut self, root: Node<'_>) {
        let Some(choices) = root.get("choices") else {
            return;
        };
        if self.shell.is_none() && choices.kind() == Kind::Array {
            let (chunk, start, list) = (root.written(), root.span().start, choices.span());
            let (before, rest) = chunk.split_at(list.start - start);
            let (_, after) = rest.split_at(list.len());
            let id = root.get("id").map(Node::written);
            self.shell = Some(ChunkShell {
                before: before.to_owned(),
                after: after.to_owned(),
                message_id: id.map(str::to_owned),
            });
        }
        let Some(choice) = choices.element(0) else {
            return;
        };
        if self.index.is_none() {
            self.index = Some(index_of(choice).to_owned());
        }
        if let Some((choice, delta)) = delta_of(root) {
            self.note_members(choice, delta);
        }
    }

    fn note_fragment(&mut self, found: FoundFragment<'_>) {
        let key = calls_key(self.is_legacy());
        let delta = delta_of(found.root).map(|(_, delta)| fragments(delta, key));
        let mut all = delta.into_iter().flatten();
        if let Some(call) = all.find(|call| call.span().start == found.start) {
            self.note_form(found, call, self.function_of(call));
            self.note_extras(found.number, call);
        }
    }

    fn note_call(&mut self, key: CallKey) {
        self.keys.push(key);
    }

    fn note_text(&mut self, _: &str, released: &str) {
        self.said.push_str(released);
    }

    fn note_made_up_id(&mut self) {
        self.irregular |= !self.is_legacy();
    }

    fn is_irregular(&self) -> bool {
        self.irregular
    }

    fn pass_rest(&mut self) {
        self.irregular = false;
    }

    fn may_stream(&self, _: usize) -> bool {
        true
    }

    fn only_text(&self, data: &str, text: &str) -> Option<String> {
        edited(data, |root, splice| {
            let Some((choice, delta)) = delta_of(root) else {
                return;
            };
            if let Some(content) = delta.get("content") {
                splice.replace_string(content.span(), text);
            }
            splice.remove(delta, calls_key(self.is_legacy()));
            if let Some(reason) = choice.get("finish_reason") {
                splice.replace(reason.span(), "null");
            }
            // The rest of the chunk reports the usage.
            if root.get("usage").is_some_and(|usage| !usage.is_null()) {
                splice.remove(root, "usage");
            }
        })
    }

    fn without_text(&self, data: &str) -> (String, Vec<Range<usize>>) {
        let rest = edited(data, |root, splice| {
            if let Some((_, delta)) = delta_of(root) {
                splice.remove(delta, "content");
            }
        });
        with_spans(rest, |root| {
            let calls = |(_, delta)| fragments(delta, calls_key(self.is_legacy()));
            delta_of(root).map(calls).unwrap_or_default()
        })
    }

    fn begin_alone(&mut self, number: &str, model: &str) {
        let (id, model) = (quoted(&reply_id(number)), quoted(model));
        if self.role == RoleState::Unknown {
            self.role = RoleState::Owed;
        }
        self.shell.get_or_insert_with(|| ChunkShell {
            before: format!(
                r#"{{"id":{id},"object":"chat.completion.chunk","created":0,"model":{model},"choices":"#
            ),
            after: "}".to_owned(),
            message_id: Some(id),
        });
    }

    fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    fn forward(&mut self, exchange: &Exchange, event: &SseEvent, out: &mut EventWriter) {
        let plain = exchange.attempt == 0 && !exchange.judge.settings.report;
        if plain && !event.raw.is_empty() {
            return out.raw(event);
        }
        write_edited(event, out, |root, splice| {
            self.continue_message(exchange, root, splice)
        });
    }

    fn write_held(&mut self, held: &HeldEvent<'_>, out: &mut EventWriter) {
        if !held.is_last && !held.changed {
            return self.forward(held.exchange, held.event, out);
        }
        write_edited(held.event, out, |root, splice| {
            let edited = self.continue_message(held.exchange, root, splice);
            let Some((choice, delta)) = delta_of(root) else {
                return edited;
            };
            let reason = finish_reason(choice);
            if reason.is_some()
                && held.has_decisions
                && let Some(reason) = self.stop_reasons().corrected(reason, self.places.taken())
            {
                if self.places.taken() > 0 {
                    held.note_repair("finish_reason");
                }
                splice.set(choice, "finish_reason", &quoted(reason));
            }
            if edited == Edited::LeaveOut || !held.changed || held.pieces.is_empty() {
                return edited;
            }
            let written = held.pieces.iter();
            let written = written.flat_map(|placed| self.written_piece(held.event.data(), placed));
            let list: Vec<_> = written.collect();
            let key = calls_key(self.is_legacy());
            match delta.get(key) {
                Some(sent) if !list.is_empty() => splice.replace(sent.span(), self.joined(&list)),
                _ if list.is_empty() && reason.is_none() => return Edited::LeaveOut,
                _ => splice.remove(delta, key),
            }
            Edited::Forward
        });
    }

    fn write_call(&mut self, decision: &CallDecision, place: usize, out: &mut EventWriter) {
        let (role, call) = (self.take_role(), whole_call(decision, place));
        self.write_delta(&format!(r#"{{{role}"tool_calls":[{call}]}}"#), "null", out);
    }

    fn write_text_rest(&mut self, text: &str, out: &mut EventWriter) {
        self.write_said("content", text, out);
    }

    fn takes_reasoning(&self) -> bool {
        true
    }

    fn write_reasoning(&mut self, text: &str, out: &mut EventWriter) {
        self.write_said("reasoning_content", text, out);
    }

    fn write_last(&mut self, out: &mut EventWriter) -> bool {
        self.write_delta("{}", &quoted(self.stop_reasons().with_calls), out);
        true
    }

    fn write_close(&mut self, out: &mut EventWriter) -> bool {
        out.event(None, "[DONE]");
        true
    }

    fn history(&self, decisions: &Decisions<'_>) -> String {
        let calls = self.keys.iter().flat_map(|key| {
            let decisions = decisions(*key).into_iter();
            decisions.map(move |decision| self.history_call(*key, decision))
        });
        let calls: Vec<_> = calls.collect();
        let calls = self.joined(&calls);
        let said = Some(self.said.as_str()).filter(|text| !text.is_empty());
        let said = said.map_or("null".to_owned(), quoted);
        let (extra, key) = (self.extra.to_members(), calls_key(self.is_legacy()));
        format!(
            r#"{{"choices":[{{"message":{{"role":"assistant",{extra}"content":{said},"{key}":{calls}}}}}]}}"#
        )
    }

    fn begin_next(&mut self) {
        *self = Self {
            shell: self.shell.take(),
            index: self.index.take(),
            places: self.places.of_next_reply(),
            role: self.role,
            irregular: self.places.taken() > 0,
            ..Self::default()
        };
    }
}

impl Chat {
    /// Edits a chunk of a later reply so that it continues the client's message.
    fn continue_message(
        &self,
        exchange: &Exchange,
        root: Node<'_>,
        splice: &mut Splice<'_>,
    ) -> Edited {
        let found = delta_of(root);
        let reason = found.and_then(|(choice, _)| choice.get("finish_reason")?.as_str());
        if reason.is_some() {
            exchange.append_report(root, splice);
        }
        if exchange.attempt == 0 {
            return Edited::Forward;
        }
        let shell = self.shell.as_ref();
        let id = shell.and_then(|shell| shell.message_id.as_deref());
        if let Some((sent, id)) = root.get("id").zip(id) {
            splice.replace(sent.span(), id);
        }
        if let Some(usage) = root.get("usage").filter(|node| node.kind() == Kind::Object) {
            exchange.write_usage(usage, &Usage::default(), splice);
        }
        let Some((_, delta)) = found else {
            return Edited::Forward;
        };
        if self.role == RoleState::Owed && delta.get("role").is_some() {
            return Edited::Forward;
        }
        splice.remove(delta, "role");
        let mut members = delta.members();
        let has_content = members.any(|(key, value)| key != "role" && is_full(value));
        if has_content || reason.is_some() || has(root, "usage") {
            Edited::Forward
        } else {
            Edited::LeaveOut
        }
    }

    /// The role as a member, if the client does not have it yet.
    fn take_role(&mut self) -> &'static str {
        if self.role != RoleState::Owed {
            return "";
        }
        self.role = RoleState::Sent;
        r#""role":"assistant","#
    }

    /// Writes what the model said, as the content or as a thought.
    fn write_said(&mut self, key: &str, text: &str, out: &mut EventWriter) {
        if text.is_empty() {
            return;
        }
        let role = self.take_role();
        let delta = format!(r#"{{{role}"{key}":{}}}"#, quoted(text));
        self.write_delta(&delta, "null", out);
    }

    fn write_delta(&self, delta: &str, reason: &str, out: &mut EventWriter) {
        let (before, after) = match &self.shell {
            Some(shell) => (shell.before.as_str(), shell.after.as_str()),
            None => (r#"{"object":"chat.completion.chunk","choices":"#, "}"),
        };
        let index = self.index.as_deref().unwrap_or("0");
        let choice = format!(r#"[{{"index":{index},"delta":{delta},"finish_reason":{reason}}}]"#);
        out.event(None, &format!("{before}{choice}{after}"));
    }

    /// The value of a message's calls.
    fn joined(&self, calls: &[String]) -> String {
        if self.is_legacy() {
            calls.concat()
        } else {
            format!("[{}]", calls.join(","))
        }
    }

    /// The function of a call, which a legacy call is itself.
    fn function_of<'t>(&self, call: Node<'t>) -> Option<Node<'t>> {
        if self.is_legacy() {
            Some(call)
        } else {
            call.get("function")
        }
    }

    fn stop_reasons(&self) -> &'static StopReasons {
        if self.is_legacy() {
            &LEGACY_CHAT_STOP
        } else {
            &CHAT_STOP
        }
    }

    /// A call in a form that a history may hold, with the members that are not judged.
    fn history_call(&self, key: CallKey, decision: &CallDecision) -> String {
        if self.is_legacy() {
            let (name, arguments) = legal_parts(Provider::OpenAi, decision);
            let (name, arguments) = (quoted(&name), quoted(&arguments));
            return format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        }
        let call = legal_call(Provider::OpenAi, decision);
        let extras = match key {
            CallKey::Stream(number) => self.extras.get(number),
            CallKey::Text(_) | CallKey::Late(_) => None,
        };
        let written = edited(&call, |root, splice| {
            for (key, value) in extras.into_iter().flatten() {
                splice.set(root, key, value);
            }
        });
        written.unwrap_or(call)
    }

    /// Rewrites one fragment. The first fragment of a call has all but the arguments, later ones
    /// have only arguments. Returns several calls if the fragments held several.
    fn written_piece(&self, data: &str, placed: &PlacedPiece<'_>) -> Vec<String> {
        let piece = data.get(placed.piece.span.clone());
        let piece = piece.expect("a fragment lies inside its event");
        let Ok(tree) = Tree::parse(piece) else {
            return vec![piece.to_owned()];
        };
        let (call, first) = (tree.root(), placed.first);
        let mut splice = Splice::new(piece);
        let Some(PlacedCall { decision, place }) = placed.calls.first().copied() else {
            // A call without a name has nothing to correct but its index.
            if let Some(index) = placed.unjudged_place.filter(|_| !self.is_legacy()) {
                splice.set(call, "index", &index.to_string());
            }
            return vec![splice.apply()];
        };
        let mut list = Vec::new();
        let function = self.function_of(call);
        let sent = function.and_then(|function| function.get("arguments"));
        let is_object = sent.is_some_and(|sent| sent.as_str().is_none() && !sent.is_null());
        let whole = decision.arguments.is_some() || placed.calls.len() > 1 || is_object;
        if let Some(index) = place.filter(|_| first || !whole) {
            let head = first.then_some(decision);
            self.write_head(call, function, head, index, &mut splice);
            if whole && let Some(function) = function {
                let arguments = quoted(decision.final_arguments());
                splice.set(function, "arguments", &arguments);
                // Later fragments are left out, so that their other members are added here.
                let extras = self.extras.get(placed.piece.number).into_iter().flatten();
                for (key, value) in extras.filter(|(key, _)| call.get(key).is_none()) {
                    splice.set(call, key, value);
                }
            }
            list.push(splice.apply());
        }
        if first {
            let more = placed.calls.iter().skip(1);
            list.extend(more.filter_map(|more| Some(whole_call(more.decision, more.place?))));
        }
        list
    }

    /// Sets the index of a fragment, and its id and name: `first` is the decision on the call if the
    /// fragment is its first, which alone has them.
    fn write_head(
        &self,
        call: Node<'_>,
        function: Option<Node<'_>>,
        first: Option<&CallDecision>,
        index: usize,
        splice: &mut Splice<'_>,
    ) {
        if !self.is_legacy() {
            splice.set(call, "index", &index.to_string());
        }
        if let Some(decision) = first {
            if !self.is_legacy() {
                splice.set(call, "id", &quoted(decision.id()));
            }
            if let Some(function) = function {
                splice.set(function, "name", &quoted(&decision.call.name));
            }
            return;
        }
        if !self.is_legacy() {
            splice.remove(call, "id");
        }
        if let Some(function) = function {
            splice.remove(function, "name");
        }
    }
}

/// A call in one fragment.
fn whole_call(decision: &CallDecision, index: usize) -> String {
    let id = quoted(decision.id());
    let name = quoted(&decision.call.name);
    let arguments = quoted(decision.final_arguments());
    format!(
        r#"{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    )
}
