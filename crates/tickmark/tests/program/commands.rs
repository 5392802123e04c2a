//! The commands as a user types them.

use crate::bench::{Bench, err, out, row};

#[test]
fn from_run_to_export() {
    let bench = Bench::new();
    let probes = ["syscall.null", "clock.monotonic.read", "tick", "timer.clock_nanosleep.late"];
    let arguments = [&["run"], &probes[..], &["--runs", "3", "--budget", "5s", "--name", "first"]].concat();
    let output = bench.run(&arguments);
    // Beside other tests there may be no figure of the tick, which is partly done; everything else has its own.
    let shown = bench.json(&["show", "first"]);
    let rows = shown["rows"].as_array().unwrap();
    let done = |row: &serde_json::Value| {
        row["status"] == "ok" || row["metric"].as_str().unwrap().starts_with("tick")
    };
    assert!(rows.iter().all(done), "{shown:#}");
    let all = rows.iter().all(|row| ["ok", "unknown"].contains(&row["status"].as_str().unwrap()));
    assert_eq!(output.status.code(), Some(if all { 0 } else { 4 }), "{}", err(&output));
    assert!(err(&output).is_empty(), "no progress where there is no terminal: {}", err(&output));
    assert!(!out(&output).contains('\x1b'), "no colours into a pipe");
    for part in ["null call (getppid)", "saved as", "measured)", "disturbed"] {
        assert!(out(&output).contains(part), "{}", out(&output));
    }

    assert_eq!(row(&shown, "syscall.null")["runs"], 3);
    assert_eq!(row(&shown, "syscall.null")["confidence"], 0.75);
    let rate = rows.iter().find(|row| row["metric"] == "tick.rate").and_then(|row| row["value"].as_f64());
    if let (Some(measured), Some(configured)) = (rate, shown["recording"]["hz_configured"].as_f64()) {
        assert!((measured / configured - 1.0).abs() < 1e-3, "{measured} Hz, configured for {configured}");
    }

    let csv = out(&bench.run(&["export", "first", "--format", "csv"]));
    assert_eq!(csv.lines().filter(|line| line.contains(",syscall.null,")).count(), 3);
    let raw = out(&bench.run(&["export", "first", "--raw"]));
    assert!(raw.lines().filter(|line| line.contains(",batch,")).count() > 100);
    assert!(raw.lines().filter(|line| line.contains(",latency,")).count() > 100);
    let json: serde_json::Value =
        serde_json::from_str(&out(&bench.run(&["export", "first", "--format", "json"]))).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 15);

    let listed = bench.json(&["recordings"]);
    assert_eq!(listed[0]["name"], "first");
    assert_eq!(listed[0]["complete"], true);
    std::fs::remove_file(bench.store().join("index.sqlite")).unwrap();
    assert_eq!(bench.json(&["recordings"]), listed);
    assert_eq!(bench.json(&["recordings", "--rebuild"]), listed);
    assert!(bench.store().join("index.sqlite").exists());

    let detail = out(&bench.run(&["show", "first", "timer.*"]));
    assert!(detail.contains("p99") && detail.contains('#'), "{detail}");
}

#[test]
fn settings_reach_the_measured_process() {
    let bench = Bench::new();
    let arguments = ["run", "timer", "--runs", "1", "--budget", "1s"];
    let late = |more: &[&str]| {
        let model = bench.json(&[&arguments[..], more].concat());
        row(&model, "timer.clock_nanosleep.late")["value"].as_f64().unwrap()
    };
    // 400 us of slack are far above any other delay; the least of three keeps other work out.
    let least = |more: &[&str]| (0..3).map(|_| late(more)).fold(f64::INFINITY, f64::min);
    assert!(least(&["--slack", "400us"]) > 2.0 * least(&["--slack", "1ns"]));
}

#[test]
fn lists_name_what_is_needed() {
    let bench = Bench::new();
    let all = bench.json(&["list"]);
    for spec in all.as_array().unwrap() {
        assert!(!spec["timed"].as_str().unwrap().is_empty() && !spec["source"].as_str().unwrap().is_empty());
    }
    assert!(out(&bench.run(&["list", "clock"])).contains("clock.monotonic.read"));
    assert!(!out(&bench.run(&["list"])).contains("selftest"));
}

#[test]
fn completions_and_man_pages() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(out(&bench.run(&["completions", shell])).contains("recordings"), "{shell}");
    }
    let folder = bench.store();
    let output = bench.run(&["man", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = std::fs::read_to_string(folder.join("tickmark-run.1")).unwrap();
    assert!(page.contains("budget"));
}

#[test]
fn help_has_examples() {
    let bench = Bench::new();
    for command in ["run", "show", "export", "list", "verify", "recordings"] {
        let help = out(&bench.run(&[command, "--help"]));
        assert!(help.contains("Examples:"), "{command}: {help}");
    }
    assert!(out(&bench.run(&["--help"])).contains("Exit codes"));
    assert!(!out(&bench.run(&["--help"])).contains("agent"), "it is hidden");
}
