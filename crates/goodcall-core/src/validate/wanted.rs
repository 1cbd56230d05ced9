//! What a fault itself says is wanted.

use serde_json::Value;

use super::FaultKind;
use crate::report::{Bound, Code, Expected, Types};

/// The kind of issue that a fault is.
pub(super) fn code(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::Type(_) => Code::Type,
        FaultKind::Required(_) => Code::Missing,
        FaultKind::UnknownKeys(_) => Code::UnknownKey,
        FaultKind::UnknownItems | FaultKind::MaxItems(_) => Code::TooManyItems,
        FaultKind::Enum(values) if values.as_array().is_some_and(Vec::is_empty) => Code::NotAllowed,
        FaultKind::Enum(_) | FaultKind::Const(_) => Code::Enum,
        FaultKind::Minimum { .. } => Code::TooSmall,
        FaultKind::Maximum { .. } => Code::TooLarge,
        FaultKind::MultipleOf(_) => Code::NotMultiple,
        FaultKind::MinLength(_) => Code::TooShort,
        FaultKind::MaxLength(_) => Code::TooLong,
        FaultKind::MinItems(_) => Code::TooFewItems,
        FaultKind::MinKeys(_) => Code::TooFewKeys,
        FaultKind::MaxKeys(_) => Code::TooManyKeys,
        FaultKind::UniqueItems => Code::NotUnique,
        FaultKind::Contains => Code::NotContained,
        FaultKind::Pattern(_) => Code::Pattern,
        FaultKind::Format(_) => Code::Format,
        FaultKind::NoBranch(_) => Code::NoAlternative,
        FaultKind::ManyBranches(_) => Code::SeveralAlternatives,
        FaultKind::KeyName { .. } => Code::KeyName,
        FaultKind::NotAllowed => Code::NotAllowed,
        FaultKind::Other(_) => Code::Other,
    }
}

/// What the fault itself says outranks what the subschema beside it says.
pub(super) fn narrow(kind: &FaultKind, expected: &mut Expected) {
    if expected.types.is_empty() {
        // A keyword that found a fault speaks of values of this one.
        expected.types = about(kind);
    }
    match kind {
        FaultKind::Type(types) => expected.types = *types,
        FaultKind::Enum(values) => {
            let values = values.as_array().into_iter().flatten();
            expected.allowed = values.map(Value::to_string).collect();
        }
        FaultKind::Const(value) => expected.allowed = vec![value.to_string()],
        FaultKind::Minimum { limit, exclusive } => {
            let (limit, exclusive) = (limit.clone(), *exclusive);
            expected.minimum = Some(Bound { limit, exclusive });
        }
        FaultKind::Maximum { limit, exclusive } => {
            let (limit, exclusive) = (limit.clone(), *exclusive);
            expected.maximum = Some(Bound { limit, exclusive });
        }
        FaultKind::MultipleOf(multiple) => {
            // The validator's own copy went through a float; the document's did not.
            expected.multiple_of.get_or_insert_with(|| multiple.clone());
        }
        FaultKind::MinLength(n) | FaultKind::MinItems(n) | FaultKind::MinKeys(n) => {
            expected.size.0 = Some(*n);
        }
        FaultKind::MaxLength(n) | FaultKind::MaxItems(n) | FaultKind::MaxKeys(n) => {
            expected.size.1 = Some(*n);
            // There are enough of them.
            (expected.element, expected.keys, expected.may_have) = (None, Vec::new(), Vec::new());
        }
        FaultKind::Pattern(pattern) => expected.pattern = Some(pattern.clone()),
        FaultKind::Format(format) => expected.format = Some(format.clone()),
        _ => {}
    }
}

/// The type that a keyword is about, if it is about one.
fn about(kind: &FaultKind) -> Types {
    Types::named(match kind {
        FaultKind::Minimum { .. } | FaultKind::Maximum { .. } | FaultKind::MultipleOf(_) => {
            "number"
        }
        FaultKind::MinLength(_)
        | FaultKind::MaxLength(_)
        | FaultKind::Pattern(_)
        | FaultKind::Format(_) => "string",
        FaultKind::MinItems(_) | FaultKind::MaxItems(_) => "array",
        FaultKind::MinKeys(_) | FaultKind::MaxKeys(_) => "object",
        _ => return Types::default(),
    })
}
