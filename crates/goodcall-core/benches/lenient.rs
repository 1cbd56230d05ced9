//! The speed of reading broken text, its growth with the length, and the cost of streaming.
//!
//! `cargo bench -p goodcall-core --bench lenient`: three tables, no judgement.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use goodcall_core::{Policy, ReadOptions, StreamParser, read};

fn main() {
    speed();
    growth();
    streaming();
}

fn options() -> ReadOptions {
    ReadOptions::new().policy(Policy::eager())
}

/// Returns the least processor time of several runs.
fn time(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    let began = Instant::now();
    let mut runs = 0;
    while runs < 5 || began.elapsed() < Duration::from_millis(120) {
        let start = ThreadTime::now();
        run();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

/// Returns valid records of about this many bytes.
fn sound(bytes: usize) -> String {
    let mut text = String::from("[");
    let mut id = 0;
    while text.len() < bytes {
        let comma = if id == 0 { "" } else { ", " };
        let _ = write!(
            text,
            "{comma}{{\"id\": {id}, \"name\": \"record number {id}\", \"ok\": true, \"score\": {id}.25, \
             \"text\": \"Some words, a \\\"quote\\\" and a line\\nmore\", \"tags\": [\"a\", \"bb\", null]}}"
        );
        id += 1;
    }
    text + "]"
}

fn speed() {
    let whole = sound(200_000);
    let value = serde_json::from_str(&whole).expect("valid");
    let value: serde_json::Value = value;
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    let texts = [
        (
            "trailing comma at the end",
            whole.replace("null]}]", "null]},]"),
        ),
        (
            "trailing comma at the start",
            whole.replacen("null]}", "null,]}", 1),
        ),
        (
            "trailing commas everywhere",
            whole.replace("null]", "null,]"),
        ),
        ("code fence", format!("```json\n{whole}\n```")),
        ("prose around", format!("Here you are: {whole} Bye.")),
        ("single quotes", whole.replace("\\\"", "").replace('"', "'")),
        (
            "unquoted keys",
            ["id", "name", "ok", "score", "text", "tags"]
                .iter()
                .fold(whole.clone(), |text, key| {
                    text.replace(&format!("\"{key}\":"), &format!("{key}:"))
                }),
        ),
        (
            "Python literals",
            whole.replace("true", "True").replace("null", "None"),
        ),
        ("missing commas, pretty", pretty.replace(",\n", "\n")),
        ("comments, pretty", pretty.replace(",\n", ", // note\n")),
        ("inner quotes", whole.replace("\\\"", "\"")),
        ("raw newlines", whole.replace("\\n", "\n")),
        ("cut off", whole[..whole.len() - 40].to_owned()),
    ];
    println!("| broken text | MB/s | of serde_json's time | changes |\n|---|---|---|---|");
    for (name, text) in texts {
        let reading = read(&text, &options());
        let Ok(reading) = reading else {
            println!("| {name} | refused | | |");
            continue;
        };
        let repaired = reading.tree.to_json();
        let ours = time(|| {
            black_box(read(black_box(&text), &options()).is_ok());
        });
        let serde = time(|| {
            let bytes = black_box(repaired.as_bytes());
            black_box(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
        });
        let rate = text.len() as f64 / ours.as_secs_f64() / 1e6;
        let ratio = ours.as_secs_f64() / serde.as_secs_f64();
        println!(
            "| {name} | {rate:.0} | {ratio:.2} | {} |",
            reading.changes.len()
        );
    }
}

/// Shapes that make other parsers slow, by the piece they repeat.
const SHAPES: [(&str, &str, &str); 24] = [
    ("open brackets", "", "["),
    ("open objects", "", "{\"a\":"),
    ("quotes", "", "\""),
    ("backslashes", "", "\\"),
    ("backslashes in a string", "{\"a\": \"", "\\"),
    ("inner quotes", "{\"a\": \"", "say \"hi\" now "),
    ("inner quotes in an array", "[\"", "say \"hi\", now "),
    ("missing closing quotes", "{", "\"a\": \"b, "),
    ("missing opening quotes", "{", "a\": b\", "),
    ("lines that open strings", "[", "\"ab\n"),
    ("sums of strings", "[", "\"a\" + "),
    ("prose full of braces", "", "see {x} and "),
    ("fences", "", "```json\n"),
    ("fenced values", "", "```json\n{\"a\":1}\n```\n"),
    ("line comments", "[", "// c\n"),
    ("open comments", "[", "/* c "),
    ("values in a row", "", "{\"a\":1}"),
    ("values a line", "", "{\"a\":1}\n"),
    ("lines in a string", "{\"a\": \"", "some words\n"),
    ("calls in calls", "", "f("),
    ("commas", "[", ","),
    ("single quotes with apostrophes", "{'a': '", "it's "),
    ("keys without values", "{", "\"a\" "),
    ("wrong brackets", "[", "{\"a\": 1] "),
];

fn growth() {
    println!("\n| shape | 10 KB | 1 MB | growth / 100 |\n|---|---|---|---|");
    for (name, start, piece) in SHAPES {
        let [small, large] = [10_000, 1_000_000].map(|bytes| {
            let text = format!("{start}{}", piece.repeat(bytes / piece.len()));
            time(|| {
                black_box(read(black_box(&text), &options()).is_ok());
            })
        });
        let factor = large.as_secs_f64() / small.as_secs_f64() / 100.0;
        println!("| {name} | {small:.1?} | {large:.1?} | {factor:.2} |");
    }
}

fn streaming() {
    let whole = sound(100_000);
    let one = time(|| {
        black_box(read(black_box(&whole), &options()).is_ok());
    });
    println!(
        "\n| 100 KB in 16-byte pieces, the partial value looked at each time | of one parse |\n|---|---|"
    );
    let fenced = format!("```json\n{whole}\n```");
    for (name, text) in [("JSON", &whole), ("fenced", &fenced)] {
        let pieces = time(|| {
            let mut stream = StreamParser::new(options());
            for piece in text.as_bytes().chunks(16) {
                stream.push(piece);
                black_box(stream.partial().map(|value| value.len()));
            }
            black_box(stream.finish().is_ok());
        });
        println!(
            "| {name} | {:.1} × |",
            pieces.as_secs_f64() / one.as_secs_f64()
        );
    }
}
