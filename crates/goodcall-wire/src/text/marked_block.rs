//! Reads the blocks that markers open.

use super::budget::ScanBudget;
use super::call_end::{EndFinder, EndRule, EndSearch};
use super::ignored_blocks::ends_thought;
use super::input::Window;
use super::line_state::LineState;
use super::markers::{BodyFormat, Marker};
use super::scanner::{CandidateOutcome, Scanner};
use super::turn::Confidence;
use super::{
    FoundCall, TextCallScope, arg_pairs, control_tokens, gemma, json_calls, kimi_k3,
    nested_elements, python_calls, tags, unreadable_calls,
};
use crate::call::CallState;
use crate::tools::Tools;

/// The text of a block, from its marker on.
pub(crate) struct BlockText<'t> {
    pub(crate) text: &'t str,
    /// Where the body begins in `text`.
    pub(crate) body: usize,
    /// The offset of `text` in the whole text.
    pub(crate) base: usize,
    /// The block has an end marker.
    pub(crate) closed: bool,
}

/// A block whose end is searched for.
#[derive(Clone, Debug)]
pub(super) struct MarkedBlock {
    marker: &'static Marker,
    start: usize,
    /// Where the body begins.
    body: usize,
    finder: EndFinder,
    /// The block is in a quotation or in inline code, so that it is not a call.
    quoted: bool,
    /// There is nothing before the marker in its line.
    on_own_line: bool,
}

/// Where a block ends.
struct BlockEnd {
    body: usize,
    after: usize,
    closed: bool,
}

impl MarkedBlock {
    /// A block whose marker begins at `start`.
    pub(super) fn new(
        marker: &'static Marker,
        start: usize,
        line: LineState,
        quoted: bool,
    ) -> Self {
        let body = start + marker.open.len();
        Self {
            marker,
            start,
            body,
            finder: EndFinder::new(body),
            quoted,
            on_own_line: line.is_blank(),
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The search for its end.
    pub(super) fn finder(&mut self) -> &mut EndFinder {
        &mut self.finder
    }

    /// Returns true if the model must wait for an observation behind a call of this dialect.
    pub(super) fn awaits_observation(&self) -> bool {
        self.marker.body == BodyFormat::React
    }

    pub(super) fn read(
        &mut self,
        input: Window<'_>,
        tools: &Tools,
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        let format = self.marker.body;
        let end = match self.finder.run(input, self.marker.end) {
            EndSearch::NeedMore if !input.has_ended() => return CandidateOutcome::NeedMore,
            EndSearch::NeedMore if ends_thought(input.from(self.body)) => {
                return self.reject(input.end(), self.body, budget);
            }
            EndSearch::NeedMore => self.end_of_text(input, budget),
            EndSearch::NotACall => {
                return self.reject(self.finder.reached(), self.body, budget);
            }
            EndSearch::Found(end) => BlockEnd {
                body: end.body,
                after: end.after,
                closed: end.after > end.body || !input.has_ended() || end.after < input.end(),
            },
        };
        if self.quoted {
            let resume = if end.closed { end.after } else { self.body };
            return self.reject(end.after, resume, budget);
        }
        // Where the marker is the first tag, the end marker is the last one.
        let text_end = match format {
            BodyFormat::Tags => end.after,
            _ => end.body,
        };
        let block = BlockText {
            text: input.slice(self.start..text_end),
            body: self.body - self.start,
            base: self.start,
            closed: end.closed,
        };
        let mut calls = calls_or_failures(&block, self.marker, tools);
        if end.closed {
            calls.iter_mut().for_each(FoundCall::is_complete);
        }
        // Behind an end marker inside a value that never ended, the value may go on.
        let behind = input.from(end.after);
        let goes_on = self.finder.value_may_go_on(behind);
        if self.finder.is_inside_value() && !behind.trim().is_empty() {
            for call in calls
                .iter_mut()
                .filter(|call| goes_on || call.state == CallState::Open)
            {
                call.state = CallState::Unreadable("an end tag for every value".to_owned());
            }
        }
        if calls.is_empty() && self.is_empty_section(&block) {
            return CandidateOutcome::Markup(end.after);
        }
        if calls.is_empty() {
            return self.reject(end.after, self.body, budget);
        }
        let after = match calls.last() {
            // What follows may be the rest of the value, so no call is looked for in it.
            Some(_) if goes_on => input.end(),
            Some(last)
                if !end.closed && format == BodyFormat::Any && last.state == CallState::Whole =>
            {
                end_of_brackets(input, last.span.end)
            }
            _ => end.after,
        };
        CandidateOutcome::Calls {
            span: self.start..after,
            calls,
            confidence: Confidence::Marked,
        }
    }

    /// Returns true if a block holds nothing: a section without calls, or a marker behind which the
    /// text ends. A tag that stands in a line of words is a word, too.
    fn is_empty_section(&self, block: &BlockText<'_>) -> bool {
        let open = self.marker.open;
        let blank = block.text[block.body..].trim().is_empty();
        let is_word = open.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_token = open.contains(['|', '｜', '[']);
        blank && !is_word && (is_token || (self.on_own_line && !block.closed))
    }

    fn reject(
        &self,
        scanned_to: usize,
        resume: usize,
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        budget.waste(self.start..scanned_to);
        CandidateOutcome::Rejected { resume }
    }

    /// The end of a block that the text ends in. If a string never ended, its quote opened none, and
    /// the block ends at its first end marker.
    fn end_of_text(&self, input: Window<'_>, budget: &mut ScanBudget) -> BlockEnd {
        if self.finder.is_inside_value() && budget.has_retries() {
            budget.pay_retry();
            if let EndRule::Marker { close, .. } = self.marker.end
                && let Some((size, marker_size)) = first_of(input.from(self.body), close)
            {
                return BlockEnd {
                    body: self.body + size,
                    after: self.body + size + marker_size,
                    closed: true,
                };
            }
        }
        BlockEnd {
            body: input.end(),
            after: input.end(),
            closed: false,
        }
    }
}

/// The first of `wanted` in `text`: where it begins, and its size.
pub(super) fn first_of(text: &str, wanted: &[&str]) -> Option<(usize, usize)> {
    let found = wanted
        .iter()
        .filter_map(|one| Some((text.find(one)?, one.len())));
    found.min()
}

/// Where the closing brackets behind the last call of a block without an end marker end.
fn end_of_brackets(input: Window<'_>, call_end: usize) -> usize {
    let rest = input.from(call_end);
    let behind = rest.trim_start_matches([' ', '\t', '\r', '\n', ']', '}', ')']);
    input.end() - behind.len()
}

/// The calls of a block, or else the calls that it tried to make, which fail with an error for the
/// model.
fn calls_or_failures(block: &BlockText<'_>, marker: &Marker, tools: &Tools) -> Vec<FoundCall> {
    let mut found = calls(block, marker, tools);
    if found.iter().any(|call| call.is_offered(tools)) {
        return found;
    }
    found.retain(|call| unreadable_calls::is_call(call, block, marker));
    if found.is_empty() {
        let named = unreadable_calls::named_only(block, marker);
        found.extend(named.or_else(|| unreadable_calls::malformed(block, marker, tools)));
    }
    found
}

/// The calls of a block, read as its marker says.
fn calls(block: &BlockText<'_>, marker: &Marker, tools: &Tools) -> Vec<FoundCall> {
    let (body, base) = (&block.text[block.body..], block.base + block.body);
    match marker.body {
        BodyFormat::Any if marker.open.ends_with('=') => {
            // The rest of the marker's attribute.
            let size = body.find('>').map_or(0, |at| at + 1);
            any(&body[size..], base + size, block.closed, tools)
        }
        BodyFormat::Any => any(body, base, block.closed, tools),
        BodyFormat::React => control_tokens::react(body, base),
        BodyFormat::Harmony if marker.open.contains("to=") => {
            control_tokens::harmony(block.text, block.base, tools)
        }
        BodyFormat::Tags => tags::calls(block.text, block.base, tools),
        BodyFormat::DeepSeek => control_tokens::deepseek(body, base, block.closed, tools),
        BodyFormat::KimiK2 => control_tokens::kimi_k2(body, base, block.closed, tools),
        BodyFormat::KimiK3 => kimi_k3::calls(body, base, tools),
        BodyFormat::Mistral => control_tokens::mistral(body, base, tools),
        BodyFormat::Harmony => control_tokens::harmony(body, base, tools),
        BodyFormat::Gemma => gemma::calls(body, base, tools),
        BodyFormat::Inkling => control_tokens::inkling(body, base, block.closed),
        BodyFormat::Nested => nested_elements::calls(body, base, tools),
    }
}

/// Tokens before the body in some dialects.
const HEADS: [&str; 4] = ["<|plugin|>", "<response>", "<tools>", "<ifm|tool_call>"];

/// Reads a body whose format only its text shows.
fn any(body: &str, base: usize, closed: bool, tools: &Tools) -> Vec<FoundCall> {
    let mut text = body.trim_start();
    for head in HEADS {
        text = text.strip_prefix(head).unwrap_or(text).trim_start();
    }
    let base = base + body.len() - text.len();
    if text.starts_with(['{', '[']) {
        let mut found = json_calls::sequence(text, base, tools);
        if let Some(last) = found.last_mut().filter(|_| closed) {
            // The end marker follows: nothing but the last bracket is missing.
            if last.state == CallState::Open && !text.trim_end().ends_with(',') {
                last.state = CallState::Whole;
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(found) = arg_pairs::calls(text, base, closed, tools) {
        return found;
    }
    if text.starts_with('<') {
        let found = tags::calls(text, base, tools);
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(found) = python_calls::sequence(text, base, tools).filter(|all| !all.is_empty()) {
        return found;
    }
    // A tool's name alone, without arguments.
    let (name, tags) = text.split_at(text.find('<').unwrap_or(text.len()));
    let (name, alone) = (name.trim(), tags.is_empty() || tags.starts_with("</"));
    if alone && (closed || !tags.is_empty()) && tools.meant(name).is_some() {
        return vec![FoundCall::translated(
            name,
            "{}".to_owned(),
            base..base + text.len(),
        )];
    }
    Scanner::inner(tools.clone(), TextCallScope::Anywhere, base).found(text)
}
