//! Cost of a slower clock for a server: how the cost of a transaction rises with the doses, and what follows for other clock sources.

use crate::sample::{Sample, tallied};
use tickmark_stats::dose::{self, Slope};
use tickmark_stats::two::Difference;
use tickmark_stats::{Interval, spread};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::{Arguments, Name, Observations, names};

/// Of intervals.
pub const CONFIDENCE: f64 = 0.95;
/// ns by which reads of other clock sources are slower, as they are known: the ACPI timer's claim of timecounter-cost.txt, and ten times that.
pub const KNOWN: [(&str, f64); 2] = [("60 ns longer (an ACPI timer)", 60.0), ("600 ns longer", 600.0)];

/// A server under doses. Times in ns.
#[derive(Debug)]
pub struct Dosed {
    /// The server.
    pub server: String,
    /// Arguments of the probe.
    pub arguments: Arguments,
    /// True if the clock source of the whole machine was made longer: counts are of all of its reads.
    pub in_kernel: bool,
    /// True if the cost is a number of the user's, and not CPU time.
    pub is_number: bool,
    /// How many blocks, each with every dose once.
    pub blocks: usize,
    /// Delay added to each read in the arm without a dose, ns: the cost of the way that the other arms take, too.
    pub none: f64,
    /// Mean cost of a transaction without a dose, over blocks.
    pub cost: f64,
    /// Standard deviation of `cost` between slices.
    pub deviation: f64,
    /// Transactions a second without a dose.
    pub rate: f64,
    /// Clock reads that were counted for each transaction without a dose.
    pub reads: f64,
    /// Cost of a clock read here: through the vDSO, and as a system call.
    pub read: [f64; 2],
    /// Cost of a switch to another thread here; none in earlier recordings.
    pub switch: Option<f64>,
    /// Where a dose is a number of operations on timestamps that each read has more, and no time: their kind, and what one took.
    pub operation: Option<(String, f64)>,
    /// And by other clock sources of the machine, where that was measured.
    pub sources: Vec<(String, f64)>,
    /// Each dose but none, ascending; the system call last.
    pub rows: Vec<Row>,
    /// By how much a transaction takes longer with each ns that a read does: reads that are waited for.
    pub slope: Option<Slope>,
    /// By how much it takes longer with each ns that all of its counted reads did together: 1 where each of them is waited for, also where a server reads less
    /// often when it is slower.
    pub each: Option<Slope>,
    /// True if both are divided by what a ns of a longer read is charged with, by reads that were timed by the thread's own clock.
    pub is_calibrated: bool,
    /// By how much a transaction has more switches of the server with each ns that a read takes longer, of the kind that changes most; none of earlier recordings.
    pub switches: Option<Slope>,
    /// Every slice: by how much a read took longer, in ns, and what a transaction cost.
    pub slices: Vec<(f64, f64)>,
    /// Failures by kind.
    pub faults: Vec<(String, u64)>,
    /// Clock reads of the server that are neither counted nor delayed, in words.
    pub blind: Vec<String>,
}

/// A dose against none.
#[derive(Debug)]
pub struct Row {
    /// Requested dose, in ns or a number of operations; none for the system call.
    pub nominal: Option<f64>,
    /// Delay that was measured of a read, ns: the mean over blocks.
    pub delivered: f64,
    /// Reads for each transaction then.
    pub reads: f64,
    /// By how much a transaction cost more, over blocks.
    pub more: f64,
    /// Where that lies; none of too few blocks.
    pub interval: Option<Interval>,
    /// Slope that the counted reads predict.
    pub predicted: f64,
}

/// Standard uncertainties of what a ns of a longer read is charged with, as shares: on the client's CPU, and elsewhere. By planted servers, of which 12 blocks
/// have smaller errors (docs/methodology/dose.md).
const CHARGED: [f64; 2] = [0.0025, 0.01];
/// Where reads are not timed by the thread's own clock, what a ns of them is charged with is known to this share.
const MARGIN: f64 = 0.1;
/// An interval that reaches further from it tells nothing.
const WIDE: f64 = 0.5;

/// Whether the counted reads are what a slower clock costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A ns of a counted read is one of a transaction: the interval holds one.
    Agree,
    /// It may be, and may be none as well.
    Undecided,
    /// More: reads that are not seen cost too, or others wait for a reader.
    More,
    /// Less: some of it hides where the server would wait anyway, or saves something else.
    Less,
    /// How often the server slept or was preempted changed with the dose: what that costs is in the slope, which is then no number of reads.
    Scheduling,
}

impl Dosed {
    /// Agreement of slope and count.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let (interval, wanted) = match self.each {
            Some(each) if self.reads > 0.0 => (each.interval(CONFIDENCE), 1.0),
            _ => (self.slope?.interval(CONFIDENCE), 0.0),
        };
        let margin = if self.is_calibrated { 0.0 } else { MARGIN * wanted };
        Some(match () {
            () if self.scheduling().is_some() => Verdict::Scheduling,
            () if interval.low > wanted + margin => Verdict::More,
            () if interval.high < wanted - margin => Verdict::Less,
            () if wanted > 0.0 && (interval.low < wanted - WIDE || interval.high > wanted + WIDE) => {
                Verdict::Undecided
            }
            () => Verdict::Agree,
        })
    }

    /// By how many ns for each ns of a read switches of the server may be in the slope, where these changed with the dose by more than the slope's own interval leaves
    /// open.
    #[must_use]
    pub fn scheduling(&self) -> Option<f64> {
        let (slope, switches, cost) = (self.slope?, self.switches?, self.switch?);
        let interval = switches.interval(CONFIDENCE);
        let half = |slope: &Slope| (slope.interval(CONFIDENCE).high - slope.interval(CONFIDENCE).low) / 2.0;
        let is_there = interval.low > 0.0 || interval.high < 0.0;
        let in_it = switches.point.abs() * cost;
        (is_there && in_it > half(&slope)).then_some(in_it)
    }

    /// The share of its transactions a second that a server without an idle CPU loses where each read takes so many ns longer: by the slope's interval. None where that would
    /// leave a transaction no cost.
    #[must_use]
    pub fn lost(&self, longer: f64) -> Option<Interval> {
        let interval = self.slope?.interval(CONFIDENCE);
        Some(Interval { low: self.share(interval.low * longer)?, high: self.share(interval.high * longer)? })
    }

    /// The same by the counted reads; none where those are of the whole machine, and not the server's.
    #[must_use]
    pub fn lost_by_count(&self, longer: f64) -> Option<f64> {
        (!self.in_kernel).then(|| self.share(self.reads * longer)).flatten()
    }

    /// The dose at which such a server loses this share, on lines between the doses that were measured, with the ends by their intervals. None where no dose costs as much.
    #[must_use]
    pub fn dose_to_lose(&self, share: f64) -> Option<(f64, Interval)> {
        let more = self.undelayed_cost() * share / (1.0 - share);
        let reached = |cost: &dyn Fn(&Row) -> f64| {
            dose_at(more, self.rows.iter().map(|row| Some((row.nominal?, cost(row)))))
        };
        let end = |row: &Row, of: fn(Interval) -> f64| row.interval.map_or(row.more, of);
        let low = reached(&|row| end(row, |interval| interval.high))?;
        let high = reached(&|row| end(row, |interval| interval.low))?;
        Some((reached(&|row| row.more)?, Interval { low, high }))
    }

    /// Growth of a transaction's cost, as a share of the cost.
    fn share(&self, more: f64) -> Option<f64> {
        let then = self.undelayed_cost() + more;
        (then > 0.0).then(|| more / then)
    }

    /// A transaction's cost without that of the delaying mechanism, but with the counting.
    fn undelayed_cost(&self) -> f64 {
        let reads = if self.in_kernel { self.slope.map_or(0.0, |slope| slope.point) } else { self.reads };
        self.cost - reads * self.none
    }
}

/// Where lines from no dose over these doses, each with its cost, reach a cost.
fn dose_at(cost: f64, rows: impl Iterator<Item = Option<(f64, f64)>>) -> Option<f64> {
    let mut before = (0.0, 0.0);
    for (dose, reached) in rows.flatten() {
        if reached >= cost {
            return Some(before.0 + (dose - before.0) * (cost - before.1) / (reached - before.1));
        }
        before = (dose, reached);
    }
    None
}

/// One slice: asked, delivered, reads, cost, rate; CPU time of timed reads and their number, switches asked for and forced, where these are recorded.
type Slice = [f64; 9];

/// The dose experiment of a recording; none where it has none, and a reason where there is no figure.
#[must_use]
pub fn summarize_dose(recording: &Recording) -> Option<Result<Dosed, String>> {
    let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == names::DOSE)?;
    let runs = recording.runs.iter().filter(|run| run.planned.gives(&metric.name));
    let done: Vec<&Run> = runs.filter(|run| matches!(run.status, Status::Ok)).collect();
    let why = || {
        let failures = Sample::from_recording(recording, metric).failures;
        failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned()
    };
    Some(dosed(recording, &done).ok_or_else(why))
}

fn column(recording: &Recording, run: &Run, name: &str) -> Option<Vec<f64>> {
    let observed = recording.observed(run, &Name::new(name)).into_iter().flatten().next()?;
    match observed.observations {
        Observations::Values(values) => Some(values.values),
        _ => None,
    }
}

/// Of other clock sources than the one in use.
fn sources(recording: &Recording, argument: &str) -> Vec<(String, f64)> {
    let own = recording.environment().and_then(|facts| facts.get("clock.source"));
    let one = |text: &str| {
        let (name, cost) = text.split_once('=')?;
        Some((name.to_owned(), cost.parse().ok().filter(|cost: &f64| cost.is_finite())?))
    };
    argument.split(',').filter_map(one).filter(|(name, _)| Some(name.as_str()) != own).collect()
}

fn slices(recording: &Recording, run: &Run) -> Option<Vec<Slice>> {
    let all = [names::DOSE_ASKED, names::DOSE_DELIVERED, names::DOSE_READS, names::DOSE, names::DOSE_RATE];
    let columns = all.iter().map(|name| column(recording, run, name)).collect::<Option<Vec<_>>>()?;
    let count = columns.iter().map(Vec::len).min()?;
    // Earlier versions have no more.
    let more = [names::DOSE_CPU, names::DOSE_TIMED, names::DOSE_SLEEPS, names::DOSE_FORCED];
    let more = more.map(|name| column(recording, run, name).unwrap_or_default());
    let one = |at: usize, number: usize| match number.checked_sub(columns.len()) {
        None => columns[number][at],
        Some(number) => more[number].get(at).copied().unwrap_or(0.0),
    };
    Some((0..count).map(|at| std::array::from_fn(|number| one(at, number))).collect())
}

fn dosed(recording: &Recording, runs: &[&Run]) -> Option<Dosed> {
    let first = *runs.first()?;
    let arguments = first.planned.arguments.clone();
    let mut blocks: Vec<Vec<Slice>> = Vec::new();
    for run in runs {
        let all = slices(recording, run)?;
        let mut doses: Vec<f64> = all.iter().map(|slice| slice[0]).collect();
        doses.sort_unstable_by(f64::total_cmp);
        doses.dedup();
        blocks.extend(all.chunks_exact(doses.len().max(1)).map(<[Slice]>::to_vec));
    }
    let read = column(recording, first, names::DOSE_COST)?;
    let of = |nominal_dose: f64, column: usize| -> Vec<f64> {
        let in_block =
            |block: &Vec<Slice>| Some(block.iter().find(|slice| slice[0] == nominal_dose)?[column]);
        blocks.iter().filter_map(in_block).collect()
    };
    let mean = |values: &[f64]| spread(values).map(|spread| spread.mean);
    let plain = of(0.0, 3);
    let usual = spread(&plain)?;
    let reads = mean(&of(0.0, 2))?;
    let none = mean(&of(0.0, 1))?;
    let mut doses: Vec<f64> =
        blocks.first()?.iter().map(|slice| slice[0]).filter(|dose| *dose != 0.0).collect();
    // The system call is last.
    doses.sort_by(|a, b| (*a < 0.0, a).partial_cmp(&(*b < 0.0, b)).unwrap_or(std::cmp::Ordering::Equal));
    let row = |nominal_dose: &f64| {
        let (dosed, delivered, own) =
            (of(*nominal_dose, 3), mean(&of(*nominal_dose, 1))?, mean(&of(*nominal_dose, 2))?);
        Some(Row {
            nominal: Some(*nominal_dose).filter(|nominal_dose| *nominal_dose >= 0.0),
            delivered,
            reads: own,
            more: mean(&dosed)? - usual.mean,
            interval: Difference::paired(&plain, &dosed).map(|all| all.interval(CONFIDENCE)),
            predicted: own * delivered - reads * none,
        })
    };
    let rows = doses.iter().map(row).collect::<Option<Vec<_>>>()?;
    // As they were carried out beside everything else; where no clock was read, alone.
    let largest = rows.iter().rev().find(|row: &&Row| row.delivered > none);
    let in_place = largest.and_then(|row| Some((row.delivered - none) / row.nominal?));
    let each = in_place.or_else(|| read.get(2).copied());
    let operation = arguments.get("op").filter(|op| *op != "none").cloned().zip(each);
    let unit = operation.as_ref().map_or(1.0, |(_, each)| *each);
    let longer = |slice: &Slice| if slice[2] > 0.0 { slice[1] } else { unit * slice[0] };
    let line = |point: &dyn Fn(&Slice) -> (f64, f64)| {
        let of_block = |block: &Vec<Slice>| block.iter().filter(|slice| slice[0] >= 0.0).map(point).collect();
        dose::slope(&blocks.iter().map(of_block).collect::<Vec<_>>())
    };
    // A number of the user's is no CPU time.
    let is_number = arguments.get("number").is_some_and(|number| !number.is_empty());
    let timed = |dose: &dyn Fn(&Slice) -> f64| {
        let one = |slice: &Slice| dose::Slice {
            nominal: slice[0],
            dose: dose(slice),
            cost: slice[3],
            longer: slice[1],
            reads: slice[2] * slice[4],
            cpu: slice[5],
            timed: if is_number { 0.0 } else { slice[6] },
        };
        let of_block = |block: &Vec<Slice>| block.iter().filter(|slice| slice[0] >= 0.0).map(one).collect();
        blocks.iter().map(of_block).collect::<Vec<Vec<dose::Slice>>>()
    };
    let is_calibrated = dose::is_calibrated(&timed(&longer));
    let elsewhere = arguments.get("place").is_none_or(|place| place != "same");
    let charged = if is_calibrated { CHARGED[usize::from(elsewhere)] } else { 0.0 };
    let calibrated = |dose: &dyn Fn(&Slice) -> f64| {
        let slope = dose::calibrated(&timed(dose))?;
        Some(Slope { error: slope.error.hypot(charged * slope.point), ..slope })
    };
    let kinds = [7, 8].map(|kind| line(&|slice| (longer(slice), slice[kind])));
    let switches = kinds.into_iter().flatten().max_by(|a, b| a.point.abs().total_cmp(&b.point.abs()));
    let tally = |name: &str| {
        let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
        tallied(&metric.map_or_else(Vec::new, |metric| Sample::from_recording(recording, metric).runs))
    };
    Some(Dosed {
        server: crate::bill::shown(arguments.get("words")?),
        in_kernel: arguments.get("by").is_some_and(|by| by == "kernel"),
        is_number,
        sources: sources(recording, arguments.get("sources").map_or("", String::as_str)),
        arguments,
        blocks: blocks.len(),
        none,
        cost: usual.mean,
        deviation: usual.deviation,
        rate: mean(&of(0.0, 4))?,
        reads,
        read: [*read.first()?, *read.get(1)?],
        switch: read.get(3).copied(),
        rows,
        // Where no clock was read nothing was delivered: what was asked stands for it.
        slope: calibrated(&longer).or_else(|| line(&|slice| (longer(slice), slice[3]))),
        each: calibrated(&|slice| slice[1] * slice[2])
            .or_else(|| line(&|slice| (slice[1] * slice[2], slice[3]))),
        is_calibrated,
        switches,
        operation,
        slices: blocks
            .iter()
            .flatten()
            .filter(|slice| slice[0] >= 0.0)
            .map(|slice| (longer(slice), slice[3]))
            .collect(),
        faults: tally(names::DOSE_FAULTS).into_iter().collect(),
        blind: tally(names::DOSE_BLIND).into_keys().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_reached_between_two_doses_or_not_at_all() {
        // 100 cost 800, 1000 cost 4400: a system call beside them has no dose.
        let rows = || [Some((100.0, 800.0)), None, Some((1000.0, 4400.0))].into_iter();
        assert_eq!(dose_at(400.0, rows()), Some(50.0));
        assert_eq!(dose_at(1800.0, rows()), Some(350.0));
        assert_eq!(dose_at(4401.0, rows()), None);
    }
}
