//! The answers of every peer to every trap.

use serde_json::{Map, Value, json};

use super::program::Programs;
use crate::Failure;

const TRAPS: &str = "benches/peers/traps.json";

/// Returns the answers of each peer, in the order of the traps.
pub(super) fn measure(programs: &Programs) -> Result<Value, Failure> {
    let mut answers = parse("Rust", &programs.ask(&["--traps"])?)?;
    for script in &programs.scripts {
        if !script.peers.is_empty() {
            answers.append(&mut parse(
                script.language,
                &script.ask(&["traps", TRAPS])?,
            )?);
        }
    }
    let peers = answers
        .into_iter()
        .map(|(peer, answers)| json!({"peer": peer, "answers": answers}));
    let traps = std::fs::read_to_string(TRAPS)
        .map_err(|error| Failure::Unusable(format!("{TRAPS}: {error}")))?;
    let traps: Value = serde_json::from_str(&traps)
        .map_err(|error| Failure::Unusable(format!("{TRAPS}: {error}")))?;
    Ok(json!({"traps": traps, "peers": peers.collect::<Vec<_>>()}))
}

fn parse(language: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Found(format!("{language}: {error}: {text}")))
}

/// The judgement of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    /// The right answer.
    Right,
    /// The call was refused although it has a right reading, which costs one turn.
    Refused,
    /// The tool was run with something else.
    Wrong,
}

impl Mark {
    pub(super) fn text(self) -> &'static str {
        match self {
            Mark::Right => "✓",
            Mark::Refused => "–",
            Mark::Wrong => "✗",
        }
    }
}

/// Compares the JSON text with which a peer runs the tool (null if it refuses) with the right one.
pub(super) fn judge(right: &Value, answer: &Value) -> Mark {
    let ran = answer.as_str().map(serde_json::from_str::<Value>);
    match (right, ran) {
        (Value::Null, None) => Mark::Right,
        (_, None) => Mark::Refused,
        (right, Some(Ok(ran))) if same(right, &ran) => Mark::Right,
        _ => Mark::Wrong,
    }
}

/// Returns true if two JSON values are equal: integers by their digits, other numbers by value.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i128(), b.as_i128()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.as_f64() == b.as_f64(),
            _ => a.as_f64() == b.as_f64() && a.as_f64().is_some_and(|n| n.abs() < 9e15),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let found = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(found)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_by_value() {
        let right = json!({"id": 9007199254740993_u64, "x": 5});
        let mark = |answer: &str| judge(&right, &json!(answer));
        assert_eq!(mark(r#"{"x": 5.0, "id": 9007199254740993}"#), Mark::Right);
        assert_eq!(mark(r#"{"x": 5, "id": 9007199254740992}"#), Mark::Wrong);
        assert_eq!(mark(r#"{"x": 5}"#), Mark::Wrong);
        assert_eq!(judge(&right, &Value::Null), Mark::Refused);
        assert_eq!(judge(&Value::Null, &Value::Null), Mark::Right);
        assert_eq!(judge(&Value::Null, &json!("{}")), Mark::Wrong);
    }
}
