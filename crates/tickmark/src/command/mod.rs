//! One file a command, in folders by the groups of the help.

mod exchange;
mod journal;
mod judge;
mod load;
mod machine;
mod manual;
mod pages;
mod program;
mod setting;

use crate::cli::{Cli, Command, Format};
use crate::error::{Code, Error};
use exchange::{export, export_gaps, export_metrics, fleet, import, import_events, shared};
use judge::{check, compare, gates, history, recordings, report, show, stat};
use load::{bill, clock_reads, comms, document, dose, hosts, http, sql};
use machine::{cpus, doctor, list, live, looks, run, scenarios, threshold, tick, timers, verify};
use setting::{answers, arms, boots, experiment, hz, lab, launched, matrix, more, papers, pilot, versus};
use std::io::Write;
use tickmark_analysis::lmbench;
use tickmark_analysis::report as rows;
use tickmark_render::json::{Page, Recorded, Tables, Versioned};
use tickmark_store::{Recording, Store};

/// Carries out a command line; on the copy of a shared store, where that is asked for.
pub(crate) fn dispatch(cli: Cli) -> Result<Code, Error> {
    match shared::shared_store(&cli) {
        Some(shared) => shared::dispatch(&shared?, cli),
        None => dispatch_here(cli),
    }
}

fn dispatch_here(cli: Cli) -> Result<Code, Error> {
    let store = || open(cli.store.clone());
    match cli.command {
        Command::Run(run) => run::run(&store()?, &run),
        Command::List(list) => list::run(&list),
        Command::Verify(verify) => verify::run(&verify),
        Command::Recordings(recordings) => recordings::run(&store()?, &recordings),
        Command::Show(show) => show::run(&store()?, &show),
        Command::Experiment(options) => experiment::run(&store()?, &options),
        Command::Versus(options) => versus::run(&store()?, &options),
        Command::Experiments(options) => papers::experiments(&store()?, &options),
        Command::Compare(compare) => compare::run(&store()?, &compare),
        Command::Check(options) => check::run(&store()?, &options),
        Command::History(options) => history::run(store, &options),
        Command::Live(options) => live::run(&options),
        Command::Report(options) => report::run(&store()?, &options),
        Command::Dose(options) => dose::run(&store()?, &options),
        Command::Doctor(options) => doctor::run(&store()?, &options),
        Command::Tick(options) => tick::run(&store()?, &options),
        Command::Timers(options) => timers::run(&store()?, &options),
        Command::Bill(options) => bill::run(&store()?, &options),
        Command::ClockReads(options) => clock_reads::run(&store()?, &options),
        Command::Comms(options) => comms::run(&store()?, &options),
        Command::Http(options) => http::run(&store()?, &options),
        Command::Fleet(options) => fleet::run(&options),
        Command::Hz(options) => hz::run(&store()?, &options),
        Command::Lab(options) => lab::run(store, &options),
        Command::Sql(options) => sql::run(&store()?, &options),
        Command::Stat(options) => stat::run(&options),
        Command::Import(import) => import::run(&store()?, &import),
        Command::Export(export) => export::run(&store()?, &export),
        Command::Questions => print(&crate::cli::questions::text()).map(|()| Code::Done),
        Command::Schema(options) => pages::run(&options),
        Command::Completions(completions) => manual::completions(&completions),
        Command::Man(man) => manual::man(&man),
    }
}

/// Floors are asked for, and one of the recordings has none.
fn refuse_floors(recordings: &[&Recording], floor: bool) -> Result<(), Error> {
    match recordings.iter().find(|recording| floor && recording.imported.is_some()) {
        Some(one) => {
            let id = &one.meta.id;
            Err(Error::Usage(format!(
                "recording {id} was imported: another program's figures have no floors"
            )))
        }
        None => Ok(()),
    }
}

/// Prints lmbench's tables of these recordings, the first of which is what the others are compared with.
/// Metrics in `real` have changed.
fn lmbench_tables(
    recordings: &[&Recording],
    real: &[&str],
    floor: bool,
    format: Format,
) -> Result<Code, Error> {
    refuse_floors(recordings, floor)?;
    let models: Vec<_> =
        recordings.iter().map(|recording| rows::build(recording, &|_| true, false)).collect();
    let both: Vec<_> = recordings.iter().copied().zip(&models).collect();
    let page = lmbench::page(&both, real, floor);
    if page.tables.is_empty() {
        let ids: Vec<&str> = recordings.iter().map(|recording| recording.meta.id.short()).collect();
        return Err(Error::Usage(format!("no metric of lmbench's tables is in {}", ids.join(" or "))));
    }
    match format {
        Format::Json => print_page(&Tables::new(&page))?,
        Format::Text => print(tickmark_render::lmbench::text(&page, "").trim_start())?,
    }
    Ok(Code::Done)
}

/// Writes text to standard output; colours go where they are wanted. A reader that has gone (`| head`)
/// is no error.
fn print(text: &str) -> Result<(), Error> {
    let text = tickmark_render::folded(text);
    if tickmark_render::is_ascii_locale() { write(&tickmark_render::in_ascii(&text)) } else { write(&text) }
}

/// Says that those who take the CPUs are told by their kind alone, why, and what would help.
fn nobody_named(why: &str) {
    crate::notice!("who takes the CPUs is told by kind, not by name ({why})");
}

/// Writes a text as it is.
fn write(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// What was found in a recording: behind the machine's line, and before those of the instrument.
fn print_framed(recording: &Recording, text: &str) -> Result<(), Error> {
    let header = rows::build(recording, &|_| false, false).header;
    let machine = tickmark_render::report::machine(&header);
    let instrument = tickmark_render::report::instrument(&header);
    print(&format!("{}\n\n{}\n\n{instrument}", machine.trim_end(), text.trim_end()))
}

/// Writes the JSON of a command.
fn print_page<T: Page>(page: &T) -> Result<(), Error> {
    print_json(&Versioned::new(page))
}

/// The same, about a recording.
fn print_recorded<T: Page>(recording: &Recording, page: T) -> Result<(), Error> {
    let header = rows::build(recording, &|_| false, false).header;
    print_page(&Recorded::new(header, page))
}

/// Writes a value as indented JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Error> {
    write(&json_text(value)?)
}

fn json_text(value: &impl serde::Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Output(e.into()))?;
    Ok(text + "\n")
}

/// The store at a folder, or the user's own.
fn open(root: Option<std::path::PathBuf>) -> Result<Store, Error> {
    let warn = |error: &tickmark_store::Error| {
        crate::notice!("tickmark: warning: {}", tickmark_wire::text::printable(&error.to_string(), false));
    };
    Ok(Store::at(root, warn)?)
}
