//! Finding calls in text that comes in pieces.
//!
//! The scanner stands in text, behind a marker, or inside a candidate that no marker announced.
//! Text that cannot be part of a call is released at once; a whole text is scanned as one piece,
//! so that any split gives what the whole gives.

use std::collections::HashSet;
use std::ops::Range;

use super::body::{self, Block};
use super::lexer::{Lexer, Step, Until, starts};
use super::markers::{Body, MARKERS, Marker};
use super::{Context, Extraction, Found, Where, pythonic, shapes};
use crate::call::{Call, State as CallState};
use crate::tools::Tools;

/// Candidates that may turn out to be no call only at the end of the text.
const PATIENCE: usize = 16;
/// Bytes of text that are kept behind the last release.
const KEEP: usize = 1 << 16;

/// A piece of a scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// Text that is no call.
    Text(String),
    /// A call.
    Call(Call),
}

/// A resumable search for calls in text.
///
/// ```
/// use goodcall_wire::{Piece, Scanner, Tools, Where};
///
/// let tools = Tools::read(r#"{"name": "now", "parameters": {}}"#)?;
/// let mut scanner = Scanner::new(tools, Where::Explicit);
/// let mut pieces = scanner.push("It is <tool_c");
/// assert_eq!(pieces, [Piece::Text("It is ".to_owned())]);
/// pieces = scanner.push("all>{\"name\": \"now\"}</tool_call>");
/// assert!(matches!(&pieces[..], [Piece::Call(call)] if call.name == "now"));
/// assert!(scanner.finish().is_empty());
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    pub(super) tools: Tools,
    place: Where,
    /// Only markers of this dialect count.
    dialect: Option<&'static str>,
    /// Inside a marked block: unmarked forms only, and they count as marked.
    inner: bool,
    pub(super) text: String,
    /// Where `text` begins in the whole text.
    base: usize,
    pub(super) at: usize,
    released: usize,
    pub(super) state: State,
    /// Calls that are not certain yet.
    held: Vec<Held>,
    /// Nothing but calls so far: the message may be a call as a whole.
    virgin: bool,
    pub(super) fence: Option<Fence>,
    /// Brackets before this place were tried.
    pub(super) tried: usize,
    patience: usize,
    /// The strongest form of call so far.
    strength: Strength,
    /// Nothing but calls and brackets on this line so far.
    fresh_line: bool,
    seen: HashSet<(String, String)>,
    /// The model's turn is over; what it wrote then is text.
    over: bool,
    out: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Text,
    Marked {
        marker: &'static Marker,
        start: usize,
        body: usize,
        lexer: Lexer,
    },
    Unmarked { start: usize, lexer: Lexer },
}

/// A code fence that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    start: usize,
    /// It held nothing but calls so far.
    clean: bool,
}

#[derive(Clone, Debug)]
struct Held {
    span: Range<usize>,
    calls: Vec<Call>,
}

/// How clearly a call is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    /// In Python's form inside a sentence.
    Mentioned,
    /// In Python's form on a line of its own, or in a list.
    Standing,
    Json,
    /// Behind a marker, or in a fence.
    Marked,
}

/// What the text at one place may be.
pub(super) enum Look {
    /// More of the text is needed to tell.
    More,
    /// Text up to here.
    Text(usize),
    /// A candidate begins here.
    Enter(State),
    /// The state has changed already.
    Done,
}

impl Scanner {
    /// A scanner for all dialects.
    pub fn new(tools: Tools, place: Where) -> Self {
        Self {
            tools,
            place,
            dialect: None,
            inner: false,
            text: String::new(),
            base: 0,
            at: 0,
            released: 0,
            state: State::Text,
            held: Vec::new(),
            virgin: true,
            fence: None,
            tried: 0,
            patience: PATIENCE,
            strength: Strength::None,
            fresh_line: true,
            seen: HashSet::new(),
            over: false,
            out: Vec::new(),
        }
    }

    /// Only this dialect counts, by its name in [`dialects`](crate::dialects); unmarked forms
    /// still count where they are asked for. An unknown name changes nothing.
    #[must_use]
    pub fn dialect(mut self, name: &str) -> Self {
        self.dialect = super::dialects().into_iter().find(|known| *known == name);
        self
    }

    /// A scanner for the inside of a marked block.
    pub(super) fn inner(tools: Tools, place: Where, base: usize) -> Self {
        let mut scanner = Self::new(tools, place);
        (scanner.inner, scanner.base) = (true, base);
        scanner
    }

    /// Takes the next piece of the text, and gives back what is certain now.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.text.push_str(text);
        self.run(false);
        self.release();
        self.compact();
        std::mem::take(&mut self.out)
    }

    /// The text is over; the rest of what it holds.
    pub fn finish(&mut self) -> Vec<Piece> {
        self.run(true);
        self.commit(true);
        self.released_to(self.text.len());
        std::mem::take(&mut self.out)
    }

    /// The calls and the rest of a whole text.
    pub fn whole(mut self, text: &str) -> Extraction {
        let mut extraction = Extraction::default();
        let mut pieces = self.push(text);
        pieces.append(&mut self.finish());
        for piece in pieces {
            match piece {
                Piece::Text(text) => extraction.text.push_str(&text),
                Piece::Call(call) => extraction.calls.push(call),
            }
        }
        extraction
    }

    /// The calls of a whole text that stands behind a marker.
    pub(super) fn found(mut self, text: &str) -> Vec<Found> {
        let mut pieces = self.push(text);
        pieces.append(&mut self.finish());
        let calls = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Call(call) => Some(call.into_found()),
            Piece::Text(_) => None,
        });
        calls.collect()
    }

    fn run(&mut self, done: bool) {
        while self.at < self.text.len() || !matches!(self.state, State::Text) {
            let on = match &self.state {
                State::Text => self.read_text(done),
                State::Marked { .. } => self.read_marked(done),
                State::Unmarked { .. } => self.read_unmarked(done),
            };
            if !on {
                return;
            }
        }
    }

    fn read_text(&mut self, done: bool) -> bool {
        match self.look(done) {
            Look::More => return false,
            Look::Done => {}
            Look::Enter(state) => self.state = state,
            Look::Text(end) => {
                if !self.is_between(self.at..end) {
                    self.soil();
                }
                self.line(self.at..end);
                self.at = end;
            }
        }
        true
    }

    /// May this stand between the calls of a message that is nothing but calls?
    fn is_between(&self, range: Range<usize>) -> bool {
        let text = &self.text[range];
        let blank = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
        text.chars().all(blank)
            || (text.starts_with("<|") && text.ends_with("|>"))
            || matches!(text, "<s>" | "</s>" | "assistant")
    }

    /// Remembers if this line holds anything but calls.
    fn line(&mut self, range: Range<usize>) {
        for c in self.text[range].chars() {
            match c {
                '\n' => self.fresh_line = true,
                c if c.is_whitespace() || c.is_ascii_punctuation() || c.is_ascii_digit() => {}
                _ => self.fresh_line = false,
            }
        }
    }

    /// Text that is no call was seen.
    fn soil(&mut self) {
        if self.place == Where::Explicit && !self.inner && self.fence.is_none_or(|fence| !fence.clean) {
            // The message is no call as a whole: what looked like one is text.
            if self.virgin {
                self.held.clear();
            }
        } else {
            self.commit(false);
        }
        self.virgin = false;
        if let Some(fence) = &mut self.fence {
            fence.clean = false;
        }
    }

    /// Do calls count here without a marker?
    pub(super) fn takes_unmarked(&self) -> bool {
        let place = self.place == Where::Anywhere || self.inner || self.virgin;
        self.patience > 0 && !self.over && (place || self.fence.is_some())
    }

    pub(super) fn takes_markers(&self) -> bool {
        !self.inner && !self.over
    }

    /// Another turn begins: once there are calls, what follows is no longer this message.
    pub(super) fn end_turn(&mut self) {
        self.over = self.over || self.strength > Strength::None;
    }

    /// Markers that count.
    pub(super) fn markers(&self) -> impl Iterator<Item = &'static Marker> {
        let dialect = self.dialect;
        MARKERS
            .iter()
            .filter(move |marker| dialect.is_none_or(|name| marker.dialect == name))
    }

    /// The reasoning is over: from here on the message may be a call as a whole.
    pub(super) fn begin_again(&mut self) {
        self.soil();
        self.virgin = true;
    }

    pub(super) fn open_fence(&mut self, start: usize, end: usize) {
        let whole = self.virgin && !self.held.is_empty();
        // A fence behind a call that may be the whole message: nothing yet.
        let clean = !whole;
        self.fence = Some(Fence { start, clean });
        self.at = end;
    }

    pub(super) fn close_fence(&mut self, end: usize) {
        let clean = self.fence.take().filter(|fence| fence.clean);
        self.at = end;
        let Some(fence) = clean else { return };
        if self.held.is_empty() {
            self.virgin = false;
            return;
        }
        // The fence held calls and nothing else: it goes with them.
        let calls = self.held.drain(..).flat_map(|held| held.calls).collect();
        self.emit(fence.start..end, calls);
    }

    fn read_marked(&mut self, done: bool) -> bool {
        let State::Marked { marker, start, body, lexer } = &mut self.state else {
            return false;
        };
        let (marker, start, body) = (*marker, *start, *body);
        let step = lexer.run(&self.text, marker.until, done);
        let stuck = lexer.is_inside_value();
        let (body_end, after, closed) = match step {
            Step::More if !done => return false,
            Step::End { body, after } => (body, after, after > body || !done || after < self.text.len()),
            Step::More if stuck && self.patience > 0 => self.first_close(marker, body),
            Step::More => (self.text.len(), self.text.len(), false),
            Step::Fail => return self.leave(start + marker.open.len()),
        };
        // Where the marker is the first tag, its end is the last one.
        let end = if marker.body == Body::Tags { after } else { body_end };
        let block = Block {
            text: &self.text[start..end],
            body: body - start,
            base: self.base + start,
            closed,
        };
        let found = body::calls(&block, marker, &self.tools);
        if !found.iter().any(|call| self.tools.meant(&call.name).is_some()) {
            return self.leave(body);
        }
        self.state = State::Text;
        self.at = after;
        self.accept(start..after, found, Strength::Marked);
        true
    }

    /// The string that never ended was none: the block ends at its first end marker.
    fn first_close(&mut self, marker: &Marker, body: usize) -> (usize, usize, bool) {
        self.patience -= 1;
        let rest = &self.text[body..];
        let Until::Marker { close, .. } = marker.until else {
            return (self.text.len(), self.text.len(), false);
        };
        let found = close.iter().filter_map(|mark| Some((rest.find(mark)?, mark.len())));
        match found.min() {
            Some((at, size)) => (body + at, body + at + size, true),
            None => (self.text.len(), self.text.len(), false),
        }
    }

    /// What looked like a call is none: its first bytes are text, the rest is looked at again.
    fn leave(&mut self, at: usize) -> bool {
        self.state = State::Text;
        self.at = at;
        self.soil();
        true
    }

    fn read_unmarked(&mut self, done: bool) -> bool {
        let State::Unmarked { start, lexer } = &mut self.state else {
            return false;
        };
        let start = *start;
        let step = lexer.run(&self.text, Until::Brackets { several: false }, done);
        let first = self.text.as_bytes().get(start).copied();
        let bracket = matches!(first, Some(b'{' | b'['));
        let end = match step {
            Step::More if !done => return false,
            Step::End { after, .. } => after,
            Step::More | Step::Fail => {
                self.patience -= 1;
                return self.cut_off(start, bracket, step == Step::Fail);
            }
        };
        let found = self.candidate(start..end, bracket);
        if found.is_empty() {
            return self.reject(start, end, bracket);
        }
        self.state = State::Text;
        self.at = end;
        let strength = self.strength_of(bracket);
        self.accept(start..end, found, strength);
        true
    }

    fn candidate(&self, range: Range<usize>, bracket: bool) -> Vec<Found> {
        let context = Context { tools: &self.tools };
        let (text, base) = (&self.text[range.clone()], self.base + range.start);
        if !bracket {
            let call = pythonic::call(text, base, &context).map(|(call, _)| call);
            let call = call.filter(|call| self.is_meant(call));
            return call.into_iter().collect();
        }
        let mut found = Vec::new();
        if text.starts_with('[') {
            found = pythonic::sequence(text, base, &context).unwrap_or_default();
        }
        if found.is_empty() {
            found = shapes::calls(text, base, &context);
        }
        let offered = |call: &Found| self.tools.meant(&call.name).is_some();
        if !found.iter().any(offered) {
            found.clear();
        }
        found
    }

    /// Is a call in Python's form meant as one, and not only mentioned?
    fn is_meant(&self, call: &Found) -> bool {
        let Some(tool) = self.tools.meant(&call.name) else {
            return false;
        };
        let readable = matches!(call.state, CallState::Whole);
        readable && (!call.bare || tool.needs_nothing())
    }

    /// No call: its first byte is text, the rest is looked at again for other forms.
    fn reject(&mut self, start: usize, end: usize, bracket: bool) -> bool {
        let next = if bracket {
            self.tried = self.tried.max(end);
            start + 1
        } else {
            let text = &self.text[start..];
            start + pythonic::callee(text).map_or(1, |(_, open)| open + 1)
        };
        self.leave(next)
    }

    /// The text ends inside a candidate.
    fn cut_off(&mut self, start: usize, bracket: bool, failed: bool) -> bool {
        let certain = self.virgin || self.inner || self.fence.is_some();
        if certain && !failed {
            let context = Context { tools: &self.tools };
            let (text, base) = (&self.text[start..], self.base + start);
            let mut found = match bracket {
                true => shapes::calls(text, base, &context),
                false => pythonic::call(text, base, &context).map(|(call, _)| call).into_iter().collect(),
            };
            found.retain(|call| self.tools.meant(&call.name).is_some());
            if let Some(last) = found.last_mut() {
                if last.state == CallState::Whole {
                    last.state = CallState::Open;
                }
                self.state = State::Text;
                self.at = self.text.len();
                let strength = self.strength_of(bracket);
                self.accept(start..self.at, found, strength);
                return true;
            }
        }
        let end = self.text.len();
        self.reject(start, end, bracket)
    }

    fn strength_of(&self, bracket: bool) -> Strength {
        match (bracket, self.fresh_line) {
            _ if self.fence.is_some() || self.inner => Strength::Marked,
            (true, _) => Strength::Json,
            (false, true) => Strength::Standing,
            (false, false) => Strength::Mentioned,
        }
    }

    /// Takes the calls of one place.
    fn accept(&mut self, span: Range<usize>, found: Vec<Found>, strength: Strength) {
        let mut calls: Vec<Call> = found.into_iter().map(|call| call.into_call(&self.tools)).collect();
        if self.place == Where::Anywhere && !self.inner {
            // Said again, or said in prose after it was said in form: only a mention.
            if strength < self.strength.min(Strength::Json) {
                calls.clear();
            }
            let seen = &self.seen;
            calls.retain(|call| !seen.contains(&key_of(call)));
        }
        if calls.is_empty() {
            self.soil();
            return;
        }
        self.strength = self.strength.max(strength);
        self.seen.extend(calls.iter().map(key_of));
        let whole = self.place == Where::Explicit && !self.inner && self.virgin && strength < Strength::Marked;
        let fenced = self.fence.is_some_and(|fence| fence.clean);
        if whole || fenced {
            self.held.push(Held { span, calls });
        } else {
            self.virgin &= strength < Strength::Marked;
            self.emit(span, calls);
        }
    }

    /// What was held is certain: it goes out as calls.
    fn commit(&mut self, done: bool) {
        let whole = done && self.place == Where::Explicit && self.virgin;
        let Some(first) = self.held.first().map(|held| held.span.start) else {
            return;
        };
        let held = std::mem::take(&mut self.held);
        if whole {
            // The message is its calls: what stands between them goes with them.
            let end = held.last().map_or(first, |held| held.span.end);
            let calls = held.into_iter().flat_map(|held| held.calls).collect();
            return self.emit(first..end, calls);
        }
        for Held { span, calls } in held {
            self.emit(span, calls);
        }
    }

    fn emit(&mut self, span: Range<usize>, calls: Vec<Call>) {
        self.released_to(span.start);
        self.released = span.end.max(self.released);
        self.out.extend(calls.into_iter().map(Piece::Call));
    }

    fn released_to(&mut self, end: usize) {
        if end <= self.released {
            return;
        }
        let text = &self.text[self.released..end];
        match self.out.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.out.push(Piece::Text(text.to_owned())),
        }
        self.released = end;
    }

    /// Releases the text that can be part of no call.
    fn release(&mut self) {
        let mut end = match &self.state {
            State::Text => self.at,
            State::Marked { start, .. } | State::Unmarked { start, .. } => *start,
        };
        if let Some(held) = self.held.first() {
            end = end.min(held.span.start);
        }
        if let Some(fence) = self.fence.filter(|fence| fence.clean) {
            end = end.min(fence.start);
        }
        self.released_to(end);
    }

    /// Forgets released text.
    fn compact(&mut self) {
        // The word before the cursor stays, to see that a name does not begin inside one.
        let most = self.released.min(self.at);
        let by = most.saturating_sub(64);
        if by < KEEP || by < self.text.len() / 2 {
            return;
        }
        let mut by = by;
        while !self.text.is_char_boundary(by) {
            by -= 1;
        }
        self.text.drain(..by);
        self.base += by;
        self.at -= by;
        self.released -= by;
        self.tried = self.tried.saturating_sub(by);
        for held in &mut self.held {
            held.span = held.span.start - by..held.span.end - by;
        }
        if let Some(fence) = &mut self.fence {
            fence.start = fence.start.saturating_sub(by);
        }
        match &mut self.state {
            State::Text => {}
            State::Marked { start, body, lexer, .. } => {
                *start -= by;
                *body -= by;
                lexer.shift(by);
            }
            State::Unmarked { start, lexer } => {
                *start -= by;
                lexer.shift(by);
            }
        }
    }

    /// Does a marker stand here? `None`: not yet known.
    pub(super) fn marker_at(&self, done: bool) -> Option<Option<&'static Marker>> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut best: Option<&'static Marker> = None;
        for marker in self.markers() {
            if marker.open.as_bytes().first() != rest.first() {
                continue;
            }
            match starts(rest, marker.open, done) {
                None => return None,
                Some(true) if best.is_none_or(|best| best.open.len() < marker.open.len()) => {
                    best = Some(marker);
                }
                Some(_) => {}
            }
        }
        Some(best)
    }
}

/// What makes two calls the same.
fn key_of(call: &Call) -> (String, String) {
    let arguments = match goodcall_core::Tree::parse(&call.arguments) {
        Ok(tree) => tree.to_json(),
        Err(_) => call.arguments.clone(),
    };
    (call.name.clone(), arguments)
}
