//! How often a command reads clocks.

use crate::cli::{ClockReads, Format};
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use tickmark_analysis::clock_reads;
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Offer, names};

pub(in crate::command) fn run(store: &Store, options: &ClockReads) -> Result<Code, Error> {
    if let Some(name) = &options.of {
        let is_count = |recording: &Recording| {
            clock_reads::read_clock_reads(recording).is_some_and(|reads| reads.is_ok())
        };
        return show(&store.find_usable(name, &is_count)?, options).map(|()| Code::Done);
    }
    if let Some(name) = options.command.first() {
        crate::command::program::find(name)?;
    }
    let offers = [offer(options)?];
    let plan = plan::make(&offers, options.runs, None, (&options.settings).into(), false, &mut rand::rng());
    let what = options.pid.map_or_else(|| options.command.join(" "), |pid| format!("--pid {pid}"));
    let select = format!("clock-reads {what}");
    let (recording, stopped) = measured_one(store, options.name.as_deref(), plan, &[select])?;
    show(&recording, options)?;
    if options.output.format == Format::Text {
        saved(&recording, stopped, "clock-reads --of")?;
    }
    Ok(if recording.complete() && !stopped { Code::Done } else { Code::Partly })
}

fn offer(options: &ClockReads) -> Result<Offer, Error> {
    let here =
        std::env::current_dir().map_err(|error| Error::Refused(format!("the current folder: {error}")))?;
    let arguments = [
        ("words", options.command.join("\0")),
        ("folder", here.to_string_lossy().into_owned()),
        ("count", options.count.clone().unwrap_or_default()),
        ("pid", options.pid.map_or_else(String::new, |pid| pid.to_string())),
        ("confirm", if options.confirm { "yes" } else { "no" }.to_owned()),
        ("calls", options.calls.join(",")),
        ("seconds", options.duration.map_or_else(String::new, |time| (time.as_f64() / 1e9).to_string())),
    ];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value)).into();
    tickmark_load::REGISTRY
        .case(names::CLOCK_READS, &arguments)
        .map(|case| case.offer())
        .map_err(Error::Usage)
}

fn show(recording: &Recording, options: &ClockReads) -> Result<(), Error> {
    let id = &recording.meta.id;
    let reads = clock_reads::read_clock_reads(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no counts of `tickmark clock-reads`")))?
        .map_err(|why| Error::Refused(format!("nothing was counted: {why}; saved as {id}")))?;
    if options.output.format == Format::Json {
        return crate::command::print_recorded(recording, tickmark_render::json::ClockReads::new(&reads));
    }
    crate::command::print_framed(recording, &tickmark_render::clock_reads::text(&reads))
}
