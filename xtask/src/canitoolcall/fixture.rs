//! The fixtures as the package has them: one JSON object a line, and a file for each family.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use goodcall_wire::Tools;
use serde_json::Value;

use super::read;
use crate::Failure;

/// One text of a model.
pub(super) struct Fixture {
    pub(super) id: String,
    pub(super) family: String,
    tools: Value,
    /// The end of the prompt that the text follows.
    pub(super) prompt: String,
    pub(super) raw: String,
    /// The text ended because no more tokens were allowed.
    pub(super) truncated: bool,
    /// What a right reading gives; `None` if the text holds no call that may be made.
    pub(super) expected: Option<Expected>,
}

pub(super) struct Expected {
    /// Names and arguments.
    pub(super) calls: Vec<(String, Value)>,
    pub(super) content: String,
    pub(super) reasoning: String,
}

impl Expected {
    pub(super) fn has_calls(&self, calls: &[(String, String)]) -> bool {
        let same = |(own, sent): (&(String, Value), &(String, String))| {
            let arguments = serde_json::from_str::<Value>(&sent.1);
            own.0 == sent.0 && arguments.is_ok_and(|arguments| is_same(&own.1, &arguments))
        };
        self.calls.len() == calls.len() && self.calls.iter().zip(calls).all(same)
    }
}

/// Compares values as JSON does: `1` and `1.0` are one number.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| is_same(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

impl Fixture {
    pub(super) fn tools(&self) -> Result<Tools, Failure> {
        if self.tools.as_array().is_some_and(Vec::is_empty) {
            return Ok(Tools::default());
        }
        Tools::read(&self.tools.to_string())
            .map_err(|error| Failure::Unusable(format!("{}: {error}", self.id)))
    }

    fn from_row(row: &Value, prompts: &HashMap<String, String>) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let expected = row.get("expected").map(|expected| {
            let calls = expected["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(|call| (text(&call["name"]), call["arguments"].clone()));
            Expected {
                calls: calls.collect(),
                content: text(&expected["content"]),
                reasoning: text(&expected["reasoning_content"]),
            }
        });
        let model = prompts.get(&text(&row["models"][0]));
        let prompt = row["generation_prompt"].as_str().map(str::to_owned);
        let tags = row["tags"].as_array();
        Self {
            id: text(&row["id"]),
            family: text(&row["family"]),
            tools: row["tools"].clone(),
            prompt: prompt.or_else(|| model.cloned()).unwrap_or_default(),
            raw: text(&row["raw_output"]),
            truncated: tags.is_some_and(|tags| tags.contains(&Value::from("truncated"))),
            expected,
        }
    }
}

/// Reads the fixtures of all families, in the order of their names.
pub(super) fn read_all(dir: &Path) -> Result<Vec<Fixture>, Failure> {
    let mut fixtures = Vec::new();
    for family in entries(dir)?.into_iter().filter(|path| path.is_dir()) {
        let about = json(&read(&family.join("family.json"))?, &family)?;
        let models = about["reference_models"].as_array().into_iter().flatten();
        let prompts = models.filter_map(|model| {
            let prompt = model["default_generation_prompt"].as_str()?;
            Some((model["repo"].as_str()?.to_owned(), prompt.to_owned()))
        });
        let prompts = prompts.collect();
        let files = entries(&family)?.into_iter();
        for path in files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
            for line in read(&path)?.lines() {
                fixtures.push(Fixture::from_row(&json(line, &path)?, &prompts));
            }
        }
    }
    Ok(fixtures)
}

fn json(text: &str, path: &Path) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unusable(format!("{}: {error}", path.display())))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = std::fs::read_dir(dir)
        .map_err(|error| Failure::Unusable(format!("{}: {error}", dir.display())))?;
    let mut paths: Vec<_> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    Ok(paths)
}
