//! Local idiom: no `match` on a bool, no large state, no invented defaults.

use super::rust::Rust;
use super::source::is_test;
use super::{File, Finding};

/// The most fields of a struct.
const MOST_FIELDS: usize = 12;

/// Finds departures from the idiom in one Rust file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let rust = Rust::new(&file.text);
    let mut findings = matched_bools(file, &rust);
    if !is_test(&file.path) {
        findings.extend(large_structs(file, &rust));
        findings.extend(bare_expects(file, &rust));
        findings.extend(invented_texts(file, &rust));
    }
    findings
}

/// Finds arms whose whole pattern is `true` or `false`.
fn matched_bools(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in rust.code.iter().enumerate() {
        let is_arm = ["true", "false"].iter().any(|word| {
            line.match_indices(word).any(|(at, _)| {
                let before = line[..at].trim_end();
                let after = line[at + word.len()..].trim_start();
                (before.is_empty() || before.ends_with(['{', ',']))
                    && (after.starts_with("=>") || after.starts_with("if "))
            })
        });
        if is_arm {
            let what = "`match` on a bool: write `if` and `else`";
            findings.push(Finding::new(&file.path, index + 1, what));
        }
    }
    findings
}

fn large_structs(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lines = rust.shipped_code();
    while let Some((number, line)) = lines.next() {
        let Some(name) = struct_name(line) else {
            continue;
        };
        let fields = lines
            .by_ref()
            .take_while(|(_, line)| !line.starts_with('}'))
            .filter(|(_, line)| is_field(line))
            .count();
        if fields > MOST_FIELDS {
            let what = format!("`{name}` has {fields} fields, {MOST_FIELDS} are the most");
            findings.push(Finding::new(&file.path, number, what));
        }
    }
    findings
}

/// Returns the name of a struct with named fields that begins in this line.
fn struct_name(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest = rest.strip_prefix("struct ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    line.ends_with('{').then(|| &rest[..end])
}

/// Returns true for a field of a struct as rustfmt writes it.
fn is_field(line: &str) -> bool {
    let Some(rest) = line
        .strip_prefix("    ")
        .filter(|rest| !rest.starts_with(' '))
    else {
        return false;
    };
    let rest = match rest.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let name = rest.split_once(':').map_or("", |(name, _)| name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Finds `expect` without a reason of at least two words.
fn bare_expects(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in rust.shipped_code() {
        for (at, call) in line.match_indices(".expect(") {
            let after = &line[at + call.len()..];
            // The reason is the next string, on this line or the following one.
            let nth = line[..at].matches("\"\"").count();
            let mut strings = rust.strings.iter().filter(|(line, _)| *line >= number);
            let reason = strings.nth(nth).map_or("", |(_, text)| text.as_str());
            let is_text = after.is_empty() || after.starts_with("\"\"");
            if !is_text || reason.split_whitespace().count() < 2 {
                let what = "`expect` without a reason of at least two words";
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// Finds texts that are invented where a value is known to be a string.
fn invented_texts(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = "";
    for (number, line) in rust.shipped_code() {
        let same = line.contains("as_str().unwrap_or_default()");
        let next =
            line.trim_start().starts_with(".unwrap_or_default()") && before.ends_with("as_str()");
        if same || next {
            let what = "`as_str().unwrap_or_default()` invents a text: use `expect` or handle it";
            findings.push(Finding::new(&file.path, number, what));
        }
        before = line.trim_end();
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let file = File {
            path: "crates/a/src/b.rs".to_owned(),
            text: text.to_owned(),
        };
        check(&file)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn matches_on_a_bool_are_found() {
        let text = "match a {\n    true => 1,\n    false if b => 2,\n}\n";
        assert_eq!(found(text).len(), 2);
        assert_eq!(found("match a { true => 1, false => 2 }\n").len(), 1);
        let text = "match (a, b) {\n    (true, false) => 1,\n    (_, true) => 2,\n}\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn large_structs_are_found() {
        let fields = |count: usize| -> String {
            (0..count)
                .map(|n| format!("    pub(super) f{n}: u8,\n"))
                .collect()
        };
        let text = |count| format!("pub(crate) struct A<'a> {{\n{}}}\n", fields(count));
        assert_eq!(found(&text(MOST_FIELDS)), [""; 0]);
        assert!(found(&text(MOST_FIELDS + 1))[0].contains("`A` has 13 fields"));
    }

    #[test]
    fn bare_expects_are_found() {
        assert_eq!(found("let a = b.expect(\"JSON\");\n").len(), 1);
        assert_eq!(found("let a = b.expect(reason);\n").len(), 1);
        assert_eq!(found("let a = b.expect(\"keys are strings\");\n"), [""; 0]);
        assert_eq!(
            found("let a = f(\"x\").expect(\n    \"keys are strings\",\n);\n"),
            [""; 0]
        );
    }

    #[test]
    fn invented_texts_are_found() {
        assert_eq!(found("let a = b.as_str().unwrap_or_default();\n").len(), 1);
        assert_eq!(
            found("let a = b\n    .as_str()\n    .unwrap_or_default();\n").len(),
            1
        );
    }
}
