//! Which functions of the kernel an operation's instructions are in.

use super::explained::{ExplainedSetting, ExplainedSettings, guest_label, kept_explanation, recording_name};
use super::{check_guests, guest_and_plan, guest_request, one_operation, operation_boot, plan_of};
use crate::cli::{Format, LabBoot, LabExplain};
use crate::command::report::OutputFile;
use crate::command::run;
use crate::error::{Code, Error};
use crate::progress::control;
use crate::selection;
use std::path::Path;
use tickmark_analysis::explain::Explanation;
use tickmark_drive::lab::{Bench, Machine};
use tickmark_drive::target::Guest;
use tickmark_lab::Need;
use tickmark_render::explain::{Explained, compared, flames, text};
use tickmark_render::json::ExplainPage;
use tickmark_store::Store;
use tickmark_wire::{Nanos, Plan};

/// How long is counted, in the guest's time: a hundred ticks, at 100 a second.
const SLICE: Nanos = Nanos::from_millis(1000);

pub(super) fn run(store: &Store, options: &LabExplain) -> Result<Code, Error> {
    // A name that is none is told before the minutes that a kernel may take.
    let metric = one_operation(&options.probe)?;
    if let (Some(path), Some(_)) = (&options.stacks, &options.against)
        && !is_drawing(path)
    {
        return Err(Error::Usage(
            "--stacks: folded stacks are one kernel's; with --against give FILE.svg, or explain each by itself"
                .to_owned(),
        ));
    }
    // And a file that cannot be written.
    let stacks = options.stacks.as_ref().map(|path| OutputFile::open("--stacks", path)).transpose()?;
    let page = options.file.as_ref().map(|path| OutputFile::open("--output", path)).transpose()?;
    let mut bench = Bench::new(control())?;
    let kernels: Vec<&String> = std::iter::once(&options.kernel).chain(&options.against).collect();
    let boots: Vec<LabBoot> =
        kernels.iter().map(|kernel| operation_boot(kernel, &options.probe, &options.guest)).collect();
    check_guests(&mut bench, boots.iter().map(guest_request))?;
    bench.check_plugin(&guest_request(&boots[0]))?;
    bench.kernels(kernels.iter().copied(), Need::Image)?;
    let guest = |boot| guest_of_one(&mut bench, boot);
    let guests = boots.into_iter().map(guest).collect::<Result<Vec<_>, _>>()?;
    let (mut recordings, mut all, mut failure) = (Vec::new(), Vec::new(), None);
    for (kernel, guest) in kernels.iter().zip(guests) {
        match explained(store, &bench, OfBoot::new(kernel, &metric), guest, options.cache.clone()) {
            Ok((recording, explanation)) => {
                recordings.push(recording);
                all.push(explanation);
            }
            // What is known of the first kernel is shown before that.
            Err(why) if !all.is_empty() => failure = Some(why),
            Err(why) => return Err(why),
        }
    }
    let all: Vec<Explained<'_>> = kernels.iter().map(|kernel| kernel.as_str()).zip(&all).collect();
    match options.output.format {
        Format::Json => crate::command::print_page(&ExplainPage::new(&all, &recordings))?,
        Format::Text => crate::command::print(&match all[..] {
            [before, after] => compared([before, after]),
            _ => all.iter().map(|one| text(*one)).collect::<String>(),
        })?,
    }
    if let Some(page) = page {
        page.write(&tickmark_render::explain::html(&all))?;
    }
    if let (Some(stacks), Some(path)) = (stacks, &options.stacks) {
        stacks.write(&call_tree(path, &all))?;
    }
    failure.map_or(Ok(Code::Done), Err)
}

/// A guest of an operation that is explained, and its plan.
pub(super) fn guest_of_one(bench: &mut Bench, boot: LabBoot) -> Result<(Guest, Plan), Error> {
    guest_and_plan(bench, &LabBoot { slice: Some(SLICE), ..boot })
}

/// What the machines of a matrix are to explain, with the caches of each; a name that is none is told before a kernel is built.
///
/// # Errors
/// A probe that is no operation, caches that are none or of nothing.
pub(in crate::command) fn check(machine: &Machine) -> Result<(), Error> {
    let in_file = |why: String| Error::Usage(format!("machine {}: {why}", machine.name));
    for probe in &machine.explain {
        one_operation(probe).map_err(|why| in_file(format!("explain: {why}")))?;
    }
    match &machine.caches {
        Some(_) if machine.explain.is_empty() => {
            Err(in_file("caches are those of what it explains, and there is no explain".to_owned()))
        }
        Some(caches) => crate::cli::caches(caches).map(drop).map_err(|why| in_file(format!("caches: {why}"))),
        None => Ok(()),
    }
}

/// A setting's guest.
pub(in crate::command) struct ExplainedGuest {
    /// As its recordings are named: the experiment, its machine, the setting.
    pub(in crate::command) name: String,
    pub(in crate::command) guest: Guest,
}

/// Explains an operation in guests of a machine, beside what is known of it.
///
/// # Errors
/// The work was interrupted. Where something is not to be explained, that is said in its place.
pub(in crate::command) fn settings(
    store: &Store,
    bench: &Bench,
    (machine, probe): (&Machine, &String),
    guests: Vec<ExplainedGuest>,
    of: &mut ExplainedSettings,
) -> Result<(), Error> {
    let metric = one_operation(probe)?;
    let caches = machine.caches.as_deref().and_then(|caches| crate::cli::caches(caches).ok());
    let plan = plan_of(&selection::select(std::slice::from_ref(probe))?, 1, SLICE);
    for ExplainedGuest { name, guest } in guests {
        let label = guest_label(&name);
        let of_boot = OfBoot { name: &name, kernel: &label, metric: &metric };
        match explained(store, bench, of_boot, (guest, plan.clone()), caches.clone()) {
            Ok((recording, explanation)) => of.all.push(ExplainedSetting { label, explanation, recording }),
            Err(why) if bench.control.stopped() => return Err(why),
            Err(why) => of.failed.push(format!("{metric} on {label} is not explained: {why}")),
        }
    }
    Ok(())
}

/// What a boot is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfBoot<'a> {
    /// What the recording is called by.
    pub(super) name: &'a str,
    /// As it was typed, or its setting.
    pub(super) kernel: &'a str,
    pub(super) metric: &'a str,
}

impl<'a> OfBoot<'a> {
    pub(super) fn new(kernel: &'a str, metric: &'a str) -> Self {
        Self { name: kernel, kernel, metric }
    }
}

/// The recording of a kernel's plain boot, and what the other boot says of a metric.
pub(super) fn explained(
    store: &Store,
    bench: &Bench,
    OfBoot { name, kernel, metric }: OfBoot<'_>,
    (guest, mut plan): (Guest, Plan),
    caches: Option<String>,
) -> Result<(String, Explanation), Error> {
    // CPUs take turns in the middle of each other's calls.
    if guest.machine.cpus > 1 {
        return Err(Error::Usage("instructions of several CPUs are not counted by function".to_owned()));
    }
    // Nothing beside it: neither its boot nor the counts are to be longer.
    plan.runs.retain(|run| run.metrics().any(|name| name.as_str() == metric));
    let plugin = bench.plugin(&guest, caches)?;
    let guest = guest.with_plugin(plugin);
    let recording =
        run::guest_recording(store, &bench.control, &guest, &plan, &recording_name(name), kernel)?;
    if bench.control.stopped() {
        return Err(Error::Refused("interrupted".to_owned()));
    }
    let explanation = kept_explanation(store, &recording)?
        .ok_or_else(|| Error::Refused(format!("{kernel}: the plugin wrote nothing")))?;
    Ok((recording.meta.id.to_string(), explanation))
}

fn is_drawing(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"))
}

/// The call tree of the last kernel: as a flame graph where the file is to be one.
fn call_tree(file: &Path, all: &[Explained<'_>]) -> String {
    if is_drawing(file) {
        return flames(all).pop().unwrap_or_default().svg();
    }
    let stacks = all.last().map_or_else(Vec::new, |(_, of)| of.calls.stacks());
    stacks.iter().map(|(names, own)| format!("{} {own}\n", names.join(";"))).collect()
}
