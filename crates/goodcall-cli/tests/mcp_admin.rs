//! `goodcall mcp --admin` and `--otlp` as a process, in every mode.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A server with the tool `f`, which needs the integer `a`.
const SERVER: &str = r#"while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    case $line in
        *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
        *'"notifications/'*) continue;;
        *'"tools/list"'*) r='{"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]}';;
        *) r='{"content":[]}';;
    esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$r}"
done"#;

const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

fn call(id: u32, arguments: &str) -> String {
    let params = format!(r#"{{"name":"f","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A proxy that runs until the test ends.
struct Proxy {
    process: Child,
    errors: BufReader<ChildStderr>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Proxy {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
        command.arg("mcp").args(words).current_dir(folder);
        command.env("XDG_CONFIG_HOME", folder.join("config"));
        command.env("PAGE_TOKEN", "secret");
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        Self { process, errors }
    }

    /// Reads standard error up to the line with this text, and returns what follows it there.
    fn told(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.errors.read_line(&mut line).unwrap() > 0, "no {text}");
            if let Some((_, rest)) = line.split_once(text) {
                return rest.trim_end().to_owned();
            }
        }
    }

    /// The host and port of the page.
    fn page(&mut self) -> String {
        let rest = self.told("page at http://");
        rest.strip_suffix("/goodcall").unwrap().to_owned()
    }

    /// Makes two calls over pipes: one is mended, one is bad.
    fn call_over_pipes(&mut self) {
        let mut input = self.process.stdin.take().unwrap();
        let mut output = BufReader::new(self.process.stdout.take().unwrap());
        for request in [OPEN, &call(1, r#"{"a":"17"}"#), &call(2, "{}")] {
            writeln!(input, "{request}").unwrap();
            let mut answer = String::new();
            output.read_line(&mut answer).unwrap();
            assert!(answer.contains("\"result\""), "{answer}");
        }
        self.process.stdin = Some(input);
        self.process.stdout = Some(output.into_inner());
    }

    /// The same over HTTP.
    fn call_over_http(address: &str) {
        let opened = post(address, "", OPEN);
        let session = opened.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
        });
        let session = format!("mcp-session-id: {}\r\n", session.unwrap());
        for request in [call(1, r#"{"a":"17"}"#), call(2, "{}")] {
            let answer = post(address, &session, &request);
            assert!(answer.contains("\"result\""), "{answer}");
        }
    }
}

fn send(address: &str, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn post(address: &str, headers: &str, body: &str) -> String {
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    send(
        address,
        &format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{accept}\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

fn get(address: &str, path: &str, headers: &str) -> String {
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\r\n");
    send(address, &head)
}

/// The page and the metrics have both calls.
fn check_page(address: &str, server: &str) {
    let page = get(address, "/goodcall/requests", "");
    let (_, body) = page.split_once("\r\n\r\n").unwrap();
    let data: serde_json::Value = serde_json::from_str(body).unwrap();
    let calls: Vec<_> = data["requests"].as_array().unwrap().iter().collect();
    let outcomes: Vec<_> = calls.iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["mended", "bad"], "{body}");
    assert!(calls.iter().all(|call| call["route"] == server), "{body}");
    let metrics = get(address, "/metrics", "");
    let line = format!(r#"goodcall_calls_total{{tool="f",verdict="mended",server="{server}"}} 1"#);
    assert!(metrics.contains(&line), "{metrics}");
    assert!(get(address, "/healthz", "").ends_with("ok\n"));
    assert!(get(address, "/readyz", "").ends_with("ready\n"));
}

#[test]
fn page_shows_the_calls_of_every_mode() {
    let folder = folder("admin");
    let admin = ["--admin", "127.0.0.1:0", "--name", "notes"];
    let listen = ["--listen", "127.0.0.1:0"];
    let command = ["--", "sh", "-c", SERVER];

    let mut pipes = Proxy::start(&folder, &[&admin[..], &command].concat());
    let page = pipes.page();
    pipes.call_over_pipes();
    check_page(&page, "notes");

    let mut listening = Proxy::start(&folder, &[&admin[..], &listen, &command].concat());
    let page = listening.page();
    let address = listening.told("listening at http://");
    let address = address.strip_suffix("/mcp").unwrap();
    Proxy::call_over_http(address);
    check_page(&page, "notes");

    // The listener is the server behind a URL for two more proxies.
    let plain = [&listen[..], &["--policy", "strict", "--observe"], &command].concat();
    let mut behind = Proxy::start(&folder, &plain);
    let url = format!("http://{}", behind.told("listening at http://"));
    let mut client = Proxy::start(&folder, &[&admin[..], &["--url", &url]].concat());
    let page = client.page();
    client.call_over_pipes();
    check_page(&page, "notes");

    let mut relay = Proxy::start(&folder, &[&admin[..], &listen, &["--url", &url]].concat());
    let page = relay.page();
    let address = relay.told("listening at http://");
    Proxy::call_over_http(address.strip_suffix("/mcp").unwrap());
    check_page(&page, "notes");
}

#[test]
fn page_shows_the_calls_of_several_servers_and_asks_for_its_token() {
    let folder = folder("admin-group");
    let config = format!(
        "[mcp]\nadmin = \"127.0.0.1:0\"\nadmin_token_env = \"PAGE_TOKEN\"\n\
         [mcp.servers.a]\ncommand = [\"sh\", \"-c\", {SERVER:?}]\n\
         [mcp.servers.b]\ncommand = [\"sh\", \"-c\", {SERVER:?}]\nprefix = \"b_\"\n"
    );
    fs::write(folder.join("servers.toml"), config).unwrap();
    let mut proxy = Proxy::start(&folder, &["--config", "servers.toml"]);
    let page = proxy.page();
    proxy.call_over_pipes();
    assert!(get(&page, "/goodcall/requests", "").starts_with("HTTP/1.1 401"));
    assert!(get(&page, "/readyz", "").ends_with("ready\n"));
    let data = get(
        &page,
        "/goodcall/requests",
        "authorization: Bearer secret\r\n",
    );
    assert_eq!(data.matches(r#""route":"a""#).count(), 2, "{data}");

    // A second proxy of the same configuration works without the address; a listener does not start.
    let taken = ["--admin", &page, "--", "sh", "-c", SERVER];
    let mut second = Proxy::start(&folder, &taken);
    assert!(
        second
            .told(&format!("--admin {page}: "))
            .contains("there is no page")
    );
    second.call_over_pipes();
    let words = [&["--listen", "127.0.0.1:0"], &taken[..]].concat();
    let mut refused = Proxy::start(&folder, &words);
    refused.told(&format!("--admin {page}: "));
    assert_eq!(refused.process.wait().unwrap().code(), Some(2));
}

#[test]
fn configuration_of_a_folder_opens_no_admin_address() {
    let folder = folder("admin-folder");
    fs::write(
        folder.join("goodcall.toml"),
        "[mcp]\nadmin = \"127.0.0.1:0\"\n",
    )
    .unwrap();
    let mut proxy = Proxy::start(&folder, &["--", "sh", "-c", SERVER]);
    proxy.call_over_pipes();
    drop(proxy.process.stdin.take());
    let mut told = String::new();
    proxy.errors.read_to_string(&mut told).unwrap();
    assert!(
        told.contains("stricter") && !told.contains("page at"),
        "{told}"
    );
}

#[test]
fn spans_reach_the_collector() {
    let folder = folder("spans");
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", collector.local_addr().unwrap());
    let mut proxy = Proxy::start(&folder, &["--otlp", &url, "--", "sh", "-c", SERVER]);
    proxy.call_over_pipes();
    drop(proxy.process.stdin.take());
    let (mut socket, _) = collector.accept().unwrap();
    let mut sent = Vec::new();
    let mut piece = [0; 4096];
    let has = |sent: &[u8], text: &str| sent.windows(text.len()).any(|own| own == text.as_bytes());
    while !has(&sent, "tools/call f") || !has(&sent, "goodcall.verdict") {
        let read = socket.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&sent));
        sent.extend_from_slice(&piece[..read]);
    }
    assert!(sent.starts_with(b"POST /v1/traces "));
    let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
}
