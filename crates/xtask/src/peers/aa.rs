//! Nothing against nothing: how often is a difference claimed where there is none, by tickmark's designs and by the usual ones;
//! and how often is a known one found.

use super::Tickmark;
use super::claims::{self, Claims, OTHERS, WORK, claimed};
use crate::{Result, shell};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use tickmark_stats::verdict::{LEVEL, POWER, Sides};
use tickmark_stats::{plan, spread};

/// Of five kinds: a clock, a system call, two processes, a sleep, memory (2 MB of it: runs are short).
const METRICS: [&str; 5] = [
    "clock.monotonic.read",
    "syscall.null",
    "ipc.pipe.round_trip",
    "timer.clock_nanosleep.late",
    "bandwidth.copy.libc",
];
/// Comparisons of each metric, and blocks in each: two rounds make a block.
const PAIRS: usize = 400;
const BLOCKS: usize = 5;
/// Rounds of one recording, as many as a run takes.
const ROUNDS: usize = 1000;
/// The 99 % bound of 5 % of 400.
const BOUND: usize = 32;
/// Blocks of the experiments that look for a known slowdown, and of their pilots.
const SEARCH: usize = 10;
const PILOT: usize = 6;
/// Samples of a run, as the tools that count samples take them.
const SAMPLES: usize = 30;

/// Recordings made one after the other, of which so many are only history.
const RECORDINGS: usize = 120;
const EARLIER: usize = 20;

/// Floor and mean of each round, by metric and figure.
pub(super) type Figures = BTreeMap<(String, &'static str), Vec<f64>>;

/// Prints all figures; an error where a design of tickmark's claims too much.
pub(crate) fn run() -> Result<()> {
    let tickmark = Tickmark::build()?;
    let mut figures = Figures::new();
    let rounds = PAIRS * BLOCKS * 2;
    println!("{} rounds of {} metrics on CPU {}", rounds, METRICS.len(), tickmark.cpu);
    let mut id = String::new();
    for _ in 0..rounds / ROUNDS {
        id = collect(&tickmark, &METRICS, "45s", &mut figures)?;
    }
    let samples = samples(&tickmark, &id)?;
    let work: Vec<&str> = WORK.iter().map(|(name, _)| *name).collect();
    let mut worked = Figures::new();
    collect(&tickmark, &work, "60s", &mut worked)?;
    let mut too_many = nothing(&figures, &samples);
    too_many.extend(recordings(&tickmark)?);
    claims::run(&tickmark, &worked)?;
    promised(&figures);
    simulated()?;
    if too_many.is_empty() {
        Ok(())
    } else {
        Err(format!("too many claims of nothing: {}", too_many.join(", ")))
    }
}

/// A recording of a thousand rounds; its id. A round counts where all of its runs gave a figure.
fn collect(tickmark: &Tickmark, metrics: &[&str], budget: &str, figures: &mut Figures) -> Result<String> {
    let rounds = ROUNDS.to_string();
    let model = tickmark.measure(&[metrics, &["--small", "--runs", &rounds, "--budget", budget]].concat())?;
    let id = model["recording"]["id"].as_str().ok_or("no id")?.to_owned();
    let mut found: BTreeMap<(String, &'static str), BTreeMap<usize, f64>> = BTreeMap::new();
    for line in csv(tickmark, &[&id])? {
        let number: usize = line["round"].parse().map_err(|_| "a round is no number")?;
        for (figure, column) in [("floor", "value"), ("mean", "mean")] {
            if let Ok(observed) = line[column].parse::<f64>() {
                found.entry((line["metric"].clone(), figure)).or_default().insert(number, observed);
            }
        }
    }
    found.retain(|(metric, _), _| metrics.contains(&metric.as_str()));
    let whole = |round: &usize| found.values().all(|rounds| rounds.contains_key(round));
    let whole: Vec<usize> = (1..=ROUNDS).filter(whole).collect();
    if whole.len() < ROUNDS {
        println!("  {} of {ROUNDS} rounds have all figures", whole.len());
    }
    for (name, rounds) in found {
        figures.entry(name).or_default().extend(whole.iter().map(|round| rounds[round]));
    }
    Ok(id)
}

/// The lines of `tickmark export ARGUMENTS --format csv`, by the heads of their columns.
pub(super) fn csv(tickmark: &Tickmark, arguments: &[&str]) -> Result<Vec<BTreeMap<String, String>>> {
    let arguments = [&["export", "--format", "csv"], arguments].concat();
    let (text, _) = shell::output(&mut tickmark.command(&arguments))?;
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let heads: Vec<String> = lines.next().ok_or("no header")?.collect();
    Ok(lines.map(|line| heads.iter().cloned().zip(line).collect()).collect())
}

/// The first samples of each run of a recording, by metric.
fn samples(tickmark: &Tickmark, id: &str) -> Result<BTreeMap<String, Vec<Vec<f64>>>> {
    let mut runs: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for line in csv(tickmark, &[id, "--raw"])? {
        let own = runs.entry((line["metric"].clone(), line["run"].parse().unwrap_or(0))).or_default();
        if own.len() < SAMPLES {
            own.extend(line["value"].parse::<f64>());
        }
    }
    let mut all: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    let full = |((metric, _), own): &((String, usize), Vec<f64>)| {
        METRICS.contains(&metric.as_str()) && own.len() == SAMPLES
    };
    for ((metric, _), own) in runs.into_iter().filter(full) {
        all.entry(metric).or_default().push(own);
    }
    Ok(all)
}

/// Claims among comparisons of nothing with nothing. What the designs of tickmark get too often is given back.
fn nothing(figures: &Figures, samples: &BTreeMap<String, Vec<Vec<f64>>>) -> Vec<String> {
    let mut too_many = Vec::new();
    let mut random = StdRng::seed_from_u64(1);
    println!("\nclaims of a difference where there is none, of {PAIRS} comparisons ({BLOCKS} runs a side)");
    println!("{:40} {:>11} {:>24}", "", "interleaved", "five runs, then five more");
    for ((metric, figure), values) in figures {
        let mut interleaved = 0;
        for chunk in values.chunks_exact(2 * BLOCKS).take(PAIRS) {
            let turn =
                |block: &[f64]| if random.random() { (block[0], block[1]) } else { (block[1], block[0]) };
            let (a, b): (Vec<f64>, Vec<f64>) = chunk.chunks(2).map(turn).unzip();
            interleaved += usize::from(claimed(Sides::paired(&a, &b)));
        }
        // Five rounds against five that were made a hundred times five later: runs of two occasions.
        let slices: Vec<&[f64]> = values.chunks_exact(BLOCKS).collect();
        let firsts = (0..slices.len()).filter(|at| (at / 100).is_multiple_of(2) && at + 100 < slices.len());
        let pairs: Vec<(&[f64], &[f64])> = firsts.map(|first| (slices[first], slices[first + 100])).collect();
        let by_run = pairs.iter().filter(|(a, b)| claimed(Sides::apart(a, b))).count();
        println!("{metric:34} {figure:5} {interleaved:11} {:>24}", format!("{by_run} of {}", pairs.len()));
        if interleaved > BOUND {
            too_many.push(format!("{metric} {figure}"));
        }
    }
    println!("\nthe same runs by their samples, {SAMPLES} of each of two runs:");
    for (metric, runs) in samples {
        let pairs: Vec<(&Vec<f64>, &Vec<f64>)> =
            runs.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect();
        let random = &mut StdRng::seed_from_u64(1);
        let mut percent = |claims: Claims| {
            pairs.iter().filter(|(a, b)| claims(a, b, random)).count() as f64 * 100.0 / pairs.len() as f64
        };
        let each: Vec<String> =
            OTHERS.iter().map(|(name, claims)| format!("{name} {:.1} %", percent(*claims))).collect();
        println!("{metric:40} {:4} pairs: {}", pairs.len(), each.join("  "));
    }
    too_many
}

/// Claims, figures with p < .05 for themselves, and figures.
#[derive(Default)]
struct Count {
    claims: usize,
    alone: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, rows: &[Value]) {
        let claim = |row: &&Value| {
            matches!(row["verdict"].as_str(), Some("beyond_margin" | "changed" | "below_margin"))
        };
        self.claims += rows.iter().filter(claim).count();
        self.alone += rows.iter().filter(|row| row["p"].as_f64().is_some_and(|p| p < LEVEL)).count();
        self.all += rows.len();
    }
}

/// Recordings made one after the other, as a user makes them: what `tickmark compare` claims of neighbours. The designs that
/// claim too much.
fn recordings(tickmark: &Tickmark) -> Result<Vec<String>> {
    let arguments = [&METRICS[..], &["--small", "--runs", "5", "--budget", "1s"]].concat();
    let mut ids = Vec::new();
    for _ in 0..RECORDINGS {
        let model = tickmark.measure(&arguments)?;
        ids.push(model["recording"]["id"].as_str().ok_or("no id")?.to_owned());
    }
    let compare = |base: &str, other: &str, more: &[&str]| -> Result<Vec<Value>> {
        let arguments = [&["compare", base, other, "--format", "json"], more].concat();
        let (text, _) = shell::output(&mut tickmark.command(&arguments))?;
        let model: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        Ok(model["candidates"][0]["rows"].as_array().cloned().unwrap_or_default())
    };
    let [mut without, mut with, mut by_run, mut turns] = <[Count; 4]>::default();
    // So few earlier ones are no history.
    for pair in ids[..4].chunks_exact(2) {
        without.add(&compare(&pair[0], &pair[1], &[])?);
    }
    for pair in ids[EARLIER..].chunks_exact(2) {
        with.add(&compare(&pair[0], &pair[1], &[])?);
        by_run.add(&compare(&pair[0], &pair[1], &["--unit", "run"])?);
    }
    for eight in ids.chunks_exact(8) {
        let side = |from: usize| [0, 2, 4, 6].map(|at| eight[at + from].as_str()).join(",");
        turns.add(&compare(&side(0), &side(1), &[])?);
    }
    println!(
        "\n{RECORDINGS} recordings of five runs, one after the other; claims of change, and p < .05 of a figure alone"
    );
    let mut too_many = Vec::new();
    for (name, count, ours) in [
        ("one against the next, without earlier ones", without, true),
        ("one against the next, by earlier recordings", with, true),
        ("four against four, by turns", turns, true),
        ("one against the next, --unit run", by_run, false),
    ] {
        println!("  {name:45} {:3} and {:3} of {}", count.claims, count.alone, count.all);
        if ours && count.claims * PAIRS > BOUND * count.all {
            too_many.push(name.to_owned());
        }
    }
    Ok(too_many)
}

/// How often the effect that a pilot promised is found: pilots and experiments of real runs, one side of which is made so much
/// slower.
fn promised(figures: &Figures) {
    println!(
        "\nthe smallest effect that a pilot of {PILOT} pairs promises with 80 %, added to one side: experiments that find it"
    );
    for ((metric, figure), values) in figures {
        let (mut found, mut all, mut effects) = (0, 0, Vec::new());
        for chunk in values.chunks_exact(2 * (PILOT + SEARCH)) {
            let (pilot, rest) = chunk.split_at(2 * PILOT);
            let differences: Vec<f64> = pilot.chunks(2).map(|pair| pair[1] - pair[0]).collect();
            let (Some(s), Some(mean)) = (spread(&differences), spread(pilot)) else { continue };
            let effect = s.deviation * plan::promised(PILOT, SEARCH, LEVEL, POWER) / mean.mean;
            // As the experiment does: nothing smaller is promised.
            let effect = effect.max(0.01);
            let (a, b): (Vec<f64>, Vec<f64>) =
                rest.chunks(2).map(|pair| (pair[0], pair[1] * (1.0 + effect))).unzip();
            all += 1;
            found += usize::from(claimed(Sides::paired(&a, &b)));
            effects.push(effect);
        }
        let percent = found as f64 * 100.0 / f64::from(all.max(1));
        let middle = tickmark_stats::median(effects).unwrap_or(f64::NAN) * 100.0;
        println!("  {metric:34} {figure:5}: {percent:5.1} % of {all}; median effect {middle:.2} %");
    }
}

/// Coverage, families and power on noise that is made.
fn simulated() -> Result<()> {
    println!("\non noise that is made:");
    let mut test = Command::new("cargo");
    test.args([
        "test",
        "--quiet",
        "--release",
        "-p",
        "tickmark-stats",
        "--test",
        "simulated",
        "--",
        "--nocapture",
    ]);
    let (out, _) = shell::output(test.current_dir(shell::root()))?;
    out.lines()
        .filter(|line| line.contains(':') && !line.contains("test result"))
        .for_each(|line| println!("  {line}"));
    Ok(())
}
