//! Which name was meant.

use super::antonyms::is_contrary;
use crate::limits::LISTED_NAMES;

/// Longer names are no typos of anything, and comparing them would be quadratic.
const MOST_CHARS: usize = 64;

/// The most edits between a name and its typo.
const MOST_EDITS: usize = 3;

/// The one name that is clearly nearest: equal but for case and separators, a small typo away,
/// or with the same words and more (`filePath` for `path`). A name that means something else
/// (`bcc` for `cc`) is not near, however few letters differ.
pub(crate) fn nearest_name<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<String> {
    if wanted.len() > MOST_CHARS {
        return None;
    }
    let ours = Letters::of(wanted);
    let edits = (ours.count / 3).clamp(1, MOST_EDITS);
    // Most names have so little in common with the wanted one that a look at their letters tells.
    let (mut typos, mut longer) = (Vec::new(), Vec::new());
    for (index, name) in names.enumerate() {
        if index == LISTED_NAMES {
            return None;
        }
        if name.len() > MOST_CHARS {
            continue;
        }
        let theirs = Letters::of(name);
        if ours.may_be_typo(theirs, edits) {
            typos.push(name);
        }
        if ours.may_share_words(theirs) {
            longer.push(name);
        }
    }
    let typo = match typos.is_empty() {
        true => None,
        false => by_letters(wanted, edits, &typos),
    };
    typo.or_else(|| by_words(wanted, longer.into_iter()))
}

/// The letters and digits of a name, whatever their case.
#[derive(Clone, Copy)]
pub(crate) struct Letters {
    /// A bit for each that occurs.
    which: u64,
    /// How many there are.
    count: usize,
    /// Others than those of ASCII occur, so that nothing can be told.
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

    /// An edit brings one letter at most, and takes one at most.
    pub(crate) fn may_be_typo(self, other: Self, edits: usize) -> bool {
        let (more, less) = (other.which & !self.which, self.which & !other.which);
        let apart = more.count_ones().max(less.count_ones()) as usize;
        self.foreign
            || other.foreign
            || (apart <= edits && self.count.abs_diff(other.count) <= edits)
    }

    /// The same word, whatever its case and separators, has the same letters.
    pub(crate) fn may_be_same(self, other: Self) -> bool {
        self.may_be_typo(other, 0)
    }

    /// A name with the same words and more has all letters of the other.
    fn may_share_words(self, other: Self) -> bool {
        let both = self.which & other.which;
        self.foreign || other.foreign || both == self.which || both == other.which
    }
}

fn by_letters(wanted: &str, edits: usize, names: &[&str]) -> Option<String> {
    let bare = bare(wanted);
    let mut best: Option<(usize, &str)> = None;
    let mut tied = false;
    for name in names {
        let distance = strsim::osa_distance(&bare, &self::bare(name));
        match best {
            Some((known, _)) if distance > known => {}
            Some((known, other)) if distance == known && other != *name => tied = true,
            _ => {
                best = Some((distance, name));
                tied = false;
            }
        }
    }
    let (distance, name) = best?;
    let close = distance == 0 || (distance <= edits && bare.chars().count() > 2);
    (close && !tied && !is_contrary(wanted, name)).then(|| name.to_owned())
}

fn by_words<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut names = names.peekable();
    names.peek()?;
    let ours = words(wanted);
    let within = |a: &[String], b: &[String]| !a.is_empty() && a.iter().all(|w| b.contains(w));
    let mut fitting = names.filter(|name| {
        let theirs = words(name);
        (within(&ours, &theirs) || within(&theirs, &ours)) && !is_contrary(wanted, name)
    });
    let found = fitting.next()?;
    fitting.next().is_none().then(|| found.to_owned())
}

/// A name without case and separators.
pub(crate) fn bare(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// The words of a name in lower case: `fileName`, `file-name` and `File_Name` have the same two.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut fresh = true;
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            fresh = true;
            continue;
        }
        fresh |= lower && c.is_uppercase();
        lower = c.is_lowercase();
        match out.last_mut() {
            Some(word) if !fresh => word.extend(c.to_lowercase()),
            _ => out.push(c.to_lowercase().collect()),
        }
        fresh = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let near = |wanted, names: &[&str]| nearest_name(wanted, names.iter().copied());
        assert_eq!(
            near("fileName", &["file_name", "limit"]).as_deref(),
            Some("file_name")
        );
        assert_eq!(
            near("file_pth", &["file_path", "limit"]).as_deref(),
            Some("file_path")
        );
        assert_eq!(
            near("path", &["filePath", "limit"]).as_deref(),
            Some("filePath")
        );
        assert_eq!(
            near("query_text", &["query", "limit"]).as_deref(),
            Some("query")
        );
        for (wanted, names) in [
            ("path", ["filePath", "dirPath"]),
            ("cat", ["bat", "rat"]),
            ("colour", ["path", "limit"]),
            ("a", ["b", "c"]),
            ("is_inactive", ["is_active", "limit"]),
            ("bcc", ["cc", "subject"]),
            ("no_verbose", ["verbose", "limit"]),
            ("longitude", ["latitude", "zoom"]),
        ] {
            assert_eq!(near(wanted, &names), None, "{wanted}");
        }
    }
}
