//! One call as it came over the wire.

use std::ops::Range;

use goodcall_core::{
    Change, Gate, Level, Limits, Policy, Reason, Refusal, RuleId, StopReason, Verdict,
};

use crate::tools::Tools;

/// A call as it came: who is called, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawCall {
    /// The provider's id, or one that was made up.
    pub id: Option<String>,
    /// The offered tool that is meant; the name as sent if none is.
    pub name: String,
    /// The arguments as JSON text: as sent where they were sent as JSON.
    pub arguments: String,
    /// The bytes of the text that this call was read from; empty for an envelope's call.
    pub span: Range<usize>,
    /// What was read as something else outside the arguments: the name, bare words.
    pub changes: Vec<Change>,
    /// Where `arguments` stands in the text; `None` if they were translated from another form.
    pub(crate) offset: Option<usize>,
    pub(crate) state: CallState,
    /// The name that was sent, where the model knows the tool by another one.
    pub(crate) alias: Option<String>,
}

/// How much of a call there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallState {
    /// All of it.
    #[default]
    Whole,
    /// It was ended by the end of the text, after a whole argument: the host's stop reason tells
    /// if more was to come.
    Open,
    /// It was cut inside an argument.
    Cut,
    /// An argument cannot be read; what is wanted instead.
    Unreadable(String),
}

impl RawCall {
    /// A call by its name and arguments, names cleaned where exactly one offered tool is meant.
    pub fn new(tools: &Tools, name: &str, arguments: impl Into<String>) -> Self {
        let mut call = Self {
            id: None,
            name: name.to_owned(),
            arguments: arguments.into(),
            span: 0..0,
            changes: Vec::new(),
            offset: None,
            state: CallState::Whole,
            alias: None,
        };
        call.rename(tools, 0..0);
        call
    }

    /// Takes the offered tool's name, as a recorded change where it was written differently.
    fn rename(&mut self, tools: &Tools, span: Range<usize>) {
        if let Some(own) = tools.canonical_name(&self.name) {
            self.alias = Some(std::mem::replace(&mut self.name, own.to_owned()));
            return;
        }
        if let Some(tool) = tools.meant(&self.name)
            && tool.name != self.name
        {
            let (sent, meant) = (self.name.as_str(), tool.name.as_str());
            let change = Change::text(RuleId::ToolName, Level::Safe, sent, meant, span);
            self.changes.push(change);
            self.name = tool.name.clone();
        }
    }

    /// With the id that the provider gave it.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The verdict on this call. The changes count from the text that the call was found in; those
    /// of a translated argument cover the call.
    pub fn check(&self, tools: &Tools, policy: &Policy, stop: StopReason) -> Verdict<'_> {
        let Some(tool) = tools.get(&self.name) else {
            if let CallState::Unreadable(words) = &self.state {
                return Verdict::Bad(Refusal::unreadable(words.clone(), self.span.clone()));
            }
            return Verdict::Bad(tools.unknown(&self.name));
        };
        let forbidden = |change: &&Change| !policy.allows(change.rule, change.level);
        if self.changes.iter().any(|change| forbidden(&change)) {
            return Verdict::Bad(self.unmended(tools));
        }
        match &self.state {
            CallState::Open if stop != StopReason::Finished => {
                return Verdict::Bad(Refusal::cut_off(self.span.clone()));
            }
            CallState::Cut => return Verdict::Bad(Refusal::cut_off(self.span.clone())),
            CallState::Unreadable(words) => {
                return Verdict::Bad(Refusal::unreadable(words.clone(), self.span.clone()));
            }
            CallState::Whole | CallState::Open => {}
        }
        let schema = match &tool.schema {
            Ok(schema) => schema,
            Err(error) => return Verdict::Bad(Refusal::unreadable(error.to_string(), 0..0)),
        };
        let gate = Gate::new(schema)
            .policy(policy.clone())
            .limits(Limits::default());
        let gate = gate.stop(stop).tool(&tool.name);
        let verdict = gate.check(&self.arguments);
        let malformed = matches!(&verdict, Verdict::Bad(bad) if bad.reason == Reason::Malformed);
        if malformed && self.offset.is_some() && policy.allows(RuleId::PythonObject, Level::Safe) {
            // Inside text, what is no JSON may still be Python.
            if let Some(read) = self.as_python(&gate, policy) {
                return read;
            }
        }
        self.place(verdict)
    }

    /// The verdict on arguments that are an object in Python's form; `None` if they are none, or
    /// not valid either.
    fn as_python(&self, gate: &Gate<'_>, policy: &Policy) -> Option<Verdict<'static>> {
        let (json, notes) = crate::text::python_object(&self.arguments, &self.span)?;
        if !notes.iter().all(|n| policy.allows(n.rule, n.level)) {
            return None;
        }
        let read = gate.check(&json).into_owned();
        let mut translated = self.clone();
        let (sent, span) = (self.arguments.as_str(), self.span.clone());
        let change = Change::text(RuleId::PythonObject, Level::Safe, sent, json, span);
        translated.offset = None;
        translated.changes.push(change);
        translated.changes.extend(notes);
        (!matches!(read, Verdict::Bad(_))).then(|| translated.place(read))
    }

    /// The refusal of a policy that does not allow what the reading needed.
    fn unmended(&self, tools: &Tools) -> Refusal {
        let renamed = self
            .changes
            .iter()
            .find(|change| change.rule == RuleId::ToolName);
        match renamed.and_then(|change| change.before.as_deref()) {
            Some(sent) => tools.unknown(sent),
            None => {
                let words = "arguments in the form that the tool's format asks for";
                Refusal::unreadable(words, self.span.clone())
            }
        }
    }

    /// Moves positions from the arguments to the text, and puts this call's own changes first.
    fn place<'a>(&self, mut verdict: Verdict<'a>) -> Verdict<'a> {
        let place = |span: &mut Range<usize>| match self.offset {
            Some(offset) => *span = span.start + offset..span.end + offset,
            None if self.span.is_empty() => {}
            None => *span = self.span.clone(),
        };
        if let Verdict::Good(tree) = verdict {
            if self.changes.is_empty() {
                return Verdict::Good(tree);
            }
            let changes = self.changes.clone();
            return Verdict::Mended(goodcall_core::Mended::new(tree, changes));
        }
        let changes = match &mut verdict {
            Verdict::Mended(mended) => &mut mended.changes,
            Verdict::Bad(bad) => {
                bad.issues
                    .iter_mut()
                    .for_each(|issue| place(&mut issue.span));
                &mut bad.changes
            }
            Verdict::Good(_) => return verdict,
        };
        changes
            .iter_mut()
            .for_each(|change| place(&mut change.span));
        changes.splice(0..0, self.changes.iter().cloned());
        verdict
    }

    /// Is this a call of a tool that is not offered?
    pub fn is_unknown(&self, tools: &Tools) -> bool {
        tools.get(&self.name).is_none()
    }
}

impl RawCall {
    /// A call that was found in a text.
    pub(crate) fn found(found: crate::text::FoundCall, tools: &Tools) -> Self {
        let mut call = Self {
            id: found.id,
            name: found.name,
            arguments: found.arguments,
            span: found.span,
            changes: Vec::new(),
            offset: found.offset,
            state: found.state,
            alias: None,
        };
        call.rename(tools, found.name_span);
        call.changes.extend(found.changes);
        call
    }
}

impl RawCall {
    /// Back to what was found, for a block that counts it as its own.
    pub(crate) fn into_found(self) -> crate::text::FoundCall {
        crate::text::FoundCall::from_inner(self)
    }
}
