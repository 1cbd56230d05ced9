//! What becomes of calls that are easily got wrong.

use std::error::Error;

use goodcall_core::{Gate, Schema};
use serde::Deserialize;
use serde_json::{Value, json};
use toolguard_core::CoercionMode;

use crate::calls::{boon_schema, toolguard};
use crate::menders::MENDERS;

/// The traps, which the peers in other languages read too.
const TRAPS: &str = include_str!("../traps.json");

#[derive(Deserialize)]
struct Trap {
    schema: Value,
    raw: String,
}

/// What each peer runs the tool with, as JSON text; null where it refuses.
///
/// # Errors
/// If a peer does not take a schema.
pub fn all() -> Result<Value, Box<dyn Error>> {
    let traps: Vec<Trap> = serde_json::from_str(TRAPS)?;
    let mut answers = serde_json::Map::new();
    for trap in &traps {
        for (peer, answer) in one(trap)? {
            let list = answers.entry(peer).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(json!(answer));
            }
        }
    }
    Ok(answers.into())
}

fn one(trap: &Trap) -> Result<Vec<(String, Option<String>)>, Box<dyn Error>> {
    let schema = Schema::compile(&trap.schema)?;
    let verdict = Gate::new(&schema).check(&trap.raw);
    let goodcall = verdict.arguments().map(goodcall_core::Tree::to_json);
    let parsed: Option<Value> = serde_json::from_str(&trap.raw).ok();

    let validator = jsonschema::options().build(&trap.schema)?;
    let valid = |value: &Value| validator.is_valid(value);
    let (schemas, index) = boon_schema(&trap.schema)?;
    let boon = (parsed.clone()).filter(|value| schemas.validate(value, index).is_ok());

    let guard = toolguard("tool", &trap.schema)?;
    let guarded = |mode| {
        let verdict = guard.guard_call("tool", parsed.clone()?, Some(mode));
        verdict.arguments().map(Value::to_string)
    };
    let text = |value: Value| value.to_string();
    let mut answers = vec![
        ("goodcall".to_owned(), goodcall),
        (
            "serde_json + jsonschema".to_owned(),
            parsed.clone().filter(valid).map(text),
        ),
        ("serde_json + boon".to_owned(), boon.map(text)),
        ("ToolGuard".to_owned(), guarded(CoercionMode::Lenient)),
    ];
    for mender in MENDERS.iter().filter(|mender| mender.name != "goodcall") {
        let read = (mender.read)(&trap.raw).filter(valid).map(text);
        answers.push((format!("{} + jsonschema", mender.name), read));
    }
    Ok(answers)
}
