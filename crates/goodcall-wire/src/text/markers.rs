//! The markers that open a call, one row each.

use super::call_end::Until;

/// How the text behind a marker is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Whatever it looks like: JSON, tags, pairs, Python.
    Any,
    /// The marker is itself the first tag.
    Tags,
    DeepSeek,
    KimiK2,
    KimiK3,
    Mistral,
    Harmony,
    Gemma,
    Inkling,
    Nested,
    React,
}

/// One marker.
#[derive(Debug)]
pub(crate) struct Marker {
    pub(crate) dialect: &'static str,
    pub(crate) open: &'static str,
    pub(crate) until: Until,
    pub(crate) body: Body,
}

const fn between(
    dialect: &'static str,
    open: &'static str,
    close: &'static [&'static str],
    body: Body,
) -> Marker {
    let until = Until::Marker { close, next: open };
    Marker {
        dialect,
        open,
        until,
        body,
    }
}

const fn values(dialect: &'static str, open: &'static str, body: Body) -> Marker {
    let until = Until::Brackets { several: true };
    Marker {
        dialect,
        open,
        until,
        body,
    }
}

const TOOL_CALL: &[&str] = &["</tool_call>"];
const TOOL_CALLS: &[&str] = &["</tool_calls>"];
const FUNCTION: &[&str] = &["</function>"];
const HARMONY: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|eom|>", "<|start|>"];

/// Every marker. Where one is the start of another, the longer one counts.
pub(crate) static MARKERS: [Marker; 55] = [
    between("hermes", "<tool_call>", TOOL_CALL, Body::Any),
    between("hermes", "<tool_call id=", TOOL_CALL, Body::Any),
    between("hermes", "<tool_use>", &["</tool_use>"], Body::Any),
    between("hermes", "<functioncall>", &["</functioncall>"], Body::Any),
    between(
        "longcat",
        "<longcat_tool_call>",
        &["</longcat_tool_call>"],
        Body::Any,
    ),
    between(
        "iquest",
        "<iquest_tool_call>",
        &["</iquest_tool_call>"],
        Body::Any,
    ),
    between(
        "seed-oss",
        "<seed:tool_call>",
        &["</seed:tool_call>"],
        Body::Any,
    ),
    between("qwen3-coder", "<function=", FUNCTION, Body::Tags),
    between("minicpm", "<function name=", FUNCTION, Body::Tags),
    between("minicpm", "<functionname=", FUNCTION, Body::Tags),
    between(
        "minimax-m2",
        "<minimax:tool_call>",
        &["</minimax:tool_call>"],
        Body::Any,
    ),
    between(
        "minimax-m3",
        "]<]minimax[>[<tool_call>",
        &["]<]minimax[>[</tool_call>"],
        Body::Nested,
    ),
    between(
        "dots",
        "<dots_function_call>",
        &["</dots_function_call>"],
        Body::Any,
    ),
    between("invoke", "<invoke name=", &["</invoke>"], Body::Tags),
    between(
        "invoke",
        "<antml:invoke name=",
        &["</antml:invoke>"],
        Body::Tags,
    ),
    between(
        "invoke",
        "<antml:function_calls>",
        &["</antml:function_calls>"],
        Body::Any,
    ),
    between(
        "muse",
        "<atem:function_calls>",
        &["</atem:function_calls>"],
        Body::Any,
    ),
    between("hunyuan", "<tool_calls>", TOOL_CALLS, Body::Any),
    between(
        "olmo3",
        "<function_calls>",
        &["</function_calls>"],
        Body::Any,
    ),
    between(
        "granite-20b",
        "<function_call>",
        &["</function_call>"],
        Body::Any,
    ),
    between(
        "lfm2",
        "<|tool_call_start|>",
        &["<|tool_call_end|>"],
        Body::Any,
    ),
    between("llama4", "<|python_start|>", &["<|python_end|>"], Body::Any),
    values("llama3", "<|python_tag|>", Body::Any),
    values("granite", "<|tool_call|>", Body::Any),
    values("gigachat", "<|function_call|>", Body::Any),
    values("gigachat", "function call<|role_sep|>", Body::Any),
    values("phi4-mini", "functools", Body::Any),
    values("mistral", "[TOOL_CALLS]", Body::Mistral),
    between("cohere", "<|START_ACTION|>", &["<|END_ACTION|>"], Body::Any),
    between(
        "internlm",
        "<|action_start|>",
        &["<|action_end|>"],
        Body::Any,
    ),
    between(
        "apertus",
        "<|tools_prefix|>",
        &["<|tools_suffix|>"],
        Body::Any,
    ),
    between(
        "deepseek",
        "<｜tool▁calls▁begin｜>",
        &["<｜tool▁calls▁end｜>"],
        Body::DeepSeek,
    ),
    between(
        "deepseek",
        "<｜tool▁call▁begin｜>",
        &["<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"],
        Body::DeepSeek,
    ),
    between(
        "step3",
        "<｜tool_calls_begin｜>",
        &["<｜tool_calls_end｜>"],
        Body::DeepSeek,
    ),
    between(
        "step3",
        "<steptml:invoke",
        &["</steptml:invoke>"],
        Body::Tags,
    ),
    between(
        "deepseek-v32",
        "<｜DSML｜function_calls>",
        &["</｜DSML｜function_calls>"],
        Body::Any,
    ),
    between(
        "deepseek-v4",
        "<｜DSML｜tool_calls>",
        &["</｜DSML｜tool_calls>"],
        Body::Any,
    ),
    between(
        "deepseek-v41",
        "<｜DSML｜ calls>",
        &["</｜DSML｜ calls>"],
        Body::Any,
    ),
    between(
        "deepseek-v32",
        "<｜DSML｜invoke",
        &["</｜DSML｜invoke>"],
        Body::Tags,
    ),
    between(
        "deepseek-v41",
        "<｜DSML｜ invoke",
        &["</｜DSML｜ invoke>"],
        Body::Tags,
    ),
    between(
        "gigachat35",
        "<｜GCML｜tool_calls>",
        &["</｜GCML｜tool_calls>"],
        Body::Any,
    ),
    between(
        "gigachat35",
        "<｜GCML｜invoke",
        &["</｜GCML｜invoke>"],
        Body::Tags,
    ),
    between(
        "kimi-k2",
        "<|tool_calls_section_begin|>",
        &["<|tool_calls_section_end|>"],
        Body::KimiK2,
    ),
    between(
        "kimi-k2",
        "<|tool_call_begin|>",
        &["<|tool_calls_section_end|>"],
        Body::KimiK2,
    ),
    between(
        "kimi-k3",
        "<|open|>tools<|sep|>",
        &["<|close|>tools<|sep|>"],
        Body::KimiK3,
    ),
    between(
        "k2-horizon",
        "<ifm|tool_calls>",
        &["</ifm|tool_calls>"],
        Body::Any,
    ),
    between(
        "k2-horizon",
        "<ifm|tool_call>",
        &["</ifm|tool_call>"],
        Body::Any,
    ),
    between("harmony", "<|channel|>", HARMONY, Body::Harmony),
    between("harmony", "<|start|>assistant", HARMONY, Body::Harmony),
    between("harmony", "to=functions.", HARMONY, Body::Harmony),
    between("gemma4", "<|tool_call>", &["<tool_call|>"], Body::Gemma),
    between(
        "functiongemma",
        "<start_function_call>",
        &["<end_function_call>"],
        Body::Gemma,
    ),
    between(
        "inkling",
        "<|content_invoke_tool_json|>",
        &["<|end_message|>"],
        Body::Inkling,
    ),
    Marker {
        dialect: "react",
        open: "Action:",
        until: Until::Brackets { several: false },
        body: Body::React,
    },
    between("trinity", "<tool_code>", &["</tool_code>"], Body::Any),
];

/// The dialect whose markers are the names of the tools.
pub(crate) const ELEMENTS: &str = "cline";

/// The names of forms that need no marker of their own.
pub(crate) const UNMARKED: [&str; 4] = [ELEMENTS, "fenced", "json", "pythonic"];

/// The names of all dialects, in the order of the table.
pub fn dialects() -> Vec<&'static str> {
    let mut names: Vec<_> = MARKERS.iter().map(|marker| marker.dialect).collect();
    names.extend(UNMARKED);
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// What opens a call in a dialect, by its name in [`dialects`]; in words where no marker does.
/// Empty for a name that is no dialect.
///
/// ```
/// assert_eq!(goodcall_wire::openings("olmo3"), ["<function_calls>"]);
/// assert!(goodcall_wire::openings("klingon").is_empty());
/// ```
pub fn openings(dialect: &str) -> Vec<&'static str> {
    let words = match dialect {
        ELEMENTS => Some("(the name of a tool as a tag: <NAME>)"),
        "fenced" => Some("(a call in a code fence)"),
        "json" => Some("(an object with a name and arguments)"),
        "pythonic" => Some("(name(key=value), alone or in a list)"),
        _ => None,
    };
    let own = MARKERS.iter().filter(|marker| marker.dialect == dialect);
    own.map(|marker| marker.open).chain(words).collect()
}
