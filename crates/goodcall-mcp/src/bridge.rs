//! A client on pipes in front of a server: the loop that moves messages.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::call_log::ProxyLog;
use crate::engine::{Engine, EngineOutput};
use crate::frame::Frame;
use crate::http::Upstream;
use crate::line_io::{InputLine, LineReader, LineWriter};
use crate::options::ProxyOptions;
use crate::process::ServerCommand;
use crate::server_connection::{McpServer, ServerConnection};

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(200);
/// How long answers may take after the client has said all it has to say.
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
    /// Somebody asked for it.
    Asked,
}

/// A server that cannot be started.
#[derive(Debug)]
pub struct StartError {
    program: String,
    error: std::io::Error,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the server `{}` cannot be started: {}",
            self.program, self.error
        )
    }
}

impl std::error::Error for StartError {}

/// Stands between a client on pipes and a server that is started here, until one of them ends or
/// `stop` comes.
///
/// # Errors
/// If the server cannot be started.
pub async fn bridge<R, W>(
    command: &ServerCommand,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    (input, output): (R, W),
    stop: impl Future<Output = ()>,
) -> Result<BridgeEnd, StartError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let place = McpServer::Command(command.clone());
    between(&place, options, log, (input, output), stop).await
}

/// Stands between a client on pipes and a server behind a URL, until the client ends or `stop`
/// comes.
///
/// # Errors
/// None: a server that cannot be reached is told to the client, request by request.
pub async fn bridge_url<R, W>(
    upstream: &Upstream,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    (input, output): (R, W),
    stop: impl Future<Output = ()>,
) -> Result<BridgeEnd, StartError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let place = McpServer::Url(upstream.clone());
    between(&place, options, log, (input, output), stop).await
}

pub(crate) async fn between<R, W>(
    place: &McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    (input, output): (R, W),
    stop: impl Future<Output = ()>,
) -> Result<BridgeEnd, StartError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let server = start(place, &options)?;
    let (queue, _) = LineWriter::start(output);
    let mut bridge = Bridge {
        place,
        engine: Engine::new(Arc::clone(&options)),
        client: queue,
        server: Some(server),
        input_ended: None,
        options,
        log,
    };
    let input = LineReader::new(input, bridge.options.max_frame);
    let end = bridge.run(input, stop).await;
    if let Some(server) = bridge.server.take() {
        server.end(end == BridgeEnd::Asked).await;
    }
    let _ = timeout(FLUSH, bridge.client.empty()).await;
    Ok(end)
}

fn start(place: &McpServer, options: &ProxyOptions) -> Result<ServerConnection, StartError> {
    place.start(options.max_frame).map_err(|error| StartError {
        program: place.name(),
        error,
    })
}

struct Bridge<'c> {
    place: &'c McpServer,
    engine: Engine,
    client: LineWriter,
    server: Option<ServerConnection>,
    /// When the client's last word came.
    input_ended: Option<Instant>,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
}

impl Bridge<'_> {
    async fn run<R: AsyncRead + Unpin>(
        &mut self,
        mut input: LineReader<R>,
        stop: impl Future<Output = ()>,
    ) -> BridgeEnd {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            let to_client = self.client.clone();
            let to_server = self
                .server
                .as_ref()
                .and_then(ServerConnection::queue)
                .cloned();
            let full = to_client.is_full();
            let server_full = to_server.as_ref().is_some_and(LineWriter::is_full);
            tokio::select! {
                () = &mut stop => return BridgeEnd::Asked,
                line = input.next(), if self.input_ended.is_none() && !full && !server_full => {
                    if self.client_line(line.unwrap_or(InputLine::End)).await {
                        return BridgeEnd::Client;
                    }
                }
                line = next(&mut self.server), if !full => {
                    if self.server_line(line).await {
                        return BridgeEnd::Server;
                    }
                }
                _ = ticks.tick() => {
                    if self.tick() {
                        return BridgeEnd::Client;
                    }
                }
                () = to_client.room(), if full => {}
                () = room(to_server.as_ref()), if server_full => {}
                () = to_client.failed() => return BridgeEnd::Client,
                () = failed(to_server.as_ref()) => {
                    if self.server_ended(false).await {
                        return BridgeEnd::Server;
                    }
                }
            }
        }
    }

    /// Is this the end?
    async fn client_line(&mut self, line: InputLine) -> bool {
        match line {
            InputLine::Frame(frame) => {
                if self.server.is_none() && Engine::is_request(&frame) && !self.restart() {
                    // Every request is answered, also where there is no server.
                    let out = self.engine.from_client(frame, Instant::now());
                    self.act(out);
                    let out = self
                        .engine
                        .server_gone("the server cannot be started again", Instant::now());
                    self.act(out);
                    return false;
                }
                let out = self.engine.from_client(frame, Instant::now());
                self.act(out);
            }
            InputLine::Oversized { length, .. } => {
                let most = self.options.max_frame;
                let text = format!("a message of {length} bytes passes the limit of {most} bytes");
                self.log.warn(&format!("{}: {text}", self.options.server));
                let code = crate::json_rpc::INVALID_REQUEST;
                self.client
                    .send(crate::json_rpc::error("null", code, &text));
            }
            InputLine::End => {
                self.input_ended = Some(Instant::now());
                return self.tick();
            }
        }
        false
    }

    async fn server_line(&mut self, line: InputLine) -> bool {
        let now = Instant::now();
        let out = match line {
            InputLine::Frame(frame) => self.engine.from_server(frame, now),
            InputLine::Oversized { head, tail, length } => {
                self.engine.oversized(&head, &tail, length, now)
            }
            InputLine::End => return self.server_ended(false).await,
        };
        self.act(out);
        // The last answer may have been given.
        false
    }

    /// The server has ended, or is as good as ended. Is that the end of the session?
    async fn server_ended(&mut self, asked: bool) -> bool {
        let Some(server) = self.server.take() else {
            return false;
        };
        let why = server.end(asked).await;
        if self.input_ended.is_none() {
            self.log.warn(&format!("{}: {why}", self.options.server));
        }
        let out = self
            .engine
            .server_gone(&format!("{why} before it answered"), Instant::now());
        self.act(out);
        self.input_ended.is_some() || !self.options.restart
    }

    fn restart(&mut self) -> bool {
        match start(self.place, &self.options) {
            Ok(server) => {
                self.log
                    .warn(&format!("{}: started again", self.options.server));
                self.server = Some(server);
                let out = self.engine.server_back(Instant::now());
                self.act(out);
                true
            }
            Err(error) => {
                self.log.warn(&error.to_string());
                false
            }
        }
    }

    /// Deadlines, and the last word of the client. Is this the end?
    fn tick(&mut self) -> bool {
        let out = self.engine.tick(Instant::now());
        self.act(out);
        let Some(since) = self.input_ended else {
            return false;
        };
        let Some(server) = &mut self.server else {
            return true;
        };
        if !self.engine.is_holding() {
            server.close_input();
        }
        let late = since.elapsed() >= LAST_ANSWERS;
        // Without open questions the server gets its grace in `ServerProcess::end`.
        late || !self.engine.is_waiting()
    }

    fn act(&mut self, all: Vec<EngineOutput>) {
        for out in all {
            match out {
                EngineOutput::Client(frame) => self.client.send(frame),
                EngineOutput::Server(frame) => self.to_server(frame),
                EngineOutput::Note(note) => self.log.write(&note),
            }
        }
    }

    fn to_server(&self, frame: Frame) {
        if let Some(server) = &self.server {
            server.send(frame, &self.engine);
        }
    }
}

async fn next(server: &mut Option<ServerConnection>) -> InputLine {
    match server {
        Some(server) => server.next().await,
        None => std::future::pending().await,
    }
}

async fn room(queue: Option<&LineWriter>) {
    match queue {
        Some(queue) => queue.room().await,
        None => std::future::pending().await,
    }
}

async fn failed(queue: Option<&LineWriter>) {
    match queue {
        Some(queue) => queue.failed().await,
        None => std::future::pending().await,
    }
}
