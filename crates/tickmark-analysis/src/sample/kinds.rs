//! Each kind of observations, and the figure that comes of it.

use super::parts::{TLB_MISS, accounts, area, farthest, in_unit, of_batches, of_curve};
use super::{Detail, Figures, New, NoFigure, SeparateModes, Spread, conditions, configured_hz};
use tickmark_stats::{Sorted, curve, median, offset, tick};
use tickmark_store::{Recording, Run};
use tickmark_wire::text::printable;
use tickmark_wire::{
    Batches, Exchange, GapTrace, Headline, Histogram, Loads, Metric, Nanos, Observations, Observed, Part,
    Point, Tally, Unit, Values, Windows,
};

/// Observations of a metric in one run.
pub(super) struct RunObservation<'a> {
    recording: &'a Recording,
    metric: &'a Metric,
    run: &'a Run,
    observed: Vec<Observed>,
    /// The share of the run that other tasks had.
    taken: f64,
    contended: bool,
}

impl<'a> RunObservation<'a> {
    /// Reads what was observed.
    ///
    /// # Errors
    /// It is damaged, incomplete, or in words that this version does not know.
    pub(super) fn from_run(
        recording: &'a Recording,
        metric: &'a Metric,
        run: &'a Run,
    ) -> Result<Self, NoFigure> {
        let lines: Option<Vec<Observed>> = recording.observed(run, &metric.name).into_iter().collect();
        let observed = lines.ok_or(NoFigure::Damaged)?;
        let missing = |part: &&Part| !observed.iter().any(|summary| summary.part == **part);
        if let Some(part) = metric.parts.iter().find(missing).filter(|_| !observed.is_empty()) {
            return Err(NoFigure::PartMissing { part: part.word() });
        }
        if let Some(part) = observed.iter().find(|summary| summary.part.sign().is_none()) {
            return Err(NoFigure::NewWord { what: New::Part, word: part.part.word().to_owned() });
        }
        if let Some(kind) = observed.iter().find_map(|summary| match &summary.observations {
            Observations::Unknown(kind) => Some(kind),
            _ => None,
        }) {
            return Err(NoFigure::NewWord { what: New::Observations, word: kind.clone() });
        }
        if !observed.iter().all(|summary| can_be_part(summary, &observed)) {
            return Err(NoFigure::PartsDiffer);
        }
        if let Headline::Other(word) = metric.headline {
            return Err(NoFigure::NewWord { what: New::Headline, word: word.as_str().to_owned() });
        }
        let (taken, contended) = conditions::share_of_others(recording, metric, &observed);
        Ok(Self { recording, metric, run, observed, taken, contended })
    }

    /// The figures of the run.
    ///
    /// # Errors
    /// Why the observations hold none.
    pub(super) fn figures(&self) -> Result<Figures, NoFigure> {
        let whole = self.observed.iter().find(|part| part.part == Part::Whole);
        match &whole.ok_or(NoFigure::NothingObserved)?.observations {
            Observations::Batches(batches) => self.batches(batches),
            whole @ Observations::Curve(points) => self.curve(points, area(whole)),
            Observations::Values(values) => self.values(values),
            Observations::Latencies(latencies) => self.latencies(latencies),
            Observations::Histogram(histogram) => self.histogram(histogram),
            Observations::Windows(windows) => self.windows(windows),
            Observations::Loads(loads) => self.loads(loads),
            Observations::Tally(tally) => self.tally(tally),
            // One that was too late, and no trace in which a tick is looked for.
            Observations::Gaps(_)
                if self.metric.unit == Unit::Time && self.metric.headline == Headline::Median =>
            {
                self.all_gaps()
            }
            Observations::Gaps(trace) => self.gaps(trace),
            Observations::Exchanges(exchanges) => self.exchanges(exchanges),
            Observations::Unknown(kind) => {
                Err(NoFigure::NewWord { what: New::Observations, word: kind.clone() })
            }
        }
    }

    /// A figure without what only some kinds have.
    fn plain(&self, value: f64, detail: Detail) -> Figures {
        let outcome = self.run.outcome.as_ref();
        Figures {
            round: self.run.planned.round,
            value,
            mean: None,
            cpu: None,
            disturbed: None,
            apart: SeparateModes::default(),
            batch: None,
            over: 0,
            few: false,
            taken: self.taken,
            contended: self.contended,
            changed: outcome.map_or_else(Vec::new, |outcome| outcome.changed.clone()),
            steal: conditions::steal(&self.observed),
            step: None,
            detail,
        }
    }

    fn batches(&self, b: &Batches) -> Result<Figures, NoFigure> {
        let parts = of_batches(&self.observed).ok_or(NoFigure::NoBatch)?;
        // The agent refuses a part that is too fast; a difference only exists here.
        let least = self.metric.physical_floor.as_nanos_f64();
        if parts.floor < least {
            return Err(NoFigure::BelowLimit { value: parts.floor, limit: least });
        }
        let figure = |cost| in_unit(cost, self.metric.unit, b.bytes);
        Ok(Figures {
            mean: Some(figure(parts.mean)),
            cpu: parts.cpu.filter(|_| self.metric.unit == Unit::Time),
            disturbed: Some(parts.disturbed),
            apart: parts.apart,
            batch: median(b.elapsed.iter().map(|e| e.as_f64())),
            over: b.over,
            few: parts.few,
            ..self.plain(figure(parts.floor), Detail::None)
        })
    }

    /// CPU time of the communicating tasks, the median of the windows: what every window has.
    fn loads(&self, loads: &Loads) -> Result<Figures, NoFigure> {
        let each = loads.communicating.iter().zip(&loads.wall).filter(|(_, wall)| wall.get() > 0);
        let value = median(each.map(|(used, wall)| used.as_f64() / wall.as_f64()));
        Ok(self.plain(value.ok_or(NoFigure::NoValue)?, Detail::None))
    }

    fn curve(&self, points: &[Point], area: u64) -> Result<Figures, NoFigure> {
        if let (Headline::First, Some(Observations::Latencies(trips))) =
            (self.metric.headline, points.first().map(|point| &point.observations))
        {
            return self.latencies(trips);
        }
        // Of a row of timers, each with its errors: all of them, early or late.
        let errors = points.iter().filter_map(|point| match &point.observations {
            Observations::Latencies(late) => Some(late.iter().map(|late| Nanos::new(late.get().abs()))),
            _ => None,
        });
        let errors: Vec<Nanos> = errors.flatten().collect();
        if !errors.is_empty() {
            return self.latencies(&errors);
        }
        let headline = self.metric.headline;
        let less = self.observed.iter().find_map(|part| match &part.observations {
            Observations::Curve(points) if part.part == Part::Less => Some(points),
            _ => None,
        });
        let points = of_curve(points, less.map_or(&[], Vec::as_slice)).ok_or(NoFigure::NoPoint)?;
        let floors: Vec<(f64, f64)> = points.iter().map(|(at, floor, _)| (*at as f64, *floor)).collect();
        let value = match headline {
            Headline::Capacity => curve::capacity(&floors, TLB_MISS).ok_or(NoFigure::NoRise),
            Headline::Step => curve::step(&floors).ok_or(NoFigure::NoStep),
            Headline::Speedup => curve::speedup(&floors).ok_or(NoFigure::NoPoint),
            Headline::Farthest => farthest(&points, |(_, floor, _)| *floor).ok_or(NoFigure::NoPoint),
            _ => floors.last().map(|(_, floor)| *floor).ok_or(NoFigure::NoPoint),
        };
        let over = points.last().map_or(0, |(at, ..)| *at);
        let (apart, disturbed, few) = accounts(&self.observed);
        let mean = farthest(&points, |(_, _, mean)| *mean);
        let plain = self.plain(value?, Detail::Curve(points));
        let figures = Figures { apart, disturbed: Some(disturbed), few, ..plain };
        Ok(match headline {
            Headline::Farthest => Figures { mean, over, ..figures },
            Headline::Speedup => Figures { over: area, ..figures },
            _ => figures,
        })
    }

    fn values(&self, values: &Values) -> Result<Figures, NoFigure> {
        let value = match self.metric.headline {
            Headline::Mean => tickmark_stats::spread(&values.values).map(|spread| spread.mean),
            _ => median(values.values.iter().copied()),
        };
        let value = value.ok_or(NoFigure::NoValue)?;
        let (step, over) = (Some(values.step), values.over);
        Ok(Figures { mean: Some(value), step, over, ..self.plain(value, Detail::None) })
    }

    fn latencies(&self, latencies: &[Nanos]) -> Result<Figures, NoFigure> {
        let sorted = Sorted::new(latencies.iter().map(|l| l.as_f64()));
        let least = || sorted.as_slice().iter().copied().find(|step| *step > 0.0);
        let is_step = self.metric.headline == Headline::Minimum;
        let value = if is_step { least() } else { sorted.quantile(0.5) };
        Ok(self.plain(value.ok_or(NoFigure::NoClockStep)?, Detail::Latencies(sorted)))
    }

    fn histogram(&self, histogram: &Histogram) -> Result<Figures, NoFigure> {
        let spread = Spread::from_histogram(histogram).ok_or(NoFigure::Columns)?;
        Ok(self.plain(spread.quantile(0.5), Detail::Spread(spread)))
    }

    fn tally(&self, tally: &Tally) -> Result<Figures, NoFigure> {
        if tally.names.len() != tally.count.len() {
            return Err(NoFigure::Columns);
        }
        let each: Vec<(String, u64)> = tally
            .names
            .iter()
            .map(|name| printable(name, false).into_owned())
            .zip(tally.count.iter().copied())
            .collect();
        let sum = each.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        Ok(self.plain(sum as f64, Detail::Tally(each)))
    }

    fn windows(&self, windows: &Windows) -> Result<Figures, NoFigure> {
        let rates = rates(windows).ok_or(NoFigure::Columns)?;
        let value = match self.metric.headline {
            Headline::Mean => mean_rate(windows),
            _ => median(rates.iter().map(|(_, rate)| *rate)),
        };
        Ok(self.plain(value.ok_or(NoFigure::NoValue)?, Detail::Rates(rates)))
    }

    fn gaps(&self, trace: &GapTrace) -> Result<Figures, NoFigure> {
        let gaps = gaps_of(trace).ok_or(NoFigure::Columns)?;
        let train = tick::find(&gaps.view()).map_err(NoFigure::NoTick)?;
        refute(&train, self.recording)?;
        // What others had of a slot's neighbourhood may be in it: beside them its cost is not known.
        let cost = train.cost.filter(|_| !self.contended);
        Ok(self.plain(train.frequency, Detail::Tick(tick::Train { cost, ..train })))
    }

    /// The figures of all gaps together, whatever they were.
    ///
    /// # Errors
    /// It is no trace of gaps, or a damaged one.
    pub(super) fn all_gaps(&self) -> Result<Figures, NoFigure> {
        let trace = self.observed.iter().find_map(|summary| match &summary.observations {
            Observations::Gaps(trace) => Some(trace),
            _ => None,
        });
        let trace = trace.ok_or(NoFigure::NothingObserved)?;
        let lengths = gaps_of(trace).ok_or(NoFigure::Columns)?.length;
        // Turns of other tasks that began while the counters were read are gaps like others.
        let away = trace.counted.iter().flat_map(|counted| &counted.away).map(|away| away.as_f64());
        let lengths = Sorted::new(lengths.into_iter().chain(away.filter(|away| *away > 0.0)));
        if trace.span.get() <= 0 {
            return Err(NoFigure::Columns);
        }
        // A CPU that nothing interrupts has no gap, and loses nothing.
        let middle = lengths.quantile(0.5).unwrap_or(0.0);
        Ok(self.plain(middle, Detail::Gaps { lengths, span: trace.span.as_f64() }))
    }

    fn exchanges(&self, exchanges: &[Exchange]) -> Result<Figures, NoFigure> {
        let of = |e: &Exchange| Some((e.cpu, offset::offset(&column(&e.out), &column(&e.back))?));
        let offsets: Vec<_> = exchanges.iter().filter_map(of).collect();
        let worst = offsets.iter().map(|(_, o)| o.ahead.abs()).max_by(f64::total_cmp);
        Ok(self.plain(worst.ok_or(NoFigure::NoExchange)?, Detail::Offsets(offsets)))
    }
}

/// A trace in columns of numbers, ns.
pub(crate) struct GapColumns<'a> {
    trace: &'a GapTrace,
    pub(crate) start: Vec<f64>,
    pub(crate) length: Vec<f64>,
    unseen: Vec<(f64, f64)>,
    timers: Vec<(u32, bool)>,
}

/// The columns of a trace; none where they are not of one length.
pub(crate) fn gaps_of(trace: &GapTrace) -> Option<GapColumns<'_>> {
    let (start, length) = (column(&trace.start), column(&trace.length));
    let end = |gap: u32| Some(start.get(gap as usize)? + length.get(gap as usize)?);
    let (mut unseen, mut timers) = (Vec::new(), Vec::new());
    if let Some(counted) = &trace.counted {
        if counted.gap.len() != counted.took.len() || !counted.gap.is_sorted() {
            return None;
        }
        let apart = |(away, took): (&Nanos, &Nanos)| away.get() < 0 || away > took;
        if ![0, counted.gap.len()].contains(&counted.away.len())
            || counted.away.iter().zip(&counted.took).any(apart)
        {
            return None;
        }
        for (gap, took) in counted.gap.iter().zip(&counted.took) {
            unseen.push((end(*gap)?, end(*gap)? + took.as_f64()));
        }
        timers = counted.timers();
    }
    (start.len() == length.len()).then_some(GapColumns { trace, start, length, unseen, timers })
}

impl GapColumns<'_> {
    /// As the search for trains takes them.
    pub(crate) fn view(&self) -> tick::Gaps<'_> {
        tick::Gaps {
            span: self.trace.span.as_f64(),
            start: &self.start,
            length: &self.length,
            preempted: self.trace.preempted.as_deref().unwrap_or_default(),
            interrupts: self.trace.timer_interrupts.map(|count| count as f64),
            unseen: &self.unseen,
            timers: &self.timers,
        }
    }
}

/// True if a part can be taken off from, or added to, the first of them: batches from batches, a curve from a curve.
fn can_be_part(summary: &Observed, all: &[Observed]) -> bool {
    let same = |first: &Observed| {
        std::mem::discriminant(&first.observations) == std::mem::discriminant(&summary.observations)
    };
    let fits = match (&summary.observations, summary.part) {
        (Observations::Batches(_), _) | (_, Part::Whole) => true,
        (Observations::Curve(_), part) => part == Part::Less,
        _ => false,
    };
    fits && all.first().is_none_or(same)
}

fn column(values: &[Nanos]) -> Vec<f64> {
    values.iter().map(|value| value.as_f64()).collect()
}

/// Events a second in each window; none where a column is short or a window has no length.
fn rates(windows: &Windows) -> Option<Vec<(f64, f64)>> {
    let Windows { start, length, count } = windows;
    let sound = start.len() == count.len() && length.len() == count.len();
    let one = |((start, length), count): ((&Nanos, &Nanos), &u64)| {
        (length.get() > 0).then(|| (start.as_f64(), *count as f64 * 1e9 / length.as_f64()))
    };
    sound.then(|| start.iter().zip(length).zip(count).map(one).collect())?
}

/// Events a second over all windows together.
fn mean_rate(windows: &Windows) -> Option<f64> {
    let length: f64 = windows.length.iter().map(|length| length.as_f64()).sum();
    let count: f64 = windows.count.iter().map(|count| *count as f64).sum();
    (length > 0.0).then(|| count * 1e9 / length)
}

/// A tick that the kernel is not configured for is none.
pub(crate) fn refute(train: &tick::Train, recording: &Recording) -> Result<(), NoFigure> {
    let found = train.frequency;
    match configured_hz(recording) {
        Some(configured) if (found / configured - 1.0).abs() > 0.01 => {
            Err(NoFigure::OtherRate { found, configured })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_counts_in_the_mean_rate() {
        let ms = |all: &[i64]| all.iter().map(|ms| Nanos::new(ms * 1_000_000)).collect();
        // 200 a second; the CPU was away in most windows, and what was due meanwhile came in one.
        let windows = Windows {
            start: ms(&[0, 100, 400, 700, 1000]),
            length: ms(&[100, 300, 300, 300, 100]),
            count: vec![20, 30, 30, 30, 110],
        };
        assert_eq!(mean_rate(&windows), Some(200.0));
        let rates = rates(&windows).unwrap();
        assert_eq!(median(rates.iter().map(|(_, rate)| *rate)), Some(100.0));
        assert_eq!(mean_rate(&Windows { start: vec![], length: vec![], count: vec![] }), None);
    }
}
