//! Finding objects that have a key twice.

use std::collections::HashSet;

use super::tree_builder::NONE;
use super::{Id, Slot, TextStore};

/// Returns true if this closed object has two members with equal keys.
#[inline(never)]
pub(crate) fn repeats_key(slots: &[Slot], buffer: &str, source: &str, object: Id) -> bool {
    let Some(slot) = slots.get(object as usize) else {
        return false;
    };
    if slot.size < 2 {
        return false;
    }
    let keys = Keys {
        slots,
        buffer: buffer.as_bytes(),
        source: source.as_bytes(),
        next: slot.head,
        left: slot.size,
    };
    // One bit per key: only keys that share a bit are compared.
    let mut seen = 0u64;
    for (index, name) in keys.clone().enumerate() {
        let bit = fingerprint(name);
        if seen & bit != 0 {
            if slot.size > 16 {
                let mut all = HashSet::with_capacity(slot.size as usize);
                return !keys.clone().all(|key| all.insert(key));
            }
            if keys.clone().take(index).any(|key| key == name) {
                return true;
            }
        }
        seen |= bit;
    }
    false
}

/// One of 64 bits, made of a key's first byte, last byte and length. Most pairs of different keys
/// do not share it.
fn fingerprint(key: &[u8]) -> u64 {
    let first = key.first().copied().unwrap_or(0);
    let last = key.last().copied().unwrap_or(0);
    let mixed = u32::from(first) | u32::from(last) << 8 | (key.len() as u32) << 16;
    1 << (mixed.wrapping_mul(0x9E37_79B1) >> 26)
}

/// The keys of a closed object.
#[derive(Clone)]
struct Keys<'b> {
    slots: &'b [Slot],
    buffer: &'b [u8],
    source: &'b [u8],
    next: Id,
    left: u32,
}

impl<'b> Iterator for Keys<'b> {
    type Item = &'b [u8];

    #[inline]
    fn next(&mut self) -> Option<&'b [u8]> {
        self.left = self.left.checked_sub(1)?;
        let key = self.slots.get(self.next as usize)?;
        let value = self.slots.get(key.next as usize);
        self.next = value.map_or(NONE, |value| value.next);
        let text = match key.text {
            TextStore::Source => self.source,
            TextStore::Buffer => self.buffer,
        };
        text.get(key.head as usize..(key.head + key.size) as usize)
    }
}
