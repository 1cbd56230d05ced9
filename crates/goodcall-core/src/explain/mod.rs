//! Text for models: the last step, and the only place where it is written.
//!
//! Issues are data; a [`Style`] decides how they read, a [`Budget`] how many of them are listed. The
//! raw arguments and the schema are never echoed whole.

mod ambiguous_union;
mod field_words;
mod group;
mod instruction;
mod model;
mod numbered;
mod pattern_words;
mod phrase;
mod plain;
mod record;
mod serialize;
mod server_faults;
mod skipped_calls;
mod structured;
mod syntax_hints;
mod unknown_keys;

use std::fmt;
use std::str::FromStr;

pub use phrase::expected as expected_text;
pub use server_faults::{
    missing_output_text, not_approved_text, oversized_result_text, rate_limited_text,
    timed_out_text,
};
pub use skipped_calls::{accepted_text, no_result_text, not_run_text, unread_call_text};
pub use structured::Structured;

use crate::report::{Change, Issue, Reason, Refusal};
use crate::snippet::clip;

/// The form of the text for a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// goodcall's own: what happened, then one line per correction, in words that cannot be copied
    /// into the arguments as a value.
    #[default]
    Model,
    /// One line to act on, starting with `Please rewrite the input`.
    Instruction,
    /// `Parameter validation failed:` and a numbered list.
    Numbered,
    /// One sentence per parameter.
    Plain,
    /// A JSON object: `ok`, `data`, `error`, `errorType`, `retryable`, `note`, `recommendations`.
    Structured,
    /// A JSON object with `parse_error`.
    Record,
}

impl Style {
    /// Every style, the default first.
    pub const ALL: &'static [Style] = &[
        Style::Model,
        Style::Instruction,
        Style::Numbered,
        Style::Plain,
        Style::Structured,
        Style::Record,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Style::Model => "model",
            Style::Instruction => "instruction",
            Style::Numbered => "numbered",
            Style::Plain => "plain",
            Style::Structured => "structured",
            Style::Record => "record",
        }
    }
}

/// The error of parsing a [`Style`] from an unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStyle(String);

impl fmt::Display for UnknownStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Style::ALL.iter().map(|style| style.name()).collect();
        let names = names.join(", ");
        write!(f, "unknown style `{}`: expected one of {names}", self.0)
    }
}

impl std::error::Error for UnknownStyle {}

impl FromStr for Style {
    type Err = UnknownStyle;

    fn from_str(name: &str) -> Result<Self, UnknownStyle> {
        let found = Style::ALL
            .iter()
            .copied()
            .find(|style| style.name() == name);
        found.ok_or_else(|| UnknownStyle(name.to_owned()))
    }
}

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// The issues listed; the rest are counted (`and 3 more`).
    pub issues: usize,
    /// The characters per issue.
    pub issue_chars: usize,
    /// The characters in all.
    pub chars: usize,
}

impl Budget {
    /// Sets how many issues are listed.
    #[must_use]
    pub fn issues(mut self, most: usize) -> Self {
        self.issues = most;
        self
    }

    /// Sets the characters per issue.
    #[must_use]
    pub fn issue_chars(mut self, most: usize) -> Self {
        self.issue_chars = most;
        self
    }

    /// Sets the characters in all.
    #[must_use]
    pub fn chars(mut self, most: usize) -> Self {
        self.chars = most;
        self
    }

    /// The default of a style: 5 issues of 100 characters. `numbered` lists all issues, and
    /// `model` has space for the allowed values.
    pub fn of(style: Style) -> Self {
        let usual = Self {
            issues: 5,
            issue_chars: 100,
            chars: 4000,
        };
        match style {
            Style::Numbered => Self {
                issues: usize::MAX,
                chars: 20_000,
                ..usual
            },
            Style::Model | Style::Structured => Self {
                issue_chars: 400,
                ..usual
            },
            _ => usual,
        }
    }
}

/// Turns a refusal into the text that the model reads.
///
/// ```
/// use goodcall_core::{Explain, Schema, Style, Verdict, check};
///
/// let schema = Schema::compile(&serde_json::json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "maximum": 100}},
///     "required": ["path"],
/// }))?;
/// let Verdict::Bad(bad) = check(r#"{"limit": 500}"#, &schema) else { panic!() };
/// assert_eq!(
///     Explain::new(Style::Model).tool("read").text(&bad),
///     "The tool `read` was not run. Correct its arguments and call it again:\n\
///      add the missing path (a string)\n\
///      limit: 500 is too large, it must be at most 100"
/// );
/// assert_eq!(
///     Explain::new(Style::Instruction).text(&bad),
///     "Please rewrite the input with valid arguments. \
///      Errors: path: Required; limit: must be at most 100, got 500"
/// );
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Explain<'t> {
    style: Style,
    budget: Budget,
    tool: Option<&'t str>,
}

impl<'t> Explain<'t> {
    /// Uses a style with its default budget.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            budget: Budget::of(style),
            tool: None,
        }
    }

    /// Sets how long the text may be.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Names the tool that was called.
    #[must_use]
    pub fn tool(mut self, name: &'t str) -> Self {
        self.tool = Some(name);
        self
    }

    /// Renders the text for a refusal.
    pub fn text(&self, bad: &Refusal) -> String {
        let text = match self.style {
            Style::Instruction | Style::Numbered | Style::Plain
                if bad.reason == Reason::UnknownTool =>
            {
                // There are no parameters to speak of.
                model::head(bad, self.tool)
            }
            Style::Model => model::text(bad, self.tool, &self.budget),
            Style::Instruction => instruction::text(bad, &self.budget),
            Style::Numbered => numbered::text(bad, &self.budget),
            Style::Plain => plain::text(bad, &self.budget),
            // JSON stays whole: its parts keep to the budget.
            Style::Structured => return self.structured(bad).to_json(),
            Style::Record => return record::text(bad, &self.budget),
        };
        clip(&text, self.budget.chars)
    }

    /// The text for a result that does not match the tool's own output schema. Here the tool
    /// was run, so the model is warned and not asked to edit its call.
    pub fn output(&self, bad: &Refusal) -> String {
        clip(
            &server_faults::output_mismatch(bad, self.tool, &self.budget),
            self.budget.chars,
        )
    }

    /// Returns the refusal as a structured result.
    pub fn structured(&self, bad: &Refusal) -> Structured {
        structured::of(bad, self.tool, &self.budget)
    }
}

impl Refusal {
    /// The reason and the issues in one line, for records and logs.
    pub fn summary(&self) -> String {
        record::parse_error(self, &Budget::of(Style::Record))
    }
}

/// The summary, so that a refusal can be an error of the host.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())
    }
}

impl std::error::Error for Refusal {}

impl Issue {
    /// The edit that this issue asks for, in the words of [`Style::Model`].
    pub fn edit_text(&self) -> String {
        let chars = Budget::of(Style::Model).issue_chars;
        clip(&model::line(self), chars)
    }
}

impl Change {
    /// The change in one sentence: `limit: "5" was read as 5 (string-to-number)`.
    pub fn sentence(&self) -> String {
        let place = phrase::path(&self.pointer);
        let short = |text: &crate::snippet::Snippet| clip(text, crate::report::Actual::MOST_CHARS);
        let before = self.before.as_ref().map(short);
        let after = self.after.as_ref().map(short);
        let what = match (&self.from, before, after) {
            (Some(from), _, _) => format!("was {}", phrase::path(from)),
            (_, Some(before), Some(after)) => format!("{before} was read as {after}"),
            (_, Some(before), None) => format!("{before} was left out"),
            (_, None, Some(after)) => format!("{after} was put in"),
            (_, None, None) => "was read leniently".to_owned(),
        };
        format!("{place}: {what} ({})", self.rule)
    }
}

/// At most `budget.issues` lines of at most `budget.issue_chars` characters, and how many issues
/// are left out. One issue that stands for several counts as all of them.
fn lines(
    issues: &[Issue],
    more: usize,
    budget: &Budget,
    line: impl Fn(&Issue) -> String,
) -> (Vec<String>, usize) {
    let listed = issues.iter().take(budget.issues.max(1));
    let lines: Vec<_> = listed
        .map(|issue| clip(&line(issue), budget.issue_chars))
        .collect();
    let omitted = issues.len() - lines.len() + more;
    (lines, omitted)
}
