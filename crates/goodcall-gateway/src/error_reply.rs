//! Replies of the gateway's own, where the upstream gave none that could be passed on.

use bytes::Bytes;
use http::{Response, StatusCode, header};

use crate::proxy::{Body, full};
use crate::upstream::with_sources;
use crate::upstream_body::CollectError;

/// Why the client gets no reply of the upstream. Each cause has a status, a code and a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorReply {
    RequestTooLarge,
    RequestBroken,
    /// The path has `..` segments, which could leave the path of the upstream's URL.
    PathRefused,
    MethodRefused,
    /// The client has no key of this gateway.
    ClientUnknown,
    /// The request fits no route.
    NoRoute,
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
    /// True if the request met a pooled connection that the upstream had closed.
    pub(crate) was_idle: bool,
}

impl From<CollectError> for UpstreamError {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Idle => ErrorReply::UpstreamTimeout.into(),
            CollectError::Broken(error) => Self {
                cause: Some(with_sources(&error)),
                ..ErrorReply::UpstreamBroken.into()
            },
        }
    }
}

impl From<ErrorReply> for UpstreamError {
    fn from(reply: ErrorReply) -> Self {
        Self {
            reply,
            cause: None,
            was_idle: false,
        }
    }
}

impl ErrorReply {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            ErrorReply::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorReply::RequestBroken | ErrorReply::PathRefused => StatusCode::BAD_REQUEST,
            ErrorReply::MethodRefused => StatusCode::METHOD_NOT_ALLOWED,
            ErrorReply::ClientUnknown => StatusCode::UNAUTHORIZED,
            ErrorReply::NoRoute => StatusCode::NOT_FOUND,
            ErrorReply::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorReply::UpstreamUnreachable | ErrorReply::UpstreamBroken => StatusCode::BAD_GATEWAY,
            ErrorReply::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            ErrorReply::RequestTooLarge => "request_too_large",
            ErrorReply::RequestBroken => "request_broken",
            ErrorReply::PathRefused => "path_refused",
            ErrorReply::MethodRefused => "method_refused",
            ErrorReply::ClientUnknown => "client_unknown",
            ErrorReply::NoRoute => "no_route",
            ErrorReply::Busy => "busy",
            ErrorReply::UpstreamUnreachable => "upstream_unreachable",
            ErrorReply::UpstreamTimeout => "upstream_timeout",
            ErrorReply::UpstreamBroken => "upstream_broken",
        }
    }

    fn message(self) -> &'static str {
        match self {
            ErrorReply::RequestTooLarge => {
                "The request is larger than max_request_bytes of this gateway allows."
            }
            ErrorReply::RequestBroken => "The request ended before it was whole.",
            ErrorReply::PathRefused => "The path has `..` segments: send one without.",
            ErrorReply::MethodRefused => "This gateway is not a proxy for CONNECT.",
            ErrorReply::ClientUnknown => {
                "This gateway takes only requests with one of its keys: send yours in place of the \
                 provider's, or in the header goodcall-key."
            }
            ErrorReply::NoRoute => {
                "No route of this gateway takes this path and host: the base URL begins with the \
                 prefix of one."
            }
            ErrorReply::Busy => "This gateway has as many requests as it takes. Try again.",
            ErrorReply::UpstreamUnreachable => {
                "This gateway cannot reach its upstream. Its log has the cause."
            }
            ErrorReply::UpstreamTimeout => "The upstream of this gateway did not reply in time.",
            ErrorReply::UpstreamBroken => {
                "The upstream's reply could not be read to its end. The gateway's log has the cause."
            }
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
