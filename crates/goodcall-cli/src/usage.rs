//! Errors about wrong usage, which name the flag or the environment variable at fault.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
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
        if let Some(tip) = command_tip(&error, arguments) {
            let tip = ContextValue::StyledStrs(vec![tip.into()]);
            error.insert(ContextKind::Suggested, tip);
        }
        error.exit()
    })
}

/// Returns a tip for `goodcall mcp npx …`, which lacks the `--` before the server's command.
fn command_tip(error: &Error, arguments: &[OsString]) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let mut words = arguments
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let mcp = words.next().is_some_and(|word| word == "mcp");
    let bare = error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-');
    let before: Vec<_> = words.take_while(|other| other != word).collect();
    let before = before.join(" ");
    let before = if before.is_empty() {
        before
    } else {
        format!("{before} ")
    };
    (mcp && bare)
        .then(|| format!("a server's command comes after `--`: goodcall mcp {before}-- {word} …"))
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
