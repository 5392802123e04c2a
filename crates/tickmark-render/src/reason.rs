//! Each enumerated reason as a sentence.

use crate::number::{bytes, count, percent, time, value};
use tickmark_analysis::comparison::Incomparable;
use tickmark_analysis::report::{Mark, NoFloor, Note, Row, RowStatus, Unit};
use tickmark_analysis::sample::{New, NoFigure, SeparateModes};
use tickmark_stats::tick::NotFound;
use tickmark_store::Elsewhere;

/// Words of a mark, which a reader needs before believing figures.
pub(crate) fn mark(mark: &Mark) -> String {
    match mark {
        Mark::Contended { share, runs, of } => {
            format!("contended: other tasks had up to {} of the CPU{}", percent(*share), in_runs(*runs, *of))
        }
        Mark::Failed { runs, of, why } => format!("{runs} of {of} runs failed: {why}"),
        Mark::WithoutFigure { runs, of, why } => {
            format!("{runs} of {of} runs gave no figure: {}", no_figure(why))
        }
        Mark::Changed { what, runs, of } => format!("{} during {runs} of {of} runs", what.join(", ")),
        Mark::Unconfirmed => "not confirmed by the kernel's count of timer interrupts".to_owned(),
        Mark::CostUnknown { known, of, contended } => {
            let why = match contended {
                true => "other tasks ran at the same time",
                false => "too few ticks came without other interruptions",
            };
            match known {
                0 => format!("unknown: {why}"),
                _ => format!("known in {known} of {of} runs: {why}"),
            }
        }
        Mark::NoFloor(why) => no_floor(*why).to_owned(),
        Mark::Median => "median instead of the floor: too few batches".to_owned(),
        Mark::Said(why) => why.clone(),
        Mark::Nothing(why) => no_figure(why),
        Mark::NotRun => "not run yet".to_owned(),
        Mark::InsideCache { size, cache, bytes: of } => {
            format!("{} of memory fit into the {cache} of {}", bytes(*size), bytes(*of))
        }
        Mark::Excluded(batches) => {
            format!("{} excluded from the mean", count(*batches as u32, "preempted batch"))
        }
    }
}

/// In how many of its runs; of one that is no news.
fn in_runs(runs: usize, of: usize) -> String {
    if of == 1 { String::new() } else { format!(" in {runs} of {of} runs") }
}

pub(crate) fn no_floor(why: NoFloor) -> &'static str {
    match why {
        NoFloor::LongerThanATick => "batches longer than a tick: no floor without ticks",
        NoFloor::AboveMean => "floor above the mean: a subtracted part varies more than the rest",
    }
}

/// Words of a note on a row.
fn note(note: &Note) -> String {
    match note {
        Note::Instructions(number) => {
            let digits = if *number < 100.0 { 2 } else { 0 };
            format!("{number:.digits$} instructions")
        }
        Note::Vdso(true) => "vDSO".to_owned(),
        Note::Vdso(false) => "through the kernel".to_owned(),
        Note::Percentiles { p99, max, count } => {
            format!("p99 {}, max {}, {count} samples", time(*p99), time(*max))
        }
        Note::Gaps { p99, max, count } => {
            format!("p99 {}, longest {}, {count} gaps", time(*p99), time(*max))
        }
        Note::Spread { p99, max, count, within } => {
            format!(
                "p99 {}, max {}, {count} values, each within {}",
                time(*p99),
                time(*max),
                percent(*within)
            )
        }
        Note::Windows { least, most, count } => {
            let rate = |rate: f64| value(rate, None, Unit::Hz);
            format!("{} to {}, {count} windows", rate(*least), rate(*most))
        }
        Note::StepsBackwards(steps) => format!("{steps} steps backwards"),
        Note::Between(low, high) => format!("{} to {} (p10 to p90)", time(*low), time(*high)),
        Note::Detected(share) => format!("detected in {} of periods (lowest run)", percent(*share)),
        Note::Within { nanos, cpus } => {
            format!("\u{b1} {}, against {}", time(*nanos), count(*cpus as u32, "other CPU"))
        }
        Note::States { states, unit } => {
            let shown = |number: f64| value(number, Some(number.abs() * 1e-3), *unit);
            let (low, high) = (states.low, states.high);
            format!(
                "two states: {} of {} runs near {}, {} near {}",
                low.count,
                low.count + high.count,
                shown(low.centre),
                high.count,
                shown(high.centre)
            )
        }
        Note::Excluded(apart) => excluded(*apart),
        Note::Over(size) => format!("over {}", bytes(*size as f64)),
        Note::From(size) => format!("from {}", bytes(*size)),
        Note::Level { reach, listed: None, .. } => {
            format!("up to {} measured, not listed in sysfs", bytes(*reach))
        }
        Note::Level { reach, listed: Some((name, size)), differs } => {
            let differs = if *differs { ": they differ" } else { "" };
            format!("up to {} measured, {name} {} in sysfs{differs}", bytes(*reach), bytes(*size))
        }
        Note::Levels { measured: summary, listed } => {
            format!("{summary} levels measured, {listed} listed in sysfs")
        }
    }
}

/// Batches that are not in the figures.
fn excluded(apart: SeparateModes) -> String {
    let counts = [
        (apart.retransmits, "SYN retransmit"),
        (apart.slices, "preempted batch"),
        (apart.reclaimed, "reclaimed page"),
    ];
    let counted = counts.iter().filter(|(number, _)| *number > 0);
    let texts = counted.map(|(number, what)| format!("{} excluded, counted", count(*number as u32, what)));
    texts.collect::<Vec<_>>().join("; ")
}

/// Caveats that many rows have: they are explained once, and are a sign in each row, or nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsualCaveats {
    pub(crate) preempted: bool,
    pub(crate) contended: bool,
    pub(crate) median: bool,
}

fn has_mark(row: &Row, is: impl Fn(&Mark) -> bool) -> bool {
    row.marks.iter().chain(&row.floor_marks).any(is)
}

/// True if a median stands in the place of the floor.
pub(crate) fn is_median(row: &Row) -> bool {
    has_mark(row, |mark| matches!(mark, Mark::Median))
}

/// True if other tasks had a part of the CPU.
pub(crate) fn is_contended(row: &Row) -> bool {
    has_mark(row, |mark| matches!(mark, Mark::Contended { .. }))
}

impl UsualCaveats {
    /// What a quarter of the rows have; of a few rows each has its own words.
    pub(crate) fn of(rows: &[&Row], is_many: bool) -> Self {
        let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
        let is_usual = |count: usize| count > 1 && count * 4 >= rows.len();
        let preempted = count(|row| row.apart.slices > 0);
        Self {
            // Which has no sign.
            preempted: is_usual(preempted) && preempted * 2 >= rows.len(),
            contended: is_many && is_usual(count(is_contended)),
            median: is_many && is_usual(count(is_median)),
        }
    }
}

/// Marks and notes of a row, in this order.
pub(crate) fn all(row: &Row, usual: UsualCaveats) -> Vec<String> {
    let mark = |one: &Mark| match one {
        Mark::Contended { .. } if usual.contended => String::new(),
        Mark::Median if usual.median => String::new(),
        one => mark(one),
    };
    let own = |one: &Note| match one {
        Note::Excluded(apart) if usual.preempted => excluded(SeparateModes { slices: 0, ..*apart }),
        one => note(one),
    };
    let marks = row.marks.iter().chain(&row.floor_marks).map(mark);
    marks.chain(row.notes.iter().map(own)).filter(|text| !text.is_empty()).collect()
}

/// Why there is no figure.
#[must_use]
pub fn no_figure(why: &NoFigure) -> String {
    match why {
        NoFigure::Damaged => "a line of its observations is damaged".to_owned(),
        NoFigure::NothingObserved => "no observation was recorded".to_owned(),
        NoFigure::NotTold => "neither the system nor the run says it".to_owned(),
        NoFigure::PartMissing { part } => format!("a part of it was not observed ({part})"),
        NoFigure::PartsDiffer => {
            "its parts are of kinds that cannot be subtracted from each other".to_owned()
        }
        NoFigure::NewWord { what, word } => {
            let what = match what {
                New::Observations => "observations of kind",
                New::Part => "a part called",
                New::Headline => "a figure of kind",
            };
            format!("{what} {word}, which this version does not know; a newer tickmark shows it")
        }
        NoFigure::NoBatch => "no batch was timed".to_owned(),
        NoFigure::BelowLimit { value, limit } => {
            format!("{value:.3} ns is below the physical limit of {limit} ns")
        }
        NoFigure::NoPoint => "the curve has no point".to_owned(),
        NoFigure::NoRise => "a load costs the same at every size".to_owned(),
        NoFigure::NoStep => "the latency is the same at every distance".to_owned(),
        NoFigure::NoValue => "no value was recorded".to_owned(),
        NoFigure::NoClockStep => "the clock did not advance".to_owned(),
        NoFigure::NoExchange => "no exchange with another CPU".to_owned(),
        NoFigure::Columns => "its columns have different lengths".to_owned(),
        NoFigure::NoTick(why) => no_tick(*why),
        NoFigure::OtherRate { found, configured } => format!(
            "periodic interruptions at {found:.3} Hz, but the kernel is configured for {configured} Hz: not its tick"
        ),
    }
}

fn no_tick(why: NotFound) -> String {
    match why {
        NotFound::Damaged => "its gaps do not follow one another: a damaged trace".to_owned(),
        NotFound::FewGaps => "too few interruptions: no tick on this CPU, or too short a run".to_owned(),
        NotFound::NoPeriod { counted: None } => "interruptions without a period".to_owned(),
        NotFound::NoPeriod { counted: Some(rate) } => {
            format!("no periodic interruption fits the {rate:.0} timer interrupts/s that the kernel counted")
        }
    }
}

/// How a metric without a figure ended, in a word or two.
pub(crate) const fn status(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Unsupported => "unsupported",
        RowStatus::Timeout => "timed out",
        RowStatus::Missing => "not run",
        RowStatus::Unknown => "unknown",
        RowStatus::Ok | RowStatus::Partly | RowStatus::Failed => "failed",
    }
}

/// Why a recording cannot be resumed here.
#[must_use]
pub fn elsewhere(why: &Elsewhere) -> String {
    match why {
        Elsewhere::Imported { tool } => format!("it was measured by {tool}; it cannot be resumed here"),
        Elsewhere::Setting { knob } => {
            format!("it is one setting of {knob} in an experiment; run the experiment again")
        }
        Elsewhere::Target { place } => format!(
            "it was measured elsewhere ({place}), and not by this program on this machine: measure there again"
        ),
    }
}

/// Why nothing can be compared.
#[must_use]
pub fn incomparable(why: &Incomparable) -> String {
    match why {
        Incomparable::Nothing => "nothing to compare".to_owned(),
        Incomparable::Twice(id) => {
            format!("recording {id} is on both sides: it would be compared with itself")
        }
        Incomparable::NothingInCommon => "the recordings have no metric with figures in common".to_owned(),
    }
}
