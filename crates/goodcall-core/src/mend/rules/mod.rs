//! The rules that mend arguments, one file per rule.
//!
//! A rule is a [`Rule`] constant, which is its entry in the catalogue, and a function that looks at
//! one fault and proposes edits for it. A proposal is cheap and may be wrong, since the validator
//! judges it. A rule must only make sure that no other reading is plausible.

pub(crate) mod empty_arguments;

mod any_wrapper;
mod array_to_scalar;
mod comma_list;
mod date_notation;
mod doubled_key;
mod empty_enum;
mod empty_optional;
mod enum_list;
mod enum_spelling;
mod enum_typo;
mod enum_words;
mod indexed_object;
mod key_markup;
mod key_style;
mod key_typo;
mod key_with_value;
mod keys_down;
mod keys_up;
mod missing_default;
mod nested_array;
mod no_parameters;
mod null_optional;
mod number_in_text;
mod number_list;
mod number_to_string;
mod object_to_array;
mod only_key;
mod plain_arithmetic;
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
use crate::rule::{Level, Rule, RuleId};
use crate::validate::FaultKind;

/// A rule with the function that proposes its edits.
struct RuleEntry {
    rule: &'static Rule,
    propose: fn(&Site<'_>, &mut Proposals),
}

macro_rules! entries {
    ($($module:ident),* $(,)?) => {
        &[$(RuleEntry { rule: &$module::RULE, propose: $module::propose }),*]
    };
}

/// The rules that mend faults, in the order in which they propose.
const RULE_ENTRIES: &[RuleEntry] = entries![
    no_parameters,
    string_to_number,
    plain_arithmetic,
    string_to_boolean,
    string_to_null,
    number_to_string,
    whole_number,
    stringified,
    number_list,
    enum_list,
    nested_array,
    scalar_to_array,
    array_to_scalar,
    root_array,
    null_optional,
    missing_default,
    key_style,
    key_markup,
    key_with_value,
    enum_spelling,
    enum_words,
    only_key,
    empty_enum,
    wrapped_arguments,
    any_wrapper,
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

/// A subset of [`RULE_ENTRIES`], one bit per rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleSet(u64);

const _: () = assert!(RULE_ENTRIES.len() <= 64);

impl RuleSet {
    /// These rules without others.
    pub(crate) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Collects the proposals of these rules for a fault.
    pub(crate) fn propose(self, site: &Site<'_>, out: &mut Proposals) {
        // Two faults are not the validator's, and one rule answers each.
        let only = match site.fault.kind {
            FaultKind::Misspelt { .. } => Some(RuleId::KeyStyle),
            FaultKind::Wrapped => Some(RuleId::WrappedArguments),
            _ => None,
        };
        for (index, entry) in RULE_ENTRIES.iter().enumerate() {
            if self.0 & (1 << index) != 0 && only.is_none_or(|only| only == entry.rule.id) {
                (entry.propose)(site, out);
            }
        }
    }
}

/// Returns the rules that a policy allows: first the safe ones, then all of them if there are
/// others. Returns `None` if it allows no rule.
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

/// Returns every rule that mends arguments or reads them leniently, by name. `goodcall_wire::catalogue`
/// adds the rules that read calls in text.
pub fn catalogue() -> Vec<Rule> {
    let mut rules = vec![empty_arguments::RULE, parse::DUPLICATE_KEY];
    rules.extend(RULE_ENTRIES.iter().map(|entry| *entry.rule));
    rules.extend(parse::lenient_rules());
    rules.sort_by_key(|rule| rule.id);
    rules
}
