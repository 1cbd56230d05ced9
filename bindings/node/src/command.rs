//! `npx goodcall`.

use std::ffi::OsString;

use napi_derive::napi;

/// Runs the command with these arguments, the first of which is the program's name, and returns its
/// exit code.
#[napi]
#[cfg_attr(test, allow(dead_code))] // The macro registers nothing in tests.
pub fn command(words: Vec<String>) -> u8 {
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    goodcall_cli::main(&words)
}
