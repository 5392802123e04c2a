//! When figures changed their level, over the recordings of the store.

use crate::cli::{Format, Output};
use crate::error::{Code, Error};
use crate::selection::Named;
use tickmark_analysis::changes::TooMany;
use tickmark_store::{Entry, Recording, Store};

/// The levels of what is named, over these recordings. Experiments turn a knob, and what was imported was made elsewhere: neither is
/// history.
pub(super) fn run(
    store: &Store,
    entries: &[Entry],
    names: &[String],
    output: &Output,
) -> Result<Code, Error> {
    let history = entries.iter().filter(|entry| entry.arm.is_none() && !entry.imported && entry.complete);
    let mut recordings: Vec<Recording> = Vec::new();
    for entry in history {
        match store.read(&entry.id) {
            Ok(recording) => recordings.push(recording),
            Err(why) => anstream::eprintln!("tickmark: warning: {} is left out: {why}", entry.id),
        }
    }
    let metrics = recordings.iter().flat_map(|recording| &recording.meta.plan.metrics);
    let named = Named::new("--changes", names, metrics);
    let built = tickmark_analysis::changes::build(&recordings, &|group, row| named.picks(group, row));
    named.each_fits()?;
    let too_many = |TooMany { figures, most }| {
        Error::Usage(format!(
            "--changes: {figures} figures have enough recordings, and {most} can be judged together: name fewer"
        ))
    };
    let series = built.map_err(too_many)?;
    match output.format {
        Format::Json => super::print_json(&tickmark_render::changes::json(&series))?,
        Format::Text => super::print(&tickmark_render::changes::text(&series))?,
    }
    Ok(Code::Done)
}
