//! What interrupts a CPU, and what its tick costs at another HZ.

use super::export_gaps::noise_of;
use super::run::{measured_here, saved};
use crate::cli::{Format, Tick};
use crate::error::{Code, Error};
use crate::selection;
use std::process::Command;
use tickmark_analysis::noise::{Gap, Noise};
use tickmark_analysis::{report, what_if};
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::shared::TRACING;
use tickmark_wire::text::duration;
use tickmark_wire::{Nanos, Settings, names};

/// The longest run: what is interrupted loses no more, and memory does not grow with the duration.
const RUN: Nanos = Nanos::from_millis(10_000);

/// What is done at the first gap of a length.
struct OnThreshold {
    above: Nanos,
    tracing: bool,
    shell: Option<String>,
}

pub(super) fn run(store: &Store, asked: &Tick) -> Result<Code, Error> {
    if let Some(name) = &asked.of {
        let recording = store.find(name)?;
        return show(&recording, &noise_of(&recording)?, asked).map(|()| Code::Done);
    }
    let threshold = on_threshold(&asked.on_threshold)?;
    let cpus = if asked.cpu.is_empty() { vec![None] } else { asked.cpu.iter().copied().map(Some).collect() };
    for (number, cpu) in cpus.into_iter().enumerate() {
        if number > 0 && asked.output.format == Format::Text {
            super::print("\n")?;
        }
        let (recording, stopped) = measure(store, asked, cpu, threshold.as_ref())?;
        let noise = noise_of(&recording)?;
        show(&recording, &noise, asked)?;
        if asked.output.format == Format::Text {
            saved(&recording, stopped, "tick --of")?;
        }
        let met = threshold
            .as_ref()
            .and_then(|on| Some((on, noise.gaps.last().filter(|gap| gap.length > on.above.as_f64())?)));
        if let Some((on, gap)) = met {
            act(on, gap, &recording)?;
            return Ok(Code::Differs);
        }
        if stopped {
            return Ok(Code::Partly);
        }
    }
    Ok(Code::Done)
}

/// What stands behind --on-threshold.
fn on_threshold(words: &[String]) -> Result<Option<OnThreshold>, Error> {
    let [length, action] = words else { return Ok(None) };
    let above = duration(length).map_err(|why| Error::Usage(format!("--on-threshold {length}: {why}")))?;
    let on = OnThreshold {
        above,
        tracing: action == "trace",
        shell: action.strip_prefix("shell:").map(str::to_owned),
    };
    // Refused now, and not in the moment that was waited for.
    if on.tracing
        && let Err(error) = std::fs::File::options().write(true).open(TRACING)
    {
        return Err(Error::Refused(format!(
            "--on-threshold trace: {TRACING}: {error}; is tracefs mounted, and writable for you?"
        )));
    }
    if action == "stop" || on.tracing || on.shell.as_ref().is_some_and(|command| !command.is_empty()) {
        Ok(Some(on))
    } else {
        Err(Error::Usage(format!("--on-threshold: {action} is no action; give stop, trace or shell:COMMAND")))
    }
}

/// The loop, in runs of at most [`RUN`].
fn measure(
    store: &Store,
    asked: &Tick,
    cpu: Option<u32>,
    on: Option<&OnThreshold>,
) -> Result<(Recording, bool), Error> {
    let select = vec![names::TICK.to_owned()];
    // The suite of that name has others.
    let mut offers = selection::select(&select)?;
    offers.retain(|offer| offer.probe.as_str() == names::TICK);
    let settings = Settings {
        cpu,
        priority: asked.priority,
        stop_above: on.map(|on| on.above),
        stop_tracing: on.is_some_and(|on| on.tracing),
        ..Settings::default()
    };
    // One run where it ends at a gap: the next would begin another trace.
    let runs = if on.is_some() { 1 } else { asked.duration.get().div_euclid(RUN.get() + 1) + 1 };
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    let plan = plan::make(&offers, runs, Some(asked.duration), settings, runs == 1, &mut rand::rng());
    measured_here(store, &plan, asked.name.as_deref(), &select)
}

fn show(recording: &Recording, noise: &Noise, asked: &Tick) -> Result<(), Error> {
    let header = report::build(recording, &|_| false, false).header;
    let predicted =
        (!asked.hz_what_if.is_empty()).then(|| what_if::of(noise, recording, &asked.hz_what_if, &asked.mhz));
    match asked.output.format {
        Format::Json => {
            let mut value = tickmark_render::noise::json(noise);
            value["recording"] = serde_json::json!(header);
            if let Some(predicted) = &predicted {
                value["hz_what_if"] = tickmark_render::what_if::json(predicted);
            }
            super::print_json(&value)
        }
        Format::Text => {
            super::print(&format!("{}\n\n", tickmark_render::report::header(&header)))?;
            super::print(&tickmark_render::noise::text(noise))?;
            predicted.map_or(Ok(()), |predicted| super::print(&tickmark_render::what_if::text(&predicted)))
        }
    }
}

/// Carries out what was asked for at a gap of that length.
fn act(on: &OnThreshold, gap: &Gap, recording: &Recording) -> Result<(), Error> {
    anstream::eprintln!(
        "ended at a gap of {} ns, {:.6} s after the beginning: {}",
        gap.length,
        gap.start / 1e9,
        gap.what.code()
    );
    let Some(command) = &on.shell else { return Ok(()) };
    let status = Command::new("sh")
        .args(["-c", command])
        .env("TICKMARK_GAP_NS", gap.length.to_string())
        .env("TICKMARK_GAP", gap.what.code())
        .env("TICKMARK_RECORDING", recording.meta.id.to_string())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Refused(format!("--on-threshold: the command ended with {status}"))),
        Err(error) => Err(Error::Refused(format!("--on-threshold: sh: {error}"))),
    }
}
