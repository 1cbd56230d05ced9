//! `goodcall mcp --wrap-config` and `--unwrap-config`: edits the configuration of an MCP client.

use std::fs;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use goodcall_mcp::{Wrapped, unwrap_config, wrap_config};
use similar::TextDiff;

use crate::CliError;

/// Puts the servers of a client's configuration behind goodcall, which `program` starts from any
/// folder.
pub(crate) fn wrap(path: &Path, yes: bool, program: &str) -> Result<bool, CliError> {
    let text = read(path)?;
    let failure = |error: goodcall_mcp::WrapError| format!("{}: {error}", path.display());
    // The backup is the file without goodcall, even if some servers are behind it already.
    let old = fs::read_to_string(backup_of(path)).ok();
    let plain = unwrap_config(&text, old.as_deref()).map_err(failure)?;
    let wrapped = wrap_config(&text, program).map_err(failure)?;
    if show(path, &text, &wrapped) && may_write(path, yes)? {
        write(&backup_of(path), &plain.text)?;
        // The backup may hold secrets, and must not be easier to read than the file.
        if let Ok(about) = fs::metadata(path) {
            let _ = fs::set_permissions(backup_of(path), about.permissions());
        }
        write(path, &wrapped.text)?;
        anstream::println!(
            "written; the original is kept as {}. Restart the client.",
            backup_of(path).display()
        );
    }
    Ok(true)
}

/// Undoes [`wrap`].
pub(crate) fn unwrap(path: &Path, yes: bool) -> Result<bool, CliError> {
    let text = read(path)?;
    let old = fs::read_to_string(backup_of(path)).ok();
    let plain = unwrap_config(&text, old.as_deref());
    let plain = plain.map_err(|error| format!("{}: {error}", path.display()))?;
    if show(path, &text, &plain) && may_write(path, yes)? {
        write(path, &plain.text)?;
        anstream::println!("written. Restart the client.");
    }
    Ok(true)
}

/// Shows the difference. Returns false if there is none.
fn show(path: &Path, before: &str, after: &Wrapped) -> bool {
    for (server, why) in &after.left {
        anstream::println!("{server}: {why}");
    }
    if after.changed.is_empty() {
        anstream::println!("{}: nothing to change", path.display());
        return false;
    }
    let name = path.display().to_string();
    let diff = TextDiff::from_lines(before, &after.text);
    anstream::print!("{}", diff.unified_diff().header(&name, &name));
    true
}

fn may_write(path: &Path, yes: bool) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    if !stdin().is_terminal() {
        anstream::println!("nothing was written: use --yes to write {}", path.display());
        return Ok(false);
    }
    anstream::print!("write {}? [y/N] ", path.display());
    let _ = stdout().flush();
    let mut answer = String::new();
    stdin()
        .read_line(&mut answer)
        .map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn read(path: &Path) -> Result<String, CliError> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-goodcall");
    PathBuf::from(name)
}
