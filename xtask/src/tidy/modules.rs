//! The direction of the modules of `goodcall-core`: each may use only those before it.

use super::rust::Rust;
use super::{File, Finding};

const ROOT: &str = "crates/goodcall-core/src/";

/// The top-level modules in order. A module uses itself and those before it.
const ORDER: [&str; 16] = [
    "limits",
    "snippet",
    "stable_hash",
    "stop",
    "tree",
    "names",
    "rule",
    "policy",
    "report",
    "validate",
    "schema",
    "parse",
    "mend",
    "diagnose",
    "explain",
    "pipeline",
];

/// Finds uses of a module that comes later.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let Some(path) = file.path.strip_prefix(ROOT) else {
        return Vec::new();
    };
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" {
        return Vec::new();
    }
    let own = path.split('/').next().unwrap_or(path);
    let Some(rank) = rank(own) else {
        let what = format!("the module `{own}` is not in the list of {}", file!());
        return vec![Finding::new(&file.path, 0, what)];
    };
    let mut findings = Vec::new();
    for (line, used) in used_modules(&Rust::new(&file.text), path.split('/').count()) {
        let what = match self::rank(&used) {
            Some(other) if other <= rank => continue,
            Some(_) => format!("`{own}` uses `{used}`, which comes after it"),
            None => format!("`crate::{used}` names no module: write the module's path"),
        };
        findings.push(Finding::new(&file.path, line, what));
    }
    findings
}

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|other| *other == module)
}

/// Returns the first segment of every path that starts at the root of the crate, with its line.
/// `depth` is how many `super::` lead there.
fn used_modules(rust: &Rust, depth: usize) -> Vec<(usize, String)> {
    let mut code = String::new();
    let mut starts = Vec::new();
    for (_, line) in rust.shipped_code() {
        starts.push(code.len());
        code.push_str(line);
        code.push('\n');
    }
    let line_of = |at: usize| starts.partition_point(|start| *start <= at);
    let mut used = Vec::new();
    for prefix in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                continue;
            }
            let rest = &code[at + prefix.len()..];
            for name in first_segments(rest) {
                used.push((line_of(at), name));
            }
        }
    }
    used
}

/// Returns the identifier at the start of `rest`, or those of a group: `a` and `b` in `{a::c, b}`.
fn first_segments(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return Vec::from_iter(identifier(rest));
    };
    let mut names = Vec::new();
    let mut depth = 0;
    let mut expected = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            _ if expected && !c.is_whitespace() => {
                names.extend(identifier(&group[at..]));
                expected = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &text[..end.unwrap_or(text.len())];
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = File {
            path: format!("{ROOT}{path}"),
            text: text.to_owned(),
        };
        let findings = check(&file).into_iter();
        findings
            .map(|f| format!("{}: {}", f.line, f.what))
            .collect()
    }

    #[test]
    fn uses_of_later_modules_are_found() {
        for (path, text) in [
            ("parse/mod.rs", "use crate::mend::Mend;\n"),
            ("parse/a.rs", "\n\nfn f() { crate::explain::text() }\n"),
            (
                "tree/a.rs",
                "use crate::{\n    limits::Limits, parse::{a, b},\n};\n",
            ),
            ("tree/a.rs", "use super::super::report::Change;\n"),
            ("limits.rs", "use super::tree::Tree;\n"),
        ] {
            let found = found(path, text);
            assert!(found.len() == 1 && found[0].contains("after"), "{found:?}");
        }
        assert!(found("mystery.rs", "")[0].contains("not in the list"));
        assert!(found("tree/a.rs", "use crate::Tree;\n")[0].contains("names no module"));
    }

    #[test]
    fn uses_of_earlier_modules_are_allowed() {
        let text = "use crate::{limits::Limits, tree::{Tree, Node}};\n// crate::pipeline\n\
                    use super::a;\n#[cfg(test)]\nmod tests {\n    use crate::pipeline::Gate;\n}\n";
        assert_eq!(found("mend/rules/a.rs", text), [""; 0]);
    }
}
