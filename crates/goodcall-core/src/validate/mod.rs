//! Validation: runs the `jsonschema` crate on the tree and takes its errors over as our own data.
//!
//! Nothing of that crate leaves this folder and `schema/`. Its errors become [`Fault`]s: mending
//! reads faults, and `diagnose` turns the faults that remain into issues.

mod adapter;
mod budget;
mod keyword_place;
mod pattern;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;
use std::sync::Arc;

use adapter::is_after_exhaustion;
pub(crate) use adapter::{TreeArray, TreeJson, equals};
pub(crate) use budget::{bounded, spend};
pub(crate) use keyword_place::KeywordPlace;
pub(crate) use pattern::{BACKTRACKING_PATTERN, BacktrackingPattern, with_assumptions};

use crate::report::Types;
use crate::tree::Pointer;

/// One error of the validator.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// The place of the value that is wrong; for a missing member, of the object that lacks it.
    pub(crate) pointer: Pointer,
    /// The place of the failing keyword in the schema document.
    pub(crate) keyword: KeywordPlace,
    pub(crate) kind: FaultKind,
    /// The indices of the branches that fit, if these are too many.
    pub(crate) fitting_branches: Vec<usize>,
}

/// What is wrong, and what the keyword demands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FaultKind {
    Type(Types),
    Required(String),
    /// Members that no keyword allows.
    UnknownKeys(Vec<String>),
    /// A key that is allowed, but is a declared one misspelt: one of these.
    Misspelt {
        key: String,
        names: Vec<String>,
    },
    /// Arguments in an envelope that is allowed, but was not meant.
    Wrapped,
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
    ManyBranches,
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

impl Fault {
    pub(crate) fn new(pointer: Pointer, keyword: KeywordPlace, kind: FaultKind) -> Self {
        Self {
            pointer,
            keyword,
            kind,
            fitting_branches: Vec::new(),
        }
    }
}

/// Two faults are the same if they have the same place, keyword and kind. An edit can change which
/// branches fit without mending the fault.
impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.pointer == other.pointer && self.keyword == other.keyword && self.kind == other.kind
    }
}

/// Takes over at most `most` errors, and counts the rest.
pub(crate) fn faults<'e>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    most: usize,
) -> (Vec<Fault>, usize) {
    let mut kept = Vec::with_capacity(errors.size_hint().0.min(most));
    let mut left = most;
    let mut more = 0;
    for error in errors {
        if is_doubtful(&error) {
            continue;
        }
        if left == 0 {
            more += 1;
            continue;
        }
        let mut fault = fault(error, most);
        // One error, but one issue per key.
        if let FaultKind::UnknownKeys(keys) = &mut fault.kind {
            more += keys.len().saturating_sub(left);
            keys.truncate(left);
            left -= keys.len().saturating_sub(1);
        }
        left -= 1;
        kept.push(fault);
    }
    (kept, more)
}

/// Returns true if [`faults`] with this limit would have made the same list. An unknown key counts as
/// much as a fault.
pub(crate) fn fits(faults: &[Fault], most: usize) -> bool {
    let mut left = most;
    faults.iter().all(|fault| {
        let (size, inner_fits) = match &fault.kind {
            FaultKind::UnknownKeys(keys) => (keys.len(), true),
            FaultKind::NoBranch(branches) => (1, branches.iter().all(|inner| fits(inner, most))),
            _ => (1, true),
        };
        let rest = left.checked_sub(size);
        left = rest.unwrap_or(0);
        rest.is_some() && inner_fits
    })
}

/// Returns true if the validator produced this error after its budget ran out, so that it may be
/// spurious. A union error is still trustworthy if any branch error predates exhaustion, because
/// the union is visited first.
fn is_doubtful(error: &ValidationError<'_>) -> bool {
    is_after_exhaustion(error)
        && match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                context.iter().flatten().next().is_none_or(is_doubtful)
            }
            _ => true,
        }
}

fn fault(error: ValidationError<'_>, most: usize) -> Fault {
    let complete = !is_after_exhaustion(&error);
    // Errors do not hold the instance, so their own text would show a placeholder for it.
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
    let mut fitting_branches = Vec::new();
    if let Kind::OneOfMultipleValid { context } = error.kind() {
        let fitting = context
            .iter()
            .enumerate()
            .filter(|(_, faults)| faults.is_empty());
        fitting_branches.extend(fitting.map(|(index, _)| index));
    }
    let is_custom = matches!(error.kind(), Kind::Custom { .. });
    let parts = error.into_parts();
    let pointer = Pointer::parse(parts.instance_path.as_str());
    let mut keyword = KeywordPlace::from(parts.schema_path);
    if is_custom && keyword.name() == BACKTRACKING_PATTERN {
        keyword = keyword.with_name("pattern");
    }
    Fault {
        pointer: pointer.expect("the validator writes pointers"),
        keyword,
        kind: match parts.kind {
            Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } if !complete => {
                FaultKind::NoBranch(Vec::new())
            }
            known => kind(known, words, most),
        },
        fitting_branches,
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
        Kind::Custom { keyword, message } if keyword == BACKTRACKING_PATTERN => {
            FaultKind::Pattern(message)
        }
        Kind::Format { format } => FaultKind::Format(format),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => FaultKind::NoBranch(
            context
                .into_iter()
                .map(|branch| faults(branch.into_iter(), most).0)
                .collect(),
        ),
        Kind::OneOfMultipleValid { .. } => FaultKind::ManyBranches,
        Kind::PropertyNames { error } => FaultKind::KeyName {
            key: error.instance().as_str().unwrap_or("").to_owned(),
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
