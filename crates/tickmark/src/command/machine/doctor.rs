//! Losses of this machine, and their causes; and whether a change helps.

use crate::cli::{Cli, Command, Doctor, DoctorFormat, Experiment};
use crate::command::experiment;
use crate::command::run::measured_here;
use crate::error::{Code, Error};
use crate::selection;
use clap::Parser;
use tickmark_analysis::doctor::{self, Check, Diagnosis, Outcome};
use tickmark_drive::experiment::ExperimentRequest;
use tickmark_drive::{knob, plan};
use tickmark_probe::sys::tracepoints;
use tickmark_store::did_you_mean;
use tickmark_store::{Entry, Recording, Store};
use tickmark_wire::{Nanos, Offer, Settings, names};

/// Time of an examination: all of it, and one check's probes.
const ALL: Nanos = Nanos::from_millis(8_000);
const ONE: Nanos = Nanos::from_millis(900);
/// Time in which the kernel's events are recorded, where they can be.
const WITNESSED: Nanos = Nanos::from_millis(1_200);
/// Runs of each probe.
const RUNS: u32 = 3;
/// Earlier recordings that say what is usual here.
const REMEMBERED: usize = 10;
/// Blocks of a proof.
const BLOCKS: &str = "10";
/// Where a check needs nothing but facts, this is measured all the same: a recording is one of something.
const CHEAP: &str = "syscall.null";

pub(in crate::command) fn run(store: &Store, options: &Doctor) -> Result<Code, Error> {
    let checks = chosen(&options.only)?;
    let (recording, stopped) = match &options.of {
        Some(name) => (store.find_for_doctor(name)?, false),
        None => measure_these(store, options.cpu, &checks, &[], !options.only.is_empty())?,
    };
    if let Some(from) = &recording.imported {
        return Err(Error::Usage(format!(
            "recording {} was measured by {}: it has nothing that a check looks at; `tickmark doctor` alone measures this machine",
            recording.meta.id, from.tool
        )));
    }
    let mut all = doctor::examine(&recording, &checks);
    doctor::remember(&mut all, &earlier(store, &recording));
    show(&recording, &all, options.format)?;
    if options.of.is_none() && options.format == DoctorFormat::Text {
        let id = &recording.meta.id;
        let again = crate::suggest::command(&format!("doctor --of {id}"));
        crate::command::print(&format!("\nsaved as {id}\n{again}\n"))?;
    }
    let blind = all.iter().all(|one| matches!(one.outcome, Outcome::NotVisible(_)));
    let found = all.iter().any(|one| matches!(one.outcome, Outcome::Found(_)));
    if options.prove {
        prove(store, options, &recording, &all)?;
    }
    Ok(match (stopped, found) {
        (true, _) => Code::Partly,
        (false, true) => Code::Differs,
        (false, false) if blind => Code::Unjudged,
        (false, false) => Code::Done,
    })
}

/// The checks that were named, or all.
pub(in crate::command) fn chosen(only: &[String]) -> Result<Vec<&'static Check>, Error> {
    if only.is_empty() {
        return Ok(doctor::checks().collect());
    }
    let one = |name: &String| {
        let unknown = || {
            let all: Vec<&str> = doctor::checks().map(|check| check.name).collect();
            let meant = tickmark_store::did_you_mean_or_all(name, &all);
            Error::Usage(format!("no check is called {name}{meant}"))
        };
        doctor::checks().find(|check| check.name == name).ok_or_else(unknown)
    };
    only.iter().map(one).collect()
}

/// A short recording of what the checks need, and of these metrics; and whether the user ended it.
pub(in crate::command) fn measure_these(
    store: &Store,
    cpu: Option<u32>,
    checks: &[&Check],
    metrics: &[&str],
    quick: bool,
) -> Result<(Recording, bool), Error> {
    let mut probes: Vec<&str> = checks.iter().flat_map(|check| check.probes).copied().collect();
    probes.sort_unstable();
    probes.dedup();
    if probes.is_empty() && metrics.is_empty() {
        probes.push(CHEAP);
    }
    let catalogue = selection::select(&["all".to_owned()])?;
    let own = |offer: &Offer| {
        let is_wanted = || offer.metrics.iter().any(|metric| metrics.contains(&metric.name.as_str()));
        probes.contains(&offer.probe.as_str()) || is_wanted()
    };
    let mut offers: Vec<Offer> = catalogue.into_iter().filter(own).collect();
    let known = |name: &&&str| {
        offers.iter().flat_map(|offer| &offer.metrics).any(|metric| metric.name.as_str() == **name)
    };
    if let Some(unknown) = metrics.iter().find(|name| !known(name)) {
        let all = selection::select(&["all".to_owned()])?;
        let names = all.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.as_str());
        let near = did_you_mean(unknown, names);
        return Err(Error::UnknownProbe { name: (*unknown).to_owned(), near });
    }
    let (runs, budget) = if quick { (1, ONE) } else { (RUNS, ALL) };
    if probes.contains(&names::TICK) {
        match tracepoints::available("doctor") {
            Ok(()) => {
                let millis = WITNESSED.get() / i64::from(runs) / 1_000_000;
                offers.extend(selection::select(&[format!("{}:ms={millis}", names::WITNESS)])?);
            }
            Err(why) => crate::command::nobody_named(&why),
        }
    }
    let settings = Settings { cpu, small: true, ..Settings::default() };
    let plan = plan::make(&offers, runs, Some(budget), settings, runs == 1, &mut rand::rng());
    let select = [tickmark_store::DOCTOR.to_owned()];
    let (mut made, stopped) =
        measured_here(store, &[(tickmark_store::DOCTOR.to_owned(), plan)], &select, &|_| false, None)?;
    Ok((made.swap_remove(0)?, stopped))
}

/// The last recordings before this one of the same, on the same machine.
fn earlier(store: &Store, recording: &Recording) -> Vec<Recording> {
    let own = Entry::from_recording(recording);
    let mut known = store.list().unwrap_or_default();
    known.retain(|entry| {
        entry.complete
            && entry.arm.is_none()
            && entry.signature == own.signature
            && entry.created < own.created
    });
    known.sort_by_key(|entry| std::cmp::Reverse(entry.created));
    known.iter().take(REMEMBERED).filter_map(|entry| store.read(&entry.id).ok()).collect()
}

fn show(recording: &Recording, all: &[Diagnosis], format: DoctorFormat) -> Result<(), Error> {
    match format {
        DoctorFormat::Text => crate::command::print_framed(recording, &tickmark_render::doctor::text(all)),
        DoctorFormat::Json => {
            crate::command::print_recorded(recording, tickmark_render::json::DoctorPage::new(all))
        }
        DoctorFormat::Prometheus => crate::command::write(&tickmark_render::doctor::open_metrics(all)),
    }
}

/// Tries the remedy: changes what was found and can be reversed, in interleaved blocks, on the probe that shows it or on a command.
fn prove(store: &Store, options: &Doctor, recording: &Recording, all: &[Diagnosis]) -> Result<(), Error> {
    // Where it was found: a governor, an idle state are those of a CPU.
    let cpu = recording.sessions.first().map_or(0, |session| session.settled.cpu).to_string();
    let proofs: Vec<_> = all.iter().filter_map(|one| Some((one.name, one.proof.as_ref()?))).collect();
    if proofs.is_empty() {
        return crate::command::print(
            "\nnothing was found that can be changed and put back here: nothing to prove\n",
        );
    }
    let command = (!options.command.is_empty()).then(|| timed(&options.command));
    for (name, proof) in proofs {
        crate::command::print(&format!("\nproving {name}: {}\n", proof.knob))?;
        let mut words =
            vec!["tickmark", "experiment", &proof.knob, "--blocks", BLOCKS, "--small", "--no-pilot"];
        match &command {
            Some(command) => words.extend(["--command", command]),
            None => words.extend([proof.probe, "--cpu", &cpu]),
        }
        // What a cause promises is asked of the same blocks.
        let removes = proof.removes.as_deref().filter(|_| command.is_none());
        words.extend(removes.map(|_| LOSSES));
        words.extend(removes.filter(|cause| doctor::promises_wake_ups(cause)).map(|_| WAKE_UPS));
        let experiment = match Cli::try_parse_from(&words).map(|cli| cli.command) {
            Ok(Command::Experiment(experiment)) => experiment,
            Ok(_) => continue,
            Err(error) => return Err(Error::Refused(error.to_string())),
        };
        let is_of_now = proof.removes.is_some() || proof.knob.starts_with("/sys/fs/cgroup");
        if is_of_now && options.of.is_some() {
            let why = "a recording's tasks, interrupts and cgroups are those of its time; `tickmark doctor --prove` looks now";
            crate::command::print(&format!("  not proved: {why}\n"))?;
            continue;
        }
        if command.is_some() && proof.knob.starts_with("policy=") {
            let why = "it would run your command in real time; `tickmark doctor --prove` without one measures a loop";
            crate::command::print(&format!("  not proved: {why}\n"))?;
            continue;
        }
        // One that cannot be changed here is told, and the next is tried.
        if let Err(error) = carry_out(store, &experiment, &words, &proof.knob, removes) {
            crate::command::print(&format!("  not proved: {error}\n"))?;
        }
    }
    Ok(())
}

/// The probe that sees by name what takes the CPU.
const LOSSES: &str = "tick.witness:ms=400";
/// The one that sees by name what wake-ups are late for.
const WAKE_UPS: &str = "timer.recorded:ahead=1000,method=nanosleep,class=plan,idle=free,ms=400";

/// Carries out an experiment that was made of these words: turns a knob, shows what that changes, and whether a cause's promise held.
fn carry_out(
    store: &Store,
    options: &Experiment,
    words: &[&str],
    knob: &str,
    removes: Option<&str>,
) -> Result<(), Error> {
    let request = ExperimentRequest::with_knob(knob::parse(knob)?);
    let carried = experiment::carry_out(store, options, request, false)?;
    if let (Some(cause), [with, without]) = (removes, &carried.recordings(store)?[..]) {
        let promises = doctor::promises(with, without, cause);
        crate::command::print(&(tickmark_render::doctor::promises(cause, &promises) + "\n"))?;
    }
    let with_more = |blocks| {
        let words = words.iter().map(|word| (*word).to_owned());
        crate::suggest::with_more(words, blocks) + &crate::suggest::named_store()
    };
    carried.show(store, options.format, with_more).map(drop)
}

/// A command line that prints how many seconds the user's command took.
fn timed(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    format!(
        "begin=$(date +%s%N); {} >/dev/null || exit 1; end=$(date +%s%N); echo $((end - begin))",
        quoted.join(" ")
    )
}
