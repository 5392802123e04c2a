//! Bad input: one clear line, a documented exit code, nothing lost.

use crate::bench::{Bench, err, out, page_of, program, refused, row, sandboxed};
use std::fs;

#[test]
fn typing_errors() {
    let bench = Bench::new();
    refused(&bench.run(&["run", "syscal.null"]), 2, &["syscal.null", "did you mean syscall.null"]);
    refused(&bench.run(&["list", "xyzzy"]), 2, &["xyzzy", "tickmark list"]);
    refused(&bench.run(&["rum"]), 2, &["rum", "run"]);
    refused(&bench.run(&["run", "--budget", "60"]), 2, &["60s"]);
    refused(&bench.run(&["run", "--runs", "0"]), 2, &["--runs"]);
    refused(&bench.run(&["run", "--priority", "fifo:99"]), 2, &["fifo:1 to fifo:98"]);
    refused(&bench.run(&["show", "nothing"]), 2, &["nothing", "tickmark recordings"]);
    refused(&bench.run(&["show", "last", "syscall.null"]), 2, &["no recordings", "tickmark run"]);
    refused(&bench.run(&["run", "--resume", "last"]), 2, &["no recordings"]);
    refused(&bench.run(&["run", "--cpu", "0-1", "syscall.null"]), 2, &["the number of one CPU"]);
    refused(&bench.run(&["run", "switch.2p.0k.acros"]), 2, &["did you mean switch.2p.0k.across"]);
    refused(
        &bench.run(&["run", "switch:processes=1"]),
        2,
        &["switch: processes cannot be \"1\"", "from 2 to 96"],
    );
    refused(&bench.run(&["run", "switch:processes="]), 2, &["processes cannot be \"\""]);
    refused(&bench.run(&["run", "switch:processes"]), 2, &["give PARAMETER=VALUE and not processes"]);
    refused(&bench.run(&["run", "switch:colour=red"]), 2, &["no parameter colour"]);
    refused(&bench.run(&["run", "nothing:a=1"]), 2, &["no probe nothing"]);
    refused(&bench.run(&["experiment", "kernel.x=0,1", "syscall.null"]), 2, &["sysctl:kernel.x=A,B"]);
    refused(&bench.run(&["lab", "boot", "--kernel", "./nothere", "--append", "-- x"]), 2, &["no such file"]);
    // Before a kernel is built.
    let boot = |more: &[&str]| bench.run(&[&["lab", "boot", "--kernel", "x86_64:hz=300"], more].concat());
    refused(&boot(&["--memory", "16"]), 2, &["16 MiB is too little", "36"]);
    refused(&boot(&["--agent", "c", "--write", "/a=b"]), 2, &["agent c writes no files"]);
    refused(&bench.run(&["lab", "run", "tick-100"]), 2, &["clock-tick-100-vs-1000"]);
    assert!(!bench.store().exists(), "nothing is made for a request that is wrong");
}

#[test]
fn a_cpu_that_is_not_there_or_not_allowed() {
    let bench = Bench::new();
    refused(
        &bench.run(&["run", "syscall.null", "--cpu", "4000"]),
        2,
        &["CPU 4000 does not exist", "allowed are"],
    );
    let allowed = out(&std::process::Command::new("nproc").output().unwrap());
    if allowed.trim() != "1" {
        let output = std::process::Command::new("taskset")
            .args(["-c", "0", program(), "run", "syscall.null", "--cpu", "1"])
            .env("TICKMARK_STORE", bench.store())
            .output()
            .unwrap();
        refused(&output, 2, &["CPU 1 is not allowed here; allowed are 0"]);
    }
    let left = fs::read_dir(bench.store().join("recordings")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a recording in which nothing was measured is not kept");
}

#[test]
fn a_priority_that_is_refused() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        std::process::Command::new("setpriv")
            .args(["--bounding-set=-sys_nice", program(), "run", "syscall.null"])
            .args(["--budget", "100ms", "--priority", "fifo:10"])
            .args(more)
            .env("TICKMARK_STORE", bench.store())
            .output()
            .unwrap()
    };
    let output = run(&[]);
    let said = err(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in
        ["priority fifo:10 was refused", "--priority-optional", "real-time limit (sched_rt_runtime_us"]
    {
        assert!(said.contains(part), "{said}");
    }
    let output = run(&["--priority-optional", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let model = page_of(&output.stdout);
    assert_eq!(model["recording"]["settled"]["priority"], "other");
    let findings = model["findings"].as_array().unwrap();
    assert!(findings.iter().any(|one| one["finding"] == "priority_refused"), "{findings:?}");
    let events = fs::read_to_string(bench.recording().join("events.jsonl")).unwrap();
    assert!(events.contains(r#""priority_refused":"Operation not permitted"#), "recorded as well");
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn a_store_that_cannot_be_written() {
    let bench = Bench::new();
    let store = bench.store();
    fs::create_dir_all(&store).unwrap();
    let place = store.to_str().unwrap();
    let output = sandboxed(&store, &["--ro-bind", place, place], &["run", "syscall.null"]).output().unwrap();
    refused(&output, 1, &["Read-only file system", "--store DIR"]);
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn a_store_that_runs_full_keeps_what_was_measured() {
    let bench = Bench::new();
    let inside = tempfile::tempdir().unwrap();
    // What stands in the full store is copied out before the sandbox goes.
    let script = format!(
        "{} run arithmetic --budget 4s; code=$?; cp -r /mnt/recordings {}; exit $code",
        program(),
        inside.path().display()
    );
    let output = std::process::Command::new("bwrap")
        .args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev"])
        .args(["--size", "400000", "--tmpfs", "/mnt", "--setenv", "TICKMARK_STORE", "/mnt"])
        .args(["sh", "-c", &script])
        .output()
        .unwrap();
    let text = err(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("No space left on device") && text.contains("--resume"), "{text}");
    let folder = fs::read_dir(inside.path().join("recordings")).unwrap().next().unwrap().unwrap().path();
    let model = bench.json(&["show", folder.to_str().unwrap()]);
    let done = model["rows"].as_array().unwrap().iter().filter(|row| row["runs"].as_u64() > Some(0)).count();
    assert!(done > 0, "what was measured before is there");
}

#[test]
fn recordings_that_are_damaged_or_newer() {
    let bench = Bench::new();
    let output = bench.run(&["run", "syscall.null", "--runs", "2", "--budget", "50ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let folder = bench.recording();
    let events = folder.join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, format!("{text}nonsense\n{{\"observed\":{{\"run\":")).unwrap();
    let output = bench.run(&["show", "last"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("half an event") && out(&output).contains("null call"), "{}", out(&output));

    let meta = folder.join("meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, text.replace("\"major\": 1", "\"major\": 2")).unwrap();
    refused(&bench.run(&["show", folder.to_str().unwrap()]), 1, &["format 2.", "reads 1.x"]);
    refused(&bench.run(&["show", "/"]), 1, &["not a recording"]);
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn without_proc_and_sys() {
    for missing in ["/proc", "/sys"] {
        let bench = Bench::new();
        let arguments = [
            "run",
            "syscall.null",
            "process.fork",
            "tick",
            "--runs",
            "2",
            "--budget",
            "1s",
            "--format",
            "json",
        ];
        let output = sandboxed(&bench.store(), &["--tmpfs", missing], &arguments).output().unwrap();
        let model = page_of(&output.stdout);
        assert_eq!(row(&model, "syscall.null")["status"], "ok", "{missing}");
        let fork = &row(&model, "process.fork")["status"];
        if missing == "/proc" {
            assert_eq!(fork, "unsupported", "its size could not be fixed");
            assert_eq!(output.status.code(), Some(4), "it was asked for by its name");
        } else {
            assert_eq!(fork, "ok");
            assert!(model["environment"]["clock.source"]["value"].as_str().unwrap().starts_with("unknown"));
        }
    }
}

/// A filter for getppid, as BPF: load the number, compare, refuse with EPERM, else allow.
fn deny_getppid() -> Vec<u8> {
    let instruction = |code: u16, jt: u8, jf: u8, k: u32| {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend([jt, jf]);
        bytes.extend(k.to_ne_bytes());
        bytes
    };
    const GETPPID: u32 = 110; // x86-64
    [
        instruction(0x20, 0, 0, 0),
        instruction(0x15, 0, 1, GETPPID),
        instruction(0x06, 0, 0, 0x0005_0001),
        instruction(0x06, 0, 0, 0x7fff_0000),
    ]
    .concat()
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn a_system_call_that_a_filter_denies() {
    let bench = Bench::new();
    let filter = bench.store().with_extension("bpf");
    fs::write(&filter, deny_getppid()).unwrap();
    let run = ["run", "syscall.null", "syscall.read", "--runs", "2", "--budget", "50ms", "--format", "json"];
    let script = format!(
        "exec bwrap --bind / / --dev-bind /dev /dev --seccomp 9 {} {} 9<{}",
        program(),
        run.join(" "),
        filter.display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    let model = page_of(&output.stdout);
    let denied = row(&model, "syscall.null");
    assert_eq!(denied["status"], "unsupported");
    let why = denied["notes"][0].as_str().unwrap();
    assert!(why.contains("getppid") && why.contains("os error 1"), "{why}");
    assert_eq!(row(&model, "syscall.read")["status"], "ok", "the rest runs");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
#[ignore = "second tier: valgrind"]
fn without_a_vdso() {
    // valgrind hides the vDSO from the programs that it runs.
    let bench = Bench::new();
    let clock = ["clock.monotonic.read", "clock.monotonic.syscall"];
    let arguments =
        [&["--tool=none", "--quiet", "--trace-children=yes", program(), "run"], &clock[..]].concat();
    let output = std::process::Command::new("valgrind")
        .args(arguments)
        .args(["--runs", "1", "--budget", "200ms", "--format", "json"])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    let model = page_of(&output.stdout);
    assert_eq!(model["environment"]["kernel.vdso"]["value"], "no");
    let findings = model["findings"].to_string();
    assert!(findings.contains("no vDSO"), "{findings}");
    assert!(row(&model, "clock.monotonic.read")["value"].as_f64().unwrap() > 0.0);
}

/// What is no UTF-8 is a wrong argument, and no reason to panic.
#[test]
fn arguments_of_any_bytes_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    for before in [&["stat"][..], &["compare"]] {
        let mut command = Bench::new().command(before);
        command.arg(std::ffi::OsStr::from_bytes(b"a\xff"));
        let output = command.output().unwrap();
        refused(&output, 2, &["UTF-8"]);
    }
}
