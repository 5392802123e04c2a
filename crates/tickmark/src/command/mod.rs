//! One file a command, in folders by the groups of the help.

mod exchange;
mod judge;
mod load;
mod machine;
mod manual;
mod program;
mod setting;

use crate::cli::{Cli, Command, Format};
use crate::error::{Code, Error};
use exchange::{export, export_gaps, export_metrics, fleet, import, import_events, shared};
use judge::{changes, check, compare, gates, recordings, report, show, stat};
use load::{bill, clock_reads, comms, document, dose, hosts, http, sql};
use machine::{cpus, doctor, list, live, looks, run, scenarios, threshold, tick, timers, verify};
use setting::{answers, arms, boots, experiment, hz, lab, matrix, more, pilot, published};
use std::io::Write;
use tickmark_analysis::lmbench;
use tickmark_analysis::report as rows;
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
        Command::Experiment(asked) => experiment::run(&store()?, &asked),
        Command::Compare(compare) => compare::run(&store()?, &compare),
        Command::Check(asked) => check::run(&store()?, &asked),
        Command::Live(asked) => live::run(&asked),
        Command::Report(asked) => report::run(&store()?, &asked),
        Command::Dose(asked) => dose::run(&store()?, &asked),
        Command::Doctor(asked) => doctor::run(&store()?, &asked),
        Command::Tick(asked) => tick::run(&store()?, &asked),
        Command::Timers(asked) => timers::run(&store()?, &asked),
        Command::Bill(asked) => bill::run(&store()?, &asked),
        Command::ClockReads(asked) => clock_reads::run(&store()?, &asked),
        Command::Comms(asked) => comms::run(&store()?, &asked),
        Command::Http(asked) => http::run(&store()?, &asked),
        Command::Fleet(asked) => fleet::run(&asked),
        Command::Hz(asked) => hz::run(&store()?, &asked),
        Command::Lab(asked) => lab::run(store, &asked),
        Command::Sql(asked) => sql::run(&store()?, &asked),
        Command::Stat(asked) => stat::run(&asked),
        Command::Import(import) => import::run(&store()?, &import),
        Command::Export(export) => export::run(&store()?, &export),
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
        Format::Json => print_json(&tickmark_render::lmbench::json(&page, ""))?,
        Format::Text => print(tickmark_render::lmbench::text(&page, "").trim_start())?,
    }
    Ok(Code::Done)
}

/// Writes text to standard output; colours go where they are wanted. A reader that has gone (`| head`)
/// is no error.
fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// Writes a value as indented JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Output(e.into()))?;
    print(&format!("{text}\n"))
}

/// The store at a folder, or the user's own.
fn open(root: Option<std::path::PathBuf>) -> Result<Store, Error> {
    let warn = |error: &tickmark_store::Error| {
        anstream::eprintln!(
            "tickmark: warning: {}",
            tickmark_wire::text::printable(&error.to_string(), false)
        );
    };
    Ok(Store::at(root, warn)?)
}
