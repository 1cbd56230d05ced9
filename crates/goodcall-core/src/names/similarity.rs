//! Decides whether one name was meant by another, for three purposes of different strictness.
//!
//! * [`typo_of`] renames without asking, so it wants a small distance and no rival.
//! * [`nearest_name`] suggests a name to the model, which may think better of it.
//! * [`could_mean`] holds back an edit that would be wrong if one name was meant by the other, so
//!   it says yes in doubt.

use super::antonyms::{are_antonyms, are_options, have_opposed_words};
use super::edit_distance::edit_distance;
use super::letters::{Letters, Words, bare, has_sign};
use crate::limits::{COMPARED_BYTES, LISTED_NAMES, NAMED_PLACES};

/// The fewest letters of a name that can be renamed as a typo.
const TYPO_LETTERS: usize = 4;

/// The most edits between a name of this many letters and its typo.
fn typo_edits(letters: usize) -> usize {
    if letters < 8 { 1 } else { 2 }
}

/// The most edits between a name of this many letters and the name that is suggested for it.
fn suggestion_edits(letters: usize) -> usize {
    (letters / 3).clamp(1, 3)
}

/// Signs that negate, compare or comment out the name that they stand at: `!open`, `>price`.
const OPERATORS: [char; 9] = ['!', '<', '>', '=', '~', '^', '+', '#', '/'];

/// The one name that `sent` is a typo of: near it, with no other name near, not an antonym, and without
/// an operator or a sign that the name lacks.
pub(crate) fn typo_of<'n>(sent: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = bare(sent);
    let letters = word.chars().count();
    if letters < TYPO_LETTERS || sent.len() > COMPARED_BYTES {
        return None;
    }
    let edits = typo_edits(letters);
    let ours = Letters::of(sent);
    let mut found = None;
    for (index, name) in names.enumerate() {
        if index == LISTED_NAMES {
            return None;
        }
        if name.len() > COMPARED_BYTES || !ours.may_be_typo(Letters::of(name), edits + 1) {
            continue;
        }
        let Some(distance) = edit_distance(sent, name, edits + 1) else {
            continue;
        };
        let is_operator = |c: char| OPERATORS.contains(&c) && !name.contains(c);
        let is_other = sent.contains(is_operator) || has_sign(sent) != has_sign(name);
        if distance <= edits && (are_antonyms(sent, name) || is_other) {
            return None;
        }
        if distance <= edits && found.is_none() {
            found = Some(name);
        } else if distance <= edits + 1 {
            return None;
        }
    }
    found
}

/// The one name that is clearly nearest: equal but for case and separators, a few edits away, or
/// with the same words and more (`filePath` for `path`). An antonym (`bcc` for `cc`) is not near,
/// however few letters differ.
pub(crate) fn nearest_name<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<String> {
    let compared = compare(wanted, names);
    if !compared.is_complete {
        return None;
    }
    nearest_of(wanted, compared).0
}

/// Returns the [`nearest_name`], or else the [`near_names`].
pub(crate) fn nearest_names<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
) -> (Option<String>, Vec<String>) {
    nearest_of(wanted, compare(wanted, names))
}

/// The names that can be near the wanted one, by the letters that occur in them.
#[derive(Default)]
struct Compared<'n> {
    /// Those that may be a few edits away.
    typos: Vec<&'n str>,
    /// Those that may have the same words and more or fewer.
    longer: Vec<&'n str>,
    /// The most edits between the wanted name and one that is suggested for it.
    edits: usize,
    /// False if there are too many names to look at all of them.
    is_complete: bool,
}

/// Rules out the names that have too few letters in common with the wanted one, which are most.
fn compare<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Compared<'n> {
    let mut compared = Compared::default();
    if wanted.len() > COMPARED_BYTES {
        return compared;
    }
    let ours = Letters::of(wanted);
    compared.edits = suggestion_edits(ours.count);
    for (index, name) in names.enumerate() {
        if index == LISTED_NAMES {
            return compared;
        }
        if name.len() > COMPARED_BYTES {
            continue;
        }
        let theirs = Letters::of(name);
        if ours.may_be_typo(theirs, compared.edits) {
            compared.typos.push(name);
        }
        if ours.may_share_words(theirs) {
            compared.longer.push(name);
        }
    }
    compared.is_complete = true;
    compared
}

/// The nearest of these names if all were looked at, or else those that are as near as each other.
fn nearest_of(wanted: &str, compared: Compared<'_>) -> (Option<String>, Vec<String>) {
    let Compared {
        typos,
        longer,
        edits,
        is_complete,
    } = compared;
    if is_complete && let Some(nearest) = nearest_by_letters(wanted, edits, &typos) {
        return (Some(nearest), Vec::new());
    }
    match near_by_words(wanted, longer.into_iter()).as_slice() {
        [only] if is_complete => (Some((*only).to_owned()), Vec::new()),
        near => (None, several(near)),
    }
}

fn nearest_by_letters(wanted: &str, edits: usize, names: &[&str]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    let mut tied = false;
    for name in names {
        let Some(distance) = edit_distance(wanted, name, edits) else {
            continue;
        };
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
    let close = distance == 0 || bare(wanted).chars().count() > 2;
    (close && !tied && !are_antonyms(wanted, name)).then(|| name.to_owned())
}

/// The names with the same words and more or fewer, up to one more than are worth naming.
fn near_by_words<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Vec::new();
    }
    let ours = Words::of(wanted);
    let near = names.filter(|name| shares_words(wanted, &ours, name));
    near.take(NAMED_PLACES + 1).collect()
}

/// These names, if they are several and few enough to be named.
fn several(near: &[&str]) -> Vec<String> {
    if (2..=NAMED_PLACES).contains(&near.len()) {
        near.iter().map(|name| (*name).to_owned()).collect()
    } else {
        Vec::new()
    }
}

/// Returns true if one name has all words of the other, and they do not mean opposite things.
fn shares_words(wanted: &str, ours: &Words, name: &str) -> bool {
    let theirs = Words::of(name);
    (ours.are_within(&theirs) || theirs.are_within(ours))
        && !are_options(wanted, name)
        && !have_opposed_words(ours, &theirs)
}

/// The names that are as near as each other, where [`nearest_name`] finds no single one (`start_date`
/// and `end_date` for `date`); none if there are more than a few.
pub(crate) fn near_names<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    if wanted.len() > COMPARED_BYTES {
        return Vec::new();
    }
    let letters = Letters::of(wanted);
    let names = names
        .take(LISTED_NAMES)
        .filter(|name| name.len() <= COMPARED_BYTES && letters.may_share_words(Letters::of(name)));
    several(&near_by_words(wanted, names))
}

/// Returns true if `sent` could be meant for `name`: equal but for case and separators, a few edits
/// away, or one begins or ends with the other (`write_mode` for `mode`).
pub(crate) fn could_mean(sent: &str, name: &str) -> bool {
    if sent.len() > COMPARED_BYTES || name.len() > COMPARED_BYTES {
        return sent == name;
    }
    let (ours, theirs) = (bare(sent), bare(name));
    if ours == theirs {
        return !ours.is_empty();
    }
    let (short, long) = if ours.len() < theirs.len() {
        (&ours, &theirs)
    } else {
        (&theirs, &ours)
    };
    let (least, most) = (short.chars().count(), long.chars().count());
    if least < 2 || (least == 2 && most > 4) {
        return false;
    }
    let edits = usize::from(least > 2) + usize::from(most > 5);
    long.starts_with(short.as_str())
        || long.ends_with(short.as_str())
        || Letters::of(&ours).may_be_typo(Letters::of(&theirs), edits)
            && edit_distance(&ours, &theirs, edits).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_requires_unique_candidate() {
        let of = |sent, names: &[&'static str]| typo_of(sent, names.iter().copied());
        assert_eq!(of("celcius", &["celsius", "kelvin"]), Some("celsius"));
        assert_eq!(
            of("recieve_all", &["receive_all", "send"]),
            Some("receive_all")
        );
        assert_eq!(of("left", &["lift", "lent"]), None);
        assert_eq!(of("asc", &["desc"]), None);
        assert_eq!(of("blue", &["glue", "green"]), Some("glue"));
        assert_eq!(of("yellow", &["red"]), None);
        assert_eq!(of("external", &["internal", "other"]), None);
        assert_eq!(of("no_dry_run", &["dry_run"]), None);
        assert_eq!(of("!verbose", &["verbose"]), None);
        assert_eq!(of(">price", &["price"]), None);
    }

    #[test]
    fn nearest_name_requires_unique_candidate() {
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

    #[test]
    fn could_mean_errs_on_the_side_of_yes() {
        for (sent, name) in [
            ("mod", "mode"),
            ("Mode", "mode"),
            ("limt", "limit"),
            ("write_mode", "mode"),
            ("maxLines", "max_lines"),
            ("file", "file_path"),
            ("bcc", "cc"),
            ("id", "ids"),
        ] {
            assert!(could_mean(sent, name), "{sent} {name}");
        }
        for (sent, name) in [
            ("path", "mode"),
            ("id", "to"),
            ("", ""),
            ("to", "total"),
            ("hourly", "url"),
        ] {
            assert!(!could_mean(sent, name), "{sent} {name}");
        }
    }
}
