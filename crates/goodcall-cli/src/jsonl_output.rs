//! The output lines of the machine protocols: verdicts, changes and issues as JSON.

use goodcall_core::{Change, Edit, Explain, Issue, Style, Verdict, expected_text};
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
    arguments: Option<Box<RawValue>>,
    changes: Vec<ChangeLine>,
    issues: Vec<IssueLine>,
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
        verdict: &Verdict<'_>,
        style: Style,
    ) -> Self {
        let mut line = Self {
            id,
            verdict: verdict.name(),
            reason: None,
            tool,
            arguments: verdict.arguments().and_then(|tree| raw(tree.to_json())),
            changes: verdict.changes().iter().map(ChangeLine::new).collect(),
            issues: verdict.issues().iter().map(IssueLine::new).collect(),
            feedback: None,
            error: None,
        };
        if let Verdict::Bad(bad) = verdict {
            let explain = Explain::new(style);
            let explain = tool.map_or(explain, |name| explain.tool(name));
            line.reason = Some(bad.reason.name());
            line.feedback = Some(explain.text(bad));
        }
        line
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
    pub(crate) calls: Vec<CallLine>,
    /// The text around the calls.
    pub(crate) text: String,
    /// Why the line itself could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// One call that was found in a text.
#[derive(Serialize)]
pub(crate) struct CallLine {
    name: String,
    arguments: Option<Box<RawValue>>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    changes: Vec<ChangeLine>,
    issues: Vec<IssueLine>,
    span: [usize; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
}

impl CallLine {
    pub(crate) fn new(call: &RawCall, verdict: &Verdict<'_>, style: Style) -> Self {
        let bad = match verdict {
            Verdict::Bad(bad) => Some(bad),
            _ => None,
        };
        Self {
            name: call.name.clone(),
            arguments: verdict.arguments().and_then(|tree| raw(tree.to_json())),
            verdict: verdict.name(),
            reason: bad.map(|bad| bad.reason.name()),
            changes: verdict.changes().iter().map(ChangeLine::new).collect(),
            issues: verdict.issues().iter().map(IssueLine::new).collect(),
            span: [call.span.start, call.span.end],
            feedback: bad.map(|bad| Explain::new(style).tool(&call.name).text(bad)),
        }
    }
}

/// One change.
#[derive(Serialize)]
pub(crate) struct ChangeLine {
    rule: &'static str,
    level: &'static str,
    path: String,
    before: Option<Box<RawValue>>,
    after: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    span: [usize; 2],
}

impl ChangeLine {
    pub(crate) fn new(change: &Change) -> Self {
        // Pieces of raw text are strings here; values are themselves.
        let side = |text: &str| match change.edit {
            Edit::Text => raw(serde_json::Value::from(text).to_string()),
            _ => raw(text.to_owned()),
        };
        Self {
            rule: change.rule.name(),
            level: change.level.name(),
            path: change.pointer.as_str().to_owned(),
            before: change.before.as_deref().and_then(side),
            after: change.after.as_deref().and_then(side),
            from: match &change.edit {
                Edit::Move { from } => Some(from.as_str().to_owned()),
                _ => None,
            },
            span: [change.span.start, change.span.end],
        }
    }
}

/// One issue.
#[derive(Serialize)]
pub(crate) struct IssueLine {
    path: String,
    code: &'static str,
    expected: String,
    got: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<String>,
}

impl IssueLine {
    pub(crate) fn new(issue: &Issue) -> Self {
        let json = |text: &String| {
            raw(text.clone()).or_else(|| raw(serde_json::Value::from(text.as_str()).to_string()))
        };
        Self {
            path: issue.pointer.as_str().to_owned(),
            code: issue.kind.name(),
            expected: expected_text(&issue.expected),
            got: issue.actual.as_ref().map(ToString::to_string),
            allowed: issue.expected.allowed.iter().filter_map(json).collect(),
            nearest: issue.nearest.clone(),
        }
    }
}

/// Returns JSON text as a raw value, or `None` if it is not JSON.
pub(crate) fn raw(json: String) -> Option<Box<RawValue>> {
    RawValue::from_string(json).ok()
}

/// Appends a line.
pub(crate) fn write(line: &impl Serialize, out: &mut String) {
    let text = serde_json::to_string(line).expect("lines have string keys and no failing value");
    out.push_str(&text);
}
