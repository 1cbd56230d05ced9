//! Blocks in which nothing is a call: thoughts, and results that the model wrote itself; and the
//! markers around the parts of a message.

use super::input::{Match, Window};

/// The most bytes that are looked at one by one.
const MAX_LOOK: usize = 80;

/// A block in which nothing is a call.
#[derive(Debug)]
pub(super) struct IgnoredBlock {
    pub(super) open: &'static str,
    /// The block ends with any of these.
    pub(super) close: &'static [&'static str],
    pub(super) contents: IgnoredContents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IgnoredContents {
    /// The model's thinking. Its end may come without a beginning, which was part of the prompt.
    Thought,
    /// The result of a call, which is not the model's to write.
    Result,
}

use IgnoredContents::{Result, Thought};

const fn block(
    contents: IgnoredContents,
    open: &'static str,
    close: &'static [&'static str],
) -> IgnoredBlock {
    IgnoredBlock {
        open,
        close,
        contents,
    }
}

const GRANITE: &[&str] = &["Here is my response:", "Here's my response:"];

/// Every block with markers of its own.
#[rustfmt::skip]
static BLOCKS: [IgnoredBlock; 19] = [
    block(Thought, "<think>", &["</think>"]),
    block(Thought, "<thinking>", &["</thinking>"]),
    block(Thought, "<thought>", &["</thought>"]),
    block(Thought, "<reasoning>", &["</reasoning>"]),
    block(Thought, "<seed:think>", &["</seed:think>"]),
    block(Thought, "<mm:think>", &["</mm:think>"]),
    block(Thought, "<|START_THINKING|>", &["<|END_THINKING|>"]),
    block(Thought, "<|inner_prefix|>", &["<|inner_suffix|>"]),
    block(Thought, "[THINK]", &["[/THINK]"]),
    block(Thought, "◁think▷", &["◁/think▷"]),
    block(Thought, "<|channel>thought", &["<channel|>"]),
    block(Thought, "<|open|>think<|sep|>", &["<|close|>think<|sep|>"]),
    block(Thought, "Here is my thought process:", GRANITE),
    block(Thought, "Here's my thought process:", GRANITE),
    block(Result, "<tool_response>", &["</tool_response>"]),
    block(Result, "<tool_result>", &["</tool_result>"]),
    block(Result, "<function_results>", &["</function_results>"]),
    block(Result, "[TOOL_RESULTS]", &["[/TOOL_RESULTS]"]),
    block(Result, "<｜tool▁outputs▁begin｜>", &["<｜tool▁outputs▁end｜>"]),
];

/// A message of harmony that the model wrote to itself.
#[rustfmt::skip]
pub(super) static ANALYSIS: IgnoredBlock = block(
    Thought,
    "",
    &[
        "<|end|>", "<|return|>", "<|start|>", "<|channel|>commentary", "<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>",
    ],
);

/// A thought whose beginning was part of the prompt.
#[rustfmt::skip]
pub(super) static PROMPTED: IgnoredBlock = block(
    Thought,
    "",
    &[
        "</think>", "</thinking>", "</thought>", "</reasoning>", "</seed:think>", "</mm:think>",
        "<|END_THINKING|>", "<|inner_suffix|>", "[/THINK]", "◁/think▷", "<channel|>",
        "<|close|>think<|sep|>",
    ],
);

/// The markers around the parts of a message, which are not text of the model.
const PARTS: [&str; 5] = [
    "<|open|>response<|sep|>",
    "<|close|>response<|sep|>",
    "<|open|>message role=\"assistant\"<|sep|>",
    "<|close|>message<|sep|>",
    "<|end_of_msg|>",
];

/// Returns true if a prompt ends with the opening marker of a thought.
pub(super) fn opens_thought(prompt: &str) -> bool {
    let prompt = prompt.trim_end();
    let mut thoughts = BLOCKS.iter().filter(|block| block.contents == Thought);
    thoughts.any(|block| prompt.ends_with(block.open))
}

/// Returns true if a thought ends in this text.
pub(super) fn ends_thought(text: &str) -> bool {
    let mut thoughts = BLOCKS.iter().filter(|block| block.contents == Thought);
    thoughts.any(|block| block.close.iter().any(|close| text.contains(close)))
}

/// Returns true if an end marker of any block begins with this byte.
fn begins_end(byte: &u8) -> bool {
    // The last one begins `◁`.
    matches!(byte, b'<' | b'[' | b'H' | 0xe2)
}

/// Returns true if `text` only makes a word inside a block longer. The bytes that were kept back are that
/// word, or the start of an end marker.
pub(super) fn decides_nothing(kept: &[u8], text: &str) -> bool {
    let is_word = !kept.first().is_some_and(begins_end);
    let decides = |byte: &u8| begins_end(byte) || byte.is_ascii_whitespace();
    is_word && !text.as_bytes().iter().any(decides)
}

/// Returns true if a character of one byte inside a block can wait for what follows it, behind the bytes
/// that were kept back.
pub(super) fn keeps_byte(kept: &[u8], byte: u8) -> bool {
    !begins_end(&byte) && !kept.first().is_some_and(begins_end)
}

impl IgnoredBlock {
    /// The first end marker in `text`: where it begins, and how much of it belongs to the block.
    pub(super) fn find_end(&self, text: &str) -> Option<(usize, usize)> {
        let (at, size) = super::marked_block::first_of(text, self.close)?;
        // The next message keeps its own marker.
        let end = &text[at..at + size];
        let next = end.starts_with("<|start|>") || end.starts_with("<|channel|>");
        Some((at, if next { 0 } else { size }))
    }

    /// Returns false if no end marker can begin in `rest`, by a look at its bytes. Only short texts are
    /// looked at: a search is faster in long ones.
    pub(super) fn may_end_in(&self, rest: &str) -> bool {
        rest.len() > MAX_LOOK || rest.as_bytes().iter().any(begins_end)
    }

    /// Returns true if `rest` is the start of an end marker.
    pub(super) fn may_end_with(&self, rest: &str) -> bool {
        self.close.iter().any(|close| close.starts_with(rest))
    }

    /// The most bytes of an end marker.
    pub(super) fn longest_end(&self) -> usize {
        let sizes = self.close.iter().map(|close| close.len());
        sizes.max().unwrap_or(1)
    }

    /// Returns true for words that open a block only at the start of the message.
    fn is_words(&self) -> bool {
        self.open.starts_with(|c: char| c.is_ascii_alphabetic())
    }
}

/// The marker of an ignored block, or of a part of the message.
pub(super) enum IgnoredMark {
    NeedMore,
    Opens(&'static IgnoredBlock),
    /// A thought ends at this offset; the text may not hold its beginning.
    ThoughtEnds(usize),
    /// The marker of a part of the message ends at this offset.
    Part(usize),
}

/// Where in a message a marker is looked for.
#[derive(Clone, Copy)]
pub(super) struct MarkPlace {
    /// Inside a fence no block opens.
    pub(super) in_fence: bool,
    /// Some blocks open only here.
    pub(super) at_start: bool,
}

/// Reads the marker of an ignored block at `at`.
pub(super) fn ignored_mark(input: Window<'_>, at: usize, place: MarkPlace) -> Option<IgnoredMark> {
    let mut need_more = false;
    for block in &BLOCKS {
        if block.is_words() && !place.at_start {
            continue;
        }
        match input.match_at(at, block.open) {
            Match::Yes if !place.in_fence => return Some(IgnoredMark::Opens(block)),
            Match::NeedMore => need_more = true,
            Match::Yes | Match::No => {}
        }
        if block.is_words() {
            continue;
        }
        for close in block.close {
            match input.match_at(at, close) {
                Match::Yes if block.contents == Thought => {
                    return Some(IgnoredMark::ThoughtEnds(at + close.len()));
                }
                Match::NeedMore => need_more = true,
                Match::Yes | Match::No => {}
            }
        }
    }
    for part in PARTS {
        match input.match_at(at, part) {
            Match::Yes => return Some(IgnoredMark::Part(at + part.len())),
            Match::NeedMore => need_more = true,
            Match::No => {}
        }
    }
    need_more.then_some(IgnoredMark::NeedMore)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_marker_begins_with_a_byte_that_is_looked_for() {
        for block in BLOCKS.iter().chain([&ANALYSIS, &PROMPTED]) {
            for close in block.close {
                assert!(begins_end(&close.as_bytes()[0]), "{close}");
            }
        }
    }
}
