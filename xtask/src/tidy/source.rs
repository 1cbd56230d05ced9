//! Checks of single source files.

use super::rust::tests_start;
use super::{File, Finding};

/// The most lines of a file before its unit tests.
const MOST_LINES: usize = 600;

/// Names that the core must not use: it has no I/O, no clock, no environment.
const NOT_IN_CORE: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::time",
    "std::process",
    "println!",
    "eprintln!",
    "dbg!",
];

/// Keys of provider envelopes.
const PROVIDER_KEYS: [&str; 11] = [
    "\"tool_use_id\"",
    "\"tool_use\"",
    "\"tool_calls\"",
    "\"tool_call_id\"",
    "\"function_call\"",
    "\"functionCall\"",
    "\"functionDeclarations\"",
    "\"input_schema\"",
    "\"inputSchema\"",
    "\"toolSpec\"",
    "\"parametersJsonSchema\"",
];

/// The files that may name provider keys: the readers and writers of envelopes, the readers of
/// recordings, the request and the
/// result block of `goodcall`, its conversion of conversations, the finish reason in its spans, the
/// recorded replies of the command, and this list.
const PROVIDER_PATHS: [&str; 9] = [
    "crates/goodcall-wire/",
    "crates/goodcall-audit/src/readers/",
    "crates/goodcall-mcp/",
    "crates/goodcall/src/tool_call_request.rs",
    "crates/goodcall/src/tool_result.rs",
    "crates/goodcall/src/wire.rs",
    "crates/goodcall/src/trace.rs",
    "crates/goodcall-cli/src/run.rs",
    "xtask/src/tidy/",
];

/// Runs every check on one file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let mut findings = absolute_paths(file);
    if file.path.ends_with(".rs") {
        for check in [
            head, length, unwrap, pure_core, validator, providers, leftovers,
        ] {
            findings.append(&mut check(file));
        }
    }
    findings
}

/// Returns true for what is not shipped: tests, examples, benchmarks, fuzz targets, this tool.
pub(super) fn is_test(path: &str) -> bool {
    [
        "/tests/",
        "/examples/",
        "/benches/",
        "benches/",
        "fuzz/",
        "xtask/",
    ]
    .iter()
    .any(|folder| path.contains(folder))
}

/// Returns the lines of code before the unit tests, numbered from 1.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let end = tests_start(&file.text);
    let lines = file.text.lines().enumerate().take(end);
    lines
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
        .filter(|(_, line)| !line.trim().is_empty())
}

fn matching(file: &File, words: &[&str], what: impl Fn(&str) -> String) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in code(file) {
        for word in words.iter().filter(|word| line.contains(**word)) {
            findings.push(Finding::new(&file.path, number, what(word)));
        }
    }
    findings
}

fn head(file: &File) -> Vec<Finding> {
    // The tests of compile errors begin with the code that has the error.
    if file.text.starts_with("//!") || file.path.contains("/tests/ui/") {
        return Vec::new();
    }
    vec![Finding::new(
        &file.path,
        1,
        "does not begin with `//!`: say what the file is",
    )]
}

fn length(file: &File) -> Vec<Finding> {
    let lines = tests_start(&file.text);
    if lines <= MOST_LINES {
        return Vec::new();
    }
    let what = format!("{lines} lines without tests, {MOST_LINES} are the most");
    vec![Finding::new(&file.path, 0, what)]
}

fn unwrap(file: &File) -> Vec<Finding> {
    if is_test(&file.path) {
        return Vec::new();
    }
    matching(file, &[".unwrap()"], |word| {
        format!("`{word}` outside tests: write `expect` with a reason")
    })
}

fn pure_core(file: &File) -> Vec<Finding> {
    if !file.path.starts_with("crates/goodcall-core/src/") {
        return Vec::new();
    }
    matching(file, &NOT_IN_CORE, |word| {
        format!("`{word}` in the core, which has no I/O")
    })
}

/// Keeps the validator inside two folders, and out of their public signatures.
fn validator(file: &File) -> Vec<Finding> {
    if !file.path.starts_with("crates/") || is_test(&file.path) {
        return Vec::new();
    }
    let core = "crates/goodcall-core/src/";
    let home = [format!("{core}validate/"), format!("{core}schema/")];
    if home.iter().any(|home| file.path.starts_with(home)) {
        let shown = code(file).filter(|(_, line)| {
            let line = line.trim_start();
            line.starts_with("pub ") && line.contains("jsonschema")
        });
        let finding = |(number, _)| Finding::new(&file.path, number, "shows a foreign type");
        return shown.map(finding).collect();
    }
    matching(file, &["jsonschema::", "jsonschema_value"], |word| {
        format!("`{word}` outside validate/ and schema/")
    })
}

fn providers(file: &File) -> Vec<Finding> {
    let allowed = PROVIDER_PATHS
        .iter()
        .any(|path| file.path.starts_with(path));
    if allowed || is_test(&file.path) {
        return Vec::new();
    }
    matching(file, &PROVIDER_KEYS, |word| {
        format!("provider key {word} outside goodcall-wire")
    })
}

/// Finds notes to self in comments. The words are split here, so that this file has none.
fn leftovers(file: &File) -> Vec<Finding> {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("for ", "now"),
    ];
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some((_, comment)) = line.split_once("//") else {
            continue;
        };
        for word in words.iter().filter(|word| has_word(comment, word)) {
            let what = format!("`{word}`: finish it, or write an issue");
            findings.push(Finding::new(&file.path, index + 1, what));
        }
    }
    findings
}

/// Returns true if the line has this word, other than as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let borders = |at: usize| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    };
    line.match_indices(word).any(|(at, _)| borders(at))
}

/// Finds paths of one machine. Tests and documents may invent paths, but not these.
fn absolute_paths(file: &File) -> Vec<Finding> {
    let roots = [
        concat!("/", "work/"),
        concat!("/", "root/"),
        concat!("/", "tmp/"),
    ];
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for root in roots.iter().filter(|root| is_absolute(line, root)) {
            let what = format!("`{root}` is a path of one machine");
            findings.push(Finding::new(&file.path, index + 1, what));
        }
    }
    findings
}

fn is_absolute(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~$})*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let (path, text) = (path.to_owned(), text.to_owned());
        let findings = check(&File { path, text });
        findings
            .into_iter()
            .map(|f| format!("{}: {}", f.line, f.what))
            .collect()
    }

    fn one(path: &str, text: &str, line: usize, what: &str) {
        let found = found(path, text);
        let wanted = found.len() == 1 && found[0].starts_with(&format!("{line}: "));
        assert!(
            wanted && found[0].contains(what),
            "{path}: {text}: {found:?}"
        );
    }

    const CORE: &str = "crates/goodcall-core/src/a.rs";

    #[test]
    fn each_check_can_fail() {
        one(CORE, "fn a() {}\n", 1, "//!");
        one(
            CORE,
            &format!("//! a\n{}", "fn a() {}\n".repeat(600)),
            0,
            "601 lines",
        );
        one(CORE, "//! a\nlet a = b.unwrap();\n", 2, "outside tests");
        one(CORE, "//! a\nuse std::fs;\n", 2, "no I/O");
        one(CORE, "//! a\nprintln!();\n", 2, "no I/O");
        one(
            CORE,
            "//! a\nuse jsonschema::Draft;\n",
            2,
            "outside validate/",
        );
        one(
            CORE,
            "//! a\nlet key = \"tool_use_id\";\n",
            2,
            "provider key",
        );
        one(CORE, concat!("//! a\n// TO", "DO: more\n"), 2, "finish it");
        one(
            CORE,
            concat!("//! a\n// good enough for", " now\n"),
            2,
            "finish it",
        );
        let shown = "//! a\npub fn draft() -> jsonschema::Draft {}\n";
        one(
            "crates/goodcall-core/src/schema/a.rs",
            shown,
            2,
            "foreign type",
        );
        one(
            "README.md",
            concat!("see /", "work/main\n"),
            1,
            "one machine",
        );
        one("a.sh", concat!("cd /", "root/x\n"), 1, "one machine");
    }

    #[test]
    fn allowed_text_is_not_found() {
        let tests = format!(
            "//! a\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "a.unwrap();\n".repeat(700)
        );
        assert_eq!(found(CORE, &tests), [""; 0]);
        assert_eq!(
            found(CORE, "//! a\n// std::fs is not used, nor unwrap().\n"),
            [""; 0]
        );
        assert_eq!(
            found("crates/a/tests/b.rs", "//! a\na.unwrap();\n"),
            [""; 0]
        );
        let wire = "crates/goodcall-wire/src/a.rs";
        assert_eq!(found(wire, "//! a\nlet a = \"tool_use_id\";\n"), [""; 0]);
        assert_eq!(
            found("docs/a.md", concat!("~/", "work/x and https://a.b/tmp/\n")),
            [""; 0]
        );
    }
}
