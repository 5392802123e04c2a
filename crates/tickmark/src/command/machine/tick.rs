//! Interruptions of a CPU, and the cost of its tick at another HZ.

use crate::cli::{Format, Tick};
use crate::command::cpus;
use crate::command::export_gaps::noise_of;
use crate::command::run::{measured_here, own_name, saved};
use crate::command::threshold::OnThreshold;
use crate::error::{Code, Error};
use crate::selection;
use std::time::Instant;
use tickmark_analysis::noise::{Gap, Noise};
use tickmark_analysis::report;
use tickmark_analysis::what_if::{self, WhatIf};
use tickmark_drive::plan;
use tickmark_probe::sys::tracepoints;
use tickmark_render::json::{CpuNoise, TickPage};
use tickmark_render::time;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, Settings, names};

/// The longest run: what is interrupted loses no more, and memory does not grow with the duration.
const RUN: Nanos = Nanos::from_millis(10_000);
/// A run of the loop alone and one with the kernel's events recorded, at most.
const PAIR: Nanos = Nanos::from_millis(4_000);
/// What is shorter has no room for both.
const SHORTEST: Nanos = Nanos::from_millis(600);
/// By so much, as a share, the calibration of a recording may differ from the first one, which took 2 ms.
const CALIBRATION: f64 = 1e-3;

pub(in crate::command) fn run(store: &Store, options: &Tick) -> Result<Code, Error> {
    if let Some(name) = &options.of {
        let recording = store.find_usable(name, &|recording| noise_of(recording).is_ok())?;
        let noise = noise_of(&recording)?;
        show(&recording, &noise, options)?;
        return next_commands(&recording, &noise, options).map(|()| Code::Done);
    }
    let threshold = OnThreshold::parse(&options.on_threshold)?;
    let cpus = cpus::resolve(&options.cpu)?;
    if options.osnoise && cpus.len() > 1 {
        return Err(Error::Usage("--osnoise: which CPUs it watches is one setting; give one CPU".to_owned()));
    }
    let begun = Instant::now();
    let (made, stopped) = measure(store, options, &cpus, threshold.as_ref())?;
    let watched_for = begun.elapsed();
    let (watched, several) = (made.len(), made.len() > 1);
    let mut recordings = Vec::new();
    for made in made {
        match made {
            Ok(recording) => recordings.push(recording),
            // What the others saw is shown all the same.
            Err(error) if several => crate::notice!("tickmark: {error}"),
            Err(error) => return Err(error),
        }
    }
    // One that was ended before its loop began has no trace.
    let summary = recordings.iter().map(|recording| noise_of(recording).map(|noise| (recording, noise)));
    let summary: Vec<_> =
        if several || stopped { summary.flatten().collect() } else { summary.collect::<Result<_, _>>()? };
    let all = summary.len() == watched;
    match &summary[..] {
        [] if stopped => {
            crate::notice!("interrupted before the loop had ended once: there is nothing to show");
        }
        [] => return Err(Error::Refused("no CPU was watched to the end of a run".to_owned())),
        [(recording, noise)] if !several => {
            show(recording, noise, options)?;
            if options.output.format == Format::Text {
                saved(recording, stopped, "tick --of")?;
                next_commands(recording, noise, options)?;
            }
        }
        all => show_all(all, options, stopped)?,
    }
    let acted = threshold.as_ref().and_then(|on| {
        let long = |(recording, noise): &(&Recording, Noise)| {
            let gap = met(on, noise, options.duration)?;
            let since = match is_last_part(noise.span, watched_for.as_nanos() as f64) {
                false => "the beginning".to_owned(),
                true => format!(
                    "the beginning of the last {} of {}",
                    time(noise.span),
                    time(watched_for.as_nanos() as f64)
                ),
            };
            Some(act(on, gap, recording, &since).map(|()| Code::Differs))
        };
        summary.iter().find_map(long)
    });
    if let (Some(on), None, false) = (&threshold, &acted, summary.is_empty()) {
        let watched_for = (watched_for.as_nanos() as f64).min(options.duration.as_f64());
        let kept = summary.iter().map(|(_, noise)| noise.span).fold(watched_for, f64::min);
        // Of the gap in which it was interrupted nothing is known.
        let watched_for = if stopped { kept } else { watched_for };
        let kept = if is_last_part(kept, watched_for) {
            format!(
                "; what is shown is the last {} of it (between such parts the loop reads /proc/interrupts and watches nothing)",
                time(kept)
            )
        } else {
            String::new()
        };
        crate::notice!("no gap above {} in {}{kept}", time(on.above.as_f64()), time(watched_for));
    }
    match acted {
        Some(code) => code,
        None if stopped || !all => Ok(Code::Partly),
        None => Ok(Code::Done),
    }
}

/// True if a loop that waited for a long gap kept the last of its gaps alone, ns; starting and ending a run takes less.
fn is_last_part(kept: f64, watched_for: f64) -> bool {
    watched_for - kept > 1e10
}

/// The gap that ended the loop.
fn met<'a>(on: &OnThreshold, noise: &'a Noise, limit: Nanos) -> Option<&'a Gap> {
    let least = least(on.above.as_f64(), noise.span / limit.as_f64());
    noise.gaps.last().filter(|gap| gap.length >= least)
}

/// Least length of the gap that ends a loop, ns. The loop compared ticks of a first calibration: by the recording's, and in whole ns, the
/// gap may be shorter by a little, and then the loop has a smaller part of its time, too.
fn least(above: f64, part: f64) -> f64 {
    if part < 1.0 - CALIBRATION { above * (1.0 - CALIBRATION) - 1.0 } else { above }
}

/// The loop on each CPU, in runs of at most [`RUN`].
fn measure(
    store: &Store,
    options: &Tick,
    cpus: &[Option<u32>],
    on: Option<&OnThreshold>,
) -> Result<(Vec<Result<Recording, Error>>, bool), Error> {
    let select = vec![names::TICK.to_owned()];
    // The suite of that name has others.
    let mut offers = selection::select(&select)?;
    offers.retain(|offer| offer.probe.as_str() == names::TICK);
    // One run where it ends at a gap: the next would begin another trace.
    // What is refused says why in the recording, and takes no time of the loop's.
    let asks = on.is_none() && options.duration >= SHORTEST;
    let records = asks && tracepoints::available("tick").is_ok();
    let (pair, duration) =
        if records { (PAIR, Nanos::new(options.duration.get() / 2)) } else { (RUN, options.duration) };
    let runs = if on.is_some() { 1 } else { options.duration.get().div_euclid(pair.get() + 1) + 1 };
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    if asks {
        let millis = duration.get() / i64::from(runs) / 1_000_000;
        offers.extend(selection::select(&[format!("{}:ms={millis}", names::WITNESS)])?);
    }
    if options.osnoise {
        let seconds = (options.duration.get() / i64::from(runs) / 1_000_000_000).clamp(1, 10);
        offers.extend(selection::select(&[format!("{}:seconds={seconds}", names::OSNOISE)])?);
    }
    let mut random = rand::rng();
    let mut plan = |cpu: &Option<u32>| {
        let settings = Settings { cpu: *cpu, priority: options.priority, ..OnThreshold::settings(on) };
        let name = cpus::named(&own_name(options.name.as_deref()), *cpu, cpus.len());
        (name, plan::make(&offers, runs, Some(duration), settings, runs == 1, &mut random))
    };
    let plans: Vec<_> = cpus.iter().map(&mut plan).collect();
    let met_one = |recording: &Recording| {
        on.is_some_and(|on| {
            noise_of(recording).is_ok_and(|noise| met(on, &noise, options.duration).is_some())
        })
    };
    measured_here(store, &plans, &select, &met_one, None)
}

/// Shows several CPUs that were watched at the same time.
fn show_all(summary: &[(&Recording, Noise)], options: &Tick, stopped: bool) -> Result<(), Error> {
    if options.output.format == Format::Json {
        return print_pages(summary, options);
    }
    if let Some((first, _)) = summary.first() {
        let header = report::build(first, &|_| false, false).header;
        crate::command::print(&format!("{}\n\n", tickmark_render::report::header(&header)))?;
    }
    crate::command::print(&tickmark_render::noise::table(summary.iter().map(|(_, noise)| noise)))?;
    for (recording, noise) in summary {
        if let Some(predicted) = predicted(recording, noise, options) {
            crate::command::print(&format!(
                "\nCPU {}\n{}",
                noise.cpu,
                tickmark_render::what_if::text(&predicted)
            ))?;
        }
    }
    summary.iter().try_for_each(|(recording, _)| saved(recording, stopped, "tick --of"))
}

/// What another rate costs, and what ticks cost a program, where that was not the question.
fn next_commands(recording: &Recording, noise: &Noise, options: &Tick) -> Result<(), Error> {
    if options.output.format != Format::Text || !options.hz_what_if.is_empty() || noise.tick.is_err() {
        return Ok(());
    }
    let id = &recording.meta.id;
    let rates = crate::suggest::command(&format!("tick --of {id} --hz-what-if 100,1000"));
    crate::command::print(&format!(
        "\nother rates: {rates}\na program: {}\n",
        crate::suggest::command("hz -- COMMAND")
    ))
}

fn show(recording: &Recording, noise: &Noise, options: &Tick) -> Result<(), Error> {
    if options.output.format == Format::Json {
        return print_pages(&[(recording, noise)], options);
    }
    // What was asked is answered first.
    let answer = predicted(recording, noise, options).map_or_else(String::new, |predicted| {
        format!("{}\n\n", tickmark_render::what_if::text(&predicted).trim())
    });
    crate::command::print_framed(recording, &(answer + &tickmark_render::noise::text(noise)))
}

/// The same for programs.
fn print_pages<N: std::borrow::Borrow<Noise>>(
    summary: &[(&Recording, N)],
    options: &Tick,
) -> Result<(), Error> {
    let one = |(recording, noise): &(&Recording, N)| {
        let header = report::build(recording, &|_| false, false).header;
        CpuNoise::new(header, noise.borrow(), predicted(recording, noise.borrow(), options).as_ref())
    };
    crate::command::print_page(&TickPage::new(summary.iter().map(one).collect()))
}

/// Predicted cost of other rates, where it was requested.
fn predicted(recording: &Recording, noise: &Noise, options: &Tick) -> Option<WhatIf> {
    let asks = !options.hz_what_if.is_empty();
    asks.then(|| what_if::predict_rates(noise, recording, &options.hz_what_if, &options.mhz))
}

/// Carries out what was asked for at a gap of that length.
fn act(on: &OnThreshold, gap: &Gap, recording: &Recording, since: &str) -> Result<(), Error> {
    crate::notice!(
        "ended at a gap of {} ns, {:.6} s after {since}: {}",
        gap.length,
        gap.start / 1e9,
        gap.what.code()
    );
    let variables =
        [("TICKMARK_GAP_NS", gap.length.to_string()), ("TICKMARK_GAP", gap.what.code().to_owned())];
    on.act(recording, &variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_ended_the_loop_is_known_by_any_calibration() {
        // 400.3 ns in whole ones, and 10 ms by a rate that is 10 ppm higher.
        assert!(400.0 >= least(400.0, 0.0001) && 9_999_900.0 >= least(1e7, 0.5));
        // A loop that went on to its end had none.
        assert!(399.0 < least(400.0, 1.0) && 9_999_900.0 < least(1e7, 1.0) && 390.0 < least(400.0, 0.5));
    }
}
