//! Expected power of an experiment, before it starts.

use std::collections::BTreeMap;
use tickmark_analysis::report::{Model, Row};
use tickmark_drive::knob::Knob;
use tickmark_stats::verdict::{LEVEL, Looks, POWER};
use tickmark_stats::{Interval, plan, spread};
use tickmark_wire::{Nanos, Settings, names};

/// Pairs of runs at one setting; both runs of a pair would be those of a block.
pub(crate) const PAIRS: u32 = 6;
/// How sure the range of the smallest effect is: what six pairs say of how far runs spread is rough.
const SURE: f64 = 0.8;

/// Nothing smaller is promised: one run in some dozens has a floor that is per cents away from the others', which a pilot of
/// this size rarely sees and an experiment may.
const LEAST: f64 = 0.01;

/// Detectable change of one figure.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    pub(crate) metric: String,
    /// `floor`, `mean` or `value`.
    pub(crate) figure: &'static str,
    /// The smallest change that is found, as a share of the mean: with the pilot's uncertainty in it.
    pub(crate) detectable: f64,
    /// Where it would lie if the pilot knew how far runs spread, with 80 %.
    pub(crate) range: Interval,
}

/// A row, the name of one of its figures, and that by round.
type ShownFigure<'a> = (&'a Row, &'static str, Vec<(u32, f64)>);

/// For each figure the smallest change that so many blocks find with 80 %, as one of all figures of the experiment (Bonferroni's
/// level, which the joint test of all figures does not fall below).
pub(crate) fn reach(model: &Model, blocks: u32, settings: usize) -> Vec<Reach> {
    let rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let figures: Vec<ShownFigure<'_>> =
        rows.flat_map(|row| row.figures().into_iter().map(move |(name, all)| (row, name, all))).collect();
    let claims = figures.len() * (settings - 1);
    // That of the first look.
    let level = LEVEL * Looks::FIRST.part() / claims.max(1) as f64;
    let mut factors: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let one = |(row, figure, all): &ShownFigure<'_>| {
        // The first round warms up; after it 2 and 3 are a pair, 4 and 5 ...
        let at = |round: u32| all.iter().find(|(known, _)| *known == round).map(|(_, value)| *value);
        let pairs: Vec<(f64, f64)> =
            (1..=PAIRS).filter_map(|pair| Some((at(2 * pair)?, at(2 * pair + 1)?))).collect();
        let mean = spread(&pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>())?.mean;
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
        let summary = spread(&differences)?.deviation;
        let pairs = differences.len();
        let (rough, known) = *factors.entry(pairs).or_insert_with(|| {
            let blocks = blocks as usize;
            (plan::promised(pairs, blocks, level, POWER), plan::detectable(blocks, level, POWER))
        });
        let part = |factor: f64| (summary / mean * factor).max(LEAST);
        let sure = plan::deviations(pairs, SURE);
        let range = Interval { low: part(known * sure.low), high: part(known * sure.high) };
        // Where nothing varied in the pilot nothing is promised.
        let reach = || Reach { metric: row.metric.clone(), figure, detectable: part(rough), range };
        (mean > 0.0 && summary > 0.0).then(reach)
    };
    figures.iter().filter_map(one).collect()
}

/// Prediction of a model of the knob, as lines.
pub(crate) fn expected(
    knob: &dyn Knob,
    name: &str,
    settings: &[String],
    of: &Settings,
    model: &Model,
) -> Vec<String> {
    let value = |metric: &str| {
        let row = model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == metric)?;
        row.value.map(|value| value.point)
    };
    let [base, others @ ..] = settings else { return Vec::new() };
    let mut lines = Vec::new();
    for other in others {
        let slack = |setting: &str| knob.settings(setting, of).slack.map_or(0, Nanos::get);
        match slack(other) - slack(base) {
            shift @ (..=-1 | 1..) => {
                let shift = shift as f64;
                if let Some(late) = value(names::SLEEP) {
                    let percent = shift / late * 100.0;
                    lines.push(format!(
                        "{} {percent:+.0} % from {base} to {other}: a sleep ends up to the slack later (prctl(2))",
                        names::SLEEP
                    ));
                }
            }
            _ if name == "clocksource" && !by_vdso(other) && by_vdso(base) => {
                let (read, call) = (names::clock_read("monotonic"), names::clock_syscall("monotonic"));
                if let (Some(cost), Some(call)) = (value(&read), value(&call)) {
                    let percent = (call / cost - 1.0) * 100.0;
                    lines.push(format!(
                        "{read} {percent:+.0} % or more from {base} to {other}: without the vDSO each read is a system call"
                    ));
                }
            }
            _ => {}
        }
    }
    lines
}

/// Clock sources that the vDSO reads without the kernel (arch/x86/include/asm/vdso/gettimeofday.h).
fn by_vdso(source: &str) -> bool {
    matches!(source, "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page")
}
