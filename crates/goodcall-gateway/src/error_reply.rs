//! Replies of the gateway's own, where the upstream gave none that could be passed on.

use bytes::Bytes;
use http::{Response, StatusCode, header};

use crate::proxy::{Body, full};

/// Why the client gets no reply of the upstream. Each cause has a status, a code and a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorReply {
    RequestTooLarge,
    RequestBroken,
    Busy,
    UpstreamUnreachable,
    UpstreamTimeout,
    UpstreamBroken,
}

/// A request that the upstream did not reply to: what the client reads, and what only the log
/// shows.
#[derive(Debug)]
pub(crate) struct UpstreamError {
    pub(crate) reply: ErrorReply,
    pub(crate) cause: Option<String>,
}

impl From<ErrorReply> for UpstreamError {
    fn from(reply: ErrorReply) -> Self {
        Self { reply, cause: None }
    }
}

impl ErrorReply {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            ErrorReply::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorReply::RequestBroken => StatusCode::BAD_REQUEST,
            ErrorReply::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorReply::UpstreamUnreachable | ErrorReply::UpstreamBroken => StatusCode::BAD_GATEWAY,
            ErrorReply::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            ErrorReply::RequestTooLarge => "request_too_large",
            ErrorReply::RequestBroken => "request_broken",
            ErrorReply::Busy => "busy",
            ErrorReply::UpstreamUnreachable => "upstream_unreachable",
            ErrorReply::UpstreamTimeout => "upstream_timeout",
            ErrorReply::UpstreamBroken => "upstream_broken",
        }
    }

    fn message(self) -> &'static str {
        match self {
            ErrorReply::RequestTooLarge => "The request is larger than this gateway takes.",
            ErrorReply::RequestBroken => "The request ended before it was whole.",
            ErrorReply::Busy => "This gateway has as many requests as it takes. Try again.",
            ErrorReply::UpstreamUnreachable => "This gateway cannot reach its upstream.",
            ErrorReply::UpstreamTimeout => "The upstream of this gateway did not reply in time.",
            ErrorReply::UpstreamBroken => "The upstream's reply broke off.",
        }
    }

    /// Renders the reply in a form that the clients of all providers read.
    pub(crate) fn response(self) -> Response<Body> {
        let (message, code) = (self.message(), self.code());
        let text = format!(
            r#"{{"type":"error","error":{{"type":"goodcall_gateway","code":"{code}","message":"{message}"}}}}"#
        );
        let mut response = Response::new(full(Bytes::from(text)));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            header::HeaderValue::from_static("application/json"),
        );
        if self == ErrorReply::Busy {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}
