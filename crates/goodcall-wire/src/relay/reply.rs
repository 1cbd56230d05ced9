//! A complete reply: judged, and rewritten in place.

use std::ops::Range;

use goodcall_core::{Kind, Node, Tree};

use super::exchange::{Exchange, NextStep};
use super::judge::{CallDecision, GiveUp};
use super::reask::{RefusedReply, item_id, written_call};
use super::usage::Usage;
use crate::call::RawCall;
use crate::envelope::{
    CallRewrite, Located, Provider, is_client_side_call, is_safety_stop, legal_arguments,
};
use crate::protocol::thinking_before;
use crate::splice::{Comma, Splice, quoted};
use crate::text::{Extraction, Scanner};

impl Exchange {
    /// Judges a complete reply, and returns what to do with it.
    pub fn reply(&mut self, text: &str) -> NextStep {
        let tree = Tree::parse(text);
        self.unreadable = tree.is_err();
        let Ok(tree) = tree else {
            let last = self.give_up();
            self.unreadable &= last.is_none();
            return NextStep::Reply(last);
        };
        if self.attempt > 0 && is_failure(self.provider, tree.root()) {
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
        self.last_reply.take()
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
            let found = from_text.iter().find(|found| found.id == call.id);
            let call = found.unwrap_or(call).clone();
            decisions.push(self.judge.judge(call, self.attempt, stop));
        }
        self.record(&mut decisions);
        self.settled |= is_settled(self.provider, root);
        let bad = decisions.iter().any(CallDecision::is_bad);
        let mut own = Usage::default();
        if let Some(usage) = root.get("usage").filter(|_| bad) {
            own.note(usage);
        }
        // A bad call that was text stays text.
        let keep_text = bad && !from_text.is_empty();
        if corrects_stop_reasons(self.provider, root, &envelope) {
            self.note_repair("finish_reason");
        }
        let given_up = if keep_text && self.judge.settings.give_up == GiveUp::AsSent {
            self.finish_as_sent(sent)
        } else {
            self.finish_reply(root, text, sent, &envelope, &decisions)
        };
        if bad && self.may_ask_after(stop) {
            let refused = RefusedReply {
                legal: legal_reply(&envelope, text, &decisions),
                decisions: &decisions,
                forwarded: 0,
            };
            // The client's history must begin with the thinking that led to the call.
            let thinking = thinking_before(&refused.legal);
            if self.ask_again(&refused) {
                self.thinking = thinking.or(self.thinking.take());
                self.usage.add(&own);
                self.last_reply = Some(given_up.unwrap_or_else(|| sent.to_owned()));
                return NextStep::Reask;
            }
        }
        NextStep::Reply(given_up)
    }

    fn finish_as_sent(&self, sent: &str) -> Option<String> {
        let tree = Tree::parse(sent).ok()?;
        let mut splice = Splice::new(sent);
        self.add_figures(tree.root(), &mut splice);
        (!splice.is_empty()).then(|| splice.apply())
    }

    /// Returns the reply for the client; `None` if it is the reply as it arrived.
    fn finish_reply(
        &self,
        root: Node<'_>,
        text: &str,
        sent: &str,
        envelope: &Located,
        decisions: &[CallDecision],
    ) -> Option<String> {
        let mut splice = Splice::new(text);
        let rewrites = decisions.iter();
        let rewrites: Vec<_> = rewrites
            .map(|decision| decision.rewrite(CallRewrite::Untouched))
            .collect();
        envelope.write(&rewrites, &mut splice);
        let as_text = self.judge.settings.give_up == GiveUp::Text;
        if as_text {
            self.replace_bad(root, envelope, decisions, &mut splice);
        }
        let is_left = |decision: &CallDecision| !(as_text && decision.is_bad());
        let placed: Vec<_> = envelope
            .places()
            .zip(decisions.iter().map(is_left))
            .collect();
        correct_stop_reasons(self.provider, root, &placed, &mut splice);
        self.add_thinking(root, text, &mut splice);
        self.add_figures(root, &mut splice);
        (!splice.is_empty() || text != sent).then(|| splice.apply())
    }

    /// Puts the thinking of the refused reply before a reply of Anthropic that has none: with
    /// thinking switched on, a history is refused in which a call has no thinking before it.
    fn add_thinking(&self, root: Node<'_>, text: &str, splice: &mut Splice<'_>) {
        let content = root.get("content");
        if let (Some(thinking), Some(content)) = (&self.thinking, content)
            && self.provider == Provider::Anthropic
            && thinking_before(text).is_none()
        {
            let start = content.span().start + 1;
            splice.replace(start..start, format!("{thinking},"));
        }
    }

    /// Adds the usage of earlier replies, and the report.
    fn add_figures(&self, root: Node<'_>, splice: &mut Splice<'_>) {
        if !self.usage.is_empty()
            && let Some(usage) = root.get("usage")
        {
            self.usage.write(usage, &Usage::default(), splice);
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
        if matches!(self.provider, Provider::Anthropic | Provider::Responses) {
            for (decision, place) in decisions.iter().zip(places) {
                if decision.is_bad() {
                    let block = text_block(self.provider, decision);
                    splice.replace(place, block);
                }
            }
            return;
        }
        for message in messages_of(root) {
            let own = decisions.iter().zip(&places);
            let own: Vec<_> = own.filter(|(_, place)| inside(message, place)).collect();
            let texts = own.iter().filter(|(decision, _)| decision.is_bad());
            let texts: Vec<_> = texts.map(|(decision, _)| decision.text.as_str()).collect();
            if texts.is_empty() {
                continue;
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
                splice.remove(message, calls_key(is_legacy(message)));
                continue;
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
    }

    /// Returns the reply with the calls in its text as real calls, and with the thoughts in it apart;
    /// `None` if there are none.
    fn text_calls(&self, root: Node<'_>, text: &str) -> Option<(String, Vec<RawCall>)> {
        let scope = self.text_call_scope()?;
        let find = |text: &str| {
            let mut scanner = Scanner::new(self.judge.tools.clone(), scope);
            if matches!(self.provider, Provider::Anthropic | Provider::Responses) {
                // Their thoughts are items of their own, with signatures.
                scanner = scanner.keep_thoughts();
            }
            let found = scanner.whole(text);
            (!found.calls.is_empty() || !found.reasoning.trim().is_empty()).then_some(found)
        };
        let mut splice = Splice::new(text);
        let mut calls = Vec::new();
        match self.provider {
            Provider::Anthropic | Provider::Responses => {
                let list = root.get("content").or_else(|| root.get("output"))?;
                let end = list.elements().last().map_or(0, |item| item.span().end);
                let mut emptied = None;
                for item in list.elements() {
                    for part in own_texts(self.provider, item) {
                        let said = part.get("text").filter(|node| node.as_str().is_some());
                        let found = said.and_then(|said| find(said.as_str()?));
                        if let Some((said, found)) = said.zip(found) {
                            let bare = self.provider == Provider::Anthropic
                                && found.text.trim().is_empty();
                            // Anthropic refuses a history with an empty text in it.
                            if bare && part.span().end == end {
                                emptied = Some(part.span());
                            } else {
                                splice.replace_string(said.span(), &found.text);
                            }
                            calls.extend(found.calls);
                        }
                    }
                }
                let found = std::mem::take(&mut calls).into_iter().enumerate();
                let found = found.map(|(at, call)| self.write_found(at, call));
                let (named, written): (_, Vec<_>) = found.unzip();
                calls = named;
                match emptied {
                    Some(block) => splice.replace(block, written.join(",")),
                    None => (!calls.is_empty()).then(|| splice.append(list, &written.join(",")))?,
                }
            }
            _ => {
                for message in messages_of(root) {
                    let said = message.get("content");
                    let found = said.and_then(|said| find(said.as_str()?));
                    if let Some((said, found)) = said.zip(found) {
                        self.text_calls_in(message, said, found, &mut calls, &mut splice);
                    }
                }
            }
        }
        (!splice.is_empty()).then(|| (splice.apply(), calls))
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
        if found.text.trim().is_empty() && self.provider != Provider::Ollama {
            splice.replace(said.span(), "null");
        } else {
            splice.replace_string(said.span(), &found.text);
        }
        let has_reasoning = message
            .get("reasoning_content")
            .is_some_and(|own| !own.is_null());
        if !found.reasoning.trim().is_empty() && !has_reasoning {
            let reasoning = quoted(found.reasoning.trim());
            splice.set(message, "reasoning_content", &reasoning);
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
        let arguments = match self.provider {
            Provider::Anthropic | Provider::Ollama => legal_arguments(&call.arguments),
            _ => call.arguments.clone(),
        };
        let written = written_call(self.provider, &id, &call.name, &arguments);
        (call.with_id(id), written)
    }
}

/// The parts of an item that hold text of the model; results and reasoning do not.
fn own_texts(provider: Provider, item: Node<'_>) -> Vec<Node<'_>> {
    let is = |node: &Node<'_>, kind: &str| {
        let own = node.get("type").and_then(Node::as_str);
        own.is_none_or(|own| own == kind)
    };
    if provider == Provider::Anthropic {
        return Some(item)
            .filter(|item| is(item, "text"))
            .into_iter()
            .collect();
    }
    let content = item.get("content").filter(|_| is(&item, "message"));
    let parts = content.into_iter().flat_map(Node::elements);
    parts.filter(|part| is(part, "output_text")).collect()
}

/// Writes a refusal's text as an item that replaces the call.
pub(crate) fn text_block(provider: Provider, decision: &CallDecision) -> String {
    let text = quoted(&decision.text);
    match provider {
        Provider::Anthropic => format!(r#"{{"type":"text","text":{text}}}"#),
        _ => {
            let id = decision.call.id.as_deref().unwrap_or_default();
            let id = quoted(&item_id("msg", id));
            format!(
                r#"{{"type":"message","id":{id},"status":"completed","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}]}}"#
            )
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

/// The stop reasons that a protocol gives to a reply with calls, and to one without.
pub(crate) struct StopReasons {
    pub(crate) with_calls: &'static str,
    pub(crate) without_calls: &'static str,
}

pub(crate) const CHAT_STOP: StopReasons = StopReasons {
    with_calls: "tool_calls",
    without_calls: "stop",
};
pub(crate) const LEGACY_CHAT_STOP: StopReasons = StopReasons {
    with_calls: "function_call",
    without_calls: "stop",
};
pub(crate) const MESSAGES_STOP: StopReasons = StopReasons {
    with_calls: "tool_use",
    without_calls: "end_turn",
};

impl StopReasons {
    /// Returns the reason that a reply with so many calls must give, if it gives another one.
    /// Reasons that are not about calls are left alone.
    pub(crate) fn corrected(&self, reason: Option<&str>, calls: usize) -> Option<&'static str> {
        match (reason, calls) {
            (None | Some("" | "stop" | "eos" | "end_turn"), 1..) => Some(self.with_calls),
            (Some(reason), 0) if reason == self.with_calls => Some(self.without_calls),
            _ => None,
        }
    }
}

/// The key of a chat message's calls.
pub(crate) fn calls_key(legacy: bool) -> &'static str {
    if legacy {
        "function_call"
    } else {
        "tool_calls"
    }
}

/// Returns true if the message calls in the legacy form.
fn is_legacy(message: Node<'_>) -> bool {
    let call = message.get("function_call");
    call.is_some_and(|call| call.kind() == Kind::Object)
}

fn inside(node: Node<'_>, place: &Range<usize>) -> bool {
    let span = node.span();
    span.start <= place.start && place.end <= span.end
}

/// Returns true if the reply is an error, or has no content.
fn is_failure(provider: Provider, root: Node<'_>) -> bool {
    let error = root.get("error").is_some_and(|error| !error.is_null());
    let nothing = |key| root.get(key).is_none_or(Node::is_empty);
    error
        || match provider {
            Provider::Anthropic => nothing("content"),
            Provider::Responses => {
                let status = root.get("status").and_then(Node::as_str);
                status == Some("failed") || nothing("output")
            }
            Provider::Ollama => messages_of(root).is_empty(),
            _ => nothing("choices"),
        }
}

/// The messages of a reply: those of its choices, or its only one.
fn messages_of(root: Node<'_>) -> Vec<Node<'_>> {
    let choices = root.get("choices").into_iter().flat_map(Node::elements);
    let messages = choices.filter_map(|choice| choice.get("message"));
    messages.chain(root.get("message")).collect()
}

/// Returns true if the reply was stopped for safety, or calls something that only the client can
/// answer.
fn is_settled(provider: Provider, root: Node<'_>) -> bool {
    let any = |list: Option<Node<'_>>, is: fn(Node<'_>) -> bool| {
        list.is_some_and(|list| list.elements().any(is))
    };
    match provider {
        Provider::Ollama => is_safety_stop(root.get("done_reason")),
        Provider::Anthropic => is_safety_stop(root.get("stop_reason")),
        Provider::Responses => {
            let extra = root.get("incomplete_details");
            is_safety_stop(extra.and_then(|extra| extra.get("reason")))
                || any(root.get("output"), is_client_side_call)
        }
        _ => any(root.get("choices"), |choice| {
            let calls = choice
                .get("message")
                .and_then(|message| message.get("tool_calls"));
            is_safety_stop(choice.get("finish_reason"))
                || calls.is_some_and(|calls| calls.elements().any(is_client_side_call))
        }),
    }
}

/// Returns true if a stop reason does not fit the calls of a reply.
fn corrects_stop_reasons(provider: Provider, root: Node<'_>, envelope: &Located) -> bool {
    let calls: Vec<_> = envelope.places().map(|place| (place, true)).collect();
    let mut splice = Splice::new("");
    correct_stop_reasons(provider, root, &calls, &mut splice);
    !splice.is_empty()
}

/// Corrects the stop reasons of a reply. `calls` has the place of each call, and whether it is still
/// a call.
fn correct_stop_reasons(
    provider: Provider,
    root: Node<'_>,
    calls: &[(Range<usize>, bool)],
    splice: &mut Splice<'_>,
) {
    let mut correct = |owner: Node<'_>, key: &str, reasons: &StopReasons| {
        let own = calls.iter().filter(|(place, _)| inside(owner, place));
        let own: Vec<_> = own.map(|(_, is_left)| *is_left).collect();
        let left = own.iter().filter(|is_left| **is_left).count();
        let reason = owner.get(key).and_then(Node::as_str);
        if !own.is_empty()
            && let Some(corrected) = reasons.corrected(reason, left)
        {
            splice.set(owner, key, &quoted(corrected));
        }
    };
    match provider {
        Provider::Anthropic => correct(root, "stop_reason", &MESSAGES_STOP),
        Provider::Responses | Provider::Ollama => {}
        _ => {
            for choice in root.get("choices").into_iter().flat_map(Node::elements) {
                let is_legacy = choice.get("message").is_some_and(is_legacy);
                let reasons = if is_legacy {
                    &LEGACY_CHAT_STOP
                } else {
                    &CHAT_STOP
                };
                correct(choice, "finish_reason", reasons);
            }
        }
    }
}
