//! The events of an agent, written on another system, become the recording that they are.

use crate::error::Error;
use tickmark_store::{Id, Meta, Store, parse_line};
use tickmark_wire::{
    Better, Event, FORMAT, Group, Metric, Name, Nanos, Observations, Plan, RunId, RunPlan, Settings, Started,
    Unit,
};

/// What came of one stream.
pub(super) struct Kept {
    pub(super) id: Id,
    pub(super) name: String,
    pub(super) runs: usize,
    pub(super) metrics: usize,
    /// Lines that are no event.
    pub(super) warnings: Vec<String>,
}

/// Whether a text is such a stream.
pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with("{\"hello\":")
}

/// Keeps the events of a text, each as it came.
///
/// # Errors
/// It names no run, or cannot be kept.
pub(super) fn keep(store: &Store, file: &str, text: &str, name: Option<&str>) -> Result<Kept, Error> {
    let (mut warnings, mut plan, mut host) =
        (Vec::new(), Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() }, None);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match parse_line(line.as_bytes()) {
            Ok(Event::Hello(hello)) => {
                host = host.or(hello.environment.get("host.name").map(str::to_owned));
                plan.settings = hello.asked;
            }
            // Numbers that come again are of another stream, appended to this one: nobody could tell their observations apart.
            Ok(Event::Started(started)) if plan.runs.iter().any(|run| run.id == started.run) => {
                return Err(Error::Usage(format!(
                    "{file} line {number} begins run {} again: give the events of one call of the agent; nothing was imported",
                    started.run.0
                )));
            }
            Ok(Event::Started(started)) => plan.runs.push(planned(&started)),
            Ok(Event::Observed(observed))
                if !plan.metrics.iter().any(|metric| metric.name == observed.metric) =>
            {
                plan.metrics.push(metric(&observed.metric, &observed.observations));
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
        if !plan.metrics.iter().any(|metric| metric.name == run.probe) {
            plan.metrics.push(unknown(&run.probe, Unit::Time));
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
    let written =
        lines.map(|line| Event::Unknown(line.to_owned())).try_for_each(|event| writer.write(&event));
    if let Err(error) = written.and_then(|()| writer.finish()) {
        store.discard(&meta.id);
        return Err(error.into());
    }
    store.index(&folder);
    Ok(Kept { id: meta.id, name: host, runs, metrics, warnings })
}

fn planned(started: &Started) -> RunPlan {
    let Started { run, probe, round, .. } = started;
    RunPlan { id: RunId(run.0), round: *round, probe: probe.clone(), budget: Nanos::ZERO, padding: 0 }
}

/// As our own probes define it, or by what was seen.
fn metric(name: &Name, observations: &Observations) -> Metric {
    let known = tickmark_probe::find(name.as_str()).map(|probe| probe.spec.metric());
    let moves = matches!(observations, Observations::Batches(batches) if batches.bytes > 0);
    known.unwrap_or_else(|| unknown(name, if moves { Unit::Throughput } else { Unit::Time }))
}

fn unknown(name: &Name, unit: Unit) -> Metric {
    let known = tickmark_probe::find(name.as_str()).map(|probe| probe.spec.metric());
    let better = if unit == Unit::Throughput { Better::Higher } else { Better::Lower };
    known.unwrap_or_else(|| Metric::of_values(name.as_str(), name.as_str(), Group::Machine, unit, better))
}
