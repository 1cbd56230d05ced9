//! One choice in a stream of OpenAI Chat Completions, and of the many servers that speak it.
//!
//! Nothing marks the end of a call here, so calls are held until the message ends.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use goodcall_core::{Kind, Node, StopReason, Tree};

use super::desk::Stage;
use super::details::Details;
use super::exchange::Exchange;
use super::flow::Refused;
use super::found::Finder;
use super::judge::{CallDecision, GiveUp};
use super::reask::{legal_call, legal_function, legal_message};
use super::reply::{due_reason, reasons};
use crate::call::RawCall;
use crate::cuts::{Cuts, quoted};
use crate::envelope::{Provider, call_sites, is_client_side_call, stop_named};
use crate::sse::{self, SseEvent};
use crate::stream::Assembler;

/// One choice of a stream: one message.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    /// The choice that this is, by its number.
    index: Option<String>,
    /// The call comes in the older form: only one, without a number and an id.
    old: bool,
    assembler: Assembler,
    finder: Option<Finder>,
    /// Calls that were found in the text, each with the text that it was.
    found: Vec<(RawCall, String)>,
    /// Bytes of arguments that came for each call.
    sizes: Vec<usize>,
    held: Vec<Held>,
    bytes: usize,
    /// The text that went on.
    said: String,
    /// What else the message says, such as the reasoning.
    details: Details,
    /// What each call has beside its name and its arguments, such as a signature.
    extras: Vec<Vec<(String, String)>>,
    /// A chunk without its choices.
    shell: Option<(String, String)>,
    /// The id under which the client knows the message.
    id: Option<String>,
    rulings: Vec<CallDecision>,
    /// Where each call was.
    sources: Vec<Source>,
    /// Where the client finds calls that are no functions.
    unnamed: HashMap<usize, usize>,
    /// A fragment is not as it should be: the calls are written anew.
    odd: bool,
    /// Every fragment so far is part of a call that is valid as it comes.
    strict: bool,
    /// Calls of which fragments went on already.
    streamed: HashSet<usize>,
    /// Calls that the client has of earlier replies.
    base: usize,
    /// The chunk that says who speaks is held, or was.
    owes_role: bool,
    stage: Stage,
    stop: StopReason,
    finished: bool,
    wrote: bool,
}

/// Where a call was.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The so-manieth call of the stream.
    Stream(usize),
    /// In the text, as this.
    Text(String),
}

impl Source {
    /// The number of a call of the stream.
    fn number(&self) -> Option<usize> {
        match self {
            Source::Stream(number) => Some(*number),
            Source::Text(_) => None,
        }
    }
}

/// An event that waits for the verdict.
#[derive(Clone, Debug)]
struct Held {
    event: SseEvent,
    /// The fragments in it: the number of the call, and where the fragment stands.
    pieces: Vec<(usize, Range<usize>)>,
}

/// What a chunk brings.
#[derive(Default)]
pub(super) struct Chunk {
    pieces: Vec<(usize, Range<usize>)>,
    text: String,
    reason: Option<String>,
    role: bool,
}

impl Chat {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let tools = &exchange.judge.tools;
        let place = exchange.looks_in_text();
        let assembler = Assembler::new(Provider::OpenAi, tools.clone());
        Self {
            index: None,
            old: false,
            assembler: assembler.policy(goodcall_core::Policy::strict()),
            finder: place.map(|place| Finder::new(tools, place)),
            found: Vec::new(),
            sizes: Vec::new(),
            held: Vec::new(),
            bytes: 0,
            said: String::new(),
            details: Details::default(),
            extras: Vec::new(),
            shell: None,
            id: None,
            rulings: Vec::new(),
            sources: Vec::new(),
            unnamed: HashMap::new(),
            odd: false,
            strict: true,
            streamed: HashSet::new(),
            base: 0,
            owes_role: false,
            stage: Stage::Open,
            stop: StopReason::Unknown,
            finished: false,
            wrote: false,
        }
    }

    /// The next reply begins.
    pub(super) fn again(&mut self, exchange: &Exchange) {
        let (shell, id, index) = (self.shell.take(), self.id.take(), self.index.take());
        let base = self.base + self.streamed.len();
        *self = Self {
            shell,
            id,
            index,
            base,
            odd: base > 0,
            owes_role: self.owes_role,
            ..Self::new(exchange)
        };
    }

    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// Is this the choice of that number? The first one that comes is.
    pub(super) fn is(&self, index: &str) -> bool {
        self.index.as_deref().is_none_or(|own| own == index)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.stage == Stage::Refused
    }

    /// Calls went on, in events of ours.
    pub(super) fn wrote(&self) -> bool {
        self.wrote
    }

    /// An event that is about no choice.
    pub(super) fn other(&mut self, exchange: &Exchange, event: SseEvent, out: &mut Vec<u8>) {
        match self.stage == Stage::Refused || !self.held.is_empty() {
            true => self.hold(event, Vec::new()),
            false => self.pass(exchange, &event, out),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// A chunk that was looked at.
    pub(super) fn take(
        &mut self,
        exchange: &mut Exchange,
        mut event: SseEvent,
        chunk: Chunk,
        out: &mut Vec<u8>,
    ) {
        let calls = !chunk.pieces.is_empty();
        let plain = self.ends_plainly(&chunk);
        if !chunk.text.is_empty() && self.held.is_empty() && !plain {
            self.text(exchange, &mut event, &chunk, out);
            if !calls && chunk.reason.is_none() {
                return;
            }
        }
        let mut pieces = chunk.pieces;
        if calls && event.raw.is_empty() {
            // The text was cut out of it: the fragments stand elsewhere now.
            pieces = self.replace_pieces(&event, &pieces);
        }
        let streams = exchange.judge.settings.stream_arguments && self.held.is_empty();
        if calls && streams && self.strict && !self.odd && chunk.reason.is_none() {
            self.streamed
                .extend(pieces.iter().map(|(number, _)| *number));
            return self.pass(exchange, &event, out);
        }
        if let Some(reason) = &chunk.reason {
            self.stop = stop_named(reason);
            self.finished = true;
        }
        if calls || chunk.reason.is_some() || !self.held.is_empty() {
            self.owes_role |= chunk.role && chunk.text.is_empty();
            self.hold(event, pieces);
        } else {
            self.pass(exchange, &event, out);
        }
        if chunk.reason.is_some() {
            self.decide(exchange, out);
        }
    }

    /// Reads a chunk and what it says of this choice; its fragments go to the assembler.
    pub(super) fn look(&mut self, root: Node<'_>, choice: Option<Node<'_>>, data: &str) -> Chunk {
        let mut chunk = Chunk::default();
        let Some(choices) = root.get("choices") else {
            return chunk;
        };
        if self.shell.is_none() && choices.kind() == Kind::Array {
            let span = choices.span();
            let (before, behind) = (data.get(..span.start), data.get(span.end..));
            let own = |text: Option<&str>| text.unwrap_or_default().to_owned();
            self.shell = Some((own(before), own(behind)));
            let id = root.get("id").and_then(|id| data.get(id.span()));
            self.id = id.map(str::to_owned);
        }
        let Some(choice) = choice else {
            return chunk;
        };
        if self.index.is_none() {
            self.index = Some(index_of(choice).to_owned());
        }
        let reason = choice.get("finish_reason").and_then(Node::as_str);
        chunk.reason = reason
            .filter(|reason| !reason.is_empty())
            .map(str::to_owned);
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        for (key, value) in delta.into_iter().flat_map(Node::members) {
            match (key, value.as_str()) {
                ("content", Some(text)) => text.clone_into(&mut chunk.text),
                ("role", _) => chunk.role = true,
                ("tool_calls", _) if !self.old => {
                    for call in value.elements() {
                        let number = self.fragment(call, call.get("function"), data);
                        chunk.pieces.push((number, call.span()));
                    }
                }
                ("function_call", _) if value.kind() == Kind::Object => {
                    self.old |= self.assembler.len() == 0;
                    if self.old {
                        let number = self.fragment(value, Some(value), data);
                        chunk.pieces.push((number, value.span()));
                    }
                }
                ("content" | "tool_calls" | "function_call", _) => {}
                (key, _) => self.details.add(key, value),
            }
        }
        chunk
    }

    fn fragment(&mut self, call: Node<'_>, function: Option<Node<'_>>, data: &str) -> usize {
        let text = |node: Option<Node<'_>>| {
            let text = node.and_then(Node::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let before = self.assembler.len();
        let id = text(call.get("id")).filter(|id| id != "null" && !self.old);
        let name = text(function.and_then(|function| function.get("name")));
        let arguments = function.and_then(|function| function.get("arguments"));
        let arguments = arguments.filter(|node| !node.is_null());
        let raw = arguments.and_then(|node| match node.as_str() {
            Some(text) => Some(text.to_owned()),
            None => data.get(node.span()).map(str::to_owned),
        });
        let index = call.get("index").and_then(Node::digits);
        let index = index.filter(|_| !self.old);
        let (named, known) = (name.is_some(), id.is_some());
        // There is one call at most in the older form, whatever it is called later.
        let name = name.filter(|_| !self.old || before == 0);
        let size = raw.as_ref().map_or(0, String::len);
        let (number, strict) = self.assembler.fragment(index, id, name, raw);
        self.strict &= strict;
        let first = number >= before;
        self.sizes.resize(self.sizes.len().max(number + 1), 0);
        self.sizes[number] += size;
        self.keep_extras(number, call, data);
        let whole = arguments.is_none_or(|node| node.as_str().is_some());
        let right = self.old || index == Some(number.to_string().as_str());
        let told = (named || is_client_side_call(call)) && (known || self.old);
        self.odd |= !(right && whole) || (first && !told) || (!first && (named || known));
        number
    }

    /// What a call has beside what is judged is part of it in a history, too.
    fn keep_extras(&mut self, number: usize, call: Node<'_>, data: &str) {
        const JUDGED: [&str; 4] = ["index", "id", "type", "function"];
        self.extras
            .resize(self.extras.len().max(number + 1), Vec::new());
        let own = &mut self.extras[number];
        let more = call.members().filter(|(key, value)| {
            let judged = JUDGED.contains(key) || is_client_side_call(call);
            !judged && !value.is_null()
        });
        for (key, value) in more.filter(|_| !self.old) {
            let text = data.get(value.span()).unwrap_or_default().to_owned();
            match own.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => *known = text,
                None => own.push((key.to_owned(), text)),
            }
        }
    }

    /// Is this the last chunk of a message without calls? It goes on as it came, with its text.
    fn ends_plainly(&self, chunk: &Chunk) -> bool {
        let calls = self.assembler.len() > 0 || self.finder.is_some();
        chunk.reason.is_some() && !calls && self.held.is_empty()
    }

    /// Text on its way to the client; calls in it stay here.
    fn text(
        &mut self,
        exchange: &Exchange,
        event: &mut SseEvent,
        chunk: &Chunk,
        out: &mut Vec<u8>,
    ) {
        let sent = chunk.text.as_str();
        let released = match &mut self.finder {
            Some(finder) => {
                let found = finder.push(sent);
                self.found.extend(found.calls);
                found.text
            }
            None => sent.to_owned(),
        };
        self.said.push_str(&released);
        let alone = chunk.pieces.is_empty() && chunk.reason.is_none();
        if alone && released == sent {
            return self.pass(exchange, event, out);
        }
        let data = event.data.take().unwrap_or_default();
        if let Ok(tree) = Tree::parse(&data)
            && let Some((choice, delta)) = delta_of(tree.root())
        {
            let mut text = Cuts::new(&data);
            if let Some(said) = delta.get("content") {
                text.string(said.span(), &released);
            }
            text.remove(delta, self.key());
            if let Some(reason) = choice.get("finish_reason") {
                text.replace(reason.span(), "null");
            }
            // The rest of the chunk tells the usage.
            if tree
                .root()
                .get("usage")
                .is_some_and(|usage| !usage.is_null())
            {
                text.remove(tree.root(), "usage");
            }
            if !released.is_empty() {
                let text = text.apply();
                self.pass(exchange, &event.of_same_type(text), out);
            }
            let mut rest = Cuts::new(&data);
            rest.remove(delta, "content");
            let rest = rest.apply();
            drop(tree);
            *event = event.of_same_type(rest);
        }
    }

    /// The fragments' places in a chunk whose text was cut out.
    fn replace_pieces(
        &self,
        event: &SseEvent,
        pieces: &[(usize, Range<usize>)],
    ) -> Vec<(usize, Range<usize>)> {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return Vec::new();
        };
        let list = delta_of(tree.root()).and_then(|(_, delta)| delta.get(self.key()));
        let spans: Vec<_> = match self.old {
            true => list.map(Node::span).into_iter().collect(),
            false => list
                .into_iter()
                .flat_map(Node::elements)
                .map(Node::span)
                .collect(),
        };
        pieces
            .iter()
            .map(|(number, _)| *number)
            .zip(spans)
            .collect()
    }

    /// Where the calls of a message stand.
    fn key(&self) -> &'static str {
        match self.old {
            true => "function_call",
            false => "tool_calls",
        }
    }

    fn hold(&mut self, event: SseEvent, pieces: Vec<(usize, Range<usize>)>) {
        self.bytes += event.data.as_ref().map_or(0, String::len) + event.raw.len();
        self.held.push(Held { event, pieces });
    }

    /// The message is over, as far as its calls go.
    pub(super) fn decide(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.stage != Stage::Open {
            return;
        }
        self.judge(exchange, out);
        if self.rulings.iter().any(CallDecision::is_bad) && exchange.may_ask() {
            self.stage = Stage::Refused;
        } else {
            self.write(exchange, out);
        }
    }

    fn judge(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if let Some(finder) = &mut self.finder {
            let found = finder.finish();
            self.found.extend(found.calls);
            self.said.push_str(&found.text);
            self.write_text(&found.text, out);
        }
        let calls = self.taken_calls().into_iter();
        let calls = calls.map(|(number, call)| (Source::Stream(number), call));
        let found = std::mem::take(&mut self.found).into_iter();
        let found = found.map(|(call, text)| (Source::Text(text), call));
        let calls: Vec<_> = calls.chain(found).collect();
        let mut taken = HashSet::new();
        for (index, (source, call)) in calls.into_iter().enumerate() {
            let own = call.id.clone().filter(|id| taken.insert(id.clone()));
            self.odd |= own.is_none() && !self.old;
            let id = own.unwrap_or_else(|| exchange.made_up_id(self.first_number() + index));
            let call = call.with_id(id);
            let mut ruling = exchange.judge.rule(call, exchange.attempt, self.stop);
            if let Source::Stream(number) = source
                && self.sizes.get(number) != Some(&ruling.call.arguments.len())
                && !ruling.is_bad()
            {
                // Not all that came is part of the call.
                let arguments = ruling.call.arguments.clone();
                ruling.arguments.get_or_insert(arguments);
            }
            if matches!(&source, Source::Stream(number) if self.streamed.contains(number)) {
                ruling.went_on();
            }
            self.rulings.push(ruling);
            self.sources.push(source);
        }
        exchange.remember(&mut self.rulings);
    }

    /// The calls that came. Two objects cannot be two calls in the older form.
    fn taken_calls(&mut self) -> Vec<(usize, RawCall)> {
        let mut calls = self.assembler.take_calls();
        if self.old {
            for (_, more) in calls.split_off(calls.len().min(1)) {
                calls[0].1.arguments += &more.arguments;
            }
        }
        calls
    }

    /// Ids that are made up for one choice are not those of another.
    fn first_number(&self) -> usize {
        let index = self.index.as_deref().unwrap_or_default();
        index
            .parse()
            .map_or(0, |index: u16| usize::from(index) << 32)
    }

    pub(super) fn refused(&self) -> Option<Refused<'_>> {
        if self.stage != Stage::Refused {
            return None;
        }
        let calls = self.rulings.iter();
        let calls: Vec<_> = calls
            .map(|ruling| match self.old {
                true => legal_function(ruling),
                false => legal_call(Provider::OpenAi, ruling),
            })
            .zip(&self.sources)
            .map(|(call, source)| self.with_extras(call, source))
            .collect();
        let calls = match self.old {
            true => calls.concat(),
            false => format!("[{}]", calls.join(",")),
        };
        let said = Some(self.said.as_str()).filter(|said| !said.is_empty());
        Some(Refused {
            legal: legal_message(said, &self.details, self.key(), &calls),
            rulings: &self.rulings,
            passed: self.streamed.len(),
        })
    }

    /// A call of the history with what else came with it.
    fn with_extras(&self, call: String, source: &Source) -> String {
        let extras = source.number().and_then(|number| self.extras.get(number));
        let tree = Tree::parse(&call);
        let (Some(extras), Ok(tree)) = (extras, tree.as_ref().map(Tree::root)) else {
            return call;
        };
        let mut cuts = Cuts::new(&call);
        for (key, value) in extras {
            cuts.set(tree, key, value);
        }
        cuts.apply()
    }

    /// The stream broke: what is whole goes on, half a call does not.
    pub(super) fn cut(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        match self.stage {
            Stage::Passed => return,
            Stage::Refused => return self.write(exchange, out),
            Stage::Open => {}
        }
        self.judge(exchange, out);
        match self.rulings.iter().any(CallDecision::is_bad) {
            true => self.held.clear(),
            false => self.write(exchange, out),
        }
        self.stage = Stage::Passed;
    }

    /// Too much is held: it goes on as it is.
    pub(super) fn let_go(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.stage == Stage::Open {
            let calls = self.taken_calls().into_iter();
            let attempt = exchange.attempt;
            let unjudged = calls.map(|(_, call)| exchange.judge.unjudged(call, attempt));
            let mut unjudged: Vec<_> = unjudged.collect();
            exchange.remember(&mut unjudged);
        }
        for held in std::mem::take(&mut self.held) {
            let named = own_names(&held.event, exchange);
            self.pass(exchange, named.as_ref().unwrap_or(&held.event), out);
        }
        self.stage = Stage::Passed;
    }
}

/// An event whose calls have the names that the client knows; `None` if they do.
fn own_names(event: &SseEvent, exchange: &Exchange) -> Option<SseEvent> {
    let tools = &exchange.judge.tools;
    let data = event.data.as_deref().filter(|_| tools.is_renamed())?;
    let tree = Tree::parse(data).ok()?;
    let mut cuts = Cuts::new(data);
    for site in call_sites(Provider::OpenAi, tree.root()) {
        if let Some(own) = tools.canonical_name(&site.name) {
            cuts.string(site.name_span, own);
        }
    }
    (!cuts.is_empty()).then(|| event.of_same_type(cuts.apply()))
}

mod writing;

/// The number of a choice; servers that send only one may leave it out.
pub(super) fn index_of(choice: Node<'_>) -> &str {
    let index = choice.get("index").and_then(Node::digits);
    index.unwrap_or("0")
}

/// The choice and its delta.
fn delta_of(root: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let choice = root.get("choices")?.element(0)?;
    let delta = choice.get("delta").or_else(|| choice.get("message"))?;
    Some((choice, delta))
}
