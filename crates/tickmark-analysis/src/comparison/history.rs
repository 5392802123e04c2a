//! How far occasions of this machine were from each other before: what judges single recordings.

use super::environment::signature;
use super::side::Side;
use crate::report;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::plan::upper_deviation;
use tickmark_stats::spread;
use tickmark_store::Recording;

/// Degrees of freedom that are enough: five earlier recordings of one configuration.
const ENOUGH: f64 = 4.0;
/// No more are read.
const MOST: usize = 20;

/// How sure the bound on their spread is: occasions have long tails, of which a few show little.
const SURE: f64 = 0.95;

/// The relative standard deviation between occasions of one figure, at its upper limit.
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
type Figures = BTreeMap<(String, &'static str), f64>;

/// By metric and figure.
pub(super) type History = BTreeMap<(String, &'static str), Occasions>;

/// Looks at recordings that were made before these sides, newest first, of the same configurations and as many runs as long; of
/// each boot one, where the sides were not made in the same.
pub(super) fn of(earlier: &mut dyn Iterator<Item = Recording>, sides: &[&Side]) -> History {
    let own: Vec<&Recording> = sides.iter().flat_map(|side| &side.recordings).collect();
    let wanted: Vec<Vec<String>> = own.iter().map(|recording| signature(recording)).collect();
    let metrics: Vec<&str> = own
        .iter()
        .flat_map(|recording| &recording.meta.plan.metrics)
        .map(|metric| metric.name.as_str())
        .collect();
    let mut groups: BTreeMap<Vec<String>, Vec<Figures>> = BTreeMap::new();
    let mut read = 0;
    let boots: BTreeSet<Option<String>> = own.iter().map(|recording| boot(recording)).collect();
    let (across, mut seen_boots) = (boots.len() > 1, BTreeSet::<Option<String>>::new());
    let first = own.iter().map(|recording| recording.meta.created).min();
    for earlier in earlier {
        if read == MOST {
            break;
        }
        if own.iter().any(|recording| recording.meta.id == earlier.meta.id) {
            continue;
        }
        let made = signature(&earlier);
        let before = first.is_some_and(|first| earlier.meta.created < first);
        if !before || earlier.imported.is_some() || earlier.meta.arm.is_some() || !wanted.contains(&made) {
            continue;
        }
        // Where a boot lies between the sides, boots are what has to be known.
        if across && !seen_boots.insert(boot(&earlier)) {
            continue;
        }
        read += 1;
        let model = report::build(&earlier, &|metric| metrics.contains(&metric.name.as_str()), false);
        let mut figures = Figures::new();
        for row in model.groups.iter().flat_map(|(_, rows)| rows) {
            for (figure, values) in row.figures() {
                let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
                if mean > 0.0 {
                    figures.insert((row.metric.clone(), figure), mean);
                }
            }
        }
        groups.entry(made).or_default().push(figures);
    }
    pooled(groups.into_values())
}

/// Which session of the machine a recording was made in.
fn boot(recording: &Recording) -> Option<String> {
    recording.environment().and_then(|facts| facts.get("boot.id")).map(str::to_owned)
}

/// The variances of the logarithms within each configuration, together.
fn pooled(groups: impl Iterator<Item = Vec<Figures>>) -> History {
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
            (
                name,
                Occasions {
                    deviation: upper_deviation((squares / df).sqrt(), df as usize + 1, SURE),
                    df,
                    recordings,
                },
            )
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
        let found = pooled([around(100.0), around(500.0)].into_iter());
        let occasions = found[&("m".to_owned(), "floor")];
        // 1 %, at its upper limit: chi square's lower twentieth at 4 degrees of freedom is .711.
        assert!((occasions.deviation - 0.0237).abs() < 5e-4, "{occasions:?}");
        assert_eq!((occasions.df, occasions.recordings), (4.0, 6));
        assert!(pooled([around(1.0)].into_iter()).is_empty(), "three earlier recordings are not enough");
    }
}
