//! How far occasions of this machine were from each other before: what judges single recordings.

use super::side::{Side, of_runs};
use crate::report;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::earlier::{PAIRS, Series, greatest};
use tickmark_stats::spread;
use tickmark_store::{Entry, Id, Recording};

/// No more are read.
const MOST: usize = 20;

/// The relative standard deviation between occasions of one figure. How little a few of them show is in the degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occasions {
    /// As a share of the figure.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// How many it comes from.
    pub recordings: usize,
}

/// Metric and figure.
pub(super) type Name = (String, &'static str);

/// The figures of one recording.
pub(super) type Figures = BTreeMap<Name, f64>;

/// History: the figures of each earlier recording, by configuration.
#[derive(Debug, Default)]
pub(super) struct History {
    configurations: Vec<Vec<Figures>>,
}

impl History {
    /// Of recordings of one configuration.
    #[cfg(test)]
    pub(super) fn from_recordings(recordings: Vec<Figures>) -> Self {
        Self { configurations: vec![recordings] }
    }

    /// How far replicates of a figure spread.
    pub(super) fn get(&self, name: &Name) -> Option<Occasions> {
        let columns = self.columns(std::slice::from_ref(name));
        let (df, deviation) = (columns.df(), columns.deviation(0));
        let recordings = columns.logs.iter().flatten().map(Vec::len).sum();
        let known = columns.pairs() >= PAIRS && deviation > 0.0;
        known.then_some(Occasions { deviation, df, recordings })
    }

    /// These figures in the recordings that have all of them.
    pub(super) fn columns(&self, names: &[Name]) -> Columns {
        let mut logs = Vec::new();
        for all in &self.configurations {
            let whole = |figures: &Figures| names.iter().map(|name| Some(figures.get(name)?.ln())).collect();
            let whole: Vec<Vec<f64>> = all.iter().filter_map(whole).collect();
            if whole.len() > 1 {
                logs.push((0..names.len()).map(|at| whole.iter().map(|own| own[at]).collect()).collect());
            }
        }
        Columns { logs }
    }

    /// How far any two earlier recordings are from each other, each pair in the figure that differs most.
    pub(super) fn greatest(&self, names: &[Name]) -> Vec<f64> {
        let of = |name| self.each(|own| own.get(name).map(|value| value.ln()));
        greatest(&names.iter().map(of).collect::<Vec<_>>())
    }

    /// The mean of some figures in their deviations, of each recording that has all of them.
    pub(super) fn composites(&self, names: &[Name], deviations: &[f64]) -> Series {
        self.each(|own| {
            let scaled = |(name, deviation): (_, &f64)| Some(own.get(name)?.ln() / deviation);
            let varies = |(_, deviation): &(&Name, &f64)| **deviation > 0.0;
            let scaled: Option<Vec<f64>> = names.iter().zip(deviations).filter(varies).map(scaled).collect();
            scaled.filter(|scaled| !scaled.is_empty()).map(|s| s.iter().sum::<f64>() / s.len() as f64)
        })
    }

    /// With other figures of each recording.
    pub(super) fn each_recording(&self, of: impl Fn(&Figures) -> Figures) -> Self {
        Self { configurations: self.configurations.iter().map(|all| all.iter().map(&of).collect()).collect() }
    }

    fn each(&self, of: impl Fn(&Figures) -> Option<f64>) -> Series {
        self.configurations.iter().map(|all| all.iter().map(&of).collect()).collect()
    }
}

/// Some figures of earlier recordings.
pub(super) struct Columns {
    /// Of each configuration, for each figure, the logarithms of its values.
    pub(super) logs: Vec<Vec<Vec<f64>>>,
}

impl Columns {
    fn counts(&self) -> impl Iterator<Item = usize> {
        self.logs.iter().filter_map(|columns| Some(columns.first()?.len()))
    }

    fn pairs(&self) -> usize {
        self.counts().map(|count| count * (count - 1) / 2).sum()
    }

    /// The degrees of freedom of a deviation within configurations.
    pub(super) fn df(&self) -> f64 {
        self.counts().map(|count| count as f64 - 1.0).sum()
    }

    /// The standard deviation within configurations of the figure at a place.
    pub(super) fn deviation(&self, at: usize) -> f64 {
        let columns = self.logs.iter().map(|columns| &columns[at]);
        let squares =
            columns.filter_map(|logs| Some(spread(logs)?.deviation.powi(2) * (logs.len() as f64 - 1.0)));
        (squares.sum::<f64>() / self.df()).sqrt()
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
pub(super) fn history_before(earlier: &Earlier<'_>, sides: &[&Side]) -> History {
    let recordings: Vec<&Recording> = sides.iter().flat_map(|side| &side.recordings).collect();
    let metrics: Vec<&str> = recordings
        .iter()
        .flat_map(|recording| &recording.meta.plan.metrics)
        .map(|metric| metric.name.as_str())
        .collect();
    let own: Vec<Entry> = recordings.iter().map(|recording| Entry::from_recording(recording)).collect();
    let first = own.iter().map(|entry| entry.created).min();
    let boots: BTreeSet<&Option<String>> = own.iter().map(|entry| &entry.boot).collect();
    let imported = own.iter().all(|own| own.imported);
    let is_other = |entry: &Entry| {
        entry.imported == imported && entry.arm.is_none() && own.iter().all(|own| own.id != entry.id)
    };
    let fits = |entry: &Entry| {
        let before = first.is_some_and(|first| entry.created < first);
        before && is_other(entry) && own.iter().any(|own| own.signature == entry.signature)
    };
    // Where a boot lies between the sides, boots are what has to be known.
    let (across, mut summary) = (boots.len() > 1, BTreeSet::new());
    let mut listed: Vec<Entry> = (earlier.list)().into_iter().filter(fits).collect();
    // Another program's results of one shape may be of different things: those of the same name are preferred.
    let is_named_so = |entry: &Entry| own.iter().any(|own| own.name == entry.name);
    if imported && listed.iter().any(is_named_so) {
        listed.retain(is_named_so);
    }
    let listed = listed.into_iter();
    let counted = listed.filter(|entry| !across || summary.insert(entry.boot.clone()));
    let mut configurations: BTreeMap<String, Vec<Figures>> = BTreeMap::new();
    for entry in counted.take(MOST) {
        let Some(recording) = (earlier.read)(&entry.id) else { continue };
        configurations.entry(entry.signature).or_default().push(figures(&recording, &metrics));
    }
    History { configurations: configurations.into_values().collect() }
}

/// The figures of these metrics in a recording.
fn figures(recording: &Recording, metrics: &[&str]) -> Figures {
    let groups = report::rows_of(recording, &|metric| metrics.contains(&metric.name.as_str()));
    let rows = groups.iter().flat_map(|(_, rows)| rows);
    let all =
        rows.flat_map(|row| row.figures().into_iter().map(move |(figure, values)| (row, figure, values)));
    let one = all.filter_map(|(row, figure, values)| Some(((row.metric.clone(), figure), of_runs(&values)?)));
    one.filter(|(_, value)| *value > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Name {
        ("m".to_owned(), "floor")
    }

    fn around(middle: f64, parts: &[f64]) -> Vec<Figures> {
        parts.iter().map(|part| BTreeMap::from([(name(), middle * part)])).collect()
    }

    #[test]
    fn configurations_are_pooled_and_their_difference_is_not() {
        let parts = [0.99, 0.99, 0.99, 1.0, 1.0, 1.0, 1.01, 1.01, 1.01];
        let history = History { configurations: vec![around(100.0, &parts), around(500.0, &parts)] };
        let occasions = history.get(&name()).unwrap();
        assert!((occasions.deviation - 0.01 * 0.75f64.sqrt()).abs() < 5e-5, "{occasions:?}");
        assert_eq!((occasions.df, occasions.recordings), (16.0, 18));
        let few = History { configurations: vec![around(1.0, &parts)] };
        assert_eq!(few.get(&name()), None, "nine earlier recordings are not enough");
        let ten = [&parts[..], &[1.02]].concat();
        assert!(History { configurations: vec![around(1.0, &ten)] }.get(&name()).is_some());
        assert_eq!(History { configurations: vec![around(1.0, &ten)] }.greatest(&[name()]).len(), 45);
    }
}
