//! Kernels in QEMU: building, booting one, two against each other, a matrix of them, and what a cost is made of.

pub(in crate::command) mod bisect;
pub(in crate::command) mod config_cost;
mod exact;
pub(in crate::command) mod explain;
pub(in crate::command) mod explained;
pub(in crate::command) mod gate;
mod limits;

use crate::cli::{Format, GuestArgs, Lab, LabBoot, LabKernels, Output, Speed};
use crate::command::pages::{LabDoctorPage, LabKernelsPage};
use crate::command::{boots, run};
use crate::error::{Code, Error};
use crate::progress::control;
use crate::selection;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::fmt::Write;
use tickmark_drive::lab::{Bench, GuestRequest, build};
use tickmark_drive::plan;
use tickmark_drive::target::Guest;
use tickmark_lab::{Accel, Cache, Component, Kernel, Module, Need};
use tickmark_store::{Store, did_you_mean};
use tickmark_wire::{Headline, Metric, Nanos, Offer, Plan, names};

/// Why an operation has no count.
const NO_FLOOR: &str = "no floor on this kernel: it lacks the operation, or each batch of it is as long as a tick, and `lab explain` has its average";

/// The kernels of the document, where none is named.
const DEFAULT: [&str; 4] = ["powerpc:hz=100", "powerpc:hz=1000", "x86_64:hz=100", "x86_64:hz=1000"];

pub(in crate::command) fn run(
    store: impl FnOnce() -> Result<Store, Error>,
    lab: &Lab,
) -> Result<Code, Error> {
    match lab {
        Lab::Doctor(options) => doctor(options.output.format),
        Lab::Kernels(options) => kernels(options),
        Lab::Boot(options) => boot(&store()?, options),
        Lab::Gate(options) => gate::run(&store()?, options),
        Lab::Explain(options) => explain::run(&store()?, options),
        Lab::Bisect(options) => bisect::run(&store()?, options),
        Lab::ConfigCost(options) => config_cost::run(&store()?, options),
        Lab::Run(options) => boots::lab_run(&store()?, options),
    }
}

/// Prints the parts that the lab needs, and the command that installs missing ones. A missing part is an answer and no failure.
fn doctor(format: Format) -> Result<Code, Error> {
    let all = tickmark_lab::inventory();
    if format == Format::Json {
        crate::command::print_page(&LabDoctorPage::new(&all))?;
        return Ok(Code::Done);
    }
    crate::command::print(&doctor_text(&all))?;
    Ok(Code::Done)
}

fn doctor_text(all: &[Component]) -> String {
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let short = |place: &str| match home.as_ref().and_then(|home| place.strip_prefix(home)) {
        Some(below) if below.starts_with('/') => format!("~{below}"),
        _ => place.to_owned(),
    };
    let (mut text, mut packages) = (String::new(), Vec::new());
    for component in all {
        let (status, detail) = match &component.found {
            Ok(place) => ("ok", short(place)),
            Err(missing) => {
                packages.extend(missing.packages.iter().map(String::as_str));
                ("missing", format!("{}\n{:34}needed for {}", missing.reason, "", component.needed_for))
            }
        };
        let _ = writeln!(text, "{:24} {status:8} {detail}", component.name);
    }
    packages.sort_unstable();
    packages.dedup();
    if !packages.is_empty() {
        let _ = writeln!(text, "\nTo install what is missing:\n  apt-get install {}", packages.join(" "));
    }
    text
}

fn kernels(options: &LabKernels) -> Result<Code, Error> {
    let names: Vec<String> = if options.kernels.is_empty() {
        DEFAULT.iter().map(|name| (*name).to_owned()).collect()
    } else {
        options.kernels.clone()
    };
    let wanted = names.iter().map(|name| name.parse()).collect::<Result<Vec<Kernel>, _>>()?;
    let cache = Cache::at(None)?;
    let need = if options.again { Need::Again } else { Need::Image };
    let control = control();
    let ends = control.clone();
    // Who does not read the answer does not want it: nothing is built on.
    std::thread::spawn(move || {
        tickmark_probe::sys::limits::reader_goes();
        ends.stop();
    });
    let built = build(&cache, &wanted, need, &control)?;
    if options.output.format == Format::Json {
        crate::command::print_page(&LabKernelsPage::new(&built))?;
        return Ok(Code::Done);
    }
    for built in &built {
        let how =
            built.seconds.map_or("in the cache".to_owned(), |seconds| format!("built in {seconds:.0} s"));
        crate::command::print(&format!("{}  {how}\n  {}\n", built.kernel, built.image.display()))?;
    }
    Ok(Code::Done)
}

/// One guest, as `tickmark run` has one machine.
fn boot(store: &Store, options: &LabBoot) -> Result<Code, Error> {
    limits::check(options)?;
    let mut bench = Bench::new(control())?;
    let (guest, plan) = guest_and_plan(&mut bench, options)?;
    let name = options.name.clone().unwrap_or_else(|| format!("lab {}", options.kernel));
    let (code, recording) = run::guest(store, &bench.control, &guest, &plan, &name, options)?;
    if bench.control.stopped() {
        Ok(code)
    } else {
        Ok(code.worse(limits::judge(store, &mut bench, options, &recording)?))
    }
}

/// Instructions take 2^4 ns where they are counted: 62.5 million a second.
const SHIFT: u8 = 4;

/// A boot of a kernel in which instructions are counted.
fn plain_boot(kernel: &str, select: Vec<String>, append: &str) -> LabBoot {
    LabBoot {
        select,
        kernel: kernel.to_owned(),
        speed: Speed::Mips(SHIFT),
        agent: None,
        memory: None,
        cpus: 1,
        append: append.to_owned(),
        write: Vec::new(),
        module: Vec::new(),
        phase: None,
        runs: None,
        slice: None,
        limit: None,
        max: Vec::new(),
        name: None,
        output: Output { format: Format::Text },
    }
}

/// That of one operation.
fn operation_boot(kernel: &str, probe: &str, guest: &GuestArgs) -> LabBoot {
    LabBoot { agent: guest.agent, ..plain_boot(kernel, vec![probe.to_owned()], &guest.append) }
}

/// The name of the one operation that a probe is.
///
/// # Errors
/// There is none of that name, or several.
pub(in crate::command) fn one_operation(probe: &String) -> Result<String, Error> {
    one_metric(probe).map(|metric| metric.name.to_string())
}

/// The same of one whose instructions are compared between kernels: the floor of its batches, or the tick.
///
/// # Errors
/// It has no floor.
fn one_counted(probe: &String) -> Result<String, Error> {
    let metric = one_metric(probe)?;
    if metric.headline == Headline::Floor {
        return Ok(metric.name.to_string());
    }
    Err(Error::Usage(format!(
        "{}: its figure is no floor of batches, which is what is counted and compared here; `{}` has the operations",
        metric.name,
        crate::suggest::command("list")
    )))
}

fn one_metric(probe: &String) -> Result<Metric, Error> {
    let selected = selection::select(std::slice::from_ref(probe))?;
    let all: Vec<&Metric> = selected.iter().flat_map(|offer| &offer.metrics).collect();
    if let [one] = all[..] {
        return Ok(one.clone());
    }
    let some = all.iter().take(3).map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ");
    // For the tick that is the loop that does nothing.
    let such = all
        .iter()
        .find(|metric| metric.name.as_str() == names::SPIN)
        .map_or(String::new(), |spin| format!(", such as {}", spin.name));
    let (more, count) = (if all.len() > 3 { ", ..." } else { "" }, all.len());
    Err(Error::Usage(format!("{probe} names {count} operations ({some}{more}); name one{such}")))
}

/// Refuses limits of paths that are not among those selected.
fn check_limits(limits: &[(String, f64)], selected: &[Offer]) -> Result<(), Error> {
    let measured: Vec<&str> =
        selected.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.as_str()).collect();
    if let Some((name, _)) = limits.iter().find(|(name, _)| !measured.contains(&name.as_str())) {
        let near = did_you_mean(name, measured.iter().copied());
        return Err(Error::Usage(format!("--max {name}: no such path is measured{near}")));
    }
    Ok(())
}

/// Refuses guests that cannot be made, or are of several architectures, before the minutes that their kernels may take.
fn check_guests<'a>(
    bench: &mut Bench,
    guests: impl IntoIterator<Item = GuestRequest<'a>>,
) -> Result<(), Error> {
    let guests = guests.into_iter().map(|guest| Ok(bench.check(&guest)?.1));
    let architectures = guests.collect::<Result<Vec<_>, Error>>()?;
    if architectures.iter().all(|arch| *arch == architectures[0]) {
        return Ok(());
    }
    Err(Error::Usage(
        "the kernels are of two architectures: their instructions are no measure of each other".to_owned(),
    ))
}

/// A guest, and what is measured in it.
fn guest_and_plan(bench: &mut Bench, options: &LabBoot) -> Result<(Guest, Plan), Error> {
    let selected = selection::select(&options.select)?;
    if options.phase.is_some() && options.speed == Speed::Host {
        return Err(Error::Usage("a phase is a part of a counted tick; --speed host has none".to_owned()));
    }
    // What cannot be is refused before the minutes that a kernel takes.
    bench.check(&guest_request(options))?;
    let need = if options.module.iter().any(Module::is_built) { Need::Modules } else { Need::Image };
    bench.kernels(std::iter::once(&options.kernel), need)?;
    let guest = bench.guest(guest_request(options))?;
    let slice = options.slice.unwrap_or(Nanos::from_millis(100));
    let mut plan = plan_of(&selected, options.runs.unwrap_or(1), slice);
    plan.settings.phase = options.phase.and_then(|(number, of)| guest.phase(number, of));
    Ok((guest, plan))
}

/// The guest that a boot's options describe.
fn guest_request(options: &LabBoot) -> GuestRequest<'_> {
    let accel = match options.speed {
        Speed::Host => Accel::Kvm,
        Speed::Mips(shift) => Accel::Icount { shift },
    };
    GuestRequest {
        kernel: options.kernel.clone(),
        agent: options.agent.map(Into::into),
        memory: options.memory,
        cpus: options.cpus,
        append: [&options.append, ""],
        writes: options.write.clone(),
        runs_command: false,
        files: &[],
        modules: options.module.clone(),
        accel,
        kernel_stamps: false,
        hz: None,
        phases: options.phase.map_or(1, |(_, of)| of),
        limit: options.limit.map(Nanos::to_duration),
    }
}

/// What a guest measures: each for a slice, so many times.
fn plan_of(selected: &[Offer], rounds: u32, slice: Nanos) -> Plan {
    let weight = plan::weight(selected);
    let all = Nanos::new(slice.get() * i64::from(weight) / 10 * i64::from(rounds));
    let mut random = StdRng::seed_from_u64(1);
    let settings = tickmark_wire::Settings { small: true, ..Default::default() };
    plan::make(selected, rounds, Some(all.max(Nanos::new(1))), settings, false, &mut random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_lab::Missing;

    #[test]
    fn what_is_missing_is_one_line_to_install() {
        let missing = |name: &str, packages: &[&str]| Component {
            name: name.to_owned(),
            needed_for: "booting guests",
            found: Err(Missing {
                reason: name.to_owned(),
                packages: packages.iter().map(|package| (*package).to_owned()).collect(),
            }),
        };
        let here = Component {
            name: "QEMU".to_owned(),
            needed_for: "guests",
            found: Ok("/usr/bin/qemu".to_owned()),
        };
        let text = doctor_text(std::slice::from_ref(&here));
        assert!(text.contains("/usr/bin/qemu") && !text.contains("apt-get"), "{text}");
        let text = doctor_text(&[here, missing("make", &["make", "gcc"]), missing("gcc", &["gcc"])]);
        assert!(
            text.ends_with("\n  apt-get install gcc make\n") && text.contains("needed for booting guests"),
            "{text}"
        );
    }
}
