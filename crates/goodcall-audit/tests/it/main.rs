//! Tests of the audit as a whole.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod cases;
mod database;
#[path = "../../../goodcall-core/tests/support/mod.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with other crates")]
mod support;
mod tables;
