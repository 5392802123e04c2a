//! The tick among the gaps that a spinning loop saw: a train of interruptions at one frequency.

use crate::quantile::Sorted;
use crate::spectrum::rayleigh;

/// Frequencies that are searched, in Hz.
const LOWEST: f64 = 20.0;
const HIGHEST: f64 = 2_500.0;
/// A train has power at its frequency and at these multiples of it.
const MULTIPLES: usize = 3;
/// Ticks begin within this of each other, in ns, but for the late ones.
const WINDOW: f64 = 20_000.0;
/// Gaps that enter the periodogram at most: the longest, which a tick's are among.
const MOST: usize = 4_000;
/// Interrupts of other timers that a short run may hold without hiding the tick.
const OTHERS: f64 = 8.0;
/// Interrupts that the ends of a run may cut off.
const ENDS: f64 = 3.0;
/// The stretch that enters the periodogram at most, in s; the line is fitted through all of it.
const STRETCH: f64 = 5.0;

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
    /// Whether the kernel's count of timer interrupts agrees: other timers in it may make it somewhat higher.
    pub confirmed: bool,
}

/// Why no tick was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// Too few gaps: no tick (nohz_full), or not enough time.
    FewGaps,
    /// Gaps without a period.
    NoPeriod,
    /// Periods, but only faster ones than the kernel counted timer interrupts.
    NoneFits,
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FewGaps => "too few interruptions: no tick on this CPU, or too short a run",
            Self::NoPeriod => "interruptions without a period",
            Self::NoneFits => "only periods shorter than the kernel's count of timer interrupts allows",
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
    // A count lower than any tick is that of a timer which this machine does not use.
    let rate = gaps.interrupts.map(|count| count / seconds).filter(|rate| *rate > LOWEST);
    let periodogram = Periodogram::of(gaps, seconds);
    // Other timers raise the count: the tick lies a tenth below it at most, or, in a short run, below it by the few
    // others that it may hold. Ticks that fell together while the CPU was away, and the ends of the run, lower it.
    let low = |rate: f64| (rate - f64::max(0.1 * rate, OTHERS / seconds)).max(LOWEST);
    let high = |rate: f64| 1.1 * rate + ENDS / seconds;
    let near = |frequency: f64| rate.is_some_and(|rate| low(rate) < frequency && frequency < high(rate));
    let counted = rate.map(|rate| periodogram.peaks(low(rate), high(rate))).unwrap_or_default();
    let fitted = |frequencies: Vec<f64>| {
        let trains = frequencies.into_iter().filter_map(|f| fit(gaps, f, periodogram.step));
        trains.map(|train| Train { confirmed: near(train.frequency), ..train })
    };
    // A train of another makes fewer of the slots: the one that fills most is the tick.
    let confirmed = fitted(counted).filter(|train| train.confirmed);
    if let Some(train) = confirmed.max_by(|a, b| a.filled.total_cmp(&b.filled)) {
        return Ok(train);
    }
    // The count holds every other timer as well: it bounds the tick from above, and does not name it.
    let mut missing = NotFound::NoPeriod;
    for train in fitted(periodogram.fundamentals()) {
        if rate.is_none_or(|rate| train.frequency < high(rate)) {
            return Ok(train);
        }
        missing = NotFound::NoneFits;
    }
    Err(missing)
}

/// How strongly each frequency and its first multiples stand out among the gaps.
struct Periodogram {
    /// Hz from one line to the next: an eighth of what the time resolves.
    step: f64,
    /// The weakest of a line and its multiples: high for a train that stands alone.
    weakest: Vec<f64>,
    /// The mean of them: high also where another train hides one of them, as one at half a period's distance does.
    mean: Vec<f64>,
    /// Four times what points at random give.
    floor: f64,
}

impl Periodogram {
    fn of(gaps: &Gaps<'_>, seconds: f64) -> Self {
        let seconds = seconds.min(STRETCH);
        let early = gaps.start.iter().take_while(|start| **start < seconds * 1e9);
        let mut longest: Vec<(f64, f64)> = gaps.length.iter().copied().zip(early.copied()).collect();
        longest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let times: Vec<f64> = longest.iter().take(MOST).map(|(_, start)| start / 1e9).collect();
        let step = 0.125 / seconds;
        let power = rayleigh(&times, step, HIGHEST * MULTIPLES as f64);
        let around = |line: usize| (line.saturating_sub(1)..=line + 1).filter_map(|i| power.get(i)).copied();
        let multiples = |line: usize| (1..=MULTIPLES).map(move |m| around(line * m).fold(0.0, f64::max));
        let (first, last) = ((LOWEST / step) as usize, (HIGHEST / step) as usize);
        let column = |of: &dyn Fn(usize) -> f64| {
            (0..=last).map(|line| if line < first { 0.0 } else { of(line) }).collect()
        };
        Self {
            step,
            weakest: column(&|line| multiples(line).fold(f64::INFINITY, f64::min)),
            mean: column(&|line| multiples(line).sum::<f64>() / MULTIPLES as f64),
            floor: (4.0 / (times.len() as f64).sqrt()).min(0.5),
        }
    }

    /// Frequencies between two, in Hz, that stand out from their neighbours; strongest first, eight at most.
    fn peaks(&self, low: f64, high: f64) -> Vec<f64> {
        let lines = self.lines(&self.mean, low, high, 0.0);
        lines.into_iter().take(8).map(|line| line as f64 * self.step).collect()
    }

    fn lines(&self, all: &[f64], low: f64, high: f64, floor: f64) -> Vec<usize> {
        let last = all.len() - 1;
        let (from, to) = ((low / self.step) as usize, ((high / self.step) as usize).min(last));
        let around = |line: usize| all[line.saturating_sub(8)..=(line + 8).min(last)].iter().copied();
        let peak = |line: &usize| all[*line] > floor && around(*line).all(|other| other <= all[*line]);
        let mut lines: Vec<usize> = (from..=to).filter(peak).collect();
        lines.sort_by(|a, b| all[*b].total_cmp(&all[*a]));
        lines
    }

    /// Peaks anywhere that are not the multiple of one about as strong: overtones are left out.
    fn fundamentals(&self) -> Vec<f64> {
        let lines = self.lines(&self.weakest, LOWEST, HIGHEST, self.floor);
        let overtone = |line: usize| {
            lines.iter().any(|base| {
                let multiple = (line as f64 / *base as f64).round();
                multiple >= 2.0
                    && (line as f64 - multiple * *base as f64).abs() <= multiple + 1.0
                    && self.weakest[*base] > 0.7 * self.weakest[line]
            })
        };
        let heard = lines.iter().filter(|line| !overtone(**line)).take(8);
        heard.map(|line| *line as f64 * self.step).collect()
    }
}

/// Gives each gap the slot that it falls into, and fits a line through slot and time, again without
/// what lies far off.
fn fit(gaps: &Gaps<'_>, frequency: f64, step: f64) -> Option<Train> {
    let mut reach = gaps.span.min(STRETCH * 1e9);
    let (mut period, mut phase) = comb(gaps, frequency, step, reach)?;
    let mut taken;
    loop {
        let mut tolerance = WINDOW;
        let near = gaps.start.partition_point(|start| *start < reach);
        taken = Vec::new();
        for _ in 0..6 {
            taken = slots(&gaps.start[..near], period, phase, tolerance);
            (period, phase) = line(&taken)?;
            let off = taken.iter().map(|(slot, at, _)| (at - phase - period * slot).abs());
            // Six median deviations: four standard deviations of a normal error.
            tolerance = (6.0 * Sorted::new(off).quantile(0.5)?).clamp(WINDOW / 10.0, WINDOW);
        }
        if reach >= gaps.span {
            break;
        }
        // A line through a stretch is good for one twice as long.
        reach *= 2.0;
    }
    // The line is fitted without what was late; a late tick is a tick all the same.
    let all = slots(gaps.start, period, phase, period / 20.0);
    let lengths = Sorted::new(all.iter().map(|(_, _, gap)| gaps.length[*gap]));
    let expected = gaps.span / period;
    // By chance a window of 20 us catches one gap in a hundred: a fifth of the slots is no chance.
    if taken.len() < 10 || (taken.len() as f64) < 0.2 * expected || is_overtone(&all) {
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

/// Whether nearly all filled slots are the same one of every 2 to 12: the train is a slower one.
fn is_overtone(taken: &[(f64, f64, usize)]) -> bool {
    (2..=12).any(|every| {
        let mut classes = vec![0usize; every];
        for (slot, _, _) in taken {
            classes[slot.rem_euclid(every as f64) as usize] += 1;
        }
        classes.iter().any(|count| *count as f64 > 0.85 * taken.len() as f64)
    })
}

/// Among the frequencies within one line of the periodogram, the one whose comb catches most gaps in a
/// narrow window, and where that window lies: period and phase in ns. Looks at gaps up to `reach` ns.
fn comb(gaps: &Gaps<'_>, frequency: f64, step: f64, reach: f64) -> Option<(f64, f64)> {
    // Fine enough that the last tooth moves by a quarter of the window.
    let fine = frequency * WINDOW / 4.0 / reach;
    let tries = (2.0 * step / fine).ceil() as usize + 1;
    let mut best: Option<(usize, f64, f64)> = None;
    for i in 0..tries {
        let period = 1e9 / (frequency - step + i as f64 * fine);
        let early = gaps.start.iter().take_while(|start| **start < reach);
        let mut phases: Vec<f64> = early.map(|t| t % period).collect();
        phases.sort_unstable_by(f64::total_cmp);
        // The circle is closed: what lies at its beginning also follows its end.
        let wrapped = phases.iter().take_while(|p| **p < WINDOW).map(|p| p + period).collect::<Vec<_>>();
        phases.extend(wrapped);
        let mut from = 0;
        for to in 0..phases.len() {
            while phases[to] - phases[from] > WINDOW {
                from += 1;
            }
            let count = to - from + 1;
            if best.is_none_or(|(most, _, _)| count > most) {
                best = Some((count, period, phases[from + count / 2]));
            }
        }
    }
    best.map(|(_, period, phase)| (period, phase))
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
    let (x0, y0) =
        (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let across: f64 = points.iter().map(|p| (p.0 - x0) * (p.1 - y0)).sum();
    let along: f64 = points.iter().map(|p| (p.0 - x0).powi(2)).sum();
    (along > 0.0).then(|| (across / along, y0 - across / along * x0))
}

#[cfg(test)]
#[path = "tick_tests.rs"]
mod tests;
