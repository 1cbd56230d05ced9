//! A listener in front of a server that is a command. Each session has a process of its own;
//! requests of protocol version 2026-07-28, which has no sessions, share one.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use goodcall_server::McpLoopMode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::headers::{self, SESSION};
use super::response_reader::write_event;
use super::responses::{json, plain, read_body, refuse_foreign_page, response};
use super::session::{PendingAnswers, Session, SessionUsers};
use crate::call_log::ProxyLog;
use crate::frame::{Frame, FrameContent, Message};
use crate::json_rpc;
use crate::json_span::JsonSpan;
use crate::options::ProxyOptions;
use crate::server_connection::McpServer;

/// Sessions, and so processes, at the same time.
const MAX_SESSIONS: usize = 64;
/// How long a session must have been unused before it may end in favour of a new one.
const IDLE: Duration = Duration::from_secs(60);
/// How often an open stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn listen(
    listener: TcpListener,
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> io::Result<()> {
    let state = Arc::new(ProcessListener {
        address: listener.local_addr()?,
        server,
        options,
        log,
        sessions: Mutex::default(),
    });
    let app = axum::Router::new().fallback(handle).with_state(state);
    axum::serve(listener, app).await
}

struct ProcessListener {
    address: SocketAddr,
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    sessions: Mutex<ProcessSessions>,
}

#[derive(Default)]
struct ProcessSessions {
    by_id: HashMap<String, Arc<Session>>,
    /// The session of all requests without one.
    shared: Option<Arc<Session>>,
}

async fn handle(State(listener): State<Arc<ProcessListener>>, request: Request) -> Response {
    if let Some(refusal) = refuse_foreign_page(request.headers(), listener.address) {
        return refusal;
    }
    let (parts, body) = request.into_parts();
    let id = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
    match parts.method {
        Method::POST => match read_body(body, listener.options.max_frame).await {
            Ok(frame) => listener.post(frame, id, &parts.headers).await,
            Err(refusal) => refusal,
        },
        Method::GET => match id.and_then(|id| listener.session(id)) {
            Some(session) => match session.listen() {
                Some(frames) => events(FrameSource::Listener(frames), None),
                None => plain(StatusCode::CONFLICT, "this session has a stream already"),
            },
            None => plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "there is no stream without a session",
            ),
        },
        Method::DELETE => match id.and_then(|id| listener.remove(id)) {
            Some(session) => {
                session.end();
                plain(StatusCode::OK, "")
            }
            None => no_such_session(),
        },
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "use POST, GET or DELETE"),
    }
}

impl ProcessListener {
    fn sessions(&self) -> MutexGuard<'_, ProcessSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.sessions().by_id.get(id).cloned();
        session.filter(|session| !session.has_ended())
    }

    fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions().by_id.remove(id)
    }

    /// Opens a session with a process of its own; `None` if there are too many.
    fn open(&self) -> Option<(String, Arc<Session>)> {
        let mut sessions = self.sessions();
        sessions.by_id.retain(|_, session| !session.has_ended());
        if sessions.by_id.len() >= MAX_SESSIONS {
            let unused = sessions.by_id.iter().filter(|(_, one)| !one.is_busy());
            let (id, session) = unused.max_by_key(|(_, session)| session.idle())?;
            if session.idle() < IDLE {
                return None;
            }
            let id = id.clone();
            if let Some(session) = sessions.by_id.remove(&id) {
                session.end();
            }
        }
        let id = session_id()?;
        let session = self.start(Arc::clone(&self.options), SessionUsers::OneClient);
        sessions.by_id.insert(id.clone(), Arc::clone(&session));
        Some((id, session))
    }

    /// The session that all requests without one share.
    fn shared(&self) -> Arc<Session> {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.shared.as_ref().filter(|one| !one.has_ended()) {
            return Arc::clone(session);
        }
        let mut options = (*self.options).clone();
        options.restart = true;
        // Equal calls of several clients are not a loop.
        options.loops = McpLoopMode::Off;
        let session = self.start(Arc::new(options), SessionUsers::ManyClients);
        sessions.shared = Some(Arc::clone(&session));
        session
    }

    fn start(&self, options: Arc<ProxyOptions>, users: SessionUsers) -> Arc<Session> {
        Session::start(self.server.clone(), options, Arc::clone(&self.log), users)
    }

    async fn post(&self, frame: Frame, id: Option<&str>, headers: &HeaderMap) -> Response {
        let content = FrameContent::read(&frame);
        let Some(first) = content.messages().first() else {
            return not_a_message(&frame);
        };
        let version = first.protocol_version();
        if id.is_none() && json_rpc::has_result_type(version.as_deref()) {
            return self.post_without_session(frame, headers).await;
        }
        let mut requests = content.messages().iter().filter(|one| one.is_request());
        let opens = requests
            .clone()
            .any(|one| one.method() == Some("initialize"));
        let has_requests = requests.next().is_some();
        let (new_id, session) = match id {
            Some(id) => match self.session(id) {
                Some(session) => (None, session),
                None => return no_such_session(),
            },
            None if opens => match self.open() {
                Some((id, session)) => (Some(id), session),
                None => {
                    let text = "too many sessions are open";
                    return plain(StatusCode::SERVICE_UNAVAILABLE, text);
                }
            },
            None => return plain(StatusCode::BAD_REQUEST, "the session's id is missing"),
        };
        if !has_requests {
            session.notify(frame);
            return plain(StatusCode::ACCEPTED, "");
        }
        let answers = session.request(frame).await;
        events(FrameSource::Answers(answers), new_id)
    }

    /// Handles a frame of protocol version 2026-07-28. An answer that comes first, without
    /// notifications, is sent as plain JSON.
    async fn post_without_session(&self, frame: Frame, headers: &HeaderMap) -> Response {
        let content = FrameContent::read(&frame);
        let request = content.messages().iter().find(|one| one.is_request());
        if let Some(why) = headers::mismatch(headers, &frame) {
            let id = request.and_then(Message::raw_id).unwrap_or("null");
            let body = json_rpc::error(id, json_rpc::HEADER_MISMATCH, &why);
            return json(StatusCode::BAD_REQUEST, body);
        }
        let session = self.shared();
        if request.is_none() {
            // A notification could concern the requests of other clients. A client cancels its own
            // request by closing the stream.
            return plain(StatusCode::ACCEPTED, "");
        }
        let mut answers = session.request(frame).await;
        let first = match timeout(KEEP_ALIVE, answers.next()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return plain(StatusCode::BAD_GATEWAY, "the server ended"),
            Err(_) => return events(FrameSource::Answers(answers), None),
        };
        let answer = FrameContent::read(&first).single();
        match answer.filter(|message| message.method().is_none()) {
            Some(message) => json(status(&message), first),
            None => events(FrameSource::Begun(Some(first), answers), None),
        }
    }
}

fn no_such_session() -> Response {
    plain(StatusCode::NOT_FOUND, "there is no such session")
}

/// The response to a frame without messages.
fn not_a_message(frame: &[u8]) -> Response {
    let body = match goodcall_core::Tree::parse_bytes(frame) {
        Err(error) => {
            let text = format!("Parse error: {error}");
            json_rpc::error("null", json_rpc::PARSE_ERROR, &text)
        }
        Ok(_) => {
            let text = "the body is not a JSON-RPC message";
            json_rpc::error("null", json_rpc::INVALID_REQUEST, text)
        }
    };
    json(StatusCode::BAD_REQUEST, body)
}

/// The HTTP status for an answer of protocol version 2026-07-28.
fn status(answer: &Message<'_>) -> StatusCode {
    let code = answer.error().and_then(|error| error.get("code"));
    let code = code
        .and_then(JsonSpan::raw)
        .and_then(|code| code.parse().ok());
    match code {
        Some(-32601_i64) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600) => StatusCode::BAD_REQUEST,
        // Codes of the protocol version itself: headers, capabilities, versions.
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Where the frames of a stream come from.
enum FrameSource {
    Answers(PendingAnswers),
    /// Like `Answers`, with a frame that was read already.
    Begun(Option<Frame>, PendingAnswers),
    Listener(mpsc::UnboundedReceiver<Frame>),
}

impl FrameSource {
    async fn next(&mut self) -> Option<Frame> {
        match self {
            Self::Answers(answers) => answers.next().await,
            Self::Begun(first, answers) => match first.take() {
                Some(frame) => Some(frame),
                None => answers.next().await,
            },
            Self::Listener(frames) => frames.recv().await,
        }
    }
}

/// A stream of events, with the id of the session if it is new.
fn events(frames: FrameSource, new_id: Option<String>) -> Response {
    let body = stream::unfold(frames, |mut frames| async move {
        let bytes = match timeout(KEEP_ALIVE, frames.next()).await {
            Ok(frame) => write_event(frame?),
            Err(_) => b":\n\n".to_vec(),
        };
        Some((Bytes::from(bytes), frames))
    });
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(id) = new_id.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(SESSION, id);
    }
    let body = Body::from_stream(body.map(Ok::<_, io::Error>));
    response(StatusCode::OK, headers, body)
}

/// Returns an id that nobody can guess; `None` if the system has no randomness.
fn session_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
