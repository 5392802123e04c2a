//! When figures changed their level, over the recordings of the store.

use crate::cli::{Format, Output};
use crate::error::{Code, Error};
use crate::progress::Steps;
use crate::selection::Named;
use tickmark_analysis::changes::{Begun, TooMany};
use tickmark_store::{Entry, Recording, Store};

/// The levels of what is named, over these recordings. Experiments turn a knob and are no
/// history.
pub(in crate::command) fn run(
    store: &Store,
    entries: &[Entry],
    names: &[String],
    output: &Output,
) -> Result<Code, Error> {
    let is_history = |entry: &&Entry| entry.is_history() && entry.complete;
    let history: Vec<&Entry> = entries.iter().filter(is_history).collect();
    let (mut recordings, mut steps) = (Vec::<Recording>::new(), Steps::new());
    for (at, entry) in history.iter().enumerate() {
        steps.at(&format!("reading recording {} of {}", at + 1, history.len()));
        match store.read(&entry.id) {
            Ok(recording) => recordings.push(recording),
            Err(why) => steps.warn(&format!("{} is left out: {why}", entry.id)),
        }
    }
    let metrics = recordings.iter().flat_map(|recording| &recording.meta.plan.metrics);
    let named = Named::new("--changes", names, metrics);
    let built =
        tickmark_analysis::changes::build(&recordings, &|group, row| named.picks(group, row), &mut |at| {
            steps.at(&match at {
                Begun::Recording(at) => format!("figures of recording {} of {}", at + 1, recordings.len()),
                Begun::Series(series) => format!("levels of {} {}", series.metric, series.figure),
            });
        });
    steps.finish();
    named.each_fits()?;
    let too_many = |TooMany { figures, most }| {
        Error::Usage(format!(
            "--changes: {figures} figures have enough recordings, and {most} can be judged together: name fewer"
        ))
    };
    let series = built.map_err(too_many)?;
    match output.format {
        Format::Json => crate::command::print_page(&tickmark_render::json::Changes::new(&series))?,
        Format::Text => crate::command::print(&tickmark_render::changes::text(&series))?,
    }
    Ok(Code::Done)
}
