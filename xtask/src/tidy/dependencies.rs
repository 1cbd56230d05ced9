//! Checks the direction of dependencies between crates.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Finding;
use crate::Failure;

/// A crate of the workspace and its dependencies, without those of tests.
pub(super) struct Package {
    name: String,
    dependencies: Vec<String>,
}

/// Crates that the core must not depend on: sockets, runtimes, clocks.
const NOT_IN_CORE: [&str; 9] = [
    "tokio",
    "async-std",
    "smol",
    "hyper",
    "reqwest",
    "ureq",
    "mio",
    "socket2",
    "chrono",
];

/// The surfaces, which do not depend on each other.
const SURFACES: [&str; 3] = ["goodcall-mcp", "goodcall-gateway", "goodcall-cli"];

/// The packages for other languages, which carry the command.
const PACKAGES: [&str; 2] = ["goodcall-python", "goodcall-node"];

/// Reads the crates of the workspace from cargo.
pub(super) fn read(root: &Path) -> Result<Vec<Package>, Failure> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let run = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|error| Failure::Unusable(format!("cargo: {error}")))?;
    let metadata: Value = serde_json::from_slice(&run.stdout)
        .map_err(|error| Failure::Unusable(format!("cargo metadata: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages.map(package).collect())
}

fn package(package: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let dependencies = dependencies.filter(|dependency| dependency["kind"] != "dev");
    Package {
        name: text(&package["name"]),
        dependencies: dependencies
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    }
}

/// Finds dependencies that point the wrong way.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Package { name, dependencies } in packages {
        for dependency in dependencies {
            if let Some(why) = forbidden(name, dependency) {
                let what = format!("depends on {dependency}: {why}");
                findings.push(Finding::new(name, 0, what));
            }
        }
    }
    findings
}

fn forbidden(name: &str, dependency: &str) -> Option<&'static str> {
    let ours = dependency.starts_with("goodcall");
    if name == "goodcall-core" && NOT_IN_CORE.contains(&dependency) {
        return Some("the core has no I/O and no clock");
    }
    if name == "goodcall-core" && ours {
        return Some("the core depends on no other crate of ours");
    }
    if dependency == "goodcall-cli" && !PACKAGES.contains(&name) {
        return Some("only the packages for other languages carry the command");
    }
    // The command is thin: it starts the other surfaces.
    if name != "goodcall-cli" && SURFACES.contains(&name) && SURFACES.contains(&dependency) {
        return Some("surfaces do not depend on each other");
    }
    if name == "goodcall-wire" && ours && dependency != "goodcall-core" {
        return Some("goodcall-wire depends on the core only");
    }
    if name == "goodcall-server"
        && ours
        && !["goodcall-core", "goodcall-wire"].contains(&dependency)
    {
        return Some("what the servers share knows the core and the wire only");
    }
    if dependency == "xtask" {
        return Some("nothing depends on the tasks");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_directions_are_found() {
        for (name, dependency) in [
            ("goodcall-core", "tokio"),
            ("goodcall-core", "goodcall"),
            ("goodcall", "goodcall-cli"),
            ("goodcall-mcp", "goodcall-gateway"),
            ("goodcall-wire", "goodcall"),
            ("goodcall-server", "goodcall-gateway"),
            ("goodcall", "xtask"),
        ] {
            let (name, dependencies) = (name.to_owned(), vec![dependency.to_owned()]);
            let found = check(&[Package { name, dependencies }]);
            assert_eq!(found.len(), 1, "{dependency}");
        }
    }

    #[test]
    fn right_directions_are_allowed() {
        for (name, dependency) in [
            ("goodcall", "goodcall-core"),
            ("goodcall-core", "serde_json"),
            ("goodcall-mcp", "tokio"),
            ("goodcall-cli", "goodcall-mcp"),
            ("goodcall-python", "goodcall-cli"),
            ("goodcall-wire", "goodcall-core"),
            ("goodcall-server", "goodcall-wire"),
            ("goodcall-mcp", "goodcall-server"),
        ] {
            assert_eq!(forbidden(name, dependency), None, "{name} {dependency}");
        }
    }
}
