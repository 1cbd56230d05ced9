//! One rule, one file.
//!
//! A rule is a [`Rule`] constant, which is all the catalogue says of it, and a function that looks
//! at one fault and proposes edits for it. Proposing is cheap and may be wrong: the validator
//! judges. A rule must only be sure that nothing else could have been meant.

pub(crate) mod empty_arguments;

mod array_to_scalar;
mod comma_list;
mod date_notation;
mod empty_optional;
mod enum_spelling;
mod enum_typo;
mod indexed_object;
mod key_style;
mod key_typo;
mod keys_down;
mod keys_up;
mod missing_default;
mod null_optional;
mod number_in_text;
mod number_list;
mod number_to_string;
mod object_to_array;
mod root_array;
mod scalar_to_array;
mod schema_echo;
mod string_to_boolean;
mod string_to_null;
mod string_to_number;
mod stringified;
mod typo;
mod unknown_key;
mod whole_number;
mod word_to_boolean;
mod wrapped_arguments;

use super::Rule;
use super::site::{Proposals, Site};
use crate::parse;
use crate::policy::Policy;
use crate::report::Level;

/// A rule, and how it proposes.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) rule: &'static Rule,
    pub(crate) propose: fn(&Site<'_>, &mut Proposals),
}

macro_rules! entries {
    ($($module:ident),* $(,)?) => {
        &[$(Entry { rule: &$module::RULE, propose: $module::propose }),*]
    };
}

/// The rules that answer faults.
const ENTRIES: &[Entry] = entries![
    string_to_number,
    string_to_boolean,
    string_to_null,
    number_to_string,
    whole_number,
    stringified,
    number_list,
    scalar_to_array,
    array_to_scalar,
    root_array,
    null_optional,
    missing_default,
    key_style,
    enum_spelling,
    wrapped_arguments,
    schema_echo,
    keys_up,
    keys_down,
    indexed_object,
    date_notation,
    unknown_key,
    word_to_boolean,
    enum_typo,
    key_typo,
    number_in_text,
    comma_list,
    empty_optional,
    object_to_array,
];

/// The rules that a policy allows, by stage: the sure ones, then all of them if there are others.
pub(crate) fn active(policy: &Policy) -> Vec<Vec<Entry>> {
    if policy.is_strict() {
        return Vec::new();
    }
    let allowed = |entry: &&Entry| policy.allows(entry.rule.name, entry.rule.level);
    let all: Vec<Entry> = ENTRIES.iter().filter(allowed).copied().collect();
    let sure = |entry: &&Entry| entry.rule.level == Level::Safe;
    let safe: Vec<Entry> = all.iter().filter(sure).copied().collect();
    let mut stages = vec![safe, all];
    stages.dedup_by_key(|stage| stage.len());
    stages.retain(|stage| !stage.is_empty());
    stages
}

/// Every rule, by name.
pub fn catalogue() -> Vec<Rule> {
    let mut rules = vec![empty_arguments::RULE, parse::DUPLICATE_KEY];
    rules.extend(ENTRIES.iter().map(|entry| *entry.rule));
    rules.extend(parse::lenient_rules());
    rules.sort_by_key(|rule| rule.name);
    rules
}
