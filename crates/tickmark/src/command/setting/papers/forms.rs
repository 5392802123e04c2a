//! Tables and figures of ours in the form of a document.

use super::ministat;
use crate::command::answers::Answers;
use crate::command::lab::explained::ExplainedSettings;
use crate::error::Error;
use tickmark_analysis::paper::{ClaimUnit, MeasuredGroup, Paper};
use tickmark_analysis::{comms, dose, scenario};
use tickmark_drive::file::{self, ExperimentFile, Length};
use tickmark_drive::lab::Report;
use tickmark_render::explain::flames;
use tickmark_render::paper::{Form, FormPlace};
use tickmark_render::plot::{Axis, Drawing, Plot};
use tickmark_store::{Recording, Store};

/// The experiment, and its machine where there is one.
pub(super) fn title(group: &MeasuredGroup) -> String {
    if group.machine.is_empty() {
        group.experiment.clone()
    } else {
        format!("{}, {}", group.experiment, group.machine)
    }
}

/// What each experiment reports, then the comparison of all of its figures.
pub(super) fn forms(store: &Store, paper: &Paper, groups: &[MeasuredGroup]) -> Result<Vec<Form>, Error> {
    let mut all = Vec::new();
    for group in groups {
        let reports = reports(&group.experiment)?;
        let is_shown =
            paper.shown.is_empty() || group.machine.is_empty() || paper.shown.contains(&group.machine);
        let place = if is_shown { FormPlace::Shown } else { FormPlace::Page };
        let explained = ExplainedSettings::from_store(store, &group.recordings)?;
        let text = report_text(group, &reports, &explained)?;
        if reports.contains(&Report::Messages) {
            all.extend(messages(group));
        }
        if !text.trim().is_empty() {
            let place = if reports.contains(&Report::Messages) { FormPlace::Details } else { place };
            all.push(Form { title: title(group), text, drawings: Vec::new(), place });
        }
        if reports.contains(&Report::Scenarios) {
            all.extend(scenario_statistics(group, place));
            all.extend(scenario_plots(group, place));
        }
        all.extend(explained.iter().map(|of| by_function(group, of)));
        if let Some(model) = &group.model {
            let text = tickmark_render::comparison::text(model);
            let title = format!("{}: all figures compared", title(group));
            all.push(Form { title, text, drawings: Vec::new(), place: FormPlace::Details });
        }
    }
    Ok(all)
}

/// What an operation executes: by kernel function, as a flame graph for each setting.
fn by_function(group: &MeasuredGroup, of: &ExplainedSettings) -> Form {
    let explained = of.explained();
    let metric = explained.first().map_or("", |(_, explanation)| explanation.metric.as_str());
    Form {
        title: format!("{}: {metric} by kernel function", title(group)),
        text: of.text(),
        drawings: flames(&explained).into_iter().map(Drawing::Flame).collect(),
        place: FormPlace::Page,
    }
}

fn reports(experiment: &str) -> Result<Vec<Report>, Error> {
    Ok(match file::shipped(experiment, Length::Whole)? {
        ExperimentFile::Booted(from) => from.report,
        ExperimentFile::Here(from) => from.report,
        ExperimentFile::Launched(from) => vec![from.report],
    })
}

fn report_text(
    group: &MeasuredGroup,
    reports: &[Report],
    explained: &[ExplainedSettings],
) -> Result<String, Error> {
    let Some(model) = &group.model else {
        let one = |report: &Report| group.recordings.first().map(|recording| alone(recording, *report));
        return Ok(reports.iter().filter_map(one).collect());
    };
    let Answers { answer, prediction, tables } =
        Answers::from_settings(reports, &group.recordings, model, explained)?;
    let pages =
        if reports.contains(&Report::Ministat) { ministat::pages(model, group) } else { String::new() };
    let parts = [answer, pages, tables, prediction];
    Ok(parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n"))
}

/// Tables and figures of messages as the document has them; every size of every benchmark stands behind.
fn messages(group: &MeasuredGroup) -> Option<Form> {
    let all = comms::summarize_comms(group.recordings.first().filter(|_| group.model.is_none())?);
    Some(Form {
        title: format!("{}: its tables and figures", title(group)),
        text: tickmark_render::comms::document_tables(&all),
        drawings: tickmark_render::comms::document_figures(&all).into_iter().map(Drawing::Plot).collect(),
        place: FormPlace::Shown,
    })
}

/// A recording that has no settings.
pub(in crate::command) fn alone(recording: &Recording, report: Report) -> String {
    match report {
        Report::Messages => tickmark_render::comms::text(&comms::summarize_comms(recording)),
        Report::Scenarios => tickmark_render::scenario::text(&scenario::read_scenarios(recording)),
        Report::Doses => match dose::summarize_dose(recording) {
            Some(Ok(dosed)) => tickmark_render::dose::text(&dosed),
            Some(Err(why)) => format!("not measured: {why}"),
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// The document's unit: cycles of 450 MHz.
fn in_cycles(mut plot: Plot, setting: &str) -> Drawing {
    if !setting.is_empty() {
        plot.title = format!("{setting}; {}", plot.title);
    }
    plot.y = Axis::log("error in cycles of 450 MHz", |cycles| format!("{cycles:.0}"));
    let points = plot.series.iter_mut().flat_map(|series| &mut series.points);
    points.for_each(|(_, error)| *error = (*error * ClaimUnit::Cycles.scale()).max(1.0));
    Drawing::Plot(plot)
}

/// Errors of each row with the fields of the module's /proc file: a table for each setting, in the document's unit.
fn scenario_statistics(group: &MeasuredGroup, place: FormPlace) -> Option<Form> {
    let table = |(setting, recording): (&String, &Recording)| {
        let cycles = 1e3 * ClaimUnit::Cycles.scale();
        let table = tickmark_render::scenario::statistics(&scenario::read_scenarios(recording), cycles);
        if setting.is_empty() || table.is_empty() { table } else { format!("{setting}\n{table}\n") }
    };
    let text: String = group.settings.iter().zip(&group.recordings).map(table).collect();
    // A program's rows stand in no file of the module.
    let what = if group.machine.is_empty() { "errors" } else { "fields of /proc/tickmark_timer" };
    let title = format!("{}: {what}, of each row, in cycles of 450 MHz", title(group));
    (!text.is_empty()).then_some(Form { title, text, drawings: Vec::new(), place })
}

/// Error against the number of the timer, a line for each strategy, a plot for each row: of the first setting, and of the others on the page.
fn scenario_plots(group: &MeasuredGroup, place: FormPlace) -> Vec<Form> {
    let drawings = |settings: std::ops::Range<usize>| -> Vec<Drawing> {
        let own = group.settings[settings.clone()].iter().zip(&group.recordings[settings]);
        let titled = own.flat_map(|(setting, recording)| {
            let plots = tickmark_render::scenario::plots(&scenario::read_scenarios(recording));
            plots.into_iter().map(move |plot| in_cycles(plot, setting))
        });
        titled.collect()
    };
    let form = |what: &str, drawings, place| {
        let title = format!("{}: {what}", title(group));
        Form { title, text: String::new(), drawings, place }
    };
    let first = form("error of each timer", drawings(0..1), place);
    let others = (group.settings.len() > 1).then(|| {
        form("error of each timer, other settings", drawings(1..group.settings.len()), FormPlace::Page)
    });
    std::iter::once(first).chain(others).collect()
}
