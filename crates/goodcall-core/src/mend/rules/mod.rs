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
    faults: Answered,
}

/// The faults that a rule may have a proposal for. It is not asked about others.
#[derive(Clone, Copy)]
enum Answered {
    Any,
    WrongType,
    MissingMember,
}

macro_rules! entries {
    ($($faults:ident: $module:ident),* $(,)?) => {
        &[$(RuleEntry {
            rule: &$module::RULE,
            propose: $module::propose,
            faults: Answered::$faults,
        }),*]
    };
}

/// The rules that mend faults, in the order in which they propose.
const RULE_ENTRIES: &[RuleEntry] = entries![
    Any: no_parameters,
    WrongType: string_to_number,
    WrongType: plain_arithmetic,
    WrongType: string_to_boolean,
    WrongType: string_to_null,
    WrongType: number_to_string,
    WrongType: whole_number,
    WrongType: stringified,
    WrongType: number_list,
    WrongType: enum_list,
    WrongType: nested_array,
    WrongType: scalar_to_array,
    WrongType: array_to_scalar,
    WrongType: root_array,
    Any: null_optional,
    MissingMember: missing_default,
    Any: key_style,
    Any: key_markup,
    MissingMember: key_with_value,
    Any: enum_spelling,
    Any: enum_words,
    MissingMember: only_key,
    Any: empty_enum,
    Any: wrapped_arguments,
    Any: any_wrapper,
    Any: schema_echo,
    Any: keys_up,
    MissingMember: keys_down,
    WrongType: indexed_object,
    WrongType: single_element,
    WrongType: doubled_key,
    Any: date_notation,
    Any: unknown_key,
    WrongType: word_to_boolean,
    Any: enum_typo,
    Any: key_typo,
    WrongType: number_in_text,
    WrongType: comma_list,
    WrongType: empty_optional,
    WrongType: object_to_array,
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
        let asked = match site.fault.kind {
            FaultKind::Type(_) => Self::ON_TYPES,
            FaultKind::Required(_) => Self::ON_MISSING,
            _ => Self::ON_ANY,
        };
        for entry in Self(self.0 & asked.0).entries() {
            if only.is_none_or(|only| only == entry.rule.id) {
                (entry.propose)(site, out);
            }
        }
        if cfg!(debug_assertions) {
            let mut none = Proposals::default();
            let others = self.without(asked);
            others
                .entries()
                .for_each(|entry| (entry.propose)(site, &mut none));
            debug_assert!(
                none.0.is_empty(),
                "a rule answers a fault that it is not asked about"
            );
        }
    }

    const ON_ANY: Self = Self::answering(Answered::Any);
    const ON_TYPES: Self = Self::answering(Answered::WrongType);
    const ON_MISSING: Self = Self::answering(Answered::MissingMember);

    /// The rules that may have proposals for these faults, those for any fault among them.
    const fn answering(faults: Answered) -> Self {
        let (mut rules, mut index) = (0, 0);
        while index < RULE_ENTRIES.len() {
            let answered = RULE_ENTRIES[index].faults as u8;
            if answered == Answered::Any as u8 || answered == faults as u8 {
                rules |= 1 << index;
            }
            index += 1;
        }
        Self(rules)
    }

    fn entries(self) -> impl Iterator<Item = &'static RuleEntry> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            RULE_ENTRIES.get(index)
        })
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
