//! Every command that the documents show is run, and must print exactly what they show.
//!
//! A block of kind `console` holds commands behind `$ ` and what they print, standard output
//! first; a line `? 1` names an exit code that is not 0. Variables may come before the command
//! (`$ NAME=value goodcall …`). `GOODCALL_BLESS=1 cargo test` writes
//! what was printed into the documents: read the difference before you commit it.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::Path;
use std::process::Command;

/// How the documents call the command.
const CALLS: [&str; 2] = ["$ goodcall ", "$ cargo run -p goodcall-cli -- "];

#[test]
fn documented_commands_print_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    for folder in ["cases/cli", "docs"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            continue;
        };
        let entries = entries.map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    files.sort();
    let (mut failures, mut count) = (String::new(), 0);
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let printed = replay(&source, &root, &mut count);
        if printed == source {
            continue;
        }
        if std::env::var_os("GOODCALL_BLESS").is_some() {
            std::fs::write(&file, printed).unwrap();
        } else {
            failures += &difference(&file, &source, &printed);
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 10, "the documents show commands");
}

/// The catalogue of rules is printed by the command itself.
#[test]
fn rule_catalogue_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (file, printed) = (
        root.join("docs/rules.md"),
        run(None, "rules --markdown", &root),
    );
    if std::env::var_os("GOODCALL_BLESS").is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == printed,
        "docs/rules.md differs: GOODCALL_BLESS=1 cargo test rewrites it"
    );
}

/// Returns the document with what its commands print now.
fn replay(source: &str, root: &Path, count: &mut usize) -> String {
    let mut out = String::new();
    let mut lines = source.lines().peekable();
    let mut console = false;
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            console = line == "```console";
        }
        out += line;
        out.push('\n');
        let (variable, bare) = variable(line);
        let call = CALLS.iter().find_map(|call| bare.strip_prefix(call));
        let Some(words) = call.filter(|_| console) else {
            continue;
        };
        *count += 1;
        while lines
            .next_if(|next| !next.starts_with("$ ") && *next != "```")
            .is_some()
        {}
        out += &run(variable, words, root);
        if lines.peek().is_some_and(|next| next.starts_with("$ ")) {
            out.push('\n');
        }
    }
    out
}

/// Splits off the variable before a command.
fn variable(line: &str) -> (Option<(&str, &str)>, String) {
    let split = line
        .strip_prefix("$ ")
        .and_then(|line| line.split_once(' '));
    let Some((Some(variable), words)) = split.map(|(word, rest)| (word.split_once('='), rest))
    else {
        return (None, line.to_owned());
    };
    (Some(variable), format!("$ {words}"))
}

/// Runs one command, words separated by blanks, and gives back what it printed.
fn run(variable: Option<(&str, &str)>, words: &str, root: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_goodcall"))
        // The width of the help.
        .env_remove("COLUMNS")
        .envs(variable)
        .args(words.split_whitespace())
        .current_dir(root)
        .output()
        .unwrap();
    let code = output.status.code().unwrap();
    let code = if code == 0 {
        String::new()
    } else {
        format!("? {code}\n")
    };
    let text = [output.stdout, output.stderr].concat();
    code + &String::from_utf8(text).unwrap()
}

fn difference(file: &Path, expected: &str, printed: &str) -> String {
    let mut out = format!("--- {}\n", file.display());
    let (mut expected, mut printed) = (expected.lines(), printed.lines());
    loop {
        match (expected.next(), printed.next()) {
            (None, None) => return out,
            (a, b) if a == b => {}
            (a, b) => out += &format!("- {}\n+ {}\n", a.unwrap_or_default(), b.unwrap_or_default()),
        }
    }
}
