//! A run that is killed or interrupted leaves a valid recording, which --resume completes.

use crate::bench::{Bench, err, out, refused};
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

/// Agents of this bench: their environment names its store.
fn agents(bench: &Bench) -> usize {
    let store = format!("TICKMARK_STORE={}\0", bench.store().display()).into_bytes();
    let holds = |bytes: Vec<u8>, part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = processes.filter(|path| {
        fs::read(path.join("environ")).is_ok_and(|environ| holds(environ, &store))
            && fs::read(path.join("cmdline")).is_ok_and(|line| holds(line, b"\0agent\0"))
    });
    ours.count()
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
        refused(&bench.run(&["run", "--resume", "last"]), 2, &["complete"]);
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
    assert!(agents(&bench) > 0, "the agent is seen while it lives");
    run.kill().unwrap();
    run.wait().unwrap();
    while agents(&bench) > 0 {
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
    assert!(out(&output).contains("interrupted; saved as"), "{}", out(&output));
    assert!(out(&output).contains("runs were not made yet: tickmark run --resume"));
    let output = bench.run(&["run", "--resume", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("measured in 2 sessions"));
}
