//! A run that is killed or interrupted leaves a valid recording, which --resume completes.

mod common;

use common::{Bench, err, out};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SMALL: &[&str] =
    &["run", "op.int32.*", "syscall.null", "ipc.pipe.round_trip", "--runs", "3", "--budget", "400ms"];

fn start(bench: &Bench) -> Child {
    bench.command(SMALL).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs of the recording that ended, by the lines of its file alone.
fn ended(bench: &Bench) -> Vec<u64> {
    let text = fs::read(bench.recording().join("events.jsonl")).unwrap_or_default();
    let lines =
        text.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice::<serde_json::Value>(l).ok());
    lines.filter_map(|event| event["finished"]["run"].as_u64()).collect()
}

/// Processes that `pid` started, directly or not, by their command line holding the program's path.
fn agents() -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let own = [common::program().as_bytes(), b"\0agent\0"].concat();
    lines.filter(|line| line.windows(own.len()).any(|window| window == own)).count()
}

#[test]
fn kill_9_at_fifty_moments_loses_no_finished_probe() {
    let mut interrupted = 0;
    for moment in 0..50u64 {
        let bench = Bench::new();
        let mut run = start(&bench);
        // Spread over the run by the golden ratio: no two moments are alike.
        std::thread::sleep(Duration::from_micros(20_000 + moment * 618_034 % 1_000_000));
        let over = run.try_wait().unwrap().is_some();
        run.kill().unwrap();
        run.wait().unwrap();
        if !bench.store().join("recordings").exists() || !bench.recording().join("meta.json").exists() {
            continue;
        }
        let before = ended(&bench);
        let output = bench.run(&["show", "last"]);
        assert_eq!(output.status.code(), Some(0), "moment {moment}: {}", err(&output));
        if over || before.len() == 22 {
            continue;
        }
        interrupted += 1;
        let output = bench.run(&["run", "--resume", "last"]);
        assert_eq!(output.status.code(), Some(0), "moment {moment}: {}", err(&output));
        let after = ended(&bench);
        assert_eq!(after.len(), 22, "moment {moment}: each run once: {after:?}");
        assert_eq!(after[..before.len()], before[..], "moment {moment}: what was there stays");
        common::refused(&bench.run(&["run", "--resume", "last"]), 2, &["complete"]);
    }
    assert!(interrupted >= 25, "only {interrupted} of 50 moments fell into a run");
}

#[test]
fn the_agent_ends_with_the_program() {
    let bench = Bench::new();
    let mut run = start(&bench);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !bench.store().join("recordings").exists() || ended(&bench).len() < 2 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    while agents() > 0 {
        assert!(Instant::now() < deadline, "agents live on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ctrl_c_leaves_a_valid_recording_and_shows_it() {
    let bench = Bench::new();
    let run = start(&bench);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !bench.store().join("recordings").exists() || ended(&bench).len() < 3 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    assert!(out(&output).contains("interrupted; kept as"), "{}", out(&output));
    assert!(out(&output).contains("runs are still to be made: tickmark run --resume"));
    let output = bench.run(&["run", "--resume", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("measured in 2 sessions"));
}
