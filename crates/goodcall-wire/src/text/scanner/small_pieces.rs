//! Takes pieces that decide nothing without a scan, so that small pieces cost little more than large ones.

use super::super::ignored_blocks::{decides_nothing, keeps_byte};
use super::{Scanner, ScannerState};

/// The most bytes of a word that are collected before they are looked at.
const MAX_PENDING_WORD: usize = 32;
/// The most single bytes of a thought that are collected before they are given out.
const MAX_PENDING_THOUGHT: usize = 64;

impl Scanner {
    /// Takes a character of one byte that decides nothing inside a value or a thought, and returns false
    /// for any other. Streams of single characters consist of these, so this looks at nothing else.
    pub(super) fn passes_byte(&mut self, byte: u8) -> bool {
        let from = self.input.end_offset();
        let passes = match &mut self.state {
            ScannerState::Text => false,
            ScannerState::Ignored(_) => {
                let kept = self.input.window().bytes_from(self.at);
                kept.len() < MAX_PENDING_THOUGHT && keeps_byte(kept, byte)
            }
            ScannerState::Candidate(candidate) => candidate.passes_byte(byte, from),
        };
        if passes {
            self.input.push_ascii(byte);
        }
        passes
    }

    /// Returns true if the text that came at `from` decides nothing and gives nothing out: a word goes on,
    /// or the value of a candidate. It is read together with what follows, as if it had come with it, so
    /// that small pieces cost little more than large ones.
    pub(super) fn goes_on(&mut self, from: usize, text: &str) -> bool {
        match &mut self.state {
            ScannerState::Text => {
                let word = self.input.window().bytes_from(self.at);
                !self.settings.thinking
                    && word.len() <= MAX_PENDING_WORD
                    && word.iter().all(u8::is_ascii_alphanumeric)
            }
            ScannerState::Ignored(_) => {
                let kept = self.input.window().bytes_from(self.at);
                kept.len() <= MAX_PENDING_WORD && decides_nothing(kept, text)
            }
            ScannerState::Candidate(candidate) => candidate.passes_over(self.input.window(), from),
        }
    }

    /// Returns true if the text that came at `from` only makes a run of blanks or of the marks of a fence
    /// longer, behind something that is not decided yet. To go through the run again for every piece of
    /// it would not be linear.
    pub(super) fn lengthens_run(&self, from: usize, text: &str) -> bool {
        let is_undecided = match &self.state {
            ScannerState::Text => self.at < from,
            ScannerState::Candidate(_) => true,
            ScannerState::Ignored(_) => false,
        };
        let last = from.checked_sub(1).filter(|_| is_undecided);
        match last.and_then(|at| self.input.window().byte(at)) {
            Some(mark @ (b'`' | b'~')) => text.bytes().all(|byte| byte == mark),
            Some(last) if last.is_ascii_whitespace() => {
                text.bytes().all(|byte| byte.is_ascii_whitespace())
            }
            _ => false,
        }
    }
}
