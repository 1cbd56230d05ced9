//! The exceptions of `goodcall/_errors.py`, raised from here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use goodcall_core::SchemaError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception class of `goodcall._errors`, imported when it is first raised.
pub(crate) struct Exception {
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

impl Exception {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            class: PyOnceLock::new(),
        }
    }

    /// Returns the exception with this message.
    pub(crate) fn new_err(&self, py: Python<'_>, message: impl ToString) -> PyErr {
        let class = self.class.import(py, "goodcall._errors", self.name);
        match class.and_then(|class| class.call1((message.to_string(),))) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    }
}

/// A setting that is not one of those expected.
pub(crate) static SETTING: Exception = Exception::new("SettingError");
/// Definitions that cannot be read.
pub(crate) static TOOLS: Exception = Exception::new("ToolsError");
/// A mistake in goodcall itself.
pub(crate) static INTERNAL: Exception = Exception::new("InternalError");
/// Anything else that cannot be used.
pub(crate) static INPUT: Exception = Exception::new("InputError");

/// Returns the `SchemaError` for a schema that cannot be used: it names the tool and the place.
pub(crate) fn schema_error(py: Python<'_>, error: &SchemaError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let parts = (
        error.to_string(),
        error.tool(),
        error.pointer().as_str(),
        error.reason(),
    );
    let class = CLASS.import(py, "goodcall._errors", "SchemaError");
    match class.and_then(|class| class.call1(parts)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Runs work of the engine; a panic becomes an `InternalError`, so that none crosses the border.
pub(crate) fn contained<T>(py: Python<'_>, work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        let words = words.unwrap_or_default();
        INTERNAL.new_err(py, format!("goodcall has a bug, please report it: {words}"))
    })
}
