//! The output lines of the machine protocols: verdicts, changes and issues as JSON.

use goodcall_core::{Change, Explain, Issue, Style, Tree, Verdict};
use goodcall_wire::RawCall;
use serde::Serialize;
use serde_json::value::RawValue;

/// One output line of `check --jsonl`.
#[derive(Serialize)]
pub(crate) struct CheckLine<'l> {
    pub(crate) id: Option<&'l RawValue>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Tree<'l>>,
    changes: Vec<Change>,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
    /// Why the line itself could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'l> CheckLine<'l> {
    pub(crate) fn new(
        id: Option<&'l RawValue>,
        tool: Option<&'l str>,
        verdict: Verdict<'l>,
        style: Style,
    ) -> Self {
        let judged = Judged::new(verdict, tool, style);
        Self {
            id,
            verdict: judged.verdict,
            reason: judged.reason,
            tool,
            arguments: judged.arguments,
            changes: judged.changes,
            issues: judged.issues,
            feedback: judged.feedback,
            error: None,
        }
    }

    /// Returns true if the call must not be run.
    pub(crate) fn is_bad(&self) -> bool {
        self.verdict == "bad"
    }

    /// Answers a line that could not be judged, because of its schema or of the line itself.
    pub(crate) fn unusable(id: Option<&'l RawValue>, reason: &'static str, error: String) -> Self {
        Self {
            id,
            verdict: "bad",
            reason: Some(reason),
            tool: None,
            arguments: None,
            changes: Vec::new(),
            issues: Vec::new(),
            feedback: None,
            error: Some(error),
        }
    }
}

/// One output line of `extract --jsonl`.
#[derive(Serialize)]
pub(crate) struct ExtractLine<'l> {
    pub(crate) id: Option<&'l RawValue>,
    pub(crate) calls: Vec<CallLine<'l>>,
    /// The text around the calls.
    pub(crate) text: String,
    /// The model's thoughts.
    pub(crate) reasoning: String,
    /// Why the line itself could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// One call that was found in a text.
#[derive(Serialize)]
pub(crate) struct CallLine<'l> {
    name: String,
    arguments: Option<Tree<'l>>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    changes: Vec<Change>,
    issues: Vec<Issue>,
    span: [usize; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
}

impl<'l> CallLine<'l> {
    pub(crate) fn new(call: &RawCall, verdict: Verdict<'l>, style: Style) -> Self {
        let judged = Judged::new(verdict, Some(&call.name), style);
        Self {
            name: call.name.clone(),
            arguments: judged.arguments,
            verdict: judged.verdict,
            reason: judged.reason,
            changes: judged.changes,
            issues: judged.issues,
            span: [call.span.start, call.span.end],
            feedback: judged.feedback,
        }
    }
}

/// The parts of a verdict, with the text for the model.
struct Judged<'l> {
    verdict: &'static str,
    reason: Option<&'static str>,
    arguments: Option<Tree<'l>>,
    changes: Vec<Change>,
    issues: Vec<Issue>,
    feedback: Option<String>,
}

impl<'l> Judged<'l> {
    fn new(verdict: Verdict<'l>, tool: Option<&str>, style: Style) -> Self {
        let mut judged = Self {
            verdict: verdict.name(),
            reason: None,
            arguments: None,
            changes: Vec::new(),
            issues: Vec::new(),
            feedback: None,
        };
        match verdict {
            Verdict::Good(tree) => judged.arguments = Some(tree),
            Verdict::Mended(mended) => {
                judged.arguments = Some(mended.arguments);
                judged.changes = mended.changes.into_vec();
            }
            Verdict::Bad(bad) => {
                let explain = Explain::new(style);
                let explain = tool.map_or(explain, |name| explain.tool(name));
                judged.reason = Some(bad.reason.name());
                judged.feedback = Some(explain.text(&bad));
                judged.changes = bad.changes;
                judged.issues = bad.issues;
            }
        }
        judged
    }
}

/// Appends a line.
pub(crate) fn write(line: &impl Serialize, out: &mut String) {
    let text = serde_json::to_string(line).expect("lines have string keys and no failing value");
    out.push_str(&text);
}
