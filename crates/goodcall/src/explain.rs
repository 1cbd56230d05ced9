//! The words of this crate that a model or a user reads; those on arguments are in the core.

use std::time::Duration;

use crate::doom::{LoopReport, Signal};
use crate::error::ToolError;
use crate::run::HaltReason;

/// Characters of a foreign message that are passed on.
const MOST_CHARS: usize = 400;

fn clip(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn panicked(tool: &str, message: &str) -> String {
    format!("The tool `{tool}` crashed: {}", clip(message))
}

pub(crate) fn timed_out(tool: &str, limit: Duration) -> String {
    format!("The tool `{tool}` did not finish within {limit:?} and was stopped.")
}

pub(crate) fn cancelled(tool: &str) -> String {
    format!("The call of `{tool}` was called off.")
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
        clip(error)
    )
}

pub(crate) fn misbound(tool: &str) -> String {
    format!("The tool `{tool}` got arguments of a foreign type.")
}

/// What a Rust type says of a value that it refuses, in words for a model.
pub(crate) fn refused(message: &str) -> String {
    let said = message
        .strip_prefix("invalid value: ")
        .or_else(|| message.strip_prefix("invalid type: "));
    let Some((got, wanted)) = said.and_then(|said| said.rsplit_once(", expected ")) else {
        return clip(message);
    };
    let got = got
        .trim_end_matches(" as u128")
        .trim_end_matches(" as i128");
    let wanted = match wanted {
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
    clip(&format!("{got} does not fit, use {wanted}"))
}

/// An error with the tool's own remark and recommendations below it. A refusal has said already
/// what to edit.
pub(crate) fn error_text(
    error: &ToolError,
    note: Option<&str>,
    recommendations: &[String],
) -> String {
    let mut out = error.message().to_owned();
    if let ToolError::Argument(_) = error {
        return out;
    }
    for line in note
        .into_iter()
        .chain(recommendations.iter().map(String::as_str))
    {
        out.push('\n');
        out.push_str(line);
    }
    out
}

/// What the model is told: what it did, and what to do instead; never the same text twice.
pub(crate) fn steer(suspicion: &LoopReport) -> String {
    let text = steer_once(suspicion);
    match suspicion.level {
        0 | 1 => text,
        2 => format!("You were told, and nothing changed. {text}"),
        level => format!(
            "You were told {} times, and nothing changed. {text}",
            level - 1
        ),
    }
}

fn steer_once(suspicion: &LoopReport) -> String {
    let LoopReport {
        signal,
        tools,
        times,
        ..
    } = suspicion;
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
            suspicion
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

/// Why a run asks or stops, for a user.
pub(crate) fn why(why: &HaltReason) -> String {
    match why {
        HaltReason::Loop(suspicion) => {
            let tools = names(&suspicion.tools);
            let times = suspicion.times;
            match suspicion.signal {
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
