//! The agent in C, as a writer of an operating system uses it: compiled, run, its events read.

use crate::bench::{Bench, err, out, row};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles it with a compiler that has no options but the standard's.
fn compiled(folder: &Path) -> PathBuf {
    let program = folder.join("agent-c");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent-c");
    let files = std::fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|kind| kind == "c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-pedantic", "-Werror", "-O2", "-o"]).arg(&program).args(files);
    assert!(gcc.status().unwrap().success());
    program
}

#[test]
fn it_leaves_the_folder_as_it_was_and_its_events_become_figures() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let (program, here, temporary) =
        (compiled(folder.path()), folder.path().join("here"), folder.path().join("tmp"));
    for path in [&here, &temporary] {
        std::fs::create_dir(path).unwrap();
    }
    let own = ["f0", "f63", "mapped", "reread"];
    for name in own {
        std::fs::write(here.join(name), "mine").unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut agent = Command::new(&program);
        agent.args(arguments).current_dir(&here).env("TMPDIR", &temporary);
        agent.output().unwrap()
    };
    let probes = ["syscall.null", "syscall.stat", "file.create.0k", "vm.mmap", "bandwidth.file_reread"];
    let events = run(&[&["--budget", "20"], &probes[..]].concat());
    assert!(events.status.success(), "{}", err(&events));
    assert!(own.iter().all(|name| std::fs::read_to_string(here.join(name)).unwrap() == "mine"));
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), own.len());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its own folder is gone");

    let file = folder.path().join("events.jsonl");
    std::fs::write(&file, &events.stdout).unwrap();
    let imported = bench.run(&["import", file.to_str().unwrap(), "--name", "board"]);
    assert_eq!(imported.status.code(), Some(0), "{}", err(&imported));
    let shown = bench.json(&["show", "board"]);
    for probe in probes {
        assert!(row(&shown, probe)["value"].as_f64().unwrap() > 0.0, "{probe}");
    }
    let resumed = bench.run(&["run", "--resume", "board"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", err(&resumed));

    let figures = out(&run(&["--figures", "--budget", "10", "syscall.null", "nothing.known"]));
    assert!(
        figures.lines().any(|line| line.starts_with("syscall.null ") && line.contains(" ns")),
        "{figures}"
    );
    assert!(figures.contains("unknown to agent-c"), "{figures}");
    assert!(out(&run(&["--help"])).contains("tickmark import"));
}

#[test]
fn what_cannot_be_written_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(program).args(["--budget", "5", "syscall.null"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}
