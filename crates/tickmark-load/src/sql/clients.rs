//! Connections that ask over and over, each a thread that blocks; the clock is read once for each transaction.

use super::super::http::clients::set_apart;
use super::database::DatabaseTarget;
use super::work::{Work, Worker};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tickmark_probe::sys::{CallError, limits};
use tickmark_probe::{Params, ProbeError};
use tickmark_timer::monotonic_ns;
use tickmark_wire::Histogram;

/// While latencies are kept, and when all ends; 0 before.
const MEASURES: u32 = 1;
const STOPS: u32 = 2;

/// Kinds of faults that are told apart.
const KINDS: usize = 16;
/// After a fault a client waits.
const REST: Duration = Duration::from_millis(50);

/// Counters that all of them share.
#[derive(Debug, Default)]
struct Board {
    phase: AtomicU32,
    /// Transactions of each, in a line of its own.
    done: Vec<Line>,
    faults: Mutex<BTreeMap<String, u64>>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// They ask until this is dropped.
pub(crate) struct Clients {
    board: Arc<Board>,
    threads: Vec<JoinHandle<Vec<u64>>>,
}

/// A value is known to a 128th of itself; what is longer than 18 minutes is in the last bucket.
const BITS: u8 = 7;
const BUCKETS: usize = 34 << BITS;

impl Clients {
    /// Connects all of them, on a CPU, and has them ask.
    ///
    /// # Errors
    /// The first that cannot be connected.
    pub(crate) fn start(
        place: &DatabaseTarget,
        params: &Params,
        cpu: u32,
        is_apart: bool,
    ) -> Result<Self, ProbeError> {
        let (count, rows) = (params.number("connections").max(1), params.number("rows").max(1) as u64);
        let work = Work::from_name(params.argument("load"));
        let done = (0..count).map(|_| Line::default()).collect();
        let board = Arc::new(Board { done, ..Board::default() });
        let mut all = Self { board: Arc::clone(&board), threads: Vec::new() };
        for number in 0..count {
            let seed = monotonic_ns() ^ (number as u64) << 32;
            let worker = Worker::new(place, work, rows, seed).map_err(ProbeError::Other)?;
            let (board, place) = (Arc::clone(&board), place.clone());
            let ask = move || {
                let _ = limits::pin(&[cpu]);
                if is_apart {
                    set_apart();
                }
                let again = || Worker::new(&place, work, rows, monotonic_ns());
                asks(worker, &board, number, &again)
            };
            let thread = std::thread::Builder::new().spawn(ask);
            let thread = thread
                .map_err(|error| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &error))?;
            all.threads.push(thread);
        }
        Ok(all)
    }

    /// Transactions so far.
    pub(crate) fn done(&self) -> u64 {
        self.board.done.iter().map(|line| line.0.load(Relaxed)).sum()
    }

    /// Failures so far, by message.
    pub(crate) fn failed(&self) -> Vec<(String, u64)> {
        let faults = self.board.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        faults.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// Asks for nothing more.
    pub(crate) fn stop(&self) {
        self.board.phase.store(STOPS, Relaxed);
    }

    /// Latencies are kept from now on.
    pub(super) fn measure(&self) {
        self.board.phase.store(MEASURES, Relaxed);
    }

    /// Ends them; the latencies of what they did since they were to measure.
    pub(super) fn end(mut self) -> Histogram {
        self.stop();
        let mut sums = vec![0u64; BUCKETS];
        for counts in self.threads.drain(..).filter_map(|thread| thread.join().ok()) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Histogram::of_counts(BITS, sums)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// One client, until it is told to stop; how often each latency came.
fn asks(
    mut worker: Worker,
    board: &Board,
    number: usize,
    again: &dyn Fn() -> Result<Worker, String>,
) -> Vec<u64> {
    let mut counts = vec![0u64; BUCKETS];
    let mut begun = monotonic_ns();
    loop {
        let phase = board.phase.load(Relaxed);
        if phase == STOPS {
            return counts;
        }
        match worker.transaction() {
            Ok(()) => {
                let now = monotonic_ns();
                if phase == MEASURES {
                    counts[Histogram::place(BITS, now - begun).min(BUCKETS - 1)] += 1;
                }
                let own = &board.done[number].0;
                own.store(own.load(Relaxed) + 1, Relaxed);
                begun = now;
            }
            Err(why) => {
                board.fails(why);
                std::thread::sleep(REST);
                // Its connection may be gone, or not know any more where it stands.
                while board.phase.load(Relaxed) != STOPS {
                    match again() {
                        Ok(new) => {
                            worker = new;
                            break;
                        }
                        Err(why) => board.fails(why),
                    }
                    std::thread::sleep(REST);
                }
                begun = monotonic_ns();
            }
        }
    }
}

impl Board {
    fn fails(&self, why: String) {
        let mut faults = self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let why = if faults.len() >= KINDS && !faults.contains_key(&why) { "others".to_owned() } else { why };
        *faults.entry(why).or_default() += 1;
    }
}
