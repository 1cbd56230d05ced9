//! One request on its way through.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use goodcall_server::{GatewayLoopMode, has_media_type};
use goodcall_wire::Provider;
use goodcall_wire::relay::{Exchange, ToolsCache};
use goodcall_wire::request::{has_results, legal_history, with_remark};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::config::GatewayConfig;
use crate::content_encoding::Coding;
use crate::error::Refusal;
use crate::headers;
use crate::history_loops;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::recent_calls::Window;
use crate::record::Record;
use crate::tunnel::Tunnels;
use crate::upstream::{Asked, Upstream};
use crate::{json_reply, page, stream, tunnel};

/// What may go wrong with a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body of any kind.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The header that says what was done.
pub(crate) const VERDICT: HeaderName = HeaderName::from_static("goodcall-verdict");

/// The header that says that the conversation goes round in circles.
const LOOP: HeaderName = HeaderName::from_static("goodcall-loop");

/// A body that is there already.
pub(crate) fn full(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) live: RwLock<Arc<Live>>,
    pub(crate) known: ToolsCache,
    pub(crate) metrics: Metrics,
    pub(crate) window: Window,
    /// Requests that are open.
    pub(crate) open: AtomicUsize,
    /// The listener is for this machine alone.
    pub(crate) local: AtomicBool,
}

/// What a reload replaces.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) config: GatewayConfig,
    pub(crate) settings: Arc<goodcall_wire::relay::RelaySettings>,
    pub(crate) upstream: Upstream,
    pub(crate) log: Arc<Log>,
    #[cfg(feature = "store")]
    pub(crate) store: Option<Arc<crate::store::Store>>,
}

/// One of the requests that may be open at the same time.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Shared>);

impl Permit {
    fn take(shared: &Arc<Shared>, most: usize) -> Option<Self> {
        // Counted even if it is one too many, and then given back at once.
        let permit = Self(Arc::clone(shared));
        (shared.open.fetch_add(1, Ordering::AcqRel) < most).then_some(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    pub(crate) fn live(&self) -> Arc<Live> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&live)
    }
}

/// Which protocol a request speaks; `None` for one that passes untouched.
fn protocol(parts: &Parts) -> Option<Provider> {
    if parts.method != Method::POST {
        return None;
    }
    let path = parts.uri.path().trim_end_matches('/');
    let ends = |end: &str| path.ends_with(end);
    if ends("/chat/completions") {
        Some(Provider::OpenAi)
    } else if ends("/responses") {
        Some(Provider::Responses)
    } else if ends("/v1/messages")
        || (ends("/messages") && parts.headers.contains_key("anthropic-version"))
    {
        Some(Provider::Anthropic)
    } else {
        None
    }
}

/// Answers one request. Nothing here fails: what goes wrong is an answer, too.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    tunnels: Tunnels,
    request: Request<Incoming>,
) -> Response<Body> {
    if request.method() == Method::GET
        && let Some(response) = page::own(&shared, request.uri(), request.headers())
    {
        return response;
    }
    let live = shared.live();
    let Some(permit) = Permit::take(&shared, live.config.limits.concurrent) else {
        shared.metrics.refused(Refusal::Busy);
        return Refusal::Busy.response();
    };
    let record = Record::new(Arc::clone(&shared), &request, permit);
    let outcome = if headers::is_upgrade(request.headers()) {
        Box::pin(tunnel::open(&live, &tunnels, request, record)).await
    } else {
        let (parts, body) = request.into_parts();
        match protocol(&parts) {
            Some(provider) => judged(&shared, live, provider, parts, body, record).await,
            None => Box::pin(passed(&live, parts, body, record)).await,
        }
    };
    outcome.unwrap_or_else(|(refusal, mut record)| {
        shared.metrics.refused(refusal);
        record.refused(refusal);
        refusal.response()
    })
}

/// What comes of a request.
pub(crate) type Answer = Result<Response<Body>, (Refusal, Box<Record>)>;

pub(crate) fn path_of(parts: &Parts) -> PathAndQuery {
    let path = parts.uri.path_and_query().cloned();
    path.unwrap_or_else(|| PathAndQuery::from_static("/"))
}

/// A request that is none of our business.
async fn passed(live: &Live, mut parts: Parts, body: Incoming, mut record: Box<Record>) -> Answer {
    headers::for_upstream(&mut parts.headers, false);
    let limit = live.config.limits.first_byte_time;
    let path = path_of(&parts);
    let body = body.map_err(BoxError::from).boxed_unsync();
    let sent = Instant::now();
    let reply = match live.upstream.request(parts, &path, body) {
        Ok(request) => live.upstream.send(request, limit).await,
        Err(why) => Err(why),
    };
    record.upstream(sent.elapsed());
    match reply {
        Ok(reply) => Ok(pass_reply(live, reply, record)),
        Err(why) => Err((record.no_reply(why), record)),
    }
}

/// A reply that should have been judged, and is not.
fn pass_unread(mut reply: Response<Incoming>, why: &'static str, turn: Turn) -> Response<Body> {
    let Turn {
        live, mut record, ..
    } = turn;
    record.not_judged_reply(why);
    set_verdict(reply.headers_mut(), &unread(why), &record);
    pass_reply(&live, reply, record)
}

/// The verdict on a reply that was not judged.
pub(crate) fn unread(why: &str) -> String {
    format!("unjudged reason={why}")
}

/// A reply that nobody reads.
pub(crate) fn pass_reply(
    live: &Live,
    reply: Response<Incoming>,
    mut record: Box<Record>,
) -> Response<Body> {
    let (mut head, body) = reply.into_parts();
    headers::take_over(&mut head);
    record.status(head.status);
    let body = stream::Passing::new(body, live.config.limits.idle_time, record);
    Response::from_parts(head, body.boxed_unsync())
}

/// A request on its way, and what came of it so far. On the heap: streams keep it for long, and
/// moving it costs nothing.
pub(crate) struct Turn {
    pub(crate) live: Arc<Live>,
    pub(crate) asked: Asked,
    pub(crate) exchange: Exchange,
    pub(crate) record: Box<Record>,
}

/// What a request turned out to be.
enum Read {
    Judged(Box<Turn>),
    /// There is nothing in it by which a reply could be judged.
    Passed(Box<Asked>, Bytes, Box<Record>),
}

/// A request whose reply may hold calls.
async fn judged(
    shared: &Arc<Shared>,
    live: Arc<Live>,
    provider: Provider,
    parts: Parts,
    body: Incoming,
    mut record: Box<Record>,
) -> Answer {
    let limits = &live.config.limits;
    if Coding::of(&parts.headers) != Coding::Plain {
        record.not_judged(provider, "request_encoding");
        return Box::pin(passed(&live, parts, body, record)).await;
    }
    let body = match collect(body, limits.request_bytes, limits.request_time).await {
        Ok(body) => body,
        Err(refusal) => return Err((refusal, record)),
    };
    match read(shared, &live, provider, parts, body, record) {
        Ok(Read::Judged(turn)) => ask(turn).await,
        Ok(Read::Passed(asked, body, mut record)) => {
            let sent = Instant::now();
            let reply = asked.send(&live.upstream, body).await;
            record.upstream(sent.elapsed());
            match reply {
                Ok(reply) => Ok(pass_reply(&live, reply, record)),
                Err(why) => Err((record.no_reply(why), record)),
            }
        }
        Err(refused) => Err(refused),
    }
}

/// Reads a request. Of one that is judged, nothing that came over the connection is kept, so that
/// its buffer is free.
fn read(
    shared: &Shared,
    live: &Arc<Live>,
    provider: Provider,
    mut parts: Parts,
    body: Bytes,
    mut record: Box<Record>,
) -> Result<Read, (Refusal, Box<Record>)> {
    let text = std::str::from_utf8(&body).ok();
    let text = text.map(|text| prepare(&live.config, provider, text, &mut record));
    let settings = Arc::clone(&live.settings);
    let known = &shared.known;
    let exchange = text
        .as_deref()
        .map(|text| Exchange::new(provider, text, known, settings));
    let exchange = match exchange {
        Some(Ok(mut exchange)) => {
            if let Some(to) = live.config.adapt {
                exchange.adapt(to);
            }
            Some(exchange)
        }
        Some(Err(not)) => {
            record.not_judged(provider, not.why);
            None
        }
        None => None,
    };
    headers::for_upstream(&mut parts.headers, exchange.is_some());
    let limit = live.config.limits.first_byte_time;
    let Some(asked) = Asked::new(&live.upstream, &parts, limit) else {
        return Err((Refusal::Broken, record));
    };
    Ok(match exchange {
        Some(exchange) => {
            record.exchange(provider, &exchange);
            Read::Judged(Box::new(Turn {
                live: Arc::clone(live),
                asked,
                exchange,
                record,
            }))
        }
        None => {
            let body = match text {
                Some(Cow::Owned(changed)) => Bytes::from(changed),
                _ => body,
            };
            Read::Passed(Box::new(asked), body, record)
        }
    })
}

/// What is done to a request's history before it goes on.
fn prepare<'t>(
    config: &GatewayConfig,
    provider: Provider,
    text: &'t str,
    record: &mut Record,
) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    if config.fix_history
        && let Some(legal) = legal_history(provider, &text)
    {
        record.history_fixed = true;
        text = legal.into();
    }
    if config.loops == GatewayLoopMode::Off || !has_results(&text) {
        return text;
    }
    if let Some(suspicion) = history_loops::look(provider, &text) {
        record.suspicion = Some(suspicion.signal.name());
        if config.loops == GatewayLoopMode::Steer
            && let Some(told) = with_remark(provider, &text, &suspicion.text())
        {
            text = told.into();
        }
    }
    text
}

async fn ask(mut turn: Box<Turn>) -> Answer {
    let sent = Instant::now();
    let body = body_of(&turn.exchange);
    let reply = turn.asked.send(&turn.live.upstream, body).await;
    turn.record.upstream(sent.elapsed());
    let reply = match reply {
        Ok(reply) => reply,
        Err(why) => return Err((turn.record.no_reply(why), turn.record)),
    };
    if !reply.status().is_success() {
        return Ok(pass_reply(&turn.live, reply, turn.record));
    }
    let is = |kind| has_media_type(reply.headers(), kind);
    let (streams, whole) = (is("text/event-stream"), is("application/json"));
    if !(streams || whole) {
        return Ok(pass_unread(reply, "content_type", *turn));
    }
    if Coding::of(reply.headers()) == Coding::Unknown {
        return Ok(pass_unread(reply, "content_encoding", *turn));
    }
    match streams {
        true => Ok(stream::respond(*turn, reply)),
        false => json_reply::respond(turn, reply).await,
    }
}

/// The bytes of a request, shared and not copied.
pub(crate) fn body_of(exchange: &Exchange) -> Bytes {
    struct Text(Arc<str>);
    impl AsRef<[u8]> for Text {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    Bytes::from_owner(Text(exchange.shared_body()))
}

/// Reads a request's body.
async fn collect(mut body: Incoming, most: usize, limit: Duration) -> Result<Bytes, Refusal> {
    let expected = body.size_hint().lower();
    if expected > most as u64 {
        return Err(Refusal::TooLarge);
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    loop {
        let frame = tokio::time::timeout(limit, body.frame()).await;
        let data = match frame {
            Err(_) | Ok(Some(Err(_))) => return Err(Refusal::Broken),
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        };
        if all.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > most {
            return Err(Refusal::TooLarge);
        }
        match first.take() {
            // Most bodies come in one piece.
            None if all.is_empty() => first = Some(data),
            None => all.extend_from_slice(&data),
            Some(before) => {
                all.extend_from_slice(&before);
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// Adds the verdict to a reply's head.
pub(crate) fn set_verdict(headers: &mut http::HeaderMap, summary: &str, record: &Record) {
    if let Ok(value) = HeaderValue::from_str(summary) {
        headers.insert(VERDICT, value);
    }
    if let Some(signal) = record.suspicion {
        headers.insert(LOOP, HeaderValue::from_static(signal));
    }
}
