//! The two sides of a communication, and what computes beside them.

use crate::clock::{Counter, Monotonic};
use crate::routine::Budget;
use crate::sys::computer::{Board, GAP, Step, Watcher};
use crate::sys::message::End;
use crate::sys::namespace::Namespaces;
use crate::sys::peer::Peer;
use crate::sys::{CallError, limits, usage};
use crate::{Params, ProbeError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

/// What computes on each CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    Thread(Step),
    Process(Step),
}

impl Beside {
    pub(super) fn of(params: &Params) -> Self {
        let step = if params.told("step") == "increment" { Step::Increment } else { Step::Multiply };
        match params.told("load") {
            "thread" => Self::Thread(step),
            "process" => Self::Process(step),
            _ => Self::Nothing,
        }
    }
}

/// Who answers.
enum Answers {
    Process(Peer),
    Thread(u32, Option<JoinHandle<Result<(), CallError>>>),
}

/// Both sides, ready.
pub(super) struct Sides {
    /// This side's end.
    pub(super) end: End,
    both: bool,
    answers: Option<Answers>,
    /// CPU time of the other side.
    pub(super) there: Option<usage::CpuClock>,
    boards: Vec<Board>,
    /// Who looks at what computes, on this CPU and on the other side's.
    pub(super) watchers: Vec<Watcher>,
    computers: Vec<Peer>,
    threads: Vec<JoinHandle<Result<(), CallError>>>,
}

/// A round trip of this side: Comms1 sends and receives; Comms2 exchanges, and returns what it got while its own comes back. Either way `back` has
/// what was sent; `got` is for what the other side sends by itself.
pub(super) fn trip(
    end: &mut End,
    both: bool,
    out: &[u8],
    got: &mut [u8],
    back: &mut [u8],
) -> Result<(), CallError> {
    if both {
        end.exchange(out, got)?;
        return end.exchange(got, back);
    }
    end.send(out)?;
    end.receive(back)
}

/// What the messages of the other side are made of.
const OWN: u8 = 0xa5;

/// What goes before trips: their size and how many they are; none of them ends the other side.
const HEADER: usize = 16;

/// The other side, until it is told to end.
fn answer(end: &mut End, both: bool) -> Result<(), CallError> {
    let (mut message, mut own, mut back) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut header = [0; HEADER];
        end.receive(&mut header)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        let (size, trips) = (number(0) as usize, number(8));
        if trips == 0 {
            return Ok(());
        }
        if message.len() != size {
            message = vec![0; size];
            (own, back) = (vec![OWN; size], vec![0; size]);
        }
        if both {
            end.expects(size)?;
            for _ in 0..trips {
                end.exchange(&own, &mut message)?;
                end.exchange(&message, &mut back)?;
            }
            end.expects(0)?;
        } else {
            for _ in 0..trips {
                end.receive(&mut message)?;
                end.send(&message)?;
            }
        }
    }
}

impl Sides {
    /// Starts everything: processes before threads, as a process with threads makes no others.
    pub(super) fn start(
        params: &Params,
        link: Option<&Namespaces>,
        there: u32,
        most: usize,
        both: bool,
        beside: Beside,
        budget: &Budget,
    ) -> Result<Self, ProbeError> {
        let cpus = if there == params.cpu { vec![there] } else { vec![params.cpu, there] };
        let (mut boards, mut computers) = (Vec::new(), Vec::new());
        let counts = budget.gauge.counts();
        let gap = (GAP as f64 * budget.gauge.scale.frequency() / 1e9) as u64;
        let compute = move |board: &Board, step, cpu| {
            if counts {
                board.compute(Counter, step, gap, cpu, false)
            } else {
                board.compute(Monotonic, step, gap, cpu, false)
            }
        };
        if beside != Beside::Nothing {
            boards = cpus.iter().map(|_| Board::new()).collect::<Result<Vec<_>, _>>()?;
        }
        if let Beside::Process(step) = beside {
            for (board, cpu) in boards.iter().zip(&cpus) {
                computers.push(Peer::start(|| compute(board, step, *cpu))?);
            }
        }
        let (end, mut theirs) = super::pair(link, params.told("over"), most.max(HEADER))?;
        let is_thread = params.told("peer") == "thread";
        let mut answers = None;
        if !is_thread {
            let process = Peer::start(|| {
                end.close_copies();
                limits::pin(&[there])?;
                answer(&mut theirs, both)?;
                // Its end would end the run: it is ended.
                loop {
                    std::thread::park();
                }
            })?;
            answers = Some(Answers::Process(process));
        }
        let failed =
            |error: std::io::Error| CallError::of("pthread_create (mmap, mprotect or clone3)", &error);
        if is_thread {
            let id = Arc::new(AtomicU32::new(0));
            let own = Arc::clone(&id);
            let thread = std::thread::Builder::new().spawn(move || {
                limits::pin(&[there])?;
                own.store(usage::thread_id(), Ordering::Release);
                answer(&mut theirs, both)
            });
            let thread = thread.map_err(failed)?;
            while id.load(Ordering::Acquire) == 0 && !thread.is_finished() {
                std::thread::yield_now();
            }
            answers = Some(Answers::Thread(id.load(Ordering::Acquire), Some(thread)));
        }
        let mut threads = Vec::new();
        if let Beside::Thread(step) = beside {
            for (board, cpu) in boards.iter().cloned().zip(cpus.clone()) {
                let thread = std::thread::Builder::new().spawn(move || compute(&board, step, cpu));
                threads.push(thread.map_err(failed)?);
            }
        }
        let watch = |(board, cpu): (&Board, &u32)| {
            let task = board.wait().ok_or_else(|| {
                ProbeError::Other("what computes did not begin within two seconds".to_owned())
            })?;
            let gone = || ProbeError::Call(CallError { call: "clock_getcpuclockid", errno: libc::ESRCH });
            Watcher::new(board.clone(), *cpu, task, matches!(beside, Beside::Thread(_))).ok_or_else(gone)
        };
        let watchers = boards.iter().zip(&cpus).map(watch).collect::<Result<Vec<_>, _>>()?;
        let there = match &answers {
            Some(Answers::Process(peer)) => usage::CpuClock::of(peer.pid()),
            Some(Answers::Thread(id, _)) => Some(usage::CpuClock::of_thread(*id)),
            None => None,
        };
        Ok(Self { end, both, answers, there, boards, watchers, computers, threads })
    }

    /// Says what comes now.
    pub(super) fn announce(&mut self, size: usize, trips: u64) -> Result<(), CallError> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&(size as u64).to_le_bytes());
        header[8..].copy_from_slice(&trips.to_le_bytes());
        self.end.send(&header)?;
        if self.both { self.end.expects(size) } else { Ok(()) }
    }

    /// After the trips that were announced.
    pub(super) fn settle(&self) -> Result<(), CallError> {
        if self.both { self.end.expects(0) } else { Ok(()) }
    }

    /// Ends both, and what computes.
    pub(super) fn end(mut self) {
        let _ = self.end.send(&[0; HEADER]);
        // Processes are ended first: one that ends by itself would end the run.
        self.computers.clear();
        self.boards.iter().for_each(Board::stop);
        if let Some(Answers::Thread(_, thread)) = &mut self.answers {
            let _ = thread.take().map(JoinHandle::join);
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
