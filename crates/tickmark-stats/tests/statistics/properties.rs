//! Properties that hold for every sample: swapped sides, other units, shifts, other orders.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tickmark_stats::bootstrap::bca;
use tickmark_stats::multiple::{benjamini_hochberg, holm};
use tickmark_stats::rank::{hodges_lehmann, mann_whitney};
use tickmark_stats::series::{drift, lag_1};
use tickmark_stats::student::{t_above, t_point};
use tickmark_stats::summary::Summary;
use tickmark_stats::two::{Difference, paired_ratio, ratio};
use tickmark_stats::verdict::{Rule, Sides, Verdict, compare_all};
use tickmark_stats::{Interval, spread};

/// Costs: positive, of three digits, so that products stay exact enough to compare.
fn sample(least: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((50u32..5000).prop_map(|v| f64::from(v) / 10.0), least..25)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

fn same(a: Interval, b: Interval) -> bool {
    near(a.low, b.low) && near(a.high, b.high)
}

fn negative(i: Interval) -> Interval {
    Interval { low: -i.high, high: -i.low }
}

fn times(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|v| v * factor).collect()
}

fn plus(values: &[f64], shift: f64) -> Vec<f64> {
    values.iter().map(|v| v + shift).collect()
}

fn turned(values: &[f64]) -> Vec<f64> {
    values.iter().rev().copied().collect()
}

proptest! {
    #[test]
    fn swapped_sides_say_the_opposite(a in sample(2), b in sample(2)) {
        if let Some(d) = Difference::welch(&a, &b) {
            let back = Difference::welch(&b, &a).unwrap();
            prop_assert!(near(d.point, -back.point) && near(d.p(), back.p()));
            let (i, j) = (d.interval(0.95), back.interval(0.95));
            prop_assert!(same(i, negative(j)));
        }
        let (u, v) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        prop_assert!(near(u.u + v.u, (a.len() * b.len()) as f64) && near(u.p, v.p));
        let ((p, i, _), (q, j, _)) = (hodges_lehmann(&a, &b, 0.95).unwrap(), hodges_lehmann(&b, &a, 0.95).unwrap());
        prop_assert!(near(p, -q) && same(i, negative(j)));
        if let (Some((r, i)), Some((s, j))) = (ratio(&a, &b, 0.95), ratio(&b, &a, 0.95)) {
            prop_assert!(near(r * s, 1.0));
            prop_assert!(near(i.low * j.high, 1.0) && near(i.high * j.low, 1.0), "{i:?} {j:?}");
        }
    }

    #[test]
    fn another_unit_changes_no_ratio_and_no_chance(a in sample(3), b in sample(3), factor in 0.001f64..1000.0) {
        let (c, d) = (times(&a, factor), times(&b, factor));
        if let (Some(x), Some(y)) = (Difference::welch(&a, &b), Difference::welch(&c, &d)) {
            prop_assert!(near(x.p(), y.p()) && near(x.point * factor, y.point) && near(x.df, y.df));
        }
        if let (Some((r, i)), Some((s, j))) = (ratio(&a, &b, 0.95), ratio(&c, &d, 0.95)) {
            prop_assert!(near(r, s) && same(i, j));
        }
        let (s, t) = (Summary::summarize(&a).unwrap(), Summary::summarize(&c).unwrap());
        prop_assert!(near(s.deviation * factor, t.deviation) && near(s.median * factor, t.median));
        if let (Some(x), Some(y)) = (lag_1(&a), lag_1(&c)) {
            prop_assert!(near(x, y));
        }
        let verdict = |a: &[f64], b: &[f64]| compare_all(&[Sides::apart(a, b)], Rule::default())[0].unwrap();
        let (v, w) = (verdict(&a, &b), verdict(&c, &d));
        prop_assert!(v.verdict == w.verdict || v.adjusted.zip(w.adjusted).is_some_and(|(p, q)| near(p, q)));
    }

    #[test]
    fn a_shift_of_both_changes_no_difference(a in sample(3), b in sample(3), shift in -1000.0f64..1000.0) {
        let (c, d) = (plus(&a, shift), plus(&b, shift));
        if let (Some(x), Some(y)) = (Difference::welch(&a, &b), Difference::welch(&c, &d)) {
            prop_assert!((x.point - y.point).abs() < 1e-9 && (x.p() - y.p()).abs() < 1e-7);
        }
        let (p, q) = (hodges_lehmann(&a, &b, 0.95).unwrap().0, hodges_lehmann(&c, &d, 0.95).unwrap().0);
        prop_assert!((p - q).abs() < 1e-9);
        if let (Some(x), Some(y)) = (drift(&a), drift(&c)) {
            prop_assert!((x.over - y.over).abs() < 1e-7 && (x.p - y.p).abs() < 1e-6);
        }
    }

    #[test]
    fn the_order_of_independent_values_is_nothing(a in sample(3), b in sample(3)) {
        let (c, d) = (turned(&a), turned(&b));
        if let (Some(x), Some(y)) = (Difference::welch(&a, &b), Difference::welch(&c, &d)) {
            prop_assert!(near(x.point, y.point) && near(x.p(), y.p()));
        }
        prop_assert_eq!(mann_whitney(&a, &b).unwrap(), mann_whitney(&c, &d).unwrap());
        prop_assert_eq!(hodges_lehmann(&a, &b, 0.95), hodges_lehmann(&c, &d, 0.95));
        let n = a.len().min(b.len());
        // Pairs may come in any order, but stay together.
        let (x, y) = (paired_ratio(&a[..n], &b[..n], 0.95), paired_ratio(&turned(&a[..n]), &turned(&b[..n]), 0.95));
        if let (Some((p, i)), Some((q, j))) = (x, y) {
            prop_assert!(near(p, q) && same(i, j));
        }
        // Turned around, a drift goes the other way.
        if let (Some(x), Some(y)) = (drift(&a), drift(&c)) {
            prop_assert!((x.over + y.over).abs() < 1e-7);
        }
    }

    #[test]
    fn points_lie_in_their_intervals_and_more_confidence_is_wider(a in sample(4), b in sample(4)) {
        if let Some(d) = Difference::welch(&a, &b) {
            let (narrow, wide) = (d.interval(0.9), d.interval(0.99));
            prop_assert!(wide.low <= narrow.low && narrow.low <= d.point && d.point <= narrow.high && narrow.high <= wide.high);
            // The test and the interval of the same level agree.
            let at = d.interval(0.95);
            prop_assert_eq!(d.p() < 0.05, at.low > 0.0 || at.high < 0.0);
        }
        let (p, i, confidence) = hodges_lehmann(&a, &b, 0.95).unwrap();
        prop_assert!(i.low <= p && p <= i.high && confidence > 0.0 && confidence <= 1.0);
        let n = a.len().min(b.len());
        if let Some((r, i)) = paired_ratio(&a[..n], &b[..n], 0.95) {
            prop_assert!(i.low <= r && r <= i.high);
        }
    }

    #[test]
    fn corrections_only_make_chances_larger(chances in prop::collection::vec(0.0f64..1.0, 1..40)) {
        for (((p, h), b), _) in chances.iter().zip(holm(&chances)).zip(benjamini_hochberg(&chances)).zip(0..) {
            prop_assert!(h >= *p && b >= *p && h <= 1.0 && b <= 1.0 && b <= h + 1e-12);
        }
    }

    #[test]
    fn tails_fall_with_t_and_turn_with_its_sign(t in 0.0f64..50.0, more in 0.01f64..5.0, df in 1.0f64..1e6) {
        prop_assert!(t_above(t + more, df) <= t_above(t, df));
        prop_assert!((t_above(-t, df) + t_above(t, df) - 1.0).abs() < 1e-12);
        let p = t_above(t, df);
        if p > 1e-12 && t > 1e-3 {
            prop_assert!((t_point(p, df) / t - 1.0).abs() < 1e-6, "{} is not {t}", t_point(p, df));
        }
    }

    #[test]
    fn drawn_again_a_mean_scales_with_its_values(a in sample(5), seed in 0u64..1000) {
        let mean = |samples: &[Vec<f64>]| spread(&samples[0]).unwrap().mean;
        let of = |values: &[f64]| bca(&[values], mean, 0.95, 200, &mut StdRng::seed_from_u64(seed));
        if let (Some(i), Some(j)) = (of(&a), of(&times(&a, 2.0))) {
            prop_assert!(near(2.0 * i.low, j.low) && near(2.0 * i.high, j.high));
        }
    }

    #[test]
    fn a_sample_is_equivalent_to_itself(a in sample(2)) {
        let verdict = compare_all(&[Sides::paired(&a, &a)], Rule::default())[0].unwrap();
        prop_assert_eq!((verdict.verdict, verdict.ratio), (Verdict::Equivalent, Some(1.0)));
    }
}
