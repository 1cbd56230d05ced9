//! Options as JavaScript writes them.

use goodcall_core::{Explain, Policies, Policy, Refusal, StopReason, Style};
use goodcall_wire::TextCallScope;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{ErrorCode, Result, coded};

/// The options of a set of tools.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ToolsOptions {
    policy: Option<Value>,
    style: Option<String>,
    anonymous: bool,
}

/// How calls are judged and explained.
#[derive(Clone, Default)]
pub(crate) struct Judging {
    pub(crate) policies: Policies,
    pub(crate) style: Style,
    /// The text for the model does not name the tool.
    pub(crate) anonymous: bool,
}

impl Judging {
    /// The text for the model about a bad call of this tool.
    pub(crate) fn text(&self, tool: &str, bad: &Refusal) -> String {
        let explain = Explain::new(self.style);
        if self.anonymous {
            explain.text(bad)
        } else {
            explain.tool(tool).text(bad)
        }
    }

    /// Reads options from JSON text.
    pub(crate) fn read(json: &str) -> Result<Self> {
        let options: ToolsOptions =
            serde_json::from_str(json).map_err(coded(ErrorCode::BadOption))?;
        Ok(Self {
            policies: policies(options.policy)?,
            style: style(options.style.as_deref())?,
            anonymous: options.anonymous,
        })
    }
}

/// Reads a policy: `safe,-enum-typo`, or `{level, rules, tools}`.
pub(crate) fn policies(value: Option<Value>) -> Result<Policies> {
    match value {
        None | Some(Value::Null) => Ok(Policies::default()),
        Some(Value::String(text)) => {
            let policy: Policy = text.parse().map_err(coded(ErrorCode::BadOption))?;
            Ok(Policies::new(policy))
        }
        Some(table) => {
            let error = |error| format!("policy: {error}");
            let read = serde_json::from_value(table).map_err(error);
            read.map_err(coded(ErrorCode::BadOption))
        }
    }
}

/// Reads the name of a style.
pub(crate) fn style(name: Option<&str>) -> Result<Style> {
    let style = name.map_or(Ok(Style::default()), str::parse);
    style.map_err(coded(ErrorCode::BadOption))
}

/// Reads where calls in text count.
pub(crate) fn scope(name: Option<&str>) -> Result<TextCallScope> {
    let scope = name.map_or(Ok(TextCallScope::default()), str::parse);
    scope.map_err(coded(ErrorCode::BadOption))
}

/// Reads how a message ended.
pub(crate) fn stop(name: Option<&str>) -> Result<StopReason> {
    let stop = name.map_or(Ok(StopReason::Unknown), str::parse);
    stop.map_err(coded(ErrorCode::BadOption))
}
