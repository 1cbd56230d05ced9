//! A complete reply: judged, and rewritten in place.

use std::ops::Range;

use goodcall_core::{Kind, Node, Tree};

use super::exchange::{Exchange, NextStep};
use super::judge::{CallDecision, GiveUp};
use super::reask::RefusedReply;
use super::usage::Usage;
use crate::call::RawCall;
use crate::envelope::{CallRewrite, Located, legal_arguments};
use crate::protocol::{Form, Layout, StopPlace, calls_key, is_legacy};
use crate::splice::{Comma, Splice, quoted};
use crate::text::{Extraction, Scanner};

impl Exchange {
    /// Judges a complete reply, and returns what to do with it.
    pub fn reply(&mut self, text: &str) -> NextStep {
        let tree = Tree::parse(text);
        self.whole.is_unreadable = tree.is_err();
        let Ok(tree) = tree else {
            let last = self.give_up();
            self.whole.is_unreadable &= last.is_none();
            return NextStep::Reply(last);
        };
        if let Some(failed) = self.form().failed_generation(tree.root()) {
            return match self.recover(&failed, tree.root(), text) {
                NextStep::Reply(None) => NextStep::Reply(self.finish_as_sent(text)),
                NextStep::Reask => {
                    self.whole.last.get_or_insert_with(|| text.to_owned());
                    NextStep::Reask
                }
                next => next,
            };
        }
        if self.attempt > 0 && self.form().is_failure(tree.root()) {
            return NextStep::Reply(self.give_up());
        }
        match self.text_calls(tree.root(), text) {
            Some((converted, calls)) => match Tree::parse(&converted) {
                Ok(tree) => self.judge_reply(&tree, &converted, text, calls),
                Err(_) => NextStep::Reply(None),
            },
            None => self.judge_reply(&tree, text, text, Vec::new()),
        }
    }

    /// Takes out the reply to send if a re-ask brings no other one.
    pub fn give_up(&mut self) -> Option<String> {
        self.whole.last.take()
    }

    /// Judges a reply. `text` is the reply with the calls `from_text` written as calls, `sent` the
    /// reply as it arrived.
    fn judge_reply(
        &mut self,
        tree: &Tree<'_>,
        text: &str,
        sent: &str,
        from_text: Vec<RawCall>,
    ) -> NextStep {
        let root = tree.root();
        let mut envelope = Located::new(self.provider, text, root, &self.judge.tools);
        if self.assign_ids(&mut envelope, root) && self.provider.needs_id() {
            self.note_repair("call_id");
        }
        if envelope.has_other_form() {
            self.note_repair("arguments_form");
        }
        let stop = envelope.stop();
        let mut decisions = Vec::with_capacity(envelope.calls().len());
        for call in envelope.calls() {
            let found = from_text
                .iter()
                .find(|found| self.is_same_call(found, call));
            let call = found.unwrap_or(call).clone();
            decisions.push(self.judge.judge(call, self.attempt, stop));
        }
        self.record(&mut decisions);
        self.settled |= self.form().is_settled(root);
        self.note_facts(root);
        let bad = decisions.iter().any(CallDecision::is_bad);
        let mut own = Usage::default();
        if let Some(usage) = self.form().usage(root) {
            own.note(usage);
        }
        self.set_last_usage(own);
        // A bad call that was text stays text.
        let keep_text = bad && !from_text.is_empty();
        let stop_edits = stop_edits(self.form(), root, &envelope, |_| true);
        if !stop_edits.is_empty() {
            self.note_repair("finish_reason");
        }
        let given_up = if keep_text && self.given_up_as() == GiveUp::AsSent {
            self.finish_as_sent(sent)
        } else {
            self.finish_reply((root, text, sent), &envelope, &decisions, stop_edits)
        };
        if bad && self.may_ask_after(stop) {
            let legal = legal_reply(&envelope, text, &decisions);
            let refused = RefusedReply::Calls {
                legal: legal.clone(),
                decisions: &decisions,
                forwarded: 0,
            };
            if self.ask_again(&refused, stop) {
                self.note_thinking(&legal);
                self.count_last_as_earlier();
                self.whole.last = Some(given_up.unwrap_or_else(|| sent.to_owned()));
                return NextStep::Reask;
            }
        }
        NextStep::Reply(given_up)
    }

    /// Returns true if a call of a reply is the one that was found in its text.
    fn is_same_call(&self, found: &RawCall, call: &RawCall) -> bool {
        if self.provider.needs_id() {
            found.id == call.id
        } else {
            found.name == call.name && legal_arguments(&found.arguments) == call.arguments
        }
    }

    /// Returns a reply with the usage of earlier ones, and the report.
    pub(super) fn with_figures(&self, reply: String) -> String {
        self.finish_as_sent(&reply).unwrap_or(reply)
    }

    fn finish_as_sent(&self, sent: &str) -> Option<String> {
        let tree = Tree::parse(sent).ok()?;
        let mut splice = Splice::new(sent);
        self.add_figures(tree.root(), &mut splice);
        (!splice.is_empty()).then(|| splice.apply())
    }

    /// Returns the reply for the client; `None` if it is the reply as it arrived. `stop_edits` correct
    /// its stop reasons if all of its calls stay calls.
    fn finish_reply<'t>(
        &self,
        (root, text, sent): (Node<'t>, &str, &str),
        envelope: &Located,
        decisions: &[CallDecision],
        mut stop_edits: Vec<StopEdit<'t>>,
    ) -> Option<String> {
        let mut splice = Splice::new(text);
        let rewrites = decisions.iter();
        let rewrites: Vec<_> = rewrites
            .map(|decision| decision.rewrite(CallRewrite::Untouched))
            .collect();
        envelope.write(&rewrites, &mut splice);
        let has_bad = decisions.iter().any(CallDecision::is_bad);
        if has_bad && self.given_up_as() == GiveUp::Text {
            self.replace_bad(root, envelope, decisions, &mut splice);
            let is_left = |index: usize| !decisions[index].is_bad();
            stop_edits = self::stop_edits(self.form(), root, envelope, is_left);
        }
        for StopEdit { owner, key, reason } in stop_edits {
            splice.set(owner, key, &quoted(reason));
        }
        self.add_thinking(root, text, &mut splice);
        self.add_figures(root, &mut splice);
        (!splice.is_empty() || text != sent).then(|| splice.apply())
    }

    /// Puts the thinking of the refused reply before a reply that has none, where the provider
    /// wants it back.
    fn add_thinking(&self, root: Node<'_>, text: &str, splice: &mut Splice<'_>) {
        let form = self.form();
        if let Some(thinking) = &self.whole.thinking
            && let Layout::Blocks(lists) = form.layout(root)
            && let Some(list) = lists.first()
            && form.thinking_before(text).is_none()
        {
            let start = list.span().start + 1;
            splice.replace(start..start, format!("{thinking},"));
        }
    }

    /// Keeps the thinking of a refused reply, which the client's history must begin with.
    pub(super) fn note_thinking(&mut self, legal: &str) {
        let thinking = self.form().thinking_before(legal);
        self.whole.thinking = thinking.or(self.whole.thinking.take());
    }

    /// Returns a reply with the thinking of a refused one before it.
    pub(super) fn with_thinking(&self, reply: String) -> String {
        let Ok(tree) = Tree::parse(&reply) else {
            return reply;
        };
        let mut splice = Splice::new(&reply);
        self.add_thinking(tree.root(), &reply, &mut splice);
        splice.apply()
    }

    /// Adds the usage of earlier replies, and the report.
    fn add_figures(&self, root: Node<'_>, splice: &mut Splice<'_>) {
        if !self.usage.is_empty()
            && let Some(usage) = self.form().usage(root)
        {
            self.write_usage(usage, &Usage::default(), splice);
        }
        if self.judge.settings.report && root.kind() == Kind::Object {
            splice.append(root, &format!("\"goodcall\":{}", self.report()));
        }
    }

    /// Replaces bad calls by the texts that explain what is wrong.
    fn replace_bad(
        &self,
        root: Node<'_>,
        envelope: &Located,
        decisions: &[CallDecision],
        splice: &mut Splice<'_>,
    ) {
        let places: Vec<_> = envelope.places().collect();
        let decided: Vec<_> = decisions.iter().zip(&places).collect();
        match self.form().layout(root) {
            Layout::Blocks(lists) => {
                for list in lists {
                    self.replace_bad_blocks(list, &decided, splice);
                }
            }
            Layout::Messages(messages) => {
                for message in messages {
                    replace_bad_in(message, &decided, splice);
                }
            }
        }
    }

    /// Replaces the bad calls of a list of blocks, with the blocks that only go with them.
    fn replace_bad_blocks(
        &self,
        list: Node<'_>,
        decided: &[(&CallDecision, &Range<usize>)],
        splice: &mut Splice<'_>,
    ) {
        let mut companions = Vec::new();
        let key = self.form().first_call_member();
        let mut carried: Option<String> = None;
        for block in list.elements() {
            if self.form().is_companion(block) {
                companions.push(block);
                continue;
            }
            let mut own = decided.iter().filter(|(_, place)| inside(block, place));
            let member = key.and_then(|key| block.get(key));
            match own.next() {
                Some((decision, _)) if decision.is_bad() => {
                    let start = companions.first().unwrap_or(&block).span().start;
                    let place = start..block.span().end;
                    splice.replace(place, self.form().text_block(decision));
                    carried = carried.or(member.map(Node::to_json));
                }
                Some(_) if member.is_none() => {
                    if let Some((key, value)) = key.zip(carried.take()) {
                        splice.append(block, &format!("{}:{value}", quoted(key)));
                    }
                }
                _ => {}
            }
            companions.clear();
        }
    }

    /// Returns the reply with the calls in its text as real calls, and with the thoughts in it apart;
    /// `None` if there are none.
    fn text_calls(&self, root: Node<'_>, text: &str) -> Option<(String, Vec<RawCall>)> {
        let scope = self.text_call_scope()?;
        let find = |said: Node<'_>| {
            let mut scanner = Scanner::new(self.judge.tools.clone(), scope);
            if self.form().reasoning_key().is_none() {
                scanner = scanner.keep_thoughts();
            }
            let found = scanner.whole(said.as_str()?);
            (!found.calls.is_empty() || !found.reasoning.trim().is_empty()).then_some(found)
        };
        let mut splice = Splice::new(text);
        let mut calls = Vec::new();
        match self.form().layout(root) {
            Layout::Blocks(lists) => {
                for list in lists {
                    self.text_calls_in_blocks(list, &find, &mut calls, &mut splice);
                }
            }
            Layout::Messages(messages) => {
                for message in messages {
                    let said = message.get("content");
                    if let Some((said, found)) = said.and_then(|said| Some((said, find(said)?))) {
                        self.text_calls_in(message, said, found, &mut calls, &mut splice);
                    }
                }
            }
        }
        (!splice.is_empty()).then(|| (splice.apply(), calls))
    }

    /// Turns the calls in the texts of a list of blocks into blocks at its end.
    fn text_calls_in_blocks(
        &self,
        list: Node<'_>,
        find: &dyn Fn(Node<'_>) -> Option<Extraction>,
        calls: &mut Vec<RawCall>,
        splice: &mut Splice<'_>,
    ) {
        let end = list.elements().last().map_or(0, |block| block.span().end);
        let (mut emptied, mut written) = (None, Vec::new());
        for block in list.elements() {
            for said in self.form().block_texts(block) {
                let Some(found) = find(said) else {
                    continue;
                };
                let is_empty = found.text.trim().is_empty() && self.form().refuses_empty_text();
                if is_empty && block.span().end == end {
                    emptied = Some(block.span());
                } else {
                    splice.replace_string(said.span(), &found.text);
                }
                for call in found.calls {
                    let (call, text) = self.write_found(calls.len(), call);
                    calls.push(call);
                    written.push(text);
                }
            }
        }
        let written = written.join(",");
        match emptied {
            Some(block) => splice.replace(block, written),
            None if !written.is_empty() => splice.append(list, &written),
            None => {}
        }
    }

    /// Turns the calls in the text of one message into calls of the message.
    fn text_calls_in(
        &self,
        message: Node<'_>,
        said: Node<'_>,
        found: Extraction,
        calls: &mut Vec<RawCall>,
        splice: &mut Splice<'_>,
    ) {
        if found.text.trim().is_empty() && self.provider.writes_text() {
            splice.replace(said.span(), "null");
        } else {
            splice.replace_string(said.span(), &found.text);
        }
        let reasoning = found.reasoning.trim();
        if let Some(key) = self
            .form()
            .reasoning_key()
            .filter(|_| !reasoning.is_empty())
            && message.get(key).is_none_or(Node::is_null)
        {
            splice.set(message, key, &quoted(reasoning));
        }
        if found.calls.is_empty() {
            return;
        }
        let mut written = Vec::new();
        for call in found.calls {
            let (call, text) = self.write_found(calls.len(), call);
            calls.push(call);
            written.push(text);
        }
        let written = written.join(",");
        let list = message.get("tool_calls");
        match list.filter(|list| list.kind() == Kind::Array) {
            Some(list) => splice.append(list, &written),
            None => splice.set(message, "tool_calls", &format!("[{written}]")),
        }
    }

    /// Gives a call that was text an id, and writes it.
    fn write_found(&self, index: usize, call: RawCall) -> (RawCall, String) {
        // Other calls without an id have small numbers.
        let id = self.made_up_id(index + (1 << 16));
        let arguments = if self.provider.writes_text() {
            call.arguments.clone()
        } else {
            legal_arguments(&call.arguments)
        };
        let written = self.form().call(&id, &call.name, &arguments);
        (call.with_id(id), written)
    }
}

/// Replaces the bad calls of one message by texts.
fn replace_bad_in(
    message: Node<'_>,
    decided: &[(&CallDecision, &Range<usize>)],
    splice: &mut Splice<'_>,
) {
    let own = decided.iter().filter(|(_, place)| inside(message, place));
    let own: Vec<_> = own.collect();
    let texts = own.iter().filter(|(decision, _)| decision.is_bad());
    let texts: Vec<_> = texts.map(|(decision, _)| decision.text.as_str()).collect();
    if texts.is_empty() {
        return;
    }
    let content = message.get("content");
    if let Some(parts) = content.filter(|node| node.kind() == Kind::Array) {
        let text = quoted(&texts.join("\n\n"));
        splice.append(parts, &format!(r#"{{"type":"text","text":{text}}}"#));
    } else {
        let before = content.and_then(Node::as_str);
        let before = before.filter(|before| !before.is_empty());
        let texts = before.into_iter().chain(texts).collect::<Vec<_>>();
        splice.set(message, "content", &quoted(&texts.join("\n\n")));
    }
    let kept = own.iter().position(|(decision, _)| !decision.is_bad());
    let Some(kept) = kept else {
        return splice.remove(message, calls_key(is_legacy(message)));
    };
    for (index, (decision, place)) in own.iter().enumerate() {
        if decision.is_bad() {
            let comma = if index < kept {
                Comma::After
            } else {
                Comma::Before
            };
            splice.remove_element((*place).clone(), comma);
        }
    }
}

/// Returns the reply with every call in a form that a history may hold.
fn legal_reply(envelope: &Located, text: &str, decisions: &[CallDecision]) -> String {
    let mut splice = Splice::new(text);
    let rewrites = decisions.iter();
    let rewrites: Vec<_> = rewrites
        .map(|decision| decision.rewrite(CallRewrite::MakeHistorySafe))
        .collect();
    envelope.write(&rewrites, &mut splice);
    splice.apply()
}

fn inside(node: Node<'_>, place: &Range<usize>) -> bool {
    let span = node.span();
    span.start <= place.start && place.end <= span.end
}

/// A stop reason that does not fit the calls of its reply.
struct StopEdit<'t> {
    owner: Node<'t>,
    key: &'static str,
    /// The reason that fits.
    reason: &'static str,
}

/// Finds the stop reasons that do not fit the calls of a reply; `is_left` tells by its index whether a
/// call is still one.
fn stop_edits<'t>(
    form: &dyn Form,
    root: Node<'t>,
    envelope: &Located,
    is_left: impl Fn(usize) -> bool,
) -> Vec<StopEdit<'t>> {
    let edit = |place: StopPlace<'t>| {
        let (owner, key) = (place.owner, place.key);
        let own = || envelope.places().enumerate();
        let own = || own().filter(|(_, place)| inside(owner, place));
        let left = own().filter(|(index, _)| is_left(*index)).count();
        let reason = owner.get(key).and_then(Node::as_str);
        let reason = place.reasons.corrected(reason, left);
        let reason = reason.filter(|_| own().next().is_some())?;
        Some(StopEdit { owner, key, reason })
    };
    form.stop_places(root)
        .into_iter()
        .filter_map(edit)
        .collect()
}
