//! Time grows with the size of the input, whatever the input is and however it is split.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::time::Duration;

use cpu_time::ThreadTime;
use goodcall_wire::{Assembler, Provider, Scanner, Tools, Where, extract};

fn tools() -> Tools {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;
    Tools::read(&format!(r#"[{{"name": "f", "parameters": {schema}}}]"#)).unwrap()
}

/// The least time of three runs on a processor, so that a busy machine does not count.
fn time(mut run: impl FnMut()) -> Duration {
    let once = |run: &mut dyn FnMut()| {
        let start = ThreadTime::now();
        run();
        start.elapsed()
    };
    (0..3).map(|_| once(&mut run)).min().unwrap()
}

/// Eight times the input costs about eight times the time; quadratic would be 64. A busy machine
/// gets some more chances.
fn grows_linearly(name: &str, run: impl Fn(usize)) {
    let mut seen = Vec::new();
    for _ in 0..5 {
        let small = time(|| run(4_000)).max(Duration::from_millis(1));
        let large = time(|| run(32_000));
        if large < small * 24 {
            return;
        }
        seen.push((small, large));
    }
    panic!("{name}: {seen:?}");
}

#[test]
fn texts_that_look_like_calls() {
    let tools = tools();
    for pattern in [
        "<tool_call>",
        "<tool_call>{\"a",
        "<function=f>",
        "\n<parameter=a>",
        "<function=f><parameter=a>x",
        "f(",
        "f(a=",
        "[f(a=1",
        "{\"name\": ",
        "{\"a\":[",
        "[",
        "{",
        "\"",
        "'",
        "```",
        "<|channel|>",
        "<｜tool▁call▁begin｜>",
        "<arg_key>a</arg_key>",
        "f<",
        "\\_",
        "[TOOL_CALLS]",
        "<",
        "f(a='x' 'y'",
        "call:f{",
        "]<]minimax[>[<a>",
        "<|open|>call",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}} ",
    ] {
        for (head, place) in [
            ("", Where::Anywhere),
            ("", Where::Explicit),
            ("<tool_call>", Where::Explicit),
        ] {
            grows_linearly(&format!("{head}{pattern}"), |size| {
                let text = format!("{head}{}", pattern.repeat(size / pattern.len()));
                extract(&text, &tools, place);
            });
        }
    }
}

#[test]
fn one_byte_at_a_time() {
    let tools = tools();
    grows_linearly("text in single bytes", |size| {
        let mut scanner = Scanner::new(tools.clone(), Where::Anywhere);
        let call = r#"<tool_call>{"name": "f", "arguments": {"a": ""#;
        for piece in call
            .split_inclusive(' ')
            .chain(std::iter::repeat_n("x", size))
        {
            scanner.push(piece);
        }
        scanner.finish();
    });
    grows_linearly("arguments in single bytes", |size| {
        let mut assembler = Assembler::new(Provider::Anthropic, tools.clone());
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#;
        assembler.push(start).unwrap();
        for piece in ["{", "\\\"a\\\":", "\\\""]
            .into_iter()
            .chain(std::iter::repeat_n("x", size))
        {
            let event = format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
            );
            assembler.push(&event).unwrap();
        }
        assembler.finish();
    });
}
