//! How often a gate claims what is not there, and finds what is, on histories that are made, and whether its calibration says so beforehand:
//! `cargo test -p tickmark-stats --release --test statistics gates -- --nocapture` prints the figures. The seeds are fixed, so that the figures are too.

use crate::noise::{NOISES, Noise, bound};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::ops::Range;
use tickmark_stats::gate::{Side, judge, judge_few, share_interval, visible_errors, would_claim};
use tickmark_stats::verdict::LEVEL;

/// Earlier recordings, the trials of a calibration after them, and recordings that are judged after these.
const EARLIER: usize = 40;
const TRIALS: usize = 60;
const LATER: usize = 60;
/// Figures of a recording, each the median of so many runs.
const FIGURES: usize = 4;
const RUNS: usize = 5;
/// More is worse.
const SIDES: [Side; FIGURES] = [Side::Above; FIGURES];
const PLANTED: [f64; 3] = [0.01, 0.02, 0.05];
const HISTORIES: u64 = 25;

/// Logarithms of the figures of recordings that were made one after the other, and nothing was changed.
fn recordings(random: &mut StdRng, noise: Noise, count: usize) -> Vec<Vec<f64>> {
    let column = |_| -> Vec<f64> {
        let runs = noise(random, count * RUNS);
        runs.chunks(RUNS).map(|runs| tickmark_stats::median(runs.iter().copied()).unwrap().ln()).collect()
    };
    let columns: Vec<Vec<f64>> = (0..FIGURES).map(column).collect();
    (0..count).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
}

/// In how many of some recordings something is claimed, and in how many of their figures each planted shift is found.
struct GateRates {
    alarms: usize,
    found: [usize; PLANTED.len()],
}

/// Of some recordings of a series: each is judged by those just before it, as `check` does, or all by the first of the series, as by a baseline.
fn measure_rates(series: &[Vec<f64>], judged: Range<usize>, by_first: bool) -> GateRates {
    let mut all = GateRates { alarms: 0, found: [0; PLANTED.len()] };
    for at in judged {
        let until = if by_first { EARLIER } else { at };
        let (earlier, new) = (&series[until - EARLIER..until], &series[at..=at]);
        all.alarms +=
            usize::from(judge(earlier, new, &SIDES).unwrap().iter().any(|judged| judged.p <= LEVEL + 1e-9));
        for (found, more) in all.found.iter_mut().zip(PLANTED) {
            let claims = would_claim(earlier, new, &[more.ln_1p(); FIGURES], &SIDES, LEVEL).unwrap();
            *found += claims.iter().filter(|claimed| **claimed).count();
        }
    }
    all
}

/// Of a noise, over all histories: shares of what was judged, and of the histories.
struct Gate {
    alarms: f64,
    /// The same by the first of the series, by which it was calibrated.
    by_a_baseline: f64,
    found: [f64; PLANTED.len()],
    /// In how many the calibration agreed with what came and was judged by the same: on alarms, and on each planted shift.
    agreed: [f64; 1 + PLANTED.len()],
    /// In how many it would arm the gate.
    armed: f64,
}

fn gate(noise: Noise) -> Gate {
    let mut all = Gate { alarms: 0.0, by_a_baseline: 0.0, found: [0.0; 3], agreed: [0.0; 4], armed: 0.0 };
    let share = |holds: bool| f64::from(u8::from(holds)) / HISTORIES as f64;
    for seed in 0..HISTORIES {
        let series = recordings(&mut StdRng::seed_from_u64(seed), noise, EARLIER + TRIALS + LATER);
        let said = measure_rates(&series, EARLIER..EARLIER + TRIALS, true);
        // Those that are judged by as many before each, and by the same as the trials.
        let came = measure_rates(&series, EARLIER + TRIALS..series.len(), false);
        let by_same = measure_rates(&series, EARLIER + TRIALS..series.len(), true);
        let of = HISTORIES as f64 * LATER as f64;
        all.alarms += came.alarms as f64 / of;
        all.by_a_baseline += by_same.alarms as f64 / of;
        // Both are counts: they agree where a rate exists that is within the interval of either.
        let agree = |said: usize, came: usize, figures: usize| {
            let said = share_interval(said, TRIALS * figures, 0.9);
            let came = share_interval(came, LATER * figures, 0.9);
            share(said.low <= came.high && came.low <= said.high)
        };
        all.agreed[0] += agree(said.alarms, by_same.alarms, 1);
        for at in 0..PLANTED.len() {
            all.found[at] += came.found[at] as f64 / (of * FIGURES as f64);
            all.agreed[1 + at] += agree(said.found[at], by_same.found[at], FIGURES);
        }
        all.armed += share(share_interval(said.alarms, TRIALS, 0.9).high <= 0.1);
    }
    all
}

#[test]
fn alarms_shifts_and_what_a_calibration_says_of_them() {
    // What chance gives of 5 %.
    let chance = f64::from(bound(HISTORIES as u32 * LATER as u32)) / (HISTORIES as f64 * LATER as f64);
    for (name, noise) in NOISES {
        let gate = gate(noise);
        let shown = |shares: &[f64]| -> String {
            shares.iter().map(|share| format!(" {:.1}", share * 100.0)).collect()
        };
        println!(
            "{name}, %: alarms{}, by a baseline{}; found of 1, 2 and 5 %{}; agreed with the calibration{}; armed{}",
            shown(&[gate.alarms]),
            shown(&[gate.by_a_baseline]),
            shown(&gate.found),
            shown(&gate.agreed),
            shown(&[gate.armed]),
        );
        assert!(gate.found[2] >= 0.95, "{name}: {:?}", gate.found);
        if name == "drifting" {
            // It drifts to the side that is looked at: each is a little worse than those before, and claimed twice as often.
            assert!(gate.alarms > chance && gate.alarms <= 0.15, "{}", gate.alarms);
            // A baseline grows old, and its gate does not arm.
            assert!(gate.by_a_baseline > 2.0 * chance && gate.armed <= 0.1, "{}", gate.armed);
        } else {
            assert!(gate.alarms.max(gate.by_a_baseline) <= chance, "{name}: {}", gate.alarms);
            assert!(gate.agreed.iter().all(|share| *share >= 0.9), "{name}: {:?}", gate.agreed);
        }
    }
}

/// Few earlier recordings: how often anything is claimed of the next, and whether a change as large as is said to be visible is found.
#[test]
fn few_recordings_judge_the_next_and_say_what_they_see() {
    const SERIES: u64 = 1_000;
    for (name, noise) in NOISES {
        for earlier in [2, 3, 5, 10, 18] {
            let (mut alarms, mut found, mut visible) = (0, 0, Vec::new());
            let errors = visible_errors(earlier, FIGURES, LEVEL, SIDES[0]);
            for seed in 0..SERIES {
                let all = recordings(&mut StdRng::seed_from_u64(90_000 + seed), noise, earlier + 1);
                let (before, mut new) = (&all[..earlier], all[earlier..=earlier].to_vec());
                let judged = judge_few(before, &new, &SIDES).unwrap();
                alarms += usize::from(judged.iter().any(|(judged, _)| judged.p <= LEVEL));
                visible.push(judged[0].1 * errors);
                new[0][0] += judged[0].1 * errors;
                found += usize::from(judge_few(before, &new, &SIDES).unwrap()[0].0.p <= LEVEL);
            }
            let share = |count: usize| count as f64 / SERIES as f64;
            let middle = tickmark_stats::median(visible).unwrap().exp_m1();
            println!(
                "{name}, {earlier} earlier: {:.1} % alarms; what is visible ({:.1} %) is found in {:.0} %",
                100.0 * share(alarms),
                100.0 * middle,
                100.0 * share(found)
            );
            // What chance gives of 5 %, and of a series that drifts to the worse as much as the rule for many.
            let most =
                if name == "drifting" { 0.15 } else { f64::from(bound(SERIES as u32)) / SERIES as f64 };
            assert!(
                share(alarms) <= most && share(found) >= 0.7,
                "{name}, {earlier}: {alarms} and {found} of {SERIES}"
            );
        }
    }
}

/// A recording that is claimed, and up to two that repeat it: how often all looks claim, where a look is at all of them together (`check --retry`), or at each
/// by itself until one passes.
#[test]
fn a_retry_judged_together_hides_no_change() {
    const SERIES: u64 = 400;
    for (name, noise) in NOISES.into_iter().filter(|(name, _)| *name != "drifting") {
        for shift in [0.0f64, 0.02] {
            let [mut once, mut together, mut apart] = [0; 3];
            for seed in 0..SERIES {
                let mut all = recordings(&mut StdRng::seed_from_u64(70_000 + seed), noise, EARLIER + 3);
                all[EARLIER..].iter_mut().for_each(|row| row[0] += shift.ln_1p());
                let (before, new) = all.split_at(EARLIER);
                let is_claimed = |new: &[Vec<f64>]| {
                    judge(before, new, &SIDES).unwrap().iter().any(|judged| judged.p <= LEVEL + 1e-9)
                };
                let first = is_claimed(&new[..1]);
                once += u32::from(first);
                together += u32::from(first && (2..=3).all(|looks| is_claimed(&new[..looks])));
                apart += u32::from(first && (1..3).all(|at| is_claimed(&new[at..=at])));
            }
            let share = |count: u32| 100.0 * f64::from(count) / SERIES as f64;
            println!(
                "{name}, {:.0} % slower: claimed by one {:.1} %, and by two retries together {:.1} %, each by itself {:.1} %",
                100.0 * shift,
                share(once),
                share(together),
                share(apart)
            );
            assert!(
                together <= once && (shift > 0.0 || once <= bound(SERIES as u32)),
                "{name}: {once} {together}"
            );
            // Of what the first saw little is lost.
            assert!(
                shift == 0.0 || f64::from(together) >= 0.7 * f64::from(once) && together > apart,
                "{name}: {once} {together} {apart}"
            );
        }
    }
}
