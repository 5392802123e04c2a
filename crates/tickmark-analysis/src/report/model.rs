//! The report of a recording.

use super::detail::{self, Detail};
use super::findings::{self, Finding};
use super::header::{self, Header};
use super::row::Row;
use super::{kinds, rows};
use crate::sample::Sample;
use std::collections::BTreeSet;
use std::thread::{Builder, ScopedJoinHandle};
use tickmark_store::Recording;
use tickmark_wire::{Group, Metric};

/// Everything that a renderer shows.
pub struct Model {
    /// The machine, the kernel, the settings.
    pub header: Header,
    /// The rows, by group.
    pub groups: Vec<(Group, Vec<Row>)>,
    /// Metrics in detail, where they were picked.
    pub details: Vec<Detail>,
    /// Notable findings.
    pub findings: Vec<Finding>,
    /// Recorded facts of the machine.
    pub environment: Vec<FactLine>,
}

/// A fact of the environment.
pub struct FactLine {
    /// Its name.
    pub name: String,
    /// True if it was read at the end of a session.
    pub at_end: bool,
    /// Value, where it is known.
    pub value: Option<String>,
    /// Why it is not known.
    pub missing: Option<String>,
    /// Where it was read.
    pub source: String,
}

/// Pieces of the work for each CPU: they differ in length.
const PIECES: usize = 4;

/// The samples of some metrics, read on all CPUs: that takes most of the time. Where there can be no thread, one after the other.
fn samples<'a>(recording: &'a Recording, chosen: &[&'a Metric]) -> Vec<Sample<'a>> {
    let of = |part: &[&'a Metric]| -> Vec<Sample<'a>> {
        part.iter().map(|metric| Sample::from_recording(recording, metric)).collect()
    };
    let pieces = PIECES * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let begin = |part| (part, Builder::new().spawn_scoped(scope, move || of(part)).ok());
        let begun: Vec<_> = chosen.chunks(chosen.len().div_ceil(pieces).max(1)).map(begin).collect();
        let end = |(part, thread): (_, Option<ScopedJoinHandle<'_, _>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => of(part),
        };
        begun.into_iter().flat_map(end).collect()
    })
}

/// The rows of the metrics that are picked, in the order of a summary, and nothing else.
#[must_use]
pub fn rows_of(recording: &Recording, metrics: &dyn Fn(&Metric) -> bool) -> Vec<(Group, Vec<Row>)> {
    let chosen: Vec<&Metric> = recording.meta.plan.metrics.iter().filter(|m| metrics(m)).collect();
    let samples = samples(recording, &chosen);
    grouped(recording, &samples, &header::build_header(recording, &samples))
}

fn grouped(recording: &Recording, samples: &[Sample<'_>], header: &Header) -> Vec<(Group, Vec<Row>)> {
    let period = header.hz_measured.or(header.hz_configured).map(|hz| 1e9 / hz);
    let mut groups: Vec<(Group, Vec<Row>)> = Vec::new();
    // Chapters of later versions come after those that are known.
    let new: BTreeSet<Group> = samples
        .iter()
        .map(|sample| sample.metric.group)
        .filter(|group| !Group::ALL.contains(group))
        .collect();
    for group in Group::ALL.into_iter().chain(new) {
        let own = samples.iter().filter(|s| s.metric.group == group);
        let mut rows: Vec<Row> =
            own.flat_map(|sample| kinds::rows_of_sample(sample, recording, period)).collect();
        rows::note_paths(&mut rows);
        if let Some(instruction) = crate::instruction(recording) {
            rows::count_instructions(&mut rows, instruction);
        }
        if !rows.is_empty() {
            groups.push((group, rows));
        }
    }
    groups
}

/// Builds the model; `metrics` picks some, which are then shown in detail.
#[must_use]
pub fn build(recording: &Recording, metrics: &dyn Fn(&Metric) -> bool, in_detail: bool) -> Model {
    let chosen: Vec<&Metric> = recording.meta.plan.metrics.iter().filter(|m| metrics(m)).collect();
    let samples = samples(recording, &chosen);
    let header = header::build_header(recording, &samples);
    let groups = grouped(recording, &samples, &header);
    let findings = findings::find_all(recording, &header, &groups, &samples);
    let details =
        if in_detail { samples.iter().filter_map(detail::detail_of_sample).collect() } else { Vec::new() };
    let mut environment = Vec::new();
    let ends = recording.ends.iter().map(|end| (true, end));
    for (at_end, facts) in recording.environment().map(|facts| (false, facts)).into_iter().chain(ends) {
        environment.extend(facts.iter().map(|(name, fact)| FactLine {
            name: name.to_owned(),
            at_end,
            value: fact.value.clone(),
            missing: fact.missing.clone(),
            source: fact.source.clone(),
        }));
    }
    Model { header, groups, details, findings, environment }
}
