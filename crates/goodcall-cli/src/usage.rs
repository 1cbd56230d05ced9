//! Wrong usage, told of what is wrong: a flag, or a variable of the environment.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error, Parser};

use crate::Cli;

/// The arguments of this process; if they are wrong, this says so and ends it.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|mut error| {
        if let Some(variable) = variable(&error) {
            let name = format!("{variable} (in the environment)");
            error.insert(ContextKind::InvalidArg, ContextValue::String(name));
        }
        error.exit()
    })
}

/// The variable that a wrong value came from. A flag comes before its variable, so the flag is
/// to blame wherever it was given.
fn variable(error: &Error) -> Option<String> {
    let ContextValue::String(blamed) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let flag = blamed.split([' ', '=', '[']).next()?;
    let given = |word: std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        word == flag || word.starts_with(&format!("{flag}="))
    };
    if std::env::args_os().skip(1).any(given) {
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
