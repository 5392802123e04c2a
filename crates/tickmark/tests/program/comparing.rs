//! `tickmark compare`: what counts as a replicate, and four formats that say the same.

use crate::bench::{Bench, err, machine, out, page_of, refused, row};
use serde_json::Value;

const PROBE: &str = "selftest.work.1000";

/// A short recording under this name.
fn record(bench: &Bench, name: &str, probe: &str) {
    let output = bench.run(&[
        "run",
        probe,
        "--runs",
        "2",
        "--budget",
        "40ms",
        "--name",
        name,
        "--cpu",
        &crate::bench::cpu(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

fn rows(model: &Value) -> &Vec<Value> {
    model["candidates"][0]["rows"].as_array().unwrap()
}

/// The mean cost of the probe: unlike a floor it is not the same in every run, so that there is something to judge by.
fn mean_cost(model: &Value) -> &Value {
    rows(model).iter().find(|row| row["metric"] == PROBE && row["figure"] == "mean").unwrap()
}

#[test]
fn replicates_decide_and_runs_do_not() {
    let _still = machine();
    let bench = Bench::new();
    record(&bench, "a1", PROBE);
    record(&bench, "b1", PROBE);
    let two = bench.json(&["compare", "a1", "b1"]);
    let line = mean_cost(&two);
    assert_eq!((&line["verdict"], &line["why"]), (&"undecided".into(), &"not_interleaved".into()));
    assert!(
        line["by_runs_alone"]["verdict"].is_string() && line["p"].is_null() && line["ratio"].is_f64(),
        "{line}"
    );
    let claimed = bench.json(&["compare", "a1", "b1", "--unit", "run"]);
    assert!(mean_cost(&claimed)["p"].is_f64());
    assert!(
        claimed["candidates"][0]["notes"][0].as_str().unwrap().contains("if both recordings were made under")
    );

    // Three a side are replicates where they are interleaved; made one side after the other each side is one stretch of time.
    for name in ["a2", "b2", "a3", "b3"] {
        record(&bench, name, PROBE);
    }
    let sides = bench.json(&["compare", "a*", "b1,b2,b3"]);
    let notes = sides["candidates"][0]["notes"].to_string();
    assert!(notes.contains("ABABAB") && !notes.contains("stretch of time"), "{notes}");
    assert_eq!(mean_cost(&sides)["replicates"], serde_json::json!([3, 3]));
    let sides = bench.json(&["compare", "a1,b1,a2", "b2,a3,b3"]);
    assert!(sides["candidates"][0]["notes"].to_string().contains("AAABBB: each side is one stretch of time"));
    assert_eq!(mean_cost(&sides)["why"], "not_interleaved");

    // Single recordings are judged by how far earlier ones of this machine were apart.
    for name in ["before1", "before2", "before3", "before4", "c1", "c2"] {
        record(&bench, name, PROBE);
    }
    let known = bench.json(&["compare", "c1", "c2"]);
    let line = mean_cost(&known);
    let earlier = &line["earlier_replicates"];
    assert!(earlier["recordings"].as_u64().unwrap() >= 10 && line["p"].is_f64(), "{line}");
    let text = out(&bench.run(&["compare", "c1", "c2"]));
    assert!(text.contains("earlier ones"), "{text}");

    // More than two, the first of which the others are compared with.
    let three = bench.json(&["compare", "a*", "b*", "c1"]);
    assert_eq!(three["candidates"].as_array().unwrap().len(), 2);
    refused(&bench.run(&["compare", "a*", "a1"]), 2, &["on both sides"]);
    refused(&bench.run(&["compare", "a1", "nothing*"]), 2, &["nothing*"]);
    let drawn = out(&bench.run(&["report", "a*"]));
    assert!(drawn.contains("a2") && drawn.contains("a3"), "{drawn}");
    refused(&bench.run(&["report", "nothing*"]), 2, &["nothing*"]);
    refused(&bench.run(&["compare", "a1", ","]), 2, &["empty"]);
    refused(&bench.run(&["compare", "a1"]), 2, &["CANDIDATE"]);
    record(&bench, "other", "selftest.work.1050");
    refused(&bench.run(&["compare", "a1", "other"]), 2, &["in common"]);
}

#[test]
fn all_formats_say_the_same() {
    let bench = Bench::new();
    let arguments = ["experiment", "slack=5ms,1ns", PROBE, "timer.clock_nanosleep.late", "syscall.null"];
    let made = bench
        .run(&[&arguments[..], &["--blocks", "3", "--no-pilot", "--name", "e", "--margin", "2%"]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let compared =
        |format: &str| out(&bench.run(&["compare", "e:5ms", "e:1ns", "--margin", "2%", "--format", format]));
    let model = page_of(compared("json"));
    let (text, markdown, html) = (compared("text"), compared("markdown"), compared("html"));
    assert!(out(&made).starts_with(text.trim_end()), "the experiment prints what compare says");
    // Floor and mean of two, the median of the third, and its 99th percentile where the machine let every run wake a hundred times.
    let count = rows(&model).len();
    assert!(count == 5 || count == 6, "{count}");
    let mut metric = String::new();
    let mut in_markdown = markdown.lines().filter(|l| l.starts_with("| "));
    in_markdown.next().unwrap();
    for line in rows(&model) {
        let shown: Vec<&str> = ["baseline", "candidate", "change", "interval", "verdict"]
            .map(|part| line["shown"][part].as_str().unwrap())
            .to_vec();
        // In the terminal those that changed come first, and what has no room is left out.
        let row = text.lines().find(|own| [0, 2, 3].iter().all(|part| own.contains(shown[*part])));
        // What most figures were measured beside is said once, above all.
        let is_said_once = text.contains("contended: other tasks had a share of the CPU");
        let verdict = if is_said_once { shown[4].split(" [").next().unwrap() } else { shown[4] };
        // How many blocks would decide is a column where most say that.
        let needed = verdict.strip_suffix(" blocks would decide in 4 of 5 cases");
        let needed = needed.and_then(|verdict| verdict.strip_prefix("undecided: "));
        let says = crate::bench::words(&text).contains(&crate::bench::words(verdict))
            || needed.is_some_and(|needed| row.is_some_and(|row| row.trim_end().ends_with(needed)));
        assert!(row.is_some() && says, "{shown:?}: {text}");
        metric = line["metric"].as_str().unwrap().to_owned();
        let row = in_markdown.next().unwrap().replace('\\', "");
        let mut rest = row.as_str();
        for part in &shown {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part} of {metric} is not in {row}"));
            rest = &rest[at + part.len()..];
        }
        // The page has what changed first, and the verdict in front.
        let of_metric = |row: &&str| {
            let name = format!("<summary>{metric}");
            row.starts_with("<tr") && row.contains(&name) && shown.iter().all(|part| row.contains(part))
        };
        assert!(html.lines().any(|row| of_metric(&row)), "{shown:?} of {metric} is not in {html}");
        // The words are those of the numbers.
        let percent = |value: &Value| {
            let text = format!("{:+.2} %", (value.as_f64().unwrap() - 1.0) * 100.0);
            if text.ends_with("0.00 %") && text.len() == 7 { "0.00 %".to_owned() } else { text }
        };
        // What one side has not has no ratio, and says so.
        let change = if line["ratio"].is_null() { "-".to_owned() } else { percent(&line["ratio"]) };
        assert_eq!(line["shown"]["change"], change, "{line:#}");
        // A base that three blocks do not tell from zero has no interval, and says so.
        let interval = &line["ratio_interval"];
        let ends = match interval.is_null() {
            true => "-".to_owned(),
            false => format!("{} to {}", percent(&interval[0]), percent(&interval[1])),
        };
        assert_eq!(line["shown"]["interval"].as_str().unwrap(), ends);
    }
    assert_eq!(metric, rows(&model)[count - 1]["metric"].as_str().unwrap());
    // It stands alone: nothing is fetched, and nothing runs but what its hash names.
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg") && html.contains("default-src"));
    assert!(!html.contains(" src=") && !html.contains("http://") && !html.contains("https://"));
    let late = row(&model["candidates"][0], "timer.clock_nanosleep.late");
    assert!(late["ratio"].as_f64().unwrap() < 1.0, "less slack, less late: {late}");
    let gate = |kind: &str| bench.run(&["compare", "e:1ns", "e:5ms", "--fail-on", kind]).status.code();
    if late["verdict"] == "changed" || late["verdict"] == "beyond_margin" {
        assert_eq!((gate("changed"), gate("worse")), (Some(3), Some(3)));
    }
}

/// Columns of numbers, whose direction nobody knows, and single recordings decide nothing: CI must hear of it.
#[test]
fn what_cannot_be_judged_is_no_success() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let import = |name: &str, factor: u32| {
        let path = folder.path().join(name);
        let text: String = (0..20).map(|i| format!("{}\n", factor * (1000 + i * 7 % 13))).collect();
        std::fs::write(&path, text).unwrap();
        assert!(bench.run(&["import", path.to_str().unwrap(), "--lines", "replicates"]).status.success());
    };
    import("before", 1);
    import("after", 20);
    let worse = bench.run(&["compare", "before", "after", "--fail-on", "worse"]);
    assert_eq!(worse.status.code(), Some(5), "{}", err(&worse));
    assert!(err(&worse).contains("neither direction is better"), "{}", err(&worse));
    assert_eq!(bench.run(&["compare", "before", "after", "--fail-on", "changed"]).status.code(), Some(3));
    for name in ["one", "two"] {
        record(&bench, name, PROBE);
    }
    let single = bench.run(&["compare", "one", "two", "--fail-on", "worse"]);
    assert_eq!(single.status.code(), Some(5), "{}", err(&single));
    assert!(err(&single).contains("cannot be judged for --fail-on"), "{}", err(&single));
    // The README's line: three a side and more, interleaved, and a cost that cannot be overlooked.
    for (number, before, after) in [(0, "x1", "y1"), (1, "x2", "y2"), (2, "x3", "y3")] {
        for (name, work) in [(before, 1000), (after, 3000)] {
            record(&bench, name, PROBE);
            retimed(&bench, name, work + number * 5 % 7);
        }
    }
    let slower = bench.run(&["compare", "x*", "y*", "--fail-on", "worse"]);
    assert_eq!(slower.status.code(), Some(3), "{}{}", out(&slower), err(&slower));
}

/// Twelve recordings of which the last six are slower, whatever else the machine had to do.
#[test]
fn a_level_begins_where_figures_became_others() {
    let bench = Bench::new();
    for number in 0..12 {
        let name = format!("n{number}");
        record(&bench, &name, PROBE);
        let work = if number < 6 { 1000 } else { 3000 };
        retimed(&bench, &name, work + number * 5 % 7);
    }
    let all = bench.json(&["history", PROBE]);
    // Neighbours are in means.
    let floor = all["series"].as_array().unwrap().iter().find(|series| series["figure"] == "floor").unwrap();
    let of = |change: &Value| (change["from"]["name"].clone(), change["ratio"].as_f64().unwrap());
    let changes: Vec<(Value, f64)> = floor["changes"].as_array().unwrap().iter().map(of).collect();
    assert_eq!((floor["points"].as_array().unwrap().len(), floor["runs"].as_u64()), (12, Some(2)));
    assert!(changes.iter().any(|(name, ratio)| name == "n6" && *ratio > 2.0), "{floor:#}");
    let text = out(&bench.run(&["history", PROBE]));
    assert!(
        text.lines().next().unwrap().ends_with(" of 2 figures changed:") && text.contains(" n6"),
        "{text}"
    );
    refused(&bench.run(&["history", "nothing"]), 2, &["history nothing"]);
}

/// Gives each batch of a recording another time: so long for each iteration.
fn retimed(bench: &Bench, name: &str, each: i64) {
    let id = bench.json(&["show", name])["recording"]["id"].as_str().unwrap().to_owned();
    let path = bench.store().join("recordings").join(id).join("events.jsonl");
    let timed = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if let Some(batches) = event.pointer_mut("/observed/observations/batches") {
            let iterations = batches["iterations"].as_i64().unwrap();
            for elapsed in batches["elapsed"].as_array_mut().unwrap() {
                *elapsed = (iterations * each).into();
            }
        }
        format!("{event}\n")
    };
    let text: String = std::fs::read_to_string(&path).unwrap().lines().map(timed).collect();
    std::fs::write(&path, text).unwrap();
}
