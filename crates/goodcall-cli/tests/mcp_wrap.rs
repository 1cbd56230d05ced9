//! `goodcall mcp --wrap-config`, `--wrap-all` and `--unwrap-config` on the files of clients.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One configuration per client that `--wrap-all` knows, where it is on this system.
const FILES: [(&str, &str, &str); 19] = [
    (
        "Claude Desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\"], \"env\": {\"A\": \"1\"}}}}",
    ),
    (
        "Claude Code",
        ".claude.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"a\"}}, \"projects\": {\"/p\": {\"mcpServers\": {\"s\": {\"type\": \"stdio\", \"command\": \"x\", \"args\": []}}}}}\n",
    ),
    (
        "Cursor",
        ".cursor/mcp.json",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"s\": {\"command\": \"x\"},\r\n\t\t\"w\": {\"url\": \"https://x.example/mcp\", \"headers\": {\"A\": \"b\"}}\r\n\t}\r\n}\r\n",
    ),
    (
        "VS Code",
        ".config/Code/User/mcp.json",
        "{\n\t// mine\n\t\"servers\": {\"s\": {\"command\": \"x\", \"args\": [\"1\", /* one */],},},\n}\n",
    ),
    (
        "Windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\"mcpServers\": {\"s\": {\"serverUrl\": \"http://127.0.0.1:8080/mcp\"}, \"t\": {\"command\": \"x\"}}}",
    ),
    (
        "Zed",
        ".config/zed/settings.json",
        "// Zed\n{\"context_servers\": {\"s\": {\"command\": {\"path\": \"x\", \"args\": [\"y\"]}}, \"t\": {\"command\": \"x\"}}}",
    ),
    (
        "Codex",
        ".codex/config.toml",
        "model = \"x\" # mine\n\n[mcp_servers.s]\ncommand = \"npx\" # runner\nargs = [\n  \"-y\", # yes\n]\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "{\"mcp\": {\"s\": {\"type\": \"local\", \"command\": [\"npx\", \"x\"], \"enabled\": true}}}",
    ),
    (
        "Gemini CLI",
        ".gemini/settings.json",
        "\u{feff}{\"mcpServers\": {\"s\": {\"command\": \"x\"}, \"w\": {\"httpUrl\": \"https://x.example/mcp\", \"headers\": {\"A\": \"b\"}}}}",
    ),
    (
        "Crush",
        ".config/crush/crush.json",
        "{\"mcp\": {\"s\": {\"type\": \"stdio\", \"command\": \"x\", \"args\": [\"y\"]}}}",
    ),
    (
        "Amp",
        ".config/amp/settings.json",
        "{\"amp.mcpServers\": {\"s\": {\"command\": \"x\", \"args\": []}}}",
    ),
    (
        "Kiro",
        ".kiro/settings/mcp.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"x\", \"disabled\": false}}}",
    ),
    (
        "LM Studio",
        ".lmstudio/mcp.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}",
    ),
    (
        "Copilot CLI",
        ".copilot/mcp-config.json",
        "{\"mcpServers\": {\"s\": {\"type\": \"local\", \"command\": \"x\", \"args\": [], \"tools\": [\"*\"]}}}",
    ),
    (
        "JetBrains Junie",
        ".junie/mcp/mcp.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}",
    ),
    (
        "Goose",
        ".config/goose/config.yaml",
        "# mine\nextensions:\n  s:\n    type: stdio\n    cmd: uvx # runner\n    args:\n      - fetch\n",
    ),
    (
        "Continue",
        ".continue/config.yaml",
        "name: mine\nmcpServers:\n  - name: s\n    command: npx\n    args: [-y, x]\n",
    ),
    (
        "Cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "{\"mcpServers\": {\"s\": {\"command\": \"x\", \"autoApprove\": []}}}",
    ),
    (
        "Warp",
        ".warp/.mcp.json",
        "{\"s\": {\"command\": \"x\", \"args\": [\"y\"]}}",
    ),
];

fn home(name: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&home);
    for (_, place, text) in FILES {
        let file = home.join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    home
}

/// Runs the command, and returns what it printed.
fn goodcall(home: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    command.arg("mcp").args(words).env("HOME", home);
    let ended = command.stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

fn backup(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before-goodcall");
    name.into()
}

#[test]
fn files_of_all_clients_are_found_wrapped_and_restored_to_the_byte() {
    let home = home("wrap-all");
    let all = FILES.map(|(client, place, text)| (client, home.join(place), text));
    // Nobody can be asked here, and nothing is written.
    let asked = goodcall(&home, &["--wrap-all"]);
    for (client, file, text) in &all {
        let head = format!("{client}: {}", file.display());
        assert!(asked.lines().any(|line| line == head), "{head}\n{asked}");
        let named = format!("use --yes to write {}", file.display());
        assert!(asked.contains(&named), "{client}: {asked}");
        assert_eq!(fs::read_to_string(file).unwrap(), *text, "{client}");
    }
    goodcall(&home, &["--wrap-all", "--yes"]);
    for (client, file, text) in &all {
        let wrapped = fs::read_to_string(file).unwrap();
        assert!(wrapped.contains("goodcall"), "{client}: {wrapped}");
        assert!(!wrapped.contains("${"), "{client}: {wrapped}");
        assert_eq!(fs::read_to_string(backup(file)).unwrap(), *text, "{client}");
    }
    let again = goodcall(&home, &["--wrap-all", "--yes"]);
    assert_eq!(
        again.matches("nothing to change").count(),
        all.len(),
        "{again}"
    );
    for (client, file, text) in &all {
        goodcall(&home, &["--unwrap-config", file.to_str().unwrap(), "--yes"]);
        assert_eq!(fs::read_to_string(file).unwrap(), *text, "{client}");
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}");
        assert!(!backup(file).exists(), "{client}");
    }
}

#[test]
fn file_behind_a_link_is_edited_where_it_is() {
    let home = home("wrap-link");
    let (link, real) = (home.join("link.json"), home.join(".cursor/mcp.json"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let before = fs::read_to_string(&real).unwrap();
    goodcall(&home, &["--wrap-config", link.to_str().unwrap(), "--yes"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(backup(&real).exists() && !backup(&link).exists());
    goodcall(&home, &["--unwrap-config", real.to_str().unwrap(), "--yes"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), before);
}

#[test]
fn home_without_clients_is_told() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrap-none");
    fs::create_dir_all(&empty).unwrap();
    let told = goodcall(&empty, &["--wrap-all"]);
    assert_eq!(told, "no configuration of a known client was found\n");
}
