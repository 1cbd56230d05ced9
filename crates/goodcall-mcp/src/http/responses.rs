//! Requests and responses of both listeners, as far as they are handled alike.

use axum::body::Body;
use axum::response::Response;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::frame::Frame;

/// Reads the body of a request, or returns the response to one that is too large.
pub(crate) async fn read_body(body: Body, max_frame: usize) -> Result<Frame, Response> {
    let body = axum::body::to_bytes(body, max_frame).await;
    body.map(|body| body.to_vec()).map_err(|_| {
        let text = format!("the body exceeds the limit of {max_frame} bytes, or was cut off");
        plain(StatusCode::PAYLOAD_TOO_LARGE, &text)
    })
}

pub(crate) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

pub(crate) fn json(status: StatusCode, body: Frame) -> Response {
    let kind = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
    response(status, headers, Body::from(body))
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    response(status, HeaderMap::new(), Body::from(text.to_owned()))
}
