//! Compares the strict parser with serde_json: both accept the same texts and read the same values.
//!
//! They differ by design in
//! - a number beyond the range of `f64`, such as `1e400`: we keep its digits, serde_json refuses it;
//! - an integer that is written with a fraction or an exponent, such as `5.0`: it is an integer in our
//!   `Value`, a float in theirs;
//! - an integer that no 64-bit number holds: we refuse the `Value`, serde_json rounds it;
//! - nesting: our limit is 128 levels, that of serde_json 127.

use goodcall_core::Tree;
use proptest::prelude::*;
use serde_json::Value;

/// Compares both parsers on one text.
fn compare(bytes: &[u8]) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_slice::<Value>(bytes);
    let ours = Tree::parse_bytes(bytes);
    match (&ours, &theirs) {
        (Ok(tree), Ok(value)) => same_value(tree, value)?,
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => {
            let text = error.to_string();
            let known = ["number out of range", "recursion limit exceeded"];
            let known = known.iter().any(|known| text.starts_with(known));
            prop_assert!(known, "only serde_json refuses: {text}");
        }
        (Err(error), Ok(_)) => prop_assert!(false, "only serde_json accepts: {error}"),
    }
    if let Ok(tree) = &ours {
        let json = tree.to_json();
        let again = Tree::parse(&json);
        prop_assert_eq!(again.as_ref(), Ok(tree), "{}", json);
        prop_assert_eq!(again.map(|tree| tree.to_json()), Ok(json));
    }
    Ok(())
}

/// Asserts that the tree has the value that serde_json read, converted in both ways.
fn same_value(tree: &Tree<'_>, value: &Value) -> Result<(), TestCaseError> {
    match tree.to_value() {
        Ok(ours) => {
            prop_assert!(is_same(&ours, value), "{ours} is not {value}");
            let typed = tree.deserialize::<Value>();
            prop_assert_eq!(typed, Ok(ours));
        }
        Err(inexact) => {
            // The integer does not fit 64 bits, and its nearest float is another number.
            let digits = &inexact.digits;
            prop_assert!(digits.parse::<u64>().is_err() && digits.parse::<i64>().is_err());
            let nearest = digits.parse::<f64>().unwrap_or_default();
            prop_assert!(nearest.abs() >= 9e15, "{}", digits);
            prop_assert!(tree.deserialize::<Value>().is_err());
        }
    }
    Ok(())
}

/// Returns true if the values are equal, but for the integers that serde_json holds as floats.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            ours == theirs || !ours.is_f64() && theirs.is_f64() && ours.as_f64() == theirs.as_f64()
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            let mut pairs = ours.iter().zip(theirs);
            ours.len() == theirs.len() && pairs.all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let mut pairs = ours.iter().zip(theirs);
            let same = |(ours, theirs): ((&String, &Value), (&String, &Value))| {
                ours.0 == theirs.0 && is_same(ours.1, theirs.1)
            };
            ours.len() == theirs.len() && pairs.all(same)
        }
        (ours, theirs) => ours == theirs,
    }
}

/// Generates JSON text with white space.
fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| Value::from(n).to_string()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
        string(),
    ];
    scalar.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            (prop::collection::vec((space(), inner.clone()), 0..6)).prop_map(|items| {
                let items: Vec<_> = items.iter().map(|(s, i)| format!("{s}{i}{s}")).collect();
                format!("[{}]", items.join(","))
            }),
            (prop::collection::vec((string(), space(), inner), 0..6)).prop_map(|members| {
                let members = members.iter().map(|(k, s, v)| format!("{s}{k}{s}:{s}{v}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

fn space() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,2}"
}

/// Generates a quoted string with escapes of every kind.
fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z_]{0,12}",
        "[^\"\\\\\u{0}-\u{1f}]{0,9}",
        "\\\\[\"\\\\/bfnrt]",
        "\\\\u[0-9a-fA-F]{4}",
        "\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}",
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// A change to some bytes of a text.
#[derive(Clone, Debug)]
enum Mutation {
    Delete(prop::sample::Index),
    Insert(prop::sample::Index, u8),
    Replace(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"{}[]:,\"\\/ \t\n\r0123456789.-+eEtfnulrasbdxu\0\x1f\x7f".to_vec()),
    ];
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(Mutation::Delete),
        (at(), byte.clone()).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        (at(), byte).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        at().prop_map(Mutation::Cut),
        (at(), at()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match mutation {
        Mutation::Delete(at) => {
            bytes.remove(at.index(len));
        }
        Mutation::Insert(at, byte) => bytes.insert(at.index(len), *byte),
        Mutation::Replace(at, byte) => bytes[at.index(len)] = *byte,
        Mutation::Cut(at) => bytes.truncate(at.index(len)),
        Mutation::Repeat(from, to) => {
            let (from, to) = (from.index(len), to.index(len));
            let piece = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.splice(from..from, piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_read_like_serde_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        compare(&bytes)?;
    }

    #[test]
    fn arbitrary_json_characters_read_like_serde_json(text in "[\\[\\]{}:,\"\\\\ \n0-9.eE+\\-truefalsnu]{0,40}") {
        compare(text.as_bytes())?;
    }

    #[test]
    fn valid_json_reads_like_serde_json(text in json()) {
        compare(text.as_bytes())?;
    }

    #[test]
    fn mutated_json_reads_like_serde_json(text in json(), mutations in prop::collection::vec(mutation(), 1..4)) {
        let mut bytes = text.into_bytes();
        for mutation in &mutations {
            apply(&mut bytes, mutation);
        }
        compare(&bytes)?;
    }
}

#[test]
fn known_differences_to_serde_json() {
    for number in ["1e400", "-1e999", "[1E+400]"] {
        assert_eq!(Tree::parse(number).unwrap().to_json(), number);
        assert!(serde_json::from_str::<Value>(number).is_err());
    }
    let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Tree::parse(&nested(128)).is_ok());
    assert!(Tree::parse(&nested(129)).is_err());
    assert!(serde_json::from_str::<Value>(&nested(127)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(128)).is_err());
}
