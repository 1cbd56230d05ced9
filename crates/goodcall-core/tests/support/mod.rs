//! Runs the case files.
//!
//! A case file is Markdown. A heading of level 2 opens a case. Fenced blocks hold its input and its
//! expected output; the info string says which. Blocks before the first case belong to all cases of
//! the file. `GOODCALL_BLESS=1 cargo test` writes the actual output into the blocks that exist: read
//! the difference before you commit it.
//!
//! A block ```` ```fragment NAME ```` before the first case defines a fragment: `{{NAME}}` stands for
//! its text in every block after it, inputs and expectations alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One block of a case, with its fragments expanded.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The last word of the info string: `json schema` is coloured as JSON.
    pub(crate) info: String,
    pub(crate) text: String,
    /// The lines of the file that hold the text.
    pub(crate) lines: std::ops::Range<usize>,
    /// The fragments that the text uses, so that blessing can fold them again.
    fragments: Vec<Fragment>,
}

/// A text that blocks refer to by name.
#[derive(Clone, Debug)]
struct Fragment {
    name: String,
    text: String,
}

impl Fragment {
    fn reference(&self) -> String {
        format!("{{{{{}}}}}", self.name)
    }
}

/// One case: its name and its blocks, those of the file's head first.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

impl Case {
    /// The last block with this info string.
    pub(crate) fn get(&self, info: &str) -> Option<&str> {
        let found = self.blocks.iter().rev().find(|block| block.info == info);
        found.map(|block| block.text.as_str())
    }

    /// The raw text: block `raw`, or `raw-escaped` as a JSON string for what cannot be shown.
    pub(crate) fn raw(&self) -> String {
        match (self.get("raw"), self.get("raw-escaped")) {
            (Some(raw), _) => raw.to_owned(),
            (None, Some(json)) => serde_json::from_str(json).expect("raw-escaped: a JSON string"),
            (None, None) => panic!("case `{}` has no raw text", self.name),
        }
    }
}

/// The folder of case files.
pub(crate) fn cases_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// Runs every case of a folder: `run` maps a case to what came out, by info string. Every block
/// of the case whose info string is among those must be equal to it; a case with no such block
/// fails, because it could not fail otherwise.
pub(crate) fn run_folder(
    folder: &str,
    inputs: &[&str],
    run: impl Fn(&Case) -> BTreeMap<String, String>,
) {
    let dir = cases_dir().join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no case files in {}", dir.display());
    let bless = std::env::var_os("GOODCALL_BLESS").is_some();
    let mut failures = String::new();
    let mut count = 0;
    for path in files {
        let source = std::fs::read_to_string(&path).expect("a readable case file");
        let mut blessed: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for case in parse(&source) {
            count += 1;
            let out = run(&case);
            let mut compared = 0;
            for block in &case.blocks {
                if inputs.contains(&block.info.as_str()) {
                    continue;
                }
                compared += 1;
                let name = format!("{}: {}", path.display(), case.name);
                match out.get(&block.info) {
                    Some(actual) if *actual == block.text => {}
                    Some(actual) if bless => {
                        blessed.push((block.lines.clone(), block.folded(actual)));
                    }
                    actual => {
                        let actual = actual.map_or("(no such output)", String::as_str);
                        let (info, expected) = (&block.info, &block.text);
                        let _ = writeln!(
                            failures,
                            "--- {name} [{info}]\nexpected:\n{expected}\nactual:\n{actual}\n"
                        );
                    }
                }
            }
            if compared == 0 {
                let _ = writeln!(failures, "--- {}: checks nothing", case.name);
            }
        }
        if !blessed.is_empty() {
            std::fs::write(&path, rewrite(&source, blessed)).expect("a writable case file");
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 0, "no cases in {folder}");
}

fn rewrite(source: &str, mut blessed: Vec<(std::ops::Range<usize>, String)>) -> String {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    blessed.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, text) in blessed {
        lines.splice(range, text.lines().map(str::to_owned));
    }
    lines.join("\n") + "\n"
}

impl Block {
    /// Replaces the texts of fragments by references, for those that the block used before. Later
    /// fragments come first, because they may hold earlier ones.
    fn folded(&self, text: &str) -> String {
        self.fragments
            .iter()
            .fold(text.to_owned(), |text, fragment| {
                text.replace(&fragment.text, &fragment.reference())
            })
    }
}

/// Splits a case file into cases. Panics at a fragment that is unknown or unused.
pub(crate) fn parse(source: &str) -> Vec<Case> {
    let mut head: Vec<Block> = Vec::new();
    let mut cases: Vec<Case> = Vec::new();
    let mut fragments = Fragments::default();
    let lines: Vec<&str> = source.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(name) = line.strip_prefix("## ") {
            let (name, blocks) = (name.trim().to_owned(), head.clone());
            cases.push(Case { name, blocks });
            continue;
        }
        let fence = line.len() - line.trim_start_matches('`').len();
        if fence < 3 {
            continue;
        }
        let start = at;
        let closing = "`".repeat(fence);
        while at < lines.len() && lines[at] != closing {
            at += 1;
        }
        let info: Vec<&str> = line[fence..].split_whitespace().collect();
        let (text, used) = fragments.expand(&lines[start..at].join("\n"));
        if let [.., "fragment", name] = info.as_slice() {
            assert!(cases.is_empty(), "fragment `{name}` after the first case");
            fragments.define(name, text);
        } else {
            let block = Block {
                info: info
                    .last()
                    .map_or_else(String::new, |info| (*info).to_owned()),
                text,
                lines: start..at,
                fragments: used,
            };
            match cases.last_mut() {
                Some(case) => case.blocks.push(block),
                None => head.push(block),
            }
        }
        at += 1;
    }
    fragments.assert_used();
    cases
}

/// The fragments of one file, and whether each was used.
#[derive(Default)]
struct Fragments(Vec<(Fragment, bool)>);

impl Fragments {
    fn define(&mut self, name: &str, text: String) {
        let known = self.0.iter().any(|(fragment, _)| fragment.name == name);
        assert!(!known, "fragment `{name}` is defined twice");
        let name = name.to_owned();
        self.0.push((Fragment { name, text }, false));
    }

    /// Replaces references by the fragments' texts, and returns the fragments that were used.
    fn expand(&mut self, source: &str) -> (String, Vec<Fragment>) {
        let (mut text, mut used) = (source.to_owned(), Vec::new());
        for (fragment, is_used) in &mut self.0 {
            if text.contains(&fragment.reference()) {
                text = text.replace(&fragment.reference(), &fragment.text);
                *is_used = true;
                used.push(fragment.clone());
            }
        }
        // Files without fragments may hold any text.
        if !self.0.is_empty() {
            let name = reference_in(&text);
            assert_eq!(name, None, "unknown fragment in {source}");
        }
        (text, used)
    }

    fn assert_used(&self) {
        for (fragment, is_used) in &self.0 {
            assert!(is_used, "fragment `{}` is not used", fragment.name);
        }
    }
}

/// The name inside the first `{{…}}` that looks like a reference.
fn reference_in(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.match_indices("{{").find_map(|(at, _)| {
        let (name, _) = text[at + 2..].split_once("}}")?;
        (!name.is_empty() && name.chars().all(is_name)).then_some(name)
    })
}
