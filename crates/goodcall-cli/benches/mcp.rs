//! Measures the latency that the proxy adds: `cargo bench --package goodcall-cli --bench mcp`.
//!
//! Calls go to a server that answers at once, directly and through `goodcall mcp` by turns. Without
//! `--bench`, as in `cargo test`, a few calls show that the benchmark runs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark may fail loudly"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = "--be-the-server";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|word| word == SERVER) {
        return serve();
    }
    let calls = if arguments.iter().any(|word| word == "--bench") {
        20_000
    } else {
        20
    };
    let me = std::env::current_exe().unwrap();
    let mut direct = Client::start(Command::new(&me).arg(SERVER));
    let goodcall = env!("CARGO_BIN_EXE_goodcall");
    let mut proxied = Client::start(
        Command::new(goodcall)
            .args(["mcp", "--"])
            .arg(&me)
            .arg(SERVER),
    );
    let good = r#"{"path":"src/main.rs","limit":50}"#;
    let mended = r#"{"path":"src/main.rs","limit":"50"}"#;
    let kinds = [("good", good), ("mended", mended)];
    for (kind, arguments) in kinds {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // Blocks of calls by turns, so that both see the same load of the machine.
        for _ in 0..calls / 20 {
            for _ in 0..20 {
                without.push(direct.call(good));
            }
            for _ in 0..20 {
                with.push(proxied.call(arguments));
            }
        }
        let (without, with) = (Spread::of(without), Spread::of(with));
        println!(
            "{kind}: direct p50 {:?} p99 {:?}; through the proxy p50 {:?} p99 {:?}; added p50 {:?} p99 {:?}",
            without.p50,
            without.p99,
            with.p50,
            with.p99,
            with.p50.saturating_sub(without.p50),
            with.p99.saturating_sub(without.p99),
        );
    }
}

/// Answers every request at once.
fn serve() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let id = line
            .split("\"id\":")
            .nth(1)
            .and_then(|rest| rest.split([',', '}']).next());
        let Some(id) = id else { continue };
        let result = if line.contains("tools/list") {
            r#"{"tools":[{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}}]}"#
        } else {
            r#"{"content":[{"type":"text","text":"fn main() {}"}]}"#
        };
        writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).unwrap();
        out.flush().unwrap();
    }
}

struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    line: String,
    id: u64,
}

impl Client {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self {
            child,
            to,
            from,
            line: String::new(),
            id: 0,
        };
        // The first call waits for the list of tools.
        for _ in 0..10 {
            client.call(r#"{"path":"a"}"#);
        }
        client
    }

    fn call(&mut self, arguments: &str) -> Duration {
        self.id += 1;
        let id = self.id;
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"read_file\",\"arguments\":{arguments}}}}}\n"
        );
        let started = Instant::now();
        self.to
            .as_mut()
            .unwrap()
            .write_all(call.as_bytes())
            .unwrap();
        self.line.clear();
        self.from.read_line(&mut self.line).unwrap();
        let took = started.elapsed();
        assert!(self.line.contains("fn main"), "{}", self.line);
        took
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}

struct Spread {
    p50: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        let at = |percent: usize| {
            all.get(all.len() * percent / 100)
                .copied()
                .unwrap_or_default()
        };
        Self {
            p50: at(50),
            p99: at(99),
        }
    }
}
