//! `lab boot --max PROBE=INSTRUCTIONS`: a gate of one kernel, which names the functions that grew.

use super::exact::in_words;
use super::explain::{OfBoot, explained, guest_of_one};
use super::explained::{guest_facts, kept_explanation, kernel_of, newest, recording_name};
use super::{NO_FLOOR, check_limits, gate, plain_boot};
use crate::cli::{Format, LabBoot, Speed};
use crate::error::{Code, Error};
use crate::selection;
use tickmark_analysis::explain::{Explanation, Interrupt};
use tickmark_drive::lab::Bench;
use tickmark_render::explain::{compared, text};
use tickmark_store::{Entry, Recording, Store};
use tickmark_wire::names;

/// Facts of a guest that are its kernel's.
const OF_KERNEL: [&str; 2] = ["guest.kernel", "guest.image"];
/// Earlier boots that are looked at: those of all guests have one name.
const LOOKED_AT: usize = 1024;
/// Instructions by which two counts are one.
const SAME: f64 = 0.5;

/// Refuses limits of what is not measured, before the minutes that a kernel may take, and of times that are no counts.
pub(super) fn check(options: &LabBoot) -> Result<(), Error> {
    if !options.max.is_empty() && options.cpus > 1 {
        return Err(Error::Usage(
            "--max counts the instructions of one CPU, and --cpus says more".to_owned(),
        ));
    }
    if !options.max.is_empty() && options.speed == Speed::Host {
        return Err(Error::Usage("--max counts instructions, and --speed host does not".to_owned()));
    }
    check_limits(&options.max, &selection::select(&options.select)?)
}

/// Says which paths are above their limits, and which of their functions grew; one without a count is no pass.
pub(super) fn judge(
    store: &Store,
    bench: &mut Bench,
    options: &LabBoot,
    recording: &Recording,
) -> Result<Code, Error> {
    if options.max.is_empty() {
        return Ok(Code::Done);
    }
    let counted = gate::instructions(recording)?;
    let mut code = Code::Done;
    for (metric, most) in &options.max {
        // The floor of a loop has no tick.
        let tick = (metric == names::SPIN).then(|| explained_now(store, bench, options, metric)).transpose();
        let counted = match &tick {
            Err(why) if bench.control.stopped() => return Err(Error::Refused(why.to_string())),
            Err(why) => Err(why.to_string()),
            Ok(Some(tick)) => count_of(tick).ok_or_else(|| "no tick came".to_owned()),
            Ok(None) => counted.get(metric).copied().ok_or_else(|| NO_FLOOR.to_owned()),
        };
        let (count, tick) = match (counted, tick) {
            (Ok(count), Ok(tick)) => (count, tick),
            (counted, _) => {
                let why = counted.err().unwrap_or_default();
                crate::notice!("tickmark: --max {metric}: {why}");
                code = code.worse(Code::Unjudged);
                continue;
            }
        };
        let is_above = count > *most;
        if is_above {
            code = Code::Differs.worse(code);
            let what = in_words(metric);
            crate::notice!("tickmark: {what} takes {count:.1} instructions, above --max {most}");
        }
        match by_function(store, bench, (options, recording), (metric, count, *most), tick) {
            Ok(functions) if options.output.format == Format::Text => crate::command::print(&functions)?,
            // The recording is one value.
            Ok(functions) => crate::notice!("{}", functions.trim_end()),
            Err(why) if bench.control.stopped() => return Err(why),
            // The verdict does not need it.
            Err(_) if !is_above => {}
            Err(why) => crate::notice!("tickmark: the functions of {metric} are not known: {why}"),
        }
    }
    Ok(code)
}

/// What grew since the last kernel that was within the limit, or what there is where none is known. Nothing is said of what passes: it is
/// explained where its count is new, so that what grows later is known.
fn by_function(
    store: &Store,
    bench: &mut Bench,
    (options, recording): (&LabBoot, &Recording),
    (metric, count, most): (&str, f64, f64),
    now: Option<Explanation>,
) -> Result<String, Error> {
    let kernel = &options.kernel;
    let passed = last_within(store, recording, (metric, most))?;
    let is_above = count > most;
    if !is_above && passed.as_ref().is_some_and(|passed| (passed.count - count).abs() < SAME) {
        return Ok(String::new());
    }
    let now = match now {
        Some(now) => now,
        None => explained_now(store, bench, options, metric)?,
    };
    Ok(match passed {
        _ if !is_above => String::new(),
        Some(PassedKernel { label, explanation, .. }) => {
            format!("\n{}", compared([(&label, &explanation), (kernel, &now)]))
        }
        None => format!("\n{}", text((kernel, &now))),
    })
}

/// What the boot's kernel executes for a metric.
fn explained_now(
    store: &Store,
    bench: &mut Bench,
    options: &LabBoot,
    metric: &str,
) -> Result<Explanation, Error> {
    let kernel = &options.kernel;
    let boot = LabBoot {
        agent: options.agent,
        memory: options.memory,
        cpus: options.cpus,
        speed: options.speed,
        write: options.write.clone(),
        module: options.module.clone(),
        limit: options.limit,
        ..plain_boot(kernel, vec![metric.to_owned()], &options.append)
    };
    let guest = guest_of_one(bench, boot)?;
    let of_boot = OfBoot { name: &boot_name(metric), kernel, metric };
    explained(store, bench, of_boot, guest, None).map(|(_, now)| now)
}

/// What the recordings of boots that explain a limit are named by.
fn boot_name(metric: &str) -> String {
    format!("--max {metric}")
}

/// Instructions that a limit is held against, of a tick.
fn count_of(tick: &Explanation) -> Option<f64> {
    tick.tick().map(Interrupt::median)
}

/// A kernel whose path was within its limit.
struct PassedKernel {
    label: String,
    count: f64,
    explanation: Explanation,
}

/// The last one of this store in the same guest; earlier boots that cannot be used are none.
fn last_within(
    store: &Store,
    recording: &Recording,
    (metric, most): (&str, f64),
) -> Result<Option<PassedKernel>, Error> {
    let facts = |recording: &Recording| {
        let mut facts = guest_facts(recording);
        OF_KERNEL.iter().for_each(|name| drop(facts.remove(*name)));
        facts
    };
    let own = facts(recording);
    let passed = |entry: &Entry| {
        let before = store.read(&entry.id).ok().filter(|before| facts(before) == own)?;
        let label = format!("{} (recording {})", kernel_of(&before), before.meta.id.short());
        let explanation = kept_explanation(store, &before).ok()??;
        let count = match metric {
            names::SPIN => count_of(&explanation),
            metric => gate::instructions(&before).ok()?.get(metric).copied(),
        };
        Some(PassedKernel { label, count: count.filter(|count| *count <= most)?, explanation })
    };
    // This kernel's own boot, where it was explained just now, is no earlier one.
    let own = recording.meta.created;
    let mut before = newest(&store.list()?, &recording_name(&boot_name(metric)), LOOKED_AT);
    before.retain(|entry| entry.created < own);
    Ok(before.iter().find_map(passed))
}
