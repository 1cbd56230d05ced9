//! The cases, and the texts and prompts made of them.

use std::collections::BTreeMap;
use std::str::FromStr;

use goodcall_core::{Explain, Formats, Gate, Policy, Refusal, Style, Verdict};
use goodcall_wire::Tools;
use serde_json::{Value, json};

/// The cases of the repository: first the tools, one per line, then one case per line.
const CASES: &str = include_str!("../../wording/cases.jsonl");

/// The half of the cases that words are chosen on, or that figures are quoted from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Choose,
    Quote,
}

impl FromStr for Half {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "choose" => Ok(Half::Choose),
            "quote" => Ok(Half::Quote),
            other => Err(format!("unknown half `{other}`: expected choose or quote")),
        }
    }
}

/// A way to tell a model that its call was refused.
#[derive(Clone, Debug)]
pub(super) enum Wording {
    /// One of our styles.
    Own(Style),
    /// A text of another library, which the case holds.
    Other(&'static str),
    /// `Invalid arguments`, and nothing else.
    Bare,
}

/// The libraries whose texts the cases hold.
const OTHERS: [&str; 2] = ["ajv", "pydantic"];

impl Wording {
    pub(super) fn all() -> Vec<Self> {
        let own = [Style::Model, Style::Instruction].map(Wording::Own);
        let others = OTHERS.map(Wording::Other);
        own.into_iter()
            .chain(others)
            .chain([Wording::Bare])
            .collect()
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Wording::Own(style) => style.name(),
            Wording::Other(name) => name,
            Wording::Bare => "bare",
        }
    }
}

impl FromStr for Wording {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "bare" {
            return Ok(Wording::Bare);
        }
        if let Some(other) = OTHERS.into_iter().find(|other| *other == name) {
            return Ok(Wording::Other(other));
        }
        let style = name.parse::<Style>();
        style
            .map(Wording::Own)
            .map_err(|error| format!("{error}, ajv, pydantic or bare"))
    }
}

/// A refused call, and the call that was wanted.
pub(super) struct Case {
    pub(super) class: String,
    pub(super) raw: String,
    /// The tool that was called, which may not exist.
    pub(super) called: String,
    /// The tool that was wanted, and the arguments of each wanted call.
    pub(super) tool: String,
    pub(super) truth: Vec<Value>,
    pub(super) tools: Tools,
    pub(super) policy: Policy,
    user: String,
    definitions: Vec<Value>,
    refusal: Refusal,
    others: BTreeMap<&'static str, String>,
}

/// All cases, by half.
#[derive(Default)]
pub(super) struct Cases {
    choose: Vec<Case>,
    quote: Vec<Case>,
}

impl Cases {
    pub(super) fn of(&self, half: Half) -> &[Case] {
        match half {
            Half::Choose => &self.choose,
            Half::Quote => &self.quote,
        }
    }
}

/// Reads the cases. Each first call has to be refused, else there is nothing to correct. Every other
/// case is of the half that figures are quoted from, so that both halves have the same classes;
/// those that name their half were added later.
pub(super) fn read() -> Result<Cases, String> {
    let mut definitions = BTreeMap::new();
    let mut cases = Cases::default();
    let mut halves = [Half::Choose, Half::Quote].into_iter().cycle();
    for line in CASES.lines() {
        let row: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
        if let Some(name) = row["define"].as_str() {
            let function = json!({
                "name": name, "description": row["description"], "parameters": row["parameters"],
            });
            let definition = json!({"type": "function", "function": function});
            definitions.insert(name.to_owned(), definition);
            continue;
        }
        let half = match row["half"].as_str() {
            Some(name) => name.parse()?,
            None => halves.next().expect("a cycle has no end"),
        };
        let case = case(&row, &definitions).map_err(|e| format!("{line}: {e}"))?;
        match half {
            Half::Choose => cases.choose.push(case),
            Half::Quote => cases.quote.push(case),
        }
    }
    Ok(cases)
}

fn case(row: &Value, definitions: &BTreeMap<String, Value>) -> Result<Case, String> {
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    let tool = text("tool").ok_or("no tool")?;
    let called = text("called").unwrap_or_else(|| tool.clone());
    let offered = match row["offered"].as_array() {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => vec![tool.as_str()],
    };
    let definitions: Option<Vec<Value>> = offered
        .into_iter()
        .map(|name| definitions.get(name).cloned())
        .collect();
    let definitions = definitions.ok_or("a tool that is not defined")?;
    let tools = Tools::from_value(&Value::from(definitions.clone())).map_err(|e| e.to_string())?;
    let policy: Policy = text("policy")
        .as_deref()
        .unwrap_or("safe")
        .parse()
        .map_err(|e| format!("{e}"))?;
    let policy = match row["formats"].as_bool() {
        Some(true) => policy.with_formats(Formats::Assert),
        _ => policy,
    };
    let raw = text("raw").ok_or("no raw call")?;
    let refusal = refuse(&tools, &called, &raw, &policy)?;
    let others = OTHERS
        .into_iter()
        .filter_map(|name| Some((name, text(name)?)));
    let truth = match &row["truth"] {
        Value::Array(calls) => calls.clone(),
        call => vec![call.clone()],
    };
    Ok(Case {
        class: text("class").ok_or("no class")?,
        user: text("user").ok_or("no request")?,
        others: others.collect(),
        called,
        tool,
        raw,
        truth,
        tools,
        policy,
        definitions,
        refusal,
    })
}

/// The refusal of the first call.
fn refuse(tools: &Tools, called: &str, raw: &str, policy: &Policy) -> Result<Refusal, String> {
    let Some(tool) = tools.get(called) else {
        return Ok(tools.unknown_call(called, raw));
    };
    let schema = tool.schema().map_err(ToString::to_string)?;
    match Gate::new(schema)
        .policy(policy.clone())
        .tool(called)
        .check(raw)
    {
        Verdict::Bad(bad) => Ok(bad),
        other => Err(format!("the first call is {}", other.name())),
    }
}

impl Case {
    /// What the model reads.
    ///
    /// Returns `None` for a library whose text the case does not hold.
    pub(super) fn text(&self, wording: &Wording) -> Option<String> {
        match wording {
            Wording::Own(style) => {
                Some(Explain::new(*style).tool(&self.called).text(&self.refusal))
            }
            Wording::Other(name) => self.others.get(name).cloned(),
            Wording::Bare => Some("Invalid arguments".to_owned()),
        }
    }

    /// The conversation up to the second call, in the model's own form.
    pub(super) fn prompt(&self, text: &str) -> String {
        let tools: Vec<_> = self.definitions.iter().map(Value::to_string).collect();
        let (tools, name, raw) = (
            tools.join("\n"),
            Value::from(self.called.as_str()),
            &self.raw,
        );
        format!(
            "<|im_start|>system\nYou are a helpful assistant. You answer with tool calls alone.\n\n\
             # Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
             You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n\
             {tools}\n</tools>\n\nFor each function call, return a json object with function name \
             and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{{\"name\": \
             <function-name>, \"arguments\": <args-json-object>}}\n</tool_call><|im_end|>\n\
             <|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{{\"name\": \
             {name}, \"arguments\": {raw}}}\n</tool_call><|im_end|>\n<|im_start|>user\n\
             <tool_response>\n{text}\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
            user = self.user
        )
    }
}
