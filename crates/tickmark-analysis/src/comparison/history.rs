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
    /// How many more there are, in which others had the CPU: neither side was measured so.
    pub left_out: usize,
}

/// Metric and figure.
pub(super) type Name = (String, &'static str);

/// A figure of one recording.
#[derive(Debug, Clone, Copy)]
struct Seen {
    value: f64,
    /// Whether others had the CPU in half of its runs or more.
    contended: bool,
}

type Figures = BTreeMap<Name, Seen>;

/// What earlier recordings say: the figures of each, of one configuration after the other.
#[derive(Debug, Default)]
pub(super) struct History {
    configurations: Vec<Vec<Figures>>,
}

impl History {
    /// How far replicates of a figure spread, of which one side or both are contended or neither.
    pub(super) fn get(&self, name: &Name, contended: bool) -> Option<Occasions> {
        let (columns, left_out) = self.columns(std::slice::from_ref(name), contended);
        let (mut squares, mut df, mut recordings) = (0.0, 0.0, 0);
        for logs in columns.iter().flatten() {
            let Some(s) = spread(logs) else { continue };
            let own = logs.len() as f64 - 1.0;
            (squares, df, recordings) =
                (squares + s.deviation.powi(2) * own, df + own, recordings + logs.len());
        }
        let known = df >= ENOUGH && squares > 0.0;
        known.then(|| Occasions { deviation: (squares / df).sqrt(), df, recordings, left_out })
    }

    /// The logarithms of these figures in the earlier recordings that have all of them, by configurations of which there are two
    /// or more, and how many were left out: what is not contended is judged by what was not, as long as there is enough of it.
    /// Whether a recording is contended is seen without its figures, so that the choice favours none.
    pub(super) fn columns(&self, names: &[Name], contended: bool) -> (Vec<Vec<Vec<f64>>>, usize) {
        let df = |picked: &[Vec<&Figures>]| picked.iter().map(|own| own.len() as f64 - 1.0).sum::<f64>();
        let [all, left] = [false, true].map(|quietly| self.having(names, quietly));
        let count = |picked: &[Vec<&Figures>]| picked.iter().map(Vec::len).sum::<usize>();
        let known = count(&all);
        let picked = if !contended && df(&left) >= ENOUGH { left } else { all };
        let column = |own: &Vec<&Figures>, name| own.iter().map(|figures| figures[name].value.ln()).collect();
        let columns = picked.iter().map(|own| names.iter().map(|name| column(own, name)).collect()).collect();
        (columns, known - count(&picked))
    }

    /// The recordings that have all of these figures, quietly measured where that is asked for, of each configuration that has some.
    fn having(&self, names: &[Name], quietly: bool) -> Vec<Vec<&Figures>> {
        let fits = |figures: &Figures, name| {
            figures.get(name).is_some_and(|seen: &Seen| !(quietly && seen.contended))
        };
        let mut picked: Vec<Vec<&Figures>> = Vec::new();
        for all in &self.configurations {
            let own: Vec<&Figures> =
                all.iter().filter(|figures| names.iter().all(|name| fits(figures, name))).collect();
            picked.extend((own.len() > 1).then_some(own));
        }
        picked
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
    let mut configurations: BTreeMap<String, Vec<Figures>> = BTreeMap::new();
    for entry in counted.take(MOST) {
        let Some(recording) = (earlier.read)(&entry.id) else { continue };
        configurations.entry(entry.signature).or_default().push(figures(&recording, &metrics));
    }
    History { configurations: configurations.into_values().collect() }
}

/// The figures of these metrics in a recording.
fn figures(recording: &Recording, metrics: &[&str]) -> Figures {
    let model = report::build(recording, &|metric| metrics.contains(&metric.name.as_str()), false);
    let rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let all =
        rows.flat_map(|row| row.figures().into_iter().map(move |(figure, values)| (row, figure, values)));
    let mean = all.map(|(row, figure, values)| {
        let value = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
        ((row.metric.clone(), figure), Seen { value, contended: row.contended.is_some() })
    });
    mean.filter(|(_, seen)| seen.value > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Name {
        ("m".to_owned(), "floor")
    }

    fn recording(value: f64, contended: bool) -> Figures {
        BTreeMap::from([(name(), Seen { value, contended })])
    }

    fn around(middle: f64, contended: bool) -> Vec<Figures> {
        [0.99, 1.0, 1.01].map(|part| recording(middle * part, contended)).to_vec()
    }

    #[test]
    fn configurations_are_pooled_and_their_difference_is_not() {
        let history = History { configurations: vec![around(100.0, false), around(500.0, false)] };
        let occasions = history.get(&name(), false).unwrap();
        assert!((occasions.deviation - 0.01).abs() < 5e-5, "{occasions:?}");
        assert_eq!((occasions.df, occasions.recordings, occasions.left_out), (4.0, 6, 0));
        let few = History { configurations: vec![around(1.0, false)] };
        assert_eq!(few.get(&name(), false), None, "three earlier recordings are not enough");
    }

    #[test]
    fn what_was_left_alone_is_judged_by_what_was() {
        let quiet = [around(100.0, false), around(100.0, false)].concat();
        let busy: Vec<Figures> = [100.0, 130.0, 170.0].map(|value| recording(value, true)).to_vec();
        let history = History { configurations: vec![[quiet.clone(), busy.clone()].concat()] };
        let deviation = |contended| history.get(&name(), contended).unwrap().deviation;
        assert!(deviation(false) < 0.01 && deviation(true) > 0.15);
        assert_eq!(history.get(&name(), false).map(|o| (o.recordings, o.left_out)), Some((6, 3)));
        assert_eq!(history.get(&name(), true).map(|o| (o.recordings, o.left_out)), Some((9, 0)));
        // Four that were left alone are too few.
        let few = History { configurations: vec![[quiet[..4].to_vec(), busy].concat()] };
        assert_eq!(few.get(&name(), false).map(|o| (o.recordings, o.left_out)), Some((7, 0)));
    }
}
