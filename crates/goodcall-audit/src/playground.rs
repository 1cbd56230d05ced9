//! The playground: one call under every policy, in every style.

use goodcall_core::{Explain, Gate, Policies, Policy, Schema, StopReason, Style, Verdict};
use goodcall_wire::{LintedTool, RawCall, Tools, lint};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::page;

const PAGE: &str = include_str!("page/playground.html");
const DESIGN: &str = include_str!("page/design.css");

/// What the page asks for.
#[derive(Deserialize)]
struct Question {
    /// A schema, or definitions of tools.
    schema: String,
    /// The arguments as sent.
    raw: String,
    /// The name that was called.
    #[serde(default)]
    tool: String,
    #[serde(default)]
    stop: String,
}

/// The page of the playground.
pub fn playground_page() -> String {
    page(PAGE, &[("/*STYLE*/", DESIGN)])
}

/// Answers a question of the page: the verdicts of the three policies, with the text for the model in
/// each style, or an error.
pub fn playground_answer(question: &str) -> String {
    let answer = serde_json::from_str::<Question>(question)
        .map_err(|error| format!("not a question: {error}"))
        .and_then(|question| answer(&question));
    let value = answer.unwrap_or_else(|error| json!({ "error": error }));
    value.to_string()
}

fn answer(question: &Question) -> Result<Value, String> {
    let stop = match question.stop.as_str() {
        "" => StopReason::Unknown,
        name => name.parse().map_err(|error| format!("{error}"))?,
    };
    // A schema may have `properties` called `name`; a definition has a schema inside.
    match Tools::read(&question.schema) {
        Ok(tools) => by_tools(question, &tools, stop),
        Err(_) => by_schema(question, stop),
    }
}

fn by_tools(question: &Question, tools: &Tools, stop: StopReason) -> Result<Value, String> {
    let names: Vec<&str> = tools.names().collect();
    let name = match (question.tool.trim(), tools.only()) {
        ("", Some(only)) => only.name.as_str(),
        ("", None) => {
            return Err(format!(
                "name the tool that was called: {}",
                names.join(", ")
            ));
        }
        (name, _) => name,
    };
    let call = RawCall::new(tools, name, question.raw.as_str());
    let tool = tools.get(&call.name);
    if let Some(Err(error)) = tool.map(|tool| tool.schema()) {
        return Err(error.to_string());
    }
    let verdicts = policies().map(|(policy, policies)| {
        let policy_of = match tool {
            Some(tool) if tool.is_destructive() => policies.for_destructive_tool(&tool.name),
            _ => policies.for_tool(&call.name),
        };
        shown(policy, name, &call.check(tools, &policy_of, stop))
    });
    let linted: Vec<LintedTool> = tool.map(LintedTool::from).into_iter().collect();
    Ok(json!({"tool": name, "tools": names, "policies": verdicts, "remarks": remarks(&linted)}))
}

fn by_schema(question: &Question, stop: StopReason) -> Result<Value, String> {
    let schema: Value = serde_json::from_str(&question.schema)
        .map_err(|error| format!("the schema is not JSON: {error}"))?;
    let compiled = Schema::compile(&schema).map_err(|error| error.to_string())?;
    let name = question.tool.trim();
    let verdicts = policies().map(|(policy, policies)| {
        let gate = Gate::new(&compiled)
            .policy(policies.for_tool(name))
            .stop(stop);
        let gate = if name.is_empty() {
            gate
        } else {
            gate.tool(name)
        };
        shown(policy, name, &gate.check(&question.raw))
    });
    let tool = LintedTool::new(if name.is_empty() { "tool" } else { name }, schema);
    Ok(json!({"tool": name, "tools": [], "policies": verdicts, "remarks": remarks(&[tool])}))
}

fn policies() -> [(&'static str, Policies); 3] {
    [
        ("strict", Policies::new(Policy::strict())),
        ("safe", Policies::new(Policy::safe())),
        ("eager", Policies::new(Policy::eager())),
    ]
}

fn shown(policy: &str, tool: &str, verdict: &Verdict<'_>) -> Value {
    let mut value =
        serde_json::to_value(verdict).expect("a verdict has string keys and no failing value");
    value["policy"] = json!(policy);
    // As text, so that digits and the order of keys stay.
    value["arguments"] = json!(verdict.arguments().map(|tree| tree.to_json()));
    let sentences: Vec<String> = verdict
        .changes()
        .iter()
        .map(|change| change.sentence())
        .collect();
    value["sentences"] = json!(sentences);
    if let Verdict::Bad(bad) = verdict {
        let texts = Style::ALL.iter().map(|style| {
            let explain = Explain::new(*style);
            let explain = if tool.is_empty() {
                explain
            } else {
                explain.tool(tool)
            };
            json!({"style": style.name(), "text": explain.text(bad)})
        });
        value["texts"] = texts.collect();
    }
    value
}

fn remarks(tools: &[LintedTool]) -> Vec<Value> {
    let remarks = lint(tools).into_iter();
    let remark = |remark: goodcall_wire::LintRemark| json!({"at": remark.at, "who": remark.who.name(), "what": remark.what});
    remarks.map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(question: &Value) -> Value {
        serde_json::from_str(&playground_answer(&question.to_string())).unwrap()
    }

    #[test]
    fn a_call_is_judged_under_every_policy() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let answer = ask(&json!({"schema": schema.to_string(), "raw": "{\"n\": \"5\", }"}));
        let verdicts: Vec<_> = answer["policies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["verdict"])
            .collect();
        assert_eq!(verdicts, ["bad", "mended", "mended"]);
        assert_eq!(answer["policies"][1]["arguments"], "{\"n\":5}");
        assert_eq!(answer["policies"][0]["texts"].as_array().unwrap().len(), 6);
        assert!(!answer["remarks"].as_array().unwrap().is_empty());
    }

    #[test]
    fn definitions_of_any_provider_are_taken() {
        let tools = r#"[{"name": "read", "input_schema": {"type": "object"}}, {"name": "list", "input_schema": {"type": "object"}}]"#;
        let answer = ask(&json!({"schema": tools, "raw": "{}", "tool": "functions.read"}));
        assert_eq!(answer["policies"][0]["verdict"], "bad");
        assert_eq!(answer["policies"][1]["verdict"], "mended");
        let answer = ask(&json!({"schema": tools, "raw": "{}"}));
        assert_eq!(answer["error"], "name the tool that was called: read, list");
    }

    #[test]
    fn questions_that_cannot_be_answered_say_why() {
        assert!(
            ask(&json!({"schema": "{", "raw": ""}))["error"]
                .as_str()
                .unwrap()
                .starts_with("the schema is not JSON")
        );
        assert!(
            ask(&json!({"schema": "{\"type\": \"objekt\"}", "raw": ""}))["error"]
                .as_str()
                .unwrap()
                .contains("objekt")
        );
        assert!(
            ask(&json!(5))["error"]
                .as_str()
                .unwrap()
                .starts_with("not a question")
        );
    }
}
