//! Verdicts as Python objects.

use goodcall::ErrorClass;
use goodcall_core::{self as core, Explain, Pointer, Refusal, Style, Tree};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyType};
use pyo3::{IntoPyObjectExt, intern};

use crate::change::Change;
use crate::errors::{SETTING, contained};
use crate::issue::Issue;
use crate::settings;
use crate::values::{self, Builder, Text};

/// The verdict on one call.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Verdict {
    #[pyo3(get)]
    tool: Py<PyString>,
    /// `None` if the call is bad.
    #[pyo3(get)]
    arguments: Py<PyAny>,
    judged: Judged,
    style: Style,
}

/// What the other parts of a verdict are made from when they are read.
enum Judged {
    /// A good call: the text or the bytes that were sent.
    AsSent(Py<PyAny>),
    /// The engine's verdict.
    Whole(Box<core::Verdict<'static>>),
    /// A verdict that was pickled.
    Restored(Box<Restored>),
}

/// The parts of a verdict that was pickled, by the names of its attributes.
struct Restored {
    kind: Py<PyString>,
    json: Option<String>,
    reason: Option<String>,
    error_class: Option<String>,
    changes: Py<PyList>,
    issues: Py<PyList>,
    more: usize,
    /// The text for the model in every style, in the order of `Style::ALL`; empty if there is none.
    texts: Vec<String>,
}

impl Verdict {
    /// Turns the engine's verdict into Python values. `sent` is the text or the bytes that it judged.
    #[inline]
    pub(crate) fn new(
        judged: core::Verdict<'_>,
        tool: Py<PyString>,
        sent: Option<&Bound<'_, PyAny>>,
        build: &Builder<'_, '_>,
        style: Style,
    ) -> PyResult<Self> {
        let arguments = match judged.arguments() {
            Some(tree) => match build.value(tree.root()) {
                Ok(arguments) => arguments.unbind(),
                Err(error) => {
                    let refusal = refusal_of_number(build.py(), tree).ok_or(error)?;
                    let refusal = core::Verdict::Bad(refusal);
                    return Self::new(refusal, tool, None, build, style);
                }
            },
            None => build.py().None(),
        };
        let judged = match (judged, sent) {
            (core::Verdict::Good(_), Some(sent)) => Judged::AsSent(sent.clone().unbind()),
            (judged, _) => Judged::Whole(Box::new(judged.into_owned())),
        };
        Ok(Self {
            tool,
            arguments,
            judged,
            style,
        })
    }

    /// The refusal, if the call is bad and was judged in this process.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match &self.judged {
            Judged::Whole(judged) => match &**judged {
                core::Verdict::Bad(bad) => Some(bad),
                _ => None,
            },
            _ => None,
        }
    }

    fn text_in(&self, py: Python<'_>, style: Style) -> PyResult<String> {
        if let Judged::Restored(parts) = &self.judged {
            let at = Style::ALL.iter().position(|one| *one == style);
            let text = at.and_then(|at| parts.texts.get(at));
            return Ok(text.cloned().unwrap_or_default());
        }
        let Some(bad) = self.refusal() else {
            return Ok(String::new());
        };
        let tool = self.tool.bind(py).to_str()?;
        contained(py, || Explain::new(style).tool(tool).text(bad))
    }

    fn is_bad(&self) -> bool {
        match &self.judged {
            Judged::Restored(parts) => parts.reason.is_some(),
            _ => self.refusal().is_some(),
        }
    }
}

#[pymethods]
impl Verdict {
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        let name = match &self.judged {
            Judged::AsSent(_) => intern!(py, "good"),
            Judged::Whole(judged) => match **judged {
                core::Verdict::Good(_) => intern!(py, "good"),
                core::Verdict::Mended(_) => intern!(py, "mended"),
                core::Verdict::Bad(_) => intern!(py, "bad"),
            },
            Judged::Restored(parts) => parts.kind.bind(py),
        };
        name.clone()
    }

    #[getter]
    fn ok(&self) -> bool {
        !self.is_bad()
    }

    fn __bool__(&self) -> bool {
        !self.is_bad()
    }

    #[getter]
    fn reason(&self) -> Option<&str> {
        match &self.judged {
            Judged::Restored(parts) => parts.reason.as_deref(),
            _ => self.refusal().map(|bad| bad.reason.name()),
        }
    }

    #[getter]
    fn error_class(&self) -> Option<&str> {
        match &self.judged {
            Judged::Restored(parts) => parts.error_class.as_deref(),
            _ => {
                let bad = self.refusal();
                bad.map(|bad| ErrorClass::from(bad.reason).name())
            }
        }
    }

    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        match &self.judged {
            Judged::AsSent(_) => {}
            Judged::Whole(judged) => {
                for change in judged.changes() {
                    list.append(Change::of(py, change)?)?;
                }
            }
            Judged::Restored(parts) => return Ok(parts.changes.bind(py).clone()),
        }
        Ok(list)
    }

    #[getter]
    fn issues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        match &self.judged {
            Judged::AsSent(_) => {}
            Judged::Whole(judged) => {
                for issue in judged.issues() {
                    list.append(Issue::of(py, issue)?)?;
                }
            }
            Judged::Restored(parts) => return Ok(parts.issues.bind(py).clone()),
        }
        Ok(list)
    }

    /// How many issues there are beyond the limit of `issues`.
    #[getter]
    fn more(&self) -> usize {
        match &self.judged {
            Judged::Restored(parts) => parts.more,
            _ => self.refusal().map_or(0, |bad| bad.more),
        }
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.text_in(py, self.style)
    }

    /// The text for the model in another style.
    fn explain(&self, py: Python<'_>, style: Text<'_>) -> PyResult<String> {
        let style = settings::style(py, Some(style))?;
        self.text_in(py, style)
    }

    #[getter]
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let json = match &self.judged {
            Judged::AsSent(sent) => {
                let sent = sent.bind(py);
                return match sent.cast::<PyBytes>() {
                    Ok(bytes) => PyString::from_bytes(py, bytes.as_bytes())?.into_bound_py_any(py),
                    Err(_) => Ok(sent.clone()),
                }
                .map(Some);
            }
            Judged::Whole(judged) => judged.arguments().map(Tree::to_json),
            Judged::Restored(parts) => parts.json.clone(),
        };
        json.map(|json| json.into_bound_py_any(py)).transpose()
    }

    /// The arguments as an instance of a type: a model, a dataclass, a `TypedDict`.
    fn model<'py>(slf: &Bound<'py, Self>, kind: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        static MODEL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let model = MODEL.import(slf.py(), "goodcall._types", "model")?;
        model.call1((slf, kind))
    }

    /// The verdict as a dict, in the form of the command's protocols.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("verdict", self.kind(py))?;
        if let Some(reason) = self.reason() {
            dict.set_item("reason", reason)?;
        }
        dict.set_item("tool", &self.tool)?;
        if !self.is_bad() {
            dict.set_item("arguments", &self.arguments)?;
        }
        for (name, list) in [("changes", self.changes(py)?), ("issues", self.issues(py)?)] {
            let made = PyList::empty(py);
            for one in list {
                made.append(one.call_method0(intern!(py, "to_dict"))?)?;
            }
            dict.set_item(name, made)?;
        }
        if self.more() > 0 {
            dict.set_item("more", self.more())?;
        }
        if self.is_bad() {
            dict.set_item("feedback", self.text(py)?)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (kind, tool) = (self.kind(py), self.tool.bind(py).repr()?);
        let rest = match self.reason() {
            None => format!("arguments={}", self.arguments.bind(py).repr()?),
            Some(reason) => format!("reason={reason:?}"),
        };
        Ok(format!("<Verdict {kind} tool={tool} {rest}>"))
    }

    /// What pickle stores: every part, with the text in every style.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let texts: PyResult<Vec<_>> = Style::ALL
            .iter()
            .map(|style| own.text_in(py, *style))
            .collect();
        let parts = (
            (&own.tool, &own.arguments, own.style.name()),
            (own.kind(py), own.json(py)?),
            (own.reason(), own.error_class()),
            (own.changes(py)?, own.issues(py)?, own.more()),
            texts?,
        );
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    /// Makes a verdict from what `__reduce__` returns.
    #[new]
    fn restored(
        py: Python<'_>,
        about: (Py<PyString>, Py<PyAny>, String),
        good: (Py<PyString>, Option<String>),
        bad: (Option<String>, Option<String>),
        lists: (Py<PyList>, Py<PyList>, usize),
        texts: Vec<String>,
    ) -> PyResult<Self> {
        let ((tool, arguments, style), (kind, json)) = (about, good);
        let ((reason, error_class), (changes, issues, more)) = (bad, lists);
        let parts = Restored {
            kind,
            json,
            reason,
            error_class,
            changes,
            issues,
            more,
            texts,
        };
        Ok(Self {
            tool,
            arguments,
            judged: Judged::Restored(Box::new(parts)),
            style: settings::style(py, Some(Text(&style)))?,
        })
    }
}

/// Refuses arguments with a number that Python has no type for.
#[cold]
fn refusal_of_number(py: Python<'_>, arguments: &Tree<'_>) -> Option<Refusal> {
    let issue = values::number_without_type(py, arguments.root(), &Pointer::root())?;
    Some(Refusal::wrong_shape(vec![issue]))
}

/// What a model should do after an error of this class.
#[pyfunction]
pub(crate) fn recommendations(py: Python<'_>, class: Text<'_>) -> PyResult<Vec<&'static str>> {
    Ok(error_class(py, class.0)?.recommendations().to_vec())
}

/// Reads the name of an error class.
pub(crate) fn error_class(py: Python<'_>, name: &str) -> PyResult<ErrorClass> {
    let found = ErrorClass::ALL
        .iter()
        .copied()
        .find(|class| class.name() == name);
    found.ok_or_else(|| {
        let known: Vec<_> = ErrorClass::ALL.iter().map(|class| class.name()).collect();
        let known = known.join(", ");
        SETTING.new_err(
            py,
            format!("unknown error class `{name}`: expected one of {known}"),
        )
    })
}
