//! How often something rare may happen, after it was seen so often: an upper limit and not an estimate.

use crate::student::beta_fraction;

/// Parts of a sequence over which clusters are looked for.
const PARTS: usize = 30;

/// The upper limit of a chance of which `hits` of `of` trials were seen, at a one-sided confidence (Clopper and Pearson, Biometrika 26, 1934): with
/// that chance no more hits than these would come with probability 1 - `confidence`. 1 where nothing was tried.
#[must_use]
pub fn upper(hits: f64, of: f64, confidence: f64) -> f64 {
    if hits >= of || of <= 0.0 {
        return 1.0;
    }
    // Halved by its logarithm: it is rare.
    let (mut low, mut high) = (1e-18f64, 1.0f64);
    while high / low > 1.0 + 1e-12 {
        let middle = (low * high).sqrt();
        let below = beta_below(middle, hits + 1.0, of - hits) < confidence;
        (low, high) = if below { (middle, high) } else { (low, middle) };
    }
    high
}

/// How many trials there must be before the limit is down to `bound`, if hits go on to be this share of all; none where they are too
/// many for that ever to be.
#[must_use]
pub fn trials(share: f64, bound: f64, confidence: f64) -> Option<f64> {
    if share >= bound || !(0.0..1.0).contains(&bound) {
        return None;
    }
    let is = |of: f64| upper(share * of, of, confidence) <= bound;
    let (mut low, mut high) = (1.0, 2.0);
    while !is(high) {
        (low, high) = (high, high * 2.0);
        if high > 1e15 {
            return None;
        }
    }
    while high / low > 1.0 + 1e-6 {
        let middle = f64::midpoint(low, high);
        (low, high) = if is(middle) { (low, middle) } else { (middle, high) };
    }
    Some(high)
}

/// How many hits come together in sequences of trials: the variance of the hits in parts of the sequences over their mean and one standard error of
/// that of independent ones, at least 1 (quasi-likelihood: McCullagh and Nelder, Generalized Linear Models, 4.5). So many trials say as much
/// as one that is independent of the others. 1 where too little is known. `sequences` were made apart; each is cut into parts.
#[must_use]
pub fn clusters(sequences: &[Vec<bool>]) -> f64 {
    let parts = PARTS.div_ceil(sequences.len().max(1));
    let cut = sequences.iter().flat_map(|sequence| sequence.chunks_exact((sequence.len() / parts).max(1)));
    let counts: Vec<f64> = cut.map(|part| part.iter().filter(|hit| **hit).count() as f64).collect();
    let count = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / count;
    if counts.len() < 2 || mean <= 0.0 {
        return 1.0;
    }
    let variance = counts.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (variance / mean * (1.0 + (2.0 / (count - 1.0)).sqrt())).max(1.0)
}

/// The regularized incomplete beta function (Abramowitz and Stegun 26.5.8 and 26.5.2).
fn beta_below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Stirling's series (Abramowitz and Stegun 6.1.41), from 10 on; below by recurrence.
fn ln_gamma(mut x: f64) -> f64 {
    let mut down = 0.0;
    while x < 10.0 {
        down += x.ln();
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - down
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn limits_as_published() {
        // Without a hit in closed form: 1 - (1 - confidence)^(1/n).
        for of in [1.0, 100.0, 3e5, 1e9] {
            let own: f64 = upper(0.0, of, 0.95);
            let real = -(0.05f64.ln() / of).exp_m1();
            assert!((own / real - 1.0).abs() < 1e-6, "{of}: {own}, not {real}");
        }
        // scipy.stats.beta.ppf(0.95, hits + 1, of - hits)
        for (hits, of, limit) in [(1.0, 10.0, 0.394_163), (5.0, 10.0, 0.777_559), (30.0, 1_000.0, 0.040_472)]
        {
            let own = upper(hits, of, 0.95);
            assert!((own - limit).abs() < 2e-5, "{hits} of {of}: {own}, not {limit}");
        }
        assert_eq!((upper(3.0, 3.0, 0.95), upper(0.0, 0.0, 0.95)), (1.0, 1.0));
    }

    #[test]
    fn so_many_trials_give_the_limit() {
        // Without a hit: ln(1 - confidence) / ln(1 - bound).
        let none = trials(0.0, 1e-4, 0.95).unwrap();
        assert!((none / 29_956.0 - 1.0).abs() < 1e-4, "{none}");
        let some = trials(5e-5, 1e-4, 0.95).unwrap();
        assert!((upper(5e-5 * some, some, 0.95) / 1e-4 - 1.0).abs() < 1e-3 && some > none);
        assert_eq!((trials(1e-4, 1e-4, 0.95), trials(0.5, 0.1, 0.95)), (None, None));
    }

    /// The limit is too low no more often than it says: of independent hits, and of hits in clusters of ten.
    #[test]
    fn the_limit_fails_no_more_often_than_it_says() {
        // Two standard deviations of a thousand trials above 5 %.
        let mut random = StdRng::seed_from_u64(3);
        for (rate, length) in [(0.001, 1), (0.02, 1), (0.000_5, 10), (0.004, 10)] {
            let trials = 1_000;
            let mut failed = [0; 2];
            for _ in 0..trials {
                let mut hits = vec![false; 20_000];
                let mut at = 0;
                while at < hits.len() {
                    if random.random::<f64>() < rate {
                        let end = (at + length).min(hits.len());
                        hits[at..end].fill(true);
                        at = end;
                    } else {
                        at += 1;
                    }
                }
                let real = rate * length as f64 / (1.0 + rate * (length as f64 - 1.0));
                // In few sequences and in many.
                for runs in [2, 40] {
                    let sequences: Vec<Vec<bool>> =
                        hits.chunks(hits.len() / runs).map(<[bool]>::to_vec).collect();
                    let (count, clusters) =
                        (hits.iter().filter(|hit| **hit).count() as f64, clusters(&sequences));
                    let limit = upper(count / clusters, hits.len() as f64 / clusters, 0.95);
                    failed[usize::from(runs > 2)] += usize::from(limit < real);
                }
            }
            assert!(failed.iter().all(|failed| *failed <= 64), "{rate} in {length}: {failed:?} of {trials}");
        }
    }
}
