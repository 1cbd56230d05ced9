//! Stores a run, so that a host that dies can resume it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Run;

/// Stores a run, so that a host that dies can resume it.
pub trait Store: Send + Sync {
    /// Replaces the stored state by this one, atomically.
    ///
    /// # Errors
    /// If the run cannot be stored; nothing is executed then.
    fn save(&self, run: &Run) -> io::Result<()>;
}

/// A run in a file. A new state is written beside it, flushed to the disk, and moved into place.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
}

impl FileStore {
    /// Returns a store in the file at this path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the run from the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read or does not hold a run.
    pub fn load(&self) -> io::Result<Option<Run>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Store for FileStore {
    fn save(&self, run: &Run) -> io::Result<()> {
        let aside = self.path.with_extension("new");
        let mut file = File::create(&aside)?;
        file.write_all(&serde_json::to_vec(run)?)?;
        file.sync_data()?;
        fs::rename(&aside, &self.path)
    }
}
