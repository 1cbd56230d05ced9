//! Names to what belongs to them, with as little work per lookup as possible.

/// A table that is built once: of the names of tools, or of those of properties in a schema. At most a
/// quarter of its slots is taken, so that most lookups compare with one name or none.
pub(crate) struct NameTable<T> {
    /// As many as a power of two; at least one is empty.
    slots: Vec<Option<Entry<T>>>,
    len: usize,
}

struct Entry<T> {
    ends: Ends,
    name: Box<str>,
    value: T,
}

impl<T> Default for NameTable<T> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<T> FromIterator<(Box<str>, T)> for NameTable<T> {
    /// Of two equal names the first counts.
    fn from_iter<I: IntoIterator<Item = (Box<str>, T)>>(names: I) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        let room = (names.len() * 4).next_power_of_two();
        let mut table = Self {
            slots: std::iter::repeat_with(|| None).take(room).collect(),
            len: 0,
        };
        for (name, value) in names {
            let ends = Ends::of(name.as_bytes());
            let mut slot = ends.hash() & (room - 1);
            while let Some(entry) = &table.slots[slot]
                && entry.name != name
            {
                slot = (slot + 1) & (room - 1);
            }
            if table.slots[slot].is_none() {
                table.slots[slot] = Some(Entry { ends, name, value });
                table.len += 1;
            }
        }
        table
    }
}

impl<T> NameTable<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn get(&self, name: &[u8]) -> Option<&T> {
        let most = self.slots.len() - 1;
        let ends = Ends::of(name);
        let mut slot = ends.hash();
        loop {
            let entry = self.slots.get(slot & most)?.as_ref()?;
            if entry.ends == ends && (ends.are_all() || entry.name.as_bytes() == name) {
                return Some(&entry.value);
            }
            slot += 1;
        }
    }
}

/// The length of a name, and the bytes at both its ends: nearly always they tell names apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    head: u64,
    tail: u64,
    len: usize,
}

impl Ends {
    #[inline(always)]
    fn of(name: &[u8]) -> Self {
        let (head, tail) = if let Some(head) = name.first_chunk::<8>() {
            let tail = name.last_chunk::<8>().unwrap_or(head);
            (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
        } else if let Some(head) = name.first_chunk::<4>() {
            let tail = name.last_chunk::<4>().unwrap_or(head);
            let wide = |bytes| u64::from(u32::from_le_bytes(bytes));
            (wide(*head), wide(*tail))
        } else {
            let byte = |at: usize| u64::from(name.get(at).copied().unwrap_or(0));
            (byte(0) << 8 | byte(1), byte(2))
        };
        let len = name.len();
        Self { head, tail, len }
    }

    /// Returns true if the ends are the whole name.
    #[inline(always)]
    fn are_all(self) -> bool {
        self.len <= 16
    }

    #[inline(always)]
    fn hash(self) -> usize {
        let ends = self.head ^ self.tail.rotate_left(23) ^ self.len as u64;
        (ends.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
    }
}
