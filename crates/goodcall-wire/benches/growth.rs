//! Texts that are hard to read in linear time, for `cargo xtask growth --check`, which counts the
//! instructions of each at several lengths.
//!
//! `--each BYTES…` reads every shape at every length, in one process for the sake of speed: callgrind
//! takes a dump after each call of [`counted`], and the lines printed say what they are of.
//! `--once SHAPE BYTES` reads one alone, for a profile. `cargo test` reads each shape once.

use std::error::Error;
use std::hint::black_box;

use goodcall_core::{
    Explain, Gate, Policy, ReadOptions, Schema, StreamParser, Style, Verdict, read,
};
use goodcall_wire::{Assembler, Provider, Scanner, TextCallScope, Tools, extract};
use serde_json::{Value, json};

/// What reads a text.
enum Reader {
    /// Calls behind markers, in fences, or as the whole text.
    Explicit,
    /// Also calls in prose.
    Anywhere,
    /// A text that comes a byte at a time.
    Bytes,
    /// The arguments of a streamed call, a byte at a time.
    Assembled,
    /// Arguments that are no JSON.
    Lenient,
    /// The same, a byte at a time.
    Streamed,
    /// A call, checked, mended or refused with its text.
    Checked,
}

struct Shape {
    name: &'static str,
    reader: Reader,
    head: &'static str,
    /// Repeated; `@` stands for the number of the repetition.
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

use Reader::{Anywhere, Assembled, Bytes, Checked, Explicit, Lenient, Streamed};

/// One for each way in which reading was not linear once, or could easily be.
const SHAPES: [Shape; 22] = [
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
];

impl Shape {
    fn text(&self, bytes: usize) -> String {
        let count = bytes / self.piece.len();
        let piece = |count| self.piece.replace('@', &format!("{count:05}"));
        let pieces = match self.piece.contains('@') {
            true => (0..count).map(piece).collect(),
            // Without work of its own.
            false => self.piece.repeat(count),
        };
        [self.head, &pieces, self.tail].concat()
    }

    fn read(&self, text: &str, set: &Set) -> bool {
        match self.reader {
            Explicit => extract(text, &set.tools, TextCallScope::Explicit)
                .calls
                .is_empty(),
            Anywhere => extract(text, &set.tools, TextCallScope::Anywhere)
                .calls
                .is_empty(),
            Bytes => {
                let mut scanner = Scanner::new(set.tools.clone(), TextCallScope::Anywhere);
                for at in 0..text.len() {
                    scanner.push(text.get(at..=at).unwrap_or_default());
                }
                scanner.finish().is_empty()
            }
            Assembled => assembled(text, &set.tools),
            Lenient => read(text, &set.options).is_ok(),
            Streamed => {
                let mut stream = StreamParser::new(set.options.clone());
                text.bytes().for_each(|byte| stream.push(&[byte]));
                stream.finish().is_ok()
            }
            Checked => match Gate::new(&set.schema).check(text) {
                Verdict::Bad(bad) => Explain::new(Style::Model).text(&bad).is_empty(),
                _ => true,
            },
        }
    }
}

/// What the readers need, the same for all, so that its cost can be taken off.
struct Set {
    tools: Tools,
    options: ReadOptions,
    schema: Schema,
}

impl Set {
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

/// A stream whose arguments come a byte at a time.
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

/// Reads a text; callgrind counts what happens in here.
#[inline(never)]
fn counted(shape: &Shape, text: &str, set: &Set) -> bool {
    shape.read(text, set)
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` and `cargo test` add flags of their own.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let set = Set::new()?;
    match args[..] {
        ["--each", ref sizes @ ..] => {
            let sizes = sizes.iter().map(|size| size.parse());
            let sizes = sizes.collect::<Result<Vec<usize>, _>>()?;
            for (shape, bytes) in SHAPES
                .iter()
                .flat_map(|s| sizes.iter().map(move |b| (s, *b)))
            {
                black_box(counted(shape, &shape.text(bytes), &set));
                println!("{}\t{bytes}", shape.name);
            }
        }
        ["--once", name, bytes] => {
            let shape = SHAPES.iter().find(|shape| shape.name == name);
            let shape = shape.ok_or_else(|| format!("no shape `{name}`"))?;
            black_box(counted(shape, &shape.text(bytes.parse()?), &set));
        }
        [] | ["--test"] => {
            for shape in &SHAPES {
                black_box(counted(shape, &shape.text(1_000), &set));
            }
        }
        _ => return Err("usage: --each BYTES… | --once SHAPE BYTES".into()),
    }
    Ok(())
}
