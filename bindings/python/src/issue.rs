//! What is wrong at one place of a bad call, as a Python object.

use goodcall_core::{self as core, IssueKind, expected_text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyType};

use crate::values::text_to_python;

/// What is wrong at one place of a bad call.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct Issue {
    path: String,
    code: String,
    expected: String,
    got: Option<String>,
    allowed: Py<PyList>,
    nearest: Py<PyAny>,
    /// The edit that it asks for.
    edit: String,
}

impl Issue {
    pub(crate) fn of(py: Python<'_>, issue: &core::Issue) -> PyResult<Self> {
        let allowed = PyList::empty(py);
        for text in &issue.expected.allowed {
            allowed.append(text_to_python(py, text)?)?;
        }
        let nearest = match (&issue.nearest, issue.kind) {
            (None, _) => py.None(),
            (Some(value), IssueKind::Enum) => text_to_python(py, value)?.unbind(),
            (Some(name), _) => PyString::new(py, name).into_any().unbind(),
        };
        Ok(Self {
            path: issue.pointer.as_str().to_owned(),
            code: issue.kind.name().to_owned(),
            expected: expected_text(&issue.expected),
            got: issue.actual.as_ref().map(ToString::to_string),
            allowed: allowed.unbind(),
            nearest,
            edit: issue.edit_text(),
        })
    }
}

#[pymethods]
impl Issue {
    /// Makes an issue from what `__reduce__` returns.
    #[new]
    fn new(
        place: (String, String),
        expected: String,
        got: Option<String>,
        allowed: Py<PyList>,
        nearest: Py<PyAny>,
        edit: String,
    ) -> Self {
        let (path, code) = place;
        Self {
            path,
            code,
            expected,
            got,
            allowed,
            nearest,
            edit,
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let parts = (
            (&own.path, &own.code),
            &own.expected,
            &own.got,
            &own.allowed,
            &own.nearest,
            &own.edit,
        );
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    /// The issue in the form of the command's protocols.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("path", &self.path)?;
        dict.set_item("code", &self.code)?;
        dict.set_item("expected", &self.expected)?;
        dict.set_item("got", &self.got)?;
        if !self.allowed.bind(py).is_empty() {
            dict.set_item("allowed", &self.allowed)?;
        }
        if !self.nearest.is_none(py) {
            dict.set_item("nearest", &self.nearest)?;
        }
        Ok(dict)
    }

    fn __str__(&self) -> &str {
        &self.edit
    }

    fn __repr__(&self) -> String {
        format!("<Issue {}: {}>", self.code, self.edit)
    }
}
