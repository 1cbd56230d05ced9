//! A refusal as a JSON object.

use serde::Serialize;
use serde_json::Value;

use super::{Budget, instruction, model};
use crate::report::{Reason, Refusal};

/// The structured result of a call: of a refused one here, of any one in the crate `goodcall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Structured {
    /// True if the tool ran and succeeded.
    pub ok: bool,
    /// What it returned.
    pub data: Value,
    /// What went wrong.
    pub error: Option<String>,
    /// The class of the error.
    pub error_type: Option<&'static str>,
    /// True if the same call may succeed when it is made again unchanged.
    pub retryable: bool,
    /// A remark for the model.
    pub note: Option<String>,
    /// What to do next.
    pub recommendations: Vec<String>,
}

impl Structured {
    /// Writes the object as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, booleans and a `Value` are valid JSON")
    }
}

pub(super) fn of(bad: &Refusal, tool: Option<&str>, budget: &Budget) -> Structured {
    let error = match bad.reason {
        Reason::WrongShape | Reason::Ambiguous => {
            let faults = instruction::joined(bad, budget, instruction::line);
            format!("Invalid parameters: {faults}")
        }
        _ => model::head(bad, tool),
    };
    let recommendations = match bad.reason {
        Reason::Truncated if model::is_long(bad.issues.first()) => {
            vec!["send the complete arguments, or split the work".to_owned()]
        }
        Reason::Truncated => vec!["send the complete arguments".to_owned()],
        Reason::Malformed | Reason::NotAnObject => {
            vec!["send the arguments as one JSON object".to_owned()]
        }
        _ => model::recommendations(bad, budget),
    };
    Structured {
        ok: false,
        data: Value::Null,
        error: Some(crate::snippet::clip(&error, budget.chars)),
        error_type: Some(error_type(bad.reason)),
        retryable: false,
        note: None,
        recommendations,
    }
}

fn error_type(reason: Reason) -> &'static str {
    match reason {
        Reason::Truncated => "truncated",
        Reason::UnknownTool => "unknown_tool",
        Reason::Loop => "loop",
        _ => "validation",
    }
}
