//! Results of other programs, from file to verdict.

use crate::bench::{Bench, err, out, page_of, refused, row};
use serde_json::Value;

/// The lines of a mail of 2005 that compares two time counters (MySQL, super-smack), as they stand in it.
const MAIL: &str = "\
Comparing apples to apples, changing only from TSC to ACPI-Fast, we
see the following results for one of the elements in the testing
matrix (others are similar):

ACPI-Fast
    select_index    20000   0       0       14097.47
    select_index    20000   0       0       13741.43
    select_index    20000   1       0       13704.01
    select_index    20000   0       0       13626.05
    select_index    20000   0       0       13769.32

vs

TSC
    select_index    20000   1       0       13638.09
    select_index    20000   1       0       15204.89
    select_index    20000   0       0       15126.16
    select_index    20000   1       0       15199.22
    select_index    20000   1       0       15111.09

The far right column is transactions per second.
";

#[test]
fn the_time_counters_of_2005() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("timecounter-cost.txt");
    std::fs::write(&path, MAIL).unwrap();
    let output = bench.run(&["import", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("ACPI-Fast: super-smack, 1 metric, 5 runs, each a replicate"),
        "{}",
        out(&output)
    );
    let model = bench.json(&["compare", "ACPI-Fast", "TSC"]);
    let line = row(&model["candidates"][0], "smack.select_index");
    // All ten numbers: 7.7 %, between 1.7 and 13.9 (Welch and Fieller; pooled it is 7.7 +- 5.3).
    let change = line["change"].as_f64().unwrap() * 100.0;
    assert!((change - 7.747_76).abs() < 1e-4, "{line}");
    // One list after the other, with one of each a state of its own: of five a side the order may have made it.
    assert_eq!((&line["verdict"], &line["why"]), (&Value::from("undecided"), &Value::from("drift")));
    assert_eq!(line["replicates"], serde_json::json!([5, 5]));
    let shown = bench.json(&["show", "TSC"]);
    assert_eq!(row(&shown, "smack.select_index")["unit"], "1/s");
}

#[test]
fn columns_of_numbers_become_recordings() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, values: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, values.replace(' ', "\n")).unwrap();
        path.to_string_lossy().into_owned()
    };
    // hz-and-http.txt: samples that give back its page.
    let files = [
        write("hz.SMP", "13715 13719 13726 13734 13735 13750 13778 13778 13783 13793"),
        write("vendor.SMP", "13813 13864 13880 13889 13905 13921 13924 13933 13966 13970"),
        write("hz.UP", "14067 14098 14104 14107 14116 14116 14135 14136 14155 14178"),
        write("vendor.UP", "14141 14149 14153 14159 14169 14170 14179 14185 14197 14257"),
        write("wild", "1 100"),
        write("wilder", "50 3"),
        write("five", "5 5"),
        write("six", "6 6"),
    ];
    for file in &files {
        let name = file.rsplit('/').next().unwrap();
        let output = bench.run(&["import", file, "--name", name, "--lines", "replicates"]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
    let verdict = |base: &str, other: &str| {
        let model = bench.json(&["compare", base, other]);
        row(&model["candidates"][0], "column.1").clone()
    };
    assert_eq!(verdict("hz.SMP", "vendor.SMP")["verdict"], "changed");
    let up = verdict("hz.UP", "vendor.UP");
    assert_eq!(up["verdict"], "below_margin", "real, but below 1 %");
    // Student's t has .00135.
    assert!(up["p"].as_f64().is_some_and(|p| p > 5e-4 && p < 3e-3), "{up}");
    // Of values that vary it is not said that they do not.
    assert_eq!(verdict("wild", "wilder")["why"], "needs_more");
    // Two a side that do not vary are exact, and still two.
    assert_eq!(verdict("five", "six")["why"], "needs_more");
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let good = write("good", "1\n2\n3\n");
    let words = write("words", "there is no number here\n");
    let torn = write("torn.json", "{\"results\": [{\"times\": [1, 2");
    refused(
        &bench.run(&["import", &good, &words]),
        2,
        &["words is text of no known program", "nothing was imported"],
    );
    refused(&bench.run(&["import", &good, &torn]), 2, &["torn.json", "nothing was imported"]);
    refused(&bench.run(&["import", "missing"]), 1, &["missing"]);
    assert_eq!(bench.recordings().as_array().unwrap().len(), 0);
    let table = write("table.csv", "size,latency\n1,2\n2,3\n3,4\n");
    refused(
        &bench.run(&["import", &table]),
        2,
        &["a table of 2 columns", "--value latency --group size", "nothing was imported"],
    );
    let output =
        bench.run(&["import", &table, "--value", "latency:us", "--group", "size", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = page_of(out(&output));
    assert_eq!(
        (&page["recordings"][0]["metrics"], &page["recordings"][0]["one_replicate"]),
        (&Value::from(3), &Value::from(true))
    );
    let shown = bench.json(&["show", "table"]);
    assert_eq!(row(&shown, "latency.size=2")["value"], 3000.0);
}

/// Files of five lines each, .5 % within a file and 1 % between files, as every CI runner makes them: nothing was changed.
fn unchanged(number: u64, factor: f64) -> String {
    // A linear congruential generator of Knuth's (MMIX) and the sum of twelve uniform numbers, which is nearly normal.
    let mut state = number * 2_654_435_761 + 12_345;
    let mut normal = || {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    let middle = 100.0 * factor * (1.0 + 0.01 * normal());
    (0..5).map(|_| format!("{:.3}\n", middle * (1.0 + 0.005 * normal()))).collect()
}

#[test]
fn one_file_is_one_replicate() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let import = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        assert!(bench.run(&["import", path.to_str().unwrap()]).status.success());
    };
    for number in 0..38 {
        import(&format!("a{number}"), unchanged(number, 1.0));
        import(&format!("b{number}"), unchanged(1000 + number, 1.0));
    }
    let verdict = |number: u64| {
        let model = bench.json(&["compare", &format!("a{number}"), &format!("b{number}")]);
        row(&model["candidates"][0], "column.1").clone()
    };
    let all: Vec<Value> = (0..38).map(verdict).collect();
    let changed = all.iter().filter(|line| line["verdict"].as_str().unwrap().contains("changed")).count();
    assert!(changed <= 5, "{changed} of 38 pairs without a change are called changed");
    // The first ones have too few before them; the later ones are judged by how far earlier files lie from each other.
    assert_eq!(all[0]["verdict"], "undecided");
    assert!(all[37]["p"].is_number(), "{}", all[37]);
    let text = out(&bench.run(&["compare", "a0", "b0"]));
    assert!(
        text.contains("each file is one replicate")
            && text.contains("a drift as within the sets makes at most"),
        "{text}"
    );
    import("slow", unchanged(77, 1.2));
    let model = bench.json(&["compare", "a37", "slow"]);
    assert!(
        row(&model["candidates"][0], "column.1")["verdict"].as_str().unwrap().contains("beyond"),
        "{model}"
    );
}

#[test]
fn the_gate_takes_result_files() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let wrk = |rate: f64| {
        format!(
            "Running 30s test @ http://bench/\n  2 threads and 16 connections\nRequests/sec: {rate:.2}\nTransfer/sec: 1.00MB\n"
        )
    };
    let rate = |number: u64| 5000.0 + ((number * 7919) % 101) as f64;
    let history: Vec<String> =
        (0..20).map(|number| write(&format!("h{number}"), &wrk(rate(number)))).collect();
    let check = |new: &str, history: &[String]| {
        let mut arguments = vec!["check", "--new", new, "--only", "wrk.requests"];
        if !history.is_empty() {
            arguments.push("--history");
        }
        arguments.extend(history.iter().map(String::as_str));
        bench.run(&arguments)
    };
    let (same, slow) = (write("same", &wrk(rate(30))), write("slow", &wrk(4000.0)));
    let output = check(&same, &history);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let output = check(&slow, &history);
    assert_eq!(output.status.code(), Some(3), "{}{}", out(&output), err(&output));
    let output = check(&slow, &history[..5]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let output = check(&slow, &history[..1]);
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(out(&output).contains("--max and --min"), "{}", out(&output));
    refused(&check(&slow, &[]), 5, &["--max"]);
    let limit = bench.run(&["check", "--new", &slow, "--min", "wrk.requests=4500"]);
    assert_eq!(limit.status.code(), Some(3), "{}", out(&limit));
    assert_eq!(bench.recordings().as_array().unwrap().len(), 0, "the store is not touched");
    // And as recordings, one after the other.
    for file in history.iter().chain([&slow]) {
        assert!(bench.run(&["import", file, "--name", "bench"]).status.success());
    }
    let output = bench.run(&["check", "--only", "wrk.requests"]);
    assert_eq!(output.status.code(), Some(3), "{}{}", out(&output), err(&output));
    let all = bench.json(&["history", "wrk.requests"]);
    assert_eq!(all["series"][0]["points"].as_array().unwrap().len(), 21, "{all}");
}

/// The lines of docs/IMPORT.md for a CI, run as they stand there, job after job: a shell's, GitHub's and GitLab's.
#[test]
fn the_lines_for_a_ci_do_what_the_page_says() {
    let page = include_str!("../../../../docs/IMPORT.md");
    let block =
        |mark: &str, number: usize| page.split(mark).nth(number).unwrap().split("```").next().unwrap();
    let lines = |block: &str, mark: &str| {
        let own = block.lines().filter_map(|line| line.trim_start().strip_prefix(mark));
        own.map(|line| format!("{line}\n")).collect::<String>()
    };
    let github = lines(block("```yaml\n", 1), "- run: ");
    let gitlab = lines(block("```yaml\n", 2), "- ");
    assert!(github.lines().count() == 3 && gitlab.lines().count() == 3, "{github}{gitlab}");
    let program = std::path::Path::new(crate::bench::program()).parent().unwrap();
    let search = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for script in [block("```sh\n", 1), &github, &gitlab] {
        let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
        let job = |rate: f64| {
            let text = format!("Running 30s test @ http://bench/\nRequests/sec: {rate:.2}\n");
            let path = folder.path().join("bench");
            std::fs::write(&path, format!("#!/bin/sh\ncat <<'E'\n{text}E\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let mut shell = std::process::Command::new("sh");
            shell.args(["-e", "-c", script]).current_dir(folder.path()).env("PATH", &search);
            shell.env("TICKMARK_STORE", bench.store()).env_remove("GITHUB_STEP_SUMMARY");
            shell.output().unwrap()
        };
        for number in 0..20 {
            let done = job(5000.0 + f64::from(number * 37 % 101));
            assert!(done.status.success(), "job {number}: {}{}", out(&done), err(&done));
        }
        let worse = job(4000.0);
        let report =
            std::fs::read_to_string(folder.path().join("tickmark.xml")).unwrap_or_else(|_| out(&worse));
        assert!(!worse.status.success() && report.contains("wrk.requests"), "{report}{}", err(&worse));
        let kept = std::fs::read_dir(folder.path().join("history")).unwrap().count();
        assert_eq!(kept, 20, "a slow build is no history");
    }
}

#[test]
fn a_folder_of_criterion_is_one_recording() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let root = folder.path().join("target/criterion");
    for (name, time) in [("fib/10", 100.0), ("fib/20", 900.0)] {
        for which in ["base", "new"] {
            let place = root.join(name).join(which);
            std::fs::create_dir_all(&place).unwrap();
            let text = format!(
                "{{\"sampling_mode\":\"Linear\",\"iters\":[1.0,2.0],\"times\":[{time},{}]}}",
                2.0 * time
            );
            std::fs::write(place.join("sample.json"), text).unwrap();
        }
    }
    let output = bench.run(&["import", root.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("criterion: criterion, 2 metrics, up to 2 repetitions, together 1 replicate"),
        "{}",
        out(&output)
    );
    let shown = bench.json(&["show", "criterion"]);
    assert_eq!(row(&shown, "criterion.fib/20")["value"], 900.0);
    refused(
        &bench.run(&["import", folder.path().join("target/criterion/fib/10/base").to_str().unwrap()]),
        1,
        &["cannot read", "criterion"],
    );
}

#[test]
fn the_gate_judges_each_command_and_each_new_file() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let history = folder.path().join("history");
    std::fs::create_dir(&history).unwrap();
    let hyperfine = |fast: f64, slow: f64| {
        let one = |name: &str, time: f64| {
            format!("{{\"command\":\"{name}\",\"times\":[{time},{}],\"exit_codes\":[0,0]}}", time * 1.001)
        };
        format!("{{\"results\":[{},{}]}}", one("fast", fast), one("slow", slow))
    };
    for number in 0..22u32 {
        let part = 1.0 + f64::from(number * 37 % 11) * 1e-3;
        std::fs::write(history.join(format!("{number:02}.json")), hyperfine(0.1 * part, part)).unwrap();
    }
    // What is no result is named and left out.
    std::fs::write(history.join("README"), "notes of these runs\n").unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let (same, new) = (write("same.json", hyperfine(0.1, 1.0)), write("fast.json", hyperfine(0.3, 1.0)));
    let check = |arguments: &[&str]| {
        bench.run(&[&["check", "--history", history.to_str().unwrap(), "--new"], arguments].concat())
    };
    let done = check(&[&new]);
    assert_eq!(done.status.code(), Some(3), "{}", out(&done));
    assert!(out(&done).contains("fast:") && out(&done).contains("slow:"), "{}", out(&done));
    assert!(err(&done).contains("README"), "{}", err(&done));
    assert_eq!(check(&[&same]).status.code(), Some(0), "{}", out(&check(&[&same])));
    let limit = bench.run(&["check", "--new", &same, "--max", "hyperfine.time=500ms"]);
    assert_eq!(limit.status.code(), Some(3), "the second command is above it: {}", out(&limit));
    // One name of a metric, two commands: two series.
    for number in 0..8 {
        let file = history.join(format!("{number:02}.json"));
        assert!(bench.run(&["import", file.to_str().unwrap()]).status.success());
    }
    let all = bench.json(&["history", "hyperfine.time"]);
    let counts: Vec<usize> = all["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["points"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [8, 8], "{all}");
    let store = bench.store().to_str().unwrap().to_owned();
    let few = bench.run(&["check", "--new", &same, "--history", &store]);
    assert!(out(&few).contains("1 new recording beside 8 earlier"), "{}{}", out(&few), err(&few));
    // Each limit is of the results that have its metric; --only, too.
    let two = write("two.txt", "sysbench 1.0.20\nNumber of threads: 1\nCPU speed:\n    events per second:  10\ntotal time: 1s\nsysbench 1.0.20\nNumber of threads: 1\nFile operations:\n    reads/s:  20\ntotal time: 1s\n".to_owned());
    let limits =
        ["check", "--new", &two, "--min", "sysbench.cpu.events=5", "--min", "sysbench.fileio.reads=50"];
    assert_eq!(bench.run(&limits).status.code(), Some(3), "{}", err(&bench.run(&limits)));
    let typing_error = [&limits[..], &["--max", "sysbench.cpu.event=5"]].concat();
    refused(&bench.run(&typing_error), 2, &["no result has the metric sysbench.cpu.event"]);
    let only = bench.run(&["check", "--new", &two, "--only", "sysbench.cpu.events"]);
    assert!(only.status.code() == Some(5) && err(&only).contains("no earlier result"), "{}", err(&only));
    refused(&bench.run(&["check", "--new", &two, "--only", "nothing"]), 2, &["nothing"]);
    // The newest files are the history: a level of long ago is none.
    let old = folder.path().join("levels");
    std::fs::create_dir(&old).unwrap();
    for number in 0..150u32 {
        let level = if number < 100 { 10.0 } else { 20.0 };
        let text = format!("BenchmarkX-8 1000 {:.2} ns/op\n", level + f64::from(number * 37 % 11) * 1e-2);
        std::fs::write(old.join(format!("{number:03}.txt")), text).unwrap();
    }
    let new = write("now.txt", "BenchmarkX-8 1000 20.05 ns/op\n".to_owned());
    let done = bench.run(&["check", "--new", &new, "--history", old.to_str().unwrap()]);
    // Of a hundred earlier ones half are of the old level: it is no change for the worse.
    assert_eq!(done.status.code(), Some(0), "{}", out(&done));
    // Another number of threads is no history.
    let sysbench = |threads: u32, rate: f64| {
        format!(
            "sysbench 1.0.20\nNumber of threads: {threads}\nCPU speed:\n    events per second:  {rate}\ntotal time: 1s\n"
        )
    };
    let (four, eight) = (write("four", sysbench(4, 4000.0)), write("eight", sysbench(8, 2000.0)));
    refused(&bench.run(&["check", "--new", &eight, "--history", &four]), 5, &["no earlier result"]);
}
