//! A load during which the kernel's events say who had the CPU of the server; the slowest requests are kept.

use super::board::{Board, Times};
use super::served::Served;
use super::{Load, drained, look, rest, warm};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tickmark_probe::routine::{Budget, Sink};
use tickmark_probe::sys::limits;
use tickmark_probe::sys::tracepoints::Recorder;
use tickmark_probe::{Params, ProbeError};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{EventSubject, GapTrace, KernelEvents, Nanos, Observations, Part, names};

/// Events of so long a time have room, or as many as may be kept.
const TIME: Nanos = Nanos::from_millis(8_000);
/// A run is no longer, in ns, as a busy server has some 100,000 events a second.
const LONGEST: u64 = 2_500_000_000;

/// The slowest requests of a client: how long each took, and its place on the board, the fastest of them first.
pub(in crate::http) struct Slowest(BinaryHeap<Reverse<(u64, usize)>>);

impl Slowest {
    pub(in crate::http) fn new() -> Self {
        Self((0..Board::KEPT).map(|place| Reverse((0, place))).collect())
    }

    /// Takes one that is slower than one of those that are kept.
    pub(in crate::http) fn add(&mut self, board: &Board, begun: u64, length: u64) {
        if let Some(mut first) = self.0.peek_mut()
            && length > first.0.0
        {
            board.keep(first.0.1, begun, length);
            first.0.0 = length;
        }
    }
}

pub(in crate::http) fn measure(
    load: &mut Load,
    params: &Params,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let (cpu, board) = (place(load, params)?, &load.board);
    warm(board, budget)?;
    let mut parties = parties(load);
    let mut recorder = Recorder::open(&[cpu], TIME)?;
    limits::pin(&params.allowed)?;
    recorder.begin()?;
    let (begun, before) = (monotonic_ns(), board.read());
    let windows = look(board, begun, (budget.time.get() as u64).min(LONGEST));
    recorder.end()?;
    let (after, end) = (board.read(), monotonic_ns());
    board.drain();
    drained(board, rest(budget) / super::WINDOW);
    board.stop();
    limits::pin(&[params.cpu])?;
    let Some(times) = after.times(&before, Times::Service) else {
        return Err(ProbeError::Other("no transaction succeeded".to_owned()));
    };
    // Those that came meanwhile, too.
    parties.extend(self::parties(load));
    sink.observe(Part::Whole, Observations::Windows(windows), Vec::new());
    sink.take(1, Part::Whole, Observations::Histogram(times), Vec::new());
    for trace in recorder.traces()? {
        if trace.events.as_ref().is_some_and(|events| events.foreign) {
            let why = "the kernel's records have other numbers of processes than this namespace: who is the server is not known";
            return Err(ProbeError::Other(why.to_owned()));
        }
        let trace = of_requests(trace, &after.kept(begun, end), &parties);
        sink.take(2, Part::Whole, Observations::Gaps(trace), Vec::new());
    }
    Ok(())
}

/// The server and its client: numbers of their processes with their names.
fn parties(load: &Load) -> Vec<(u32, String)> {
    let mut all = load.server.processes();
    all.push(load.client.pid());
    let name = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (pid, name.trim_end().to_owned())
    };
    all.into_iter().map(name).collect()
}

/// The CPU of the server, where that is one.
fn place(load: &Load, params: &Params) -> Result<u32, ProbeError> {
    let several = "the server may run on several CPUs, or elsewhere: start it on one (taskset -c), and name it by --pid";
    match &load.server {
        Served::Own(_) => Ok(load.place),
        Served::Another(_, Some(pid)) => match limits::cpus_of(*pid)?[..] {
            [cpu] if params.allowed.contains(&cpu) => Ok(cpu),
            _ => Err(ProbeError::Other(several.to_owned())),
        },
        Served::Another(_, None) | Served::Host(_) => Err(ProbeError::Other(several.to_owned())),
    }
}

/// The requests on the axis of the events; the server and its client, and what is called as they are, are nobody who disturbs.
fn of_requests(trace: GapTrace, requests: &[(u64, u64)], parties: &[(u32, String)]) -> GapTrace {
    let Some(events) = trace.events else { return trace };
    let KernelEvents { origin, mut subjects, .. } = *events;
    let is_party = |subject: &EventSubject| {
        let numbers = [subject.id, subject.process];
        subject.id.is_some()
            && parties.iter().any(|(pid, name)| numbers.contains(&Some(*pid)) || subject.name == *name)
    };
    for subject in subjects.iter_mut().filter(|subject| is_party(subject)) {
        names::INSTRUMENT.clone_into(&mut subject.name);
    }
    let start = requests.iter().map(|(begun, _)| Nanos::new(*begun as i64 - origin.get())).collect();
    let length: Vec<Nanos> = requests.iter().map(|(_, length)| Nanos::new(*length as i64)).collect();
    let threshold = length.iter().copied().min().unwrap_or_default();
    GapTrace {
        threshold,
        start,
        length,
        events: Some(Box::new(KernelEvents { subjects, ..*events })),
        ..trace
    }
}
