//! Bodies of the upstream: with a limit on pauses, and decompressed where they are judged.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::config::GatewayLimits;
use crate::content_encoding::{ContentEncoding, Decoder};
use crate::proxy::BoxError;

type PolledFrame = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// A body of the upstream that may pause for a limited time only.
pub(crate) struct TimedBody {
    pub(crate) body: Incoming,
    idle: Duration,
    /// Made at the first pause: most replies come without one.
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(crate) fn new(body: Incoming, idle: Duration) -> Self {
        Self {
            body,
            idle,
            timer: None,
        }
    }

    /// Polls for the next frame. A pause that is too long is an error.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> PolledFrame {
        let frame = self.poll_next(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(CollectError::into_box)))
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CollectError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            if let Some(timer) = &mut self.timer {
                timer.as_mut().reset(Instant::now() + self.idle);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(CollectError::Broken)));
        }
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(self.idle)));
        let paused = timer.as_mut().poll(cx);
        paused.map(|()| Some(Err(CollectError::Idle)))
    }
}

/// A body of the upstream, decompressed as it arrives.
pub(crate) enum PlainBody {
    AsSent(TimedBody),
    Compressed(Box<CompressedBody>),
}

pub(crate) struct CompressedBody {
    body: TimedBody,
    decoder: Decoder,
    /// Bytes that are not decoded yet.
    encoded: Bytes,
    ended: bool,
}

impl PlainBody {
    pub(crate) fn new(encoding: ContentEncoding, body: TimedBody) -> Self {
        match Decoder::new(encoding) {
            None => PlainBody::AsSent(body),
            Some(decoder) => PlainBody::Compressed(Box::new(CompressedBody {
                body,
                decoder,
                encoded: Bytes::new(),
                ended: false,
            })),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        match self {
            PlainBody::AsSent(body) => poll_data(body, cx),
            PlainBody::Compressed(body) => body.poll(cx),
        }
    }
}

/// Polls for the next bytes; trailers count as none.
fn poll_data(body: &mut TimedBody, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
    body.poll_frame(cx)
        .map_ok(|frame| frame.into_data().unwrap_or_default())
}

impl CompressedBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        if self.encoded.is_empty() && !self.ended {
            match poll_data(&mut self.body, cx) {
                Poll::Ready(Some(Ok(data))) => self.encoded = data,
                Poll::Ready(None) => self.ended = true,
                other => return other,
            }
        }
        Poll::Ready(if self.encoded.is_empty() && self.ended {
            self.decoder.end().err().map(|error| Err(error.into()))
        } else {
            let part = self.decoder.part(&mut self.encoded);
            Some(part.map(Bytes::from).map_err(BoxError::from))
        })
    }
}

/// A body of which the start was read.
pub(crate) struct StartedBody {
    start: Option<Bytes>,
    rest: Incoming,
}

impl StartedBody {
    pub(crate) fn new(start: Bytes, rest: Incoming) -> Self {
        let start = Some(start);
        Self { start, rest }
    }
}

impl HttpBody for StartedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> PolledFrame {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        Pin::new(&mut self.rest)
            .poll_frame(cx)
            .map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.is_end_stream()
    }
}

/// A body that was read into memory.
pub(crate) enum CollectedBody {
    Whole(Bytes),
    /// Longer than the limit: what was read, and what is left.
    TooLong(Bytes, Incoming),
}

#[derive(Debug)]
pub(crate) enum CollectError {
    Idle,
    Broken(hyper::Error),
}

impl CollectError {
    fn into_box(self) -> BoxError {
        match self {
            CollectError::Idle => "the upstream stopped in the middle of its reply".into(),
            CollectError::Broken(error) => error.into(),
        }
    }
}

/// Reads the body of a client's request.
pub(crate) async fn collect_request(
    body: Incoming,
    limits: &GatewayLimits,
) -> Result<CollectedBody, CollectError> {
    let body = collect(body, limits.request_bytes, limits.request_time);
    let body = tokio::time::timeout(limits.request_total_time, body).await;
    body.unwrap_or(Err(CollectError::Idle))
}

/// Reads a body of at most `most` bytes that pauses for at most `idle`.
pub(crate) async fn collect(
    body: Incoming,
    most: usize,
    idle: Duration,
) -> Result<CollectedBody, CollectError> {
    let mut body = TimedBody::new(body, idle);
    // Most bodies come in one piece, which need not be copied.
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    loop {
        let frame = poll_fn(|cx| body.poll_next(cx)).await.transpose()?;
        let ended = frame.is_none();
        let data = frame.and_then(|frame| frame.into_data().ok());
        let data = data.unwrap_or_default();
        if first.is_empty() && all.is_empty() {
            first = data;
        } else if !data.is_empty() {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
        let is_too_long = first.len().max(all.len()) > most;
        if ended || is_too_long {
            let bytes = if all.is_empty() { first } else { all.freeze() };
            return Ok(if is_too_long {
                CollectedBody::TooLong(bytes, body.body)
            } else {
                CollectedBody::Whole(bytes)
            });
        }
    }
}
