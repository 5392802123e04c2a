//! Accounts of the processor in each window, by the computation beside the messages and by the kernel.

use super::computing::Tasks;
use tickmark_probe::routine::Budget;
use tickmark_probe::sys::computer::{TaskProgress, Watcher};
use tickmark_probe::sys::counters::Counters;
use tickmark_probe::sys::usage::{self, CpuTimes};
use tickmark_timer::{Scale, monotonic_ns};
use tickmark_wire::{Alone, Loads, Nanos, Span};

/// How long what computes is looked at alone, at most, in ns; and which part of the time that may be.
const ALONE: i64 = 500_000_000;
const PART: i64 = 8;
/// And at least, in ns.
const LEAST: i64 = 100_000_000;

/// The books of one CPU.
struct Cpu {
    loads: Loads,
    counters: Option<Counters>,
    times: CpuTimes,
    open: Open,
    /// The first window's beginning, and the last one's end.
    first: Option<Open>,
    last: Open,
}

/// Where they stood at a moment.
#[derive(Clone, Copy, Default)]
struct Open {
    wall: u64,
    done: Option<TaskProgress>,
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
    pub(super) fn begin(tasks: Tasks<'_>, here: u32, there: u32, budget: &Budget) -> Self {
        let cpus = if here == there { vec![here] } else { vec![here, there] };
        let scale = budget.gauge.scale;
        let alone = || -> Vec<Alone> {
            let (begun, before): (u64, Vec<TaskProgress>) =
                (monotonic_ns(), tasks.watchers.iter().map(Watcher::read).collect());
            std::thread::sleep(Nanos::new((budget.time.get() / PART).clamp(LEAST, ALONE)).to_duration());
            let now = tasks.watchers.iter().map(Watcher::read);
            let wall = Nanos::new((monotonic_ns() - begun) as i64);
            let one = |(before, now): (&TaskProgress, TaskProgress)| Alone {
                wall,
                computing: Nanos::new(now.cpu.get() - before.cpu.get()),
                steps: now.steps - before.steps,
                unbroken: Nanos::new(scale.nanos(now.unbroken.saturating_sub(before.unbroken)) as i64),
            };
            before.iter().zip(now).map(one).collect()
        };
        let alone = if tasks.watchers.is_empty() { Vec::new() } else { alone() };
        let book = |(number, cpu): (usize, u32)| Cpu {
            loads: Loads { cpu, alone: alone.get(number).copied(), ..Loads::default() },
            counters: Counters::open(cpu),
            times: CpuTimes::open(cpu),
            open: Open::default(),
            first: None,
            last: Open::default(),
        };
        Self { cpus: cpus.into_iter().enumerate().map(book).collect(), scale }
    }

    /// Begins a window; /proc is read before it, for every CPU.
    pub(super) fn open(&mut self, tasks: Tasks<'_>) {
        for cpu in &mut self.cpus {
            if let Some(counters) = &mut cpu.counters {
                counters.read(|_, _| ());
            }
            cpu.open.stat = cpu.times.read();
        }
        let (alone, switches) = (self.cpus.len() == 1, usage::thread_counts().switches);
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            let done = tasks.watchers.get(number).map(Watcher::read);
            let (communicating, wall) = (tasks.communicating(number, alone), monotonic_ns());
            cpu.open = Open { wall, done, communicating, switches, stat: cpu.open.stat };
            cpu.first.get_or_insert(cpu.open);
        }
    }

    /// Ends it.
    pub(super) fn close(&mut self, tasks: Tasks<'_>, size: u64, trips: u64) {
        let (alone, switches) = (self.cpus.len() == 1, usage::thread_counts().switches);
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            let (wall, communicating) = (monotonic_ns(), tasks.communicating(number, alone));
            let done = tasks.watchers.get(number).map(Watcher::read);
            let (open, loads) = (&cpu.open, &mut cpu.loads);
            let now = Open { wall, done, communicating, switches, stat: None };
            loads.wall.push(Nanos::new((wall - open.wall) as i64));
            loads.communicating.push(less(now.communicating, open.communicating));
            loads.size.push(size);
            loads.trips.push(trips);
            if let Some((before, now)) = open.done.zip(now.done) {
                loads.steps.push(now.steps.saturating_sub(before.steps));
                let unbroken = now.unbroken.saturating_sub(before.unbroken);
                loads.unbroken.push(Nanos::new(self.scale.nanos(unbroken) as i64));
                loads.computing.push(less(now.cpu, before.cpu));
                loads.waited.extend(before.waited.zip(now.waited).map(|(before, now)| less(now, before)));
            }
            if number == 0 {
                loads.switches.push((switches - open.switches).max(0) as u64);
            }
            cpu.last = now;
        }
        // What takes long, when every window is over.
        for cpu in &mut self.cpus {
            cpu.last.stat = cpu.times.read();
            let stat = cpu.open.stat.zip(cpu.last.stat);
            cpu.loads
                .stat
                .extend(stat.map(|(before, now)| std::array::from_fn(|at| less(now[at], before[at]))));
            let Some(counters) = &mut cpu.counters else { continue };
            let kinds: Vec<Option<usize>> = counters.names().iter().map(|name| kind(name)).collect();
            let mut sums = [0; 2];
            let known = counters.read(|counter, more| {
                if let Some(Some(kind)) = kinds.get(counter) {
                    sums[*kind] += more;
                }
            });
            cpu.loads.interrupts.extend(known.then_some(sums));
        }
    }

    /// The observations. A column without a value for every window is left out.
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
            loads.span = cpu.first.map(|first| span(&first, &cpu.last));
            loads
        };
        self.cpus.into_iter().map(whole).collect()
    }
}

fn less(now: Nanos, before: Nanos) -> Nanos {
    Nanos::new(now.get() - before.get())
}

/// Of a counter: 0 of interrupts, 1 of soft interrupts.
fn kind(name: &str) -> Option<usize> {
    ["interrupt ", "softirq "].iter().position(|kind| name.starts_with(kind))
}

fn span(first: &Open, last: &Open) -> Span {
    let done = first.done.zip(last.done);
    let stat = first.stat.zip(last.stat);
    Span {
        wall: Nanos::new(last.wall.saturating_sub(first.wall) as i64),
        communicating: less(last.communicating, first.communicating),
        computing: done.map_or(Nanos::ZERO, |(before, now)| less(now.cpu, before.cpu)),
        waited: done.and_then(|(before, now)| Some(less(now.waited?, before.waited?))),
        stat: stat.map(|(before, now)| std::array::from_fn(|at| less(now[at], before[at]))),
    }
}
