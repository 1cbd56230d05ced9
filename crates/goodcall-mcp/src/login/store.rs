//! The file with the user's logins: tokens by the address of the server, readable by the user only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::call_log::private_file;
use crate::http::Upstream;

/// The user's logins.
#[derive(Clone, Debug)]
pub struct LoginStore {
    path: PathBuf,
}

/// One login, with all that is needed to renew its token.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    /// The resource that tokens are for.
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    pub(crate) client: OAuthClient,
    pub(crate) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// When the access token expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
}

/// Who asks for tokens.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether the secret is sent in a header and not in the body.
    #[serde(default)]
    pub(crate) by_header: bool,
}

/// Held while a token is renewed, so that no other process renews it, too: a refresh token may be
/// good for one use only.
pub(crate) struct StoreLock {
    _file: File,
}

impl LoginStore {
    /// The logins in this file, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Forgets the login to a server. Returns false if there was none.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn remove(&self, server: &Upstream) -> io::Result<bool> {
        let _lock = self.lock()?;
        let mut all = self.read()?;
        let had = all.remove(server.url().as_str()).is_some();
        if had {
            self.write(&all)?;
        }
        Ok(had)
    }

    pub(crate) fn get(&self, url: &str) -> io::Result<Option<StoredLogin>> {
        Ok(self.read()?.remove(url))
    }

    /// Saves a login.
    pub(crate) fn save(&self, url: &str, login: StoredLogin, _held: &StoreLock) -> io::Result<()> {
        let mut all = self.read()?;
        all.insert(url.to_owned(), login);
        self.write(&all)
    }

    /// Waits until no other process changes the file.
    pub(crate) fn lock(&self) -> io::Result<StoreLock> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = private_file(&self.beside("lock"))?;
        #[cfg(unix)]
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(StoreLock { _file: file })
    }

    fn read(&self) -> io::Result<BTreeMap<String, StoredLogin>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        serde_json::from_str(&text).map_err(io::Error::from)
    }

    /// Writes the file at once or not at all.
    fn write(&self, all: &BTreeMap<String, StoredLogin>) -> io::Result<()> {
        let new = self.beside("new");
        // One that was left behind may have other permissions.
        let _ = fs::remove_file(&new);
        let mut file = private_file(&new)?;
        file.write_all(&serde_json::to_vec_pretty(all)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.path.with_extension(ending)
    }
}
