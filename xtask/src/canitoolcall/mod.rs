//! `cargo xtask canitoolcall`: the fixtures of the Python package `canitoolcall`, which are texts of
//! open models with the calls, the content and the reasoning that a right reading gives.
//!
//! Every text is read as a whole and in pieces of several sizes, without being told the family. A
//! text whose prompt opened a thought is read as such once more. What differs is listed with a
//! reason in `differences.tsv`; anything else that differs fails the task, and so does a line of that
//! file that no longer holds.

mod download;
mod fixture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use goodcall_core::{Policy, StopReason};
use goodcall_wire::{Extraction, Scanner, TextCallScope, Tools};
use serde_json::{Value, json};

use crate::Failure;
use fixture::{Expected, Fixture};

/// The sizes of the pieces in which a text is read, in characters.
const PIECES: [usize; 6] = [1, 2, 3, 7, 16, 64];
/// What is counted for each family.
const COLUMNS: [&str; 5] = ["calls", "refused", "content", "reasoning", "streamed"];
/// What differs on purpose: the id of the fixture, what differs in it, and why.
const DIFFERENCES: &str = include_str!("differences.tsv");

/// Runs the task: `[DIR] [--show] [--only TEXT]`.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (mut dir, mut show, mut only) = (None, false, None);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--show" => show = true,
            "--only" => only = rest.next().cloned(),
            path => dir = Some(PathBuf::from(path)),
        }
    }
    let dir = match dir {
        Some(dir) => dir,
        None => match download::fixtures() {
            Ok(dir) => dir,
            Err(reason) => {
                println!("skipped: {reason}");
                return Ok(());
            }
        },
    };
    let mut report = Report::new()?;
    for fixture in fixture::read_all(&dir)? {
        if only.as_ref().is_none_or(|only| fixture.id.contains(only)) {
            report.take(&fixture, show)?;
        }
    }
    report.print();
    if only.is_none() {
        report.fail_on_surprises()?;
    }
    Ok(())
}

/// Returns the table of families as data: a row each, and one of all.
pub(crate) fn table() -> Result<Value, Failure> {
    let dir = download::fixtures().map_err(Failure::Unusable)?;
    let mut report = Report::new()?;
    for fixture in fixture::read_all(&dir)? {
        report.take(&fixture, false)?;
    }
    report.fail_on_surprises()?;
    let rows = report.rows().into_iter().map(|(family, tally)| {
        let mut row = json!({"family": family});
        for (column, share) in COLUMNS.iter().zip(tally.shares()) {
            row[column] = json!(share.text());
        }
        row
    });
    Ok(rows.collect())
}

/// What a reading of a fixture got wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Calls,
    /// A broken call was read as a call.
    Accepted,
    Content,
    Reasoning,
    Stream,
}

impl Difference {
    fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Accepted => "accepted",
            Self::Content => "content",
            Self::Reasoning => "reasoning",
            Self::Stream => "stream",
        }
    }
}

/// The numbers of one family.
#[derive(Clone, Copy, Default)]
struct Tally {
    calls: Share,
    broken: Share,
    content: Share,
    reasoning: Share,
    streamed: Share,
}

#[derive(Clone, Copy, Default)]
struct Share {
    right: usize,
    all: usize,
}

impl Share {
    fn count(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }

    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    fn text(self) -> String {
        format!("{}/{}", self.right, self.all)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.calls.add(other.calls);
        self.broken.add(other.broken);
        self.content.add(other.content);
        self.reasoning.add(other.reasoning);
        self.streamed.add(other.streamed);
    }

    /// Returns the columns of a row, in the order of `COLUMNS`.
    fn shares(&self) -> [Share; 5] {
        [
            self.calls,
            self.broken,
            self.content,
            self.reasoning,
            self.streamed,
        ]
    }

    fn row(&self, name: &str) -> String {
        let columns = self.shares().map(|share| format!("{:>10}", share.text()));
        format!("{name:14}{}", columns.concat())
    }
}

struct Report {
    families: BTreeMap<String, Tally>,
    /// The differences that are expected, with their reasons, until they are seen.
    expected: BTreeMap<(String, String), String>,
    surprises: Vec<String>,
}

impl Report {
    fn new() -> Result<Self, Failure> {
        let mut expected = BTreeMap::new();
        for line in DIFFERENCES.lines().filter(|line| !line.starts_with('#')) {
            let mut columns = line.splitn(3, '\t');
            let (Some(id), Some(what), Some(why)) =
                (columns.next(), columns.next(), columns.next())
            else {
                return Err(Failure::Unusable(format!(
                    "differences.tsv: expected an id, what differs and why: {line}"
                )));
            };
            expected.insert((id.to_owned(), what.to_owned()), why.to_owned());
        }
        Ok(Self {
            families: BTreeMap::new(),
            expected,
            surprises: Vec::new(),
        })
    }

    fn take(&mut self, fixture: &Fixture, show: bool) -> Result<(), Failure> {
        let tools = fixture.tools()?;
        let mut differences = Vec::new();
        let mut shown = String::new();
        for scope in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            let told = Scanner::new(tools.clone(), scope).after_prompt(&fixture.prompt);
            let untold = Scanner::new(tools.clone(), scope);
            let found = told.clone().whole(&fixture.raw);
            let mut own = judge(fixture, &found, &tools);
            let splits = [told, untold];
            if !splits
                .iter()
                .all(|scanner| is_split_invariant(fixture, scanner))
            {
                own.push(Difference::Stream);
            }
            if !own.is_empty() {
                shown = describe(fixture, &found, &tools);
            }
            differences.extend(own);
        }
        differences.sort();
        differences.dedup();
        self.count(fixture, &differences);
        for difference in differences {
            let key = (fixture.id.clone(), difference.name().to_owned());
            if self.expected.remove(&key).is_none() {
                let name = difference.name();
                self.surprises.push(format!("{}: {name}", fixture.id));
                if show {
                    println!("{} {name}\n{shown}", fixture.id);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, fixture: &Fixture, differences: &[Difference]) {
        let right = |difference| !differences.contains(&difference);
        let tally = self.families.entry(fixture.family.clone()).or_default();
        match fixture.expected {
            Some(_) => {
                tally.calls.count(right(Difference::Calls));
                tally.content.count(right(Difference::Content));
                tally.reasoning.count(right(Difference::Reasoning));
            }
            None => tally.broken.count(right(Difference::Accepted)),
        }
        tally.streamed.count(right(Difference::Stream));
    }

    fn print(&self) {
        let columns = COLUMNS.map(|name| format!("{name:>10}"));
        println!("{:14}{}", "family", columns.concat());
        for (family, tally) in self.rows() {
            println!("{}", tally.row(family));
        }
    }

    /// Returns the figures of each family, and those of all.
    fn rows(&self) -> Vec<(&str, Tally)> {
        let mut all = Tally::default();
        let families = self.families.iter();
        let mut rows: Vec<(&str, Tally)> = families
            .map(|(family, tally)| (family.as_str(), *tally))
            .collect();
        rows.iter().for_each(|(_, tally)| all.add(*tally));
        rows.push(("all", all));
        rows
    }

    fn fail_on_surprises(&self) -> Result<(), Failure> {
        let stale = self.expected.keys().map(|(id, what)| {
            format!("{id}: {what} is listed in differences.tsv, but no longer differs")
        });
        let wrong: Vec<_> = self.surprises.iter().cloned().chain(stale).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::Found(wrong.join("\n")))
    }
}

/// The calls that would be made, by name and arguments.
fn runnable(fixture: &Fixture, found: &Extraction, tools: &Tools) -> Vec<(String, String)> {
    let stop = if fixture.truncated {
        StopReason::CutOff
    } else {
        StopReason::Finished
    };
    let calls = found.calls.iter().filter_map(|call| {
        let verdict = call.check(tools, &Policy::safe(), stop);
        Some((call.name.clone(), verdict.arguments()?.to_json()))
    });
    calls.collect()
}

fn judge(fixture: &Fixture, found: &Extraction, tools: &Tools) -> Vec<Difference> {
    let calls = runnable(fixture, found, tools);
    let Some(expected) = &fixture.expected else {
        let accepted = (!calls.is_empty()).then_some(Difference::Accepted);
        return accepted.into_iter().collect();
    };
    let mut differences = Vec::new();
    if !expected.has_calls(&calls) {
        differences.push(Difference::Calls);
    }
    // Blanks around a text are the business of the template.
    if found.text.trim() != expected.content.trim() {
        differences.push(Difference::Content);
    }
    if found.reasoning.trim() != expected.reasoning.trim() {
        differences.push(Difference::Reasoning);
    }
    differences
}

/// Returns true if every split of a text is read as the whole.
fn is_split_invariant(fixture: &Fixture, scanner: &Scanner) -> bool {
    let whole = scanner.clone().whole(&fixture.raw);
    let chars: Vec<char> = fixture.raw.chars().collect();
    PIECES.iter().all(|size| {
        let mut scanner = scanner.clone();
        let mut found = Extraction::default();
        for piece in chars.chunks(*size) {
            let text: String = piece.iter().collect();
            scanner
                .push(&text)
                .into_iter()
                .for_each(|piece| found.push(piece));
        }
        scanner
            .finish()
            .into_iter()
            .for_each(|piece| found.push(piece));
        found == whole
    })
}

fn describe(fixture: &Fixture, found: &Extraction, tools: &Tools) -> String {
    let calls = runnable(fixture, found, tools);
    let expected = match &fixture.expected {
        Some(Expected {
            calls,
            content,
            reasoning,
        }) => {
            format!("{calls:?}\n  content   {content:?}\n  reasoning {reasoning:?}")
        }
        None => "no call".to_owned(),
    };
    format!(
        "  text      {:?}\n expected\n  calls     {expected}\n found\n  calls     {calls:?}\n  \
         content   {:?}\n  reasoning {:?}\n",
        fixture.raw, found.text, found.reasoning
    )
}

/// Reads a file, and names it where that fails.
fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Unusable(format!("{}: {error}", path.display())))
}
