//! Settings by their names: policies, styles, stop reasons, scopes.

use std::fmt::Display;
use std::str::FromStr;

use goodcall_core::{Policies, Policy, StopReason, Style};
use goodcall_wire::{Provider, TextCallScope};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::SETTING;
use crate::values::{self, Text};

/// Parses a setting; the error says what is expected.
fn parse<T: FromStr<Err: Display>>(py: Python<'_>, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| SETTING.new_err(py, error))
}

pub(crate) fn provider(py: Python<'_>, name: Text<'_>) -> PyResult<Provider> {
    parse(py, name.0)
}

pub(crate) fn style(py: Python<'_>, name: Option<Text<'_>>) -> PyResult<Style> {
    name.map_or(Ok(Style::Model), |name| parse(py, name.0))
}

pub(crate) fn policy(py: Python<'_>, text: Text<'_>) -> PyResult<Policy> {
    parse(py, text.0)
}

pub(crate) fn scope(py: Python<'_>, name: Text<'_>) -> PyResult<TextCallScope> {
    parse(py, name.0)
}

/// Reads a level with switches (`"eager,-enum-typo"`), or a table with `level`, `rules` and `tools`.
pub(crate) fn policies(given: Option<&Bound<'_, PyAny>>) -> PyResult<Policies> {
    let Some(given) = given else {
        return Ok(Policies::default());
    };
    let py = given.py();
    if given.is_instance_of::<PyString>() {
        return policy(py, given.extract()?).map(Policies::new);
    }
    let json = values::to_json(given)?;
    let Text(json) = json.extract()?;
    serde_json::from_str(json).map_err(|error| SETTING.new_err(py, error))
}

/// Reads how a message ended: goodcall's own words, or those of the providers.
pub(crate) fn stop(py: Python<'_>, name: Option<Text<'_>>) -> PyResult<StopReason> {
    let stop = name.map_or(Ok(StopReason::Unknown), |Text(name)| name.parse());
    stop.map_err(|error| SETTING.new_err(py, error))
}
