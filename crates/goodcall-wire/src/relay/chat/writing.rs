//! Chunks on their way out.

use super::*;
use crate::relay::usage::Usage;

impl Chat {
    /// An event that is not about calls, or was judged: as it came, but for what a second reply
    /// in one stream must not say again.
    pub(super) fn pass(&self, exchange: &Exchange, event: &SseEvent, out: &mut Vec<u8>) {
        let plain = exchange.attempt == 0 && !exchange.judge.settings.report;
        if plain && !event.raw.is_empty() {
            return out.extend_from_slice(&event.raw);
        }
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data);
        let Ok(tree) = tree.as_ref().map(Tree::root) else {
            return out.extend_from_slice(&event.raw);
        };
        let mut cuts = Cuts::new(data);
        if !self.follow_up(exchange, tree, &mut cuts) {
            return;
        }
        match cuts.is_empty() && !event.raw.is_empty() {
            true => out.extend_from_slice(&event.raw),
            false => event.write_with(&cuts.apply(), out),
        }
    }

    /// The edits that a chunk of a later reply needs; `false` if nothing of it is left.
    fn follow_up(&self, exchange: &Exchange, root: Node<'_>, cuts: &mut Cuts<'_>) -> bool {
        let found = delta_of(root);
        let reason = found.and_then(|(choice, _)| choice.get("finish_reason")?.as_str());
        if exchange.judge.settings.report && reason.is_some() {
            cuts.last(root, &format!("\"goodcall\":{}", exchange.report()));
        }
        if exchange.attempt == 0 {
            return true;
        }
        if let Some((sent, id)) = root.get("id").zip(self.id.as_deref()) {
            cuts.replace(sent.span(), id);
        }
        if let Some(usage) = root.get("usage").filter(|node| node.kind() == Kind::Object) {
            exchange.usage.write(usage, &Usage::default(), cuts);
        }
        let Some((_, delta)) = found else {
            return true;
        };
        if self.owes_role && delta.get("role").is_some() {
            return true;
        }
        cuts.remove(delta, "role");
        let says = delta.members().any(|(key, value)| {
            let empty = value.is_null() || value.as_str() == Some("");
            key != "role" && !empty
        });
        says || reason.is_some() || root.get("usage").is_some_and(|usage| !usage.is_null())
    }

    /// Text that did not come in a chunk of its own.
    pub(super) fn write_text(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            let role = match std::mem::take(&mut self.owes_role) {
                true => r#""role":"assistant","#,
                false => "",
            };
            let delta = format!(r#"{{{role}"content":{}}}"#, quoted(text));
            self.write_delta(&delta, "null", out);
        }
    }

    fn write_delta(&self, delta: &str, reason: &str, out: &mut Vec<u8>) {
        let (before, behind) = match &self.shell {
            Some((before, behind)) => (before.as_str(), behind.as_str()),
            None => (r#"{"object":"chat.completion.chunk","choices":"#, "}"),
        };
        let index = self.index.as_deref().unwrap_or("0");
        let choice = format!(r#"[{{"index":{index},"delta":{delta},"finish_reason":{reason}}}]"#);
        sse::write(None, &format!("{before}{choice}{behind}"), out);
    }

    /// Everything that was held goes on, each call as it was ruled.
    pub(in crate::relay) fn write(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.stage = Stage::Passed;
        let held = std::mem::take(&mut self.held);
        self.bytes = 0;
        let texts = exchange.judge.settings.give_up == GiveUp::Text;
        let (indexes, calls, said) = self.place_calls(texts);
        for text in said {
            self.write_text(&text, out);
        }
        let changed = self.odd
            || indexes.contains(&None)
            || self
                .rulings
                .iter()
                .any(|ruling| ruling.arguments.is_some() || ruling.call.told.is_some());
        let mut seen = self.streamed.clone();
        let mut late = !self.finished;
        for held in &held {
            let last = is_last(held);
            if last && !late {
                self.write_found(&indexes, out);
                late = true;
            }
            if !last && !changed {
                self.pass(exchange, &held.event, out);
                continue;
            }
            self.rewrite(exchange, held, &indexes, calls, &mut seen, changed, out);
        }
        if !self.finished && calls > 0 {
            self.write_found(&indexes, out);
            let (called, _) = reasons(Provider::OpenAi, self.old);
            self.write_delta("{}", &quoted(called), out);
        }
        self.wrote = calls > 0;
    }

    /// The client's number of each call that is left, how many there are then, and the texts of
    /// those that are not. A call that is no function has a number, too.
    fn place_calls(&mut self, texts: bool) -> (Vec<Option<usize>>, usize, Vec<String>) {
        let (mut indexes, mut said) = (Vec::new(), Vec::new());
        let streamed = self.sources.iter().filter_map(Source::number);
        let judged: HashSet<_> = streamed.collect();
        let (mut calls, mut next) = (self.base, 0);
        let all = self.sizes.len();
        let mut others = |until: usize, calls: &mut usize| {
            for number in (next..until).filter(|number| !judged.contains(number)) {
                self.unnamed.insert(number, *calls);
                *calls += 1;
            }
            next = next.max(until);
        };
        for (ruling, source) in self.rulings.iter().zip(&self.sources) {
            others(source.number().unwrap_or(all), &mut calls);
            let text = match (source, texts) {
                _ if !ruling.is_bad() => None,
                (_, true) => Some(&ruling.text),
                (Source::Text(text), false) => Some(text),
                (Source::Stream(_), false) => None,
            };
            indexes.push(text.is_none().then_some(calls));
            calls += usize::from(text.is_none());
            said.extend(text.cloned());
        }
        others(all, &mut calls);
        (indexes, calls, said)
    }

    /// Calls that stood in the text, as calls.
    fn write_found(&self, indexes: &[Option<usize>], out: &mut Vec<u8>) {
        let each = self.rulings.iter().zip(&self.sources).zip(indexes);
        for ((ruling, source), index) in each {
            if let (Source::Text(_), Some(index)) = (source, index) {
                let fragment = fragment(ruling, *index);
                self.write_delta(&format!(r#"{{"tool_calls":[{fragment}]}}"#), "null", out);
            }
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "one step of a loop, taken out of it"
    )]
    fn rewrite(
        &self,
        exchange: &Exchange,
        held: &Held,
        indexes: &[Option<usize>],
        calls: usize,
        seen: &mut HashSet<usize>,
        changed: bool,
        out: &mut Vec<u8>,
    ) {
        let data = held.event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&held.event.raw);
        };
        let Some((choice, delta)) = delta_of(tree.root()) else {
            return self.pass(exchange, &held.event, out);
        };
        let mut cuts = Cuts::new(data);
        if !self.follow_up(exchange, tree.root(), &mut cuts) {
            return;
        }
        let reason = choice.get("finish_reason").and_then(Node::as_str);
        let reason = reason.filter(|reason| !reason.is_empty());
        if reason.is_some()
            && !self.rulings.is_empty()
            && let Some(due) = due_reason(reasons(Provider::OpenAi, self.old), reason, calls)
        {
            cuts.set(choice, "finish_reason", &quoted(due));
        }
        if changed && !held.pieces.is_empty() {
            let mut list = Vec::new();
            for (number, span) in &held.pieces {
                let first = seen.insert(*number);
                let element = data.get(span.clone()).unwrap_or_default();
                self.element(element, *number, first, indexes, &mut list);
            }
            let list = match self.old {
                true => list.concat(),
                false if list.is_empty() => String::new(),
                false => format!("[{}]", list.join(",")),
            };
            match (list.is_empty(), delta.get(self.key())) {
                (false, Some(sent)) => cuts.replace(sent.span(), list),
                (true, _) if reason.is_none() => return,
                _ => cuts.remove(delta, self.key()),
            }
        }
        match cuts.is_empty() && !held.event.raw.is_empty() {
            true => out.extend_from_slice(&held.event.raw),
            false => held.event.write_with(&cuts.apply(), out),
        }
    }

    /// One fragment as it must be: the first one tells all about a call, later ones only go on.
    fn element(
        &self,
        text: &str,
        number: usize,
        first: bool,
        indexes: &[Option<usize>],
        list: &mut Vec<String>,
    ) {
        let each = self.rulings.iter().zip(&self.sources).zip(indexes);
        let own = each.filter(|((_, of), _)| **of == Source::Stream(number));
        let own: Vec<_> = own.map(|((ruling, _), index)| (ruling, *index)).collect();
        let Ok(tree) = Tree::parse(text) else {
            return list.push(text.to_owned());
        };
        let call = tree.root();
        let Some((ruling, index)) = own.first() else {
            // A call without a name: nobody can say anything about it but where it stands.
            let mut cuts = Cuts::new(text);
            if let Some(place) = self.unnamed.get(&number).filter(|_| !self.old) {
                cuts.set(call, "index", &place.to_string());
            }
            return list.push(cuts.apply());
        };
        let function = match self.old {
            true => Some(call),
            false => call.get("function"),
        };
        let sent = function.and_then(|function| function.get("arguments"));
        let object = sent.is_some_and(|sent| sent.as_str().is_none() && !sent.is_null());
        let whole = ruling.arguments.is_some() || own.len() > 1 || object;
        let mut cuts = Cuts::new(text);
        if let Some(index) = index.filter(|_| first || !whole) {
            if !self.old {
                cuts.set(call, "index", &index.to_string());
            }
            if first {
                if !self.old {
                    let id = quoted(ruling.call.id.as_deref().unwrap_or_default());
                    cuts.set(call, "id", &id);
                }
                if let Some(function) = function {
                    cuts.set(function, "name", &quoted(name_of(ruling)));
                }
            } else {
                if !self.old {
                    cuts.remove(call, "id");
                }
                if let Some(function) = function {
                    cuts.remove(function, "name");
                }
            }
            if whole && let Some(function) = function {
                cuts.set(function, "arguments", &quoted(ruling.final_arguments()));
                // Later fragments are left out, and what else they told with them.
                let extras = self.extras.get(number).into_iter().flatten();
                for (key, value) in extras.filter(|(key, _)| call.get(key).is_none()) {
                    cuts.set(call, key, value);
                }
            }
            list.push(cuts.apply());
        }
        if first {
            let more = own.iter().skip(1);
            let more = more.filter_map(|(ruling, index)| Some(fragment(ruling, (*index)?)));
            list.extend(more);
        }
    }
}

/// Is this the event that ends the message?
fn is_last(held: &Held) -> bool {
    let data = held.event.data.as_deref().unwrap_or_default();
    let Ok(tree) = Tree::parse(data) else {
        return false;
    };
    let choice = delta_of(tree.root()).map(|(choice, _)| choice);
    let reason = choice.and_then(|choice| choice.get("finish_reason")?.as_str());
    reason.is_some_and(|reason| !reason.is_empty())
}

/// A bad call keeps the name that it came with.
fn name_of(ruling: &CallDecision) -> &str {
    &ruling.call.name
}

/// A call in one fragment.
fn fragment(ruling: &CallDecision, index: usize) -> String {
    let id = quoted(ruling.call.id.as_deref().unwrap_or_default());
    let name = quoted(name_of(ruling));
    let arguments = quoted(ruling.final_arguments());
    format!(
        r#"{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    )
}
