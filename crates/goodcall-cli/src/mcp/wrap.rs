//! `goodcall mcp --wrap-config`, `--unwrap-config` and `--wrap-all`: edits the configurations of MCP
//! clients.

use std::fs::{self, File};
use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use goodcall_mcp::{WrapError, Wrapped, unwrap_config, wrap_config};
use similar::TextDiff;

use crate::CliError;

/// The configurations of clients, below the user's own folder.
const CLIENTS: [(&str, &str); 26] = [
    (
        "Claude Desktop",
        ".config/Claude/claude_desktop_config.json",
    ),
    (
        "Claude Desktop",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    (
        "Claude Desktop",
        "AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".config/Code/User/mcp.json"),
    ("VS Code", "Library/Application Support/Code/User/mcp.json"),
    ("VS Code", "AppData/Roaming/Code/User/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    ("Zed", ".config/zed/settings.json"),
    ("Codex", ".codex/config.toml"),
    ("opencode", ".config/opencode/opencode.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Crush", ".config/crush/crush.json"),
    ("Amp", ".config/amp/settings.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("LM Studio", ".lmstudio/mcp.json"),
    ("Copilot CLI", ".copilot/mcp-config.json"),
    ("JetBrains Junie", ".junie/mcp/mcp.json"),
    ("Goose", ".config/goose/config.yaml"),
    ("Goose", "AppData/Roaming/Block/goose/config/config.yaml"),
    ("Continue", ".continue/config.yaml"),
    (
        "Cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    (
        "Cline",
        "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    (
        "Cline",
        "AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    ("Warp", ".warp/.mcp.json"),
];

/// Puts the servers of a client's configuration behind goodcall. `program` is what the client
/// starts.
pub(crate) fn wrap(path: &Path, yes: bool, program: &str) -> Result<bool, CliError> {
    let (path, text) = read(path)?;
    let failure = |error: WrapError| format!("{}: {error}", path.display());
    // The backup is the file without goodcall, even if some servers are behind it already.
    let backup = backup_of(&path);
    let old = fs::read_to_string(&backup).ok();
    let plain = unwrap_config(&text, old.as_deref(), &path).map_err(failure)?;
    let wrapped = wrap_config(&text, program, &path).map_err(failure)?;
    if show(&path, &text, &wrapped) && may_write(&path, yes)? {
        write(&backup, &plain.text, &path)?;
        if let Err(error) = write(&path, &wrapped.text, &path) {
            if old.is_none() {
                let _ = fs::remove_file(&backup);
            }
            return Err(error);
        }
        anstream::println!(
            "written; the original is kept as {}. Restart the client.",
            backup.display()
        );
    }
    Ok(true)
}

/// Undoes [`wrap`].
pub(crate) fn unwrap(path: &Path, yes: bool) -> Result<bool, CliError> {
    let (path, text) = read(path)?;
    let backup = backup_of(&path);
    let old = fs::read_to_string(&backup).ok();
    let plain = unwrap_config(&text, old.as_deref(), &path);
    let plain = plain.map_err(|error| format!("{}: {error}", path.display()))?;
    if show(&path, &text, &plain) && may_write(&path, yes)? {
        write(&path, &plain.text, &path)?;
        let again = unwrap_config(&plain.text, None, &path);
        if again.is_ok_and(|again| again.changed.is_empty()) {
            // It may hold secrets, and is not needed any more.
            let _ = fs::remove_file(&backup);
        }
        anstream::println!("written. Restart the client.");
    }
    Ok(true)
}

/// Wraps the configurations of all clients that are installed, one after another.
pub(crate) fn wrap_all(yes: bool, program: &str) -> Result<bool, CliError> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    let home = PathBuf::from(home.ok_or("the variable HOME is not set")?);
    let mut found = false;
    for (client, place) in CLIENTS {
        let path = home.join(place);
        if !path.is_file() {
            continue;
        }
        found = true;
        anstream::println!("{client}: {}", path.display());
        // A configuration without servers is not an error here.
        if let Err(error) = wrap(&path, yes, program) {
            anstream::println!("{error}");
        }
    }
    if !found {
        anstream::println!("no configuration of a known client was found");
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

/// Reads a file. The path is the one behind links, where its backup lies, too.
fn read(path: &Path) -> Result<(PathBuf, String), CliError> {
    let failure = |error: std::io::Error| format!("{}: {error}", path.display());
    let real = fs::canonicalize(path).map_err(failure)?;
    let text = fs::read_to_string(&real).map_err(failure)?;
    Ok((real, text))
}

/// Writes a file at once: it has the old content or the new one, whatever happens. Its permissions
/// are those of `like`.
fn write(path: &Path, text: &str, like: &Path) -> Result<(), CliError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let written = (|| {
        let mut file = File::create(&new)?;
        fs::set_permissions(&new, fs::metadata(like)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    })();
    written.map_err(|error: std::io::Error| {
        let _ = fs::remove_file(&new);
        format!("{}: {error}", path.display())
    })
}

fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-goodcall");
    PathBuf::from(name)
}
