//! The time of mending, as a multiple of the time of serde_json for the same bytes.
//!
//! `cargo bench -p goodcall-core --bench mend` takes the valid calls of `calls.jsonl` that hold a
//! number or a boolean, writes one of them (then up to ten) as a string, and mends that.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use goodcall_core::{Gate, Schema, Verdict};
use serde_json::{Value, json};

const ROUNDS: usize = 40;

struct Call {
    schema: Schema,
    raw: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = if std::env::args().any(|arg| arg == "--test") {
        1
    } else {
        ROUNDS
    };
    println!(
        "{:<34} {:>6} {:>9} {:>9} {:>7}",
        "", "calls", "serde", "goodcall", "ratio"
    );
    let real = real_calls()?;
    row("real calls, one wrong type", &real, rounds);
    for wrong in [1, 2, 5, 10] {
        let name = format!("ten parameters, {wrong} wrong");
        row(&name, &[made_call(wrong)?], rounds);
    }
    for wrong in [1, 10, 100, 1000] {
        let name = format!("an array of {wrong}, all wrong");
        row(&name, &[made_list(wrong)?], rounds);
    }
    Ok(())
}

/// Returns valid calls with one number or boolean written as a string, if that is mended.
fn real_calls() -> Result<Vec<Call>, Box<dyn Error>> {
    let mut calls = Vec::new();
    for line in include_str!("calls.jsonl").lines() {
        let row: Value = serde_json::from_str(line)?;
        let schema = Schema::compile(&row["schema"])?;
        for valid in row["valid"].as_array().into_iter().flatten() {
            let mut arguments = match valid {
                Value::String(text) => serde_json::from_str(text)?,
                other => other.clone(),
            };
            if !quote_one(&mut arguments) {
                continue;
            }
            let raw = arguments.to_string();
            if matches!(Gate::new(&schema).check(&raw), Verdict::Mended(_)) {
                let schema = schema.clone();
                calls.push(Call { schema, raw });
            }
        }
    }
    Ok(calls)
}

fn quote_one(value: &mut Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => {
            *value = Value::from(value.to_string());
            true
        }
        Value::Array(items) => items.iter_mut().any(quote_one),
        Value::Object(map) => map.values_mut().any(quote_one),
        _ => false,
    }
}

fn made_call(wrong: usize) -> Result<Call, Box<dyn Error>> {
    let mut properties = json!({});
    let mut arguments = json!({});
    for index in 0..10 {
        let name = format!("parameter_{index}");
        properties[&name] = json!({"type": "integer", "minimum": 0});
        arguments[&name] = if index < wrong {
            json!("1234")
        } else {
            json!(1234)
        };
    }
    let schema = Schema::compile(&json!({"type": "object", "properties": properties}))?;
    let raw = arguments.to_string();
    Ok(Call { schema, raw })
}

fn made_list(wrong: usize) -> Result<Call, Box<dyn Error>> {
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let schema = Schema::compile(&json!({"type": "object", "properties": {"list": items}}))?;
    let list: Vec<_> = (0..wrong).map(|n| n.to_string()).collect();
    let raw = json!({"list": list}).to_string();
    Ok(Call { schema, raw })
}

fn row(name: &str, calls: &[Call], rounds: usize) {
    let (mut serde, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        serde.push(time(calls, |call| {
            black_box(serde_json::from_slice::<Value>(call.raw.as_bytes()).is_ok());
        }));
        ours.push(time(calls, |call| {
            let verdict = Gate::new(&call.schema).check(&call.raw);
            assert_eq!(verdict.name(), "mended");
        }));
    }
    let (serde, ours) = (least(&serde), least(&ours));
    let ratio = ours.as_secs_f64() / serde.as_secs_f64();
    println!(
        "{name:<34} {:>6} {serde:>9.2?} {ours:>9.2?} {ratio:>6.2}×",
        calls.len()
    );
}

/// Returns the time of one pass over all calls, from passes that together take a few milliseconds.
fn time(calls: &[Call], mut run: impl FnMut(&Call)) -> Duration {
    let start = Instant::now();
    let mut passes = 0;
    while passes == 0 || start.elapsed() < Duration::from_millis(3) {
        calls.iter().for_each(&mut run);
        passes += 1;
    }
    start.elapsed() / passes
}

fn least(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}
