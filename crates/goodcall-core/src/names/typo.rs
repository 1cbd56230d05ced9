//! What counts as a typo.

use super::antonyms::is_contrary;
use super::similarity::{Letters, bare};
use crate::limits::LISTED_NAMES;

/// Longer names are no typos of anything, and comparing them would be slow.
const MOST_CHARS: usize = 64;

/// The one name that `sent` is a typo of: near it, with no other near, and no contrary of it.
pub(crate) fn typo_of<'n>(sent: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = bare(sent);
    let letters = word.chars().count();
    if letters < 4 || sent.len() > MOST_CHARS {
        return None;
    }
    let most = if letters < 8 { 1 } else { 2 };
    let ours = Letters::of(sent);
    let mut found = None;
    for (index, name) in names.enumerate() {
        if index == LISTED_NAMES {
            return None;
        }
        if name.len() > MOST_CHARS || !ours.may_be_typo(Letters::of(name), most + 1) {
            continue;
        }
        let distance = strsim::osa_distance(&word, &bare(name));
        if distance <= most && is_contrary(sent, name) {
            return None;
        }
        if distance <= most && found.is_none() {
            found = Some(name);
        } else if distance <= most + 1 {
            return None;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_near_and_no_other() {
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
    }
}
