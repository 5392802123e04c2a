//! What interrupts a CPU, and what its tick costs at another HZ.

use super::export_gaps::noise_of;
use super::run::{measured_here, own_name, saved};
use crate::cli::{Cpus, Format, Tick};
use crate::error::{Code, Error};
use crate::selection;
use std::collections::BTreeSet;
use std::process::Command;
use tickmark_analysis::noise::{Gap, Noise};
use tickmark_analysis::report;
use tickmark_analysis::what_if::{self, WhatIf};
use tickmark_drive::plan;
use tickmark_probe::sys::limits::allowed_cpus;
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
    let cpus = cpus(&asked.cpu)?;
    if asked.osnoise && cpus.len() > 1 {
        return Err(Error::Usage("--osnoise: which CPUs it watches is one setting; give one CPU".to_owned()));
    }
    let (made, stopped) = measure(store, asked, &cpus, threshold.as_ref())?;
    let (watched, several) = (made.len(), made.len() > 1);
    let mut recordings = Vec::new();
    for made in made {
        match made {
            Ok(recording) => recordings.push(recording),
            // What the others saw is shown all the same.
            Err(error) if several => anstream::eprintln!("tickmark: {error}"),
            Err(error) => return Err(error),
        }
    }
    // One that the others' end cut short has no trace.
    let seen = recordings.iter().map(|recording| noise_of(recording).map(|noise| (recording, noise)));
    let seen: Vec<_> = if several { seen.flatten().collect() } else { seen.collect::<Result<_, _>>()? };
    let all = seen.len() == watched;
    match &seen[..] {
        [] => return Err(Error::Refused("no CPU was watched to the end of a run".to_owned())),
        [(recording, noise)] if !several => {
            show(recording, noise, asked)?;
            if asked.output.format == Format::Text {
                saved(recording, stopped, "tick --of")?;
            }
        }
        all => show_all(all, asked, stopped)?,
    }
    let acted = threshold.as_ref().and_then(|on| {
        let long = |(recording, noise): &(&Recording, Noise)| {
            Some(act(on, met(on, noise)?, recording).map(|()| Code::Differs))
        };
        seen.iter().find_map(long)
    });
    match acted {
        Some(code) => code,
        None if stopped || !all => Ok(Code::Partly),
        None => Ok(Code::Done),
    }
}

/// The gap that ended the loop.
fn met<'a>(on: &OnThreshold, noise: &'a Noise) -> Option<&'a Gap> {
    noise.gaps.last().filter(|gap| gap.length > on.above.as_f64())
}

/// The CPUs that are asked for, each once; one that is not named is the quietest.
fn cpus(asked: &[Cpus]) -> Result<Vec<Option<u32>>, Error> {
    let mut all = BTreeSet::new();
    for cpus in asked {
        match cpus {
            Cpus::Range(first, last) => all.extend(*first..=*last),
            Cpus::All => all.extend(allowed_cpus().map_err(|error| Error::Refused(error.to_string()))?),
        }
    }
    if all.len() > 1 {
        let allowed = allowed_cpus().map_err(|error| Error::Refused(error.to_string()))?;
        if let Some(cpu) = all.iter().find(|cpu| !allowed.contains(cpu)) {
            let list = allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::Usage(format!("CPU {cpu} does not exist or is offline; allowed are {list}")));
        }
    }
    Ok(if all.is_empty() { vec![None] } else { all.into_iter().map(Some).collect() })
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

/// The loop on each CPU, in runs of at most [`RUN`].
fn measure(
    store: &Store,
    asked: &Tick,
    cpus: &[Option<u32>],
    on: Option<&OnThreshold>,
) -> Result<(Vec<Result<Recording, Error>>, bool), Error> {
    let select = vec![names::TICK.to_owned()];
    // The suite of that name has others.
    let mut offers = selection::select(&select)?;
    offers.retain(|offer| offer.probe.as_str() == names::TICK);
    // One run where it ends at a gap: the next would begin another trace.
    let runs = if on.is_some() { 1 } else { asked.duration.get().div_euclid(RUN.get() + 1) + 1 };
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    if asked.osnoise {
        let seconds = (asked.duration.get() / i64::from(runs) / 1_000_000_000).clamp(1, 10);
        offers.extend(selection::select(&[format!("{}:seconds={seconds}", names::OSNOISE)])?);
    }
    let mut random = rand::rng();
    let mut plan = |cpu: &Option<u32>| {
        let settings = Settings {
            cpu: *cpu,
            priority: asked.priority,
            stop_above: on.map(|on| on.above),
            stop_tracing: on.is_some_and(|on| on.tracing),
            ..Settings::default()
        };
        let name = own_name(asked.name.as_deref());
        let name = cpu.filter(|_| cpus.len() > 1).map_or(name.clone(), |cpu| format!("{name}-cpu{cpu}"));
        (name, plan::make(&offers, runs, Some(asked.duration), settings, runs == 1, &mut random))
    };
    let plans: Vec<_> = cpus.iter().map(&mut plan).collect();
    measured_here(store, &plans, &select, &|recording| {
        on.is_some_and(|on| noise_of(recording).is_ok_and(|noise| met(on, &noise).is_some()))
    })
}

/// What several CPUs saw at the same time.
fn show_all(seen: &[(&Recording, Noise)], asked: &Tick, stopped: bool) -> Result<(), Error> {
    if asked.output.format == Format::Json {
        let pages = seen.iter().map(|(recording, noise)| page(recording, noise, asked)).collect::<Vec<_>>();
        return super::print_json(&serde_json::json!({ "cpus": pages }));
    }
    if let Some((first, _)) = seen.first() {
        let header = report::build(first, &|_| false, false).header;
        super::print(&format!("{}\n\n", tickmark_render::report::header(&header)))?;
    }
    super::print(&tickmark_render::noise::table(seen.iter().map(|(_, noise)| noise)))?;
    for (recording, noise) in seen {
        if let Some(predicted) = predicted(recording, noise, asked) {
            super::print(&format!("\nCPU {}\n{}", noise.cpu, tickmark_render::what_if::text(&predicted)))?;
        }
    }
    seen.iter().try_for_each(|(recording, _)| saved(recording, stopped, "tick --of"))
}

fn show(recording: &Recording, noise: &Noise, asked: &Tick) -> Result<(), Error> {
    if asked.output.format == Format::Json {
        return super::print_json(&page(recording, noise, asked));
    }
    let header = report::build(recording, &|_| false, false).header;
    super::print(&format!("{}\n\n", tickmark_render::report::header(&header)))?;
    super::print(&tickmark_render::noise::text(noise))?;
    let predicted = predicted(recording, noise, asked);
    predicted.map_or(Ok(()), |predicted| super::print(&tickmark_render::what_if::text(&predicted)))
}

/// The same for programs.
fn page(recording: &Recording, noise: &Noise, asked: &Tick) -> serde_json::Value {
    let header = report::build(recording, &|_| false, false).header;
    let mut value = tickmark_render::noise::json(noise);
    value["recording"] = serde_json::json!(header);
    if let Some(predicted) = predicted(recording, noise, asked) {
        value["hz_what_if"] = tickmark_render::what_if::json(&predicted);
    }
    value
}

/// What other rates would cost, where that was asked.
fn predicted(recording: &Recording, noise: &Noise, asked: &Tick) -> Option<WhatIf> {
    let asks = !asked.hz_what_if.is_empty();
    asks.then(|| what_if::of(noise, recording, &asked.hz_what_if, &asked.mhz))
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
