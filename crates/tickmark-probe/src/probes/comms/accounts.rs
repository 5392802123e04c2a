//! What the processor did in each window, by what computes beside the messages and by the kernel's accounts.

use super::sides::Sides;
use crate::routine::Budget;
use crate::sys::computer::Done;
use crate::sys::counters::Counters;
use crate::sys::usage::{self, CpuTimes};
use tickmark_timer::{Scale, monotonic_ns};
use tickmark_wire::{Alone, Loads, Nanos};

/// How long what computes is looked at alone, at most, in ns; and which part of the time that may be.
const ALONE: i64 = 500_000_000;
const PART: i64 = 8;

/// The books of one CPU.
struct Cpu {
    loads: Loads,
    counters: Option<Counters>,
    times: CpuTimes,
    open: Open,
}

/// Where they stood as a window was opened.
#[derive(Default)]
struct Open {
    wall: u64,
    done: Option<Done>,
    communicating: Nanos,
    switches: i64,
    stat: Option<[Nanos; 6]>,
}

/// Those of this CPU, and of the other side's.
pub(super) struct Accounts {
    cpus: Vec<Cpu>,
    scale: Scale,
}

impl Accounts {
    /// Looks at what computes alone, then waits for windows.
    pub(super) fn begin(sides: &Sides, here: u32, there: u32, budget: &Budget) -> Self {
        let cpus = if here == there { vec![here] } else { vec![here, there] };
        let scale = budget.gauge.scale;
        let alone = || -> Vec<Alone> {
            let (begun, before): (u64, Vec<Done>) =
                (monotonic_ns(), sides.watchers.iter().map(|watcher| watcher.read()).collect());
            std::thread::sleep(Nanos::new((budget.time.get() / PART).clamp(20_000_000, ALONE)).to_duration());
            let now = sides.watchers.iter().map(|watcher| watcher.read());
            let wall = Nanos::new((monotonic_ns() - begun) as i64);
            let one = |(before, now): (&Done, Done)| Alone {
                wall,
                computing: Nanos::new(now.cpu.get() - before.cpu.get()),
                steps: now.steps - before.steps,
                unbroken: Nanos::new(scale.nanos(now.unbroken.saturating_sub(before.unbroken)) as i64),
            };
            before.iter().zip(now).map(one).collect()
        };
        let alone = if sides.watchers.is_empty() { Vec::new() } else { alone() };
        let book = |(number, cpu): (usize, u32)| Cpu {
            loads: Loads { cpu, alone: alone.get(number).copied(), ..Loads::default() },
            counters: Counters::open(cpu),
            times: CpuTimes::open(cpu),
            open: Open::default(),
        };
        Self { cpus: cpus.into_iter().enumerate().map(book).collect(), scale }
    }

    /// Begins a window; /proc is read before it.
    pub(super) fn open(&mut self, sides: &Sides) {
        let (alone, switches) = (self.cpus.len() == 1, usage::thread_counts().switches);
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            if let Some(counters) = &mut cpu.counters {
                counters.read(|_, _| ());
            }
            cpu.open.stat = cpu.times.read();
            cpu.open.switches = switches;
            cpu.open.done = sides.watchers.get(number).map(|watcher| watcher.read());
            cpu.open.communicating = communicating(sides, number, alone);
            cpu.open.wall = monotonic_ns();
        }
    }

    /// Ends it.
    pub(super) fn close(&mut self, sides: &Sides, size: u64, trips: u64) {
        let (alone, switches) = (self.cpus.len() == 1, usage::thread_counts().switches);
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            let (open, loads) = (&cpu.open, &mut cpu.loads);
            loads.wall.push(Nanos::new((monotonic_ns() - open.wall) as i64));
            let used = communicating(sides, number, alone).get() - open.communicating.get();
            loads.communicating.push(Nanos::new(used));
            loads.size.push(size);
            loads.trips.push(trips);
            if let Some((before, now)) =
                open.done.zip(sides.watchers.get(number).map(|watcher| watcher.read()))
            {
                loads.steps.push(now.steps - before.steps);
                let unbroken = now.unbroken.saturating_sub(before.unbroken);
                loads.unbroken.push(Nanos::new(self.scale.nanos(unbroken) as i64));
                loads.computing.push(Nanos::new(now.cpu.get() - before.cpu.get()));
                if let Some((before, now)) = before.waited.zip(now.waited) {
                    loads.waited.push(Nanos::new(now.get() - before.get()));
                }
            }
            if number == 0 {
                loads.switches.push((switches - open.switches).max(0) as u64);
            }
        }
        // What takes long, when every window is over.
        for cpu in &mut self.cpus {
            if let Some((before, now)) = cpu.open.stat.zip(cpu.times.read()) {
                let more = std::array::from_fn(|at| Nanos::new(now[at].get() - before[at].get()));
                cpu.loads.stat.push(more);
            }
            if let Some(counters) = &mut cpu.counters {
                let softirqs: Vec<bool> =
                    counters.names().iter().map(|name| name.starts_with("softirq ")).collect();
                let interrupts: Vec<bool> =
                    counters.names().iter().map(|name| name.starts_with("interrupt ")).collect();
                let mut sums = [0; 2];
                let known = counters.read(|counter, more| {
                    sums[0] += if interrupts.get(counter) == Some(&true) { more } else { 0 };
                    sums[1] += if softirqs.get(counter) == Some(&true) { more } else { 0 };
                });
                if known {
                    cpu.loads.interrupts.push(sums);
                }
            }
        }
    }

    /// What was seen. A column that does not have every window says nothing.
    pub(super) fn loads(self) -> Vec<Loads> {
        let whole = |cpu: Cpu| {
            let mut loads = cpu.loads;
            let count = loads.wall.len();
            if loads.waited.len() != count {
                loads.waited.clear();
            }
            if loads.stat.len() != count {
                loads.stat.clear();
            }
            if loads.interrupts.len() != count {
                loads.interrupts.clear();
            }
            loads
        };
        self.cpus.into_iter().map(whole).collect()
    }
}

/// CPU time of the communicating tasks of a CPU: of this side on the first, of the other on the second; of both where there is but one.
fn communicating(sides: &Sides, number: usize, alone: bool) -> Nanos {
    let there = || sides.there.as_ref().map_or(Nanos::ZERO, usage::CpuClock::read);
    match number {
        0 if alone => Nanos::new(usage::thread_cpu().get() + there().get()),
        0 => usage::thread_cpu(),
        _ => there(),
    }
}
