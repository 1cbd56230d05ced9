//! Checks documents: links lead to files, and the changelog has an open section.

use super::{File, Finding};

/// Documents that the repository must have.
const REQUIRED: [&str; 4] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

/// Runs every check on one document.
pub(super) fn check(file: &File, all: &[File]) -> Vec<Finding> {
    if !file.path.ends_with(".md") || file.path.starts_with("cases/") {
        return Vec::new();
    }
    let mut findings = links(file, |path| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        all.iter()
            .any(|other| other.path == path || other.path.starts_with(&folder))
    });
    if file.path == "CHANGELOG.md" && !file.text.contains("## [Unreleased]") {
        findings.push(Finding::new(&file.path, 0, "has no `## [Unreleased]`"));
    }
    findings
}

/// Finds required documents that are missing.
pub(super) fn missing(all: &[File]) -> Vec<Finding> {
    let absent = REQUIRED
        .iter()
        .filter(|path| !all.iter().any(|file| file.path == **path));
    absent
        .map(|path| Finding::new(path, 0, "is missing"))
        .collect()
}

/// Finds links to files that do not exist.
fn links(file: &File, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in file.text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for target in targets(line) {
            let path = resolve(&file.path, target);
            if !path.is_some_and(|path| exists(&path)) {
                let what = format!("links to {target}, which does not exist");
                findings.push(Finding::new(&file.path, index + 1, what));
            }
        }
    }
    findings
}

/// Returns the targets of `[…](…)` in this line, except URLs and places in the same document.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        let path = target.split('#').next()?;
        (!path.is_empty() && !path.contains("://") && !path.starts_with("mailto:")).then_some(path)
    })
}

/// Returns the path of a link from the root; `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        let (path, text) = (path.to_owned(), text.to_owned());
        File { path, text }
    }

    #[test]
    fn links_to_missing_files_are_found() {
        let all = [file("docs/a.md", ""), file("crates/b/src/lib.rs", "")];
        let good = "[a](a.md#x) [b](../crates/b) [c](https://example.org) [d](#here)\n";
        assert_eq!(check(&file("docs/c.md", good), &all), []);
        for bad in ["[a](none.md)", "[a](../../a.md)", "[a](../crates/c/)"] {
            let found = check(&file("docs/c.md", bad), &all);
            assert_eq!(found.len(), 1, "{bad}");
        }
        assert_eq!(
            check(&file("docs/c.md", "```\n[a](none.md)\n```\n"), &all),
            []
        );
    }

    #[test]
    fn changelog_needs_an_unreleased_section() {
        assert_eq!(check(&file("CHANGELOG.md", "# Changes\n"), &[]).len(), 1);
        assert_eq!(check(&file("CHANGELOG.md", "## [Unreleased]\n"), &[]), []);
    }

    #[test]
    fn missing_documents_are_found() {
        assert_eq!(missing(&[]).len(), REQUIRED.len());
        assert_eq!(missing(&REQUIRED.map(|path| file(path, ""))), []);
    }
}
