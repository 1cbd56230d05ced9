//! Tokens of all tries, summed; costs and times, where a provider tells them, too.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use goodcall_core::{Kind, Node};

use crate::cuts::{Cuts, quoted};

/// Levels of details inside a usage.
const MOST_DEPTH: usize = 4;

/// Decimal places that are counted.
const MOST_PLACES: u32 = 24;

/// Counts by their path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage(BTreeMap<String, Amount>);

/// A number that is not negative, by its digits: so many units of this decimal place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    units: u128,
    places: u32,
}

impl Usage {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts of one node; later ones of the same reply take the place of earlier ones.
    pub(crate) fn note(&mut self, usage: Node<'_>) {
        leaves(usage, "", 0, &mut |path, count, _| {
            self.0.insert(path.to_owned(), count);
        });
    }

    /// Adds what another reply took.
    pub(crate) fn add(&mut self, other: &Usage) {
        for (path, count) in &other.0 {
            let sum = self.0.entry(path.clone()).or_default();
            *sum = sum.plus(*count);
        }
    }

    /// Writes these counts on top of those of a node. What it does not tell is told, too: `own` has
    /// what the same reply said of it elsewhere.
    pub(crate) fn write(&self, usage: Node<'_>, own: &Usage, cuts: &mut Cuts<'_>) {
        let mut told = HashSet::new();
        leaves(usage, "", 0, &mut |path, count, node| {
            told.insert(path.to_owned());
            if let Some(before) = self.0.get(path).filter(|before| before.units > 0) {
                cuts.replace(node.span(), count.plus(*before).to_string());
            }
        });
        if usage.kind() != Kind::Object {
            return;
        }
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let missing = self
            .0
            .iter()
            .filter(|(path, before)| before.units > 0 && !told.contains(*path));
        for (path, before) in missing {
            let sum = before.plus(own.0.get(path).copied().unwrap_or_default());
            let sum = sum.to_string();
            let Some((group, key)) = path.split_once('.') else {
                cuts.set(usage, path, &sum);
                continue;
            };
            match usage.get(group).filter(|node| !node.is_null()) {
                _ if key.contains('.') => {}
                Some(node) if node.kind() == Kind::Object => cuts.set(node, key, &sum),
                Some(_) => {}
                None => {
                    let members = groups.entry(group).or_default();
                    members.push(format!("{}:{sum}", quoted(key)));
                }
            }
        }
        for (group, members) in groups {
            cuts.set(usage, group, &format!("{{{}}}", members.join(",")));
        }
    }
}

impl Amount {
    /// Reads the digits of a number; `None` for one that is no count.
    fn read(digits: &str) -> Option<Self> {
        let (number, power) = match digits.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.parse::<i32>().ok()?),
            None => (digits, 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let units: u128 = format!("{whole}{part}").parse().ok()?;
        let places = i32::try_from(part.len()).ok()?.checked_sub(power)?;
        let more = places.min(0).unsigned_abs();
        let places = u32::try_from(places.max(0)).ok()?;
        let units = units.checked_mul(10u128.checked_pow(more)?)?;
        (places <= MOST_PLACES).then_some(Self { units, places })
    }

    /// The sum, exactly. One that is too large to be said is left as it is.
    fn plus(self, other: Self) -> Self {
        let places = self.places.max(other.places);
        let units = |amount: Self| {
            let shift = 10u128.checked_pow(places - amount.places)?;
            amount.units.checked_mul(shift)
        };
        let sum = units(self).zip(units(other));
        let sum = sum.and_then(|(one, two)| one.checked_add(two));
        sum.map_or(self, |units| Self { units, places })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places as usize;
        let digits = format!("{:0>width$}", self.units, width = places + 1);
        match digits.split_at_checked(digits.len() - places) {
            Some((whole, part)) if !part.is_empty() => write!(f, "{whole}.{part}"),
            _ => f.write_str(&digits),
        }
    }
}

fn leaves(
    node: Node<'_>,
    path: &str,
    depth: usize,
    found: &mut impl FnMut(&str, Amount, Node<'_>),
) {
    if depth > MOST_DEPTH || node.kind() != Kind::Object {
        return;
    }
    for (key, child) in node.members() {
        let path = match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        match child.digits().and_then(Amount::read) {
            Some(count) => found(&path, count, child),
            None => leaves(child, &path, depth + 1, found),
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
            let read = |digits| Amount::read(digits).unwrap();
            assert_eq!(read(one).plus(read(two)).to_string(), sum);
        }
        for none in ["-1", "1e-99", "1e99", "1e999999999999"] {
            assert_eq!(Amount::read(none), None, "{none}");
        }
    }
}
