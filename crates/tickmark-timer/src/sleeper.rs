//! Sleeping until a deadline to some ten nanoseconds: the kernel wakes the thread a learned margin early, and the rest is spun away.

use crate::counter_clock::CounterClock;
use crate::margin::Latencies;
use crate::{Anchor, counter, monotonic_ns, sys};
use std::io;
use std::marker::PhantomData;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// After so many wake-ups without a sleep one is tried with a shorter margin.
const TRIED: u64 = 64;
/// A shorter sleep is not worth a system call, in ns.
const WORTH: u64 = 2_000;
/// Every so many sleeps the CPU time of the kernel's part is measured: two readings of 400 ns.
const MEASURED: u64 = 16;
/// Assumed wake-up latency of the kernel until one is measured, ns.
const SUPPOSED: f64 = 15_000.0;
/// So long after it was compared with the clock, in ns, the counter alone tells the time: its rate is known to 10 ppm, and this to 2 ns.
const RECENT: u64 = 200_000;
/// A deadline of the counter is approached this share of the way early: the rate is known to that.
const RATE_ERROR: u64 = 10_000;

/// How a [`Sleeper`] works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// CPU time that a wake-up may take on average, in ns, the kernel's part included. The larger, the more deadlines are met.
    pub cpu_budget: u64,
    /// The share of wake-ups that the margin is to meet where the budget allows it.
    pub quantile: f64,
    /// The kernel's tick, where it is known.
    pub tick: Option<Tick>,
}

impl Default for Options {
    fn default() -> Self {
        Self { cpu_budget: 42_000, quantile: 0.998, tick: None }
    }
}

/// Interrupts that come regularly, by CLOCK_MONOTONIC: a thread that is to be woken beside one wakes later by what it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// From one to the next, in ns.
    pub period: f64,
    /// When one of them came, in ns.
    pub phase: u64,
    /// Cost of one, ns.
    pub cost: u64,
}

impl Tick {
    /// True if one of them comes from `from` to `until`.
    fn falls_into(&self, from: u64, until: u64) -> bool {
        let slot = |at: u64| ((at as f64 - self.phase as f64) / self.period).floor();
        self.period > 0.0 && slot(from.saturating_sub(1)) < slot(until)
    }
}

/// One wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Woken {
    /// How long after its deadline, in ns.
    pub late: u64,
    /// How long it spun, in ns.
    pub spun: u64,
    /// True if the kernel woke the thread in time for it.
    pub in_time: bool,
}

/// Statistics of a [`Sleeper`]. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Wake-ups.
    pub wakes: u64,
    /// Those in which the thread was awake after the deadline only.
    pub late: u64,
    /// Sleeps whose wake-up no margin could have met; nothing is learned from them.
    pub outliers: u64,
    /// The latest.
    pub worst: u64,
    /// Time spun in all.
    pub spun: u64,
    /// CPU time a wake-up on average: what was spun, and the kernel's part of those that slept, which is measured in every sixteenth.
    pub cpu: f64,
    /// The margin of the next wake-up.
    pub margin: u64,
    /// By how much the counter's rate against the clock changed at its last calibration, as a share; none where no counter is used.
    pub drift: Option<f64>,
}

/// Sleeps until deadlines, and learns from each how late the kernel wakes its thread.
///
/// It belongs to the thread that made it: it sets this thread's timer slack to 1 ns and puts it back when it is dropped (threads of real-time
/// priority have no slack). Where the processor has no counter of one rate, or the kernel does not trust it, it spins on
/// CLOCK_MONOTONIC. A deadline in the past returns at once. CLOCK_MONOTONIC cannot step; what is a deadline of CLOCK_REALTIME has to be
/// converted, and again after a step.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use tickmark_timer::{Sleeper, monotonic_ns};
/// let mut sleeper = Sleeper::new(Default::default());
/// let woken = sleeper.sleep_until(monotonic_ns() + 300_000)?;
/// println!("{} ns late, {} ns spun", woken.late, woken.spun);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Sleeper {
    options: Options,
    clock: Option<CounterClock>,
    latencies: Latencies,
    /// CPU time of the kernel's part of a wake-up, an average of the last ones.
    kernel: f64,
    /// The learned lateness, ns.
    margin: u64,
    /// When both clocks were read last.
    last: Anchor,
    /// How often the kernel was asked, and wake-ups since then.
    slept: u64,
    unslept: u64,
    /// The slack that the thread had.
    slack: Option<u64>,
    wakes: u64,
    late: u64,
    worst: u64,
    spun: u64,
    of_this_thread: PhantomData<*const ()>,
}

impl Sleeper {
    /// Calibrates the counter, which takes 2 ms the first time.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let slack = sys::slack().filter(|_| sys::set_slack(1));
        let mut sleeper = Self {
            options,
            clock: CounterClock::calibrated(),
            latencies: Latencies::new(),
            kernel: SUPPOSED,
            margin: 0,
            last: Anchor { ticks: 0, nanos: 0 },
            slept: 0,
            unslept: 0,
            slack,
            wakes: 0,
            late: 0,
            worst: 0,
            spun: 0,
            of_this_thread: PhantomData,
        };
        sleeper.margin = sleeper.learned();
        sleeper.now();
        sleeper
    }

    /// Sleeps until a time of CLOCK_MONOTONIC, in ns.
    ///
    /// # Errors
    /// The kernel refuses clock_nanosleep(2).
    #[inline]
    pub fn sleep_until(&mut self, deadline: u64) -> io::Result<Woken> {
        if let Some(woken) = self.spin_at_once(deadline) {
            return Ok(woken);
        }
        let woke = self.approach(deadline, |until| sys::sleep_until(until).map(|()| true))?;
        let left = deadline.saturating_sub(woke.nanos);
        let late = self.spin(woke, deadline, || false).unwrap_or(0);
        Ok(self.done(late, left))
    }

    /// The same unless the word has another value, or gets one meanwhile and its futex is woken; whether the deadline was reached.
    ///
    /// # Errors
    /// The kernel refuses futex(2).
    #[cfg(not(loom))]
    pub(crate) fn sleep_while(&mut self, word: &AtomicU32, value: u32, deadline: u64) -> io::Result<bool> {
        let changed = || word.load(Ordering::Acquire) != value;
        let woke = self.approach(deadline, |until| {
            while !changed() && monotonic_ns() < until {
                sys::futex_wait(word, value, Some(until))?;
            }
            Ok(!changed())
        })?;
        let left = deadline.saturating_sub(woke.nanos);
        let late = if changed() { None } else { self.spin(woke, deadline, changed) };
        Ok(late.map(|late| self.done(late, left)).is_some())
    }

    /// Spins up to the deadline; how late that was, or none where there is a reason to stop before.
    #[inline]
    fn spin(&self, woke: Anchor, deadline: u64, stop: impl Fn() -> bool) -> Option<u64> {
        let left = deadline.saturating_sub(woke.nanos);
        match &self.clock {
            _ if left == 0 => Some(monotonic_ns().saturating_sub(deadline)),
            Some(clock) => clock.spin_until(woke.ticks.wrapping_add(clock.ticks(left)), stop),
            None => loop {
                let now = monotonic_ns();
                if now >= deadline {
                    return Some(now - deadline);
                }
                if stop() {
                    return None;
                }
            },
        }
    }

    /// Sleeps until the counter ([`counter()`](crate::counter())) has this value.
    ///
    /// # Errors
    /// Unsupported, where there is no counter of one rate that the kernel trusts; the kernel refuses clock_nanosleep(2).
    pub fn sleep_until_counter(&mut self, deadline: u64) -> io::Result<Woken> {
        let mut before = u64::MAX;
        loop {
            let Some(clock) = &mut self.clock else {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "no counter to rely on"));
            };
            let now = clock.now();
            let ahead = deadline.wrapping_sub(now.ticks);
            // The half of all values that lies behind the counter has passed.
            if ahead >= 1 << 63 {
                let late = clock.nanos(now.ticks.wrapping_sub(deadline));
                return Ok(self.done(late, 0));
            }
            let left = clock.nanos(ahead);
            // By the rate as it is known: what is left after that is less, or all that sleeping can do.
            if left < WORTH || left >= before / 2 {
                let late = clock.spin_until(deadline, || false).unwrap_or(0);
                return Ok(self.done(late, left));
            }
            before = left;
            let until = now.nanos.saturating_add(left - left / RATE_ERROR);
            self.approach(until, |until| sys::sleep_until(until).map(|()| true))?;
        }
    }

    /// Statistics so far.
    #[must_use]
    pub fn report(&self) -> Report {
        Report {
            wakes: self.wakes,
            late: self.late,
            outliers: self.latencies.outliers(),
            worst: self.worst,
            spun: self.spun,
            cpu: (self.kernel * self.slept as f64 + self.spun as f64) / self.wakes.max(1) as f64,
            margin: self.margin,
            drift: self.clock.as_ref().map(CounterClock::drift),
        }
    }

    fn learned(&self) -> u64 {
        self.latencies.margin(self.options.quantile, self.allowed()) as u64
    }

    /// Time that the budget leaves for spinning, ns.
    fn allowed(&self) -> f64 {
        (self.options.cpu_budget as f64 - self.kernel).max(0.0)
    }

    /// Lets the kernel wake the thread a margin before the deadline, by a way of waiting that says whether it was waited; the time after that.
    fn approach(&mut self, deadline: u64, wait: impl FnOnce(u64) -> io::Result<bool>) -> io::Result<Anchor> {
        // Who only spins learns nothing: now and then the kernel is tried with what the budget leaves.
        self.unslept += 1;
        let mut margin =
            if self.unslept > TRIED { self.margin.min(self.allowed() as u64) } else { self.margin };
        if let Some(tick) = &self.options.tick
            && tick.falls_into(deadline.saturating_sub(margin + tick.cost), deadline)
        {
            margin += tick.cost;
        }
        let before = monotonic_ns();
        let duration = deadline.saturating_sub(margin);
        if duration <= before.saturating_add(WORTH) {
            return Ok(self.now());
        }
        let measured = self.slept.is_multiple_of(MEASURED).then(sys::thread_cpu_ns);
        (self.slept, self.unslept) = (self.slept + 1, 0);
        let waited = wait(duration)?;
        let woke = self.now();
        if waited {
            self.latencies.learn(woke.nanos.saturating_sub(duration) as f64);
            self.margin = self.learned();
        }
        // Only where there is time for another reading.
        if let Some(cpu) = measured.filter(|_| waited && woke.nanos.saturating_add(WORTH) < deadline) {
            self.kernel += (sys::thread_cpu_ns().saturating_sub(cpu) as f64 - self.kernel) / 8.0;
        }
        Ok(woke)
    }

    fn now(&mut self) -> Anchor {
        self.last = match &mut self.clock {
            Some(clock) => clock.now(),
            None => Anchor { ticks: 0, nanos: monotonic_ns() },
        };
        self.last
    }

    /// A deadline that is too near to sleep, soon after both clocks were read: of a row of timers the next may be due before the clock could be read
    /// again. None where it is neither.
    #[inline]
    fn spin_at_once(&mut self, deadline: u64) -> Option<Woken> {
        let clock = self.clock.as_ref()?;
        let since = clock.nanos(counter().wrapping_sub(self.last.ticks));
        if since > RECENT || deadline < self.last.nanos {
            return None;
        }
        let now = self.last.nanos + since;
        if self.unslept > TRIED || deadline > now + self.margin + WORTH {
            return None;
        }
        self.unslept += 1;
        let target = self.last.ticks.wrapping_add(clock.ticks(deadline - self.last.nanos));
        let late = clock.spin_until(target, || false)?;
        Some(self.done(late, deadline.saturating_sub(now)))
    }

    #[inline]
    fn done(&mut self, late: u64, left: u64) -> Woken {
        let in_time = left > 0;
        self.wakes += 1;
        self.late += u64::from(!in_time);
        self.worst = self.worst.max(late);
        self.spun += left;
        Woken { late, spun: left, in_time }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.slack.map(sys::set_slack);
    }
}

#[cfg(test)]
mod tests;
