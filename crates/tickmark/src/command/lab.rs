//! Kernels in QEMU: building, booting one, a matrix of them.

use super::matrix::{self, Shown};
use super::run;
use crate::cli::{CompareFormat, Lab, LabBoot, LabKernels, LabRun, Speed};
use crate::error::{Code, Error};
use crate::progress::control;
use crate::selection;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::path::Path;
use tickmark_drive::knob::distinct;
use tickmark_drive::lab::{self, Asked, Bench, Machine, Setting, Wanted, build, kernel_of};
use tickmark_drive::plan;
use tickmark_lab::{Accel, Built, Cache, Kernel};
use tickmark_store::{Id, Store};
use tickmark_wire::Nanos;

/// The kernels of the document, where none is named.
const DEFAULT: [&str; 4] = ["powerpc:hz=100", "powerpc:hz=1000", "x86_64:hz=100", "x86_64:hz=1000"];

pub(super) fn run(store: impl FnOnce() -> Result<Store, Error>, lab: &Lab) -> Result<Code, Error> {
    match lab {
        Lab::Kernels(asked) => kernels(asked),
        Lab::Boot(asked) => boot(&store()?, asked),
        Lab::Run(asked) => run_file(&store()?, asked),
    }
}

fn kernels(asked: &LabKernels) -> Result<Code, Error> {
    let names: Vec<String> = if asked.kernels.is_empty() {
        DEFAULT.iter().map(|name| (*name).to_owned()).collect()
    } else {
        asked.kernels.clone()
    };
    let wanted = names.iter().map(|name| name.parse()).collect::<Result<Vec<Kernel>, _>>()?;
    let cache = Cache::at(None)?;
    let built = build(&cache, &wanted, asked.again, &control())?;
    if asked.output.format == crate::cli::Format::Json {
        let row = |built: &Built| {
            serde_json::json!({
                "kernel": built.kernel.to_string(),
                "image": built.image,
                "config": built.config,
                "sha256": built.sha256,
                "seconds": built.seconds,
            })
        };
        super::print_json(&built.iter().map(row).collect::<Vec<_>>())?;
        return Ok(Code::Done);
    }
    for built in &built {
        let how =
            built.seconds.map_or("in the cache".to_owned(), |seconds| format!("built in {seconds:.0} s"));
        super::print(&format!("{}  {how}\n  {}\n", built.kernel, built.image.display()))?;
    }
    Ok(Code::Done)
}

/// One guest, as `tickmark run` has one machine.
fn boot(store: &Store, asked: &LabBoot) -> Result<Code, Error> {
    let selected = selection::select(&asked.select)?;
    let mut bench = Bench::new(control())?;
    let accel = match asked.speed {
        Speed::Host => Accel::Kvm,
        Speed::Mips(shift) => Accel::Icount { shift },
    };
    let wanted = || Wanted {
        kernel: asked.kernel.clone(),
        agent: asked.agent.map(Into::into),
        memory: asked.memory,
        append: [&asked.append, ""],
        writes: asked.write.clone(),
        accel,
        kernel_stamps: false,
        hz: None,
        phases: asked.phase.map_or(1, |(_, of)| of),
        limit: asked.limit.map(Nanos::to_duration),
    };
    if asked.phase.is_some() && asked.speed == Speed::Host {
        return Err(Error::Usage("a phase is a part of a counted tick; --speed host has none".to_owned()));
    }
    // What cannot be is refused before the minutes that a kernel takes.
    bench.check(&wanted())?;
    bench.kernels(std::iter::once(&asked.kernel))?;
    let guest = bench.guest(wanted())?;
    let rounds = asked.runs.unwrap_or(1);
    let weight = plan::weight(&selected);
    let slice = asked.slice.unwrap_or(Nanos::from_millis(100));
    let all = Nanos::new(slice.get() * i64::from(weight) / 10 * i64::from(rounds));
    let mut random = StdRng::seed_from_u64(1);
    let settings = tickmark_wire::Settings { small: true, ..Default::default() };
    let mut plan = plan::make(&selected, rounds, Some(all.max(Nanos::new(1))), settings, false, &mut random);
    plan.settings.phase = asked.phase.and_then(|(number, of)| guest.phase(number, of));
    let name = asked.name.clone().unwrap_or_else(|| format!("lab {}", asked.kernel));
    run::guest(store, &bench.control, &guest, &plan, &name, asked)
}

fn run_file(store: &Store, asked: &LabRun) -> Result<Code, Error> {
    let mut from = lab::read(&asked.file)?;
    // Everything that it names, also what is not asked for now.
    for machine in &from.machines {
        let place = format!("{}: machine {}", asked.file.display(), machine.name);
        selection::select(&machine.probes).map_err(|error| Error::Usage(format!("{place}: {error}")))?;
        for setting in from.settings.iter().filter(|_| machine.target.is_none()) {
            let kernel = kernel_of(machine, setting);
            if !Path::new(&kernel).is_file() {
                let parsed = kernel.parse::<Kernel>();
                parsed.map_err(|error| {
                    let name = &setting.name;
                    Error::Usage(format!("{place}, setting {name}: {kernel:?} is no file, and {error}"))
                })?;
            }
        }
    }
    if let Some(phases) = asked.phases {
        from.phases = phases;
        from.machines.iter_mut().for_each(|machine| machine.phases = Some(phases));
    }
    if let Some(slice) = asked.slice {
        from.slice = slice;
    }
    if !asked.select.is_empty() {
        from.machines.iter_mut().for_each(|machine| machine.probes.clone_from(&asked.select));
    }
    if !asked.machine.is_empty() {
        let known = from.machines.iter().map(|machine| machine.name.clone()).collect::<Vec<_>>().join(", ");
        let unknown = |name: &&String| !from.machines.iter().any(|machine| machine.name == **name);
        let unknown = asked.machine.iter().find(unknown).cloned();
        from.machines.retain(|machine| asked.machine.contains(&machine.name));
        if unknown.is_some() {
            return Err(Error::Usage(format!(
                "no machine of that name in {}; it has {known}",
                asked.file.display()
            )));
        }
    }
    let resumed = asked.resume.as_ref().map(|name| together(store, name)).transpose()?;
    let limit = asked.limit.map(Nanos::to_duration);
    let (code, models) = matrix::carry_out(
        store,
        &from,
        resumed,
        Shown { limit, format: asked.format, fail_on: asked.fail_on },
    )?;
    if asked.format == CompareFormat::Json {
        super::print_json(&models.iter().map(tickmark_render::comparison::json).collect::<Vec<_>>())?;
    }
    Ok(code)
}

/// The recordings that were made together with one, in the order of their settings; with what their names begin with.
fn together(store: &Store, name: &str) -> Result<(String, Vec<Id>), Error> {
    let one = store.find(name)?;
    let none = || Error::Usage(format!("recording {} belongs to no matrix that could go on", one.meta.id));
    let arm = one.meta.arm.as_ref().ok_or_else(none)?;
    let begin = one.meta.name.strip_suffix(&arm.setting).ok_or_else(none)?;
    let mut all = Vec::new();
    for entry in store.list()? {
        let other = store.read(&entry.id)?;
        let same = other.meta.arm.as_ref().filter(|other| other.experiment == arm.experiment && !other.pilot);
        all.extend(same.map(|arm| (arm.number, entry.id.clone())));
    }
    all.sort();
    Ok((begin.trim_end_matches(':').to_owned(), all.into_iter().map(|(_, id)| id).collect()))
}

/// The kernels that an experiment is to turn.
pub(super) fn kernels_of(asked: &crate::cli::Experiment) -> Option<&str> {
    asked.what.as_deref()?.strip_prefix("kernel=")
}

/// `tickmark experiment kernel=A,B`: the same with the settings of the command line.
pub(super) fn as_experiment(
    store: &Store,
    asked: &crate::cli::Experiment,
    kernels: &str,
) -> Result<Code, Error> {
    let settings: tickmark_wire::Settings = (&asked.settings).into();
    let here = settings != tickmark_wire::Settings { small: settings.small, ..Default::default() };
    if here || asked.command.is_some() || asked.width.is_some() || asked.budget.is_some() {
        return Err(Error::Usage(
            "kernels are booted in guests: --cpu, --priority, --slack, --command, --width and --budget are for this machine"
                .to_owned(),
        ));
    }
    let names: Vec<String> = kernels.split(',').map(|name| name.trim().to_owned()).collect();
    distinct("kernel", &names)?;
    let settings =
        names.iter().map(|name| Setting { name: name.clone(), kernel: name.clone(), ..Setting::default() });
    let machine = Machine {
        name: "kernel".to_owned(),
        kernel: String::new(),
        target: None,
        ssh: Vec::new(),
        identity: None,
        boot_limit: None,
        agent: None,
        memory: None,
        append: String::new(),
        probes: asked.select.clone(),
        speeds: vec![62.5],
        phases: Some(asked.blocks.unwrap_or(5)),
        kernel_stamps: false,
    };
    let from = Asked {
        name: asked.name.clone().unwrap_or_else(|| "kernel".to_owned()),
        answers: None,
        phases: 5,
        slice: Nanos::from_millis(100),
        margin: asked.margin.unwrap_or(0.01),
        report: Vec::new(),
        settings: settings.collect(),
        machines: vec![machine],
    };
    let (code, models) = matrix::carry_out(
        store,
        &from,
        None,
        Shown { limit: None, format: asked.format, fail_on: asked.fail_on },
    )?;
    if asked.format == CompareFormat::Json {
        models.iter().try_for_each(|model| super::print_json(&tickmark_render::comparison::json(model)))?;
    }
    Ok(code)
}
