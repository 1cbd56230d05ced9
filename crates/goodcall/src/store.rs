//! Where runs are kept.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Run;

/// Keeps a run, so that a host that dies goes on where it was.
pub trait Store: Send + Sync {
    /// Keeps this state of the run in place of the one before: either wholly or not at all.
    ///
    /// # Errors
    /// If it cannot; then nothing is executed.
    fn save(&self, run: &Run) -> io::Result<()>;
}

/// A run in a file. Written aside, flushed to the disk, and moved into place.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
}

impl FileStore {
    /// The file at this path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If it cannot be read or holds no run.
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
