//! A server behind a URL, for a client on pipes: every message a request, every answer a line.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::headers::{self, LAST_EVENT, SESSION, VERSION};
use super::response_reader::{self, BodyKind, NextEvent};
use super::upstream::{Upstream, words};
use crate::frame::{self, Frame, Kind, Outline};
use crate::json_rpc;
use crate::line_io::InputLine;

/// Messages of the server that wait for the client.
const WAITING: usize = 256;
/// How long a notification may take to be accepted, and the end of a session.
const ACCEPT_LIMIT: Duration = Duration::from_secs(30);
/// How long the last messages may take.
const LAST: Duration = Duration::from_secs(2);
/// Before a stream that broke is asked for again, unless the server says otherwise.
const RETRY: Duration = Duration::from_secs(1);
/// The longest pause before that.
const MOST_RETRY: Duration = Duration::from_secs(30);
/// How often the rest of an answer is asked for.
const RESUMES: usize = 5;

/// Headers that mirror arguments.
type Mirrors = Vec<(String, Option<String>)>;

/// The near end of the connection.
pub(crate) struct UrlClient {
    to: Option<mpsc::UnboundedSender<(Frame, Mirrors)>>,
    from: mpsc::Receiver<Frame>,
    link: Arc<UrlClientLink>,
    worker: JoinHandle<()>,
}

/// What all requests share.
struct UrlClientLink {
    upstream: Upstream,
    most: usize,
    to_client: mpsc::Sender<Frame>,
    session: Mutex<UrlClientSession>,
    /// Held while the session is opened again.
    opening: AsyncMutex<()>,
}

#[derive(Clone, Default)]
struct UrlClientSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    initialize: Option<Frame>,
    initialized: Option<Frame>,
}

impl UrlClient {
    pub(crate) fn start(upstream: Upstream, most: usize) -> Self {
        let (to, frames) = mpsc::unbounded_channel();
        let (to_client, from) = mpsc::channel(WAITING);
        let link = Arc::new(UrlClientLink {
            upstream,
            most,
            to_client,
            session: Mutex::default(),
            opening: AsyncMutex::new(()),
        });
        let worker = tokio::spawn(work(Arc::clone(&link), frames));
        Self {
            to: Some(to),
            from,
            link,
            worker,
        }
    }

    pub(crate) fn send(&self, frame: Frame, mirrors: Mirrors) {
        if let Some(to) = &self.to {
            // The worker ends after this sender only.
            let _ = to.send((frame, mirrors));
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.to = None;
    }

    pub(crate) async fn next(&mut self) -> InputLine {
        self.from
            .recv()
            .await
            .map_or(InputLine::End, InputLine::Frame)
    }

    /// Ends the session.
    pub(crate) async fn end(mut self) {
        self.to = None;
        // Nobody listens: what is on its way must not wait for that.
        self.from.close();
        if timeout(LAST, &mut self.worker).await.is_err() {
            self.worker.abort();
        }
        let headers = self.link.headers();
        if headers.contains_key(SESSION) {
            let url = self.link.upstream.url().clone();
            let ended = self.link.upstream.send(Method::DELETE, url, headers, None);
            let _ = timeout(Duration::from_secs(5), ended).await;
        }
    }
}

/// Takes messages in order. Requests run side by side; what has no answer is waited for, so that
/// it does not come late.
async fn work(link: Arc<UrlClientLink>, mut frames: mpsc::UnboundedReceiver<(Frame, Mirrors)>) {
    let mut tasks = JoinSet::new();
    // Ends with this task.
    let mut stream = JoinSet::new();
    loop {
        let (frame, mirrors) = tokio::select! {
            next = frames.recv() => match next {
                Some(next) => next,
                None => break,
            },
            Some(_) = tasks.join_next() => continue,
        };
        let outline = match frame::kind(&frame) {
            Kind::One(outline) => outline,
            Kind::Batch(all) => all.into_iter().next().unwrap_or_default(),
            Kind::Blank | Kind::Junk => continue,
        };
        match (outline.method.as_deref(), &outline.id) {
            (Some("initialize"), Some(_)) => {
                link.remember(|session| {
                    *session = UrlClientSession {
                        initialize: Some(frame.clone()),
                        ..UrlClientSession::default()
                    }
                });
                link.request(frame, mirrors, &outline).await;
            }
            (Some(_), Some(_)) => {
                let link = Arc::clone(&link);
                tasks.spawn(async move { link.request(frame, mirrors, &outline).await });
            }
            (method, _) => {
                let opened = method == Some("notifications/initialized");
                if opened {
                    link.remember(|session| session.initialized = Some(frame.clone()));
                }
                let headers = link.headers_for(&frame, &mirrors);
                let _ = timeout(ACCEPT_LIMIT, link.upstream.post(headers, frame)).await;
                if opened {
                    let link = Arc::clone(&link);
                    stream.abort_all();
                    stream.spawn(async move { link.listen().await });
                }
            }
        }
    }
    // The last answers.
    while tasks.join_next().await.is_some() {}
}

impl UrlClientLink {
    fn session(&self) -> UrlClientSession {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn remember(&self, change: impl FnOnce(&mut UrlClientSession)) {
        change(&mut self.session.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn headers(&self) -> HeaderMap {
        let session = self.session();
        let mut headers = HeaderMap::new();
        if let Some(id) = session.id {
            headers.insert(SESSION, id);
        }
        if let Some(version) = session.version {
            headers.insert(VERSION, version);
        }
        headers
    }

    fn headers_for(&self, frame: &[u8], mirrors: &Mirrors) -> HeaderMap {
        let mut headers = self.headers();
        headers.extend(headers::of_frame(frame, mirrors));
        headers
    }

    async fn deliver(&self, frame: Frame) {
        // Without a client there is nobody to tell.
        let _ = self.to_client.send(frame::one_line(frame)).await;
    }

    /// Sends a request and delivers all that comes back for it. There is always an answer.
    async fn request(&self, frame: Frame, mirrors: Mirrors, outline: &Outline) {
        let id = outline
            .id
            .as_ref()
            .and_then(|span| frame::raw(&frame, span));
        let id = id.unwrap_or("null").to_owned();
        let opens = outline.method.as_deref() == Some("initialize");
        let mut answered = self.exchange(&frame, &mirrors, &id, opens).await;
        if matches!(answered, Err(RequestFailure::NoSession)) && !opens {
            answered = match self.open_again().await {
                Ok(()) => self.exchange(&frame, &mirrors, &id, opens).await,
                Err(why) => Err(RequestFailure::Told(why)),
            };
        }
        let why = match answered {
            Ok(()) => return,
            Err(RequestFailure::NoSession) => {
                "the server does not know the session any more".to_owned()
            }
            Err(RequestFailure::Told(why)) => why,
        };
        self.deliver(json_rpc::error(&id, json_rpc::CLOSED, &why))
            .await;
    }

    async fn exchange(
        &self,
        frame: &Frame,
        mirrors: &Mirrors,
        id: &str,
        opens: bool,
    ) -> Result<(), RequestFailure> {
        let headers = self.headers_for(frame, mirrors);
        let known = headers.contains_key(SESSION);
        let response = self
            .upstream
            .post(headers, frame.clone())
            .await
            .map_err(|error| {
                RequestFailure::Told(format!("the server cannot be reached: {}", words(error)))
            })?;
        if response.status() == StatusCode::NOT_FOUND && known {
            return Err(RequestFailure::NoSession);
        }
        if opens {
            let session = response.headers().get(SESSION).cloned();
            self.remember(|state| state.id = session);
        }
        let status = response.status();
        match response_reader::content(response.headers()) {
            BodyKind::Events if status.is_success() => self.events(response, id, opens).await,
            _ => {
                let body = response_reader::whole(response, self.most)
                    .await
                    .map_err(RequestFailure::Told)?;
                match is_for(&body, id) {
                    true => {
                        self.opened(&body, opens);
                        self.deliver(body).await;
                        Ok(())
                    }
                    false => Err(RequestFailure::Told(format!(
                        "the server answered with {status}"
                    ))),
                }
            }
        }
    }

    /// Delivers the events of a stream until the answer to this request.
    async fn events(
        &self,
        response: Response,
        id: &str,
        opens: bool,
    ) -> Result<(), RequestFailure> {
        let (mut last, mut pause) = (None, RETRY);
        let mut reader = response_reader::reader(response, self.most);
        for _ in 0..=RESUMES {
            let why = loop {
                match reader.next().await {
                    NextEvent::Event(event) => {
                        last = event.id.filter(|id| !id.is_empty()).or(last);
                        pause = event.retry.map_or(pause, Duration::from_millis);
                        let Some(data) = event.data.filter(|data| !data.is_empty()) else {
                            continue;
                        };
                        let answered = is_for(&data, id);
                        if answered {
                            self.opened(&data, opens);
                        }
                        self.deliver(data).await;
                        if answered {
                            return Ok(());
                        }
                    }
                    NextEvent::End(_) => {
                        break "the server ended the stream before it answered".to_owned();
                    }
                    NextEvent::Broken(why) => break why,
                }
            };
            let Some(from) = last.clone() else {
                return Err(RequestFailure::Told(why));
            };
            sleep(pause.min(MOST_RETRY)).await;
            match self.stream(Some(&from)).await {
                Some(response) => reader = response_reader::reader(response, self.most),
                None => return Err(RequestFailure::Told(why)),
            }
        }
        Err(RequestFailure::Told(
            "the server does not finish its answer".to_owned(),
        ))
    }

    /// Takes the version from the answer to `initialize`.
    fn opened(&self, body: &[u8], opens: bool) {
        let version = || {
            let Kind::One(Outline {
                result: Some(result),
                ..
            }) = frame::kind(body)
            else {
                return None;
            };
            let span = frame::member(body, &result, "protocolVersion")?;
            HeaderValue::try_from(frame::text(body, &span)?.as_ref()).ok()
        };
        if let Some(version) = version().filter(|_| opens) {
            self.remember(|session| session.version = Some(version));
        }
    }

    /// Opens a session that the server has forgotten, as the client had opened it.
    async fn open_again(&self) -> Result<(), String> {
        let before = self.session();
        let _held = self.opening.lock().await;
        if self.session().id != before.id {
            // Another request was quicker.
            return Ok(());
        }
        let initialize = before.initialize.ok_or("the session is over")?;
        let Kind::One(Outline { id: Some(span), .. }) = frame::kind(&initialize) else {
            return Err("the session is over".to_owned());
        };
        let id = "\"goodcall:initialize\"";
        let frame = frame::splice(&initialize, vec![(span, id.to_owned())]);
        let response = self
            .upstream
            .post(HeaderMap::new(), frame)
            .await
            .map_err(words)?;
        let session = response.headers().get(SESSION).cloned();
        let body = response_reader::answer_to(id, response, self.most, ACCEPT_LIMIT).await?;
        self.remember(|state| state.id = session);
        self.opened(&body, true);
        if let Some(initialized) = before.initialized {
            let sent = self.upstream.post(self.headers(), initialized);
            let _ = timeout(ACCEPT_LIMIT, sent).await;
        }
        Ok(())
    }

    /// The stream of what the server says by itself, from an event on.
    async fn stream(&self, from: Option<&str>) -> Option<Response> {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(from) = from {
            headers.insert(LAST_EVENT, HeaderValue::try_from(from).ok()?);
        }
        let url = self.upstream.url().clone();
        let response = self
            .upstream
            .send(Method::GET, url, headers, None)
            .await
            .ok()?;
        let events = response_reader::content(response.headers()) == BodyKind::Events;
        (response.status().is_success() && events).then_some(response)
    }

    /// Delivers what the server says by itself, as long as it has such a stream.
    async fn listen(&self) {
        let (mut last, mut pause) = (None::<String>, RETRY);
        while let Some(response) = self.stream(last.as_deref()).await {
            let mut reader = response_reader::reader(response, self.most);
            let mut some = false;
            while let NextEvent::Event(event) = reader.next().await {
                last = event.id.filter(|id| !id.is_empty()).or(last);
                pause = event.retry.map_or(pause, Duration::from_millis);
                if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                    some = true;
                    self.deliver(data).await;
                }
            }
            // A stream that ends at once again and again is asked for less and less often.
            pause = if some {
                RETRY
            } else {
                (pause * 2).min(MOST_RETRY)
            };
            sleep(pause).await;
        }
    }
}

enum RequestFailure {
    /// The server does not know the session.
    NoSession,
    /// In these words.
    Told(String),
}

/// Is this the answer to the request, or a batch that has it?
fn is_for(data: &[u8], id: &str) -> bool {
    let own = |one: &Outline| {
        let found = one.id.as_ref().filter(|_| one.method.is_none());
        found.and_then(|span| frame::raw(data, span)) == Some(id)
    };
    match frame::kind(data) {
        Kind::One(one) => own(&one),
        Kind::Batch(all) => all.iter().any(own),
        Kind::Blank | Kind::Junk => false,
    }
}
