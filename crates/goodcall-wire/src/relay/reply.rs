//! A whole reply: judged, and rewritten in place.

use std::ops::Range;

use goodcall_core::{Kind, Node, Tree};

use super::exchange::{Exchange, NextStep};
use super::judge::{CallDecision, GiveUp};
use super::reask::{item_id, written_call};
use super::usage::Usage;
use crate::call::RawCall;
use crate::cuts::{Cuts, quoted};
use crate::envelope::{
    CallRewrite, Located, Provider, is_client_side_call, is_safety_stop, legal_arguments,
};
use crate::text::{Extraction, extract};

impl Exchange {
    /// Takes a whole reply.
    pub fn reply(&mut self, text: &str) -> NextStep {
        let tree = Tree::parse(text);
        self.unread = tree.is_err();
        let Ok(tree) = tree else {
            let last = self.give_up();
            self.unread &= last.is_none();
            return NextStep::Reply(last);
        };
        if self.attempt > 0 && is_failure(self.provider, tree.root()) {
            // No other reply could be had, whatever its status says.
            return NextStep::Reply(self.give_up());
        }
        let found = self.text_calls(tree.root(), text);
        match found {
            Some((converted, calls)) => match Tree::parse(&converted) {
                Ok(tree) => self.judge_reply(&tree, &converted, text, calls),
                Err(_) => NextStep::Reply(None),
            },
            None => self.judge_reply(&tree, text, text, Vec::new()),
        }
    }

    /// The last reply as it goes on where no other one could be had.
    pub fn give_up(&mut self) -> Option<String> {
        let last = self.last.take()?;
        // It is judged and counted; only the rendering is left.
        Some(last)
    }

    fn judge_reply(
        &mut self,
        tree: &Tree<'_>,
        text: &str,
        sent: &str,
        found: Vec<RawCall>,
    ) -> NextStep {
        let root = tree.root();
        let mut envelope = Located::new(self.provider, text, root, &self.judge.tools);
        self.name_calls(&mut envelope, root);
        let stop = envelope.stop();
        let from_text = !found.is_empty();
        let mut rulings = Vec::with_capacity(envelope.calls().len());
        for call in envelope.calls() {
            let found = found.iter().find(|found| found.id == call.id);
            let call = found.unwrap_or(call).clone();
            rulings.push(self.judge.rule(call, self.attempt, stop));
        }
        self.remember(&mut rulings);
        self.settled |= is_settled(self.provider, root);
        let bad = rulings.iter().any(CallDecision::is_bad);
        let mut own = Usage::default();
        if let Some(usage) = root.get("usage").filter(|_| bad) {
            own.note(usage);
        }
        // A call in text that stays bad stays the text that it was.
        let given_up = match bad && from_text && self.judge.settings.give_up == GiveUp::AsSent {
            true => self.finish_as_sent(sent),
            false => self.finish_reply(root, text, sent, &envelope, &rulings),
        };
        if bad && self.may_ask() {
            let legal = legal_reply(&envelope, text, &rulings);
            if self.ask_again(&legal, &rulings, 0) {
                self.usage.add(&own);
                self.last = Some(given_up.unwrap_or_else(|| sent.to_owned()));
                return NextStep::Reask;
            }
        }
        NextStep::Reply(given_up)
    }

    fn finish_as_sent(&self, sent: &str) -> Option<String> {
        let tree = Tree::parse(sent).ok()?;
        let mut cuts = Cuts::new(sent);
        self.add_figures(tree.root(), &mut cuts);
        (!cuts.is_empty()).then(|| cuts.apply())
    }

    /// The reply as it goes on; `None` for as it was sent.
    fn finish_reply(
        &self,
        root: Node<'_>,
        text: &str,
        sent: &str,
        envelope: &Located,
        rulings: &[CallDecision],
    ) -> Option<String> {
        let mut cuts = Cuts::new(text);
        let give_up = self.judge.settings.give_up;
        let due: Vec<_> = rulings
            .iter()
            .map(|ruling| ruling.due(CallRewrite::Untouched))
            .collect();
        envelope.write(&due, &mut cuts);
        let as_text = give_up == GiveUp::Text;
        if as_text {
            self.replace_bad(root, envelope, rulings, &mut cuts);
        }
        let left = |ruling: &CallDecision| !(as_text && ruling.is_bad());
        let placed: Vec<_> = envelope.places().zip(rulings.iter().map(left)).collect();
        finish_reasons(self.provider, root, &placed, &mut cuts);
        self.add_figures(root, &mut cuts);
        match cuts.is_empty() {
            true if text == sent => None,
            _ => Some(cuts.apply()),
        }
    }

    fn add_figures(&self, root: Node<'_>, cuts: &mut Cuts<'_>) {
        if !self.usage.is_empty()
            && let Some(usage) = root.get("usage")
        {
            self.usage.write(usage, &Usage::default(), cuts);
        }
        if self.judge.settings.report && root.kind() == Kind::Object {
            cuts.last(root, &format!("\"goodcall\":{}", self.report()));
        }
    }

    /// The texts of bad calls in their place.
    fn replace_bad(
        &self,
        root: Node<'_>,
        envelope: &Located,
        rulings: &[CallDecision],
        cuts: &mut Cuts<'_>,
    ) {
        let places: Vec<_> = envelope.places().collect();
        if self.provider != Provider::OpenAi {
            for (ruling, place) in rulings.iter().zip(places) {
                if ruling.is_bad() {
                    let block = text_block(self.provider, ruling);
                    cuts.replace(place, block);
                }
            }
            return;
        }
        let choices = root.get("choices").into_iter().flat_map(Node::elements);
        for message in choices.filter_map(|choice| choice.get("message")) {
            let own = rulings.iter().zip(&places);
            let own: Vec<_> = own.filter(|(_, place)| inside(message, place)).collect();
            let texts = own.iter().filter(|(ruling, _)| ruling.is_bad());
            let texts: Vec<_> = texts.map(|(ruling, _)| ruling.text.as_str()).collect();
            if texts.is_empty() {
                continue;
            }
            let content = message.get("content");
            if let Some(parts) = content.filter(|node| node.kind() == Kind::Array) {
                let text = quoted(&texts.join("\n\n"));
                cuts.last(parts, &format!(r#"{{"type":"text","text":{text}}}"#));
            } else {
                let said = content.and_then(Node::as_str);
                let said = said.filter(|said| !said.is_empty());
                let texts = said.into_iter().chain(texts).collect::<Vec<_>>();
                cuts.set(message, "content", &quoted(&texts.join("\n\n")));
            }
            let kept = own.iter().position(|(ruling, _)| !ruling.is_bad());
            let Some(kept) = kept else {
                let (old, new) = ("function_call", "tool_calls");
                cuts.remove(message, if is_old(message) { old } else { new });
                continue;
            };
            for (index, (ruling, place)) in own.iter().enumerate() {
                if ruling.is_bad() {
                    cuts.remove_element((*place).clone(), index < kept);
                }
            }
        }
    }

    /// The reply with the calls that its text holds as real calls.
    fn text_calls(&self, root: Node<'_>, text: &str) -> Option<(String, Vec<RawCall>)> {
        let place = self.looks_in_text()?;
        let find = |said: &str| {
            let found = extract(said, &self.judge.tools, place);
            (!found.calls.is_empty()).then_some(found)
        };
        let mut cuts = Cuts::new(text);
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
                            match bare && part.span().end == end {
                                // An empty text is refused where it stands in a history.
                                true => emptied = Some(part.span()),
                                false => cuts.string(said.span(), &found.text),
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
                    Some(block) => cuts.replace(block, written.join(",")),
                    None => (!calls.is_empty()).then(|| cuts.last(list, &written.join(",")))?,
                }
            }
            _ => {
                let choices = root.get("choices")?.elements();
                for message in choices.filter_map(|choice| choice.get("message")) {
                    let said = message.get("content");
                    let found = said.and_then(|said| find(said.as_str()?));
                    if let Some((said, found)) = said.zip(found) {
                        self.text_calls_in(message, said, found, &mut calls, &mut cuts);
                    }
                }
            }
        }
        (!calls.is_empty()).then(|| (cuts.apply(), calls))
    }

    /// The calls in the text of one message, as calls of it.
    fn text_calls_in(
        &self,
        message: Node<'_>,
        said: Node<'_>,
        found: Extraction,
        calls: &mut Vec<RawCall>,
        cuts: &mut Cuts<'_>,
    ) {
        match found.text.trim().is_empty() {
            true => cuts.replace(said.span(), "null"),
            false => cuts.string(said.span(), &found.text),
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
            Some(list) => cuts.last(list, &written),
            None => cuts.set(message, "tool_calls", &format!("[{written}]")),
        }
    }

    /// A call that was text, with an id of its own, and as it is written.
    fn write_found(&self, index: usize, call: RawCall) -> (RawCall, String) {
        // Far from the numbers of calls that came without an id.
        let id = self.made_up_id(index + (1 << 16));
        let arguments = match self.provider {
            Provider::Anthropic => legal_arguments(&call.arguments),
            _ => call.arguments.clone(),
        };
        let written = written_call(self.provider, &id, &call.name, &arguments);
        (call.with_id(id), written)
    }
}

/// The parts of an item that hold words of the model; results and reasoning are none.
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

/// A text in place of a call.
pub(super) fn text_block(provider: Provider, ruling: &CallDecision) -> String {
    let text = quoted(&ruling.text);
    match provider {
        Provider::Anthropic => format!(r#"{{"type":"text","text":{text}}}"#),
        _ => {
            let id = ruling.call.id.as_deref().unwrap_or_default();
            let id = quoted(&item_id("msg", id));
            format!(
                r#"{{"type":"message","id":{id},"status":"completed","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}]}}"#
            )
        }
    }
}

/// The reply with every call in a form that may stand in a history.
fn legal_reply(envelope: &Located, text: &str, rulings: &[CallDecision]) -> String {
    let mut cuts = Cuts::new(text);
    let due: Vec<_> = rulings
        .iter()
        .map(|ruling| ruling.due(CallRewrite::Legal))
        .collect();
    envelope.write(&due, &mut cuts);
    cuts.apply()
}

/// The reason that a provider gives for a reply with calls, and for one without.
pub(super) fn reasons(provider: Provider, old: bool) -> (&'static str, &'static str) {
    match provider {
        Provider::Anthropic => ("tool_use", "end_turn"),
        _ if old => ("function_call", "stop"),
        _ => ("tool_calls", "stop"),
    }
}

/// What a reason must be, where it is not: `None` for one that is right, or says something else.
pub(super) fn due_reason(
    (called, ended): (&'static str, &'static str),
    reason: Option<&str>,
    calls: usize,
) -> Option<&'static str> {
    match (reason, calls) {
        (None | Some("" | "stop" | "eos" | "end_turn"), 1..) => Some(called),
        (Some(reason), 0) if reason == called => Some(ended),
        _ => None,
    }
}

/// Does the message call in the older form?
fn is_old(message: Node<'_>) -> bool {
    let call = message.get("function_call");
    call.is_some_and(|call| call.kind() == Kind::Object)
}

fn inside(node: Node<'_>, place: &Range<usize>) -> bool {
    let span = node.span();
    span.start <= place.start && place.end <= span.end
}

/// Is this a reply that is none: an error, or nothing?
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
            _ => nothing("choices"),
        }
}

/// Was this reply stopped for safety, or does it call what the client alone can answer?
fn is_settled(provider: Provider, root: Node<'_>) -> bool {
    let any = |list: Option<Node<'_>>, is: fn(Node<'_>) -> bool| {
        list.is_some_and(|list| list.elements().any(is))
    };
    match provider {
        Provider::Anthropic => is_safety_stop(root.get("stop_reason")),
        Provider::Responses => {
            let details = root.get("incomplete_details");
            is_safety_stop(details.and_then(|details| details.get("reason")))
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

/// Puts the reasons right for which replies ended; `calls` are the places of all calls, and
/// whether they are still calls.
fn finish_reasons(
    provider: Provider,
    root: Node<'_>,
    calls: &[(Range<usize>, bool)],
    cuts: &mut Cuts<'_>,
) {
    let mut set_right = |owner: Node<'_>, key: &str| {
        let own = calls.iter().filter(|(place, _)| inside(owner, place));
        let (mut any, mut left) = (false, 0);
        for (_, is_left) in own {
            any = true;
            left += usize::from(*is_left);
        }
        let reason = owner.get(key).and_then(Node::as_str);
        let old = owner.get("message").is_some_and(is_old);
        if let Some(due) = due_reason(reasons(provider, old), reason, left).filter(|_| any) {
            cuts.set(owner, key, &quoted(due));
        }
    };
    match provider {
        Provider::Anthropic => set_right(root, "stop_reason"),
        Provider::Responses => {}
        _ => {
            let choices = root.get("choices").into_iter().flat_map(Node::elements);
            choices.for_each(|choice| set_right(choice, "finish_reason"));
        }
    }
}
