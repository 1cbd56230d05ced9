//! A listener in front of a server that is a process: one process a session, and one for all
//! requests of the newest revision, which knows no sessions.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::headers::{self, SESSION};
use super::same_site;
use super::session::{PendingAnswers, Session};
use super::sse;
use crate::call_log::ProxyLog;
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::options::ProxyOptions;
use crate::process::ServerCommand;
use crate::server_connection::McpServer;
use goodcall_server::McpLoopMode;

/// Sessions, and processes, at the same time.
const MOST_SESSIONS: usize = 64;
/// After how long an unused session may end to make room.
const IDLE: Duration = Duration::from_secs(60);
/// How often an open stream shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Serves a server that is started here, until the task is dropped.
///
/// # Errors
/// If the listener fails.
pub async fn listen_command(
    listener: TcpListener,
    command: &ServerCommand,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> io::Result<()> {
    let hub = Arc::new(ProcessListener {
        at: listener.local_addr()?,
        place: McpServer::Command(command.clone()),
        options,
        log,
        seats: Mutex::default(),
    });
    let app = axum::Router::new().fallback(handle).with_state(hub);
    axum::serve(listener, app).await
}

struct ProcessListener {
    at: SocketAddr,
    place: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    seats: Mutex<ProcessSessions>,
}

#[derive(Default)]
struct ProcessSessions {
    by_id: HashMap<String, Arc<Session>>,
    shared: Option<Arc<Session>>,
}

async fn handle(State(hub): State<Arc<ProcessListener>>, request: Request) -> Response {
    if same_site::is_foreign(request.headers(), hub.at) {
        return plain(
            StatusCode::FORBIDDEN,
            "requests of foreign pages are refused",
        );
    }
    let (parts, body) = request.into_parts();
    let id = parts
        .headers
        .get(SESSION)
        .and_then(|id| id.to_str().ok())
        .map(str::to_owned);
    match parts.method {
        Method::POST => {
            let Ok(body) = axum::body::to_bytes(body, hub.options.max_frame).await else {
                let most = hub.options.max_frame;
                let text = format!("the body passes the limit of {most} bytes, or was cut off");
                return plain(StatusCode::PAYLOAD_TOO_LARGE, &text);
            };
            hub.post(body.to_vec(), id, &parts.headers).await
        }
        Method::GET => match id.and_then(|id| hub.seat(&id)) {
            Some(seat) => match seat.listen() {
                Some(frames) => events(Frames::Stream(frames), None),
                None => plain(StatusCode::CONFLICT, "this session has a stream already"),
            },
            None => plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "there is no stream without a session",
            ),
        },
        Method::DELETE => match id.and_then(|id| hub.remove(&id)) {
            Some(seat) => {
                seat.end();
                plain(StatusCode::OK, "")
            }
            None => plain(StatusCode::NOT_FOUND, "there is no such session"),
        },
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "use POST, GET or DELETE"),
    }
}

impl ProcessListener {
    fn seat(&self, id: &str) -> Option<Arc<Session>> {
        let seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats
            .by_id
            .get(id)
            .filter(|seat| !seat.has_ended())
            .cloned()
    }

    fn remove(&self, id: &str) -> Option<Arc<Session>> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.by_id.remove(id)
    }

    /// A new session with its own process.
    fn open(&self) -> Option<(String, Arc<Session>)> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.by_id.retain(|_, seat| !seat.has_ended());
        if seats.by_id.len() >= MOST_SESSIONS {
            let idle = seats.by_id.iter().filter(|(_, seat)| !seat.is_busy());
            let (id, seat) = idle.max_by_key(|(_, seat)| seat.idle())?;
            let id = id.clone();
            if seat.idle() < IDLE {
                return None;
            }
            if let Some(seat) = seats.by_id.remove(&id) {
                seat.end();
            }
        }
        let id = session_id()?;
        let seat = self.start(Arc::clone(&self.options), false);
        seats.by_id.insert(id.clone(), Arc::clone(&seat));
        Some((id, seat))
    }

    /// The process that all requests without a session share.
    fn shared(&self) -> Arc<Session> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = seats.shared.as_ref().filter(|seat| !seat.has_ended()) {
            return Arc::clone(seat);
        }
        let mut options = (*self.options).clone();
        options.restart = true;
        // Calls of several clients in a row are no circle.
        options.loops = McpLoopMode::Off;
        let seat = self.start(Arc::new(options), true);
        seats.shared = Some(Arc::clone(&seat));
        seat
    }

    fn start(&self, options: Arc<ProxyOptions>, shared: bool) -> Arc<Session> {
        Session::start(self.place.clone(), options, Arc::clone(&self.log), shared)
    }

    async fn post(&self, body: Frame, id: Option<String>, headers: &HeaderMap) -> Response {
        if let Err(error) = goodcall_core::Tree::parse_bytes(&body)
            && matches!(frame::kind(&body), Kind::Junk | Kind::Blank)
        {
            let text = format!("Parse error: {error}");
            let body = json_rpc::error("null", json_rpc::PARSE_ERROR, &text);
            return json(StatusCode::BAD_REQUEST, body);
        }
        let all = match frame::kind(&body) {
            Kind::One(one) => vec![one],
            Kind::Batch(all) => all,
            Kind::Blank | Kind::Junk => {
                let text = "this is no message";
                let body = json_rpc::error("null", json_rpc::INVALID_REQUEST, text);
                return json(StatusCode::BAD_REQUEST, body);
            }
        };
        let is_request = |one: &&Outline| one.id.is_some() && one.method.is_some();
        let requests: Vec<_> = all.iter().filter(is_request).cloned().collect();
        let first = all.first().cloned().unwrap_or_default();
        let version = json_rpc::version(&body, first.params.as_ref());
        if id.is_none() && json_rpc::is_typed(version.as_deref()) {
            return self.stateless(body, &requests, headers).await;
        }
        let opens = requests
            .iter()
            .any(|one| one.method.as_deref() == Some("initialize"));
        let (id, seat) = match id {
            Some(id) => match self.seat(&id) {
                Some(seat) => (None, seat),
                None => return plain(StatusCode::NOT_FOUND, "there is no such session"),
            },
            None if opens => match self.open() {
                Some((id, seat)) => (Some(id), seat),
                None => {
                    return plain(
                        StatusCode::SERVICE_UNAVAILABLE,
                        "too many sessions are open",
                    );
                }
            },
            None => return plain(StatusCode::BAD_REQUEST, "the session's id is missing"),
        };
        if requests.is_empty() {
            seat.tell(body);
            return plain(StatusCode::ACCEPTED, "");
        }
        let waiting = seat.ask(body, &requests).await;
        events(Frames::Request(waiting), id)
    }

    /// A request of the newest revision. An answer without anything before it is plain JSON.
    async fn stateless(&self, body: Frame, requests: &[Outline], headers: &HeaderMap) -> Response {
        if let Some(why) = headers::mismatch(headers, &body) {
            let id = requests
                .first()
                .and_then(|one| frame::raw(&body, one.id.as_ref()?));
            let body = json_rpc::error(id.unwrap_or("null"), json_rpc::HEADER_MISMATCH, &why);
            return json(StatusCode::BAD_REQUEST, body);
        }
        let seat = self.shared();
        if requests.is_empty() {
            // Among clients that share a server nobody can speak of a request of his own here:
            // a request is called off by closing its stream.
            return plain(StatusCode::ACCEPTED, "");
        }
        let mut waiting = seat.ask(body, requests).await;
        let first = match timeout(KEEP_ALIVE, waiting.next()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return plain(StatusCode::BAD_GATEWAY, "the server ended"),
            Err(_) => return events(Frames::Request(waiting), None),
        };
        match frame::kind(&first) {
            Kind::One(one) if one.method.is_none() => json(status(&first, &one), first),
            _ => events(Frames::Begun(Some(first), waiting), None),
        }
    }
}

/// The status of an answer of the newest revision.
fn status(frame: &[u8], outline: &Outline) -> StatusCode {
    let code = outline.error.as_ref().and_then(|error| {
        let span = frame::member(frame, error, "code")?;
        frame::raw(frame, &span)?.parse::<i64>().ok()
    });
    match code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600) => StatusCode::BAD_REQUEST,
        // The revision's own: headers, capabilities, versions.
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Where the frames of a stream come from.
enum Frames {
    Request(PendingAnswers),
    Begun(Option<Frame>, PendingAnswers),
    Stream(mpsc::UnboundedReceiver<Frame>),
}

impl Frames {
    async fn next(&mut self) -> Option<Frame> {
        match self {
            Frames::Request(waiting) => waiting.next().await,
            Frames::Begun(first, waiting) => match first.take() {
                Some(frame) => Some(frame),
                None => waiting.next().await,
            },
            Frames::Stream(frames) => frames.recv().await,
        }
    }
}

/// A stream of events.
fn events(frames: Frames, session: Option<String>) -> Response {
    let body = stream::unfold(frames, |mut frames| async move {
        let bytes = match timeout(KEEP_ALIVE, frames.next()).await {
            Ok(frame) => sse::written(&frame?, None),
            Err(_) => b":\n\n".to_vec(),
        };
        Some((Ok::<_, io::Error>(Bytes::from(bytes)), frames))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("cache-control", HeaderValue::from_static("no-cache"));
    if let Some(id) = session.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(SESSION, id);
    }
    response
}

/// An id that nobody can guess.
fn session_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn json(status: StatusCode, body: Frame) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}
