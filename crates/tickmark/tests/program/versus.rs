//! Commands side by side.

mod ends;

use crate::bench::{Bench, err, out, page_of, refused, words};
use serde_json::Value;

/// The row of a metric in the first comparison.
fn line<'a>(page: &'a Value, metric: &str) -> &'a Value {
    let rows = page["comparison"]["candidates"][0]["rows"].as_array().unwrap_or_else(|| panic!("{page:#}"));
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric}"))
}

fn metric<'a>(page: &'a Value, command: usize, name: &str) -> &'a Value {
    let all = page["commands"][command]["metrics"].as_array().unwrap();
    all.iter().find(|metric| metric["metric"] == name).unwrap_or_else(|| panic!("no {name} in {page:#}"))
}

/// The answer is the first line; what is twice as long is told whatever the machine does.
#[test]
fn the_slower_of_two_commands_is_named_first() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, csv, markdown) = (file("h.json"), file("h.csv"), file("h.md"));
    let exports = ["--export-json", &json, "--export-csv", &csv, "--export-markdown", &markdown];
    let own = [&["versus", "sleep 0.02", "sleep 0.06", "--name", "naps"], &exports[..]].concat();
    let output = bench.command(&own).env("COLUMNS", "80").output().unwrap();
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("B is ") && first.contains("times slower than A (95 %: between"), "{text}");
    assert!(
        words(&text).contains("starting an empty process takes") && text.contains("as it is decided"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // hyperfine's files, which tickmark reads as hyperfine's.
    let page: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let results = page["results"].as_array().unwrap();
    assert_eq!((results.len(), results[1]["command"].as_str()), (2, Some("sleep 0.06")));
    let times = results[1]["times"].as_array().unwrap();
    assert!(times.len() >= 8 && times.iter().all(|time| time.as_f64().unwrap() >= 0.06), "{page:#}");
    assert!(
        results[0]["memory_usage_byte"][0].as_u64().unwrap() > 100_000 && results[0]["exit_codes"][0] == 0
    );
    assert!(out(&bench.run(&["import", &json])).contains("hyperfine"));
    let csv = std::fs::read_to_string(&csv).unwrap();
    assert!(csv.starts_with("command,mean,stddev,median,user,system,min,max\nsleep 0.02,0.0"), "{csv}");
    let markdown = std::fs::read_to_string(&markdown).unwrap();
    assert!(
        markdown.starts_with("| Command | Mean [ms] |") && markdown.contains("| `sleep 0.06` |"),
        "{markdown}"
    );
    // Its recordings are recordings: compared again they say the same.
    let again =
        page_of(bench.run(&["compare", "naps:sleep 0.02", "naps:sleep 0.06", "--format", "json"]).stdout);
    let rows = again["candidates"][0]["rows"].as_array().unwrap();
    let time = rows.iter().find(|row| row["metric"] == "command.time").unwrap();
    assert_eq!(time["verdict"], "beyond_margin", "{time:#}");
    assert!(
        rows.iter().all(|row| row["metric"] == "command.time"
            || row["why"] == "secondary"
            || row["verdict"] == "not_compared"),
        "{rows:#?}"
    );
    assert!(out(&bench.run(&["show", "naps:sleep 0.02"])).contains("largest resident memory"));
    let report = file("page.html");
    assert!(bench.run(&["report", "naps:sleep 0.02", "-o", &report]).status.success());
    assert!(std::fs::read_to_string(&report).unwrap().contains("largest resident memory"));
    assert_eq!(
        bench.run(&["versus", "--fail-on", "worse", "sleep 0.02", "sleep 0.06"]).status.code(),
        Some(3)
    );
}

#[test]
fn what_a_command_does_is_measured() {
    let bench = Bench::new();
    let script = |mib: u32| format!("x = bytearray({mib} << 20); print('mib: {mib}'); print('a' * 70000)");
    let quoted = |mib| format!("python3 -S -c \"{}\"", script(mib));
    let page = bench.json(&[
        "versus",
        "-r",
        "10",
        "--metric",
        r"size=mib: (\d+)",
        "--primary",
        "size",
        "--higher",
        "size",
        &quoted(10),
        &quoted(40),
    ]);
    let resident = |command| metric(&page, command, "command.resident")["median"].as_f64().unwrap();
    let more = resident(1) - resident(0);
    assert!((more / f64::from(30 << 20) - 1.0).abs() < 0.05, "30 MiB more: {more}");
    let faults = |command| metric(&page, command, "command.faults.minor")["median"].as_f64().unwrap();
    assert!(
        faults(1) - faults(0) > 7000.0
            && metric(&page, 0, "command.bytes.written")["median"].as_f64() >= Some(70_000.0)
    );
    assert_eq!(
        (metric(&page, 1, "size")["median"].as_f64(), line(&page, "size")["verdict"].as_str()),
        (Some(40.0), Some("beyond_margin"))
    );
    assert_eq!(metric(&page, 0, "command.time")["runs"], 10);
    assert!(
        page["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note.as_str().unwrap().contains("something else than A")),
        "{page:#}"
    );
    assert!(
        page["answer"][0].as_str().unwrap().starts_with("size: B is 4.00 times higher than A"),
        "{page:#}"
    );
    // By a path in JSON, and without the start of a process.
    let page = bench.json(&[
        "versus",
        "-r",
        "4",
        "--subtract-start",
        "--metric",
        "n=$.a[1].n",
        "-S",
        "sh",
        "echo '{\"a\": [0, {\"n\": 7}]}'",
    ]);
    assert_eq!(metric(&page, 0, "n")["median"].as_f64(), Some(7.0));
    let of = |name: &str| metric(&page, 0, name)["mean"].as_f64().unwrap();
    assert!((of("command.time") - of("command.start") - of("command.net")).abs() < 1.0, "{page:#}");
}

#[test]
fn one_command_in_two_environments_places_and_settings() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen").display().to_string();
    let asks = format!("echo \"$NAP $(pwd) $(nice) $VALUE\" >> {seen}; sleep $NAP");
    let there = format!("B:{}", folder.path().display());
    let output = bench.run(&[
        "versus",
        "-S",
        "sh",
        "-r",
        "8",
        "--env",
        "A:NAP=0.01",
        "--env",
        "B:NAP=0.03",
        "--env",
        "VALUE=both",
        "--cwd",
        &there,
        &asks,
    ]);
    let text = out(&output);
    assert!(text.contains("NAP=0.03") && text.starts_with("B "), "{text}{}", err(&output));
    let seen = std::fs::read_to_string(&seen).unwrap();
    let of = |nap: &str| seen.lines().filter(|line| line.starts_with(nap)).collect::<Vec<_>>();
    // One run before, eight measured.
    assert!(of("0.01").len() >= 9 && of("0.03").len() == 9, "{seen}");
    let place = folder.path().canonicalize().unwrap().display().to_string();
    assert!(of("0.03").iter().all(|line| line.contains(&place) && line.ends_with("both")), "{seen}");
    assert!(of("0.01").iter().all(|line| !line.contains(&place)), "{seen}");
    // A knob is one engine with experiments: slack of 20 ms lengthens a sleep of 1 ms.
    let page = bench.json(&["versus", "--knob", "slack=1us,20ms", "-r", "8", "sleep 0.001"]);
    assert_eq!(page["commands"][1]["label"], "20ms");
    assert!(page["answer"][0].as_str().unwrap().starts_with("B is "), "{page:#}");
    let more = metric(&page, 1, "command.time")["median"].as_f64().unwrap()
        - metric(&page, 0, "command.time")["median"].as_f64().unwrap();
    assert!((5e6..40e6).contains(&more), "{more}");
}

#[test]
fn commands_before_and_after_and_parameters() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let says = |word: &str| format!("echo {word}-{{n}} >> {log}");
    let output = bench.run(&[
        "versus",
        "-r",
        "2",
        "-S",
        "sh",
        "-L",
        "n",
        "1,2",
        "-s",
        &says("setup"),
        "-p",
        &says("prepare"),
        "-C",
        &says("conclude"),
        "-c",
        &says("cleanup"),
        &format!("echo run-{{n}} >> {log}"),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let log = std::fs::read_to_string(&log).unwrap();
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    for n in 1..=2 {
        let all =
            ["setup", "prepare", "run", "conclude", "cleanup"].map(|word| count(&format!("{word}-{n}")));
        assert_eq!(all, [1, 3, 3, 3, 1], "{log}");
    }
    let order: Vec<&str> = log.lines().map(|line| line.split('-').next().unwrap()).collect();
    assert!(
        order[..2] == ["setup"; 2]
            && order[2..5] == ["prepare", "run", "conclude"]
            && order[order.len() - 2..] == ["cleanup"; 2]
    );
    let page = bench.json(&["versus", "-r", "2", "-P", "t", "0.01", "0.02", "-D", "0.005", "sleep {t}"]);
    let labels: Vec<&str> =
        page["commands"].as_array().unwrap().iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["sleep 0.010", "sleep 0.015", "sleep 0.020"]);
}

#[test]
fn two_revisions_are_built_apart_and_cleaned_up() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(folder.path());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    // What else the machine has to do is no such difference.
    for nap in ["0.05", "0.6"] {
        std::fs::write(folder.path().join("nap.in"), nap).unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", nap]);
    }
    let build = "echo built $TICKMARK_LINK_SEED; printf '#!/bin/sh\\nexec sleep %s\\n' $(cat nap.in) > nap; chmod +x nap";
    let run = |arguments: &[&str]| bench.command(arguments).current_dir(folder.path()).output().unwrap();
    let output = run(&[
        "versus",
        "--rev",
        "HEAD~1..HEAD",
        "--build",
        build,
        "--vary",
        "env,link,aslr",
        "-r",
        "3",
        "./nap",
    ]);
    let text = out(&output);
    assert!(text.contains("of ./nap:\nA  HEAD~1 ") && text.contains("\nB  HEAD "), "{text}{}", err(&output));
    assert!(text.starts_with("B is ") && text.lines().next().unwrap().contains("slower than A"), "{text}");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1, "worktrees are removed");
    refused(&run(&["versus", "--rev", "HEAD..HEAD", "./nap"]), 2, &["both are commit"]);
    refused(&run(&["versus", "--rev", "nothing..HEAD", "./nap"]), 2, &["no revision nothing"]);
    let broken = run(&["versus", "--rev", "HEAD~1..HEAD", "--build", "exit 3", "./nap"]);
    assert!(broken.status.code() == Some(1) && err(&broken).contains("exit status: 3"), "{}", err(&broken));
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
}

/// Where nothing differs that is an answer, at a look of its own; more than two have a sentence each; a width makes it go on.
#[test]
fn the_same_is_an_answer() {
    let bench = Bench::new();
    let page = bench.json(&["versus", "--margin", "30%", "sleep 0.01", "sleep 0.010", "sleep 0.03"]);
    let answer = |at: usize| page["answer"][at].as_str().unwrap().to_owned();
    assert!(
        answer(0).starts_with("B is the same as A, to 30 %") && answer(1).starts_with("C is "),
        "{page:#}"
    );
    assert_eq!(page["decided"], true);
    let note = |page: &Value| {
        let notes = page["notes"].as_array().unwrap();
        notes.iter().any(|note| note.as_str().unwrap().contains("each comparison is tested at"))
    };
    assert!(note(&page), "{page:#}");
    let ids: Vec<&str> =
        page["commands"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    // Compared again it is the same experiment at the same look.
    let again =
        page_of(bench.run(&["compare", ids[0], ids[1], "--margin", "30%", "--format", "json"]).stdout);
    let rows = again["candidates"][0]["rows"].as_array().unwrap();
    let time = rows.iter().find(|row| row["metric"] == "command.time").unwrap();
    let own = line(&page, "command.time");
    assert_eq!((&time["verdict"], &time["change"]), (&own["verdict"], &own["change"]), "{time:#}");
    assert!(again["candidates"][0]["notes"][0].as_str().unwrap().contains("is tested at"), "{again:#}");
    let narrow = bench.json(&["versus", "--width", "20%", "sleep 0.01"]);
    assert_eq!((&narrow["decided"], narrow["commands"].as_array().unwrap().len()), (&Value::from(true), 1));
    assert!(!note(&bench.json(&["versus", "-r", "4", "sleep 0.01", "sleep 0.03"])), "looked at once");
}

/// Recordings of a command are a history of that command alone, whatever it is measured beside.
#[test]
fn a_command_has_a_history() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.run(&["versus", "-r", "2", "--name", "n", "sleep 0.001", "sleep 0.002"]);
    }
    bench.run(&["versus", "-r", "2", "--name", "n", "-S", "sh", "sleep 0.001"]);
    bench.run(&["versus", "-r", "2", "--name", "n", "--env", "B:X=1", "--env", "A:X=2", "sleep 0.002"]);
    let check = bench.run(&["check", "n:sleep 0.002"]);
    assert_eq!(check.status.code(), Some(5));
    assert!(out(&check).contains("1 new recording beside 2 earlier"), "{}{}", out(&check), err(&check));
    assert_eq!(bench.run(&["check"]).status.code(), Some(5), "none that `run` made");
    let changes = bench.json(&["history", "command.time"]);
    let of = |command: &str| {
        let all = changes["series"].as_array().unwrap().iter().filter(|series| series["command"] == command);
        all.map(|series| series["points"].as_array().map_or(0, Vec::len)).collect::<Vec<_>>()
    };
    let mut first = of("sleep 0.001");
    first.sort_unstable();
    assert_eq!((first, of("sleep 0.002")), (vec![1, 3], vec![3]), "by a shell it is another: {changes:#}");
}

/// A quota is a knob of the system (root may make cgroups): what it costs a command, and how often it was used up.
#[test]
#[ignore = "makes a cgroup, as root"]
fn a_quota_is_seen_in_the_command() {
    let bench = Bench::new();
    let spin = "python3 -S -c 'import time\nwhile time.process_time() < 0.15: pass'";
    let page = bench.json(&["versus", "--knob", "quota=none,30%", "-r", "3", spin]);
    let throttled = |command| metric(&page, command, "command.throttled")["mean"].as_f64().unwrap();
    assert!(throttled(0) == 0.0 && throttled(1) >= 1.0, "{page:#}");
    assert_eq!(page["commands"][1]["label"], "30%");
}
