//! Which name was meant.

use crate::limits::LISTED_NAMES;

/// Longer names are no typos of anything, and comparing them would be quadratic.
const MOST_CHARS: usize = 64;

/// The one name that is clearly nearest: equal but for case and separators, a small typo away,
/// or with the same words and more (`filePath` for `path`).
pub(crate) fn nearest_name<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<String> {
    if wanted.len() > MOST_CHARS {
        return None;
    }
    let ours = letters(wanted);
    let mut similar: Vec<&str> = Vec::new();
    for (index, name) in names.enumerate() {
        if index == LISTED_NAMES {
            return None;
        }
        if name.len() <= MOST_CHARS && may_be_near(ours, letters(name)) {
            similar.push(name);
        }
    }
    if similar.is_empty() {
        return None;
    }
    let similar = similar.iter().copied();
    by_letters(wanted, similar.clone()).or_else(|| by_words(wanted, similar))
}

/// The most edits between a name and its typo.
const MOST_EDITS: usize = 3;

/// A bit for each letter and digit of a name, whatever its case.
fn letters(name: &str) -> u64 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'A'..=b'Z' => 1 << (byte - b'A'),
        b'0'..=b'9' => 1 << (byte - b'0' + 26),
        0x80.. => FOREIGN,
        _ => 0,
    };
    name.bytes().fold(0, |all, byte| all | bit(byte))
}

/// Letters that have no bit of their own, so that nothing can be told from them.
const FOREIGN: u64 = 1 << 63;

/// Spares the comparison of names that have nothing in common: an edit brings or takes one letter
/// at most, and a name with the same words and more has all letters of the other.
fn may_be_near(a: u64, b: u64) -> bool {
    let (more, less) = ((b & !a).count_ones(), (a & !b).count_ones());
    (a | b) & FOREIGN != 0 || more.min(less) == 0 || more.max(less) as usize <= MOST_EDITS
}

fn by_letters<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let bare = bare(wanted);
    let length = bare.chars().count();
    let near = (length / 3).clamp(1, MOST_EDITS);
    let mut best: Option<(usize, &str)> = None;
    let mut tied = false;
    for name in names {
        let distance = strsim::osa_distance(&bare, &self::bare(name));
        match best {
            Some((known, _)) if distance > known => {}
            Some((known, other)) if distance == known && other != name => tied = true,
            _ => {
                best = Some((distance, name));
                tied = false;
            }
        }
    }
    let (distance, name) = best?;
    let close = distance == 0 || (distance <= near && length > 2);
    (close && !tied).then(|| name.to_owned())
}

fn by_words<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let ours = words(wanted);
    let within = |a: &[String], b: &[String]| !a.is_empty() && a.iter().all(|w| b.contains(w));
    let mut fitting = names.filter(|name| {
        let theirs = words(name);
        within(&ours, &theirs) || within(&theirs, &ours)
    });
    let found = fitting.next()?;
    fitting.next().is_none().then(|| found.to_owned())
}

/// A name without case and separators.
pub(crate) fn bare(name: &str) -> String {
    words(name).concat()
}

/// The words of a name in lower case: `fileName`, `file-name` and `File_Name` have the same two.
fn words(name: &str) -> Vec<String> {
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
        ] {
            assert_eq!(near(wanted, &names), None, "{wanted}");
        }
    }
}
