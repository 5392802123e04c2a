//! Parts of a series between which something else was measured with, and the levels within each.

use super::{Level, Series, Split};
use crate::comparison::{Difference, between};
use tickmark_stats::change::{self, Change, Kind, LEAST, without_phases};
use tickmark_stats::median;
use tickmark_store::Recording;

/// Facts that split a series where they become others. A machine of another processor is another series.
const SPLITTING: [&str; 5] = ["kernel.release", "compiler", "python.version", "jvm", "dotnet.version"];
/// A fact of which a part is on average no longer than this is no split: it is what is measured.
const SHORTEST: usize = 2 * LEAST + 1;

/// Splits a series where a fact became another. What is not known is as before.
pub(super) fn split(series: &mut Series, measured: &[&Recording]) {
    let mut add = |at: usize, fact: Difference| match series.splits.iter_mut().find(|split| split.at == at) {
        Some(split) => split.facts.push(fact),
        None => series.splits.push(Split { at, facts: vec![fact], step: None }),
    };
    for name in SPLITTING {
        let known: Vec<(usize, &str)> = measured
            .iter()
            .enumerate()
            .filter_map(|(at, one)| Some((at, one.environment()?.get(name)?)))
            .collect();
        let others: Vec<_> = known.windows(2).filter(|pair| pair[0].1 != pair[1].1).collect();
        if others.len() > 1 && measured.len() < (others.len() + 1) * SHORTEST {
            series.passing.push(name);
            continue;
        }
        for pair in others {
            let [base, other] = [pair[0], pair[1]].map(|(_, value)| value.to_owned());
            add(pair[1].0, Difference { name: name.to_owned(), base, other });
        }
    }
    series.splits.sort_by_key(|split| split.at);
}

/// The levels of each part, at this level of chance, and the steps between the parts.
pub(super) fn find_levels(series: &mut Series, measured: &[&Recording], level: f64) {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let flat = cycle(series).and_then(|(name, phases)| Some((name, without_phases(&values, &phases)?)));
    series.cycle = flat.as_ref().map(|(name, _)| *name);
    let flat = flat.map_or_else(|| values.clone(), |(_, flat)| flat);
    let differences = |at: usize| {
        let side = |at: usize| std::slice::from_ref(measured[at]);
        let mut all = between(side(at - 1), side(at));
        // Each measurement has its own commit, which is named with it.
        all.retain(|difference| !difference.name.starts_with("commit."));
        all
    };
    let parts: Vec<_> = series.parts().collect();
    for part in parts {
        let found = change::find(&flat[part.clone()], level);
        series.resemblance = series.resemblance.max(found.resemblance);
        series.unknowable |= found.unknowable;
        series.outliers.extend(found.outliers.iter().map(|at| part.start + at));
        let moved = |change: Change| change.moved(part.start);
        series.levels.extend(found.changes.into_iter().map(moved).map(|change| {
            // A slope may begin with the first value.
            let differences = if change.at > 0 { differences(change.at) } else { Vec::new() };
            Level { differences, change }
        }));
    }
    series.unknowable &= series.levels.is_empty();
    let is_spread = |level: &&Level| level.change.kind == Kind::Spread;
    let levels = || series.levels.iter().filter(|level| !is_spread(level)).map(|level| level.change);
    let (begins, ends_of_levels): (Vec<usize>, Vec<usize>) =
        levels().map(|change| (change.end(), change.at)).unzip();
    let ends: Vec<usize> = series.splits.iter().map(|split| split.at).chain([values.len()]).collect();
    for (number, split) in series.splits.iter_mut().enumerate() {
        let before = if number > 0 { ends[number - 1] } else { 0 };
        let from = begins.iter().copied().filter(|at| *at < split.at).fold(before, usize::max);
        let to =
            ends_of_levels.iter().copied().filter(|at| *at > split.at).fold(ends[number + 1], usize::min);
        split.step = change::step(&flat[from..split.at], &flat[split.at..to]);
    }
}

/// The phase of each recording in the cycle that its pace lets be seen: hours of a day, or days of a week.
fn cycle(series: &Series) -> Option<(&'static str, Vec<usize>)> {
    let times: Vec<jiff::Timestamp> =
        series.points.iter().map(|point| point.created).collect::<Option<_>>()?;
    let pace = median(times.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs_f64() / 3600.0))?;
    let times = times.iter().map(|time| time.to_zoned(jiff::tz::TimeZone::UTC));
    match pace {
        0.5..=2.0 => Some(("day", times.map(|time| time.hour() as usize).collect())),
        18.0..=30.0 => {
            let day = |time: jiff::Zoned| time.weekday().to_monday_zero_offset() as usize;
            Some(("week", times.map(day).collect()))
        }
        _ => None,
    }
}
