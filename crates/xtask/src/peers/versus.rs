//! `tickmark versus` beside hyperfine: how often each claims what is not there, what each finds, what a run costs.
//!
//! The same programs, one after the other, with as many runs for hyperfine as ours took. hyperfine has no verdict: it is read in the two ways
//! that its users have, by Welch's t-test of its runs (its own `welch_ttest.py`) and by whether the "x ± y times faster" leaves 1 out.

use super::Tickmark;
use crate::{Result, shell};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tickmark_stats::two::Difference;
use tickmark_stats::{median, spread};

/// Pairs without a difference, of all programs together; planted changes, and pairs beside a neighbour that grows.
const PAIRS: usize = 200;
const PLANTED: usize = 20;
const DRIFTS: usize = 40;
/// Longest time of one of our comparisons.
const BUDGET: &str = "4s";
/// Runs of the empty command, and rounds of them.
const EMPTY: usize = 1000;
const ROUNDS: usize = 5;

/// What came of a comparison.
struct Outcome {
    /// Whether ours claims a change.
    ours: bool,
    /// Pairs of blocks, runs of a command, seconds.
    pairs: f64,
    runs: usize,
    seconds: f64,
    /// Whether hyperfine's runs do, by Welch's test and by its own ±.
    welch: bool,
    outside: bool,
    hyperfine_seconds: f64,
}

/// `part` is one of aa, planted, overhead, drift; all where it is empty.
pub(crate) fn run(part: &str) -> Result<()> {
    shell::install(&[("hyperfine", "hyperfine"), ("perf", "linux-perf")])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let data = folder.path().join("data");
    let lines: String = (0..60_000u64).map(|i| format!("{} {}\n", i * 7919 % 60_013, i * i % 9973)).collect();
    std::fs::write(&data, lines).map_err(|e| e.to_string())?;
    let is = |name: &str| part.is_empty() || part == name;
    if is("aa") {
        nothing(&tickmark, &data)?;
    }
    if is("planted") {
        planted(&tickmark, folder.path())?;
    }
    if is("drift") {
        drift(&tickmark, folder.path())?;
    }
    if is("overhead") {
        overhead(&tickmark)?;
    }
    Ok(())
}

/// Five programs that people have, some ten milliseconds each.
fn programs(data: &Path) -> [String; 5] {
    let data = data.display();
    [
        format!("gzip -kc {data}"),
        format!("sort {data}"),
        format!("awk '{{ s += $1 }} END {{ print s }}' {data}"),
        format!("grep -c 77 {data}"),
        "python3 -S -c pass".to_owned(),
    ]
}

fn nothing(tickmark: &Tickmark, data: &Path) -> Result<()> {
    let programs = programs(data);
    let mut all = Vec::new();
    for program in &programs {
        let own: Vec<Outcome> = (0..PAIRS / programs.len())
            .map(|_| compared(tickmark, program, program))
            .collect::<Result<_>>()?;
        println!("{program}");
        print(&own);
        all.extend(own);
    }
    println!("nothing against nothing, {} pairs of five programs", all.len());
    print(&all);
    Ok(())
}

fn print(all: &[Outcome]) {
    let share = |is: &dyn Fn(&Outcome) -> bool| {
        let count = all.iter().filter(|one| is(one)).count();
        format!("{count} of {} ({:.1} %)", all.len(), 100.0 * count as f64 / all.len() as f64)
    };
    let middle = |of: &dyn Fn(&Outcome) -> f64| median(all.iter().map(of)).unwrap_or(f64::NAN);
    println!(
        "  changed by tickmark versus {}, by Welch's test of hyperfine's runs {}, outside of hyperfine's ± {}",
        share(&|one| one.ours),
        share(&|one| one.welch),
        share(&|one| one.outside)
    );
    println!(
        "  medians: {} pairs, {} runs of each, {:.2} s, hyperfine {:.2} s for as many runs",
        middle(&|one| one.pairs),
        middle(&|one| one.runs as f64),
        middle(&|one| one.seconds),
        middle(&|one| one.hyperfine_seconds)
    );
}

/// A loop, and one that takes so many per cent more.
fn planted(tickmark: &Tickmark, folder: &Path) -> Result<()> {
    let source = "#include <stdlib.h>\nint main(int n, char **a) { volatile long x = 0; long c = atol(a[1]); \
                  for (long i = 0; i < c; i++) x += i; return n == 9; }";
    super::compile(source, folder, "loop")?;
    let program = folder.join("loop");
    let with = |count: u64| format!("{} {count}", program.display());
    for percent in [1, 2, 5, 10] {
        let base = 10_000_000;
        let own: Vec<Outcome> = (0..PLANTED)
            .map(|_| compared(tickmark, &with(base), &with(base + base * percent / 100)))
            .collect::<Result<_>>()?;
        println!("{percent} % more of a loop, {} pairs", own.len());
        print(&own);
    }
    Ok(())
}

/// Nothing against nothing while a neighbour takes more and more of every CPU.
fn drift(tickmark: &Tickmark, folder: &Path) -> Result<()> {
    let source = "#include <stdlib.h>\nint main(int n, char **a) { volatile long x = 0; for (long i = 0; i < 10000000; i++) x += i; return n == 9; }";
    super::compile(source, folder, "still")?;
    let program = folder.join("still").display().to_string();
    let mut all = Vec::new();
    for _ in 0..DRIFTS {
        let ours = neighboured(Duration::from_secs(4), || own(tickmark, &program, &program))?;
        let took = Duration::from_secs_f64(ours.3);
        let theirs = neighboured(took, || hyperfine(&program, &program, ours.2))?;
        all.push(outcome(ours, theirs));
    }
    println!(
        "nothing against nothing beside a neighbour that grows from none to half of each CPU, {} pairs",
        all.len()
    );
    print(&all);
    Ok(())
}

/// Does the work while threads take more and more of every CPU, up to half of it after this time.
fn neighboured<T>(time: Duration, work: impl FnOnce() -> Result<T>) -> Result<T> {
    const SLOT: Duration = Duration::from_millis(5);
    let over = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                let begun = Instant::now();
                while !over.load(Ordering::Relaxed) {
                    let share = (begun.elapsed().as_secs_f64() / time.as_secs_f64()).min(1.0) / 2.0;
                    let slot = Instant::now();
                    while slot.elapsed() < SLOT.mul_f64(share) {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(SLOT.saturating_sub(slot.elapsed()));
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

/// What a run of an empty command takes by each program, in interleaved rounds.
fn overhead(tickmark: &Tickmark) -> Result<()> {
    let runs = EMPTY.to_string();
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let mut own = tickmark.command(&["versus", "-r", &runs, "--", "true"]);
        times[0].push(timed(&mut own)?);
        let mut theirs = Command::new("hyperfine");
        theirs.args(["-N", "--style", "none", "--runs", &runs, "true"]);
        times[1].push(timed(&mut theirs)?);
        let mut perf = Command::new("perf");
        perf.args(["stat", "-r", &runs, "true"]);
        times[2].push(timed(&mut perf)?);
    }
    let each = times.map(|times| median(times).unwrap_or(f64::NAN) / EMPTY as f64 * 1e6);
    println!(
        "a run of `true`, {EMPTY} runs, median of {ROUNDS} interleaved rounds, all of the program's time:"
    );
    println!(
        "  tickmark versus {:.0} us, hyperfine -N {:.0} us, perf stat {:.0} us",
        each[0], each[1], each[2]
    );
    Ok(())
}

fn timed(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    shell::output(command)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn compared(tickmark: &Tickmark, a: &str, b: &str) -> Result<Outcome> {
    let ours = own(tickmark, a, b)?;
    let theirs = hyperfine(a, b, ours.2)?;
    Ok(outcome(ours, theirs))
}

fn outcome(ours: (bool, f64, usize, f64), theirs: ([Vec<f64>; 2], f64)) -> Outcome {
    let ([a, b], hyperfine_seconds) = theirs;
    let welch = Difference::welch(&a, &b).is_some_and(|difference| difference.p() < 0.05);
    // hyperfine's relative speed: the ratio of the means, with the deviations of the runs carried over.
    let outside = spread(&a).zip(spread(&b)).is_some_and(|(a, b)| {
        let (slow, fast) = if a.mean > b.mean { (a, b) } else { (b, a) };
        let ratio = slow.mean / fast.mean;
        let error =
            ratio * ((slow.deviation / slow.mean).powi(2) + (fast.deviation / fast.mean).powi(2)).sqrt();
        ratio - error > 1.0
    });
    let (changed, pairs, runs, seconds) = ours;
    Outcome { ours: changed, pairs, runs, seconds, welch, outside, hyperfine_seconds }
}

/// Whether ours claims a change, with its pairs, the runs of a command and the time.
fn own(tickmark: &Tickmark, a: &str, b: &str) -> Result<(bool, f64, usize, f64)> {
    let begun = Instant::now();
    let (text, _) =
        shell::output(&mut tickmark.command(&["versus", "--budget", BUDGET, "--format", "json", a, b]))?;
    let seconds = begun.elapsed().as_secs_f64();
    let page: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let rows = page["comparison"]["candidates"][0]["rows"].as_array().ok_or("no rows")?;
    let time = rows.iter().find(|row| row["metric"] == "command.time").ok_or("no time")?;
    let changed =
        ["beyond_margin", "changed", "below_margin"].contains(&time["verdict"].as_str().unwrap_or_default());
    let metrics = page["commands"][0]["metrics"].as_array().ok_or("no metrics")?;
    let own = metrics.iter().find(|metric| metric["metric"] == "command.time").ok_or("no time")?;
    let number = |name: &str| own[name].as_u64().ok_or_else(|| format!("no {name}"));
    Ok((changed, number("blocks")? as f64, number("runs")? as usize, seconds))
}

/// The runs of both by hyperfine, s, and how long it took.
fn hyperfine(a: &str, b: &str, runs: usize) -> Result<([Vec<f64>; 2], f64)> {
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let runs = runs.max(2).to_string();
    let mut command = Command::new("hyperfine");
    command
        .args(["-N", "--style", "none", "--warmup", "1", "--runs", &runs, "--export-json"])
        .arg(file.path())
        .args([a, b]);
    let seconds = timed(&mut command)?;
    let text = std::fs::read_to_string(file.path()).map_err(|e| e.to_string())?;
    let page: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let times = |at: usize| -> Vec<f64> {
        page["results"][at]["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    Ok(([times(0), times(1)], seconds))
}
