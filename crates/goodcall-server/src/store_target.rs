//! Where a gateway keeps what its page shows.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// Where a gateway keeps what its page shows: in an SQLite file, or in a PostgreSQL database that many
/// gateways share. Both ways to print it leave out the password.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreTarget {
    /// An SQLite file.
    File(PathBuf),
    /// A database, by its whole URL.
    Postgres(String),
}

impl StoreTarget {
    /// Reads a path, or a URL that begins with `postgres://` or `postgresql://`.
    ///
    /// # Errors
    /// If it is a URL of another kind. The error has nothing of it but its scheme, since the rest may
    /// have a password.
    pub fn read(text: &str) -> Result<Self, StoreTargetError> {
        let is_word = |scheme: &&str| !scheme.is_empty() && !scheme.contains(['/', '\\', '.']);
        match text.split("://").next().filter(is_word) {
            Some(scheme) if scheme.len() < text.len() => {
                let schemes = ["postgres", "postgresql"];
                if schemes.iter().any(|own| own.eq_ignore_ascii_case(scheme)) {
                    Ok(StoreTarget::Postgres(text.to_owned()))
                } else {
                    let scheme = scheme.to_owned();
                    Err(StoreTargetError { scheme })
                }
            }
            _ => Ok(StoreTarget::File(text.into())),
        }
    }
}

/// A URL of a database that cannot be a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTargetError {
    scheme: String,
}

impl fmt::Display for StoreTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = &self.scheme;
        write!(
            f,
            "{scheme}:// cannot be a store: expected a file, or a URL that begins with postgres://"
        )
    }
}

impl std::error::Error for StoreTargetError {}

impl FromStr for StoreTarget {
    type Err = StoreTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text)
    }
}

impl fmt::Display for StoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreTarget::File(path) => path.display().fmt(f),
            StoreTarget::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", ""));
                let head = rest.split('?').next().expect("a split has a part");
                let host = match head.rsplit_once('@') {
                    Some((_, host)) => host,
                    None if !rest.contains('@') => head,
                    // Some part of this is a password that is not written as URLs want it.
                    None => "…",
                };
                write!(f, "{scheme}://{host}")
            }
        }
    }
}

impl fmt::Debug for StoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreTarget({self})")
    }
}

impl<'de> Deserialize<'de> for StoreTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_printed() {
        for url in [
            "postgres://goodcall:secret@db.example:5432/calls?sslmode=require",
            "postgresql://goodcall:sec@ret@db.example:5432/calls",
            "postgres://db.example:5432/calls?user=goodcall&password=secret",
        ] {
            let target = StoreTarget::read(url).unwrap();
            let scheme = url.split(':').next().unwrap();
            assert_eq!(
                target.to_string(),
                format!("{scheme}://db.example:5432/calls")
            );
            let text = format!("{target:?}");
            assert!(!text.contains("sec") && !text.contains("ret@"), "{text}");
        }
        let odd = StoreTarget::read("postgres://goodcall:sec?ret@db.example/calls").unwrap();
        assert_eq!(odd.to_string(), "postgres://…");
    }

    #[test]
    fn paths_are_files() {
        for path in [
            "calls.sqlite",
            "postgres",
            "/var/lib/postgres:x/calls",
            "./a://b",
        ] {
            assert_eq!(StoreTarget::read(path), Ok(StoreTarget::File(path.into())));
        }
    }

    #[test]
    fn urls_of_other_databases_are_refused_without_their_password() {
        let error = StoreTarget::read("mysql://goodcall:secret@db.example/calls").unwrap_err();
        let wanted =
            "mysql:// cannot be a store: expected a file, or a URL that begins with postgres://";
        assert_eq!(error.to_string(), wanted);
    }
}
