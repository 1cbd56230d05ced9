//! Frames as lines: read with a size limit, written without waiting.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use crate::frame::Frame;
use crate::queue::{Backlog, QueueReceiver, QueueSender, queue};

/// Bytes that are kept of each end of a line that exceeds the limit.
const KEPT: usize = 4096;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// A frame, without its line end.
    Frame(Frame),
    /// A line that exceeds the limit: its beginning, its end and its length.
    Oversized {
        head: Vec<u8>,
        tail: Vec<u8>,
        length: usize,
    },
    /// The end of the input.
    End,
}

/// Reads lines.
pub(crate) struct LineReader<R> {
    from: R,
    /// Bytes that were read.
    buffer: Vec<u8>,
    /// The bytes of the buffer before this position were handed out.
    start: usize,
    /// The buffer has no line end between `start` and this position.
    seen: usize,
    max_line: usize,
    /// The beginning of a line that exceeds the limit, and the bytes of it that were dropped.
    oversized: Option<(Vec<u8>, usize)>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(from: R, max_line: usize) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            start: 0,
            seen: 0,
            max_line,
            oversized: None,
            ended: false,
        }
    }

    /// The next line. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<InputLine> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line);
            }
            if self.ended {
                return Ok(InputLine::End);
            }
            self.buffer.drain(..self.start);
            self.seen -= self.start;
            self.start = 0;
            self.buffer.reserve(CHUNK);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                self.ended = true;
            }
        }
    }

    /// The next complete line of the buffer, or the last line of the input.
    fn buffered(&mut self) -> Option<InputLine> {
        let end = self.buffer[self.seen..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(end) = end.map(|at| at + self.seen) else {
            self.seen = self.buffer.len();
            if self.ended && (self.oversized.is_some() || self.start < self.buffer.len()) {
                return Some(self.take(self.buffer.len(), self.buffer.len()));
            }
            self.shrink();
            return None;
        };
        Some(self.take(end, end + 1))
    }

    /// Hands out the line that ends at `end`. The next one starts at `next`.
    fn take(&mut self, end: usize, next: usize) -> InputLine {
        let mut line = self.cut(end, next);
        match self.oversized.take() {
            Some((head, length)) => InputLine::Oversized {
                head,
                length: length + line.len(),
                tail: line.split_off(line.len().saturating_sub(KEPT)),
            },
            None if line.len() > self.max_line => InputLine::Oversized {
                length: line.len(),
                tail: line.split_off(line.len().saturating_sub(KEPT)),
                head: {
                    line.truncate(KEPT);
                    line
                },
            },
            None => InputLine::Frame(line),
        }
    }

    /// Takes the bytes up to `end` out of the buffer. A line may wait for long, so it must not keep
    /// the memory of all that was read with it: only a line that fills the buffer takes it along.
    fn cut(&mut self, end: usize, next: usize) -> Vec<u8> {
        let length = end - self.start;
        if self.start == 0 && length > CHUNK && length > self.buffer.capacity() / 2 {
            let rest = self.buffer.split_off(next);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            line.truncate(end);
            self.seen = 0;
            return line;
        }
        // One byte more, for the line end with which it will be written.
        let mut line = Vec::with_capacity(length + 1);
        line.extend_from_slice(&self.buffer[self.start..end]);
        self.start = next;
        self.seen = next;
        line
    }

    /// Drops the middle of a line that exceeds the limit.
    fn shrink(&mut self) {
        if self.oversized.is_none() && self.buffer.len() - self.start <= self.max_line {
            return;
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let dropped = self.buffer.len().saturating_sub(KEPT);
        let (head, length) = self.oversized.take().unwrap_or_else(|| {
            let head = self.buffer.iter().take(KEPT).copied().collect();
            (head, 0)
        });
        self.buffer.drain(..dropped);
        self.buffer.shrink_to(CHUNK * 2);
        self.seen = self.buffer.len();
        self.oversized = Some((head, length + dropped));
    }
}

/// Writes frames as lines in a task of its own. Sending never waits, so whoever produces frames
/// looks at the backlog first.
#[derive(Clone, Debug)]
pub(crate) struct LineWriter {
    frames: QueueSender<Frame>,
}

impl LineWriter {
    /// Starts the task. It ends when the last clone of the writer is dropped, or when writing
    /// fails.
    pub(crate) fn start<W>(to: W) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (frames, waiting) = queue();
        (Self { frames }, tokio::spawn(write_lines(to, waiting)))
    }

    pub(crate) fn send(&self, frame: Frame) {
        let bytes = frame.len();
        self.frames.send(frame, bytes);
    }

    /// What waits to be written. It is closed once writing has failed.
    pub(crate) fn backlog(&self) -> &Backlog {
        self.frames.backlog()
    }
}

async fn write_lines<W: AsyncWrite + Unpin>(mut to: W, mut frames: QueueReceiver<Frame>) {
    while let Some((mut frame, mut cost)) = frames.take().await {
        frame.push(b'\n');
        // Frames that are ready are written together.
        while frame.len() < CHUNK
            && let Some((next, next_cost)) = frames.try_take()
        {
            cost += next_cost;
            frame.extend_from_slice(&next);
            frame.push(b'\n');
        }
        let written = async {
            to.write_all(&frame).await?;
            to.flush().await
        };
        if written.await.is_err() {
            return;
        }
        frames.done(cost);
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], most: usize) -> Vec<InputLine> {
        let mut lines = LineReader::new(text, most);
        let mut all = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                InputLine::End => return all,
                line => all.push(line),
            }
        }
    }

    #[tokio::test]
    async fn lines_end_at_line_feeds_only() {
        let all = lines(b"a\r\n\nbc\nd", 10).await;
        let frames = [&b"a\r"[..], b"", b"bc", b"d"].map(|line| InputLine::Frame(line.to_vec()));
        assert_eq!(all, frames);
    }

    #[tokio::test]
    async fn lines_do_not_keep_the_memory_of_what_was_read_with_them() {
        let mut text = b"{\"method\":\"n\"}\n".repeat(10_000);
        text.extend(vec![b'x'; 300_000]);
        text.extend_from_slice(b"\nlast\n");
        let all = lines(&text, 1 << 20).await;
        assert_eq!(all.len(), 10_002);
        for line in &all {
            let InputLine::Frame(frame) = line else {
                panic!("{line:?}")
            };
            assert!(frame.capacity() <= 2 * frame.len() + 1, "{}", frame.len());
        }
    }

    #[tokio::test]
    async fn oversized_line_keeps_both_ends() {
        let mut text = vec![b'x'; 300_000];
        text[..3].copy_from_slice(b"abc");
        text.extend_from_slice(b"yz\nnext\n");
        let all = lines(&text, 1000).await;
        let InputLine::Oversized { head, tail, length } = &all[0] else {
            panic!()
        };
        assert!(head.starts_with(b"abc") && tail.ends_with(b"yz"));
        assert!(head.len() <= KEPT && tail.len() <= KEPT);
        assert_eq!(*length, 300_002);
        assert_eq!(all[1], InputLine::Frame(b"next".to_vec()));
    }

    #[tokio::test]
    async fn writer_writes_everything_and_reports_failure() {
        let (near, mut far) = tokio::io::duplex(16);
        let (writer, task) = LineWriter::start(near);
        writer.send(b"hello".to_vec());
        writer.send(b"world, this is longer than the pipe".to_vec());
        let mut text = vec![0; 42];
        far.read_exact(&mut text).await.unwrap();
        assert_eq!(text, b"hello\nworld, this is longer than the pipe\n");
        writer.backlog().empty().await;
        drop(far);
        writer.send(vec![b'x'; 100]);
        writer.backlog().closed().await;
        task.await.unwrap();
    }
}
