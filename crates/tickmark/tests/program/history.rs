//! Histories of other programs: one series each, split where something else was measured with, with changes between commits.

use crate::bench::{Bench, err, out, refused};
use serde_json::{Value, json};

/// Values without a trend that vary by a few parts in 100.
fn noise(at: usize) -> f64 {
    [0.3, -1.1, 0.8, -0.2, 1.4, -0.7, 0.1, -1.6, 0.9, 0.5, -0.4][at * 7 % 11]
}

fn write(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.store().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The only series of a page.
fn only(page: &Value) -> Value {
    let all = page["series"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{page:#}");
    all[0].clone()
}

fn commits(series: &Value) -> Vec<String> {
    let of = |change: &Value| change["from"]["commit"].as_str().unwrap_or_default().to_owned();
    series["changes"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_published_history_is_one_series_with_its_commits() {
    let bench = Bench::new();
    let value = |at: usize| if at >= 25 { 120.0 } else { 100.0 } + noise(at);
    let commit = |at: usize| {
        json!({"commit": {"id": format!("c{at}")}, "date": 1_764_064_800_000_u64 + at as u64 * 86_400_000, "tool": "cargo",
        "benches": [{"name": "fib", "value": value(at), "unit": "ns/iter"}]})
    };
    let page = json!({"entries": {"Rust": (0..40).map(commit).collect::<Vec<_>>()}});
    let file = write(&bench, "data.js", &format!("window.BENCHMARK_DATA = {page}"));
    let series = only(&bench.json(&["history", "--files", &file]));
    assert_eq!(
        (commits(&series), series["points"].as_array().unwrap().len()),
        (vec!["c25".to_owned()], 40),
        "{series:#}"
    );
    let change = &series["changes"][0];
    assert!(
        (change["ratio"].as_f64().unwrap() - 1.2).abs() < 0.02 && change["what"] == "level",
        "{change:#}"
    );
    let text = out(&bench.run(&["history", "--files", &file]));
    let answer = text.lines().nth(1).unwrap_or_default();
    assert!(
        answer.contains("fib") && answer.contains("(worse) since 2025-12-20") && answer.contains("c25"),
        "{text}"
    );
    assert_eq!(bench.recordings().as_array().unwrap().len(), 0, "the store is not touched");
    // Imported, it is the same series.
    assert!(bench.run(&["import", &file]).status.success());
    assert_eq!(commits(&only(&bench.json(&["history", "fib"]))), ["c25"]);
}

#[test]
fn a_table_is_a_history_by_commits_times_or_lines() {
    let bench = Bench::new();
    let value = |at: usize| if at >= 30 { 8.0 } else { 10.0 } + 0.1 * noise(at);
    let lines = |line: &dyn Fn(usize) -> String| (0..45).map(line).collect::<String>();
    let by_commit =
        lines(&|at| format!("r{at},{}\n", if at == 7 { String::new() } else { value(at).to_string() }));
    let file = write(&bench, "commits.csv", &format!("commit,latency (us)\n{by_commit}"));
    let series = only(&bench.json(&["history", "--files", &file]));
    // What is missing is no zero.
    assert_eq!(
        (commits(&series), series["points"].as_array().unwrap().len(), &series["unit"]),
        (vec!["r30".to_owned()], 44, &json!("ns")),
        "{series:#}"
    );
    // Whatever the order of the lines.
    let mut by_time: Vec<String> =
        (0..45).map(|at| format!("2026-{:02}-{:02};{}\n", 1 + at / 28, 1 + at % 28, value(at))).collect();
    by_time.reverse();
    let file = write(&bench, "times.csv", &format!("date;score\n{}", by_time.concat()));
    let series = only(&bench.json(&["history", "--files", &file]));
    assert_eq!(series["changes"][0]["from"]["created"], "2026-02-03T00:00:00Z", "{series:#}");
    let file = write(&bench, "plain.txt", &lines(&|at| format!("{}\n", value(at))));
    let text = out(&bench.run(&["history", "--files", &file]));
    assert!(text.contains("since no 31"), "{text}");
    let page = bench.store().join("page.html");
    assert!(bench.run(&["history", "--files", &file, "-o", page.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("since no 31"), "{page:.300}");
    // One that lies apart is named.
    let odd = write(
        &bench,
        "odd.txt",
        &(0..45)
            .map(|at| format!("{}\n", if at == 20 { 99.0 } else { 10.0 + 0.1 * noise(at) }))
            .collect::<String>(),
    );
    let text = out(&bench.run(&["history", "--files", &odd]));
    assert!(text.contains("no change is shown in 1 figure") && text.contains("no 21"), "{text}");
    let words = write(&bench, "words.csv", "commit,value\na,fast\n");
    refused(&bench.run(&["history", "--files", &words]), 2, &["words.csv"]);
}

#[test]
fn another_python_splits_a_history_and_the_step_is_said() {
    let bench = Bench::new();
    let result = |at: usize| {
        let (python, factor) = if at < 15 { ("3.12", 1.0) } else { ("3.13", 1.1) };
        json!({"commit_hash": format!("{at:040}"), "env_name": "e", "date": 1_764_064_800_000_u64 + at as u64 * 3_600_000, "version": 2,
            "params": {"machine": "box", "python": python}, "result_columns": ["result", "params"],
            "results": {"suite.time_it": [[1e-3 * factor * (1.0 + 0.005 * noise(at))], []]}})
    };
    let files: Vec<String> =
        (0..30).map(|at| write(&bench, &format!("asv/{at:02}.json"), &result(at).to_string())).collect();
    let arguments: Vec<&str> =
        ["history", "--files"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let series = only(&bench.json(&arguments));
    let split = &series["splits"][0];
    assert_eq!(
        (&split["facts"][0]["fact"], &split["facts"][0]["after"]),
        (&json!("python.version"), &json!("3.13")),
        "{series:#}"
    );
    let size = [0, 1].map(|at| split["step"]["size"][at].as_f64().unwrap() / 1e6);
    assert!(size[0] < 0.1 && size[1] > 0.1 && size[0] > 0.09 && series["changes"] == json!([]), "{series:#}");
    let done = bench.run(&arguments);
    assert!(out(&done).contains("python.version"), "{}{}", out(&done), err(&done));
}
