//! Law 1 for keys: a declared, absent property in another style counts as that property.

use goodcall_core::{Change, Explain, Gate, Kind, Node, Policy, RuleId, Schema, Style, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns true if a key may be a declared one misspelt, or if the root may be an envelope.
pub(super) fn is_suspect(document: &Value, root: Node<'_>) -> bool {
    let mut names = Vec::new();
    property_names(document, &mut names);
    let envelope = root
        .members()
        .any(|(_, value)| matches!(value.kind(), Kind::Object | Kind::String));
    let envelope = envelope && root.members().all(|(key, _)| !names.contains(&key));
    envelope || has_twin(root, &names)
}

/// Returns true for a change by one of the rules that may change a call which is valid by the letter.
pub(super) fn is_about_keys(change: &Change) -> bool {
    matches!(change.rule, RuleId::KeyStyle | RuleId::WrappedArguments)
}

fn property_names<'d>(document: &'d Value, names: &mut Vec<&'d str>) {
    match document {
        Value::Object(map) => {
            let own = map.get("properties").and_then(Value::as_object);
            names.extend(own.into_iter().flatten().map(|(name, _)| name.as_str()));
            map.values().for_each(|value| property_names(value, names));
        }
        Value::Array(list) => list.iter().for_each(|value| property_names(value, names)),
        _ => {}
    }
}

fn has_twin(node: Node<'_>, names: &[&str]) -> bool {
    let bare = |name: &str| -> String {
        let kept = name.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let twin = |key: &str| {
        names
            .iter()
            .any(|name| *name != key && bare(name) == bare(key))
    };
    let mut members = node.members();
    members.any(|(key, value)| twin(key) || has_twin(value, names))
        || node.elements().any(|item| has_twin(item, names))
}

/// Writes words in one of five styles.
fn styled(words: &[String], style: usize) -> String {
    let capital = |word: &String| word[..1].to_uppercase() + &word[1..];
    let capitals = || words.iter().map(capital).collect::<String>();
    match style {
        0 => words.join("_"),
        1 => words.join("-"),
        2 => capitals(),
        3 => words.join("_").to_uppercase(),
        _ => words[0].clone() + &capitals()[words[0].len()..],
    }
}

/// Puts a schema and its arguments into an object, or a list, of this many levels.
fn nested(schema: Value, value: Value, levels: &[bool]) -> (Value, Value) {
    levels
        .iter()
        .fold((schema, value), |(schema, value), list| {
            let (schema, value) = if *list {
                (json!({"type": "array", "items": schema}), json!([value]))
            } else {
                (schema, value)
            };
            let around = json!({"type": "object", "properties": {"inner": schema}});
            (around, json!({"inner": value}))
        })
}

fn verdict(schema: &Value, value: &Value, policy: Policy) -> (String, Vec<RuleId>, String) {
    let schema = Schema::compile(schema).expect("a schema");
    let raw = value.to_string();
    match Gate::new(&schema).policy(policy).check(&raw) {
        Verdict::Good(tree) => ("good".to_owned(), Vec::new(), tree.to_json()),
        Verdict::Mended(mended) => {
            let rules = mended.changes.iter().map(|change| change.rule).collect();
            ("mended".to_owned(), rules, mended.arguments.to_json())
        }
        Verdict::Bad(bad) => {
            let text = Explain::new(Style::Model).text(&bad);
            ("bad".to_owned(), Vec::new(), text)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn declared_key_in_another_style_is_that_key(
        words in prop::collection::vec("[a-z]{3,6}", 2..4),
        declared in 0..5_usize,
        other in 1..5_usize,
        levels in prop::collection::vec(any::<bool>(), 0..3),
        flag: bool,
    ) {
        let (name, sent) = (styled(&words, declared), styled(&words, (declared + other) % 5));
        let open = json!({"type": "object", "properties": {&name: {"type": "boolean"}}});
        let (schema, misspelt) = nested(open.clone(), json!({&sent: flag}), &levels);
        let (_, right) = nested(open.clone(), json!({&name: flag}), &levels);
        let mended = verdict(&schema, &misspelt, Policy::safe());
        prop_assert_eq!(mended, ("mended".into(), vec![RuleId::KeyStyle], right.to_string()));
        let (bad, _, text) = verdict(&schema, &misspelt, Policy::strict());
        prop_assert!(bad == "bad" && text.contains(&name) && text.contains(&sent), "{}", text);

        // Valid as sent: the value does not fit, both keys are there, or the object is a map.
        let map = json!({"type": "object", "properties": {&name: {"type": "boolean"}},
            "additionalProperties": {"type": "boolean"}});
        for (schema, value) in [
            (&open, json!({&sent: "no"})),
            (&open, json!({&name: !flag, &sent: flag})),
            (&map, json!({&sent: flag})),
        ] {
            let (schema, value) = nested(schema.clone(), value, &levels);
            for policy in [Policy::safe(), Policy::eager(), Policy::strict()] {
                let good = verdict(&schema, &value, policy);
                prop_assert_eq!(good, ("good".into(), Vec::new(), value.to_string()));
            }
        }
    }
}
