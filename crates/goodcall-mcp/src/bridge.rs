//! Connects a client on pipes with a server: the loop that moves frames through the engine.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::call_log::ProxyLog;
use crate::engine::{Engine, EngineOutput};
use crate::frame::id_in_part;
use crate::json_rpc;
use crate::line_io::{InputLine, LineReader, LineWriter};
use crate::options::ProxyOptions;
use crate::process::EndMode;
use crate::queue::Backlog;
use crate::recording::SessionRecorder;
use crate::server_connection::{McpServer, ServerConnection};

/// How often deadlines are checked.
const TICK: Duration = Duration::from_millis(200);
/// How long open requests may take after the client has closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// How long the last answers may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BridgeEnd {
    /// The client closed the connection.
    Client,
    /// The server ended.
    Server,
    /// The caller's `stop` completed.
    Asked,
}

/// The error when a server cannot be started.
#[derive(Debug)]
pub struct StartError {
    program: String,
    cause: std::io::Error,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { program, cause } = self;
        write!(f, "the server `{program}` cannot be started: {cause}")
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Runs a session between a client on pipes and a server, until one of them ends or `stop`
/// completes.
///
/// # Errors
/// If the server is a command that cannot be started. A URL that cannot be reached is not an error
/// here: the client gets an error for each request.
pub async fn bridge<R, W>(
    server: impl Into<McpServer>,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    (input, output): (R, W),
    stop: impl Future<Output = ()>,
) -> Result<BridgeEnd, StartError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let server = server.into();
    let connection = connect(&server, options.max_frame)?;
    let bridged = bridge_connected((server, connection), options, log, (input, output), stop);
    Ok(bridged.await)
}

/// Like [`bridge`], with a connection that is open already.
pub(crate) async fn bridge_connected<R, W>(
    (server, connection): (McpServer, ServerConnection),
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    (input, output): (R, W),
    stop: impl Future<Output = ()>,
) -> BridgeEnd
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (client, _) = LineWriter::start(output);
    let recorder = log
        .recorder()
        .map(|recorder| recorder.session(&options.server));
    let mut bridge = Bridge {
        recorder,
        server,
        engine: Engine::new(Arc::clone(&options)),
        client,
        connection: Some(connection),
        input_ended: None,
        options,
        log,
    };
    let input = LineReader::new(input, bridge.options.max_frame);
    let end = bridge.run(input, stop).await;
    if let Some(connection) = bridge.connection.take() {
        let mode = if end == BridgeEnd::Asked {
            EndMode::Now
        } else {
            EndMode::WhenIdle
        };
        connection.end(mode).await;
    }
    let _ = timeout(FLUSH, bridge.client.backlog().empty()).await;
    end
}

pub(crate) fn connect(
    server: &McpServer,
    max_frame: usize,
) -> Result<ServerConnection, StartError> {
    server.connect(max_frame).map_err(|cause| StartError {
        program: server.name(),
        cause,
    })
}

struct Bridge {
    recorder: Option<SessionRecorder>,
    server: McpServer,
    engine: Engine,
    client: LineWriter,
    /// `None` after the server has ended.
    connection: Option<ServerConnection>,
    /// When the client closed its side.
    input_ended: Option<Instant>,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
}

/// Whether the session is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    End,
}

impl Bridge {
    async fn run<R: AsyncRead + Unpin>(
        &mut self,
        mut input: LineReader<R>,
        stop: impl Future<Output = ()>,
    ) -> BridgeEnd {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            let to_client = self.client.backlog().clone();
            let connection = self.connection.as_ref();
            let to_server = connection.and_then(ServerConnection::backlog).cloned();
            let client_full = to_client.is_full();
            let server_full = to_server.as_ref().is_some_and(Backlog::is_full);
            let reads_input = self.input_ended.is_none() && !client_full && !server_full;
            let (flow, end) = tokio::select! {
                () = &mut stop => return BridgeEnd::Asked,
                line = input.next(), if reads_input => {
                    (self.client_line(line.unwrap_or(InputLine::End)), BridgeEnd::Client)
                }
                line = next_line(&mut self.connection), if !client_full => {
                    (self.server_line(line).await, BridgeEnd::Server)
                }
                _ = ticks.tick() => (self.tick(), BridgeEnd::Client),
                () = to_client.ready(), if client_full => continue,
                () = ready(to_server.as_ref()), if server_full => continue,
                () = to_client.closed() => return BridgeEnd::Client,
                () = closed(to_server.as_ref()) => (self.server_ended().await, BridgeEnd::Server),
            };
            if flow == Flow::End {
                // A server that exits after its input was closed did as it was asked.
                return if self.input_ended.is_some() {
                    BridgeEnd::Client
                } else {
                    end
                };
            }
        }
    }

    fn client_line(&mut self, line: InputLine) -> Flow {
        match line {
            InputLine::Frame(frame) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.client_frame(&frame);
                }
                let needs_server = self.connection.is_none() && Engine::is_request(&frame);
                let restarted = needs_server && self.restart();
                let outputs = self.engine.client_frame(frame, Instant::now());
                self.perform(outputs);
                if needs_server && !restarted {
                    // Every request is answered, even without a server.
                    let why = "the server cannot be started again";
                    let outputs = self.engine.server_ended(why, Instant::now());
                    self.perform(outputs);
                }
                Flow::Continue
            }
            InputLine::Oversized { head, tail, length } => {
                let limit = self.options.max_frame;
                let text =
                    format!("a message of {length} bytes exceeds the limit of {limit} bytes");
                self.warn(&text);
                let id = id_in_part(&head, &tail);
                let id = id.as_deref().unwrap_or("null");
                let answer = json_rpc::error(id, json_rpc::INVALID_REQUEST, &text);
                self.client.send(answer);
                Flow::Continue
            }
            InputLine::End => {
                self.input_ended = Some(Instant::now());
                self.tick()
            }
        }
    }

    async fn server_line(&mut self, line: InputLine) -> Flow {
        let now = Instant::now();
        let outputs = match line {
            InputLine::Frame(frame) => self.engine.server_frame(frame, now),
            InputLine::Oversized { head, tail, length } => {
                self.engine.oversized(&head, &tail, length, now)
            }
            InputLine::End => return self.server_ended().await,
        };
        self.perform(outputs);
        Flow::Continue
    }

    /// Ends the connection to a server that has ended, or that does not read any more.
    async fn server_ended(&mut self) -> Flow {
        let Some(connection) = self.connection.take() else {
            return Flow::Continue;
        };
        let why = connection.end(EndMode::WhenIdle).await;
        if self.input_ended.is_none() {
            self.warn(&why);
        }
        let why = format!("{why} before it answered");
        let outputs = self.engine.server_ended(&why, Instant::now());
        self.perform(outputs);
        if self.input_ended.is_none() && self.options.restart {
            Flow::Continue
        } else {
            Flow::End
        }
    }

    /// Starts the server again; returns false if that fails.
    fn restart(&mut self) -> bool {
        match connect(&self.server, self.options.max_frame) {
            Ok(connection) => {
                self.warn("started again");
                self.connection = Some(connection);
                let outputs = self.engine.server_restarted();
                self.perform(outputs);
                true
            }
            Err(error) => {
                self.log.warn(&error.to_string());
                false
            }
        }
    }

    /// Checks deadlines, and whether the session is over after the client has closed its side.
    fn tick(&mut self) -> Flow {
        let outputs = self.engine.tick(Instant::now());
        self.perform(outputs);
        let Some(since) = self.input_ended else {
            return Flow::Continue;
        };
        let Some(connection) = &mut self.connection else {
            return Flow::End;
        };
        if !self.engine.is_holding() {
            connection.close_input();
        }
        if self.engine.is_waiting() && since.elapsed() < LAST_ANSWERS {
            Flow::Continue
        } else {
            Flow::End
        }
    }

    fn perform(&mut self, outputs: Vec<EngineOutput>) {
        for output in outputs {
            match output {
                EngineOutput::Client(frame) => {
                    self.record(&frame);
                    self.client.send(frame);
                }
                EngineOutput::Server(frame) => {
                    if let Some(connection) = &self.connection {
                        connection.send(frame, |frame| self.engine.mirrors(frame));
                    }
                }
                EngineOutput::Note(entry) => self.log.write(&entry),
            }
        }
    }

    /// Records a frame that goes to the client, until that fails.
    fn record(&mut self, frame: &[u8]) {
        let recorded = self.recorder.as_mut().map(|one| one.frame_to_client(frame));
        if let Some(Err(error)) = recorded {
            self.warn(&format!("the session is not recorded any more: {error}"));
            self.recorder = None;
        }
    }

    fn warn(&self, text: &str) {
        self.log.warn(&format!("{}: {text}", self.options.server));
    }
}

async fn next_line(connection: &mut Option<ServerConnection>) -> InputLine {
    match connection {
        Some(connection) => connection.next().await,
        None => std::future::pending().await,
    }
}

async fn ready(backlog: Option<&Backlog>) {
    match backlog {
        Some(backlog) => backlog.ready().await,
        None => std::future::pending().await,
    }
}

async fn closed(backlog: Option<&Backlog>) {
    match backlog {
        Some(backlog) => backlog.closed().await,
        None => std::future::pending().await,
    }
}
