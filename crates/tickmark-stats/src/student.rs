//! Student's t and the normal distribution: tails and quantiles, for degrees of freedom of 1 to a billion, whole or not.

/// Above this many degrees of freedom the expansion in powers of 1/df is exact to twelve digits.
const MANY: f64 = 3_000.0;

/// The chance that a standard normal variable is above `z`.
#[must_use]
pub fn normal_above(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The point above which a standard normal variable lies with chance `p`, 0 < p < 1: the rational approximation of
/// Abramowitz and Stegun 26.2.23, corrected by Halley's steps until it stands still.
#[must_use]
pub fn normal_point(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_point(1.0 - p);
    }
    let t = (-2.0 * p.ln()).sqrt();
    let top = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let bottom = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = t - top / bottom;
    for _ in 0..4 {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let error = (normal_above(z) - p) / density;
        z += error / (1.0 - 0.5 * z * error);
    }
    z
}

/// The complementary error function: its series below 2.5, its continued fraction above (Abramowitz and Stegun 7.1.6
/// and 7.1.14).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum;
    }
    let mut fraction = x;
    // The farther out, the sooner it has settled.
    let terms = 8 + (750.0 / (x * x)) as u32;
    for n in (1..=terms).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    (-x * x).exp() / std::f64::consts::PI.sqrt() / fraction
}

/// The gamma function at a + 1/2 over that at a: the asymptotic series for large a, carried down by recurrence
/// (Tricomi and Erdelyi, The asymptotic expansion of a ratio of gamma functions, 1951).
fn gamma_ratio(a: f64) -> f64 {
    let (mut a, mut factor) = (a, 1.0);
    while a < 40.0 {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    let i = 1.0 / a;
    let series = 1.0
        + i * (-1.0 / 8.0
            + i * (1.0 / 128.0 + i * (5.0 / 1024.0 + i * (-21.0 / 32_768.0 - i * 399.0 / 262_144.0))));
    a.sqrt() * series * factor
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8, by
/// Lentz's method).
pub(crate) fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let tiny = 1e-300;
    let guard = |v: f64| if v.abs() < tiny { tiny } else { v };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// The chance that Student's t with `df` degrees of freedom is above `t` (Abramowitz and Stegun 26.7.1).
#[must_use]
pub fn t_above(t: f64, df: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - t_above(-t, df);
    }
    let square = t * t;
    if df >= MANY {
        // Hill, Algorithm 395: Student's t-distribution, 1970.
        let a = df - 0.5;
        let (b, y) = (48.0 * a * a, a * (square / df).ln_1p());
        let last = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b);
        return normal_above(((last + y + 3.0) / b + 1.0) * y.sqrt());
    }
    let a = df / 2.0;
    // x^a (1-x)^(1/2) / B(a, 1/2), with x = df / (df + t^2).
    let front = (-a * (square / df).ln_1p()).exp() * (square / (df + square)).sqrt() * gamma_ratio(a)
        / std::f64::consts::PI.sqrt();
    let x = df / (df + square);
    if x < (a + 1.0) / (a + 2.5) {
        0.5 * front * beta_fraction(a, 0.5, x) / a
    } else {
        0.5 - front * beta_fraction(0.5, a, square / (df + square))
    }
}

/// The point above which Student's t with `df` degrees of freedom lies with chance `p`, 0 < p < 1.
#[must_use]
pub fn t_point(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && df > 0.0) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -t_point(1.0 - p, df);
    }
    let z = normal_point(p);
    if df >= MANY {
        // Abramowitz and Stegun 26.7.5; Fisher and Cornish 1960.
        let q = z * z;
        let terms = [
            z * (q + 1.0) / 4.0,
            z * ((5.0 * q + 16.0) * q + 3.0) / 96.0,
            z * (((3.0 * q + 19.0) * q + 17.0) * q - 15.0) / 384.0,
            z * ((((79.0 * q + 776.0) * q + 1482.0) * q - 1920.0) * q - 945.0) / 92_160.0,
        ];
        return terms.iter().rev().fold(0.0, |sum, term| (sum + term) / df) + z;
    }
    // Doubled until it is beyond, then halved and improved by Newton's steps inside the bracket.
    let (mut low, mut high) = (0.0, z.max(1.0));
    while t_above(high, df) > p {
        (low, high) = (high, high * 2.0);
    }
    let mut t = f64::midpoint(low, high);
    for _ in 0..200 {
        let above = t_above(t, df);
        if above > p {
            low = t;
        } else {
            high = t;
        }
        let density = gamma_ratio(df / 2.0) / (std::f64::consts::PI * df).sqrt()
            * (-(df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp();
        let next = t + (above - p) / density;
        let inside = if next > low && next < high { next } else { f64::midpoint(low, high) };
        if (inside - t).abs() <= 1e-15 * t.abs() {
            return inside;
        }
        t = inside;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chance, degrees of freedom, point: by mpmath with 40 digits.
    const POINTS: &[(f64, f64, f64)] = &[
        (0.025, 1.0, 12.706_204_736_174_705),
        (0.00001, 1.0, 31_830.988_607_907_093),
        (0.4, 1.0, 0.324_919_696_232_906_34),
        (0.025, 2.0, 4.302_652_729_749_464),
        (0.00001, 2.0, 223.603_443_634_037_2),
        (0.005, 3.0, 5.840_909_309_733_357),
        (0.025, 4.562_813_435, 2.646_459_995_067_507),
        (0.00001, 4.562_813_435, 18.113_733_294_176_42),
        (0.025, 10.0, 2.228_138_851_986_275),
        (0.4, 29.5, 0.255_643_833_244_156_6),
        (0.025, 100.0, 1.983_971_518_523_552_2),
        (0.00001, 100.0, 4.478_426_902_992_736),
        (0.025, 299.0, 1.967_929_669_065_67),
        (0.025, 301.0, 1.967_876_531_285_695_4),
        (0.00001, 301.0, 4.333_829_860_810_376),
        (0.005, 1000.0, 2.580_754_698_065_951),
        (0.00001, 1e4, 4.266_937_665_766_662),
        (0.4, 1e4, 0.253_353_843_445_726_87),
        // At a billion t is normal to 1e-9 and the first term of the expansion.
        (0.025, 1e9, 1.959_963_984_540_054_3 + 2.372_271_2e-9),
    ];

    #[test]
    fn quantiles_are_good_to_ten_digits() {
        for (p, df, point) in POINTS {
            let observed = t_point(*p, *df);
            assert!((observed / point - 1.0).abs() < 1e-10, "t({p}, {df}) is {point} and not {observed}");
            assert_eq!(t_point(1.0 - p, *df), -t_point(1.0 - (1.0 - p), *df));
        }
        for (p, z) in
            [(0.025, 1.959_963_984_540_054_3), (0.4, 0.253_347_103_135_799_8), (1e-12, 7.034_483_825_301_132)]
        {
            assert!((normal_point(p) / z - 1.0).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn tails_and_points_are_each_other_s_inverse() {
        for df in [1.0, 2.5, 7.0, 40.0, 299.0, 300.0, 5e3, 1e6, 1e9] {
            for p in [0.49, 0.3, 0.025, 1e-4, 1e-9] {
                let back = t_above(t_point(p, df), df);
                assert!((back / p - 1.0).abs() < 1e-8, "{p} at {df}: {back}");
            }
        }
        assert!(t_point(0.0, 5.0).is_nan() && t_point(0.5, 0.0).is_nan());
        assert_eq!(t_above(0.0, 5.0), 0.5);
    }
}
