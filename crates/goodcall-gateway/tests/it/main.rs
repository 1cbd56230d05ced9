//! The integration tests of the gateway, in one binary: each binary links all of hyper and rustls.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod admin;
#[path = "../../../goodcall-wire/tests/requests/aws.rs"]
mod aws;
mod bedrock;
mod connections;
mod content_encoding;
mod dashboards;
mod documents;
mod failed_generations;
mod faults;
mod gemini;
mod limits;
mod memory;
mod metrics;
mod network_proxy;
mod observe;
mod page;
mod reask_budget;
mod reload;
mod replies;
mod routes;
mod support;
mod tls;
mod traces;
mod tunnels;
