//! Names that are near each other and mean the contrary, or another thing of the same kind.

use crate::validate::bare;

/// What turns a word into its contrary, or into its counterpart.
const PREFIXES: [&str; 31] = [
    "no", "not", "non", "un", "in", "im", "il", "ir", "ex", "en", "em", "dis", "de", "anti", "a",
    "b", "mis", "mal", "re", "pre", "post", "over", "under", "up", "down", "on", "off", "out",
    "sub", "inter", "intra",
];

/// Words that are each other's contrary, though no prefix says so.
const PAIRS: [[&str; 2]; 8] = [
    ["min", "max"],
    ["minimum", "maximum"],
    ["before", "after"],
    ["start", "end"],
    ["first", "last"],
    ["left", "right"],
    ["source", "target"],
    ["lower", "upper"],
];

/// Is the difference of two names one of meaning, and hence no typo?
pub(super) fn is_contrary(a: &str, b: &str) -> bool {
    let (ours, theirs) = (words(a), words(b));
    if ours.len() == theirs.len() {
        let differing = ours.iter().zip(&theirs).filter(|(a, b)| a != b);
        if differing.into_iter().any(|(a, b)| are_opposed(a, b)) {
            return true;
        }
    } else {
        let (more, less) = match ours.len() > theirs.len() {
            true => (&ours, &theirs),
            false => (&theirs, &ours),
        };
        let added = |word: &&String| !less.contains(word) && PREFIXES.contains(&word.as_str());
        if more.iter().any(|word| added(&word)) {
            return true;
        }
    }
    are_opposed(&bare(a), &bare(b))
}

fn are_opposed(a: &str, b: &str) -> bool {
    let pair = |[x, y]: &[&str; 2]| (a == *x && b == *y) || (a == *y && b == *x);
    if PAIRS.iter().any(pair) {
        return true;
    }
    // `file1` and `file2`, `x` and `y`: counterparts, told apart by what is short.
    let digits = |word: &str| -> String { word.chars().filter(char::is_ascii_digit).collect() };
    let plural = a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let short = a.chars().count() <= 2 && b.chars().count() <= 2;
    if digits(a) != digits(b) || (short && !plural) {
        return true;
    }
    stems(a).any(|ours| stems(b).any(|theirs| ours == theirs && ours.len() > 1))
}

/// The word, and what is left of it without a prefix.
fn stems(word: &str) -> impl Iterator<Item = &str> {
    let bare = PREFIXES.iter().filter_map(move |p| word.strip_prefix(p));
    std::iter::once(word).chain(bare)
}

/// The words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || lower && c.is_uppercase();
        if starts && out.last().is_some_and(|word| !word.is_empty()) {
            out.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = out.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    out.retain(|word| !word.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contraries_are_no_typos() {
        for (a, b) in [
            ("no_dry_run", "dry_run"),
            ("noDryRun", "dryRun"),
            ("external", "internal"),
            ("unable", "enable"),
            ("is_inactive", "is_active"),
            ("bcc", "cc"),
            ("ascending", "descending"),
            ("min_length", "max_length"),
            ("file_1", "file_2"),
            ("start_x", "start_y"),
            ("included", "excluded"),
        ] {
            assert!(is_contrary(a, b) && is_contrary(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("file_pth", "file_path"),
            ("celcius", "celsius"),
            ("recieve_all", "receive_all"),
            ("limt", "limit"),
            ("user_ids", "user_id"),
            ("blue", "glue"),
        ] {
            assert!(!is_contrary(a, b), "{a} {b}");
        }
    }
}
