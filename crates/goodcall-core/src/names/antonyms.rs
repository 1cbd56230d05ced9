//! Names that are near each other and mean the contrary, or another thing of the same kind.

use super::similarity::{bare, words};

/// What turns a word into its contrary, or into its counterpart.
const PREFIXES: [&str; 31] = [
    "no", "not", "non", "un", "in", "im", "il", "ir", "ex", "en", "em", "dis", "de", "anti", "a",
    "b", "mis", "mal", "re", "pre", "post", "over", "under", "up", "down", "on", "off", "out",
    "sub", "inter", "intra",
];

/// Words that make a name mean another thing when they stand before it: `skip_tests`.
const TURNING: [&str; 14] = [
    "without", "never", "skip", "ignore", "exclude", "except", "disable", "hide", "deny", "min",
    "max", "minimum", "maximum", "old",
];

/// Words that mean different things, though no prefix says so: each one and all others in its
/// line. Two words for the same thing stand in no line together.
const GROUPS: [&[&str]; 37] = [
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

/// Units, those that are the same in one line.
const UNITS: [&[&str]; 7] = [
    &["ms", "msec", "millis", "millisecond", "milliseconds"],
    &["s", "sec", "secs", "second", "seconds"],
    &["min", "mins", "minute", "minutes"],
    &["h", "hr", "hrs", "hour", "hours"],
    &["b", "byte", "bytes"],
    &["kb", "kib", "kilobyte", "kilobytes"],
    &["mb", "mib", "megabyte", "megabytes"],
];

/// Is the difference of two names one of meaning, and hence no typo?
pub(crate) fn is_contrary(a: &str, b: &str) -> bool {
    if are_options(a, b) {
        return true;
    }
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
        // The value of `timeout` need not be one of `timeout_ms`.
        let turns = |word: &str| {
            PREFIXES.contains(&word) || TURNING.contains(&word) || unit(word).is_some()
        };
        let added = |word: &&String| !less.contains(word) && turns(word.as_str());
        if more.iter().any(|word| added(&word)) {
            return true;
        }
    }
    let (a, b) = (bare(a), bare(b));
    a != b && are_opposed(&a, &b)
}

/// Do two different words mean different things?
fn are_opposed(a: &str, b: &str) -> bool {
    let both = |group: &&[&str]| group.contains(&a) && group.contains(&b);
    let units = unit(a).zip(unit(b));
    if GROUPS.iter().any(both) || units.is_some_and(|(ours, theirs)| ours != theirs) {
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

fn unit(word: &str) -> Option<usize> {
    UNITS.iter().position(|unit| unit.contains(&word))
}

/// The word, and what is left of it without a prefix.
fn stems(word: &str) -> impl Iterator<Item = &str> {
    let bare = PREFIXES.iter().filter_map(move |p| word.strip_prefix(p));
    std::iter::once(word).chain(bare)
}

/// Are these two options of a command, of one letter each? `-I` is not `-i`.
pub(crate) fn are_options(a: &str, b: &str) -> bool {
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
            assert!(is_contrary(a, b) && is_contrary(b, a), "{a} {b}");
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
            assert!(!is_contrary(a, b), "{a} {b}");
        }
    }
}
