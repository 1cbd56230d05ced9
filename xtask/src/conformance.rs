//! Runs the official JSON-Schema-Test-Suite on our own tree.
//!
//! Required tests must all pass. The optional tests of `format` are run with formats asserted, as for
//! the schemas of tools, and reported separately.

use std::fs;
use std::path::{Path, PathBuf};

use goodcall_core::{Draft, Node, Schema, SchemaOptions, Tree};
use serde_json::Value;

use crate::Failure;

/// The drafts, with the names of their folders in the suite.
const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft201909),
    ("draft2020-12", Draft::Draft202012),
];

/// The URL under which the suite's own server would serve its remote documents.
const REMOTES: &str = "http://localhost:1234/";

/// The tests that cannot pass: draft, file, the beginning of the description, and the reason.
const EXPECTED_FAILURES: [(&str, &str, &str, &str); 0] = [];

/// Runs the suite in a folder.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let [dir] = args else {
        return Err(Failure::Unusable(
            "usage: cargo xtask conformance DIR".into(),
        ));
    };
    let dir = Path::new(dir);
    if !dir.join("tests/draft2020-12").is_dir() || !dir.join("remotes").is_dir() {
        return Err(Failure::Unusable(format!(
            "{} is not the JSON-Schema-Test-Suite: it has no `tests/draft2020-12` and `remotes`.\n\
             The source archive of PyPI's `jsonschema` has it: `pip download --no-deps --no-binary \
             jsonschema jsonschema`, unpack it, and name its folder `json`.",
            dir.display()
        )));
    }
    let mut failed = 0;
    for (folder, draft) in DRAFTS {
        let options = options(&dir.join("remotes"), draft)?;
        let tests = dir.join("tests").join(folder);
        let required = Suite::new(folder, options.clone()).run(&tests)?;
        required.print(folder, "required");
        let formats =
            Suite::new(folder, options.formats(true)).run(&tests.join("optional/format"))?;
        formats.print(folder, "formats");
        failed += required.failures.len() + formats.failures.len();
    }
    if failed > 0 {
        return Err(Failure::Found(format!("{failed} tests failed")));
    }
    Ok(())
}

/// Returns options with the draft and every remote document under its URL.
fn options(remotes: &Path, draft: Draft) -> Result<SchemaOptions, Failure> {
    let mut options = Schema::options().draft(draft);
    for path in json_files(remotes, true)? {
        let name = path.strip_prefix(remotes).unwrap_or(&path);
        let name = name.to_string_lossy().replace('\\', "/");
        options = options.resource(format!("{REMOTES}{name}"), read(&path)?);
    }
    Ok(options)
}

/// Returns the JSON files of a folder in order, with those of its folders if `deep`.
fn json_files(dir: &Path, deep: bool) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| format!("{}: {error}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() && deep {
            files.append(&mut json_files(&path, deep)?);
        } else if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> Result<String, Failure> {
    Ok(fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?)
}

fn read(path: &Path) -> Result<Value, Failure> {
    Ok(serde_json::from_str(&text(path)?).map_err(|e| format!("{}: {e}", path.display()))?)
}

/// The results of the tests of one folder.
struct Suite {
    draft: &'static str,
    options: SchemaOptions,
    passed: usize,
    expected: usize,
    failures: Vec<String>,
}

impl Suite {
    fn new(draft: &'static str, options: SchemaOptions) -> Self {
        Self {
            draft,
            options,
            passed: 0,
            expected: 0,
            failures: Vec::new(),
        }
    }

    fn run(mut self, dir: &Path) -> Result<Self, Failure> {
        for path in json_files(dir, false)? {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            // The tree keeps the digits of the test data.
            let text = text(&path)?;
            let tree = Tree::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            let groups = read(&path)?;
            let groups = groups.as_array().into_iter().flatten();
            for (group, own) in groups.zip(tree.root().elements()) {
                self.group(&file, group, own);
            }
        }
        Ok(self)
    }

    fn group(&mut self, file: &str, group: &Value, own: Node<'_>) {
        let schema = self.options.compile(&group["schema"]);
        let about = group["description"].as_str().unwrap_or_default();
        let tests = own.get("tests").into_iter().flat_map(Node::elements);
        for test in tests {
            let wanted = test.get("valid").and_then(Node::as_bool);
            let wanted = wanted.unwrap_or_default();
            let text = test.get("data").map(Node::to_json).unwrap_or_default();
            let got = match (&schema, Tree::parse(&text)) {
                (Ok(schema), Ok(tree)) => Ok(schema.is_valid(&tree)),
                (Err(error), _) => Err(error.to_string()),
                (_, Err(error)) => Err(error.to_string()),
            };
            if got == Ok(wanted) {
                self.passed += 1;
                continue;
            }
            let test = test.get("description").and_then(Node::as_str);
            let name = format!("{about}: {}", test.unwrap_or_default());
            if is_expected(self.draft, file, &name) {
                self.expected += 1;
                continue;
            }
            let word = |valid| if valid { "valid" } else { "invalid" };
            let got = got.map_or_else(|error| error, |valid| word(valid).to_owned());
            let (draft, wanted) = (self.draft, word(wanted));
            self.failures.push(format!(
                "{draft}/{file}: {name}: expected {wanted}, got {got}"
            ));
        }
    }

    fn print(&self, folder: &str, what: &str) {
        let total = self.passed + self.expected + self.failures.len();
        println!("{folder:14}{what:10}{:5} of {total} pass", self.passed);
        for failure in &self.failures {
            println!("  {failure}");
        }
    }
}

fn is_expected(draft: &str, file: &str, name: &str) -> bool {
    EXPECTED_FAILURES
        .iter()
        .any(|(d, f, start, _)| *d == draft && *f == file && name.starts_with(start))
}
