//! The kind of issue that a fault becomes, and what the fault itself says is expected.

use serde_json::Value;

use crate::report::{Bound, Expected, ExpectedObject, IssueKind, JsonType, Types};
use crate::validate::FaultKind;

/// The kind of issue that a fault becomes.
pub(super) fn kind_of(kind: &FaultKind) -> IssueKind {
    match kind {
        FaultKind::Type(_) => IssueKind::Type,
        FaultKind::Required(_) => IssueKind::Missing,
        FaultKind::UnknownKeys(_) | FaultKind::Misspelt { .. } => IssueKind::UnknownKey,
        FaultKind::Wrapped => IssueKind::Wrapped,
        FaultKind::UnknownItems | FaultKind::MaxItems(_) => IssueKind::TooManyItems,
        FaultKind::Enum(values) if values.as_array().is_some_and(Vec::is_empty) => {
            IssueKind::NotAllowed
        }
        FaultKind::Enum(_) | FaultKind::Const(_) => IssueKind::Enum,
        FaultKind::Minimum { .. } => IssueKind::TooSmall,
        FaultKind::Maximum { .. } => IssueKind::TooLarge,
        FaultKind::MultipleOf(_) => IssueKind::NotMultiple,
        FaultKind::MinLength(_) => IssueKind::TooShort,
        FaultKind::MaxLength(_) => IssueKind::TooLong,
        FaultKind::MinItems(_) => IssueKind::TooFewItems,
        FaultKind::MinKeys(_) => IssueKind::TooFewKeys,
        FaultKind::MaxKeys(_) => IssueKind::TooManyKeys,
        FaultKind::UniqueItems => IssueKind::NotUnique,
        FaultKind::Contains => IssueKind::NotContained,
        FaultKind::Pattern(_) => IssueKind::Pattern,
        FaultKind::Format(_) => IssueKind::Format,
        FaultKind::NoBranch(_) => IssueKind::NoAlternative,
        FaultKind::ManyBranches => IssueKind::SeveralAlternatives,
        FaultKind::KeyName { .. } => IssueKind::KeyName,
        FaultKind::NotAllowed => IssueKind::NotAllowed,
        FaultKind::Other(_) => IssueKind::Other,
    }
}

/// Puts what the fault itself says over what the subschema around its keyword says.
pub(super) fn narrow(kind: &FaultKind, expected: &mut Expected) {
    if expected.types.is_empty() {
        // A keyword that found a fault is about values of this type.
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
            expected.number.minimum = Some(Bound { limit, exclusive });
        }
        FaultKind::Maximum { limit, exclusive } => {
            let (limit, exclusive) = (limit.clone(), *exclusive);
            expected.number.maximum = Some(Bound { limit, exclusive });
        }
        FaultKind::MultipleOf(multiple) => {
            // The validator's own copy went through a float; the document's did not.
            expected
                .number
                .multiple_of
                .get_or_insert_with(|| multiple.clone());
        }
        FaultKind::MinLength(n) | FaultKind::MinItems(n) | FaultKind::MinKeys(n) => {
            expected.size.0 = Some(*n);
        }
        FaultKind::MaxLength(n) | FaultKind::MaxItems(n) | FaultKind::MaxKeys(n) => {
            expected.size.1 = Some(*n);
            // What is there already is enough, so nothing is said of what could be added.
            expected.array.element = None;
            expected.object = ExpectedObject::default();
        }
        FaultKind::Pattern(pattern) => expected.string.pattern = Some(pattern.clone()),
        FaultKind::Format(format) => expected.string.format = Some(format.clone()),
        _ => {}
    }
}

/// The type that a keyword is about, if it is about one.
fn about(kind: &FaultKind) -> Types {
    Types::of(match kind {
        FaultKind::Minimum { .. } | FaultKind::Maximum { .. } | FaultKind::MultipleOf(_) => {
            JsonType::Number
        }
        FaultKind::MinLength(_)
        | FaultKind::MaxLength(_)
        | FaultKind::Pattern(_)
        | FaultKind::Format(_) => JsonType::String,
        FaultKind::MinItems(_) | FaultKind::MaxItems(_) => JsonType::Array,
        FaultKind::MinKeys(_) | FaultKind::MaxKeys(_) => JsonType::Object,
        _ => return Types::default(),
    })
}
