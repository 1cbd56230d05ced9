//! Every text of this crate that a model or a user reads. Refusals are explained by the core.

use std::time::Duration;

use goodcall_core::{Change, DeserializeError, RuleId, clip};
use serde_json::Value;

use crate::ErrorClass;
use crate::error::{Cause, ToolError};
use crate::loop_detector::{LoopReport, Signal};
use crate::run::HaltReason;

/// The most characters of a message from elsewhere that are passed on.
const MOST_CHARS: usize = 400;

/// The text for an error whose own words are not for the model.
pub(crate) const FAILED: &str =
    "The tool failed for a reason of its own; the arguments were valid.";

pub(crate) fn panicked(tool: &str, message: &str) -> String {
    format!("The tool `{tool}` crashed: {}", clip(message, MOST_CHARS))
}

pub(crate) fn timed_out(tool: &str, limit: Duration) -> String {
    format!("The tool `{tool}` did not finish within {limit:?} and was stopped.")
}

pub(crate) fn cancelled(tool: &str) -> String {
    format!("The call of `{tool}` was called off.")
}

pub(crate) fn denied(tool: &str, reason: &str) -> String {
    let reason = clip(reason.trim(), MOST_CHARS);
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    format!(
        "The call of `{tool}` was not allowed, and nothing was run{reason}\n\
         Do not make it again: ask the user, or take another way."
    )
}

pub(crate) fn not_run(tool: &str) -> String {
    format!("The tool `{tool}` was not run: the conversation was stopped first.")
}

pub(crate) fn interrupted(tool: &str) -> String {
    format!(
        "The host stopped while `{tool}` was running. It may have taken effect, or not: check \
         before you call it again."
    )
}

pub(crate) fn unwritable(error: &str) -> String {
    format!(
        "The tool's result cannot be written as JSON: {}",
        clip(error, MOST_CHARS)
    )
}

pub(crate) fn misbound(tool: &str) -> String {
    format!("The tool `{tool}` got arguments of a foreign type.")
}

/// Says why a Rust type refused a value that the schema allows.
pub(crate) fn refused_by_type(error: &DeserializeError) -> String {
    let (Some(actual), Some(expected)) = (error.actual(), error.expected()) else {
        return clip(error.message(), MOST_CHARS);
    };
    // serde names the width of integers beyond 64 bits.
    let actual = actual
        .trim_end_matches(" as u128")
        .trim_end_matches(" as i128");
    let expected = match expected {
        "u8" => "an integer from 0 to 255".to_owned(),
        "u16" => "an integer from 0 to 65535".to_owned(),
        "u32" => format!("an integer from 0 to {}", u32::MAX),
        "u64" | "usize" => format!("an integer from 0 to {}", u64::MAX),
        "i8" => "an integer from -128 to 127".to_owned(),
        "i16" => "an integer from -32768 to 32767".to_owned(),
        "i32" => format!("an integer from {} to {}", i32::MIN, i32::MAX),
        "i64" | "isize" => format!("an integer from {} to {}", i64::MIN, i64::MAX),
        other => other.to_owned(),
    };
    clip(
        &format!("{actual} does not fit, use {expected}"),
        MOST_CHARS,
    )
}

/// What the model should do after an error of this class.
pub(crate) const fn recommendations(class: ErrorClass) -> &'static [&'static str] {
    match class {
        ErrorClass::Validation => {
            &["rewrite the arguments as the error says and call the tool again"]
        }
        ErrorClass::Truncated => &["send the complete arguments"],
        ErrorClass::UnknownTool => &["call one of the tools that are offered"],
        ErrorClass::Runtime => {
            &["make the same call once more; if it fails again, do something else"]
        }
        ErrorClass::Logical => &["act on the error: change the arguments or call another tool"],
        ErrorClass::Denied => &["do not make this call again: ask the user, or take another way"],
        ErrorClass::Cancelled => &["check what has been done before you call the tool again"],
        ErrorClass::Loop => &["do something different, or say what keeps you from it"],
    }
}

/// What the model should do after a tool failed for this reason, if the reason says more than its
/// class.
pub(crate) const fn recommendations_for(cause: Cause) -> &'static [&'static str] {
    match cause {
        Cause::NotFound => &["find out what exists before you call the tool again"],
        Cause::PermissionDenied => {
            &["do not make this call again: ask the user, or take another way"]
        }
        Cause::RateLimited => &["do something else first, and make the same call later"],
        Cause::Unavailable => {
            &["make the same call once more; if it fails again, go on without it"]
        }
        _ => recommendations(cause.class()),
    }
}

/// Appends the tool's own remark and recommendations to the text of a result. A refusal already says
/// what to edit, so it stays as it is.
pub(crate) fn result_text(
    outcome: Result<&Value, &ToolError>,
    note: Option<&str>,
    recommendations: &[String],
) -> String {
    let mut out = match outcome {
        Ok(Value::String(text)) => text.clone(),
        Ok(data) => data.to_string(),
        Err(ToolError::Argument(error)) => return error.message.clone(),
        Err(error) => error.message().to_owned(),
    };
    for line in note
        .into_iter()
        .chain(recommendations.iter().map(String::as_str))
    {
        out.push('\n');
        out.push_str(line);
    }
    out
}

/// A change as a warning in a [`ToolCallRequest`](crate::ToolCallRequest).
pub(crate) fn warning(change: &Change) -> String {
    let read_as = match (change.rule, change.after.as_deref()) {
        (RuleId::StringToBoolean, Some(truth)) => format!("boolean {truth}"),
        (RuleId::StringToNull, _) => "null".to_owned(),
        _ => return change.sentence(),
    };
    let place = change.pointer.dotted();
    format!("{place}: string literal converted to {read_as}")
}

/// Tells the model what it did and what to do instead. The text differs each time.
pub(crate) fn steer(report: &LoopReport) -> String {
    let text = steer_once(report);
    match report.level {
        0 | 1 => text,
        2 => format!("You were told, and nothing changed. {text}"),
        level => format!(
            "You were told {} times, and nothing changed. {text}",
            level - 1
        ),
    }
}

fn steer_once(report: &LoopReport) -> String {
    let LoopReport {
        signal,
        tools,
        times,
        ..
    } = report;
    let tool = tools.first().map_or("", String::as_str);
    match signal {
        Signal::SameCall => format!(
            "You have called `{tool}` {times} times in a row with the same arguments, and nothing \
             changed. Another such call will not help: use what you know, change the arguments, or \
             call another tool."
        ),
        Signal::Cycle => format!(
            "Your last calls go round in a circle ({}), {times} times with the same results. \
             Leave it: use what you know, or take another way.",
            names(tools)
        ),
        Signal::SameFailure => format!(
            "This is the {} call of `{tool}` in a row with the same mistake{}. Do not send it \
             again as it is: read the tool's schema, write the arguments anew, and apply every \
             edit below.",
            nth(*times),
            report
                .detail
                .as_ref()
                .map(|place| format!(" ({place})"))
                .unwrap_or_default()
        ),
        Signal::SameError => format!(
            "`{tool}` has given the same error {times} times, whatever the arguments. They are not \
             the cause: find the cause first, or take another way."
        ),
        Signal::EmptyArguments => format!(
            "You have called `{tool}` {times} times without arguments. Write the JSON object with \
             every required parameter into the call; if you cannot, say so instead of calling it."
        ),
    }
}

fn names(tools: &[String]) -> String {
    let quoted: Vec<_> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    quoted.join(", ")
}

fn nth(number: usize) -> String {
    match number {
        2 => "2nd".to_owned(),
        3 => "3rd".to_owned(),
        n => format!("{n}th"),
    }
}

/// Tells a user why a run asks or stops.
pub(crate) fn halt_reason(reason: &HaltReason) -> String {
    match reason {
        HaltReason::Loop(report) => {
            let tools = names(&report.tools);
            let times = report.times;
            match report.signal {
                Signal::SameCall => {
                    format!("the model repeats one call of {tools} ({times} times)")
                }
                Signal::Cycle => format!("the model goes round in a circle: {tools}"),
                Signal::SameFailure => {
                    format!("the model keeps making the same mistake in calls of {tools}")
                }
                Signal::SameError => {
                    format!("{tools} gives the same error again and again ({times} times)")
                }
                Signal::EmptyArguments => {
                    format!("the model keeps calling {tools} without arguments ({times} times)")
                }
            }
        }
        HaltReason::Steps(most) => format!("the limit of {most} model calls is reached"),
        HaltReason::FailuresOfTool { tool, most } => {
            format!("{most} calls of `{tool}` in a row had invalid arguments")
        }
        HaltReason::Failures(most) => format!("{most} calls had invalid arguments"),
        HaltReason::WallTime(most) => format!("the time limit of {} s is over", most / 1000),
        HaltReason::Feedback(most) => format!("more than {most} tokens of error texts were needed"),
        HaltReason::EmptyReplies(most) => format!("the model gave {most} empty replies in a row"),
        HaltReason::Host(reason) => reason.clone(),
    }
}
