//! Finds the files to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputFile {
    /// The path; `None` for standard input.
    pub path: Option<PathBuf>,
    /// The name in reports.
    pub name: Arc<str>,
    /// The size in bytes; 0 if it is unknown.
    pub size: u64,
    /// True if it was named, and not found in a folder: then it must be a recording.
    pub is_named: bool,
}

impl InputFile {
    fn new(path: &Path, is_named: bool) -> Self {
        Self {
            name: path.to_string_lossy().into(),
            size: fs::metadata(path).map_or(0, |data| data.len()),
            path: Some(path.to_owned()),
            is_named,
        }
    }

    /// Returns true for what can be read once only: standard input, and pipes such as `<(zcat log)`.
    pub fn is_pipe(&self) -> bool {
        let about = self.path.as_deref().map(fs::metadata);
        about.is_none_or(|about| about.is_ok_and(|about| !about.is_file() && !about.is_dir()))
    }

    /// The path without links, which tells whether two names mean one file.
    fn identity(&self) -> PathBuf {
        let path = self.path.as_deref().unwrap_or(Path::new("-"));
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn standard_input() -> Self {
        Self {
            path: None,
            name: "standard input".into(),
            size: 0,
            is_named: true,
        }
    }
}

/// Folders that never hold recordings and may be very large.
const PASSED_OVER: [&str; 3] = [".git", "node_modules", "target"];

/// Finds the files behind these words: paths of files and folders, patterns (`logs/*.jsonl`), and `-`
/// for standard input. Files of a folder are sorted by their path.
///
/// Folders and links that lead nowhere or cannot be read are among the files, so that the audit
/// names them as skipped.
///
/// # Errors
/// If a word names nothing.
pub fn expand(words: &[String]) -> Result<Vec<InputFile>, String> {
    let mut files = Vec::new();
    for word in words {
        let path = Path::new(word);
        if word == "-" {
            files.push(InputFile::standard_input());
        } else if path.is_dir() {
            add_folder(path, &mut files);
        } else if path.exists() {
            files.push(InputFile::new(path, true));
        } else if word.contains(['*', '?', '[']) {
            add_pattern(word, &mut files)?;
        } else {
            return Err(format!("{word}: there is no such file or folder"));
        }
    }
    // A file that is named twice, or that links lead to, is read once.
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.identity()));
    Ok(files)
}

fn add_folder(folder: &Path, files: &mut Vec<InputFile>) {
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name();
    let entries = walk.into_iter().filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !entry.file_type().is_dir() || !PASSED_OVER.contains(&name.as_ref())
    });
    for entry in entries {
        let file = match &entry {
            Ok(entry) if entry.file_type().is_dir() => None,
            Ok(entry) => Some(InputFile::new(entry.path(), false)),
            Err(error) => error.path().map(|path| InputFile::new(path, false)),
        };
        // Sockets and pipes would be waited for.
        files.extend(file.filter(|file| !file.is_pipe()));
    }
}

fn add_pattern(pattern: &str, files: &mut Vec<InputFile>) -> Result<(), String> {
    let found = glob::glob(pattern).map_err(|error| format!("{pattern}: {error}"))?;
    let before = files.len();
    for path in found {
        let path = path.unwrap_or_else(|error| error.path().to_owned());
        if path.is_dir() {
            add_folder(&path, files);
        } else {
            files.push(InputFile::new(&path, true));
        }
    }
    if files.len() == before {
        return Err(format!("{pattern}: no file matches"));
    }
    Ok(())
}
