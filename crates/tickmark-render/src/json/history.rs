//! Figures over time.

use super::Page;
use crate::json_object;
use jiff::Timestamp;
use tickmark_analysis::comparison::Difference;
use tickmark_analysis::history::{Level, Point, Series, Split};
use tickmark_analysis::report::Unit;
use tickmark_stats::change::{Kind, Step};
use tickmark_wire::Better;

json_object! {
    /// Figures over time, and where they changed.
    pub struct HistoryPage(all: &[Series]) {
        series: Vec<SeriesPage> = all.iter().map(SeriesPage::new).collect(),
    }

    struct SeriesPage(series: &Series) {
        /// The machine as one line, or the suite or file that the series is from.
        machine: String = series.machine.clone(),
        /// The command, where one was measured.
        command: Option<String> = series.command.clone(),
        metric: String = series.metric.clone(),
        figure: &'static str = series.figure,
        unit: Unit = series.unit,
        better: Better = series.better,
        runs: usize = series.length.0,
        budget_ns: tickmark_wire::Nanos = series.length.1,
        /// The recordings, oldest first.
        points: Vec<PointPage> = series.points.iter().map(PointPage::new).collect(),
        /// Where what it was measured with became another: levels do not go on across these.
        splits: Vec<SplitPage> = series.splits.iter().map(|split| SplitPage::new(series, split)).collect(),
        /// Facts that change too often to split it.
        passing: Vec<&'static str> = series.passing.clone(),
        /// `day` or `week`, where such a cycle was taken out before levels were looked for.
        cycle: Option<&'static str> = series.cycle,
        /// False where there are too few to find a change.
        enough: bool = series.enough(),
        /// How much a recording resembles the one before: a correlation.
        resemblance: f64 = series.resemblance,
        /// True if they resemble each other so much that no change could be told from a wave.
        unknowable: bool = series.unknowable,
        /// Recordings far from their level.
        outliers: Vec<PointPage> = series.outliers.iter().filter_map(|at| PointPage::at(series, *at)).collect(),
        changes: Vec<LevelPage> = series.levels.iter().map(|own| LevelPage::new(series, own)).collect(),
    }

    struct PointPage(point: &Point) {
        /// None of a result file.
        id: Option<String> = point.id.as_ref().map(ToString::to_string),
        name: String = point.name.clone(),
        /// None where nobody knows.
        created: Option<Timestamp> = point.created,
        commit: Option<String> = point.commit.clone(),
        value: f64 = point.value,
        /// How many runs gave it.
        runs: usize = point.runs,
    }

    struct SplitPage(series: &Series, split: &Split) {
        /// The first recording after it.
        from: Option<PointPage> = PointPage::at(series, split.at),
        facts: Vec<FactChange> = split.facts.iter().map(FactChange::new).collect(),
        /// None where there are too few recordings to tell.
        step: Option<StepPage> = split.step.as_ref().map(StepPage::new),
    }

    struct StepPage(step: &Step) {
        before: f64 = step.before,
        after: f64 = step.after,
        /// Limits of the difference (95 %).
        size: [f64; 2] = [step.size.0, step.size.1],
    }

    struct LevelPage(series: &Series, level: &Level) {
        /// `level`, `drift` (a slope), `spread`, or `share` (of the higher of two states).
        what: &'static str = match level.change.kind {
            Kind::Level => "level",
            Kind::Drift { .. } => "drift",
            Kind::Spread => "spread",
            Kind::Share { .. } => "share",
        },
        /// The first recording of the new level, or of the slope.
        from: Option<PointPage> = PointPage::at(series, level.change.at),
        /// The first recording of the new level.
        until: Option<PointPage> = PointPage::at(series, level.change.end()),
        /// The first and the last one with which it may have begun instead (95 %).
        between: [Option<PointPage>; 2] = [PointPage::at(series, level.change.between.0), PointPage::at(series, level.change.between.1)],
        /// Of a share it is the share.
        before: f64 = level.change.before,
        after: f64 = level.change.after,
        /// The middles of both states, of a share.
        states: Option<[f64; 2]> = match level.change.kind {
            Kind::Share { low, high } => Some([low, high]),
            _ => None,
        },
        /// None from 0.
        ratio: Option<f64> = super::finite(level.change.after / level.change.before),
        /// Limits of the difference of both levels (95 %).
        size: [f64; 2] = [level.change.size.0, level.change.size.1],
        /// The chance that a series of this length without a change shows one as clear.
        p: f64 = level.change.p,
        /// Facts that changed with it.
        environment: Vec<FactChange> = level.differences.iter().map(FactChange::new).collect(),
    }

    struct FactChange(of: &Difference) {
        fact: String = of.name.clone(),
        before: String = of.base.clone(),
        after: String = of.other.clone(),
    }
}

impl PointPage {
    fn at(series: &Series, at: usize) -> Option<Self> {
        series.points.get(at).map(Self::new)
    }
}

impl Page for HistoryPage {
    const NAME: &'static str = "history";
}
