//! Experiments that turn nothing: probes of a file, launched side by side on this machine.

use crate::cli::{CompareFormat, Experiment};
use crate::command::arms;
use crate::command::papers::alone;
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use crate::selection;
use tickmark_analysis::{comms, dose, scenario};
use tickmark_drive::file::Launched;
use tickmark_drive::lab::Report;
use tickmark_drive::plan;
use tickmark_render::json::{CommsPage, DosePage, Scenarios};
use tickmark_store::{Recording, Store};

/// `tickmark experiment FILE`, where the file names probes and turns nothing.
pub(in crate::command) fn experiment(
    store: &Store,
    options: &Experiment,
    from: &Launched,
) -> Result<Code, Error> {
    let Launches { recording, stopped, code } = launch(store, options, from)?;
    if options.format == CompareFormat::Json {
        show_json(&recording, from.report)?;
    } else {
        crate::command::print_framed(&recording, &alone(&recording, from.report))?;
        let again = match from.report {
            Report::Messages => "comms --of",
            Report::Doses => "dose --of",
            _ => "timers --of",
        };
        saved(&recording, stopped, again)?;
    }
    Ok(code)
}

/// What was launched, and how it ended.
pub(in crate::command) struct Launches {
    recording: Recording,
    /// It was interrupted.
    stopped: bool,
    pub(in crate::command) code: Code,
}

fn show_json(recording: &Recording, report: Report) -> Result<(), Error> {
    match report {
        Report::Messages => {
            crate::command::print_recorded(recording, CommsPage::new(&comms::summarize_comms(recording)))
        }
        Report::Doses => {
            let none = || Err("no doses were measured".to_owned());
            let dosed = dose::summarize_dose(recording).unwrap_or_else(none);
            crate::command::print_recorded(recording, DosePage::new(&dosed.map_err(Error::Refused)?))
        }
        _ => crate::command::print_recorded(recording, Scenarios::new(&scenario::read_scenarios(recording))),
    }
}

/// Measures what a file names.
///
/// # Errors
/// It gave no figure at all, and was not interrupted.
pub(in crate::command) fn launch(
    store: &Store,
    options: &Experiment,
    from: &Launched,
) -> Result<Launches, Error> {
    let fixed = [
        (options.command.is_some(), "--command"),
        (options.width.is_some(), "--width"),
        (options.more.is_some(), "--more"),
        (options.margin.is_some(), "--margin"),
        (!options.select.is_empty(), "probes"),
    ];
    if let Some((_, what)) = fixed.iter().find(|(is, _)| *is) {
        let name = &from.name;
        return Err(Error::Usage(format!("{what}: {name} says what it measures, and turns nothing")));
    }
    let offers = selection::select(&from.probes)?;
    let launches = options.blocks.unwrap_or(from.launches);
    let settings = (&options.settings).into();
    let budget = options.budget.unwrap_or(from.budget);
    let plan = plan::make(&offers, launches, Some(budget), settings, false, &mut rand::rng());
    let name = options.name.as_ref().unwrap_or(&from.name);
    let (recording, stopped) = measured_one(store, Some(name), plan, &from.probes)?;
    let id = [recording.meta.id.clone()];
    if !stopped {
        arms::require_figure(store, &id)?;
    }
    arms::tell_lacking(store, &id);
    let is_partly = stopped || !recording.complete() || arms::failed(store, &id, launches);
    let code = if is_partly { Code::Partly } else { Code::Done };
    Ok(Launches { recording, stopped, code })
}
