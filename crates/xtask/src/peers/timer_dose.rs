//! The price that `tickmark tick` prints for a timer, against a dose: the slope of the time that is lost without recording, over expiries a second.

use super::Tickmark;
use super::tick::watch;
use crate::{Result, shell};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tickmark_stats::dose::slope;
use tickmark_stats::median;

/// Samples a second by the kernel's software clock, whose timer sets itself again.
const DOSES: [u32; 4] = [0, 500, 1_000, 2_000];
/// Its function.
const FUNCTION: &str = "timer perf_swevent_hrtimer";
/// Blocks, each with every dose, in another order.
const BLOCKS: usize = 8;
/// How long each is watched: half of it without events.
const LENGTH: &str = "2s";

pub(crate) fn run() -> Result<()> {
    shell::install(&[("perf", "linux-perf"), ("taskset", "util-linux")])?;
    let tickmark = Tickmark::build()?;
    println!("CPU {}; {BLOCKS} blocks of {DOSES:?} expiries a second, {LENGTH} each", tickmark.cpu);
    let (mut blocks, mut prices, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        let mut points = Vec::new();
        for at in 0..DOSES.len() {
            let dose = DOSES[(at + block) % DOSES.len()];
            let sampler = Sampler::begin(&tickmark.cpu, dose)?;
            let page = watch(&tickmark, &[], LENGTH, &[])?;
            drop(sampler);
            points.push((f64::from(dose), page["lost"].as_f64().unwrap_or(f64::NAN) * 1e9));
            let takers = page["witness"]["takers"].as_array().into_iter().flatten();
            let own: Option<&Value> = takers.into_iter().find(|taker| taker["name"] == FUNCTION);
            let span = page["witness"]["span"].as_f64().unwrap_or(f64::NAN);
            let count = own.and_then(|own| own["count"].as_f64());
            if let Some((own, count)) = own.zip(count).filter(|_| dose > 0) {
                prices.push(own["share"].as_f64().unwrap_or(f64::NAN) * span / count);
                rates.push(count / span * 1e9 / f64::from(dose));
            }
        }
        blocks.push(points);
    }
    let slope = slope(&blocks).ok_or("no slope")?;
    let interval = slope.interval(0.95);
    let price = |q: f64| tickmark_stats::quantile(prices.iter().copied(), q).unwrap_or(f64::NAN);
    println!(
        "price of an expiry, by its own time less recording: {:.0} ns (quartiles {:.0}, {:.0})",
        price(0.5),
        price(0.25),
        price(0.75)
    );
    println!(
        "slope of the lost time without recording: {:.0} ns ({:.0} to {:.0}, 95 %)",
        slope.point, interval.low, interval.high
    );
    println!(
        "expiries seen of those set: {:.3} (median of {})",
        median(rates.iter().copied()).unwrap_or(f64::NAN),
        rates.len()
    );
    Ok(())
}

/// `perf record` of the software clock on a CPU, from another one; ended with this.
struct Sampler(Option<Child>);

impl Sampler {
    fn begin(cpu: &str, rate: u32) -> Result<Self> {
        if rate == 0 {
            return Ok(Self(None));
        }
        let period = (1_000_000_000 / rate).to_string();
        let mut command = Command::new("taskset");
        let other = if cpu == "0" { "1" } else { "0" };
        command.args([
            "-c",
            other,
            "perf",
            "record",
            "-q",
            "-C",
            cpu,
            "-e",
            "cpu-clock",
            "-c",
            &period,
            "-o",
            "/dev/null",
        ]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("perf: {error}"))?;
        std::thread::sleep(Duration::from_millis(700));
        Ok(Self(Some(child)))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
