//! A server that runs as a child process: started, used over its pipes, and ended together with the
//! processes that it started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::frame::Frame;
use crate::line_io::{InputLine, LineReader, LineWriter};

/// How long a server may take to exit after its input was closed, and again after it was asked to.
/// The SDKs of clients wait for 2 s each time before they kill the proxy, and the server must have
/// ended by then.
const GRACE: Duration = Duration::from_millis(900);
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
    /// The words of a command that replaces itself by the program whose words follow. It may
    /// prepare the process, as [`end_with_parent`] does.
    pub launcher: Vec<OsString>,
    /// Variables of its environment, besides those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// The folder in which it runs; that of this process if there is none.
    pub folder: Option<PathBuf>,
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
            launcher: Vec::new(),
            variables: Vec::new(),
            folder: None,
        }
    }

    /// Returns an error if the program cannot be found, without starting it.
    ///
    /// # Errors
    /// If there is no such file, or none in the folders of `PATH`, or it may not be executed.
    pub fn find(&self) -> io::Result<()> {
        let program = Path::new(&self.program);
        if cfg!(not(unix)) {
            // There a name has other ways to become a program.
            return Ok(());
        }
        let is_path = program.components().count() > 1;
        let folders = match std::env::var_os("PATH").filter(|_| !is_path) {
            Some(folders) => std::env::split_paths(&folders).collect(),
            None => vec![self.folder.clone().unwrap_or_default()],
        };
        let mut files = folders.iter().map(|folder| folder.join(program));
        let Some(file) = files.find(|file| file.is_file()) else {
            let why = if self.program.to_string_lossy().contains(' ') {
                "No such file or directory; if its arguments are part of the name, write each apart"
            } else {
                "No such file or directory"
            };
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        };
        if files.chain([file]).any(|file| may_execute(&file)) {
            return Ok(());
        }
        let why = "the file may not be executed";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

#[cfg(unix)]
fn may_execute(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_execute(_: &Path) -> bool {
    true
}

/// Lets this process end together with the one that has started it, even if that one is killed.
/// The program that replaces this one keeps the promise. Without such a service of the system
/// nothing happens.
pub fn end_with_parent() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // Without it the server is still told by the end of its input.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
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
        let mut words = self.launcher.iter().chain([&self.program]);
        let mut command = Command::new(words.next().unwrap_or(&self.program));
        if !self.launcher.is_empty() {
            // The launcher itself starts in any case.
            self.find()?;
        }
        command
            .args(words)
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
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
                    self.ended = status.ok();
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
