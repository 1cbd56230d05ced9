//! The arguments of a call in the form that its tool takes, and the context in which it runs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use goodcall_core::Change;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ToolCallRequest;

/// What a tool can learn of the call that it runs for: the id, the call as it was sent and read, and
/// whether it was cancelled.
#[derive(Clone, Debug, Default)]
pub struct Context {
    call_id: String,
    cancel: CancellationToken,
    sent: Option<Arc<SentCall>>,
}

/// A call as it was sent, and the changes that were made to read it.
#[derive(Debug)]
pub(crate) struct SentCall {
    pub(crate) tool: String,
    pub(crate) raw: String,
    pub(crate) mended: Option<String>,
    pub(crate) changes: Vec<Change>,
}

impl Context {
    /// Returns the context of the call with this id.
    pub fn new(call_id: impl Into<String>, cancel: CancellationToken) -> Self {
        Self {
            call_id: call_id.into(),
            cancel,
            sent: None,
        }
    }

    pub(crate) fn with_sent(mut self, sent: SentCall) -> Self {
        self.sent = Some(Arc::new(sent));
        self
    }

    /// Returns the call with its raw arguments and the warnings of reading them; empty if the tool
    /// was not called through a toolbox.
    pub fn request(&self) -> ToolCallRequest {
        let Some(sent) = &self.sent else {
            return ToolCallRequest::new("", &self.call_id, "");
        };
        let mut request = ToolCallRequest::new(&sent.tool, &self.call_id, &sent.raw);
        let text = sent.mended.as_deref().unwrap_or(&sent.raw);
        request.accept(text, &sent.changes);
        request
    }

    /// The changes that were made to read the arguments; empty if they were good as sent.
    pub fn changes(&self) -> &[Change] {
        self.sent.as_ref().map_or(&[], |sent| &sent.changes)
    }

    /// The id of the call; empty for a call that came without one. It can serve as an idempotency
    /// key: one run never executes one id twice.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns true if the call was cancelled or its time limit has passed. A blocking tool that
    /// runs long should ask now and then.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The token that is cancelled with the call, or when its time limit passes.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// The part of a call that loop detection compares with other calls of the same tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopKey {
    /// The arguments.
    #[default]
    Arguments,
    /// This text, whatever the arguments are.
    Own(String),
    /// Nothing: the tool is meant to be called again and again, and never counts as a loop.
    Exempt,
}

/// Valid arguments in the form that the tool takes.
pub struct BoundArguments {
    form: ArgumentForm,
    loop_key: LoopKey,
}

enum ArgumentForm {
    Value(Value),
    Typed(Box<dyn Any + Send>),
}

impl BoundArguments {
    /// Wraps arguments as a JSON value.
    pub fn value(value: Value) -> Self {
        Self::new(ArgumentForm::Value(value))
    }

    /// Wraps arguments as the tool's own type.
    pub fn typed<T: Any + Send>(arguments: T) -> Self {
        Self::new(ArgumentForm::Typed(Box::new(arguments)))
    }

    fn new(form: ArgumentForm) -> Self {
        Self {
            form,
            loop_key: LoopKey::default(),
        }
    }

    /// Sets what loop detection compares with other calls of the tool.
    #[must_use]
    pub fn with_loop_key(mut self, key: LoopKey) -> Self {
        self.loop_key = key;
        self
    }

    pub(crate) fn loop_key(&self) -> &LoopKey {
        &self.loop_key
    }

    /// The JSON value; `null` for arguments that were bound to a type.
    pub fn as_value(&self) -> &Value {
        match &self.form {
            ArgumentForm::Value(value) => value,
            ArgumentForm::Typed(_) => &Value::Null,
        }
    }

    /// Returns the typed arguments if they are of this type.
    pub fn into_typed<T: Any>(self) -> Option<T> {
        match self.form {
            ArgumentForm::Typed(any) => any.downcast().ok().map(|boxed| *boxed),
            ArgumentForm::Value(_) => None,
        }
    }
}

impl fmt::Debug for BoundArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BoundArguments");
        match &self.form {
            ArgumentForm::Value(value) => out.field("value", value),
            ArgumentForm::Typed(_) => out.field("typed", &"…"),
        };
        out.field("loop_key", &self.loop_key).finish()
    }
}
