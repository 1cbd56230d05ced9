//! The wheel for Python: built in an environment of its own, and not larger than it may be.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::tidy::root;

/// The largest wheel, in bytes.
const MOST: u64 = 12 << 20;

/// Builds the wheel into `target/wheels`. `--quick` builds without optimization, for tests.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let quick = match args {
        [] => false,
        [flag] if flag == "--quick" => true,
        _ => {
            return Err(Failure::Unusable(
                "usage: cargo xtask wheel [--quick]".into(),
            ));
        }
    };
    let out = root()?.join("target/wheels");
    let _ = std::fs::remove_dir_all(&out);
    let mut build = maturin("build", &out)?;
    if quick {
        build.args(["--profile", "dev"]);
    } else {
        build.args(["--compression-level", "9"]);
    }
    call(&mut build)?;
    let wheel = only_file(&out)?;
    let size = std::fs::metadata(&wheel).map_or(0, |about| about.len());
    println!("{}: {size} bytes", wheel.display());
    if !quick && size > MOST {
        return Err(Failure::Found(format!(
            "the wheel is larger than {MOST} bytes"
        )));
    }
    Ok(())
}

/// Writes the source archive for Python into a folder.
pub(crate) fn source_archive(out: &Path) -> Result<(), Failure> {
    call(&mut maturin("sdist", out)?)
}

/// Prepares a command of maturin, which is installed into an environment of its own.
fn maturin(what: &str, out: &Path) -> Result<Command, Failure> {
    let root = root()?;
    let tools = root.join("target/wheel-tools");
    let program = tools.join("bin/maturin");
    if !program.exists() {
        call(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        let pip = tools.join("bin/pip");
        call(Command::new(pip).args(["install", "--quiet", "maturin==1.16.0"]))?;
    }
    let mut command = Command::new(program);
    command.args([what, "--manifest-path", "bindings/python/Cargo.toml"]);
    command.arg("--out").arg(out).current_dir(root);
    Ok(command)
}

/// Runs a command to its end.
pub(crate) fn call(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Unusable(format!("{program}: {status}"))),
        Err(error) => Err(Failure::Unusable(format!("{program}: {error}"))),
    }
}

fn only_file(folder: &Path) -> Result<PathBuf, Failure> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(file),
        _ => Err(Failure::Unusable(format!(
            "{}: expected one wheel",
            folder.display()
        ))),
    }
}
