//! Replies that are passed through as they are.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

use crate::observe::ReplyCopy;
use crate::proxy::BoxError;
use crate::request_record::{RequestError, RequestRecord};
use crate::upstream::with_sources;
use crate::upstream_body::TimedBody;

/// A body that is passed through, within a limit on pauses.
pub(crate) struct PassedBody {
    /// What was read of it before it was clear that it passes.
    start: Option<Bytes>,
    rest: TimedBody,
    record: Option<Box<RequestRecord>>,
    /// In observe mode.
    copy: Option<Box<ReplyCopy>>,
}

impl PassedBody {
    pub(crate) fn new(
        start: Option<Bytes>,
        rest: Incoming,
        idle: Duration,
        record: Box<RequestRecord>,
    ) -> Self {
        Self {
            start,
            rest: TimedBody::new(rest, idle),
            record: Some(record),
            copy: None,
        }
    }

    /// Has a copy of the body judged when all of it has passed.
    pub(crate) fn observed(mut self, copy: ReplyCopy) -> Self {
        self.copy = Some(Box::new(copy));
        self
    }

    fn finish(&mut self, error: Option<RequestError>) {
        if let Some(mut record) = self.record.take() {
            record.error = error.or(record.error);
            match self.copy.take() {
                Some(copy) if record.error.is_none() => copy.judge_later(record),
                _ => record.finish(),
            }
        }
    }
}

impl HttpBody for PassedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(start) = this.start.take() {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        let frame = this.rest.poll_frame(cx);
        if let (Poll::Ready(Some(Ok(frame))), Some(copy)) = (&frame, &mut this.copy)
            && let Some(data) = frame.data_ref()
        {
            copy.push(data);
        }
        match &frame {
            Poll::Ready(Some(Err(error))) => {
                if let Some(record) = &mut this.record {
                    record.cause = Some(with_sources(error.as_ref()));
                }
                this.finish(Some(RequestError::UpstreamBroken));
            }
            Poll::Ready(Some(Ok(_))) if this.rest.body.is_end_stream() => this.finish(None),
            Poll::Ready(None) => this.finish(None),
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.body.size_hint();
        let start = self.start.as_ref().map_or(0, |start| start.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(start));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(start));
        }
        hint
    }
}

impl Drop for PassedBody {
    fn drop(&mut self) {
        let is_whole = self.is_end_stream();
        let record = self.record.as_ref().filter(|_| !is_whole);
        let error = record.map(|record| record.left_error());
        self.finish(error);
    }
}
