//! Sleeping until a time 200 to 800 us ahead, by several means in turns on one CPU: `cargo bench -p tickmark-timer --bench sleep [-- WAKES]`. First at fifo
//! priority, then the same while /dev/cpu_dma_latency keeps the processor from idle states (as cyclictest does), then at ordinary priority beside eight tasks that compute. Absolute errors in us; p99 and p99.9 with the limits of their 95 %
//! confidence intervals (order statistics).
#![allow(missing_docs, clippy::expect_used, reason = "no library")]

use spin_sleep::SpinSleeper;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_timer::{Options, Sleeper, monotonic_ns};

/// Wake-ups of one means before the next has its turn.
const TURN: usize = 50;
const COMPETITORS: usize = 8;
/// A larger budget, in ns.
const AMPLE: u64 = 100_000;

/// Results of one way to sleep.
#[derive(Default)]
struct MeansSummary {
    /// Early is negative, in ns.
    late: Vec<i64>,
    cpu: u64,
}

fn thread_cpu() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Gives this thread a CPU and a priority; whether it may have them.
fn take_place(cpu: usize, fifo: bool) -> bool {
    let param = libc::sched_param { sched_priority: if fifo { 50 } else { 0 } };
    let policy = if fifo { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    // SAFETY: a set of CPUs is plain bits, and both arguments are valid to read.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0
            && libc::sched_setscheduler(0, policy, &raw const param) == 0
    }
}

/// Keeps the processor from idle states for as long as it is open.
fn held() -> std::io::Result<std::fs::File> {
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}

/// Computes on the CPU until it is dropped, 600 s at most.
struct Competitor(Child);

impl Competitor {
    fn on(cpu: usize) -> Option<Self> {
        let child = Command::new("taskset")
            .args(["-c", &cpu.to_string(), "timeout", "600", "sh", "-c", "while :; do :; done"])
            .stdout(Stdio::null())
            .spawn();
        child.ok().map(Self)
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        // Its timeout ends what it started.
        // SAFETY: no pointers; the process is our own child.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

struct Random(u64);

impl Random {
    /// 200 to 800 us.
    fn ahead(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        200_000 + self.0 % 600_000
    }
}

fn asynchronous() -> (tickmark_timer::AsyncTimers, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let timers = tickmark_timer::AsyncTimers::spawn(Default::default());
    (timers.expect("a thread"), runtime.expect("a runtime"))
}

/// Sleeps until a time of CLOCK_MONOTONIC.
type Means<'a> = (&'a str, Box<dyn FnMut(u64) + 'a>, MeansSummary);

fn measure(wakes: usize) {
    let mut sleeper = Sleeper::new(Options::default());
    let mut ample = Sleeper::new(Options { cpu_budget: AMPLE, ..Options::default() });
    let spin = SpinSleeper::default();
    // SpinSleeper takes the system's slack as it is: the same for all.
    let until = |deadline: u64| {
        let now = Instant::now();
        (now, now + Duration::from_nanos(deadline.saturating_sub(monotonic_ns())))
    };
    let (timers, runtime) = asynchronous();
    let mut all: Vec<Means<'_>> = vec![
        ("Sleeper", Box::new(|deadline| _ = sleeper.sleep_until(deadline)), MeansSummary::default()),
        ("Sleeper, 100 us", Box::new(|deadline| _ = ample.sleep_until(deadline)), MeansSummary::default()),
        ("spin_sleep 1.3", Box::new(|deadline| spin.sleep_until(until(deadline).1)), MeansSummary::default()),
        (
            "std::thread::sleep",
            Box::new(|deadline| std::thread::sleep(until(deadline).1 - until(deadline).0)),
            MeansSummary::default(),
        ),
        ("spin only", Box::new(|deadline| while monotonic_ns() < deadline {}), MeansSummary::default()),
    ];
    all.extend([
        (
            "tokio, AsyncTimers",
            Box::new(|deadline| _ = runtime.block_on(timers.sleep_until(deadline))) as Box<dyn FnMut(u64)>,
            MeansSummary::default(),
        ),
        (
            "tokio, its own",
            Box::new(|deadline| {
                runtime.block_on(async { tokio::time::sleep_until(until(deadline).1.into()).await });
            }),
            MeansSummary::default(),
        ),
    ]);
    let mut random = Random(monotonic_ns() | 1);
    for _ in 0..wakes / TURN {
        for (_, sleep, results) in &mut all {
            let before = thread_cpu();
            for _ in 0..TURN {
                let deadline = monotonic_ns() + random.ahead();
                sleep(deadline);
                results.late.push(monotonic_ns() as i64 - deadline as i64);
            }
            results.cpu += thread_cpu() - before;
        }
    }
    let all: Vec<(&str, MeansSummary)> = all.into_iter().map(|(name, _, results)| (name, results)).collect();
    for (name, mut results) in all {
        let (count, early) =
            (results.late.len() as f64, results.late.iter().filter(|late| **late < 0).count());
        results.late.iter_mut().for_each(|late| *late = late.abs());
        results.late.sort_unstable();
        let at = |rank: f64| results.late[(rank.max(0.0) as usize).min(results.late.len() - 1)] as f64 / 1e3;
        let quantile = |q: f64| {
            let half = 1.96 * (count * q * (1.0 - q)).sqrt();
            format!("{:.2} [{:.2}, {:.2}]", at(q * count), at(q * count - half), at(q * count + half))
        };
        let within = results.late.partition_point(|late| *late <= 1_000) as f64 / count;
        let (early, cpu) = (early as f64 / count * 100.0, results.cpu as f64 / count / 1e3);
        let (p50, most) = (at(count / 2.0), at(count));
        let (p99, p999) = (quantile(0.99), quantile(0.999));
        println!(
            "{name:<20}{p50:>8.3}  {p99:>26}  {p999:>28}{most:>10.1}{:>9.2} %{early:>7.2} %{cpu:>8.1}",
            within * 100.0
        );
    }
    for report in [sleeper.report(), ample.report()] {
        println!("{report:?}");
    }
}

fn main() {
    let wakes = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(20_000);
    let cpu = std::thread::available_parallelism().map_or(0, |count| count.get() - 1);
    let head = format!(
        "{:<20}{:>8}  {:>26}  {:>28}{:>10}{:>11}{:>9}{:>8}",
        "us", "p50", "p99", "p99.9", "most", "within 1", "early", "CPU"
    );
    println!("fifo priority, CPU {cpu}, {wakes} wake-ups each\n{head}");
    if take_place(cpu, true) {
        measure(wakes);
        println!("\nfifo priority, idle states held\n{head}");
        match held() {
            Ok(_held) => measure(wakes),
            Err(error) => println!("/dev/cpu_dma_latency: {error}"),
        }
    } else {
        println!("refused");
    }
    if !take_place(cpu, false) {
        return println!("ordinary priority is refused");
    }
    let competitors: Vec<Competitor> = (0..COMPETITORS).filter_map(|_| Competitor::on(cpu)).collect();
    println!("\nordinary priority beside {} tasks that compute\n{head}", competitors.len());
    measure(wakes);
}
