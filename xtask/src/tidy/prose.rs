//! Idioms that no reader should have to decode, refused in comments, strings, documents and titles.

use super::rust::Rust;
use super::source::is_test;
use super::{File, Finding};

/// Phrases that are never used, and what to write instead.
const PHRASES: [(&str, &str); 9] = [
    ("so-manieth", "write `the index of`"),
    ("is none", "write `is not a valid …` or `there is no …`"),
    ("are none", "write `are not valid …` or `there are no …`"),
    ("what stands", "name the thing"),
    ("what is none", "name the thing"),
    ("one line a ", "write `per`"),
    ("one file a ", "write `per`"),
    ("once a ", "write `per`"),
    ("bytes a ", "write `per`"),
];

/// Finds the idioms in one file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The lists of this folder name the idioms.
    if file.path.starts_with("xtask/src/tidy/") {
        return findings;
    }
    if file.path.ends_with(".rs") {
        let rust = Rust::new(&file.text);
        let mut fenced = false;
        for (line, comment) in &rust.comments {
            let text = comment.trim_start_matches(['/', '!', '*']).trim();
            fenced ^= text.starts_with("```");
            if !fenced {
                report(file, *line, text, &mut findings);
                if text.ends_with('?') {
                    let what = "a comment ends in `?`: write `Returns true if …`";
                    findings.push(Finding::new(&file.path, *line, what));
                }
            }
        }
        // Texts for models are pinned, and the strings of tests are data.
        if !is_test(&file.path) && !file.path.contains("/explain") {
            for (line, text) in rust.shipped_strings() {
                report(file, line, text, &mut findings);
            }
        }
    } else if file.path.ends_with(".md") {
        let cases = file.path.starts_with("cases/");
        let mut fenced = false;
        for (index, line) in file.text.lines().enumerate() {
            fenced ^= line.starts_with("```");
            if !fenced && (!cases || line.starts_with('#')) {
                report(file, index + 1, line, &mut findings);
            }
        }
    }
    findings
}

fn report(file: &File, line: usize, text: &str, findings: &mut Vec<Finding>) {
    let lower = text.to_lowercase();
    for (phrase, advice) in PHRASES {
        if has_phrase(&lower, phrase) {
            let what = format!("`{}`: {advice}", phrase.trim());
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    if says_is_no(&lower) {
        let what = "`is no`: write `is not a …` or `there is no …`";
        findings.push(Finding::new(&file.path, line, what));
    }
}

/// Returns true if the phrase begins and ends at the border of a word.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric)
            && !text[..at].ends_with("there ")
            && (phrase.ends_with(' ') || !after.is_some_and(char::is_alphanumeric))
    })
}

/// Returns true for "is no X", other than "there is no X", "is no longer" and "is no more".
fn says_is_no(text: &str) -> bool {
    text.match_indices("is no ").any(|(at, phrase)| {
        let before = text[..at].trim_end();
        let after = &text[at + phrase.len()..];
        let is_word = text[..at].is_empty() || text[..at].ends_with([' ', '(']);
        is_word
            && !before.is_empty()
            && !before.ends_with("there")
            && !after.starts_with("longer")
            && !after.starts_with("more")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let (path, text) = (path.to_owned(), text.to_owned());
        check(&File { path, text }).len()
    }

    #[test]
    fn idioms_are_found() {
        for text in [
            "/// The so-manieth call.\n",
            "/// A call that is none.\n",
            "/// Is this a call?\n",
            "/// One line a call.\n",
            "// What stands there is kept.\n",
            "let a = \"`x` is no policy\";\n",
        ] {
            assert_eq!(found("crates/a/src/b.rs", text), 1, "{text}");
        }
        assert_eq!(found("docs/a.md", "One JSON object, one line a call.\n"), 1);
        assert_eq!(found("cases/a/b.md", "## A call that is none\n"), 1);
    }

    #[test]
    fn plain_english_is_not() {
        for text in [
            "/// There is no call, there are none, and it is no longer needed.\n",
            "let a = b?;\n",
            "/// ```\n/// let a = b()?\n/// ```\n",
            "/// This is not one of them. Nonetheless it is kept.\n",
        ] {
            assert_eq!(found("crates/a/src/b.rs", text), 0, "{text}");
        }
        let case = "## A title\n```json raw\n{\"a\": \"is none\"}\n```\n";
        assert_eq!(found("cases/a/b.md", case), 0);
        assert_eq!(
            found("crates/a/tests/b.rs", "let a = \"5 is no tool\";\n"),
            0
        );
    }
}
