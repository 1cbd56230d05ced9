//! Finds a key among the names of a schema.

use super::CheckId;
use crate::tree::{Slot, TextStore, Tree};

/// Names with their checks, sorted by their first bytes.
#[derive(Debug)]
pub(super) struct KeyTable {
    /// The first eight bytes of each name, if the names are few enough to be tried in turn.
    heads: Box<[u64]>,
    entries: Box<[KeyEntry]>,
}

/// One name. Its first eight bytes and its length are compared before anything else.
#[derive(Debug)]
pub(super) struct KeyEntry {
    head: u64,
    size: u32,
    pub(super) check: CheckId,
    /// A bit of its own, if the names are few enough for that.
    pub(super) bit: u64,
    /// The last eight bytes; with the first eight they are all of a name of up to sixteen.
    tail: u64,
    text: Box<str>,
}

/// The number of names up to which they are tried in turn; more are binary-searched.
const FEW: usize = 16;

/// The bits of the first bytes of a word, by their number.
pub(crate) const BYTE_MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

impl KeyTable {
    pub(super) fn new<'n>(names: impl Iterator<Item = (&'n str, CheckId)>) -> Self {
        let name = |(text, check): (&str, CheckId)| {
            let bytes = text.as_bytes();
            let last = bytes.len().saturating_sub(8);
            KeyEntry {
                head: first_bytes(bytes),
                size: text.len() as u32,
                check,
                bit: 0,
                tail: first_bytes(&bytes[last..]),
                text: text.into(),
            }
        };
        let mut entries: Vec<KeyEntry> = names.map(name).collect();
        entries.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        for (index, name) in entries.iter_mut().enumerate() {
            name.bit = 1_u64.checked_shl(index as u32).unwrap_or_default();
        }
        let few = if entries.len() <= FEW {
            entries.as_slice()
        } else {
            &[]
        };
        Self {
            heads: few.iter().map(|name| name.head).collect(),
            entries: entries.into(),
        }
    }

    /// The entry with this text.
    pub(super) fn named(&self, text: &str) -> Option<&KeyEntry> {
        self.entries.iter().find(|name| *name.text == *text)
    }

    /// All names.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|name| &*name.text)
    }

    /// The entry of this key.
    // Inlined for short keys in the source of a tree and few names, which is nearly always the case.
    #[inline(always)]
    pub(super) fn find(&self, tree: &Tree<'_>, source: &[u8], key: &Slot) -> Option<&KeyEntry> {
        let (start, size) = (key.head as usize, key.size as usize);
        let chunk = source.get(start..start + 8).and_then(<[u8]>::first_chunk);
        let (Some(chunk), TextStore::Source, ..=16) = (chunk, key.text, size) else {
            return self.search(tree, key);
        };
        let head = u64::from_le_bytes(*chunk) & BYTE_MASKS[size.min(8)];
        let Some(index) = self.heads.iter().position(|name| *name == head) else {
            return self.search_among_many(tree, key);
        };
        let found = self.entries.get(index)?;
        if found.size == key.size && (size <= 8 || found.ends(source, start + size)) {
            return Some(found);
        }
        // There may be another name that begins in the same way.
        self.search(tree, key)
    }

    /// The entry of a key that is not among few names.
    #[inline]
    fn search_among_many(&self, tree: &Tree<'_>, key: &Slot) -> Option<&KeyEntry> {
        if self.entries.len() <= FEW {
            return None;
        }
        self.search(tree, key)
    }

    /// The entry of any key, among any number of names.
    #[cold]
    #[inline(never)]
    fn search(&self, tree: &Tree<'_>, key: &Slot) -> Option<&KeyEntry> {
        let text = tree.text_of(key);
        let order = (first_bytes(text.as_bytes()), key.size, text);
        let found = (self.entries).binary_search_by(|name| name.order().cmp(&order));
        self.entries.get(found.ok()?)
    }
}

impl KeyEntry {
    /// Returns true if the eight bytes before `end` are the last ones of this name.
    #[inline(always)]
    fn ends(&self, source: &[u8], end: usize) -> bool {
        let tail = source.get(..end).and_then(<[u8]>::last_chunk);
        tail.is_some_and(|tail| u64::from_le_bytes(*tail) == self.tail)
    }

    fn order(&self) -> (u64, u32, &str) {
        (self.head, self.size, &self.text)
    }
}

/// The first eight bytes; zeros for those that are not there.
fn first_bytes(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_nothing_else() {
        for count in [1_usize, 5, 16, 17, 200] {
            let name = |n: usize| match n % 4 {
                0 => format!("k{n}"),
                1 => format!("a_long_name_{n}"),
                2 => format!("exactly{n}"),
                _ => format!("k\u{e9}{n}"),
            };
            let all: Vec<_> = (0..count).map(name).chain([String::new()]).collect();
            let names = KeyTable::new(all.iter().map(String::as_str).zip(7..));
            let found = |tree: &Tree<'_>, id| {
                let name = names.find(tree, tree.source.as_bytes(), tree.slot(id))?;
                Some(all[name.check as usize - 7].clone())
            };
            let known = |key: &str| names.named(key).map(|name| String::from(&*name.text));
            for n in 0..count + 50 {
                let key = name(n);
                let text = format!("{{{key:?}:1}}");
                let tree = Tree::parse(&text).unwrap();
                assert_eq!(found(&tree, 1), known(&key), "{key}");
                assert_eq!(known(&key).is_some(), n < count, "{key}");
            }
            let tree = Tree::parse(r#"{"":1,"\u006b0":2}"#).unwrap();
            assert_eq!(found(&tree, 1), known(""));
            assert_eq!(found(&tree, 3), known("k0"));
        }
    }
}
