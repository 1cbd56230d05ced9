//! Frames as lines: read with a size limit, written without waiting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::frame::Frame;

/// Bytes that are kept of each end of a line that exceeds the limit.
const KEPT: usize = 4096;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// Bytes that may wait to be written before reading on the other side stops.
const BACKLOG: usize = 8 << 20;

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
    /// Bytes that were read and not handed out.
    buffer: Vec<u8>,
    /// The buffer has no line end before this position.
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
            if self.ended && (self.oversized.is_some() || !self.buffer.is_empty()) {
                return Some(self.take(self.buffer.len(), self.buffer.len()));
            }
            self.shrink();
            return None;
        };
        Some(self.take(end, end + 1))
    }

    /// Hands out the line that ends at `end`. The next one starts at `next`.
    fn take(&mut self, end: usize, next: usize) -> InputLine {
        let rest = self.buffer.split_off(next.min(self.buffer.len()));
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(end);
        self.seen = 0;
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

    /// Drops the middle of a line that exceeds the limit.
    fn shrink(&mut self) {
        if self.oversized.is_none() && self.buffer.len() <= self.max_line {
            return;
        }
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
/// looks at [`LineWriter::is_full`] first.
#[derive(Clone, Debug)]
pub(crate) struct LineWriter {
    to: mpsc::UnboundedSender<Frame>,
    state: Arc<LineWriterState>,
}

#[derive(Debug, Default)]
struct LineWriterState {
    bytes: AtomicUsize,
    failed: AtomicBool,
    changed: Notify,
}

impl LineWriter {
    /// Starts the task. It ends when the last clone of the writer is dropped, or when writing
    /// fails.
    pub(crate) fn start<W>(mut to: W) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, mut frames) = mpsc::unbounded_channel::<Frame>();
        let state = Arc::new(LineWriterState::default());
        let writer = Self {
            to: sender,
            state: Arc::clone(&state),
        };
        let task = tokio::spawn(async move {
            while let Some(mut frame) = frames.recv().await {
                frame.push(b'\n');
                let mut length = frame.len();
                // Frames that are ready are written together.
                while length < CHUNK
                    && let Ok(mut next) = frames.try_recv()
                {
                    next.push(b'\n');
                    length += next.len();
                    frame.append(&mut next);
                }
                let written = async {
                    to.write_all(&frame).await?;
                    to.flush().await
                };
                if written.await.is_err() {
                    state.failed.store(true, Ordering::Release);
                    state.changed.notify_waiters();
                    return;
                }
                state.bytes.fetch_sub(length, Ordering::AcqRel);
                state.changed.notify_waiters();
            }
            let _ = to.shutdown().await;
        });
        (writer, task)
    }

    pub(crate) fn send(&self, frame: Frame) {
        self.state
            .bytes
            .fetch_add(frame.len() + 1, Ordering::AcqRel);
        // After a failure nobody reads any more.
        let _ = self.to.send(frame);
    }

    /// Returns true if so much waits that nothing should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.state.bytes.load(Ordering::Acquire) > BACKLOG && !self.has_failed()
    }

    /// Returns true if writing has failed, because nobody reads any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.failed.load(Ordering::Acquire)
    }

    /// Waits until frames may be added.
    pub(crate) async fn ready(&self) {
        self.until(|writer| !writer.is_full()).await;
    }

    /// Waits until everything is written, or writing has failed.
    pub(crate) async fn flushed(&self) {
        self.until(|writer| writer.has_failed() || writer.state.bytes.load(Ordering::Acquire) == 0)
            .await;
    }

    /// Waits until writing fails.
    pub(crate) async fn failed(&self) {
        self.until(Self::has_failed).await;
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.state.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            if done(self) {
                return;
            }
            changed.await;
        }
    }
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
        writer.flushed().await;
        drop(far);
        writer.send(vec![b'x'; 100]);
        writer.failed().await;
        task.await.unwrap();
    }
}
