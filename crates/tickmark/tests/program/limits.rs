//! Nothing hangs a run or the machine, and nothing passes for a number that is none.

use crate::bench::{Bench, page_of, program, row};
use std::time::Instant;

#[test]
#[ignore = "second tier: root"]
fn a_probe_that_never_ends_is_ended_also_at_real_time_priority() {
    for priority in ["other", "fifo:50"] {
        let bench = Bench::new();
        let started = Instant::now();
        let arguments = ["run", "selftest.hang", "syscall.null", "--runs", "1", "--budget", "50ms"];
        let model = bench.json(&[&arguments[..], &["--priority", priority]].concat());
        assert_eq!(row(&model, "selftest.hang")["status"], "timeout", "{priority}");
        assert_eq!(row(&model, "syscall.null")["status"], "ok", "{priority}: the rest runs");
        // The limit is some 3 s; a minute would be a hang.
        assert!(started.elapsed().as_secs() < 60);
    }
}

#[test]
#[ignore = "second tier: root"]
fn a_single_cpu_is_no_trap_at_real_time_priority() {
    let bench = Bench::new();
    let output = std::process::Command::new("taskset")
        .args(["-c", "0", program(), "run", "selftest.hang", "ipc.pipe.round_trip", "--runs", "1"])
        .args(["--budget", "50ms", "--priority", "fifo:80", "--format", "json"])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    let model = page_of(&output.stdout);
    assert_eq!(row(&model, "selftest.hang")["status"], "timeout");
    assert_eq!(row(&model, "ipc.pipe.round_trip")["status"], "ok");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn work_that_was_not_done_is_no_number() {
    let bench = Bench::new();
    let failing = ["selftest.fold", "selftest.fail", "--runs", "1", "--budget", "20ms", "--name", "broken"];
    let output = bench.run(&[&["run"], &failing[..]].concat());
    assert_eq!(output.status.code(), Some(1), "nothing was obtained");
    let model = bench.json(&["show", "broken"]);
    for (metric, why) in [("selftest.fold", "physical limit"), ("selftest.fail", "Input/output error")] {
        let row = row(&model, metric);
        assert_eq!(row["status"], "failed");
        assert!(row["value"].is_null());
        assert!(row["notes"][0].as_str().unwrap().contains(why), "{row}");
    }
}

#[test]
fn every_probe_runs_here_or_says_which_call_is_missing() {
    let bench = Bench::new();
    let (outcomes, cpus) = (bench.json(&["verify"]), crate::bench::cpus().len());
    let outcomes = outcomes["probes"].as_array().unwrap();
    assert!(outcomes.len() > 90);
    for outcome in outcomes {
        let reason = &outcome["reason"];
        match outcome["status"].as_str().unwrap() {
            "ok" => assert!(reason.is_null()),
            "unsupported" if cpus == 1 && reason["message"] == "only one CPU is allowed" => {}
            "unsupported" => assert!(reason["call"].is_string() && reason["errno"].is_i64(), "{outcome}"),
            _ => panic!("{outcome}"),
        }
    }
}
