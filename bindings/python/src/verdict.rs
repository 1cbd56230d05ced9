//! Verdicts, changes and issues as Python objects.

use goodcall::ErrorClass;
use goodcall_core::{Edit, Explain, IssueKind, Refusal, Style, Tree, expected_text};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::errors::{SETTING, contained};
use crate::settings;
use crate::values::{Keys, text_to_python, to_python};

/// The verdict on one call.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Verdict {
    kind: VerdictKind,
    #[pyo3(get)]
    tool: Py<PyString>,
    #[pyo3(get)]
    arguments: Option<Py<PyAny>>,
    /// The arguments as sent, if they are good: text or bytes.
    raw: Option<Py<PyAny>>,
    details: Option<Box<Details>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VerdictKind {
    Good,
    Mended,
    Bad,
}

/// What only mended and bad calls have.
struct Details {
    json: Option<String>,
    changes: Vec<goodcall_core::Change>,
    refusal: Option<Refusal>,
    style: Style,
}

impl Verdict {
    /// Turns the engine's verdict into Python values. `raw` is the text that it judged.
    pub(crate) fn new(
        py: Python<'_>,
        verdict: goodcall_core::Verdict<'_>,
        tool: Py<PyString>,
        raw: Option<Py<PyAny>>,
        keys: &Keys,
        style: Style,
    ) -> PyResult<Self> {
        let plain = |tree: &Tree<'_>| to_python(py, tree.root(), keys).map(Bound::unbind);
        Ok(match verdict {
            goodcall_core::Verdict::Good(tree) => {
                let details = raw.is_none().then(|| {
                    Box::new(Details {
                        json: Some(tree.to_json()),
                        changes: Vec::new(),
                        refusal: None,
                        style,
                    })
                });
                Self {
                    kind: VerdictKind::Good,
                    tool,
                    arguments: Some(plain(&tree)?),
                    raw,
                    details,
                }
            }
            goodcall_core::Verdict::Mended(mended) => Self {
                kind: VerdictKind::Mended,
                tool,
                arguments: Some(plain(&mended.arguments)?),
                raw: None,
                details: Some(Box::new(Details {
                    json: Some(mended.arguments.to_json()),
                    changes: mended.changes,
                    refusal: None,
                    style,
                })),
            },
            goodcall_core::Verdict::Bad(bad) => Self {
                kind: VerdictKind::Bad,
                tool,
                arguments: None,
                raw: None,
                details: Some(Box::new(Details {
                    json: None,
                    changes: bad.changes.clone(),
                    refusal: Some(bad),
                    style,
                })),
            },
        })
    }

    /// The refusal, if the call is bad.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.details.as_ref()?.refusal.as_ref()
    }

    fn text_in(&self, py: Python<'_>, style: Style) -> PyResult<String> {
        let Some(bad) = self.refusal() else {
            return Ok(String::new());
        };
        let tool = self.tool.bind(py).to_str()?;
        contained(py, || Explain::new(style).tool(tool).text(bad))
    }
}

#[pymethods]
impl Verdict {
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            VerdictKind::Good => "good",
            VerdictKind::Mended => "mended",
            VerdictKind::Bad => "bad",
        }
    }

    #[getter]
    fn ok(&self) -> bool {
        self.kind != VerdictKind::Bad
    }

    fn __bool__(&self) -> bool {
        self.ok()
    }

    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.refusal().map(|bad| bad.reason.name())
    }

    #[getter]
    fn error_class(&self) -> Option<&'static str> {
        self.refusal()
            .map(|bad| ErrorClass::from(bad.reason).name())
    }

    #[getter]
    fn changes(&self) -> Vec<Change> {
        let details = self.details.as_ref();
        let changes = details.map_or(&[][..], |details| &details.changes);
        changes.iter().map(Change::new).collect()
    }

    #[getter]
    fn issues(&self) -> Vec<Issue> {
        let issues = self.refusal().map_or(&[][..], |bad| &bad.issues);
        issues.iter().map(Issue::new).collect()
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        let style = self.details.as_ref().map(|details| details.style);
        self.text_in(py, style.unwrap_or(Style::Model))
    }

    /// The text for the model in another style.
    fn explain(&self, py: Python<'_>, style: &str) -> PyResult<String> {
        let style = settings::style(py, Some(style))?;
        self.text_in(py, style)
    }

    #[getter]
    fn json(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if let Some(details) = &self.details {
            return Ok(details.json.clone());
        }
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let raw = raw.bind(py);
        let text = match raw.cast::<PyBytes>() {
            Ok(bytes) => std::str::from_utf8(bytes.as_bytes()).unwrap_or_default(),
            Err(_) => raw.cast::<PyString>()?.to_str()?,
        };
        Ok(Tree::parse(text).ok().map(|tree| tree.to_json()))
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
        dict.set_item("verdict", self.kind())?;
        if let Some(reason) = self.reason() {
            dict.set_item("reason", reason)?;
        }
        dict.set_item("tool", &self.tool)?;
        if let Some(arguments) = &self.arguments {
            dict.set_item("arguments", arguments)?;
        }
        let changes = self.changes();
        let changes: PyResult<Vec<_>> = changes.iter().map(|change| change.to_dict(py)).collect();
        dict.set_item("changes", changes?)?;
        let issues = self.issues();
        let issues: PyResult<Vec<_>> = issues.iter().map(|issue| issue.to_dict(py)).collect();
        dict.set_item("issues", issues?)?;
        if !self.ok() {
            dict.set_item("feedback", self.text(py)?)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tool = self.tool.bind(py).repr()?;
        let rest = match (&self.arguments, self.reason()) {
            (Some(arguments), _) => format!("arguments={}", arguments.bind(py).repr()?),
            (None, reason) => format!("reason={:?}", reason.unwrap_or_default()),
        };
        Ok(format!("<Verdict {} tool={tool} {rest}>", self.kind()))
    }
}

/// One difference between what was sent and what came out.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Change(goodcall_core::Change);

impl Change {
    fn new(change: &goodcall_core::Change) -> Self {
        Self(change.clone())
    }

    fn side<'py>(
        &self,
        py: Python<'py>,
        text: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match (text, &self.0.edit) {
            (None, _) => Ok(None),
            // Pieces of raw text are strings here; values are themselves.
            (Some(text), Edit::Text) => Ok(Some(PyString::new(py, text).into_any())),
            (Some(text), _) => text_to_python(py, text).map(Some),
        }
    }
}

#[pymethods]
impl Change {
    #[getter]
    fn rule(&self) -> &'static str {
        self.0.rule.name()
    }

    #[getter]
    fn level(&self) -> &'static str {
        self.0.level.name()
    }

    #[getter]
    fn path(&self) -> &str {
        self.0.pointer.as_str()
    }

    #[getter]
    fn before<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.side(py, self.0.before.as_deref())
    }

    #[getter]
    fn after<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.side(py, self.0.after.as_deref())
    }

    #[getter]
    fn moved_from(&self) -> Option<&str> {
        match &self.0.edit {
            Edit::Move { from } => Some(from.as_str()),
            _ => None,
        }
    }

    #[getter]
    fn span(&self) -> (usize, usize) {
        (self.0.span.start, self.0.span.end)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("rule", self.rule())?;
        dict.set_item("level", self.level())?;
        dict.set_item("path", self.path())?;
        dict.set_item("before", self.before(py)?)?;
        dict.set_item("after", self.after(py)?)?;
        if let Some(from) = self.moved_from() {
            dict.set_item("from", from)?;
        }
        dict.set_item("span", [self.0.span.start, self.0.span.end])?;
        Ok(dict)
    }

    /// The change in one sentence.
    fn __str__(&self) -> String {
        self.0.sentence()
    }

    fn __repr__(&self) -> String {
        format!("<Change {}>", self.0.sentence())
    }
}

/// What is wrong at one place of a bad call.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct Issue(goodcall_core::Issue);

impl Issue {
    fn new(issue: &goodcall_core::Issue) -> Self {
        Self(issue.clone())
    }
}

#[pymethods]
impl Issue {
    #[getter]
    fn path(&self) -> &str {
        self.0.pointer.as_str()
    }

    #[getter]
    fn code(&self) -> &'static str {
        self.0.kind.name()
    }

    #[getter]
    fn expected(&self) -> String {
        expected_text(&self.0.expected)
    }

    #[getter]
    fn got(&self) -> Option<String> {
        self.0.actual.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn allowed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for text in &self.0.expected.allowed {
            list.append(text_to_python(py, text)?)?;
        }
        Ok(list)
    }

    #[getter]
    fn nearest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match (&self.0.nearest, self.0.kind) {
            (None, _) => Ok(None),
            (Some(value), IssueKind::Enum) => text_to_python(py, value).map(Some),
            (Some(name), _) => Ok(Some(PyString::new(py, name).into_any())),
        }
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("path", self.path())?;
        dict.set_item("code", self.code())?;
        dict.set_item("expected", self.expected())?;
        dict.set_item("got", self.got())?;
        let allowed = self.allowed(py)?;
        if !allowed.is_empty() {
            dict.set_item("allowed", allowed)?;
        }
        if let Some(nearest) = &self.0.nearest {
            dict.set_item("nearest", nearest)?;
        }
        Ok(dict)
    }

    /// The edit that this issue asks for.
    fn __str__(&self) -> String {
        self.0.edit_text()
    }

    fn __repr__(&self) -> String {
        format!("<Issue {}: {}>", self.code(), self.0.edit_text())
    }
}

/// What a model should do after an error of this class.
#[pyfunction]
pub(crate) fn recommendations(py: Python<'_>, class: &str) -> PyResult<Vec<&'static str>> {
    Ok(error_class(py, class)?.recommendations().to_vec())
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
