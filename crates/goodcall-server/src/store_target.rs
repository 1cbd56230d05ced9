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
    pub fn read(text: &str) -> Self {
        let scheme = text.split("://").next().unwrap_or_default();
        let schemes = ["postgres", "postgresql"];
        let is_url = text.contains("://") && schemes.iter().any(|s| s.eq_ignore_ascii_case(scheme));
        if is_url {
            StoreTarget::Postgres(text.to_owned())
        } else {
            StoreTarget::File(text.into())
        }
    }
}

impl FromStr for StoreTarget {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::read(text))
    }
}

impl fmt::Display for StoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreTarget::File(path) => path.display().fmt(f),
            StoreTarget::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", ""));
                let head = rest.split('?').next().unwrap_or_default();
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
        String::deserialize(deserializer).map(|text| Self::read(&text))
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
            let target = StoreTarget::read(url);
            let scheme = url.split(':').next().unwrap();
            assert_eq!(
                target.to_string(),
                format!("{scheme}://db.example:5432/calls")
            );
            let text = format!("{target:?}");
            assert!(!text.contains("sec") && !text.contains("ret@"), "{text}");
        }
        let odd = StoreTarget::read("postgres://goodcall:sec?ret@db.example/calls");
        assert_eq!(odd.to_string(), "postgres://…");
    }

    #[test]
    fn paths_are_files() {
        for path in ["calls.sqlite", "postgres", "/var/lib/postgres:x/calls"] {
            assert_eq!(StoreTarget::read(path), StoreTarget::File(path.into()));
        }
    }
}
