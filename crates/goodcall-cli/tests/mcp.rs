//! `goodcall mcp` as a process: what it leaves in memory, in files and behind it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// No step takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command, in a folder of its own, without a configuration of the user.
fn goodcall(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    command.args(words).current_dir(folder);
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Ends the process when the test does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The memory of a process in kilobytes, and its largest so far.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn reader_that_stalls_does_not_fill_the_memory() {
    let folder = folder("stalled");
    let server = r#"yes '{"jsonrpc":"2.0","method":"n"}' | head -n 4000000; sleep 60"#;
    let child = goodcall(&folder, &["mcp", "--", "sh", "-c", server])
        .spawn()
        .unwrap();
    let child = Running(child);
    sleep(Duration::from_secs(4));
    let used = memory(child.0.id());
    assert!(used < 64 * 1024, "{used} kB");
}

/// The memory of a proxy whose client writes this line again and again, as often as it is let.
fn memory_after_flood(name: &str, server: &str, times: usize, line: fn(usize) -> String) -> u64 {
    let folder = folder(name);
    let child = goodcall(&folder, &["mcp", "--", "sh", "-c", server]).spawn();
    let mut child = Running(child.unwrap());
    let mut input = child.0.stdin.take().unwrap();
    std::thread::spawn(move || {
        for number in 0..times {
            // This fails when the test ends the proxy.
            if writeln!(input, "{}", line(number)).is_err() {
                return;
            }
        }
        sleep(PATIENCE);
    });
    sleep(Duration::from_secs(6));
    memory(child.0.id())
}

#[test]
fn server_that_does_not_read_does_not_fill_the_memory() {
    let line = |_| r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned();
    let used = memory_after_flood("deaf", "sleep 60", 4_000_000, line);
    assert!(used < 64 * 1024, "{used} kB");
}

#[test]
fn ten_thousand_pending_calls_do_not_fill_the_memory() {
    let line = |id| {
        let call = r#""method":"tools/call","params":{"name":"f","arguments":{"a":1}}"#;
        format!(r#"{{"jsonrpc":"2.0","id":{id},{call}}}"#)
    };
    let list = r#"{"jsonrpc":"2.0","id":"goodcall:tools:1","result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}}"#;
    // It counts the calls that it has got, and answers none.
    let server = format!("read -r _; echo '{list}'; head -n 10000 | wc -l >count; sleep 60");
    let used = memory_after_flood("pending", &server, 10_000, line);
    assert!(used < 64 * 1024, "{used} kB");
    let count = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pending/count");
    assert_eq!(fs::read_to_string(count).unwrap().trim(), "10000");
}

#[test]
fn server_ends_even_if_the_proxy_is_killed() {
    let folder = folder("killed");
    let server = "echo $$ > pid; trap '' TERM; while :; do sleep 1; done";
    let mut child = Running(
        goodcall(&folder, &["mcp", "--", "sh", "-c", server])
            .spawn()
            .unwrap(),
    );
    let started = Instant::now();
    let pid = loop {
        let text = fs::read_to_string(folder.join("pid")).unwrap_or_default();
        if let Ok(pid) = text.trim().parse::<u32>() {
            break pid;
        }
        assert!(started.elapsed() < PATIENCE);
        sleep(Duration::from_millis(20));
    };
    let is_running = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    };
    assert!(is_running());
    child.0.kill().unwrap();
    while is_running() {
        assert!(started.elapsed() < PATIENCE);
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn log_can_be_read_by_its_owner_only_and_names_no_secret() {
    let folder = folder("secrets");
    let server = r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'"#;
    let words = [
        "mcp",
        "--log",
        "calls.jsonl",
        "--",
        "sh",
        "-c",
        server,
        "--api-key",
        "sk-SECRET",
    ];
    let ended = goodcall(&folder, &words).output().unwrap();
    let mode = fs::metadata(folder.join("calls.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("SECRET"));

    let words = [
        "mcp",
        "--url",
        "http://user:hunter2@127.0.0.1:9/mcp?key=sk-SECRET",
    ];
    let mut child = goodcall(&folder, &words).spawn().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
    writeln!(child.stdin.take().unwrap(), "{call}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    let mut warnings = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut warnings)
        .unwrap();
    child.wait().unwrap();
    assert!(answer.contains("cannot be reached"), "{answer}");
    for text in [answer, warnings] {
        assert!(
            !text.contains("hunter2") && !text.contains("SECRET"),
            "{text}"
        );
    }
}

#[test]
fn other_machines_are_not_served_without_a_token() {
    let folder = folder("exposed");
    let listen = ["mcp", "--listen", "0.0.0.0:0"];
    let run = |more: &[&str]| {
        let words = [&listen, more, &["--", "cat"]].concat();
        let mut child = Running(goodcall(&folder, &words).env("TOKEN", "t").spawn().unwrap());
        let mut line = String::new();
        let stderr = child.0.stderr.take().unwrap();
        BufReader::new(stderr).read_line(&mut line).unwrap();
        line
    };
    assert!(run(&[]).contains("--token-env"));
    assert!(run(&["--token-env", "MISSING"]).contains("MISSING is not set"));
    assert!(run(&["--token-env", "TOKEN"]).contains("can be reached from other machines"));
    assert!(run(&["--allow-unauthenticated"]).contains("serves everybody"));
    let words = ["mcp", "--listen", "127.0.0.1:0", "--", "no-such-server"];
    let ended = goodcall(&folder, &words).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
}

/// Sends one call to a server with the destructive tool `drop`, and returns the last answer.
fn drop_table(folder: &Path, flags: &[&str]) -> String {
    let server = r#"read list
        echo '{"jsonrpc":"2.0","id":"goodcall:tools:1","result":{"tools":[{"name":"drop","annotations":{"destructiveHint":true},"inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}}'
        read call && echo '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'"#;
    let words = [&["mcp"], flags, &["--", "sh", "-c", server]].concat();
    let mut child = goodcall(folder, &words).spawn().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{"n":"5"}}}"#;
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{call}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    drop(stdin);
    child.wait().unwrap();
    answer
}

#[test]
fn configuration_of_a_folder_can_only_make_the_proxy_stricter() {
    let folder = folder("folder");
    let lax = "[tools.drop]\nlevel = \"eager\"\n";
    fs::write(folder.join("goodcall.toml"), lax).unwrap();
    assert!(drop_table(&folder, &[]).contains("was not run"));
    let named = ["--config", "goodcall.toml"];
    assert!(drop_table(&folder, &named).contains("goodcall/changes"));

    fs::create_dir_all(folder.join("config/goodcall")).unwrap();
    fs::write(folder.join("config/goodcall/goodcall.toml"), lax).unwrap();
    assert!(drop_table(&folder, &[]).contains("goodcall/changes"));
    fs::write(folder.join("goodcall.toml"), "policy = \"strict\"").unwrap();
    assert!(drop_table(&folder, &[]).contains("was not run"));
    fs::write(
        folder.join("goodcall.toml"),
        "[tools.drop]\nlevel = \"strict\"",
    )
    .unwrap();
    assert!(drop_table(&folder, &[]).contains("was not run"));
    // What would loosen is not taken over, for all tools or for one.
    fs::write(folder.join("config/goodcall/goodcall.toml"), "").unwrap();
    for lax in [
        "[mcp]\nbad = \"forward\"",
        "[mcp]\nobserve = true",
        "destructive = \"eager\"",
        "[tools.drop]\nobserve = true",
        "[tools.\"*\"]\nbad = \"forward\"\ndestructive = \"safe\"",
        "[mcp.servers.sh]\npolicy = \"eager\"\ntools.drop = { level = \"eager\" }",
    ] {
        fs::write(folder.join("goodcall.toml"), lax).unwrap();
        assert!(drop_table(&folder, &[]).contains("was not run"), "{lax}");
    }
    // What tightens is.
    let forward = "[mcp]\nbad = \"forward\"";
    fs::write(folder.join("config/goodcall/goodcall.toml"), forward).unwrap();
    fs::write(folder.join("goodcall.toml"), "").unwrap();
    assert!(!drop_table(&folder, &[]).contains("was not run"));
    fs::write(folder.join("goodcall.toml"), "[mcp]\nbad = \"refuse\"").unwrap();
    assert!(drop_table(&folder, &[]).contains("was not run"));
    fs::write(folder.join("config/goodcall/goodcall.toml"), lax).unwrap();
    // A mistake in a file that is not trusted stops nothing.
    fs::write(folder.join("goodcall.toml"), "polciy = 1").unwrap();
    assert!(drop_table(&folder, &[]).contains("goodcall/changes"));
}

#[test]
fn all_servers_of_a_configuration_are_inspected() {
    let folder = folder("inspected");
    let server = r#"read a; echo '{"jsonrpc":"2.0","id":"init","result":{}}'; read b; read c
        echo '{"jsonrpc":"2.0","id":"list0","result":{"tools":[{"name":"go","inputSchema":{"type":"SCHEMA"}}]}}'"#;
    let entry = |schema: &str| {
        let server = server.replace("SCHEMA", schema);
        serde_json::json!({"command": "sh", "args": ["-c", server]})
    };
    let good = serde_json::json!({"mcpServers": {"good": entry("object")}});
    let both = serde_json::json!({"mcpServers": {"good": entry("object"), "bad": entry("objekt")}});
    fs::write(folder.join("good.json"), good.to_string()).unwrap();
    fs::write(folder.join("both.json"), both.to_string()).unwrap();
    let inspect = |words: &[&str]| {
        let words = [&["mcp", "inspect"], words].concat();
        let ended = goodcall(&folder, &words).output().unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        (ended.status.code(), printed)
    };
    let (code, printed) = inspect(&["--all", "good.json"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.starts_with("== good\n1 tool: 0 errors"),
        "{printed}"
    );
    let (code, printed) = inspect(&["--all", "both.json", "--jsonl", "--min-severity", "error"]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains(r#""server":"bad""#) && printed.contains("invalid-schema"));
}

#[test]
fn servers_of_the_configuration_are_offered_together() {
    let folder = folder("offered");
    let server = |tool: &str| {
        let list =
            format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]}}"#);
        let answer = |result: &str| {
            format!(
                r#"read a; id=${{a#*\"id\":}}; echo "{{\"id\":${{id%%,*}},\"result\":"'{result}}}'"#
            )
        };
        let opened = answer(r#"{"capabilities":{"tools":{}}}"#);
        format!("{opened}; {}; cat", answer(&list))
    };
    let config = format!(
        "[mcp.servers.a]\ncommand = [\"sh\", \"-c\", {:?}]\nprefix = \"a_\"\n\
         [mcp.servers.b]\ncommand = [\"sh\", \"-c\", {:?}]\n",
        server("go"),
        server("run")
    );
    fs::write(folder.join("servers.toml"), config).unwrap();
    let list = |words: &[&str]| {
        let words = [&["mcp", "--config", "servers.toml"], words].concat();
        let mut child = Running(goodcall(&folder, &words).spawn().unwrap());
        let mut input = child.0.stdin.take().unwrap();
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        writeln!(input, r#"{{"id":1,"method":"initialize"}}"#).unwrap();
        lines.next().unwrap().unwrap();
        writeln!(input, r#"{{"id":2,"method":"tools/list"}}"#).unwrap();
        lines.next().unwrap().unwrap()
    };
    let both = list(&[]);
    assert!(
        both.contains(r#""name":"a_go""#) && both.contains(r#""name":"run""#),
        "{both}"
    );
    let one = list(&["--name", "a"]);
    assert!(
        one.contains(r#""name":"a_go""#) && !one.contains("run"),
        "{one}"
    );
    let missing = goodcall(&folder, &["mcp", "--config", "servers.toml", "--name", "c"]);
    let ended = { missing }.output().unwrap();
    let text = String::from_utf8(ended.stderr).unwrap();
    assert!(
        text.contains("--name c: the configuration has no such server"),
        "{text}"
    );
}

#[test]
fn recorded_session_is_replayed_without_the_server() {
    let folder = folder("recorded");
    let server = r#"read a; echo '{"id":0,"result":{"v":1}}'; read b; echo '{"id":"goodcall:tools:1","result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}}'; read c; echo '{"id":1,"result":{"content":[],"n":1}}'; cat"#;
    let requests = [
        r#"{"id":0,"method":"initialize","params":{}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"go","arguments":{"x":1}}}"#,
    ];
    let answers = |words: &[&str]| {
        let mut child = Running(goodcall(&folder, words).spawn().unwrap());
        let mut input = child.0.stdin.take().unwrap();
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let answers = requests.map(|request| {
            writeln!(input, "{request}").unwrap();
            lines.next().unwrap().unwrap()
        });
        drop(input);
        answers
    };
    let recorded = answers(&["mcp", "--record", "session.jsonl", "--", "sh", "-c", server]);
    assert_eq!(recorded[1], r#"{"id":1,"result":{"content":[],"n":1}}"#);
    let file = folder.join("session.jsonl");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(answers(&["mcp", "replay", "session.jsonl"]), recorded);
    let audited = goodcall(&folder, &["audit", "session.jsonl"]).output();
    let report = String::from_utf8(audited.unwrap().stdout).unwrap();
    assert!(report.contains("(goodcall-mcp-record 1)"), "{report}");
    assert!(report.contains("without tools              1"), "{report}");
}

#[test]
fn headers_and_address_come_from_the_environment() {
    let folder = folder("header-env");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp?key=hidden", listener.local_addr().unwrap());
    let words = ["mcp", "--url-env", "ADDRESS", "--header-env", "X-Key=KEY"];
    let mut command = goodcall(&folder, &words);
    command.env("ADDRESS", &url).env("KEY", "sesame");
    let mut child = Running(command.spawn().unwrap());
    let mut input = child.0.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    let (socket, _) = listener.accept().unwrap();
    let lines = BufReader::new(socket).lines().map_while(Result::ok);
    let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(head[0].starts_with("POST /mcp?key=hidden "), "{head:?}");
    assert!(head.iter().any(|line| line == "x-key: sesame"), "{head:?}");

    for (words, missing) in [
        (&["--header-env", "X-Key=KEY"][..], "KEY is not set"),
        (&["--header-env", "X-Key"], "expected NAME=VARIABLE"),
    ] {
        let words = [&["mcp", "--url", &url], words].concat();
        let ended = goodcall(&folder, &words).output().unwrap();
        assert_eq!(ended.status.code(), Some(2));
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(told.contains(missing) && !told.contains("hidden"), "{told}");
    }
}

#[test]
fn command_is_taken_without_two_dashes() {
    let folder = folder("dashes");
    let line = r#"{"jsonrpc":"2.0","method":"notifications/hello"}"#;
    let server = format!("echo '{line}'; read -r _");
    let mut child = goodcall(&folder, &["mcp", "sh", "-c", &server])
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut said).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(said.trim_end(), line);
}

/// A request, and the answer of the server behind [`proxy_of_an_echo`].
const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const SAID: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// A proxy in front of a server that gives the same answer to every line.
fn proxy_of_an_echo(folder: &Path) -> Command {
    let server = format!("while read -r line; do echo '{SAID}'; done");
    goodcall(folder, &["mcp", "--", "sh", "-c", &server])
}

#[test]
fn client_on_sockets_is_served() {
    let folder = folder("sockets");
    for errors_are_apart in [true, false] {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_read_timeout(Some(PATIENCE)).unwrap();
        let end = || OwnedFd::from(far.try_clone().unwrap());
        let mut command = proxy_of_an_echo(&folder);
        command.stdin(end()).stdout(end());
        if !errors_are_apart {
            command.stderr(end());
        }
        let mut child = Running(command.spawn().unwrap());
        drop(command);
        let mut lines = BufReader::new(&near);
        for _ in 0..3 {
            writeln!(&near, "{ASKED}").unwrap();
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), SAID);
        }
        // The server inherits standard error, and may rely on its waiting.
        let patience = Duration::from_secs(1);
        far.set_read_timeout(Some(patience)).unwrap();
        let began = Instant::now();
        assert!((&far).read(&mut [0]).is_err());
        assert_eq!(began.elapsed() < patience * 9 / 10, errors_are_apart);
        near.shutdown(Shutdown::Write).unwrap();
        assert!(child.0.wait().unwrap().success());
    }
}

#[test]
fn input_and_output_may_be_files() {
    let folder = folder("files");
    fs::write(folder.join("input"), format!("{ASKED}\n")).unwrap();
    let mut command = proxy_of_an_echo(&folder);
    command.stdin(fs::File::open(folder.join("input")).unwrap());
    command.stdout(fs::File::create(folder.join("output")).unwrap());
    assert!(command.status().unwrap().success());
    let output = fs::read_to_string(folder.join("output")).unwrap();
    assert_eq!(output.trim_end(), SAID);
}

/// What the command says on standard error, without its name.
fn complaint(folder: &Path, words: &[&str]) -> String {
    let mut command = goodcall(folder, words);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn wrong_usage_is_told_by_what_was_wrong() {
    let folder = folder("usage");
    fs::write(folder.join("plain"), "text").unwrap();
    let servers = "[mcp.servers.a]\ncommand = [\"true\"]\n[mcp.servers.b]\ncommand = \"sleep 9\"\n";
    fs::write(folder.join("two.toml"), servers).unwrap();
    let url = "the server's URL: relative URL without a base: expected a URL that begins with";
    let refused = "the server cannot be reached: error sending request";
    for (words, expected) in [
        (
            &["--liste", "127.0.0.1:0", "--", "true"][..],
            "unexpected argument '--liste' found",
        ),
        (
            &["--", "no-such-program"],
            "`no-such-program` cannot be started: No such file",
        ),
        (
            &["--", "./plain"],
            "`./plain` cannot be started: the file may not be executed",
        ),
        (&["--url", "example.org/mcp"], url),
        (
            &["--config", "two.toml", "--name", "c"],
            "--name c: the configuration has no such server",
        ),
        (
            &["--config", "two.toml", "--name", "b"],
            "if its arguments are part of the name, write each apart",
        ),
        (
            &["inspect", "--url", "http://127.0.0.1:1/"],
            "does not list its tools: the server cannot be reached",
        ),
        (&["login", "http://127.0.0.1:1/"], refused),
    ] {
        let said = complaint(&folder, &[&["mcp"], words].concat());
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn program_of_a_server_is_looked_for_in_its_folder() {
    let folder = folder("cwd");
    let server = folder.join("below/server");
    fs::create_dir(folder.join("below")).unwrap();
    fs::write(
        &server,
        "#!/bin/sh\necho '{\"jsonrpc\":\"2.0\",\"method\":\"seen\"}'\nread -r line\n",
    )
    .unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let config = "[mcp.servers.a]\ncommand = [\"./server\"]\ncwd = \"below\"\n";
    fs::write(folder.join("one.toml"), config).unwrap();
    let mut command = goodcall(&folder, &["mcp", "--config", "one.toml"]);
    let mut child = Running(command.spawn().unwrap());
    let mut line = String::new();
    let output = child.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"method\":\"seen\"}\n");
}
