//! A listener in front of a server behind a URL: requests and responses pass as they are, headers
//! and all, and calls are guarded on the way.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::headers::{self, SESSION};
use super::response_filter::{ResponseFilter, filtered};
use super::response_reader::{self, BodyKind};
use super::same_site;
use super::upstream::{Upstream, words};
use crate::call_log::{LogEntry, ProxyLog};
use crate::catalogue::{Catalogue, Knowledge, MOST_PAGES};
use crate::engine::canonical;
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::judge::{CallJudgement, ForwardedCall, Judge};
use crate::options::ProxyOptions;
use goodcall_server::McpLoopMode;

/// Sessions that are remembered; beyond that the one that was not used for longest is forgotten.
const MOST_SESSIONS: usize = 1024;

/// Serves a server behind a URL until the task is dropped.
///
/// # Errors
/// If the listener fails.
pub async fn listen_url(
    listener: TcpListener,
    upstream: Upstream,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> std::io::Result<()> {
    let relay = Arc::new(UrlListener {
        at: listener.local_addr()?,
        upstream,
        options,
        log,
        sessions: Mutex::default(),
    });
    let app = axum::Router::new().fallback(handle).with_state(relay);
    axum::serve(listener, app).await
}

struct UrlListener {
    at: SocketAddr,
    upstream: Upstream,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
    sessions: Mutex<UrlSessions>,
}

#[derive(Default)]
struct UrlSessions {
    by_key: HashMap<String, (SharedUrlSession, Instant)>,
    /// A list that everybody may see.
    public: Option<Catalogue>,
}

/// One session, shared by its requests.
pub(crate) type SharedUrlSession = Arc<Mutex<UrlSession>>;

pub(crate) struct UrlSession {
    pub(crate) judge: Judge,
    /// Calls whose stream ended before their answer: it may come in another one.
    pub(crate) open: HashMap<String, ForwardedCall>,
}

pub(crate) fn lock(session: &SharedUrlSession) -> MutexGuard<'_, UrlSession> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is done with the messages of one request.
#[derive(Default)]
struct RequestPlan {
    /// What goes to the server; `None` if nothing does.
    body: Option<Frame>,
    calls: HashMap<String, ForwardedCall>,
    lists: HashMap<String, Option<String>>,
    /// Requests that are neither.
    others: Vec<String>,
    /// Answers to calls that are not forwarded.
    answers: Vec<Frame>,
    is_batch: bool,
}

async fn handle(State(relay): State<Arc<UrlListener>>, request: Request) -> Response {
    if same_site::is_foreign(request.headers(), relay.at) {
        return plain(
            StatusCode::FORBIDDEN,
            "requests of foreign pages are refused",
        );
    }
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, relay.options.max_frame).await {
        Ok(body) => body.to_vec(),
        Err(_) => {
            let most = relay.options.max_frame;
            let text = format!("the body passes the limit of {most} bytes, or was cut off");
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &text);
        }
    };
    let endpoint = parts.uri.path() == relay.upstream.url().path() || parts.uri.path() == "/mcp";
    let url = match (endpoint, parts.uri.path_and_query()) {
        (false, Some(path)) => relay.upstream.at(path.as_str()),
        _ => relay.upstream.url().clone(),
    };
    let mut passing = headers::passing(&parts.headers);
    let session = relay.session(&passing);
    if parts.method == Method::DELETE && endpoint {
        relay.forget(&passing);
    }
    let mut plan = RequestPlan::default();
    match endpoint && parts.method == Method::POST {
        true => relay.plan(&mut plan, body, &mut passing, &session).await,
        false => plan.body = Some(body),
    }
    relay.write(&session);
    let Some(body) = plan.body.take() else {
        return json(StatusCode::OK, joined(&plan));
    };
    relay
        .forward((parts.method, url, passing), body, plan, session)
        .await
}

impl UrlListener {
    /// The session of a request: by its id, else by whose it is.
    fn session(&self, headers: &HeaderMap) -> SharedUrlSession {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(headers);
        let now = Instant::now();
        if let Some((session, used)) = sessions.by_key.get_mut(&key) {
            *used = now;
            return Arc::clone(session);
        }
        if sessions.by_key.len() >= MOST_SESSIONS {
            let oldest = sessions.by_key.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                sessions.by_key.remove(&oldest);
            }
        }
        let mut options = Arc::clone(&self.options);
        if !headers.contains_key(SESSION) {
            // Several clients may come without a session: their calls in a row are no circle.
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
            open: HashMap::new(),
        }));
        sessions.by_key.insert(key, (Arc::clone(&session), now));
        session
    }

    fn forget(&self, headers: &HeaderMap) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if headers.contains_key(SESSION) {
            sessions.by_key.remove(&key(headers));
        }
    }

    /// Keeps a list that everybody may see for everybody.
    fn share(&self, catalogue: &Catalogue) {
        if catalogue.is_public() {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.public = Some(catalogue.clone());
        }
    }

    fn write(&self, session: &SharedUrlSession) {
        let notes = std::mem::take(&mut lock(session).judge.notes);
        notes.iter().for_each(|note| self.log.write(note));
    }

    async fn plan(
        &self,
        plan: &mut RequestPlan,
        body: Frame,
        headers: &mut HeaderMap,
        session: &SharedUrlSession,
    ) {
        match frame::kind(&body) {
            // The server says itself that this is no message.
            Kind::Blank | Kind::Junk => plan.body = Some(body),
            Kind::One(outline) => {
                plan.body = self.one(plan, body, &outline, headers, session).await;
            }
            Kind::Batch(all) => {
                plan.is_batch = true;
                let (mut parts, mut edited) = (Vec::new(), false);
                for one in &all {
                    let part = body[one.span.clone()].to_vec();
                    let Kind::One(outline) = frame::kind(&part) else {
                        continue;
                    };
                    let kept = self
                        .one(plan, part.clone(), &outline, headers, session)
                        .await;
                    edited |= kept.as_ref() != Some(&part);
                    parts.extend(kept);
                }
                plan.body = match (parts.is_empty(), edited) {
                    (true, _) => None,
                    (false, false) => Some(body),
                    (false, true) => Some(array(&parts)),
                };
            }
        }
    }

    /// One message; what comes back goes to the server.
    async fn one(
        &self,
        plan: &mut RequestPlan,
        frame: Frame,
        outline: &Outline,
        headers: &mut HeaderMap,
        session: &SharedUrlSession,
    ) -> Option<Frame> {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span))
            .map(canonical);
        let Some(id) = id else {
            return Some(frame);
        };
        if outline.twice {
            let text = "a key of the message stands there twice";
            plan.answers
                .push(json_rpc::error(&id, json_rpc::INVALID_REQUEST, text));
            return None;
        }
        match outline.method.as_deref() {
            Some("tools/list") => {
                let cursor = outline.params.as_ref().and_then(|params| {
                    let span = frame::member(&frame, params, "cursor")?;
                    frame::text(&frame, &span).map(|cursor| cursor.into_owned())
                });
                plan.lists.insert(id, cursor);
                Some(frame)
            }
            Some("tools/call") => {
                let mut listed = false;
                loop {
                    let judged = lock(session)
                        .judge
                        .call(&frame, outline, listed, Instant::now());
                    match judged {
                        CallJudgement::List => {
                            let context = json_rpc::context(&frame, outline.params.as_ref());
                            self.list(session, headers, context.as_deref()).await;
                            listed = true;
                        }
                        CallJudgement::AsSent(ticket) => {
                            plan.calls.insert(id, *ticket);
                            return Some(frame);
                        }
                        CallJudgement::Forward(mended, ticket) => {
                            headers::mend(headers, ticket.tool(), &ticket.mirrors);
                            plan.calls.insert(id, *ticket);
                            return Some(mended.into_owned());
                        }
                        CallJudgement::Answer(answer) => {
                            plan.answers.push(answer);
                            return None;
                        }
                    }
                }
            }
            Some(_) => {
                plan.others.push(id);
                Some(frame)
            }
            None => Some(frame),
        }
    }

    /// Asks the server for its tools, in the name of the client.
    async fn list(&self, session: &SharedUrlSession, headers: &HeaderMap, context: Option<&str>) {
        let headers = headers::for_list(headers);
        let (mut cursor, most) = (None::<String>, self.options.max_frame);
        for page in 0..MOST_PAGES {
            let id = format!("\"goodcall:tools:{}\"", page + 1);
            let frame = json_rpc::list(&id, cursor.as_deref(), context);
            let limit = self.options.list_limit;
            let sent = timeout(limit, self.upstream.post(headers.clone(), frame)).await;
            let answer = match sent {
                Ok(Ok(response)) => response_reader::answer_to(&id, response, most, limit).await,
                Ok(Err(error)) => Err(words(error)),
                Err(_) => Err("the server did not answer in time".to_owned()),
            };
            let outline = answer.as_ref().map(|frame| frame::kind(frame));
            let (
                Ok(frame),
                Ok(Kind::One(Outline {
                    result: Some(result),
                    ..
                })),
            ) = (&answer, outline)
            else {
                let why = answer
                    .err()
                    .unwrap_or_else(|| "the server refused".to_owned());
                return self.unlisted(session, &why);
            };
            let mut session = lock(session);
            let catalogue = &mut session.judge.catalogue;
            cursor = catalogue.page(frame, &result, cursor.as_deref(), Instant::now());
            if cursor.is_none() {
                let catalogue = catalogue.clone();
                drop(session);
                return self.share(&catalogue);
            }
        }
        self.unlisted(session, "the list does not end");
    }

    fn unlisted(&self, session: &SharedUrlSession, why: &str) {
        let server = &self.options.server;
        let text = format!("{server}: the tools cannot be listed ({why}); calls are not checked");
        let mut session = lock(session);
        session.judge.notes.push(LogEntry::Warning(text));
        session.judge.catalogue.unavailable(Instant::now());
    }

    /// Tells the server that nobody waits any more. In the newest revision the end of the request
    /// says so itself.
    fn call_off(self: &Arc<Self>, headers: HeaderMap, ids: impl Iterator<Item = String>) {
        for id in ids.filter(|_| headers.contains_key(SESSION)) {
            let (relay, headers) = (Arc::clone(self), headers.clone());
            let frame = json_rpc::cancelled(&id, "timed out");
            tokio::spawn(async move {
                let sent = relay.upstream.post(headers, frame);
                // It is a courtesy: whether it arrives changes nothing here.
                let _ = timeout(relay.options.list_limit, sent).await;
            });
        }
    }

    /// Sends a request on, and what comes back for it.
    async fn forward(
        self: Arc<Self>,
        (method, url, headers): (Method, reqwest::Url, HeaderMap),
        body: Frame,
        plan: RequestPlan,
        session: SharedUrlSession,
    ) -> Response {
        let resumable = headers.contains_key(SESSION);
        let body = (method == Method::POST || !body.is_empty()).then_some(body);
        let mut filter = ResponseFilter::new(Arc::clone(&session), Arc::clone(&self.log));
        (filter.calls, filter.lists, filter.others) = (plan.calls, plan.lists, plan.others);
        filter.resumable = resumable;
        let cancel = headers::for_list(&headers);
        let sending = self.upstream.send(method, url, headers, body);
        let limit = self.options.time_limit.filter(|_| !filter.calls.is_empty());
        let sent = match limit {
            Some(limit) => timeout(limit, sending).await.ok(),
            None => Some(sending.await),
        };
        let response = match sent {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                let server = &self.options.server;
                let why = format!("{server}: the server cannot be reached: {}", words(error));
                self.log.warn(&why);
                return json(StatusCode::BAD_GATEWAY, filter.gone(&why));
            }
            None => {
                self.call_off(
                    cancel,
                    filter.calls.values().map(|ticket| ticket.id.clone()),
                );
                return json(StatusCode::OK, filter.late());
            }
        };
        let passing = headers::passing(response.headers());
        let status = response.status();
        match response_reader::content(response.headers()) {
            BodyKind::Events => {
                let head = plan.answers;
                let body = filtered(response, filter, head, limit, self.options.max_frame);
                reply(status, passing, Body::from_stream(body))
            }
            BodyKind::Json => {
                match response_reader::whole(response, self.options.max_frame).await {
                    Ok(body) => {
                        let body = filter.pass(body);
                        let body = merged(body, &plan.answers);
                        drop(filter);
                        self.write(&session);
                        reply(status, passing, Body::from(body))
                    }
                    Err(why) => {
                        self.log.warn(&format!("{}: {why}", self.options.server));
                        json(StatusCode::BAD_GATEWAY, filter.gone(&why))
                    }
                }
            }
            BodyKind::Other => {
                let body = Body::from_stream(response.bytes_stream());
                reply(status, passing, body)
            }
        }
    }
}

/// What a session is known by.
fn key(headers: &HeaderMap) -> String {
    match headers.get(SESSION) {
        Some(id) => format!("session {}", String::from_utf8_lossy(id.as_bytes())),
        None => {
            let mut hasher = DefaultHasher::new();
            headers
                .get(AUTHORIZATION)
                .map(|value| value.as_bytes())
                .hash(&mut hasher);
            format!("bearer {}", hasher.finish())
        }
    }
}

/// The answers to a request of which nothing is forwarded.
fn joined(plan: &RequestPlan) -> Frame {
    match plan.answers.as_slice() {
        [one] if !plan.is_batch => one.clone(),
        all => array(all),
    }
}

/// A body with our answers beside those of the server.
fn merged(body: Frame, answers: &[Frame]) -> Frame {
    if answers.is_empty() {
        return body;
    }
    let mut all = match frame::kind(&body) {
        Kind::One(_) => vec![body],
        Kind::Batch(parts) => parts
            .into_iter()
            .map(|one| body[one.span].to_vec())
            .collect(),
        Kind::Blank | Kind::Junk => Vec::new(),
    };
    all.extend(answers.iter().cloned());
    array(&all)
}

fn array(parts: &[Frame]) -> Frame {
    let mut out = vec![b'['];
    out.extend(parts.join(&b','));
    out.push(b']');
    out
}

fn reply(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn json(status: StatusCode, body: Frame) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        axum::http::HeaderValue::from_static("application/json"),
    );
    reply(status, headers, Body::from(body))
}

fn plain(status: StatusCode, text: &str) -> Response {
    reply(status, HeaderMap::new(), Body::from(text.to_owned()))
}
