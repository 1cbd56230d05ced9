//! One rule, one file.

pub(crate) mod empty_arguments;

use super::Rule;
use crate::parse;

/// Every rule, by name.
pub fn catalogue() -> Vec<Rule> {
    let mut rules = vec![empty_arguments::RULE, parse::DUPLICATE_KEY];
    rules.extend(parse::lenient_rules());
    rules.sort_by_key(|rule| rule.name);
    rules
}
