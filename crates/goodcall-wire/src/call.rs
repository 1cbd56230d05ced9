//! One call as it arrived over the wire.

use std::ops::Range;

use goodcall_core::{
    Change, Gate, Level, Limits, Policy, Reason, Refusal, RuleId, StopReason, Verdict,
};

use crate::tools::Tools;

/// A call as it arrived: the name of the tool and the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawCall {
    /// The provider's id, or an invented one.
    pub id: Option<String>,
    /// The name of the offered tool that the call is for, or the name as sent if there is none.
    pub name: String,
    /// The arguments as JSON text, as sent if they were sent as JSON.
    pub arguments: String,
    /// The byte range of the text that the call was read from; empty for a call of an envelope.
    pub span: Range<usize>,
    /// The changes outside the arguments, such as a cleaned name.
    pub changes: Vec<Change>,
    /// The provider's signature on the call, which it demands back in the history (Gemini).
    pub signature: Option<String>,
    /// The offset of `arguments` in the text; `None` if they were translated from another form.
    pub(crate) offset: Option<usize>,
    pub(crate) state: CallState,
    /// The alias that the model used, if the tool was renamed for the provider.
    pub(crate) alias: Option<String>,
}

/// How much of a call arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallState {
    /// The whole call.
    #[default]
    Whole,
    /// The text ended after a complete argument; the stop reason decides if the call was cut off.
    Open,
    /// The text ended inside an argument.
    Cut,
    /// An argument cannot be read; this is expected instead.
    Unreadable(String),
}

impl RawCall {
    /// Returns a call with this name and these arguments. A name that can stand for only one offered
    /// tool becomes that tool's.
    pub fn new(tools: &Tools, name: &str, arguments: impl Into<String>) -> Self {
        let mut call = Self {
            id: None,
            name: name.to_owned(),
            arguments: arguments.into(),
            span: 0..0,
            changes: Vec::new(),
            signature: None,
            offset: None,
            state: CallState::Whole,
            alias: None,
        };
        call.rename(tools, 0..0);
        call
    }

    /// Sets the name to that of the offered tool, and records the change.
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

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Judges the call. The positions of changes and issues are those in the text that the call was
    /// found in; in translated arguments they cover the whole call.
    pub fn check(&self, tools: &Tools, policy: &Policy, stop: StopReason) -> Verdict<'_> {
        let Some(tool) = tools.get(&self.name) else {
            if let CallState::Unreadable(words) = &self.state {
                return Verdict::Bad(Refusal::unreadable(words.clone(), self.span.clone()));
            }
            return Verdict::Bad(tools.unknown_call(&self.name, &self.arguments));
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
        let schema = match tool.schema() {
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
            // Arguments in text that are not JSON may be Python.
            if let Some(read) = self.as_python(&gate, policy) {
                return read;
            }
        }
        self.place(verdict)
    }

    /// Judges the arguments as a Python object. Returns `None` if they are not one, or not valid.
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

    /// The refusal if the policy does not allow a change that the call needs.
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

    /// Moves positions from the arguments to the text, and inserts the call's own changes.
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
            Verdict::Mended(mended) => mended.changes.to_mut(),
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

    /// Returns true if the tool is not offered.
    pub fn is_unknown(&self, tools: &Tools) -> bool {
        tools.get(&self.name).is_none()
    }
}

impl RawCall {
    /// Returns the call that was found in a text.
    pub(crate) fn found(found: crate::text::FoundCall, tools: &Tools) -> Self {
        let mut call = Self {
            id: found.id,
            name: found.name,
            arguments: found.arguments,
            span: found.span,
            changes: Vec::new(),
            signature: None,
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
    /// Returns the call as it was found, for a block that holds it.
    pub(crate) fn into_found(self) -> crate::text::FoundCall {
        crate::text::FoundCall::from_inner(self)
    }
}
