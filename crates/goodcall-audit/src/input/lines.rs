//! Lines, in blocks that can be read side by side.

use std::io::{self, Read};

use super::MOST_RECORD_BYTES;

/// Bytes of a block, as far as its last line allows.
const BLOCK_BYTES: usize = 1 << 20;

/// Whole lines of a file.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of the first line, from 1 on.
    pub(crate) first: u64,
    pub(crate) bytes: Vec<u8>,
    /// True if the block stands for one line that was too long to be kept.
    pub(crate) is_too_long: bool,
}

/// Splits an input into blocks of lines. The blocks of a file are the same in every run.
pub(crate) struct LineBlocks<R> {
    input: R,
    /// What was read behind the last block.
    rest: Vec<u8>,
    next: u64,
    ended: bool,
}

impl<R: Read> LineBlocks<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            rest: Vec::new(),
            next: 1,
            ended: false,
        }
    }

    /// Returns the next block, or `None` at the end.
    pub(crate) fn next_block(&mut self) -> io::Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut searched = 0;
        loop {
            if self.ended && bytes.len() <= BLOCK_BYTES {
                return Ok((!bytes.is_empty()).then(|| self.block(bytes)));
            }
            // A block ends with the last line end in its first part, or with the first one behind it.
            let within = bytes.len().min(BLOCK_BYTES);
            let end = if bytes.len() >= BLOCK_BYTES || self.ended {
                memchr::memrchr(b'\n', &bytes[..within])
                    .or_else(|| memchr::memchr(b'\n', &bytes[searched..]).map(|at| searched + at))
            } else {
                None
            };
            if let Some(end) = end {
                self.rest = bytes.split_off(end + 1);
                return Ok(Some(self.block(bytes)));
            }
            if self.ended {
                return Ok((!bytes.is_empty()).then(|| self.block(bytes)));
            }
            if bytes.len() > MOST_RECORD_BYTES {
                return self.skip_line().map(Some);
            }
            searched = if bytes.len() >= BLOCK_BYTES {
                bytes.len()
            } else {
                0
            };
            self.fill(&mut bytes)?;
        }
    }

    fn fill(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let start = bytes.len();
        let read = (&mut self.input)
            .take(BLOCK_BYTES as u64)
            .read_to_end(bytes)?;
        self.ended = read < BLOCK_BYTES;
        debug_assert_eq!(bytes.len(), start + read);
        Ok(())
    }

    fn block(&mut self, bytes: Vec<u8>) -> Block {
        let first = self.next;
        self.next += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Block {
            first,
            bytes,
            is_too_long: false,
        }
    }

    /// Passes over a line that is too long.
    fn skip_line(&mut self) -> io::Result<Block> {
        let mut part = Vec::new();
        while !self.ended {
            part.clear();
            self.fill(&mut part)?;
            if let Some(end) = memchr::memchr(b'\n', &part) {
                self.rest = part.split_off(end + 1);
                break;
            }
        }
        self.next += 1;
        Ok(Block {
            first: self.next - 1,
            bytes: Vec::new(),
            is_too_long: true,
        })
    }
}

/// The lines of a block that are not blank, with their numbers.
pub(crate) fn lines(block: &Block) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = block.bytes.split(|byte| *byte == b'\n');
    let numbered = (block.first..).zip(lines);
    numbered.filter(|(_, line)| !line.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: impl Read) -> (Vec<(u64, usize)>, usize) {
        let mut blocks = LineBlocks::new(input);
        let (mut found, mut count) = (Vec::new(), 0);
        while let Some(block) = blocks.next_block().unwrap() {
            count += 1;
            if block.is_too_long {
                found.push((block.first, usize::MAX));
            }
            found.extend(lines(&block).map(|(number, line)| (number, line.len())));
        }
        (found, count)
    }

    #[test]
    fn every_line_is_read_once_with_its_number() {
        assert_eq!(read(&b""[..]), (vec![], 0));
        assert_eq!(
            read(&b"a\n\nbb\nccc"[..]),
            (vec![(1, 1), (3, 2), (4, 3)], 1)
        );
        // Lines longer and shorter than a block.
        let sizes = [10, BLOCK_BYTES - 1, 3 * BLOCK_BYTES, 0, 5, BLOCK_BYTES, 7];
        let mut text = Vec::new();
        for size in sizes {
            text.extend(std::iter::repeat_n(b'x', size));
            text.push(b'\n');
        }
        let wanted: Vec<_> = (1..).zip(sizes).filter(|(_, size)| *size > 0).collect();
        let (found, count) = read(&text[..]);
        assert_eq!(found, wanted);
        assert!(count > 3, "{count} blocks");
    }

    #[test]
    fn line_that_is_too_long_is_passed_over() {
        let long = io::repeat(b'x').take(MOST_RECORD_BYTES as u64 + (3 << 20));
        let input = (&b"a\n"[..]).chain(long).chain(&b"\nb\n"[..]);
        assert_eq!(read(input).0, [(1, 1), (2, usize::MAX), (3, 1)]);
    }
}
