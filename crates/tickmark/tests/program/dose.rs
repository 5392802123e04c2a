//! Servers with a slower clock: our own, others', and bad ones.

use crate::bench::{Bench, err, out, page_of, refused, signal};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

fn slope(page: &Value) -> (f64, f64, f64) {
    let interval = &page["slope"]["interval"];
    let of = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{page}"));
    (of(&page["slope"]["point"]), of(&interval[0]), of(&interval[1]))
}

const SHORT: [&str; 6] = ["--blocks", "8", "--slice", "80ms", "--connection", "keep-alive"];

/// The slope is the number of reads: so many are waited for, where each takes longer. With none it is none.
#[test]
#[ignore = "second tier: 11 s"]
fn the_slope_is_the_number_of_reads() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments =
        ["dose", "--reads", "20", "--doses", "0,1000,4000,syscall", "--name", "twenty", "--format", "json"];
    let done = bench.run(&[&arguments[..], &SHORT].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    // The pilot says what can be told apart before it begins.
    assert!(err(&done).contains("power") && err(&done).contains("times"), "{}", err(&done));
    let page = page_of(out(&done));
    let (point, low, high) = slope(&page);
    let reads = page["reads"].as_f64().unwrap();
    assert!((19.5..20.5).contains(&reads), "{page}");
    // As many as they are is in the interval or near it, whatever others do, and none is far.
    assert!(high > 15.0 && low < 25.0 && (5.0..60.0).contains(&point), "{page}");
    let doses = page["doses"].as_array().unwrap();
    assert_eq!(doses.len(), 3, "{page}");
    assert!((4000.0..8000.0).contains(&doses[1]["delivered"].as_f64().unwrap()), "{page}");
    assert!(doses[2]["nominal"].is_null() && doses[2]["delivered"].as_f64() > Some(0.0), "{page}");
    let lost = page["lost"].as_array().unwrap();
    assert!(lost[0]["by_count"].as_f64() < lost[1]["by_count"].as_f64(), "{page}");
    let text = out(&bench.run(&["dose", "--of", "twenty"]));
    assert!(text.contains("system call") && text.contains("by the slope"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let none = ["dose", "--no-pilot", "--reads", "0", "--doses", "0,4000", "--format", "json"];
    let page = page_of(out(&bench.run(&[&none[..], &SHORT].concat())));
    let (_, low, high) = slope(&page);
    assert!(page["reads"].as_f64() == Some(0.0) && low < 2.0 && high > -2.0, "{page}");
}

/// Operations on timestamps beside each read: as many more cost as much more, and the table says what transactions a second that leaves.
#[test]
fn operations_on_time_stamps_are_dosed() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments = ["dose", "--reads", "20", "--op", "normalise", "--doses", "0,1000,4000", "--name", "ops"];
    let done = bench.run(&[&arguments[..], &["--format", "json"], &SHORT].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    let (point, low, high) = slope(&page);
    let doses = page["doses"].as_array().unwrap();
    let delivered = |at: usize| doses[at]["delivered"].as_f64().unwrap();
    assert!(high > 15.0 && low < 25.0 && (5.0..60.0).contains(&point), "{page}");
    assert_eq!(page["op"], "normalise", "{page}");
    // Four times as many operations take four times as long, at the speed that each was carried out with.
    assert!(delivered(1) / delivered(0) > 2.0, "{page}");
    let each = page["op_cost"].as_f64().unwrap();
    assert!((0.1..100.0).contains(&each) && delivered(0) > 300.0 * each, "{page}");
    let lost = page["lost"].as_array().unwrap();
    assert!(lost.iter().all(|row| row["clock"].as_str().unwrap().contains("operation")), "{page}");
    let text = out(&bench.run(&["dose", "--of", "ops"]));
    assert!(text.contains("operations a read") && text.contains("--calls NAME"), "{text}");
}

/// The cost of reading the machine's other clock sources is measured and used for predictions; the original source is restored.
#[test]
#[ignore = "second tier: root"]
fn other_clock_sources_are_measured_and_put_back() {
    let _machine = crate::bench::machine();
    let folder = std::path::Path::new("/sys/devices/system/clocksource/clocksource0");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let was = read("current_clocksource");
    let others: Vec<String> = read("available_clocksource")
        .split_whitespace()
        .filter(|one| *one != was.trim())
        .map(str::to_owned)
        .collect();
    assert!(!others.is_empty(), "this machine has {was} alone");
    let bench = Bench::new();
    let arguments =
        ["dose", "--clock-sources", "--no-pilot", "--reads", "5", "--doses", "0,2000", "--format", "json"];
    let done = bench.run(&[&arguments[..], &SHORT].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert_eq!(read("current_clocksource"), was);
    let page = page_of(out(&done));
    let lost = page["lost"].as_array().unwrap();
    let plain = page["read_cost"]["plain"].as_f64().unwrap();
    for other in &others {
        let row =
            lost.iter().find(|row| row["clock"].as_str().unwrap().starts_with(&format!("by {other} (")));
        let row = row.unwrap_or_else(|| panic!("{other}: {page}"));
        // Of a read that takes some ns, and no second.
        let cost = row["longer"].as_f64().unwrap() + plain;
        assert!((1.0..1e6).contains(&cost), "{row}");
    }
    assert!(
        !lost.iter().any(|row| row["clock"].as_str().unwrap().starts_with(&format!("by {} (", was.trim())))
    );
    let text = out(&bench.run(&["dose", "--of", "last"]));
    assert!(text.contains(&format!("by {} (", others[0])) && text.contains("measured here"), "{text}");
}

/// Ctrl-C ends the work that is under way, which is not the first of this process: the pilot came before.
#[test]
fn ctrl_c_after_the_pilot_ends_the_doses() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let mut command =
        bench.command(&["dose", "--reads", "5", "--doses", "0,2000", "--blocks", "2000", "--slice", "100ms"]);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("pilot ")), "no pilot was told");
    std::thread::sleep(Duration::from_millis(500));
    assert!(signal("INT", running.id()));
    assert!(said.count() < 1000);
    assert_ne!(running.wait().unwrap().code(), Some(0));
}

/// A number of the user's: a program that reads the clock so often, and says how long that took; with and without a library that makes it longer.
#[test]
fn a_number_of_the_users_is_measured_too() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    std::fs::create_dir_all(bench.store()).unwrap();
    let at = |name: &str| bench.store().join(name).to_str().unwrap().to_owned();
    // A server over a FIFO: each line asks for 1000 reads; it says how many ns they took by the processor's time.
    let source = format!(
        "#include <time.h>\n#include <stdio.h>\n#include <fcntl.h>\n#include <unistd.h>\nint main(void) {{\n\
         for (;;) {{ struct timespec a, b, t; char c; int in = open(\"{0}\", O_RDONLY); if (in < 0 || read(in, &c, 1) != 1) return 1; close(in);\n\
         clock_gettime(CLOCK_MONOTONIC_RAW, &a); for (int i = 0; i < 998; i++) clock_gettime(CLOCK_MONOTONIC, &t); clock_gettime(CLOCK_MONOTONIC_RAW, &b);\n\
         FILE *out = fopen(\"{1}\", \"w\"); fprintf(out, \"%ld\\n\", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec); fclose(out); }} }}\n",
        at("ask"),
        at("answer")
    );
    std::fs::write(at("server.c"), source).unwrap();
    assert!(Command::new("gcc").args(["-o", &at("server"), &at("server.c")]).status().unwrap().success());
    assert!(Command::new("mkfifo").args([at("ask"), at("answer")]).status().unwrap().success());
    let number = format!("echo > {}; cat {}", at("ask"), at("answer"));
    let arguments = [
        "dose",
        "--no-pilot",
        "--number",
        &number,
        "--unit",
        "ns",
        "--doses",
        "0,2000",
        "--blocks",
        "5",
        "--slice",
        "50ms",
        "--format",
        "json",
        "--",
        &at("server"),
    ];
    let done = bench.run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    let (point, ..) = slope(&page);
    assert!((999.0..1001.0).contains(&page["reads"].as_f64().unwrap()) && point > 500.0, "{page}");
    assert_eq!(page["measure"], "number");
}

/// A program that counts what it does in a file: fifty reads each; and another one that keeps the machine busy, and is gone afterwards.
#[test]
fn transactions_that_a_command_counts_are_dosed() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    std::fs::create_dir_all(bench.store()).unwrap();
    let at = |name: &str| bench.store().join(name).to_str().unwrap().to_owned();
    let source = format!(
        "#include <time.h>\n#include <stdio.h>\n#include <fcntl.h>\n#include <unistd.h>\nint main(void) {{ struct timespec t; char text[32];\n\
         int out = open(\"{}\", O_RDWR | O_CREAT, 0600);\n\
         for (long done = 1;; done++) {{ for (int i = 0; i < 50; i++) clock_gettime(CLOCK_MONOTONIC, &t);\n\
         int length = snprintf(text, sizeof text, \"%020ld\\n\", done); if (pwrite(out, text, length, 0) != length) return 1; usleep(200); }} }}\n",
        at("done")
    );
    std::fs::write(at("counts.c"), source).unwrap();
    assert!(Command::new("gcc").args(["-o", &at("counts"), &at("counts.c")]).status().unwrap().success());
    let count = format!("cat {}", at("done"));
    let busy = format!("sleep 100000.{}", std::process::id());
    let arguments = [
        "dose",
        "--no-pilot",
        "--count",
        &count,
        "--busy",
        &busy,
        "--doses",
        "0,4000",
        "--blocks",
        "6",
        "--slice",
        "60ms",
        "--format",
        "json",
        "--",
        &at("counts"),
    ];
    let done = bench.run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    let (_, low, high) = slope(&page);
    // What is counted is looked at a little before the reads are.
    assert!((40.0..60.0).contains(&page["reads"].as_f64().unwrap()), "{page}");
    assert!(low > 10.0 && high < 150.0 && page["measure"] == "cpu", "{page}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    assert!(!lines.any(|line| line.starts_with("sleep") && line.contains(&busy[6..])), "it was left");
}

#[test]
fn what_cannot_be_dosed_is_said() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let run = |arguments: &[&str]| bench.run(&[&["dose", "--no-pilot"], arguments].concat());
    refused(&run(&["--", "true"]), 2, &["--url", "--count", "--number"]);
    refused(&bench.run(&["dose", "--doses", "60 ns"]), 2, &["60 ns", "syscall"]);
    refused(&bench.run(&["dose", "--doses", "0,syscall"]), 2, &["more than 0"]);
    refused(&bench.run(&["dose", "--op", "compare", "--doses", "0,syscall"]), 2, &["syscall", "operations"]);
    refused(&run(&["--slice", "500us"]), 2, &["20ms"]);
    refused(&run(&["--start", "postgres", "--url", "http://127.0.0.1:9/"]), 2, &["--url"]);
    refused(&bench.run(&["dose", "--of", "last", "--doses", "0,60"]), 2, &["--doses"]);
    refused(&run(&["--url", "https://127.0.0.1/", "--", "true"]), 2, &["https"]);
    refused(&run(&["--count", "echo 1", "--", "/nowhere"]), 2, &["no program /nowhere"]);
    refused(&run(&["--in-kernel"]), 1, &["tickmark_clock", "HOWTO"]);
    refused(&bench.run(&["dose", "--in-kernel", "--op", "compare"]), 2, &["--op"]);
    // It ends at once; it never counts; it does nothing.
    refused(
        &run(&["--url", "http://127.0.0.1:9/", "--", "true"]),
        1,
        &["`true`", "ended with exit status: 0"],
    );
    refused(&run(&["--count", "echo 1", "--", "sleep", "60"]), 1, &["no transaction"]);
    refused(&run(&["--count", "echo one", "--", "true"]), 1, &["ended with exit status: 0"]);
}
