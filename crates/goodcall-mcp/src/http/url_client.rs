//! A client of a server behind a URL: every frame is a request, and every answer comes as a line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::headers::{self, LAST_EVENT, SESSION, VERSION};
use super::response_reader::{
    BodyKind, NextEvent, message_of, read_answer, read_events, read_whole,
};
use super::sse_stream::SseStream;
use super::upstream::{Upstream, describe_error};
use crate::argument_mirrors::MirroredHeaders;
use crate::engine::with_id;
use crate::frame::{Frame, FrameContent, Message, canonical, one_line};
use crate::json_rpc;
use crate::line_io::InputLine;
use crate::queue::{Backlog, QueueReceiver, QueueSender, queue};

/// Messages of the server that wait for the client.
const WAITING: usize = 256;
/// How long a notification may take to be accepted, and a session to be opened again.
const ACCEPT_LIMIT: Duration = Duration::from_secs(30);
/// How long the last requests may take when the client has ended.
const LAST_REQUESTS: Duration = Duration::from_secs(2);
/// How long the server may take to confirm the end of a session.
const END_LIMIT: Duration = Duration::from_secs(5);
/// The pause before a stream that broke is resumed, unless the server names another.
const RETRY: Duration = Duration::from_secs(1);
/// The longest such pause.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often the stream of one answer is resumed.
const RESUMES: usize = 5;

/// A connection to a server behind a URL. A task of its own makes the requests.
pub(crate) struct UrlClient {
    to_server: Option<QueueSender<(Frame, MirroredHeaders)>>,
    from_server: mpsc::Receiver<Frame>,
    link: Arc<UrlClientLink>,
    worker: JoinHandle<()>,
}

/// The state that all requests share.
pub(super) struct UrlClientLink {
    pub(super) upstream: Upstream,
    pub(super) max_frame: usize,
    to_client: mpsc::Sender<Frame>,
    session: Mutex<UrlClientSession>,
    /// Held while the session is opened again.
    opening: AsyncMutex<()>,
    /// The stream of a server that speaks the old transport.
    pub(super) sse: Mutex<SseStream>,
}

#[derive(Clone, Default)]
struct UrlClientSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The frames with which the client opened the session, to open it again.
    initialize: Option<Frame>,
    initialized: Option<Frame>,
}

/// One request while it is being answered.
pub(super) struct OpenRequest {
    pub(super) frame: Frame,
    mirrors: MirroredHeaders,
    /// The id as it is written.
    pub(super) id: String,
    /// Whether it is the `initialize` that opens the session.
    opens_session: bool,
}

/// Why a request has no answer.
pub(super) enum RequestFailure {
    /// The server does not know the session any more.
    NoSession,
    /// Any other reason, for the client to read.
    Other(String),
}

impl UrlClient {
    pub(crate) fn start(upstream: Upstream, max_frame: usize) -> Self {
        let (to_server, frames) = queue();
        let (to_client, from_server) = mpsc::channel(WAITING);
        let link = Arc::new(UrlClientLink {
            upstream,
            max_frame,
            to_client,
            session: Mutex::default(),
            opening: AsyncMutex::new(()),
            sse: Mutex::default(),
        });
        let worker = tokio::spawn(send_all(Arc::clone(&link), frames));
        Self {
            to_server: Some(to_server),
            from_server,
            link,
            worker,
        }
    }

    pub(crate) fn send(&self, frame: Frame, mirrors: MirroredHeaders) {
        if let Some(to_server) = &self.to_server {
            let bytes = frame.len();
            to_server.send((frame, mirrors), bytes);
        }
    }

    /// What waits to be sent; `None` once the input is closed.
    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        self.to_server.as_ref().map(QueueSender::backlog)
    }

    pub(crate) fn close_input(&mut self) {
        self.to_server = None;
    }

    pub(crate) async fn next(&mut self) -> InputLine {
        let frame = self.from_server.recv().await;
        frame.map_or(InputLine::End, InputLine::Frame)
    }

    /// Ends the session.
    pub(crate) async fn end(mut self) {
        self.to_server = None;
        // Answers that are on their way must not wait for a reader.
        self.from_server.close();
        if timeout(LAST_REQUESTS, &mut self.worker).await.is_err() {
            self.worker.abort();
        }
        self.link.end_sse();
        let headers = self.link.headers();
        if headers.contains_key(SESSION) {
            let url = self.link.upstream.url().clone();
            let ended = self.link.upstream.send(Method::DELETE, url, headers, None);
            let _ = timeout(END_LIMIT, ended).await;
        }
    }
}

/// Sends frames in order. Requests run side by side; a notification is waited for, so that the
/// server sees it before later frames.
async fn send_all(link: Arc<UrlClientLink>, mut frames: QueueReceiver<(Frame, MirroredHeaders)>) {
    let mut requests = JoinSet::new();
    // The requests that are cancelled by closing them.
    let mut closable = HashMap::<String, AbortHandle>::new();
    // Aborted when this task ends.
    let mut listener = JoinSet::new();
    loop {
        let (frame, mirrors) = tokio::select! {
            next = frames.next() => match next {
                Some(next) => next,
                None => break,
            },
            Some(_) = requests.join_next() => {
                closable.retain(|_, request| !request.is_finished());
                continue;
            }
        };
        let content = FrameContent::read(&frame);
        // A batch is treated like its first message.
        let Some(first) = content.messages().first() else {
            continue;
        };
        let method = first.method();
        let opens_session = method == Some("initialize");
        let completes_handshake = method == Some("notifications/initialized");
        let first_version = first.protocol_version();
        let cancelled = (method == Some("notifications/cancelled"))
            .then(|| first.param("requestId")?.raw().map(canonical))
            .flatten();
        if first.is_request() {
            let request = OpenRequest {
                id: first.raw_id().unwrap_or("null").to_owned(),
                opens_session,
                mirrors,
                frame,
            };
            if opens_session {
                *link.session() = UrlClientSession {
                    initialize: Some(request.frame.clone()),
                    ..UrlClientSession::default()
                };
                link.request(request).await;
            } else {
                let modern = json_rpc::has_result_type(first_version.as_deref());
                let id = canonical(&request.id);
                let link = Arc::clone(&link);
                let handle = requests.spawn(async move { link.request(request).await });
                if modern {
                    closable.insert(id, handle);
                }
            }
            continue;
        }
        // From 2026-07-28 on a request is cancelled by closing it, and the notice is for pipes only.
        let closed = cancelled.and_then(|id| closable.remove(&id));
        if let Some(request) = closed {
            request.abort();
            continue;
        }
        if completes_handshake {
            link.session().initialized = Some(frame.clone());
        }
        link.notify(frame, &mirrors).await;
        if completes_handshake && link.sse_endpoint().is_none() {
            let link = Arc::clone(&link);
            listener.abort_all();
            listener.spawn(async move { link.listen().await });
        }
    }
    // The last answers are still delivered.
    while requests.join_next().await.is_some() {}
}

impl UrlClientLink {
    fn session(&self) -> MutexGuard<'_, UrlClientSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self) -> HeaderMap {
        let UrlClientSession { id, version, .. } = self.session().clone();
        let mut headers = HeaderMap::new();
        headers.extend(id.map(|id| (SESSION, id)));
        headers.extend(version.map(|version| (VERSION, version)));
        headers
    }

    fn headers_for(&self, frame: &[u8], mirrors: &MirroredHeaders) -> HeaderMap {
        let mut headers = self.headers();
        headers.extend(headers::of_frame(frame, mirrors));
        headers
    }

    /// Sends a frame that has no answer.
    async fn notify(&self, frame: Frame, mirrors: &MirroredHeaders) {
        let url = self.sse_endpoint();
        let url = url.unwrap_or_else(|| self.upstream.url().clone());
        let headers = self.headers_for(&frame, mirrors);
        let sent = self.upstream.post_to(url, headers, frame);
        let _ = timeout(ACCEPT_LIMIT, sent).await;
    }

    pub(super) async fn deliver(&self, frame: Frame) {
        // This fails only if the client has ended.
        let _ = self.to_client.send(one_line(frame)).await;
    }

    /// Sends a request and delivers everything that comes back for it. There is always an answer.
    async fn request(self: &Arc<Self>, request: OpenRequest) {
        let mut answered = self.exchange(&request).await;
        if matches!(answered, Err(RequestFailure::NoSession)) && !request.opens_session {
            answered = match self.open_again().await {
                Ok(()) => self.exchange(&request).await,
                Err(why) => Err(RequestFailure::Other(why)),
            };
        }
        let why = match answered {
            Ok(()) => return,
            Err(RequestFailure::NoSession) => {
                "the server does not know the session any more".to_owned()
            }
            Err(RequestFailure::Other(why)) => why,
        };
        let error = json_rpc::error(&request.id, json_rpc::CLOSED, &why);
        self.deliver(error).await;
    }

    async fn exchange(self: &Arc<Self>, request: &OpenRequest) -> Result<(), RequestFailure> {
        if request.opens_session && self.upstream.is_sse() {
            // Without a stream the server speaks streamable HTTP, whatever its path says.
            self.open_sse().await;
        }
        if let Some(sent) = self.exchange_sse(request).await {
            return sent;
        }
        let headers = self.headers_for(&request.frame, &request.mirrors);
        let has_session = headers.contains_key(SESSION);
        let sent = self.upstream.post(headers, request.frame.clone()).await;
        let response = sent.map_err(|error| {
            let why = describe_error(error);
            RequestFailure::Other(format!("the server cannot be reached: {why}"))
        })?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(RequestFailure::NoSession);
        }
        if request.opens_session {
            self.session().id = response.headers().get(SESSION).cloned();
        }
        if status.is_success() && BodyKind::of(response.headers()) == BodyKind::Events {
            return self.deliver_events(response, request).await;
        }
        let body = read_whole(response, self.max_frame).await;
        let body = body.map_err(RequestFailure::Other)?;
        if !has_answer(&body, &request.id) {
            let may_be_old = request.opens_session && matches!(status.as_u16(), 400 | 404 | 405);
            if may_be_old
                && self.open_sse().await
                && let Some(sent) = self.exchange_sse(request).await
            {
                return sent;
            }
            let hint = match status.as_u16() {
                401 => ": log in with `goodcall mcp login URL`, or see --header-env",
                403 => {
                    ": the credentials are not enough, see --header-env and `goodcall mcp login`"
                }
                300..=399 => ": it is at another address, name that one with --url",
                _ => "",
            };
            let why = format!("the server answered with {status}{hint}");
            return Err(RequestFailure::Other(why));
        }
        self.deliver_answer(body, request).await;
        Ok(())
    }

    async fn deliver_answer(&self, frame: Frame, request: &OpenRequest) {
        if request.opens_session {
            self.take_version(&frame);
        }
        self.deliver(frame).await;
    }

    /// Delivers the events of a stream up to the answer to this request.
    async fn deliver_events(
        &self,
        response: Response,
        request: &OpenRequest,
    ) -> Result<(), RequestFailure> {
        let (mut last_id, mut pause) = (None, RETRY);
        let mut reader = read_events(response, self.max_frame);
        for _ in 0..=RESUMES {
            let why = loop {
                match reader.next().await {
                    NextEvent::Event(event) => {
                        let id = event.id.clone().filter(|id| !id.is_empty());
                        last_id = id.or(last_id);
                        pause = event.retry.map_or(pause, Duration::from_millis);
                        let Some(data) = message_of(&event) else {
                            continue;
                        };
                        let data = data.as_bytes().to_vec();
                        if has_answer(&data, &request.id) {
                            self.deliver_answer(data, request).await;
                            return Ok(());
                        }
                        self.deliver(data).await;
                    }
                    NextEvent::End(_) => {
                        break "the server ended the stream before it answered".to_owned();
                    }
                    NextEvent::Broken(why) => break why,
                }
            };
            let Some(last_id) = &last_id else {
                return Err(RequestFailure::Other(why));
            };
            sleep(pause.min(MAX_RETRY)).await;
            match self.open_stream(Some(last_id)).await {
                Some(response) => reader = read_events(response, self.max_frame),
                None => return Err(RequestFailure::Other(why)),
            }
        }
        let why = "the server does not finish its answer".to_owned();
        Err(RequestFailure::Other(why))
    }

    /// Takes the protocol version from the answer to `initialize`.
    fn take_version(&self, answer: &[u8]) {
        let message = FrameContent::read(answer).single();
        let result = message.and_then(|message| message.result());
        let version = result.and_then(|result| result.get("protocolVersion")?.to_text());
        if let Some(version) = version.and_then(|version| HeaderValue::try_from(version).ok()) {
            self.session().version = Some(version);
        }
    }

    /// Opens a session that the server has forgotten, in the same way as the client had opened it.
    async fn open_again(&self) -> Result<(), String> {
        let before = self.session().clone();
        let _opening = self.opening.lock().await;
        if self.session().id != before.id {
            // Another request has opened it meanwhile.
            return Ok(());
        }
        let id = "\"goodcall:initialize\"";
        let initialize = before.initialize.and_then(|frame| with_id(&frame, id));
        let initialize = initialize.ok_or("the session is over")?;
        let sent = self.upstream.post(HeaderMap::new(), initialize).await;
        let response = sent.map_err(describe_error)?;
        let session_id = response.headers().get(SESSION).cloned();
        let answer = read_answer(id, response, self.max_frame, ACCEPT_LIMIT).await?;
        self.session().id = session_id;
        self.take_version(&answer);
        if let Some(initialized) = before.initialized {
            let sent = self.upstream.post(self.headers(), initialized);
            let _ = timeout(ACCEPT_LIMIT, sent).await;
        }
        Ok(())
    }

    /// Opens the stream of messages that belong to no request, or resumes a stream after an event.
    pub(super) async fn open_stream(&self, last_id: Option<&str>) -> Option<Response> {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id {
            headers.insert(LAST_EVENT, HeaderValue::try_from(id).ok()?);
        }
        let url = self.upstream.url().clone();
        let sent = self.upstream.send(Method::GET, url, headers, None).await;
        let is_stream = |response: &Response| {
            response.status().is_success() && BodyKind::of(response.headers()) == BodyKind::Events
        };
        sent.ok().filter(is_stream)
    }

    /// Delivers messages that belong to no request, as long as the server offers a stream of them.
    async fn listen(&self) {
        let (mut last_id, mut pause) = (None::<String>, RETRY);
        while let Some(response) = self.open_stream(last_id.as_deref()).await {
            let mut reader = read_events(response, self.max_frame);
            let mut has_data = false;
            while let NextEvent::Event(event) = reader.next().await {
                let id = event.id.clone().filter(|id| !id.is_empty());
                last_id = id.or(last_id);
                pause = event.retry.map_or(pause, Duration::from_millis);
                if let Some(data) = message_of(&event) {
                    has_data = true;
                    self.deliver(data.as_bytes().to_vec()).await;
                }
            }
            // A stream that keeps ending without data is opened less and less often.
            pause = if has_data {
                RETRY
            } else {
                (pause * 2).min(MAX_RETRY)
            };
            sleep(pause).await;
        }
    }
}

/// Returns true if the frame is the answer to the request with this id, or a batch with it. The id
/// is compared as it is written.
fn has_answer(frame: &[u8], id: &str) -> bool {
    let is_answer =
        |message: &Message<'_>| message.method().is_none() && message.raw_id() == Some(id);
    FrameContent::read(frame).messages().iter().any(is_answer)
}
