//! What made an operation, or an interrupt, dearer: by function.

use super::Function;
use std::collections::BTreeMap;
use tickmark_stats::order::largest_first;

/// A function in two kernels; where one lacks it, it has nothing there.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Instructions of its own in the first and in the second.
    pub own: [f64; 2],
    /// Calls of it.
    pub calls: [f64; 2],
}

impl Change {
    /// Instructions that the second has more.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.own[1] - self.own[0]
    }
}

/// Instructions that make no difference.
const NOTHING: f64 = 0.05;

/// The functions that differ, by their own instructions: the largest difference first.
#[must_use]
pub fn difference(before: &[Function], after: &[Function]) -> Vec<Change> {
    let mut all: BTreeMap<&str, Change> = BTreeMap::new();
    for (side, functions) in [before, after].into_iter().enumerate() {
        for function in functions {
            let change = all.entry(&function.name).or_insert_with(|| Change {
                name: function.name.clone(),
                own: [0.0; 2],
                calls: [0.0; 2],
            });
            change.own[side] += function.own;
            change.calls[side] += function.calls;
        }
    }
    let mut all: Vec<Change> =
        all.into_values().filter(|change| change.difference().abs() >= NOTHING).collect();
    largest_first(&mut all, |one| one.difference().abs());
    all
}
