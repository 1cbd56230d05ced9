//! Checks the rules of this repository: `cargo xtask tidy`.
//!
//! Each check is a small function from text to findings, with a test that it can fail.

mod boundaries;
mod dependencies;
mod documents;
mod idiom;
mod modules;
mod prose;
mod rust;
mod size;
mod source;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use versions::workspace_version;

use crate::Failure;

/// A departure from a rule, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// The line, counted from 1; 0 for the whole file.
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        let (path, what) = (path.to_owned(), what.into());
        Self { path, line, what }
    }
}

/// A file of the repository.
pub(crate) struct File {
    /// The path from the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Runs every check.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Unusable("usage: cargo xtask tidy".into()));
    }
    let root = root()?;
    let files = files(&root)?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(size::check(file));
        findings.append(&mut source::check(file));
        findings.append(&mut prose::check(file));
        if file.path.ends_with(".rs") {
            findings.append(&mut boundaries::check(file));
            findings.append(&mut idiom::check(file));
            findings.append(&mut modules::check(file));
        }
        findings.append(&mut documents::check(file, &files));
    }
    findings.append(&mut boundaries::same_names(&files));
    findings.append(&mut documents::missing(&files));
    findings.append(&mut versions::check(&files));
    findings.append(&mut dependencies::check(&dependencies::read(&root)?));
    for Finding { path, line, what } in &findings {
        match line {
            0 => println!("{path}: {what}"),
            _ => println!("{path}:{line}: {what}"),
        }
    }
    if findings.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    Err(Failure::Found(format!("{} findings", findings.len())))
}

/// Returns the root of the repository: the folder around this crate.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.ok_or_else(|| Failure::Unusable("xtask has no folder around it".into()))?;
    Ok(root.to_owned())
}

/// Returns every text file that git tracks or would add. A symbolic link is another name of a file
/// that is listed by itself.
fn files(root: &Path) -> Result<Vec<File>, Failure> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ])
        .current_dir(root)
        .output()
        .map_err(|error| Failure::Unusable(format!("git: {error}")))?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut files = Vec::new();
    for path in names.split('\0').filter(|path| !path.is_empty()) {
        let whole = root.join(path);
        // Deleted files are still listed, and files that are not text are skipped.
        if !whole.is_symlink()
            && let Ok(text) = fs::read_to_string(whole)
        {
            let path = path.to_owned();
            files.push(File { path, text });
        }
    }
    if files.is_empty() {
        return Err(Failure::Unusable("git lists no files".into()));
    }
    Ok(files)
}
