//! Where nothing is a call: thoughts, results that the model wrote itself, quotations.

use super::call_end::starts;
use super::scanner::{Look, Scanner, State, Strength};

/// A block in which nothing is a call.
#[derive(Debug)]
pub(super) struct Quiet {
    open: &'static str,
    close: &'static str,
    /// The model thinks here; its end may stand alone, where the prompt held the start.
    thought: bool,
}

const fn thought(open: &'static str, close: &'static str) -> Quiet {
    let thought = true;
    Quiet {
        open,
        close,
        thought,
    }
}

const fn result(open: &'static str, close: &'static str) -> Quiet {
    let thought = false;
    Quiet {
        open,
        close,
        thought,
    }
}

static BLOCKS: [Quiet; 12] = [
    thought("<think>", "</think>"),
    thought("<thinking>", "</thinking>"),
    thought("<thought>", "</thought>"),
    thought("<reasoning>", "</reasoning>"),
    thought("<seed:think>", "</seed:think>"),
    thought("<|START_THINKING|>", "<|END_THINKING|>"),
    thought("[THINK]", "[/THINK]"),
    result("<tool_response>", "</tool_response>"),
    result("<tool_result>", "</tool_result>"),
    result("<function_results>", "</function_results>"),
    result("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    result("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
];

/// Does a thought end in this text?
pub(super) fn ends_thought(text: &str) -> bool {
    let mut thoughts = BLOCKS.iter().filter(|block| block.thought);
    thoughts.any(|block| text.contains(block.close))
}

/// What the line at the cursor held so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Nothing but calls and brackets.
    pub(super) fresh: bool,
    /// Nothing but blanks.
    blank: bool,
    /// It is quoted with `>`.
    pub(super) quote: bool,
    /// Backticks that opened the code which is still open.
    code: usize,
    /// Backticks just before the cursor.
    ticks: usize,
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            fresh: true,
            blank: true,
            quote: false,
            code: 0,
            ticks: 0,
        }
    }

    /// Takes the next text of the line, or of the next lines.
    pub(super) fn take(&mut self, text: &str) {
        for c in text.chars() {
            if c == '`' {
                (self.ticks, self.blank) = (self.ticks + 1, false);
                continue;
            }
            (self.code, self.ticks) = (self.code_now(), 0);
            match c {
                '\n' => *self = Self::new(),
                c if c.is_whitespace() => {}
                '>' if self.blank => self.quote = true,
                c => {
                    self.blank = false;
                    self.fresh &= c.is_ascii_punctuation() || c.is_ascii_digit();
                }
            }
        }
    }

    /// A call or a fence stood here.
    pub(super) fn pass(&mut self) {
        (self.code, self.ticks) = (self.code_now(), 0);
        self.blank = false;
    }

    fn code_now(&self) -> usize {
        match (self.code, self.ticks) {
            (code, 0) => code,
            (0, ticks) => ticks,
            (code, ticks) if code == ticks => 0,
            (code, _) => code,
        }
    }

    /// Are there nothing but blanks before the cursor?
    pub(super) fn is_blank(&self) -> bool {
        self.blank
    }

    /// Is the cursor inside code within the line?
    pub(super) fn is_code(&self) -> bool {
        self.code_now() > 0
    }
}

impl Scanner {
    /// Is what stands at the cursor only quoted?
    pub(super) fn is_quoted(&self) -> bool {
        self.fence.is_none() && (self.line.quote || self.line.is_code())
    }

    /// Does a quiet block begin here, or end without a beginning?
    pub(super) fn quiet(&mut self, done: bool) -> Look {
        let at = self.at;
        if self.line.is_code() || (self.fence.is_some() && !self.line.blank) {
            return Look::Text(at + 1);
        }
        let rest = &self.text.as_bytes()[at..];
        let mut more = false;
        for block in &BLOCKS {
            match starts(rest, block.open, done) {
                Some(true) if self.fence.is_none() => {
                    self.settle();
                    self.soil();
                    self.at += block.open.len();
                    return Look::Enter(State::Quiet(block));
                }
                None => more = true,
                Some(_) => {}
            }
            match starts(rest, block.close, done) {
                Some(true) if block.thought => {
                    self.end_thought(at + block.close.len());
                    return Look::Done;
                }
                None => more = true,
                Some(_) => {}
            }
        }
        match more {
            true => Look::More,
            false => Look::Text(at + 1),
        }
    }

    /// The thought is over: from here on the message may be a call as a whole. If nobody saw it
    /// begin, all so far was the thought.
    fn end_thought(&mut self, end: usize) {
        if !self.inner && !self.reasoned {
            self.held.clear();
            self.seen.clear();
            self.strength = Strength::None;
            (self.over, self.acted) = (false, false);
        }
        self.soil();
        (self.fence, self.at) = (None, end);
        (self.virgin, self.reasoned) = (true, true);
        self.line.pass();
    }

    /// Passes over a quiet block; without an end, it is all that follows.
    pub(super) fn read_quiet(&mut self, block: &'static Quiet, done: bool) -> bool {
        match self.text[self.at..].find(block.close) {
            Some(size) => {
                self.state = State::Text;
                let end = self.at + size + block.close.len();
                match block.thought {
                    true => {
                        self.reasoned = true;
                        self.end_thought(end);
                    }
                    false => {
                        // The result of a call is not the model's to write.
                        self.end_turn();
                        self.at = end;
                        self.line.pass();
                    }
                }
                true
            }
            None if done => {
                (self.state, self.at) = (State::Text, self.text.len());
                true
            }
            None => {
                let mut at = self.text.len().saturating_sub(block.close.len() - 1);
                while !self.text.is_char_boundary(at) {
                    at -= 1;
                }
                self.at = self.at.max(at);
                false
            }
        }
    }
}
