//! Several servers behind one endpoint. To a session they look like one server.

mod merge;
mod places;
mod router;
#[cfg(test)]
mod router_tests;

use std::io;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::router::{GroupOutput, GroupRouter};
use crate::call_log::ProxyLog;
use crate::frame::{Frame, id_in_part};
use crate::json_rpc;
use crate::line_io::InputLine;
use crate::options::ProxyOptions;
use crate::process::EndMode;
use crate::queue::{Backlog, QueueReceiver, QueueSender, queue};
use crate::server_connection::{McpServer, ServerConnection};

/// Messages that wait for the session, and lines that wait to be routed.
const WAITING: usize = 64;

/// One server of a group.
#[derive(Clone, Debug)]
pub struct GroupMember {
    /// Where the server is.
    pub server: McpServer,
    /// Its options: its name, and how its tools appear.
    pub options: Arc<ProxyOptions>,
}

/// Servers whose tools, prompts and resources are offered together. A session begins with the
/// handshake of the protocol versions up to 2025-11-25.
#[derive(Clone, Debug)]
pub struct ServerGroup {
    members: Vec<GroupMember>,
    log: Arc<ProxyLog>,
}

impl ServerGroup {
    /// Puts servers together. What goes wrong with a single one is logged.
    pub fn new(members: Vec<GroupMember>, log: Arc<ProxyLog>) -> Self {
        Self { members, log }
    }

    /// The servers of the group.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &McpServer> {
        self.members.iter().map(|member| &member.server)
    }

    /// The names of the servers, for messages.
    pub(crate) fn name(&self) -> String {
        let names = self.members.iter().map(|one| one.options.server.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Connects with all servers.
    ///
    /// # Errors
    /// If one of them is a command that cannot be started.
    pub(crate) fn connect(&self, max_frame: usize) -> io::Result<GroupConnection> {
        let mut connections = Vec::new();
        for member in &self.members {
            let connection = member.server.connect(max_frame).map_err(|error| {
                let (name, program) = (&member.options.server, member.server.name());
                io::Error::new(error.kind(), format!("{name}: {program}: {error}"))
            })?;
            connections.push(connection);
        }
        let (events, from_members) = mpsc::channel(WAITING);
        let (stop, stopped) = watch::channel(None);
        let mut to_members = Vec::new();
        for (index, connection) in connections.into_iter().enumerate() {
            let (to_member, frames) = queue();
            to_members.push(Some(to_member));
            let member = MemberTask {
                connection,
                frames,
                events: events.clone(),
                stopped: stopped.clone(),
            };
            tokio::spawn(member.run(index));
        }
        let (to_group, frames) = queue();
        let (to_session, from_group) = mpsc::channel(WAITING);
        let options = self.members.iter().map(|one| Arc::clone(&one.options));
        let task = GroupTask {
            router: GroupRouter::new(options.collect()),
            to_members,
            to_session,
            log: Arc::clone(&self.log),
        };
        Ok(GroupConnection {
            to_group: Some(to_group),
            from_group,
            stop,
            task: tokio::spawn(task.run(frames, from_members)),
        })
    }
}

/// A connection to all servers of a group.
pub(crate) struct GroupConnection {
    to_group: Option<QueueSender<Frame>>,
    from_group: mpsc::Receiver<Frame>,
    stop: watch::Sender<Option<EndMode>>,
    task: JoinHandle<()>,
}

impl GroupConnection {
    pub(crate) fn send(&self, frame: Frame) {
        if let Some(to_group) = &self.to_group {
            let bytes = frame.len();
            to_group.send(frame, bytes);
        }
    }

    /// What waits to be routed; `None` once the input is closed.
    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        self.to_group.as_ref().map(QueueSender::backlog)
    }

    pub(crate) fn close_input(&mut self) {
        self.to_group = None;
    }

    pub(crate) async fn next(&mut self) -> InputLine {
        let frame = self.from_group.recv().await;
        frame.map_or(InputLine::End, InputLine::Frame)
    }

    /// Ends the connections to all servers.
    pub(crate) async fn end(mut self, mode: EndMode) {
        self.to_group = None;
        // Nobody reads any more, so nothing waits for a reader.
        self.from_group.close();
        self.stop.send_replace(Some(mode));
        // It ends after the last member.
        let _ = (&mut self.task).await;
    }
}

/// What happens on the side of one server.
enum MemberEvent {
    Line(InputLine),
    /// The connection has ended, in words.
    Ended(String),
}

/// The task that holds the connection to one server.
struct MemberTask {
    connection: ServerConnection,
    frames: QueueReceiver<Frame>,
    events: mpsc::Sender<(usize, MemberEvent)>,
    stopped: watch::Receiver<Option<EndMode>>,
}

impl MemberTask {
    async fn run(mut self, index: usize) {
        let mode = self.pass_frames(index).await;
        let why = self.connection.end(mode).await;
        let ended = MemberEvent::Ended(why);
        // This fails only if the whole group has ended.
        let _ = self.events.send((index, ended)).await;
    }

    /// Passes frames until the server ends, or is to be ended.
    async fn pass_frames(&mut self, index: usize) -> EndMode {
        let mut is_open = true;
        loop {
            let backlog = self.connection.backlog().cloned();
            let full = backlog.filter(Backlog::is_full);
            let line = tokio::select! {
                mode = stop_mode(&mut self.stopped) => return mode,
                frame = self.frames.next(), if is_open && full.is_none() => {
                    match frame {
                        Some(frame) => self.connection.send(frame, |_| Vec::new()),
                        None => {
                            is_open = false;
                            self.connection.close_input();
                        }
                    }
                    continue;
                }
                () = ready(full.as_ref()), if full.is_some() => continue,
                line = self.connection.next() => line,
            };
            if line == InputLine::End {
                return EndMode::WhenIdle;
            }
            tokio::select! {
                mode = stop_mode(&mut self.stopped) => return mode,
                _ = self.events.send((index, MemberEvent::Line(line))) => {}
            }
        }
    }
}

/// How the connections are to be ended, once they are.
async fn stop_mode(stopped: &mut watch::Receiver<Option<EndMode>>) -> EndMode {
    let mode = stopped.wait_for(Option::is_some).await;
    mode.ok().and_then(|mode| *mode).unwrap_or(EndMode::Now)
}

async fn ready(backlog: Option<&Backlog>) {
    if let Some(backlog) = backlog {
        backlog.ready().await;
    }
}

/// The task that routes frames between the session and the servers.
struct GroupTask {
    router: GroupRouter,
    /// `None` after the input was closed.
    to_members: Vec<Option<QueueSender<Frame>>>,
    to_session: mpsc::Sender<Frame>,
    log: Arc<ProxyLog>,
}

impl GroupTask {
    async fn run(
        mut self,
        mut frames: QueueReceiver<Frame>,
        mut from_members: mpsc::Receiver<(usize, MemberEvent)>,
    ) {
        let mut is_open = true;
        loop {
            let mut backlogs = self.to_members.iter().flatten().map(QueueSender::backlog);
            let full = backlogs.find(|backlog| backlog.is_full()).cloned();
            tokio::select! {
                frame = frames.next(), if is_open && full.is_none() => match frame {
                    Some(frame) => self.router.client_frame(&frame),
                    None => {
                        is_open = false;
                        self.to_members.fill_with(|| None);
                    }
                },
                () = ready(full.as_ref()), if full.is_some() => {}
                event = from_members.recv() => match event {
                    Some((index, MemberEvent::Line(line))) => self.line(index, line),
                    Some((index, MemberEvent::Ended(why))) => {
                        // A server that exits after its input was closed did as it was asked.
                        if is_open {
                            self.router.warn(index, &why);
                        }
                        self.router.member_ended(index, &why);
                    }
                    None => return,
                },
            }
            self.perform().await;
        }
    }

    fn line(&mut self, index: usize, line: InputLine) {
        match line {
            InputLine::Frame(frame) => self.router.member_frame(index, &frame),
            InputLine::Oversized { head, tail, length } => {
                let text = format!("the server's answer of {length} bytes exceeds the limit");
                if let Some(id) = id_in_part(&head, &tail) {
                    let error = json_rpc::error(&id, json_rpc::CLOSED, &text);
                    self.router.member_frame(index, &error);
                }
                self.router.warn(index, &text);
            }
            InputLine::End => {}
        }
    }

    async fn perform(&mut self) {
        for output in self.router.take_output() {
            match output {
                // This fails only if the session has ended.
                GroupOutput::Client(frame) => {
                    let _ = self.to_session.send(frame).await;
                }
                GroupOutput::Member(index, frame) => {
                    let bytes = frame.len();
                    if let Some(to_member) = &self.to_members[index] {
                        to_member.send(frame, bytes);
                    }
                }
                GroupOutput::Warning(text) => self.log.warn(&text),
            }
        }
    }
}
