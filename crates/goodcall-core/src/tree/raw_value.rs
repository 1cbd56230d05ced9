//! Deserializing a part of the tree as `serde_json::value::RawValue`: as its JSON text.

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, MapAccess};

use super::DeserializeError;

/// The name by which serde_json asks for a raw value, and the key under which it takes the text.
const NAME: &str = "$serde_json::private::RawValue";

/// Returns true if a newtype of this name is a raw value.
pub(super) fn is_raw_value(newtype: &str) -> bool {
    newtype == NAME
}

/// A raw value in the form in which serde_json takes it: a map with one member.
pub(super) struct RawMember(pub(super) Option<String>);

impl<'de> MapAccess<'de> for RawMember {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        if self.0.is_none() {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(NAME))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DeserializeError> {
        let text = self
            .0
            .take()
            .expect("a value is asked for once, after its key");
        seed.deserialize(StringDeserializer::new(text))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::value::RawValue;

    use crate::Tree;

    #[test]
    fn part_is_read_as_its_text() {
        #[derive(Deserialize)]
        struct Patch {
            value: Box<RawValue>,
            path: String,
        }
        let tree =
            Tree::parse(r#"{"path": "/a", "value": {"n": 1.50, "m": [12345678901234567890]}}"#)
                .unwrap();
        let patch: Patch = tree.deserialize().unwrap();
        assert_eq!(patch.path, "/a");
        assert_eq!(
            patch.value.get(),
            r#"{"n":1.50,"m":[12345678901234567890]}"#
        );
    }
}
