//! How many edits two names are apart.

use super::letters::{bare, lower_ascii};
use crate::limits::COMPARED_BYTES;

/// Counts the edits between the [`bare`] forms of two names: a letter added, left out or replaced, or two
/// neighbours swapped. Returns `None` if there are more than `most`.
pub(super) fn edit_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let distance = match (BareName::of(a), BareName::of(b)) {
        (Some(a), Some(b)) => distance_of_letters(a.letters(), b.letters(), most)?,
        _ => strsim::osa_distance(&bare(a), &bare(b)),
    };
    (distance <= most).then_some(distance)
}

/// The bare form of a short ASCII name, which needs no allocation.
struct BareName {
    letters: [u8; COMPARED_BYTES],
    count: usize,
}

impl BareName {
    fn of(name: &str) -> Option<Self> {
        if name.len() > COMPARED_BYTES || !name.is_ascii() {
            return None;
        }
        let mut bare = Self {
            letters: [0; COMPARED_BYTES],
            count: 0,
        };
        for (room, letter) in bare.letters.iter_mut().zip(lower_ascii(name)) {
            *room = letter;
            bare.count += 1;
        }
        Some(bare)
    }

    fn letters(&self) -> &[u8] {
        &self.letters[..self.count]
    }
}

fn distance_of_letters(mut a: &[u8], mut b: &[u8], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // What both begin or end with takes no edit.
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b)
        && x == y
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    while let ([rest_of_a @ .., x], [rest_of_b @ .., y]) = (a, b)
        && x == y
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    if a.is_empty() || b.is_empty() {
        return Some(a.len().max(b.len()));
    }
    // Each row has the distances of a start of `a` from all starts of `b`.
    const WIDTH: usize = COMPARED_BYTES + 1;
    let mut rows = [[0_u8; WIDTH]; 3];
    for (at, distance) in rows[0].iter_mut().take(b.len() + 1).enumerate() {
        *distance = at as u8;
    }
    for (i, x) in a.iter().enumerate() {
        let [older, last, row] = [(i + 2) % 3, i % 3, (i + 1) % 3];
        rows[row][0] = i as u8 + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = rows[last][j] + u8::from(x != y);
            let added_or_left_out = rows[row][j].min(rows[last][j + 1]) + 1;
            let mut least = replaced.min(added_or_left_out);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[older][j - 1] + 1);
            }
            rows[row][j + 1] = least;
        }
    }
    Some(rows[a.len() % 3][b.len()].into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn case_and_separators_take_no_edits() {
        assert_eq!(edit_distance("fileName", "file_name", 0), Some(0));
        assert_eq!(edit_distance("recieve", "receive", 1), Some(1));
        assert_eq!(edit_distance("limt", "limit", 1), Some(1));
        assert_eq!(edit_distance("path", "mode", 3), None);
        assert_eq!(edit_distance("gr\u{fc}n", "gr\u{fc}ne", 1), Some(1));
        assert_eq!(edit_distance("", "ab", 2), Some(2));
    }

    proptest! {
        #[test]
        fn distance_is_that_of_strsim(a in "[abc]{0,9}", b in "[abc]{0,9}", most in 0_usize..10) {
            let all = strsim::osa_distance(&a, &b);
            prop_assert_eq!(edit_distance(&a, &b, most), (all <= most).then_some(all));
        }
    }
}
