//! Descriptions of what a schema expects, made once for each place and shared by all issues.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{PoisonError, RwLock};

use crate::limits::KEPT_EXPECTED;
use crate::report::{Expected, SharedExpected};

/// Descriptions by keyword and name.
#[derive(Debug, Default)]
pub(super) struct ExpectedCache(RwLock<HashMap<Box<str>, ByName, WordHash>>);

type ByName = HashMap<Box<str>, SharedExpected, WordHash>;

impl ExpectedCache {
    pub(super) fn get_or_make(
        &self,
        keyword: &str,
        name: &str,
        make: impl FnOnce() -> Expected,
    ) -> SharedExpected {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(keyword).and_then(|names| names.get(name)) {
            return known.clone();
        }
        drop(known);
        let made = SharedExpected::from(make());
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KEPT_EXPECTED {
            let names = known.entry(keyword.into()).or_default();
            if names.len() < KEPT_EXPECTED {
                names.insert(name.into(), made.clone());
            }
        }
        made
    }
}

/// Makes hashers of words.
pub(super) type WordHash = BuildHasherDefault<WordHasher>;

/// Hashes eight bytes at a time. It does not resist chosen collisions, which is fine for texts that
/// the schema's author chose.
#[derive(Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
            self.0 = mixed.wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
