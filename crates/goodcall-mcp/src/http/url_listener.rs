//! A listener in front of a server behind a URL. Requests and responses pass with their headers, and
//! calls are judged on the way.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use goodcall_server::McpLoopMode;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::{Method, StatusCode};
use tokio::time::timeout;

use super::guard::wants_events;
use super::headers::{self, SESSION};
use super::login::{self, OwnOrigin};
use super::login_relay::LoginRelay;
use super::response_filter::{OpenRequests, ResponseFilter, filter_events};
use super::response_reader::{BodyKind, read_answer, read_whole};
use super::responses::{json, plain, read_body, response};
use super::upstream::{Upstream, describe_error};
use crate::call_log::{LogEntry, ProxyLog};
use crate::catalogue::{Catalogue, Knowledge, MAX_PAGES};
use crate::frame::{BatchForwarding, Forwarding, Frame, FrameContent, Message, batch_of};
use crate::json_rpc;
use crate::judge::{CallJudgement, ForwardedCall, Judge};
use crate::login::discovery::{DOCUMENT_LIMIT, MAX_DOCUMENT};
use crate::options::ProxyOptions;

/// Sessions that are remembered. Beyond that the one that was unused for longest is forgotten.
const MAX_SESSIONS: usize = 1024;

pub(super) fn router(
    upstream: Upstream,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> io::Result<axum::Router> {
    let state = Arc::new(UrlListener {
        upstream,
        options,
        log,
        sessions: Mutex::default(),
        metadata: Arc::default(),
        relay: LoginRelay::new()?,
    });
    Ok(axum::Router::new().fallback(handle).with_state(state))
}

struct UrlListener {
    upstream: Upstream,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    sessions: Mutex<UrlSessions>,
    /// Where the server has its metadata, if it has named a place of its own.
    metadata: Arc<Mutex<Option<String>>>,
    relay: LoginRelay,
}

#[derive(Default)]
struct UrlSessions {
    /// Sessions, and when they were last used.
    by_key: HashMap<String, (SharedUrlSession, Instant)>,
    /// A list of tools that every session may use.
    public: Option<Catalogue>,
}

/// One session, shared by its requests.
pub(crate) type SharedUrlSession = Arc<Mutex<UrlSession>>;

pub(crate) struct UrlSession {
    pub(crate) judge: Judge,
    /// Calls whose stream ended before their answer, which may come in another stream.
    pub(crate) interrupted: HashMap<String, ForwardedCall>,
    /// Requests of the server that the client has not answered, often because it asks its user.
    pub(crate) questions: HashSet<String>,
    /// When the last of them was answered.
    answered_at: Option<Instant>,
}

impl UrlSession {
    fn answered(&mut self, id: &str) {
        if self.questions.remove(id) {
            self.answered_at = Some(Instant::now());
        }
    }

    /// Returns true if a call may take longer than its limit, because its server waits for an
    /// answer of the client, or did so within this time.
    pub(crate) fn is_asking(&self, limit: Duration) -> bool {
        let lately = |at: Instant| at.elapsed() < limit;
        !self.questions.is_empty() || self.answered_at.is_some_and(lately)
    }
}

pub(crate) fn lock(session: &SharedUrlSession) -> MutexGuard<'_, UrlSession> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the messages of one HTTP request are handled.
struct RequestPlan {
    session: SharedUrlSession,
    headers: HeaderMap,
    open: OpenRequests,
    /// Answers to messages that are not forwarded.
    answers: Vec<Frame>,
    is_batch: bool,
}

async fn handle(State(listener): State<Arc<UrlListener>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if !listener.is_endpoint(parts.uri.path()) {
        return listener.elsewhere(&parts, body).await;
    }
    if parts.method == Method::GET && !wants_events(&parts.headers) {
        let text = "there is nothing to see here: a client asks for text/event-stream";
        return plain(StatusCode::NOT_ACCEPTABLE, text);
    }
    let body = match read_body(body, listener.options.max_frame).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let own = OwnOrigin::of(&parts.headers);
    let headers = headers::passing(&parts.headers);
    let session = listener.session(&headers);
    if parts.method == Method::DELETE {
        listener.forget(&headers);
    }
    let mut plan = RequestPlan {
        session,
        headers,
        open: OpenRequests::default(),
        answers: Vec::new(),
        is_batch: false,
    };
    let forwarding = if parts.method == Method::POST {
        listener.judge(&mut plan, &body).await
    } else {
        Forwarding::AsSent
    };
    listener.write_log(&plan.session);
    match forwarding.apply(body) {
        Some(body) => {
            let server = listener.upstream.url().clone();
            let metadata = Arc::clone(&listener.metadata);
            let mut response = listener.forward(parts.method, body, plan).await;
            if let Some(own) = own
                && let Some(place) = own.rewrite_challenge(response.headers_mut(), &server)
            {
                *metadata.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
            }
            response
        }
        None => json(StatusCode::OK, plan.answers_alone()),
    }
}

impl RequestPlan {
    /// The body of the response to a request of which nothing is forwarded.
    fn answers_alone(&mut self) -> Frame {
        if self.is_batch || self.answers.len() != 1 {
            batch_of(&self.answers)
        } else {
            self.answers.remove(0)
        }
    }

    /// Judges one message. A message that is not forwarded gets its answer in the plan.
    async fn message(&mut self, message: &Message<'_>, listener: &UrlListener) -> Forwarding {
        let Some(id) = message.id() else {
            return Forwarding::AsSent;
        };
        if message.repeats_key() && !listener.options.calls.observe {
            let text = "a key of the message occurs twice";
            let answer = json_rpc::error(&id, json_rpc::INVALID_REQUEST, text);
            self.answers.push(answer);
            return Forwarding::Dropped;
        }
        match message.method() {
            Some("tools/call") => return self.call(id, message, listener).await,
            Some("tools/list") => {
                self.open.lists.insert(id, message.cursor());
            }
            Some(_) => self.open.others.push(id),
            None => lock(&self.session).answered(&id),
        }
        Forwarding::AsSent
    }

    async fn call(
        &mut self,
        id: String,
        message: &Message<'_>,
        listener: &UrlListener,
    ) -> Forwarding {
        let judge = |listed| {
            let mut session = lock(&self.session);
            session.judge.call(message, listed, Instant::now())
        };
        let mut judgement = judge(false);
        if let CallJudgement::NeedsTools = judgement {
            let context = message.protocol_context();
            let headers = headers::for_list(&self.headers);
            let listed = listener.list_tools(&self.session, headers, context.as_deref());
            listed.await;
            judgement = judge(true);
        }
        match judgement {
            CallJudgement::AsSent(call) => {
                self.open.calls.insert(id, *call);
                Forwarding::AsSent
            }
            CallJudgement::Rewritten(rewritten, call) => {
                headers::mend(&mut self.headers, &call.tool, &call.mirrors);
                self.open.calls.insert(id, *call);
                Forwarding::Rewritten(rewritten)
            }
            CallJudgement::Answer(answer) => {
                self.answers.push(answer);
                Forwarding::Dropped
            }
            // The judge does not want this where there is nobody to ask.
            CallJudgement::NeedsApproval(_) => {
                let text = "the user cannot be asked here";
                let answer = json_rpc::error(&id, json_rpc::INVALID_REQUEST, text);
                self.answers.push(answer);
                Forwarding::Dropped
            }
            // The judge asks for the list once per call.
            CallJudgement::NeedsTools => Forwarding::AsSent,
        }
    }
}

impl UrlListener {
    /// Returns true if this is the path of the server, or `/mcp`, which stands for it.
    fn is_endpoint(&self, path: &str) -> bool {
        self.upstream.is_endpoint(path)
    }

    /// Answers a request to another path than the endpoint: those by which clients log in.
    async fn elsewhere(&self, parts: &Parts, body: Body) -> Response {
        // A client that sends the listener's own token cannot send one of the server.
        if self.options.listen.token.is_none()
            && let Some(answer) = self.relay.answer(parts, body, &self.upstream).await
        {
            return answer;
        }
        self.document(parts).await
    }

    /// Forwards a request for a public document, by which clients find out how to log in. Nothing
    /// else of the server's origin can be reached from here: requests carry the operator's headers.
    async fn document(&self, parts: &Parts) -> Response {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        if parts.method != Method::GET || !path.starts_with("/.well-known/") {
            return plain(StatusCode::NOT_FOUND, "expected the path /mcp");
        }
        let server = self.upstream.url();
        let asked = {
            let place = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
            let is_endpoint = |path: &str| self.is_endpoint(path);
            login::metadata_path(path, is_endpoint, server, place.as_deref())
        };
        let headers = headers::passing(&parts.headers);
        let sent = timeout(DOCUMENT_LIMIT, self.upstream.get_public(&asked, headers)).await;
        let Ok(Ok(document)) = sent else {
            return plain(StatusCode::BAD_GATEWAY, "the server cannot be reached");
        };
        let (status, headers) = (document.status(), headers::passing(document.headers()));
        match timeout(DOCUMENT_LIMIT, read_whole(document, MAX_DOCUMENT)).await {
            Ok(Ok(body)) => {
                let body = match OwnOrigin::of(&parts.headers) {
                    Some(own) => self.own_metadata(&own, path, body).await,
                    None => body,
                };
                response(status, headers, Body::from(body))
            }
            _ => plain(StatusCode::BAD_GATEWAY, "the server did not answer"),
        }
    }

    /// The server's metadata as those of the listener; other documents stay as they are.
    async fn own_metadata(&self, own: &OwnOrigin, path: &str, body: Vec<u8>) -> Vec<u8> {
        let server = self.upstream.url();
        let named = own.rewrite_metadata(path, body.clone(), server);
        if named == body || self.options.listen.token.is_some() {
            return named;
        }
        self.relay.rewrite(own, &body, named, server).await
    }

    fn sessions(&self) -> MutexGuard<'_, UrlSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of a request, by its id or else by the client's credentials.
    fn session(&self, headers: &HeaderMap) -> SharedUrlSession {
        let mut sessions = self.sessions();
        let key = session_key(headers);
        let now = Instant::now();
        if let Some((session, used)) = sessions.by_key.get_mut(&key) {
            *used = now;
            return Arc::clone(session);
        }
        if sessions.by_key.len() >= MAX_SESSIONS {
            let oldest = sessions.by_key.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                sessions.by_key.remove(&oldest);
            }
        }
        let mut options = Arc::clone(&self.options);
        if !headers.contains_key(SESSION) {
            // Equal calls of several clients without a session are not a loop.
            Arc::make_mut(&mut options).loops = McpLoopMode::Off;
        }
        let mut judge = Judge::new(options);
        if let Some(public) = &sessions.public
            && public.knowledge(now) == Knowledge::Fresh
        {
            judge.catalogue = public.clone();
        }
        let session = Arc::new(Mutex::new(UrlSession {
            judge,
            interrupted: HashMap::new(),
            questions: HashSet::new(),
            answered_at: None,
        }));
        sessions.by_key.insert(key, (Arc::clone(&session), now));
        session
    }

    /// Forgets the session that a client ends.
    fn forget(&self, headers: &HeaderMap) {
        if headers.contains_key(SESSION) {
            self.sessions().by_key.remove(&session_key(headers));
        }
    }

    fn write_log(&self, session: &SharedUrlSession) {
        let entries = std::mem::take(&mut lock(session).judge.log);
        entries.iter().for_each(|entry| self.log.write(entry));
    }

    /// Judges the body of a request.
    async fn judge(&self, plan: &mut RequestPlan, body: &[u8]) -> Forwarding {
        match FrameContent::read(body) {
            // The server itself is to say that this is not a message.
            FrameContent::Blank | FrameContent::Junk => Forwarding::AsSent,
            FrameContent::One(message) => plan.message(&message, self).await,
            FrameContent::Batch(messages) => {
                plan.is_batch = true;
                let mut batch = BatchForwarding::default();
                for message in &messages {
                    let forwarding = plan.message(message, self).await;
                    batch.push(message, forwarding);
                }
                batch.finish()
            }
        }
    }

    /// Asks the server for its tools, with the credentials of the client.
    async fn list_tools(
        &self,
        session: &SharedUrlSession,
        headers: HeaderMap,
        context: Option<&str>,
    ) {
        let (limit, max_frame) = (self.options.list_limit, self.options.max_frame);
        let mut cursor = None::<String>;
        for page in 1..=MAX_PAGES {
            let id = format!("\"goodcall:tools:{page}\"");
            let request = json_rpc::list(&id, cursor.as_deref(), context);
            let sent = timeout(limit, self.upstream.post(headers.clone(), request)).await;
            let answer = match sent {
                Ok(Ok(response)) => read_answer(&id, response, max_frame, limit).await,
                Ok(Err(error)) => Err(describe_error(error)),
                Err(_) => Err("the server did not answer in time".to_owned()),
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(why) => return self.give_up_listing(session, &why),
            };
            let message = FrameContent::read(&answer).single();
            let Some(result) = message.and_then(|message| message.result()) else {
                return self.give_up_listing(session, "the server refused");
            };
            let mut locked = lock(session);
            let catalogue = &mut locked.judge.catalogue;
            cursor = catalogue.add_page(result, cursor.as_deref(), Instant::now());
            if cursor.is_none() {
                let public = catalogue.is_public().then(|| catalogue.clone());
                drop(locked);
                if public.is_some() {
                    self.sessions().public = public;
                }
                return;
            }
        }
        self.give_up_listing(session, "the list does not end");
    }

    fn give_up_listing(&self, session: &SharedUrlSession, why: &str) {
        let server = &self.options.server;
        let text = format!("{server}: the tools cannot be listed ({why}); calls are not checked");
        let mut session = lock(session);
        session.judge.log.push(LogEntry::Warning(text));
        session.judge.catalogue.mark_unavailable(Instant::now());
    }

    /// Notifies the server that nobody waits for these calls any more. Without a session the end of
    /// the HTTP request says so itself.
    fn cancel(self: &Arc<Self>, headers: &HeaderMap, filter: &ResponseFilter) {
        if !headers.contains_key(SESSION) {
            return;
        }
        for call in filter.open.calls.values() {
            let (listener, headers) = (Arc::clone(self), headers.clone());
            let frame = json_rpc::cancelled(&call.id, "timed out");
            tokio::spawn(async move {
                let sent = listener.upstream.post(headers, frame);
                // The notice is a courtesy; nothing depends on it.
                let _ = timeout(listener.options.list_limit, sent).await;
            });
        }
    }

    /// Sends a request on, and sends back the judged response.
    async fn forward(self: Arc<Self>, method: Method, body: Frame, plan: RequestPlan) -> Response {
        let has_session = plan.headers.contains_key(SESSION);
        let body = (method == Method::POST || !body.is_empty()).then_some(body);
        let (session, log) = (Arc::clone(&plan.session), Arc::clone(&self.log));
        let mut filter = ResponseFilter::new(session, log, plan.open, has_session);
        let cancel_headers = headers::for_list(&plan.headers);
        let limits = filter.open.calls.values();
        let limits = limits.filter_map(|call| self.options.calls.time_limit(&call.tool));
        let limit = limits.max();
        let url = self.upstream.url().clone();
        let sending = self.upstream.send(method, url, plan.headers, body);
        let sent = match limit {
            Some(limit) => timeout(limit, sending).await,
            None => Ok(sending.await),
        };
        let upstream_response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let server = &self.options.server;
                let why = describe_error(error);
                let why = format!("{server}: the server cannot be reached: {why}");
                self.log.warn(&why);
                return json(StatusCode::BAD_GATEWAY, filter.unreachable(&why));
            }
            Err(_) => {
                self.cancel(&cancel_headers, &filter);
                return json(StatusCode::OK, filter.timed_out());
            }
        };
        if upstream_response.status().is_redirection() {
            // A client that follows it would pass by the proxy.
            let why = "the server redirects to another address: name that one with --url";
            self.log.warn(&format!("{}: {why}", self.options.server));
            return json(StatusCode::BAD_GATEWAY, filter.unreachable(why));
        }
        let max_frame = self.options.max_frame;
        let headers = headers::passing(upstream_response.headers());
        let status = upstream_response.status();
        let body = match BodyKind::of(upstream_response.headers()) {
            BodyKind::Events => {
                let events =
                    filter_events(upstream_response, filter, plan.answers, limit, max_frame);
                Body::from_stream(events)
            }
            BodyKind::Json => match read_whole(upstream_response, max_frame).await {
                Ok(body) => {
                    let body = filter.judge(&body).apply(body);
                    let body = body.expect("a filter drops no message");
                    drop(filter);
                    self.write_log(&plan.session);
                    Body::from(with_answers(body, plan.answers))
                }
                Err(why) => {
                    self.log.warn(&format!("{}: {why}", self.options.server));
                    return json(StatusCode::BAD_GATEWAY, filter.unreachable(&why));
                }
            },
            BodyKind::Other => Body::from_stream(upstream_response.bytes_stream()),
        };
        response(status, headers, body)
    }
}

/// The key of a session: its id, or else a hash of the client's credentials.
fn session_key(headers: &HeaderMap) -> String {
    match headers.get(SESSION) {
        Some(id) => format!("session {}", String::from_utf8_lossy(id.as_bytes())),
        None => {
            let mut hasher = DefaultHasher::new();
            let credentials = headers.get(AUTHORIZATION);
            credentials.map(|value| value.as_bytes()).hash(&mut hasher);
            format!("bearer {}", hasher.finish())
        }
    }
}

/// Adds the proxy's answers to the body of the server's response.
fn with_answers(body: Frame, answers: Vec<Frame>) -> Frame {
    if answers.is_empty() {
        return body;
    }
    let content = FrameContent::read(&body);
    let messages = content.messages().iter();
    let mut all: Vec<_> = messages.map(|one| one.bytes().to_vec()).collect();
    all.extend(answers);
    batch_of(&all)
}
