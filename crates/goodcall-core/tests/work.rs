//! Mending takes linear time, whatever is wrong.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use goodcall_core::{Gate, Policy, Schema, Verdict};
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

/// The least of three runs.
fn time(schema: &Value, raw: &str, mended: bool) -> Duration {
    let schema = Schema::compile(schema).expect("a schema");
    let runs = (0..3).map(|_| {
        let start = Instant::now();
        let verdict = Gate::new(&schema).policy(Policy::eager()).check(raw);
        let took = start.elapsed();
        assert_eq!(
            matches!(verdict, Verdict::Mended(_)),
            mended,
            "{}",
            verdict.name()
        );
        took
    });
    runs.min().expect("a run")
}

/// Four times the elements may take four times the time, and some more for a busy machine.
fn linear(schema: &Value, mended: bool, raw: impl Fn(usize) -> String) {
    // Without optimisation, the same with fewer.
    let count = if cfg!(debug_assertions) {
        1_000
    } else {
        10_000
    };
    let small = time(schema, &raw(count / 4), mended);
    let large = time(schema, &raw(count), mended);
    let most = small * 12 + Duration::from_millis(200);
    assert!(
        large < most,
        "{small:?}, and {large:?} for four times as many"
    );
}

#[test]
fn ten_thousand_wrong_elements() {
    let schema = json!({"properties": {"n": {"items": {"type": "integer"}}}});
    linear(&schema, true, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
}

#[test]
fn ten_thousand_wrong_objects() {
    let item = json!({"type": "object", "required": ["file_name", "limit"], "properties":
        {"file_name": {"type": "string"}, "limit": {"type": "integer"}, "x": {"type": "number"}}});
    let schema = json!({"properties": {"n": {"type": "array", "items": item}}});
    linear(&schema, true, |count| {
        let element = |n| format!(r#"{{"fileName": {n}, "limit": "{n}", "x": null}}"#);
        format!(r#"{{"n": {}}}"#, list(count, element))
    });
}

#[test]
fn ten_thousand_wrong_unions() {
    let item = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]});
    let schema = json!({"properties": {"n": {"type": "array", "items": item}}});
    linear(&schema, true, |count| {
        let element = |n| match n % 3 {
            0 => format!("\"{n}\""),
            1 => "\"True\"".to_owned(),
            _ => format!(r#"{{"a": "{n}"}}"#),
        };
        format!(r#"{{"n": {}}}"#, list(count, element))
    });
}

#[test]
fn ten_thousand_wrong_elements_in_a_branch() {
    let schema = json!({"properties": {"n": {"anyOf":
        [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}}});
    linear(&schema, true, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
}

#[test]
fn ten_thousand_members_of_one_object() {
    let schema = json!({"additionalProperties": {"type": "integer"}});
    linear(&schema, true, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":\"{n}\"")).collect();
        format!("{{{}}}", members.join(","))
    });
}

#[test]
fn ten_thousand_that_cannot_be_mended() {
    let schema = json!({"properties": {"n": {"items": {"anyOf":
        [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}}}});
    linear(&schema, false, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |n| format!("\"{n}\"")))
    });
    linear(&schema, false, |count| {
        format!(r#"{{"n": {}}}"#, list(count, |_| "{}".to_owned()))
    });
}

#[test]
fn ten_thousand_unknown_keys() {
    let schema = json!({"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"], "additionalProperties": false});
    linear(&schema, true, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
        format!("{{\"path\": \"a\", {}}}", members.join(","))
    });
}

#[test]
fn ten_thousand_members_for_a_thousand_missing_keys() {
    let names: Vec<_> = (0..1_000).map(|n| format!("key_{n}")).collect();
    let properties: Value = (names.iter())
        .map(|name| (name.clone(), json!({"type": "integer"})))
        .collect();
    let schema = json!({"properties": properties, "required": names});
    linear(&schema, false, |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"Key{n}\":{n}")).collect();
        format!("{{{}}}", members.join(","))
    });
}

#[test]
fn strings_inside_strings_do_not_pass_the_depth() {
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
