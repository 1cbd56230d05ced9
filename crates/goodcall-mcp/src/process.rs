//! A server that is a process: started, spoken to over its pipes, and ended with all it started.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::frame::Frame;
use crate::line_io::{InputLine, LineReader, LineWriter};

/// How long a server may take to end by itself when its input ends.
const GRACE: Duration = Duration::from_secs(2);
/// How long output may come after the process has ended.
const DRAIN: Duration = Duration::from_millis(500);

/// A command that starts a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl ServerCommand {
    /// A program and its arguments; no shell is in between.
    pub fn new(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().collect(),
        }
    }
}

/// A running server.
pub(crate) struct ServerProcess {
    child: Child,
    lines: LineReader<ChildStdout>,
    queue: Option<LineWriter>,
    /// Has the process ended?
    ended: Option<ExitStatus>,
    /// Until when output is awaited after that.
    drained: Option<Instant>,
    group: Option<u32>,
}

impl ServerCommand {
    /// Starts the server. Its standard error is ours.
    pub(crate) fn start(&self, most: usize) -> io::Result<ServerProcess> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // A group of its own: what the server starts is ended with it.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the server has no pipes");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let (queue, _) = LineWriter::start(stdin);
        Ok(ServerProcess {
            group: child.id(),
            child,
            lines: LineReader::new(stdout, most),
            queue: Some(queue),
            ended: None,
            drained: None,
        })
    }
}

impl ServerProcess {
    /// Frames for the server; `None` once its input is closed.
    pub(crate) fn queue(&self) -> Option<&LineWriter> {
        self.queue.as_ref()
    }

    pub(crate) fn send(&self, frame: Frame) {
        if let Some(queue) = &self.queue {
            queue.send(frame);
        }
    }

    /// No more input: what is queued is still written.
    pub(crate) fn close_input(&mut self) {
        self.queue = None;
    }

    /// The next line. [`InputLine::End`] when there will be none. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> InputLine {
        loop {
            if let Some(until) = self.drained {
                // What the process has started may keep its output open.
                return match timeout_at(until, self.lines.next()).await {
                    Ok(Ok(line)) => line,
                    Ok(Err(_)) | Err(_) => InputLine::End,
                };
            }
            tokio::select! {
                biased;
                line = self.lines.next() => return line.unwrap_or(InputLine::End),
                status = self.child.wait() => {
                    self.ended = Some(status.unwrap_or_default());
                    self.drained = Some(Instant::now() + DRAIN);
                }
            }
        }
    }

    /// Ends the process: its input is closed, then it is asked, then it is made to. With `asked`
    /// the first wait is left out. Nothing of it is left behind.
    pub(crate) async fn end(mut self, asked: bool) -> Option<ExitStatus> {
        self.queue = None;
        let grace = if asked { Duration::ZERO } else { GRACE };
        if self.ended.is_none() && !asked {
            self.ended = timeout(grace, self.child.wait())
                .await
                .ok()
                .and_then(Result::ok);
        }
        if self.ended.is_none() {
            self.signal(false);
            self.ended = timeout(GRACE, self.child.wait())
                .await
                .ok()
                .and_then(Result::ok);
        }
        // Also where the process has ended by itself: its group may have members left.
        self.signal(true);
        if self.ended.is_none() {
            let _ = self.child.start_kill();
            self.ended = self.child.wait().await.ok();
        }
        self.ended
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = self.group.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group.and_then(Pid::from_raw) {
            let signal = if kill { Signal::KILL } else { Signal::TERM };
            // Nobody there is as good as gone.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _: bool) {
        let _ = self.child.start_kill();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.signal(true);
        }
    }
}

/// How a server ended, in words.
pub(crate) fn words(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("the server ended ({status})"),
        None => "the server ended".to_owned(),
    }
}
