//! One run: this process is fresh, measures one probe and ends.

use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use tickmark_probe::sys::{file, limits, maps, peer, seccomp, usage};
use tickmark_probe::{Budget, Gauge, Params, ProbeError, Sink, Spec, Stop, Syscall, Unavailable};
use tickmark_wire::{
    Arguments, Deny, Event, Name, Nanos, Observations, Observed, Outcome, Part, Phase, Priority, Reason,
    RunId, Segment, Sending,
};

/// Request of the supervisor to this process, as one line on standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) run: RunId,
    pub(crate) parent: u32,
    pub(crate) probe: Name,
    pub(crate) arguments: Arguments,
    pub(crate) budget: Nanos,
    pub(crate) batch: Nanos,
    pub(crate) limit: Nanos,
    pub(crate) cpu: u32,
    pub(crate) allowed: Vec<u32>,
    pub(crate) priority: Priority,
    pub(crate) slack: Option<Nanos>,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) sizes: Sizes,
    pub(crate) deny: Option<Deny>,
    pub(crate) only_needed: bool,
    pub(crate) phase: Option<Phase>,
    pub(crate) stop_above: Option<Nanos>,
    pub(crate) stop_tracing: bool,
    pub(crate) tsc_is_nanoseconds: bool,
    pub(crate) send: Option<Sending>,
    /// The clock source when the session began.
    pub(crate) clock_source: Option<String>,
}

/// The sizes of tickmark-probe, which knows nothing of JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sizes {
    memory: u64,
    mapped: u64,
    l1: u64,
    l2: u64,
    last: u64,
    line: u64,
    short: bool,
}

impl From<tickmark_probe::Sizes> for Sizes {
    fn from(sizes: tickmark_probe::Sizes) -> Self {
        let tickmark_probe::Sizes { memory, mapped, l1, l2, last, line, short } = sizes;
        Self { memory, mapped, l1, l2, last, line, short }
    }
}

impl From<Sizes> for tickmark_probe::Sizes {
    fn from(Sizes { memory, mapped, l1, l2, last, line, short }: Sizes) -> Self {
        Self { memory, mapped, l1, l2, last, line, short }
    }
}

/// Carries out the request; the exit code says only whether every event was written.
pub(crate) fn run() -> ExitCode {
    let mut line = String::new();
    let request = std::io::stdin().read_line(&mut line).map_err(|e| e.to_string());
    let request =
        request.and_then(|_| serde_json::from_slice::<Request>(line.as_bytes()).map_err(|e| e.to_string()));
    let events = match request {
        Ok(request) => measure(&request),
        Err(_) => return ExitCode::from(2),
    };
    if write(&events) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes events to standard output; whether that was done.
fn write(events: &[Event]) -> bool {
    let mut text = String::new();
    for event in events {
        match serde_json::to_string(event) {
            Ok(line) => text.extend([line.as_str(), "\n"]),
            Err(_) => return false,
        }
    }
    file::write_vectored(std::io::stdout().as_fd(), text.as_bytes()).is_ok()
}

/// How a run ended in which a call failed: what is refused is unsupported.
fn ended(run: RunId, error: &ProbeError) -> Event {
    let reason = error.reason();
    if error.is_refusal() { Event::Skipped(run, reason) } else { Event::Failed(run, reason) }
}

fn measure(request: &Request) -> Vec<Event> {
    let run = request.run;
    // Where memory runs out, this process goes, and not the one that keeps the recording.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    // First of all: whatever happens from here on, it ends.
    if let Err(error) = limits::end_after(request.limit, request.parent).and_then(|()| take_place(request)) {
        let reason = Reason {
            message: error.to_string(),
            call: Some(error.call.to_owned()),
            errno: Some(error.errno),
        };
        return vec![Event::Failed(run, reason)];
    }
    if request.sizes.short {
        maps::read_sparingly();
    }
    let case = match tickmark_load::REGISTRY.case(request.probe.as_str(), &request.arguments) {
        Ok(case) => case,
        Err(why) => return vec![Event::Skipped(run, Reason::new(why))],
    };
    let spec = case.spec();
    let gauge = Gauge::choose(request.tsc_is_nanoseconds);
    let has_files = request.scratch.as_ref().is_some_and(|path| std::env::set_current_dir(path).is_ok());
    let params = Params {
        cpu: request.cpu,
        allowed: request.allowed.clone(),
        sizes: request.sizes.into(),
        has_files,
        send: request.send,
        arguments: Arguments::new(),
    };
    let only_needed = || if request.only_needed { allow_needed(spec) } else { Ok(()) };
    if let Err(unavailable) = request.deny.as_ref().map_or(Ok(()), deny).and_then(|()| only_needed()) {
        return vec![Event::Failed(run, unavailable.reason())];
    }
    peer::peers_tell(move |error| {
        write(&[ended(run, &ProbeError::Call(*error))]);
    });
    let mut routine = match case.prepare(&params) {
        Ok(routine) => routine,
        Err(spent) if spent.is_exhaustion() => return vec![Event::Failed(run, spent.reason())],
        Err(unavailable) => return vec![Event::Skipped(run, unavailable.reason())],
    };
    let instrument = gauge.measure();
    let names = case.metrics().into_iter().map(|metric| metric.name).collect();
    let mut events = Collect { run, names, events: Vec::new() };
    let batch = gauge.longest_batch(request.batch);
    let stop = request.stop_above.map(|above| Stop { above, tracing: request.stop_tracing });
    let budget = Budget { time: request.budget, batch, gauge, phase: request.phase, stop };
    let mut begun = Conditions { clock_source: request.clock_source.clone(), ..Conditions::now() };
    if !spec.roams {
        begun.cpus = Some(vec![request.cpu]);
    }
    match routine.measure(&budget, &mut events) {
        Ok(()) => {
            let changed = begun.changed(&Conditions::now());
            let observed = Some(events.events.len() as u32);
            let ended = tickmark_probe::sys::clock::read(libc::CLOCK_MONOTONIC).ok();
            let outcome =
                Outcome { run, instrument, resident_kb: usage::resident_kb(), observed, changed, ended };
            events.events.push(Event::Finished(outcome));
            events.events
        }
        Err(error) => {
            if let ProbeError::Call(call) = &error {
                peer::let_peers_end(call);
            }
            vec![ended(run, &error)]
        }
    }
}

/// Conditions that must not change while a run measures.
struct Conditions {
    clock_source: Option<String>,
    cpus: Option<Vec<u32>>,
}

impl Conditions {
    /// A condition that cannot be read is never reported as changed.
    fn now() -> Self {
        Self { clock_source: crate::environment::clock_source(), cpus: limits::allowed_cpus().ok() }
    }

    /// The conditions that differ at another time, in words.
    fn changed(&self, now: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        if let (Some(before), Some(now)) = (&self.clock_source, &now.clock_source)
            && before != now
        {
            changed.push(format!("clock source {before} became {now}"));
        }
        if let (Some(before), Some(now)) = (&self.cpus, &now.cpus)
            && before != now
        {
            let list = |cpus: &[u32]| crate::settle::ranges(cpus);
            changed.push(format!("CPUs {} became {}", list(before), list(now)));
        }
        changed
    }
}

/// From here on the kernel refuses a system call to this process and its children.
fn deny(deny: &Deny) -> Result<(), Unavailable> {
    let known = Syscall::ALL.iter().find(|call| call.name() == deny.call);
    let number = known.and_then(|call| call.number());
    let number =
        number.ok_or_else(|| Unavailable::Missing(format!("no number is known for {}", deny.call)))?;
    Ok(seccomp::deny(number, deny.errno)?)
}

/// From here on the kernel refuses what neither the probe names nor every run needs.
fn allow_needed(spec: &Spec) -> Result<(), Unavailable> {
    let named = spec.needs.iter().filter_map(|call| call.number());
    let every = tickmark_probe::EVERY_RUN.iter().map(|(_, number)| *number);
    Ok(seccomp::allow_only(&named.chain(every).collect::<Vec<_>>())?)
}

/// Takes the CPU (affinity), the timer slack and the priority of the request, in this order: a real-time process on the wrong CPU would disturb it.
fn take_place(request: &Request) -> Result<(), tickmark_probe::sys::CallError> {
    limits::pin(&[request.cpu])?;
    if let Some(slack) = request.slack {
        limits::set_slack(slack)?;
    }
    limits::set_priority(request.priority)
}

struct Collect {
    run: RunId,
    names: Vec<Name>,
    events: Vec<Event>,
}

impl Sink for Collect {
    fn take(&mut self, metric: usize, part: Part, observations: Observations, segments: Vec<Segment>) {
        // A metric that the spec does not list has no name, and whoever looks for it finds that it is missing.
        let Some(metric) = self.names.get(metric).cloned() else { return };
        self.events.push(Event::Observed(Observed { run: self.run, metric, part, observations, segments }));
    }
}
