//! The table of the markers that open calls, one row per marker.

use super::call_end::EndRule;

/// The format of the text behind a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    /// JSON, tags, pairs or Python: whatever it looks like.
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

/// A marker that opens a call, and how the call ends.
#[derive(Debug)]
pub(crate) struct Marker {
    pub(crate) dialect: &'static str,
    pub(crate) open: &'static str,
    pub(crate) end: EndRule,
    pub(crate) body: BodyFormat,
}

const fn between(
    dialect: &'static str,
    open: &'static str,
    close: &'static [&'static str],
    body: BodyFormat,
) -> Marker {
    Marker {
        dialect,
        open,
        end: EndRule::Marker { close, next: open },
        body,
    }
}

const fn values(dialect: &'static str, open: &'static str, body: BodyFormat) -> Marker {
    Marker {
        dialect,
        open,
        end: EndRule::SeveralValues,
        body,
    }
}

const TOOL_CALL: &[&str] = &["</tool_call>"];
const TOOL_CALLS: &[&str] = &["</tool_calls>"];
const FUNCTION: &[&str] = &["</function>"];
const HARMONY: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|eom|>", "<|start|>"];

/// Every marker. Where one is a prefix of another, the longer one counts.
pub(crate) static MARKERS: [Marker; 55] = [
    between("hermes", "<tool_call>", TOOL_CALL, BodyFormat::Any),
    between("hermes", "<tool_call id=", TOOL_CALL, BodyFormat::Any),
    between("hermes", "<tool_use>", &["</tool_use>"], BodyFormat::Any),
    between(
        "hermes",
        "<functioncall>",
        &["</functioncall>"],
        BodyFormat::Any,
    ),
    between(
        "longcat",
        "<longcat_tool_call>",
        &["</longcat_tool_call>"],
        BodyFormat::Any,
    ),
    between(
        "iquest",
        "<iquest_tool_call>",
        &["</iquest_tool_call>"],
        BodyFormat::Any,
    ),
    between(
        "seed-oss",
        "<seed:tool_call>",
        &["</seed:tool_call>"],
        BodyFormat::Any,
    ),
    between("qwen3-coder", "<function=", FUNCTION, BodyFormat::Tags),
    between("minicpm", "<function name=", FUNCTION, BodyFormat::Tags),
    between("minicpm", "<functionname=", FUNCTION, BodyFormat::Tags),
    between(
        "minimax-m2",
        "<minimax:tool_call>",
        &["</minimax:tool_call>"],
        BodyFormat::Any,
    ),
    between(
        "minimax-m3",
        "]<]minimax[>[<tool_call>",
        &["]<]minimax[>[</tool_call>"],
        BodyFormat::Nested,
    ),
    between(
        "dots",
        "<dots_function_call>",
        &["</dots_function_call>"],
        BodyFormat::Any,
    ),
    between("invoke", "<invoke name=", &["</invoke>"], BodyFormat::Tags),
    between(
        "invoke",
        "<antml:invoke name=",
        &["</antml:invoke>"],
        BodyFormat::Tags,
    ),
    between(
        "invoke",
        "<antml:function_calls>",
        &["</antml:function_calls>"],
        BodyFormat::Any,
    ),
    between(
        "muse",
        "<atem:function_calls>",
        &["</atem:function_calls>"],
        BodyFormat::Any,
    ),
    between("hunyuan", "<tool_calls>", TOOL_CALLS, BodyFormat::Any),
    between(
        "olmo3",
        "<function_calls>",
        &["</function_calls>"],
        BodyFormat::Any,
    ),
    between(
        "granite-20b",
        "<function_call>",
        &["</function_call>"],
        BodyFormat::Any,
    ),
    between(
        "lfm2",
        "<|tool_call_start|>",
        &["<|tool_call_end|>"],
        BodyFormat::Any,
    ),
    between(
        "llama4",
        "<|python_start|>",
        &["<|python_end|>"],
        BodyFormat::Any,
    ),
    values("llama3", "<|python_tag|>", BodyFormat::Any),
    values("granite", "<|tool_call|>", BodyFormat::Any),
    values("gigachat", "<|function_call|>", BodyFormat::Any),
    values("gigachat", "function call<|role_sep|>", BodyFormat::Any),
    values("phi4-mini", "functools", BodyFormat::Any),
    values("mistral", "[TOOL_CALLS]", BodyFormat::Mistral),
    between(
        "cohere",
        "<|START_ACTION|>",
        &["<|END_ACTION|>"],
        BodyFormat::Any,
    ),
    between(
        "internlm",
        "<|action_start|>",
        &["<|action_end|>"],
        BodyFormat::Any,
    ),
    between(
        "apertus",
        "<|tools_prefix|>",
        &["<|tools_suffix|>"],
        BodyFormat::Any,
    ),
    between(
        "deepseek",
        "<｜tool▁calls▁begin｜>",
        &["<｜tool▁calls▁end｜>"],
        BodyFormat::DeepSeek,
    ),
    between(
        "deepseek",
        "<｜tool▁call▁begin｜>",
        &["<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"],
        BodyFormat::DeepSeek,
    ),
    between(
        "step3",
        "<｜tool_calls_begin｜>",
        &["<｜tool_calls_end｜>"],
        BodyFormat::DeepSeek,
    ),
    between(
        "step3",
        "<steptml:invoke",
        &["</steptml:invoke>"],
        BodyFormat::Tags,
    ),
    between(
        "deepseek-v32",
        "<｜DSML｜function_calls>",
        &["</｜DSML｜function_calls>"],
        BodyFormat::Any,
    ),
    between(
        "deepseek-v4",
        "<｜DSML｜tool_calls>",
        &["</｜DSML｜tool_calls>"],
        BodyFormat::Any,
    ),
    between(
        "deepseek-v41",
        "<｜DSML｜ calls>",
        &["</｜DSML｜ calls>"],
        BodyFormat::Any,
    ),
    between(
        "deepseek-v32",
        "<｜DSML｜invoke",
        &["</｜DSML｜invoke>"],
        BodyFormat::Tags,
    ),
    between(
        "deepseek-v41",
        "<｜DSML｜ invoke",
        &["</｜DSML｜ invoke>"],
        BodyFormat::Tags,
    ),
    between(
        "gigachat35",
        "<｜GCML｜tool_calls>",
        &["</｜GCML｜tool_calls>"],
        BodyFormat::Any,
    ),
    between(
        "gigachat35",
        "<｜GCML｜invoke",
        &["</｜GCML｜invoke>"],
        BodyFormat::Tags,
    ),
    between(
        "kimi-k2",
        "<|tool_calls_section_begin|>",
        &["<|tool_calls_section_end|>"],
        BodyFormat::KimiK2,
    ),
    between(
        "kimi-k2",
        "<|tool_call_begin|>",
        &["<|tool_calls_section_end|>"],
        BodyFormat::KimiK2,
    ),
    between(
        "kimi-k3",
        "<|open|>tools<|sep|>",
        &["<|close|>tools<|sep|>"],
        BodyFormat::KimiK3,
    ),
    between(
        "k2-horizon",
        "<ifm|tool_calls>",
        &["</ifm|tool_calls>"],
        BodyFormat::Any,
    ),
    between(
        "k2-horizon",
        "<ifm|tool_call>",
        &["</ifm|tool_call>"],
        BodyFormat::Any,
    ),
    between("harmony", "<|channel|>", HARMONY, BodyFormat::Harmony),
    between(
        "harmony",
        "<|start|>assistant",
        HARMONY,
        BodyFormat::Harmony,
    ),
    between("harmony", "to=functions.", HARMONY, BodyFormat::Harmony),
    between(
        "gemma4",
        "<|tool_call>",
        &["<tool_call|>"],
        BodyFormat::Gemma,
    ),
    between(
        "functiongemma",
        "<start_function_call>",
        &["<end_function_call>"],
        BodyFormat::Gemma,
    ),
    between(
        "inkling",
        "<|content_invoke_tool_json|>",
        &["<|end_message|>"],
        BodyFormat::Inkling,
    ),
    Marker {
        dialect: "react",
        open: "Action:",
        end: EndRule::OneValue,
        body: BodyFormat::React,
    },
    between("trinity", "<tool_code>", &["</tool_code>"], BodyFormat::Any),
];

/// The dialect whose markers are the names of the tools.
pub(crate) const ELEMENTS: &str = "cline";

/// The dialects that need no marker.
const UNMARKED: [&str; 4] = [ELEMENTS, "fenced", "json", "pythonic"];

/// Lists the names of all dialects.
pub fn dialects() -> Vec<&'static str> {
    let mut names: Vec<_> = MARKERS.iter().map(|marker| marker.dialect).collect();
    names.extend(UNMARKED);
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// Lists the markers that open a call in a dialect, by its name in [`dialects`]; a description
/// stands for a dialect without markers. The list is empty for an unknown dialect.
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
