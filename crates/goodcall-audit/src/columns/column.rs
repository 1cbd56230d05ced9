//! Columns in any of Arrow's forms.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::readers::{seconds_of_number, seconds_of_text};

/// A column of strings.
pub(super) enum TextColumn<'a> {
    Small(&'a arrow_array::StringArray),
    Large(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    /// Words by their number; the numbers are read one by one.
    Words(Box<TextColumn<'a>>, &'a dyn Array),
}

impl<'a> TextColumn<'a> {
    pub(super) fn of(column: &'a ArrayRef) -> Result<Self, String> {
        let array: &'a dyn Array = column.as_ref();
        match array.data_type() {
            DataType::Utf8 => Ok(Self::Small(array.as_string())),
            DataType::LargeUtf8 => Ok(Self::Large(array.as_string())),
            DataType::Utf8View => Ok(Self::View(array.as_string_view())),
            DataType::Dictionary(key, _)
                if matches!(**key, DataType::Int8 | DataType::Int16 | DataType::Int32) =>
            {
                let words = array.as_any_dictionary().values();
                Ok(Self::Words(Box::new(Self::of(words)?), array))
            }
            other => Err(format!("a column is of type {other}: expected strings")),
        }
    }

    /// The text of a row; `None` for null.
    pub(super) fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Words(words, array) => {
                let keys = array.as_any_dictionary().keys();
                let key = keys.is_valid(row).then(|| word(keys, row))?;
                words.get(key)
            }
        }
    }
}

/// The number of a word.
fn word(keys: &dyn Array, row: usize) -> usize {
    let key = match keys.data_type() {
        DataType::Int8 => i64::from(keys.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => i64::from(keys.as_primitive::<Int16Type>().value(row)),
        _ => i64::from(keys.as_primitive::<Int32Type>().value(row)),
    };
    usize::try_from(key).unwrap_or(usize::MAX)
}

/// A column of numbers, of times or of booleans.
pub(super) struct NumberColumn<'a>(&'a dyn Array);

impl<'a> NumberColumn<'a> {
    pub(super) fn of(column: &'a ArrayRef) -> Option<Self> {
        let is_known = matches!(
            column.data_type(),
            DataType::Int32
                | DataType::Int64
                | DataType::UInt64
                | DataType::Float64
                | DataType::Boolean
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Timestamp(..)
        );
        is_known.then(|| Self(column.as_ref()))
    }

    /// A number that is not negative; 1 for true.
    pub(super) fn count(&self, row: usize) -> Option<u64> {
        let array = self.0;
        if array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Boolean => Some(u64::from(array.as_boolean().value(row))),
            DataType::Int32 => u64::try_from(array.as_primitive::<Int32Type>().value(row)).ok(),
            DataType::Int64 => u64::try_from(array.as_primitive::<Int64Type>().value(row)).ok(),
            DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().value(row)),
            _ => None,
        }
    }

    /// A time in seconds since 1970.
    pub(super) fn seconds(&self, row: usize) -> Option<i64> {
        let array = self.0;
        if array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Timestamp(unit, _) => Some(match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => array
                    .as_primitive::<TimestampMillisecondType>()
                    .value(row)
                    .div_euclid(1_000),
                TimeUnit::Microsecond => array
                    .as_primitive::<TimestampMicrosecondType>()
                    .value(row)
                    .div_euclid(1_000_000),
                TimeUnit::Nanosecond => array
                    .as_primitive::<TimestampNanosecondType>()
                    .value(row)
                    .div_euclid(1_000_000_000),
            }),
            DataType::Int64 => {
                seconds_of_number(array.as_primitive::<Int64Type>().value(row) as f64)
            }
            DataType::Float64 => seconds_of_number(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => seconds_of_text(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => seconds_of_text(array.as_string::<i64>().value(row)),
            DataType::Utf8View => seconds_of_text(array.as_string_view().value(row)),
            _ => None,
        }
    }
}
