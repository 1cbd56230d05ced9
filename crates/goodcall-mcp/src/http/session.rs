//! One session behind the listener: messages go in as lines, and what comes out finds its way to
//! the request that waits for it.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, split};
use tokio::sync::{mpsc, oneshot};

use crate::bridge::between;
use crate::call_log::ProxyLog;
use crate::engine::canonical;
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::line_io::{InputLine, LineReader, LineWriter};
use crate::options::ProxyOptions;
use crate::server_connection::McpServer;

/// Messages that are kept while nobody listens.
const BACKLOG: usize = 1024;
/// Bytes of the pipe between the listener and the session.
const PIPE: usize = 256 << 10;
/// The key by which a notification names its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// One session.
pub(crate) struct Session {
    to: LineWriter,
    routes: Mutex<SessionRoutes>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    counter: AtomicU64,
    /// Do several clients share it? Then their ids are not their own.
    shared: bool,
    started: Instant,
    used: AtomicU64,
}

#[derive(Default)]
struct SessionRoutes {
    /// Requests that wait for an answer, by the id that the server knows.
    waiting: HashMap<String, Waiter>,
    /// Progress tokens that the server knows, and whose they are.
    tokens: HashMap<String, String>,
    /// What the server says by itself.
    stream: Option<mpsc::UnboundedSender<Frame>>,
    backlog: VecDeque<Frame>,
    ended: bool,
}

struct Waiter {
    to: mpsc::UnboundedSender<Frame>,
    /// The client's own id, where several share a session.
    id: Option<String>,
    token: Option<(String, String)>,
}

/// A request that waits: frames until its answer, which is the last.
pub(crate) struct PendingAnswers {
    pub(crate) frames: mpsc::UnboundedReceiver<Frame>,
    ids: Vec<String>,
    seat: Arc<Session>,
}

impl Session {
    /// Starts a session; it ends with the last request that has it, or when it is told to.
    pub(crate) fn start(
        place: McpServer,
        options: Arc<ProxyOptions>,
        log: Arc<ProxyLog>,
        shared: bool,
    ) -> Arc<Self> {
        let (near, far) = tokio::io::duplex(PIPE);
        let (from, to) = split(near);
        let (stop, stopped) = oneshot::channel();
        let most = options.max_frame;
        let (queue, _) = LineWriter::start(to);
        let seat = Arc::new(Self {
            to: queue,
            routes: Mutex::default(),
            stop: Mutex::new(Some(stop)),
            counter: AtomicU64::new(0),
            shared,
            started: Instant::now(),
            used: AtomicU64::new(0),
        });
        let reader = Arc::downgrade(&seat);
        tokio::spawn(async move {
            let stopped = async {
                // Told to end, or forgotten.
                let _ = stopped.await;
            };
            let ended = between(&place, options, Arc::clone(&log), split(far), stopped).await;
            if let Err(error) = ended {
                log.warn(&error.to_string());
            }
        });
        tokio::spawn(async move {
            let mut lines = LineReader::new(from, most.saturating_add(PIPE));
            while let Some(frame) = next(&mut lines).await {
                match reader.upgrade() {
                    Some(seat) => seat.route(frame),
                    None => return,
                }
            }
            if let Some(seat) = reader.upgrade() {
                let mut routes = seat.routes();
                routes.ended = true;
                // Whoever waits sees that nothing comes.
                routes.waiting.clear();
                routes.stream = None;
            }
        });
        seat
    }

    fn routes(&self) -> MutexGuard<'_, SessionRoutes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self) {
        let stop = self
            .stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(stop) = stop {
            let _ = stop.send(());
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.routes().ended
    }

    /// Is a request or a stream open?
    pub(crate) fn is_busy(&self) -> bool {
        let routes = self.routes();
        !routes.waiting.is_empty() || routes.stream.as_ref().is_some_and(|to| !to.is_closed())
    }

    /// How long nobody has used it.
    pub(crate) fn idle(&self) -> Duration {
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(used)
    }

    fn touch(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used.store(now, Ordering::Relaxed);
    }

    /// Sends a message that has no answer.
    pub(crate) fn tell(&self, frame: Frame) {
        self.touch();
        self.to.send(frame::one_line(frame));
    }

    /// Sends requests; what comes back are the frames for them.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        frame: Frame,
        requests: &[Outline],
    ) -> PendingAnswers {
        self.touch();
        self.to.room().await;
        let (to, frames) = mpsc::unbounded_channel();
        let (mut edits, mut ids) = (Vec::new(), Vec::new());
        let mut routes = self.routes();
        for request in requests {
            let Some(span) = request.id.clone() else {
                continue;
            };
            let own = frame::raw(&frame, &span).map(canonical).unwrap_or_default();
            let token = token(&frame, request);
            let number = self.counter.fetch_add(1, Ordering::Relaxed);
            let id = if self.shared {
                format!("\"h{number}\"")
            } else {
                own.clone()
            };
            let token = token.map(|(span, token)| {
                let known = if self.shared {
                    format!("\"h{number}\"")
                } else {
                    token.clone()
                };
                if self.shared {
                    edits.push((span, known.clone()));
                }
                routes.tokens.insert(known.clone(), id.clone());
                (known, token)
            });
            if self.shared {
                edits.push((span, id.clone()));
            }
            let waiter = Waiter {
                to: to.clone(),
                id: self.shared.then_some(own),
                token,
            };
            routes.waiting.insert(id.clone(), waiter);
            ids.push(id);
        }
        if routes.ended {
            routes.waiting.clear();
        }
        drop(routes);
        self.to.send(frame::one_line(frame::splice(&frame, edits)));
        PendingAnswers {
            frames,
            ids,
            seat: Arc::clone(self),
        }
    }

    /// What the server says by itself; `None` if somebody listens already.
    pub(crate) fn listen(&self) -> Option<mpsc::UnboundedReceiver<Frame>> {
        self.touch();
        let mut routes = self.routes();
        if routes.stream.as_ref().is_some_and(|to| !to.is_closed()) {
            return None;
        }
        let (to, frames) = mpsc::unbounded_channel();
        for frame in routes.backlog.drain(..) {
            let _ = to.send(frame);
        }
        if !routes.ended {
            routes.stream = Some(to);
        }
        Some(frames)
    }

    fn route(&self, frame: Frame) {
        let mut routes = self.routes();
        let outline = match frame::kind(&frame) {
            Kind::One(outline) => outline,
            Kind::Batch(all) => all.into_iter().next().unwrap_or_default(),
            Kind::Blank | Kind::Junk => return,
        };
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        match (&outline.method, id) {
            (None, Some(id)) => routes.answer(&id, frame, &outline),
            (method, _) => routes.notify(method.as_deref(), frame, &outline, self.shared),
        }
    }
}

impl SessionRoutes {
    fn answer(&mut self, id: &str, frame: Frame, outline: &Outline) {
        let Some(waiter) = self.waiting.remove(id) else {
            return;
        };
        if let Some((known, _)) = &waiter.token {
            self.tokens.remove(known);
        }
        let frame = match (&waiter.id, &outline.id) {
            (Some(own), Some(span)) => frame::splice(&frame, vec![(span.clone(), own.clone())]),
            _ => frame,
        };
        let _ = waiter.to.send(frame);
    }

    /// A notification or a request of the server.
    fn notify(&mut self, method: Option<&str>, frame: Frame, outline: &Outline, shared: bool) {
        if let Some((id, span)) = self.whose(method, &frame, outline)
            && let Some(waiter) = self.waiting.get(&id)
        {
            let own = match method {
                Some("notifications/progress") => waiter.token.as_ref().map(|(_, own)| own.clone()),
                _ => waiter.id.clone(),
            };
            let frame = match own.filter(|_| shared) {
                Some(own) => frame::splice(&frame, vec![(span, own)]),
                None => frame,
            };
            let _ = waiter.to.send(frame);
            return;
        }
        if shared {
            // Only where it is clear whose it is.
            if let (1, Some(waiter)) = (self.waiting.len(), self.waiting.values().next()) {
                let _ = waiter.to.send(frame);
            }
            return;
        }
        let open = self.stream.as_ref().filter(|to| !to.is_closed());
        let open = open.or_else(|| self.waiting.values().next().map(|waiter| &waiter.to));
        match open {
            Some(to) => drop(to.send(frame)),
            None => {
                if self.backlog.len() >= BACKLOG {
                    self.backlog.pop_front();
                }
                self.backlog.push_back(frame);
            }
        }
    }

    /// The request that a notification belongs to, and where it names it.
    fn whose(
        &self,
        method: Option<&str>,
        frame: &[u8],
        outline: &Outline,
    ) -> Option<(String, Range<usize>)> {
        let params = outline.params.as_ref()?;
        if method == Some("notifications/progress") {
            let span = frame::member(frame, params, "progressToken")?;
            let token = frame::raw(frame, &span).map(canonical)?;
            return Some((self.tokens.get(&token)?.clone(), span));
        }
        let meta = frame::member(frame, params, "_meta")?;
        let span = frame::member(frame, &meta, SUBSCRIPTION)?;
        Some((frame::raw(frame, &span).map(canonical)?, span))
    }
}

impl PendingAnswers {
    /// The next frame for these requests; `None` after the last answer.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        self.frames.recv().await
    }
}

impl Drop for PendingAnswers {
    /// Nobody waits any more. Among clients that share a session that means: called off.
    fn drop(&mut self) {
        let mut routes = self.seat.routes();
        for id in &self.ids {
            let Some(waiter) = routes.waiting.remove(id) else {
                continue;
            };
            if let Some((known, _)) = &waiter.token {
                routes.tokens.remove(known);
            }
            if self.seat.shared {
                self.seat
                    .to
                    .send(json_rpc::cancelled(id, "the client went away"));
            }
        }
        self.seat.touch();
    }
}

/// The progress token of a request, and where it stands.
fn token(frame: &[u8], outline: &Outline) -> Option<(Range<usize>, String)> {
    let meta = frame::member(frame, outline.params.as_ref()?, "_meta")?;
    let span = frame::member(frame, &meta, "progressToken")?;
    let token = frame::raw(frame, &span).map(canonical)?;
    Some((span, token))
}

async fn next<R: AsyncRead + Unpin>(lines: &mut LineReader<R>) -> Option<Frame> {
    loop {
        match lines.next().await {
            Ok(InputLine::Frame(frame)) => return Some(frame),
            Ok(InputLine::Oversized { .. }) => {}
            Ok(InputLine::End) | Err(_) => return None,
        }
    }
}
