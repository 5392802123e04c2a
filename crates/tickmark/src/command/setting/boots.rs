//! Experiments whose settings are booted: a file of them, or kernels that are named.

use crate::cli::{CompareFormat, Experiment, LabRun};
use crate::command::lab::explained::ExplainedSettings;
use crate::command::matrix::{self, MatrixOutput};
use crate::command::pages::LabRunPage;
use crate::error::{Code, Error};
use crate::selection;
use std::path::Path;
use tickmark_drive::file;
use tickmark_drive::knob::distinct;
use tickmark_drive::lab::{Machine, MatrixRequest, Setting, kernel_of};
use tickmark_lab::Kernel;
use tickmark_store::{Entry, Id, Store};
use tickmark_wire::Nanos;

/// `tickmark lab run FILE`.
pub(in crate::command) fn lab_run(store: &Store, options: &LabRun) -> Result<Code, Error> {
    match file::read(&options.file)? {
        file::ExperimentFile::Booted(from) => carry_out(store, from, options),
        file::ExperimentFile::Here(_) | file::ExperimentFile::Launched(_) => {
            let file = options.file.display();
            Err(Error::Usage(format!("{file} boots nothing: tickmark experiment {file}")))
        }
    }
}

/// `tickmark experiment FILE`, where the file boots its settings.
pub(in crate::command) fn experiment(
    store: &Store,
    options: &Experiment,
    file: &Path,
    from: MatrixRequest,
) -> Result<Code, Error> {
    boots_only(options)?;
    if options.name.is_some() {
        return Err(Error::Usage(
            "its recordings have the names of its machines: leave --name out".to_owned(),
        ));
    }
    let run = LabRun {
        file: file.to_owned(),
        select: options.select.clone(),
        machine: Vec::new(),
        blocks: options.blocks,
        slice: None,
        limit: None,
        resume: None,
        margin: options.margin,
        fail_on: options.fail_on,
        format: options.format,
    };
    carry_out(store, from, &run)
}

/// Refuses options that mean nothing where settings are booted.
fn boots_only(options: &Experiment) -> Result<(), Error> {
    let settings: tickmark_wire::Settings = (&options.settings).into();
    if settings != tickmark_wire::Settings::default()
        || options.command.is_some()
        || options.width.is_some()
        || options.budget.is_some()
        || options.more.is_some()
    {
        return Err(Error::Usage(
            "its settings are booted: --cpu, --priority, --slack, --small, --command, --width, --budget and --more are for what is turned here"
                .to_owned(),
        ));
    }
    Ok(())
}

fn carry_out(store: &Store, mut from: MatrixRequest, options: &LabRun) -> Result<Code, Error> {
    // Everything that it names, also what is not asked for now.
    for machine in &from.machines {
        let place = format!("{}: machine {}", options.file.display(), machine.name);
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
    if let Some(blocks) = options.blocks {
        from.machines.iter_mut().for_each(|machine| machine.blocks = Some(blocks));
    }
    from.slice = options.slice.unwrap_or(from.slice);
    from.margin = options.margin.unwrap_or(from.margin);
    if !options.select.is_empty() {
        for machine in &mut from.machines {
            machine.probes.clone_from(&options.select);
            machine.explain.retain(|probe| options.select.contains(probe));
            machine.caches = machine.caches.take().filter(|_| !machine.explain.is_empty());
        }
    }
    if !options.machine.is_empty() {
        let known = from.machines.iter().map(|machine| machine.name.clone()).collect::<Vec<_>>().join(", ");
        let unknown = |name: &&String| !from.machines.iter().any(|machine| machine.name == **name);
        let unknown = options.machine.iter().find(unknown).cloned();
        from.machines.retain(|machine| options.machine.contains(&machine.name));
        if unknown.is_some() {
            return Err(Error::Usage(format!(
                "no machine of that name in {}; it has {known}",
                options.file.display()
            )));
        }
    }
    let resumed = options.resume.as_ref().map(|name| together(store, name)).transpose()?;
    let limit = options.limit.map(Nanos::to_duration);
    let (code, made) = matrix::carry_out(
        store,
        &from,
        resumed,
        MatrixOutput { limit, file: Some(&options.file), format: options.format, fail_on: options.fail_on },
    )?;
    if options.format == CompareFormat::Json {
        crate::command::print_page(&LabRunPage::new(
            made.iter().map(matrix::MachineOutcome::page).collect(),
            made.iter().flat_map(|made| &made.explained).map(ExplainedSettings::page).collect(),
            made.iter().flat_map(|made| &made.explained).flat_map(|of| of.failed.clone()).collect(),
        ))?;
    }
    Ok(code)
}

/// The recordings that were made together with one, in the order of their settings; with what their names begin with.
fn together(store: &Store, name: &str) -> Result<(String, Vec<Id>), Error> {
    let one = store.find(name)?;
    let none = || Error::Usage(format!("recording {} is not part of an interrupted matrix", one.meta.id));
    let arm = one.meta.arm.as_ref().ok_or_else(none)?;
    let begin = one.meta.name.strip_suffix(&arm.setting).ok_or_else(none)?;
    let entries = store.list()?.into_iter();
    let number = |entry: Entry| {
        let own = entry.arm.filter(|other| other.experiment == arm.experiment && !other.pilot)?;
        Some((own.number, entry.id))
    };
    let mut all: Vec<(u32, Id)> = entries.filter_map(number).collect();
    all.sort();
    Ok((begin.trim_end_matches(':').to_owned(), all.into_iter().map(|(_, id)| id).collect()))
}

/// `tickmark experiment kernel=A,B`.
pub(in crate::command) fn kernels(store: &Store, options: &Experiment, kernels: &str) -> Result<Code, Error> {
    boots_only(options)?;
    let names: Vec<String> = kernels.split(',').map(|name| name.trim().to_owned()).collect();
    distinct("kernel", &names)?;
    let settings =
        names.iter().map(|name| Setting { name: name.clone(), kernel: name.clone(), ..Setting::default() });
    let name = options.name.clone().unwrap_or_else(|| "kernel".to_owned());
    let machine = Machine {
        name: name.clone(),
        probes: options.select.clone(),
        speeds: vec![62.5],
        blocks: Some(options.blocks.unwrap_or(5)),
        ..Machine::default()
    };
    let from = MatrixRequest {
        name,
        answers: None,
        blocks: 5,
        slice: Nanos::from_millis(100),
        margin: options.margin.unwrap_or(0.01),
        report: Vec::new(),
        settings: settings.collect(),
        machines: vec![machine],
    };
    let (code, made) = matrix::carry_out(
        store,
        &from,
        None,
        MatrixOutput { limit: None, file: None, format: options.format, fail_on: options.fail_on },
    )?;
    if options.format == CompareFormat::Json {
        made.iter().try_for_each(|made| crate::command::print_page(&made.page()))?;
    }
    Ok(code)
}
