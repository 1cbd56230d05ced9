//! One request from the client, through the upstream, and back.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use bytes::Bytes;
use goodcall_core::name_fits;
use goodcall_server::GatewayLoopMode;
use goodcall_server::{Readiness, RecentRequests};
use goodcall_wire::Provider;
use goodcall_wire::relay::{Endpoint, Exchange, Memory, RelaySettings, ToolsCache};
use goodcall_wire::request::{has_results, legal_history, with_remark};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio_rustls::TlsAcceptor;

use crate::clients::Clients;
use crate::config::GatewayConfig;
use crate::content_encoding::{ContentEncoding, decode};
use crate::error_reply::ErrorReply;
use crate::headers;
use crate::history_loops;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::passed_body::PassedBody;
use crate::reask_budget::ReaskBudget;
use crate::request_record::{RequestRecord, Unjudged};
use crate::routes::{self, Route};
use crate::tunnel::Tunnels;
use crate::upstream::{RepeatableRequest, Upstream};
use crate::upstream_body::{CollectedBody, collect_request};
use crate::{admin, failed_reply, json_reply, judged_stream, observe, tunnel};

/// An error in the middle of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body of a request or a reply, of any kind.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The response header with the verdicts on the calls of a reply.
pub(crate) const VERDICT: HeaderName = HeaderName::from_static("goodcall-verdict");

/// The response header with the signal of a doom loop in the history.
const LOOP: HeaderName = HeaderName::from_static("goodcall-loop");

/// Makes a body of bytes in memory.
pub(crate) fn full(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) live: RwLock<Arc<LiveState>>,
    pub(crate) tools: ToolsCache,
    /// What replies had that clients do not send back.
    pub(crate) memory: Memory,
    pub(crate) metrics: Metrics,
    pub(crate) recent_requests: RecentRequests,
    /// The number of open requests.
    pub(crate) open: AtomicUsize,
    pub(crate) listener: ListenerState,
    pub(crate) readiness: Readiness,
}

/// The state of the listener.
#[derive(Debug, Default)]
pub(crate) struct ListenerState {
    /// Whether it is on a loopback address.
    pub(crate) is_local: AtomicBool,
    /// Whether the gateway's own paths are served beside the provider's.
    pub(crate) serves_admin: AtomicBool,
    /// Whether no new connections are accepted, and open ones may end.
    pub(crate) is_draining: AtomicBool,
    /// Whether the gateway is about to end.
    pub(crate) is_stopping: AtomicBool,
}

/// The settings, and what was made from them. A reload replaces all of it.
pub(crate) struct LiveState {
    pub(crate) config: GatewayConfig,
    pub(crate) relay: Arc<RelaySettings>,
    /// How replies of single models are judged, by patterns.
    pub(crate) models: Vec<(String, Arc<RelaySettings>)>,
    pub(crate) upstream: Upstream,
    pub(crate) routes: Vec<Route>,
    /// The clients that are served; `None` for everyone.
    pub(crate) clients: Option<Clients>,
    /// TLS towards clients.
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) reasks: Arc<ReaskBudget>,
    pub(crate) log: Arc<Log>,
    #[cfg(feature = "store")]
    pub(crate) store: Option<Arc<crate::store::Store>>,
}

impl fmt::Debug for LiveState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("LiveState");
        fields.field("config", &self.config).finish_non_exhaustive()
    }
}

impl LiveState {
    /// Has the replies of an exchange judged as the settings of its model say, and read for a span
    /// where spans are asked for.
    pub(crate) fn apply_settings(&self, exchange: &mut Exchange) {
        if self.config.log.otlp.is_some() {
            exchange.keep_reply_facts();
        }
        let model = exchange.model().unwrap_or_default();
        let mut models = self.models.iter();
        if let Some((_, own)) = models.find(|(pattern, _)| name_fits(pattern, model)) {
            exchange.set_settings(Arc::clone(own));
        }
    }
}

/// The right to be one of the open requests, whose number is limited.
#[derive(Debug)]
pub(crate) struct Permit(Arc<SharedState>);

impl Permit {
    fn take(shared: &Arc<SharedState>, most: usize) -> Option<Self> {
        // Counted even if it is one too many; dropping the permit corrects that.
        let permit = Self(Arc::clone(shared));
        (shared.open.fetch_add(1, Ordering::AcqRel) < most).then_some(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SharedState {
    pub(crate) fn live(&self) -> Arc<LiveState> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&live)
    }
}

/// Returns what the URL of a request says, or `None` for one that passes untouched.
fn endpoint_of(parts: &Parts) -> Option<Endpoint> {
    let is_post = parts.method == Method::POST;
    let has_header = |name: &str| parts.headers.contains_key(name);
    let (path, query) = (parts.uri.path(), parts.uri.query());
    is_post.then(|| Endpoint::read(path, query, &has_header))?
}

/// Answers one request. Failures are answered with an [`ErrorReply`].
pub(crate) async fn handle(
    shared: Arc<SharedState>,
    tunnels: Tunnels,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let may_be_admin = [Method::GET, Method::HEAD].contains(request.method());
    if may_be_admin && shared.listener.serves_admin.load(Ordering::Relaxed) {
        let is_local = shared.listener.is_local.load(Ordering::Relaxed);
        if let Some(response) = Box::pin(admin::respond(&shared, &request, is_local)).await {
            return response;
        }
    }
    if request.method() == Method::CONNECT {
        return ErrorReply::MethodRefused.response();
    }
    if has_dot_segments(request.uri().path()) {
        return ErrorReply::PathRefused.response();
    }
    let live = shared.live();
    let Some(permit) = Permit::take(&shared, live.config.limits.concurrent) else {
        shared.metrics.busy();
        return ErrorReply::Busy.response();
    };
    let mut record = RequestRecord::new(Arc::clone(&shared), &request, permit);
    let live = match routes::admit(live, &mut request, &mut record) {
        Ok(live) => live,
        Err(reply) => {
            record.finish_with(reply);
            return reply.response();
        }
    };
    let outcome = if headers::is_upgrade(request.headers()) {
        Box::pin(tunnel::open(&live, &tunnels, request, record)).await
    } else {
        let (parts, body) = request.into_parts();
        match endpoint_of(&parts) {
            Some(endpoint) if live.config.observe => {
                let observed = observe::respond(&shared, &live, endpoint, parts, body, record);
                Box::pin(observed).await
            }
            Some(endpoint) => judge(&shared, live, endpoint, parts, body, record).await,
            None => Box::pin(pass(&live, parts, body, record)).await,
        }
    };
    outcome.unwrap_or_else(|(reply, mut record)| {
        record.finish_with(reply);
        reply.response()
    })
}

/// Returns true for a path with a segment `..`, which could leave the path of the upstream's URL.
fn has_dot_segments(path: &str) -> bool {
    (path.contains("..") || path.contains('%')) && {
        let plain = path.replace("%2e", ".").replace("%2E", ".");
        let plain = plain.replace("%2f", "/").replace("%2F", "/");
        plain.split(['/', '\\']).any(|segment| segment == "..")
    }
}

/// The media type of a reply, in lower case and without parameters.
pub(crate) fn media_type(headers: &http::HeaderMap) -> Cow<'_, str> {
    let value = headers.get(http::header::CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let end = value.bytes().position(|byte| byte == b';');
    let media_type = value[..end.unwrap_or(value.len())].trim();
    if media_type.bytes().any(|byte| byte.is_ascii_uppercase()) {
        media_type.to_ascii_lowercase().into()
    } else {
        media_type.into()
    }
}

/// Returns true for a reply in JSON, such as `application/json` or `application/problem+json`.
pub(crate) fn is_json(headers: &http::HeaderMap) -> bool {
    is_json_type(&media_type(headers))
}

fn is_json_type(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

/// The response to a request, or why there is none; the record is still to be written then.
pub(crate) type HandlerResult = Result<Response<Body>, (ErrorReply, Box<RequestRecord>)>;

pub(crate) fn path_of(parts: &Parts) -> PathAndQuery {
    let path = parts.uri.path_and_query().cloned();
    path.unwrap_or_else(|| PathAndQuery::from_static("/"))
}

/// Passes a request through unread.
async fn pass(
    live: &LiveState,
    parts: Parts,
    body: Incoming,
    record: Box<RequestRecord>,
) -> HandlerResult {
    let body = body.map_err(BoxError::from).boxed_unsync();
    pass_body(live, parts, body, record).await
}

/// Passes a request with this body through unread.
pub(crate) async fn pass_body(
    live: &LiveState,
    mut parts: Parts,
    body: Body,
    mut record: Box<RequestRecord>,
) -> HandlerResult {
    record.begin_span(live, &mut parts.headers);
    headers::for_upstream(&mut parts.headers);
    let limit = live.config.limits.first_byte_time;
    let path = path_of(&parts);
    record.note_sent();
    let reply = match live.upstream.request(parts, &path, body) {
        Ok(request) => live.upstream.send(request, limit).await,
        Err(error) => Err(error),
    };
    match reply {
        Ok(reply) => {
            record.note_reply();
            Ok(pass_reply(live, reply, record))
        }
        Err(error) => Err((record.set_upstream_error(error), record)),
    }
}

/// Passes a reply that should have been judged, but cannot be read.
fn pass_unjudged(
    mut reply: Response<Incoming>,
    reason: Unjudged,
    pending: PendingExchange,
) -> Response<Body> {
    let PendingExchange {
        live, mut record, ..
    } = pending;
    set_unjudged(reply.headers_mut(), reason, &mut record);
    pass_reply(&live, reply, record)
}

/// Passes a reply through as it is.
pub(crate) fn pass_reply(
    live: &LiveState,
    reply: Response<Incoming>,
    mut record: Box<RequestRecord>,
) -> Response<Body> {
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    record.set_status(head.status);
    let body = PassedBody::new(None, body, live.config.limits.idle_time, record);
    Response::from_parts(head, body.boxed_unsync())
}

/// A request whose replies are judged, with what came of it so far. It is kept on the heap, since
/// streams keep it for long.
pub(crate) struct PendingExchange {
    pub(crate) live: Arc<LiveState>,
    pub(crate) request: RepeatableRequest,
    pub(crate) exchange: Exchange,
    pub(crate) record: Box<RequestRecord>,
}

/// A request that was read, ready to be sent.
enum PreparedRequest {
    Judged(Box<PendingExchange>),
    /// It has nothing that a reply could be judged by.
    Passed(Box<RepeatableRequest>, Bytes, Box<RequestRecord>),
}

/// Handles a request whose reply may hold calls.
async fn judge(
    shared: &Arc<SharedState>,
    live: Arc<LiveState>,
    endpoint: Endpoint,
    parts: Parts,
    body: Incoming,
    mut record: Box<RequestRecord>,
) -> HandlerResult {
    let limits = &live.config.limits;
    let encoding = ContentEncoding::of(&parts.headers);
    if encoding == ContentEncoding::Unknown {
        record.set_unjudged_request(&endpoint, Unjudged::RequestEncoding);
        let mut reply = Box::pin(pass(&live, parts, body, record)).await?;
        mark_unjudged(reply.headers_mut(), &Unjudged::RequestEncoding);
        return Ok(reply);
    }
    if body.size_hint().lower() > limits.request_bytes as u64 {
        return Err((ErrorReply::RequestTooLarge, record));
    }
    let body = match collect_request(body, limits).await {
        Ok(CollectedBody::Whole(body)) => body,
        Ok(CollectedBody::TooLong(..)) => return Err((ErrorReply::RequestTooLarge, record)),
        Err(_) => return Err((ErrorReply::RequestBroken, record)),
    };
    let started = Instant::now();
    let incoming = IncomingRequest {
        endpoint,
        plain: decode(encoding, body.clone(), limits.request_bytes),
        encoding,
        body,
    };
    match prepare(shared, &live, parts, incoming, record) {
        Ok(PreparedRequest::Judged(mut pending)) => {
            pending.record.add_own_time(started.elapsed());
            send(pending).await
        }
        Ok(PreparedRequest::Passed(request, body, mut record)) => {
            record.add_own_time(started.elapsed());
            record.note_sent();
            let reply = request.send(&live.upstream, body).await;
            match reply {
                Ok(mut reply) => {
                    record.note_reply();
                    if let Some(reason) = &record.judgement.unjudged
                        && matches!(reason, Unjudged::RequestEncoding)
                    {
                        mark_unjudged(reply.headers_mut(), reason);
                    }
                    Ok(pass_reply(&live, reply, record))
                }
                Err(error) => Err((record.set_upstream_error(error), record)),
            }
        }
        Err(refused) => Err(refused),
    }
}

/// A request whose reply may hold calls, as it came.
struct IncomingRequest {
    endpoint: Endpoint,
    encoding: ContentEncoding,
    /// The decoded body of a compressed request.
    plain: Option<Bytes>,
    body: Bytes,
}

/// Reads a request and makes it ready to be sent. A request that is judged keeps nothing that came
/// over the client's connection, so that the connection's buffer is free. One that came compressed
/// is sent uncompressed if it is judged.
fn prepare(
    shared: &SharedState,
    live: &Arc<LiveState>,
    mut parts: Parts,
    incoming: IncomingRequest,
    mut record: Box<RequestRecord>,
) -> Result<PreparedRequest, (ErrorReply, Box<RequestRecord>)> {
    let (endpoint, body) = (incoming.endpoint, incoming.body);
    let is_compressed = incoming.encoding != ContentEncoding::Plain;
    if is_compressed && incoming.plain.is_none() {
        record.set_unjudged_request(&endpoint, Unjudged::RequestEncoding);
    }
    let readable = match &incoming.plain {
        None if is_compressed => None,
        None => Some(&body),
        plain => plain.as_ref(),
    };
    let text = readable.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let text = text.map(|text| rewrite_history(shared, &live.config, &endpoint, text, &mut record));
    let exchange = match &text {
        None => None,
        Some(text) => {
            let relay = Arc::clone(&live.relay);
            match Exchange::new(endpoint.clone(), text, &shared.tools, relay) {
                Ok(mut exchange) => {
                    live.apply_settings(&mut exchange);
                    Some(exchange)
                }
                Err(not_judged) => {
                    record.set_unjudged_request(&endpoint, Unjudged::Request(not_judged));
                    record.set_request_facts(&endpoint, text);
                    None
                }
            }
        }
    };
    if let Some(exchange) = &exchange {
        record.set_exchange(endpoint.provider, exchange);
    }
    record.begin_span(live, &mut parts.headers);
    headers::for_upstream(&mut parts.headers);
    let is_rewritten = matches!(text, Some(Cow::Owned(_)));
    if exchange.is_some() || is_rewritten {
        // The body that is sent is neither as long as the one that came, nor compressed.
        parts.headers.remove(CONTENT_LENGTH);
        parts.headers.remove(CONTENT_ENCODING);
    }
    if exchange.is_some() {
        headers::for_judging(&mut parts.headers);
    }
    let limit = live.config.limits.first_byte_time;
    let Some(request) = RepeatableRequest::new(&live.upstream, &parts, limit) else {
        return Err((ErrorReply::RequestBroken, record));
    };
    Ok(match exchange {
        Some(mut exchange) => {
            if let Some(to) = live.config.adapt {
                exchange.adapt(to);
            }
            PreparedRequest::Judged(Box::new(PendingExchange {
                live: Arc::clone(live),
                request,
                exchange,
                record,
            }))
        }
        None => {
            let body = match text {
                Some(Cow::Owned(changed)) => Bytes::from(changed),
                _ => body,
            };
            PreparedRequest::Passed(Box::new(request), body, record)
        }
    })
}

/// Makes the history of a request legal and looks for loops in it, as the settings say.
fn rewrite_history<'t>(
    shared: &SharedState,
    config: &GatewayConfig,
    endpoint: &Endpoint,
    text: &'t str,
    record: &mut RequestRecord,
) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    let provider = endpoint.provider;
    if provider == Provider::Responses
        && let Some(restored) = shared.memory.restore_response(&text)
    {
        text = restored.into();
    }
    if config.history.remember
        && let Some(restored) = shared.memory.restore(endpoint, &text)
    {
        record.history.restored = true;
        text = restored.into();
    }
    if config.history.fix
        && let Some(legal) = legal_history(provider, &text)
    {
        record.history.fixed = true;
        text = legal.into();
    }
    if config.history.loops == GatewayLoopMode::Off || !has_results(&text) {
        return text;
    }
    if let Some(report) = history_loops::find(provider, &text) {
        record.history.loop_signal = Some(report.signal.name());
        if config.history.loops == GatewayLoopMode::Steer
            && let Some(steered) = with_remark(provider, &text, &report.text())
        {
            text = steered.into();
        }
    }
    text
}

/// Sends a request and answers the client with its reply, judged.
async fn send(mut pending: Box<PendingExchange>) -> HandlerResult {
    pending.record.note_sent();
    pending.live.reasks.count_request();
    let body = body_of(&pending.exchange);
    let reply = pending.request.send(&pending.live.upstream, body).await;
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Err((pending.record.set_upstream_error(error), pending.record)),
    };
    pending.record.note_reply();
    if may_quote_a_call(&reply) {
        return failed_reply::respond(pending, reply).await;
    }
    if !reply.status().is_success() {
        return Ok(pass_reply(&pending.live, reply, pending.record));
    }
    let media_type = media_type(reply.headers());
    let is_stream = pending.exchange.is_stream(&media_type);
    if !is_stream && !is_json_type(&media_type) {
        return Ok(pass_unjudged(reply, Unjudged::ReplyType, *pending));
    }
    let encoding = ContentEncoding::of(reply.headers());
    if encoding == ContentEncoding::Unknown || is_stream && !encoding.can_stream() {
        return Ok(pass_unjudged(reply, Unjudged::ReplyEncoding, *pending));
    }
    if is_stream {
        Ok(judged_stream::respond(*pending, reply))
    } else {
        json_reply::respond(pending, reply).await
    }
}

/// Returns true for an error in which a server may quote the call that it could not read.
pub(crate) fn may_quote_a_call(reply: &Response<Incoming>) -> bool {
    let statuses = [StatusCode::BAD_REQUEST, StatusCode::INTERNAL_SERVER_ERROR];
    statuses.contains(&reply.status()) && is_json(reply.headers())
}

/// Returns the body of a request, shared and not copied.
pub(crate) fn body_of(exchange: &Exchange) -> Bytes {
    struct SharedText(Arc<str>);
    impl AsRef<[u8]> for SharedText {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    Bytes::from_owner(SharedText(exchange.shared_body()))
}

/// Adds the verdicts, and the loop signal, to the headers of a reply.
pub(crate) fn set_verdict(headers: &mut http::HeaderMap, summary: &str, record: &RequestRecord) {
    if let Ok(value) = HeaderValue::from_str(summary) {
        headers.insert(VERDICT, value);
    }
    if let Some(signal) = record.history.loop_signal {
        headers.insert(LOOP, HeaderValue::from_static(signal));
    }
}

/// Marks a reply as unjudged in its headers.
fn mark_unjudged(headers: &mut http::HeaderMap, reason: &Unjudged) {
    let value = HeaderValue::from_str(&format!("unjudged reason={}", reason.name()));
    headers.insert(VERDICT, value.expect("reasons are plain words"));
}

/// Marks a reply as unjudged, in its headers and in the record.
pub(crate) fn set_unjudged(
    headers: &mut http::HeaderMap,
    reason: Unjudged,
    record: &mut RequestRecord,
) {
    set_verdict(
        headers,
        &format!("unjudged reason={}", reason.name()),
        record,
    );
    record.judgement.unjudged = Some(reason);
}
