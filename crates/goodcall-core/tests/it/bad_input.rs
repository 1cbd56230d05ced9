//! Tests that bad input gets a clear answer, without a panic, a hang or a stack overflow.
//!
//! The tests run on a thread with the default stack, and those of recursive code also on a quarter of
//! that.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use goodcall_core::{
    Gate, Limits, Policy, ReadOptions, Reason, Refusal, Schema, SchemaError, StopReason, Tree,
    Verdict, check, read,
};
use serde_json::{Value, json};

const USUAL_STACK: usize = 2 << 20;
const SMALL_STACK: usize = 512 << 10;

/// Runs `f` on a thread with this much stack. An overflow would end the whole process; a hang fails.
fn on_stack<T: Send + 'static>(bytes: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(bytes);
    let thread = thread.spawn(move || {
        let out = f();
        let _ = sender.send(());
        out
    });
    let thread = thread.expect("a thread");
    // Far more time than any test needs, even unoptimised on a loaded machine.
    match receiver.recv_timeout(Duration::from_secs(120)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("not done after two minutes"),
        _ => thread.join().expect("no panic"),
    }
}

fn on_stacks<T: Send + 'static>(f: impl Fn() -> T + Clone + Send + 'static) -> T {
    on_stack(SMALL_STACK, f.clone());
    on_stack(USUAL_STACK, f)
}

fn anything() -> Schema {
    Schema::compile(&json!({})).expect("a schema")
}

fn reason(raw: &str) -> Reason {
    match check(raw, &anything()) {
        Verdict::Bad(bad) => bad.reason,
        other => panic!("{}", other.name()),
    }
}

fn refused(schema: Value) -> SchemaError {
    match Schema::compile(&schema) {
        Err(error) => error,
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn invalid_utf8_is_malformed() {
    for bytes in [
        &b"\xff"[..],
        b"{\"a\": \"\xc3\"}",
        b"[\"\xed\xa0\x80\"]",
        b"\x80{}",
    ] {
        let schema = anything();
        let Verdict::Bad(Refusal { reason, issues, .. }) = Gate::new(&schema).check_bytes(bytes)
        else {
            panic!("{bytes:?}")
        };
        assert_eq!((reason, issues.len()), (Reason::Malformed, 1), "{bytes:?}");
    }
}

#[test]
fn ten_megabytes_of_brackets_are_refused() {
    for text in ["[", "{\"a\":", "[{\"a\":[", "{"] {
        let raw = text.repeat(10_000_000 / text.len());
        let reason = on_stacks(move || reason(&raw));
        assert_ne!(reason, Reason::WrongShape, "{text}");
    }
    let closed = "[".repeat(5_000_000) + &"]".repeat(5_000_000);
    assert_eq!(on_stacks(move || reason(&closed)), Reason::TooLarge);
}

#[test]
fn deepest_allowed_value_is_accepted() {
    on_stacks(|| {
        let raw = "{\"a\":".repeat(127) + "[1]" + &"}".repeat(127);
        let schema = json!({"properties": {"a": {"$ref": "#"}}});
        let schema = Schema::compile(&schema).expect("a schema");
        let verdict = check(&raw, &schema).into_owned();
        let tree = verdict.arguments().expect("valid");
        let value = tree.to_value().expect("exact");
        assert_eq!(tree.deserialize::<Value>().as_ref(), Ok(&value));
        assert_eq!(tree.to_json(), raw);
        assert_eq!(Tree::parse(&raw).as_ref(), Ok(tree));
    });
}

#[test]
fn no_reading_is_deeper_than_allowed() {
    let limits = Limits::default();
    let list = |levels| "[".repeat(levels) + &"]".repeat(levels);
    // Two values are read as a list of two, one level deeper.
    let options = ReadOptions::new();
    let two = list(limits.max_depth - 1) + &list(1);
    let reading = read(&two, &options).expect("as deep as allowed");
    assert!(Tree::parse(&reading.tree.to_json()).is_ok());
    let two = list(1) + &list(limits.max_depth);
    let bad = read(&two, &options).expect_err("a level too deep");
    assert_eq!(bad.reason, Reason::TooLarge);
    assert_eq!(bad.issues[0].span.start, two.len() - limits.max_depth - 1);
    // An object that is put into a list is one level deeper, too.
    let schema = json!({"properties": {"a": {"type": "array", "items": {"type": "object"}}}});
    let schema = Schema::compile(&schema).expect("a schema");
    for (inner, name) in [(125, "mended"), (126, "bad")] {
        let raw = format!("{{\"a\": {{\"x\": {}}}}}", list(inner));
        let verdict = Gate::new(&schema).policy(Policy::eager()).check(&raw);
        assert_eq!(verdict.name(), name, "{inner}");
    }
}

#[test]
fn long_string_is_read() {
    let plain = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
    let escaped = format!("{{\"a\": \"{}\"}}", "\\u00e9\\n".repeat(1 << 17));
    for raw in [plain, escaped] {
        on_stacks(move || {
            assert!(matches!(check(&raw, &anything()), Verdict::Good(_)));
            let schema = json!({"properties": {"a": {"type": "integer", "maxLength": 3}}});
            let schema = Schema::compile(&schema).expect("a schema");
            let Verdict::Bad(bad) = check(&raw, &schema) else {
                panic!()
            };
            let got = bad.issues[0].actual.as_ref().expect("what was sent");
            assert!(got.short.chars().count() <= 40);
        });
    }
}

#[test]
fn empty_input_is_refused() {
    let needs = json!({"required": ["a"]});
    let schema = Schema::compile(&needs).expect("a schema");
    for raw in ["", " ", "\n\t\r ", "null"] {
        let verdict = check(raw, &schema);
        let Verdict::Bad(bad) = verdict else {
            panic!("{raw:?}")
        };
        assert_eq!(bad.reason, Reason::Empty, "{raw:?}");
    }
}

#[test]
fn invalid_schema_is_refused() {
    for schema in [
        json!(null),
        json!(5),
        json!("object"),
        json!([]),
        json!({"type": 5}),
        json!({"type": "objekt"}),
        json!({"properties": 5}),
        json!({"properties": {"a": 5}}),
        json!({"required": [5]}),
        json!({"minimum": "5"}),
        json!({"enum": 5}),
        json!({"anyOf": {}}),
        json!({"pattern": 5}),
        json!({"$ref": 5}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "no such place"}),
        json!({"$ref": "https://example.org/a.json"}),
        json!({"$ref": "file:///a.json"}),
    ] {
        let error = refused(schema.clone());
        assert!(!error.reason().is_empty(), "{schema}");
        assert!(error.to_string().chars().count() < 400, "{error}");
    }
}

#[test]
fn schema_with_ten_thousand_properties_is_usable() {
    on_stack(USUAL_STACK, || {
        let names: Vec<_> = (0..10_000).map(|n| format!("property_{n}")).collect();
        let properties: serde_json::Map<_, _> = names
            .iter()
            .map(|name| (name.clone(), json!({"type": "integer"})))
            .collect();
        let schema = json!({
            "type": "object", "properties": properties, "required": names,
            "additionalProperties": false,
        });
        let schema = Schema::compile(&schema).expect("a schema");
        let object = |value: &str| {
            let mut raw = String::from("{");
            for name in &names {
                let _ = write!(raw, "\"{name}\":{value},");
            }
            raw.pop();
            raw + "}"
        };
        assert!(matches!(check(&object("1"), &schema), Verdict::Good(_)));
        let (wrong, unknown) = (
            object("\"x\""),
            object("1").replace("property", "propperty"),
        );
        for raw in ["{}", wrong.as_str(), unknown.as_str()] {
            let Verdict::Bad(bad) = Gate::new(&schema).policy(Policy::strict()).check(raw) else {
                panic!()
            };
            assert!((1..=256).contains(&bad.issues.len()));
            assert!(bad.more >= 10_000 - 256);
        }
    });
}

#[test]
fn backtracking_pattern_ends_soon() {
    on_stack(USUAL_STACK, || {
        for pattern in [
            "^(a+)+$",
            "^(a|a)*$",
            "^(a|aa)+$",
            "(x+x+)+y",
            "^([a-z]+)*$",
        ] {
            let schema = json!({"properties": {"a": {"pattern": pattern}}});
            let schema = Schema::compile(&schema).expect("a schema");
            let raw = format!("{{\"a\": \"{}!\"}}", "a".repeat(50_000));
            check(&raw, &schema);
        }
        // What needs look-around or back-references is given up after some steps, and accepted.
        let hard: Vec<_> = (20..2_000).map(|n| "a".repeat(n % 40 + 20) + "!").collect();
        let raw = json!({"a": hard, "b": "a".repeat(500_000) + "!"}).to_string();
        for pattern in ["^(a|a)*\\1b$", "^(?=(a+)+$)", "^(?:(?!b).)*b$"] {
            let text = json!({"pattern": pattern});
            let schema = json!({"properties": {"a": {"items": text}, "b": text}});
            let schema = Schema::compile(&schema).expect("a schema");
            assert_eq!(schema.warnings().len(), 2);
            let verdict = check(&raw, &schema).name();
            // The second and third are matched in few steps, so that these texts are refused.
            let refused = !pattern.contains("\\1");
            assert_eq!(verdict == "bad", refused, "{pattern}");
            let not = json!({"properties": {"b": {"not": text}}});
            let not = Schema::compile(&not).expect("a schema");
            assert_eq!(check(&raw, &not).name(), "good", "{pattern}");
        }
    });
}

/// The rest of the schema holds.
#[test]
fn pattern_that_cannot_be_used_is_left_out_with_a_warning() {
    for pattern in ["(", "^(?=a)\\1$", "((a{1000}){1000}){1000}"] {
        let schema = json!({"properties": {"a": {"type": "string", "pattern": pattern}}});
        let schema = Schema::compile(&schema).expect("a schema");
        let warning = schema.warnings()[0].to_string();
        assert!(
            warning.starts_with("/properties/a/pattern: the pattern "),
            "{warning}"
        );
        assert!(
            warning.ends_with(" cannot be used and is left out"),
            "{warning}"
        );
        assert_eq!(check(r#"{"a": "b"}"#, &schema).name(), "good");
        assert_eq!(check(r#"{"a": [[5]]}"#, &schema).name(), "bad");
    }
}

/// The verdict on each text, or the reason why the schema does not compile.
fn verdicts(schema: &Value, texts: &[&str]) -> String {
    match Schema::compile(schema) {
        Ok(schema) => {
            let names: Vec<_> = texts.iter().map(|raw| check(raw, &schema).name()).collect();
            names.join(" ")
        }
        Err(error) => error.reason().to_owned(),
    }
}

#[test]
fn recursive_references_are_bounded() {
    let any_object = "good good bad bad";
    let nothing = "bad bad bad bad";
    for (schema, expected) in [
        (json!({"$ref": "#"}), any_object),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
            any_object,
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            any_object,
        ),
        (json!({"allOf": [{"$ref": "#"}]}), any_object),
        (
            json!({"anyOf": [{"$ref": "#"}, {"type": "object"}]}),
            any_object,
        ),
        (json!({"not": {"$ref": "#"}}), nothing),
        (
            json!({"$dynamicRef": "#a", "$dynamicAnchor": "a"}),
            any_object,
        ),
        (
            json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}),
            "good bad bad bad",
        ),
        (
            json!({"type": "array", "items": {"$ref": "#"}}),
            "bad bad good bad",
        ),
        (json!({"if": {"$ref": "#"}, "then": false}), nothing),
    ] {
        let texts = ["{}", "{\"a\": {\"a\": {\"b\": 1}}}", "[[[]]]", "5"];
        let shown = schema.to_string();
        let got = on_stacks(move || verdicts(&schema, &texts));
        assert_eq!(got, expected, "{shown}");
    }
}

#[test]
fn deep_schema_is_refused() {
    on_stacks(|| {
        let mut schema = json!({"type": "string"});
        for _ in 0..1000 {
            // The macro `json!` would copy the inner value at each level.
            let inner = serde_json::Map::from_iter([("a".to_owned(), schema)]);
            let outer = [("properties".to_owned(), Value::Object(inner))];
            schema = Value::Object(serde_json::Map::from_iter(outer));
        }
        let error = Schema::compile(&schema).expect_err("too deep");
        assert!(error.reason().contains("levels"), "{error}");
        drop_deep(schema);
    });
}

#[test]
fn long_chains_of_references_are_bounded() {
    let chain = |wrap: fn(Value) -> Value| {
        let mut defs = serde_json::Map::new();
        for n in 0..2_000 {
            let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
            defs.insert(format!("a{n}"), wrap(next));
        }
        defs.insert("a2000".to_owned(), json!(true));
        json!({"$ref": "#/$defs/a0", "$defs": defs})
    };
    let direct = chain(|next| next);
    let got = on_stacks(move || verdicts(&direct, &["{}"]));
    assert_eq!(got, "references lead through more than 128 schemas");
    let through_members = chain(|next| json!({"properties": {"a": next}}));
    let got = on_stacks(move || verdicts(&through_members, &["{}", "{\"a\": {\"a\": 1}}"]));
    assert_eq!(got, "good good");
}

/// Drops a value that is too deep for the recursive drop on a small stack.
fn drop_deep(mut value: Value) {
    while let Some(inner) = value.pointer_mut("/properties/a").map(Value::take) {
        value = inner;
    }
}

/// Returns `a0: [a1, a1], a1: [a2, a2], …`, which has two to the power of `levels` paths.
fn doubling(keyword: &str, levels: usize, last: Value) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({keyword: [next, next]}));
    }
    defs.insert(format!("a{levels}"), last);
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

#[test]
fn doubling_schemas_are_bounded() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for last in [
            json!({"type": "object"}),
            json!({"type": "string"}),
            json!({"required": ["a"]}),
        ] {
            on_stack(USUAL_STACK, move || {
                let start = Instant::now();
                match Schema::compile(&doubling(keyword, 30, last)) {
                    Ok(schema) => {
                        check("{}", &schema);
                    }
                    Err(error) => assert!(!error.reason().is_empty()),
                }
                assert!(start.elapsed() < Duration::from_secs(20), "{keyword}");
            });
        }
    }
}

#[test]
fn huge_enums_are_usable() {
    on_stack(USUAL_STACK, || {
        let values: Vec<_> = (0..50_000).map(|n| format!("value number {n}")).collect();
        let schema = json!({"properties": {"a": {"enum": values}}});
        let schema = Schema::compile(&schema).expect("a schema");
        assert!(matches!(
            check("{\"a\": \"value number 49999\"}", &schema),
            Verdict::Good(_)
        ));
        let verdict = Gate::new(&schema)
            .policy(Policy::strict())
            .check("{\"a\": \"value numbr 7\"}");
        assert_eq!(verdict.issues().len(), 1);
    });
}

#[test]
fn too_large_schema_is_refused() {
    let error = refused(json!({"description": "x".repeat(5 << 20)}));
    assert!(error.reason().contains("bytes"), "{error}");
}

#[test]
fn many_repeated_keys_are_bounded() {
    let mut raw = String::from("{\"a\":0");
    for n in 1..100_000 {
        let _ = write!(raw, ",\"a\":{n}");
    }
    raw.push('}');
    let Verdict::Bad(bad) = check(&raw, &anything()) else {
        panic!("accepted");
    };
    assert_eq!(bad.reason, Reason::Ambiguous);
    assert_eq!((bad.issues.len(), bad.more), (256, 99_999 - 256));
}

/// A long key must not be copied for every place below it.
#[test]
fn long_key_is_not_copied_per_place() {
    let key = "k".repeat(200_000);
    for member in [",\"a\":0", ",'a':0"] {
        let raw = format!("{{\"{key}\":{{\"a\":0{}}}}}", member.repeat(20_000));
        assert_eq!(reason(&raw), Reason::TooLarge);
    }
}

/// A long fence is one fence, not one per backtick.
#[test]
fn long_fence_is_linear() {
    for mark in ["`", "~"] {
        let fence = mark.repeat(100_000);
        let raw = format!("{fence}json\n{{\"a\": 1}}\n{fence}");
        let schema = anything();
        let verdict = on_stacks(move || check(&raw, &schema).changes().len());
        assert_eq!(verdict, 2);
    }
}

#[test]
fn many_line_ends_are_linear() {
    let raw = format!("{{'a': '{}", "\n".repeat(200_000));
    assert_eq!(on_stacks(move || reason(&raw)), Reason::Truncated);
}

/// Arithmetic that is read as text and still malformed is refused, not read again and again.
#[test]
fn malformed_arithmetic_is_refused_once() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let schema = Schema::compile(&schema).expect("a schema");
    for policy in [Policy::safe(), Policy::eager()] {
        for raw in [r#"{"a":1.*/ "b":2}"#, r#"{"a": 2*/ 3}"#, r#"{"a": 1+/* }"#] {
            let (schema, policy) = (schema.clone(), policy.clone());
            let name = on_stacks(move || {
                let gate = Gate::new(&schema).policy(policy.clone());
                gate.check(raw).name()
            });
            assert_eq!(name, "bad", "{raw}");
        }
    }
}

#[test]
fn backslash_at_the_end_of_a_key_is_within_the_text() {
    let schema = anything();
    for raw in ["\"{“\"\\", "{“\"\\", "{“a\\", "{'a\\", "{\"a\\", "{`a\\"] {
        for stop in [
            StopReason::Finished,
            StopReason::Unknown,
            StopReason::CutOff,
        ] {
            let verdict = Gate::new(&schema).stop(stop).check(raw);
            assert_eq!(verdict.name(), "bad", "{raw}");
        }
    }
}

#[test]
fn invalid_call_is_refused_when_no_issues_are_wanted() {
    let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false,
        "properties": {"path": {"type": "string"}}});
    let schema = Schema::compile(&schema).unwrap();
    for policy in [Policy::strict(), Policy::safe(), Policy::eager()] {
        let limits = Limits::default().max_issues(0);
        let gate = Gate::new(&schema).policy(policy).limits(limits);
        for raw in [
            r#"{"path": {"a": 1}, "other": 1}"#,
            "{}",
            "",
            "null",
            "7",
            "[]",
        ] {
            assert!(matches!(gate.check(raw), Verdict::Bad(_)), "{raw}");
        }
        let Verdict::Bad(bad) = gate.check("{}") else {
            panic!("a required member is missing");
        };
        assert_eq!((bad.reason, bad.issues.len()), (Reason::WrongShape, 0));
    }
}
