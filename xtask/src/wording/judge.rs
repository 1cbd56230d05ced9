//! Judges the call that a model made after it was refused.

use goodcall_core::{StopReason, Verdict};
use goodcall_wire::{Scanner, TextCallScope};
use serde_json::Value;

use super::cases::Case;

/// What became of the second call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// All wanted calls, perhaps with optional parameters more, after mending.
    Right,
    /// Accepted, and not what was wanted: it would run.
    ValidButWrong,
    /// The refused call again.
    SameAgain,
    /// Refused once more, or no call.
    StillBad,
}

impl Outcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::ValidButWrong => "valid but wrong",
            Outcome::SameAgain => "the same again",
            Outcome::StillBad => "still bad",
        }
    }
}

/// Judges an answer.
pub(super) fn judge(case: &Case, answer: &str) -> Outcome {
    let found = Scanner::new(case.tools.clone(), TextCallScope::Anywhere).whole(answer);
    if found.calls.is_empty() {
        return Outcome::StillBad;
    }
    let mut wanted: Vec<&Value> = case.truth.iter().collect();
    let (mut accepted, mut wrong) = (0, 0);
    for call in &found.calls {
        let verdict = call.check(&case.tools, &case.policy, StopReason::Finished);
        let (Verdict::Good(_) | Verdict::Mended(_)) = verdict else {
            continue;
        };
        accepted += 1;
        let sent = verdict.arguments().and_then(|tree| tree.to_value().ok());
        let fits = |truth: &&Value| {
            call.name == case.tool && sent.as_ref().is_some_and(|sent| contains(sent, truth))
        };
        match wanted.iter().position(fits) {
            Some(at) => drop(wanted.remove(at)),
            None => wrong += 1,
        }
    }
    if wrong > 0 {
        return Outcome::ValidButWrong;
    }
    if wanted.is_empty() {
        return Outcome::Right;
    }
    if accepted > 0 {
        // One of two calls was made, and the other forgotten.
        return Outcome::ValidButWrong;
    }
    let same = |text: &str| serde_json::from_str::<Value>(text).ok();
    let again = found.calls.iter().any(|call| {
        call.arguments == case.raw
            || same(&call.arguments).is_some_and(|sent| Some(sent) == same(&case.raw))
    });
    if again {
        Outcome::SameAgain
    } else {
        Outcome::StillBad
    }
}

/// Returns true if a value has everything of another one; objects may have more members.
fn contains(sent: &Value, truth: &Value) -> bool {
    match (sent, truth) {
        (Value::Object(sent), Value::Object(truth)) => truth
            .iter()
            .all(|(key, value)| sent.get(key).is_some_and(|sent| contains(sent, value))),
        (Value::Array(sent), Value::Array(truth)) => {
            sent.len() == truth.len() && sent.iter().zip(truth).all(|(a, b)| contains(a, b))
        }
        (Value::Number(sent), Value::Number(truth)) => sent.as_f64() == truth.as_f64(),
        (sent, truth) => sent == truth,
    }
}
