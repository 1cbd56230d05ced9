//! Verdicts as JSON text for JavaScript.

use goodcall_core::{Change, Issue, Tree, Verdict};
use serde::Serialize;

use crate::options::Judging;

/// A verdict as JavaScript reads it. The arguments are text, so that every digit is kept.
#[derive(Serialize)]
pub(crate) struct VerdictLine<'v> {
    kind: &'static str,
    tool: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    changes: &'v [Change],
    issues: &'v [Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl<'v> VerdictLine<'v> {
    /// Describes a verdict on a call of this tool.
    pub(crate) fn new(tool: &'v str, verdict: &'v Verdict<'_>, judging: &Judging) -> Self {
        let bad = match verdict {
            Verdict::Bad(bad) => Some(bad),
            _ => None,
        };
        Self {
            kind: verdict.name(),
            tool,
            reason: bad.map(|bad| bad.reason.name()),
            json: verdict.arguments().map(Tree::to_json),
            changes: verdict.changes(),
            issues: verdict.issues(),
            text: bad.map(|bad| judging.text(tool, bad)),
        }
    }
}

/// The answer to JavaScript on a call of this tool:
///
/// - `None` for arguments that are valid as sent and that `JSON.parse` reads without loss, and an empty
///   text if that would round or lose a number;
/// - the arguments of a mended call, with a blank behind them if a number may be lost. JavaScript asks
///   for the changes when someone reads them;
/// - `?` and the verdict as JSON for a bad call.
pub(crate) fn answer(
    tool: &str,
    raw: &str,
    verdict: &Verdict<'_>,
    judging: &Judging,
) -> Option<String> {
    match verdict {
        Verdict::Good(_) => may_lose_digits(raw.as_bytes()).then(String::new),
        Verdict::Mended(mended) => {
            let mut json = mended.arguments.to_json();
            if may_lose_digits(json.as_bytes()) {
                json.push(' ');
            }
            Some(json)
        }
        Verdict::Bad(_) => Some(described(tool, verdict, judging)),
    }
}

/// `?` and the verdict as JSON.
pub(crate) fn described(tool: &str, verdict: &Verdict<'_>, judging: &Judging) -> String {
    format!("?{}", to_json(&VerdictLine::new(tool, verdict, judging)))
}

/// Writes JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("verdicts have string keys and no failing value")
}

/// Returns true if a number in this JSON may not fit a double: 16 digits in a row, or an exponent.
/// Digits inside strings count, too; they only cost a second look.
fn may_lose_digits(json: &[u8]) -> bool {
    const RUN: usize = 16;
    // Every run of 16 digits covers one of these positions.
    for at in (RUN - 1..json.len()).step_by(RUN) {
        if !json[at].is_ascii_digit() {
            continue;
        }
        let before = json[..at].iter().rev();
        let before = before.take_while(|byte| byte.is_ascii_digit()).count();
        let after = json[at..].iter();
        let after = after.take_while(|byte| byte.is_ascii_digit()).count();
        if before + after >= RUN {
            return true;
        }
    }
    has_exponent(json)
}

/// Returns true if an `e` follows a digit. It looks at many bytes at once, which pays off because
/// most texts are full of `e` and have no digit before one.
fn has_exponent(json: &[u8]) -> bool {
    const AT_ONCE: usize = 32;
    let found = |digits: &[u8], follows: &[u8]| {
        let pairs = digits.iter().zip(follows);
        let found = pairs.fold(0, |found, (digit, follow)| {
            found | (u8::from(digit.is_ascii_digit()) & u8::from(follow | 0x20 == b'e'))
        });
        found != 0
    };
    let Some(last) = json.len().checked_sub(AT_ONCE + 1) else {
        return found(json, json.get(1..).unwrap_or_default());
    };
    // The last block overlaps the one before it, so that all have the same length.
    let mut blocks = (0..last).step_by(AT_ONCE).chain([last]);
    blocks.any(|at| found(&json[at..at + AT_ONCE], &json[at + 1..][..AT_ONCE]))
}
