//! Normal forms of names: their letters, their words, their text without case and separators.

use super::antonyms::are_options;

/// The letters and digits of a name, whatever their case: enough to tell that two names are too
/// different, before their edit distance is counted.
#[derive(Clone, Copy)]
pub(crate) struct Letters {
    /// The letters that occur, one bit each.
    which: u64,
    /// The number of letters.
    pub(super) count: usize,
    /// True if letters outside of ASCII occur, so that the bits prove nothing.
    foreign: bool,
}

impl Letters {
    pub(crate) fn of(name: &str) -> Self {
        let mut letters = Self {
            which: 0,
            count: 0,
            foreign: false,
        };
        for byte in name.bytes() {
            let bit = match byte {
                b'a'..=b'z' => byte - b'a',
                b'A'..=b'Z' => byte - b'A',
                b'0'..=b'9' => byte - b'0' + 26,
                _ => {
                    letters.foreign |= !byte.is_ascii();
                    continue;
                }
            };
            letters.which |= 1 << bit;
            letters.count += 1;
        }
        if letters.foreign {
            letters.count = name.chars().filter(|c| c.is_alphanumeric()).count();
        }
        letters
    }

    /// Returns false if the names are more than this many edits apart: an edit adds at most one
    /// letter and removes at most one.
    pub(crate) fn may_be_typo(self, other: Self, edits: usize) -> bool {
        let (more, less) = (other.which & !self.which, self.which & !other.which);
        let apart = more.count_ones().max(less.count_ones()) as usize;
        self.foreign
            || other.foreign
            || (apart <= edits && self.count.abs_diff(other.count) <= edits)
    }

    /// Returns false if the names differ in more than case and separators.
    pub(crate) fn may_be_same(self, other: Self) -> bool {
        self.may_be_typo(other, 0)
    }

    /// Returns false if neither name has all words of the other.
    pub(super) fn may_share_words(self, other: Self) -> bool {
        let both = self.which & other.which;
        self.foreign || other.foreign || both == self.which || both == other.which
    }
}

/// A name without case and separators.
pub(crate) fn bare(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    if name.is_ascii() {
        kept.extend(lower_ascii(name).map(char::from));
    } else {
        kept.extend(lower_letters(name));
    }
    kept
}

/// Returns true if two names have the same [`bare`] form.
pub(crate) fn same_bare(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        lower_ascii(a).eq(lower_ascii(b))
    } else {
        lower_letters(a).eq(lower_letters(b))
    }
}

/// The letters and digits of an ASCII name in lower case.
pub(super) fn lower_ascii(name: &str) -> impl Iterator<Item = u8> {
    let kept = name.bytes().filter(u8::is_ascii_alphanumeric);
    kept.map(|byte| byte.to_ascii_lowercase())
}

/// The letters and digits of a name in lower case.
fn lower_letters(name: &str) -> impl Iterator<Item = char> {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase)
}

/// Returns true if two names differ only in case and separators. Names without letters never
/// match.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    let only_separators = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || "_- .".contains(c))
    };
    same_bare(a, b)
        && lower_letters(a).any(char::is_alphabetic)
        && only_separators(a)
        && numbers(a).eq(numbers(b))
        && has_sign(a) == has_sign(b)
        && !are_options(a, b)
}

/// Returns true for `-price`, whose sign may negate or sort the other way round. The `-n` and the
/// `--limit` of a command line have no sign.
pub(super) fn has_sign(name: &str) -> bool {
    name.trim_start()
        .strip_prefix('-')
        .is_some_and(|word| word.starts_with(char::is_alphabetic) && word.chars().nth(1).is_some())
}

/// One of 64 bits, made of the first and the last letter or digit of a name: names that differ only in
/// case and separators share it. All bits for a name beyond ASCII, which may be like any other.
pub(crate) fn spelling_bits(name: &str) -> u64 {
    let kept = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    match (
        bytes.iter().copied().find(kept),
        bytes.iter().rev().copied().find(kept),
    ) {
        _ if !name.is_ascii() => u64::MAX,
        (Some(first), Some(last)) => {
            let mixed = u32::from(first | 0x20) * 7 + u32::from(last | 0x20);
            1_u64.wrapping_shl(mixed)
        }
        // A name without letters is like no other.
        _ => 0,
    }
}

/// Returns the numbers in a name, which differ between `line_1_1` and `line_11`.
fn numbers(name: &str) -> impl Iterator<Item = &str> {
    let pieces = name.split(|c: char| !c.is_numeric());
    pieces.filter(|piece| !piece.is_empty())
}

/// Adds the words of an ASCII name as [`Words::of`] does for every name.
fn add_ascii_words(name: &str, spaced: &mut String) {
    let mut fresh = false;
    let mut lower = false;
    for byte in name.bytes() {
        if !byte.is_ascii_alphanumeric() {
            fresh = true;
            continue;
        }
        if (fresh || lower && byte.is_ascii_uppercase()) && !spaced.is_empty() {
            spaced.push(' ');
        }
        lower = byte.is_ascii_lowercase();
        fresh = false;
        spaced.push(byte.to_ascii_lowercase().into());
    }
}

/// The words of a name in lower case: `fileName`, `file-name` and `File_Name` have the same two.
pub(crate) struct Words {
    /// All words, with a space after each but the last.
    spaced: String,
}

impl Words {
    pub(crate) fn of(name: &str) -> Self {
        let mut spaced = String::with_capacity(name.len() + 4);
        if name.is_ascii() {
            add_ascii_words(name, &mut spaced);
            return Self { spaced };
        }
        let mut fresh = false;
        let mut lower = false;
        for c in name.chars() {
            if !c.is_alphanumeric() {
                fresh = true;
                continue;
            }
            fresh |= lower && c.is_uppercase();
            lower = c.is_lowercase();
            if fresh && !spaced.is_empty() {
                spaced.push(' ');
            }
            spaced.extend(c.to_lowercase());
            fresh = false;
        }
        Self { spaced }
    }

    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.spaced.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = rest.bytes().position(|b| b == b' ');
            let (word, following) = match end {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, ""),
            };
            rest = following;
            Some(word)
        })
    }

    /// All words as one: the [`bare`] form of the name.
    pub(super) fn joined(&self) -> String {
        let mut joined = String::with_capacity(self.spaced.len());
        joined.extend(self.iter());
        joined
    }

    fn contains(&self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }

    /// The words that the other name does not have.
    pub(super) fn missing_in(&self, other: &Self) -> impl Iterator<Item = &str> {
        self.iter().filter(|word| !other.contains(word))
    }

    /// Returns true if there are words, and the other name has all of them.
    pub(super) fn are_within(&self, other: &Self) -> bool {
        !self.spaced.is_empty() && self.missing_in(other).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A name with a letter beyond ASCII is split by another loop.
        #[test]
        fn ascii_names_have_the_words_that_any_name_has(name in "[a-cA-C0-2_ -]{0,9}") {
            let longer = Words::of(&format!("{name}_\u{fc}"));
            let mut words: Vec<&str> = longer.iter().collect();
            prop_assert_eq!(words.pop(), Some("\u{fc}"));
            let own = Words::of(&name);
            prop_assert_eq!(own.iter().collect::<Vec<_>>(), words);
        }
    }
}
