//! Failures as fixtures: each kind of failure becomes a file that can be judged again, by today's tools
//! and policies.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodcall_core::{Policies, Reason, StopReason, Verdict};
use goodcall_wire::Tools;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::aggregate::{
    Aggregate, ExampleCall, FailureClass, FailureOutcome, FailureStats, dotted,
};
use crate::judge::{CallJudge, Judgement};
use crate::recorded::{OfferedTools, RecordedCall, SentArguments, VerdictKind};
use crate::secrets::mask;

/// The longest name of a file, without its end.
const NAME_CHARS: usize = 80;

/// A call that failed, with the verdict that is expected of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CallFixture {
    /// What was seen, for people.
    pub seen: String,
    /// The name of the tool as sent.
    pub tool: String,
    /// The arguments as sent.
    pub raw: String,
    /// How the message ended: `unknown`, `finished` or `cut_off`.
    #[serde(default = "unknown")]
    pub stop: String,
    /// What is expected. Only the members that are there are compared.
    pub expect: ExpectedOutcome,
    /// The definitions that were offered, for tools that are not handed in.
    pub tools: Box<RawValue>,
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// What comes of a call.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExpectedOutcome {
    /// The verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictKind>,
    /// Why a call is bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The issues of a bad call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<ExpectedIssue>>,
    /// The rules that mended a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
    /// The mended arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
}

/// An issue of a bad call.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExpectedIssue {
    /// The place, as a JSON Pointer.
    pub path: String,
    /// The kind of issue.
    pub code: String,
}

impl ExpectedOutcome {
    fn of_verdict(verdict: &Verdict<'_>) -> Self {
        let mut made = Self {
            verdict: Some(verdict.into()),
            ..Self::default()
        };
        match verdict {
            Verdict::Good(_) => {}
            Verdict::Mended(mended) => {
                let rules = mended
                    .changes
                    .iter()
                    .map(|change| change.rule.name().to_owned());
                made.rules = Some(rules.collect());
                let arguments = RawValue::from_string(mended.arguments.to_json());
                made.arguments = Some(arguments.expect("a tree writes valid JSON"));
            }
            Verdict::Bad(bad) => {
                made.reason = Some(bad.reason.name().to_owned());
                let issue = |issue: &goodcall_core::Issue| ExpectedIssue {
                    path: issue.pointer.as_str().to_owned(),
                    code: issue.kind.name().to_owned(),
                };
                made.issues = Some(bad.issues.iter().map(issue).collect());
            }
        }
        made
    }

    /// What is said about a call without a schema.
    fn of_reason(reason: Option<Reason>) -> Self {
        Self {
            verdict: Some(reason.map_or(VerdictKind::Good, |_| VerdictKind::Bad)),
            reason: reason.map(|reason| reason.name().to_owned()),
            ..Self::default()
        }
    }

    /// The differences of what came, in words, to what is expected here.
    fn differences(&self, came: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, expected: Option<String>, came: Option<String>| {
            if let Some(expected) = expected
                && Some(&expected) != came.as_ref()
            {
                let came = came.unwrap_or_else(|| "none".to_owned());
                found.push(format!("{what}: expected {expected}, got {came}"));
            }
        };
        let kind = |kind: Option<VerdictKind>| kind.map(|kind| format!("{kind:?}").to_lowercase());
        compare("verdict", kind(self.verdict), kind(came.verdict));
        compare("reason", self.reason.clone(), came.reason.clone());
        let issues = |list: &Option<Vec<ExpectedIssue>>| {
            list.as_ref().map(|list| {
                let words = list
                    .iter()
                    .map(|one| format!("{} at {}", one.code, quoted(&one.path)));
                words.collect::<Vec<_>>().join(", ")
            })
        };
        compare("issues", issues(&self.issues), issues(&came.issues));
        let rules = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join(", "));
        compare("rules", rules(&self.rules), rules(&came.rules));
        let json = |value: &Option<Box<RawValue>>| {
            let value = value.as_ref()?;
            let tree = goodcall_core::Tree::parse(value.get()).ok()?;
            Some(tree.to_json())
        };
        compare("arguments", json(&self.arguments), json(&came.arguments));
        found
    }
}

fn quoted(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}

/// What came of replaying one fixture.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplayedFixture {
    /// The file.
    pub path: PathBuf,
    /// What came of the call.
    pub came: ExpectedOutcome,
    /// The differences to what is expected; empty if there are none.
    pub differences: Vec<String>,
}

impl CallFixture {
    /// Reads a fixture.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a fixture.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text)
            .map_err(|error| format!("{}: not a fixture: {error}", path.display()))
    }

    /// Writes a fixture.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self)
            .expect("a fixture has string keys and no failing value");
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Judges the call by these tools, or by those of the fixture if its tool is not among them.
    ///
    /// # Errors
    /// If the fixture's own definitions or its stop reason cannot be read.
    pub fn judge(&self, tools: &Tools, policies: &Policies) -> Result<ExpectedOutcome, String> {
        let stop = self.stop.parse::<StopReason>();
        let stop = stop.map_err(|error| error.to_string())?;
        let judge = CallJudge::new(policies.clone(), Tools::default());
        let offered = if tools.meant(&self.tool).is_some() {
            OfferedTools::Recorded(tools.clone())
        } else {
            match judge.offered(self.tools.get()) {
                OfferedTools::Unusable(why) => return Err(why.to_string()),
                // A name that was made up is judged by what is offered today.
                OfferedTools::Recorded(own)
                    if own.meant(&self.tool).is_none() && !is_empty(tools) =>
                {
                    OfferedTools::Recorded(tools.clone())
                }
                own => own,
            }
        };
        let arguments = SentArguments::Text(self.raw.as_str().into());
        let call = RecordedCall::new(self.tool.as_str(), arguments);
        let outcome = match judge.judge(&call, &offered, stop) {
            Judgement::Judged(judged) => ExpectedOutcome::of_verdict(&judged.verdict),
            Judgement::WithoutTools(reason) => ExpectedOutcome::of_reason(reason),
            Judgement::Recorded(_) | Judgement::NotRecorded => ExpectedOutcome::default(),
        };
        Ok(outcome)
    }

    /// Judges the call, and compares with what is expected.
    ///
    /// # Errors
    /// As [`CallFixture::judge`].
    pub fn replay(
        &self,
        path: &Path,
        tools: &Tools,
        policies: &Policies,
    ) -> Result<ReplayedFixture, String> {
        let came = self.judge(tools, policies);
        let came = came.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(ReplayedFixture {
            path: path.to_owned(),
            differences: self.expect.differences(&came),
            came,
        })
    }
}

fn is_empty(tools: &Tools) -> bool {
    tools.iter().next().is_none()
}

/// The fixtures in a folder, sorted by their name.
///
/// # Errors
/// If the folder cannot be read.
pub fn fixture_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let named = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(named)? {
        let path = entry.map_err(named)?.path();
        if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What became of the kinds of failure of an audit.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct WrittenFixtures {
    /// The files.
    pub written: Vec<PathBuf>,
    /// Kinds of failure that no fixture was written for, and why.
    pub left_out: Vec<String>,
}

/// Writes one fixture for each kind of failure, into a folder that is made if need be. An audit must
/// have kept its calls ([`ExampleSettings::keep_calls`](crate::ExampleSettings)). Secrets are masked
/// where the verdict stays the same; where it does not, the call is left out.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn write_fixtures(
    aggregate: &Aggregate,
    folder: &Path,
    policies: &Policies,
) -> Result<WrittenFixtures, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut kinds: BTreeMap<(Arc<str>, &FailureClass), FailureStats> = BTreeMap::new();
    for (key, group) in aggregate.groups() {
        for (class, stats) in group.failures() {
            // A complaint is about the tool, which cannot be replayed.
            if class.outcome != FailureOutcome::Result {
                let sum = kinds.entry((Arc::clone(&key.tool), class)).or_default();
                sum.add(stats.clone());
            }
        }
    }
    let (mut done, mut names) = (WrittenFixtures::default(), HashSet::new());
    for ((tool, class), stats) in kinds {
        let what = title(&tool, class);
        match fixture(&what, &stats, policies) {
            Ok(fixture) => {
                let path = folder.join(file_name(&what, &mut names));
                fixture.write(&path)?;
                done.written.push(path);
            }
            Err(why) => done.left_out.push(format!("{what}: {why}")),
        }
    }
    Ok(done)
}

/// A kind of failure in words, such as `read_file limit: bad, too_large`.
fn title(tool: &str, class: &FailureClass) -> String {
    let field = dotted(&class.field);
    let field = if field.is_empty() {
        field
    } else {
        format!(" {field}")
    };
    format!("{tool}{field}: {}, {}", class.outcome.name(), class.code)
}

/// The name of a file for this title.
fn file_name(title: &str, names: &mut HashSet<String>) -> String {
    let mut name = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
        if name.len() >= NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-').to_owned();
    let mut unique = name.clone();
    let mut count = 1;
    while !names.insert(unique.clone()) {
        count += 1;
        unique = format!("{name}-{count}");
    }
    unique + ".json"
}

/// Makes a fixture of the first example that can be one.
fn fixture(
    what: &str,
    stats: &FailureStats,
    policies: &Policies,
) -> Result<CallFixture, &'static str> {
    let mut why = "its calls are too long, or were not recorded";
    for example in &stats.examples {
        let Some(call) = &example.call else { continue };
        let mut seen = format!(
            "{what} ({} calls, the first at {}",
            stats.calls, example.place
        );
        if let Some(model) = &example.model {
            let _ = write!(seen, " by {model}");
        }
        seen.push(')');
        match masked(seen, call, policies) {
            Ok(fixture) => return Ok(fixture),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

fn masked(
    seen: String,
    call: &ExampleCall,
    policies: &Policies,
) -> Result<CallFixture, &'static str> {
    let tools = RawValue::from_string(call.tools.clone());
    let mut fixture = CallFixture {
        seen,
        tool: call.tool.clone(),
        raw: call.raw.clone(),
        stop: call.stop.clone(),
        expect: ExpectedOutcome::default(),
        tools: tools.map_err(|_| "its definitions are not JSON")?,
    };
    let unusable = "its definitions cannot be used";
    let judge = |fixture: &CallFixture| {
        let came = fixture.judge(&Tools::default(), policies);
        came.map_err(|_| unusable)
    };
    fixture.expect = judge(&fixture)?;
    let shown = mask(&call.raw);
    if *shown != *call.raw {
        fixture.raw = shown.into_owned();
        let came = judge(&fixture)?;
        // The values may differ, what is wrong may not.
        let mut expected = std::mem::take(&mut fixture.expect);
        expected.arguments = None;
        if !expected.differences(&came).is_empty() {
            return Err("it holds a secret that matters for the verdict");
        }
        fixture.expect = came;
    }
    Ok(fixture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_unique() {
        let mut names = HashSet::new();
        assert_eq!(
            file_name("Read edits[].path: bad, missing", &mut names),
            "read-edits-path-bad-missing.json"
        );
        assert_eq!(
            file_name("read/edits.path: bad, missing", &mut names),
            "read-edits-path-bad-missing-2.json"
        );
        assert_eq!(file_name("../../etc/passwd", &mut names), "etc-passwd.json");
    }
}
