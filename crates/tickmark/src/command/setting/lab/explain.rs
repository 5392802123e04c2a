//! Which functions of the kernel an operation's instructions are in.

use super::guest_and_plan;
use crate::cli::{Format, LabBoot, LabExplain, Output, Speed};
use crate::command::{report, run};
use crate::error::{Code, Error};
use crate::progress::control;
use crate::selection;
use std::path::Path;
use tickmark_analysis::explain::{Explanation, explain};
use tickmark_drive::lab::Bench;
use tickmark_lab::Need;
use tickmark_render::explain::{Explained, compared, text};
use tickmark_render::json::ExplainPage;
use tickmark_render::plot::Flame;
use tickmark_store::Store;
use tickmark_wire::Nanos;

/// Instructions take 2^4 ns: 62.5 million a second.
const SHIFT: u8 = 4;
/// How long is counted, in the guest's time: a hundred ticks, at 100 a second.
const SLICE: Nanos = Nanos::from_millis(1000);

pub(super) fn run(store: &Store, options: &LabExplain) -> Result<Code, Error> {
    // A name that is none is told before the minutes that a kernel may take.
    let selected = selection::select(std::slice::from_ref(&options.probe))?;
    let metrics: Vec<&str> =
        selected.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.as_str()).collect();
    if metrics.len() != 1 {
        let some = metrics.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let (more, count) = (if metrics.len() > 3 { ", ..." } else { "" }, metrics.len());
        return Err(Error::Usage(format!(
            "{} names {count} operations ({some}{more}); name one",
            options.probe
        )));
    }
    let mut bench = Bench::new(control())?;
    let kernels: Vec<&String> = std::iter::once(&options.kernel).chain(&options.against).collect();
    bench.kernels(kernels.iter().copied(), Need::Image)?;
    let (mut recordings, mut all) = (Vec::new(), Vec::new());
    for kernel in &kernels {
        let (recording, explanation) = explained(store, &mut bench, kernel, metrics[0], options)?;
        recordings.push(recording);
        all.push(explanation);
    }
    let all: Vec<Explained<'_>> = kernels.iter().map(|kernel| kernel.as_str()).zip(&all).collect();
    if let (Some(file), [one]) = (&options.stacks, &all[..]) {
        report::write(file, &stacks(file, *one))?;
    }
    match options.output.format {
        Format::Json => crate::command::print_page(&ExplainPage::new(&all, &recordings))?,
        Format::Text => crate::command::print(&match all[..] {
            [before, after] => compared([before, after]),
            _ => all.iter().map(|one| text(*one)).collect::<String>(),
        })?,
    }
    Ok(Code::Done)
}

/// The recording of a kernel's plain boot, and what the other boot says.
fn explained(
    store: &Store,
    bench: &mut Bench,
    kernel: &str,
    metric: &str,
    options: &LabExplain,
) -> Result<(String, Explanation), Error> {
    let (guest, mut plan) = guest_and_plan(bench, &boot(kernel, options))?;
    // Nothing beside it: neither its boot nor the counts are to be longer.
    plan.runs.retain(|run| run.metrics().any(|name| name.as_str() == metric));
    let plugin = bench.plugin(&guest, options.cache.clone())?;
    let guest = guest.with_plugin(plugin);
    let name = format!("lab explain {kernel}");
    let (recording, transcript) = run::guest_recording(store, &bench.control, &guest, &plan, &name, kernel)?;
    if bench.control.stopped() {
        return Err(Error::Refused("interrupted".to_owned()));
    }
    let (names, counts) = guest.counts(&transcript)?;
    let explanation =
        explain(&recording, &counts, names).map_err(|why| Error::Refused(format!("{kernel}: {why}")))?;
    Ok((recording.meta.id.to_string(), explanation))
}

/// The boot of one of the kernels.
fn boot(kernel: &str, options: &LabExplain) -> LabBoot {
    LabBoot {
        select: vec![options.probe.clone()],
        kernel: kernel.to_owned(),
        speed: Speed::Mips(SHIFT),
        agent: options.agent,
        memory: None,
        cpus: 1,
        append: options.append.clone(),
        write: Vec::new(),
        module: Vec::new(),
        phase: None,
        runs: None,
        slice: Some(SLICE),
        limit: None,
        name: None,
        output: Output { format: options.output.format },
    }
}

/// The call tree: as a flame graph where the file is to be one.
fn stacks(file: &Path, (kernel, explanation): Explained<'_>) -> String {
    let folded = explanation.calls.folded();
    if file.extension().is_none_or(|ending| ending != "svg") {
        return folded;
    }
    let stack = |line: &str| {
        let (names, own) = line.rsplit_once(' ')?;
        Some((names.split(';').map(str::to_owned).collect(), own.parse().ok()?))
    };
    Flame {
        title: format!("{} on {kernel}, instructions by function", explanation.metric),
        unit: "instructions".to_owned(),
        stacks: folded.lines().filter_map(stack).collect(),
    }
    .svg()
}
