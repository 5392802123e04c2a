//! How often a command reads clocks.

use crate::bench::{Bench, err, out, page_of, refused, signal};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// 700 reads of one clock and 200 of another, from two lines.
const READS: &str = "#include <time.h>\nint main(void) { struct timespec t;\nfor (int i = 0; i < 700; i++) clock_gettime(CLOCK_MONOTONIC, &t);\nfor (int i = 0; i < 200; i++) clock_gettime(CLOCK_BOOTTIME, &t);\nreturn 0; }\n";

/// One counts at a time: a processor has four breakpoints. No time is measured, so that the machine is left to others.
fn alone() -> MutexGuard<'static, ()> {
    static COUNTING: Mutex<()> = Mutex::new(());
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

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
#[ignore = "second tier: root"]
fn reads_are_counted_by_clock_and_by_call_site() {
    let _counting = alone();
    let bench = Bench::new();
    let program = compiled(&bench, READS, &["-g"]);
    let arguments = [
        "clock-reads",
        "--runs",
        "2",
        "--confirm",
        "--calls",
        "main",
        "--count",
        "100",
        "--name",
        "reads",
        "--format",
        "json",
        "--",
        &program,
    ];
    let done = bench.run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
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
    // The kernel counts the same where the library hands on, and the one call of the program's own function.
    assert_eq!((page["kernel"].as_f64(), &page["by"]), (Some(900.0), &"preload".into()), "{page}");
    assert_eq!(page["calls"], serde_json::json!([{ "name": "main", "reads": 1.0 }]), "{page}");
    let text = out(&bench.run(&["clock-reads", "--of", "reads"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the kernel counted 900 calls") && text.contains("the same"), "{text}");
    assert!(text.contains("0 of clock_gettime, 0 of gettimeofday, 0 of time"), "{text}");
    assert!(
        text.contains("CLOCK_BOOTTIME") && text.contains("2.000") && text.contains("called from"),
        "{text}"
    );
    // What it starts is counted, too; a server is killed with what it started.
    let shell = format!("{program}; sleep 60 & sleep 60");
    let begun = std::time::Instant::now();
    let arguments = ["clock-reads", "--duration", "3s", "--format", "json", "--", "sh", "-c", &shell];
    let done = bench.run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    assert!(
        page["clocks"].to_string().contains("CLOCK_BOOTTIME") && begun.elapsed().as_secs() < 50,
        "{page}"
    );
}

/// Ten reads of one clock and three of another in each turn, in a thread and in a process that begin while it is watched. How many turns it began itself stands in a file.
const RUNNING: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <time.h>\n#include <unistd.h>\nstruct timespec t;\n\
    __attribute__((noinline)) void turn(void) { for (int i = 0; i < 10; i++) clock_gettime(CLOCK_MONOTONIC, &t); for (int i = 0; i < 3; i++) clock_gettime(CLOCK_BOOTTIME, &t); usleep(2000); }\n\
    void *turns(void *none) { for (int i = 0; i < 5; i++) turn(); return none; }\n\
    int main(int n, char **to) { FILE *f = fopen(to[1], \"w\"); for (int i = 0; i < 20000; i++) { rewind(f); fprintf(f, \"%d\\n\", i); fflush(f); turn(); if (i % 50 == 0) { pthread_t one; pthread_create(&one, 0, turns, 0); pthread_join(one, 0); if (!fork()) { turns(0); _exit(0); } } } return 0; }\n";

#[test]
#[ignore = "second tier: root"]
fn a_process_that_runs_already_is_watched() {
    let _counting = alone();
    let bench = Bench::new();
    for options in [&["-pthread"][..], &["-pthread", "-static"]] {
        let program = compiled(&bench, RUNNING, options);
        let turns = bench.store().join("turns").display().to_string();
        let mut running = std::process::Command::new(&program).arg(&turns).spawn().unwrap();
        let pid = running.id().to_string();
        let count = format!("cat {turns}");
        // It is there when it has begun.
        while std::fs::read_to_string(&turns).unwrap_or_default().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let arguments = ["clock-reads", "--pid", &pid, "--duration", "4s", "--calls", "turn,main"];
        let done = bench.run(&[&arguments[..], &["--count", &count, "--format", "json"]].concat());
        // It goes on afterwards, with what it starts.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(running.try_wait().unwrap().is_none(), "it has ended");
        running.kill().unwrap();
        running.wait().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
        let page = page_of(out(&done));
        let of = |list: &str, name: &str| {
            let all = page[list].as_array().unwrap().iter();
            all.filter(|one| one["name"].as_str().unwrap().contains(name))
                .filter_map(|one| one["reads"].as_f64())
                .sum::<f64>()
        };
        let (turns, monotonic, boottime) =
            (of("calls", "turn"), of("clocks", "CLOCK_MONOTONIC"), of("clocks", "CLOCK_BOOTTIME"));
        // Turns that had begun, or had not ended; each thread and process at one end.
        assert!(turns > 50.0, "{page}");
        assert!((monotonic / turns - 10.0).abs() < 0.5 && (boottime / turns - 3.0).abs() < 0.2, "{page}");
        assert!(of("sites", "(turn)") > 0.99 * (monotonic + boottime), "{page}");
        // Every fiftieth turn of its own has ten more in a thread and a process.
        let counted = page["count"].as_f64().unwrap();
        assert!((turns / counted / 1.2 - 1.0).abs() < 0.1, "{page}");
    }
    std::fs::create_dir_all(bench.store()).unwrap();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    refused(&bench.run(&["clock-reads", "--pid", &gone.id().to_string()]), 1, &["there is no process"]);
    let own = std::process::id().to_string();
    refused(
        &bench.run(&["clock-reads", "--pid", &own, "--calls", "no_such_function"]),
        1,
        &["no_such_function"],
    );
    let unable = ["clock-reads", "--confirm", "--", "true"];
    let done = crate::bench::sandboxed(&bench.store(), &["--cap-drop", "ALL"], &unable).output().unwrap();
    refused(&done, 1, &["uprobes are refused", "root"]);
}

/// Ten readings of the time in each turn, of two clocks each, in a program that links no C library.
const GO: &str = "package main\nimport \"time\"\nvar last time.Time\n//go:noinline\nfunc turn() { for i := 0; i < 10; i++ { last = time.Now() } }\n\
    func main() { for i := 0; i < 5000; i++ { turn(); time.Sleep(2 * time.Millisecond) } }\n";

/// A server that forks two seconds after a file is there: children that take turns on the CPUs while they read, and calls that go by no library.
const TOGETHER: &str = "#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n#include <sys/wait.h>\n\
    int main(int n, char **a) { struct timespec t; alarm(120); while (access(a[1], F_OK)) usleep(1000); sleep(2); for (int c = 0; c < 4; c++) if (!fork()) { for (int i = 0; i < 6000; i++) clock_gettime(CLOCK_MONOTONIC, &t); for (int i = 0; i < 50; i++) syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t); _exit(0); }\n\
    while (wait(0) > 0); sleep(60); return 0; }\n";

#[test]
#[ignore = "second tier: root"]
fn no_read_of_children_that_read_at_the_same_time_is_lost() {
    let _counting = alone();
    let bench = Bench::new();
    let program = compiled(&bench, TOGETHER, &[]);
    let go = format!("{program}.go");
    let mut running = std::process::Command::new(&program).arg(&go).spawn().unwrap();
    let pid = running.id().to_string();
    // What counts is asked first when everything is set up to watch.
    let count = format!("touch {go}; echo 0");
    let watch = ["clock-reads", "--pid", &pid, "--duration", "12s", "--count", &count, "--format", "json"];
    let done = bench.run(&watch);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    let of = |list: &str| {
        let all = page[list].as_array().unwrap_or_else(|| panic!("no {list}: {page}"));
        let one = all.iter().find(|one| {
            one["name"].as_str().unwrap().ends_with("clock_gettime") || one["name"] == "CLOCK_MONOTONIC"
        });
        one.unwrap_or_else(|| panic!("none in {list}: {page}"))["reads"].as_f64()
    };
    assert_eq!((of("clocks"), of("system_calls")), (Some(24_000.0), Some(200.0)), "{page}");
}

#[test]
#[ignore = "second tier: root and Go"]
fn a_program_in_go_is_watched() {
    let _counting = alone();
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let (source, program) = (folder.path().join("main.go"), folder.path().join("turns"));
    std::fs::write(&source, GO).unwrap();
    let mut go = std::process::Command::new("go");
    go.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod").env("GO111MODULE", "off");
    let built = go.arg("build").arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(built.success());
    // A library that is preloaded sees none of it: it is breakpoints that count, from its beginning.
    let arguments = ["clock-reads", "--duration", "1s", "--calls", "main.turn", "--format", "json", "--"];
    let begun = bench.run(&[&arguments[..], &[program.to_str().unwrap()]].concat());
    assert_eq!(begun.status.code(), Some(0), "{}", err(&begun));
    ten_readings_a_turn(&page_of(out(&begun)));
    let mut running = std::process::Command::new(&program).spawn().unwrap();
    let pid = running.id().to_string();
    let arguments = ["clock-reads", "--pid", &pid, "--duration", "1s", "--calls", "main.turn"];
    let done = bench.run(&[&arguments[..], &["--format", "json"]].concat());
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    ten_readings_a_turn(&page_of(out(&done)));
}

fn ten_readings_a_turn(page: &Value) {
    let of = |list: &str, name: &str| {
        let all = page[list].as_array().unwrap().iter();
        all.filter(|one| one["name"] == name).filter_map(|one| one["reads"].as_f64()).sum::<f64>()
    };
    let turns = of("calls", "main.turn");
    assert!(turns > 20.0, "{page}");
    assert!((of("clocks", "CLOCK_REALTIME") / turns - 10.0).abs() < 0.5, "{page}");
    // The runtime reads the other by itself, too.
    assert!(of("clocks", "CLOCK_MONOTONIC") / turns > 9.5, "{page}");
}

#[test]
fn what_a_command_started_ends_with_the_program() {
    let _counting = alone();
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
    assert!(signal("INT", program.id()));
    assert!(wait(0), "{} were left", there());
    program.wait().unwrap();
}

#[test]
#[ignore = "second tier: root"]
fn what_cannot_be_counted_is_said() {
    let _counting = alone();
    let bench = Bench::new();
    refused(&bench.run(&["clock-reads", "--", "/nowhere"]), 2, &["no program /nowhere"]);
    refused(&bench.run(&["clock-reads", "--", "sh", "-c", "exit 3"]), 1, &["exit status: 3"]);
    assert_eq!(bench.run(&["clock-reads"]).status.code(), Some(2));
    // Linked statically: nothing is loaded before it, and breakpoints are for root.
    let source = "#include <time.h>\nint main(void) { struct timespec t; for (int i = 0; i < 10; i++) clock_gettime(CLOCK_MONOTONIC, &t); return 0; }\n";
    let path = compiled(&bench, source, &["-static"]);
    let arguments = ["clock-reads", "--format", "json", "--", &path];
    let page = page_of(out(&bench.run(&arguments)));
    assert_eq!(page["clocks"][0]["reads"].as_f64(), Some(10.0), "{page}");
    let mut bound = crate::bench::sandboxed(&bench.store(), &["--cap-drop", "ALL"], &arguments);
    refused(&bound.output().unwrap(), 1, &["statically"]);
    // Without its symbols there is nothing to stop at.
    let path = compiled(&bench, source, &["-static", "-s"]);
    refused(&bench.run(&["clock-reads", "--", &path]), 1, &["statically", "stripped"]);
    // The same program otherwise is counted to the last read.
    let path = compiled(&bench, source, &["-O1"]);
    let done = bench.run(&["clock-reads", "--format", "json", "--", &path]);
    let page = page_of(out(&done));
    assert_eq!(page["clocks"], serde_json::json!([{ "name": "CLOCK_MONOTONIC", "reads": 10.0 }]), "{page}");
    assert_eq!(page["not_seen"], serde_json::json!([]), "{page}");
}
