//! How steady tickmark is by itself: idle, and beside eight tasks that spin on its CPU.

use super::{Tickmark, rows};
use crate::{Result, shell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Command};

/// Recordings of the idle machine.
const IDLE: usize = 5;
/// Runs of the multi-process probes beside competitors.
const CONTENDED: usize = 20;
const COMPETITORS: usize = 8;
/// Probes that wait for other processes, and those whose rows cross CPUs.
const SEVERAL: &[&str] =
    &["process.", "switch.", "ipc.", "bandwidth.pipe", "bandwidth.unix", "bandwidth.tcp"];
const ACROSS: &[&str] = &["between_cpus", ".across", ".unpinned"];
/// Latency of the caches and the memory at that moment.
const MEMORY: &[&str] = &["memory.", "bandwidth.", "machine.", "vm."];
/// These two may spread by a tenth.
const TCP: &[&str] = &["ipc.tcp.connect", "bandwidth.tcp"];
/// Rows that are no cost of the CPU: sleeping, the tick, steps.
const NO_FLOOR: &[&str] = &["timer.", "tick.", ".step", ".resolution"];

/// Prints all figures.
pub(crate) fn run() -> Result<()> {
    shell::install(&[("taskset", "util-linux")])?;
    let tickmark = Tickmark::build()?;
    let mut idle = Vec::new();
    for number in 1..=IDLE {
        let model = tickmark.measure(&[])?;
        describe(&format!("idle {number}"), &model);
        idle.push(floors(&model));
    }
    let idle_at_fifo = tickmark.measure(&["--priority", "fifo:50"])?;
    describe("idle at fifo:50", &idle_at_fifo);

    let busy = competitors(&tickmark.cpu)?;
    let at_fifo = tickmark.measure(&["--priority", "fifo:50"])?;
    describe("8 competitors, fifo:50", &at_fifo);
    compare("fifo, competitors : idle", &floors(&idle_at_fifo), &floors(&at_fifo), 0.05);
    let at_other = tickmark.measure(&[])?;
    describe("8 competitors, ordinary priority", &at_other);
    let base = &idle[IDLE / 2];
    let single = |m: &BTreeMap<String, Floor>| -> BTreeMap<String, Floor> {
        m.iter().filter(|(name, _)| !starts(name, SEVERAL)).map(|(n, f)| (n.clone(), f.clone())).collect()
    };
    compare(
        "ordinary priority, single process, competitors : idle",
        &single(base),
        &single(&floors(&at_other)),
        0.10,
    );
    unmarked(&tickmark, base)?;
    drop(busy);
    Ok(())
}

/// In how many of the runs a floor of several processes is off by more than a tenth and not marked.
fn unmarked(tickmark: &Tickmark, base: &BTreeMap<String, Floor>) -> Result<()> {
    let (mut bad, mut off, mut observed) = (0, 0, 0);
    for _ in 0..CONTENDED {
        let model = tickmark.measure(&["process", "communication", "--runs", "1", "--budget", "1s"])?;
        let mut clean = true;
        for (name, floor) in floors(&model) {
            let Some(idle) = base.get(&name) else { continue };
            observed += 1;
            if (floor.value / idle.value - 1.0).abs() > 0.1 {
                off += 1;
                clean &= floor.contended;
            }
        }
        bad += usize::from(!clean);
    }
    println!(
        "several processes beside {COMPETITORS} competitors: {CONTENDED} runs, {off} of {observed} floors off by more than 10 %; \
         runs with one of them unmarked: {bad}"
    );
    Ok(())
}

#[derive(Debug, Clone)]
struct Floor {
    value: f64,
    contended: bool,
}

fn is_across(name: &str) -> bool {
    ACROSS.iter().any(|part| name.contains(part))
}

fn starts(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The floors of a model that concern one CPU.
fn floors(model: &Value) -> BTreeMap<String, Floor> {
    rows(model)
        .filter_map(|row| {
            let name = row["metric"].as_str()?;
            let other = is_across(name) || NO_FLOOR.iter().any(|part| name.contains(part));
            let floor =
                Floor { value: row["value"].as_f64()?, contended: row["contended_share"].is_number() };
            (!other).then(|| (name.to_owned(), floor))
        })
        .collect()
}

/// How steady the metrics are, kind by kind; which rows are marked, and the tick's rate.
fn describe(name: &str, model: &Value) {
    let spreads: Vec<(&str, f64)> = rows(model)
        .filter(|row| row["value"].is_number())
        .filter_map(|row| Some((row["metric"].as_str()?, row["cv"].as_f64()?)))
        .filter(|(metric, _)| !metric.ends_with(".resolution"))
        .collect();
    let kind = |what: &str, limit: f64, of: &dyn Fn(&str) -> bool| {
        let own: Vec<_> = spreads.iter().filter(|(metric, _)| of(metric)).collect();
        let wide: Vec<String> = own
            .iter()
            .filter(|(_, spread)| *spread > limit)
            .map(|(metric, spread)| format!("{metric} {:.1} %", spread * 100.0))
            .collect();
        let (steady, all) = (own.len() - wide.len(), own.len());
        let wide = if wide.is_empty() { "none".to_owned() } else { wide.join(", ") };
        println!("  {what}: at most {:.0} % for {steady} of {all}; wider: {wide}", limit * 100.0);
    };
    let contended = rows(model).filter(|row| row["contended_share"].is_number()).count();
    let rate =
        super::figure(model, "tick.rate", "value").map_or("not found".to_owned(), |hz| format!("{hz:.5} Hz"));
    let seconds = model["recording"]["seconds"].as_f64().unwrap_or(0.0);
    println!("{name}: {seconds:.0} s; rows marked contended: {contended}; tick {rate}; spread between runs");
    let short = |metric: &str| !is_across(metric) && !TCP.contains(&metric) && !starts(metric, MEMORY);
    kind("short, one CPU", 0.05, &short);
    kind("TCP connect and bandwidth", 0.10, &|metric| TCP.contains(&metric));
    kind("memory, bandwidths", 0.10, &|m| starts(m, MEMORY) && !TCP.contains(&m));
    kind("across CPUs, unpinned", 0.10, &is_across);
}

fn compare(name: &str, base: &BTreeMap<String, Floor>, other: &BTreeMap<String, Floor>, limit: f64) {
    let ratios: Vec<(&String, f64)> = base
        .iter()
        .filter_map(|(metric, floor)| Some((metric, other.get(metric)?.value / floor.value - 1.0)))
        .collect();
    let beyond: Vec<String> = ratios
        .iter()
        .filter(|(_, change)| change.abs() > limit)
        .map(|(metric, change)| format!("{metric} {:+.1} %", change * 100.0))
        .collect();
    let largest = ratios.iter().map(|(_, change)| change.abs()).fold(0.0, f64::max);
    println!(
        "{name}: {} of {} floors within {:.0} %, the largest change {:.1} %; beyond: {}",
        ratios.len() - beyond.len(),
        ratios.len(),
        limit * 100.0,
        largest * 100.0,
        if beyond.is_empty() { "none".to_owned() } else { beyond.join(", ") }
    );
}

/// Tasks that spin until they are dropped, and for half an hour at most.
struct Competitors(Vec<Child>);

fn competitors(cpu: &str) -> Result<Competitors> {
    let mut all = Competitors(Vec::new());
    for _ in 0..COMPETITORS {
        // `timeout` runs its command as a child; `exec` of the loop itself lets one id be ended.
        let script = "end=$(($(date +%s) + 1800)); while [ $(($(date +%s))) -lt $end ]; do i=0; \
                      while [ $i -lt 1000000 ]; do i=$((i + 1)); done; done";
        let child = Command::new("taskset").args(["-c", cpu, "sh", "-c", script]).spawn();
        all.0.push(child.map_err(|e| format!("cannot start a competitor: {e}"))?);
    }
    Ok(all)
}

impl Drop for Competitors {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
