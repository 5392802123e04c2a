//! Slices of time, each with a dose: what was counted in it.

use super::doser::{Counted, Doser};
use super::load::Load;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use tickmark_preload::{OPERATIONS, operate};
use tickmark_probe::sys::{clock, tasks};
use tickmark_probe::{ProbeError, random};
use tickmark_timer::{Anchor, Scale, monotonic_ns};

/// By how much a read takes longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dose {
    Nanos(u32),
    /// It is a system call.
    Syscall,
    /// It has so many operations on timestamps more, of this kind.
    Operations(u64, u32),
}

/// The most, in ns: of a server that reads clocks often nothing else would be left.
const MOST: u32 = 1_000_000;

/// In the order in which they are told; none twice, and 0 among them. Of operations of this name, where it is one.
pub(super) fn doses(given: &str, op: &str) -> Result<Vec<Dose>, String> {
    let which = OPERATIONS.iter().find(|(name, _)| *name == op).map(|(_, which)| *which);
    let of = |number| which.map_or(Dose::Nanos(number), |which| Dose::Operations(which, number));
    let mut all = vec![of(0)];
    for word in given.split([',', ' ']) {
        let dose = match (word, word.parse()) {
            ("syscall", _) if which.is_none() => Dose::Syscall,
            (_, Ok(number)) if number <= MOST => of(number),
            _ if which.is_some() => {
                return Err(format!("{word}: a dose is a number of operations up to {MOST}"));
            }
            _ => return Err(format!("{word}: a dose is a number of ns up to {MOST}, or syscall")),
        };
        if !all.contains(&dose) {
            all.push(dose);
        }
    }
    Ok(all)
}

/// Measurements of one slice.
pub(super) struct Slice {
    /// Requested delay of each read, ns; -1 for the system call.
    pub(super) nominal: f64,
    /// Measured delay of each read, ns.
    pub(super) delivered: f64,
    /// Reads for each transaction.
    pub(super) reads: f64,
    /// Cost of a transaction, ns.
    pub(super) cost: f64,
    /// Transactions a second.
    pub(super) rate: f64,
    /// CPU time of the reads that were timed, in ns, and how many these were.
    pub(super) cpu: f64,
    pub(super) timed: f64,
    /// Context switches of the server for each transaction: those that it asked for, and those that were forced upon it.
    pub(super) sleeps: f64,
    pub(super) forced: f64,
}

/// A read of a clock, as programs do it and as a system call, in ns: the least of many short loops, as what disturbs them only adds.
///
/// # Errors
/// Those of clock_gettime(2).
pub fn cost_of_a_read() -> Result<[f64; 2], ProbeError> {
    const TURNS: u64 = 32;
    let least = |read: &dyn Fn() -> Result<(), ProbeError>| {
        let mut least = u64::MAX;
        for _ in 0..2000 {
            let begun = monotonic_ns();
            for _ in 0..TURNS {
                read()?;
            }
            least = least.min(monotonic_ns() - begun);
        }
        Ok::<_, ProbeError>(least as f64 / TURNS as f64)
    };
    let plain = least(&|| Ok(clock::read(libc::CLOCK_MONOTONIC).map(|_| ())?))?;
    let call = least(&|| Ok(clock::read_by_syscall(libc::CLOCK_MONOTONIC).map(|_| ())?))?;
    Ok([plain, call])
}

/// An operation on timestamps of this name, in ns, the least of many short loops; 0 of none.
#[must_use]
pub fn cost_of_an_operation(op: &str) -> f64 {
    const TURNS: u64 = 1000;
    let Some((_, which)) = OPERATIONS.iter().find(|(name, _)| *name == op) else { return 0.0 };
    let one = |_| {
        let begun = monotonic_ns();
        operate(*which, TURNS);
        monotonic_ns() - begun
    };
    (0..2000).map(one).min().unwrap_or(0) as f64 / TURNS as f64
}

/// A switch to another thread of this CPU, in ns: half of a byte's way through two pipes and back, the least of many; with the two calls that it takes.
///
/// # Errors
/// No pipe, no thread.
pub(super) fn cost_of_a_switch() -> std::io::Result<f64> {
    const TURNS: u64 = 8;
    let ((mut request, mut ask), (mut answered, mut answer)) = (std::io::pipe()?, std::io::pipe()?);
    let reply = move || while request.read_exact(&mut [0]).and_then(|()| answer.write_all(&[0])).is_ok() {};
    let other = std::thread::Builder::new().spawn(reply)?;
    let mut least = u64::MAX;
    for _ in 0..500 {
        let begun = monotonic_ns();
        for _ in 0..TURNS {
            ask.write_all(&[0])?;
            answered.read_exact(&mut [0])?;
        }
        least = least.min(monotonic_ns() - begun);
    }
    drop(ask);
    let _ = other.join();
    Ok(least as f64 / (2 * TURNS) as f64)
}

/// Readings before a slice and after it.
struct SliceReading {
    at: Instant,
    done: f64,
    counts: Counted,
    cpu: BTreeMap<u32, i64>,
    switches: [u64; 2],
}

/// A server, its load, and how long each slice is.
pub(super) struct Slices<'a, 'b> {
    server: &'a mut Doser,
    load: &'a mut Load<'b>,
    time: Duration,
    cost: [f64; 4],
    scale: Scale,
    /// State of the random numbers.
    random: u64,
}

/// From a new dose to the look: what is on its way had another one.
const SETTLES: Duration = Duration::from_millis(5);
/// A slice in which nothing is done goes on for so long at most.
const PATIENCE: Duration = Duration::from_secs(2);

impl<'a, 'b> Slices<'a, 'b> {
    pub(super) fn new(
        server: &'a mut Doser,
        load: &'a mut Load<'b>,
        time: Duration,
        cost: [f64; 4],
    ) -> Result<Self, ProbeError> {
        let first = Anchor::take();
        std::thread::sleep(Duration::from_millis(100));
        let scale = Scale::between(first, Anchor::take());
        let scale =
            scale.ok_or_else(|| ProbeError::Other("the processor's counter stands still".to_owned()))?;
        Ok(Self { server, load, time, cost, scale, random: monotonic_ns() })
    }

    /// Every dose once in each block, in random order.
    pub(super) fn run(&mut self, blocks: usize, doses: &[Dose]) -> Result<Vec<Slice>, ProbeError> {
        let mut all = Vec::with_capacity(blocks * doses.len());
        for _ in 0..blocks {
            let mut order = doses.to_vec();
            // Durstenfeld, Algorithm 235: Random permutation (1964).
            for last in (1..order.len()).rev() {
                order.swap(last, (random::next(&mut self.random) % (last as u64 + 1)) as usize);
            }
            for dose in order {
                all.push(self.slice(dose)?);
            }
        }
        Ok(all)
    }

    fn look(&mut self) -> Result<SliceReading, ProbeError> {
        // What is counted moves on while the other is looked at: before it and after it.
        let before = self.server.counted()?;
        let done = self.load.done()?;
        let at = Instant::now();
        let counts = before.middle(self.server.counted()?);
        let all = tasks::all();
        let own = tasks::below(self.server.server().child.id(), &all);
        let switches = tasks::switches(&own);
        let cpu = own.into_iter().filter_map(|id| Some((id, all.get(&id)?.cpu))).collect();
        Ok(SliceReading { at, done, counts, cpu, switches })
    }

    fn slice(&mut self, dose: Dose) -> Result<Slice, ProbeError> {
        self.server.set(dose, self.scale.frequency(), self.cost[2])?;
        std::thread::sleep(SETTLES);
        let before = self.look()?;
        self.load.go_on(self.time)?;
        let mut after = self.look()?;
        // A busy machine may leave both sides no CPU for longer than a slice.
        while after.done <= before.done && self.load.failed().is_empty() && before.at.elapsed() < PATIENCE {
            self.load.go_on(self.time)?;
            after = self.look()?;
        }
        self.server.server().goes_on()?;
        self.server.has(dose)?;
        let done = after.done - before.done;
        if done <= 0.0 {
            let faults: Vec<String> =
                self.load.failed().iter().map(|(name, count)| format!("{count} {name}")).collect();
            let why = if faults.is_empty() { "nothing was done".to_owned() } else { faults.join(", ") };
            let waited = (after.at - before.at).as_millis();
            return Err(self.server.server().wrong(&format!("no transaction in {waited} ms: {why}")));
        }
        let reads = (after.counts.reads - before.counts.reads) as f64;
        let spent = self.scale.nanos(after.counts.spent - before.counts.spent) as f64;
        let own = reads - (after.counts.held_up - before.counts.held_up) as f64;
        let longer = if own > 0.0 { spent / own } else { 0.0 };
        let (request, delivered) = match dose {
            Dose::Nanos(number) | Dose::Operations(_, number) => (f64::from(number), longer),
            // All that the call took was counted: less what a read takes otherwise.
            Dose::Syscall => (-1.0, if reads > 0.0 { longer - self.cost[0] } else { 0.0 }),
        };
        // Processes that began meanwhile count whole, those that ended do not.
        let more = |(id, cpu): (&u32, &i64)| (cpu - before.cpu.get(id).unwrap_or(&0)).max(0);
        let cpu: i64 = after.cpu.iter().map(more).sum();
        let took = self.load.took().map(|all| {
            let mut all = all.to_vec();
            all.sort_unstable_by(f64::total_cmp);
            all[all.len() / 2]
        });
        Ok(Slice {
            nominal: request,
            delivered,
            reads: reads / done,
            cost: took.unwrap_or(cpu as f64 / done),
            rate: done / (after.at - before.at).as_secs_f64(),
            cpu: (after.counts.cpu - before.counts.cpu) as f64,
            timed: (after.counts.timed - before.counts.timed) as f64,
            sleeps: after.switches[0].saturating_sub(before.switches[0]) as f64 / done,
            forced: after.switches[1].saturating_sub(before.switches[1]) as f64 / done,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doses_are_numbers_or_the_system_call() {
        let given = doses("60 syscall,0,60", "none").unwrap();
        assert_eq!(given, [Dose::Nanos(0), Dose::Nanos(60), Dose::Syscall]);
        for wrong in ["", "-1", "60 ns", "2000000"] {
            assert!(doses(wrong, "none").is_err() && doses(wrong, "compare").is_err(), "{wrong}");
        }
        let which = OPERATIONS[1].1;
        assert_eq!(
            doses("10", "compare").unwrap(),
            [Dose::Operations(which, 0), Dose::Operations(which, 10)]
        );
        assert!(doses("syscall", "compare").is_err());
    }

    #[test]
    fn operations_take_time() {
        for (name, _) in OPERATIONS {
            let cost = cost_of_an_operation(name);
            assert!((0.1..100.0).contains(&cost), "{name}: {cost}");
        }
        assert_eq!(cost_of_an_operation("none"), 0.0);
    }

    #[test]
    fn a_read_by_a_system_call_costs_more() {
        let [plain, call] = cost_of_a_read().unwrap();
        assert!(plain > 0.0 && call > plain, "{plain} {call}");
    }
}
