//! Cost of a program beside a tick of a rate: each tick costs it time, and a coarse one makes it wait.

use crate::Interval;
use crate::bootstrap::bca;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Draws of the interval, and of the test.
const DRAWS: usize = 2_000;
/// The chance of a wrong claim that a rate is best where none is.
const LEVEL: f64 = 0.05;
/// Of fewer rates a curve of three terms would pass through each, and its shape between them would be no measurement.
const RATES: usize = 4;

/// One rate: its Hz, and the program's cost in each boot, lower being better.
pub type Level = (f64, Vec<f64>);

/// Which rate is best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prefers {
    /// No rate of those that were tried makes a difference of the margin.
    Neither,
    /// This one, Hz: of those that were tried; or the least of the curve, which lies within this interval with 95 % where the boots tell.
    Rate(f64, Option<Interval>),
    /// The boots do not tell.
    Unknown,
}

/// Balance of the boots at several rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Through four rates or more.
    pub curve: Option<Balance>,
    /// How far a rate's mean is off the curve at most, as a share.
    pub misfit: f64,
    /// How much more the worst of the rates takes than the best, as a share.
    pub range: f64,
    /// The chance that boots that have nothing to do with their rates differ so.
    pub p: f64,
    /// Which rate is best.
    pub prefers: Prefers,
}

/// Judges levels in ascending order of their rates. That a rate is best is claimed where the rates differ by the margin and with p below .05, by
/// the variance between them over all boots in other orders. It is the best of those that were tried, or the least of the curve where that is lower
/// by more than the curve misses any of them. None of fewer than two rates, of one without boots, or of values that
/// are not above zero.
#[must_use]
pub fn judge(levels: &[Level], margin: f64) -> Option<Judged> {
    let usable =
        levels.iter().all(|(_, own)| !own.is_empty() && own.iter().all(|v| *v > 0.0 && v.is_finite()));
    if levels.len() < 2 || !usable {
        return None;
    }
    let rates: Vec<f64> = levels.iter().map(|(hz, _)| *hz).collect();
    let own: Vec<Vec<f64>> = levels.iter().map(|(_, own)| own.clone()).collect();
    let curve = curve(&rates, &own);
    let misfit = curve.map_or(0.0, |curve| misfit(&curve, &rates, &own));
    let p = differ(&own);
    let samples: Vec<&[f64]> = own.iter().map(Vec::as_slice).collect();
    let mut random = StdRng::seed_from_u64(1);
    let observed = range(&own);
    let widest = bca(&samples, range, 0.95, DRAWS, &mut random).map_or_else(
        // Too few boots, or all alike: the farthest of any two.
        || range(&own.iter().flatten().map(|value| vec![*value]).collect::<Vec<_>>()),
        |interval| interval.high.max(observed),
    );
    let prefers = match () {
        () if widest < margin => Prefers::Neither,
        () if p >= LEVEL || observed < margin => Prefers::Unknown,
        () => {
            let best = |own: &[Vec<f64>]| best(&rates, own);
            let interval = bca(&samples, best, 0.95, DRAWS, &mut random);
            Prefers::Rate(best(&own), interval)
        }
    };
    Some(Judged { curve, misfit, range: observed, p, prefers })
}

fn means(own: &[Vec<f64>]) -> Vec<f64> {
    own.iter().map(|values| values.iter().sum::<f64>() / values.len() as f64).collect()
}

fn range(own: &[Vec<f64>]) -> f64 {
    let means = means(own);
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|of| means.iter().copied().reduce(of));
    high.zip(low).map_or(f64::NAN, |(high, low)| high / low - 1.0)
}

fn curve(rates: &[f64], own: &[Vec<f64>]) -> Option<Balance> {
    let points = rates.iter().zip(own).flat_map(|(hz, own)| own.iter().map(move |value| (*hz, *value)));
    Balance::fit(&points.collect::<Vec<_>>()).filter(|_| rates.len() >= RATES)
}

fn misfit(curve: &Balance, rates: &[f64], own: &[Vec<f64>]) -> f64 {
    let off = rates.iter().zip(means(own)).map(|(hz, mean)| (curve.at(*hz) / mean - 1.0).abs());
    off.fold(0.0, f64::max)
}

/// The least of the curve where that is to be believed, else the best of the rates.
fn best(rates: &[f64], own: &[Vec<f64>]) -> f64 {
    let means = means(own);
    let tried = rates.iter().zip(&means).min_by(|a, b| a.1.total_cmp(b.1));
    let Some((tried, mean)) = tried else { return f64::NAN };
    let between = curve(rates, own).and_then(|curve| {
        let least = curve.least(rates[0], rates[rates.len() - 1]);
        let gains = 1.0 - curve.at(least) / mean;
        (gains > misfit(&curve, rates, own)).then_some(least)
    });
    between.unwrap_or(*tried)
}

/// The chance of so large a variance between levels where boots have nothing to do with them: over other orders of all boots (Fisher's
/// randomisation test with the statistic of the one-way analysis of variance).
fn differ(own: &[Vec<f64>]) -> f64 {
    let mut all: Vec<f64> = own.concat();
    let whole = all.iter().sum::<f64>() / all.len() as f64;
    let between = |all: &[f64]| {
        let mut from = 0;
        let one = |values: &Vec<f64>| {
            let part = &all[from..from + values.len()];
            from += part.len();
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.len() as f64 * (mean - whole).powi(2)
        };
        own.iter().map(one).sum::<f64>()
    };
    let observed = between(&all) * (1.0 - 1e-9);
    let mut random = StdRng::seed_from_u64(2);
    let mut as_far = 1;
    for _ in 0..DRAWS {
        all.shuffle(&mut random);
        as_far += u32::from(between(&all) >= observed);
    }
    f64::from(as_far) / (DRAWS + 1) as f64
}

/// time = constant + per_hz x HZ + by_period / HZ: every tick takes the same from it, and what waits for one waits in proportion to
/// the time between two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// Without either.
    pub constant: f64,
    /// For each tick a second.
    pub per_hz: f64,
    /// For each second between two ticks.
    pub by_period: f64,
}

impl Balance {
    /// By least squares over values at rates; none of fewer than three rates.
    #[must_use]
    pub fn fit(values: &[(f64, f64)]) -> Option<Self> {
        let mut rates: Vec<f64> = values.iter().map(|(hz, _)| *hz).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates.dedup();
        if rates.len() < 3 || rates[0] <= 0.0 {
            return None;
        }
        // In units of the middle rate all three columns are of one size.
        let middle = (rates.iter().map(|hz| hz.ln()).sum::<f64>() / rates.len() as f64).exp();
        let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (hz, value) in values {
            let row = [1.0, hz / middle, middle / hz];
            for (at, own) in row.iter().enumerate() {
                row.iter().enumerate().for_each(|(other, factor)| matrix[at][other] += own * factor);
                right[at] += own * value;
            }
        }
        let [constant, per_hz, by_period] = solve(matrix, right)?;
        Some(Self { constant, per_hz: per_hz / middle, by_period: by_period * middle })
    }

    /// At a rate.
    #[must_use]
    pub fn at(&self, hz: f64) -> f64 {
        self.constant + self.per_hz * hz + self.by_period / hz
    }

    /// The rate from `low` to `high` at which it is least.
    #[must_use]
    pub fn least(&self, low: f64, high: f64) -> f64 {
        let turn = (self.by_period / self.per_hz).sqrt();
        let inside = (turn > low && turn < high).then_some(turn);
        let all = [Some(low), Some(high), inside].into_iter().flatten();
        all.min_by(|a, b| self.at(*a).total_cmp(&self.at(*b))).unwrap_or(low)
    }
}

/// Cramer's rule; none where the columns are not independent.
fn solve(matrix: [[f64; 3]; 3], right: [f64; 3]) -> Option<[f64; 3]> {
    let determinant = |m: &[[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(&matrix);
    let one = |column: usize| {
        let mut own = matrix;
        (0..3).for_each(|row| own[row][column] = right[row]);
        determinant(&own) / whole
    };
    (whole.abs() > 1e-12 * matrix[0][0].powi(3)).then(|| [0, 1, 2].map(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    const RATES_TRIED: [f64; 4] = [100.0, 250.0, 300.0, 1000.0];

    fn balance_with(per_hz: f64, by_period: f64) -> Balance {
        let value = |hz: &f64| (*hz, 2e9 + per_hz * hz + by_period / hz);
        Balance::fit(&RATES_TRIED.iter().map(value).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_rate_at_which_cost_and_gain_meet() {
        // 2 us x 1 s of ticks against waits of 5 periods: the least is at sqrt(c / b).
        let both = balance_with(4e4, 4e4 * 400.0 * 400.0);
        assert!(
            (both.per_hz / 4e4 - 1.0).abs() < 1e-6 && (both.constant / 2e9 - 1.0).abs() < 1e-6,
            "{both:?}"
        );
        assert!((both.least(100.0, 1000.0) - 400.0).abs() < 0.01);
        assert_eq!(both.least(500.0, 1000.0), 500.0);
        assert_eq!(balance_with(4e4, 0.0).least(100.0, 1000.0), 100.0);
        assert_eq!(balance_with(0.0, 1e9).least(100.0, 1000.0), 1000.0);
        // Where both run the other way the middle is the worst.
        assert!([100.0, 1000.0].contains(&balance_with(-4e4, -4e9).least(100.0, 1000.0)));
    }

    fn noisy(at: impl Fn(f64) -> f64, deviation: f64, boots: usize, seed: u64) -> Vec<Level> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        RATES_TRIED
            .iter()
            .map(|hz| (*hz, (0..boots).map(|_| at(*hz) * (1.0 + deviation * normal())).collect()))
            .collect()
    }

    #[test]
    fn no_rate_is_best_where_none_is() {
        let rate = |levels: &[Level]| matches!(judge(levels, 0.0005).unwrap().prefers, Prefers::Rate(..));
        let wrong = (0..200).filter(|seed| rate(&noisy(|_| 1e9, 0.01, 5, *seed))).count();
        // 5 % of 200; 20 is reached in one of a thousand.
        assert!(wrong < 20, "{wrong}");
        let same = judge(&noisy(|_| 1e9, 1e-5, 5, 1), 0.0005).unwrap();
        assert_eq!(same.prefers, Prefers::Neither);
        // Two boots a rate cannot tell, however far apart.
        let two = [(100.0, vec![1.0, 1.01]), (1000.0, vec![2.0, 2.02])];
        assert_eq!(judge(&two, 0.0005).unwrap().prefers, Prefers::Unknown);
        assert_eq!(judge(&[(100.0, vec![1.0; 5]), (1000.0, vec![0.0; 5])], 0.01), None);
    }

    #[test]
    fn the_best_rate_and_where_it_lies() {
        let both = |hz: f64| 1e9 + 1e5 * hz + 1e5 * 160_000.0 / hz;
        let Prefers::Rate(hz, Some(lies)) = judge(&noisy(both, 1e-3, 8, 3), 0.0005).unwrap().prefers else {
            panic!("nothing is best")
        };
        assert!((250.0..600.0).contains(&hz) && lies.low <= hz && hz <= lies.high, "{hz} {lies:?}");
        let ticks = judge(&noisy(|hz| 1e9 + 4e4 * hz, 1e-4, 5, 4), 0.0005).unwrap();
        assert!(matches!(ticks.prefers, Prefers::Rate(hz, _) if hz == 100.0), "{ticks:?}");
        // Whole ticks are no curve: what it has between the rates is not believed.
        let whole = |hz: f64| 1e9 + 1e3 * (1e6 / hz).ceil() * (if hz == 300.0 { 0.5 } else { 2.0 });
        let judged = judge(&noisy(whole, 1e-6, 5, 5), 0.0005).unwrap();
        assert!(matches!(judged.prefers, Prefers::Rate(hz, _) if hz == 1000.0 || hz == 300.0), "{judged:?}");
    }

    #[test]
    fn two_rates_are_no_curve() {
        assert_eq!(Balance::fit(&[(100.0, 1.0), (1000.0, 2.0), (100.0, 1.1)]), None);
        assert_eq!(Balance::fit(&[]), None);
        // Three are one exactly.
        let three = Balance::fit(&[(100.0, 7.0), (250.0, 5.0), (1000.0, 6.0)]).unwrap();
        assert!((three.at(250.0) - 5.0).abs() < 1e-9, "{three:?}");
    }
}
