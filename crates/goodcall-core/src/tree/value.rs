//! Converting a tree to a `serde_json::Value`, which cannot hold every number.

use std::error::Error;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::{Decimal, Kind, Node, Pointer, Slot, TextStore, Tree};

/// An integer that a `serde_json::Value` cannot hold exactly.
///
/// A rounded number is a different number, so the conversion names it instead of rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inexact {
    /// The place of the number.
    pub pointer: Pointer,
    /// Its digits, as written.
    pub digits: String,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, place) = (&self.digits, self.pointer.dotted());
        write!(f, "{place}: {digits} does not fit a 64-bit number exactly")
    }
}

impl Error for Inexact {}

impl Tree<'_> {
    /// Converts this value to a `serde_json::Value`.
    ///
    /// An integer is one in the value, however it is written: `5.0`, `1e1` and `-0` become 5, 10 and
    /// 0, so that `as_i64` finds what `"type": "integer"` has accepted. Numbers with a fraction become
    /// the nearest `f64`, as everywhere in serde_json. The tree itself keeps the digits as written.
    ///
    /// # Errors
    /// If an integer does not fit exactly.
    pub fn to_value(&self) -> Result<Value, Inexact> {
        self.root().to_value()
    }
}

impl Node<'_> {
    /// Converts this value to a `serde_json::Value`.
    ///
    /// # Errors
    /// If an integer does not fit exactly; see [`Tree::to_value`].
    pub fn to_value(self) -> Result<Value, Inexact> {
        let mut inexact = None;
        let parts = Parts {
            slots: &self.tree.slots,
            source: &self.tree.source,
            buffer: &self.tree.buffer,
        };
        let value = parts.value(self.slot(), &mut inexact);
        match inexact {
            None => Ok(value),
            Some(number) => Err(inexact_at(self, number)),
        }
    }
}

/// The parts of a tree, looked up once for all its values.
struct Parts<'t> {
    slots: &'t [Slot],
    source: &'t str,
    buffer: &'t str,
}

impl<'t> Parts<'t> {
    #[inline(always)]
    fn text(&self, slot: &Slot) -> &'t str {
        let all = match slot.text {
            TextStore::Source => self.source,
            TextStore::Buffer => self.buffer,
        };
        let start = slot.head as usize;
        all.get(start..start + slot.size as usize)
            .unwrap_or_default()
    }

    /// The value of a slot. A number that does not fit is put into `inexact` and becomes `null`:
    /// returning values is faster than returning results, and such numbers are rare.
    // Inlined into every loop, so that a scalar costs no call.
    #[inline(always)]
    fn value(&self, slot: &'t Slot, inexact: &mut Option<&'t Slot>) -> Value {
        match slot.kind {
            Kind::String => Value::String(self.text(slot).to_owned()),
            Kind::Number => match to_number(self.text(slot)) {
                Some(number) => Value::Number(number),
                None => {
                    inexact.get_or_insert(slot);
                    Value::Null
                }
            },
            Kind::Boolean => Value::Bool(slot.truth),
            Kind::Null => Value::Null,
            Kind::Array => self.array(slot, inexact),
            Kind::Object => self.object(slot, inexact),
        }
    }

    #[inline(never)]
    fn array(&self, slot: &'t Slot, inexact: &mut Option<&'t Slot>) -> Value {
        let mut items = Vec::with_capacity(slot.size as usize);
        let mut next = slot.head;
        for _ in 0..slot.size {
            let item = &self.slots[next as usize];
            items.push(self.value(item, inexact));
            next = item.next;
        }
        Value::Array(items)
    }

    #[inline(never)]
    fn object(&self, slot: &'t Slot, inexact: &mut Option<&'t Slot>) -> Value {
        let mut map = Map::new();
        let mut next = slot.head;
        for _ in 0..slot.size {
            let key = &self.slots[next as usize];
            let member = &self.slots[key.next as usize];
            let value = self.value(member, inexact);
            map.insert(self.text(key).to_owned(), value);
            next = member.next;
        }
        Value::Object(map)
    }
}

/// The error for a number, with its pointer.
#[cold]
fn inexact_at(root: Node<'_>, number: &Slot) -> Inexact {
    let mut segments = Vec::new();
    climb(root, number, &mut segments);
    let mut pointer = Pointer::root();
    while let Some(segment) = segments.pop() {
        pointer.push(&segment);
    }
    Inexact {
        pointer,
        digits: root.tree.text_of(number).to_owned(),
    }
}

/// Lists the segments from this slot up to the value. Returns false if it is not in the value.
fn climb(node: Node<'_>, slot: &Slot, segments: &mut Vec<String>) -> bool {
    if std::ptr::eq(node.slot(), slot) {
        return true;
    }
    for (index, inner) in node.elements().enumerate() {
        if climb(inner, slot, segments) {
            segments.push(index.to_string());
            return true;
        }
    }
    for (key, inner) in node.members() {
        if climb(inner, slot, segments) {
            segments.push(key.to_owned());
            return true;
        }
    }
    false
}

/// Below this, `f64` holds every integer exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number as serde_json holds it; `None` for an integer that it would round, and for a number
/// beyond the range of `f64`.
pub(crate) fn to_number(digits: &str) -> Option<Number> {
    if let Some(number) = plain_integer(digits).or_else(|| short_decimal(digits.as_bytes())) {
        return Some(number);
    }
    let nearest: f64 = digits.parse().ok()?;
    let number = Number::from_f64(nearest)?;
    if nearest.fract() != 0.0 {
        return Some(number);
    }
    let exact = Decimal::parse(digits)?;
    if !exact.is_integer() {
        return Some(number);
    }
    if let Some(integer) = exact.to_plain_integer(FITTING) {
        let plain = plain_integer(&integer);
        if plain.is_some() {
            return plain;
        }
    }
    let rounded = nearest.abs() >= EXACT && Decimal::parse(&number.to_string())? != exact;
    (!rounded).then_some(number)
}

/// An integer of 64 bits that is written without a fraction or an exponent.
#[inline]
fn plain_integer(digits: &str) -> Option<Number> {
    match digits.as_bytes() {
        [] => None,
        [b'-', ..] => digits.parse::<i64>().ok().map(Number::from),
        short if short.len() < FITTING => short_integer(short).map(Number::from),
        _ => digits.parse::<u64>().ok().map(Number::from),
    }
}

/// A number with a point and at most 15 digits. Floats hold these digits and the power of ten behind
/// the point exactly, so that their quotient is the nearest float.
fn short_decimal(digits: &[u8]) -> Option<Number> {
    let (sign, digits) = match digits {
        [b'-', digits @ ..] => (-1, digits),
        _ => (1, digits),
    };
    let point = digits.iter().position(|byte| *byte == b'.')?;
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    if whole.is_empty() || fraction.is_empty() || digits.len() > 16 {
        return None;
    }
    let scale = 10_i64.pow(fraction.len() as u32);
    let parts = (
        short_integer(whole)? as i64,
        short_integer(fraction)? as i64,
    );
    let scaled = sign * (parts.0 * scale + parts.1);
    if parts.1 == 0 {
        return Some(Number::from(sign * parts.0));
    }
    Number::from_f64(scaled as f64 / scale as f64)
}

/// Fewer digits than this are below `u64::MAX`, whatever they are.
const FITTING: usize = 20;

/// The value of so few digits that they fit; `None` if they are not digits alone.
#[inline(always)]
fn short_integer(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_would_be_rounded_are_refused() {
        for digits in [
            "0",
            "-1",
            "9999999999999999999",
            "10000000000000000000",
            "18446744073709551615",
            "-9223372036854775808",
        ] {
            assert_eq!(to_number(digits).unwrap().to_string(), digits);
        }
        // Exact in binary or in its shortest form.
        assert!(to_number("100000000000000000000").is_some());
        assert!(to_number("1e22").is_some());
        for digits in [
            "",
            "-",
            "1x",
            "18446744073709551617",
            "12345678901234567890123",
            "1e400",
        ] {
            assert_eq!(to_number(digits), None, "{digits}");
        }
    }

    #[test]
    fn numbers_with_a_fraction_are_the_nearest_floats() {
        for digits in [
            "0.1",
            "-0.1",
            "19.99",
            "1250.5",
            "0.30000000000004",
            "12345678901234.5",
            "123456789012345.6",
            "0.000000000000001",
            "1e-7",
            "2.5e3",
            "-7.125",
            "100.10",
        ] {
            let number = to_number(digits).unwrap();
            assert_eq!(number.as_f64(), digits.parse().ok(), "{digits}");
        }
        for digits in ["1.", ".5", "1.2.3", "-.1"] {
            let number = to_number(digits).and_then(|number| number.as_f64());
            assert_eq!(number, digits.parse().ok(), "{digits}");
        }
    }

    #[test]
    fn integers_are_integers_however_they_are_written() {
        for (digits, integer) in [
            ("5.0", 5),
            ("1e1", 10),
            ("-0", 0),
            ("-0.0", 0),
            ("-2.50e1", -25),
            ("9007199254740993.0", 9_007_199_254_740_993),
        ] {
            assert_eq!(
                to_number(digits).unwrap().as_i64(),
                Some(integer),
                "{digits}"
            );
        }
        let nearly = to_number("5.00000000000000000001").unwrap();
        assert_eq!((nearly.as_i64(), nearly.as_f64()), (None, Some(5.0)));
    }

    #[test]
    fn inexact_number_is_reported_with_its_pointer() {
        let tree = Tree::parse(r#"{"ids": [1, 12345678901234567890123]}"#).unwrap();
        let error = tree.to_value().unwrap_err();
        assert_eq!(error.pointer.as_str(), "/ids/1");
        assert_eq!(
            error.to_string(),
            "ids.1: 12345678901234567890123 does not fit a 64-bit number exactly"
        );
    }
}
