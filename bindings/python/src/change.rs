//! A difference between what was sent and what came out, as a Python object.

use goodcall_core as core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::values::text_to_python;

/// One difference between what was sent and what came out.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct Change {
    rule: String,
    level: String,
    path: String,
    before: Py<PyAny>,
    after: Py<PyAny>,
    moved_from: Option<String>,
    span: (usize, usize),
    count: u32,
    /// The change in one sentence.
    sentence: String,
}

impl Change {
    pub(crate) fn of(py: Python<'_>, change: &core::Change) -> PyResult<Self> {
        let side = |text: Option<&str>| match text {
            None => Ok(py.None()),
            // Pieces of raw text are strings here; values are themselves.
            Some(text) if change.is_text => Ok(PyString::new(py, text).into_any().unbind()),
            Some(text) => text_to_python(py, text).map(Bound::unbind),
        };
        Ok(Self {
            rule: change.rule.name().to_owned(),
            level: change.level.name().to_owned(),
            path: change.pointer.as_str().to_owned(),
            before: side(change.before.as_deref())?,
            after: side(change.after.as_deref())?,
            moved_from: change.from.as_ref().map(|from| from.as_str().to_owned()),
            span: (change.span.start, change.span.end),
            count: change.count,
            sentence: change.sentence(),
        })
    }
}

#[pymethods]
impl Change {
    /// Makes a change from what `__reduce__` returns.
    #[new]
    #[pyo3(signature = (place, sides, moved_from, span, count, sentence))]
    fn new(
        place: (String, String, String),
        sides: (Py<PyAny>, Py<PyAny>),
        moved_from: Option<String>,
        span: (usize, usize),
        count: u32,
        sentence: String,
    ) -> Self {
        let ((rule, level, path), (before, after)) = (place, sides);
        Self {
            rule,
            level,
            path,
            before,
            after,
            moved_from,
            span,
            count,
            sentence,
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let parts = (
            (&own.rule, &own.level, &own.path),
            (&own.before, &own.after),
            &own.moved_from,
            own.span,
            own.count,
            &own.sentence,
        );
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    /// The change in the form of the command's protocols.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("rule", &self.rule)?;
        dict.set_item("level", &self.level)?;
        dict.set_item("path", &self.path)?;
        dict.set_item("before", &self.before)?;
        dict.set_item("after", &self.after)?;
        if let Some(from) = &self.moved_from {
            dict.set_item("from", from)?;
        }
        dict.set_item("span", [self.span.0, self.span.1])?;
        if self.count > 1 {
            dict.set_item("count", self.count)?;
        }
        Ok(dict)
    }

    fn __str__(&self) -> &str {
        &self.sentence
    }

    fn __repr__(&self) -> String {
        format!("<Change {}>", self.sentence)
    }
}
