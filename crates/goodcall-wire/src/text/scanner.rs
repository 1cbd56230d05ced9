//! Finding calls in text that comes in pieces.
//!
//! The scanner stands in text, behind a marker, or inside a candidate that no marker announced.
//! Text that cannot be part of a call is released at once; a whole text is scanned as one piece,
//! so that any split gives what the whole gives.

use std::collections::HashSet;
use std::ops::Range;

use super::call_end::{Lexer, Step, Until};
use super::code_fence::Fence;
use super::ignored_blocks::{Line, Quiet, ends_thought};
use super::marked_block::Block;
use super::markers::{Body, MARKERS, Marker};
use super::tool_elements::{self, Element};
use super::{
    Context, Extraction, Found, TextCallScope, control_tokens, json_calls, python_calls,
    unreadable_calls,
};
use crate::call::{RawCall, State as CallState};
use crate::tools::Tools;

/// Candidates that may turn out to be no call only at the end of the text.
const PATIENCE: usize = 16;

/// The end marker that comes without its opening one.
pub(super) const CLOSE: &str = "</tool_call>";

/// A piece of a scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPiece {
    /// Text that is no call.
    Text(String),
    /// A call.
    Call(RawCall),
}

/// A resumable search for calls in text.
///
/// ```
/// use goodcall_wire::{TextPiece, Scanner, Tools, TextCallScope};
///
/// let tools = Tools::read(r#"{"name": "now", "parameters": {}}"#)?;
/// let mut scanner = Scanner::new(tools, TextCallScope::Explicit);
/// let mut pieces = scanner.push("It is <tool_c");
/// assert_eq!(pieces, [TextPiece::Text("It is ".to_owned())]);
/// pieces = scanner.push("all>{\"name\": \"now\"}</tool_call>");
/// // A `</think>` that nobody opened may still show that this was a thought.
/// assert!(pieces.is_empty());
/// pieces = scanner.finish();
/// assert!(matches!(&pieces[..], [TextPiece::Call(call)] if call.name == "now"));
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    pub(super) tools: Tools,
    pub(super) place: TextCallScope,
    /// Only markers of this dialect count.
    pub(super) dialect: Option<&'static str>,
    /// Inside a marked block: unmarked forms only, and they count as marked.
    pub(super) inner: bool,
    pub(super) text: String,
    /// Where `text` begins in the whole text.
    pub(super) base: usize,
    pub(super) at: usize,
    pub(super) released: usize,
    pub(super) state: State,
    /// Calls that are not certain yet.
    pub(super) held: Vec<Held>,
    /// Nothing but calls so far: the message may be a call as a whole.
    pub(super) virgin: bool,
    pub(super) fence: Option<Fence>,
    /// Brackets before this place were tried.
    pub(super) tried: usize,
    pub(super) patience: usize,
    /// Bytes behind markers that were looked at and no call, and where the last of them stood.
    pub(super) wasted: usize,
    pub(super) furthest: usize,
    /// The strongest form of call so far.
    pub(super) strength: Strength,
    pub(super) line: Line,
    /// A thought has ended: what comes now is meant.
    pub(super) reasoned: bool,
    pub(super) seen: HashSet<(String, String)>,
    /// The model's turn is over; what it wrote then is text.
    pub(super) over: bool,
    /// There was a call after which the model must wait for an observation.
    pub(super) acted: bool,
    pub(super) out: Vec<TextPiece>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Text,
    Marked {
        marker: &'static Marker,
        start: usize,
        body: usize,
        lexer: Lexer,
        /// Only quoted: no call, whatever it holds.
        quoted: bool,
    },
    Quiet(&'static Quiet),
    /// Behind a tag that is a tool's name.
    Element {
        start: usize,
        body: usize,
        element: Element,
    },
    Unmarked {
        start: usize,
        lexer: Lexer,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) span: Range<usize>,
    pub(super) calls: Vec<RawCall>,
    /// They count only if the message holds nothing else; never where text was seen already.
    pub(super) whole: bool,
}

/// How clearly a call is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
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
    pub fn new(tools: Tools, place: TextCallScope) -> Self {
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
            wasted: 0,
            furthest: 0,
            strength: Strength::None,
            line: Line::new(),
            reasoned: false,
            seen: HashSet::new(),
            over: false,
            acted: false,
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
    pub(super) fn inner(tools: Tools, place: TextCallScope, base: usize) -> Self {
        let mut scanner = Self::new(tools, place);
        (scanner.inner, scanner.base) = (true, base);
        scanner
    }

    /// Takes the next piece of the text, and gives back what is certain now.
    pub fn push(&mut self, text: &str) -> Vec<TextPiece> {
        self.text.push_str(text);
        self.run(false);
        self.release();
        self.compact();
        std::mem::take(&mut self.out)
    }

    /// The text is over; the rest of what it holds.
    pub fn finish(&mut self) -> Vec<TextPiece> {
        self.run(true);
        self.end_fence();
        self.commit();
        self.released_to(self.text.len());
        std::mem::take(&mut self.out)
    }

    /// Bytes of the text that were given out, as text or as calls.
    pub(crate) fn done(&self) -> usize {
        self.base + self.released
    }

    /// The calls and the rest of a whole text.
    pub fn whole(mut self, text: &str) -> Extraction {
        let mut extraction = Extraction::default();
        let mut pieces = self.push(text);
        pieces.append(&mut self.finish());
        for piece in pieces {
            match piece {
                TextPiece::Text(text) => extraction.text.push_str(&text),
                TextPiece::Call(call) => extraction.calls.push(call),
            }
        }
        extraction
    }

    /// The calls of a whole text that stands behind a marker.
    pub(super) fn found(mut self, text: &str) -> Vec<Found> {
        let mut pieces = self.push(text);
        pieces.append(&mut self.finish());
        let calls = pieces.into_iter().filter_map(|piece| match piece {
            TextPiece::Call(call) => Some(call.into_found()),
            TextPiece::Text(_) => None,
        });
        calls.collect()
    }

    fn run(&mut self, done: bool) {
        while self.at < self.text.len() || !matches!(self.state, State::Text) {
            let on = match &self.state {
                State::Text => self.read_text(done),
                State::Marked { .. } => self.read_marked(done),
                State::Quiet(block) => self.read_quiet(block, done),
                State::Element { .. } => self.read_element(done),
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
                if &self.text[self.at..end] == CLOSE
                    && let Some(held) = self.held.last_mut().filter(|held| held.whole)
                {
                    // Only its opening marker is missing.
                    held.span.end = end;
                }
                if !self.is_between(self.at..end) {
                    self.soil();
                }
                let text = &self.text[self.at..end];
                self.line.take(text);
                if let Some(fence) = &mut self.fence {
                    fence.text(text);
                }
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
            || (text == CLOSE && self.held.last().is_some_and(|held| held.whole))
    }

    /// Text that is no call was seen.
    pub(super) fn soil(&mut self) {
        // The message is no call as a whole: what looked like one is text. Once that is known,
        // nothing waits for it: looking through all that is held for every text is not linear.
        if std::mem::take(&mut self.virgin) {
            self.held.retain(|held| !held.whole);
        }
        if let Some(fence) = &mut self.fence {
            fence.clean = false;
        }
    }

    /// Do calls count here without a marker?
    pub(super) fn takes_unmarked(&self) -> bool {
        let place = self.place == TextCallScope::Anywhere || self.inner || self.virgin;
        let quoted = self.line.quote && self.fence.is_none();
        self.patience > 0 && !self.over && !quoted && (place || self.fence.is_some())
    }

    pub(super) fn takes_markers(&self) -> bool {
        // Many markers that each look at all the text behind them are no calls.
        let bounded = self.wasted <= PATIENCE.saturating_mul(self.furthest);
        !self.inner && !self.over && bounded
    }

    /// What was looked at from a marker on is no call.
    fn waste(&mut self, range: Range<usize>) {
        self.wasted = self.wasted.saturating_add(range.len());
        self.furthest = self.furthest.max(self.base + range.end);
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

    fn read_marked(&mut self, done: bool) -> bool {
        let State::Marked {
            marker,
            start,
            body,
            lexer,
            quoted,
        } = &mut self.state
        else {
            return false;
        };
        let (marker, start, body, quoted) = (*marker, *start, *body, *quoted);
        let step = lexer.run(&self.text, marker.until, done);
        let (stuck, reached) = (lexer.is_inside_value(), lexer.reached());
        let (body_end, after, closed) = match step {
            Step::More if !done => return false,
            Step::End { body, after } => (
                body,
                after,
                after > body || !done || after < self.text.len(),
            ),
            Step::More if ends_thought(&self.text[body..]) => {
                self.waste(start..self.text.len());
                return self.leave(body);
            }
            Step::More if stuck && self.patience > 0 => self.first_close(marker, body),
            Step::More => (self.text.len(), self.text.len(), false),
            Step::Fail => {
                self.waste(start..reached);
                return self.leave(start + marker.open.len());
            }
        };
        if quoted {
            self.waste(start..after);
            return self.leave(if closed { after } else { body });
        }
        // Where the marker is the first tag, its end is the last one.
        let end = if marker.body == Body::Tags {
            after
        } else {
            body_end
        };
        let block = Block {
            text: &self.text[start..end],
            body: body - start,
            base: self.base + start,
            closed,
        };
        if marker.body == Body::Harmony && control_tokens::is_thought(&self.text[body..end]) {
            self.state = State::Text;
            self.at = body_end;
            self.soil();
            return true;
        }
        let found = self.found_in(&block, marker);
        if found.is_empty() {
            self.waste(start..after);
            return self.leave(body);
        }
        let after = match !closed && marker.body == Body::Any {
            true => self.end_of(&found, after),
            false => after,
        };
        self.state = State::Text;
        self.at = after;
        self.acted |= marker.body == Body::React && !self.inner;
        self.accept(start..after, found, Strength::Marked);
        true
    }

    /// Where the calls of a block without an end marker end: what follows the last of them, and
    /// its brackets, is text.
    fn end_of(&self, found: &[Found], after: usize) -> usize {
        let last = found.last();
        last.filter(|last| last.state == CallState::Whole)
            .map_or(after, |last| {
                let rest = &self.text[last.span.end - self.base..];
                let brackets = [' ', '\t', '\r', '\n', ']', '}', ')'];
                self.text.len() - rest.trim_start_matches(brackets).len()
            })
    }

    fn read_element(&mut self, done: bool) -> bool {
        let State::Element {
            start,
            body,
            element,
        } = &mut self.state
        else {
            return false;
        };
        let (start, body) = (*start, *body);
        let tool = self.tools.told(&element.name);
        let (end, closed) = match element.run(&self.text, tool) {
            tool_elements::Step::More if !done => return false,
            tool_elements::Step::More => (self.text.len(), false),
            tool_elements::Step::End(end) => (end, true),
            tool_elements::Step::Fail => return self.leave(body),
        };
        let element = element.clone();
        let found = element.found(&self.text, self.base, start..end, closed, tool);
        (self.state, self.at) = (State::Text, end);
        self.accept(start..end, vec![found], Strength::Marked);
        true
    }

    /// The string that never ended was none: the block ends at its first end marker.
    fn first_close(&mut self, marker: &Marker, body: usize) -> (usize, usize, bool) {
        self.patience -= 1;
        let rest = &self.text[body..];
        let Until::Marker { close, .. } = marker.until else {
            return (self.text.len(), self.text.len(), false);
        };
        let found = close
            .iter()
            .filter_map(|mark| Some((rest.find(mark)?, mark.len())));
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
        let reached = lexer.reached();
        let first = self.text.as_bytes().get(start).copied();
        let bracket = matches!(first, Some(b'{' | b'['));
        let end = match step {
            Step::More if !done => return false,
            Step::End { after, .. } => after,
            Step::More => {
                self.patience -= 1;
                return self.cut_off(start, bracket);
            }
            // How much of the text is known behind this must not matter.
            Step::Fail => {
                self.patience -= 1;
                return self.reject(start, reached, bracket);
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
            let call = python_calls::call(text, base, &context).map(|(call, _)| call);
            let call = call.filter(|call| self.is_meant(call, text));
            return call.into_iter().collect();
        }
        let mut found = Vec::new();
        if text.starts_with('[') {
            found = python_calls::sequence(text, base, &context).unwrap_or_default();
        }
        if found.is_empty() {
            let readable = |call: &Found| call.state == CallState::Whole;
            found = unreadable_calls::list(text, base, &context);
            // In prose, a list that can be read nowhere is none.
            let nests = self.place == TextCallScope::Anywhere && unreadable_calls::nests(text);
            if nests || (!self.is_alone(text) && !found.iter().any(readable)) {
                found.clear();
            }
        }
        if found.is_empty() {
            found = json_calls::calls(text, base, &context);
        }
        let offered = |call: &Found| self.tools.meant(&call.name).is_some();
        if !found.iter().any(offered) {
            found.clear();
        }
        found
    }

    /// Is a call in Python's form meant as one, and not only mentioned?
    fn is_meant(&self, call: &Found, text: &str) -> bool {
        let Some(tool) = self.tools.meant(&call.name) else {
            return false;
        };
        // One that cannot be read is one where nothing else is said.
        let unreadable = matches!(call.state, CallState::Unreadable(_));
        let readable = call.state == CallState::Whole || (unreadable && self.is_alone(text));
        let standing = self.line.fresh || self.inner || self.fence.is_some();
        readable && (!call.bare || (tool.has_no_required_parameters() && standing))
    }

    /// May this be the whole message, as one call? Anywhere, the calls inside another one count.
    fn is_alone(&self, text: &str) -> bool {
        let nests = unreadable_calls::nests(text) && self.place == TextCallScope::Anywhere;
        self.virgin && !self.inner && self.fence.is_none() && !nests
    }

    /// No call: its first byte is text, the rest is looked at again for other forms.
    fn reject(&mut self, start: usize, end: usize, bracket: bool) -> bool {
        let next = if bracket {
            self.tried = self.tried.max(end);
            start + 1
        } else {
            let text = &self.text[start..];
            start + python_calls::callee(text).map_or(1, |(_, open)| open + 1)
        };
        self.leave(next)
    }

    /// The text ends inside a candidate.
    fn cut_off(&mut self, start: usize, bracket: bool) -> bool {
        let certain = self.virgin || self.inner || self.fence.is_some();
        if certain {
            let context = Context { tools: &self.tools };
            let (text, base) = (&self.text[start..], self.base + start);
            let mut found = match bracket {
                true => json_calls::calls(text, base, &context),
                false => python_calls::call(text, base, &context)
                    .map(|(call, _)| call)
                    .into_iter()
                    .collect(),
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
}
