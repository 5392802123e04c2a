//! Live watch of each CPU at little cost: a thread on each sleeps most of the time, is as late as a program would be, and reads the clock
//! for a moment; the kernel's counters are read once a second.

mod occupants;

use crate::sys::CallError;
use crate::sys::limits::{pin, set_slack};
use crate::sys::tracepoints;
use crate::sys::usage::{Accounts, CpuClock, all_cpu_times, current_cpu};
use crate::sys::waiting::WaitMethod;
use occupants::Occupants;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tickmark_timer::monotonic_ns;
use tickmark_wire::{GapTrace, Nanos, names};

/// Of one CPU all threads together may use so much, as it is planned.
const BUDGET: f64 = 0.013;
/// And this whole process, with what it shows: above it each thread wakes half as often, below a third of it twice as often, as far as it was planned.
const MOST: f64 = 0.018;
/// Of the time, reading the kernel's counts of interrupts may take so much.
const COUNTING: f64 = 0.002;
/// Wake-ups a second on each CPU, at most.
const WAKES: f64 = 20.0;
/// Rough cost of a wake-up, ns.
const WAKE: f64 = 40_000.0;
/// A look at the clock lasts so long at least and at most, in ns.
const LOOK: (f64, f64) = (20_000.0, 1_000_000.0);
/// Longer gaps are counted.
const GAP: u64 = 1_000;
/// Reads of the clock of which the cost is told.
const READS: u32 = 32;

/// How long the threads may take to begin.
const BEGINS: Duration = Duration::from_secs(2);
/// CPUs of which it is recorded who has them, at most: of each the wake-ups by all others are recorded, too.
const NAMED: usize = 8;

/// One second of a CPU. Times in ns; shares of the time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Second {
    /// Its number.
    pub cpu: u32,
    /// How late each wake-up was.
    pub late: Vec<u64>,
    /// Gaps of more than a microsecond in the looks.
    pub gaps: Vec<u64>,
    /// How long the thread waited for its CPU before its looks, while others had it; 0 where the kernel does not say.
    pub waited: u64,
    /// How long it wanted its CPU: those waits, and the looks with their gaps.
    pub wanted: u64,
    /// The cheapest read of the clock; none where there was no look.
    pub clock: Option<f64>,
    /// Timer interrupts a second, where the kernel counts them.
    pub timer_interrupts: Option<f64>,
    /// Share of time in use; none where /proc/stat does not say.
    pub busy: Option<f64>,
    /// Share of time in interrupts and soft interrupts.
    pub interrupts: Option<f64>,
    /// Share of time taken by the hypervisor.
    pub steal: Option<f64>,
    /// The kernel's events of a part of the time, where they may be recorded and there are few CPUs.
    pub events: Option<GapTrace>,
}

/// Observations of a thread between two takes.
#[derive(Debug, Default)]
struct LiveObservation {
    late: Vec<u64>,
    gaps: Vec<u64>,
    waited: u64,
    wanted: u64,
    clock: Option<f64>,
    events: Option<GapTrace>,
}

/// A CPU that is watched.
struct Watched {
    cpu: u32,
    observation: Arc<Mutex<LiveObservation>>,
    times: Option<[Nanos; 6]>,
    thread: Option<JoinHandle<()>>,
}

/// All of them, until this is dropped.
pub struct Live {
    watched: Vec<Watched>,
    stop: Arc<AtomicBool>,
    /// Periods between two wake-ups of a thread: more than one where this costs more than it should.
    slow: Arc<AtomicU64>,
    own: Option<CpuClock>,
    /// When it was looked at, and what this process had used then, in ns.
    used: (u64, f64),
    interrupts: TimerInterrupts,
    /// Why those who had a CPU are not told by name, where they would be.
    pub unnamed: Option<String>,
}

impl Live {
    /// Begins to watch these CPUs.
    ///
    /// # Errors
    /// A CPU on which this process may not run; those of pthread_create(3).
    pub fn begin(cpus: &[u32]) -> Result<Self, CallError> {
        let stop = Arc::new(AtomicBool::new(false));
        let plan = Pace::for_cpus(cpus.len());
        let times = all_cpu_times();
        // What is refused to the threads is refused here, where it can be said.
        WaitMethod::from_name("nanosleep")?;
        let own = CpuClock::for_process(std::process::id());
        let used = (0, 0.0);
        let (slow, interrupts) = (Arc::new(AtomicU64::new(1)), TimerInterrupts::begin());
        let mut live = Self { watched: Vec::new(), stop, slow, own, used, interrupts, unnamed: None };
        let available = (cpus.len() <= NAMED).then(|| tracepoints::available("live"));
        let is_named = matches!(available, Some(Ok(())));
        live.unnamed = available.and_then(Result::err);
        let (ready, is_ready) = mpsc::channel();
        for cpu in cpus {
            // On this thread first, so that what is refused is said.
            pin(&[*cpu])?;
            let observed = Arc::new(Mutex::new(LiveObservation::default()));
            let (own, cpu) = (Arc::clone(&observed), *cpu);
            let (stop, slow) = (Arc::clone(&live.stop), Arc::clone(&live.slow));
            let named = if is_named { cpus.len() } else { 0 };
            let ready = ready.clone();
            let begin = move || watch(cpu, named, plan, &own, &stop, &slow, ready);
            let thread = std::thread::Builder::new().name(names::INSTRUMENT.to_owned()).spawn(begin);
            let thread = thread.map_err(|error| CallError::from_io("pthread_create", &error))?;
            live.watched.push(Watched {
                cpu,
                observation: observed,
                times: value_for_cpu(&times, cpu),
                thread: Some(thread),
            });
        }
        pin(cpus)?;
        // What the beginning takes is none of what watching does.
        drop(ready);
        while is_ready.recv_timeout(BEGINS).is_ok() {}
        live.used = live.used_until_now();
        Ok(live)
    }

    /// When it is, and the CPU time that this process has used, in ns.
    fn used_until_now(&self) -> (u64, f64) {
        (monotonic_ns(), self.own.as_ref().map_or(0.0, |clock| clock.read().as_f64()))
    }

    /// Observations of each CPU since the last time.
    pub fn take(&mut self) -> Vec<Second> {
        self.stay_in_the_budget();
        self.interrupts.count();
        let times = all_cpu_times();
        let rates = &self.interrupts.rates;
        let one = |watched: &mut Watched| {
            let observed =
                std::mem::take(&mut *watched.observation.lock().unwrap_or_else(PoisonError::into_inner));
            let now = value_for_cpu(&times, watched.cpu);
            let more = now.zip(watched.times).map(|(now, before)| {
                let each: [f64; 6] =
                    std::array::from_fn(|at| (now[at].as_f64() - before[at].as_f64()).max(0.0));
                (each, each.iter().sum::<f64>())
            });
            watched.times = now;
            let share = |of: fn(&[f64; 6]) -> f64| {
                more.filter(|(_, all)| *all > 0.0).map(|(each, all)| of(&each) / all)
            };
            Second {
                cpu: watched.cpu,
                late: observed.late,
                gaps: observed.gaps,
                waited: observed.waited,
                wanted: observed.wanted,
                clock: observed.clock,
                timer_interrupts: value_for_cpu(rates, watched.cpu),
                busy: share(|[user, system, irq, softirq, ..]| user + system + irq + softirq),
                interrupts: share(|[_, _, irq, softirq, ..]| irq + softirq),
                steal: share(|each| each[5]),
                events: observed.events,
            }
        };
        self.watched.iter_mut().map(one).collect()
    }
}

impl Live {
    /// Wakes less often where this process takes more than it should, however dear a wake-up is here.
    fn stay_in_the_budget(&mut self) {
        let (before, had) = self.used;
        let (now, used) = self.used_until_now();
        self.used = (now, used);
        let share = (used - had) / (now - before).max(1) as f64;
        let slow = self.slow.load(Ordering::Relaxed);
        self.slow.store(slower(slow, share), Ordering::Relaxed);
    }
}

fn slower(slow: u64, share: f64) -> u64 {
    match share {
        share if share > MOST => (slow * 2).min(64),
        share if share < MOST / 3.0 => (slow / 2).max(1),
        _ => slow,
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.watched.iter_mut().filter_map(|watched| watched.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// How often a thread wakes, and for how long it looks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pace {
    /// ns between two wake-ups.
    period: u64,
    /// ns of a look.
    look: u64,
}

impl Pace {
    /// So that all of so many CPUs together stay in the budget.
    fn for_cpus(cpus: usize) -> Self {
        let each = BUDGET * 1e9 / cpus.max(1) as f64;
        // A third of it for waking, the rest for looking; of hundreds of CPUs each is visited every few seconds.
        let wakes = (each / 3.0 / WAKE).max((each / (WAKE + LOOK.0)).min(1.0)).min(WAKES);
        let look = ((each - wakes * WAKE) / wakes).clamp(LOOK.0, LOOK.1);
        Self { period: (1e9 / wakes) as u64, look: look as u64 }
    }
}

fn watch(
    cpu: u32,
    named: usize,
    pace: Pace,
    observed: &Mutex<LiveObservation>,
    stop: &AtomicBool,
    slow: &AtomicU64,
    ready: Sender<()>,
) {
    let Ok(mut way) = WaitMethod::from_name("nanosleep") else { return };
    if pin(&[cpu]).is_err() || set_slack(Nanos::new(1)).is_err() {
        return;
    }
    let mut occupants = (named > 0).then(|| Occupants::open(cpu, named).ok()).flatten();
    drop(ready);
    // A look begins when others leave the CPU: how long that took belongs to what they had.
    let mut accounts = Accounts::open(&[]);
    let mut delay = move || accounts.run_delay().map_or(0, |delay| delay.get().max(0) as u64);
    let mut waited_before = delay();
    // Threads of different CPUs do not wake at the same moment.
    let mut due = monotonic_ns() + pace.period / 16 * u64::from(cpu % 16 + 1);
    while !stop.load(Ordering::Relaxed) {
        let Ok(woken) = way.until(due) else { return };
        let late = woken.saturating_sub(due);
        let waited = delay().saturating_sub(waited_before);
        let begun = monotonic_ns();
        let (mut gaps, mut last) = (Vec::new(), begun);
        let end = last + pace.look;
        while last < end {
            let now = monotonic_ns();
            if now - last > GAP {
                gaps.push(now - last);
            }
            last = now;
        }
        let looked = last - begun;
        let begun = monotonic_ns();
        (0..READS).for_each(|_| _ = std::hint::black_box(monotonic_ns()));
        let clock = (monotonic_ns() - begun) as f64 / f64::from(READS + 1);
        let events = occupants.as_mut().and_then(|occupants| occupants.visit(monotonic_ns()));
        waited_before = delay();
        if current_cpu() == Some(cpu) {
            let mut all = observed.lock().unwrap_or_else(PoisonError::into_inner);
            all.late.push(late);
            all.waited += waited;
            all.wanted += waited + looked;
            all.gaps.append(&mut gaps);
            all.events = events.or(all.events.take());
            all.clock = Some(all.clock.map_or(clock, |known| known.min(clock)));
        } else {
            // The kernel moved this thread where its CPU went offline: back, once that is online again.
            let _ = pin(&[cpu]);
        }
        // What was missed is missed: after a long stop it goes on from there.
        let period = pace.period * slow.load(Ordering::Relaxed);
        due += period * ((monotonic_ns().saturating_sub(due)) / period + 1);
    }
}

/// Value of one CPU in a list.
fn value_for_cpu<T: Copy>(all: &[(u32, T)], cpu: u32) -> Option<T> {
    all.iter().find(|(known, _)| *known == cpu).map(|(_, value)| *value)
}

/// Timer interrupts by the kernel's count: the local timer's on x86, the architecture's on arm64; none elsewhere.
struct TimerInterrupts {
    counts: Vec<(u32, u64)>,
    /// A second, on each CPU, over the time between the last two counts.
    rates: Vec<(u32, f64)>,
    at: u64,
    /// ns that the last count took.
    cost: u64,
}

impl TimerInterrupts {
    fn begin() -> Self {
        let mut all = Self { counts: Vec::new(), rates: Vec::new(), at: 0, cost: 0 };
        all.count();
        all
    }

    /// Counts again, unless that would take more than its share: with hundreds of CPUs the kernel writes a long table.
    fn count(&mut self) {
        let begun = monotonic_ns();
        let passed = begun - self.at;
        if (self.cost as f64) > COUNTING * passed as f64 {
            return;
        }
        let counts = parse(&std::fs::read_to_string("/proc/interrupts").unwrap_or_default());
        let more = |(cpu, now): &(u32, u64)| {
            let before = value_for_cpu(&self.counts, *cpu)?;
            Some((*cpu, now.saturating_sub(before) as f64 * 1e9 / passed as f64))
        };
        self.rates = counts.iter().filter_map(more).collect();
        (self.counts, self.at, self.cost) = (counts, begun, monotonic_ns() - begun);
    }
}

fn parse(text: &str) -> Vec<(u32, u64)> {
    let mut lines = text.lines();
    let heads = lines.next().unwrap_or_default();
    let cpus = heads.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse::<u32>().ok());
    let is_timer = |line: &&str| line.trim_start().starts_with("LOC:") || line.contains(" arch_timer");
    let Some(line) = lines.find(is_timer) else { return Vec::new() };
    let counts = line.split_whitespace().skip(1).map_while(|word| word.parse().ok());
    cpus.zip(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cpus_together_stay_in_the_budget() {
        for cpus in [1, 2, 8, 64, 256, 1024, 8192] {
            let pace = Pace::for_cpus(cpus);
            let wakes = 1e9 / pace.period as f64;
            let used = cpus as f64 * wakes * (WAKE + pace.look as f64) / 1e9;
            assert!(used <= BUDGET * 1.01, "{cpus}: {pace:?} uses {used}");
            assert!(wakes >= 0.99 || cpus > 200, "{cpus}: {pace:?}");
        }
        assert_eq!(Pace::for_cpus(1), Pace::for_cpus(0));
        // Where a wake-up is dearer than it was taken for.
        let mut slow = 1;
        for _ in 0..4 {
            slow = slower(slow, 0.05);
        }
        assert_eq!((slow, slower(slow, 0.01), slower(slow, 0.001), slower(1, 0.0)), (16, 16, 8, 1));
    }

    #[test]
    fn the_kernels_counts_are_read() {
        let x86 = "           CPU0       CPU2\n  0:  5  6  IO-APIC timer\nLOC:  70000  80000   Local timer interrupts\n";
        assert_eq!(parse(x86), [(0, 70_000), (2, 80_000)]);
        let arm = "      CPU0  CPU1\n 11:  7  9  GICv3 27 Level arch_timer\n";
        assert_eq!(parse(arm), [(0, 7), (1, 9)]);
        assert!(parse("").is_empty() && parse("CPU0\n 1: 2 3\n").is_empty());
    }

    #[test]
    fn a_cpu_is_watched() {
        let cpu = crate::sys::limits::allowed_cpus().unwrap()[0];
        let mut live = Live::begin(&[cpu]).unwrap();
        std::thread::sleep(Duration::from_millis(600));
        let [second] = &live.take()[..] else { panic!("one CPU") };
        assert!(second.cpu == cpu && !second.late.is_empty() && second.wanted > 0, "{second:?}");
        assert!(second.clock.is_some_and(|cost| cost > 0.1 && cost < 1e6), "{second:?}");
        assert!(second.busy.is_none_or(|share| (0.0..=1.0).contains(&share)), "{second:?}");
        assert!(Live::begin(&[4095]).is_err());
    }
}
