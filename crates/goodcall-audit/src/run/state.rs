//! What an audit has counted so far, and which parts of which files are in it: all that it takes to go
//! on after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
use crate::input::InputFile;

/// The version of the form in which the state is saved.
const VERSION: u32 = 1;

/// Where an audit saves its state, and how often.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavedState {
    /// The file. An audit that finds one goes on from there, and removes it at its end.
    pub path: PathBuf,
    /// Everything else that the result depends on. A state with other settings is refused.
    pub settings: String,
    /// How long to wait between two saves.
    pub every: Duration,
}

impl SavedState {
    /// Saves the state to this file, every few seconds.
    pub fn new(path: impl Into<PathBuf>, settings: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            settings: settings.into(),
            every: Duration::from_secs(5),
        }
    }
}

/// The state of a run, as it is saved.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RunState {
    version: u32,
    settings: String,
    files: BTreeMap<String, FileState>,
    aggregate: Aggregate,
}

/// How much of a file is counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FileState {
    size: u64,
    /// Nanoseconds since 1970.
    modified: Option<u64>,
    /// The number of parts, if the end of the file was seen.
    parts: Option<u32>,
    /// All parts before this one are counted.
    next: u32,
    /// Later parts that are counted.
    later: BTreeSet<u32>,
}

impl FileState {
    fn of(file: &InputFile) -> Self {
        let modified = file.path.as_deref().and_then(modified);
        Self {
            size: file.size,
            modified,
            ..Self::default()
        }
    }

    fn has(&self, part: u32) -> bool {
        part < self.next || self.later.contains(&part)
    }

    fn insert(&mut self, part: u32) {
        self.later.insert(part);
        while self.later.remove(&self.next) {
            self.next += 1;
        }
    }

    fn is_whole(&self) -> bool {
        self.parts.is_some_and(|parts| self.next >= parts)
    }
}

fn modified(path: &Path) -> Option<u64> {
    let time = fs::metadata(path).ok()?.modified().ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// Collects the counts of all parts, and saves them now and then.
pub(super) struct Collector {
    state: Mutex<RunState>,
    saved: Option<SavedState>,
    last: Mutex<Instant>,
    warning: Mutex<Option<String>>,
}

impl Collector {
    /// Begins with nothing, or with what an earlier run has saved.
    ///
    /// # Errors
    /// If a state cannot be read or written, or does not fit the files and settings.
    pub(super) fn new(files: &[InputFile], saved: Option<SavedState>) -> Result<Self, String> {
        let mut state = RunState::default();
        if let Some(saved) = &saved {
            if let Some(file) = files.iter().find(|file| file.is_pipe()) {
                return Err(format!(
                    "{} cannot be read again: expected files",
                    file.name
                ));
            }
            state = load(saved, files)?;
        }
        let collector = Self {
            state: Mutex::new(state),
            saved,
            last: Mutex::new(Instant::now()),
            warning: Mutex::default(),
        };
        // A folder that cannot be written is better known at the start.
        collector.save()?;
        Ok(collector)
    }

    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if nothing of a file is left to be read.
    pub(super) fn has_file(&self, file: &InputFile) -> bool {
        let state = self.state();
        let known = state.files.get(&*file.name);
        known.is_some_and(FileState::is_whole)
    }

    /// Returns true if a part of a file is counted.
    pub(super) fn has_part(&self, file: &InputFile, part: u32) -> bool {
        let state = self.state();
        let known = state.files.get(&*file.name);
        known.is_some_and(|known| known.has(part))
    }

    /// Notes that a file is read, part by part.
    pub(super) fn begin(&self, file: &InputFile) {
        let mut state = self.state();
        let name = file.name.to_string();
        state
            .files
            .entry(name)
            .or_insert_with(|| FileState::of(file));
    }

    /// Notes that a file has this many parts.
    pub(super) fn end(&self, file: &InputFile, parts: u32) {
        let mut state = self.state();
        let name = file.name.to_string();
        let known = state
            .files
            .entry(name)
            .or_insert_with(|| FileState::of(file));
        known.parts = Some(parts);
    }

    /// Notes that a file, or its rest, is skipped.
    pub(super) fn skip(&self, file: &InputFile, parts: u32, reason: &str) {
        let mut state = self.state();
        state.aggregate.skip(file.name.clone(), reason);
        drop(state);
        self.end(file, parts);
    }

    /// Takes the counts of a part.
    pub(super) fn take(&self, file: &str, part: u32, counted: Aggregate) {
        let mut state = self.state();
        state.aggregate.merge(counted);
        if let Some(known) = state.files.get_mut(file) {
            known.insert(part);
        }
        drop(state);
        let Some(saved) = &self.saved else { return };
        // Whoever comes while another saves goes on.
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.elapsed() >= saved.every {
            if let Err(error) = self.save() {
                let mut warning = self.warning.lock().unwrap_or_else(PoisonError::into_inner);
                *warning = Some(error);
            }
            *last = Instant::now();
        }
    }

    /// Writes the state so that there is always a whole one.
    fn save(&self) -> Result<(), String> {
        let Some(saved) = &self.saved else {
            return Ok(());
        };
        let mut state = self.state();
        state.version = VERSION;
        state.settings.clone_from(&saved.settings);
        let text = serde_json::to_vec(&*state).map_err(|error| error.to_string())?;
        drop(state);
        let named = |error: std::io::Error| format!("{}: {error}", saved.path.display());
        let mut beside = saved.path.as_os_str().to_owned();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let mut file = create_private(&beside).map_err(named)?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .map_err(named)?;
        fs::rename(&beside, &saved.path).map_err(named)
    }

    /// Returns the counts, and why the state could not be saved if it could not. The state is removed:
    /// it has served its purpose.
    pub(super) fn finish(self) -> (Aggregate, Option<String>) {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut warning = self
            .warning
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(saved) = &self.saved
            && let Err(error) = fs::remove_file(&saved.path)
        {
            warning.get_or_insert(format!("{}: {error}", saved.path.display()));
        }
        (state.aggregate, warning)
    }
}

/// Creates a file that only its owner can read: it may hold arguments.
fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Loads a state, if there is one, and checks that it fits.
fn load(saved: &SavedState, files: &[InputFile]) -> Result<RunState, String> {
    let path = saved.path.display();
    let text = match fs::read(&saved.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(RunState::default());
        }
        Err(error) => return Err(format!("{path}: {error}")),
    };
    let state: RunState = serde_json::from_slice(&text)
        .map_err(|error| format!("{path}: not the state of an audit: {error}"))?;
    if state.version != VERSION || state.settings != saved.settings {
        return Err(format!(
            "{path}: the state of an audit with other settings: use the same ones, or remove it"
        ));
    }
    for (name, known) in &state.files {
        let Some(file) = files.iter().find(|file| *file.name == **name) else {
            return Err(format!(
                "{path}: {name} is part of this state: name it again, or remove the state"
            ));
        };
        let now = FileState::of(file);
        if (now.size, now.modified) != (known.size, known.modified) {
            return Err(format!(
                "{name} has changed since the audit began: remove {path} to begin again"
            ));
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_remembered_in_any_order() {
        let mut file = FileState::default();
        for part in [2, 0, 5, 1] {
            assert!(!file.has(part));
            file.insert(part);
            assert!(file.has(part));
        }
        assert_eq!((file.next, file.later.len()), (3, 1));
        assert!(!file.has(3) && !file.is_whole());
        file.parts = Some(6);
        [3, 4].into_iter().for_each(|part| file.insert(part));
        assert!(file.is_whole());
    }
}
