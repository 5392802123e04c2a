//! A machine that changes during a measurement, or prevents it, is reported.

use crate::bench::{Bench, err, machine, out, page_of, program, refused, row, sandboxed};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The processes below one, and itself.
fn below(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = text.split_whitespace().filter_map(|word| word.parse().ok());
    std::iter::once(pid).chain(children.flat_map(below)).collect()
}

/// Runs a probe on CPU 0 and moves its processes to CPU 1 as soon as they measure.
fn moved(bench: &Bench, probe: &str) -> serde_json::Value {
    let arguments = ["run", probe, "--runs", "1", "--budget", "3s", "--cpu", "0", "--name", probe];
    let mut child: Child =
        bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let measures = |pid: &u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').any(|word| word == "one")
    };
    let end = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        for pid in below(child.id()).into_iter().filter(measures) {
            let _ = Command::new("taskset")
                .args(["-acp", "1", &pid.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.code().is_some_and(|code| code != 2), "{:?}: {}", ended.status, err(&ended));
    bench.json(&["show", probe])
}

#[test]
#[ignore = "second tier: 10 s"]
fn processes_that_were_moved_are_marked_and_a_ring_that_came_together_has_failed() {
    let _alone = machine();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let bench = Bench::new();
    let shown = moved(&bench, "syscall.null");
    let marks = row(&shown, "syscall.null")["marks"].to_string();
    assert!(marks.contains("CPUs 0 became 1 during 1 of 1 runs"), "{marks}");
    moved(&bench, "tick");
    let noise = bench.tick(&["--of", "tick"]);
    assert_eq!(noise["changed"][0], "CPUs 0 became 1", "{}", noise["changed"]);
    let page = out(&bench.run(&["tick", "--of", "tick"]));
    assert!(page.contains("changed while it was measured: CPUs 0 became 1 (in "), "{page}");
    let shown = moved(&bench, "switch.2p.0k.across");
    let ring = row(&shown, "switch.2p.0k.across");
    assert_eq!(ring["status"], "failed", "{ring}");
    assert!(ring["notes"].to_string().contains("was moved to other CPUs"), "{ring}");
}

/// A clock source that is put back when the test ends, in whatever way.
struct ClockSource {
    path: std::path::PathBuf,
    before: String,
}

impl Drop for ClockSource {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, &self.before);
    }
}

#[test]
#[ignore = "second tier: root"]
fn a_clock_source_that_was_switched_meanwhile_marks_the_figures() {
    let _alone = machine();
    let folder = std::path::Path::new("/sys/devices/system/clocksource/clocksource0");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let before = read("current_clocksource").trim().to_owned();
    let available = read("available_clocksource");
    let path = folder.join("current_clocksource");
    let writable = std::fs::OpenOptions::new().write(true).open(&path).is_ok();
    let Some(other) = available.split_whitespace().find(|source| *source != before).filter(|_| writable)
    else {
        println!("SKIPPED: one clock source, or no right to choose: {available}");
        return;
    };
    let source = ClockSource { path, before };
    let bench = Bench::new();
    let arguments = ["run", "syscall.null", "--runs", "1", "--budget", "5s", "--name", "switched"];
    let mut child = bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    crate::machine::within(60, "a run begins", || bench.has_begun());
    std::thread::sleep(Duration::from_millis(200));
    std::fs::write(&source.path, other).unwrap();
    child.wait().unwrap();
    let shown = bench.json(&["show", "switched"]);
    let marks = row(&shown, "syscall.null")["marks"].to_string();
    assert!(marks.contains(&format!("clock source {} became {other}", source.before)), "{marks}");
}

#[test]
fn an_empty_home_is_none() {
    let run = |home: &str| {
        let mut command = Command::new(program());
        command.arg("recordings").env_remove("TICKMARK_STORE").env_remove("XDG_DATA_HOME").env("HOME", home);
        command.output().unwrap()
    };
    refused(&run(""), 2, &["neither HOME nor XDG_DATA_HOME is set"]);
}

#[test]
fn a_limit_of_file_sizes_is_one_line() {
    let bench = Bench::new();
    let mut command = Command::new("prlimit");
    command
        .arg("--fsize=2000")
        .arg(program())
        .args(["run", "syscall.null", "--once"])
        .env("TICKMARK_STORE", bench.store());
    refused(&command.output().unwrap(), 1, &["limit of a file's size"]);
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn without_dev_null_it_measures() {
    let bench = Bench::new();
    let empty = tempfile::tempdir().unwrap();
    let additions = ["--bind", empty.path().to_str().unwrap(), "/dev"];
    let arguments = ["run", "syscall.null", "--once", "--format", "json"];
    let output = sandboxed(&bench.store(), &additions, &arguments).output().unwrap();
    let model = page_of(&output.stdout);
    assert!(row(&model, "syscall.null")["value"].is_f64(), "{model:#}");
}

/// A name that would set the title of the terminal, in every text that shows it.
#[test]
fn what_a_terminal_obeys_is_shown_and_not_done() {
    let bench = Bench::new();
    let name = "a\u{1b}]0;title\u{7}b";
    let output = bench.run(&["run", "selftest.work.1000", "--once", "--name", name]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let texts = [
        out(&output),
        out(&bench.run(&["recordings"])),
        out(&bench.run(&["show", "last"])),
        err(&bench.run(&["show", name])),
        err(&bench.run(&["show", "nothing\u{1b}[2J"])),
    ];
    for text in texts {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}
