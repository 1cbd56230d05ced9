//! Errors about wrong usage, which name the flag or the environment variable at fault.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error, Parser};

use crate::Cli;

/// Parses the words of the command line. If they are wrong, prints why and exits.
pub(crate) fn parse(words: &[OsString]) -> Cli {
    Cli::try_parse_from(words).unwrap_or_else(|mut error| {
        let arguments = words.get(1..).unwrap_or_default();
        if let Some(variable) = variable(&error, arguments) {
            let name = format!("{variable} (in the environment)");
            error.insert(ContextKind::InvalidArg, ContextValue::String(name));
        }
        error.exit()
    })
}

/// Returns the environment variable that a wrong value came from. A flag comes before its variable,
/// so `None` if the flag was given.
fn variable(error: &Error, arguments: &[OsString]) -> Option<String> {
    let ContextValue::String(blamed) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let flag = blamed.split([' ', '=', '[']).next()?;
    let given = |word: &OsString| {
        let word = word.to_string_lossy().into_owned();
        word == flag || word.starts_with(&format!("{flag}="))
    };
    if arguments.iter().any(given) {
        return None;
    }
    let command = Cli::command();
    let mut all = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments);
    let argument = all.find(|argument| {
        let long = argument.get_long().map(|long| format!("--{long}"));
        long.as_deref() == Some(flag) && argument.get_env().is_some()
    })?;
    let name = argument.get_env()?;
    std::env::var_os(name).map(|_| name.to_string_lossy().into_owned())
}
