//! Errors and warnings of compiling a schema.

use std::error::Error;
use std::fmt;

use crate::tree::Pointer;

/// A schema that cannot be used. Found when a tool is registered, not when it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    tool: Option<String>,
    pointer: Pointer,
    reason: String,
}

impl SchemaError {
    pub(crate) fn new(pointer: Pointer, reason: impl Into<String>) -> Self {
        Self {
            tool: None,
            pointer,
            reason: reason.into(),
        }
    }

    /// Adds the name of the tool whose schema it is.
    #[must_use]
    pub fn of_tool(mut self, name: &str) -> Self {
        self.tool = Some(name.to_owned());
        self
    }

    /// The tool whose schema it is, if [`SchemaError::of_tool`] named it.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The place in the schema.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// What is wrong at that place.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad schema")?;
        if let Some(tool) = &self.tool {
            write!(f, " of tool `{tool}`")?;
        }
        if !self.pointer.is_root() {
            write!(f, " at {}", self.pointer)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Error for SchemaError {}

/// A form in a schema that JSON Schema does not know, or a pattern that cannot be matched in linear
/// time, and how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaWarning {
    /// The place in the schema.
    pub pointer: Pointer,
    /// The form that was found, and how it is read.
    pub message: String,
}

impl fmt::Display for SchemaWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_root() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}
