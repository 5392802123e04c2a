//! Two samples of one figure: what each design says of their difference.

use super::family::MANY;
use super::order::Order;
use crate::student::{t_above, t_point};
use crate::trimmed::trimmed;
use crate::two::{Difference, Moments, fieller, paired_ratio, ratio_between};
use crate::{Interval, spread};

/// The values of two sides, each of them a replicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sides<'a> {
    /// Each side for itself.
    Apart {
        /// Of each side.
        values: [&'a [f64]; 2],
        /// Of what they are multiples, as printed numbers are; 0 where that is not known.
        step: f64,
        /// Result of the tests of their order, where they were measured one after the other.
        order: Option<Order>,
    },
    /// The same, known by their moments.
    Moments(&'a Moments, &'a Moments, Option<Order>),
    /// The values at one place belong together: the blocks of an interleaved experiment.
    Paired {
        /// Of each side.
        values: [&'a [f64]; 2],
        /// From which block each pair comes, counted from 0, in ascending order; none where every block has one.
        blocks: Option<&'a [usize]>,
        /// Of what they are multiples.
        step: f64,
    },
    /// A mean of so many replicates a side, and how far single replicates of this kind were from each other before: a standard
    /// deviation relative to the mean, with its degrees of freedom.
    Known {
        /// The mean of each side.
        means: [f64; 2],
        /// How many replicates it stands for.
        counts: [usize; 2],
        /// The relative standard deviation between replicates.
        deviation: f64,
        /// Its degrees of freedom.
        df: f64,
    },
}

/// A ratio, and where it lies.
pub(super) type Ratio = (f64, Interval);

impl<'a> Sides<'a> {
    /// Each side for itself, of values that are not known to be rounded.
    #[must_use]
    pub fn apart(first: &'a [f64], second: &'a [f64]) -> Self {
        Self::Apart { values: [first, second], step: 0.0, order: None }
    }

    /// A pair in every block, of values that are not known to be rounded.
    #[must_use]
    pub fn paired(first: &'a [f64], second: &'a [f64]) -> Self {
        Self::Paired { values: [first, second], blocks: None, step: 0.0 }
    }

    /// Result of the tests of the order of the values, where it is known.
    pub(super) fn order(&self) -> Option<Order> {
        match self {
            Self::Apart { order, .. } | Self::Moments(_, _, order) => *order,
            Self::Paired { .. } | Self::Known { .. } => None,
        }
    }

    /// True if no value of either side differs from the others of its side.
    #[must_use]
    pub fn are_constant(&self) -> bool {
        let constant = |values: &[f64]| values.windows(2).all(|pair| pair[0] == pair[1]);
        match self {
            Self::Apart { values: [a, b], .. } | Self::Paired { values: [a, b], .. } => {
                constant(a) && constant(b)
            }
            Self::Moments(a, b, _) => a.deviation == 0.0 && b.deviation == 0.0,
            Self::Known { .. } => false,
        }
    }

    /// The one rule for values that do not vary: they are taken as exact numbers, whatever their last digit is worth. Rounding is
    /// reckoned with where something varies. More of them than labels are drawn for say nothing more.
    pub(super) fn exact_where_constant(self) -> Self {
        match self {
            Self::Apart { values, order, .. } if self.are_constant() => {
                Self::Apart { values: values.map(|all| &all[..all.len().min(MANY)]), step: 0.0, order }
            }
            Self::Paired { values, blocks, .. } if self.are_constant() => {
                Self::Paired { values, blocks, step: 0.0 }.first(MANY)
            }
            other => other,
        }
    }

    /// The same before a block with this number, counted from 0; what has no blocks stays.
    pub(super) fn first(&self, blocks: usize) -> Self {
        match *self {
            Self::Paired { values: [a, b], blocks: own, step } => {
                let count = own.map_or(blocks.min(a.len()), |own| own.partition_point(|at| *at < blocks));
                Self::Paired {
                    values: [&a[..count], &b[..count]],
                    blocks: own.map(|own| &own[..count]),
                    step,
                }
            }
            other => other,
        }
    }

    /// The first and the last block that has a pair.
    pub(super) fn blocks(&self) -> Option<(usize, usize)> {
        match self {
            Self::Paired { blocks: Some(own), .. } => Some((*own.first()?, *own.last()?)),
            Self::Paired { values: [a, _], .. } if !a.is_empty() => Some((0, a.len() - 1)),
            _ => None,
        }
    }

    pub(super) fn means(&self) -> Option<[f64; 2]> {
        match self {
            Self::Apart { values: [a, b], .. } | Self::Paired { values: [a, b], .. } => {
                Some([spread(a)?.mean, spread(b)?.mean])
            }
            Self::Moments(a, b, _) => Some([a.mean, b.mean]),
            Self::Known { means, .. } => Some(*means),
        }
    }

    /// The values of the smaller side.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Apart { values: [a, b], .. } | Self::Paired { values: [a, b], .. } => a.len().min(b.len()),
            Self::Moments(a, b, _) => a.count.min(b.count) as usize,
            Self::Known { counts: [a, b], .. } => *a.min(b),
        }
    }

    /// The degrees of freedom of so many values a side.
    pub(super) fn df(&self, count: f64) -> f64 {
        match self {
            Self::Apart { .. } | Self::Moments(..) => 2.0 * count - 2.0,
            Self::Paired { .. } => count - 1.0,
            Self::Known { df, .. } => *df,
        }
    }

    /// The difference of the second side and `factor` times the first; of known deviations, of the logarithms. None where nothing
    /// varies.
    pub(super) fn difference(&self, factor: f64) -> Option<Difference> {
        match self {
            Self::Apart { values: [a, b], step, .. } => {
                let [a, b] = [
                    Moments::from_sample(a)?.rounded(*step).times(factor),
                    Moments::from_sample(b)?.rounded(*step),
                ];
                Difference::between(&a, &b)
            }
            Self::Moments(a, b, _) => Difference::between(&a.times(factor), b),
            Self::Paired { values: [a, b], step, .. } => {
                let scaled: Vec<f64> = a.iter().map(|a| a * factor).collect();
                // Both values of a pair were rounded.
                let rounding = step * ((1.0 + factor * factor) / 12.0 / a.len() as f64).sqrt();
                let Some(d) = Difference::paired(&scaled, b) else {
                    let point = spread(b)?.mean - spread(&scaled)?.mean;
                    let df = a.len() as f64 - 1.0;
                    return (rounding > 0.0 && df > 0.0).then_some(Difference { point, error: rounding, df });
                };
                Some(Difference { error: d.error.hypot(rounding), ..d })
            }
            Self::Known { means: [a, b], counts, deviation, df } => {
                let [m, n] = counts.map(|count| 1.0 / count as f64);
                let possible = *a > 0.0 && *b > 0.0 && *deviation > 0.0;
                let error = deviation * (m + n).sqrt();
                possible.then(|| Difference { point: (b / a / factor).ln(), error, df: *df })
            }
        }
    }

    /// So many times as far as of independent values the means vary.
    fn widening(&self) -> f64 {
        self.order().map_or(1.0, |order| order.widening)
    }

    /// By how much rounding may have moved the difference of the means: where the values of a side vary by less than half a step,
    /// all of them may have been rounded the same way.
    pub(super) fn bias(&self) -> f64 {
        let (values, step) = match self {
            Self::Apart { values, step, .. } | Self::Paired { values, step, .. } => (values, *step),
            Self::Moments(..) | Self::Known { .. } => return 0.0,
        };
        let steady = |values: &&[f64]| spread(values).is_none_or(|s| s.deviation < step / 2.0);
        if values.iter().any(steady) { step } else { 0.0 }
    }

    /// The chance of values like these where the second side is `margin` or more, a share of the first, away from it: the larger
    /// of two one-sided tests (Schuirmann, A comparison of the two one-sided tests procedure..., 1987). None where there is no
    /// such margin.
    pub(super) fn within(&self, margin: f64) -> Option<f64> {
        let [a, b] = self.means()?;
        if self.count() > 1 && self.are_constant() && a == b {
            return Some(0.0);
        }
        if a <= 0.0 || self.count() < 2 && !matches!(self, Self::Known { .. }) {
            return None;
        }
        let bias = self.bias();
        // Where no difference varies it is inside or not.
        let varies = self.difference(1.0).is_some();
        let side = |factor: f64, sign: f64| match self.difference(factor).filter(|_| varies) {
            // Values that hang together say less of where their mean lies.
            Some(d) => t_above((sign * d.point - bias) / (d.error * self.widening()), d.df),
            None if sign * (b - factor * a) > bias => 0.0,
            None => 1.0,
        };
        Some(side(1.0 - margin, 1.0).max(side(1.0 + margin, -1.0)))
    }

    /// By how much rounding moves the ends of a ratio's interval; what lies a step apart is not farther.
    fn wider(&self) -> Option<f64> {
        let wider = self.bias() / self.means()?[0];
        Some(wider + if wider > 0.0 { 1e-9 } else { 0.0 })
    }

    /// The ratio of the means, and where it lies with this confidence.
    pub(super) fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let (ratio, i) = match self {
            Self::Apart { values: [a, b], step, .. } => {
                let [a, b] =
                    [Moments::from_sample(a)?.rounded(*step), Moments::from_sample(b)?.rounded(*step)];
                ratio_between(&a, &b, confidence)
            }
            Self::Moments(a, b, _) => ratio_between(a, b, confidence),
            Self::Paired { values: [a, b], .. } => paired_ratio(a, b, confidence),
            Self::Known { means: [a, b], .. } => {
                let i = self.difference(1.0)?.interval(confidence);
                Some((b / a, Interval { low: i.low.exp(), high: i.high.exp() }))
            }
        }?;
        let wider = self.wider()?;
        Some((ratio, Interval { low: i.low - wider, high: i.high + wider }))
    }

    /// The same of the middle: of the trimmed mean of the blocks' ratios, or of both sides' trimmed means.
    pub(super) fn middle(&self, confidence: f64) -> Option<Ratio> {
        let half = |df: f64| t_point((1.0 - confidence) / 2.0, df);
        let (ratio, i) = match self {
            Self::Paired { values: [a, b], step, .. } => {
                if a.iter().any(|a| *a <= 0.0) {
                    return None;
                }
                let ratios: Vec<f64> = a.iter().zip(*b).map(|(a, b)| b / a).collect();
                // A step of either value is so much of a ratio.
                let own = step * 2f64.sqrt() / self.means()?[0];
                trimmed(&ratios, own).map(|t| (t.point, t.interval(confidence)))
            }
            Self::Apart { values: [a, b], step, .. } => {
                let [a, b] = [trimmed(a, *step)?, trimmed(b, *step)?];
                let error = a.error.hypot(b.error);
                let (p, q) = ((a.error / error).powi(2), (b.error / error).powi(2));
                let df = (p * p / a.df + q * q / b.df).recip();
                (a.point > 0.0 && df.is_finite())
                    .then(|| fieller(a.point, a.error, b.point, b.error, 0.0, half(df)))
                    .flatten()
            }
            Self::Moments(..) | Self::Known { .. } => None,
        }?;
        let wider = self.wider()?;
        Some((ratio, Interval { low: i.low - wider, high: i.high + wider }))
    }
}
