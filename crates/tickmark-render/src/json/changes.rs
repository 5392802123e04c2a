//! Levels of the recordings of a machine.

use super::Page;
use crate::json_object;
use jiff::Timestamp;
use tickmark_analysis::changes::{Level, Series};
use tickmark_analysis::comparison::Difference;
use tickmark_analysis::report::Unit;
use tickmark_stats::change::Kind;
use tickmark_wire::Better;

json_object! {
    /// Figures over recordings, and where they changed.
    pub struct Changes(all: &[Series]) {
        series: Vec<SeriesPage> = all.iter().map(SeriesPage::new).collect(),
    }

    struct SeriesPage(series: &Series) {
        host: Option<String> = series.host.clone(),
        /// The command, where one was measured.
        command: Option<String> = series.command.clone(),
        metric: String = series.metric.clone(),
        figure: &'static str = series.figure,
        unit: Unit = series.unit,
        better: Better = series.better,
        runs: usize = series.length.0,
        budget_ns: tickmark_wire::Nanos = series.length.1,
        values: Vec<f64> = series.points.iter().map(|point| point.value).collect(),
        first: Option<PointPage> = PointPage::at(series, 0),
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

    struct PointPage(id: String, name: String, created: Timestamp) {
        id: String = id,
        name: String = name,
        created: Timestamp = created,
    }

    struct LevelPage(series: &Series, level: &Level) {
        /// `level` or `spread`.
        what: &'static str = match level.change.kind {
            Kind::Level => "level",
            Kind::Spread => "spread",
        },
        /// The first recording of the new level.
        from: Option<PointPage> = PointPage::at(series, level.change.at),
        /// The first and the last one with which it may have begun instead (95 %).
        between: [Option<PointPage>; 2] = [PointPage::at(series, level.change.between.0), PointPage::at(series, level.change.between.1)],
        before: f64 = level.change.before,
        after: f64 = level.change.after,
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
        series.points.get(at).map(|point| Self::new(point.id.to_string(), point.name.clone(), point.created))
    }
}

impl Page for Changes {
    const NAME: &'static str = "changes";
}
