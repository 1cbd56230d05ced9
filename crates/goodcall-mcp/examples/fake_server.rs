//! An MCP server on pipes that misbehaves on request, for the integration tests:
//! `fake_server [plain|junk|stubborn]`.
#![allow(
    clippy::unwrap_used,
    reason = "a broken message is a mistake of the test"
)]

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    serve(&mode);
}

fn serve(mode: &str) {
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = &message["id"];
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}});
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})
            }
            Some("tools/list") => {
                let mut region = tool("region");
                region["inputSchema"]["properties"]["n"]["x-mcp-header"] = json!("N");
                json!({"tools": [tool("echo"), tool("die"), tool("hang"), tool("big"), tool("pid"), region]})
            }
            Some("tools/call") => match message["params"]["name"].as_str().unwrap() {
                "die" => std::process::exit(3),
                "hang" => continue,
                "big" => json!({"content": [{"type": "text", "text": "x".repeat(50 << 20)}]}),
                "pid" => json!({"content": [], "pid": std::process::id()}),
                _ => json!({"content": [], "got": message["params"]["arguments"]}),
            },
            _ if id.is_null() => continue,
            _ => json!({}),
        };
        if mode == "junk" {
            writeln!(out, "debug: got {}", line.len()).unwrap();
            out.write_all(b"\xff\xfe{\n\n").unwrap();
        }
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
    if mode == "stubborn" {
        std::thread::sleep(Duration::from_secs(600));
    }
}
