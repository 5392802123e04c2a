//! `lab boot --max PROBE=INSTRUCTIONS`: a gate of one kernel, which names the functions that grew.

use super::explain::{OfBoot, explained, guest_of_one};
use super::explained::{kept, recording_name};
use super::{gate, plain_boot};
use crate::cli::{Format, LabBoot, Speed};
use crate::error::{Code, Error};
use crate::selection;
use tickmark_analysis::explain::Explanation;
use tickmark_drive::lab::Bench;
use tickmark_render::explain::{compared, text};
use tickmark_store::{Recording, Store, did_you_mean};

/// Refuses limits of what is not measured, before the minutes that a kernel may take, and of times that are no counts.
pub(super) fn check(options: &LabBoot) -> Result<(), Error> {
    if !options.max.is_empty() && options.speed == Speed::Host {
        return Err(Error::Usage("--max counts instructions, and --speed host does not".to_owned()));
    }
    let selected = selection::select(&options.select)?;
    let measured: Vec<&str> =
        selected.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.as_str()).collect();
    if let Some((name, _)) = options.max.iter().find(|(name, _)| !measured.contains(&name.as_str())) {
        let near = did_you_mean(name, measured.iter().copied());
        return Err(Error::Usage(format!("--max {name}: no such path is measured{near}")));
    }
    Ok(())
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
        let Some(count) = counted.get(metric) else {
            anstream::eprintln!("tickmark: --max {metric}: it was not measured on this kernel");
            code = code.worse(Code::Unjudged);
            continue;
        };
        let is_above = count > most;
        if is_above {
            code = Code::Differs.worse(code);
            anstream::eprintln!("tickmark: {metric} takes {count:.1} instructions, above --max {most}");
        }
        match by_function(store, bench, options, (metric, *most, is_above)) {
            Ok(functions) if options.output.format == Format::Text => crate::command::print(&functions)?,
            // The recording is one value.
            Ok(functions) => anstream::eprint!("{functions}"),
            Err(why) if bench.control.stopped() => return Err(why),
            // The verdict does not need it.
            Err(why) => anstream::eprintln!("tickmark: the functions of {metric} are not known: {why}"),
        }
    }
    Ok(code)
}

/// What grew since a kernel was within the limit, or what there is where none is known; nothing of what passes, which is explained once, so
/// that what grows later is known.
fn by_function(
    store: &Store,
    bench: &mut Bench,
    options: &LabBoot,
    (metric, most, is_above): (&str, f64, bool),
) -> Result<String, Error> {
    let boot = LabBoot {
        agent: options.agent,
        memory: options.memory,
        cpus: options.cpus,
        write: options.write.clone(),
        module: options.module.clone(),
        ..plain_boot(&options.kernel, vec![metric.to_owned()], &options.append)
    };
    let guest = guest_of_one(bench, boot)?;
    let name = format!("--max {metric}, {}", guest.0.machine);
    let passed = last_within(store, &recording_name(&name), metric, most)?;
    if !is_above && passed.is_some() {
        return Ok(String::new());
    }
    let kernel = &options.kernel;
    let (_, now) = explained(store, bench, OfBoot { name: &name, kernel, metric }, guest, None)?;
    Ok(match passed {
        _ if !is_above => String::new(),
        Some((before, passed)) => "\n".to_owned() + &compared([(&before, &passed), (kernel, &now)]),
        None => "\n".to_owned() + &text((kernel, &now)),
    })
}

/// The last boot of this name whose path was within the limit.
fn last_within(
    store: &Store,
    name: &str,
    metric: &str,
    most: f64,
) -> Result<Option<(String, Explanation)>, Error> {
    let mut entries = store.list()?;
    entries.retain(|entry| entry.name == name);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
    for entry in entries {
        let recording = store.read(&entry.id)?;
        let is_within = gate::instructions(&recording)?.get(metric).is_some_and(|count| *count <= most);
        if let (true, Some(explanation)) = (is_within, kept(store, &recording)?) {
            return Ok(Some((format!("the kernel of recording {}", entry.id.short()), explanation)));
        }
    }
    Ok(None)
}
