//! Writes the chunks that the client gets.

use super::*;
use crate::relay::judge::GiveUp;
use crate::relay::reply::{CHAT_STOP, LEGACY_CHAT_STOP, StopReasons};
use crate::relay::usage::Usage;
use crate::sse;

/// The calls that the client gets.
struct PlacedCalls {
    /// The client's index of each decided call; `None` for one that became text.
    indexes: Vec<Option<usize>>,
    /// The number of calls, those of earlier replies included.
    count: usize,
    /// The texts of the calls that became text.
    texts: Vec<String>,
}

/// How held chunks are rewritten.
struct ChunkRewrite {
    calls: PlacedCalls,
    /// True if the fragments of calls change.
    changed: bool,
    /// The calls whose first fragment was written.
    begun: HashSet<usize>,
}

impl Chat {
    /// Forwards an event as it arrived, without what a second reply in one stream must not repeat.
    pub(super) fn forward(&self, exchange: &Exchange, event: &SseEvent, out: &mut Vec<u8>) {
        let plain = exchange.attempt == 0 && !exchange.judge.settings.report;
        if plain && !event.raw.is_empty() {
            return out.extend_from_slice(&event.raw);
        }
        let data = event.data.as_deref().unwrap_or_default();
        let tree = Tree::parse(data);
        let Ok(root) = tree.as_ref().map(Tree::root) else {
            return out.extend_from_slice(&event.raw);
        };
        let mut splice = Splice::new(data);
        if self.continue_message(exchange, root, &mut splice) {
            write_spliced(event, splice, out);
        }
    }

    /// Edits a chunk of a later reply so that it continues the client's message. Returns false if
    /// nothing of the chunk is left.
    fn continue_message(
        &self,
        exchange: &Exchange,
        root: Node<'_>,
        splice: &mut Splice<'_>,
    ) -> bool {
        let found = delta_of(root);
        let reason = found.and_then(|(choice, _)| choice.get("finish_reason")?.as_str());
        if exchange.judge.settings.report && reason.is_some() {
            splice.append(root, &format!("\"goodcall\":{}", exchange.report()));
        }
        if exchange.attempt == 0 {
            return true;
        }
        let shell = self.shell.as_ref();
        let id = shell.and_then(|shell| shell.message_id.as_deref());
        if let Some((sent, id)) = root.get("id").zip(id) {
            splice.replace(sent.span(), id);
        }
        if let Some(usage) = root.get("usage").filter(|node| node.kind() == Kind::Object) {
            exchange.usage.write(usage, &Usage::default(), splice);
        }
        let Some((_, delta)) = found else {
            return true;
        };
        if self.client.owes_role && delta.get("role").is_some() {
            return true;
        }
        splice.remove(delta, "role");
        let has_content = delta.members().any(|(key, value)| {
            let empty = value.is_null() || value.as_str() == Some("");
            key != "role" && !empty
        });
        let has_usage = root.get("usage").is_some_and(|usage| !usage.is_null());
        has_content || reason.is_some() || has_usage
    }

    /// Writes text in a chunk of its own.
    pub(super) fn write_text(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let role = if std::mem::take(&mut self.client.owes_role) {
            r#""role":"assistant","#
        } else {
            ""
        };
        let delta = format!(r#"{{{role}"content":{}}}"#, quoted(text));
        self.write_delta(&delta, "null", out);
    }

    fn write_delta(&self, delta: &str, reason: &str, out: &mut Vec<u8>) {
        let (before, after) = match &self.shell {
            Some(shell) => (shell.before.as_str(), shell.after.as_str()),
            None => (r#"{"object":"chat.completion.chunk","choices":"#, "}"),
        };
        let index = self.index.as_deref().unwrap_or("0");
        let choice = format!(r#"[{{"index":{index},"delta":{delta},"finish_reason":{reason}}}]"#);
        sse::write(None, &format!("{before}{choice}{after}"), out);
    }

    fn stop_reasons(&self) -> &'static StopReasons {
        if self.legacy {
            &LEGACY_CHAT_STOP
        } else {
            &CHAT_STOP
        }
    }

    /// Writes everything that is held, each call as it was decided.
    pub(in crate::relay) fn write_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.state = MessageState::Forwarded;
        let chunks = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        let calls = self.place_calls(exchange.judge.settings.give_up);
        for text in &calls.texts {
            self.write_text(text, out);
        }
        let count = calls.count;
        let mut decisions = self.decisions.iter();
        let changed = self.fragments.irregular
            || calls.indexes.contains(&None)
            || decisions.any(|call| call.arguments.is_some() || call.call.alias.is_some());
        let mut rewrite = ChunkRewrite {
            calls,
            changed,
            begun: self.fragments.streamed.clone(),
        };
        let mut wrote_text_calls = self.stop.is_none();
        for chunk in &chunks {
            let last = is_last(chunk);
            if last && !wrote_text_calls {
                self.write_text_calls(&rewrite.calls, out);
                wrote_text_calls = true;
            }
            if last || changed {
                self.write_chunk(exchange, chunk, &mut rewrite, out);
            } else {
                self.forward(exchange, &chunk.event, out);
            }
        }
        if self.stop.is_none() && count > 0 {
            self.write_text_calls(&rewrite.calls, out);
            self.write_delta("{}", &quoted(self.stop_reasons().with_calls), out);
        }
        self.client.wrote_calls = count > 0;
    }

    /// Numbers the calls that the client gets. A call without a name has a number, too.
    fn place_calls(&mut self, give_up: GiveUp) -> PlacedCalls {
        let (mut indexes, mut texts) = (Vec::new(), Vec::new());
        let streamed = self.sources.iter().filter_map(CallSource::stream_index);
        let judged: HashSet<_> = streamed.collect();
        let (mut count, mut next) = (self.client.calls_before, 0);
        let all = self.fragments.sizes.len();
        let mut place_unnamed = |until: usize, count: &mut usize| {
            for number in (next..until).filter(|number| !judged.contains(number)) {
                self.client.unnamed.insert(number, *count);
                *count += 1;
            }
            next = next.max(until);
        };
        for (decision, source) in self.decisions.iter().zip(&self.sources) {
            place_unnamed(source.stream_index().unwrap_or(all), &mut count);
            let text = match (source, give_up) {
                _ if !decision.is_bad() => None,
                (_, GiveUp::Text) => Some(&decision.text),
                (CallSource::Text(text), GiveUp::AsSent) => Some(text),
                (CallSource::Stream(_), GiveUp::AsSent) => None,
            };
            indexes.push(text.is_none().then_some(count));
            count += usize::from(text.is_none());
            texts.extend(text.cloned());
        }
        place_unnamed(all, &mut count);
        PlacedCalls {
            indexes,
            count,
            texts,
        }
    }

    /// The decided calls, each with its source and the client's index.
    fn placed<'a>(
        &'a self,
        calls: &'a PlacedCalls,
    ) -> impl Iterator<Item = (&'a CallDecision, &'a CallSource, Option<usize>)> {
        let decided = self.decisions.iter().zip(&self.sources);
        decided
            .zip(&calls.indexes)
            .map(|((decision, source), index)| (decision, source, *index))
    }

    /// Writes the calls that were found in the text.
    fn write_text_calls(&self, calls: &PlacedCalls, out: &mut Vec<u8>) {
        for (decision, source, index) in self.placed(calls) {
            if let (CallSource::Text(_), Some(index)) = (source, index) {
                let fragment = whole_call(decision, index);
                self.write_delta(&format!(r#"{{"tool_calls":[{fragment}]}}"#), "null", out);
            }
        }
    }

    fn write_chunk(
        &self,
        exchange: &Exchange,
        chunk: &HeldChunk,
        rewrite: &mut ChunkRewrite,
        out: &mut Vec<u8>,
    ) {
        let data = chunk.event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return out.extend_from_slice(&chunk.event.raw);
        };
        let Some((choice, delta)) = delta_of(tree.root()) else {
            return self.forward(exchange, &chunk.event, out);
        };
        let mut splice = Splice::new(data);
        if !self.continue_message(exchange, tree.root(), &mut splice) {
            return;
        }
        let reason = finish_reason(choice);
        if reason.is_some()
            && !self.decisions.is_empty()
            && let Some(reason) = self.stop_reasons().corrected(reason, rewrite.calls.count)
        {
            splice.set(choice, "finish_reason", &quoted(reason));
        }
        if rewrite.changed && !chunk.pieces.is_empty() {
            let mut list = Vec::new();
            for (number, span) in &chunk.pieces {
                let first = rewrite.begun.insert(*number);
                let piece = data.get(span.clone()).unwrap_or_default();
                list.extend(self.write_piece(piece, *number, first, &rewrite.calls));
            }
            let key = calls_key(self.legacy);
            match delta.get(key) {
                Some(sent) if !list.is_empty() => {
                    let calls = if self.legacy {
                        list.concat()
                    } else {
                        format!("[{}]", list.join(","))
                    };
                    splice.replace(sent.span(), calls);
                }
                _ if list.is_empty() && reason.is_none() => return,
                _ => splice.remove(delta, key),
            }
        }
        write_spliced(&chunk.event, splice, out);
    }

    /// Rewrites one fragment. The first fragment of a call has all but the arguments, later ones
    /// have only arguments. Returns several calls if the fragments held several.
    fn write_piece(
        &self,
        piece: &str,
        number: usize,
        first: bool,
        calls: &PlacedCalls,
    ) -> Vec<String> {
        let Ok(tree) = Tree::parse(piece) else {
            return vec![piece.to_owned()];
        };
        let call = tree.root();
        let mut splice = Splice::new(piece);
        let own: Vec<_> = self
            .placed(calls)
            .filter(|(_, source, _)| **source == CallSource::Stream(number))
            .collect();
        let Some((decision, _, index)) = own.first() else {
            // A call without a name has nothing to correct but its index.
            if let Some(index) = self.client.unnamed.get(&number).filter(|_| !self.legacy) {
                splice.set(call, "index", &index.to_string());
            }
            return vec![splice.apply()];
        };
        let mut list = Vec::new();
        let function = if self.legacy {
            Some(call)
        } else {
            call.get("function")
        };
        let sent = function.and_then(|function| function.get("arguments"));
        let is_object = sent.is_some_and(|sent| sent.as_str().is_none() && !sent.is_null());
        let whole = decision.arguments.is_some() || own.len() > 1 || is_object;
        if let Some(index) = index.filter(|_| first || !whole) {
            self.write_head(
                call,
                function,
                first.then_some(*decision),
                index,
                &mut splice,
            );
            if whole && let Some(function) = function {
                let arguments = quoted(decision.final_arguments());
                splice.set(function, "arguments", &arguments);
                // Later fragments are left out, so that their other members are added here.
                let extras = self.fragments.extras.get(number).into_iter().flatten();
                for (key, value) in extras.filter(|(key, _)| call.get(key).is_none()) {
                    splice.set(call, key, value);
                }
            }
            list.push(splice.apply());
        }
        if first {
            let more = own.iter().skip(1);
            list.extend(more.filter_map(|(more, _, index)| Some(whole_call(more, (*index)?))));
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
        if !self.legacy {
            splice.set(call, "index", &index.to_string());
        }
        if let Some(decision) = first {
            if !self.legacy {
                splice.set(call, "id", &quoted_id(decision));
            }
            if let Some(function) = function {
                splice.set(function, "name", &quoted(&decision.call.name));
            }
            return;
        }
        if !self.legacy {
            splice.remove(call, "id");
        }
        if let Some(function) = function {
            splice.remove(function, "name");
        }
    }
}

/// Writes the event with its edits, or as it arrived if there are none.
fn write_spliced(event: &SseEvent, splice: Splice<'_>, out: &mut Vec<u8>) {
    if splice.is_empty() && !event.raw.is_empty() {
        out.extend_from_slice(&event.raw);
    } else {
        event.write_with(&splice.apply(), out);
    }
}

/// Returns true for the chunk that ends the message.
fn is_last(chunk: &HeldChunk) -> bool {
    let data = chunk.event.data.as_deref().unwrap_or_default();
    let tree = Tree::parse(data).ok();
    let delta = tree.as_ref().and_then(|tree| delta_of(tree.root()));
    delta.is_some_and(|(choice, _)| finish_reason(choice).is_some())
}

fn quoted_id(decision: &CallDecision) -> String {
    quoted(decision.call.id.as_deref().unwrap_or_default())
}

/// A call in one fragment.
fn whole_call(decision: &CallDecision, index: usize) -> String {
    let id = quoted_id(decision);
    let name = quoted(&decision.call.name);
    let arguments = quoted(decision.final_arguments());
    format!(
        r#"{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    )
}
