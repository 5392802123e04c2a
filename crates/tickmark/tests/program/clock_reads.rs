//! How often a command reads clocks.

use crate::bench::{Bench, err, out, refused};
use serde_json::Value;

/// 700 reads of one clock and 200 of another, from two lines.
const READS: &str = "#include <time.h>\nint main(void) { struct timespec t;\nfor (int i = 0; i < 700; i++) clock_gettime(CLOCK_MONOTONIC, &t);\nfor (int i = 0; i < 200; i++) clock_gettime(CLOCK_BOOTTIME, &t);\nreturn 0; }\n";

/// A program of this source, linked as the options say.
fn compiled(bench: &Bench, source: &str, options: &[&str]) -> String {
    std::fs::create_dir_all(bench.store()).unwrap();
    let (path, made) = (bench.store().join("reads.c"), bench.store().join("reads"));
    std::fs::write(&path, source).unwrap();
    let status = std::process::Command::new("gcc").args(options).arg("-o").arg(&made).arg(&path).status();
    assert!(status.unwrap().success());
    made.to_str().unwrap().to_owned()
}

#[test]
fn reads_are_counted_by_clock_and_by_call_site() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let program = compiled(&bench, READS, &["-g"]);
    let asked = [
        "clock-reads",
        "--runs",
        "2",
        "--count",
        "100",
        "--name",
        "reads",
        "--format",
        "json",
        "--",
        &program,
    ];
    let done = bench.run(&asked);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page: Value = serde_json::from_str(&out(&done)).unwrap();
    let of = |name: &str| {
        let all = page["clocks"].as_array().unwrap();
        all.iter().find(|clock| clock["name"] == name).unwrap_or_else(|| panic!("no {name}: {page}"))["reads"]
            .as_f64()
            .unwrap()
    };
    assert_eq!((of("CLOCK_BOOTTIME"), of("CLOCK_MONOTONIC")), (200.0, 700.0), "{page}");
    let sites = page["sites"].as_array().unwrap();
    assert!(sites.len() == 2 && sites[0]["name"].as_str().unwrap().contains("/reads+0x"), "{page}");
    assert_eq!(sites[0]["reads"].as_f64(), Some(700.0), "{page}");
    assert_eq!((page["count"].as_f64(), page["runs"].as_u64()), (Some(100.0), Some(2)));
    let text = out(&bench.run(&["clock-reads", "--of", "reads"]));
    assert!(
        text.contains("CLOCK_BOOTTIME") && text.contains("2.000") && text.contains("called from"),
        "{text}"
    );
    // What it starts is counted, too; a server is killed with what it started.
    let shell = format!("{program}; sleep 60 & sleep 60");
    let begun = std::time::Instant::now();
    let asked = ["clock-reads", "--duration", "3s", "--format", "json", "--", "sh", "-c", &shell];
    let done = bench.run(&asked);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page: Value = serde_json::from_str(&out(&done)).unwrap();
    assert!(
        page["clocks"].to_string().contains("CLOCK_BOOTTIME") && begun.elapsed().as_secs() < 50,
        "{page}"
    );
}

#[test]
fn what_a_command_started_ends_with_the_program() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // A time that nobody else sleeps.
    let own = format!("{}.25", 100_000 + std::process::id());
    let there = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.starts_with("sleep") && line.contains(&own)).count()
    };
    let shell = format!("sleep {own} & sleep {own}");
    let mut program = bench
        .command(&["clock-reads", "--", "sh", "-c", &shell])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let wait = |count: usize| {
        (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            there() == count
        })
    };
    assert!(wait(2), "it did not begin");
    let id = program.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(wait(0), "{} were left", there());
    program.wait().unwrap();
}

#[test]
fn what_cannot_be_counted_is_said() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    refused(&bench.run(&["clock-reads", "--", "/nowhere"]), 1, &["nothing was counted", "/nowhere"]);
    refused(&bench.run(&["clock-reads", "--", "sh", "-c", "exit 3"]), 1, &["exit status: 3"]);
    refused(&bench.run(&["clock-reads", "--pid", "1"]), 2, &["uprobes"]);
    assert_eq!(bench.run(&["clock-reads"]).status.code(), Some(2));
    // Linked statically: nothing is loaded before it.
    let source = "#include <time.h>\nint main(void) { struct timespec t; for (int i = 0; i < 10; i++) clock_gettime(CLOCK_MONOTONIC, &t); return 0; }\n";
    let path = compiled(&bench, source, &["-static"]);
    refused(&bench.run(&["clock-reads", "--", &path]), 1, &["statically"]);
    // The same program otherwise is counted to the last read.
    let path = compiled(&bench, source, &["-O1"]);
    let done = bench.run(&["clock-reads", "--format", "json", "--", &path]);
    let page: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(page["clocks"], serde_json::json!([{ "name": "CLOCK_MONOTONIC", "reads": 10.0 }]), "{page}");
    assert_eq!(page["not_seen"], serde_json::json!([]), "{page}");
}
