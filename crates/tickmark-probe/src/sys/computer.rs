//! A task that computes without end, and what it gets done: by its steps, by the time in which it sees no gap, and by its CPU time.

use super::memory::Words;
use super::usage::{self, CpuClock};
use super::{CallError, chain, limits};
use crate::clock::Clock;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use tickmark_wire::shared::TURNS_OF_A_GAP;
use tickmark_wire::{Nanos, Priority};

/// Steps between two readings of the clock.
const PIECE: u64 = 64;
/// Longer pauses are gaps, in ns.
pub const GAP: i64 = 500;
/// So many of its first turns say how long one takes.
const FIRST_TURNS: usize = 100;
/// How long it may take to begin, in ns.
const BEGINS: u64 = 2_000_000_000;
/// How long a task that runs may take to answer, in ns: one that does not run does not, and its clock can be read from outside.
const ANSWERS: u64 = 30_000;

/// The kind of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A multiplication that needs the one before.
    Multiply,
    /// A counter in memory goes up by one (processor-load.txt).
    Increment,
}

/// Where the task writes what it did.
#[derive(Debug, Clone)]
pub struct Board(Arc<Words>);

const STEPS: usize = 0;
/// One word: where others want its CPU, the task may stand still between any two.
const UNBROKEN: usize = 1;
const STOP: usize = 2;
const OWN: usize = 3;
const COUNTER: usize = 4;
/// A number that asks for an answer, and the last one that was answered; what the answer is: CPU time, steps, time without a gap.
const ASKED: usize = 5;
const ANSWERED: usize = 6;
const CPU: usize = 7;
const STEPS_THEN: usize = 8;
const UNBROKEN_THEN: usize = 9;
const WORDS: usize = 10;

impl Board {
    /// An empty one, shared with children.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn new() -> Result<Self, CallError> {
        Words::shared(WORDS).map(|words| Self(Arc::new(words)))
    }

    /// Computes on this CPU until it is to stop, at ordinary priority, or where nobody else wants to run; in a child, or on a thread.
    ///
    /// # Errors
    /// Those of sched_setaffinity(2) and sched_setscheduler(2).
    pub fn compute<C: Clock>(
        &self,
        clock: C,
        step: Step,
        gap: u64,
        cpu: u32,
        idle: bool,
    ) -> Result<(), CallError> {
        let words = &*self.0;
        let own = usage::thread_id();
        limits::set_priority(Priority::Other)?;
        limits::pin(&[cpu])?;
        let mut first = clock.now();
        let (mut value, mut steps, mut gaps, mut last) = (3, 0u64, 0, first);
        // On a slow machine a turn alone is longer than the gap that is asked for.
        let (mut gap, mut turns, mut shortest, mut answered) = (gap, 0, u64::MAX, 0);
        while words.word(STOP).load(Relaxed) == 0 {
            match step {
                Step::Multiply => value = chain::three_cycles(value, PIECE),
                Step::Increment => {
                    let counter = words.wide(COUNTER);
                    (0..PIECE).for_each(|_| counter.store(chain::opaque(counter.load(Relaxed) + 1), Relaxed));
                }
            }
            steps += PIECE;
            let now = clock.now();
            if turns < FIRST_TURNS {
                turns += 1;
                shortest = shortest.min(now - last);
                last = now;
                if turns == FIRST_TURNS {
                    gap = gap.max(TURNS_OF_A_GAP * shortest);
                    // Not before: where others want to run, the lowest priority takes seconds to begin.
                    if idle {
                        limits::set_idle()?;
                    }
                    (steps, first) = (0, clock.now());
                    last = first;
                    words.wide(OWN).store(u64::from(own), Release);
                }
                continue;
            }
            if now - last > gap {
                gaps += now - last;
            }
            last = now;
            let unbroken = (last - first).saturating_sub(gaps);
            words.wide(STEPS).store(steps, Relaxed);
            words.wide(UNBROKEN).store(unbroken, Relaxed);
            let wanted = words.wide(ASKED).load(Acquire);
            if wanted != answered {
                words.wide(CPU).store(usage::thread_cpu().get() as u64, Relaxed);
                words.wide(STEPS_THEN).store(steps, Relaxed);
                words.wide(UNBROKEN_THEN).store(unbroken, Relaxed);
                words.wide(ANSWERED).store(wanted, Release);
                answered = wanted;
                // Nothing was computed meanwhile: others may have had the CPU since the call.
                let now = clock.now();
                gaps += now - last;
                last = now;
            }
        }
        Ok(())
    }

    /// Ends it.
    pub fn stop(&self) {
        self.0.word(STOP).store(1, Relaxed);
    }

    /// The number of the task, once it computes.
    #[must_use]
    pub fn task(&self) -> Option<u32> {
        let own = self.0.wide(OWN).load(Acquire);
        (own > 0).then_some(own as u32)
    }

    /// Waits until it computes; none where it does not within two seconds.
    #[must_use]
    pub fn wait(&self) -> Option<u32> {
        let begun = tickmark_timer::monotonic_ns();
        loop {
            if let Some(task) = self.task() {
                return Some(task);
            }
            if tickmark_timer::monotonic_ns() - begun > BEGINS {
                return None;
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }
}

/// Progress of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskProgress {
    /// Steps.
    pub steps: u64,
    /// Ticks of its clock without a gap.
    pub unbroken: u64,
    /// Its CPU time.
    pub cpu: Nanos,
    /// How long it stood runnable without a CPU; none where the kernel does not say.
    pub waited: Option<Nanos>,
}

/// Looks at a task.
#[derive(Debug)]
pub struct Watcher {
    board: Board,
    cpu: u32,
    clock: CpuClock,
    schedstat: Option<File>,
}

impl Watcher {
    /// Of a task that computes on a CPU, with its number: a thread of this process, or another one.
    #[must_use]
    pub fn new(board: Board, cpu: u32, task: u32, is_thread: bool) -> Option<Self> {
        let clock = if is_thread { CpuClock::of_thread(task) } else { CpuClock::for_process(task)? };
        let path = if is_thread {
            format!("/proc/self/task/{task}/schedstat")
        } else {
            format!("/proc/{task}/schedstat")
        };
        Some(Self { board, cpu, clock, schedstat: File::open(path).ok() })
    }

    /// Everything at the same moment. The CPU clock of another process is as old as its last tick while that runs: it is asked itself; one that
    /// does not run has clock and words that stand still.
    #[must_use]
    pub fn read(&self) -> TaskProgress {
        let words = &*self.board.0;
        let number = words.wide(ASKED).load(Relaxed) + 1;
        let begun = tickmark_timer::monotonic_ns();
        // Beside this thread it does not run.
        let runs = super::wake::cpu().is_ok_and(|own| own != self.cpu);
        if runs {
            words.wide(ASKED).store(number, Release);
        }
        while runs && tickmark_timer::monotonic_ns() - begun < ANSWERS {
            if words.wide(ANSWERED).load(Acquire) == number {
                let of = |at: usize| words.wide(at).load(Relaxed);
                let cpu = Nanos::new(of(CPU) as i64);
                let (steps, unbroken) = (of(STEPS_THEN), of(UNBROKEN_THEN));
                return TaskProgress { steps, unbroken, cpu, waited: self.waited() };
            }
            std::hint::spin_loop();
        }
        TaskProgress {
            cpu: self.clock.read(),
            steps: words.wide(STEPS).load(Relaxed),
            unbroken: words.wide(UNBROKEN).load(Relaxed),
            waited: self.waited(),
        }
    }

    fn waited(&self) -> Option<Nanos> {
        let mut text = [0; 128];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok().map(Nanos::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Monotonic;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// One at a time: all of them compute on the same CPU.
    fn alone() -> MutexGuard<'static, ()> {
        static CPU: Mutex<()> = Mutex::new(());
        CPU.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn what_it_did_goes_up_and_is_no_more_than_its_time() {
        let _computes = alone();
        let cpu = limits::allowed_cpus().unwrap()[0];
        for step in [Step::Multiply, Step::Increment] {
            let board = Board::new().unwrap();
            let own = board.clone();
            let task = std::thread::spawn(move || own.compute(Monotonic, step, GAP as u64, cpu, false));
            let watcher = Watcher::new(board.clone(), cpu, board.wait().unwrap(), true).unwrap();
            let (begun, first) = (tickmark_timer::monotonic_ns(), watcher.read());
            std::thread::sleep(std::time::Duration::from_millis(100));
            let (now, wall) = (watcher.read(), tickmark_timer::monotonic_ns() - begun);
            assert!(now.steps > first.steps + 10_000, "{now:?}");
            let unbroken = now.unbroken - first.unbroken;
            assert!(unbroken > 1_000_000 && unbroken <= wall + 1_000_000, "{unbroken} of {wall}");
            assert!(now.cpu > first.cpu && now.waited >= first.waited);
            board.stop();
            task.join().unwrap().unwrap();
        }
    }

    /// Others take the CPU while it answers, too: what it then stands still is a gap, so that it never computed for longer than it had the CPU.
    #[test]
    fn it_computes_no_longer_than_it_has_the_cpu() {
        let _computes = alone();
        let allowed = limits::allowed_cpus().unwrap();
        let [cpu, other, ..] = allowed[..] else {
            println!("SKIPPED: one CPU");
            return;
        };
        let board = Board::new().unwrap();
        let own = board.clone();
        let task = std::thread::spawn(move || own.compute(Monotonic, Step::Multiply, GAP as u64, cpu, true));
        let watcher = Watcher::new(board.clone(), cpu, board.wait().unwrap(), true).unwrap();
        let busy = board.clone();
        // Turns of half a millisecond, so that many begin while it answers.
        let competitor = std::thread::spawn(move || {
            limits::pin(&[cpu]).unwrap();
            while busy.0.word(STOP).load(Relaxed) == 0 {
                let begun = usage::thread_cpu().get();
                while usage::thread_cpu().get() - begun < 500_000 {}
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
        });
        limits::pin(&[other]).unwrap();
        let mut most = i64::MIN;
        for _ in 0..3_000 {
            std::thread::sleep(std::time::Duration::from_micros(500));
            let done = watcher.read();
            most = most.max(done.unbroken as i64 - done.cpu.get());
        }
        board.stop();
        competitor.join().unwrap();
        task.join().unwrap().unwrap();
        limits::pin(&allowed).unwrap();
        // What it took to begin is in both.
        assert!(most < 20_000_000, "it computed {most} ns longer");
    }

    /// How far off the meters may be. A step has the pace of the moment in which it was looked at alone: a neighbour on the core moved it by 7 points.
    const MOST: [f64; 2] = [0.03, 0.25];

    /// A task at fifo priority that has the CPU for a known part of the time, as communicating tasks have: both meters find it.
    #[test]
    fn a_planted_load_is_found_by_both_meters() {
        let _computes = alone();
        if limits::set_priority(Priority::Fifo(5)).is_err() {
            // Not allowed here: what could be planted, others would share.
            return;
        }
        let cpu = limits::allowed_cpus().unwrap()[0];
        limits::pin(&[cpu]).unwrap();
        let board = Board::new().unwrap();
        let own = board.clone();
        let task = std::thread::spawn(move || own.compute(Monotonic, Step::Multiply, GAP as u64, cpu, false));
        let watcher = Watcher::new(board.clone(), cpu, board.wait().unwrap(), true).unwrap();
        let sleep = |nanos: u64| std::thread::sleep(std::time::Duration::from_nanos(nanos));
        let now = || (tickmark_timer::monotonic_ns(), watcher.read(), usage::thread_cpu());
        let since = |before: &(u64, TaskProgress, Nanos)| {
            let after = now();
            let (wall, cpu) = ((after.0 - before.0) as f64, (after.1.cpu.get() - before.1.cpu.get()) as f64);
            let own = (after.2.get() - before.2.get()) as f64;
            let done = [after.1.unbroken - before.1.unbroken, after.1.steps - before.1.steps];
            (wall, cpu, own, done.map(|done| done as f64))
        };
        // What it does alone in each ns of the CPU, by both meters: the middle one of five windows, and anew for each duty, as one that a
        // neighbour disturbed would move all that come after it.
        let paces = || {
            let windows = [(); 5].map(|()| {
                let before = now();
                sleep(50_000_000);
                let (_, cpu, _, done) = since(&before);
                done.map(|done| done / cpu)
            });
            [0, 1].map(|meter| {
                let mut all = windows.map(|paces| paces[meter]);
                all.sort_unstable_by(f64::total_cmp);
                all[2]
            })
        };
        for duty in [0.1, 0.3, 0.6, 0.9] {
            let alone = paces();
            let mut found = [Vec::new(), Vec::new()];
            for _ in 0..8 {
                let before = now();
                for _ in 0..5 {
                    let begun = usage::thread_cpu().get();
                    let slot = tickmark_timer::monotonic_ns();
                    while usage::thread_cpu().get() - begun < (duty * 1e7) as i64 {}
                    sleep(10_000_000u64.saturating_sub(tickmark_timer::monotonic_ns() - slot));
                }
                let (wall, computing, own, done) = since(&before);
                for (meter, (done, alone)) in found.iter_mut().zip(done.into_iter().zip(alone)) {
                    // How far off the share that the task itself counts.
                    meter.push((own + computing - done / alone) / wall - own / wall);
                }
            }
            for (mut off, most) in found.into_iter().zip(MOST) {
                off.sort_unstable_by(f64::total_cmp);
                println!(
                    "duty {duty}: off by {:+.4} in the median, {:+.4} to {:+.4}",
                    off[4], off[0], off[7]
                );
                // Of the eight windows the fourth: those that a neighbour disturbed are later.
                assert!(off[3].abs() < most, "{duty}: {off:?}");
            }
        }
        board.stop();
        task.join().unwrap().unwrap();
        limits::set_priority(Priority::Other).unwrap();
    }
}
