//! A server that runs as a child process: started, used over its pipes, and ended together with the
//! processes that it started.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::frame::Frame;
use crate::line_io::{InputLine, LineReader, LineWriter};

/// How long a server may take to exit after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is read after the process has exited.
const DRAIN: Duration = Duration::from_millis(500);

/// A command that starts an MCP server on its standard input and output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl ServerCommand {
    /// A program and its arguments, which no shell interprets.
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
    reader: LineReader<ChildStdout>,
    writer: Option<LineWriter>,
    /// The exit status, once the process has exited.
    ended: Option<ExitStatus>,
    /// Until when output is read after that.
    drained: Option<Instant>,
    group: Option<u32>,
}

impl ServerCommand {
    /// Starts the server. It inherits standard error.
    pub(crate) fn start(&self, max_frame: usize) -> io::Result<ServerProcess> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // A process group of its own, which is ended as a whole.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the process has no pipes");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let (writer, _) = LineWriter::start(stdin);
        Ok(ServerProcess {
            group: child.id(),
            child,
            reader: LineReader::new(stdout, max_frame),
            writer: Some(writer),
            ended: None,
            drained: None,
        })
    }
}

impl ServerProcess {
    /// The frames that wait to be written; `None` once the input is closed.
    pub(crate) fn writer(&self) -> Option<&LineWriter> {
        self.writer.as_ref()
    }

    pub(crate) fn send(&self, frame: Frame) {
        if let Some(writer) = &self.writer {
            writer.send(frame);
        }
    }

    /// Closes the input after the frames that were sent.
    pub(crate) fn close_input(&mut self) {
        self.writer = None;
    }

    /// The next line, or [`InputLine::End`] after the last. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> InputLine {
        loop {
            if let Some(until) = self.drained {
                // Processes that the server has started may keep its output open.
                return match timeout_at(until, self.reader.next()).await {
                    Ok(Ok(line)) => line,
                    Ok(Err(_)) | Err(_) => InputLine::End,
                };
            }
            tokio::select! {
                biased;
                line = self.reader.next() => return line.unwrap_or(InputLine::End),
                status = self.child.wait() => {
                    self.ended = Some(status.unwrap_or_default());
                    self.drained = Some(Instant::now() + DRAIN);
                }
            }
        }
    }

    /// Ends the process and all of its group: closes its input, then asks it to exit, then kills
    /// it. The exit status is `None` if it cannot be had.
    pub(crate) async fn end(mut self, mode: EndMode) -> Option<ExitStatus> {
        self.writer = None;
        if mode == EndMode::WhenIdle {
            self.wait_for_exit().await;
        }
        if self.ended.is_none() {
            self.signal(GroupSignal::Terminate);
            self.wait_for_exit().await;
        }
        // Even if the process has exited by itself, its group may have members left.
        self.signal(GroupSignal::Kill);
        if self.ended.is_none() {
            let _ = self.child.start_kill();
            self.ended = self.child.wait().await.ok();
        }
        self.ended
    }

    async fn wait_for_exit(&mut self) {
        if self.ended.is_none() {
            let status = timeout(GRACE, self.child.wait()).await;
            self.ended = status.ok().and_then(Result::ok);
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: GroupSignal) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = self.group.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group.and_then(Pid::from_raw) {
            let signal = match signal {
                GroupSignal::Terminate => Signal::TERM,
                GroupSignal::Kill => Signal::KILL,
            };
            // This fails only if the group has no members left.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _: GroupSignal) {
        let _ = self.child.start_kill();
    }
}

/// How a server is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndMode {
    /// It may finish its work after its input was closed.
    WhenIdle,
    /// It is asked to exit at once.
    Now,
}

#[derive(Clone, Copy)]
enum GroupSignal {
    Terminate,
    Kill,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.signal(GroupSignal::Kill);
        }
    }
}

/// Says in words how a server ended.
pub(crate) fn describe_exit(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("the server ended ({status})"),
        None => "the server ended".to_owned(),
    }
}
