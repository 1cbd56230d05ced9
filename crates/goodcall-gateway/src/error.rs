//! Answers of the gateway's own: each names what went wrong and where.

use bytes::Bytes;
use http::{Response, StatusCode, header};

use crate::proxy::{Body, full};

/// Why a request got no reply of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLarge,
    Broken,
    Busy,
    Unreachable,
    NoReply,
    BrokenReply,
}

/// Why the upstream gave no reply: what the client reads, and what only the log says.
#[derive(Debug)]
pub(crate) struct NoReply {
    pub(crate) refusal: Refusal,
    pub(crate) cause: Option<String>,
}

impl From<Refusal> for NoReply {
    fn from(refusal: Refusal) -> Self {
        let cause = None;
        Self { refusal, cause }
    }
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Broken => StatusCode::BAD_REQUEST,
            Refusal::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Unreachable | Refusal::BrokenReply => StatusCode::BAD_GATEWAY,
            Refusal::NoReply => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            Refusal::TooLarge => "request_too_large",
            Refusal::Broken => "request_broken",
            Refusal::Busy => "busy",
            Refusal::Unreachable => "upstream_unreachable",
            Refusal::NoReply => "upstream_timeout",
            Refusal::BrokenReply => "upstream_broken",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Refusal::TooLarge => "The request is larger than this gateway takes.",
            Refusal::Broken => "The request ended before it was whole.",
            Refusal::Busy => "This gateway has as many requests as it takes. Try again.",
            Refusal::Unreachable => "This gateway cannot reach its upstream.",
            Refusal::NoReply => "The upstream of this gateway did not reply in time.",
            Refusal::BrokenReply => "The upstream's reply broke off.",
        }
    }

    /// In the form that the clients of all providers read.
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
        if self == Refusal::Busy {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}
