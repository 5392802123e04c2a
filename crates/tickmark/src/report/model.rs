//! What there is to say of a recording.

use super::detail::{self, Detail};
use super::header::{self, Header};
use super::remarks::{self, Remark};
use super::rows;
use crate::sample::Sample;
use crate::store::Recording;
use serde::Serialize;
use tickmark_stats::Estimate;
use tickmark_wire::{Better, Group, Metric};

/// Everything that a renderer shows.
pub(crate) struct Model {
    pub(crate) header: Header,
    pub(crate) groups: Vec<(Group, Vec<Row>)>,
    pub(crate) details: Vec<Detail>,
    pub(crate) remarks: Vec<Remark>,
    /// Name, value or reason, source.
    pub(crate) environment: Vec<(String, String, String)>,
}

/// How a metric ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowStatus {
    Ok,
    /// Some of its runs gave no figure.
    Partly,
    Unsupported,
    Failed,
    Timeout,
    /// No run of it was made.
    Missing,
}

/// One row: a metric, or one of the figures that a metric gives.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    pub(crate) status: RowStatus,
    pub(crate) value: Option<Estimate>,
    /// Standard deviation between runs, in the unit of the value.
    pub(crate) deviation: Option<f64>,
    pub(crate) mean: Option<f64>,
    /// Standard deviation of the mean cost between runs.
    pub(crate) mean_deviation: Option<f64>,
    pub(crate) cpu: Option<f64>,
    pub(crate) runs: usize,
    pub(crate) disturbed: Option<f64>,
    /// The largest share that other tasks had of a run, where half of the runs or more were contended.
    pub(crate) contended: Option<f64>,
    /// How many runs were.
    pub(crate) contended_runs: usize,
    pub(crate) frequency: Option<f64>,
    pub(crate) notes: Vec<String>,
}

/// The unit of a row's value, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
    Hz,
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "count")]
    Count,
}

impl From<tickmark_wire::Unit> for Unit {
    fn from(unit: tickmark_wire::Unit) -> Self {
        match unit {
            tickmark_wire::Unit::Time => Self::Nanoseconds,
            tickmark_wire::Unit::Frequency => Self::Hz,
            tickmark_wire::Unit::Share => Self::Share,
            tickmark_wire::Unit::Count => Self::Count,
        }
    }
}

impl Row {
    /// Spread between runs: standard deviation over the value.
    pub(crate) fn spread(&self) -> Option<f64> {
        let point = self.value?.point;
        (point != 0.0).then(|| self.deviation.map(|d| (d / point).abs())).flatten()
    }
}

/// Builds the model; `metrics` picks some, which are then shown in detail.
pub(crate) fn build(recording: &Recording, metrics: &dyn Fn(&Metric) -> bool, in_detail: bool) -> Model {
    let chosen: Vec<&Metric> = recording.meta.plan.metrics.iter().filter(|m| metrics(m)).collect();
    let samples: Vec<Sample<'_>> = chosen.iter().map(|metric| Sample::of(recording, metric)).collect();
    let header = header::of(recording, &samples);
    let period = header.hz_measured.or(header.hz_configured).map(|hz| 1e9 / hz);
    let mut groups: Vec<(Group, Vec<Row>)> = Vec::new();
    for group in Group::ALL {
        let own = samples.iter().filter(|s| s.metric.group == group);
        let mut rows: Vec<Row> = own.flat_map(|sample| rows::of(sample, recording, period)).collect();
        rows::note_paths(&mut rows);
        if !rows.is_empty() {
            groups.push((group, rows));
        }
    }
    let remarks = remarks::of(recording, &header, &groups, &samples);
    let details = if in_detail { samples.iter().filter_map(detail::of).collect() } else { Vec::new() };
    let mut environment = Vec::new();
    let ends = recording.ends.iter().map(|end| (" at the end", end));
    for (when, facts) in recording.sessions.iter().map(|hello| ("", &hello.environment)).take(1).chain(ends) {
        for (name, fact) in facts.iter() {
            let missing = || format!("unknown: {}", fact.missing.as_deref().unwrap_or("not recorded"));
            let value = fact.value.clone().unwrap_or_else(missing);
            environment.push((format!("{name}{when}"), value, fact.source.clone()));
        }
    }
    Model { header, groups, details, remarks, environment }
}
