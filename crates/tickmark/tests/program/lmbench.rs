//! lmbench's files come in, its tables go out.

use crate::bench::{Bench, err, out, refused, row};
use serde_json::Value;
use std::path::PathBuf;

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/lmbench").join(name);
    path.to_str().unwrap().to_owned()
}

/// A cell of a table: `what` is "average" or "percent", of the system with this number.
fn cell(page: &Value, metric: &str, system: usize, what: &str) -> Value {
    let tables = page["tables"].as_array().unwrap();
    let found = tables.iter().find_map(|table| {
        let column = table["columns"].as_array()?.iter().position(|column| column["metric"] == metric)?;
        Some(table["systems"][system][what][column].clone())
    });
    found.unwrap_or_else(|| panic!("no column {metric}"))
}

#[test]
fn a_page_becomes_a_recording_a_host_and_comes_back_with_its_percentages() {
    let bench = Bench::new();
    let output = bench.run(&["import", &fixture("tqm860l-summary.txt")]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(out(&output).matches("63 metrics, 5 runs, each a replicate").count(), 2, "{}", out(&output));
    let listed = bench.recordings();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"tqm860l") && names.contains(&"tqm860l1k"));

    let page = bench.json(&["compare", "tqm860l", "tqm860l1k", "--lmbench"]);
    let tenth = |value: &Value| (value.as_f64().unwrap() * 10.0).round() / 10.0;
    assert_eq!(cell(&page, "syscall.null", 0, "average"), 6.2);
    assert_eq!(tenth(&cell(&page, "syscall.null", 1, "percent")), -6.1, "from the rounded averages");
    assert_eq!(tenth(&cell(&page, "switch.2p.0k", 1, "percent")), -18.4);
    let plain = bench.json(&["compare", "tqm860l", "tqm860l1k"]);
    let plain = &plain["candidates"][0];
    let null = row(plain, "syscall.null");
    assert_eq!(tenth(&Value::from(null["change"].as_f64().unwrap() * 100.0)), -6.0, "from the rows");
    // lmbench's runs are independent: each is a replicate.
    assert_eq!((&null["verdict"], &null["worse"]), (&Value::from("beyond_margin"), &Value::from(false)));
    // Of 126 ways to label ten rows none other is as far, in any of the columns.
    assert_eq!(null["judged_by"], "permutations");
    assert!(null["p_corrected"].as_f64().unwrap() < 1.01 / 126.0, "{null}");
    let two = row(plain, "switch.2p.0k");
    assert_eq!(two["verdict"], "undecided", "the headline of the page is none");
    assert!(two["needed"].as_u64() > Some(5), "{two}");
    let marked = bench.json(&["compare", "tqm860l", "tqm860l1k", "--lmbench"]);
    assert_eq!(cell(&marked, "syscall.null", 1, "real"), true);
    assert_eq!(cell(&marked, "switch.2p.0k", 1, "real"), false);
    let gate = |kind| bench.run(&["compare", "tqm860l", "tqm860l1k", "--fail-on", kind]).status.code();
    assert_eq!((gate("worse"), gate("changed")), (Some(3), Some(3)));
    refused(&bench.run(&["compare", "tqm860l", "tqm860l"]), 2, &["on both sides"]);

    let text = out(&bench.run(&["show", "tqm860l", "--lmbench"]));
    let rows = text.lines().filter(|line| line.starts_with("tqm860l ")).count();
    assert_eq!(rows, 60, "ten tables of five rows and their average");
    assert!(text.contains("30000 105000"), "no figure is cut to four characters");
    let header = out(&bench.run(&["show", "tqm860l"]));
    assert!(
        header.starts_with("tqm860l · Linux 2.4.25- · 5 runs measured by lmbench 3.0, imported"),
        "{header}"
    );
    let line = header.lines().find(|line| line.contains("null call")).unwrap();
    assert_eq!(line.matches("6.200 us").count(), 1, "there is no mean beside it: {line}");
    assert!(header.contains("what lmbench 3.0 printed") && !header.contains("10th percentile"), "{header}");
}

#[test]
fn raw_files_become_runs_and_every_column_is_there() {
    let bench = Bench::new();
    let output = bench.run(&["import", &fixture("lmbench3.raw"), "--name", "board", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = bench.json(&["show", "board", "--lmbench"]);
    assert_eq!(page["tables"].as_array().unwrap().len(), 11);
    for table in page["tables"].as_array().unwrap() {
        for average in table["systems"][0]["average"].as_array().unwrap() {
            assert!(average.is_number(), "{table}");
        }
    }
    assert_eq!(page["missing"], Value::Array(Vec::new()));
    let null = &page["tables"][1]["columns"][1];
    assert_eq!((&null["unit"], &null["better"]), (&Value::from("us"), &Value::from("lower")));
    assert_eq!(page["figures"], serde_json::json!(["imported"]), "they are not called means");
    refused(&bench.run(&["show", "board", "--lmbench", "--floor"]), 2, &["was imported", "no floors"]);
    bench.run(&["import", &fixture("lmbench2.raw")]);
    refused(
        &bench.run(&["compare", "board", "board2", "--lmbench", "--floor"]),
        2,
        &["was imported", "no floors"],
    );
    refused(
        &bench.run(&["run", "--resume", "board"]),
        2,
        &["measured by lmbench 3.0", "cannot be resumed here"],
    );
    let listed = bench.recordings();
    assert_eq!(listed[0]["kernel"], "6.8.0-31-generic");

    // Beside another version, and beside what lacks: each dash has its reason, each size its figure.
    bench.run(&["import", &fixture("lmbench2.raw")]);
    let text = out(&bench.run(&["show", "board2", "--lmbench"]));
    assert!(text.contains("-: board2, not in the file: machine.tlb, machine.cache_line"), "{text}");
    let plain = out(&bench.run(&["compare", "board", "board2"]));
    assert!(plain.contains("measured by lmbench 3.0 and by lmbench 2.0"), "{plain}");
    assert!(plain.contains("only board "), "{plain}");
    assert!(plain.contains("vm.fault.page.lmbench2"), "another method is another metric: {plain}");
    let apart = plain.split_once("not compared: different sizes").unwrap().1;
    let apart: String = apart.lines().take(4).collect();
    assert!(apart.contains("memory.latency.strided"), "{apart}");
    assert!(apart.contains("over 16 MiB") && apart.contains("over 8 MiB"), "{apart}");
}

#[test]
fn bad_files_import_nothing() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = file("empty.txt", b"");
    let binary = file("binary.bin", &[0xff, 0xfe, 0, 1, b'\n', 0x80]);
    for path in [&empty, &binary] {
        let what = if path == &empty { "is empty" } else { "of no known program" };
        refused(&bench.run(&["import", path]), 2, &[what, "nothing was imported"]);
        // A good file beside it is not imported either: all or nothing.
        refused(&bench.run(&["import", &fixture("lmbench3.raw"), path]), 2, &["nothing was imported"]);
    }
    refused(&bench.run(&["import", folder.path().to_str().unwrap()]), 1, &["cannot read"]);
    refused(&bench.run(&["import", "/nowhere/results.0"]), 1, &["cannot read /nowhere/results.0"]);
    refused(&bench.run(&["import"]), 2, &["<FILE>..."]);
    let page = fixture("tqm860l-summary.txt");
    refused(&bench.run(&["import", &page, "--name", "x"]), 2, &["--name is for one system", "tqm860l1k"]);
    assert!(!bench.store().exists(), "nothing was kept");
}

#[test]
fn our_own_figures_stand_in_the_tables_and_what_lacks_is_named() {
    let bench = Bench::new();
    let run = ["run", "lmbench", "--runs", "2", "--budget", "4s", "--small", "--name", "here"];
    let output = bench.run(&run);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = bench.json(&["show", "here", "--lmbench"]);
    assert_eq!(page["figures"], serde_json::json!(["mean"]));
    assert_eq!(cell(&page, "machine.load", 0, "average"), 1.0, "one run at a time");
    for table in page["tables"].as_array().unwrap() {
        for (column, average) in table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .zip(table["systems"][0]["average"].as_array().unwrap())
        {
            let metric = column["metric"].as_str().unwrap();
            let named = || page["missing"].as_array().unwrap().iter().any(|m| m["metric"] == metric);
            assert!(average.is_number() || named(), "{metric} is blank and nothing says why");
        }
    }
    let mean = cell(&page, "syscall.null", 0, "average").as_f64().unwrap();
    let floors = bench.json(&["show", "here", "--lmbench", "--floor"]);
    assert_eq!(floors["figures"], serde_json::json!(["floor"]));
    let floor = cell(&floors, "syscall.null", 0, "average").as_f64().unwrap();
    assert!(floor <= mean, "{floor} {mean}");
    refused(&bench.run(&["show", "here", "--floor"]), 2, &["--lmbench"]);

    // Two recordings are two replicates: the runs of each say nothing of others.
    let output = bench.run(&[
        "run",
        "syscall.null",
        "op.int32.add",
        "--runs",
        "3",
        "--budget",
        "300ms",
        "--name",
        "again",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let compared = bench.json(&["compare", "here", "again", "--fail-on", "changed"]);
    let null = row(&compared["candidates"][0], "syscall.null");
    assert_eq!(
        (&null["verdict"], &null["why"]),
        (&Value::from("undecided"), &Value::from("not_interleaved"))
    );
    assert!(null["ratio"].is_number() && null["p"].is_null());
    let text = out(&bench.run(&["compare", "here", "again", "--unit", "run"]));
    assert!(
        crate::bench::words(&text).contains("if both recordings were made under the same conditions"),
        "the caveat is printed: {text}"
    );
    refused(&bench.run(&["compare", "here", "again", "--margin", "0"]), 2, &["1% or 0.01"]);

    // A recording without any column is a mistake of the user's.
    let output = bench.run(&["run", "clock.tai.read", "--once", "--name", "clock"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    refused(&bench.run(&["show", "clock", "--lmbench"]), 2, &["no metric of lmbench's tables"]);
    refused(&bench.run(&["compare", "here", "clock"]), 2, &["in common"]);
}

#[test]
fn once_is_one_run_of_what_was_asked_for_and_nothing_else() {
    let bench = Bench::new();
    let model = bench.json(&["run", "syscall.null", "--once"]);
    assert_eq!(model["rows"].as_array().unwrap().len(), 1);
    assert_eq!(row(&model, "syscall.null")["runs"], 1);
    assert!(model["recording"]["hz_measured"].is_null(), "no tick was looked for");
    let events = std::fs::read_to_string(bench.recording().join("events.jsonl")).unwrap();
    assert_eq!(events.matches("\"started\"").count(), 1);
    refused(&bench.run(&["run", "syscall.null", "--once", "--runs", "3"]), 2, &["--once"]);
}

#[test]
fn what_each_probe_needs_is_listed() {
    let bench = Bench::new();
    let text = out(&bench.run(&["list", "--syscalls", "ipc", "ipc.pipe.round_trip"]));
    assert!(text.is_empty(), "ipc is no suite");
    let text = out(&bench.run(&["list", "--syscalls", "ipc.pipe.round_trip", "op.int32.add"]));
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(
        line("ipc.pipe.round_trip").ends_with("pipe2, rt_sigaction, clone, prctl, read, write"),
        "{text}"
    );
    assert!(line("op.int32.add").ends_with("none of its own"), "{text}");
    refused(&bench.run(&["verify", "--deny", "nonsense"]), 2, &["no probe needs nonsense"]);
    refused(&bench.run(&["verify", "--deny", "read=EIEIO"]), 2, &["ENOSYS"]);
}
