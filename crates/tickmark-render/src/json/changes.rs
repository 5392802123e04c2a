//! Levels of the recordings of a machine.

use super::Page;
use crate::json_object;
use jiff::Timestamp;
use tickmark_analysis::changes::{Level, Series};
use tickmark_analysis::comparison::Difference;
use tickmark_analysis::report::Unit;
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
        changes: Vec<LevelPage> = series.levels.iter().map(|own| LevelPage::new(series, own)).collect(),
    }

    struct PointPage(id: String, name: String, created: Timestamp) {
        id: String = id,
        name: String = name,
        created: Timestamp = created,
    }

    struct LevelPage(series: &Series, level: &Level) {
        /// The first recording of the new level.
        from: Option<PointPage> = PointPage::at(series, level.change.at),
        before: f64 = level.change.before,
        after: f64 = level.change.after,
        /// None from 0.
        ratio: Option<f64> = super::finite(level.change.after / level.change.before),
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
