//! Boundaries between crates: texts for models, foreign types in public signatures, public names.

use std::collections::BTreeMap;

use super::rust::Rust;
use super::source::is_test;
use super::{File, Finding};

/// Phrases of texts for models.
const MODEL_PHRASES: [&str; 4] = [
    "was not run",
    "Call it again",
    "call the tool again",
    "nothing was run",
];

/// Where texts for models are written.
const MODEL_PATHS: [&str; 2] = [
    "crates/goodcall-core/src/explain/",
    "crates/goodcall/src/explain.rs",
];

/// Crates whose types may be in public signatures.
const SHARED_CRATES: [&str; 10] = [
    "alloc",
    "core",
    "crate",
    "proc_macro",
    "schemars",
    "self",
    "serde",
    "serde_json",
    "std",
    "super",
];

/// Foreign types that are shown all the same: the crate, the type, and why.
const SHOWN: [(&str, &str, &str); 20] = [
    (
        "goodcall",
        "CancellationToken",
        "hosts cancel calls with it",
    ),
    ("goodcall", "async_trait", "tools are written with it"),
    (
        "goodcall",
        "Layer",
        "`otlp` returns a layer for a subscriber",
    ),
    (
        "goodcall",
        "Subscriber",
        "`otlp` returns a layer for a subscriber",
    ),
    (
        "goodcall",
        "LookupSpan",
        "`otlp` returns a layer for a subscriber",
    ),
    (
        "goodcall-audit",
        "RecordBatch",
        "batches of calls in Arrow's form",
    ),
    ("goodcall-gateway", "Uri", "the address of an upstream"),
    ("goodcall-gateway", "TcpListener", "hosts bind the socket"),
    ("goodcall-mcp", "TcpListener", "hosts bind the socket"),
    ("goodcall-mcp", "AsyncRead", "the client's end of a pipe"),
    ("goodcall-mcp", "AsyncWrite", "the client's end of a pipe"),
    (
        "goodcall-server",
        "Bytes",
        "the two servers have bodies of their own kinds",
    ),
    ("goodcall-server", "Counter", "each server counts its own"),
    (
        "goodcall-server",
        "EncodeLabelSet",
        "each server has labels of its own",
    ),
    (
        "goodcall-server",
        "Family",
        "each server adds metrics of its own",
    ),
    ("goodcall-server", "HeaderMap", "shared by the two servers"),
    ("goodcall-server", "HeaderName", "shared by the two servers"),
    (
        "goodcall-server",
        "Registry",
        "each server adds metrics of its own",
    ),
    ("goodcall-server", "Request", "shared by the two servers"),
    ("goodcall-server", "Response", "shared by the two servers"),
];

/// Finds departures in one Rust file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    if !file.path.starts_with("crates/") || is_test(&file.path) {
        return Vec::new();
    }
    let rust = Rust::new(&file.text);
    let mut findings = model_texts(file, &rust);
    findings.extend(foreign_types(file, &rust));
    findings
}

fn model_texts(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    if MODEL_PATHS.iter().any(|path| file.path.starts_with(path)) {
        return findings;
    }
    for (line, text) in rust.shipped_strings() {
        for phrase in MODEL_PHRASES
            .iter()
            .filter(|phrase| text.contains(**phrase))
        {
            let what = format!("a text for models outside explain: `{phrase}`");
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    findings
}

/// Finds names that were imported from a foreign crate and are used in a public signature.
fn foreign_types(file: &File, rust: &Rust) -> Vec<Finding> {
    let package = file.path.split('/').nth(1).unwrap_or_default();
    // The command is not a library.
    if package == "goodcall-cli" {
        return Vec::new();
    }
    let foreign = foreign_names(rust);
    let mut findings = Vec::new();
    // The ends of the signature that the line is part of.
    let mut ends: Option<&[char]> = None;
    for (number, line) in rust.shipped_code() {
        let trimmed = line.trim();
        if ends.is_none() && trimmed.starts_with("pub ") {
            let is_function = words(trimmed).take(4).any(|word| word == "fn");
            ends = Some(if is_function {
                &['{', ';']
            } else {
                &['{', ';', ',', '}']
            });
        }
        if ends.is_some() {
            for name in
                words(public_part(line)).filter(|name| foreign.iter().any(|other| other == name))
            {
                let shown = SHOWN
                    .iter()
                    .any(|(of, shown, _)| *of == package && *shown == name);
                if !shown {
                    let what = format!("the public API shows `{name}` of another crate");
                    findings.push(Finding::new(&file.path, number, what));
                }
            }
        }
        if ends.is_some_and(|ends| trimmed.ends_with(ends)) {
            ends = None;
        }
    }
    findings
}

/// Returns the names that `use` brings in from foreign crates.
fn foreign_names(rust: &Rust) -> Vec<String> {
    let mut names = Vec::new();
    let mut import = String::new();
    for (_, line) in rust.shipped_code() {
        let trimmed = line.trim();
        if import.is_empty() && !trimmed.starts_with("use ") && !trimmed.starts_with("pub use ") {
            continue;
        }
        import.push_str(trimmed);
        if !trimmed.ends_with(';') {
            continue;
        }
        let whole = std::mem::take(&mut import);
        let path = whole.trim_start_matches("pub ").trim_start_matches("use ");
        let root = words(path).next().unwrap_or_default();
        let is_module = root.chars().next().is_some_and(char::is_uppercase)
            || !path[root.len()..].starts_with("::");
        let is_own =
            root.starts_with("goodcall") || rust.code.iter().any(|line| declares(line, root));
        if !is_module && !is_own && !SHARED_CRATES.contains(&root) {
            let leaves = path.split([',', '{', '}', ';']);
            let leaf = |path: &str| words(path).last().map(str::to_owned);
            names.extend(leaves.filter(|path| !path.ends_with("::")).filter_map(leaf));
        }
    }
    names
}

/// Returns true if the line declares this module, which then is no crate.
fn declares(line: &str, module: &str) -> bool {
    let line = line
        .trim_start()
        .trim_start_matches("pub ")
        .trim_start_matches("pub(crate) ");
    line.strip_prefix("mod ")
        .is_some_and(|rest| words(rest).next() == Some(module))
}

/// Returns a line without the private fields of a tuple struct.
fn public_part(line: &str) -> &str {
    match line.split_once('(') {
        Some((head, fields)) if head.contains("struct ") && !fields.starts_with("pub ") => head,
        _ => line,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Finds public types of one name in two crates.
pub(super) fn same_names(files: &[File]) -> Vec<Finding> {
    let mut known: BTreeMap<String, (&str, &str)> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files {
        let Some(package) = file.path.strip_prefix("crates/") else {
            continue;
        };
        let package = package.split('/').next().unwrap_or_default();
        if is_test(&file.path) || !file.path.ends_with(".rs") || package == "goodcall-cli" {
            continue;
        }
        for (number, line) in Rust::new(&file.text).shipped_code() {
            let Some(name) = public_type(line) else {
                continue;
            };
            match known.get(name) {
                Some((other, path)) if *other != package => {
                    let what = format!("`{name}` is also a public type of {path}");
                    findings.push(Finding::new(&file.path, number, what));
                }
                Some(_) => {}
                None => {
                    known.insert(name.to_owned(), (package, &file.path));
                }
            }
        }
    }
    findings
}

/// Returns the name of the public type that this line declares.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let (keyword, rest) = rest.split_once(' ')?;
    ["struct", "enum", "trait", "type"]
        .contains(&keyword)
        .then(|| words(rest).next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        let (path, text) = (path.to_owned(), text.to_owned());
        File { path, text }
    }

    fn found(text: &str) -> usize {
        check(&file("crates/goodcall-wire/src/a.rs", text)).len()
    }

    #[test]
    fn texts_for_models_stay_in_explain() {
        let text = "let a = \"The tool was not run.\";\n";
        assert_eq!(found(text), 1);
        assert_eq!(check(&file("crates/goodcall/src/explain.rs", text)), []);
        assert_eq!(found("// A call that was not run.\n"), 0);
    }

    #[test]
    fn foreign_types_in_signatures_are_found() {
        assert_eq!(found("use http::Uri;\npub fn a() -> Uri {\n"), 1);
        assert_eq!(
            found("use http::{Method, Uri};\npub struct A {\n    pub a: Uri,\n}\n"),
            1
        );
        assert_eq!(
            found("use http::Uri;\npub fn a(\n    b: u8,\n    c: Uri,\n) -> u8 {\n"),
            1
        );
        assert_eq!(found("pub use tokio_util::sync::CancellationToken;\n"), 1);
    }

    #[test]
    fn own_types_in_signatures_are_not() {
        assert_eq!(
            found("use http::Uri;\nfn a() -> Uri {\npub(crate) fn b(c: Uri) {\n"),
            0
        );
        assert_eq!(found("use serde_json::Value;\npub fn a() -> Value {\n"), 0);
        assert_eq!(found("mod b;\npub use b::B;\npub fn a() -> B {\n"), 0);
        assert_eq!(
            found("use http::Uri;\npub fn a() {\n    let b: Uri = c;\n}\n"),
            0
        );
    }

    #[test]
    fn two_public_types_of_one_name_are_found() {
        let one = file("crates/a/src/lib.rs", "pub struct Call {\n");
        let two = file("crates/b/src/lib.rs", "pub enum Call {\n");
        assert_eq!(same_names(&[one, two]).len(), 1);
        let one = file("crates/a/src/lib.rs", "pub struct Call;\n");
        let two = file(
            "crates/b/src/lib.rs",
            "struct Call;\npub(crate) enum Call {}\n",
        );
        assert_eq!(same_names(&[one, two]), []);
    }
}
