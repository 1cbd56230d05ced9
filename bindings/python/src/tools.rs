//! The offered tools: checking calls, and finding them in text.

use std::ops::Range;

use goodcall_core::{Gate, Policies, Policy, Schema, StopReason, Style, Tree};
use goodcall_wire::{
    RawCall, ToolDefinition, Tools as WireTools, ToolsError, definitions, extract,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::errors::{INPUT, TOOLS, contained, schema_error};
use crate::name_table::NameTable;
use crate::settings;
use crate::values::{self, Builder, Strings, Text};
use crate::verdict::Verdict;

/// Arguments of at least this many bytes are judged without the interpreter's lock. Releasing it and
/// taking it again costs as much as judging a few hundred bytes.
const DETACH_FROM: usize = 2048;

/// The tools that are offered to a model, compiled once.
#[pyclass(frozen, subclass, module = "goodcall")]
pub(crate) struct Tools {
    pub(crate) tools: WireTools,
    entries: NameTable<Entry>,
    policies: Policies,
    pub(crate) style: Style,
}

/// What a check needs of one tool.
struct Entry {
    schema: Schema,
    /// `None` for the default policy, which a gate has without being given it.
    policy: Option<Policy>,
    name: Py<PyString>,
    strings: Strings,
}

/// The arguments of a call as Python hands them in.
enum Raw<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Raw<'_> {
    fn len(&self) -> usize {
        match self {
            Raw::Text(text) => text.len(),
            Raw::Bytes(bytes) => bytes.len(),
        }
    }
}

impl Entry {
    fn new(py: Python<'_>, tool: &ToolDefinition, policies: &Policies) -> PyResult<Self> {
        let schema = tool.schema();
        let schema = schema.map_err(|error| schema_error(py, error))?.clone();
        let name = tool.name.as_str();
        let tree = Tree::parse(&tool.parameters).ok();
        let strings = tree.map(|tree| values::strings_of(py, tree.root()));
        let policy = if tool.is_destructive() {
            policies.for_destructive_tool(name)
        } else {
            policies.for_tool(name)
        };
        Ok(Self {
            schema,
            policy: (policy != Policy::default()).then_some(policy),
            name: PyString::intern(py, name).unbind(),
            strings: strings.unwrap_or_default(),
        })
    }

    /// Returns what judges calls of this tool.
    #[inline]
    fn gate<'t>(&'t self, name: &'t str, stop: StopReason) -> Gate<'t> {
        let gate = Gate::new(&self.schema).stop(stop).tool(name);
        match &self.policy {
            Some(policy) => gate.policy(policy.clone()),
            None => gate,
        }
    }

    fn judge<'a>(
        &self,
        py: Python<'_>,
        name: &str,
        raw: &Raw<'a>,
        stop: StopReason,
        policy: Option<Policy>,
    ) -> PyResult<goodcall_core::Verdict<'a>> {
        let mut gate = self.gate(name, stop);
        if let Some(policy) = policy {
            gate = gate.policy(policy);
        }
        let judge = || match raw {
            Raw::Text(text) => gate.check(text),
            Raw::Bytes(bytes) => gate.check_bytes(bytes),
        };
        contained(py, || {
            if raw.len() < DETACH_FROM {
                judge()
            } else {
                py.detach(judge)
            }
        })
    }
}

impl Tools {
    /// Which rules may mend the calls of which tool.
    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Which rules may mend calls of this tool.
    pub(crate) fn policy_of(&self, name: &str) -> Policy {
        let entry = self.entries.get(name.as_bytes());
        entry.map_or_else(
            || self.policies.for_tool(name),
            |entry| entry.policy.clone().unwrap_or_default(),
        )
    }

    /// Returns what judges calls of the tool with exactly this name.
    pub(crate) fn gate<'t>(&'t self, name: &'t str, stop: StopReason) -> Option<Gate<'t>> {
        let entry = self.entries.get(name.as_bytes())?;
        Some(entry.gate(name, stop))
    }

    /// Judges a call that was read from a message or from text.
    pub(crate) fn judge(
        &self,
        py: Python<'_>,
        call: &RawCall,
        stop: StopReason,
        policy: Option<Policy>,
    ) -> PyResult<Verdict> {
        let policy = policy.unwrap_or_else(|| self.policy_of(&call.name));
        let none = Strings::default();
        let strings = self.entries.get(call.name.as_bytes());
        let strings = strings.map_or(&none, |entry| &entry.strings);
        let judged = contained(py, || py.detach(|| call.check(&self.tools, &policy, stop)))?;
        let name = PyString::new(py, &call.name).unbind();
        Verdict::new(judged, name, None, &Builder::new(py, strings), self.style)
    }
}

#[pymethods]
impl Tools {
    #[new]
    #[pyo3(signature = (definitions, *, policy = None, style = None))]
    fn new(
        py: Python<'_>,
        definitions: Text<'_>,
        policy: Option<&Bound<'_, PyAny>>,
        style: Option<Text<'_>>,
    ) -> PyResult<Self> {
        let (policies, style) = (settings::policies(policy)?, settings::style(py, style)?);
        let read = || {
            let tools = WireTools::read(definitions.0)?;
            // Compiles all schemas while the lock is released.
            let bad = tools.iter().find_map(|tool| tool.schema().err().cloned());
            Ok::<_, ToolsError>((tools, bad))
        };
        let tools = contained(py, || py.detach(read))?;
        let (tools, bad) = tools.map_err(|error| TOOLS.new_err(py, error))?;
        if let Some(error) = bad {
            return Err(schema_error(py, &error));
        }
        let entries: PyResult<NameTable<Entry>> = tools
            .iter()
            .map(|tool| Ok((tool.name.as_str().into(), Entry::new(py, tool, &policies)?)))
            .collect();
        let entries = entries?;
        Ok(Self {
            tools,
            entries,
            policies,
            style,
        })
    }

    /// Judges the arguments of a call.
    #[pyo3(signature = (name, arguments, *, stop = None, policy = None))]
    fn check(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        arguments: &Bound<'_, PyAny>,
        stop: Option<Text<'_>>,
        policy: Option<Text<'_>>,
    ) -> PyResult<Verdict> {
        let stop = settings::stop(py, stop)?;
        let policy = policy.map(|text| settings::policy(py, text)).transpose()?;
        let called = name.to_string_lossy();
        let entry = self.entries.get(called.as_bytes());
        if let Some(entry) = entry
            && let Ok(string) = arguments.cast::<PyString>()
            && let Ok(text) = string.to_str()
        {
            let verdict = entry.judge(py, &called, &Raw::Text(text), stop, policy)?;
            let build = Builder::new(py, &entry.strings).source(string, text);
            let name = entry.name.clone_ref(py);
            return Verdict::new(verdict, name, Some(arguments), &build, self.style);
        }
        let bytes = values::to_bytes(arguments)?;
        let Some(entry) = entry else {
            let text = String::from_utf8_lossy(bytes.as_bytes());
            let call = RawCall::new(&self.tools, &called, text);
            return self.judge(py, &call, stop, policy);
        };
        let verdict = entry.judge(py, &called, &Raw::Bytes(bytes.as_bytes()), stop, policy)?;
        let build = Builder::new(py, &entry.strings);
        let name = entry.name.clone_ref(py);
        Verdict::new(verdict, name, Some(bytes.as_any()), &build, self.style)
    }

    /// Finds the calls that a model wrote into plain text.
    #[pyo3(signature = (text, *, scope = Text("explicit"), stop = None, policy = None))]
    fn extract(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        scope: Text<'_>,
        stop: Option<Text<'_>>,
        policy: Option<Text<'_>>,
    ) -> PyResult<Extraction> {
        let (scope, stop) = (settings::scope(py, scope)?, settings::stop(py, stop)?);
        let policy = policy.map(|text| settings::policy(py, text)).transpose()?;
        let found = contained(py, || py.detach(|| extract(text.0, &self.tools, scope)))?;
        let mut calls = Vec::with_capacity(found.calls.len());
        for call in found.calls {
            let verdict = self.judge(py, &call, stop, policy.clone())?;
            calls.push(Py::new(py, Call::new(py, call, verdict)?)?);
        }
        Ok(Extraction {
            calls,
            content: found.text,
            reasoning: found.reasoning,
        })
    }

    #[getter]
    fn names(&self) -> Vec<&str> {
        self.tools.names().collect()
    }

    /// The definitions in a provider's form, as JSON text.
    fn definitions_json(&self, py: Python<'_>, provider: Text<'_>) -> PyResult<String> {
        let provider = settings::provider(py, provider)?;
        contained(py, || definitions(provider, &self.tools))
    }

    /// The schema of a tool's parameters, as JSON text.
    fn schema_json(&self, py: Python<'_>, name: Text<'_>) -> PyResult<&str> {
        let Text(name) = name;
        let tool = self.tools.get(name);
        let tool = tool.ok_or_else(|| INPUT.new_err(py, format!("there is no tool `{name}`")))?;
        Ok(&tool.parameters)
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.extract::<Text<'_>>();
        name.is_ok_and(|name| self.entries.get(name.0.as_bytes()).is_some())
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.tools.names().collect();
        format!("<Tools {}>", names.join(", "))
    }
}

/// A call that was found in a text or in a stream.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct Call {
    id: Option<String>,
    name: String,
    /// The arguments as JSON text, as sent if they were sent as JSON.
    raw: String,
    span: (usize, usize),
    verdict: Py<Verdict>,
}

impl Call {
    pub(crate) fn new(py: Python<'_>, call: RawCall, verdict: Verdict) -> PyResult<Self> {
        let Range { start, end } = call.span;
        Ok(Self {
            id: call.id,
            name: call.name,
            raw: call.arguments,
            span: (start, end),
            verdict: Py::new(py, verdict)?,
        })
    }
}

#[pymethods]
impl Call {
    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.verdict.getattr(py, "arguments")
    }

    /// Makes a call from what `__reduce__` returns.
    #[new]
    fn restored(
        id: Option<String>,
        name: String,
        raw: String,
        span: (usize, usize),
        verdict: Py<Verdict>,
    ) -> Self {
        Self {
            id,
            name,
            raw,
            span,
            verdict,
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let parts = (&own.id, &own.name, &own.raw, own.span, &own.verdict);
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let verdict = self.verdict.bind(py).repr()?;
        Ok(format!("<Call {}: {verdict}>", self.name))
    }
}

/// The calls of a text, and what is around them.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct Extraction {
    calls: Vec<Py<Call>>,
    /// The text outside of calls and thoughts.
    content: String,
    /// The model's thoughts.
    reasoning: String,
}

#[pymethods]
impl Extraction {
    /// Makes an extraction from what `__reduce__` returns.
    #[new]
    fn restored(calls: Vec<Py<Call>>, content: String, reasoning: String) -> Self {
        Self {
            calls,
            content,
            reasoning,
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let parts = (&own.calls, &own.content, &own.reasoning);
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let calls: PyResult<Vec<_>> = self
            .calls
            .iter()
            .map(|call| call.bind(py).repr().map(|text| text.to_string()))
            .collect();
        let content = PyString::new(py, &self.content).repr()?;
        Ok(format!(
            "<Extraction calls=[{}] content={content}>",
            calls?.join(", ")
        ))
    }
}
