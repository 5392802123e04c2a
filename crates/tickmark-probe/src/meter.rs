//! Disturbance of a batch, and the conditions under which a stretch was measured.

use crate::sys::{chain, usage};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Nanos, Picos, Segment};

/// Context switches and page faults of the measuring thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Voluntary and involuntary.
    pub switches: i64,
    /// Minor and major.
    pub faults: i64,
    /// Major faults and reads that went to a disk.
    pub reclaimed: i64,
    /// Segments that TCP sent again, of the connections that the probe looked at.
    pub retransmits: i64,
}

/// Cumulative readings at a moment; a segment is the difference of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// CPU time of the measuring thread.
    pub cpu: Nanos,
    /// CPU time of the probe's other processes and of its children that ended.
    pub others_cpu: Nanos,
    /// Time runnable without a CPU, of the thread and of its peers.
    pub run_delay: Option<Nanos>,
    /// Steal time of this CPU.
    pub steal: Option<Nanos>,
    /// Runnable tasks in the machine, without this one.
    pub runnable: Option<u32>,
    /// Cost of a dependent multiplication.
    pub multiply: Picos,
}

/// Reads what disturbs. Outside the stamps; a mock in tests.
pub trait Meter {
    /// Per batch: cheap (getrusage, some 200 ns).
    fn counts(&mut self) -> Counts;
    /// Per segment: costly (some 10 us).
    fn reading(&mut self) -> Reading;
    /// CPU time of the thread and of the probe's other processes so far, in ns.
    fn cpu(&mut self) -> Nanos;
}

/// The kernel's own books. Made on the thread that measures.
#[derive(Debug)]
pub struct SystemMeter {
    peers: Vec<usage::CpuClock>,
    files: usage::Accounts,
}

impl SystemMeter {
    /// Opens the accounts of the calling thread and of the processes that it measures with.
    #[must_use]
    pub fn new(peers: &[u32]) -> Self {
        let files = usage::Accounts::open(peers);
        let peers = peers.iter().filter_map(|pid| usage::CpuClock::for_process(*pid)).collect();
        Self { peers, files }
    }

    fn others(&self) -> Nanos {
        let peers: i64 = self.peers.iter().map(|clock| clock.read().get()).sum();
        Nanos::new(peers + usage::ended_children().get() + usage::other_threads().get())
    }
}

impl Meter for SystemMeter {
    fn counts(&mut self) -> Counts {
        usage::thread_counts()
    }

    fn reading(&mut self) -> Reading {
        let machine = self.files.machine();
        Reading {
            cpu: usage::thread_cpu(),
            others_cpu: self.others(),
            run_delay: self.files.run_delay(),
            steal: machine.and_then(|m| m.steal),
            runnable: machine.map(|m| m.runnable.saturating_sub(1)),
            multiply: multiply_cost(),
        }
    }

    fn cpu(&mut self) -> Nanos {
        Nanos::new(usage::thread_cpu().get() + self.others().get())
    }
}

/// The cost of three cycles now, as a dependent 64-bit multiplication takes them on x86-64: the best of three short chains, so that an
/// interrupt does not look like a slow processor.
fn multiply_cost() -> Picos {
    const CHAIN: u64 = 4096;
    let mut value = 3;
    // The best of three, less what reading the clock costs: on a slow clock source that is a good part.
    let mut least = |chain: u64| {
        let mut once = || {
            let before = monotonic_ns();
            value = chain::three_cycles(value, chain);
            monotonic_ns().saturating_sub(before)
        };
        once().min(once()).min(once())
    };
    let nanos = least(CHAIN).saturating_sub(least(0));
    Picos::per(Nanos::new(nanos as i64), CHAIN)
}

impl Reading {
    /// The conditions between an earlier reading and this one.
    #[must_use]
    pub fn since(&self, earlier: &Self, start: Nanos, wall: Nanos) -> Segment {
        let less = |now: Nanos, then: Nanos| Nanos::new(now.get() - then.get());
        let both = |now: Option<Nanos>, then: Option<Nanos>| Some(less(now?, then?));
        Segment {
            start,
            wall,
            cpu: less(self.cpu, earlier.cpu),
            others_cpu: less(self.others_cpu, earlier.others_cpu),
            run_delay: both(self.run_delay, earlier.run_delay),
            steal: both(self.steal, earlier.steal),
            runnable: self.runnable,
            multiply: self.multiply,
        }
    }
}
