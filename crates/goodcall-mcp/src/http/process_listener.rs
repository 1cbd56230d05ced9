//! A listener in front of a server that is a command. Each session has a process of its own;
//! requests of protocol version 2026-07-28, which has no sessions, share one.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use goodcall_server::McpLoopMode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::time::{sleep, timeout};

use super::ENDPOINT;
use super::guard::wants_events;
use super::headers::{self, SESSION};
use super::param_headers::ParamHeaders;
use super::response_reader::write_event;
use super::responses::{json, plain, read_body, response};
use super::session::{PendingAnswers, Session, SessionUsers};
use crate::bridge::StartError;
use crate::call_log::ProxyLog;
use crate::frame::{Frame, FrameContent, Message};
use crate::json_rpc;
use crate::options::ProxyOptions;
use crate::queue::QueueReceiver;
use crate::server_connection::McpServer;

/// How long a session must have been unused before it may end in favour of a new one.
const IDLE: Duration = Duration::from_secs(60);
/// How often unused sessions are looked for: a part of the time that they may be unused.
const MIN_SWEEP: Duration = Duration::from_millis(100);
const MAX_SWEEP: Duration = Duration::from_secs(60);
/// What every request of protocol version 2026-07-28 says in its `_meta`.
const REQUIRED_META: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
/// How often an open stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn router(
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> axum::Router {
    let state = Arc::new(ProcessListener {
        server,
        options,
        log,
        sessions: Mutex::default(),
        params: ParamHeaders::default(),
    });
    tokio::spawn(end_unused(Arc::downgrade(&state)));
    axum::Router::new().fallback(handle).with_state(state)
}

/// Ends the sessions that were not used for long, as long as the listener is there.
async fn end_unused(listener: Weak<ProcessListener>) {
    loop {
        let Some(idle) = listener
            .upgrade()
            .map(|listener| listener.options.listen.session_idle)
        else {
            return;
        };
        sleep((idle / 4).clamp(MIN_SWEEP, MAX_SWEEP)).await;
        let Some(listener) = listener.upgrade() else {
            return;
        };
        listener.sessions().by_id.retain(|_, session| {
            let is_over = !session.is_busy() && session.idle() >= idle;
            if is_over {
                session.end();
            }
            !is_over && !session.has_ended()
        });
    }
}

struct ProcessListener {
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    sessions: Mutex<ProcessSessions>,
    params: ParamHeaders,
}

#[derive(Default)]
struct ProcessSessions {
    by_id: HashMap<String, Arc<Session>>,
    /// The session of all requests without one.
    shared: Option<Arc<Session>>,
}

async fn handle(State(listener): State<Arc<ProcessListener>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if !listener.is_endpoint(parts.uri.path()) {
        return plain(StatusCode::NOT_FOUND, "expected the path /mcp");
    }
    let id = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
    match parts.method {
        Method::POST => match read_body(body, listener.options.max_frame).await {
            Ok(frame) => listener.post(frame, id, &parts.headers).await,
            Err(refusal) => refusal,
        },
        Method::GET => listener.stream(id, &parts.headers),
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

/// Why a session cannot be opened.
enum OpenError {
    TooMany,
    Start(StartError),
}

impl ProcessListener {
    fn sessions(&self) -> MutexGuard<'_, ProcessSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_endpoint(&self, path: &str) -> bool {
        match &self.server {
            McpServer::Url(upstream) => upstream.is_endpoint(path),
            _ => path.trim_end_matches('/') == ENDPOINT,
        }
    }

    fn session(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.sessions().by_id.get(id).cloned();
        session.filter(|session| !session.has_ended())
    }

    fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions().by_id.remove(id)
    }

    /// Answers a request for the messages of the server that belong to no request.
    fn stream(&self, id: Option<&str>, headers: &HeaderMap) -> Response {
        let Some(id) = id else {
            let text = "there is no stream without a session";
            return plain(StatusCode::METHOD_NOT_ALLOWED, text);
        };
        if !wants_events(headers) {
            let text = "there is only a stream of events: accept text/event-stream";
            return plain(StatusCode::NOT_ACCEPTABLE, text);
        }
        let Some(session) = self.session(id) else {
            return no_such_session();
        };
        match session.listen() {
            Some(frames) => events(FrameSource::Listener(frames), None),
            None => plain(StatusCode::CONFLICT, "this session has a stream already"),
        }
    }

    /// Opens a session with a process of its own.
    fn open(&self) -> Result<(String, Arc<Session>), OpenError> {
        let mut sessions = self.sessions();
        sessions.by_id.retain(|_, session| !session.has_ended());
        if sessions.by_id.len() >= self.options.listen.max_sessions {
            let unused = sessions.by_id.iter().filter(|(_, one)| !one.is_busy());
            let longest = unused.max_by_key(|(_, session)| session.idle());
            let longest = longest.filter(|(_, session)| session.idle() >= IDLE);
            let id = longest.map(|(id, _)| id.clone());
            let session = id.and_then(|id| sessions.by_id.remove(&id));
            session.ok_or(OpenError::TooMany)?.end();
        }
        let id = session_id().ok_or(OpenError::TooMany)?;
        let session = self.start(Arc::clone(&self.options), SessionUsers::OneClient);
        let session = session.map_err(OpenError::Start)?;
        sessions.by_id.insert(id.clone(), Arc::clone(&session));
        Ok((id, session))
    }

    /// The session that all requests without one share.
    fn shared(&self) -> Result<Arc<Session>, StartError> {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.shared.as_ref().filter(|one| !one.has_ended()) {
            return Ok(Arc::clone(session));
        }
        let mut options = (*self.options).clone();
        options.restart = true;
        // Equal calls of several clients are not a loop.
        options.loops = McpLoopMode::Off;
        let session = self.start(Arc::new(options), SessionUsers::ManyClients)?;
        sessions.shared = Some(Arc::clone(&session));
        Ok(session)
    }

    fn start(
        &self,
        options: Arc<ProxyOptions>,
        users: SessionUsers,
    ) -> Result<Arc<Session>, StartError> {
        let started = Session::start(self.server.clone(), options, Arc::clone(&self.log), users);
        started.inspect_err(|error| self.log.warn(&error.to_string()))
    }

    async fn post(&self, frame: Frame, id: Option<&str>, headers: &HeaderMap) -> Response {
        let content = FrameContent::read(&frame);
        let Some(first) = content.messages().first() else {
            return not_a_message(&frame);
        };
        let request_id = first.raw_id().unwrap_or("null");
        let named = headers::version(headers);
        let version = first.protocol_version();
        if let Some(unknown) = named.filter(|version| !json_rpc::VERSIONS.contains(version)) {
            let body = json_rpc::unsupported_version(request_id, unknown, version.is_some());
            return json(StatusCode::BAD_REQUEST, body);
        }
        if id.is_none() && json_rpc::has_result_type(version.as_deref()) {
            return self.post_without_session(frame, headers).await;
        }
        if id.is_none() && json_rpc::has_result_type(named) {
            return without_context(first);
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
                Ok((id, session)) => (Some(id), session),
                Err(OpenError::TooMany) => {
                    let text = "too many sessions are open";
                    return plain(StatusCode::SERVICE_UNAVAILABLE, text);
                }
                Err(OpenError::Start(error)) => {
                    return no_server(request_id, &error.to_string());
                }
            },
            None => return plain(StatusCode::BAD_REQUEST, "the session's id is missing"),
        };
        if !has_requests {
            session.notify(frame);
            return plain(StatusCode::ACCEPTED, "");
        }
        let request_id = first.raw_id().unwrap_or("null").to_owned();
        let answers = session.request(frame).await;
        answer(&request_id, answers, new_id, |_| StatusCode::OK).await
    }

    /// Handles a frame of protocol version 2026-07-28.
    async fn post_without_session(&self, frame: Frame, headers: &HeaderMap) -> Response {
        let content = FrameContent::read(&frame);
        let request = content.messages().iter().find(|one| one.is_request());
        if let Some(why) = headers::mismatch(headers, &frame) {
            let id = request.and_then(Message::raw_id).unwrap_or("null");
            return header_mismatch(id, &why);
        }
        let Some(request) = request else {
            // A notification could concern the requests of other clients. A client cancels its own
            // request by closing the stream.
            return plain(StatusCode::ACCEPTED, "");
        };
        let request_id = request.raw_id().unwrap_or("null").to_owned();
        let lacks_context = REQUIRED_META.iter().any(|key| request.meta(key).is_none());
        let status = |answer: &Message<'_>| match error_code(answer) {
            Some(json_rpc::INVALID_PARAMS) if lacks_context => StatusCode::BAD_REQUEST,
            code => status(code),
        };
        if request.method() == Some("initialize") {
            return without_context(request);
        }
        match self.shared() {
            Ok(session) => {
                let limit = self.options.list_limit;
                let wrong = self.params.mismatch(headers, request, &session, limit);
                if let Some(why) = wrong.await {
                    return header_mismatch(&request_id, &why);
                }
                let answers = session.request(frame).await;
                answer(&request_id, answers, None, status).await
            }
            Err(error) => no_server(&request_id, &error.to_string()),
        }
    }
}

/// Answers an HTTP request with what comes back. An answer that comes first, without notifications,
/// is sent as plain JSON: clients limit the size of an event, and not all of them can read large
/// ones.
async fn answer(
    request_id: &str,
    mut answers: PendingAnswers,
    new_id: Option<String>,
    status: impl Fn(&Message<'_>) -> StatusCode,
) -> Response {
    if answers.expected() != 1 {
        return events(FrameSource::Answers(answers), new_id);
    }
    let first = match timeout(KEEP_ALIVE, answers.next()).await {
        Ok(Some(frame)) => frame,
        Ok(None) => return no_server(request_id, "the server ended before it answered"),
        Err(_) => return events(FrameSource::Answers(answers), new_id),
    };
    let message = FrameContent::read(&first).single();
    let Some(message) = message.filter(|message| message.method().is_none()) else {
        return events(FrameSource::Begun(Some(first), answers), new_id);
    };
    let status = status(&message);
    let mut response = json(status, first);
    if let Some(id) = new_id.and_then(|id| HeaderValue::try_from(id).ok()) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// The response to a request for which there is no server.
fn no_server(request_id: &str, why: &str) -> Response {
    let body = json_rpc::error(request_id, json_rpc::CLOSED, why);
    json(StatusCode::BAD_GATEWAY, body)
}

/// The response to a request that its headers contradict.
fn header_mismatch(request_id: &str, why: &str) -> Response {
    let body = json_rpc::error(request_id, json_rpc::HEADER_MISMATCH, why);
    json(StatusCode::BAD_REQUEST, body)
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

/// The response to a request whose headers name protocol version 2026-07-28, and whose message does
/// not.
fn without_context(request: &Message<'_>) -> Response {
    let id = request.raw_id().unwrap_or("null");
    if request.method() == Some("initialize") {
        let text = "this protocol version has no `initialize`";
        let body = json_rpc::error(id, json_rpc::METHOD_NOT_FOUND, text);
        return json(StatusCode::NOT_FOUND, body);
    }
    let text = "the protocol version is missing in the request's _meta";
    let body = json_rpc::error(id, json_rpc::INVALID_PARAMS, text);
    json(StatusCode::BAD_REQUEST, body)
}

/// The code of an answer that is an error.
fn error_code(answer: &Message<'_>) -> Option<i64> {
    answer.error()?.get("code")?.raw()?.parse().ok()
}

/// The HTTP status for an answer of protocol version 2026-07-28 with this error code.
fn status(code: Option<i64>) -> StatusCode {
    match code {
        Some(json_rpc::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
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
    Listener(QueueReceiver<Frame>),
}

impl FrameSource {
    async fn next(&mut self) -> Option<Frame> {
        match self {
            Self::Answers(answers) => answers.next().await,
            Self::Begun(first, answers) => match first.take() {
                Some(frame) => Some(frame),
                None => answers.next().await,
            },
            Self::Listener(frames) => frames.next().await,
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
