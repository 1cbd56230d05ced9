//! The one runner of case files.
//!
//! A case file is Markdown. A heading of level 2 opens a case; fenced blocks give its input and
//! what must come out, the block's info string says which. Blocks before the first case hold for
//! all cases of the file. `GOODCALL_BLESS=1 cargo test` writes what came out into the blocks that
//! are there: read the difference before you commit it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One block: its info string, its text, and where the text stands in the file.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) info: String,
    pub(crate) text: String,
    pub(crate) lines: std::ops::Range<usize>,
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
                    Some(actual) if bless => blessed.push((block.lines.clone(), actual.clone())),
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

/// Splits a case file into cases.
pub(crate) fn parse(source: &str) -> Vec<Case> {
    let mut head: Vec<Block> = Vec::new();
    let mut cases: Vec<Case> = Vec::new();
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
        // The last word of the info string counts: "json schema" is coloured as JSON.
        let info = line[fence..]
            .split_whitespace()
            .last()
            .unwrap_or("")
            .to_owned();
        let start = at;
        let closing = "`".repeat(fence);
        while at < lines.len() && lines[at] != closing {
            at += 1;
        }
        let block = Block {
            info,
            text: lines[start..at].join("\n"),
            lines: start..at,
        };
        at += 1;
        match cases.last_mut() {
            Some(case) => case.blocks.push(block),
            None => head.push(block),
        }
    }
    cases
}
