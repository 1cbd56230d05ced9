//! The clients that may use the gateway, by the digests of their keys.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::config::GatewayConfigError;

/// The header that has nothing but the key, for clients that send a provider's key beside it.
const OWN: HeaderName = HeaderName::from_static("goodcall-key");

/// The headers in which clients of all providers send their key.
const OTHERS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// The names of the clients, by the SHA-256 digests of their keys.
#[derive(Debug)]
pub(crate) struct Clients(HashMap<[u8; 32], Arc<str>>);

impl Clients {
    /// Reads a file with a line `name:digest` for each key. Empty lines and those that begin with `#`
    /// are ignored.
    pub(crate) fn read(path: &Path) -> Result<Self, GatewayConfigError> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            GatewayConfigError::caused(format!("{shown}: no client keys"), error)
        })?;
        let mut all = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.rsplit_once(':').and_then(|(name, digest)| {
                let name = Some(name.trim()).filter(|name| !name.is_empty())?;
                Some((digest_of(digest.trim())?, Arc::from(name)))
            });
            // The line is not shown: it may be a key that nobody has hashed.
            let (digest, name) = entry.ok_or_else(|| {
                GatewayConfigError::new(format!(
                    "{shown}: line {number}: expected a name, a colon and 64 hexadecimal digits: \
                     the SHA-256 of a key"
                ))
            })?;
            all.insert(digest, name);
        }
        if all.is_empty() {
            return Err(GatewayConfigError::new(format!(
                "{shown}: no client keys: every client would be refused; expected a line with a name, \
                 a colon and the SHA-256 of a key"
            )));
        }
        Ok(Self(all))
    }

    /// Finds the client that sent these headers, and takes its key out of them.
    pub(crate) fn find(&self, headers: &mut HeaderMap) -> Option<Arc<str>> {
        if let Some(key) = headers.remove(OWN) {
            return self.of(key.as_bytes());
        }
        let (header, name) = OTHERS.into_iter().find_map(|header| {
            let value = headers.get(&header)?.as_bytes();
            let key = match value.split_at_checked(7) {
                Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key,
                _ => value,
            };
            Some((header, self.of(key)?))
        })?;
        headers.remove(header);
        Some(name)
    }

    fn of(&self, key: &[u8]) -> Option<Arc<str>> {
        let digest: [u8; 32] = Sha256::digest(key.trim_ascii()).into();
        self.0.get(&digest).cloned()
    }
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let is_right = text.len() == 64 && text.is_ascii();
    for (at, byte) in digest.iter_mut().enumerate().filter(|_| is_right) {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    is_right.then_some(digest)
}
