//! One session of the process listener: frames go to the server as lines, and each line of the
//! server is routed to the HTTP request that waits for it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, split};
use tokio::sync::oneshot;

use crate::bridge::{StartError, bridge_connected, connect};
use crate::call_log::ProxyLog;
use crate::frame::{Frame, FrameContent, Message, canonical, one_line};
use crate::json_rpc;
use crate::json_span::{JsonSpan, Splice, splice};
use crate::line_io::{InputLine, LineReader, LineWriter};
use crate::options::ProxyOptions;
use crate::queue::{QueueReceiver, QueueSender, queue};
use crate::server_connection::McpServer;

/// Messages of the server that are kept while no client listens, and their bytes.
const BACKLOG: usize = 1024;
const BACKLOG_BYTES: usize = 8 << 20;
/// Bytes of the pipe between the listener and the session.
const PIPE: usize = 256 << 10;
/// The key by which a notification names its subscription.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Who uses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionUsers {
    /// One client, which opened it.
    OneClient,
    /// Several clients. Their ids may collide, so the server sees ids of the proxy instead.
    ManyClients,
}

/// One session.
pub(crate) struct Session {
    to_server: LineWriter,
    routes: Mutex<SessionRoutes>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    requests: AtomicU64,
    users: SessionUsers,
    started: Instant,
    /// Milliseconds from the start to the last use.
    last_used: AtomicU64,
}

#[derive(Default)]
struct SessionRoutes {
    /// Requests that wait for an answer, by the id that the server knows.
    waiting: HashMap<String, WaitingRequest>,
    /// The ids of waiting requests by the progress token that the server knows.
    tokens: HashMap<String, String>,
    /// The client that listens for messages which belong to no request.
    listener: Option<QueueSender<Frame>>,
    backlog: VecDeque<Frame>,
    backlog_bytes: usize,
    ended: bool,
}

struct WaitingRequest {
    to_client: QueueSender<Frame>,
    /// The client's own id, if the server knows another.
    own_id: Option<String>,
    token: Option<RequestToken>,
}

struct RequestToken {
    /// The progress token that the server knows.
    known: String,
    /// The client's own.
    own: String,
}

/// The frames that come back for the requests of one frame. The answers are the last.
pub(crate) struct PendingAnswers {
    frames: QueueReceiver<Frame>,
    ids: Vec<String>,
    session: Arc<Session>,
}

impl Session {
    /// Starts a session. It ends with [`Session::end`], or when it is dropped.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub(crate) fn start(
        server: McpServer,
        options: Arc<ProxyOptions>,
        log: Arc<ProxyLog>,
        users: SessionUsers,
    ) -> Result<Arc<Self>, StartError> {
        let connection = connect(&server, options.max_frame)?;
        let (near, far) = tokio::io::duplex(PIPE);
        let (from_server, to_server) = split(near);
        let (stop, stopped) = oneshot::channel();
        let max_line = options.max_frame.saturating_add(PIPE);
        let (to_server, _) = LineWriter::start(to_server);
        let session = Arc::new(Self {
            to_server,
            routes: Mutex::default(),
            stop: Mutex::new(Some(stop)),
            requests: AtomicU64::new(0),
            users,
            started: Instant::now(),
            last_used: AtomicU64::new(0),
        });
        tokio::spawn(async move {
            let stopped = async {
                // An error means that the session was dropped.
                let _ = stopped.await;
            };
            bridge_connected((server, connection), options, log, split(far), stopped).await;
        });
        let weak = Arc::downgrade(&session);
        tokio::spawn(async move {
            let mut lines = LineReader::new(from_server, max_line);
            while let Some(frame) = next_frame(&mut lines).await {
                match weak.upgrade() {
                    Some(session) => session.deliver(frame).await,
                    None => return,
                }
            }
            if let Some(session) = weak.upgrade() {
                let mut routes = session.routes();
                routes.ended = true;
                // Whoever waits sees the end of his channel.
                routes.waiting.clear();
                routes.listener = None;
            }
        });
        Ok(session)
    }

    fn routes(&self) -> MutexGuard<'_, SessionRoutes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stop) = stop.take() {
            let _ = stop.send(());
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.routes().ended
    }

    /// Returns true if a request or a stream is open.
    pub(crate) fn is_busy(&self) -> bool {
        let routes = self.routes();
        !routes.waiting.is_empty() || routes.open_listener().is_some()
    }

    /// The time since the last use.
    pub(crate) fn idle(&self) -> Duration {
        let used = Duration::from_millis(self.last_used.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(used)
    }

    fn touch(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_used.store(now, Ordering::Relaxed);
    }

    /// Sends a frame without requests.
    pub(crate) fn notify(&self, frame: Frame) {
        self.touch();
        self.to_server.send(one_line(frame));
    }

    /// Sends a frame with requests. The frames that belong to them come back.
    pub(crate) async fn request(self: &Arc<Self>, frame: Frame) -> PendingAnswers {
        self.touch();
        self.to_server.backlog().ready().await;
        let (to_client, frames) = queue();
        let (mut splices, mut ids) = (Vec::new(), Vec::new());
        let mut routes = self.routes();
        let content = FrameContent::read(&frame);
        for request in content.messages().iter().filter(|one| one.is_request()) {
            let Some((id_span, own_id)) = request.id_span().zip(request.id()) else {
                continue;
            };
            let token_span = request.progress_token();
            let own_token = token_span.and_then(JsonSpan::raw).map(canonical);
            let (id, known_token) = match self.users {
                SessionUsers::OneClient => (own_id.clone(), own_token.clone()),
                SessionUsers::ManyClients => {
                    let number = self.requests.fetch_add(1, Ordering::Relaxed);
                    let id = format!("\"h{number}\"");
                    let spans = [Some(id_span), token_span.filter(|_| own_token.is_some())];
                    for span in spans.into_iter().flatten() {
                        splices.push((request.in_frame(span), id.clone()));
                    }
                    (id.clone(), own_token.is_some().then_some(id))
                }
            };
            if let Some(known) = &known_token {
                routes.tokens.insert(known.clone(), id.clone());
            }
            let token = known_token.zip(own_token);
            let waiting = WaitingRequest {
                to_client: to_client.clone(),
                own_id: (self.users == SessionUsers::ManyClients).then_some(own_id),
                token: token.map(|(known, own)| RequestToken { known, own }),
            };
            routes.waiting.insert(id.clone(), waiting);
            ids.push(id);
        }
        if routes.ended {
            routes.waiting.clear();
        }
        drop(routes);
        self.to_server.send(one_line(splice(&frame, splices)));
        PendingAnswers {
            frames,
            ids,
            session: Arc::clone(self),
        }
    }

    /// The messages of the server that belong to no request; `None` if a client listens already.
    pub(crate) fn listen(&self) -> Option<QueueReceiver<Frame>> {
        self.touch();
        let mut routes = self.routes();
        if routes.open_listener().is_some() {
            return None;
        }
        let (listener, frames) = queue();
        routes.send_kept(&listener);
        if !routes.ended {
            routes.listener = Some(listener);
        }
        Some(frames)
    }

    /// Delivers a frame of the server. A batch goes where its first message belongs.
    ///
    /// Where the session has one client, a server waits for it to read. Of several clients none may
    /// hold up the others: one that does not read gets its answers only.
    async fn deliver(&self, frame: Frame) {
        let (to_client, frame, awaits_reader) = {
            let mut routes = self.routes();
            let content = FrameContent::read(&frame);
            let Some(message) = content.messages().first() else {
                return;
            };
            let is_answer = message.method().is_none();
            let route = match message.id() {
                Some(id) if is_answer => routes.answer(&id, message),
                _ => routes.notification(message, self.users),
            };
            match route {
                FrameRoute::Request(to_client, own) => {
                    let is_shared = self.users == SessionUsers::ManyClients;
                    if is_shared && !is_answer && to_client.backlog().is_full() {
                        return;
                    }
                    let frame = match own {
                        Some(own) => splice(&frame, vec![own]),
                        None => frame,
                    };
                    (to_client, frame, !is_shared)
                }
                FrameRoute::Listener(to_client) => {
                    routes.send_kept(&to_client);
                    (to_client, frame, false)
                }
                FrameRoute::Backlog => return routes.keep(frame),
                FrameRoute::Nowhere => return,
            }
        };
        let bytes = frame.len();
        to_client.send(frame, bytes);
        if awaits_reader {
            to_client.backlog().ready().await;
        }
    }
}

/// Where a frame of the server goes.
enum FrameRoute {
    /// To the client of a request, with the client's own id or token put in.
    Request(QueueSender<Frame>, Option<Splice>),
    /// To the client that listens for what belongs to no request.
    Listener(QueueSender<Frame>),
    Backlog,
    Nowhere,
}

impl SessionRoutes {
    fn open_listener(&self) -> Option<&QueueSender<Frame>> {
        self.listener
            .as_ref()
            .filter(|to| !to.backlog().is_closed())
    }

    /// Sends the frames that were kept.
    fn send_kept(&mut self, listener: &QueueSender<Frame>) {
        self.backlog_bytes = 0;
        for frame in self.backlog.drain(..) {
            let bytes = frame.len();
            listener.send(frame, bytes);
        }
    }

    /// Keeps a frame for which no client listens, instead of the oldest ones if there are many.
    fn keep(&mut self, frame: Frame) {
        self.backlog_bytes += frame.len();
        self.backlog.push_back(frame);
        while self.backlog.len() > BACKLOG || self.backlog_bytes > BACKLOG_BYTES {
            let Some(oldest) = self.backlog.pop_front() else {
                return;
            };
            self.backlog_bytes -= oldest.len();
        }
    }

    /// Removes a request that needs no frames any more.
    fn remove(&mut self, id: &str) -> Option<WaitingRequest> {
        let request = self.waiting.remove(id)?;
        if let Some(token) = &request.token {
            self.tokens.remove(&token.known);
        }
        Some(request)
    }

    fn answer(&mut self, id: &str, message: &Message<'_>) -> FrameRoute {
        let Some(request) = self.remove(id) else {
            return FrameRoute::Nowhere;
        };
        let own_id = request.own_id.zip(message.id_span());
        let own_id = own_id.map(|(own, span)| (message.in_frame(span), own));
        FrameRoute::Request(request.to_client, own_id)
    }

    /// Routes a notification or a request of the server.
    fn notification(&self, message: &Message<'_>, users: SessionUsers) -> FrameRoute {
        if let Some((id, span)) = self.owner(message)
            && let Some(request) = self.waiting.get(&id)
        {
            let own = match (users, message.method()) {
                (SessionUsers::OneClient, _) => None,
                (_, Some("notifications/progress")) => {
                    request.token.as_ref().map(|token| token.own.clone())
                }
                _ => request.own_id.clone(),
            };
            let own = own.map(|own| (message.in_frame(span), own));
            return FrameRoute::Request(request.to_client.clone(), own);
        }
        let mut waiting = self
            .waiting
            .values()
            .map(|request| request.to_client.clone());
        match users {
            SessionUsers::OneClient => {
                let listener = self.open_listener();
                // A client that does not read its stream is as good as none.
                match listener.filter(|to| !to.backlog().is_full()) {
                    Some(listener) => FrameRoute::Listener(listener.clone()),
                    None if listener.is_some() => FrameRoute::Backlog,
                    None => waiting
                        .next()
                        .map_or(FrameRoute::Backlog, |to| FrameRoute::Request(to, None)),
                }
            }
            // With several clients waiting it is not clear whose message it is.
            SessionUsers::ManyClients => {
                let client = waiting.next().filter(|_| waiting.len() == 0);
                client.map_or(FrameRoute::Nowhere, |to| FrameRoute::Request(to, None))
            }
        }
    }

    /// The request that a notification belongs to, and the value by which it names the request.
    fn owner<'f>(&self, message: &Message<'f>) -> Option<(String, JsonSpan<'f>)> {
        if message.method() == Some("notifications/progress") {
            let token = message.param("progressToken")?;
            let id = self.tokens.get(&canonical(token.raw()?))?;
            return Some((id.clone(), token));
        }
        let subscription = message.meta(SUBSCRIPTION_KEY)?;
        Some((canonical(subscription.raw()?), subscription))
    }
}

impl PendingAnswers {
    /// The next frame; `None` after the last answer.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        self.frames.next().await
    }

    /// The number of requests that are to be answered.
    pub(crate) fn expected(&self) -> usize {
        self.ids.len()
    }
}

impl Drop for PendingAnswers {
    /// Forgets the requests that have no answer yet. Those of a shared session are cancelled,
    /// because there is no other way for its clients to do so.
    fn drop(&mut self) {
        let mut routes = self.session.routes();
        for id in &self.ids {
            let is_open = routes.remove(id).is_some();
            if is_open && self.session.users == SessionUsers::ManyClients {
                let cancelled = json_rpc::cancelled(id, "the client went away");
                self.session.to_server.send(cancelled);
            }
        }
        self.session.touch();
    }
}

async fn next_frame<R: AsyncRead + Unpin>(lines: &mut LineReader<R>) -> Option<Frame> {
    loop {
        match lines.next().await {
            Ok(InputLine::Frame(frame)) => return Some(frame),
            Ok(InputLine::Oversized { .. }) => {}
            Ok(InputLine::End) | Err(_) => return None,
        }
    }
}
