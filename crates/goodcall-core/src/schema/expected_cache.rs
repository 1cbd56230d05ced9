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
    pub(super) fn get(&self, keyword: &str, name: &str) -> Option<SharedExpected> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(keyword)?.get(name).cloned()
    }

    pub(super) fn get_or_make(
        &self,
        keyword: &str,
        name: &str,
        make: impl FnOnce() -> Expected,
    ) -> SharedExpected {
        if let Some(known) = self.get(keyword, name) {
            return known;
        }
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

impl WordHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let mixed = self.0.rotate_left(5) ^ word;
        self.0 = mixed.wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let bytes = rest.iter().rev();
            self.mix(bytes.fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(byte.into());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
