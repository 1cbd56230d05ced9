//! Canonical JSON as in RFC 8785: equal values have equal texts.
//!
//! There is one departure, because numbers are exact here: a number that a 64-bit float cannot hold
//! keeps its digits, so that two ids beyond 2^53 stay two ids.

use goodcall_core::{Kind, Node};

/// Returns the canonical text of a value.
pub(crate) fn canonical(node: Node<'_>) -> String {
    let mut out = String::new();
    write(node, &mut out);
    out
}

/// Writes one value. The recursion is bounded by the parser's limit on nesting.
fn write(node: Node<'_>, out: &mut String) {
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Boolean => out.push_str(if node.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        }),
        Kind::Number => number(node.digits().expect("numbers have digits"), out),
        Kind::String => string(node.as_str().expect("strings have a text"), out),
        Kind::Array => {
            out.push('[');
            for (index, element) in node.elements().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Kind::Object => {
            let mut members: Vec<_> = node.members().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Returns the significant digits of a decimal and the position of the decimal point.
fn significant(digits: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_sub(i64::try_from(leading).ok()?)?;
    let text = all.trim_matches('0').to_owned();
    Some((text, point.checked_add(exponent)?))
}

/// Writes a number as ECMAScript does.
fn number(source: &str, out: &mut String) {
    let (sign, digits) = match source.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", source),
    };
    let Some((exact, point)) = significant(digits) else {
        out.push_str(source);
        return;
    };
    if exact.is_empty() {
        out.push('0');
        return;
    }
    // The shortest digits that parse as the nearest float, if there is one.
    let float = digits
        .parse::<f64>()
        .ok()
        .filter(|float| float.is_finite() && *float > 0.0);
    let shortest = float.and_then(|float| significant(&format!("{float:e}")));
    let (text, point) = match shortest {
        Some(shortest) if exact.len() <= 17 && !beyond(&exact, point, &shortest) => shortest,
        _ => (exact, point),
    };
    out.push_str(sign);
    layout(&text, point, out);
}

/// Returns true if the nearest float is a different integer.
fn beyond(exact: &str, point: i64, shortest: &(String, i64)) -> bool {
    let integer = i64::try_from(exact.len()).is_ok_and(|len| len <= point);
    integer && (exact, point) != (shortest.0.as_str(), shortest.1)
}

/// Lays out significant digits as ECMAScript's `Number::toString` does.
fn layout(text: &str, point: i64, out: &mut String) {
    let count = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
    if count <= point && point <= 21 {
        out.push_str(text);
        out.push_str(&zeros(point - count));
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = text.split_at(usize::try_from(point).unwrap_or(0));
        out.push_str(&format!("{whole}.{fraction}"));
    } else if -6 < point && point <= 0 {
        out.push_str(&format!("0.{}{text}", zeros(-point)));
    } else {
        let (first, rest) = text.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let exponent = point - 1;
        let plus = if exponent > 0 { "+" } else { "" };
        out.push_str(&format!("{first}{dot}{rest}e{plus}{exponent}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodcall_core::Tree;

    fn of(text: &str) -> String {
        canonical(Tree::parse(text).unwrap().root())
    }

    #[test]
    fn examples_of_the_rfc_match() {
        assert_eq!(
            of(
                r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#
            ),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        // Keys are sorted by UTF-16 code units: the emoji's surrogates come before U+FB33.
        assert_eq!(
            of(r#"{"\ufb33": 1, "\ud83d\ude00": 2, "\u20ac": 3, "1": 4, "\r": 5}"#),
            "{\"\\r\":5,\"1\":4,\"€\":3,\"😀\":2,\"\u{fb33}\":1}"
        );
    }

    #[test]
    fn equal_numbers_have_equal_texts() {
        for (source, text) in [
            ("5", "5"),
            ("5.0", "5"),
            ("50e-1", "5"),
            ("-0", "0"),
            ("0.0", "0"),
            ("1e21", "1e+21"),
            ("100000000000000000000", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("-1.50", "-1.5"),
        ] {
            assert_eq!(of(source), text, "{source}");
        }
    }

    #[test]
    fn integers_beyond_a_float_stay_distinct() {
        assert_ne!(of("9007199254740993"), of("9007199254740992"));
        assert_ne!(of("12345678901234567890123"), of("12345678901234567890124"));
    }
}
