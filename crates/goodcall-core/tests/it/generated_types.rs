//! Compares `Tree::deserialize` with serde_json over generated types and texts for them: both accept
//! the same texts and read the same values.
//!
//! A type is a description that drives serde as the derived code of such a type does. The differences,
//! all on purpose:
//! - an integer may be written `5.0`, `1e1` or `-0`: serde_json gets its plain digits here;
//! - in a value of any kind, an integer beyond 64 bits is refused and not rounded.

use std::fmt::{self, Debug};

use goodcall_core::Tree;
use proptest::prelude::*;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde_json::Value;

/// The fields of a generated struct; those of a type are the first ones.
static FIELDS: [&str; 3] = ["a", "b", "c"];
/// The variants of a generated enum.
static VARIANTS: [&str; 4] = ["Unit", "Newtype", "Tuple", "Struct"];

/// A type without parts: serde's own code reads it.
#[derive(Clone, Copy, Debug)]
enum Leaf {
    Bool,
    Char,
    Text,
    Unit,
    U8,
    I32,
    U64,
    I64,
    U128,
    I128,
    F32,
    F64,
    Any,
}

/// A Rust type.
#[derive(Clone, Debug)]
enum Type {
    Leaf(Leaf),
    Option(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// Keys and values.
    Map(Box<Type>, Box<Type>),
    Newtype(Box<Type>),
    Struct(Vec<Type>),
    /// The variants of [`VARIANTS`]: a unit, a newtype, a tuple and a struct.
    Enum(Box<Type>, Vec<Type>),
}

/// What a text was read as, in the notation of `Debug`.
type Reading = String;

fn leaf<'de, T: Deserialize<'de> + Debug, D: Deserializer<'de>>(
    from: D,
) -> Result<Reading, D::Error> {
    T::deserialize(from).map(|read| format!("{read:?}"))
}

impl<'de> DeserializeSeed<'de> for &Type {
    type Value = Reading;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Reading, D::Error> {
        match self {
            Type::Leaf(Leaf::Bool) => leaf::<bool, D>(from),
            Type::Leaf(Leaf::Char) => leaf::<char, D>(from),
            Type::Leaf(Leaf::Text) => leaf::<String, D>(from),
            Type::Leaf(Leaf::Unit) => leaf::<(), D>(from),
            Type::Leaf(Leaf::U8) => leaf::<u8, D>(from),
            Type::Leaf(Leaf::I32) => leaf::<i32, D>(from),
            Type::Leaf(Leaf::U64) => leaf::<u64, D>(from),
            Type::Leaf(Leaf::I64) => leaf::<i64, D>(from),
            Type::Leaf(Leaf::U128) => leaf::<u128, D>(from),
            Type::Leaf(Leaf::I128) => leaf::<i128, D>(from),
            Type::Leaf(Leaf::F32) => leaf::<f32, D>(from),
            Type::Leaf(Leaf::F64) => leaf::<f64, D>(from),
            Type::Leaf(Leaf::Any) => leaf::<Value, D>(from),
            Type::Option(_) => from.deserialize_option(Parts(self)),
            Type::List(_) => from.deserialize_seq(Parts(self)),
            Type::Tuple(parts) => from.deserialize_tuple(parts.len(), Parts(self)),
            Type::Map(..) => from.deserialize_map(Parts(self)),
            Type::Newtype(_) => from.deserialize_newtype_struct("Newtype", Parts(self)),
            Type::Struct(parts) => {
                from.deserialize_struct("Struct", &FIELDS[..parts.len()], Parts(self))
            }
            Type::Enum(..) => from.deserialize_enum("Enum", &VARIANTS, Parts(self)),
        }
    }
}

/// Reads a type that has parts, as derived code does.
struct Parts<'t>(&'t Type);

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Reading;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }

    fn visit_none<E: Error>(self) -> Result<Reading, E> {
        match self.0 {
            Type::Option(_) => Ok("None".to_owned()),
            _ => Err(E::invalid_type(de::Unexpected::Option, &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Reading, E> {
        match self.0 {
            Type::Option(_) => Ok("None".to_owned()),
            _ => Err(E::invalid_type(de::Unexpected::Unit, &self)),
        }
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Reading, D::Error> {
        match self.0 {
            Type::Option(inner) => Ok(format!("Some({})", inner.deserialize(from)?)),
            _ => Err(D::Error::invalid_type(de::Unexpected::Option, &self)),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Reading, D::Error> {
        match self.0 {
            Type::Newtype(inner) => Ok(format!("Newtype({})", inner.deserialize(from)?)),
            _ => Err(D::Error::invalid_type(de::Unexpected::NewtypeStruct, &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Reading, A::Error> {
        let mut read = Vec::new();
        match self.0 {
            Type::List(element) => {
                while let Some(element) = from.next_element_seed(&**element)? {
                    read.push(element);
                }
            }
            Type::Tuple(parts) | Type::Struct(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let next = from.next_element_seed(part)?;
                    read.push(next.ok_or_else(|| A::Error::invalid_length(at, &self))?);
                }
            }
            Type::Newtype(inner) => {
                let next = from.next_element_seed(&**inner)?;
                let inner = next.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                return Ok(format!("Newtype({inner})"));
            }
            _ => return Err(A::Error::invalid_type(de::Unexpected::Seq, &self)),
        }
        Ok(format!("[{}]", read.join(", ")))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Reading, A::Error> {
        match self.0 {
            Type::Map(key, value) => {
                let mut read = Vec::new();
                while let Some(key) = from.next_key_seed(&**key)? {
                    let value = from.next_value_seed(&**value)?;
                    read.push(format!("{key}: {value}"));
                }
                Ok(format!("{{{}}}", read.join(", ")))
            }
            Type::Struct(parts) => {
                let mut read = vec![None; parts.len()];
                while let Some(key) = from.next_key::<String>()? {
                    match FIELDS[..parts.len()].iter().position(|field| *field == key) {
                        Some(at) if read[at].is_some() => {
                            return Err(A::Error::duplicate_field(FIELDS[at]));
                        }
                        Some(at) => read[at] = Some(from.next_value_seed(&parts[at])?),
                        None => drop(from.next_value::<IgnoredAny>()?),
                    }
                }
                for (at, part) in parts.iter().enumerate() {
                    if read[at].is_none() && matches!(part, Type::Option(_)) {
                        read[at] = Some("None".to_owned());
                    }
                }
                let whole: Option<Vec<_>> = read.into_iter().collect();
                let whole = whole.ok_or_else(|| A::Error::custom("missing field"))?;
                Ok(format!("[{}]", whole.join(", ")))
            }
            _ => Err(A::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Reading, A::Error> {
        let Type::Enum(inner, parts) = self.0 else {
            return Err(A::Error::invalid_type(de::Unexpected::Enum, &self));
        };
        let (name, content) = from.variant::<String>()?;
        let read = match name.as_str() {
            "Unit" => content.unit_variant().map(|()| String::new())?,
            "Newtype" => content.newtype_variant_seed(&**inner)?,
            "Tuple" => content.tuple_variant(parts.len(), Parts(&Type::Tuple(parts.clone())))?,
            "Struct" => {
                let fields = &FIELDS[..parts.len()];
                content.struct_variant(fields, Parts(&Type::Struct(parts.clone())))?
            }
            _ => return Err(A::Error::unknown_variant(&name, &VARIANTS)),
        };
        Ok(format!("{name}({read})"))
    }
}

/// A text, and the same with every integer in plain digits.
type Written = (String, String);

fn same(text: &str) -> Written {
    (text.to_owned(), text.to_owned())
}

fn leaves() -> impl Strategy<Value = Type> {
    use Leaf::{Any, Bool, Char, F32, F64, I32, I64, I128, Text, U8, U64, U128, Unit};
    let leaves = [
        Bool, Char, Text, Unit, U8, I32, U64, I64, U128, I128, F32, F64, Any,
    ];
    prop::sample::select(leaves.to_vec()).prop_map(Type::Leaf)
}

/// The types that may be keys of a map; some, such as a unit, never can.
fn keys() -> impl Strategy<Value = Type> {
    let inner = leaves().prop_filter("any key", |key| !matches!(key, Type::Leaf(Leaf::Any)));
    inner.prop_flat_map(|key| {
        let inner = Box::new(key.clone());
        prop_oneof![
            3 => Just(key),
            1 => Just(Type::Option(inner.clone())),
            1 => Just(Type::Newtype(inner.clone())),
            1 => Just(Type::Newtype(Box::new(Type::Option(inner.clone())))),
            1 => Just(Type::Enum(inner, Vec::new())),
        ]
    })
}

fn types() -> impl Strategy<Value = Type> {
    leaves().prop_recursive(4, 16, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 0..=FIELDS.len());
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed().prop_map(Type::Option),
            boxed().prop_map(Type::List),
            parts.clone().prop_map(Type::Tuple),
            (keys().prop_map(Box::new), boxed()).prop_map(|(key, value)| Type::Map(key, value)),
            boxed().prop_map(Type::Newtype),
            parts.clone().prop_map(Type::Struct),
            (boxed(), parts).prop_map(|(inner, parts)| Type::Enum(inner, parts)),
        ]
    })
}

/// Texts of numbers: at and beyond the bounds of the types, and integers written in other ways.
fn integers() -> impl Strategy<Value = Written> {
    let plain = prop::sample::select(vec![
        "0",
        "7",
        "-1",
        "255",
        "256",
        "-128",
        "2147483647",
        "-2147483649",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456",
        "-170141183460469231731687303715884105728",
    ]);
    let other = prop::sample::select(vec![
        ("5.0", "5"),
        ("1e1", "10"),
        ("-0", "0"),
        ("25.5e1", "255"),
        ("-1E0", "-1"),
        ("256.00", "256"),
        ("1e-1", "1e-1"),
        ("1.5", "1.5"),
    ]);
    prop_oneof![
        3 => plain.prop_map(same),
        1 => other.prop_map(|(text, plain)| (text.to_owned(), plain.to_owned())),
    ]
}

fn floats() -> impl Strategy<Value = Written> {
    let chosen = vec![
        "0", "-0.0", "5", "0.1", "1e-400", "3.4e38", "1e39", "16777217", "1e400", "-7e3",
    ];
    prop_oneof![
        prop::sample::select(chosen).prop_map(same),
        any::<f32>()
            .prop_filter("JSON", |number| number.is_finite())
            .prop_map(|number| same(&format!("{number:e}"))),
    ]
}

fn strings() -> impl Strategy<Value = Written> {
    let chosen = vec![
        "", "7", "true", "null", "a", "Unit", "Newtype", "-7", "007", "+7", "7.0", " 7",
    ];
    let text = prop_oneof![
        prop::sample::select(chosen).prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    text.prop_map(|text| same(&Value::String(text).to_string()))
}

/// Texts of keys: ASCII, because serde_json 1.0 panics where a key that begins with another letter
/// belongs to a `bool`.
fn key_texts() -> impl Strategy<Value = Written> {
    strings().prop_filter("ASCII", |(text, _)| text.is_ascii())
}

/// Texts of any kind, for a place where another kind belongs.
fn others() -> impl Strategy<Value = Written> {
    let chosen = vec![
        "null",
        "true",
        "7",
        "1.5",
        "\"a\"",
        "\"Unit\"",
        "[]",
        "[1]",
        "[1, 2, 3, 4]",
        "{}",
        "{\"a\": 1}",
        "{\"Unit\": null}",
        "{\"Unit\": null, \"Newtype\": 1}",
        "{\"Tuple\": []}",
    ];
    prop::sample::select(chosen).prop_map(same)
}

fn leaf_texts(leaf: Leaf) -> BoxedStrategy<Written> {
    match leaf {
        Leaf::Bool => prop::sample::select(vec!["true", "false"])
            .prop_map(same)
            .boxed(),
        Leaf::Char | Leaf::Text => strings().boxed(),
        Leaf::Unit => Just(same("null")).boxed(),
        Leaf::F32 | Leaf::F64 => floats().boxed(),
        Leaf::Any => prop_oneof![others(), strings()].boxed(),
        _ => integers().boxed(),
    }
}

/// Joins texts between brackets.
fn joined(parts: Vec<Written>, open: char, close: char) -> Written {
    let (texts, plain): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let join = |parts: Vec<String>| format!("{open}{}{close}", parts.join(", "));
    (join(texts), join(plain))
}

fn member(name: &str, (text, plain): Written) -> Written {
    let name = Value::from(name);
    (format!("{name}: {text}"), format!("{name}: {plain}"))
}

/// An object with these members, of which some may be missing.
fn object(parts: &[Type]) -> BoxedStrategy<Written> {
    let one = |(name, part): (&'static &str, &Type)| {
        let some = texts(part).prop_map(|text| Some(member(name, text)));
        prop_oneof![9 => some, 1 => Just(None)]
    };
    let members: Vec<_> = FIELDS.iter().zip(parts).map(one).collect();
    let more = prop::option::weighted(0.1, others().prop_map(|text| member("more", text)));
    (members, more)
        .prop_map(|(members, more)| {
            joined(
                members.into_iter().flatten().chain(more).collect(),
                '{',
                '}',
            )
        })
        .boxed()
}

fn array(parts: &[Type]) -> BoxedStrategy<Written> {
    let parts: Vec<_> = parts.iter().map(texts).collect();
    let more = prop::option::weighted(0.1, others());
    (parts, more)
        .prop_map(|(parts, more)| joined(parts.into_iter().chain(more).collect(), '[', ']'))
        .boxed()
}

/// Texts that fit the type, mostly.
fn texts(of: &Type) -> BoxedStrategy<Written> {
    let fitting = match of {
        Type::Leaf(leaf) => leaf_texts(*leaf),
        Type::Option(inner) => prop_oneof![4 => texts(inner), 1 => Just(same("null"))].boxed(),
        Type::List(element) => prop::collection::vec(texts(element), 0..4)
            .prop_map(|elements| joined(elements, '[', ']'))
            .boxed(),
        Type::Tuple(parts) => array(parts),
        Type::Map(_, value) => prop::collection::vec((key_texts(), texts(value)), 0..4)
            .prop_map(|members| {
                let members = members.into_iter().map(|((key, _), (text, plain))| {
                    (format!("{key}: {text}"), format!("{key}: {plain}"))
                });
                joined(members.collect(), '{', '}')
            })
            .boxed(),
        Type::Newtype(inner) => texts(inner),
        Type::Struct(parts) => prop_oneof![4 => object(parts), 1 => array(parts)].boxed(),
        Type::Enum(inner, parts) => {
            let one = |name: &'static str, content: BoxedStrategy<Written>| {
                content.prop_map(move |content| joined(vec![member(name, content)], '{', '}'))
            };
            prop_oneof![
                Just(same("\"Unit\"")),
                one("Newtype", texts(inner)),
                one("Tuple", array(parts)),
                one("Struct", object(parts)),
            ]
            .boxed()
        }
    };
    prop_oneof![12 => fitting, 1 => others()].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn generated_types_are_read_as_serde_json_reads_them(
        (of, (text, plain)) in types().prop_flat_map(|of| {
            let texts = texts(&of);
            (Just(of), texts)
        })
    ) {
        let tree = Tree::parse(&text).expect("the text is JSON");
        let ours = of.deserialize(tree.root());
        let mut theirs = serde_json::Deserializer::from_str(&plain);
        let theirs = of.deserialize(&mut theirs).and_then(|read| theirs.end().map(|()| read));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs, "{}", text),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{}: {:?}, {:?}", text, ours, theirs),
        }
    }
}
