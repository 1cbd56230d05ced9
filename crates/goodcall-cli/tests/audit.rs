//! `goodcall audit`, `replay` and `playground` as processes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// No step takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const TOOLS: &str = r#"[{"name": "read", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "lines": {"type": "integer", "maximum": 100}},
    "required": ["path"]}}]"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tools.json"), TOOLS).unwrap();
    folder
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    command.args(words).current_dir(folder);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

/// The report of an audit.
fn report(folder: &Path, words: &[&str]) -> Value {
    let words = [&["audit", "--json", "--tools", "tools.json"], words].concat();
    let output = run(folder, &words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Lines of the protocol, of many kinds.
fn lines(count: usize) -> String {
    long_lines(count, 0)
}

/// The same, some of them longer by this many bytes.
fn long_lines(count: usize, more: usize) -> String {
    let mut text = String::new();
    let filler = "x".repeat(more);
    for row in 0..count {
        let raw = match row % 5 {
            0 => format!(r#"{{\"path\": \"{row}{filler}\"}}"#),
            1 => r#"{\"path\": \"a\", \"lines\": \"5\"}"#.to_owned(),
            2 => format!(r#"{{\"path\": \"a\", \"lines\": {row}}}"#),
            3 => r#"{\"path\": \"a"#.to_owned(),
            _ => r#"{\"lines\": 5}"#.to_owned(),
        };
        let model = row % 3;
        let _ = writeln!(
            text,
            r#"{{"tool": "read", "raw": "{raw}", "model": "m{model}", "time": {}}}"#,
            1_763_200_000 + row
        );
    }
    text
}

#[test]
fn killed_audit_goes_on_without_loss_or_doubling() {
    let folder = folder("audit-killed");
    // Several blocks of a megabyte, so that the kill comes in between.
    fs::write(folder.join("a.jsonl"), long_lines(4_000, 10_000)).unwrap();
    fs::write(
        folder.join("b.jsonl"),
        long_lines(2_000, 5_000) + "not JSON\n",
    )
    .unwrap();
    fs::write(folder.join("notes.txt"), "no recording").unwrap();
    let paths = ["a.jsonl", "b.jsonl", "notes.txt"];
    let whole = report(&folder, &paths);
    assert_eq!(whole["totals"]["calls"], 6_000);
    let state = folder.join("state.json");
    let resumed = [&["--resume", "state.json", "--save-every", "0"], &paths[..]].concat();
    let words = [
        &["audit", "--json", "--tools", "tools.json", "--threads", "2"],
        &resumed[..],
    ]
    .concat();
    let mut kills = 0;
    for wanted in [1, 3] {
        let mut child = command(&folder, &words)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        loop {
            let saved = fs::read(&state).unwrap_or_default();
            let saved: Value = serde_json::from_slice(&saved).unwrap_or_default();
            let parts = saved["files"]["a.jsonl"]["next"].as_u64().unwrap_or(0);
            if parts >= wanted || child.try_wait().unwrap().is_some() {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "no part was saved");
            sleep(Duration::from_millis(5));
        }
        kills += u32::from(child.kill().is_ok() && child.try_wait().unwrap().is_none());
        child.wait().unwrap();
    }
    let after = report(&folder, &resumed);
    assert_eq!(after, whole, "killed {kills} times");
    assert!(!state.exists(), "the state is removed at the end");
}

#[test]
fn state_of_another_audit_is_refused() {
    let folder = folder("audit-state");
    fs::write(folder.join("a.jsonl"), lines(10)).unwrap();
    let fails = |words: &[&str]| {
        let output = run(
            &folder,
            &[&["audit", "--resume", "state.json"], words].concat(),
        );
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    fs::write(folder.join("state.json"), "nonsense").unwrap();
    assert!(fails(&["a.jsonl"]).contains("not the state of an audit"));
    let state = r#"{"version": 1, "settings": "other", "files": {}, "aggregate": {}}"#;
    fs::write(folder.join("state.json"), state).unwrap();
    assert!(fails(&["a.jsonl"]).contains("with other settings"));
    assert!(fails(&["-"]).contains("standard input cannot be read again"));
}

#[test]
fn input_comes_from_standard_input_patterns_and_folders() {
    let folder = folder("audit-input");
    fs::create_dir_all(folder.join("logs/deep")).unwrap();
    fs::write(folder.join("logs/a.jsonl"), lines(10)).unwrap();
    fs::write(folder.join("logs/deep/b.jsonl"), lines(5)).unwrap();
    assert_eq!(report(&folder, &["logs"])["totals"]["calls"], 15);
    assert_eq!(report(&folder, &["logs/*.jsonl"])["totals"]["calls"], 10);
    assert_eq!(
        report(&folder, &["logs", "logs/a.jsonl"])["totals"]["calls"],
        15
    );
    let words = ["audit", "--json", "--tools", "tools.json", "-"];
    let mut child = command(&folder, &words).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines(7).as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read["totals"]["calls"], 7);
    let output = run(&folder, &["audit", "none.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "goodcall: none.jsonl: there is no such file or folder\n"
    );
}

#[test]
fn conditions_decide_the_exit_code() {
    let folder = folder("audit-conditions");
    fs::write(folder.join("a.jsonl"), lines(10)).unwrap();
    let code = |condition: &str| {
        let words = [
            "audit",
            "a.jsonl",
            "--tools",
            "tools.json",
            "--fail-if",
            condition,
        ];
        run(&folder, &words).status.code().unwrap()
    };
    assert_eq!(code("bad>50%"), 0);
    assert_eq!(code("bad>2%"), 1);
    assert_eq!(code("worse>2%"), 2);
    // Nothing is judged without tools: that is not a pass.
    for condition in ["bad>2%", "bad>0"] {
        let words = ["audit", "a.jsonl", "--fail-if", condition];
        assert_eq!(run(&folder, &words).status.code(), Some(2));
    }
    // Of two recordings the second one counts.
    fs::write(folder.join("good.jsonl"), lines(1)).unwrap();
    let compared = |before: &str, after: &str| {
        let words = ["audit", "--tools", "tools.json", "--fail-if", "bad>2%"];
        let words = [&words[..], &["--compare", before, after]].concat();
        run(&folder, &words).status.code().unwrap()
    };
    assert_eq!(compared("a.jsonl", "good.jsonl"), 0);
    assert_eq!(compared("good.jsonl", "a.jsonl"), 1);
}

#[test]
fn pipes_are_read_once() {
    let folder = folder("audit-pipes");
    fs::write(folder.join("a.jsonl"), lines(10)).unwrap();
    let program = env!("CARGO_BIN_EXE_goodcall");
    let bash = |script: String| {
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&folder)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    };
    let both = bash(format!("{program} audit <(cat a.jsonl) <(cat a.jsonl)"));
    assert!(both.starts_with("20 calls in 2 files"), "{both}");
    let compared = bash(format!(
        "{program} audit --tools tools.json --json --compare <(cat a.jsonl) a.jsonl"
    ));
    let compared: Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(
        compared["verdicts"][0]["wholes"],
        serde_json::json!([10, 10])
    );
    let resumed = bash(format!("{program} audit --resume state <(cat a.jsonl)"));
    assert!(resumed.contains("cannot be read again"), "{resumed}");
}

#[test]
fn links_to_files_are_followed_and_files_read_once() {
    use std::os::unix::fs::symlink;
    let folder = folder("audit-links");
    fs::create_dir_all(folder.join("logs/deep")).unwrap();
    fs::create_dir_all(folder.join("elsewhere")).unwrap();
    fs::write(folder.join("logs/deep/a.jsonl"), lines(5)).unwrap();
    fs::write(folder.join("elsewhere/b.jsonl"), lines(10)).unwrap();
    symlink("..", folder.join("logs/deep/loop")).unwrap();
    symlink("deep/a.jsonl", folder.join("logs/again.jsonl")).unwrap();
    symlink("../elsewhere", folder.join("logs/linked")).unwrap();
    symlink("nowhere", folder.join("logs/dangling.jsonl")).unwrap();
    let read = report(&folder, &["logs", "./logs/deep/a.jsonl"]);
    assert_eq!(read["totals"]["calls"], 5);
    assert_eq!(read["totals"]["skipped_files"], 3);
    let skipped = read["problems"]["skipped"].to_string();
    for word in [
        "No such file",
        "dangling.jsonl",
        "a link to a folder",
        "deep/loop",
        "linked",
    ] {
        assert!(skipped.contains(word), "{word}: {skipped}");
    }
    assert_eq!(report(&folder, &["logs/linked/"])["totals"]["calls"], 10);
    // What is skipped does not keep an audit from going on later.
    let resumed = report(&folder, &["logs", "--resume", "state.json"]);
    assert_eq!(resumed["totals"], read["totals"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = folder("audit-control");
    let line = r#"{"tool": "re\u001b[31mad", "raw": "{\"a\u0007\": ", "model": "m\n\u001b]0;x"}"#;
    fs::write(folder.join("a.jsonl"), line).unwrap();
    let words = ["audit", "a.jsonl", "--tools", "tools.json"];
    let text = String::from_utf8(run(&folder, &words).stdout).unwrap();
    assert!(text.contains(r"re\u{1b}[31mad"), "{text}");
    assert!(
        !text.contains(|one: char| one.is_control() && one != '\n'),
        "{text}"
    );
}

#[test]
fn summary_of_calls_without_definitions_shows_what_their_results_say() {
    let folder = folder("audit-without-definitions");
    let line = r#"{"tool": "read", "raw": "{\"file\": 1}", "result": "Error: invalid arguments: path: Required", "is_error": true}"#;
    fs::write(folder.join("a.jsonl"), line).unwrap();
    let text = String::from_utf8(run(&folder, &["audit", "a.jsonl"]).stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("worst tools"));
    let titles: Vec<_> = row.unwrap().split_whitespace().skip(2).collect();
    assert_eq!(
        titles,
        ["calls", "no", "tools", "said", "invalid"],
        "{text}"
    );
    assert!(text.contains("read path: said_invalid"), "{text}");
    assert!(
        text.contains("hand in the tools (`--tools`, `--mcp`)"),
        "{text}"
    );
    assert!(!text.contains("`safe` saves"), "{text}");
    let words = ["audit", "a.jsonl", "--tools", "tools.json"];
    let text = String::from_utf8(run(&folder, &words).stdout).unwrap();
    assert!(!text.contains("hand in the tools"), "{text}");
    assert!(text.contains("`safe` saves"), "{text}");
}

#[test]
fn arguments_are_hidden_unless_asked_for_and_secrets_always() {
    let folder = folder("audit-secrets");
    let line = r#"{"tool": "read", "raw": "{\"lines\": \"open sesame\", \"api_key\": \"sk-proj-abcdefghijklmnopqr\"}"}"#;
    fs::write(folder.join("a.jsonl"), line).unwrap();
    let pages = |words: &[&str]| {
        let base = [
            "audit",
            "a.jsonl",
            "--tools",
            "tools.json",
            "--html",
            "r.html",
            "--fixtures",
            "f",
            "--json",
        ];
        let output = run(&folder, &[&base[..], words].concat());
        String::from_utf8(output.stdout).unwrap()
            + &fs::read_to_string(folder.join("r.html")).unwrap()
    };
    let hidden = pages(&[]);
    assert!(!hidden.contains("sesame") && !hidden.contains("abcdefghijklmnopqr"));
    let shown = pages(&["--show-arguments"]);
    assert!(shown.contains("sesame") && !shown.contains("abcdefghijklmnopqr"));
    for file in fs::read_dir(folder.join("f")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(
            text.contains("sesame") && !text.contains("abcdefghijklmnopqr"),
            "{text}"
        );
    }
}

#[test]
fn fixtures_are_replayed_by_the_tools_of_today() {
    let folder = folder("audit-fixtures");
    fs::write(folder.join("a.jsonl"), lines(250)).unwrap();
    let words = [
        "audit",
        "a.jsonl",
        "--tools",
        "tools.json",
        "--fixtures",
        "fixtures",
    ];
    assert!(run(&folder, &words).status.success());
    let replay = |words: &[&str]| {
        let output = run(&folder, &[&["replay", "fixtures"], words].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(replay(&[]), (0, "4 fixtures: 4 as expected\n".to_owned()));
    let fixed = TOOLS.replace("\"maximum\": 100", "\"maximum\": 1000");
    fs::write(folder.join("fixed.json"), fixed).unwrap();
    let (code, text) = replay(&["--tools", "fixed.json"]);
    assert_eq!(code, 1);
    assert!(text.contains("verdict: expected bad, got good"), "{text}");
    assert!(
        text.ends_with("4 fixtures: 3 as expected, 1 differ\n"),
        "{text}"
    );
    assert_eq!(replay(&["--tools", "fixed.json", "--bless"]).0, 0);
    assert_eq!(replay(&["--tools", "fixed.json"]).0, 0);
    fs::create_dir_all(folder.join("none")).unwrap();
    assert_eq!(run(&folder, &["replay", "none"]).status.code(), Some(2));
}

#[test]
fn definitions_come_from_a_live_mcp_server() {
    let folder = folder("audit-mcp");
    fs::write(folder.join("a.jsonl"), lines(10)).unwrap();
    let tool = TOOLS.replace("parameters", "inputSchema").replace('\n', "");
    let server = format!(
        "read l; echo '{{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"result\":{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{}},\"serverInfo\":{{\"name\":\"s\",\"version\":\"0\"}}}}}}'\n\
         read l; read l; echo '{{\"jsonrpc\":\"2.0\",\"id\":\"list0\",\"result\":{{\"tools\":{tool}}}}}'\nread l\n"
    );
    fs::write(folder.join("server.sh"), server).unwrap();
    let output = run(
        &folder,
        &["audit", "--json", "a.jsonl", "--mcp", "sh 'server.sh'"],
    );
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let read: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(read["totals"]["judged"], 10);
    assert_eq!(read["totals"]["bad"], 4);
}

#[test]
fn two_runs_and_two_models_are_compared() {
    let folder = folder("audit-compare");
    fs::write(folder.join("a.jsonl"), lines(500)).unwrap();
    fs::write(
        folder.join("b.jsonl"),
        lines(500).replace("\\\"lines\\\": \\\"5\\\"", "\\\"lines\\\": 5"),
    )
    .unwrap();
    let compare = |words: &[&str]| {
        let words = [&["audit", "--tools", "tools.json", "--json"], words].concat();
        let output = run(&folder, &words);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let runs = compare(&["--compare", "a.jsonl", "b.jsonl"]);
    assert_eq!(runs["verdicts"][1]["counts"], serde_json::json!([100, 0]));
    assert_eq!(runs["verdicts"][1]["is_significant"], true);
    let first = run(
        &folder,
        &["audit", "--tools", "tools.json", "--json", "a.jsonl"],
    )
    .stdout;
    fs::write(folder.join("before.json"), first).unwrap();
    assert_eq!(
        compare(&["--compare", "before.json", "b.jsonl"])["verdicts"],
        runs["verdicts"]
    );
    let models = compare(&["a.jsonl", "--compare", "m0", "m1"]);
    assert_eq!(
        models["verdicts"][0]["wholes"],
        serde_json::json!([167, 167])
    );
    let words = ["audit", "a.jsonl", "--compare", "m0", "m9"];
    assert_eq!(run(&folder, &words).status.code(), Some(2));
}

/// Ends the process when the test does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn playground_answers_on_this_machine_only() {
    let folder = folder("playground");
    let refused = run(&folder, &["playground", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    let mut child = Running(
        command(&folder, &["playground", "--listen", "127.0.0.1:0"])
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    let out = child.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let address = line
        .trim()
        .strip_prefix("the playground is at http://")
        .unwrap();
    let address = address.trim_end_matches('/').to_owned();
    let ask = |head: &str, body: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let host = format!("host: {address}");
    let page = ask(&format!("GET / HTTP/1.1\r\n{host}"), "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>goodcall playground"));
    assert!(page.contains("content-security-policy: default-src 'none'"));
    let question = r#"{"schema": "{\"properties\": {\"n\": {\"type\": \"integer\"}}}", "raw": "{\"n\": \"5\"}"}"#;
    let answer = ask(&format!("POST /judge HTTP/1.1\r\n{host}"), question);
    assert!(answer.contains(r#""verdict":"mended""#), "{answer}");
    let foreign = ask("GET / HTTP/1.1\r\nhost: evil.example", "");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
}
