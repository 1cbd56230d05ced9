//! Deserializing a tree into a Rust type, without a `Value` in between.

use std::error::Error;
use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::map_key::MapKey;
use super::raw_value::{RawMember, is_raw_value};
use super::{Elements, Kind, Members, Node, Pointer, Tree, is_integer, to_number};

/// Why a tree does not fit a Rust type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeserializeError {
    message: String,
    /// What was found and what was expected, if the type said so.
    mismatch: Option<Box<(String, String)>>,
    /// From the faulty value up to the root; reversed when read.
    segments: Vec<String>,
}

impl DeserializeError {
    fn within(mut self, segment: &str) -> Self {
        self.segments.push(segment.to_owned());
        self
    }

    /// The place of the value that does not fit.
    pub fn pointer(&self) -> Pointer {
        let mut pointer = Pointer::root();
        for segment in self.segments.iter().rev() {
            pointer.push(segment);
        }
        pointer
    }

    /// The type's own message, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The value that was found, if it has the wrong type or is out of range: `integer `300``.
    pub fn actual(&self) -> Option<&str> {
        self.mismatch.as_deref().map(|(actual, _)| actual.as_str())
    }

    /// The name of what was expected instead, such as `u8`.
    pub fn expected(&self) -> Option<&str> {
        self.mismatch
            .as_deref()
            .map(|(_, expected)| expected.as_str())
    }

    fn mismatch(problem: &str, actual: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let (actual, expected) = (actual.to_string(), expected.to_string());
        Self {
            message: format!("{problem}: {actual}, expected {expected}"),
            mismatch: Some(Box::new((actual, expected))),
            segments: Vec::new(),
        }
    }
}

impl fmt::Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer().dotted(), self.message)
    }
}

impl Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            mismatch: None,
            segments: Vec::new(),
        }
    }

    fn invalid_type(actual: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::mismatch("invalid type", actual, expected)
    }

    fn invalid_value(actual: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::mismatch("invalid value", actual, expected)
    }
}

impl Tree<'_> {
    /// Deserializes the value. Strings may borrow from the tree.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Args<'a> { city: &'a str, days: u8 }
    ///
    /// let tree = goodcall_core::Tree::parse(r#"{"city": "Oslo", "days": 3}"#)?;
    /// let args: Args = tree.deserialize().unwrap();
    /// assert_eq!((args.city, args.days), ("Oslo", 3));
    /// # Ok::<(), goodcall_core::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// If the value does not fit the type; the error names the place.
    pub fn deserialize<'de, T: Deserialize<'de>>(&'de self) -> Result<T, DeserializeError> {
        T::deserialize(self.root())
    }
}

impl<'de> Node<'de> {
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let digits = self.digits().expect("the node is a number");
        let Some(number) = to_number(digits) else {
            return Err(de::Error::custom(format_args!(
                "{digits} does not fit a 64-bit number exactly"
            )));
        };
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_u64(number),
            (_, Some(number), _) => visitor.visit_i64(number),
            (_, _, number) => {
                visitor.visit_f64(number.expect("a number that is not an integer is a float"))
            }
        }
    }

    /// Accepts integers that are written as `5.0` or `5e3`.
    fn visit_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if let Some(digits) = self.digits()
            && is_integer(digits)
        {
            let decimal = super::Decimal::parse(digits);
            let plain = decimal.and_then(|decimal| decimal.to_plain_integer(40));
            let plain = plain.as_deref().unwrap_or(digits);
            return visit_digits(plain, self, visitor);
        }
        de::Deserializer::deserialize_any(self, visitor)
    }

    /// Takes the nearest float, because the type asked for one.
    fn visit_float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visit_nearest_float(self.digits(), self, visitor)
    }
}

/// Hands an integer to a visitor in the first type that holds it; `other` if none does.
pub(super) fn visit_digits<'de, D, V>(
    digits: &str,
    other: D,
    visitor: V,
) -> Result<V::Value, DeserializeError>
where
    D: de::Deserializer<'de, Error = DeserializeError>,
    V: Visitor<'de>,
{
    if let Ok(number) = digits.parse::<u64>() {
        visitor.visit_u64(number)
    } else if let Ok(number) = digits.parse::<i64>() {
        visitor.visit_i64(number)
    } else if let Ok(number) = digits.parse::<u128>() {
        visitor.visit_u128(number)
    } else if let Ok(number) = digits.parse::<i128>() {
        visitor.visit_i128(number)
    } else {
        other.deserialize_any(visitor)
    }
}

/// Hands the nearest float to a visitor; `other` if there is no number, or none that is finite.
pub(super) fn visit_nearest_float<'de, D, V>(
    digits: Option<&str>,
    other: D,
    visitor: V,
) -> Result<V::Value, DeserializeError>
where
    D: de::Deserializer<'de, Error = DeserializeError>,
    V: Visitor<'de>,
{
    match digits.map(str::parse::<f64>) {
        Some(Ok(number)) if number.is_finite() => visitor.visit_f64(number),
        _ => other.deserialize_any(visitor),
    }
}

/// Writes methods of a deserializer that all do what one of its own does.
macro_rules! forward {
    ($to:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            self.$to(visitor)
        })*
    };
}
pub(super) use forward;

impl<'de> de::Deserializer<'de> for Node<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let slot = self.slot();
        match slot.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Boolean => visitor.visit_bool(slot.truth),
            Kind::Number => self.visit_number(visitor),
            Kind::String => visitor.visit_borrowed_str(self.tree.text_of(slot)),
            Kind::Array => {
                let mut seq = Seq {
                    elements: self.elements(),
                    index: 0,
                };
                let read = visitor.visit_seq(&mut seq)?;
                if seq.elements.len() > 0 {
                    let (most, all) = (seq.index, self.len());
                    let words = format!("expected at most {most} elements, got {all}");
                    return Err(de::Error::custom(words));
                }
                Ok(read)
            }
            Kind::Object => visitor.visit_map(Map {
                members: self.members(),
                value: None,
            }),
        }
    }

    forward!(visit_integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128);
    forward!(visit_float: deserialize_f64);

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if let Some(digits) = self.digits()
            && digits.parse().is_ok_and(f32::is_infinite)
        {
            return Err(de::Error::custom(format_args!(
                "{digits} is out of the range of f32"
            )));
        }
        self.visit_float(visitor)
    }

    forward!(deserialize_any: deserialize_bool deserialize_char deserialize_str deserialize_string
        deserialize_unit deserialize_seq deserialize_map deserialize_identifier
        deserialize_ignored_any);

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.as_str() {
            Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        if is_raw_value(name) {
            return visitor.visit_map(RawMember(Some(self.to_json())));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self.kind() {
            Kind::String => visitor.visit_enum(Variant {
                name: self.as_str().expect("the node is a string"),
                value: None,
            }),
            Kind::Object if self.len() == 1 => match self.members().next() {
                Some((name, value)) => visitor.visit_enum(Variant {
                    name,
                    value: Some(value),
                }),
                None => self.deserialize_any(visitor),
            },
            Kind::Object => Err(de::Error::custom("expected an object with exactly one key")),
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de, DeserializeError> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Seq<'de> {
    elements: Elements<'de>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Seq<'de> {
    type Error = DeserializeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeserializeError> {
        let Some(element) = self.elements.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        seed.deserialize(element)
            .map(Some)
            .map_err(|error| error.within(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

struct Map<'de> {
    members: Members<'de>,
    value: Option<(&'de str, Node<'de>)>,
}

impl<'de> MapAccess<'de> for Map<'de> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        self.value = self.members.next();
        match self.value {
            Some((key, _)) => seed.deserialize(MapKey(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DeserializeError> {
        let Some((key, value)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(value).map_err(|error| error.within(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

struct Variant<'de> {
    name: &'de str,
    value: Option<Node<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DeserializeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DeserializeError> {
        let name = de::value::BorrowedStrDeserializer::new(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self) -> Result<Node<'de>, DeserializeError> {
        self.value
            .ok_or_else(|| de::Error::custom(format_args!("`{}` needs a value", self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = DeserializeError;

    fn unit_variant(self) -> Result<(), DeserializeError> {
        match self.value {
            None => Ok(()),
            Some(value) => <()>::deserialize(value).map_err(|error| error.within(self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DeserializeError> {
        seed.deserialize(self.content()?)
            .map_err(|error| error.within(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        de::Deserializer::deserialize_seq(self.content()?, visitor)
            .map_err(|error| error.within(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        de::Deserializer::deserialize_map(self.content()?, visitor)
            .map_err(|error| error.within(self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Fast,
        Within { seconds: f32 },
        Both(u8, u8),
        Named(String),
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Everything<'a> {
        text: &'a str,
        count: i128,
        whole: u8,
        maybe: Option<bool>,
        modes: Vec<Mode>,
        map: BTreeMap<String, ()>,
        rest: Value,
    }

    #[test]
    fn every_kind_of_rust_type_is_deserialized() {
        let tree = Tree::parse(
            r#"{"text": "x", "count": -170141183460469231731687303715884105728, "whole": 5.0,
            "maybe": null, "modes": ["fast", {"within": {"seconds": 2}}, {"both": [1, 2]},
            {"named": "n"}], "map": {"k": null}, "rest": [1.5, {"a": -3}]}"#,
        )
        .unwrap();
        let read: Everything<'_> = tree.deserialize().unwrap();
        let modes = vec![
            Mode::Fast,
            Mode::Within { seconds: 2.0 },
            Mode::Both(1, 2),
            Mode::Named("n".to_owned()),
        ];
        assert_eq!((read.text, read.count, read.whole), ("x", i128::MIN, 5));
        assert_eq!((read.maybe, read.modes), (None, modes));
        assert_eq!(read.rest, serde_json::json!([1.5, {"a": -3}]));
    }

    /// Reads `text` as `T` with the tree and with serde_json, and returns the value if they agree.
    fn same<T: serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) -> Option<T> {
        let ours = Tree::parse(text).unwrap().deserialize::<T>().ok();
        assert_eq!(ours, serde_json::from_str(text).ok(), "{text}");
        ours
    }

    #[test]
    fn keys_of_maps_are_read_as_serde_json_reads_them() {
        #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        struct UserId(String);
        #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        enum Side {
            Left,
        }
        assert!(same::<BTreeMap<UserId, u8>>(r#"{"ada": 5}"#).is_some());
        assert!(same::<BTreeMap<Option<String>, u8>>(r#"{"ada": 5}"#).is_some());
        assert!(same::<BTreeMap<Side, u8>>(r#"{"Left": 5}"#).is_some());
        assert!(same::<BTreeMap<bool, u8>>(r#"{"true": 5}"#).is_some());
        assert!(same::<BTreeMap<char, u8>>(r#"{"a": 5}"#).is_some());
        assert!(
            same::<BTreeMap<u128, u8>>(r#"{"340282366920938463463374607431768211455": 1}"#)
                .is_some()
        );
        assert!(same::<BTreeMap<i64, u8>>(r#"{"-7": 5}"#).is_some());
        for key in [
            "7",
            "007",
            "+7",
            "7.0",
            " 7",
            "-1",
            "",
            "seven",
            "4294967296",
        ] {
            same::<BTreeMap<u32, u8>>(&format!(r#"{{"{key}": 5}}"#));
            same::<BTreeMap<bool, u8>>(&format!(r#"{{"{key}": 5}}"#));
        }
    }

    #[test]
    fn floats_and_tuples_are_read_as_serde_json_reads_them() {
        for text in ["1e39", "-1e39", "3.4e38", "1e-50", "1e400", "5", "0.1"] {
            same::<f64>(text);
        }
        assert!(Tree::parse("1e39").unwrap().deserialize::<f32>().is_err());
        assert_eq!(same::<f32>("0.1"), Some(0.1));
        #[derive(Debug, Deserialize, PartialEq)]
        struct Point {
            x: u8,
        }
        for text in ["[1]", "[1, 2]", "[1, 2, 3]", "[]"] {
            same::<(u8, u8)>(text);
            same::<[u8; 2]>(text);
            same::<Point>(text);
            same::<Vec<u8>>(text);
        }
    }

    #[test]
    fn integer_in_a_value_is_an_integer_however_it_is_written() {
        let tree = Tree::parse(r#"[5.0, 1e1, -0, 0.5]"#).unwrap();
        assert_eq!(
            tree.deserialize::<Value>().unwrap(),
            serde_json::json!([5, 10, 0, 0.5])
        );
    }

    #[test]
    fn error_names_the_nested_place() {
        let tree = Tree::parse(r#"{"a": [{"within": {"seconds": "soon"}}]}"#).unwrap();
        let error = tree
            .deserialize::<BTreeMap<String, Vec<Mode>>>()
            .unwrap_err();
        assert_eq!(error.pointer().as_str(), "/a/0/within/seconds");
        assert_eq!(
            error.to_string(),
            "a.0.within.seconds: invalid type: string \"soon\", expected f32"
        );
    }

    #[test]
    fn integer_that_does_not_fit_is_refused() {
        let tree = Tree::parse("12345678901234567890123").unwrap();
        assert!(tree.deserialize::<Value>().is_err());
        assert!(tree.deserialize::<u64>().is_err());
        assert_eq!(tree.deserialize::<u128>(), Ok(12345678901234567890123));
    }
}
