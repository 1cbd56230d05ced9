//! Families of metrics that find the labels of most requests without hashing them.

use std::hash::Hash;
use std::sync::OnceLock;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};

/// How many values are compared before a map is asked.
const FEW: usize = 8;

/// The first few values of a growing set, which are compared one by one. That takes neither a hash nor a
/// lock, and a server rarely has more models or tools than that.
#[derive(Debug)]
pub(super) struct FirstFew<T>([OnceLock<T>; FEW]);

impl<T> Default for FirstFew<T> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; FEW])
    }
}

impl<T> FirstFew<T> {
    pub(super) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<&T> {
        let mut values = self.0.iter().map_while(OnceLock::get);
        values.find(|value| is_it(value))
    }

    /// Adds a value, unless there are enough. Two threads may add the same one, which does no harm.
    pub(super) fn add(&self, mut value: T) {
        for place in &self.0 {
            match place.set(value) {
                Ok(()) => return,
                Err(taken) => value = taken,
            }
        }
    }
}

/// A family of metrics, and the metrics of the labels that came first.
#[derive(Debug)]
pub struct QuickFamily<L, M = Counter, C = fn() -> M> {
    family: Family<L, M, C>,
    first: FirstFew<(L, M)>,
}

impl<L: Clone + Hash + Eq, M: Default> Default for QuickFamily<L, M> {
    fn default() -> Self {
        Self {
            family: Family::default(),
            first: FirstFew::default(),
        }
    }
}

impl<L, M, C> QuickFamily<L, M, C>
where
    L: Clone + Hash + Eq,
    M: Clone,
    C: MetricConstructor<M> + Clone,
{
    /// Makes a family whose metrics are made by `constructor`.
    pub fn new_with_constructor(constructor: C) -> Self {
        Self {
            family: Family::new_with_constructor(constructor),
            first: FirstFew::default(),
        }
    }

    /// Returns the family, which shares its metrics, for a registry.
    pub fn family(&self) -> Family<L, M, C> {
        self.family.clone()
    }

    /// Returns the metric of these labels, and makes it if there is none.
    pub fn get(&self, labels: &L) -> M {
        if let Some((_, metric)) = self.first.find(|(known, _)| known == labels) {
            return metric.clone();
        }
        let metric = self.family.get_or_create_owned(labels);
        self.first.add((labels.clone(), metric.clone()));
        metric
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_of_labels_has_one_metric_however_many_there_are() {
        let counters = QuickFamily::<Vec<(String, String)>>::default();
        let labels = |n: usize| vec![("n".to_owned(), n.to_string())];
        for round in 0..3 {
            for n in 0..3 * FEW {
                assert_eq!(counters.get(&labels(n)).inc(), round, "{n}");
            }
        }
        for n in 0..3 * FEW {
            let registered = counters.family().get_or_create_owned(&labels(n));
            assert_eq!(registered.get(), 3, "{n}");
        }
    }
}
