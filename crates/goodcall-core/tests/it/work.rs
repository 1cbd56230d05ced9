//! Tests that checking and mending end soon, for any call and any schema.

use std::fmt::Write as _;
use std::time::Duration;

use cpu_time::ThreadTime;
use goodcall_core::{Explain, Gate, Policy, Schema, Style, Verdict};
use serde_json::{Value, json};

fn list(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut out = String::from("[");
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}", element(index));
    }
    out + "]"
}

/// Checks a call and returns the processor time that it took.
fn time(schema: &Schema, raw: &str, mended: bool) -> Duration {
    let start = ThreadTime::now();
    let verdict = Gate::new(schema).policy(Policy::eager()).check(raw);
    let elapsed = start.elapsed();
    assert_eq!(verdict.name(), if mended { "mended" } else { "bad" });
    elapsed
}

/// Checks calls with many wrong places and compares the times of two lengths. A call of eight times the
/// length takes about eight times as long where the work is linear, 64 times where it is quadratic. A
/// loaded machine may disturb a measurement, but not three in a row. `cargo xtask callgrind` and
/// `cargo xtask growth` count instructions and see smaller differences.
fn many(schema: &Value, mended: bool, raw: impl Fn(usize) -> String) {
    let schema = Schema::compile(schema).expect("a schema");
    let (short, long) = (raw(500), raw(4_000));
    let times = (0..3).map(|_| (time(&schema, &short, mended), time(&schema, &long, mended)));
    let mut steep = times.take_while(|(short, long)| *long >= *short * 24);
    assert!(
        steep.nth(2).is_none(),
        "more than 24 times as long for {} bytes as for {} bytes",
        long.len(),
        short.len()
    );
}

#[test]
fn thousands_of_wrong_elements() {
    let schema = json!({"properties": {"n": {"items": {"type": "integer"}}}});
    many(&schema, true, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
}

#[test]
fn thousands_of_wrong_objects() {
    let item = json!({"type": "object", "required": ["file_name", "limit"], "properties":
        {"file_name": {"type": "string"}, "limit": {"type": "integer"}, "x": {"type": "number"}}});
    let schema = json!({"properties": {"n": {"type": "array", "items": item}}});
    many(&schema, true, |count| {
        let element = |n| format!(r#"{{"fileName": {n}, "limit": "{n}", "x": null}}"#);
        format!(r#"{{"n": {}}}"#, list(count, element))
    });
}

#[test]
fn thousands_of_wrong_unions() {
    let item = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]});
    let schema = json!({"properties": {"n": {"type": "array", "items": item}}});
    many(&schema, true, |count| {
        let element = |n| match n % 3 {
            0 => format!("\"{n}\""),
            1 => "\"True\"".to_owned(),
            _ => format!(r#"{{"a": "{n}"}}"#),
        };
        format!(r#"{{"n": {}}}"#, list(count, element))
    });
}

#[test]
fn thousands_of_wrong_elements_in_a_branch() {
    let schema = json!({"properties": {"n": {"anyOf":
        [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}}});
    many(&schema, true, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
}

#[test]
fn thousands_of_members_of_one_object() {
    let schema = json!({"additionalProperties": {"type": "integer"}});
    many(&schema, true, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":\"{n}\"")).collect();
        format!("{{{}}}", members.join(","))
    });
}

#[test]
fn thousands_that_cannot_be_mended() {
    let schema = json!({"properties": {"n": {"items": {"anyOf":
        [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}}}});
    many(&schema, false, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
    many(&schema, false, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |_| "{}".to_owned()))
    });
}

#[test]
fn thousands_of_unknown_keys() {
    let schema = json!({"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"], "additionalProperties": false});
    many(&schema, true, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
        format!("{{\"path\": \"a\", {}}}", members.join(","))
    });
}

/// The allowed keys come first, so that the others are far from the start.
#[test]
fn thousands_of_unknown_keys_after_thousands_that_are_allowed() {
    let schema = json!({"patternProperties": {"^x": true}, "additionalProperties": false});
    many(&schema, true, |count| {
        let members: Vec<_> = (0..count * 4)
            .map(|n| format!("\"{}{n}\":{n}", if n < count * 2 { "x" } else { "k" }))
            .collect();
        format!("{{{}}}", members.join(","))
    });
}

#[test]
fn thousands_of_members_for_a_thousand_missing_keys() {
    let names: Vec<_> = (0..1_000).map(|n| format!("key_{n}")).collect();
    let properties: Value = (names.iter())
        .map(|name| (name.clone(), json!({"type": "integer"})))
        .collect();
    let schema = json!({"properties": properties, "required": names});
    many(&schema, false, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"Key{n}\":{n}")).collect();
        format!("{{{}}}", members.join(","))
    });
}

#[test]
fn nested_strings_do_not_exceed_the_depth() {
    let schema = json!({"$ref": "#/$defs/list", "$defs": {"list":
        {"type": ["object", "array"], "items": {"$ref": "#/$defs/list"},
         "additionalProperties": {"$ref": "#/$defs/list"}}}});
    let mut text = "[]".to_owned();
    for _ in 0..9 {
        let open = "[".repeat(100);
        let close = "]".repeat(100);
        text = format!("{open}{}{close}", Value::from(text));
    }
    let schema = Schema::compile(&schema).expect("a schema");
    let raw = format!("{{\"a\": {text}}}");
    let verdict = Gate::new(&schema).check(&raw);
    assert_eq!(verdict.name(), "bad");
}

/// Returns the text for the model, or the name of the verdict.
fn text_of(schema: &Value, raw: &str) -> String {
    let schema = Schema::compile(schema).expect("a schema");
    match Gate::new(&schema).policy(Policy::eager()).check(raw) {
        Verdict::Bad(bad) => Explain::new(Style::Model).text(&bad),
        other => other.name().to_owned(),
    }
}

#[test]
fn doubling_unions_are_explained() {
    let form = |key: &str| {
        json!({"type": "object", "required": [key], "properties":
            {"c": {"$ref": "#/$defs/n"}, key: {"type": "integer"}}})
    };
    let small = json!({"type": "object", "maxProperties": 1, "properties":
        {"c": {"$ref": "#/$defs/n"}}});
    let schema = json!({"properties": {"tree": {"$ref": "#/$defs/n"}, "name": {"type": "string"}},
        "$defs": {"n": {"anyOf": [form("a"), form("b"), small]}}});
    for depth in [5, 12, 60] {
        let open = "{\"a\": 1, \"c\": ".repeat(depth);
        let raw = format!("{{\"name\": 1, \"tree\": {open}true{}}}", "}".repeat(depth));
        let text = text_of(&schema, &raw);
        // The issue is at the place itself, or at the outermost one if there are too many branches.
        assert!(text.contains("change tree"), "{depth}: {text}");
        assert!(text.contains("change name"), "{depth}: {text}");
    }
}

#[test]
fn deep_one_of_unions_are_explained() {
    let schema = json!({"$ref": "#/$defs/n", "$defs": {"n": {"oneOf": [
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["c"]},
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}, "d": {"type": "integer"}}},
    ]}}});
    let raw = format!(
        "{}{{\"d\": \"x\"}}{}",
        "{\"c\": ".repeat(60),
        "}".repeat(60)
    );
    assert!(
        text_of(&schema, &raw).contains("c.c"),
        "{}",
        text_of(&schema, &raw)
    );
}

/// There is no recursion here, so the validator does not remember what it has seen.
#[test]
fn doubling_references_are_bounded() {
    let mut defs = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let form = json!({"properties": {"c": next}, "required": ["c"]});
        defs.insert(format!("d{level}"), json!({"anyOf": [form, form, form]}));
    }
    defs.insert("d60".to_owned(), json!({"type": "integer"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let nested = |leaf: &str| format!("{}{leaf}{}", "{\"c\": ".repeat(60), "}".repeat(60));
    assert_eq!(text_of(&schema, &nested("1")), "good");
    assert!(text_of(&schema, &nested("[]")).contains("the arguments"));
}

#[test]
fn many_values_and_branches_are_explained() {
    let branches: Vec<_> = (0..500)
        .map(|n| json!({"type": "object", "required": [format!("k{n}")]}))
        .collect();
    let schema = json!({"properties": {"n": {"items": {"anyOf": branches}}}});
    let raw = format!(r#"{{"n": {}}}"#, list(500, |_| "{}".to_owned()));
    let text = text_of(&schema, &raw);
    assert!(text.contains("change n[0"), "{text}");

    let values: Vec<_> = (0..20_000).map(|n| format!("value number {n}")).collect();
    let schema = json!({"properties": {"n": {"items": {"enum": values}}}});
    let raw = format!(
        r#"{{"n": {}}}"#,
        list(300, |n| format!("\"valeu number {n}x\""))
    );
    let text = text_of(&schema, &raw);
    assert!(text.contains("change n[0"), "{text}");
}

/// However a call is broken, what is answered is at most four times as long, and 64 KB.
#[test]
fn answers_are_a_small_multiple_of_the_call() {
    let schema = json!({"properties": {"n": {"type": "array", "items": {"type": "integer"}}}});
    let schema = Schema::compile(&schema).expect("a schema");
    let pieces = [
        "}",
        "{",
        "]",
        "[",
        "\"",
        "'",
        ",",
        ":",
        "\\n",
        "// x\n",
        "/**/",
        "...",
        "{}",
        "a:1,",
        "'a',",
        "#",
        "\u{a0}",
        "，",
        "\"1\",",
        "\"a\":1,",
        "b 2, ",
        "[[\"1\"]],",
        "x",
    ];
    for piece in pieces {
        for (head, tail) in [
            ("{\"a\": 1}", ""),
            ("{\"n\": [", "1]}"),
            ("{\"n\": [], ", "}"),
            ("", ""),
        ] {
            let raw = format!("{head}{}{tail}", piece.repeat(40_000 / piece.len()));
            for policy in [Policy::safe(), Policy::eager()] {
                let verdict = Gate::new(&schema).policy(policy).check(&raw);
                let answer = serde_json::to_string(&verdict).expect("a verdict is JSON");
                let most = 4 * raw.len() + (64 << 10);
                assert!(
                    answer.len() <= most,
                    "{head}{piece}…{tail}: {}",
                    answer.len()
                );
            }
        }
    }
}
