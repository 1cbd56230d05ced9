//! Approval of a call by a person, or by a rule of the host, before it is made.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::message::{Call, CallOutcome, ChangeRecord};
use crate::toolbox::Prepared;
use crate::{ErrorClass, Tool, ToolArgError, explain};

/// A call that may run, before it does: its tool is known, and its arguments match.
#[derive(Clone)]
pub struct ProposedCall {
    id: String,
    tool: Arc<dyn Tool>,
    arguments: String,
    changes: Vec<ChangeRecord>,
}

impl ProposedCall {
    pub(crate) fn new(call: &Call, prepared: &Prepared<'_>) -> Self {
        let changes = prepared.changes().iter().map(ChangeRecord::from);
        Self {
            id: call.id.clone(),
            tool: Arc::clone(prepared.tool()),
            arguments: prepared.arguments().to_owned(),
            changes: call.changes.iter().cloned().chain(changes).collect(),
        }
    }

    /// The id of the call.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the tool.
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// The arguments that the tool will get, as JSON text.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The changes that were made to read the call; empty if it was good as sent.
    pub fn changes(&self) -> &[ChangeRecord] {
        &self.changes
    }
}

impl fmt::Debug for ProposedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProposedCall")
            .field("id", &self.id)
            .field("name", &self.name())
            .field("arguments", &self.arguments)
            .field("changes", &self.changes)
            .finish()
    }
}

/// The answer to a [`ProposedCall`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// The call is made.
    Allow,
    /// The call is not made. The model gets the reason, which may be empty.
    Deny(String),
}

impl Approval {
    /// Denies the call for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Approval::Deny(reason.into())
    }
}

/// True allows the call, false denies it without a reason.
impl From<bool> for Approval {
    fn from(allowed: bool) -> Self {
        if allowed {
            Approval::Allow
        } else {
            Approval::Deny(String::new())
        }
    }
}

/// Answers proposed calls.
pub(crate) type ApproveFn<'d> = dyn Fn(ProposedCall) -> Answer<'d> + Send + Sync + 'd;
pub(crate) type Answer<'d> = Pin<Box<dyn Future<Output = Approval> + Send + 'd>>;

/// Returns the outcome of a call that was denied.
pub(crate) fn denied(call: &Call, reason: &str) -> CallOutcome {
    let text = explain::denied(&call.name, reason);
    CallOutcome::new(call, ToolArgError::new(ErrorClass::Denied, text).into())
}
