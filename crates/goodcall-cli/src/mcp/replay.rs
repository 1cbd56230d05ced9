//! `goodcall mcp replay`: a server that answers from a recording.

use std::io::{BufRead, Write, stdin, stdout};
use std::path::PathBuf;

use goodcall_mcp::RecordedServer;

use crate::CliError;

/// Answer requests on standard input from a recording, as a server for tests.
///
/// A request gets the answer that was recorded for the same method and parameters; equal requests get
/// theirs in turn. One that was not recorded gets an error.
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// The recording that goodcall mcp --record has written
    file: PathBuf,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<bool, CliError> {
    let failure = |error: &dyn std::fmt::Display| format!("{}: {error}", args.file.display());
    let text = std::fs::read_to_string(&args.file).map_err(|error| failure(&error))?;
    let mut server = RecordedServer::read(&text).map_err(|error| failure(&error))?;
    let mut out = stdout().lock();
    for line in stdin().lock().split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let Some(mut answer) = server.answer(&line) else {
            continue;
        };
        answer.push(b'\n');
        let written = out.write_all(&answer).and_then(|()| out.flush());
        if written.is_err() {
            // The client has gone.
            break;
        }
    }
    Ok(true)
}
