//! Streamable HTTP, both sides.

mod exchange;
mod filter;
mod guard;
mod headers;

mod hub;
mod relay;
pub(crate) mod remote;
mod seat;

mod sse;
mod upstream;

pub use hub::listen_command;
pub use relay::listen_url;

pub use upstream::{Upstream, UpstreamError};
