//! Figures over time: the recordings of the store, or result files of other programs.

mod bisect;

use crate::cli::{Format, History};
use crate::command::import;
use crate::error::{Code, Error};
use crate::progress::Steps;
use crate::selection::Named;
use tickmark_analysis::history::{self, Begun, Measurement, Origin, Series, TooMany};
use tickmark_import::{Imported, TableOptions};
use tickmark_store::{Entry, Recording, Store};
use tickmark_wire::text::printable;

pub(in crate::command) fn run(
    opened: impl Fn() -> Result<Store, Error>,
    options: &History,
) -> Result<Code, Error> {
    if let (Some(command), Some(_)) = (&options.bisect.bisect, &options.bisect.range) {
        return bisect::run(&opened()?, command, &options.bisect, None, options.shown.format);
    }
    let mut steps = Steps::new();
    let folder = tempfile::tempdir().map_err(Error::file("make", "a temporary folder"))?;
    let all = match options.files.is_empty() {
        true => of_store(&opened()?, options, &mut steps)?,
        false => of_files(&Store::at(Some(folder.path().to_owned()), |_| {})?, options, &mut steps)?,
    };
    let metrics = all.iter().flat_map(|one| &one.recording.meta.plan.metrics);
    let named = Named::new("history", &options.metrics, metrics);
    let built = history::build(&all, &|group, row| named.picks(group, row), &mut |at| {
        steps.at(&match at {
            Begun::Recording(at) => format!("figures of recording {} of {}", at + 1, all.len()),
            Begun::Series(series) => format!("levels of {} {}", series.metric, series.figure),
        });
    });
    steps.finish();
    named.each_fits()?;
    let too_many = |TooMany { figures, most }| {
        Error::Usage(format!(
            "history: {figures} figures have enough recordings, and {most} can be judged together: name fewer"
        ))
    };
    let series = built.map_err(too_many)?;
    if let Some(command) = &options.bisect.bisect {
        let range = newest_range(&series);
        return bisect::run(&opened()?, command, &options.bisect, range, options.shown.format);
    }
    if let Some(file) = &options.output {
        crate::command::report::write(file, &tickmark_render::history::html(&series))?;
    }
    match options.shown.format {
        Format::Json => crate::command::print_page(&tickmark_render::json::HistoryPage::new(&series))?,
        Format::Text => crate::command::print(&tickmark_render::history::text(&series))?,
    }
    Ok(Code::Done)
}

/// The commits between which the newest change lies, where both are known.
fn newest_range(all: &[Series]) -> Option<String> {
    let (series, level) = *history::newest(all).first()?;
    let change = &level.change;
    let (from, until) = (change.between.0, change.between.1.max(change.end()));
    let commit = |at: usize| series.points.get(at)?.commit.clone();
    Some(format!("{}..{}", commit(from.checked_sub(1)?)?, commit(until)?))
}

/// The recordings of a store. Experiments turn a knob and are no history.
fn of_store(store: &Store, options: &History, steps: &mut Steps) -> Result<Vec<Measurement>, Error> {
    let mut entries = super::with_facts(store, &options.fact)?;
    entries.retain(|entry: &Entry| entry.is_history() && entry.complete);
    let mut all = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        steps.at(&format!("reading recording {} of {}", at + 1, entries.len()));
        match store.read(&entry.id) {
            Ok(recording) => all.push(Measurement::from(recording)),
            Err(why) => steps.warn(&format!("{} is left out: {why}", entry.id)),
        }
    }
    Ok(all)
}

/// The measurements of files, in the order of their times, or where they have none of the files and their lines. Of several files those that are no
/// results are named and left out.
fn of_files(store: &Store, options: &History, steps: &mut Steps) -> Result<Vec<Measurement>, Error> {
    let files: Vec<_> =
        options.files.iter().map(|path| import::files(path)).collect::<Result<Vec<_>, _>>()?.concat();
    let table = TableOptions { is_history: true, ..import::table_options(&options.table) };
    let mut found: Vec<Imported> = Vec::new();
    for path in &files {
        let read = import::text(path).and_then(|text| {
            tickmark_import::read(&[text], &table).map_err(|why| match why.contains("tickmark import") {
                // What would read it is another command, and this one knows the same columns.
                true => Error::Usage(why.replace("tickmark import", "tickmark history --files")),
                false => Error::Usage(why),
            })
        });
        match read {
            Ok((all, warnings)) => {
                let remarks = all.iter().flat_map(|one| one.remarks.iter().chain(&one.left_out));
                for why in warnings.iter().chain(remarks) {
                    steps.warn(&printable(&format!("{}: {why}", path.display()), false));
                }
                found.extend(all);
            }
            Err(why) if files.len() > 1 => steps.warn(&format!("left out: {why}")),
            Err(why) => return Err(why),
        }
    }
    if found.is_empty() {
        return Err(Error::Usage("none of these files has a result".to_owned()));
    }
    let timed = found.iter().filter(|one| one.at.is_some()).count();
    match timed {
        0 if files.len() > 1 => steps.warn("none says when it was measured: the order is that of the files"),
        0 => {}
        timed => {
            let untimed = found.len() - timed;
            if untimed > 0 {
                steps.warn(&format!(
                    "left out: {} of {} results, which do not say when they were measured",
                    untimed,
                    found.len()
                ));
            }
            found.retain(|one| one.at.is_some());
            found.sort_by_key(|one| one.at);
        }
    }
    // Older ones are not looked at.
    found.drain(..found.len().saturating_sub(MOST));
    let mut all = Vec::new();
    for (at, one) in found.iter().enumerate() {
        steps.at(&format!("reading result {} of {}", at + 1, found.len()));
        let recording = store.read(&import::write_recording(store, one, &one.host)?)?;
        all.push(measurement(one, recording, files.len() > 1));
    }
    Ok(all)
}

/// So many of the newest results of files are read.
const MOST: usize = 4 * history::MOST;

/// A result in its place. Of several files, each with a result that has only the file's name, the series is the program's; an environment of one
/// program is another series.
fn measurement(one: &Imported, recording: Recording, several: bool) -> Measurement {
    let origin = Origin::File { is_timed: one.at.is_some() };
    let mut found = Measurement { origin, ..Measurement::from(recording) };
    if several && one.is_named_by_file {
        found.machine.clone_from(&one.tool);
    }
    let environment = one.facts.iter().find(|(name, ..)| name == "asv.environment");
    if let Some((_, environment, _)) = environment {
        found.machine += &format!(", {environment}");
    }
    found
}
