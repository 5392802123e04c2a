//! Two samples: is there a difference, how large is it, and how large could it be. The unit of each sample is a run,
//! a recording or a boot, never what was observed inside one.

use crate::student::{t_above, t_point};
use crate::{Interval, Spread, spread};

/// Moments of a sample for a test of means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// How many values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation with n - 1.
    pub deviation: f64,
}

impl Moments {
    /// None for fewer than two values.
    #[must_use]
    pub fn from_sample(sample: &[f64]) -> Option<Self> {
        let s = spread(sample).filter(|_| sample.len() > 1)?;
        Some(Self { count: sample.len() as f64, mean: s.mean, deviation: s.deviation })
    }

    /// The same of values that were rounded to multiples of `step`, which moves each by up to half of it.
    #[must_use]
    pub fn rounded(self, step: f64) -> Self {
        Self { deviation: self.deviation.hypot(step / 12f64.sqrt()), ..self }
    }

    /// The same of values that are so many times as large.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, deviation: self.deviation * factor.abs(), ..self }
    }

    /// The standard error of the mean.
    fn error(&self) -> f64 {
        self.deviation / self.count.sqrt()
    }
}

/// A difference of two means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Second mean less first.
    pub point: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Difference {
    /// Of two independent samples whose variances may differ: Welch, The generalization of Student's problem when
    /// several different population variances are involved, 1947. None where a sample has fewer than two values or
    /// nothing varies.
    #[must_use]
    pub fn welch(first: &[f64], second: &[f64]) -> Option<Self> {
        Self::between(&Moments::from_sample(first)?, &Moments::from_sample(second)?)
    }

    /// The same of samples that are known by their moments.
    #[must_use]
    pub fn between(first: &Moments, second: &Moments) -> Option<Self> {
        let (ea, eb) = (first.error(), second.error());
        let error = ea.hypot(eb);
        // Of shares, so that squares neither overflow nor vanish.
        let (a, b) = ((ea / error).powi(2), (eb / error).powi(2));
        let df = (a * a / (first.count - 1.0) + b * b / (second.count - 1.0)).recip();
        let point = second.mean - first.mean;
        (error > 0.0 && df.is_finite()).then_some(Self { point, error, df })
    }

    /// Of pairs, such as the blocks of an interleaved experiment: Student's t of their differences.
    #[must_use]
    pub fn paired(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.len() != second.len() || first.len() < 2 {
            return None;
        }
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
        let s = spread(&differences)?;
        let count = differences.len() as f64;
        let error = s.deviation / count.sqrt();
        // Differences of values that differ by the same are equal but for rounding.
        let largest = first.iter().chain(second).fold(0.0f64, |most, value| most.max(value.abs()));
        (error > 1e-14 * largest).then_some(Self { point: s.mean, error, df: count - 1.0 })
    }

    /// The difference in standard errors.
    #[must_use]
    pub fn t(&self) -> f64 {
        self.point / self.error
    }

    /// The chance of a difference this far from zero on either side where there is none.
    #[must_use]
    pub fn p(&self) -> f64 {
        2.0 * t_above(self.t().abs(), self.df)
    }

    /// Where the difference lies with this confidence, 0 to 1.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = self.error * t_point((1.0 - confidence) / 2.0, self.df);
        Interval { low: self.point - half, high: self.point + half }
    }
}

/// The ratio of the second mean to the first, with Fieller's interval at Welch's degrees of freedom: Fieller, Some
/// problems in interval estimation, 1954. None where the first mean is not told from zero: then there is no such interval.
#[must_use]
pub fn ratio(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    ratio_between(&Moments::from_sample(first)?, &Moments::from_sample(second)?, confidence)
}

/// The same of samples that are known by their moments.
#[must_use]
pub fn ratio_between(first: &Moments, second: &Moments, confidence: f64) -> Option<(f64, Interval)> {
    // What does not vary at all has a ratio without an interval's width.
    let df = Difference::between(first, second).map_or(1.0, |difference| difference.df);
    let t = t_point((1.0 - confidence) / 2.0, df);
    fieller(first.mean, first.error(), second.mean, second.error(), 0.0, t)
}

/// The same for pairs: what the two values of a pair share falls out of their ratio.
#[must_use]
pub fn paired_ratio(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    if first.len() != second.len() || first.len() < 2 {
        return None;
    }
    let count = first.len() as f64;
    let (a, b) = (spread(first)?, spread(second)?);
    let parts =
        |value: f64, of: Spread| if of.deviation > 0.0 { (value - of.mean) / of.deviation } else { 0.0 };
    let together: f64 = first.iter().zip(second).map(|(x, y)| parts(*x, a) * parts(*y, b)).sum();
    let t = t_point((1.0 - confidence) / 2.0, count - 1.0);
    let of_mean = |deviation: f64| deviation / count.sqrt();
    fieller(a.mean, of_mean(a.deviation), b.mean, of_mean(b.deviation), together / (count - 1.0), t)
}

/// b / a where a and b have these standard errors and this correlation, and `t` is the quantile: the ratios r at which b - r a
/// is not told from zero. All in units of a, so that squares neither overflow nor vanish.
pub(crate) fn fieller(a: f64, ea: f64, b: f64, eb: f64, together: f64, t: f64) -> Option<(f64, Interval)> {
    if a == 0.0 {
        return None;
    }
    let (ratio, ea, eb) = (b / a, t * ea / a.abs(), t * eb / a.abs());
    let denominator = 1.0 - ea * ea;
    // The first mean is not told from zero.
    if denominator <= 0.0 {
        return None;
    }
    let middle = ratio - together * ea * eb;
    let apart = (1.0 - together * together).max(0.0);
    let root = ((ratio * ea - together * eb).powi(2) + apart * eb * eb * denominator).sqrt();
    let ends = [(middle - root) / denominator, (middle + root) / denominator];
    Some((ratio, Interval { low: ends[0], high: ends[1] }))
}

/// How many pairs or values a side would give an interval of half the width `wanted`, by what `n` have given.
#[must_use]
pub fn runs_for(half_width: f64, n: usize, wanted: f64) -> Option<usize> {
    let enough = wanted > 0.0 && half_width.is_finite();
    enough.then(|| (n as f64 * (half_width / wanted).powi(2)).ceil().min(1e9) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// timecounter-cost.txt, in the order of its runs.
    const ACPI: [f64; 5] = [14_097.47, 13_741.43, 13_704.01, 13_626.05, 13_769.32];
    const TSC: [f64; 5] = [13_638.09, 15_204.89, 15_126.16, 15_199.22, 15_111.09];
    const NULL: ([f64; 5], [f64; 5]) = ([6.19, 6.20, 6.20, 6.20, 6.20], [5.83, 5.82, 5.83, 5.83, 5.81]);
    const SELECT: ([f64; 5], [f64; 5]) =
        ([154.0, 155.0, 154.0, 153.0, 153.0], [128.0, 163.0, 166.0, 164.0, 161.0]);

    fn near(observed: f64, expected: f64, digits: i32) {
        assert!((observed / expected - 1.0).abs() < 10f64.powi(-digits), "{observed} is not {expected}");
    }

    // Golden values: scipy.
    #[test]
    fn the_time_counters_without_their_outliers() {
        let d = Difference::welch(&ACPI[1..], &TSC[1..]).unwrap();
        near(d.point, 1450.1375, 9);
        near(d.error, 39.454_845_16, 9);
        near(d.df, 5.670_933_487, 9);
        near(d.t(), 36.754_357_91, 9);
        near(d.p(), 5.777_988_417e-8, 8);
        let i = d.interval(0.95);
        near(i.low, 1_352.220_618, 9);
        near(i.high, 1_548.054_382, 9);
        let (point, i) = ratio(&ACPI[1..], &TSC[1..], 0.95).unwrap();
        near(point, 1.105_770_684_28, 11);
        near(i.low, 1.098_186_070_66, 10);
        near(i.high, 1.113_425_288_33, 10);
    }

    #[test]
    fn the_time_counters_with_them() {
        let d = Difference::welch(&ACPI, &TSC).unwrap();
        near(d.point, 1068.234, 9);
        near(d.error, 315.630_888_9, 9);
        near(d.df, 4.562_813_435, 9);
        near(d.t(), 3.384_440_616, 9);
        near(d.p(), 0.022_565_353_84, 9);
        let i = d.interval(0.95);
        near(i.low, 232.929_479_2, 8);
        near(i.high, 1_903.538_521, 8);
    }

    #[test]
    fn the_null_call_and_the_select_of_two_ticks() {
        let d = Difference::welch(&NULL.0, &NULL.1).unwrap();
        near(d.point, -0.374, 9);
        near(d.df, 5.882_352_941, 9);
        near(d.p(), 2.839_62e-10, 5);
        let i = d.interval(0.95);
        near(i.low, -0.384_996_2, 6);
        near(i.high, -0.363_003_8, 6);
        near(Difference::welch(&SELECT.0, &SELECT.1).unwrap().p(), 0.734_629, 5);
    }

    /// hz-and-http.txt, rebuilt from its page.
    const SMP: ([f64; 10], [f64; 10]) = (
        [13715.0, 13719.0, 13726.0, 13734.0, 13735.0, 13750.0, 13778.0, 13778.0, 13783.0, 13793.0],
        [13813.0, 13864.0, 13880.0, 13889.0, 13905.0, 13921.0, 13924.0, 13933.0, 13966.0, 13970.0],
    );
    const UP: ([f64; 10], [f64; 10]) = (
        [14067.0, 14098.0, 14104.0, 14107.0, 14116.0, 14116.0, 14135.0, 14136.0, 14155.0, 14178.0],
        [14141.0, 14149.0, 14153.0, 14159.0, 14169.0, 14170.0, 14179.0, 14185.0, 14197.0, 14257.0],
    );

    #[test]
    fn hz_and_http_is_changed_and_below_the_margin() {
        let base = |sample: &[f64]| spread(sample).unwrap().mean;
        let d = Difference::welch(&SMP.0, &SMP.1).unwrap();
        let mean = base(&SMP.0);
        near(d.df, 14.979, 4);
        near(d.t(), 8.7966, 4);
        let i = d.interval(0.90);
        near(i.low / mean, 0.009_049, 3);
        near(i.high / mean, 0.013_553, 3);
        let d = Difference::welch(&UP.0, &UP.1).unwrap();
        near(d.df, 17.933, 4);
        near(d.t(), 3.7893, 4);
        near(d.p(), 0.001_351, 3);
    }

    #[test]
    fn pairs_take_off_what_both_share() {
        let drift: Vec<f64> = (0..10).map(|i| f64::from(i * i)).collect();
        let second: Vec<f64> =
            drift.iter().enumerate().map(|(i, v)| v + 1.0 + 0.01 * f64::from(i as u32 % 2)).collect();
        let d = Difference::paired(&drift, &second).unwrap();
        near(d.point, 1.005, 9);
        assert!(d.p() < 1e-15 && Difference::welch(&drift, &second).unwrap().p() > 0.9);
        assert!(Difference::paired(&drift, &second[1..]).is_none());
        assert!(
            Difference::welch(&[1.0, 1.0], &[1.0, 1.0]).is_none(),
            "nothing varies: nothing is known of it"
        );
        assert!(ratio(&[-1.0, 1.0, 0.5], &[1.0, 2.0, 3.0], 0.95).is_none(), "a base that may be zero");
    }

    #[test]
    fn swapping_turns_the_sign_and_scaling_scales() {
        let there = Difference::welch(&ACPI, &TSC).unwrap();
        let back = Difference::welch(&TSC, &ACPI).unwrap();
        assert_eq!((there.point, there.df, there.p()), (-back.point, back.df, back.p()));
        let scaled = |sample: &[f64]| sample.iter().map(|v| v * 1e-6 + 5.0).collect::<Vec<_>>();
        let small = Difference::welch(&scaled(&ACPI), &scaled(&TSC)).unwrap();
        near(small.p(), there.p(), 6);
    }
}
