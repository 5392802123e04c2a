//! How far occasions of this machine were from each other before: what judges single recordings.

use super::side::Side;
use crate::report;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::spread;
use tickmark_store::{Entry, Id, Recording};

/// Degrees of freedom that are enough: five earlier recordings of one configuration.
const ENOUGH: f64 = 4.0;
/// No more are read.
const MOST: usize = 20;

/// The relative standard deviation between occasions of one figure. How little a few of them show is in the degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occasions {
    /// As a share of the mean.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// How many it comes from.
    pub recordings: usize,
}

/// The figures of one recording, by metric and figure.
pub(super) type Figures = BTreeMap<(String, &'static str), f64>;

/// What earlier recordings say.
#[derive(Debug, Default)]
pub(super) struct History {
    occasions: BTreeMap<(String, &'static str), Occasions>,
    groups: Vec<Vec<Figures>>,
}

impl History {
    /// How far replicates of a figure spread.
    pub(super) fn get(&self, name: &(String, &'static str)) -> Option<Occasions> {
        self.occasions.get(name).copied()
    }

    /// The figures of each earlier recording, of one configuration after the other.
    pub(super) fn groups(&self) -> &[Vec<Figures>] {
        &self.groups
    }
}

/// Recordings of these machines that were kept before, as the index knows them.
pub struct Earlier<'a> {
    /// Lists them, newest first; asked for where it matters.
    pub list: &'a dyn Fn() -> Vec<Entry>,
    /// Reads one.
    pub read: &'a dyn Fn(&Id) -> Option<Recording>,
}

/// Looks at recordings that were made before these sides, newest first, of the same configurations and as many runs as long; of
/// each boot one, where the sides were not made in the same.
pub(super) fn of(earlier: &Earlier<'_>, sides: &[&Side]) -> History {
    let recordings: Vec<&Recording> = sides.iter().flat_map(|side| &side.recordings).collect();
    let metrics: Vec<&str> = recordings
        .iter()
        .flat_map(|recording| &recording.meta.plan.metrics)
        .map(|metric| metric.name.as_str())
        .collect();
    let own: Vec<Entry> = recordings.iter().map(|recording| Entry::of(recording)).collect();
    let first = own.iter().map(|entry| entry.created).min();
    let boots: BTreeSet<&Option<String>> = own.iter().map(|entry| &entry.boot).collect();
    let is_other =
        |entry: &Entry| !entry.imported && entry.arm.is_none() && own.iter().all(|own| own.id != entry.id);
    let fits = |entry: &Entry| {
        let before = first.is_some_and(|first| entry.created < first);
        before && is_other(entry) && own.iter().any(|own| own.signature == entry.signature)
    };
    // Where a boot lies between the sides, boots are what has to be known.
    let (across, mut seen) = (boots.len() > 1, BTreeSet::new());
    let listed = (earlier.list)().into_iter().filter(fits);
    let counted = listed.filter(|entry| !across || seen.insert(entry.boot.clone()));
    let mut groups: BTreeMap<String, Vec<Figures>> = BTreeMap::new();
    for entry in counted.take(MOST) {
        let Some(recording) = (earlier.read)(&entry.id) else { continue };
        groups.entry(entry.signature).or_default().push(figures(&recording, &metrics));
    }
    let groups: Vec<Vec<Figures>> = groups.into_values().collect();
    History { occasions: pooled(&groups), groups }
}

/// The figures of these metrics in a recording.
fn figures(recording: &Recording, metrics: &[&str]) -> Figures {
    let model = report::build(recording, &|metric| metrics.contains(&metric.name.as_str()), false);
    let rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let all =
        rows.flat_map(|row| row.figures().into_iter().map(move |(figure, values)| (row, figure, values)));
    let mean = all.map(|(row, figure, values)| {
        let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
        ((row.metric.clone(), figure), mean)
    });
    mean.filter(|(_, mean)| *mean > 0.0).collect()
}

/// The variances of the logarithms within each configuration, together.
fn pooled(groups: &[Vec<Figures>]) -> BTreeMap<(String, &'static str), Occasions> {
    let mut sums: BTreeMap<(String, &'static str), (f64, f64, usize)> = BTreeMap::new();
    for group in groups {
        let names: BTreeSet<_> = group.iter().flat_map(BTreeMap::keys).cloned().collect();
        for name in names {
            let logs: Vec<f64> =
                group.iter().filter_map(|figures| figures.get(&name)).map(|mean| mean.ln()).collect();
            let Some(s) = spread(&logs).filter(|_| logs.len() > 1) else { continue };
            let df = logs.len() as f64 - 1.0;
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + s.deviation.powi(2) * df, sum.1 + df, sum.2 + logs.len());
        }
    }
    let enough = sums.into_iter().filter(|(_, (squares, df, _))| *df >= ENOUGH && *squares > 0.0);
    enough
        .map(|(name, (squares, df, recordings))| {
            (name, Occasions { deviation: (squares / df).sqrt(), df, recordings })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_pooled_and_their_difference_is_not() {
        let one = |value: f64| BTreeMap::from([(("m".to_owned(), "floor"), value)]);
        let around = |middle: f64| [0.99, 1.0, 1.01].map(|part| one(middle * part)).to_vec();
        let found = pooled(&[around(100.0), around(500.0)]);
        let occasions = found[&("m".to_owned(), "floor")];
        assert!((occasions.deviation - 0.01).abs() < 5e-5, "{occasions:?}");
        assert_eq!((occasions.df, occasions.recordings), (4.0, 6));
        assert!(pooled(&[around(1.0)]).is_empty(), "three earlier recordings are not enough");
    }
}
