//! Which keys could be meant for another one: looked at before anything is put in or left out.

use super::similarity::{Letters, bare};

/// Longer names are not compared letter by letter.
const MOST_CHARS: usize = 64;

/// Could `sent` be meant for `name`? In doubt yes: equal but for case and separators, a few
/// letters away, or one begins or ends with the other (`write_mode` for `mode`).
pub(crate) fn is_near(sent: &str, name: &str) -> bool {
    if sent.len() > MOST_CHARS || name.len() > MOST_CHARS {
        return sent == name;
    }
    let (ours, theirs) = (bare(sent), bare(name));
    if ours == theirs {
        return !ours.is_empty();
    }
    let (short, long) = match ours.len() < theirs.len() {
        true => (&ours, &theirs),
        false => (&theirs, &ours),
    };
    let (least, most) = (short.chars().count(), long.chars().count());
    if least < 2 || (least == 2 && most > 4) {
        return false;
    }
    let edits = usize::from(least > 2) + usize::from(most > 5);
    long.starts_with(short.as_str())
        || long.ends_with(short.as_str())
        || Letters::of(&ours).may_be_typo(Letters::of(&theirs), edits)
            && strsim::osa_distance(&ours, &theirs) <= edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_meant() {
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
            assert!(is_near(sent, name), "{sent} {name}");
        }
        for (sent, name) in [
            ("path", "mode"),
            ("id", "to"),
            ("", ""),
            ("to", "total"),
            ("hourly", "url"),
        ] {
            assert!(!is_near(sent, name), "{sent} {name}");
        }
    }
}
