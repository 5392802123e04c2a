//! What there is to say of a recording.

use super::detail::{self, Detail};
use super::header::{self, Header};
use super::remarks::{self, Remark};
use super::row::Row;
use super::rows;
use crate::sample::Sample;
use tickmark_store::Recording;
use tickmark_wire::{Group, Metric};

/// Everything that a renderer shows.
pub(crate) struct Model {
    pub(crate) header: Header,
    pub(crate) groups: Vec<(Group, Vec<Row>)>,
    pub(crate) details: Vec<Detail>,
    pub(crate) remarks: Vec<Remark>,
    /// Name, value or reason, source.
    pub(crate) environment: Vec<(String, String, String)>,
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
        if let Some(instruction) = crate::lab::instruction(recording) {
            rows::count_instructions(&mut rows, instruction);
        }
        if !rows.is_empty() {
            groups.push((group, rows));
        }
    }
    let remarks = remarks::of(recording, &header, &groups, &samples);
    let details = if in_detail { samples.iter().filter_map(detail::of).collect() } else { Vec::new() };
    let mut environment = Vec::new();
    let ends = recording.ends.iter().map(|end| (" at the end", end));
    for (when, facts) in recording.environment().map(|facts| ("", facts)).into_iter().chain(ends) {
        for (name, fact) in facts.iter() {
            let missing = || format!("unknown: {}", fact.missing.as_deref().unwrap_or("not recorded"));
            let value = fact.value.clone().unwrap_or_else(missing);
            environment.push((format!("{name}{when}"), value, fact.source.clone()));
        }
    }
    Model { header, groups, details, remarks, environment }
}
