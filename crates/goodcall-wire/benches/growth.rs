//! Texts that are hard to read in linear time. `cargo xtask growth --check` counts the instructions
//! that each of them takes at several lengths.
//!
//! `--each BYTES…` reads every shape at every length, in one process for speed: callgrind writes a
//! dump after each call of [`counted`], and one line per dump names its shape and length.
//! `--shape SHAPE BYTES…` reads the texts of one shape, also for a profile. `--pieces BYTES` reads
//! the texts of models as one piece and then one byte at a time, in the same way. `cargo test` reads
//! each shape once.

use std::error::Error;
use std::hint::black_box;

use goodcall_core::{
    Explain, Gate, Policy, ReadOptions, Schema, StreamParser, Style, Verdict, read,
};
use goodcall_wire::{Assembler, Provider, Scanner, TextCallScope, Tools, extract};
use serde_json::{Value, json};

/// The entry point that reads a text.
enum Reader {
    /// [`extract`] with the scope `explicit`.
    Explicit,
    /// [`extract`] with the scope `anywhere`.
    Anywhere,
    /// [`Scanner`], all at once.
    Whole,
    /// [`Scanner`], one byte at a time.
    Bytes,
    /// [`Assembler`]: the arguments of a streamed call, one byte at a time.
    Assembled,
    /// [`read`]: lenient parsing of arguments.
    Lenient,
    /// [`StreamParser`]: lenient parsing, one byte at a time.
    Streamed,
    /// [`Gate::check`], and the text of the refusal.
    Checked,
    /// The same with the policy `eager`.
    CheckedEagerly,
    /// The same, of values that are nearly allowed. The text is the list of an `enum`.
    CheckedEnum,
}

/// A text that grows by repeating one piece.
struct Shape {
    name: &'static str,
    reader: Reader,
    head: &'static str,
    /// Repeated; `@` stands for a number that differs in each repetition. It always has six digits
    /// and no leading zero, so that a longer text holds more of the same and nothing else.
    piece: &'static str,
    tail: &'static str,
}

const fn shape(
    name: &'static str,
    reader: Reader,
    [head, piece, tail]: [&'static str; 3],
) -> Shape {
    Shape {
        name,
        reader,
        head,
        piece,
        tail,
    }
}

use Reader::{
    Anywhere, Assembled, Bytes, Checked, CheckedEagerly, CheckedEnum, Explicit, Lenient, Streamed,
    Whole,
};

/// One shape per way in which reading once was quadratic, or could easily become so.
const SHAPES: [Shape; 31] = [
    shape(
        "unclosed-blocks",
        Explicit,
        ["", "<tool_call><function=f>{", ""],
    ),
    shape("short-calls", Explicit, ["", "<f></f>", ""]),
    shape(
        "many-calls",
        Explicit,
        [
            "",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"@\"}}</tool_call>",
            "",
        ],
    ),
    shape("markers", Anywhere, ["", "<tool_call>", ""]),
    shape(
        "tags",
        Anywhere,
        ["<tool_call>", "<function=f>\n<parameter=a>", ""],
    ),
    shape("elements", Anywhere, ["", "<f><a>", ""]),
    shape("nested-calls", Anywhere, ["", "f(a=", ""]),
    shape("half-objects", Anywhere, ["", "{\"name\": ", ""]),
    shape("lists-of-calls", Anywhere, ["", "[f(a=1", ""]),
    shape("deepseek", Anywhere, ["", "<｜tool▁call▁begin｜>", ""]),
    shape("mistral", Anywhere, ["", "[TOOL_CALLS]f[ARGS]{", ""]),
    shape(
        "fences",
        Explicit,
        [
            "",
            "```\n{\"name\": \"f\", \"arguments\": {\"a\": \"@\"}}\n",
            "",
        ],
    ),
    shape(
        "text-in-bytes",
        Bytes,
        [
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
            "x",
            "",
        ],
    ),
    shape(
        "thought-in-bytes",
        Bytes,
        ["<think>", "I could call f(a=1) now.\n", ""],
    ),
    shape(
        "blanks-in-bytes",
        Bytes,
        ["<function=f>\n<parameter=a>x</parameter>", " ", ""],
    ),
    shape("backticks-in-bytes", Bytes, ["", "`", ""]),
    shape("arguments-in-bytes", Assembled, ["", "x", ""]),
    shape(
        "quotes-in-strings",
        Lenient,
        ["{\"a\": \"", "\"a\", ", "\"}"],
    ),
    shape("apostrophes", Lenient, ["[", "'it's', ", "]"]),
    shape("early-braces", Lenient, ["{", "\"@\": 1}, ", "\"a\": 1}"]),
    shape("comments", Lenient, ["{\"a\": ", "/* ", "}"]),
    shape("lenient-in-bytes", Streamed, ["{'a': '", "x' ", "'}"]),
    shape(
        "wrong-types",
        Checked,
        ["{\"numbers\": [", "\"@\", ", "\"1\"]}"],
    ),
    shape(
        "unions",
        Checked,
        [
            "{\"unions\": [",
            "{\"kind\": \"b\", \"n\": \"@\"}, ",
            "{}]}",
        ],
    ),
    shape(
        "unknown-keys",
        Checked,
        ["{", "\"key@\": 1, ", "\"numbers\": 1}"],
    ),
    shape(
        "unknown-keys-eagerly",
        CheckedEagerly,
        ["{\"numbers\": [1], ", "\"other@\": 1, ", "\"key\": 1}"],
    ),
    shape(
        "similar-keys-eagerly",
        CheckedEagerly,
        [
            "{\"numbers\": [1], ",
            "\"key@\": 1, \"other@\": 2, ",
            "\"key\": 1}",
        ],
    ),
    shape(
        "huge-enum",
        CheckedEnum,
        ["[\"centigrade\", ", "\"item@\", ", "\"other\"]"],
    ),
    shape("extra-brackets", Checked, ["{\"key\": 1}", "}", ""]),
    shape(
        "repeated-keys",
        Checked,
        ["{", "\"key\": 1, ", "\"key\": 1}"],
    ),
    shape(
        "extra-brackets-of-call",
        Explicit,
        [
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}",
            "}",
            "</tool_call>",
        ],
    ),
];

/// Ordinary texts of models, which servers send in pieces of any length.
const TEXTS: [(&str, [&str; 3]); 9] = [
    ("prose", ["", "The weather is fine, as it was. ", ""]),
    (
        "thought",
        ["<think>", "I could call f(a=1) now.\n", "</think>Yes."],
    ),
    ("code", ["```python\n", "x = g(1, [2])\n", "```\n"]),
    (
        "json-value",
        [
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
            "a word and ",
            "\"}}</tool_call>",
        ],
    ),
    (
        "json-calls",
        [
            "",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"@\"}}</tool_call>\n",
            "",
        ],
    ),
    (
        "json-list",
        [
            "[",
            "{\"name\": \"f\", \"arguments\": {\"a\": \"@\"}}, ",
            "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}]",
        ],
    ),
    (
        "xml-value",
        [
            "<tool_call>\n<function=f>\n<parameter=a>\n",
            "let x = a < b && c > d;\n",
            "</parameter>\n</function>\n</tool_call>",
        ],
    ),
    ("python-value", ["[f(a='", "a word and ", "')]"]),
    ("python-calls", ["[", "f(a='@'), ", "f(a='x')]"]),
];

impl Shape {
    fn text(&self, bytes: usize) -> String {
        let count = bytes / self.piece.len();
        let piece = |count| self.piece.replace('@', &format!("1{count:05}"));
        let pieces = if self.piece.contains('@') {
            (0..count).map(piece).collect()
        } else {
            self.piece.repeat(count)
        };
        [self.head, &pieces, self.tail].concat()
    }

    fn read(&self, text: &str, fixture: &Fixture) -> bool {
        match self.reader {
            Explicit => extract(text, &fixture.tools, TextCallScope::Explicit)
                .calls
                .is_empty(),
            Anywhere => extract(text, &fixture.tools, TextCallScope::Anywhere)
                .calls
                .is_empty(),
            Whole => fixture.scan([text]),
            Bytes => fixture.scan((0..text.len()).filter_map(|at| text.get(at..=at))),
            Assembled => assembled(text, &fixture.tools),
            Lenient => read(text, &fixture.options).is_ok(),
            Streamed => {
                let mut stream = StreamParser::new(fixture.options.clone());
                text.bytes().for_each(|byte| stream.push(&[byte]));
                stream.finish().is_ok()
            }
            Checked => check(text, &fixture.schema, Policy::safe()),
            CheckedEagerly => check(text, &fixture.schema, Policy::eager()),
            CheckedEnum => check_enum(text),
        }
    }
}

/// Checks a call and explains what is wrong with it.
fn check(text: &str, schema: &Schema, policy: Policy) -> bool {
    match Gate::new(schema).policy(policy).check(text) {
        Verdict::Bad(bad) => Explain::new(Style::Model).text(&bad).is_empty(),
        _ => true,
    }
}

/// Checks values that are near one of the allowed ones, and near very many of them.
fn check_enum(text: &str) -> bool {
    let allowed: Option<Value> = serde_json::from_str(text).ok();
    let schema = json!({"properties": {"choice": {"enum": allowed}}});
    let Ok(schema) = Schema::compile(&schema) else {
        return true;
    };
    let is_empty = |sent: &str| {
        let call = json!({"choice": sent}).to_string();
        check(&call, &schema, Policy::safe()) | check(&call, &schema, Policy::eager())
    };
    is_empty("centigrad") | is_empty("item10000")
}

/// The input of the readers besides the text. It is the same for all of them, so that its cost can
/// be subtracted.
struct Fixture {
    tools: Tools,
    options: ReadOptions,
    schema: Schema,
}

impl Fixture {
    fn new() -> Result<Self, Box<dyn Error>> {
        let tools = json!([{"name": "f", "parameters": {
            "type": "object", "properties": {"a": {"type": "string"}}
        }}]);
        let branch = |kind: &str, key: &str| {
            json!({
                "properties": {"kind": {"const": kind}, key: {"type": "integer"}},
                "required": ["kind", key]
            })
        };
        let branches: Vec<Value> = ["a", "b", "c"].map(|kind| branch(kind, "n")).into();
        let schema = json!({
            "type": "object",
            "properties": {
                "numbers": {"type": "array", "items": {"type": "integer"}},
                "unions": {"type": "array", "items": {"anyOf": branches}},
                "key": {"type": "integer"}
            },
            "additionalProperties": false
        });
        Ok(Self {
            tools: Tools::read(&tools.to_string())?,
            options: ReadOptions::new()
                .policy(Policy::eager())
                .keys(["a", "key"]),
            schema: Schema::compile(&schema)?,
        })
    }
}

impl Fixture {
    fn scan<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> bool {
        let mut scanner = Scanner::new(self.tools.clone(), TextCallScope::Anywhere);
        let early = pieces.into_iter().map(|piece| scanner.push(piece).len());
        early.sum::<usize>() + scanner.finish().len() == 0
    }
}

/// Reads a stream whose arguments arrive one byte at a time.
fn assembled(text: &str, tools: &Tools) -> bool {
    let mut assembler = Assembler::new(Provider::Anthropic, tools.clone());
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#;
    let mut read = assembler.push(start).is_ok();
    let bytes = (0..text.len()).filter_map(|at| text.get(at..=at));
    for piece in ["{", "\\\"a\\\":", "\\\""].into_iter().chain(bytes) {
        let event = format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
        );
        read &= assembler.push(&event).is_ok();
    }
    read && assembler.finish().is_empty()
}

/// Reads a text. Callgrind counts the instructions of this function.
#[inline(never)]
fn counted(shape: &Shape, text: &str, fixture: &Fixture) -> bool {
    shape.read(text, fixture)
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds a flag of its own.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let fixture = Fixture::new()?;
    match args[..] {
        ["--each", ref sizes @ ..] => {
            let sizes = sizes.iter().map(|size| size.parse());
            let sizes = sizes.collect::<Result<Vec<usize>, _>>()?;
            for (shape, bytes) in SHAPES
                .iter()
                .flat_map(|s| sizes.iter().map(move |b| (s, *b)))
            {
                black_box(counted(shape, &shape.text(bytes), &fixture));
                println!("{}\t{bytes}", shape.name);
            }
        }
        ["--pieces", bytes] => {
            let bytes = bytes.parse()?;
            for (name, text) in TEXTS {
                for reader in [Whole, Bytes] {
                    let shape = shape(name, reader, text);
                    black_box(counted(&shape, &shape.text(bytes), &fixture));
                    println!("{name}\t{bytes}");
                }
            }
        }
        ["--shape", name, ref sizes @ ..] => {
            let shape = SHAPES.iter().find(|shape| shape.name == name);
            let shape = shape.ok_or_else(|| format!("unknown shape `{name}`"))?;
            for bytes in sizes {
                black_box(counted(shape, &shape.text(bytes.parse()?), &fixture));
                println!("{name}\t{bytes}");
            }
        }
        [] | ["--test"] => {
            for shape in &SHAPES {
                black_box(counted(shape, &shape.text(1_000), &fixture));
            }
            for (name, text) in TEXTS {
                let shape = shape(name, Bytes, text);
                black_box(counted(&shape, &shape.text(1_000), &fixture));
            }
        }
        _ => return Err("usage: --each BYTES… | --shape SHAPE BYTES… | --pieces BYTES".into()),
    }
    Ok(())
}
