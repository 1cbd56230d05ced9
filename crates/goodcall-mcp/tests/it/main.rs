//! The integration tests of `goodcall-mcp`, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

#[cfg(unix)]
mod admin;
#[cfg(unix)]
mod bridge;
mod cases;
mod fake_url;
#[cfg(unix)]
mod groups;
mod http;
mod listen_guard;
mod login;
mod rust_sdk;
#[cfg(unix)]
mod sse;
#[allow(dead_code, reason = "shared with the core's tests")]
#[path = "../../../goodcall-core/tests/support/mod.rs"]
mod support;
