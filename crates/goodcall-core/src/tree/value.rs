//! From the tree to `serde_json::Value`, which cannot hold every number.

use std::error::Error;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::{Decimal, Kind, Node, Pointer, Tree};

/// An integer that a `serde_json::Value` cannot hold exactly.
///
/// A rounded number is a different number, so the conversion names it instead of rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexact {
    /// Where the number is.
    pub pointer: Pointer,
    /// Its digits.
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
    /// This value as a `serde_json::Value`.
    ///
    /// # Errors
    /// If an integer does not fit exactly. Numbers with a fraction become the nearest `f64`, as
    /// everywhere in serde_json; the tree itself keeps their digits.
    pub fn to_value(&self) -> Result<Value, Inexact> {
        self.root().to_value()
    }
}

impl Node<'_> {
    /// This value as a `serde_json::Value`.
    ///
    /// # Errors
    /// If an integer does not fit exactly; see [`Tree::to_value`].
    pub fn to_value(self) -> Result<Value, Inexact> {
        self.convert().map_err(|(mut segments, digits)| {
            let mut pointer = Pointer::root();
            while let Some(segment) = segments.pop() {
                pointer.push(&segment);
            }
            Inexact { pointer, digits }
        })
    }

    /// On failure: the segments from the number up to here, and its digits.
    fn convert(self) -> Result<Value, (Vec<String>, String)> {
        let slot = self.slot();
        Ok(match slot.kind {
            Kind::Null => Value::Null,
            Kind::Boolean => Value::Bool(slot.truth),
            Kind::String => Value::String(self.tree.text_of(slot).to_owned()),
            Kind::Number => {
                let digits = self.tree.text_of(slot);
                let number = to_number(digits).ok_or_else(|| (Vec::new(), digits.to_owned()))?;
                Value::Number(number)
            }
            Kind::Array => {
                let mut items = Vec::with_capacity(self.len());
                for (index, element) in self.elements().enumerate() {
                    items.push(
                        element
                            .convert()
                            .map_err(|e| within(e, index.to_string()))?,
                    );
                }
                Value::Array(items)
            }
            Kind::Object => {
                let mut map = Map::new();
                for (key, value) in self.members() {
                    let value = value.convert().map_err(|e| within(e, key.to_owned()))?;
                    map.insert(key.to_owned(), value);
                }
                Value::Object(map)
            }
        })
    }
}

fn within((mut segments, digits): (Vec<String>, String), segment: String) -> (Vec<String>, String) {
    segments.push(segment);
    (segments, digits)
}

/// Below this every integer is an `f64`, so none is rounded.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number as serde_json holds it; `None` for an integer it would round, and for a number
/// beyond the range of `f64`.
pub(crate) fn to_number(digits: &str) -> Option<Number> {
    if let Some(number) = plain_integer(digits) {
        return Some(number);
    }
    let nearest: f64 = digits.parse().ok()?;
    let number = Number::from_f64(nearest)?;
    if nearest.abs() < EXACT {
        return Some(number);
    }
    let exact = Decimal::parse(digits)?;
    let rounded = exact.is_integer() && Decimal::parse(&number.to_string())? != exact;
    (!rounded).then_some(number)
}

/// `-0` is left to `f64`, the only one of the two that can hold it.
fn plain_integer(digits: &str) -> Option<Number> {
    match digits.strip_prefix('-') {
        None => digits.parse::<u64>().ok().map(Number::from),
        Some("0") => None,
        Some(_) => digits.parse::<i64>().ok().map(Number::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_or_refused() {
        for digits in ["0", "-1", "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(to_number(digits).unwrap().to_string(), digits);
        }
        // Exact in binary or in its shortest form.
        assert!(to_number("100000000000000000000").is_some());
        assert!(to_number("1e22").is_some());
        for digits in ["18446744073709551617", "12345678901234567890123", "1e400"] {
            assert_eq!(to_number(digits), None, "{digits}");
        }
    }

    #[test]
    fn the_place_of_an_inexact_number_is_named() {
        let tree = Tree::parse(r#"{"ids": [1, 12345678901234567890123]}"#).unwrap();
        let error = tree.to_value().unwrap_err();
        assert_eq!(error.pointer.as_str(), "/ids/1");
        assert_eq!(
            error.to_string(),
            "ids.1: 12345678901234567890123 does not fit a 64-bit number exactly"
        );
    }
}
