//! tickmark beside perf bench, cyclictest and a plain C loop: interleaved rounds, medians, ratios.

use super::{Pair, ROUNDS, Tickmark, figure};
use crate::{Result, shell};
use std::path::Path;
use std::process::{Child, Command};
use tickmark_stats::median;

/// Short batches of a call in C, their 10th percentile in ns: what tickmark's floor claims to be.
const LOOP: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static int order(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
int main(int argc, char **argv) {
  static double cost[2000];
  struct timespec t;
  int read = argc > 1 && !strcmp(argv[1], "read"), calls = read ? 3000 : 400;
  for (int i = 0; i < 2000; i++) {
    double start = now();
    if (read) for (int j = 0; j < calls; j++) clock_gettime(CLOCK_MONOTONIC, &t);
    else for (int j = 0; j < calls; j++) syscall(SYS_getppid);
    cost[i] = (now() - start) / calls;
  }
  qsort(cost, 2000, sizeof *cost, order);
  printf("%f\n", cost[200]);
}
"#;

const PAIRS: &[Pair] = &[
    Pair::new(
        "null call, floor : C loop",
        |t, _| floor(t, "syscall.null", "value"),
        |t, c| c_loop(t, c, "getppid"),
    ),
    Pair::new(
        "null call, mean : perf bench syscall basic",
        |t, _| floor(t, "syscall.null", "mean"),
        |t, _| perf(t, &["syscall", "basic", "-l", "3000000"]),
    ),
    Pair::new(
        "clock read, floor : C loop",
        |t, _| floor(t, "clock.monotonic.read", "value"),
        |t, c| c_loop(t, c, "read"),
    ),
    Pair::new(
        "pipe, mean : perf bench sched pipe",
        |t, _| floor(t, "ipc.pipe.round_trip", "mean"),
        |t, _| perf(t, &["sched", "pipe", "-l", "100000"]),
    ),
    Pair::new(
        "wake-up at fifo:50 : cyclictest",
        |t, _| {
            let _sleeper = Sleeper::start(t)?;
            wake_up(t)
        },
        cyclictest,
    ),
];

/// Installs the peers, runs all pairs and prints their ratios.
pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("perf", "linux-perf"),
        ("cyclictest", "rt-tests"),
        ("gcc", "gcc"),
        ("taskset", "util-linux"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    super::compile(LOOP, folder.path(), "loop")?;
    let off = super::pairs(&tickmark, folder.path(), PAIRS, 0.10)?;
    // What cyclictest's own second thread does to its figure: ours without and with such a thread.
    let mut change = Vec::new();
    for _ in 0..ROUNDS {
        let alone = wake_up(&tickmark)?.ok_or("no figure of ours")?;
        let _sleeper = Sleeper::start(&tickmark)?;
        change.push(alone / wake_up(&tickmark)?.ok_or("no figure of ours")?);
    }
    let change = median(change).unwrap_or(f64::NAN);
    println!("wake-up without a task that wakes every 10 ms on the CPU, over with it: {change:.3}");
    off
}

fn floor(tickmark: &Tickmark, metric: &str, which: &str) -> Result<Option<f64>> {
    Ok(figure(&tickmark.measure(&[metric, "--runs", "1", "--budget", "500ms"])?, metric, which))
}

fn c_loop(tickmark: &Tickmark, folder: &Path, call: &str) -> Result<Option<f64>> {
    let mut command = Command::new("taskset");
    let (text, _) = shell::output(command.args(["-c", &tickmark.cpu]).arg(folder.join("loop")).arg(call))?;
    Ok(text.trim().parse().ok())
}

/// The "usecs/op" of a benchmark, in ns.
fn perf(tickmark: &Tickmark, benchmark: &[&str]) -> Result<Option<f64>> {
    let mut command = Command::new("taskset");
    let (text, errors) = shell::output(command.args(["-c", &tickmark.cpu, "perf", "bench"]).args(benchmark))?;
    let both = format!("{text}{errors}");
    let line = both.lines().find(|line| line.contains("usecs/op"));
    Ok(line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map(|micros| micros * 1e3))
}

fn wake_up(tickmark: &Tickmark) -> Result<Option<f64>> {
    let metric = "timer.clock_nanosleep.late";
    let model = tickmark.measure(&[metric, "--runs", "1", "--budget", "1s", "--priority", "fifo:50"])?;
    Ok(figure(&model, metric, "value"))
}

/// A task that wakes every 10 ms on the measured CPU, as cyclictest's main thread does: a CPU that is woken
/// more often idles less deeply, and cyclictest measures beside its own.
struct Sleeper(Child);

impl Sleeper {
    fn start(tickmark: &Tickmark) -> Result<Self> {
        // Ends by itself after a minute.
        let script = "alarm 60; select(undef, undef, undef, 0.01) while 1";
        let child = Command::new("taskset").args(["-c", &tickmark.cpu, "perl", "-e", script]).spawn();
        child.map(Self).map_err(|e| format!("cannot start perl: {e}"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The median of cyclictest's histogram, in ns, interpolated inside its bin of 1 us. --laptop: without
/// it cyclictest forbids idle states, which is another machine.
fn cyclictest(tickmark: &Tickmark, _: &Path) -> Result<Option<f64>> {
    let mut command = Command::new("cyclictest");
    command.args([
        "--laptop",
        "-q",
        "-m",
        "-t1",
        "-p50",
        "-i",
        "500",
        "-l",
        "2000",
        "-h",
        "2000",
        "-a",
        &tickmark.cpu,
    ]);
    let (text, _) = shell::output(&mut command)?;
    let bins: Vec<(f64, f64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        })
        .collect();
    let half = bins.iter().map(|(_, count)| count).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for (micros, count) in bins {
        if below + count >= half && count > 0.0 {
            return Ok(Some((micros + (half - below) / count) * 1e3));
        }
        below += count;
    }
    Ok(None)
}
