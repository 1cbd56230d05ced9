//! Settings by their names: policies, styles, stop reasons, scopes.

use std::fmt::Display;
use std::str::FromStr;

use goodcall_core::{Policies, Policy, StopReason, Style};
use goodcall_wire::{Provider, TextCallScope};
use pyo3::prelude::*;

use crate::errors::SETTING;
use crate::values;

/// Parses a setting; the error says what is expected.
fn parse<T: FromStr<Err: Display>>(py: Python<'_>, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| SETTING.new_err(py, error))
}

pub(crate) fn provider(py: Python<'_>, name: &str) -> PyResult<Provider> {
    parse(py, name)
}

pub(crate) fn style(py: Python<'_>, name: Option<&str>) -> PyResult<Style> {
    name.map_or(Ok(Style::Model), |name| parse(py, name))
}

pub(crate) fn policy(py: Python<'_>, text: &str) -> PyResult<Policy> {
    parse(py, text)
}

pub(crate) fn scope(py: Python<'_>, name: &str) -> PyResult<TextCallScope> {
    parse(py, name)
}

/// Reads a level with switches (`"eager,-enum-typo"`), or a table with `level`, `rules` and `tools`.
pub(crate) fn policies(given: Option<&Bound<'_, PyAny>>) -> PyResult<Policies> {
    let Some(given) = given else {
        return Ok(Policies::default());
    };
    let py = given.py();
    if let Ok(text) = given.extract::<String>() {
        return policy(py, &text).map(Policies::new);
    }
    let json = values::to_json(given)?;
    serde_json::from_str(&json).map_err(|error| SETTING.new_err(py, error))
}

/// Reads how a message ended: goodcall's own words, or those of the providers.
pub(crate) fn stop(py: Python<'_>, name: Option<&str>) -> PyResult<StopReason> {
    match name {
        None | Some("unknown") => Ok(StopReason::Unknown),
        Some("finished") => Ok(StopReason::Finished),
        Some("cut_off") => Ok(StopReason::CutOff),
        Some(other) => {
            let message =
                format!("unknown stop reason `{other}`: expected unknown, finished or cut_off");
            Err(SETTING.new_err(py, message))
        }
    }
}
