//! A recording: header, rows, findings.

use super::{Page, ends};
use crate::report::text::fact;
use crate::{finding, json_object, reason};
use std::collections::BTreeMap;
use tickmark_analysis::report::{Detail, Finding, Header, Mark, Model, Row, RowStatus, Unit};
use tickmark_wire::Better;

json_object! {
    /// A recording: which, its figures, what stands out, what was known of the machine.
    pub struct Report(model: &Model) {
        /// Which recording, where and how it was measured.
        recording: Header = model.header.clone(),
        /// A figure each.
        rows: Vec<RowPage> = model
            .groups
            .iter()
            .flat_map(|(group, rows)| rows.iter().map(move |row| RowPage::new(group.suite(), row)))
            .collect(),
        /// Metrics that were asked for by name: each run, percentiles, histogram.
        details: Vec<Detail> = model.details.clone(),
        /// What stands out.
        findings: Vec<FindingPage> = model.findings.iter().map(FindingPage::new).collect(),
        /// Facts of the machine by name.
        environment: BTreeMap<String, FactPage> = model
            .environment
            .iter()
            .map(fact)
            .map(|(name, value, source)| (name, FactPage::new(value, source)))
            .collect(),
    }

    struct FactPage(value: String, source: &str) {
        value: String = value,
        /// The file, system call or instruction that said it.
        source: String = source.to_owned(),
    }

    struct FindingPage(found: &Finding) {
        #[serde(flatten)]
        finding: Finding = found.clone(),
        /// For a person.
        text: String = finding::text(found),
        /// What an operation lacks, or how it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<MarkPage> = match found {
            Finding::Unsupported { why, .. } | Finding::Failed { why, .. } => why.as_ref().map(MarkPage::new),
            _ => None,
        },
        /// Where runs that are missing can be made.
        #[serde(skip_serializing_if = "Option::is_none")]
        elsewhere: Option<String> = match found {
            Finding::Incomplete { elsewhere, .. } => elsewhere.as_ref().map(reason::elsewhere),
            _ => None,
        },
    }

    struct RowPage(group: &str, row: &Row) {
        metric: String = row.metric.clone(),
        title: String = row.title.trim().to_owned(),
        /// The suite.
        group: String = group.to_owned(),
        unit: Unit = row.unit,
        better: Better = row.better,
        status: RowStatus = row.status,
        /// The figure, in its unit.
        value: Option<f64> = row.value.map(|value| value.point),
        /// Holds the median of such runs, with the confidence beside.
        interval: Option<[f64; 2]> = row.value.map(|value| ends(value.interval)),
        confidence: Option<f64> = row.value.map(|value| value.confidence),
        /// Standard deviation of the runs by the figure; none of two states.
        cv: Option<f64> = row.cv(),
        /// Mean cost of an operation, where the figure is a floor.
        mean: Option<f64> = row.mean,
        /// CPU time of an operation, ns.
        cpu: Option<f64> = row.cpu,
        runs: usize = row.runs,
        /// Share of the batches that something interrupted.
        disturbed_share: Option<f64> = row.disturbed,
        /// The largest share of the CPU that other tasks had in a run; none where fewer than half of the runs were contended.
        contended_share: Option<f64> = row.contended,
        contended_runs: usize = row.contended_runs,
        excluded: Excluded = Excluded::new(row),
        marks: Vec<MarkPage> = row.marks.iter().chain(&row.floor_marks).map(MarkPage::new).collect(),
        /// What to know of it, for a person.
        notes: Vec<String> = reason::all(row, reason::UsualCaveats::default()),
        /// Instructions of an operation, in a guest that counts them.
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<f64> = row.instructions,
        #[serde(skip_serializing_if = "Option::is_none")]
        frequency_hz: Option<f64> = row.frequency,
    }

    /// What was left out of a figure, by count.
    struct Excluded(row: &Row) {
        syn_retransmits: u64 = row.apart.retransmits as u64,
        preempted_batches: u64 = row.apart.slices as u64,
        reclaimed_pages: u64 = row.apart.reclaimed as u64,
    }

    /// A reservation about a figure.
    pub(super) struct MarkPage(of: &Mark) {
        /// Its kind.
        mark: &'static str = of.code(),
        /// For a person.
        text: String = reason::mark(of),
    }
}

impl Page for Report {
    const NAME: &'static str = "report";
}
