//! Serializing a tree with serde.

use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Kind, Node, Tree};

/// Serializes the value with its members in order. A number that neither a 64-bit integer nor an
/// `f64` writes as it stands is handed to serde_json as raw digits, so that none is lost.
impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(to)
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            Kind::Null => to.serialize_unit(),
            Kind::Boolean => to.serialize_bool(self.as_bool() == Some(true)),
            Kind::Number => serialize_number(self.digits().expect("the node is a number"), to),
            Kind::String => to.serialize_str(self.as_str().expect("the node is a string")),
            Kind::Array => to.collect_seq(self.elements()),
            Kind::Object => to.collect_map(self.members()),
        }
    }
}

fn serialize_number<S: Serializer>(digits: &str, to: S) -> Result<S::Ok, S::Error> {
    match digits.parse::<i64>() {
        Ok(number) if digits != "-0" => return to.serialize_i64(number),
        _ => {}
    }
    if let Ok(number) = digits.parse::<u64>() {
        return to.serialize_u64(number);
    }
    let nearest = digits
        .parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64);
    match nearest {
        Some(number) if number.to_string() == digits => number.serialize(to),
        _ => serde_json::from_str::<&RawValue>(digits)
            .map_err(serde::ser::Error::custom)?
            .serialize(to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_digits_are_kept() {
        let text =
            r#"{"z":1.50,"a":[1e5,-0,{"k":null}],"":true,"n":12345678901234567890123,"f":-2.5}"#;
        let tree = Tree::parse(text).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), text);
    }
}
