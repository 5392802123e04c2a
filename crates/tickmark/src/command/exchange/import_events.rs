//! The events of an agent, written on another system, become the recording that they are.

use crate::error::Error;
use std::collections::{HashMap, HashSet};
use tickmark_drive::ThisMachine;
use tickmark_store::{Id, Meta, Store};
use tickmark_wire::{
    Better, Event, FORMAT, Group, Metric, Name, Nanos, Observations, Plan, RunPlan, Settings, Started, Unit,
};

/// Result of one stream.
pub(in crate::command) struct ImportedStream {
    pub(in crate::command) id: Id,
    pub(in crate::command) name: String,
    pub(in crate::command) runs: usize,
    pub(in crate::command) metrics: usize,
    /// Lines that are no event.
    pub(in crate::command) warnings: Vec<String>,
}

/// A stream of more metrics is none of an agent's.
const MOST_METRICS: usize = 5_000;

/// True if a text is such a stream.
pub(in crate::command) fn is(text: &str) -> bool {
    text.trim_start().starts_with("{\"hello\":")
}

/// Keeps the events of a text, each as it came.
///
/// # Errors
/// It names no run, or cannot be kept.
pub(in crate::command) fn keep(
    store: &Store,
    file: &str,
    text: &str,
    name: Option<&str>,
) -> Result<ImportedStream, Error> {
    let (mut warnings, mut plan, mut host) =
        (Vec::new(), Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() }, None);
    let known: Vec<Metric> =
        ThisMachine::catalogue(&[])?.offers.into_iter().flat_map(|offer| offer.metrics).collect();
    let (mut runs, mut named) = (HashMap::new(), HashSet::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match Event::parse(line.as_bytes()) {
            Ok(Event::Hello(hello)) => {
                host = host.or(hello.environment.get("host.name").map(str::to_owned));
                plan.settings = hello.settings;
            }
            // Numbers that come again are of another stream, appended to this one: nobody could tell their observations apart.
            Ok(Event::Started(started)) if runs.contains_key(&started.run) => {
                return Err(Error::Usage(format!(
                    "{file} line {number} begins run {} again: give the events of one call of the agent; nothing was imported",
                    started.run.0
                )));
            }
            Ok(Event::Started(started)) => {
                runs.insert(started.run, plan.runs.len());
                plan.runs.push(planned(&started));
            }
            Ok(Event::Observed(observed)) => {
                // Agents of earlier versions do not say what a run gives.
                let own = runs.get(&observed.run).map(|at| &mut plan.runs[*at]);
                if let Some(run) = own.filter(|run| !run.gives(&observed.metric)) {
                    run.gives.push(observed.metric.clone());
                }
                if !named.insert(observed.metric.clone()) {
                    continue;
                }
                if named.len() > MOST_METRICS {
                    return Err(Error::Usage(format!(
                        "{file} has more than {MOST_METRICS} metrics; nothing was imported"
                    )));
                }
                plan.metrics.push(metric(&observed.metric, &observed.observations, &known));
            }
            Ok(_) => {}
            Err(why) => warnings.push(format!("{file} line {number}: {why}")),
        }
    }
    if plan.runs.is_empty() {
        return Err(Error::Usage(format!("{file} has the events of no run; nothing was imported")));
    }
    // A probe of which nothing was seen is shown with its reason.
    for run in &plan.runs {
        if !run.metrics().any(|name| named.contains(name)) {
            let name = run.metrics().next().unwrap_or(&run.probe);
            named.insert(name.clone());
            plan.metrics.push(defined(name, Unit::Time, &known));
        }
    }
    let host = name.map(str::to_owned).or(host).unwrap_or_else(|| file.to_owned());
    let (runs, metrics) = (plan.runs.len(), plan.metrics.len());
    let meta = Meta {
        format: FORMAT,
        id: Id::random(),
        name: host.clone(),
        created: jiff::Timestamp::now(),
        program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
        select: Vec::new(),
        plan,
        arm: None,
        target: Some(format!("another system, whose events {file} has")),
    };
    let mut writer = store.create(&meta)?;
    let folder = writer.folder().to_owned();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let written = lines.map(|line| line.as_bytes().to_vec()).try_for_each(|line| writer.keep(line, false));
    if let Err(error) = written.and_then(|()| writer.finish()) {
        store.discard(&meta.id);
        return Err(error.into());
    }
    store.index(&folder);
    Ok(ImportedStream { id: meta.id, name: host, runs, metrics, warnings })
}

fn planned(started: &Started) -> RunPlan {
    RunPlan {
        arguments: started.arguments.clone(),
        gives: started.gives.clone(),
        ..RunPlan::new(started.run, started.round, started.probe.clone(), Nanos::ZERO)
    }
}

/// As our own probes define it, or by what was seen.
fn metric(name: &Name, observations: &Observations, known: &[Metric]) -> Metric {
    let moves = matches!(observations, Observations::Batches(batches) if batches.bytes > 0);
    defined(name, if moves { Unit::Throughput } else { Unit::Time }, known)
}

fn defined(name: &Name, unit: Unit, known: &[Metric]) -> Metric {
    let better = if unit == Unit::Throughput { Better::Higher } else { Better::Lower };
    let other = || Metric::of_values(name.as_str(), name.as_str(), Group::Machine, unit, better);
    known.iter().find(|metric| metric.name == *name).cloned().unwrap_or_else(other)
}
