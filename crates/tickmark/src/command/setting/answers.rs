//! Answers from the recordings of a matrix or an experiment, beside the comparison of their figures.

use crate::command::document;
use crate::command::lab::explained::ExplainedSettings;
use crate::error::Error;
use std::path::Path;
use tickmark_analysis::comparison::{Line, Model};
use tickmark_drive::file;
use tickmark_drive::lab::Report;
use tickmark_store::Recording;

/// Texts, each empty where it was not asked for.
#[derive(Debug, Default)]
pub(in crate::command) struct Answers {
    /// The answer, which comes first.
    pub(in crate::command) answer: String,
    /// Prediction of another HZ from the cost of one tick.
    pub(in crate::command) prediction: String,
    /// Tables, with the document's figures beside.
    pub(in crate::command) tables: String,
}

impl Answers {
    /// Of the settings of one machine, the first of which the others are compared with.
    pub(in crate::command) fn from_settings(
        report: &[Report],
        recordings: &[Recording],
        model: &Model,
        explained: &[ExplainedSettings],
    ) -> Result<Self, Error> {
        let mut all = Self::default();
        let ticks: Vec<_> = recordings.iter().map(tickmark_analysis::hz::read_tick).collect();
        if report.contains(&Report::Prediction) {
            let of = |lines: &[Line]| lines.iter().filter_map(Line::exact_change_of_mean).collect();
            let changes: Vec<Vec<f64>> = model.against.iter().map(|against| of(&against.lines)).collect();
            all.answer += &tickmark_render::hz::answer(&ticks, &changes);
            all.prediction = tickmark_render::hz::prediction(&ticks);
        }
        if report.contains(&Report::Lmbench) || report.contains(&Report::Document) {
            let beside = report.contains(&Report::Document);
            let changed = model.against.iter().flat_map(|against| &against.lines);
            let changed = changed.filter(|line| line.changed() && line.figure != "floor");
            let real: Vec<&str> = changed.map(|line| line.metric.as_str()).collect();
            let (text, real) = document::tables(recordings, &real, beside, explained)?;
            all.answer += &real;
            all.tables = text;
        }
        if report.contains(&Report::Scenarios) {
            let of = |recording: &Recording| {
                (recording.meta.name.clone(), tickmark_analysis::scenario::read_scenarios(recording))
            };
            let settings: Vec<_> = recordings.iter().map(of).collect();
            all.answer += &tickmark_render::scenario::of_settings(&settings);
        }
        if report.contains(&Report::Messages) {
            for recording in recordings {
                let text =
                    tickmark_render::comms::text(&tickmark_analysis::comms::summarize_comms(recording));
                all.tables += &format!("{}\n{text}\n", recording.meta.name);
            }
        }
        if let (true, [short, long, ..]) = (report.contains(&Report::ClockReads), recordings) {
            let reads = tickmark_analysis::kernel_reads::count_kernel_reads(short, long);
            let none = || {
                "No table of clock reads: clock.monotonic.read was not measured, or took no longer.\n"
                    .to_owned()
            };
            all.answer += &reads.map_or_else(none, |reads| tickmark_render::kernel_reads::text(&reads));
        }
        Ok(all)
    }
}

/// Of recordings that an experiment made which comes with tickmark: what that answers, and what it is to show. None of others.
pub(in crate::command) fn shipped(recordings: &[Recording]) -> Option<(String, Vec<Report>)> {
    let arm = recordings.first()?.meta.arm.as_ref()?;
    let known = |name: &str| file::SHIPPED.iter().any(|(known, _)| *known == name);
    // A matrix names the machine behind it; a knob is called as its file.
    let name = arm.knob.split(',').next().map(str::trim).filter(|name| known(name));
    let by_recording = || {
        let of = |recording: &Recording| recording.meta.name.split(':').next().unwrap_or_default().to_owned();
        Some(of(recordings.first()?)).filter(|name| known(name))
    };
    let name = name.map(str::to_owned).or_else(by_recording)?;
    let (answers, report) = match file::read(Path::new(&name)).ok()? {
        file::ExperimentFile::Booted(experiment) => (experiment.answers, experiment.report),
        file::ExperimentFile::Here(experiment) => (experiment.answers, experiment.report),
        file::ExperimentFile::Launched(experiment) => (experiment.answers, vec![experiment.report]),
    };
    Some((format!("{name}: {}", answers.unwrap_or_default()), report))
}
