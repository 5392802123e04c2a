//! Computation beside the messages, a task on each CPU.

use std::thread::JoinHandle;
use tickmark_probe::clock::{Counter, Monotonic};
use tickmark_probe::sys::computer::{Board, GAP, Step, Watcher};
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::{CallError, usage};
use tickmark_probe::{Gauge, ProbeError};
use tickmark_wire::Nanos;

/// The computation on each CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    Thread(Step),
    Process(Step),
}

impl Beside {
    /// As the parameters `load` and `step` have it.
    pub(super) fn from_parameters(load: &str, step: &str) -> Self {
        let step = if step == "increment" { Step::Increment } else { Step::Multiply };
        match load {
            "thread" => Self::Thread(step),
            "process" => Self::Process(step),
            _ => Self::Nothing,
        }
    }
}

/// The tasks.
pub(super) struct Computing {
    beside: Beside,
    cpus: Vec<u32>,
    gauge: Gauge,
    boards: Vec<Board>,
    watchers: Vec<Watcher>,
    processes: Vec<Peer>,
    threads: Vec<JoinHandle<Result<(), CallError>>>,
}

/// Who looks at the tasks of a side, and CPU time of another task that communicates, where there is one.
#[derive(Clone, Copy)]
pub(super) struct Tasks<'a> {
    /// On this CPU, and on the other side's.
    pub(super) watchers: &'a [Watcher],
    pub(super) there: Option<&'a usage::CpuClock>,
}

impl Tasks<'_> {
    /// CPU time of the communicating tasks of a CPU: of this side on the first, of the other on the second; of both where there is but one.
    pub(super) fn communicating(&self, number: usize, alone: bool) -> Nanos {
        let there = || self.there.map_or(Nanos::ZERO, usage::CpuClock::read);
        match number {
            0 if alone => Nanos::new(usage::thread_cpu().get() + there().get()),
            0 => usage::thread_cpu(),
            _ => there(),
        }
    }
}

impl Computing {
    /// Starts processes; a process with threads makes no others, so that threads come later.
    pub(super) fn processes(beside: Beside, cpus: Vec<u32>, gauge: Gauge) -> Result<Self, ProbeError> {
        let mut all = Self {
            beside,
            cpus,
            gauge,
            boards: Vec::new(),
            watchers: Vec::new(),
            processes: Vec::new(),
            threads: Vec::new(),
        };
        if beside != Beside::Nothing {
            all.boards = all.cpus.iter().map(|_| Board::new()).collect::<Result<Vec<_>, _>>()?;
        }
        if let Beside::Process(step) = beside {
            for (board, cpu) in all.boards.iter().zip(&all.cpus) {
                all.processes.push(Peer::start(|| compute(board, gauge, step, *cpu))?);
            }
        }
        Ok(all)
    }

    /// Starts threads, and waits until everything computes.
    pub(super) fn go(&mut self) -> Result<(), ProbeError> {
        if let Beside::Thread(step) = self.beside {
            let gauge = self.gauge;
            for (board, cpu) in self.boards.iter().cloned().zip(self.cpus.clone()) {
                let thread = std::thread::Builder::new().spawn(move || compute(&board, gauge, step, cpu));
                self.threads.push(thread.map_err(|error| no_thread(&error))?);
            }
        }
        let is_thread = matches!(self.beside, Beside::Thread(_));
        let watch = |(board, cpu): (&Board, &u32)| {
            let task = board.wait().ok_or_else(|| {
                ProbeError::Other("what computes did not begin within two seconds".to_owned())
            })?;
            let gone = || ProbeError::Call(CallError { call: "clock_getcpuclockid", errno: libc::ESRCH });
            Watcher::new(board.clone(), *cpu, task, is_thread).ok_or_else(gone)
        };
        self.watchers = self.boards.iter().zip(&self.cpus).map(watch).collect::<Result<Vec<_>, _>>()?;
        Ok(())
    }

    pub(super) fn watchers(&self) -> &[Watcher] {
        &self.watchers
    }

    /// Ends processes, which would end the run if they ended by themselves, and tells threads to end.
    pub(super) fn stop(&mut self) {
        self.processes.clear();
        self.boards.iter().for_each(Board::stop);
    }

    /// Waits until the threads have ended.
    pub(super) fn end(&mut self) {
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

pub(super) fn no_thread(error: &std::io::Error) -> CallError {
    CallError::from_io("pthread_create (mmap, mprotect or clone3)", error)
}

fn compute(board: &Board, gauge: Gauge, step: Step, cpu: u32) -> Result<(), CallError> {
    let gap = (GAP as f64 * gauge.scale.frequency() / 1e9) as u64;
    match gauge.counts() {
        true => board.compute(Counter, step, gap, cpu, false),
        false => board.compute(Monotonic, step, gap, cpu, false),
    }
}
