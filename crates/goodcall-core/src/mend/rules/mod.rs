//! One rule, one file.
//!
//! A rule is a [`Rule`] constant, which is all the catalogue says of it, and a function that looks
//! at one fault and proposes edits for it. Proposing is cheap and may be wrong: the validator
//! judges. A rule must only be sure that nothing else could have been meant.

pub(crate) mod empty_arguments;

mod array_to_scalar;
mod comma_list;
mod date_notation;
mod doubled_key;
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
mod single_element;
mod string_to_boolean;
mod string_to_null;
mod string_to_number;
mod stringified;
mod unknown_key;
mod whole_number;
mod word_to_boolean;
mod wrapped_arguments;

use super::site::{Proposals, Site};
use crate::parse;
use crate::policy::Policy;
use crate::rule::{Level, Rule};

/// A rule, and how it proposes.
struct RuleEntry {
    rule: &'static Rule,
    propose: fn(&Site<'_>, &mut Proposals),
}

macro_rules! entries {
    ($($module:ident),* $(,)?) => {
        &[$(RuleEntry { rule: &$module::RULE, propose: $module::propose }),*]
    };
}

/// The rules that answer faults.
const RULE_ENTRIES: &[RuleEntry] = entries![
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
    single_element,
    doubled_key,
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

/// Some of the rules that answer faults, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleSet(u64);

const _: () = assert!(RULE_ENTRIES.len() <= 64);

impl RuleSet {
    /// What these rules propose for a fault.
    pub(crate) fn propose(self, site: &Site<'_>, out: &mut Proposals) {
        for (index, entry) in RULE_ENTRIES.iter().enumerate() {
            if self.0 & (1 << index) != 0 {
                (entry.propose)(site, out);
            }
        }
    }
}

/// The rules that a policy allows: the sure ones, then all of them if there are others. `None` if
/// it allows nothing.
pub(crate) fn stages(policy: &Policy) -> Option<[Option<RuleSet>; 2]> {
    if policy.is_strict() {
        return None;
    }
    let (mut safe, mut all) = (0, 0);
    for (index, entry) in RULE_ENTRIES.iter().enumerate() {
        if policy.allows(entry.rule.id, entry.rule.level) {
            all |= 1 << index;
            if entry.rule.level == Level::Safe {
                safe |= 1 << index;
            }
        }
    }
    let further = (all != safe).then_some(RuleSet(all));
    (all != 0).then_some([Some(RuleSet(safe)), further])
}

/// Every rule that mends arguments or reads them leniently, by name. `goodcall_wire::catalogue`
/// adds the rules that read calls in text.
pub fn catalogue() -> Vec<Rule> {
    let mut rules = vec![empty_arguments::RULE, parse::DUPLICATE_KEY];
    rules.extend(RULE_ENTRIES.iter().map(|entry| *entry.rule));
    rules.extend(parse::lenient_rules());
    rules.sort_by_key(|rule| rule.id);
    rules
}
