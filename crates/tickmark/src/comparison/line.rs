//! One figure of one metric on two sides.

use super::history::Occasions;
use super::strip;
use crate::report::{self, RowUnit};
use serde::Serialize;
use tickmark_stats::rank::signed_rank;
use tickmark_stats::series::{drift, lag_1};
use tickmark_stats::verdict::{Comparison, LEVEL, Verdict};
use tickmark_stats::{Interval, spread};
use tickmark_wire::Better;

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    Changed,
    BelowMargin,
    Equivalent,
    Undecided,
    NotCompared,
}

impl Word {
    pub(super) const ALL: [Self; 5] =
        [Self::Changed, Self::BelowMargin, Self::Equivalent, Self::Undecided, Self::NotCompared];

    pub(super) const fn plain(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::BelowMargin => "changed below the margin",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
            Self::NotCompared => "not compared",
        }
    }
}

/// What is known of a figure before it is judged.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) metric: String,
    pub(super) figure: &'static str,
    pub(super) unit: RowUnit,
    pub(super) better: Better,
    pub(super) over: [u64; 2],
    /// Why its sides cannot be compared.
    pub(super) unlike: Option<&'static str>,
    /// One for each occasion, in their order; of blocks those that both sides have.
    pub(super) values: [Vec<f64>; 2],
    /// One for each run.
    pub(super) runs: [Vec<f64>; 2],
    /// The share of the variance that lies between recordings, where each side has some.
    pub(super) between: Option<f64>,
    pub(super) history: Option<Occasions>,
    pub(super) paired: bool,
    /// Whether the values are counts that are the same each time.
    pub(super) exact: bool,
    /// What is to be known of its sides before they are believed.
    pub(super) marks: Vec<String>,
    /// What more of would decide.
    pub(super) occasion: &'static str,
}

/// A line with its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) metric: String,
    /// `floor`, `mean` or `value`.
    pub(crate) figure: &'static str,
    pub(super) unit: RowUnit,
    pub(super) better: Better,
    pub(super) over: [u64; 2],
    pub(super) means: [f64; 2],
    pub(super) values: [usize; 2],
    /// What is claimed; none where nothing may be.
    pub(super) claim: Option<Comparison>,
    /// What the runs say if occasions are alike, where they are not what is judged.
    pub(super) alone: Option<Comparison>,
    /// The change of counts that do not vary, with its range over phases.
    pub(super) exact: Option<Exact>,
    pub(super) history: Option<Occasions>,
    pub(super) checks: Checks,
    /// The share of the variance that lies between recordings.
    pub(super) between: Option<f64>,
    pub(crate) word: Word,
    /// As printed.
    pub(super) shown: [String; 2],
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) words: String,
    /// What is to be known of its sides before they are believed.
    pub(super) marks: Vec<String>,
    pub(super) places: [Vec<usize>; 2],
}

/// A change that is known, as a share of the first side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exact {
    pub(super) change: f64,
    /// The least and the most of any phase.
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Exact {
    /// Of pairs with a base above zero.
    fn of([a, b]: &[Vec<f64>; 2]) -> Option<Self> {
        let base: f64 = a.iter().sum();
        if a.is_empty() || a.iter().any(|a| *a <= 0.0) {
            return None;
        }
        let each = || a.iter().zip(b).map(|(a, b)| b / a - 1.0);
        let change = b.iter().sum::<f64>() / base - 1.0;
        Some(Self { change, least: each().fold(f64::MAX, f64::min), most: each().fold(f64::MIN, f64::max) })
    }

    /// What can be said of every phase: nothing is left to chance.
    fn word(self, margin: f64) -> Word {
        let (least, most) = (self.least, self.most);
        match () {
            () if least > margin || most < -margin => Word::Changed,
            // Nanoseconds are rounded: what is not seen in the digits shown is nothing.
            () if least.abs() < 5e-5 && most.abs() < 5e-5 => Word::Equivalent,
            () if least < -margin || most > margin => Word::Undecided,
            () if least > 0.0 || most < 0.0 => Word::BelowMargin,
            () => Word::Equivalent,
        }
    }
}

/// What stands beside the verdict of pairs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Checks {
    /// By ranks: the relative shift, its interval and the confidence that this has.
    pub(super) shift: Option<(f64, Interval, f64)>,
    /// The correlation of neighbouring blocks' differences.
    pub(super) lag_1: Option<f64>,
    /// The chance of so steep a line through them.
    pub(super) drift: Option<f64>,
}

impl Figure {
    /// The line of this figure. `claim` is what its occasions say, `alone` what its runs do.
    pub(super) fn line(self, claim: Option<Comparison>, alone: Option<Comparison>, margin: f64) -> Line {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let means = claim.map_or_else(|| self.runs.each_ref().map(|runs| mean(runs)), |claim| claim.means);
        let exact = Exact::of(&self.values).filter(|_| self.exact && self.unlike.is_none());
        // Without a phase in common each side has only its own.
        let means = if self.exact && !self.values[0].is_empty() {
            self.values.each_ref().map(|values| mean(values))
        } else {
            means
        };
        let word = match (self.unlike, claim.map(|claim| claim.verdict)) {
            (Some(_), _) => Word::NotCompared,
            (None, None | Some(Verdict::Undecided { .. })) => Word::Undecided,
            (None, Some(Verdict::Changed)) => Word::Changed,
            (None, Some(Verdict::BelowMargin)) => Word::BelowMargin,
            (None, Some(Verdict::Equivalent)) => Word::Equivalent,
        };
        let word = exact.map_or(word, |exact| exact.word(margin));
        let spread_of = |values: &[f64]| spread(values).filter(|_| values.len() > 1).map(|s| s.deviation);
        let deviations = self.runs.each_ref().map(|runs| spread_of(runs));
        let deviation = deviations.into_iter().flatten().filter(|d| *d > 0.0).min_by(f64::total_cmp);
        let shown = [0, 1].map(|side| {
            // Neither more digits than the runs agree on nor fewer than show a change of a per mille.
            let digits = deviation.map_or(means[side].abs() * 1e-3, |d| d.min(means[side].abs() * 1e-3));
            let value = report::value(means[side], Some(digits), self.unit);
            let unlike = self.over[0] != self.over[1] && self.unlike.is_some();
            if unlike { format!("{value} over {}", report::bytes(self.over[side] as f64)) } else { value }
        });
        let percent = |ratio: f64| format!("{:+.2} %", (ratio - 1.0) * 100.0);
        let ratio = exact.map(|exact| 1.0 + exact.change);
        let ratio = ratio.or_else(|| claim.or(alone).and_then(|c| c.ratio).filter(|_| self.unlike.is_none()));
        let ends = |c: Comparison| c.interval.map(|i| format!("{} to {}", percent(i.low), percent(i.high)));
        let interval = match (claim, alone) {
            _ if exact.is_some() => exact.map_or_else(String::new, |exact| {
                format!("{} to {}", percent(1.0 + exact.least), percent(1.0 + exact.most))
            }),
            (Some(claim), _) => ends(claim).unwrap_or_else(|| "-".to_owned()),
            (None, Some(alone)) => ends(alone).map_or_else(|| "-".to_owned(), |ends| format!("({ends})")),
            (None, None) => "-".to_owned(),
        };
        let words = self.words(word, claim, alone, means, margin);
        let words =
            if self.marks.is_empty() { words } else { format!("{words} [{}]", self.marks.join("; ")) };
        Line {
            checks: self.checks(means[0]),
            between: self.between,
            places: strip::places(if self.values[0].is_empty() { &self.runs } else { &self.values }),
            values: self.values.each_ref().map(Vec::len),
            metric: self.metric,
            figure: self.figure,
            unit: self.unit,
            better: self.better,
            over: self.over,
            means,
            claim,
            alone,
            exact,
            history: self.history,
            word,
            shown,
            change: ratio.map_or_else(|| "-".to_owned(), percent),
            interval,
            words,
            marks: self.marks,
        }
    }

    fn checks(&self, base: f64) -> Checks {
        if !self.paired || self.values[0].len() < 3 {
            return Checks::default();
        }
        let differences: Vec<f64> = self.values[0].iter().zip(&self.values[1]).map(|(a, b)| b - a).collect();
        let part = |value: f64| value / base;
        let ranks = signed_rank(&differences, 1.0 - LEVEL).filter(|_| base > 0.0);
        let shift = ranks
            .map(|(point, i, sure)| (part(point), Interval { low: part(i.low), high: part(i.high) }, sure));
        Checks { shift, lag_1: lag_1(&differences), drift: drift(&differences).map(|drift| drift.p) }
    }

    fn words(
        &self,
        word: Word,
        claim: Option<Comparison>,
        alone: Option<Comparison>,
        means: [f64; 2],
        margin: f64,
    ) -> String {
        let way = match (self.better, means[1] > means[0]) {
            (Better::Neither, true) => ", up",
            (Better::Neither, false) => ", down",
            (Better::Lower, true) | (Better::Higher, false) => ", worse",
            (Better::Lower, false) | (Better::Higher, true) => ", better",
        };
        let by = self.history.filter(|_| claim.is_some()).map_or(String::new(), |history| {
            format!(
                " (occasions differ by up to {:.1} %: {} earlier ones)",
                history.deviation * 100.0,
                history.recordings
            )
        });
        let margin = format!("{} %", (margin * 1e4).round() / 100.0);
        let needed = match claim.map(|claim| claim.verdict) {
            Some(Verdict::Undecided { needed }) => needed,
            _ => None,
        };
        match word {
            Word::NotCompared => format!("not compared: {}", self.unlike.unwrap_or("no figure")),
            Word::Changed => format!("changed{way}{by}"),
            Word::BelowMargin => format!("changed{way}, below {margin}{by}"),
            Word::Equivalent => format!("equivalent{by}"),
            Word::Undecided if self.exact && self.values[0].is_empty() => {
                "undecided: no phase has a figure on both sides".to_owned()
            }
            Word::Undecided if self.exact && self.values[0].iter().any(|value| *value <= 0.0) => {
                "undecided: no ratio to a base that is not above zero".to_owned()
            }
            Word::Undecided if self.exact => "undecided: it depends on the phase".to_owned(),
            Word::Undecided if claim.is_none() && self.paired => {
                "undecided: no block has a figure on both sides".to_owned()
            }
            Word::Undecided if claim.is_none() => {
                let runs = alone.map(|alone| match alone.verdict {
                    Verdict::Changed => "; by runs alone changed",
                    Verdict::BelowMargin => "; by runs alone changed below the margin",
                    Verdict::Equivalent => "; by runs alone equivalent",
                    Verdict::Undecided { .. } => "",
                });
                format!("undecided: not interleaved{}", runs.unwrap_or_default())
            }
            Word::Undecided => match needed {
                Some(needed) => format!("undecided: {needed} {} would tell{by}", self.occasion),
                None if self.history.is_none() && self.values.iter().any(|values| values.len() < 2) => {
                    format!("undecided: too few {}", self.occasion)
                }
                None if claim.is_some_and(|claim| claim.ratio.is_none()) => {
                    "undecided: no ratio to a base that is not above zero".to_owned()
                }
                None => "undecided: no variation to judge by".to_owned(),
            },
        }
    }
}

impl Line {
    pub(crate) fn changed(&self) -> bool {
        self.word == Word::Changed
    }

    /// Whether its values say anything, be it that nothing differs.
    pub(crate) fn decided(&self) -> bool {
        !matches!(self.word, Word::Undecided | Word::NotCompared)
    }

    /// Whether more or less is better.
    pub(crate) fn has_direction(&self) -> bool {
        self.better != Better::Neither
    }

    /// Why it cannot be judged: its verdict, or that no direction is good.
    pub(crate) fn why_open(&self) -> String {
        if self.decided() { format!("{}, and neither way is better", self.words) } else { self.words.clone() }
    }

    pub(crate) fn worse(&self) -> bool {
        let up = self.means[1] > self.means[0];
        let worse = match self.better {
            Better::Lower => up,
            Better::Higher => !up,
            Better::Neither => false,
        };
        self.changed() && worse
    }

    /// The exact change of a mean cost, as a share of the base.
    pub(crate) fn exact_change_of_mean(&self) -> Option<f64> {
        self.exact.map(|exact| exact.change).filter(|_| self.figure == "mean")
    }

    /// Half of the interval's width, as a share of the first mean.
    pub(crate) fn half_width(&self) -> Option<f64> {
        self.claim.and_then(|claim| claim.interval).map(|i| (i.high - i.low) / 2.0)
    }
}
