//! The peers beside goodcall: ways to judge a call, ways to read broken text, and traps.

pub mod calls;
pub mod menders;
pub mod texts;
pub mod traps;

#[path = "../../../crates/goodcall-core/benches/support/typed.rs"]
mod typed;
