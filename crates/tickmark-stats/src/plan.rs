//! Before an experiment: what it will be able to see.

use crate::student::{normal_point, t_point};

/// The smallest difference of two settings that an interleaved experiment of so many blocks finds with this power at this level,
/// where the differences within a block spread with this standard deviation (Bloom, Minimum detectable effects, 1995:
/// (t(1 - level/2) + t(power)) standard errors). Infinite for fewer than two blocks.
#[must_use]
pub fn detectable(deviation: f64, blocks: usize, level: f64, power: f64) -> f64 {
    if blocks < 2 {
        return f64::INFINITY;
    }
    let df = blocks as f64 - 1.0;
    deviation / (blocks as f64).sqrt() * (t_point(level / 2.0, df) + t_point(1.0 - power, df))
}

/// The standard deviation that is not exceeded with this chance where so many values showed `deviation`: what a few values
/// show is too small as often as too large, and what is planned by it would as often be too short (Browne, On the use of
/// a pilot sample for sample size determination, 1995). Chi square by Wilson and Hilferty, 1931, to some per cent from 3
/// degrees of freedom.
#[must_use]
pub fn upper_deviation(deviation: f64, values: usize, chance: f64) -> f64 {
    if values < 2 {
        return f64::INFINITY;
    }
    let df = values as f64 - 1.0;
    let cube = 1.0 - 2.0 / (9.0 * df) - normal_point(1.0 - chance) * (2.0 / (9.0 * df)).sqrt();
    deviation / cube.max(0.05).powi(3).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_values() {
        // statistics.md, SMP: pooled over 18 degrees of freedom, .3806 % of 13751.1 at 80 %; here the 10 pairs of such runs.
        let sd = ((29.319_883f64.powi(2) + 47.551_726f64.powi(2)) / 10.0).sqrt();
        let two_sided = sd * (t_point(0.025, 18.0) + t_point(0.2, 18.0)) / 13_751.1;
        assert!((two_sided - 0.003_806).abs() < 2e-6, "{two_sided}");
        let pairs =
            detectable((29.319_883f64.powi(2) + 47.551_726f64.powi(2)).sqrt(), 10, 0.05, 0.8) / 13_751.1;
        assert!(pairs > two_sided && pairs < 1.1 * two_sided, "{pairs}");
        assert_eq!(detectable(1.0, 1, 0.05, 0.8), f64::INFINITY);
        // Chi square tables: the lower twentieth at 9 degrees of freedom is 3.325, at 4 degrees .711.
        assert!((upper_deviation(1.0, 10, 0.95) - (9.0f64 / 3.325).sqrt()).abs() < 0.01);
        assert!((upper_deviation(1.0, 5, 0.95) - (4.0f64 / 0.711).sqrt()).abs() < 0.05);
    }
}
