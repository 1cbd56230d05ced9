//! Calls, bytes to verdict, by goodcall and by others: valid ones, refused ones, and the first call to a
//! tool, whose schema has not been compiled yet.

use std::error::Error;
use std::hint::black_box;

use goodcall_core::{Explain, Gate, Policy, Schema, Style, Tree, Verdict};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolguard_core::{
    CoercionMode, PolicyConfig, TelemetryConfig, ToolDefinition, ToolGuard, ToolGuardConfig,
};

use crate::typed::Typed;

/// The sample calls of the repository.
const CALLS: &str = include_str!("../../../crates/goodcall-core/benches/calls.jsonl");

#[derive(Deserialize)]
struct Row<'a> {
    name: String,
    schema: Value,
    #[serde(borrow)]
    valid: Vec<&'a RawValue>,
    #[serde(borrow)]
    invalid: Vec<&'a RawValue>,
}

/// One tool, ready for every peer, and its calls.
pub struct Tool {
    name: String,
    definition: Value,
    schema: Schema,
    jsonschema: jsonschema::Validator,
    boon: (boon::Schemas, boon::SchemaIndex),
    toolguard: ToolGuard,
    valid: Vec<Box<[u8]>>,
    invalid: Vec<Box<[u8]>>,
}

/// Compiles every schema for every peer.
///
/// # Errors
/// If a peer does not take a schema.
pub fn tools() -> Result<Vec<Tool>, Box<dyn Error>> {
    CALLS.lines().map(tool).collect()
}

fn tool(line: &str) -> Result<Tool, Box<dyn Error>> {
    let row: Row<'_> = serde_json::from_str(line)?;
    let bytes = |list: &[&RawValue]| list.iter().map(|raw| raw.get().as_bytes().into()).collect();
    Ok(Tool {
        schema: Schema::options().formats(true).compile(&row.schema)?,
        jsonschema: jsonschema_validator(&row.schema)?,
        boon: boon_schema(&row.schema)?,
        toolguard: toolguard(&row.name, &row.schema)?,
        valid: bytes(&row.valid),
        invalid: bytes(&row.invalid),
        name: row.name,
        definition: row.schema,
    })
}

fn jsonschema_validator(
    schema: &Value,
) -> Result<jsonschema::Validator, Box<jsonschema::ValidationError<'static>>> {
    let options = jsonschema::options().should_validate_formats(true);
    options.build(schema).map_err(Box::new)
}

pub(crate) fn boon_schema(
    schema: &Value,
) -> Result<(boon::Schemas, boon::SchemaIndex), Box<dyn Error>> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource("tool.json", schema.clone())?;
    let index = (compiler.compile("tool.json", &mut schemas)).map_err(|e| e.to_string())?;
    Ok((schemas, index))
}

/// ToolGuard with its defaults, but for the limits on equal calls and on calls in all, which a
/// benchmark would run into.
pub(crate) fn toolguard(name: &str, schema: &Value) -> Result<ToolGuard, Box<dyn Error>> {
    let guard = ToolGuard::new(ToolGuardConfig {
        policy_config: PolicyConfig {
            max_consecutive_identical_calls: 0,
            max_calls_per_session: usize::MAX,
            ..PolicyConfig::default()
        },
        telemetry_config: TelemetryConfig {
            enable_tracing: false,
            ..TelemetryConfig::default()
        },
        ..ToolGuardConfig::default()
    });
    guard.register_tool(ToolDefinition::new(name, schema.clone()))?;
    Ok(guard)
}

/// The calls that a mode judges.
#[derive(Clone, Copy)]
enum Sample {
    Valid,
    Invalid,
}

/// A way to judge one call.
pub struct Mode {
    pub name: &'static str,
    pub what: &'static str,
    sample: Sample,
    judge: fn(&Tool, &[u8]) -> bool,
}

impl Mode {
    /// Judges every call once, and returns how many were judged as they should be.
    pub fn pass(&self, tools: &[Tool]) -> usize {
        let calls = tools.iter().flat_map(|tool| {
            let raws = self.raws(tool).iter();
            raws.map(move |raw| (tool, raw))
        });
        calls
            .map(|(tool, raw)| usize::from(black_box((self.judge)(tool, raw))))
            .sum()
    }

    /// Counts the calls of one pass.
    pub fn count(&self, tools: &[Tool]) -> usize {
        tools.iter().map(|tool| self.raws(tool).len()).sum()
    }

    fn raws<'t>(&self, tool: &'t Tool) -> &'t [Box<[u8]>] {
        match self.sample {
            Sample::Valid => &tool.valid,
            Sample::Invalid => &tool.invalid,
        }
    }
}

const fn mode(name: &'static str, what: &'static str, judge: fn(&Tool, &[u8]) -> bool) -> Mode {
    let sample = Sample::Valid;
    Mode {
        name,
        what,
        sample,
        judge,
    }
}

const fn refusal(name: &'static str, what: &'static str, judge: fn(&Tool, &[u8]) -> bool) -> Mode {
    let sample = Sample::Invalid;
    Mode {
        name,
        what,
        sample,
        judge,
    }
}

/// Every list of modes, by its name.
pub const LISTS: [(&str, &[Mode]); 3] =
    [("valid", &MODES), ("refused", &REFUSALS), ("first", &FIRST)];

/// Ways to refuse an invalid call; all compare with the first.
const REFUSALS: [Mode; 4] = [
    refusal(
        "serde_json-refused",
        "serde_json, a `Value`, not validated",
        |_, raw| black_box(serde_json::from_slice::<Value>(raw)).is_ok(),
    ),
    refusal("goodcall-refused", "goodcall, all issues", |tool, raw| {
        let gate = Gate::new(&tool.schema).policy(Policy::strict());
        !black_box(gate.check_bytes(raw).issues()).is_empty()
    }),
    refusal(
        "goodcall-text",
        "goodcall, all issues and the text for the model",
        |tool, raw| {
            let gate = Gate::new(&tool.schema).policy(Policy::strict());
            let Verdict::Bad(refusal) = gate.check_bytes(raw) else {
                return false;
            };
            let explain = Explain::new(Style::Model).tool(&tool.name);
            !black_box(explain.text(&refusal)).is_empty()
        },
    ),
    refusal(
        "jsonschema-text",
        "serde_json + jsonschema, all errors as texts",
        |tool, raw| {
            let Ok(value) = serde_json::from_slice::<Value>(raw) else {
                return false;
            };
            let errors = tool.jsonschema.iter_errors(&value);
            let texts: Vec<String> = errors
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            !black_box(texts).is_empty()
        },
    ),
];

/// Ways to compile a schema and judge one call by it.
const FIRST: [Mode; 3] = [
    mode("goodcall-first", "goodcall", |tool, raw| {
        let schema = Schema::options().formats(true).compile(&tool.definition);
        schema.is_ok_and(|schema| Gate::new(&schema).check_bytes(raw).arguments().is_some())
    }),
    mode(
        "jsonschema-first",
        "serde_json + jsonschema",
        |tool, raw| {
            let value = serde_json::from_slice::<Value>(raw);
            let validator = jsonschema_validator(&tool.definition);
            value.is_ok_and(|value| validator.is_ok_and(|validator| validator.is_valid(&value)))
        },
    ),
    mode("boon-first", "serde_json + boon", |tool, raw| {
        let value = serde_json::from_slice::<Value>(raw);
        let compiled = boon_schema(&tool.definition);
        value.is_ok_and(|value| {
            compiled.is_ok_and(|(schemas, index)| schemas.validate(&value, index).is_ok())
        })
    }),
];

/// Ways to judge a valid call; all compare with the first.
const MODES: [Mode; 10] = [
    mode(
        "serde_json",
        "serde_json, a `Value`, not validated",
        |_, raw| black_box(serde_json::from_slice::<Value>(raw)).is_ok(),
    ),
    mode("goodcall", "goodcall, verdict", |tool, raw| {
        Gate::new(&tool.schema)
            .check_bytes(raw)
            .arguments()
            .is_some()
    }),
    mode(
        "goodcall-value",
        "goodcall, verdict and `Value`",
        |tool, raw| {
            let verdict = Gate::new(&tool.schema).check_bytes(raw);
            black_box(verdict.arguments().map(Tree::to_value)).is_some()
        },
    ),
    mode(
        "goodcall-typed",
        "goodcall, verdict and typed value",
        |tool, raw| {
            let verdict = Gate::new(&tool.schema).check_bytes(raw);
            let typed = verdict.arguments().map(Tree::deserialize::<Typed<'_>>);
            typed.is_some_and(|typed| typed.is_ok_and(|typed| black_box(typed).is_some()))
        },
    ),
    mode("jsonschema", "serde_json + jsonschema", |tool, raw| {
        let value = serde_json::from_slice::<Value>(raw);
        value.is_ok_and(|value| tool.jsonschema.is_valid(&value))
    }),
    mode("boon", "serde_json + boon", |tool, raw| {
        let value = serde_json::from_slice::<Value>(raw);
        let (schemas, index) = &tool.boon;
        value.is_ok_and(|value| schemas.validate(&value, *index).is_ok())
    }),
    mode(
        "toolguard",
        "serde_json + ToolGuard, lenient",
        |tool, raw| guarded(tool, raw, CoercionMode::Lenient),
    ),
    mode(
        "toolguard-strict",
        "serde_json + ToolGuard, strict",
        |tool, raw| guarded(tool, raw, CoercionMode::Strict),
    ),
    mode(
        "sonic-rs",
        "sonic-rs, a `Value`, not validated",
        |_, raw| black_box(sonic_rs::from_slice::<sonic_rs::Value>(raw)).is_ok(),
    ),
    mode("jiter", "jiter, a `JsonValue`, not validated", |_, raw| {
        black_box(jiter::JsonValue::parse(raw, false)).is_ok()
    }),
];

fn guarded(tool: &Tool, raw: &[u8], mode: CoercionMode) -> bool {
    let value = serde_json::from_slice::<Value>(raw);
    value.is_ok_and(|value| {
        black_box(tool.toolguard.guard_call(&tool.name, value, Some(mode))).is_pass()
    })
}
