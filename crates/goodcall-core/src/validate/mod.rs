//! Validation: the `jsonschema` crate on the lean tree, its errors as our own data.
//!
//! Nothing of that crate leaves this folder and `schema/`. What it reports becomes a [`Fault`]:
//! mending reads faults, and `diagnose` turns the faults that remain into issues.

mod adapter;
mod budget;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;
use std::sync::Arc;

pub(crate) use adapter::{TreeArray, TreeJson, equals};
pub(crate) use budget::{bounded, spend};

use crate::report::Types;
use crate::tree::Pointer;

/// One error of the validator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// The value that is wrong (for a missing member: the object that should have it).
    pub(crate) pointer: Pointer,
    /// The keyword that says so, in the schema document.
    pub(crate) keyword: Pointer,
    pub(crate) kind: FaultKind,
}

/// What is wrong, with what the keyword wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FaultKind {
    Type(Types),
    Required(String),
    /// Members, or elements, that no keyword allows; for elements their texts, not their places.
    UnknownKeys(Vec<String>),
    UnknownItems,
    Enum(Arc<Value>),
    Const(Arc<Value>),
    Minimum {
        limit: String,
        exclusive: bool,
    },
    Maximum {
        limit: String,
        exclusive: bool,
    },
    MultipleOf(String),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinKeys(u64),
    MaxKeys(u64),
    UniqueItems,
    Contains,
    Pattern(String),
    Format(String),
    /// `anyOf` or `oneOf` without a branch that fits: the faults of each branch, or nothing where
    /// listing them was too much work.
    NoBranch(Vec<Vec<Fault>>),
    /// `oneOf` with more than one branch that fits.
    ManyBranches(Fitting),
    /// A key whose name is not allowed.
    KeyName {
        key: String,
        words: String,
    },
    /// `false`, or `not`.
    NotAllowed,
    /// Anything else, in the validator's words.
    Other(String),
}

/// The branches that fit, by their numbers; which ones is no part of what is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Fitting(pub(crate) Vec<usize>);

impl PartialEq for Fitting {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Takes over at most `most` errors, and counts the rest.
pub(crate) fn faults<'e>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    most: usize,
) -> (Vec<Fault>, usize) {
    let mut kept = Vec::new();
    let mut room = most;
    let mut more = 0;
    for error in errors {
        if doubtful(&error) {
            continue;
        }
        if room == 0 {
            more += 1;
            continue;
        }
        let mut fault = fault(error, most);
        // One error, but an issue for each key.
        if let FaultKind::UnknownKeys(keys) = &mut fault.kind {
            more += keys.len().saturating_sub(room);
            keys.truncate(room);
            room -= keys.len().saturating_sub(1);
        }
        room -= 1;
        kept.push(fault);
    }
    (kept, more)
}

/// Was this error made when all work was spent, and so may not be one at all? A union is looked
/// at before its branches are: where one of their errors is sound, so is that of the union.
fn doubtful(error: &ValidationError<'_>) -> bool {
    is_marked(error)
        && match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                context.iter().flatten().next().is_none_or(doubtful)
            }
            _ => true,
        }
}

fn is_marked(error: &ValidationError<'_>) -> bool {
    error.instance().as_bool() == Some(true)
}

fn fault(error: ValidationError<'_>, most: usize) -> Fault {
    let place = |location: &str| Pointer::parse(location).unwrap_or_default();
    let pointer = place(error.instance_path().as_str());
    let keyword = place(error.schema_path().as_str());
    let whole = !is_marked(&error);
    // The instance is not in the error, so its own text would show a placeholder.
    let words = match error.kind() {
        Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::Custom { .. }
        | Kind::FromUtf8 { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::Referencing(_) => error.masked_with("the value").to_string(),
        _ => String::new(),
    };
    Fault {
        pointer,
        keyword,
        kind: match error.into_parts().kind {
            Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } if !whole => {
                FaultKind::NoBranch(Vec::new())
            }
            known => kind(known, words, most),
        },
    }
}

fn kind(kind: Kind, words: String, most: usize) -> FaultKind {
    match kind {
        Kind::Type { kind } => FaultKind::Type(types(&kind)),
        Kind::Required { property } => FaultKind::Required(match property {
            Value::String(name) => name,
            other => other.to_string(),
        }),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            FaultKind::UnknownKeys(unexpected)
        }
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => FaultKind::UnknownItems,
        Kind::Enum { options } => FaultKind::Enum(options),
        Kind::Constant { expected_value } => FaultKind::Const(expected_value),
        Kind::Minimum { limit } => minimum(limit, false),
        Kind::ExclusiveMinimum { limit } => minimum(limit, true),
        Kind::Maximum { limit } => maximum(limit, false),
        Kind::ExclusiveMaximum { limit } => maximum(limit, true),
        Kind::MultipleOf { multiple_of } => {
            FaultKind::MultipleOf(Value::from(multiple_of).to_string())
        }
        Kind::MinLength { limit } => FaultKind::MinLength(limit),
        Kind::MaxLength { limit } => FaultKind::MaxLength(limit),
        Kind::MinItems { limit } => FaultKind::MinItems(limit),
        Kind::MaxItems { limit } => FaultKind::MaxItems(limit),
        Kind::MinProperties { limit } => FaultKind::MinKeys(limit),
        Kind::MaxProperties { limit } => FaultKind::MaxKeys(limit),
        Kind::UniqueItems => FaultKind::UniqueItems,
        Kind::Contains => FaultKind::Contains,
        Kind::Pattern { pattern } => FaultKind::Pattern(pattern),
        Kind::Format { format } => FaultKind::Format(format),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => FaultKind::NoBranch(
            context
                .into_iter()
                .map(|branch| faults(branch.into_iter(), most).0)
                .collect(),
        ),
        Kind::OneOfMultipleValid { context } => {
            let branches = context.iter().enumerate();
            let fitting = branches.filter(|(_, faults)| faults.is_empty());
            FaultKind::ManyBranches(Fitting(fitting.map(|(index, _)| index).collect()))
        }
        Kind::PropertyNames { error } => FaultKind::KeyName {
            key: error.instance().as_str().unwrap_or_default().to_owned(),
            words: error.masked_with("the key").to_string(),
        },
        Kind::FalseSchema | Kind::Not { .. } => FaultKind::NotAllowed,
        _ => FaultKind::Other(words),
    }
}

fn minimum(limit: Value, exclusive: bool) -> FaultKind {
    let limit = limit.to_string();
    FaultKind::Minimum { limit, exclusive }
}

fn maximum(limit: Value, exclusive: bool) -> FaultKind {
    let limit = limit.to_string();
    FaultKind::Maximum { limit, exclusive }
}

fn types(kind: &TypeKind) -> Types {
    let named = |json_type: JsonType| Types::named(json_type.as_str());
    match kind {
        TypeKind::Single(one) => named(*one),
        TypeKind::Multiple(set) => set.iter().map(named).fold(Types::default(), Types::with),
    }
}
