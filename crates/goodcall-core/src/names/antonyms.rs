//! Names that look alike and mean opposite things, or different things of one kind.

use super::letters::Words;

/// Prefixes that turn a word into its opposite, or into its counterpart.
const PREFIXES: [&str; 31] = [
    "no", "not", "non", "un", "in", "im", "il", "ir", "ex", "en", "em", "dis", "de", "anti", "a",
    "b", "mis", "mal", "re", "pre", "post", "over", "under", "up", "down", "on", "off", "out",
    "sub", "inter", "intra",
];

/// Words that change what a name means when they are added to it: `skip_tests`.
const MODIFIERS: [&str; 14] = [
    "without", "never", "skip", "ignore", "exclude", "except", "disable", "hide", "deny", "min",
    "max", "minimum", "maximum", "old",
];

/// Words that mean different things, though no prefix says so. Each word is opposed to all others of
/// its group; synonyms are never in one group.
const OPPOSED: [&[&str]; 37] = [
    &["min", "max"],
    &["minimum", "maximum"],
    &["before", "after"],
    &["start", "end"],
    &["start", "stop"],
    &["begin", "end"],
    &["since", "until"],
    &["first", "last"],
    &["next", "previous"],
    &["next", "prev"],
    &["old", "new"],
    &["left", "right"],
    &["top", "bottom"],
    &["lower", "upper"],
    &["from", "to", "cc", "bcc", "via"],
    &["source", "target"],
    &["source", "destination"],
    &["source", "dest"],
    &["src", "dst"],
    &["src", "dest"],
    &["sender", "receiver"],
    &["sender", "recipient"],
    &["with", "without"],
    &["allow", "deny", "block"],
    &["show", "hide"],
    &["open", "close"],
    &["add", "remove"],
    &["read", "write"],
    &["gt", "gte", "lt", "lte", "eq", "ne"],
    &["created", "updated", "deleted"],
    &["created", "modified", "deleted"],
    &["width", "height", "depth", "length"],
    &["row", "column"],
    &["latitude", "longitude"],
    &["lat", "lon"],
    &["lat", "lng"],
    &["year", "month", "week", "day", "hour", "minute", "second"],
];

/// Units of measurement; the names of one unit form a group.
const UNITS: [&[&str]; 7] = [
    &["ms", "msec", "millis", "millisecond", "milliseconds"],
    &["s", "sec", "secs", "second", "seconds"],
    &["min", "mins", "minute", "minutes"],
    &["h", "hr", "hrs", "hour", "hours"],
    &["b", "byte", "bytes"],
    &["kb", "kib", "kilobyte", "kilobytes"],
    &["mb", "mib", "megabyte", "megabytes"],
];

/// Returns true if two names differ in meaning, so that neither is a typo of the other.
pub(crate) fn are_antonyms(a: &str, b: &str) -> bool {
    are_options(a, b) || have_opposed_words(&Words::of(a), &Words::of(b))
}

/// Returns true if the words of two names differ in meaning.
pub(super) fn have_opposed_words(ours: &Words, theirs: &Words) -> bool {
    if ours.len() == theirs.len() {
        let mut differing = ours.iter().zip(theirs.iter()).filter(|(a, b)| a != b);
        if differing.any(|(a, b)| are_opposed(a, b)) {
            return true;
        }
    } else {
        let (more, less) = if ours.len() > theirs.len() {
            (ours, theirs)
        } else {
            (theirs, ours)
        };
        // Units count, too: a value for `timeout` need not be in the unit of `timeout_ms`.
        let changes_meaning = |word: &str| {
            is_among(word, &PREFIXES) || is_among(word, &MODIFIERS) || unit(word).is_some()
        };
        if more.missing_in(less).any(changes_meaning) {
            return true;
        }
    }
    // Single words have been compared above.
    if ours.len() == 1 && theirs.len() == 1 {
        return false;
    }
    let (ours, theirs) = (ours.joined(), theirs.joined());
    ours != theirs && are_opposed(&ours, &theirs)
}

/// Returns true if two different words mean different things.
fn are_opposed(a: &str, b: &str) -> bool {
    // Few groups have a word with each of these first letters.
    let initials = initial(a) | initial(b);
    let both = |(group, known): (&&[&str], &u32)| {
        known & initials == initials && is_among(a, group) && is_among(b, group)
    };
    let units = || unit(a).zip(unit(b));
    if OPPOSED.iter().zip(&OPPOSED_INITIALS).any(both)
        || units().is_some_and(|(ours, theirs)| ours != theirs)
    {
        return true;
    }
    // `file1` and `file2`, `x` and `y` are counterparts.
    let plural = a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let short = a.chars().count() <= 2 && b.chars().count() <= 2;
    if digits(a).ne(digits(b)) || (short && !plural) {
        return true;
    }
    // Stems are ends of words.
    a.bytes().next_back() == b.bytes().next_back()
        && stems(a).any(|ours| stems(b).any(|theirs| ours == theirs && ours.len() > 1))
}

/// Returns true if the word is one of these. The first letter alone tells most of the time.
fn is_among(word: &str, words: &[&str]) -> bool {
    let first = word.bytes().next();
    let mut like = words.iter().filter(|known| known.bytes().next() == first);
    like.any(|known| *known == word)
}

fn digits(word: &str) -> impl Iterator<Item = u8> {
    word.bytes().filter(u8::is_ascii_digit)
}

fn unit(word: &str) -> Option<usize> {
    let initial = initial(word);
    let mut units = UNITS.iter().zip(&UNIT_INITIALS);
    units.position(|(unit, known)| known & initial == initial && is_among(word, unit))
}

/// One bit for the first byte of a word: letters that differ have bits that differ.
const fn initial(word: &str) -> u32 {
    match word.as_bytes() {
        [first, ..] => 1 << (*first & 31),
        [] => 0,
    }
}

/// The bits of the first bytes of the words in each group.
const fn initials<const N: usize>(groups: &[&[&str]; N]) -> [u32; N] {
    let mut all = [0; N];
    let mut at = 0;
    while at < N {
        let mut word = 0;
        while word < groups[at].len() {
            all[at] |= initial(groups[at][word]);
            word += 1;
        }
        at += 1;
    }
    all
}

const OPPOSED_INITIALS: [u32; OPPOSED.len()] = initials(&OPPOSED);
const UNIT_INITIALS: [u32; UNITS.len()] = initials(&UNITS);

/// The word, and the word without each prefix that it has.
fn stems(word: &str) -> impl Iterator<Item = &str> {
    let first = word.bytes().next();
    let like = PREFIXES.iter().filter(move |p| p.bytes().next() == first);
    let bare = like.filter_map(move |p| word.strip_prefix(p));
    std::iter::once(word).chain(bare)
}

/// Returns true if these are different one-letter options of a command: `-I` is not `-i`.
pub(super) fn are_options(a: &str, b: &str) -> bool {
    let letter = |name: &str| {
        let mut letters = name.chars().filter(|c| c.is_alphanumeric());
        letters.next().filter(|_| letters.next().is_none())
    };
    let dashed = a.starts_with('-') || b.starts_with('-');
    dashed && letter(a).zip(letter(b)).is_some_and(|(a, b)| a != b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn antonyms_are_not_typos() {
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
            ("from_date", "to_date"),
            ("cc", "to"),
            ("src_path", "dst_path"),
            ("gte", "lte"),
            ("created_at", "updated_at"),
            ("timeout_sec", "timeout_ms"),
            ("skip_tests", "tests"),
            ("timeout", "timeout_ms"),
            ("non_verbose", "verbose"),
        ] {
            assert!(are_antonyms(a, b) && are_antonyms(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("file_pth", "file_path"),
            ("celcius", "celsius"),
            ("recieve_all", "receive_all"),
            ("limt", "limit"),
            ("user_ids", "user_id"),
            ("timeout_sec", "timeout_seconds"),
            ("username", "user_name"),
            ("start_dat", "start_date"),
            ("blue", "glue"),
        ] {
            assert!(!are_antonyms(a, b), "{a} {b}");
        }
    }
}
