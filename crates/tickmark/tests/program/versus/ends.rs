//! What fails, hangs, never ends or is interrupted.

use super::metric;
use crate::bench::{Bench, err, out, refused, signal};

#[test]
fn what_cannot_be_measured_is_one_line() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| bench.run(&[&["versus"], arguments].concat());
    refused(&run(&[]), 2, &["COMMAND"]);
    refused(&run(&["/nowhere/program", "true"]), 1, &["/nowhere/program: No such file"]);
    refused(&run(&["ls | wc", "true"]), 2, &["`|` is for a shell", "--shell sh"]);
    refused(
        &run(&["true", "sh -c 'echo no luck >&2; exit 3'"]),
        1,
        &["ended with exit code 3: no luck", "--ignore-failure"],
    );
    refused(&run(&["--limit", "50ms", "sleep 30", "true"]), 1, &["took longer than 0.05 s"]);
    refused(&run(&["--env", "C:A=1", "true", "false"]), 2, &["there are 2 commands, and an option is for C"]);
    refused(&run(&["--metric", "x=(", "true"]), 2, &["--metric"]);
    refused(&run(&["--metric", "x=nothing", "true"]), 1, &["x: nothing is not in what it prints"]);
    refused(&run(&["--primary", "command.tim", "true", "true"]), 2, &["did you mean command.time"]);
    refused(&run(&["--knob", "slack=1us,2us", "true", "false"]), 2, &["one command"]);
    refused(&run(&["--output", "/dev/zero", "true"]), 2, &["not a regular file"]);
    refused(&run(&["--prepare", "exit 4", "true"]), 1, &["exit 4"]);
    refused(&run(&["--fail-on", "worse", "true"]), 2, &["--fail-on compares two commands"]);
    refused(&run(&["--format", "markdown", "true"]), 2, &["text and json"]);
    refused(&run(&["--knob", "cpu=0,1", "--cpu", "0", "true"]), 2, &["contradict"]);
    refused(&run(&["--vary", "link", "true", "false"]), 2, &["--build"]);
    refused(&run(&["-m", "9", "-M", "3", "true"]), 2, &["--min-runs is more"]);
    refused(&run(&["-L", "n", "1,2", "--", "true"]), 2, &["--parameter-list"]);
    refused(&run(&["--export-json", "/nowhere/x.json", "true"]), 2, &["/nowhere/x.json: no such folder"]);
    // No terminal is there to wait for.
    refused(&run(&["-S", "sh", "read x < /dev/tty", "true"]), 1, &["/dev/tty"]);
    // What writes without an end is ended all the same.
    refused(&run(&["--limit", "300ms", "yes", "true"]), 1, &["`yes` took longer than 0.3 s"]);
    // Neither the empty shell nor the command outlives its limit.
    let begun = std::time::Instant::now();
    refused(&run(&["--limit", "200ms", "-S", "sh -c 'sleep 30' x", "true", "true"]), 1, &["took longer"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    // A command that fails in between: what was measured is kept.
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count").display().to_string();
    let fails = format!("echo >> {count}; test $(wc -l < {count}) -lt 6");
    let kept = bench.run(&["versus", "-r", "20", "-S", "sh", "true", &fails]);
    assert_eq!(kept.status.code(), Some(4), "{}", err(&kept));
    assert!(
        err(&kept).contains("ended with exit code 1") && out(&kept).contains("4 blocks, until a run failed"),
        "{}",
        out(&kept)
    );
    // All the same with --ignore-failure, and the codes are said.
    let page = bench.json(&["versus", "-r", "3", "-i", "false", "true"]);
    assert_eq!(metric(&page, 0, "command.code")["median"].as_f64(), Some(1.0));
    let notes = page["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note == "A: 3 of 3 runs failed, with exit code 1"), "{page:#}");
}

/// Ctrl-C leaves the blocks that were made, and no command running.
#[test]
fn interrupted_it_shows_what_there_is() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let says = |word: &str| format!("sleep 0.01; echo {word} >> {}", log.display());
    let (concludes, cleans) = (says("concluded"), says("cleaned"));
    let child = bench.command(&[
        "versus",
        "-r",
        "1000",
        "-C",
        &concludes,
        "-c",
        &cleans,
        "sleep 0.02",
        "sleep 0.021",
    ]);
    let mut child =
        { child }.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // The first runs are no block yet.
    let concluded = || std::fs::read_to_string(&log).unwrap_or_default().matches("concluded").count();
    crate::machine::within(60, "a block is made", || concluded() >= 12);
    assert!(signal("INT", child.id()));
    let status = child.wait().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    assert_eq!(status.code(), Some(4), "{text}");
    assert!(text.contains("interrupted; saved as"), "{text}");
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("concluded") && log.matches("cleaned").count() == 2, "{log}");
}

/// Short commands run several times in a block, but not where something comes before each run.
#[test]
fn each_run_has_its_preparation() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made").display().to_string();
    let (remove, make) = (format!("rm -rf {made}"), format!("mkdir {made}"));
    let page = bench.json(&["versus", "--prepare", &remove, "--budget", "1s", &make, "true"]);
    let runs = |command: usize| metric(&page, command, "command.time")["runs"].as_u64().unwrap();
    assert!(runs(0) >= 2 && runs(0) == runs(1), "{page:#}");
    // How often is decided by the first runs alone, which may have been long.
    let mut tries = (0..5).map(|_| {
        let page = bench.json(&["versus", "--budget", "1s", "true", "sleep 0.0002"]);
        let own =
            |command: usize, field: &str| metric(&page, command, "command.time")[field].as_u64().unwrap();
        let repeats = own(0, "runs") / own(0, "blocks");
        assert_eq!(own(0, "runs"), own(0, "blocks") * repeats, "{page:#}");
        assert_eq!(
            own(0, "runs"),
            own(1, "runs"),
            "as often as the other: else their figures are of another kind"
        );
        repeats
    });
    assert!(tries.any(|repeats| repeats >= 3), "short commands do not run several times in a block");
    // More blocks at least than would be made at most.
    let many = bench.run(&["versus", "-m", "20000", "--budget", "300ms", "true", "true"]);
    assert!(out(&many).contains("as the time is over"), "{}", err(&many));
}
