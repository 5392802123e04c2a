//! Response times in open loop beside oha with `--latency-correction`, which is wrk2's method: the time from when a request was due. Both ask the
//! same nginx at the same rate, which is stopped for a tenth of each second: that decides what nine of ten requests or fewer take.

use super::Tickmark;
use super::http::{PORT, nginx};
use crate::{Result, shell};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tickmark_stats::median;

const ROUNDS: usize = 5;
const SECONDS: &str = "10s";
const RATE: &str = "1000";
const CONNECTIONS: &str = "32";
const STOPPED: Duration = Duration::from_millis(100);
const RUNNING: Duration = Duration::from_millis(900);
/// Quantiles that both print; oha in seconds, tickmark in ns.
const QUANTILES: [&str; 4] = ["p50", "p90", "p99", "p99.9"];

pub(crate) fn run() -> Result<()> {
    shell::install(&[("nginx", "nginx-light"), ("taskset", "util-linux")])?;
    let root = shell::root().join("target/peers");
    let place = root.to_string_lossy();
    shell::run("cargo", &["install", "--quiet", "--locked", "--root", &place, "oha"])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let server = nginx(folder.path())?;
    println!(
        "nginx on CPU 0, clients on CPU {}, {CONNECTIONS} connections, {RATE} requests a second, {ROUNDS} interleaved rounds of {SECONDS}; medians",
        tickmark.cpu
    );
    for stopped in [true, false] {
        let (over, pid) = (AtomicBool::new(false), server.pid().to_string());
        let all = std::thread::scope(|scope| {
            let stop = || {
                while stopped && !over.load(Ordering::Relaxed) {
                    for (signal, length) in [("-STOP", STOPPED), ("-CONT", RUNNING)] {
                        let _ = Command::new("kill").args([signal, pid.as_str()]).status();
                        std::thread::sleep(length);
                    }
                }
            };
            scope.spawn(stop);
            let round = |_| Ok([ours(&tickmark)?, theirs(&tickmark, &root)?]);
            let all = (0..ROUNDS).map(round).collect::<Result<Vec<_>>>();
            over.store(true, Ordering::Relaxed);
            all
        })?;
        println!("{}", if stopped { "stopped for 100 ms of each second" } else { "never stopped" });
        for (at, name) in QUANTILES.iter().enumerate() {
            let of = |side: usize| median(all.iter().map(|round| round[side][at])).unwrap_or(f64::NAN);
            let ratio = median(all.iter().map(|round| round[0][at] / round[1][at])).unwrap_or(f64::NAN);
            println!("  {name:6} {:9.3} ms, oha {:9.3} ms: {ratio:.3}", of(0) * 1e3, of(1) * 1e3);
        }
    }
    Ok(())
}

fn url() -> String {
    format!("http://127.0.0.1:{PORT}/index.html")
}

/// Quantiles in seconds.
fn ours(tickmark: &Tickmark) -> Result<[f64; QUANTILES.len()]> {
    let url = url();
    let arguments =
        ["http", "--url", &url, "--rate", RATE, "--connection", "keep-alive", "--connections", CONNECTIONS];
    let more = ["--cpu", &tickmark.cpu, "--runs", "1", "--duration", SECONDS, "--format", "json"];
    let (text, _) = shell::output(&mut tickmark.command(&[&arguments[..], &more].concat()))?;
    let page: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let observed = &page["loads"][0]["summary"]["latency"]["response"]["quantiles"];
    quantiles(observed, 1e-9).ok_or_else(|| format!("no figure of ours: {text}"))
}

fn theirs(tickmark: &Tickmark, root: &Path) -> Result<[f64; QUANTILES.len()]> {
    let url = url();
    let mut command = Command::new("taskset");
    command.args(["-c", &tickmark.cpu]).arg(root.join("bin/oha"));
    command.args(["-c", CONNECTIONS, "-q", RATE, "-z", SECONDS, "--latency-correction", "--no-tui"]);
    let (text, _) = shell::output(command.args(["--output-format", "json", &url]))?;
    let page: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    quantiles(&page["latencyPercentiles"], 1.0).ok_or_else(|| format!("no figure of oha: {text}"))
}

fn quantiles(of: &Value, unit: f64) -> Option<[f64; QUANTILES.len()]> {
    let all: Option<Vec<f64>> = QUANTILES.iter().map(|name| Some(of[name].as_f64()? * unit)).collect();
    all?.try_into().ok()
}
