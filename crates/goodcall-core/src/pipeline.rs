//! The path of one call, from raw text to verdict.

use serde_json::Value;

use crate::diagnose::{advice, advice_on_text};
use crate::limits::Limits;
use crate::mend::rules::empty_arguments;
use crate::mend::{self, Mend, Task, Unmended};
use crate::parse::{self, ParseError, ReadOptions, Reading, StrictReading};
use crate::policy::{Formats, Policy};
use crate::report::{
    Actual, Change, Issue, IssueKind, JsonType, Mended, Reason, Refusal, Types, Verdict,
};
use crate::rule::{Level, RuleId};
use crate::schema::{CallSchema, FastAnswer, FoundFaults, KeySpelling, Schema};
use crate::stop::StopReason;
use crate::tree::{Kind, Node, Pointer, Tree};

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

/// Checks calls of one schema, with options.
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
    /// The schema as it was given, whatever the policy says of formats.
    given: &'s Schema,
    keys: KeySpelling,
    reading: ReadOptions,
    tool: Option<&'s str>,
}

/// Whether a value matches its schema.
enum Validation {
    Valid,
    /// The faults are not listed yet.
    Invalid,
    /// All faults.
    Faults(FoundFaults),
}

impl<'s> Gate<'s> {
    /// Makes a gate with the default policy and limits.
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            given: schema,
            keys: KeySpelling::Judged,
            reading: ReadOptions::new(),
            tool: None,
        }
    }

    /// Sets which rules may mend the arguments, and what `format` means.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.schema = match policy.formats() {
            Formats::Assert => self.given.asserting_formats(),
            Formats::Annotate => self.given,
        };
        self.reading.policy = policy;
        self
    }

    /// Sets how large a call may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.reading.limits = limits;
        self
    }

    /// Says how the model's message ended. Arguments of a message that was cut off are never run.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.reading.stop = stop;
        self
    }

    /// Names the tool, so that arguments wrapped in an object under its name can be unwrapped.
    #[must_use]
    pub fn tool(mut self, name: &'s str) -> Self {
        self.tool = Some(name);
        self
    }

    /// Takes every key as it was sent: none counts as a declared one that was misspelt. For the
    /// results of tools, and for parts of a call.
    #[must_use]
    pub fn keys_as_sent(mut self) -> Self {
        self.keys = KeySpelling::AsSent;
        self
    }

    fn call_schema(&self) -> CallSchema<'s> {
        CallSchema {
            schema: self.schema,
            tool: self.tool,
            keys: self.keys,
        }
    }

    /// Returns the verdict on these arguments.
    pub fn check<'a>(&self, raw: &'a str) -> Verdict<'a> {
        let strict = parse::strictly(raw, &self.reading.limits);
        // Nearly every call is an object without repeated keys that the fast path accepts.
        let fast = match &strict {
            Ok(strict) if !strict.repeated_keys && strict.tree.root().kind() == Kind::Object => {
                Some(self.schema.fast_accepts(strict.tree.root()))
            }
            _ => None,
        };
        match strict {
            Ok(strict) if fast == Some(FastAnswer::Accepts) => Verdict::Good(strict.tree),
            strict => self.judge(raw, strict, fast),
        }
    }

    /// Returns the verdict on arguments in bytes, which must be UTF-8.
    pub fn check_bytes<'a>(&self, raw: &'a [u8]) -> Verdict<'a> {
        match parse::utf8_or_refusal(raw) {
            Ok(text) => self.check(text),
            Err(refusal) => Verdict::Bad(refusal),
        }
    }

    /// Returns the verdict on arguments that a host holds as a value. Spans are positions in the
    /// value's compact JSON.
    pub fn check_value(&self, value: &Value) -> Verdict<'static> {
        self.check(&value.to_string()).into_owned()
    }

    /// Takes a call that the fast path did not accept through every stage: read, reject what is
    /// not one whole value, validate, mend, refuse. `fast` is the answer of the fast path, if the
    /// arguments could be shown to it before they were read leniently.
    #[inline(never)]
    fn judge<'a>(
        &self,
        raw: &'a str,
        strict: Result<StrictReading<'a>, ParseError>,
        fast: Option<FastAnswer>,
    ) -> Verdict<'a> {
        let (policy, stop) = (&self.reading.policy, self.reading.stop);
        let reading = match strict {
            // The fast path is only shown one object without repeated keys.
            Ok(strict) if fast.is_some() => Ok(Reading::as_sent(strict.tree)),
            strict => self.read(raw, strict),
        };
        let reading = match reading {
            Ok(reading) => reading,
            Err(refusal) => return self.handle_unreadable(raw, refusal),
        };
        if let Some(refusal) = parse::reject_partial_or_multiple(&reading, policy, stop) {
            return Verdict::Bad(refusal);
        }
        let validation = self.validate(reading.tree.root(), fast);
        if !matches!(validation, Validation::Valid) {
            return self.mend_or_refuse(raw, reading, validation);
        }
        if reading.changes.is_empty() {
            return Verdict::Good(reading.tree);
        }
        Verdict::Mended(Mended {
            arguments: reading.tree,
            changes: reading.changes,
        })
    }

    /// Reads what strict parsing refused, or what may have to be read in another way.
    fn read<'a>(
        &self,
        raw: &'a str,
        strict: Result<StrictReading<'a>, ParseError>,
    ) -> Result<Reading<'a>, Refusal> {
        // Only what is not valid as sent needs to know the schema while it is read.
        let options = self.reading.clone().schema(self.given);
        let reading = parse::read_after_strict(raw, strict, &options)?;
        let reading = parse::drop_repeated_values(reading, &options.policy);
        Ok(self.one_of_several(reading))
    }

    /// Validates a value. Where the fast path is not sure of it, the faults are listed at once, because
    /// they are needed to mend the call or to refuse it; otherwise the validator is asked for yes or no.
    fn validate(&self, root: Node<'_>, fast: Option<FastAnswer>) -> Validation {
        if !mend::is_of_kind(root, self.schema) {
            return Validation::Invalid;
        }
        let accepted = match fast.unwrap_or_else(|| self.schema.fast_accepts(root)) {
            FastAnswer::Accepts => true,
            FastAnswer::Unsure if self.most_faults() > 0 => {
                let found = self.call_schema().faults(root, self.most_faults());
                // If the budget ran out, only the validator's own answer counts.
                if found.finished && !found.faults.is_empty() {
                    return Validation::Faults(found);
                }
                found.finished || self.call_schema().validator_accepts(root)
            }
            _ => self.call_schema().validator_accepts(root),
        };
        if accepted {
            Validation::Valid
        } else {
            Validation::Invalid
        }
    }

    /// The most faults that are listed of a call: what mending, or else the refusal, has a use for.
    fn most_faults(&self) -> usize {
        let limits = &self.reading.limits;
        if self.reading.policy.is_strict() {
            limits.max_issues
        } else {
            limits.max_changes
        }
    }

    /// Drops empty objects beside the arguments, where the schema does not accept them.
    fn one_of_several<'a>(&self, reading: Reading<'a>) -> Reading<'a> {
        if reading.values < 2 || self.schema.accepts_empty_object() {
            return reading;
        }
        parse::drop_empty_fragments(reading, &self.reading.policy)
    }

    fn handle_unreadable<'a>(&self, raw: &'a str, refusal: Refusal) -> Verdict<'a> {
        match refusal.reason {
            Reason::Empty => self.mend_or_refuse_empty(raw, refusal),
            _ => self
                .work_out(raw, &refusal)
                .unwrap_or_else(|| Verdict::Bad(advice_on_text(refusal, self.schema))),
        }
    }

    /// Works out arithmetic without quotes where the schema wants a number. To the parser it is
    /// text, which is accepted only if nothing of it is left as text.
    fn work_out<'a>(&self, raw: &'a str, refusal: &Refusal) -> Option<Verdict<'a>> {
        let (policy, kept) = (&self.reading.policy, RuleId::Arithmetic);
        let is_arithmetic = refusal.issues.first()?.expected.rule == Some(kept);
        if !is_arithmetic || !policy.allows(kept, Level::Safe) {
            return None;
        }
        let mut gate = self.clone();
        gate.reading.policy = policy.clone().with(kept);
        if gate.reading.policy == *policy {
            // The arithmetic was kept as text already, and something else is wrong with it.
            return None;
        }
        let verdict = gate.check(raw);
        let is_worked_out = |change: &Change| {
            let mut changes = verdict.changes().iter();
            changes.any(|c| c.rule == RuleId::PlainArithmetic && c.pointer == change.pointer)
        };
        let mut texts = verdict.changes().iter().filter(|c| c.rule == kept);
        let is_mended = matches!(verdict, Verdict::Mended(_)) && texts.all(is_worked_out);
        is_mended.then_some(verdict)
    }

    /// Takes no arguments at all for `{}` where the rule and the schema allow that; otherwise
    /// refuses the call and names the arguments that are needed.
    fn mend_or_refuse_empty<'a>(&self, raw: &'a str, mut refusal: Refusal) -> Verdict<'a> {
        if self.reading.stop == StopReason::CutOff {
            return Verdict::Bad(parse::cut_off(Pointer::root(), raw.len()));
        }
        if let Some((arguments, change)) = self.empty_arguments(raw) {
            return Verdict::Mended(Mended::new(arguments, vec![change]));
        }
        let most = self.reading.limits.max_issues;
        if most == 0 {
            return Verdict::Bad(refusal);
        }
        let empty = Tree::empty_object(raw);
        let found = self.schema.faults(empty.root(), most);
        let issues = advice(found.faults, &empty, self.call_schema(), most);
        refusal.issues.extend(issues);
        refusal.more = found.more;
        Verdict::Bad(refusal)
    }

    /// The empty object in place of no arguments, if the policy and the schema allow it.
    fn empty_arguments<'a>(&self, raw: &'a str) -> Option<(Tree<'a>, Change)> {
        let rule = empty_arguments::RULE;
        let allowed = self.reading.policy.allows(rule.id, rule.level);
        allowed.then(|| empty_arguments::propose(raw, self.schema))?
    }

    /// Mends a value that does not match its schema, or refuses the call.
    fn mend_or_refuse<'a>(
        &self,
        raw: &'a str,
        reading: Reading<'a>,
        validation: Validation,
    ) -> Verdict<'a> {
        let root = reading.tree.root();
        if root.is_null() {
            let issue = Issue::new(Pointer::root(), IssueKind::Empty, root.span());
            let refusal = Refusal::single(Reason::Empty, issue);
            return self.mend_or_refuse_empty(raw, refusal);
        }
        if empty_arguments::is_nothing(root)
            && self.reading.stop != StopReason::CutOff
            && let Some((arguments, mut change)) = self.empty_arguments(raw)
        {
            // The changes of lenient reading that led here are listed as well.
            change.before = Some(root.to_json().into());
            let mut changes = reading.changes.into_vec();
            changes.push(change);
            return Verdict::Mended(Mended::new(arguments, changes));
        }
        let task = Task {
            schema: self.schema,
            policy: &self.reading.policy,
            limits: &self.reading.limits,
            tool: self.tool,
            keys: self.keys,
            has_guessed_members: reading.changes.find(parse::makes_members).is_some(),
        };
        let mut changes = reading.changes.into_vec();
        let known = match validation {
            Validation::Faults(found) => Some(found),
            Validation::Valid | Validation::Invalid => None,
        };
        match mend::mend(reading.tree, task, known) {
            Mend::Valid(arguments, mends) => {
                changes.extend(mends);
                Verdict::Mended(Mended::new(arguments, changes))
            }
            Mend::Left(left) => {
                let mut refusal = self.refuse(left);
                refusal.changes = changes;
                Verdict::Bad(refusal)
            }
        }
    }

    /// Names everything that is wrong with a value that could not be mended.
    fn refuse(&self, left: Unmended<'_>) -> Refusal {
        let Unmended {
            tree,
            ambiguous,
            faults,
        } = left;
        let root = tree.root();
        if !mend::is_of_kind(root, self.schema) {
            let mut issue = Issue::new(Pointer::root(), IssueKind::NotAnObject, root.span());
            issue.expected.to_mut().types = Types::of(JsonType::Object);
            issue.actual = Some(Actual::of(root));
            return Refusal::single(Reason::NotAnObject, issue);
        }
        let most = self.reading.limits.max_issues;
        let reason = if ambiguous.is_empty() {
            Reason::WrongShape
        } else {
            Reason::Ambiguous
        };
        if most == 0 {
            return Refusal {
                reason,
                issues: Vec::new(),
                more: 0,
                changes: Vec::new(),
            };
        }
        let strict = self.reading.policy.is_strict();
        let found = match faults {
            Some(found) if strict || found.fits(most) => found,
            _ => self.call_schema().faults(root, most),
        };
        let mut issues = advice(found.faults, &tree, self.call_schema(), most);
        if issues.is_empty() && ambiguous.is_empty() {
            // The budget ran out before the first fault.
            issues.push(Issue::new(
                Pointer::root(),
                IssueKind::TooComplex,
                root.span(),
            ));
        }
        if !ambiguous.is_empty() {
            issues.retain(|issue| ambiguous.iter().all(|two| two.pointer != issue.pointer));
            issues.splice(0..0, ambiguous);
        }
        Refusal {
            reason,
            issues,
            more: found.more,
            changes: Vec::new(),
        }
    }
}
