//! Token counts of all attempts, summed; costs and times, too, if a provider reports them.

use std::collections::{BTreeMap, HashSet};

use goodcall_core::{Kind, Node};

use crate::decimal::Decimal;
use crate::splice::{Splice, quoted};

/// Levels of objects inside a usage that are read.
const MOST_DEPTH: usize = 4;

/// The most decimal places of a number that is summed.
const MOST_PLACES: u32 = 24;

/// The numbers of a usage by their path, such as `prompt_tokens_details.cached_tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage(BTreeMap<String, Decimal>);

/// The tokens of one or more replies, as far as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCounts {
    /// Tokens that the model read, from a cache or not.
    pub input: u64,
    /// Tokens that the model wrote, its thoughts included.
    pub output: u64,
}

/// The names under which providers count tokens that were read, and written. The last ones of each
/// are counted apart from the others.
const INPUT: [&str; 7] = [
    "prompt_tokens",
    "input_tokens",
    "promptTokenCount",
    "prompt_eval_count",
    "inputTokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];
const OUTPUT: [&str; 6] = [
    "completion_tokens",
    "output_tokens",
    "candidatesTokenCount",
    "eval_count",
    "outputTokens",
    "thoughtsTokenCount",
];

impl Usage {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tokens that this usage counts.
    pub(crate) fn tokens(&self) -> TokenCounts {
        let sum = |names: &[&str]| {
            let own = self.0.iter();
            let own = own.filter(|(path, _)| names.contains(&path.as_str()));
            let counts = own.filter_map(|(_, count)| count.to_integer());
            counts.filter_map(|count| u64::try_from(count).ok()).sum()
        };
        TokenCounts {
            input: sum(&INPUT),
            output: sum(&OUTPUT),
        }
    }

    /// Reads the numbers of one usage; they replace earlier ones of the same reply.
    pub(crate) fn note(&mut self, usage: Node<'_>) {
        visit_numbers(usage, "", 0, &mut |path, number, _| {
            self.0.insert(path, number);
        });
    }

    /// Adds the usage of another reply.
    pub(crate) fn add(&mut self, other: &Usage) {
        for (path, number) in &other.0 {
            let sum = self.0.entry(path.clone()).or_default();
            *sum = plus(*sum, *number);
        }
    }

    /// Adds these numbers to those of a node. A number that the node lacks is appended; `own` holds
    /// what the same reply reported for it elsewhere.
    pub(crate) fn write(&self, usage: Node<'_>, own: &Usage, splice: &mut Splice<'_>) {
        let mut reported = HashSet::new();
        let zero = Decimal::default();
        visit_numbers(usage, "", 0, &mut |path, number, node| {
            if let Some(before) = self.0.get(&path).filter(|before| !before.is_zero()) {
                splice.replace(node.span(), plus(number, *before).to_string());
            }
            reported.insert(path);
        });
        if usage.kind() != Kind::Object {
            return;
        }
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (path, before) in &self.0 {
            if before.is_zero() || reported.contains(path) {
                continue;
            }
            let sum = plus(*before, own.0.get(path).copied().unwrap_or(zero)).to_string();
            let Some((group, key)) = path.split_once('.') else {
                splice.set(usage, path, &sum);
                continue;
            };
            match usage.get(group).filter(|node| !node.is_null()) {
                _ if key.contains('.') => {}
                Some(node) if node.kind() == Kind::Object => splice.set(node, key, &sum),
                Some(_) => {}
                None => {
                    let members = groups.entry(group).or_default();
                    members.push(format!("{}:{sum}", quoted(key)));
                }
            }
        }
        for (group, members) in groups {
            splice.set(usage, group, &format!("{{{}}}", members.join(",")));
        }
    }
}

/// Returns the exact sum, or the first number if the sum is too large.
fn plus(one: Decimal, two: Decimal) -> Decimal {
    one.plus(two).unwrap_or(one)
}

/// Reads a number that is not negative and not too precise.
fn read_count(digits: &str) -> Option<Decimal> {
    let number = Decimal::parse(digits).filter(|number| number.places() <= MOST_PLACES);
    number.filter(|_| !digits.starts_with('-'))
}

/// Calls `visit` with the path, the value and the node of every number.
fn visit_numbers(
    node: Node<'_>,
    path: &str,
    depth: usize,
    visit: &mut impl FnMut(String, Decimal, Node<'_>),
) {
    if depth > MOST_DEPTH || node.kind() != Kind::Object {
        return;
    }
    for (key, child) in node.members() {
        let path = match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        match child.digits().and_then(read_count) {
            Some(count) => visit(path, count, child),
            None => visit_numbers(child, &path, depth + 1, visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        for (one, two, sum) in [
            ("1", "2", "3"),
            ("0.1", "0.2", "0.3"),
            ("0.0001", "2.5e-05", "0.000125"),
            ("1E3", "0.5", "1000.5"),
            ("18446744073709551615", "1", "18446744073709551616"),
        ] {
            let read = |digits| read_count(digits).unwrap();
            assert_eq!(plus(read(one), read(two)).to_string(), sum);
        }
        for none in ["-1", "1e-99", "1e99", "1e999999999999"] {
            assert_eq!(read_count(none), None, "{none}");
        }
    }
}
