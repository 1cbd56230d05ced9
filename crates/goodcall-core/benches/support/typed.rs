//! A type that any arguments fit, deserialized like a derived one: without a `Value`, strings borrowed.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Any value, strings borrowed where they can be.
#[allow(dead_code, reason = "built to be measured, not to be read")]
pub(crate) enum Typed<'a> {
    Nothing,
    Truth(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Typed<'a>>),
    Members(Vec<(Cow<'a, str>, Typed<'a>)>),
}

impl Typed<'_> {
    pub(crate) fn is_some(&self) -> bool {
        !matches!(self, Typed::Nothing)
    }
}

impl<'de> Deserialize<'de> for Typed<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor)
    }
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Typed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Typed<'de>, E> {
        Ok(Typed::Nothing)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Typed<'de>, E> {
        Ok(Typed::Truth(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Typed<'de>, E> {
        Ok(Typed::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Typed<'de>, E> {
        Ok(Typed::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Typed<'de>, E> {
        Ok(Typed::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Typed<'de>, E> {
        Ok(Typed::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Typed<'de>, E> {
        Ok(Typed::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Typed<'de>, A::Error> {
        let mut list = Vec::with_capacity(seq.size_hint().unwrap_or_default());
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Typed::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Typed<'de>, A::Error> {
        let mut members = Vec::with_capacity(map.size_hint().unwrap_or_default());
        while let Some(member) = map.next_entry::<Cow<'de, str>, Typed<'de>>()? {
            members.push(member);
        }
        Ok(Typed::Members(members))
    }
}
