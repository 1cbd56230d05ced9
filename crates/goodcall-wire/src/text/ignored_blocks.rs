//! Blocks in which nothing is a call: thoughts, and results that the model wrote itself.

use super::input::{Match, Window};

/// A block in which nothing is a call.
#[derive(Debug)]
pub(super) struct IgnoredBlock {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
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

const fn block(contents: IgnoredContents, open: &'static str, close: &'static str) -> IgnoredBlock {
    IgnoredBlock {
        open,
        close,
        contents,
    }
}

static BLOCKS: [IgnoredBlock; 12] = [
    block(Thought, "<think>", "</think>"),
    block(Thought, "<thinking>", "</thinking>"),
    block(Thought, "<thought>", "</thought>"),
    block(Thought, "<reasoning>", "</reasoning>"),
    block(Thought, "<seed:think>", "</seed:think>"),
    block(Thought, "<|START_THINKING|>", "<|END_THINKING|>"),
    block(Thought, "[THINK]", "[/THINK]"),
    block(Result, "<tool_response>", "</tool_response>"),
    block(Result, "<tool_result>", "</tool_result>"),
    block(Result, "<function_results>", "</function_results>"),
    block(Result, "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    block(Result, "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
];

/// Returns true if a thought ends in this text.
pub(super) fn ends_thought(text: &str) -> bool {
    let mut thoughts = BLOCKS.iter().filter(|block| block.contents == Thought);
    thoughts.any(|block| text.contains(block.close))
}

/// The marker of an ignored block in the text.
pub(super) enum IgnoredMark {
    NeedMore,
    Opens(&'static IgnoredBlock),
    /// A thought ends at this offset; the text may not hold its beginning.
    ThoughtEnds(usize),
}

/// Reads the marker of an ignored block at `at`. Inside a fence no block opens.
pub(super) fn ignored_mark(input: Window<'_>, at: usize, in_fence: bool) -> Option<IgnoredMark> {
    let mut need_more = false;
    for block in &BLOCKS {
        match input.match_at(at, block.open) {
            Match::Yes if !in_fence => return Some(IgnoredMark::Opens(block)),
            Match::NeedMore => need_more = true,
            Match::Yes | Match::No => {}
        }
        match input.match_at(at, block.close) {
            Match::Yes if block.contents == Thought => {
                return Some(IgnoredMark::ThoughtEnds(at + block.close.len()));
            }
            Match::NeedMore => need_more = true,
            Match::Yes | Match::No => {}
        }
    }
    need_more.then_some(IgnoredMark::NeedMore)
}
