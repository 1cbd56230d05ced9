//! Checks that a value with the text of any dialect's markers comes out whole, or that its call is
//! bad: never shorter, and never as another call.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use goodcall_core::{Policy, StopReason};
use goodcall_wire::{TextCallScope, Tools, dialects, extract, openings};
use proptest::prelude::*;
use serde_json::{Value, json};

const TOOLS: &str = r#"[
  {"name": "write", "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"]}},
  {"name": "delete", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
]"#;

/// Markers inside of calls and at their ends, and other text that means something in a dialect.
#[rustfmt::skip]
const INNER: [&str; 74] = [
    "</tool_call>", "</tool_calls>", "</function>", "</parameter>", "<parameter=path>",
    "<parameter name=\"path\">", "</invoke>", "<invoke name=\"delete\">", "<arg_key>", "</arg_key>",
    "<arg_value>", "</arg_value>", "<tool_sep>", "<|tool_call_end|>", "<|tool_calls_section_end|>",
    "<|tool_call_argument_begin|>", "<|close|>argument<|sep|>", "<|close|>call<|sep|>", "<|sep|>",
    "<|open|>argument key=\"path\" type=\"string\"<|sep|>", "<|close|>tools<|sep|>", "<|\"|>",
    "<escape>", "<tool_call|>", "<end_function_call>", "]<]minimax[>[", "]<]minimax[>[</text>",
    "]<]minimax[>[</invoke>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>",
    "</｜DSML｜parameter>", "</｜DSML｜invoke>", "<｜DSML｜parameter name=\"path\" string=\"true\">",
    "[ARGS]", "[CALL_ID]", "<|call|>", "<|end|>", "<|message|>", "<|start|>", "<|im_end|>", "</s>",
    "<|python_end|>", "<|END_ACTION|>", "<|action_end|>", "<|tools_suffix|>", "]]>", "<![CDATA[",
    "```", "</ifm|arg_value>", "<ifm|arg_key>", "</text>", "<text>", "</write>", "<write>",
    "Action Input:", "Observation:", "</minimax:tool_call>",
    "</steptml:parameter>", "</steptml:invoke>", "</｜GCML｜parameter>", "</｜GCML｜invoke>",
    "</|DSML|parameter>", "</xai:function_call>", "</atem:parameter>", "</atem:invoke>",
    "<|end_message|>", "</tool_code>", "</dots_function_call>", "</longcat_tool_call>",
    "</iquest_tool_call>", "</function_calls>", "</function_call>", "<|plugin|>",
];

/// How a dialect writes a call of `write`, with `P` for the path and `T` for the text. Values that are
/// JSON strings are in quotes here.
#[rustfmt::skip]
const FORMS: [(&str, &str); 50] = [
    ("hermes", "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}\n</tool_call>"),
    ("qwen3-coder", "<tool_call>\n<function=write>\n<parameter=path>\nP\n</parameter>\n<parameter=text>\nT\n</parameter>\n</function>\n</tool_call>"),
    ("qwen3-coder, alone", "<function=write>\n<parameter=path>\nP\n</parameter>\n<parameter=text>\nT\n</parameter>\n</function>"),
    ("seed-oss", "<seed:tool_call>\n<function=write>\n<parameter=path>P</parameter>\n<parameter=text>T</parameter>\n</function>\n</seed:tool_call>"),
    ("minimax-m2", "<minimax:tool_call>\n<invoke name=\"write\">\n<parameter name=\"path\">P</parameter>\n<parameter name=\"text\">T</parameter>\n</invoke>\n</minimax:tool_call>"),
    ("minimax-m3", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"write\">]<]minimax[>[<path>P]<]minimax[>[</path>]<]minimax[>[<text>T]<]minimax[>[</text>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>"),
    ("deepseek-v32", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"write\">\n<｜DSML｜parameter name=\"path\" string=\"true\">P</｜DSML｜parameter>\n<｜DSML｜parameter name=\"text\" string=\"true\">T</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"),
    ("deepseek-v41", "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"write\">\n<｜DSML｜ parameter name=\"path\" string=\"true\">P</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"text\" string=\"true\">T</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"),
    ("glm", "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>P</arg_value>\n<arg_key>text</arg_key>\n<arg_value>T</arg_value>\n</tool_call>"),
    ("hunyuan", "<tool_calls><tool_call>write<tool_sep><arg_key>path</arg_key><arg_value>P</arg_value><arg_key>text</arg_key><arg_value>T</arg_value></tool_call></tool_calls>"),
    ("k2-horizon", "<ifm|tool_calls><ifm|tool_call>write<ifm|arg_key>path</ifm|arg_key><ifm|arg_value>P</ifm|arg_value><ifm|arg_key>text</ifm|arg_key><ifm|arg_value>T</ifm|arg_value></ifm|tool_call></ifm|tool_calls>"),
    ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{\"path\": \"P\", \"text\": \"T\"}<|tool_call_end|><|tool_calls_section_end|>"),
    ("kimi-k3", "<|open|>tools<|sep|><|open|>call tool=\"write\" index=\"1\"<|sep|><|open|>argument key=\"path\" type=\"string\"<|sep|>P<|close|>argument<|sep|><|open|>argument key=\"text\" type=\"string\"<|sep|>T<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"),
    ("gemma4", "<|tool_call>call:write{path:<|\"|>P<|\"|>,text:<|\"|>T<|\"|>}<tool_call|>"),
    ("functiongemma", "<start_function_call>call:write{path:<escape>P<escape>,text:<escape>T<escape>}<end_function_call>"),
    ("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write<｜tool▁sep｜>{\"path\": \"P\", \"text\": \"T\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("deepseek, fenced", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write\n```json\n{\"path\": \"P\", \"text\": \"T\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("mistral", "[TOOL_CALLS]write[ARGS]{\"path\": \"P\", \"text\": \"T\"}"),
    ("mistral, list", "[TOOL_CALLS] [{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}]"),
    ("harmony", "<|channel|>commentary to=functions.write <|constrain|>json<|message|>{\"path\": \"P\", \"text\": \"T\"}<|call|>"),
    ("cohere", "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"write\", \"parameters\": {\"path\": \"P\", \"text\": \"T\"}}]<|END_ACTION|>"),
    ("minicpm", "<function name=\"write\"><param name=\"path\">P</param><param name=\"text\">T</param></function>"),
    ("cline", "<write>\n<path>P</path>\n<text>T</text>\n</write>"),
    ("pythonic", "[write(path=\"P\", text=\"T\")]"),
    ("longcat", "<longcat_tool_call>{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}</longcat_tool_call>"),
    ("iquest", "<iquest_tool_call>write\n<arg_key>path</arg_key>\n<arg_value>P</arg_value>\n<arg_key>text</arg_key>\n<arg_value>T</arg_value>\n</iquest_tool_call>"),
    ("dots", "<dots_function_call><invoke name=\"write\"><parameter name=\"path\">P</parameter><parameter name=\"text\">T</parameter></invoke></dots_function_call>"),
    ("invoke", "<invoke name=\"write\">\n<parameter name=\"path\">P</parameter><parameter name=\"text\">T</parameter>\n</invoke>"),
    ("muse", "<atem:function_calls><atem:invoke name=\"write\"><atem:parameter name=\"path\">P</atem:parameter><atem:parameter name=\"text\">T</atem:parameter></atem:invoke></atem:function_calls>"),
    ("hunyuan, list", "<tool_calls>[{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}]</tool_calls>"),
    ("olmo3", "<function_calls>\nwrite(path=\"P\", text=\"T\")\n</function_calls>"),
    ("granite-20b", "<function_call> {\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}"),
    ("lfm2", "<|tool_call_start|>[write(path=\"P\", text=\"T\")]<|tool_call_end|>"),
    ("llama4", "<|python_start|>[write(path=\"P\", text=\"T\")]<|python_end|>"),
    ("llama3", "<|python_tag|>{\"name\": \"write\", \"parameters\": {\"path\": \"P\", \"text\": \"T\"}}"),
    ("granite", "<|tool_call|>[{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}]"),
    ("gigachat", "<|function_call|>{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}"),
    ("phi4-mini", "functools[{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}]"),
    ("internlm", "<|action_start|> <|plugin|>\n{\"name\": \"write\", \"parameters\": {\"path\": \"P\", \"text\": \"T\"}}<|action_end|>"),
    ("apertus", "<|tools_prefix|>[{\"write\": {\"path\": \"P\", \"text\": \"T\"}}]<|tools_suffix|>"),
    ("step3", "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"write\"><steptml:parameter name=\"path\">P</steptml:parameter><steptml:parameter name=\"text\">T</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"),
    ("deepseek-v4", "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"write\">\n<｜DSML｜parameter name=\"path\" string=\"true\">P</｜DSML｜parameter><｜DSML｜parameter name=\"text\" string=\"true\">T</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"),
    ("deepseek-v4, plain bars", "<|DSML|tool_calls><|DSML|invoke name=\"write\"><|DSML|parameter name=\"path\" string=\"true\">P</|DSML|parameter><|DSML|parameter name=\"text\" string=\"true\">T</|DSML|parameter></|DSML|invoke></|DSML|tool_calls>"),
    ("grok", "<xai:function_call name=\"write\"><parameter name=\"path\">P</parameter><parameter name=\"text\">T</parameter></xai:function_call>"),
    ("gigachat35", "<｜GCML｜tool_calls><｜GCML｜invoke name=\"write\"><｜GCML｜parameter name=\"path\" string=\"true\">P</｜GCML｜parameter><｜GCML｜parameter name=\"text\" string=\"true\">T</｜GCML｜parameter></｜GCML｜invoke></｜GCML｜tool_calls>"),
    ("inkling", "<|content_invoke_tool_json|>write{\"path\": \"P\", \"text\": \"T\"}<|end_message|>"),
    ("react", "Action: write\nAction Input: {\"path\": \"P\", \"text\": \"T\"}"),
    ("trinity", "<tool_code>write(path=\"P\", text=\"T\")</tool_code>"),
    ("fenced", "```json\n{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}\n```"),
    ("json", "{\"name\": \"write\", \"arguments\": {\"path\": \"P\", \"text\": \"T\"}}"),
];

fn markers() -> Vec<String> {
    let own = dialects().into_iter().flat_map(openings);
    let own = own.filter(|marker| !marker.starts_with('('));
    own.chain(INNER).map(str::to_owned).collect()
}

/// Words with markers between, before and behind them; no two markers touch, because two of them may
/// make a part of a call that no reader could tell from the call's own.
fn texts() -> impl Strategy<Value = String> {
    let markers = markers();
    let marker = (0..markers.len()).prop_map(move |at| markers[at].clone());
    let word = prop::sample::select(vec![
        "a", "see b", "line\n", "\nnext ", "é, ", "it's ", "x: ",
    ]);
    let pair = (marker.clone(), word).prop_map(|(marker, word)| format!("{marker}{word}"));
    let pairs = prop::collection::vec(pair, 0..3);
    let lead = prop::sample::select(vec!["", "a ", "write "]);
    (lead, pairs, prop::option::of(marker)).prop_map(|(lead, pairs, last)| {
        format!("{lead}{}{}", pairs.concat(), last.unwrap_or_default())
    })
}

fn written(form: &str, text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let form = form.replace('P', "p.txt");
    if form.contains("\"T\"") {
        form.replace("\"T\"", &quoted)
    } else {
        form.replace('T', text)
    }
}

/// What may come of a text: itself, or where it is in XML's quotation marks as a whole, what they quote.
/// Some dialects know these marks and others do not.
fn readings(text: &str) -> [&str; 2] {
    let inner = text.trim().strip_prefix("<![CDATA[");
    let inner = inner.and_then(|inner| inner.strip_suffix("]]>"));
    [text, inner.unwrap_or(text)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn markers_inside_a_value_are_kept_or_the_call_is_bad(at in 0..FORMS.len(), text in texts()) {
        let tools = Tools::read(TOOLS).unwrap();
        let (name, form) = FORMS[at];
        let raw = written(form, &text);
        for scope in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            for call in extract(&raw, &tools, scope).calls {
                let verdict = call.check(&tools, &Policy::safe(), StopReason::Finished);
                let Some(arguments) = verdict.arguments() else { continue };
                prop_assert_eq!(&call.name, "write", "{} {:?}", name, raw);
                let value = arguments.to_value().unwrap();
                let is_whole = readings(&text)
                    .iter()
                    .any(|text| value == json!({"path": "p.txt", "text": text}));
                prop_assert!(is_whole, "{} {:?}: {}", name, raw, value);
            }
        }
    }
}

#[test]
fn value_with_a_tag_between_end_markers_makes_the_call_bad() {
    let tools = Tools::read(TOOLS).unwrap();
    for text in [
        "</invoke>a<parameter=path>",
        "</invoke>a<invoke name=\"delete\">b<parameter name=\"path\">",
    ] {
        let (_, form) = FORMS.iter().find(|(name, _)| *name == "invoke").unwrap();
        let found = extract(&written(form, text), &tools, TextCallScope::Explicit);
        let [call] = &found.calls[..] else {
            panic!("{text}: {found:?}")
        };
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Finished);
        assert!(verdict.arguments().is_none(), "{text}: {verdict:?}");
    }
}

#[test]
fn every_dialect_has_a_form() {
    let forms = FORMS.map(|(name, _)| name.split(',').next().unwrap_or(name));
    for dialect in dialects() {
        assert!(forms.contains(&dialect), "{dialect}");
    }
}

#[test]
fn values_without_markers_are_read_in_every_form() {
    let tools = Tools::read(TOOLS).unwrap();
    for (name, form) in FORMS {
        let raw = written(form, "a b");
        let found = extract(&raw, &tools, TextCallScope::Explicit);
        let [call] = &found.calls[..] else {
            panic!("{name}: {found:?}")
        };
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Unknown);
        let arguments = verdict.arguments().unwrap().to_value().unwrap();
        assert_eq!(arguments, json!({"path": "p.txt", "text": "a b"}), "{name}");
        assert_eq!(found.text.trim(), "", "{name}");
    }
}
