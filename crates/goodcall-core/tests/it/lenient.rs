//! Properties of lenient and incremental reading.

use goodcall_core::{
    Gate, Kind, Node, Policy, ReadOptions, Reading, RuleId, Schema, StreamParser, Tree, Verdict,
    read,
};
use proptest::prelude::*;
use serde_json::Value;

fn eager() -> ReadOptions {
    ReadOptions::new().policy(Policy::eager())
}

/// The pieces from which broken JSON is generated.
const PIECES: [&str; 83] = [
    "｛",
    "｝",
    "~~~",
    "new Date(",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "\n",
    " ",
    "a",
    "key",
    "\"a\"",
    "\"b\":",
    "'c':",
    "1",
    "-2.5",
    "1e",
    "0x1F",
    "true",
    "None",
    "undefined",
    "null",
    "tr",
    "```",
    "```json\n",
    "//c\n",
    "/*",
    "*/",
    "#",
    "...",
    "…",
    "：",
    "，",
    "“",
    "”",
    "‘",
    "’",
    "(",
    ")",
    "f(",
    "x=",
    "=>",
    "+",
    "\"\"\"",
    "''",
    "<think>",
    "</think>",
    "<|x|>",
    "&quot;",
    "\\u00",
    "\\ud83d",
    "\\x41",
    "é",
    "😀",
    "\u{feff}",
    "\u{a0}",
    "C:\\Users",
    "say \"hi\" now",
    ";",
    "{\"a\": \"b\"",
    "«",
    "»",
    "‹",
    "「",
    "」",
    "❝",
    "＂",
    "´",
    "″",
    "C:\\t",
    "\\u{",
    "\\xC3\\xA9",
    "{%",
    "${",
    "\u{b}",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24).prop_map(|p| p.concat())
}

fn nasty_string() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..8);
    pieces.prop_map(|pieces| pieces.concat())
}

fn nasty_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        nasty_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((nasty_string(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Reads a damaged text; `None` if it is refused because an escape in it may be part of a path, as
/// in `a:\n` and `.\new`.
fn read_unless_path(text: &str) -> Option<Reading<'_>> {
    match read(text, &ReadOptions::new()) {
        Ok(reading) => Some(reading),
        Err(refusal) => {
            let rule = refusal.issues[0].expected.rule;
            assert_eq!(rule, Some(RuleId::MixedEscapes), "{text}: {refusal:?}");
            None
        }
    }
}

/// Asserts what must hold of every reading.
fn assert_sound(text: &str, reading: &Reading<'_>) {
    let json = reading.tree.to_json();
    let again = Tree::parse(&json).expect("output is JSON");
    assert_eq!(again.root(), reading.tree.root(), "{text:?}");
    for change in &reading.changes {
        assert!(
            text.get(change.span.clone()).is_some(),
            "{text:?}: {change:?}"
        );
    }
    assert_spans(text, reading.tree.root());
}

fn assert_spans(text: &str, node: Node<'_>) {
    let span = node.span();
    assert!(
        text.get(span.clone()).is_some(),
        "{text:?}: {node} at {span:?}"
    );
    for child in node.elements() {
        assert_spans(text, child);
    }
    for (_, child) in node.members() {
        assert_spans(text, child);
    }
}

/// Returns true if `part` may be the value of a prefix of `whole`.
fn is_part(part: Node<'_>, whole: &Value, last: bool) -> bool {
    match (part.kind(), whole) {
        (Kind::Object, Value::Object(members)) => {
            let count = part.len();
            count <= members.len()
                && part.members().enumerate().all(|(index, (key, value))| {
                    let last = last && index + 1 == count;
                    members
                        .get(key)
                        .is_some_and(|whole| is_part(value, whole, last))
                })
        }
        (Kind::Array, Value::Array(elements)) => {
            let count = part.len();
            count <= elements.len()
                && part.elements().enumerate().all(|(index, value)| {
                    is_part(value, &elements[index], last && index + 1 == count)
                })
        }
        (Kind::String, Value::String(text)) => {
            let got = part.as_str().unwrap_or_default();
            if last {
                text.starts_with(got)
            } else {
                text == got
            }
        }
        (Kind::Number, Value::Number(number)) => {
            let digits = part.digits().unwrap_or_default();
            let whole = number.to_string();
            if last {
                whole.starts_with(digits)
            } else {
                whole == digits
            }
        }
        (Kind::Boolean, Value::Bool(truth)) => part.as_bool() == Some(*truth),
        (Kind::Null, Value::Null) => true,
        _ => false,
    }
}

fn boundaries(text: &str) -> impl Iterator<Item = usize> {
    (0..=text.len()).filter(|at| text.is_char_boundary(*at))
}

fn same(
    a: &Result<Reading<'_>, goodcall_core::Refusal>,
    b: &Result<Reading<'_>, goodcall_core::Refusal>,
) {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            assert_eq!(a.tree.to_json(), b.tree.to_json());
            assert_eq!(
                (&a.changes, &a.cut, a.values),
                (&b.changes, &b.cut, b.values)
            );
        }
        (Err(a), Err(b)) => assert_eq!((a.reason, &a.issues), (b.reason, &b.issues)),
        (a, b) => panic!("{a:?} is not {b:?}"),
    }
}

/// JSON values of any kind, whose strings and keys hold pieces of JSON.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        soup().prop_map(Value::from),
        soup().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((soup(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn valid_text_of_any_root_is_untouched(value in value(), spaced in any::<bool>()) {
        let text = if spaced {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let text = text.expect("a value is JSON");
        let whole = Tree::parse(&text).expect("JSON").to_json();
        for policy in [Policy::strict(), Policy::safe(), Policy::eager()] {
            let reading = read(&text, &ReadOptions::new().policy(policy)).expect("readable");
            prop_assert!(reading.changes.is_empty() && reading.is_complete(), "{text}");
            prop_assert_eq!(reading.tree.to_json(), whole.as_str());
        }
    }
}

/// Objects whose strings and keys hold pieces of JSON.
fn object() -> impl Strategy<Value = Value> {
    let members = prop::collection::vec((nasty_string(), value()), 0..4);
    members.prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn prefix_of_valid_call_is_never_a_call(value in object()) {
        let text = value.to_string();
        let schema = Schema::compile(&serde_json::json!({})).expect("a schema");
        let gate = Gate::new(&schema).policy(Policy::eager());
        for (end, _) in text.char_indices().skip(1).take(500) {
            let verdict = gate.check(&text[..end]);
            prop_assert!(matches!(verdict, Verdict::Bad(_)), "{}: {verdict:?}", &text[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn broken_text_is_read_soundly(text in soup()) {
        for policy in [Policy::safe(), Policy::eager()] {
            if let Ok(reading) = read(&text, &ReadOptions::new().policy(policy).unwrap_strings()) {
                assert_sound(&text, &reading);
            }
        }
        let _ = read(&text, &eager().keys(["a", "b", "key"]));
    }

    #[test]
    fn any_text_is_read_soundly(text in ".{0,60}") {
        if let Ok(reading) = read(&text, &eager()) {
            assert_sound(&text, &reading);
        }
    }

    #[test]
    fn pieces_give_the_same_reading_as_the_whole(text in soup(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let bytes = text.as_bytes();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut stream = StreamParser::new(eager());
        let mut start = 0;
        for end in ends {
            stream.push(&bytes[start..end]);
            if let Some(partial) = stream.partial() {
                let json = partial.to_json();
                prop_assert!(Tree::parse(&json).is_ok(), "{json}");
            }
            start = end;
        }
        same(&stream.finish(), &read(&text, &eager()));
    }

    #[test]
    fn any_bytes_can_be_pushed(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..8), 0..8)) {
        let mut stream = StreamParser::new(eager());
        for piece in &pieces {
            stream.push(piece);
        }
        let whole = pieces.concat();
        match std::str::from_utf8(&whole) {
            Ok(text) => same(&stream.finish(), &read(text, &eager())),
            Err(_) => prop_assert!(stream.finish().is_err()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn valid_text_is_unchanged(value in nasty_value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("JSON")] {
            let reading = read(&text, &eager()).expect("valid");
            prop_assert!(reading.changes.is_empty() && reading.cut.is_none() && reading.values == 1);
            prop_assert_eq!(reading.tree.to_json(), value.to_string());
        }
    }

    /// A defect changes only its own place.
    #[test]
    fn trailing_comma_changes_nothing_else(value in nasty_value()) {
        let text = value.to_string();
        for close in [']', '}'] {
            let Some(bare) = text.strip_suffix(close).filter(|bare| !bare.ends_with(['[', '{'])) else {
                continue;
            };
            let broken = format!("{bare},{close}");
            let Some(reading) = read_unless_path(&broken) else {
                continue;
            };
            prop_assert_eq!(reading.tree.to_json(), &*text);
            prop_assert_eq!(reading.changes.len(), 1);
            prop_assert_eq!(&reading.changes[0].span, &(bare.len()..bare.len() + 1));
        }
    }

    /// Fences and prose around a value do not change it.
    #[test]
    fn surrounding_text_does_not_change_the_value(value in nasty_value()) {
        let text = serde_json::json!({"value": value}).to_string();
        for broken in [
            format!("```json\n{text}\n```"),
            format!("Here it is:\n{text}\nDone."),
            format!("\u{feff}{text}"),
            format!("<|call|>{text}<|end|>"),
        ] {
            let Some(reading) = read_unless_path(&broken) else {
                continue;
            };
            prop_assert_eq!(reading.tree.to_json(), &*text);
        }
    }

    #[test]
    fn every_prefix_is_part_of_the_whole(value in nasty_value()) {
        let value = serde_json::json!([value]);
        let text = value.to_string();
        for end in boundaries(&text).take_while(|end| *end < text.len()) {
            let prefix = &text[..end];
            if let Ok(reading) = read(prefix, &eager()) {
                prop_assert!(reading.cut.is_some(), "{prefix:?} is not whole");
                prop_assert!(is_part(reading.tree.root(), &value, true), "{prefix:?}: {}", reading.tree);
            }
        }
    }

    #[test]
    fn partial_value_is_part_of_the_whole(value in nasty_value()) {
        let text = value.to_string();
        let mut stream = StreamParser::new(eager());
        for piece in text.as_bytes().chunks(3) {
            stream.push(piece);
            if let Some(partial) = stream.partial() {
                prop_assert!(is_part(partial, &value, true), "{}: {partial}", stream.text());
            }
        }
        let reading = stream.finish().expect("valid");
        prop_assert_eq!(reading.tree.to_json(), text);
    }
}
