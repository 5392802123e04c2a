//! The tick among the gaps that a spinning loop saw: a train of interruptions at one frequency.

use crate::quantile::Sorted;
use crate::spectrum::rayleigh;

/// Frequencies that are searched, in Hz.
const LOWEST: f64 = 20.0;
const HIGHEST: f64 = 2_500.0;
/// A train has power at its frequency and at these multiples of it.
const MULTIPLES: usize = 3;
/// Gaps that enter the periodogram at most: the longest, which a tick's are among.
const MOST: usize = 4_000;

/// Gaps of a loop that spun for `span`, all in ns.
#[derive(Debug, Clone, Copy)]
pub struct Gaps<'a> {
    /// How long it spun.
    pub span: f64,
    /// When each gap began.
    pub start: &'a [f64],
    /// How long each was.
    pub length: &'a [f64],
    /// Timer interrupts that the kernel counted meanwhile.
    pub interrupts: Option<f64>,
}

/// A train of interruptions.
#[derive(Debug, Clone, PartialEq)]
pub struct Train {
    /// Interruptions a second of the clock that stamped the gaps.
    pub frequency: f64,
    /// The share of its slots in which a gap was seen.
    pub filled: f64,
    /// Lengths of its gaps: 10th percentile, median, 90th percentile, ns.
    pub length: [f64; 3],
    /// The share of the CPU that it takes.
    pub share: f64,
    /// Whether the kernel's count of timer interrupts agrees within a tenth.
    pub confirmed: bool,
}

/// Why no tick was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// Too few gaps: no tick (nohz_full), or not enough time.
    FewGaps,
    /// Gaps without a period.
    NoPeriod,
    /// Periods, but none that the kernel's count of timer interrupts fits.
    NoneFits,
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FewGaps => "too few interruptions: no tick on this CPU, or too short a run",
            Self::NoPeriod => "interruptions without a period",
            Self::NoneFits => "no period that the kernel's count of timer interrupts fits",
        })
    }
}

/// Finds the tick.
///
/// # Errors
/// Where no periodic train stands out, or none fits the kernel's count.
pub fn find(gaps: &Gaps<'_>) -> Result<Train, NotFound> {
    let seconds = gaps.span / 1e9;
    if gaps.start.len() < 10 || seconds <= 0.0 {
        return Err(NotFound::FewGaps);
    }
    let rate = gaps.interrupts.map(|count| count / seconds);
    let mut trains: Vec<Train> = candidates(gaps, seconds)
        .into_iter()
        .filter_map(|frequency| fit(gaps, frequency))
        .map(|train| {
            let confirmed = rate.is_some_and(|rate| (train.frequency / rate - 1.0).abs() < 0.1);
            Train { confirmed, ..train }
        })
        .collect();
    if trains.is_empty() {
        return Err(NotFound::NoPeriod);
    }
    match rate {
        Some(_) => trains.into_iter().find(|train| train.confirmed).ok_or(NotFound::NoneFits),
        None => Ok(trains.swap_remove(0)),
    }
}

/// Frequencies that stand out at their first multiples too, strongest first; a multiple of a frequency
/// that is about as strong is that one's overtone and left out.
fn candidates(gaps: &Gaps<'_>, seconds: f64) -> Vec<f64> {
    let mut longest: Vec<(f64, f64)> = gaps.length.iter().copied().zip(gaps.start.iter().copied()).collect();
    longest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let times: Vec<f64> = longest.iter().take(MOST).map(|(_, start)| start / 1e9).collect();
    let step = 0.125 / seconds;
    let power = rayleigh(&times, step, HIGHEST * MULTIPLES as f64);
    let around = |line: usize| (line.saturating_sub(1)..=line + 1).filter_map(|i| power.get(i)).copied();
    let strength = |line: usize| {
        (1..=MULTIPLES).map(|m| around(line * m).fold(0.0, f64::max)).fold(f64::INFINITY, f64::min)
    };
    let (first, last) = ((LOWEST / step) as usize, (HIGHEST / step) as usize);
    let all: Vec<f64> = (0..=last).map(|line| if line < first { 0.0 } else { strength(line) }).collect();
    // Five times what points at random give.
    let floor = (5.0 / (times.len() as f64).sqrt()).min(0.5);
    let neighbours = |line: usize| all[line.saturating_sub(8)..=(line + 8).min(last)].iter().copied();
    let peak = |line: &usize| all[*line] > floor && neighbours(*line).all(|other| other <= all[*line]);
    let mut peaks: Vec<usize> = (first..=last).filter(peak).collect();
    peaks.sort_by(|a, b| all[*b].total_cmp(&all[*a]));
    let overtone = |line: usize| {
        peaks.iter().any(|base| {
            let multiple = (line as f64 / *base as f64).round();
            multiple >= 2.0
                && (line as f64 - multiple * *base as f64).abs() <= multiple * 4.0
                && all[*base] > 0.6 * all[line]
        })
    };
    let heard = peaks.iter().filter(|line| !overtone(**line)).take(8);
    heard.map(|line| *line as f64 * step).collect()
}

/// Gives each gap the slot that it falls into, and fits a line through slot and time, again without
/// what lies far off.
fn fit(gaps: &Gaps<'_>, frequency: f64) -> Option<Train> {
    let mut period = 1e9 / frequency;
    let mut phase = phase(gaps.start, period);
    let mut tolerance = period / 10.0;
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken = slots(gaps.start, period, phase, tolerance);
        let (slope, intercept) = line(&taken)?;
        (period, phase) = (slope, intercept);
        let off = taken.iter().map(|(slot, at, _)| (at - phase - period * slot).abs());
        // Six median deviations: four standard deviations of a normal error.
        let median = Sorted::new(off).quantile(0.5)?;
        tolerance = (6.0 * median).clamp(1_000.0, period / 10.0);
    }
    // The line is fitted without what was late; a late tick is a tick all the same.
    let all = slots(gaps.start, period, phase, period / 10.0);
    let lengths = Sorted::new(all.iter().map(|(_, _, gap)| gaps.length[*gap]));
    let expected = gaps.span / period;
    if taken.len() < 10 || (all.len() as f64) < 0.1 * expected {
        return None;
    }
    let [low, middle, high] = [0.1, 0.5, 0.9].map(|q| lengths.quantile(q));
    let high = high?;
    // Long gaps in which a tick came along are not its own cost: the 90th percentile caps them.
    let mean = lengths.as_slice().iter().map(|l| l.min(high)).sum::<f64>() / all.len() as f64;
    Some(Train {
        frequency: 1e9 / period,
        filled: (all.len() as f64 / expected).min(1.0),
        length: [low?, middle?, high],
        share: mean / period,
        confirmed: false,
    })
}

/// The mean direction of the gaps on the circle of the period, as a time.
fn phase(start: &[f64], period: f64) -> f64 {
    let turn = |t: &f64| (std::f64::consts::TAU * (t / period).fract()).sin_cos();
    let (y, x) = start.iter().map(turn).fold((0.0, 0.0), |sum, (s, c)| (sum.0 + s, sum.1 + c));
    y.atan2(x) / std::f64::consts::TAU * period
}

/// The nearest gap of each slot within `tolerance`: slot, time, index of the gap.
fn slots(start: &[f64], period: f64, phase: f64, tolerance: f64) -> Vec<(f64, f64, usize)> {
    let mut found: Vec<(f64, f64, usize)> = Vec::new();
    for (gap, at) in start.iter().enumerate() {
        let slot = ((at - phase) / period).round();
        let off = (at - phase - slot * period).abs();
        if off > tolerance {
            continue;
        }
        match found.last_mut() {
            Some(last) if last.0 == slot => {
                if off < (last.1 - phase - slot * period).abs() {
                    *last = (slot, *at, gap);
                }
            }
            _ => found.push((slot, *at, gap)),
        }
    }
    found
}

/// Least squares: slope and intercept.
fn line(points: &[(f64, f64, usize)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (x0, y0) = (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let across: f64 = points.iter().map(|p| (p.0 - x0) * (p.1 - y0)).sum();
    let along: f64 = points.iter().map(|p| (p.0 - x0).powi(2)).sum();
    (along > 0.0).then(|| (across / along, y0 - across / along * x0))
}

#[cfg(test)]
#[path = "tick_tests.rs"]
mod tests;
