//! The path of one call, from raw text to verdict.

use crate::call::Stop;
use crate::limits::Limits;
use crate::mend::rules::empty_arguments;
use crate::parse::{self, ReadOptions, Reading};
use crate::policy::Policy;
use crate::report::{Bad, Code, Got, Issue, Mended, Reason, Verdict};
use crate::schema::Schema;
use crate::tree::{Pointer, Tree};
use crate::validate::issues;

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
    policy: Policy,
    limits: Limits,
    stop: Stop,
    tool: Option<&'s str>,
}

impl<'s> Gate<'s> {
    /// A gate with the default policy and limits.
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            policy: Policy::default(),
            limits: Limits::default(),
            stop: Stop::default(),
            tool: None,
        }
    }

    /// What may be mended.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How large a call may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How the model's message ended.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
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
        let reading = match parse::read(raw, &self.reading_options()) {
            Ok(reading) => reading,
            Err(bad) => return self.unreadable(raw, bad),
        };
        let reading = parse::without_repeats(reading, &self.policy);
        if let Some(bad) = parse::not_one_call(&reading, &self.policy, self.stop) {
            return Verdict::Bad(bad);
        }
        if !self.accepts(&reading.tree) {
            return self.refuse(raw, reading);
        }
        if reading.changes.is_empty() {
            return Verdict::Good(reading.tree);
        }
        Verdict::Mended(Mended {
            arguments: reading.tree,
            changes: reading.changes,
        })
    }

    /// The verdict on arguments in bytes, which must be UTF-8.
    pub fn check_bytes<'a>(&self, raw: &'a [u8]) -> Verdict<'a> {
        match parse::text(raw) {
            Ok(text) => self.check(text),
            Err(bad) => Verdict::Bad(bad),
        }
    }

    fn reading_options(&self) -> ReadOptions {
        ReadOptions::new()
            .policy(self.policy.clone())
            .limits(self.limits)
            .stop(self.stop)
            .schema(self.schema)
    }

    /// Arguments are an object, unless the schema names another type for them.
    fn accepts(&self, tree: &Tree<'_>) -> bool {
        let root = tree.root();
        (root.kind() == crate::Kind::Object || self.schema.names_root_kind(root))
            && self.schema.accepts(root)
    }

    fn unreadable<'a>(&self, raw: &'a str, bad: Bad) -> Verdict<'a> {
        if bad.reason == Reason::Empty {
            return self.nothing(raw).unwrap_or(Verdict::Bad(bad));
        }
        Verdict::Bad(bad)
    }

    /// `{}` for no arguments, where that is allowed.
    fn nothing<'a>(&self, raw: &'a str) -> Option<Verdict<'a>> {
        let rule = empty_arguments::RULE;
        if !self.policy.allows(rule.name, rule.level) {
            return None;
        }
        let (arguments, change) = empty_arguments::propose(raw, self.schema)?;
        Some(Verdict::Mended(Mended {
            arguments,
            changes: vec![change],
        }))
    }

    /// Names all that is wrong with a value that does not match.
    fn refuse<'a>(&self, raw: &'a str, reading: Reading<'a>) -> Verdict<'a> {
        let root = reading.tree.root();
        if root.is_null() {
            let issue = Issue::new(Pointer::root(), Code::Empty, root.span());
            let bad = Bad::single(Reason::Empty, issue);
            return self.nothing(raw).unwrap_or(Verdict::Bad(bad));
        }
        if root.kind() != crate::Kind::Object && !self.schema.names_root_kind(root) {
            let mut issue = Issue::new(Pointer::root(), Code::NotAnObject, root.span());
            issue.expected.types = crate::Types::named("object");
            issue.got = Some(Got::of(root));
            return Verdict::Bad(Bad::single(Reason::NotAnObject, issue));
        }
        let (faults, more) = self.schema.faults(root, self.limits.max_issues);
        Verdict::Bad(Bad {
            reason: Reason::WrongShape,
            issues: issues(&faults, &reading.tree, self.schema),
            more,
            changes: reading.changes,
        })
    }
}
