//! `goodcall gateway` as a process: its file, its environment, its signals.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A gateway that runs until the test ends.
struct Running {
    process: Child,
    /// The lines that it wrote to standard error.
    lines: Receiver<String>,
    folder: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Running {
    /// Starts a gateway with this file, on a free port. It writes a log only if the file says so.
    fn start(name: &str, file: &str, variables: &[(&str, &str)]) -> Self {
        let folder = format!("goodcall-cli-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("goodcall.toml");
        std::fs::write(&path, file).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
        command.args(["gateway", "--listen", "127.0.0.1:0"]);
        if !file.contains("log = ") {
            command.args(["--log", "off"]);
        }
        command
            .arg("--config")
            .arg(&path)
            .current_dir(&folder)
            .envs(variables.iter().copied());
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self {
            process,
            lines,
            folder,
        }
    }

    /// Waits for the next line.
    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Reads the address from the first line.
    fn address(&self) -> (String, String) {
        let line = self.line();
        let (_, rest) = line.split_once("listening on http://").unwrap();
        (rest.split(',').next().unwrap().to_owned(), line.clone())
    }
}

/// Starts an upstream that answers one request with `{}`, or what else is written after its head.
fn upstream() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if socket.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let _ = sender.send(String::from_utf8_lossy(&head).into_owned());
            let _ = socket.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            );
        }
    });
    (address, heads)
}

fn get(address: &str, path: &str, headers: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    let _ = socket.read_to_string(&mut reply);
    reply
}

fn post(address: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    let size = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\
         connection: close\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    let _ = socket.read_to_string(&mut reply);
    reply
}

fn head(heads: &Receiver<String>) -> String {
    heads.recv_timeout(Duration::from_secs(60)).unwrap()
}

#[test]
fn routes_of_the_file_are_served_with_keys_of_the_environment() {
    let (upstream, heads) = upstream();
    let file = format!(
        "[gateway.routes.one]\nupstream = \"http://{upstream}/base\"\n\
         headers = {{ authorization = \"Bearer ${{GOODCALL_TEST_KEY}}\" }}\n"
    );
    let running = Running::start("routes", &file, &[("GOODCALL_TEST_KEY", "own-key")]);
    let (address, line) = running.address();
    let path = running.folder.join("goodcall.toml");
    let wanted = format!(
        "goodcall: listening on http://{address}, route one to http://{upstream}/base, \
         settings from {}",
        path.display()
    );
    assert_eq!(line, wanted);
    let reply = get(
        &address,
        "/one/v1/models",
        "authorization: Bearer client\r\n",
    );
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    let seen = head(&heads);
    assert!(
        seen.starts_with("GET /base/v1/models HTTP/1.1\r\n"),
        "{seen}"
    );
    assert!(seen.contains("authorization: Bearer own-key\r\n"), "{seen}");
    let reply = get(&address, "/v1/models", "");
    assert!(reply.contains("\"code\":\"no_route\""), "{reply}");
}

#[test]
fn missing_variable_of_a_header_is_named() {
    let file = "[gateway.routes.one]\nupstream = \"http://127.0.0.1:9\"\n\
                headers = { x-key = \"${GOODCALL_NO_SUCH_VARIABLE}\" }\n";
    let running = Running::start("variable", file, &[]);
    let line = running.line();
    let wanted = "routes.one: headers: the environment has no variable GOODCALL_NO_SUCH_VARIABLE";
    assert!(line.ends_with(wanted), "{line}");
}

#[test]
fn address_that_is_taken_is_named_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodcall"));
    command.args(["gateway", "--upstream", "http://127.0.0.1:9", "--listen"]);
    let output = command.arg(address.to_string()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let wanted = format!("cannot listen on {address}: ");
    assert!(text.contains(&wanted), "{text}");
    assert!(text.contains("another port with --listen"), "{text}");
}

/// A request that is not judged is logged with what it asked for.
#[test]
fn log_has_the_model_and_the_stream_of_a_request_without_tools() {
    let (upstream, _heads) = upstream();
    let file = format!("[gateway]\nupstream = \"http://{upstream}\"\nlog = \"stderr\"\n");
    let running = Running::start("log", &file, &[]);
    let (address, _) = running.address();
    post(&address, r#"{"model":"m","stream":true,"messages":[]}"#);
    let line = loop {
        let line = running.line();
        if line.starts_with('{') {
            break line;
        }
    };
    for part in [
        r#""path":"/v1/chat/completions""#,
        r#""status":200"#,
        r#""stream":true"#,
        r#""model":"m""#,
        r#""passed":"no_tools""#,
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

/// An upstream elsewhere is reached through the proxy of the environment, and one that `NO_PROXY`
/// names is not.
#[test]
fn proxy_of_the_environment_is_used() {
    let (proxy, heads) = upstream();
    let url = format!("http://{proxy}");
    let file = "[gateway]\nupstream = \"http://api.example\"\n";
    let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", "other.example")];
    let running = Running::start("proxy", file, &variables);
    let (address, _) = running.address();
    get(&address, "/v1/models", "");
    let seen = head(&heads);
    assert!(
        seen.starts_with("GET http://api.example/v1/models HTTP/1.1\r\n"),
        "{seen}"
    );

    let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", "api.example")];
    let running = Running::start("no-proxy", file, &variables);
    let (address, _) = running.address();
    let reply = get(&address, "/v1/models", "");
    assert!(reply.starts_with("HTTP/1.1 502 "), "{reply}");
    assert!(heads.try_recv().is_err(), "the proxy was asked");
}

#[cfg(unix)]
#[test]
fn broken_file_is_one_line_on_a_reload_and_the_old_settings_stay() {
    let (upstream, heads) = upstream();
    // So few that the limit on open files is not worth a line.
    let file = format!("[gateway]\nupstream = \"http://{upstream}\"\nmax_requests = 10\n");
    let running = Running::start("reload", &file, &[]);
    let (address, _) = running.address();
    assert!(running.line().starts_with("goodcall: page on "));
    std::fs::write(
        running.folder.join("goodcall.toml"),
        "[gateway]\nupstream = \n",
    )
    .unwrap();
    let id = running.process.id().to_string();
    // Until it listens for the signal, it would end by it; then the file is read again.
    assert!(get(&address, "/healthz", "").contains("ok"));
    assert!(
        Command::new("kill")
            .args(["-HUP", &id])
            .status()
            .unwrap()
            .success()
    );
    let line = running.line();
    assert!(
        line.starts_with("goodcall: the old settings stay in force: "),
        "{line}"
    );
    assert!(line.contains("goodcall.toml: "), "{line}");
    let quiet = running.lines.recv_timeout(Duration::from_millis(200));
    assert!(quiet.is_err(), "a second line: {quiet:?}");
    get(&address, "/v1/models", "");
    assert!(head(&heads).starts_with("GET /v1/models "));
}

/// Starts a collector, which sends the bytes of one request.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let wait = Some(Duration::from_secs(2));
        socket.set_read_timeout(wait).unwrap();
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(size) = socket.read(&mut piece) {
            bytes.extend_from_slice(&piece[..size]);
            if size == 0 {
                break;
            }
        }
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let _ = sender.send(bytes);
    });
    (address, bodies)
}

#[cfg(unix)]
#[test]
fn environment_names_the_service_of_the_spans() {
    let (upstream, _heads) = upstream();
    let (collector, bodies) = collector();
    let file = format!(
        "[gateway]\nupstream = \"http://{upstream}\"\notlp = \"http://{collector}/v1/traces\"\n"
    );
    let variables = [("OTEL_SERVICE_NAME", "front-door")];
    let running = Running::start("service", &file, &variables);
    let (address, _) = running.address();
    let reply = post(&address, r#"{"model":"m","messages":[]}"#);
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    let id = running.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let sent = bodies.recv_timeout(Duration::from_secs(60)).unwrap();
    let sent = String::from_utf8_lossy(&sent);
    assert!(sent.starts_with("POST /v1/traces "), "{sent}");
    assert!(
        sent.contains("front-door") && sent.contains("chat m"),
        "{sent}"
    );
}
