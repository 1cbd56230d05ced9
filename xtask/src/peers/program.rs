//! The programs that run the peers: one in Rust, a script for Node, one for Python.
//!
//! A peer that cannot be installed is left out, and the document says why.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::callgrind::{cargo, output};

pub(super) const SCRATCH: &str = "target/peers";
const NODE_PACKAGES: [&str; 4] = ["ajv@8", "ajv-formats@3", "zod@4", "jsonrepair@3"];
const PYTHON_PACKAGES: [&str; 4] = ["pydantic>=2,<3", "msgspec", "json_repair", "baml-py"];

/// The end of a run with a time limit.
pub(super) enum Timed {
    /// It succeeded and printed this.
    Done(String),
    /// It exceeded the time limit.
    Late,
    /// It failed.
    Failed(String),
}

/// A language whose peers are run by a script.
pub(super) struct Script {
    pub(super) language: &'static str,
    start: Vec<String>,
    /// The name and version of each peer.
    pub(super) peers: Map<String, Value>,
    /// The peers that could not be installed, with the reasons.
    pub(super) missing: Vec<String>,
}

/// The installed programs.
pub(super) struct Programs {
    pub(super) rust: PathBuf,
    /// The same program, built with cargo's default release profile.
    pub(super) usual: PathBuf,
    pub(super) scripts: Vec<Script>,
}

impl Programs {
    /// Builds and installs all programs.
    pub(super) fn set_up() -> Result<Self, Failure> {
        std::fs::create_dir_all(SCRATCH).map_err(|e| Failure::Unusable(e.to_string()))?;
        eprintln!("-- building the Rust peers");
        let rust = build("rust", &[])?;
        let usual = build("usual", &USUAL)?;
        eprintln!("-- installing the peers for Node and Python");
        Ok(Self {
            rust,
            usual,
            scripts: vec![node(), python()],
        })
    }

    /// Runs the Rust program.
    pub(super) fn ask(&self, args: &[&str]) -> Result<String, Failure> {
        output(Command::new(&self.rust).args(args))
    }
}

/// The settings of cargo's default release profile.
const USUAL: [(&str, &str); 2] = [
    ("CARGO_PROFILE_RELEASE_LTO", "false"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
];

/// Builds the Rust program into a folder of its own.
fn build(folder: &str, settings: &[(&str, &str)]) -> Result<PathBuf, Failure> {
    let target = format!("{SCRATCH}/{folder}");
    let arguments = [
        "build",
        "--release",
        "--locked",
        "--manifest-path=benches/peers/Cargo.toml",
        &format!("--target-dir={target}"),
    ];
    output(cargo().args(arguments).envs(settings.iter().copied()))?;
    Ok(PathBuf::from(format!("{target}/release/peers")))
}

impl Script {
    /// Runs the script.
    pub(super) fn ask(&self, args: &[&str]) -> Result<String, Failure> {
        output(&mut self.command(args))
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.start[0]);
        command.args(&self.start[1..]).args(args);
        command
    }
}

fn node() -> Script {
    let folder = format!("{SCRATCH}/node");
    let mut missing = Vec::new();
    for package in NODE_PACKAGES {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        if let Err(why) = output(npm.args([folder.as_str(), package])) {
            missing.push(reason(package, &why));
        }
    }
    let start = ["node", "benches/peers/node.mjs", &folder];
    script("Node", start.map(str::to_owned).to_vec(), missing)
}

fn python() -> Script {
    let folder = format!("{SCRATCH}/python");
    let mut missing = Vec::new();
    if !Path::new(&folder).exists()
        && let Err(why) = output(Command::new("python3").args(["-m", "venv", &folder]))
    {
        missing.push(reason("a virtual environment", &why));
    }
    for package in PYTHON_PACKAGES {
        let mut pip = Command::new(format!("{folder}/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        if let Err(why) = output(pip.arg(package)) {
            missing.push(reason(package, &why));
        }
    }
    let start = [
        format!("{folder}/bin/python"),
        "benches/peers/python.py".to_owned(),
    ];
    script("Python", start.to_vec(), missing)
}

fn script(language: &'static str, start: Vec<String>, missing: Vec<String>) -> Script {
    let mut script = Script {
        language,
        start,
        peers: Map::new(),
        missing,
    };
    let peers = script.ask(&["peers"]).map_err(|why| reason(language, &why));
    let peers = peers.and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("{language}: {error}"))
    });
    match peers {
        Ok(peers) => script.peers = peers,
        Err(why) => script.missing.push(why),
    }
    script
}

/// Returns the first line of the reason why something is missing.
fn reason(what: &str, why: &Failure) -> String {
    let (Failure::Found(why) | Failure::Unusable(why)) = why;
    let line = why.lines().find(|line| !line.trim().is_empty());
    format!("{what}: {}", line.unwrap_or("it could not be installed"))
}

/// Reads the versions of crates from a lock file.
pub(super) fn locked(names: &[&str]) -> Result<Value, Failure> {
    let path = "benches/peers/Cargo.lock";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Unusable(format!("{path}: {error}")))?;
    let lines: Vec<&str> = text.lines().collect();
    let version = |name: &str| {
        let at = lines
            .iter()
            .position(|line| *line == format!("name = {name:?}"))?;
        lines.get(at + 1)?.split('"').nth(1)
    };
    let versions = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(version(name))));
    Ok(Value::Object(versions.collect()))
}

/// Runs a command with a time limit.
pub(super) fn within(command: &mut Command, most: Duration) -> Result<Timed, Failure> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Failure::Unusable(format!("{:?}: {error}", command.get_program())))?;
    let began = Instant::now();
    while began.elapsed() < most {
        if ended(&mut child)? {
            return done(child);
        }
        sleep(Duration::from_millis(5));
    }
    // An error means that it has ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
    Ok(Timed::Late)
}

fn ended(child: &mut Child) -> Result<bool, Failure> {
    let status = child.try_wait();
    status
        .map(|s| s.is_some())
        .map_err(|e| Failure::Unusable(e.to_string()))
}

fn done(child: Child) -> Result<Timed, Failure> {
    let out = child.wait_with_output();
    let out = out.map_err(|error| Failure::Unusable(error.to_string()))?;
    Ok(if out.status.success() {
        Timed::Done(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Timed::Failed(out.status.to_string())
    })
}
