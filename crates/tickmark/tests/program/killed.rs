//! A run that is killed or interrupted leaves a valid recording, which --resume completes.

use crate::bench::{Bench, err, out, refused, signal};
use crate::machine::within;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

const SMALL: &[&str] =
    &["run", "op.int32.*", "syscall.null", "ipc.pipe.round_trip", "--runs", "3", "--budget", "400ms"];

fn start(bench: &Bench) -> Child {
    bench.command(SMALL).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The recording's folder, once it is there: the store's own folders come before it.
fn begun(bench: &Bench) -> Option<PathBuf> {
    let folder = fs::read_dir(bench.store().join("recordings")).ok()?.next()?.unwrap().path();
    folder.join("meta.json").exists().then_some(folder)
}

/// Runs of the recording that ended, by the lines of its file alone.
fn ended(bench: &Bench) -> Vec<u64> {
    let text = begun(bench).and_then(|f| fs::read(f.join("events.jsonl")).ok()).unwrap_or_default();
    let lines =
        text.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice::<serde_json::Value>(l).ok());
    lines.filter_map(|event| event["finished"]["run"].as_u64()).collect()
}

fn wait_for_runs(bench: &Bench, count: usize) {
    within(60, &format!("{count} runs end"), || ended(bench).len() >= count);
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
#[ignore = "second tier: 70 s"]
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
        if begun(&bench).is_none() {
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
    wait_for_runs(&bench, 2);
    assert!(agents(&bench) > 0, "the agent is seen while it lives");
    run.kill().unwrap();
    run.wait().unwrap();
    within(60, "the agents end", || agents(&bench) == 0);
}

#[test]
fn ctrl_c_leaves_a_valid_recording_and_shows_it() {
    let bench = Bench::new();
    let run = start(&bench);
    wait_for_runs(&bench, 3);
    assert!(signal("INT", run.id()));
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    assert!(out(&output).contains("interrupted; saved as"), "{}", out(&output));
    assert!(out(&output).contains("runs were not made yet: tickmark run --resume"));
    let output = bench.run(&["run", "--resume", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("measured in 2 sessions"));
}

/// True if a recording is shown with all of a metric's runs.
fn is_whole(bench: &Bench, name: &str) -> bool {
    let page = bench.json(&["show", name]);
    crate::bench::row(&page, "syscall.null")["runs"] == 2
}

#[test]
fn of_twenty_writers_in_a_store_of_which_some_are_killed_nothing_is_lost_and_nothing_is_there_twice() {
    let bench = Bench::new();
    let mut whole: Vec<String> = Vec::new();
    for round in 0..3 {
        let start = |number: usize| {
            let name = format!("w{round}-{number}");
            let run = ["run", "syscall.null", "--runs", "2", "--budget", "40ms", "--name", &name];
            let writer = bench.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            (name, writer)
        };
        let mut writers: Vec<(String, Child)> = (0..20).map(start).collect();
        for (number, (_, writer)) in writers.iter_mut().enumerate() {
            if number % 3 == round {
                std::thread::sleep(Duration::from_millis(30 + 15 * number as u64));
                let _ = writer.kill();
            }
        }
        for (name, mut writer) in writers {
            if writer.wait().unwrap().success() {
                whole.push(name);
            }
        }
    }
    assert!(whole.len() >= 30, "{} writers ended well", whole.len());
    let names = || {
        let all = bench.recordings();
        let mut names: Vec<String> =
            all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        names
    };
    let listed = names();
    let mut once = listed.clone();
    once.dedup();
    assert_eq!(once, listed, "each once");
    for name in &whole {
        assert!(listed.contains(name) && is_whole(&bench, name), "{name} of {listed:?}");
    }
    // The index is no more than the folders: made anew it says the same, also of those that were killed.
    for file in fs::read_dir(bench.store()).unwrap().flatten() {
        if file.path().is_file() {
            fs::remove_file(file.path()).unwrap();
        }
    }
    assert_eq!(names(), listed);
    // A writer that was killed left what it had, or nothing: whatever is there can be shown.
    for name in &listed {
        let shown = bench.run(&["show", name]);
        assert!(
            matches!(shown.status.code(), Some(0 | 1)) && err(&shown).lines().count() <= 1,
            "{name}: {}",
            err(&shown)
        );
    }
}
