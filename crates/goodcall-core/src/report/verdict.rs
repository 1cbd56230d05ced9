//! The verdict, and the reason of a bad one.

use std::fmt;
use std::ops::Range;

use super::{Actual, Change, Changes, Issue, IssueKind};
use crate::names::nearest_names;
use crate::tree::{Node, Pointer, Tree};

/// The verdict on one call.
#[derive(Clone, Debug)]
pub enum Verdict<'a> {
    /// Valid as sent. Nothing was touched.
    Good(Tree<'a>),
    /// Not valid as sent; exactly one valid reading, every difference listed.
    Mended(Mended<'a>),
    /// Not to be run.
    Bad(Refusal),
}

/// A call that was not valid as sent and is valid now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mended<'a> {
    /// The valid arguments.
    pub arguments: Tree<'a>,
    /// Every difference from what was sent, in the order they were made.
    pub changes: Changes,
}

/// A call that must not be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The one true reason.
    pub reason: Reason,
    /// All that has to be rewritten.
    pub issues: Vec<Issue>,
    /// Issues beyond the limit, counted but not kept.
    pub more: usize,
    /// What was read or mended before the call was given up; the issues speak of the value after
    /// these.
    pub changes: Vec<Change>,
}

impl<'a> Mended<'a> {
    /// Arguments that are valid after these changes.
    pub fn new(arguments: Tree<'a>, changes: impl Into<Changes>) -> Self {
        Self {
            arguments,
            changes: changes.into(),
        }
    }
}

impl<'a> Verdict<'a> {
    /// `good`, `mended` or `bad`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Good(_) => "good",
            Verdict::Mended(_) => "mended",
            Verdict::Bad(_) => "bad",
        }
    }

    /// The valid arguments, unless the call is bad.
    pub fn arguments(&self) -> Option<&Tree<'a>> {
        match self {
            Verdict::Good(tree) => Some(tree),
            Verdict::Mended(mended) => Some(&mended.arguments),
            Verdict::Bad(_) => None,
        }
    }

    /// Returns the valid arguments, or the refusal as an error: the way out by `?`.
    ///
    /// ```
    /// use goodcall_core::{Schema, Tree, check};
    ///
    /// fn arguments<'a>(raw: &'a str, schema: &Schema) -> Result<Tree<'a>, goodcall_core::Refusal> {
    ///     Ok(check(raw, schema).into_result()?)
    /// }
    ///
    /// let schema = Schema::compile(&serde_json::json!({"required": ["path"]})).unwrap();
    /// assert_eq!(
    ///     arguments("{}", &schema).unwrap_err().to_string(),
    ///     "arguments do not match the schema: path: Required"
    /// );
    /// ```
    ///
    /// # Errors
    /// If the call is bad.
    pub fn into_result(self) -> Result<Tree<'a>, Refusal> {
        match self {
            Verdict::Good(tree) => Ok(tree),
            Verdict::Mended(mended) => Ok(mended.arguments),
            Verdict::Bad(bad) => Err(bad),
        }
    }

    /// Every change that was made.
    pub fn changes(&self) -> &[Change] {
        match self {
            Verdict::Good(_) => &[],
            Verdict::Mended(mended) => &mended.changes,
            Verdict::Bad(bad) => &bad.changes,
        }
    }

    /// All that is wrong with a bad call.
    pub fn issues(&self) -> &[Issue] {
        match self {
            Verdict::Bad(bad) => &bad.issues,
            _ => &[],
        }
    }

    /// Free of the raw text.
    pub fn into_owned(self) -> Verdict<'static> {
        match self {
            Verdict::Good(tree) => Verdict::Good(tree.into_owned()),
            Verdict::Mended(mended) => Verdict::Mended(Mended {
                arguments: mended.arguments.into_owned(),
                changes: mended.changes,
            }),
            Verdict::Bad(bad) => Verdict::Bad(bad),
        }
    }
}

impl Refusal {
    /// A refusal because the arguments do not have the right shape, for issues that a host or a
    /// tool found itself.
    pub fn wrong_shape(issues: Vec<Issue>) -> Self {
        Self {
            reason: Reason::WrongShape,
            issues,
            more: 0,
            changes: Vec::new(),
        }
    }

    /// A refusal because there is no tool of this name: the nearest of the offered names is
    /// suggested, and all of them are listed.
    ///
    /// ```
    /// use goodcall_core::{Refusal, Explain, Style};
    ///
    /// let bad = Refusal::unknown_tool("raed_file", ["read_file", "write_file"]);
    /// assert_eq!(
    ///     Explain::new(Style::Model).tool("raed_file").text(&bad),
    ///     "There is no tool `raed_file`; nothing was run. Did you mean `read_file`?"
    /// );
    /// ```
    pub fn unknown_tool<'n>(name: &str, offered: impl IntoIterator<Item = &'n str>) -> Self {
        let offered: Vec<&str> = offered.into_iter().collect();
        let mut issue = Issue::new(Pointer::root(), IssueKind::UnknownTool, 0..0);
        (issue.nearest, issue.candidates) = nearest_names(name, offered.iter().copied());
        issue.expected.to_mut().allowed = offered.into_iter().map(str::to_owned).collect();
        issue.actual = Some(Actual::text(name));
        Self::single(Reason::UnknownTool, issue)
    }

    /// The same, for a call whose arguments fit this tool and no other that is offered.
    #[must_use]
    pub fn arguments_fit(mut self, tool: &str, arguments: Node<'_>) -> Self {
        if let Some(issue) = self.issues.first_mut() {
            issue.nearest = Some(tool.to_owned());
            issue.kept = Some(Actual::of(arguments));
        }
        self
    }

    /// A refusal because the call ends before its arguments do; `span` is what there is of it.
    pub fn cut_off(span: Range<usize>) -> Self {
        let issue = Issue::new(Pointer::root(), IssueKind::Truncated, span);
        Self::single(Reason::Truncated, issue)
    }

    /// A refusal because the arguments cannot be read; `words` say what is wanted at `span`.
    pub fn unreadable(words: impl Into<String>, span: Range<usize>) -> Self {
        let mut issue = Issue::new(Pointer::root(), IssueKind::Malformed, span);
        issue.expected.to_mut().prose.words = Some(words.into());
        Self::single(Reason::Malformed, issue)
    }

    /// The same, for this text, whose characters are not all ASCII.
    pub(crate) fn placed_in(mut self, text: &str) -> Self {
        for issue in &mut self.issues {
            let before = text.get(..issue.span.start).unwrap_or_default();
            let count = before.chars().count();
            issue.characters = (count < before.len()).then_some(count);
        }
        self
    }

    /// A refusal with one issue.
    pub(crate) fn single(reason: Reason, issue: Issue) -> Self {
        Self {
            reason,
            issues: vec![issue],
            more: 0,
            changes: Vec::new(),
        }
    }
}

/// Why a call is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The arguments were cut off.
    Truncated,
    /// The arguments are not JSON, and cannot be read as JSON in one way only.
    Malformed,
    /// There are no arguments, and the tool needs some.
    Empty,
    /// The arguments are JSON, but not an object.
    NotAnObject,
    /// The arguments do not match the tool's schema.
    WrongShape,
    /// Two readings are possible, and nothing says which one is meant.
    Ambiguous,
    /// There is no such tool.
    UnknownTool,
    /// The same thing again and again.
    Loop,
    /// The arguments pass a limit on size or depth.
    TooLarge,
}

impl Reason {
    /// The name used by the command's protocols.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Truncated => "truncated",
            Reason::Malformed => "malformed",
            Reason::Empty => "empty",
            Reason::NotAnObject => "not_an_object",
            Reason::WrongShape => "wrong_shape",
            Reason::Ambiguous => "ambiguous",
            Reason::UnknownTool => "unknown_tool",
            Reason::Loop => "loop",
            Reason::TooLarge => "too_large",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
