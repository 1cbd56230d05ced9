//! Reads the values of keywords: bounds, lengths, types and listed values.

use serde_json::{Map, Value};

use super::{NumberCheck, bit};
use crate::tree::Kind;

/// What a group of keywords that are read together says.
pub(super) enum KeywordGroup<T> {
    Absent,
    Compiled(T),
    /// A keyword has a value that only the validator understands.
    LeftToValidator,
}

impl<T> KeywordGroup<T> {
    pub(super) fn compiled(self) -> Option<T> {
        match self {
            KeywordGroup::Compiled(check) => Some(check),
            KeywordGroup::Absent | KeywordGroup::LeftToValidator => None,
        }
    }

    /// The compiled check, if there is one. Adds the group's keywords to `left` if the validator
    /// has to read them.
    pub(super) fn or_leave<'k>(self, keywords: &[&'k str], left: &mut Vec<&'k str>) -> Option<T> {
        if matches!(self, KeywordGroup::LeftToValidator) {
            left.extend(keywords);
        }
        self.compiled()
    }
}

/// The kinds that `type` allows, and whether numbers must be integers.
pub(super) struct AllowedKinds {
    pub(super) kinds: u8,
    pub(super) integers_only: bool,
}

/// Reads `type`: one name, or a list of them; `None` if a name is not known.
pub(super) fn allowed_kinds(value: &Value) -> Option<AllowedKinds> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut kinds = 0;
    let mut integers_only = true;
    for name in names {
        kinds |= bit(match name.as_str()? {
            "string" => Kind::String,
            "integer" => Kind::Number,
            "number" => {
                integers_only = false;
                Kind::Number
            }
            "boolean" => Kind::Boolean,
            "array" => Kind::Array,
            "object" => Kind::Object,
            "null" => Kind::Null,
            _ => return None,
        });
    }
    integers_only &= kinds & bit(Kind::Number) != 0;
    Some(AllowedKinds {
        kinds,
        integers_only,
    })
}

/// The least and the most of a size.
pub(super) fn length(
    map: &Map<String, Value>,
    [least, most]: [&str; 2],
) -> KeywordGroup<(u32, u32)> {
    if !map.contains_key(least) && !map.contains_key(most) {
        return KeywordGroup::Absent;
    }
    let bound = |keyword, otherwise| match map.get(keyword) {
        None => Some(otherwise),
        Some(value) => u32::try_from(value.as_u64()?).ok(),
    };
    match (bound(least, 0), bound(most, u32::MAX)) {
        (Some(least), Some(most)) => KeywordGroup::Compiled((least, most)),
        _ => KeywordGroup::LeftToValidator,
    }
}

/// The bounds of a number.
pub(super) fn range(map: &Map<String, Value>) -> KeywordGroup<NumberCheck> {
    let bound = |included, excluded| {
        let (value, inclusive) = match (map.get(included), map.get(excluded)) {
            (None, None) => return KeywordGroup::Absent,
            (Some(value), None) => (value, true),
            (None, Some(value)) => (value, false),
            (Some(_), Some(_)) => return KeywordGroup::LeftToValidator,
        };
        match exact_float(value) {
            Some(limit) => KeywordGroup::Compiled((limit, inclusive)),
            None => KeywordGroup::LeftToValidator,
        }
    };
    let least = bound("minimum", "exclusiveMinimum");
    let most = bound("maximum", "exclusiveMaximum");
    match (least, most) {
        (KeywordGroup::Absent, KeywordGroup::Absent) => KeywordGroup::Absent,
        (KeywordGroup::LeftToValidator, _) | (_, KeywordGroup::LeftToValidator) => {
            KeywordGroup::LeftToValidator
        }
        (least, most) => KeywordGroup::Compiled(NumberCheck {
            least: least.compiled(),
            most: most.compiled(),
            ..NumberCheck::default()
        }),
    }
}

/// The value of `multipleOf`, if it is a whole number of eighths: floats divide these exactly.
pub(super) fn eighths(value: &Value) -> Option<f64> {
    let step = value.as_f64()?;
    ((1.0 / 8.0..1e6).contains(&step) && (step * 8.0).fract() == 0.0).then_some(step)
}

/// A number that a float holds exactly.
fn exact_float(value: &Value) -> Option<f64> {
    match value.as_i64() {
        Some(whole) => i32::try_from(whole).ok().map(f64::from),
        None if value.is_f64() => value.as_f64(),
        None => None,
    }
}
