//! Compares the strict parser with serde_json: it accepts the same texts, reads the same values and
//! writes the same text.

#![no_main]

use goodcall_core::Tree;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let theirs = serde_json::from_slice::<Value>(bytes);
    let tree = match (Tree::parse_bytes(bytes), &theirs) {
        (Ok(tree), _) => tree,
        (Err(_), Err(_)) => return,
        (Err(error), Ok(_)) => panic!("only serde_json accepts: {error}"),
    };
    match &theirs {
        // An integer that does not fit 64 bits is refused, never rounded.
        Ok(value) => match tree.to_value() {
            Ok(ours) => {
                // An integer is one in our value, however it is written.
                assert_eq!(with_floats(&ours), with_floats(value));
                assert_eq!(tree.deserialize::<Value>(), Ok(ours));
            }
            Err(_) => assert!(tree.deserialize::<Value>().is_err()),
        },
        // Numbers beyond `f64` and one more level of nesting are accepted.
        Err(error) => {
            let text = error.to_string();
            let known = ["number out of range", "recursion limit exceeded"];
            assert!(known.iter().any(|known| text.starts_with(known)), "{text}");
        }
    }
    let json = tree.to_json();
    let again = Tree::parse(&json).expect("our own text is JSON");
    assert_eq!(again, tree);
    assert_eq!(again.to_json(), json);
});

/// The value with all numbers as floats.
fn with_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => items.iter().map(with_floats).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), with_floats(value)))
            .collect(),
        other => other.clone(),
    }
}
