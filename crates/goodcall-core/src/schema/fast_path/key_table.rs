//! Finds a key among the names of a schema.

use super::CheckId;
use crate::tree::{Slot, TextStore, Tree};

/// Names with their checks, sorted by their first bytes.
#[derive(Debug)]
pub(super) struct KeyTable(Box<[KeyEntry]>);

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

/// The bits of the first bytes of a name of this length.
const MASKS: [u64; 9] = {
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
                tail: first_bytes(bytes.get(last..).unwrap_or_default()),
                text: text.into(),
            }
        };
        let mut names: Vec<KeyEntry> = names.map(name).collect();
        names.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        for (index, name) in names.iter_mut().enumerate() {
            name.bit = 1_u64.checked_shl(index as u32).unwrap_or_default();
        }
        Self(names.into())
    }

    /// The entry with this text.
    pub(super) fn named(&self, text: &str) -> Option<&KeyEntry> {
        self.0.iter().find(|name| *name.text == *text)
    }

    /// All names.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &*name.text)
    }

    /// The entry of this key.
    // Inlined for short keys in the source of a tree and few names, which is nearly always the case.
    #[inline(always)]
    pub(super) fn find(&self, tree: &Tree<'_>, source: &[u8], key: &Slot) -> Option<&KeyEntry> {
        let size = key.size as usize;
        let text = source.get(key.head as usize..).unwrap_or_default();
        let chunk = text.first_chunk().filter(|_| key.text == TextStore::Source);
        let Some(chunk) = chunk.filter(|_| size <= 16 && self.0.len() <= FEW) else {
            return self.search(tree, key);
        };
        let head = u64::from_le_bytes(*chunk) & MASKS[size.min(8)];
        let found = self.0.iter().find(|name| name.head == head)?;
        let tail = text
            .get(size.wrapping_sub(8)..)
            .and_then(|tail| tail.first_chunk());
        let ends = size <= 8 || tail.is_some_and(|tail| u64::from_le_bytes(*tail) == found.tail);
        if found.size == key.size && ends {
            return Some(found);
        }
        // There may be another name that begins in the same way.
        self.search(tree, key)
    }

    /// The entry of any key, among any number of names.
    #[cold]
    #[inline(never)]
    fn search(&self, tree: &Tree<'_>, key: &Slot) -> Option<&KeyEntry> {
        let text = tree.text_of(key);
        let order = (first_bytes(text.as_bytes()), key.size, text);
        let found = self.0.binary_search_by(|name| name.order().cmp(&order));
        self.0.get(found.ok()?)
    }
}

impl KeyEntry {
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
