//! Wrong usage, told of what is wrong: a flag, or a variable of the environment.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser};

use crate::Cli;

/// The arguments of this process; if they are wrong, this says so and ends it.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|mut error| {
        if let Some(variable) = variable(&error) {
            let name = format!("{variable} (in the environment)");
            error.insert(ContextKind::InvalidArg, ContextValue::String(name));
        }
        if let Some(tip) = command_tip(&error) {
            let tip = ContextValue::StyledStrs(vec![tip.into()]);
            error.insert(ContextKind::Suggested, tip);
        }
        error.exit()
    })
}

/// `goodcall mcp npx …` lacks the `--` before the server's command.
fn command_tip(error: &Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let words = std::env::args_os().skip(1);
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
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
        .then(|| format!("a server's command stands behind `--`: goodcall mcp {before}-- {word} …"))
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
