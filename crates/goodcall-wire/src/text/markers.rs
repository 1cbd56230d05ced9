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

/// A marker that is the beginning of any tag of a dialect; each call has an end tag.
const fn each(dialect: &'static str, open: &'static str, close: &'static [&'static str]) -> Marker {
    Marker {
        dialect,
        open,
        end: EndRule::Marker { close, next: "" },
        body: BodyFormat::Tags,
    }
}

const TOOL_CALL: &[&str] = &["</tool_call>"];
const TOOL_CALLS: &[&str] = &["</tool_calls>"];
const FUNCTION: &[&str] = &["</function>"];
const HARMONY: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|eom|>", "<|start|>"];

use BodyFormat::{
    Any, DeepSeek, Gemma, Harmony, Inkling, KimiK2, KimiK3, Mistral, Nested, React, Tags,
};

/// Every marker. Where one is a prefix of another, the longer one counts.
#[rustfmt::skip]
pub(crate) static MARKERS: [Marker; 64] = [
    between("hermes", "<tool_call>", TOOL_CALL, Any),
    between("hermes", "<tool_call id=", TOOL_CALL, Any),
    between("hermes", "<tool_use>", &["</tool_use>"], Any),
    between("hermes", "<functioncall>", &["</functioncall>"], Any),
    between("longcat", "<longcat_tool_call>", &["</longcat_tool_call>"], Any),
    between("iquest", "<iquest_tool_call>", &["</iquest_tool_call>"], Any),
    between("seed-oss", "<seed:tool_call>", &["</seed:tool_call>"], Any),
    between("qwen3-coder", "<function=", FUNCTION, Tags),
    between("minicpm", "<function name=", FUNCTION, Tags),
    between("minicpm", "<functionname=", FUNCTION, Tags),
    between("minimax-m2", "<minimax:tool_call>", &["</minimax:tool_call>"], Any),
    between("minimax-m2", "minimax:tool_call>", &["</minimax:tool_call>"], Any),
    between("minimax-m3", "]<]minimax[>[<tool_call>", &["]<]minimax[>[</tool_call>"], Nested),
    between("dots", "<dots_function_call>", &["</dots_function_call>"], Any),
    between("invoke", "<invoke name=", &["</invoke>"], Tags),
    between("invoke", "<antml:invoke name=", &["</antml:invoke>"], Tags),
    between("invoke", "<antml:function_calls>", &["</antml:function_calls>"], Any),
    between("muse", "<atem:function_calls>", &["</atem:function_calls>"], Any),
    between("hunyuan", "<tool_calls>", TOOL_CALLS, Any),
    between("olmo3", "<function_calls>", &["</function_calls>"], Any),
    between("granite-20b", "<function_call>", &["</function_call>"], Any),
    between("lfm2", "<|tool_call_start|>", &["<|tool_call_end|>"], Any),
    between("llama4", "<|python_start|>", &["<|python_end|>"], Any),
    values("llama3", "<|python_tag|>", Any),
    values("granite", "<|tool_call|>", Any),
    values("gigachat", "<|function_call|>", Any),
    values("gigachat", "function call<|role_sep|>", Any),
    values("phi4-mini", "functools", Any),
    values("mistral", "[TOOL_CALLS]", Mistral),
    between("cohere", "<|START_ACTION|>", &["<|END_ACTION|>"], Any),
    between("internlm", "<|action_start|>", &["<|action_end|>"], Any),
    between("apertus", "<|tools_prefix|>", &["<|tools_suffix|>"], Any),
    between("deepseek", "<｜tool▁calls▁begin｜>", &["<｜tool▁calls▁end｜>"], DeepSeek),
    between("deepseek", "<｜tool▁call▁begin｜>", &["<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"], DeepSeek),
    between("step3", "<｜tool_calls_begin｜>", &["<｜tool_calls_end｜>"], DeepSeek),
    between("step3", "<steptml:invoke", &["</steptml:invoke>"], Tags),
    between("deepseek-v32", "<｜DSML｜function_calls>", &["</｜DSML｜function_calls>"], Any),
    between("deepseek-v4", "<｜DSML｜tool_calls>", &["</｜DSML｜tool_calls>"], Any),
    between("deepseek-v41", "<｜DSML｜ calls>", &["</｜DSML｜ calls>"], Any),
    between("deepseek-v32", "<｜DSML｜invoke", &["</｜DSML｜invoke>"], Tags),
    between("deepseek-v41", "<｜DSML｜ invoke", &["</｜DSML｜ invoke>"], Tags),
    each("deepseek-v4", "<‖DSML‖", &["</‖DSML‖invoke>", "</‖DSML‖tool_calls>", "</‖DSML‖function_calls>"]),
    each("deepseek-v4", "<｜｜DSML｜｜", &["</｜｜DSML｜｜invoke>", "</｜｜DSML｜｜tool_calls>", "</｜｜DSML｜｜function_calls>"]),
    each("deepseek-v4", "<||DSML||", &["</||DSML||invoke>", "</||DSML||tool_calls>", "</||DSML||function_calls>"]),
    each("deepseek-v4", "<|DSML|", &["</|DSML|invoke>", "</|DSML|tool_calls>", "</|DSML|function_calls>"]),
    each("deepseek-v4", "< | DSML |", &["</ | DSML | invoke>", "< / | DSML | invoke>"]),
    each("grok", "<xai:function_call", &["</xai:function_call>"]),
    between("gigachat35", "<｜GCML｜tool_calls>", &["</｜GCML｜tool_calls>"], Any),
    between("gigachat35", "<｜GCML｜invoke", &["</｜GCML｜invoke>"], Tags),
    between("kimi-k2", "<|tool_calls_section_begin|>", &["<|tool_calls_section_end|>"], KimiK2),
    between("kimi-k2", "<|tool_call_begin|>", &["<|tool_calls_section_end|>"], KimiK2),
    between("kimi-k3", "<|open|>tools<|sep|>", &["<|close|>tools<|sep|>"], KimiK3),
    between("k2-horizon", "<ifm|tool_calls>", &["</ifm|tool_calls>"], Any),
    between("k2-horizon", "<ifm|tool_call>", &["</ifm|tool_call>"], Any),
    between("harmony", "<|channel|>", HARMONY, Harmony),
    between("harmony", "<|start|>assistant", HARMONY, Harmony),
    between("harmony", "to=functions.", HARMONY, Harmony),
    Marker { dialect: "harmony", open: "commentary to=functions.", end: EndRule::OneValue, body: Harmony },
    Marker { dialect: "harmony", open: "analysis to=functions.", end: EndRule::OneValue, body: Harmony },
    between("gemma4", "<|tool_call>", &["<tool_call|>"], Gemma),
    between("functiongemma", "<start_function_call>", &["<end_function_call>"], Gemma),
    between("inkling", "<|content_invoke_tool_json|>", &["<|end_message|>"], Inkling),
    Marker { dialect: "react", open: "Action:", end: EndRule::OneValue, body: React },
    between("trinity", "<tool_code>", &["</tool_code>"], Any),
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
