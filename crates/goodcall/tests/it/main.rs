//! The integration tests of `goodcall`, in one binary. Those that need a feature are beside it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod approval;
mod compile_errors;
mod driver;
mod execute;
mod history;
mod kill;
mod loops;
mod run;
#[allow(dead_code, reason = "shared with the core's tests")]
#[path = "../../../goodcall-core/tests/support/mod.rs"]
mod support;
mod toolbox;
mod typed;
mod users;
