//! The command for many connections: what a gateway runs lies side by side in the program.
//!
//! The system reads a program in pieces of 64 kB around each function that is called, and the
//! functions of a gateway are spread over all of it. Here the command is built, run as a gateway
//! under valgrind, which notes what is called, and linked once more in that order.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Failure;
use crate::callgrind::{cargo, executable, output};

/// What is sent through the gateway while it is looked at, by the tool for benchmarks: streams that
/// are open at once, whole replies, streams, and all of what can go wrong.
const TRAFFIC: [(&str, &[&str]); 4] = [
    ("hold", &["20", "3"]),
    ("run", &["json", "4", "64"]),
    ("run", &["sse", "4", "64"]),
    ("soak", &["5", "8"]),
];

pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Unusable("usage: release".to_owned()));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Failure::Unusable(
            "functions are put in order by lld, which Rust links with on x86-64 Linux; elsewhere: \
             cargo build --release"
                .to_owned(),
        ));
    }
    println!("building the command, and what sends it requests");
    let json = "--message-format=json-render-diagnostics";
    let plain = ["build", "--release", "--package=goodcall-cli", json];
    let program = built(&plain, "goodcall", "bin")?;
    let load = ["--package=goodcall-gateway", "--example=load", json];
    let load = built(
        &[&["build", "--release"][..], &load].concat(),
        "load",
        "example",
    )?;
    println!("running it as a gateway");
    let folder = program.with_file_name("ordered");
    let unusable = |error: io::Error| Failure::Unusable(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(unusable)?;
    let profile = folder.join("profile");
    watch(&program, &load, &profile)?;
    let called = fs::read_to_string(&profile).map_err(unusable)?;
    let called = called_in(&called);
    println!("linking it with {} functions in order", called.len());
    let order = folder.join("functions");
    fs::write(&order, called.join("\n")).map_err(unusable)?;
    let order = format!("-Clink-arg=-Wl,--symbol-ordering-file={}", order.display());
    // Functions of the C library are called, too, and are not linked here.
    let quiet = "-Clink-arg=-Wl,--no-warn-symbol-ordering";
    let linked = [
        "rustc",
        "--release",
        "--package=goodcall-cli",
        "--bin=goodcall",
    ];
    let linked = [&linked[..], &[json, "--", &order, quiet]].concat();
    let linked = built(&linked, "goodcall", "bin")?;
    // Where no other build takes its place.
    let program = folder.join("goodcall");
    fs::copy(linked, &program).map_err(unusable)?;
    println!("{}", program.display());
    Ok(())
}

fn built(args: &[&str], name: &str, kind: &str) -> Result<PathBuf, Failure> {
    let messages = output(cargo().args(args).stderr(Stdio::inherit()))?;
    executable(&messages, name, kind)
}

/// A process that is ended with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(command: &mut Command) -> Result<Self, Failure> {
        let started = command.spawn();
        let program = command.get_program().display();
        started
            .map(Self)
            .map_err(|error| Failure::Unusable(format!("{program}: {error}; it is needed here")))
    }

    /// Asks it to end, and waits for that.
    fn end(&mut self) -> Result<(), Failure> {
        output(Command::new("kill").arg(self.0.id().to_string()))?;
        let ended = self.0.wait();
        let well = ended.is_ok_and(|status| status.success());
        well.then_some(())
            .ok_or_else(|| Failure::Found("the gateway did not end well".to_owned()))
    }
}

/// The first number that a process prints behind these words.
fn port(from: Option<impl Read>, words: &str) -> Result<u16, Failure> {
    let lines = from.into_iter().flat_map(|out| BufReader::new(out).lines());
    let mut ports = lines.map_while(Result::ok).filter_map(|line| {
        let (_, rest) = line.split_once(words)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    ports
        .next()
        .ok_or_else(|| Failure::Found(format!("nobody listens: no port behind {words:?}")))
}

/// Sends a gateway under valgrind its traffic; what it calls is in the file `profile` then.
fn watch(program: &Path, load: &Path, profile: &Path) -> Result<(), Failure> {
    let mut upstream = Command::new(load);
    let mut upstream = Running::start(upstream.arg("upstream").stdout(Stdio::piped()))?;
    let upstream_port = port(upstream.0.stdout.as_mut(), "")?;
    let mut gateway = Command::new("valgrind");
    gateway
        .args(["--quiet", "--tool=callgrind", "--demangle=no"])
        .args(["--compress-strings=no", "--combine-dumps=yes"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["gateway", "--log=off", "--listen=127.0.0.1:0"])
        .arg(format!("--upstream=http://127.0.0.1:{upstream_port}"))
        .stderr(Stdio::piped());
    let mut gateway = Running::start(&mut gateway)?;
    let listens = port(gateway.0.stderr.as_mut(), "listening on http://127.0.0.1:")?;
    let url = format!("http://127.0.0.1:{listens}");
    let process = gateway.0.id().to_string();
    for (what, more) in TRAFFIC {
        output(Command::new(load).args([what, &url]).args(more))?;
        // In parts: what is called last, where something goes wrong, stands last.
        output(Command::new("callgrind_control").args(["--dump", &process]))?;
    }
    gateway.end()
}

/// The functions that a profile names, each once, where it is named first.
fn called_in(profile: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    let names = profile.lines().filter_map(|line| {
        let name = line.strip_prefix('c').unwrap_or(line).strip_prefix("fn=")?;
        // `name'2`: called by itself.
        Some(name.split('\'').next().unwrap_or(name))
    });
    names.filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_named_once() {
        let profile = "events: Ir\n\nfl=a.rs\nfn=_ZN1a1bE\n1 20\ncfn=_ZN1c1dE\ncalls=1 0\n2 7\n\n\
                       fn=_ZN1c1dE\n3 5\nfn=_ZN1c1dE'2\n3 5\nfn=main\n";
        assert_eq!(called_in(profile), ["_ZN1a1bE", "_ZN1c1dE", "main"]);
    }

    #[test]
    fn a_port_stands_behind_words() {
        let said = "warning\ngoodcall: listening on http://127.0.0.1:4711, upstream x\n";
        let found = port(Some(said.as_bytes()), "listening on http://127.0.0.1:");
        assert!(matches!(found, Ok(4711)));
        assert!(matches!(port(Some("80\n".as_bytes()), ""), Ok(80)));
        assert!(port(Some("no\n".as_bytes()), "").is_err());
    }
}
