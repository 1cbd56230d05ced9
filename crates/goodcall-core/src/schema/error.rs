//! Errors and warnings of compiling a schema.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::tree::Pointer;

/// A schema that cannot be used. Found when a tool is registered, not when it is called.
///
/// The error of the JSON reader or of the validator, where there is one, is its
/// [`source`](Error::source). Two errors are equal if they say the same.
#[derive(Clone, Debug)]
pub struct SchemaError {
    tool: Option<String>,
    pointer: Pointer,
    reason: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl SchemaError {
    pub(crate) fn new(pointer: Pointer, reason: impl Into<String>) -> Self {
        Self {
            tool: None,
            pointer,
            reason: reason.into(),
            source: None,
        }
    }

    /// Adds the error that caused this one.
    pub(crate) fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
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

impl PartialEq for SchemaError {
    fn eq(&self, other: &Self) -> bool {
        (&self.tool, &self.pointer, &self.reason) == (&other.tool, &other.pointer, &other.reason)
    }
}

impl Eq for SchemaError {}

impl Error for SchemaError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, SchemaCache};

    #[test]
    fn cause_of_an_error_is_its_source() {
        let error = SchemaCache::default().get_text("{").expect_err("no JSON");
        let source = error.source().expect("the reader's error");
        assert!(source.is::<serde_json::Error>(), "{source:?}");
        let bad = serde_json::json!({"type": "quark"});
        let error = Schema::compile(&bad).expect_err("no JSON Schema type");
        assert!(error.source().is_some(), "{error}");
        assert_eq!(error, Schema::compile(&bad).expect_err("the same"));
    }
}
