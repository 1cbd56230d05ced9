//! Messages as lines: read with a limit, written without waiting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::frame::Frame;

/// Bytes that are kept of the beginning and of the end of a line that is too long.
const KEPT: usize = 4096;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// Bytes that may wait to be written before no more are read on the other side.
const BACKLOG: usize = 8 << 20;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// A message, without its line end.
    Frame(Frame),
    /// A line that passes the limit: its beginning, its end, its length.
    Oversized {
        head: Vec<u8>,
        tail: Vec<u8>,
        length: usize,
    },
    /// There are no more.
    End,
}

/// Reads lines. Dropping the future of [`LineReader::next`] loses nothing.
pub(crate) struct LineReader<R> {
    from: R,
    /// What was read and not handed out.
    buffer: Vec<u8>,
    /// Up to here there is no line end in the buffer.
    seen: usize,
    most: usize,
    /// Beginning and length of a line that is too long, whose end is being looked for.
    over: Option<(Vec<u8>, usize)>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(from: R, most: usize) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            seen: 0,
            most,
            over: None,
            ended: false,
        }
    }

    /// The next line.
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

    /// A line that is whole, or the last one.
    fn buffered(&mut self) -> Option<InputLine> {
        let end = self.buffer[self.seen..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(end) = end.map(|at| at + self.seen) else {
            self.seen = self.buffer.len();
            if self.ended && (self.over.is_some() || !self.buffer.is_empty()) {
                return Some(self.take(self.buffer.len(), self.buffer.len()));
            }
            self.shrink();
            return None;
        };
        Some(self.take(end, end + 1))
    }

    /// Hands out the line that ends at `end`; what is left starts at `next`.
    fn take(&mut self, end: usize, next: usize) -> InputLine {
        let rest = self.buffer.split_off(next.min(self.buffer.len()));
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(end);
        self.seen = 0;
        match self.over.take() {
            Some((head, length)) => InputLine::Oversized {
                head,
                length: length + line.len(),
                tail: line.split_off(line.len().saturating_sub(KEPT)),
            },
            None if line.len() > self.most => InputLine::Oversized {
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

    /// Of a line that is too long only the beginning and the end are kept.
    fn shrink(&mut self) {
        if self.over.is_none() && self.buffer.len() <= self.most {
            return;
        }
        let dropped = self.buffer.len().saturating_sub(KEPT);
        let (head, length) = self.over.take().unwrap_or_else(|| {
            let head = self.buffer.iter().take(KEPT).copied().collect();
            (head, 0)
        });
        self.buffer.drain(..dropped);
        self.buffer.shrink_to(CHUNK * 2);
        self.seen = self.buffer.len();
        self.over = Some((head, length + dropped));
    }
}

/// Frames on their way out. Sending never waits; whoever reads on the other side looks at
/// [`LineWriter::is_full`] first.
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
    /// A task that writes what is sent, a line each. It ends when all senders are gone, or when
    /// nobody reads any more.
    pub(crate) fn start<W>(mut to: W) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, mut frames) = mpsc::unbounded_channel::<Frame>();
        let state = Arc::new(LineWriterState::default());
        let queue = Self {
            to: sender,
            state: Arc::clone(&state),
        };
        let task = tokio::spawn(async move {
            while let Some(mut frame) = frames.recv().await {
                frame.push(b'\n');
                let mut length = frame.len();
                // What is ready goes out in one piece.
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
        (queue, task)
    }

    pub(crate) fn send(&self, frame: Frame) {
        self.state
            .bytes
            .fetch_add(frame.len() + 1, Ordering::AcqRel);
        // After a failure there is nobody to tell.
        let _ = self.to.send(frame);
    }

    /// Does so much wait that nothing should be added?
    pub(crate) fn is_full(&self) -> bool {
        self.state.bytes.load(Ordering::Acquire) > BACKLOG && !self.has_failed()
    }

    /// Is nobody reading any more?
    pub(crate) fn has_failed(&self) -> bool {
        self.state.failed.load(Ordering::Acquire)
    }

    /// Waits until there is room.
    pub(crate) async fn room(&self) {
        self.until(|queue| !queue.is_full()).await;
    }

    /// Waits until everything is written, or cannot be.
    pub(crate) async fn empty(&self) {
        self.until(|queue| queue.has_failed() || queue.state.bytes.load(Ordering::Acquire) == 0)
            .await;
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn failed(&self) {
        self.until(Self::has_failed).await;
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.state.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that no change is missed.
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
    async fn lines_are_cut_at_their_ends_only() {
        let all = lines(b"a\r\n\nbc\nd", 10).await;
        let frames = [&b"a\r"[..], b"", b"bc", b"d"].map(|line| InputLine::Frame(line.to_vec()));
        assert_eq!(all, frames);
    }

    #[tokio::test]
    async fn of_a_long_line_the_ends_are_kept() {
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
    async fn a_queue_writes_all_and_tells_of_failure() {
        let (near, mut far) = tokio::io::duplex(16);
        let (queue, task) = LineWriter::start(near);
        queue.send(b"hello".to_vec());
        queue.send(b"world, this is longer than the pipe".to_vec());
        let mut text = vec![0; 42];
        far.read_exact(&mut text).await.unwrap();
        assert_eq!(text, b"hello\nworld, this is longer than the pipe\n");
        queue.empty().await;
        drop(far);
        queue.send(vec![b'x'; 100]);
        queue.failed().await;
        task.await.unwrap();
    }
}
