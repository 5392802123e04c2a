//! One run: this process is fresh, measures one probe and ends.

use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tickmark_probe::sys::{limits, usage};
use tickmark_probe::{Budget, Gauge, Params, Sink, Spec};
use tickmark_wire::{
    Event, Name, Nanos, Observations, Observed, Outcome, Part, Priority, Reason, RunId, Segment,
};

/// What the supervisor asks of this process, as one line on standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) run: RunId,
    pub(crate) parent: u32,
    pub(crate) probe: Name,
    pub(crate) budget: Nanos,
    pub(crate) batch: Nanos,
    pub(crate) limit: Nanos,
    pub(crate) cpu: u32,
    pub(crate) allowed: Vec<u32>,
    pub(crate) priority: Priority,
    pub(crate) slack: Option<Nanos>,
    pub(crate) scratch: Option<PathBuf>,
}

/// Carries out the request; the exit code says only whether every event was written.
pub(crate) fn run() -> ExitCode {
    let mut line = String::new();
    let request = std::io::stdin().read_line(&mut line).map_err(|e| e.to_string());
    let request = request.and_then(|_| serde_json::from_str::<Request>(&line).map_err(|e| e.to_string()));
    let events = match request {
        Ok(request) => measure(&request),
        Err(_) => return ExitCode::from(2),
    };
    let mut out = std::io::stdout().lock();
    for event in events {
        let written =
            serde_json::to_string(&event).map_err(Into::into).and_then(|text| writeln!(out, "{text}"));
        if written.is_err() {
            return ExitCode::FAILURE;
        }
    }
    if out.flush().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(request: &Request) -> Vec<Event> {
    let run = request.run;
    // First of all: whatever happens from here on, it ends.
    if let Err(error) = limits::end_after(request.limit, request.parent).and_then(|()| take_place(request)) {
        let reason = Reason {
            message: error.to_string(),
            call: Some(error.call.to_owned()),
            errno: Some(error.errno),
        };
        return vec![Event::Failed(run, reason)];
    }
    let Some(probe) = tickmark_probe::find(request.probe.as_str()) else {
        let message = format!("this agent has no probe {}", request.probe);
        return vec![Event::Skipped(run, Reason::new(message))];
    };
    let gauge = Gauge::choose();
    let has_files = request.scratch.as_ref().is_some_and(|path| std::env::set_current_dir(path).is_ok());
    let params = Params { cpu: request.cpu, allowed: request.allowed.clone(), has_files };
    let mut routine = match (probe.prepare)(&probe.spec, &params) {
        Ok(routine) => routine,
        Err(unavailable) => return vec![Event::Skipped(run, unavailable.reason())],
    };
    let instrument = gauge.measure();
    let mut events = Collect { run, spec: &probe.spec, events: Vec::new() };
    let budget = Budget { time: request.budget, batch: request.batch, gauge };
    match routine.measure(&budget, &mut events) {
        Ok(()) => {
            let outcome = Outcome { run, instrument, resident_kb: usage::resident_kb() };
            events.events.push(Event::Finished(outcome));
            events.events
        }
        Err(error) => vec![Event::Failed(run, error.reason())],
    }
}

/// CPU, slack, priority, in this order: a real-time process on the wrong CPU would disturb it.
fn take_place(request: &Request) -> Result<(), tickmark_probe::sys::CallError> {
    limits::pin(&[request.cpu])?;
    if let Some(slack) = request.slack {
        limits::set_slack(slack)?;
    }
    limits::set_priority(request.priority)
}

struct Collect<'a> {
    run: RunId,
    spec: &'a Spec,
    events: Vec<Event>,
}

impl Sink for Collect<'_> {
    fn observe(&mut self, part: Part, observations: Observations, segments: Vec<Segment>) {
        let metric = Name::new(self.spec.name);
        self.events.push(Event::Observed(Observed { run: self.run, metric, part, observations, segments }));
    }
}
