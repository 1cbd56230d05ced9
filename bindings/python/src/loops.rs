//! Doom loops: a model that makes the same calls again and again.

use std::sync::{Mutex, PoisonError};

use goodcall::{Call, CallOutcome, Detector, Escalation, LoopRules, ToolResult};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use serde_json::{Map, Value};

use crate::errors::{SETTING, contained};
use crate::values::{self, Text};
use crate::verdict::{Verdict, error_class};

/// Looks for loops in the turns of one run.
#[pyclass(frozen, module = "goodcall")]
pub(crate) struct LoopDetector(Mutex<Detector>);

/// A suspected loop, with the evidence.
#[pyclass(frozen, get_all, module = "goodcall")]
pub(crate) struct LoopReport {
    signal: String,
    escalation: String,
    level: u32,
    tools: Vec<String>,
    times: usize,
    call_id: String,
    detail: Option<String>,
    /// The text for the model.
    text: String,
}

#[pymethods]
impl LoopReport {
    /// Makes a report from what `__reduce__` returns.
    #[new]
    fn new(
        about: (String, String, u32),
        tools: Vec<String>,
        times: usize,
        call_id: String,
        detail: Option<String>,
        text: String,
    ) -> Self {
        let (signal, escalation, level) = about;
        Self {
            signal,
            escalation,
            level,
            tools,
            times,
            call_id,
            detail,
            text,
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyAny>)> {
        let (py, own) = (slf.py(), slf.get());
        let parts = (
            (&own.signal, &own.escalation, own.level),
            &own.tools,
            own.times,
            &own.call_id,
            &own.detail,
            &own.text,
        );
        Ok((slf.get_type(), parts.into_pyobject(py)?.into_any()))
    }

    fn __repr__(&self) -> String {
        let tools = self.tools.join(", ");
        format!(
            "<LoopReport {} of {tools}, {} times: {}>",
            self.signal, self.times, self.escalation
        )
    }
}

impl From<goodcall::LoopReport> for LoopReport {
    fn from(report: goodcall::LoopReport) -> Self {
        Self {
            signal: report.signal.name().to_owned(),
            escalation: match report.escalation {
                Escalation::Steer => "steer".to_owned(),
                Escalation::Ask => "ask".to_owned(),
                _ => "stop".to_owned(),
            },
            level: report.level,
            times: report.times,
            text: report.text(),
            tools: report.tools,
            call_id: report.call_id,
            detail: report.detail,
        }
    }
}

/// One call of a turn: its name, its arguments, what came of it, and the class of its error.
type Observed<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<String>,
);

fn outcome(
    py: Python<'_>,
    number: usize,
    observed: &Observed<'_>,
) -> PyResult<(Call, CallOutcome)> {
    let (name, arguments, result, class) = observed;
    let name = name.to_string_lossy().into_owned();
    let call = Call::new(format!("call_{number}"), name, text(arguments)?);
    let result = if let Ok(verdict) = result.cast::<Verdict>()
        && let Some(bad) = verdict.get().refusal()
    {
        ToolResult::refused(bad, bad.summary())
    } else {
        let text = text(result)?;
        match class {
            Some(class) => ToolResult::failure(error_class(py, class)?, text),
            None => ToolResult::success(text),
        }
    };
    let outcome = CallOutcome::new(&call, result);
    Ok((call, outcome))
}

/// A string as it is, anything else as JSON.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_string_lossy().into_owned()),
        Err(_) => Ok(values::to_json(value)?.to_string_lossy().into_owned()),
    }
}

/// Reads thresholds by their names.
fn read_rules(json: &str) -> Result<LoopRules, String> {
    let given: Map<String, Value> =
        serde_json::from_str(json).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(LoopRules::default()).unwrap_or_default();
    if let Some(key) = given.keys().find(|key| known.get(key.as_str()).is_none()) {
        let known: Vec<_> = known.as_object().into_iter().flat_map(Map::keys).collect();
        let known: Vec<_> = known.into_iter().map(String::as_str).collect();
        return Err(format!(
            "unknown key `{key}`: expected one of {}",
            known.join(", ")
        ));
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| error.to_string())
}

#[pymethods]
impl LoopDetector {
    /// Makes a detector. Keywords set the thresholds; those left out have their defaults.
    #[new]
    #[pyo3(signature = (**rules))]
    fn new(py: Python<'_>, rules: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let rules = match rules {
            None => LoopRules::default(),
            Some(given) => read_rules(values::to_json(given)?.extract::<Text<'_>>()?.0)
                .map_err(|error| SETTING.new_err(py, format!("loop thresholds: {error}")))?,
        };
        Ok(Self(Mutex::new(Detector::new(rules))))
    }

    /// Takes in one call with its result. An error has a class, such as `runtime`.
    #[pyo3(signature = (name, arguments, result, error = None))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        name: Bound<'py, PyString>,
        arguments: Bound<'py, PyAny>,
        result: Bound<'py, PyAny>,
        error: Option<String>,
    ) -> PyResult<Option<LoopReport>> {
        self.observe_turn(py, vec![(name, arguments, result, error)])
    }

    /// Takes in the calls of one turn, each with its result.
    fn observe_turn(
        &self,
        py: Python<'_>,
        turn: Vec<Observed<'_>>,
    ) -> PyResult<Option<LoopReport>> {
        let turn: PyResult<Vec<_>> = turn
            .iter()
            .enumerate()
            .map(|(number, observed)| outcome(py, number, observed))
            .collect();
        let turn = turn?;
        let report = contained(py, || {
            let mut detector = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            detector.observe(&turn)
        })?;
        Ok(report.map(LoopReport::from))
    }

    fn __repr__(&self) -> &'static str {
        "<LoopDetector>"
    }

    /// Forgets the calls so far, because the user has said something new.
    fn reset(&self) {
        let mut detector = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        detector.reset();
    }
}
