//! Streamable HTTP, both sides.

mod headers;
mod response_filter;
mod response_reader;
mod same_site;
mod sse;

mod process_listener;
mod session;
mod upstream;
pub(crate) mod url_client;
mod url_listener;

pub use process_listener::listen_command;
pub use upstream::{Upstream, UpstreamError};
pub use url_listener::listen_url;
