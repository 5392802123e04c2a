//! One figure of one metric on two sides.

use super::class::Class;
use super::history::Occasions;
use super::no_claim::NoClaimReason;
use super::options::CompareOptions;
use crate::report::{Mark, Unit as RowUnit};
use serde::Serialize;
use tickmark_stats::rank::signed_rank;
use tickmark_stats::series::{drift, lag_1};
use tickmark_stats::verdict::{Comparison, LEVEL, Order, Verdict, Withheld};
use tickmark_stats::{Interval, spread};
use tickmark_wire::{Better, Group};

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It changed, by more than the margin.
    #[serde(rename = "beyond_margin")]
    Beyond,
    /// It changed, by less or more than the margin.
    Changed,
    /// It changed, by less than the margin.
    BelowMargin,
    /// The same within the margin.
    Equivalent,
    /// Neither is proven.
    Undecided,
    /// Its sides are not the same thing.
    NotCompared,
}

impl Word {
    /// Every verdict, in the order of a summary.
    pub const ALL: [Self; 6] = [
        Self::Beyond,
        Self::Changed,
        Self::BelowMargin,
        Self::Equivalent,
        Self::Undecided,
        Self::NotCompared,
    ];
}

/// A figure before it is judged.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub metric: String,
    pub group: Group,
    pub figure: &'static str,
    /// True if it carries the page's claims.
    pub primary: bool,
    pub unit: RowUnit,
    pub better: Better,
    pub over: [u64; 2],
    /// Why its sides cannot be compared.
    pub unlike: Option<NoClaimReason>,
    /// One for each occasion, in their order; of blocks those that both sides have.
    pub values: [Vec<f64>; 2],
    /// Of pairs, from which block each is, counted from 0.
    pub blocks: Vec<usize>,
    /// Of how many replicates each side's mean is.
    pub counts: [usize; 2],
    /// Of what the values are multiples; 0 where that is not known.
    pub step: f64,
    /// Effect of time order, where one side was measured after the other.
    pub order: Option<Order>,
    /// Of each side, runs with a figure, and runs that were made.
    pub made: [[usize; 2]; 2],
    /// One for each run.
    pub runs: [Vec<f64>; 2],
    /// The share of the variance that lies between recordings, where each side has some.
    pub between: Option<f64>,
    pub history: Option<Occasions>,
    /// As [`Line::by_pace`].
    pub by_pace: Option<f64>,
    pub paired: bool,
    /// True if the values are counts that are the same each time.
    pub exact: bool,
    /// Marks that a reader needs before believing its sides.
    pub marks: Vec<Marked>,
}

/// A mark, and the sides that it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct Marked {
    /// Whether the base has it, and whether the candidate does.
    pub sides: [bool; 2],
    /// The mark.
    pub mark: Mark,
}

/// A line with its verdict.
#[derive(Debug, Clone)]
pub struct Line {
    /// Of the row.
    pub metric: String,
    /// `floor`, `mean` or `value`.
    pub figure: &'static str,
    /// Of the means.
    pub unit: RowUnit,
    /// Which way is better.
    pub better: Better,
    /// Bytes that each side went over.
    pub over: [u64; 2],
    /// Of each side.
    pub means: [f64; 2],
    /// One for each replicate, in their order; of each run, where there are too few replicates.
    pub values: [Vec<f64>; 2],
    /// How many replicates there are.
    pub replicates: [usize; 2],
    /// Of each side, runs with a figure, and runs that were made.
    pub made: [[usize; 2]; 2],
    /// The standard deviation of the steadier side's runs.
    pub deviation: Option<f64>,
    /// The candidate's mean over the base's.
    pub ratio: Option<f64>,
    /// Why nothing is claimed, where nothing is.
    pub why: Option<NoClaimReason>,
    /// The claim; none where no claim is allowed.
    pub claim: Option<Comparison>,
    /// Verdict from the runs alone, as if replicates did not vary; secondary to the verdict.
    pub alone: Option<Comparison>,
    /// The change of counts that do not vary, with its range over phases.
    pub exact: Option<Exact>,
    /// How far earlier replicates of this machine spread.
    pub history: Option<Occasions>,
    /// Pace of the processor on the other side relative to the first, where the figure changed in units of the pace but not by itself;
    /// ratio and interval are in these units then.
    pub by_pace: Option<f64>,
    /// Checks of a verdict from pairs.
    pub checks: Checks,
    /// The share of the variance that lies between recordings.
    pub between: Option<f64>,
    /// The verdict.
    pub word: Word,
    /// Of a tail that changed: whether the centre of its metric is the same.
    pub same_centre: bool,
    /// Marks that a reader needs before believing its sides.
    pub marks: Vec<Marked>,
}

/// A change that is known, as a share of the first side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// Of the sums.
    pub change: f64,
    /// The least of any phase.
    pub least: f64,
    /// The same, the most.
    pub most: f64,
}

impl Exact {
    /// Of pairs with a base above zero.
    pub(crate) fn from_pairs([a, b]: &[Vec<f64>; 2]) -> Option<Self> {
        let base: f64 = a.iter().sum();
        if a.is_empty() || a.iter().any(|a| *a <= 0.0) {
            return None;
        }
        let each = || a.iter().zip(b).map(|(a, b)| b / a - 1.0);
        let change = b.iter().sum::<f64>() / base - 1.0;
        Some(Self { change, least: each().fold(f64::MAX, f64::min), most: each().fold(f64::MIN, f64::max) })
    }

    /// The verdict from all phases of an exact comparison: nothing is left to chance.
    fn word(self, margin: f64) -> Word {
        let (least, most) = (self.least, self.most);
        match () {
            () if least > margin || most < -margin => Word::Beyond,
            // Nanoseconds are rounded: what is not seen in the digits shown is nothing.
            () if least.abs() < 5e-5 && most.abs() < 5e-5 => Word::Equivalent,
            () if least < -margin || most > margin => Word::Undecided,
            () if least > 0.0 || most < 0.0 => Word::BelowMargin,
            () => Word::Equivalent,
        }
    }
}

/// Checks of a verdict from pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checks {
    /// By ranks: the relative shift, its interval and the confidence that this has.
    pub shift: Option<(f64, Interval, f64)>,
    /// The correlation of neighbouring blocks' differences.
    pub lag_1: Option<f64>,
    /// The chance of so steep a line through them.
    pub drift: Option<f64>,
}

impl Figure {
    /// The class of the figures of its group.
    pub(super) fn class(&self) -> Class {
        // A clock that is read by a call is a call.
        let by_call = self.group == Group::Clock && self.metric.ends_with(".syscall");
        Class {
            group: self.group,
            by_call,
            figure: self.figure,
            better: self.better,
            by_pace: self.by_pace.is_some(),
        }
    }

    /// The line of this figure. `claim` is what its occasions say, `alone` what its runs do.
    pub(super) fn line(
        self,
        claim: Option<Comparison>,
        alone: Option<Comparison>,
        options: CompareOptions,
    ) -> Line {
        let missing = self.missing(options);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let means = claim.map_or_else(|| self.runs.each_ref().map(|runs| mean(runs)), |claim| claim.means);
        let exact = Exact::from_pairs(&self.values).filter(|_| self.exact && self.unlike.is_none());
        // Without a phase in common each side has only its own.
        let means = if self.exact && !self.values[0].is_empty() {
            self.values.each_ref().map(|values| mean(values))
        } else {
            means
        };
        let word = match (self.unlike, claim.map(|claim| claim.verdict)) {
            (Some(_), _) => Word::NotCompared,
            _ if missing || !self.primary => Word::Undecided,
            (None, Some(Verdict::Beyond)) => Word::Beyond,
            (None, None | Some(Verdict::Undecided { .. })) => Word::Undecided,
            (None, Some(Verdict::Changed)) => Word::Changed,
            (None, Some(Verdict::BelowMargin)) => Word::BelowMargin,
            (None, Some(Verdict::Equivalent)) => Word::Equivalent,
        };
        let word =
            exact.filter(|_| !missing && self.primary).map_or(word, |exact| exact.word(options.margin));
        let spread_of = |values: &[f64]| spread(values).filter(|_| values.len() > 1).map(|s| s.deviation);
        let deviations = self.runs.each_ref().map(|runs| spread_of(runs));
        let deviation = deviations.into_iter().flatten().filter(|d| *d > 0.0).min_by(f64::total_cmp);
        let ratio = exact.map(|exact| 1.0 + exact.change);
        let ratio =
            ratio.or_else(|| claim.or(alone).and_then(|c| c.change().0).filter(|_| self.unlike.is_none()));
        let open = matches!(word, Word::Undecided | Word::NotCompared);
        let why = open.then(|| match self.unlike {
            None if missing => NoClaimReason::Missing,
            None if !self.primary => NoClaimReason::Secondary,
            _ => self.open_reason(claim),
        });
        // What was made one after the other is one replicate.
        let replicates = match self.history {
            Some(_) => self.counts,
            None => self.values.each_ref().map(Vec::len),
        };
        let checks = self.checks(means[0]);
        let values = if self.values[0].is_empty() { self.runs } else { self.values };
        Line {
            checks,
            values,
            replicates,
            made: self.made,
            deviation,
            ratio,
            why,
            between: self.between,
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
            by_pace: self.by_pace,
            word,
            same_centre: false,
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

    /// True if one side lost a larger share of its runs than the other: what is missing may be missing for what is compared.
    pub(super) fn missing(&self, options: CompareOptions) -> bool {
        let [[a, of_a], [b, of_b]] = self.made.map(|[with, made]| [made.saturating_sub(with), made]);
        !options.accepts_missing && a * of_b != b * of_a
    }

    /// Why its verdict is open.
    fn open_reason(&self, claim: Option<Comparison>) -> NoClaimReason {
        let needed = match claim.map(|claim| claim.verdict) {
            Some(Verdict::Undecided { needed }) => needed,
            _ => None,
        };
        let few = || self.history.is_none() && self.values.iter().any(|values| values.len() < 2);
        match (self.unlike, needed) {
            (Some(unlike), _) => unlike,
            _ if claim.is_some_and(|claim| claim.withheld.is_some()) => {
                NoClaimReason::Order(claim.and_then(|claim| claim.withheld).unwrap_or(Withheld::Drift))
            }
            _ if self.exact && self.values[0].is_empty() => NoClaimReason::NoPhase,
            _ if self.exact && self.values[0].iter().any(|value| *value <= 0.0) => NoClaimReason::NoRatio,
            _ if self.exact => NoClaimReason::ByPhase,
            _ if claim.is_none() && self.paired => NoClaimReason::NoBlock,
            _ if claim.is_none() => NoClaimReason::NotInterleaved,
            _ if self.history.is_some() && claim.and_then(|claim| claim.p).is_some_and(|p| p < LEVEL) => {
                if claim.is_some_and(|claim| claim.between_earlier >= LEVEL) {
                    NoClaimReason::SeenBefore
                } else {
                    NoClaimReason::AmongMany
                }
            }
            (None, Some(needed)) => NoClaimReason::Needs(needed),
            _ if few() => NoClaimReason::TooFew,
            _ if claim.is_some_and(|claim| claim.ratio.is_none()) => NoClaimReason::NoRatio,
            // They vary so much that no number can be told.
            _ if claim.is_some_and(|claim| claim.p.is_some()) => NoClaimReason::TooFew,
            _ => NoClaimReason::NoVariation,
        }
    }
}

impl Line {
    /// True if it changed, and is not shown to be within the margin.
    #[must_use]
    pub fn changed(&self) -> bool {
        matches!(self.word, Word::Beyond | Word::Changed)
    }

    /// True if it changed by more than the margin.
    #[must_use]
    pub fn beyond(&self) -> bool {
        self.word == Word::Beyond
    }

    /// True if its values say anything, be it that nothing differs.
    #[must_use]
    pub fn decided(&self) -> bool {
        !matches!(self.word, Word::Undecided | Word::NotCompared)
    }

    /// True if more or less is better.
    #[must_use]
    pub fn has_direction(&self) -> bool {
        matches!(self.better, Better::Lower | Better::Higher)
    }

    /// True if it changed, in the direction that is not the better one.
    #[must_use]
    pub fn worse(&self) -> bool {
        let up = self.is_up();
        let worse = match self.better {
            Better::Lower => up,
            Better::Higher => !up,
            Better::Neither | Better::Other(_) => false,
        };
        self.changed() && worse
    }

    /// The share of replicates that something may have without being seen in any of this side's, in one of twenty cases.
    #[must_use]
    pub fn unseen(&self) -> Option<f64> {
        let least = *self.replicates.iter().min()?;
        (least > 0).then(|| 1.0 - LEVEL.powf(1.0 / least as f64))
    }

    /// True if the change that is shown is upwards.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.ratio.map_or(self.means[1] > self.means[0], |ratio| ratio > 1.0)
    }

    /// The exact change of a mean cost, as a share of the base.
    #[must_use]
    pub fn exact_change_of_mean(&self) -> Option<f64> {
        self.exact.map(|exact| exact.change).filter(|_| self.figure == "mean")
    }

    /// Half of the interval's width, as a share of the first mean.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        self.claim.and_then(|claim| claim.interval).map(|i| (i.high - i.low) / 2.0)
    }
}
