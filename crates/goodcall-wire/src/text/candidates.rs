//! Decides what begins at the cursor: text, a marker, or something that may be a call without one.

use super::TextCallScope;
use super::call_end::EndRule;
use super::code_fence::{FenceMark, fence_mark};
use super::ignored_blocks::{ANALYSIS, IgnoredBlock, IgnoredMark, MarkPlace, ignored_mark};
use super::input::{Match, Window};
use super::marked_block::MarkedBlock;
use super::markers::{BodyFormat, ELEMENTS, MARKERS, Marker};
use super::python_calls::{dotted_size, printed_call};
use super::python_values::identifier_size;
use super::raw_members::skip_blanks;
use super::scanner::Scanner;
use super::tool_elements::ToolElement;
use super::unmarked_calls::UnmarkedCandidate;

/// What a model writes in the dialect `react` in place of a call's result.
const OBSERVATION: &str = "Observation:";
/// The end of a turn in Gemma's format.
const END_OF_TURN: &str = "<end_of_turn>";
/// Tokens that end the model's turn; what follows them is made up.
const TURN_ENDS: [&str; 4] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|observation|>",
];
/// The most blanks between a name and an object.
const MAX_GAP: usize = 8;
/// The most bytes of the header of a message.
const MAX_HEADER: usize = 256;
/// The most bytes of a control token.
const MAX_TOKEN: usize = 64;
/// The bytes of a word that are enough to know that it is not the name of a tool.
const MAX_WORD: usize = 256;
/// The bytes in which a bracket must show that it opens a call.
const MAX_HEAD: usize = 160;

/// What begins at the cursor.
pub(super) enum AtCursor {
    NeedMore,
    /// Text up to this offset.
    Text(usize),
    /// Text up to this offset, which ends the model's turn.
    TurnEnds(usize),
    /// Text up to this offset, which begins a result that the model made up.
    Observation(usize),
    Fence(FenceMark),
    Ignored(IgnoredMark),
    /// The header of a message without a recipient.
    Message(MessageHeader),
    Candidate(Candidate),
}

/// The header of a message without a recipient.
pub(super) struct MessageHeader {
    /// A thought is ignored.
    pub(super) thought: Option<&'static IgnoredBlock>,
    /// The message is the answer to the user, so that it holds no calls.
    pub(super) is_answer: bool,
    pub(super) end: usize,
}

/// Text that may be a call, read up to some point.
#[derive(Clone, Debug)]
pub(super) enum Candidate {
    Marked(MarkedBlock),
    Element(ToolElement),
    Unmarked(UnmarkedCandidate),
}

impl Candidate {
    /// Passes over the text of `input` from `from` on, if it is part of a value whatever follows it.
    pub(super) fn passes_over(&mut self, input: Window<'_>, from: usize) -> bool {
        match self {
            Self::Marked(block) => block.finder().passes_over(input, from),
            Self::Element(element) => element.passes_over(input, from),
            Self::Unmarked(candidate) => candidate.finder().passes_over(input, from),
        }
    }

    /// Passes over a byte that comes at `from`, if it is part of a value whatever follows it.
    pub(super) fn passes_byte(&mut self, byte: u8, from: usize) -> bool {
        match self {
            Self::Marked(block) => block.finder().passes_byte(byte, from),
            Self::Element(element) => element.passes_byte(byte, from),
            Self::Unmarked(candidate) => candidate.finder().passes_byte(byte, from),
        }
    }

    /// The offset at which the candidate begins.
    pub(super) fn start(&self) -> usize {
        match self {
            Self::Marked(block) => block.start(),
            Self::Element(element) => element.start(),
            Self::Unmarked(candidate) => candidate.start(),
        }
    }
}

/// Decides what begins at the cursor of a scanner.
pub(super) fn at_cursor(scanner: &Scanner) -> AtCursor {
    let (input, at) = (scanner.window(), scanner.at());
    let byte = input.byte(at).expect("the cursor is inside the text");
    let line = scanner.line();
    if matches!(byte, b'`' | b'~')
        && let Some(mark) = fence_mark(input, at, scanner.fence(), line)
    {
        return AtCursor::Fence(mark);
    }
    let in_fence = scanner.fence().is_some();
    let place = MarkPlace {
        in_fence,
        at_start: scanner.only_calls_so_far(),
    };
    // The first byte of `◁` and of the words that open a thought.
    if matches!(byte, b'<' | b'[' | b'H' | 0xe2)
        && !line.is_code()
        && (!in_fence || line.is_blank())
        && let Some(mark) = ignored_mark(input, at, place)
    {
        return AtCursor::Ignored(mark);
    }
    if matches!(
        byte,
        b'<' | b'[' | b']' | b'f' | b'A' | b't' | b'c' | b'a' | b'm'
    ) && scanner.takes_markers()
        && let Some(found) = marked(scanner)
    {
        return found;
    }
    if scanner.is_behind_call()
        && let Some(end) = stray_end(input, at)
    {
        return end;
    }
    if byte == b'<' {
        return tool_tag(scanner).unwrap_or_else(|| control_token(scanner));
    }
    if byte == b'O' && scanner.is_awaiting_observation() && line.is_blank() {
        match input.match_at(at, OBSERVATION) {
            Match::NeedMore => return AtCursor::NeedMore,
            Match::Yes => {
                return match word(scanner) {
                    AtCursor::NeedMore => AtCursor::NeedMore,
                    _ => AtCursor::Observation(at + dotted_size(input.from(at))),
                };
            }
            Match::No => {}
        }
    }
    if matches!(byte, b'{' | b'[') && scanner.takes_unmarked() && scanner.takes_bracket_at(at) {
        return match opens_call(scanner) {
            Match::NeedMore => AtCursor::NeedMore,
            Match::Yes => AtCursor::Candidate(Candidate::Unmarked(UnmarkedCandidate::new(at, at))),
            Match::No => AtCursor::Text(at + 1),
        };
    }
    word(scanner)
}

/// An end marker behind a call whose own marker was missing.
fn stray_end(input: Window<'_>, at: usize) -> Option<AtCursor> {
    let mut need_more = false;
    for marker in &MARKERS {
        let EndRule::Marker { close, .. } = marker.end else {
            continue;
        };
        for close in close.iter().filter(|close| close.contains(['/', '_', '▁'])) {
            match input.match_at(at, close) {
                Match::Yes => {
                    let end = at + close.len();
                    return Some(AtCursor::Ignored(IgnoredMark::Part(end)));
                }
                Match::NeedMore => need_more = true,
                Match::No => {}
            }
        }
    }
    need_more.then_some(AtCursor::NeedMore)
}

/// A dialect's marker, unless it is a word of prose or only named in inline code.
fn marked(scanner: &Scanner) -> Option<AtCursor> {
    let (input, at) = (scanner.window(), scanner.at());
    let marker = match marker_at(scanner) {
        MarkerMatch::NeedMore => return Some(AtCursor::NeedMore),
        MarkerMatch::No => return None,
        MarkerMatch::Yes(marker) => marker,
    };
    let is_word = marker.open.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_channel = marker.open.contains(" to=");
    let misplaced = match marker.body {
        BodyFormat::React => !scanner.line().is_blank(),
        // The start of the message was part of the prompt.
        BodyFormat::Harmony if is_word && !has_channel => !scanner.only_calls_so_far(),
        _ => false,
    };
    // Where the tokens were stripped, the channel follows the role: `assistantcommentary`.
    let joined = has_channel && input.before(at).ends_with("assistant");
    if misplaced || (is_word && is_inside_word(input, at) && !joined) {
        return None;
    }
    if marker.body == BodyFormat::Harmony
        && !is_word
        && let Some(header) = header(scanner)
    {
        return Some(header);
    }
    let quoted = scanner.is_quoted();
    let body = at + marker.open.len();
    if quoted {
        match input.byte(body) {
            None if !input.has_ended() => return Some(AtCursor::NeedMore),
            Some(b'`') => return None,
            _ => {}
        }
    }
    let block = MarkedBlock::new(marker, at, scanner.line(), quoted);
    Some(AtCursor::Candidate(Candidate::Marked(block)))
}

/// The header of a message of harmony that has no recipient.
fn header(scanner: &Scanner) -> Option<AtCursor> {
    const END: &str = "<|message|>";
    let (input, at) = (scanner.window(), scanner.at());
    let bytes = input.bytes_from(at);
    let head = &bytes[..bytes.len().min(MAX_HEADER)];
    let Some(size) = head
        .windows(END.len())
        .position(|part| part == END.as_bytes())
    else {
        let open = !input.has_ended() && bytes.len() < MAX_HEADER;
        return open.then_some(AtCursor::NeedMore);
    };
    let header = input.slice(at..at + size);
    if header.contains("to=") {
        return None;
    }
    Some(AtCursor::Message(MessageHeader {
        thought: header.contains("analysis").then_some(&ANALYSIS),
        is_answer: header.contains("final"),
        end: at + size + END.len(),
    }))
}

enum MarkerMatch {
    Yes(&'static Marker),
    No,
    NeedMore,
}

/// The longest marker at the cursor.
fn marker_at(scanner: &Scanner) -> MarkerMatch {
    let (input, at) = (scanner.window(), scanner.at());
    let first = input.byte(at);
    let mut longest: Option<&'static Marker> = None;
    for marker in &MARKERS {
        if marker.open.bytes().next() != first || !scanner.takes_dialect(marker.dialect) {
            continue;
        }
        match input.match_at(at, marker.open) {
            Match::NeedMore => return MarkerMatch::NeedMore,
            Match::Yes if longest.is_none_or(|best| best.open.len() < marker.open.len()) => {
                longest = Some(marker);
            }
            Match::Yes | Match::No => {}
        }
    }
    longest.map_or(MarkerMatch::No, MarkerMatch::Yes)
}

fn is_inside_word(input: Window<'_>, at: usize) -> bool {
    let before = input.before(at);
    before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// A tag that is the name of a tool, at the start of a line.
fn tool_tag(scanner: &Scanner) -> Option<AtCursor> {
    let (input, at, tools) = (scanner.window(), scanner.at(), scanner.tools());
    let placed = scanner.line().is_fresh() || scanner.scope() == TextCallScope::Anywhere;
    let free = scanner.takes_markers() && scanner.fence().is_none() && !scanner.is_quoted();
    if !placed || !free || !scanner.takes_dialect(ELEMENTS) {
        return None;
    }
    let inner = input.from(at + 1);
    let longest = tools.longest_name();
    let end = inner
        .bytes()
        .take(longest + 1)
        .position(|byte| byte == b'>');
    match end {
        Some(size) if tools.by_alias(&inner[..size]).is_some() => {
            let element = ToolElement::new(&inner[..size], at);
            Some(AtCursor::Candidate(Candidate::Element(element)))
        }
        None if !input.has_ended() && inner.len() <= longest => Some(AtCursor::NeedMore),
        _ => None,
    }
}

/// Passes over a control token, which may end the model's turn, or over a `<`.
fn control_token(scanner: &Scanner) -> AtCursor {
    let (input, at) = (scanner.window(), scanner.at());
    for token in ["<s>", "</s>", END_OF_TURN, "</tool_call>"] {
        match input.match_at(at, token) {
            Match::NeedMore => return AtCursor::NeedMore,
            Match::Yes if token == END_OF_TURN => return AtCursor::TurnEnds(at + token.len()),
            Match::Yes => return AtCursor::Text(at + token.len()),
            Match::No => {}
        }
    }
    let rest = input.from(at);
    if !rest.starts_with("<|") {
        return AtCursor::Text(at + 1);
    }
    let head = &rest.as_bytes()[..rest.len().min(MAX_TOKEN)];
    let Some(size) = head.windows(2).position(|pair| pair == b"|>") else {
        return if !input.has_ended() && rest.len() < MAX_TOKEN {
            AtCursor::NeedMore
        } else {
            AtCursor::Text(at + 1)
        };
    };
    let (token, behind) = rest.split_at(size + 2);
    let is_header = matches!(token, "<|im_start|>" | "<|start_header_id|>");
    if is_header && !input.has_ended() && behind.len() < "assistant".len() {
        return AtCursor::NeedMore;
    }
    let roles = ["assistant", "user", "system", "tool\n"];
    let begins_turn = is_header && roles.iter().any(|role| behind.starts_with(role));
    let end = at + token.len();
    if scanner.has_headers() && matches!(token, "<|end|>" | "<|return|>" | "<|call|>") {
        return AtCursor::Ignored(IgnoredMark::Part(end));
    }
    if begins_turn || TURN_ENDS.contains(&token) {
        AtCursor::TurnEnds(end)
    } else {
        AtCursor::Text(end)
    }
}

/// A word, which may be the name of a call: `f(`, `f (`, `'f'(`.
fn word(scanner: &Scanner) -> AtCursor {
    let (input, at) = (scanner.window(), scanner.at());
    let rest = input.from(at);
    let size = dotted_size(rest);
    if size == 0 {
        return AtCursor::Text(at + rest.chars().next().map_or(1, char::len_utf8));
    }
    let longest = MAX_WORD.max(4 * scanner.tools().longest_name());
    if size == rest.len() && !input.has_ended() && size < longest {
        return AtCursor::NeedMore;
    }
    if let Some(channel) = joined_channel(&rest[..size]) {
        return AtCursor::Text(at + channel);
    }
    let behind = &rest[size..];
    let spaces = behind
        .bytes()
        .take_while(|byte| *byte == b' ')
        .take(2)
        .count();
    let open = (behind.len() == spaces && spaces < 2) || may_continue_name(behind);
    if open && !input.has_ended() {
        return AtCursor::NeedMore;
    }
    let quote = input.before(at).chars().next_back();
    let quote = quote.filter(|c| matches!(c, '"' | '\'') && behind.starts_with(*c));
    let quote_size = quote.map_or(0, char::len_utf8);
    if quote_size == behind.len() && quote_size > 0 && !input.has_ended() {
        return AtCursor::NeedMore;
    }
    if let Some(named) = named_object(scanner, &rest[..size], behind) {
        return named;
    }
    let gap = spaces.max(quote_size);
    let called = gap < 2 && behind[gap..].starts_with('(');
    if called && &rest[..size] == "print" && !input.has_ended() {
        let inner = printed_call(rest).map_or("", |start| &rest[start..]);
        let callee = dotted_size(inner);
        if may_continue_name(&inner[callee..]) && callee < longest {
            return AtCursor::NeedMore;
        }
    }
    if !called || !scanner.takes_unmarked() || !is_called(scanner, &rest[..size]) {
        return AtCursor::Text(at + size);
    }
    let start = at + own_name_start(scanner, &rest[..size]);
    let candidate = UnmarkedCandidate::new(start, at + size + gap);
    AtCursor::Candidate(Candidate::Unmarked(candidate))
}

/// Where the channel begins in a word like `assistantcommentary`, which is left of a header of harmony
/// without its tokens.
fn joined_channel(word: &str) -> Option<usize> {
    let ends = ["assistantcommentary", "assistantanalysis"];
    let end = ends.iter().find(|end| word.ends_with(**end))?;
    Some(word.len() - end.len() + "assistant".len())
}

/// The name of a tool at the start of a line, with an object behind it or on the next line.
fn named_object(scanner: &Scanner, name: &str, behind: &str) -> Option<AtCursor> {
    let (input, at) = (scanner.window(), scanner.at());
    let placed = scanner.line().is_blank() && scanner.takes_unmarked();
    if !placed || scanner.tools().meant(name).is_none() {
        return None;
    }
    let gap = behind.len() - behind.trim_start_matches([' ', '\r', '\n']).len();
    if gap > MAX_GAP {
        return None;
    }
    match behind.as_bytes().get(gap) {
        None if !input.has_ended() => Some(AtCursor::NeedMore),
        Some(b'{') => {
            let candidate = UnmarkedCandidate::new(at, at + name.len() + gap);
            Some(AtCursor::Candidate(Candidate::Unmarked(candidate)))
        }
        _ => None,
    }
}

/// Where the tool's name begins in a dotted name: `client.f` may be the tool `f`.
fn own_name_start(scanner: &Scanner, name: &str) -> usize {
    match scanner.tools().meant(name) {
        Some(_) => 0,
        None if name == "print" => 0,
        None => name.rfind('.').map_or(0, |dot| dot + 1),
    }
}

/// Returns true if the word at the cursor is an offered tool, and called here, not defined.
fn is_called(scanner: &Scanner, name: &str) -> bool {
    let (input, at, tools) = (scanner.window(), scanner.at(), scanner.tools());
    let before = input.before(at);
    let trimmed = before.trim_end_matches(' ');
    let defined = trimmed.len() < before.len()
        && ["def", "class", "function", "fn"].iter().any(|keyword| {
            let head = trimmed.strip_suffix(keyword);
            head.is_some_and(|head| !head.ends_with(char::is_alphanumeric))
        });
    let last_part = name.rsplit_once('.').map(|(_, last)| last);
    if let Some(start) = printed_call(input.from(at)) {
        let inner = input.from(at + start);
        let callee = &inner[..dotted_size(inner)];
        return tools.meant(callee).is_some() && scanner.line().is_blank();
    }
    let known =
        tools.meant(name).is_some() || last_part.is_some_and(|last| tools.get(last).is_some());
    known && !defined && !is_inside_word(input, at)
}

/// Returns true if text that is still to come may continue a name: `a.` may become `a.b`, and `a\`
/// may become `a\_b`.
fn may_continue_name(behind: &str) -> bool {
    let rest = behind.strip_prefix(['.', ':', '-', '/']).unwrap_or(behind);
    matches!(rest, "" | "\\")
}

/// Returns `Yes` if the bracket at the cursor opens something that may be a call.
fn opens_call(scanner: &Scanner) -> Match {
    let (input, start) = (scanner.window(), scanner.at());
    let bytes = input.bytes_from(start);
    let mut size = 1;
    let mut last = bytes[0];
    loop {
        size = skip_blanks(bytes, size);
        if size > MAX_HEAD {
            return Match::No;
        }
        let Some(next) = bytes.get(size) else {
            return need_more(input);
        };
        match (last, *next) {
            (b'[', next @ (b'[' | b'{' | b'(')) => {
                last = if next == b'{' { next } else { b'[' };
                size += 1;
            }
            (b'[', next) => return opens_list(scanner, start + size, next),
            (_, next) => return opens_object(input, start + size, next),
        }
    }
}

/// `NeedMore` for a text that has not ended, else `No`.
fn need_more(input: Window<'_>) -> Match {
    if input.has_ended() {
        Match::No
    } else {
        Match::NeedMore
    }
}

/// Returns `Yes` if the first element of a list begins with the name of a tool.
fn opens_list(scanner: &Scanner, at: usize, first: u8) -> Match {
    let quoted = matches!(first, b'"' | b'\'');
    let word = scanner.window().from(at + usize::from(quoted));
    let size = dotted_size(word);
    let open = word.is_empty() || may_continue_name(&word[size..]);
    if open && size < MAX_HEAD && !scanner.window().has_ended() {
        return Match::NeedMore;
    }
    let name = &word[..size];
    Match::of(size > 0 && (name == "print" || scanner.tools().meant(name).is_some()))
}

/// Returns `Yes` if an object begins with a key and a colon.
fn opens_object(input: Window<'_>, at: usize, first: u8) -> Match {
    let rest = input.from(at);
    let bytes = rest.as_bytes();
    let undecided = if bytes.len() > MAX_HEAD {
        Match::No
    } else {
        need_more(input)
    };
    let size = if matches!(first, b'"' | b'\'') {
        let mut key = bytes[1..].iter().take(MAX_HEAD);
        match key.position(|byte| *byte == first) {
            Some(size) => size + 2,
            None => return undecided,
        }
    } else {
        identifier_size(rest)
    };
    if may_continue_name(&rest[size..]) && !input.has_ended() && size < MAX_HEAD {
        return Match::NeedMore;
    }
    match bytes.get(skip_blanks(bytes, size)) {
        _ if size == 0 => Match::No,
        Some(byte) => Match::of(*byte == b':'),
        None => undecided,
    }
}
