//! Deserializing the keys of a map, which JSON always writes as strings.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Visitor};
use serde::forward_to_deserialize_any;

use super::de::{forward, visit_digits, visit_nearest_float};
use super::{DeserializeError, Kind, Tree};

/// A key as a deserializer: a number, a boolean, an option or a newtype is read from its text, as
/// serde_json reads it.
pub(super) struct MapKey<'de>(pub(super) &'de str);

impl<'de> MapKey<'de> {
    fn as_str(&self) -> BorrowedStrDeserializer<'de, DeserializeError> {
        BorrowedStrDeserializer::new(self.0)
    }

    /// The key if it is a JSON number and nothing else.
    fn digits(&self) -> Option<&'de str> {
        let tree = Tree::parse(self.0).ok()?;
        let is_number =
            tree.root().kind() == Kind::Number && tree.root().span().len() == self.0.len();
        is_number.then_some(self.0)
    }

    fn visit_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let Some(digits) = self.digits() else {
            return de::Deserializer::deserialize_any(self, visitor);
        };
        visit_digits(digits, self, visitor)
    }

    fn visit_float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visit_nearest_float(self.digits(), self, visitor)
    }
}

impl<'de> de::Deserializer<'de> for MapKey<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        de::Deserializer::deserialize_any(self.as_str(), visitor)
    }

    forward!(visit_integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128);
    forward!(visit_float: deserialize_f32 deserialize_f64);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    // A key is never null.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        de::Deserializer::deserialize_enum(self.as_str(), name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}
