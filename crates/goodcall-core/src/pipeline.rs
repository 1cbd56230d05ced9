//! The path of one call, from raw text to verdict.

use crate::diagnose::advice;
use crate::limits::Limits;
use crate::mend::rules::empty_arguments;
use crate::mend::{self, Mend, Task};
use crate::parse::{self, ParseError, ReadOptions, Reading, StrictReading};
use crate::policy::Policy;
use crate::report::{Actual, Change, Issue, IssueKind, Mended, Reason, Refusal, Verdict};
use crate::schema::{FastAnswer, FoundFaults, Schema};
use crate::stop::StopReason;
use crate::tree::{Kind, Pointer, Tree};

/// Checks one call against a schema, with the default policy and limits.
///
/// ```
/// use goodcall_core::{Schema, Verdict, check};
///
/// let schema = Schema::compile(&serde_json::json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}},
///     "required": ["path"],
/// }))?;
/// assert!(matches!(check(r#"{"path": "a.txt"}"#, &schema), Verdict::Good(_)));
/// assert!(matches!(check(r#"{"path": "a.t"#, &schema), Verdict::Bad(_)));
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
pub fn check<'a>(raw: &'a str, schema: &Schema) -> Verdict<'a> {
    Gate::new(schema).check(raw)
}

/// A check with options.
///
/// ```
/// use goodcall_core::{Gate, Policy, Schema};
///
/// let schema = Schema::compile(&serde_json::json!({"type": "object"}))?;
/// let verdict = Gate::new(&schema).policy(Policy::strict()).check("");
/// assert_eq!(verdict.name(), "bad");
/// # Ok::<(), goodcall_core::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate<'s> {
    schema: &'s Schema,
    reading: ReadOptions,
    tool: Option<&'s str>,
}

/// Whether a value matches its schema.
enum Fit {
    Right,
    Wrong,
    /// Wrong in these ways.
    Faults(FoundFaults),
}

impl<'s> Gate<'s> {
    /// A gate with the default policy and limits.
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            reading: ReadOptions::new().schema(schema),
            tool: None,
        }
    }

    /// What may be mended.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.reading.policy = policy;
        self
    }

    /// How large a call may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.reading.limits = limits;
        self
    }

    /// How the model's message ended.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.reading.stop = stop;
        self
    }

    /// The tool's name, which models like to wrap arguments in.
    #[must_use]
    pub fn tool(mut self, name: &'s str) -> Self {
        self.tool = Some(name);
        self
    }

    /// The verdict on these arguments.
    pub fn check<'a>(&self, raw: &'a str) -> Verdict<'a> {
        let strict = parse::strictly(raw, &self.reading.limits);
        // Nearly every call is an object without repeated keys, and plainly right.
        let asked = match &strict {
            Ok(strict) if !strict.repeated_keys => {
                let root = strict.tree.root();
                let object = root.kind() == Kind::Object;
                object.then(|| self.schema.fast_accepts(root))
            }
            _ => None,
        };
        match strict {
            Ok(strict) if asked == Some(FastAnswer::Accepts) => Verdict::Good(strict.tree),
            strict => self.judge(raw, strict, asked),
        }
    }

    /// The verdict on what is not plainly right. `asked` is the answer of the short program, if it
    /// was asked.
    #[inline(never)]
    fn judge<'a>(
        &self,
        raw: &'a str,
        strict: Result<StrictReading<'a>, ParseError>,
        asked: Option<FastAnswer>,
    ) -> Verdict<'a> {
        let reading = match parse::read_after_strict(raw, strict, &self.reading) {
            Ok(reading) => reading,
            Err(bad) => return self.unreadable(raw, bad),
        };
        let reading = parse::drop_repeated_values(reading, &self.reading.policy);
        if let Some(bad) =
            parse::reject_partial_or_multiple(&reading, &self.reading.policy, self.reading.stop)
        {
            return Verdict::Bad(bad);
        }
        let fit = self.fit(&reading.tree, asked);
        if !matches!(fit, Fit::Right) {
            return self.refuse(raw, reading, fit);
        }
        if reading.changes.is_empty() {
            return Verdict::Good(reading.tree);
        }
        Verdict::Mended(Mended {
            arguments: reading.tree,
            changes: reading.changes.into_vec(),
        })
    }

    /// The verdict on arguments in bytes, which must be UTF-8.
    pub fn check_bytes<'a>(&self, raw: &'a [u8]) -> Verdict<'a> {
        match parse::utf8_or_refusal(raw) {
            Ok(text) => self.check(text),
            Err(bad) => Verdict::Bad(bad),
        }
    }

    /// Does the value match? Where nothing is mended, all that is wrong is listed at once, instead
    /// of asking first whether there is anything.
    fn fit(&self, tree: &Tree<'_>, asked: Option<FastAnswer>) -> Fit {
        let root = tree.root();
        if !mend::is_of_kind(root, self.schema) {
            return Fit::Wrong;
        }
        let asked = asked.unwrap_or_else(|| self.schema.fast_accepts(root));
        let accepted = match asked {
            FastAnswer::Accepts => true,
            FastAnswer::Unsure if self.reading.policy.is_strict() => {
                let found = self.schema.faults(root, self.reading.limits.max_issues);
                // What was not looked at to its end is left to the validator's own answer.
                if found.finished && !found.faults.is_empty() {
                    return Fit::Faults(found);
                }
                found.finished || self.schema.validator_accepts(root)
            }
            _ => self.schema.validator_accepts(root),
        };
        match accepted {
            true => Fit::Right,
            false => Fit::Wrong,
        }
    }

    fn unreadable<'a>(&self, raw: &'a str, bad: Refusal) -> Verdict<'a> {
        match bad.reason {
            Reason::Empty => self.empty(raw, bad),
            _ => Verdict::Bad(bad),
        }
    }

    /// `{}` for no arguments, where that is allowed; else a refusal that says what is needed.
    fn empty<'a>(&self, raw: &'a str, mut bad: Refusal) -> Verdict<'a> {
        if self.reading.stop == StopReason::CutOff {
            // They had not begun.
            return Verdict::Bad(parse::cut_off(Pointer::root(), raw.len()));
        }
        if let Some((arguments, change)) = self.without_arguments(raw) {
            let changes = vec![change];
            return Verdict::Mended(Mended { arguments, changes });
        }
        let nothing = Tree::empty_object(raw);
        let most = self.reading.limits.max_issues;
        let found = self.schema.faults(nothing.root(), most);
        bad.issues
            .extend(advice(found.faults, &nothing, self.schema, self.tool, most));
        bad.more = found.more;
        Verdict::Bad(bad)
    }

    /// The call without arguments, if the policy and the tool allow that.
    fn without_arguments<'a>(&self, raw: &'a str) -> Option<(Tree<'a>, Change)> {
        let rule = empty_arguments::RULE;
        let allowed = self.reading.policy.allows(rule.id, rule.level);
        allowed.then(|| empty_arguments::propose(raw, self.schema))?
    }

    /// Mends a value that does not match, or names all that is wrong with it.
    fn refuse<'a>(&self, raw: &'a str, reading: Reading<'a>, fit: Fit) -> Verdict<'a> {
        if reading.tree.root().is_null() {
            let span = reading.tree.root().span();
            let issue = Issue::new(Pointer::root(), IssueKind::Empty, span);
            let bad = Refusal::single(Reason::Empty, issue);
            return self.empty(raw, bad);
        }
        if empty_arguments::is_nothing(reading.tree.root())
            && self.reading.stop != StopReason::CutOff
            && let Some((arguments, mut change)) = self.without_arguments(raw)
        {
            // What was read leniently to get there is told as well.
            change.before = Some(reading.tree.root().to_json().into());
            let mut changes = reading.changes.into_vec();
            changes.push(change);
            return Verdict::Mended(Mended { arguments, changes });
        }
        let task = Task {
            schema: self.schema,
            policy: &self.reading.policy,
            limits: &self.reading.limits,
            tool: self.tool,
        };
        let mut changes = reading.changes.into_vec();
        match mend::mend(reading.tree, task) {
            Mend::Valid(arguments, mut mends) => {
                changes.append(&mut mends);
                Verdict::Mended(Mended { arguments, changes })
            }
            Mend::Left(tree, ambiguous) => {
                let mut bad = self.name_issues(&tree, ambiguous, fit);
                bad.changes = changes;
                Verdict::Bad(bad)
            }
        }
    }

    /// All that is wrong with a value that could not be mended.
    fn name_issues(&self, tree: &Tree<'_>, ambiguous: Vec<Issue>, fit: Fit) -> Refusal {
        let root = tree.root();
        if root.kind() != crate::Kind::Object && !self.schema.names_root_kind(root) {
            let mut issue = Issue::new(Pointer::root(), IssueKind::NotAnObject, root.span());
            issue.expected.types = crate::Types::named("object");
            issue.actual = Some(Actual::of(root));
            return Refusal::single(Reason::NotAnObject, issue);
        }
        let most = self.reading.limits.max_issues;
        let all = match fit {
            Fit::Faults(all) => all,
            _ => self.schema.faults(root, most),
        };
        let mut found = advice(all.faults, tree, self.schema, self.tool, most);
        if found.is_empty() && ambiguous.is_empty() {
            // All work was spent before the first fault.
            found.push(Issue::new(
                Pointer::root(),
                IssueKind::TooComplex,
                root.span(),
            ));
        }
        let reason = if ambiguous.is_empty() {
            Reason::WrongShape
        } else {
            Reason::Ambiguous
        };
        found.retain(|issue| ambiguous.iter().all(|two| two.pointer != issue.pointer));
        found.splice(0..0, ambiguous);
        Refusal {
            reason,
            issues: found,
            more: all.more,
            changes: Vec::new(),
        }
    }
}
