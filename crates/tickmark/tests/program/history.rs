//! Histories of other programs: one series each, split where something else was measured with, with changes between commits.

use crate::bench::{Bench, err, out, refused, words};
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
    assert!(text.contains("since number 31"), "{text}");
    let page = bench.store().join("page.html");
    assert!(bench.run(&["history", "--files", &file, "-o", page.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("since number 31"), "{page:.300}");
    // One that lies apart is named.
    let odd = write(
        &bench,
        "odd.txt",
        &(0..45)
            .map(|at| format!("{}\n", if at == 20 { 99.0 } else { 10.0 + 0.1 * noise(at) }))
            .collect::<String>(),
    );
    let text = out(&bench.run(&["history", "--files", &odd]));
    assert!(text.contains("no change is shown in 1 figure") && text.contains("number 21"), "{text}");
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

/// A tree of 14 commits: from the ninth on what its script prints is larger, by three times what it varies. One does not build.
fn tree(bench: &Bench) -> String {
    let folder = bench.store().join("tree");
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git").arg("-C").arg(&folder).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
    };
    std::fs::create_dir_all(&folder).unwrap();
    git(&["init", "-q", "-b", "main"]);
    for at in 0..14 {
        let level = if at >= 8 { 1300 } else { 1000 };
        let script =
            format!("#!/bin/sh\necho took $(( {level} + $(od -An -N1 -tu1 /dev/urandom) % 100 )) units\n");
        std::fs::write(folder.join("bench.sh"), script).unwrap();
        std::fs::write(folder.join("build.sh"), if at == 5 { "exit 1" } else { "touch built" }).unwrap();
        std::fs::write(folder.join("number"), at.to_string()).unwrap();
        git(&["add", "-A"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", &format!("step {at}")]);
        if at == 0 {
            git(&["tag", "good"]);
        }
    }
    folder.to_str().unwrap().to_owned()
}

#[test]
fn the_commit_with_which_a_command_changed_is_found_and_the_work_goes_on_where_it_was() {
    let bench = Bench::new();
    let tree = tree(&bench);
    let arguments = [
        "history",
        "--bisect",
        "test -e built && sh bench.sh | sed 's/units//'",
        "--range",
        "good..main",
        "--prepare",
        "sh build.sh",
        "--printed",
        "--tree",
        &tree,
    ];
    let done = bench.run(&arguments);
    let text = out(&done);
    assert_eq!(done.status.code(), Some(0), "{text}{}", err(&done));
    assert!(err(&done).contains("this takes at least "), "{}", err(&done));
    assert!(text.contains("step 8") && words(&text).contains("wrong in at most 5.0 % of cases"), "{text}");
    let page = bench.json(&arguments);
    assert_eq!(
        (page["found"].as_array().unwrap().len(), page["commits"][8]["subject"].as_str()),
        (1, Some("step 8")),
        "{page:#}"
    );
    assert_eq!(page["found"][0], page["commits"][8]["id"], "{page:#}");
    // Nothing was measured a second time, and the tree is as it was.
    assert!(err(&bench.run(&arguments)).contains("measurements from before"), "{page:#}");
    assert!(!std::path::Path::new(&tree).join("built").exists());
    let worktrees =
        std::process::Command::new("git").args(["-C", &tree, "worktree", "list"]).output().unwrap();
    assert_eq!(out(&worktrees).lines().count(), 1);
    // No change, no such commit, no such tree, and ends that do not build.
    let same = [
        "history",
        "--bisect",
        "echo $(od -An -N1 -tu1 /dev/urandom)",
        "--range",
        "good..main",
        "--printed",
        "--tree",
        &tree,
    ];
    assert_eq!(bench.run(&same).status.code(), Some(5));
    refused(
        &bench.run(&["history", "--bisect", "true", "--range", "good..nothing", "--tree", &tree]),
        2,
        &["nothing"],
    );
    refused(
        &bench.run(&["history", "--bisect", "true", "--range", "main..good", "--tree", &tree]),
        2,
        &["no ancestor"],
    );
    refused(
        &bench.run(&["history", "--bisect", "true", "--range", "a..b", "--tree", "/proc"]),
        1,
        &["in no git tree"],
    );
    refused(
        &bench.run(&["history", "--bisect", "false", "--range", "good..main", "--tree", &tree]),
        1,
        &["an end of the range"],
    );
    refused(&bench.run(&["history", "--bisect", "true"]), 2, &["--range"]);
}

/// What people bring: benchmarks named by a column, days of any head, numbers that are no figures, environments, files that are no results.
#[test]
fn histories_that_people_bring_are_read_as_what_they_are() {
    let bench = Bench::new();
    let lines = |head: &str, line: &dyn Fn(usize) -> String| {
        format!("{head}\n{}", (0..40).map(line).collect::<String>())
    };
    let value = |at: usize| if at >= 20 { 12.0 } else { 10.0 } + 0.1 * noise(at);
    let day = |at: usize| format!("2026-{:02}-{:02} 03:00:00 +0100", 1 + at / 28, 1 + at % 28);
    // Newest first, with a time as git writes it, and two benchmarks a commit.
    let mut rows: Vec<String> = (0..40)
        .map(|at| {
            format!(
                "{},c{at},{at},fast,{}\n{},c{at},{at},slow,{}\n",
                day(at),
                value(at),
                day(at),
                30.0 + 0.1 * noise(at)
            )
        })
        .collect();
    rows.reverse();
    let file =
        write(&bench, "two.csv", &format!("when,commit,build_number,benchmark,time (ms)\n{}", rows.concat()));
    let page = bench.json(&["history", "--files", &file]);
    let metrics: Vec<&str> =
        page["series"].as_array().unwrap().iter().map(|series| series["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["fast", "slow"], "{page:#}");
    let fast = &page["series"][0];
    assert!(commits(fast) == ["c20"] && fast["changes"][0]["ratio"].as_f64().unwrap() > 1.1, "{fast:#}");
    assert_eq!(
        (commits(&page["series"][1]).len(), &fast["points"][0]["created"]),
        (0, &json!("2026-01-01T02:00:00Z"))
    );
    // Two environments of one commit are two series; a page of the machine is none, and is named.
    let result = |at: usize, python: &str, factor: f64| {
        json!({"commit_hash": format!("{at:040}"), "env_name": python, "date": 1_764_064_800_000_u64 + at as u64 * 3_600_000, "version": 2,
            "params": {"machine": "box", "python": python}, "result_columns": ["result"],
            "results": {"suite.time_it": [[1e-3 * factor * value(at)]], "suite.failed": [null]}})
    };
    let mut files: Vec<String> = (0..40)
        .flat_map(|at| {
            [("3.12", 1.0), ("3.13", 0.5)].map(|(python, factor)| {
                write(
                    &bench,
                    &format!("asv/{:02}-{python}.json", at * 7 % 40),
                    &result(at, python, factor).to_string(),
                )
            })
        })
        .collect();
    files.push(write(&bench, "asv/machine.json", "{\"arch\": \"x86_64\", \"version\": 1}"));
    let arguments: Vec<&str> =
        ["history", "--files"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let page = bench.json(&arguments);
    let all = page["series"].as_array().unwrap();
    assert!(
        all.len() == 2 && all.iter().all(|series| commits(series) == [format!("{:040}", 20)]),
        "{page:#}"
    );
    assert!(err(&bench.run(&arguments)).contains("machine.json"), "what was left out is named");
    // A commit without a figure, and cells without one.
    let commit = |at: usize| {
        json!({"commit": {"id": format!("c{at}")}, "date": at * 86_400_000, "tool": "go", "benches":
        if at == 7 { json!([]) } else { json!([{"name": "fib", "value": value(at), "unit": "ns/op\t 16 B/op"}]) }})
    };
    let page = json!({"entries": {"Go": (0..40).map(commit).collect::<Vec<_>>()}});
    let series = only(&bench.json(&[
        "history",
        "--files",
        &write(&bench, "go.js", &format!("window.BENCHMARK_DATA = {page}")),
    ]));
    assert_eq!(
        (series["points"].as_array().unwrap().len(), &series["unit"], commits(&series)),
        (39, &json!("ns"), vec!["c20".to_owned()])
    );
    // Another unit is another series, and that is said.
    let commit = |at: usize| {
        json!({"commit": {"id": format!("c{at}")}, "date": at * 86_400_000, "tool": "customSmallerIsBetter",
        "benches": [{"name": "size", "value": value(at), "unit": if at < 20 { "ns" } else { "items" }}]})
    };
    let page = json!({"entries": {"S": (0..40).map(commit).collect::<Vec<_>>()}});
    let file = write(&bench, "units.js", &format!("window.BENCHMARK_DATA = {page}"));
    let units = bench.json(&["history", "--files", &file]);
    assert_eq!(units["series"].as_array().unwrap().len(), 2, "{units:#}");
    assert!(
        words(&out(&bench.run(&["history", "--files", &file])))
            .contains("in more than one unit, a series each: size")
    );
    let missing = lines("commit,t_ms", &|at| {
        format!("c{at},{}\n", if at == 5 { "N/A".to_owned() } else { value(at).to_string() })
    });
    assert_eq!(
        commits(&only(&bench.json(&["history", "--files", &write(&bench, "missing.csv", &missing)]))),
        ["c20"]
    );
    let none = write(&bench, "times.csv", "date,a\n01/20/2026,5\n01/21/2026,6\n");
    refused(&bench.run(&["history", "--files", &none]), 2, &["such as 2026-11-27"]);
}
