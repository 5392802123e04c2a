//! How often a command reads clocks.

use crate::cli::{ClockReads, Format};
use crate::command::run::{measured_one, saved};
use crate::command::timers::{header, with_header};
use crate::error::{Code, Error};
use tickmark_analysis::clock_reads;
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Offer, names};

pub(in crate::command) fn run(store: &Store, asked: &ClockReads) -> Result<Code, Error> {
    if let Some(name) = &asked.of {
        let is_count = |recording: &Recording| {
            clock_reads::read_clock_reads(recording).is_some_and(|reads| reads.is_ok())
        };
        return show(&store.find_usable(name, &is_count)?, asked).map(|()| Code::Done);
    }
    if let Some(name) = asked.command.first() {
        crate::command::program::find(name)?;
    }
    let offers = [offer(asked)?];
    let plan = plan::make(&offers, asked.runs, None, (&asked.settings).into(), false, &mut rand::rng());
    let what = asked.pid.map_or_else(|| asked.command.join(" "), |pid| format!("--pid {pid}"));
    let select = format!("clock-reads {what}");
    let (recording, stopped) = measured_one(store, asked.name.as_deref(), plan, &[select])?;
    show(&recording, asked)?;
    if asked.output.format == Format::Text {
        saved(&recording, stopped, "clock-reads --of")?;
    }
    Ok(if recording.complete() && !stopped { Code::Done } else { Code::Partly })
}

fn offer(asked: &ClockReads) -> Result<Offer, Error> {
    let here =
        std::env::current_dir().map_err(|error| Error::Refused(format!("the current folder: {error}")))?;
    let told = [
        ("words", asked.command.join("\0")),
        ("folder", here.to_string_lossy().into_owned()),
        ("count", asked.count.clone().unwrap_or_default()),
        ("pid", asked.pid.map_or_else(String::new, |pid| pid.to_string())),
        ("confirm", if asked.confirm { "yes" } else { "no" }.to_owned()),
        ("calls", asked.calls.join(",")),
        ("seconds", asked.duration.map_or_else(String::new, |time| (time.as_f64() / 1e9).to_string())),
    ];
    let told = told.map(|(name, value)| (name.to_owned(), value)).into();
    tickmark_load::REGISTRY.case(names::CLOCK_READS, &told).map(|case| case.offer()).map_err(Error::Usage)
}

fn show(recording: &Recording, asked: &ClockReads) -> Result<(), Error> {
    let id = &recording.meta.id;
    let reads = clock_reads::read_clock_reads(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no counts of `tickmark clock-reads`")))?
        .map_err(|why| Error::Refused(format!("nothing was counted: {why}; saved as {id}")))?;
    if asked.output.format == Format::Json {
        return with_header(recording, tickmark_render::clock_reads::json(&reads));
    }
    header(recording)?;
    crate::command::print(&tickmark_render::clock_reads::text(&reads))
}
