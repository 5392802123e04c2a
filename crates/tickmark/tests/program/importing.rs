//! Results of other programs, from file to verdict.

use crate::bench::{Bench, err, out, refused, row};
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
    assert!(out(&output).contains("ACPI-Fast (super-smack, 5 runs, 1 metrics)"), "{}", out(&output));
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
        let output = bench.run(&["import", file, "--name", name]);
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
    refused(&bench.run(&["import", &good, &words]), 2, &["words is no result", "nothing was imported"]);
    refused(&bench.run(&["import", &good, &torn]), 2, &["torn.json", "nothing was imported"]);
    refused(&bench.run(&["import", "missing"]), 1, &["missing"]);
    assert_eq!(bench.json(&["recordings"]).as_array().unwrap().len(), 0);
    let partly = write("partly.csv", "a,b\n1,2\n2,3ms\n3,4\n");
    let output = bench.run(&["import", &partly]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    assert!(err(&output).contains("line 3: \"3ms\" is no number"), "{}", err(&output));
}
