//! `goodcall completions`: what a shell needs to complete the command, and the manual pages.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::{Cli, CliError};

/// Print the completions of a shell, or write the manual pages.
///
/// For bash: goodcall completions bash > ~/.local/share/bash-completion/completions/goodcall
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that reads them
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write a manual page for each command into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "shell")]
    man: Option<String>,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<bool, CliError> {
    if let Some(folder) = &args.man {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), Path::new(folder)))
            .map_err(|error| format!("cannot write manual pages to {folder}: {error}"))?;
    }
    if let Some(shell) = args.shell {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "goodcall", &mut script);
        std::io::stdout()
            .write_all(&script)
            .map_err(|error| format!("cannot write the completions: {error}"))?;
    }
    Ok(true)
}
