//! Whether a setting matters: benchmarks of one recording that differ in one thing, launch against launch of the same round.

use super::{Comms, CommsSummary};
use std::collections::BTreeSet;
use tickmark_stats::verdict::{Comparison, Rule, Sides, compare_all};

/// The settings that a law may vary, one at a time.
const SETTINGS: [&str; 9] = ["over", "peer", "place", "load", "step", "class", "offloads", "rps", "stream"];
/// Fewer launches that belong together are not compared.
const LEAST: usize = 3;
/// The size between the smallest and the largest.
const MIDDLE: u64 = 4096;

/// Two benchmarks that differ in one setting.
#[derive(Debug, Clone)]
pub struct Contrast {
    /// The first, in words.
    pub title: String,
    /// The setting, and what each has of it.
    pub setting: &'static str,
    /// Of each.
    pub values: [String; 2],
    /// Bytes.
    pub size: u64,
    /// `median` or `mean` of the whole way.
    pub figure: &'static str,
    /// How many launches of the same round both have.
    pub launches: usize,
    /// The second against the first.
    pub comparison: Comparison,
}

/// All of them, corrected for their number; for the smallest size that both have, one in the middle and the largest.
#[must_use]
pub fn contrasts(all: &[Comms]) -> Vec<Contrast> {
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            if let (Some(setting), Ok(a), Ok(b)) = (only_setting(one, other), &one.summary, &other.summary) {
                found.extend(pairs(a, b).into_iter().map(|pair| (one, other, setting, pair)));
            }
        }
    }
    let sides: Vec<Sides<'_>> =
        found.iter().map(|(.., pair)| Sides::paired(&pair.values[0], &pair.values[1])).collect();
    let compared = compare_all(&sides, Rule::default());
    let contrast = |((one, other, setting, pair), comparison): (&(&Comms, &Comms, &'static str, Pair), _)| {
        let value = |comms: &Comms| comms.arguments.get(*setting).cloned().unwrap_or_default();
        Some(Contrast {
            title: one.title.clone(),
            setting,
            values: [value(one), value(other)],
            size: pair.size,
            figure: pair.figure,
            launches: pair.values[0].len(),
            comparison: comparison?,
        })
    };
    found.iter().zip(compared).filter_map(contrast).collect()
}

/// The one setting in which they differ.
fn only_setting(one: &Comms, other: &Comms) -> Option<&'static str> {
    let names: BTreeSet<&String> = one.arguments.keys().chain(other.arguments.keys()).collect();
    // Where another host is comes with it.
    let names = names.into_iter().filter(|name| !["at", "token"].contains(&name.as_str()));
    let mut differ = names.filter(|name| one.arguments.get(*name) != other.arguments.get(*name));
    let only = differ.next()?;
    let known = SETTINGS.into_iter().find(|known| known == only)?;
    differ.next().is_none().then_some(known)
}

struct Pair {
    size: u64,
    figure: &'static str,
    values: [Vec<f64>; 2],
}

fn pairs(a: &CommsSummary, b: &CommsSummary) -> Vec<Pair> {
    let sizes: Vec<u64> =
        a.rows.iter().map(|row| row.size).filter(|size| b.rows.iter().any(|row| row.size == *size)).collect();
    let middle = sizes.iter().copied().min_by_key(|size| size.abs_diff(MIDDLE));
    let wanted: BTreeSet<u64> =
        [sizes.first().copied(), middle, sizes.last().copied()].into_iter().flatten().collect();
    let pair = |(size, (number, figure)): (u64, (usize, &'static str))| {
        let of = |observed: &CommsSummary, round: u32| {
            let at = observed.rounds.iter().position(|known| *known == round)?;
            let row = observed.rows.iter().find(|row| row.size == size)?;
            row.each.get(at).map(|each| each[number])
        };
        let both = a.rounds.iter().filter_map(|round| Some((of(a, *round)?, of(b, *round)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        (first.len() >= LEAST).then_some(Pair { size, figure, values: [first, second] })
    };
    let figures = [(0, "median"), (1, "mean")];
    wanted.into_iter().flat_map(|size| figures.map(|figure| (size, figure))).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comms::{RoundTripSummary, Row};
    use tickmark_stats::verdict::Verdict;

    fn comms(class: &str, mtu: &str, times: &[f64]) -> Comms {
        let row = Row {
            size: 4096,
            time: times[0] / 2.0,
            launches: None,
            whole: RoundTripSummary { median: times[0], mean: times[0], quantiles: [(0.9, None); 3] },
            loads: Vec::new(),
            each: times.iter().map(|time| [*time, *time]).collect(),
        };
        let rounds = (0..times.len() as u32).collect();
        let given = [("class", class), ("mtu", mtu)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        Comms {
            metric: String::new(),
            title: class.to_owned(),
            divisor: 2.0,
            mtu: None,
            arguments: given.into(),
            summary: Ok(CommsSummary {
                rows: vec![row],
                runs: times.len(),
                rounds,
                pieces: None,
                cpus: Vec::new(),
            }),
        }
    }

    #[test]
    fn launches_of_one_round_are_compared_where_one_setting_differs() {
        let fifo: Vec<f64> = (0..10).map(|at| 10_000.0 + f64::from(at * 7 % 10) * 300.0).collect();
        let other: Vec<f64> = fifo.iter().map(|time| time * 1.8 + 5.0).collect();
        let all =
            [comms("fifo", "1500", &fifo), comms("other", "1500", &other), comms("other", "9000", &other)];
        let found = contrasts(&all);
        // The last differs from the first in two things, and from the second in packets alone.
        assert_eq!(found.len(), 2, "{found:?}");
        let mean = &found[1];
        assert_eq!((mean.setting, mean.figure, mean.size, mean.launches), ("class", "mean", 4096, 10));
        assert_eq!(mean.values, ["fifo", "other"]);
        assert!(
            (mean.comparison.ratio.unwrap() - 1.8).abs() < 0.01 && mean.comparison.verdict == Verdict::Beyond
        );
        let same = contrasts(&[comms("fifo", "1", &fifo), comms("other", "1", &fifo)]);
        assert!(same.iter().all(|contrast| contrast.comparison.verdict == Verdict::Equivalent), "{same:?}");
        assert!(contrasts(&[comms("fifo", "1", &fifo[..2]), comms("other", "1", &fifo[..2])]).is_empty());
    }
}
