//! Messages and streams of `tickmark comms` beside NetPIPE, sockperf, qperf and iperf3, both sides on one CPU, a stream across two.

use super::catalogue::{Server, before, pinned};
use super::{Pair, Tickmark, figure, pairs};
use crate::{Result, shell};
use serde_json::Value;
use std::process::Command;

const PORT: &str = "5996";
const MIB: &str = "1048576";

const PAIRS: &[Pair] = &[
    Pair::new("1 byte, half a round trip : NetPIPE", |t, _| ours(t, "1", "time"), |t, _| netpipe(t, "1", "usec").map(|time| time.map(|us| us * 1e3))),
    Pair::new("14 bytes, half a round trip : sockperf", |t, _| ours(t, "14", "time"), |t, _| sockperf(t)),
    Pair::new("1 byte, half a round trip : qperf", |t, _| ours(t, "1", "time"), |t, _| qperf(t)),
    Pair::new("1 MiB there and back, rate : NetPIPE", |t, _| ours(t, MIB, "rate"), |t, _| netpipe(t, MIB, "Mbps").map(|rate| rate.map(|rate| rate * 1_048_576.0 / 8.0))),
    Pair::new("a stream in blocks of 64 KiB, across CPUs : iperf3 -N", |t, _| stream(t), |t, _| iperf(t, &["-N"])),
    Pair::new("a stream in blocks of 64 KiB, across CPUs : iperf3", |t, _| stream(t), |t, _| iperf(t, &[])).explained("without TCP_NODELAY (-N), which these streams have, a stream over loopback has two thirds of the rate"),
];

/// Installs the peers, runs all pairs and prints their ratios.
pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("NPtcp", "netpipe-tcp"),
        ("sockperf", "sockperf"),
        ("qperf", "qperf"),
        ("iperf3", "iperf3"),
        ("taskset", "util-linux"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    pairs(&tickmark, folder.path(), PAIRS, 0.1)?
}

fn ours(tickmark: &Tickmark, bytes: &str, which: &str) -> Result<Option<f64>> {
    let arguments = ["comms", "comms1", "--place", "same", "--load", "none", "--sizes", bytes, "--runs", "1"];
    let more = ["--duration", "1s", "--cpu", &tickmark.cpu, "--format", "json"];
    let (text, _) = shell::output(&mut tickmark.command(&[&arguments[..], &more].concat()))?;
    let page: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(page["comms"][0]["rows"][0][which].as_f64())
}

fn stream(tickmark: &Tickmark) -> Result<Option<f64>> {
    let model =
        tickmark.measure(&["net.tcp.streams:streams=1,place=across", "--runs", "1", "--budget", "1s"])?;
    Ok(figure(&model, "net.tcp.streams.1.across", "value"))
}

/// NetPIPE's result for messages of a size, both sides on the measured CPU.
pub(super) fn netpipe(tickmark: &Tickmark, bytes: &str, unit: &str) -> Result<Option<f64>> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let size = ["-l", bytes, "-u", bytes];
    let _server = Server::start(pinned(tickmark, "NPtcp").args(size).current_dir(folder.path()))?;
    let mut command = pinned(tickmark, "NPtcp");
    command.args(["-h", "127.0.0.1"]).args(size).current_dir(folder.path());
    let (text, errors) = shell::output(&mut command)?;
    let all = format!("{text}{errors}");
    Ok(all.lines().rev().find(|line| line.contains("-->")).and_then(|line| before(line, unit)))
}

/// "sockperf: ---> percentile 50.000 =    6.912", half of a round trip in us.
fn sockperf(tickmark: &Tickmark) -> Result<Option<f64>> {
    let place = ["--tcp", "-i", "127.0.0.1", "-p", PORT];
    let _server = Server::start(pinned(tickmark, "sockperf").arg("server").args(place))?;
    let mut command = pinned(tickmark, "sockperf");
    let (text, _) = shell::output(command.arg("ping-pong").args(place).args(["-m", "14", "-t", "1"]))?;
    let line = text.lines().find(|line| line.contains("percentile 50.000"));
    Ok(line.and_then(|line| line.rsplit('=').next()?.trim().parse::<f64>().ok()).map(|us| us * 1e3))
}

/// "    latency  =  6.93 us", one way.
fn qperf(tickmark: &Tickmark) -> Result<Option<f64>> {
    let _server = Server::start(pinned(tickmark, "qperf").args(["-lp", PORT]))?;
    let mut command = pinned(tickmark, "qperf");
    let (text, _) = shell::output(command.args(["-lp", PORT, "-m", "1", "-t", "1", "127.0.0.1", "tcp_lat"]))?;
    Ok(before(&text, "us").map(|us| us * 1e3))
}

fn iperf(tickmark: &Tickmark, more: &[&str]) -> Result<Option<f64>> {
    let _server = Server::start(pinned(tickmark, "iperf3").args(["-s", "-1", "-p", PORT]))?;
    let other = if tickmark.cpu == "0" { "1" } else { "0" };
    let mut command = Command::new("taskset");
    command.args(["-c", other, "iperf3", "-c", "127.0.0.1", "-p", PORT, "-t", "1", "-l", "64K", "-J"]);
    command.args(more);
    let (text, _) = shell::output(&mut command)?;
    let model: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(model["end"]["sum_received"]["bits_per_second"].as_f64().map(|bits| bits / 8.0))
}
