//! A call that may run: arguments bound to what the tool takes, and what surrounds them.

use std::any::Any;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What surrounds a call that runs.
#[derive(Clone, Debug, Default)]
pub struct Context {
    call_id: String,
    cancel: CancellationToken,
}

impl Context {
    /// The context of the call with this id.
    pub fn new(call_id: impl Into<String>, cancel: CancellationToken) -> Self {
        Self {
            call_id: call_id.into(),
            cancel,
        }
    }

    /// The id of the call; empty for a call that came without one. Good as an idempotency key:
    /// one run never executes one id twice.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Was the call called off, or is its time over? A blocking tool asks now and then.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Cancelled when the call is called off or its time is over.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// What tells one call of a tool from another when loops are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopKey {
    /// Its arguments.
    #[default]
    Arguments,
    /// This, whatever the arguments are.
    Own(String),
    /// Nothing: the tool is made to be called again and again, and never part of a loop.
    Exempt,
}

/// Valid arguments in the form that the tool takes.
pub struct BoundArguments {
    arguments: Arguments,
    loop_key: LoopKey,
}

enum Arguments {
    Value(Value),
    Typed(Box<dyn Any + Send>),
}

impl BoundArguments {
    /// Arguments as a JSON value.
    pub fn value(value: Value) -> Self {
        Self::new(Arguments::Value(value))
    }

    /// Arguments as the tool's own type.
    pub fn typed<T: Any + Send>(arguments: T) -> Self {
        Self::new(Arguments::Typed(Box::new(arguments)))
    }

    fn new(arguments: Arguments) -> Self {
        Self {
            arguments,
            loop_key: LoopKey::default(),
        }
    }

    /// What tells this call from others of the tool.
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
        match &self.arguments {
            Arguments::Value(value) => value,
            Arguments::Typed(_) => &Value::Null,
        }
    }

    /// The typed arguments, if they are of this type.
    pub fn into_typed<T: Any>(self) -> Option<T> {
        match self.arguments {
            Arguments::Typed(any) => any.downcast().ok().map(|boxed| *boxed),
            Arguments::Value(_) => None,
        }
    }
}

impl fmt::Debug for BoundArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Bound");
        match &self.arguments {
            Arguments::Value(value) => out.field("value", value),
            Arguments::Typed(_) => out.field("typed", &"…"),
        };
        out.field("loop_key", &self.loop_key).finish()
    }
}
