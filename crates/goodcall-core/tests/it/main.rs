//! The integration tests of `goodcall-core`, in one binary: each binary links the whole validator.

#![allow(clippy::panic, reason = "a test may fail loudly")]

mod bad_input;
mod cases;
mod generated_types;
mod laws;
mod lenient;
mod mutations;
mod rules;
mod strict;
#[path = "../support/mod.rs"]
mod support;
mod work;
