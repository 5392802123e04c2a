//! Removes the needs of probes, piece by piece: nothing hangs, every metric says how it ended, and the rest is kept.

use crate::bench::{Bench, err, page_of, program, row, signal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Calls that the C library makes without the kernel where it gives a vDSO.
const VDSO: &[&str] = &["clock_gettime", "clock_getres", "gettimeofday", "time"];

/// Without these a process cannot go on to say so; what ended it is told.
const WITHOUT_WORDS: &[&str] = &["rt_sigreturn", "futex", "exit_group"];

/// True if a probe may do without a call of the kernel: it reads a clock the way that programs do.
fn through_the_vdso(call: &str, outcome: &Value) -> bool {
    let probe = outcome["probe"].as_str().unwrap();
    let ways = [".read", ".step", ".resolution", ".between_cpus", ".late"];
    VDSO.contains(&call) && ways.iter().any(|way| probe.ends_with(way))
}

/// True if one of some tries meets the call: a wait that is over before it begins, as on a busy machine, makes none.
fn is_needed_at_times(bench: &Bench, deny: &str, probe: &str) -> bool {
    (0..8).any(|_| {
        let output = bench.run(&["verify", "--deny", deny, "--format", "json", probe]);
        let outcomes = page_of(&output.stdout);
        outcomes["probes"][0]["status"] != "ok"
    })
}

/// The probes that name each call.
fn needs(bench: &Bench) -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for probe in bench.json(&["list"])["metrics"].as_array().unwrap() {
        for call in probe["needs"].as_array().unwrap() {
            let name = probe["name"].as_str().unwrap().to_owned();
            calls.entry(call.as_str().unwrap().to_owned()).or_default().push(name);
        }
    }
    calls
}

#[test]
#[ignore = "second tier: 20 to 30 s"]
fn each_system_call_that_a_probe_names_is_denied_in_turn() {
    let bench = Bench::new();
    let calls = needs(&bench);
    assert!(calls.len() > 40, "{}", calls.len());
    for (call, probes) in &calls {
        for (error, says) in [("EPERM", "os error 1)"), ("ENOSYS", "os error 38)")] {
            let deny = format!("{call}={error}");
            let mut arguments = vec!["verify", "--deny", &deny, "--format", "json"];
            arguments.extend(probes.iter().map(String::as_str));
            let started = Instant::now();
            let output = bench.run(&arguments);
            assert!(started.elapsed() < Duration::from_secs(60), "{deny} hangs");
            let outcomes = page_of(&output.stdout);
            let outcomes = outcomes["probes"].as_array().unwrap();
            assert_eq!(outcomes.len(), probes.len(), "{deny}: each says how it ended");
            for outcome in outcomes {
                let status = outcome["status"].as_str().unwrap();
                let message = outcome["reason"]["message"].as_str().unwrap_or_default();
                match status {
                    // The C library has another call for that, or none at all.
                    "ok" => assert!(
                        through_the_vdso(call, outcome)
                            || deny == "clone3=ENOSYS"
                            || is_needed_at_times(&bench, &deny, outcome["probe"].as_str().unwrap()),
                        "{deny}: {outcome} is named as a need and is none"
                    ),
                    "unsupported" if call == "exit_group" => assert!(message.contains(call.as_str())),
                    "unsupported" => {
                        assert!(
                            message.contains(call.as_str()) && message.contains(says),
                            "{deny}: {outcome}"
                        );
                    }
                    "failed" => assert!(
                        WITHOUT_WORDS.contains(&call.as_str()) && !message.is_empty(),
                        "{deny}: {outcome}"
                    ),
                    _ => panic!("{deny}: {outcome}"),
                }
                assert!(!message.contains("101"), "{deny}: {outcome} panicked");
            }
        }
    }
}

#[test]
fn no_probe_needs_more_than_it_names() {
    let bench = Bench::new();
    let status = |outcomes: &Value| -> BTreeMap<String, (String, Value)> {
        let one = |o: &Value| {
            let text = |key: &str| o[key].as_str().unwrap().to_owned();
            (text("probe"), (text("status"), o["reason"].clone()))
        };
        outcomes["probes"].as_array().unwrap().iter().map(one).collect()
    };
    let free = status(&bench.json(&["verify"]));
    let held = status(&bench.json(&["verify", "--only-needed"]));
    assert_eq!(free.len(), held.len());
    for (probe, (status, _)) in &free {
        // What the system's shell needs is not ours to say.
        if probe != "process.sh" {
            assert_eq!(&held[probe].0, status, "{probe}: {}", held[probe].1);
        }
    }
}

/// Processes that descend from one, with the generation of each.
fn descendants(of: u32) -> Vec<(u32, usize)> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<(u32, u32)> = pids
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![(of, 0)];
    let mut at = 0;
    while at < found.len() {
        let (parent, generation) = found[at];
        found.extend(all.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| (*pid, generation + 1)));
        at += 1;
    }
    found
}

/// Starts a run, kills the first peer that shows up, and gives what the run printed, and how long it took to end.
fn with_a_peer_killed(bench: &Bench, probe: &str) -> (Output, Duration) {
    let arguments = ["run", probe, "--once", "--budget", "60s", "--format", "json"];
    let mut child = bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The program, its agent, the run, its peers.
    let peer = loop {
        let peers = descendants(child.id()).into_iter().filter(|(_, generation)| *generation == 3);
        if let Some((pid, _)) = peers.max() {
            break pid;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("{probe} has no peer");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    std::thread::sleep(Duration::from_millis(100));
    let killed = Instant::now();
    assert!(signal("KILL", peer));
    (child.wait_with_output().unwrap(), killed.elapsed())
}

#[test]
fn a_server_that_is_killed_ends_its_run_at_once_and_is_named() {
    let probes = [
        "ipc.pipe.round_trip",
        "ipc.unix.round_trip",
        "ipc.udp.round_trip",
        "ipc.tcp.round_trip",
        "ipc.rpc_udp.round_trip",
        "ipc.rpc_tcp.round_trip",
        "ipc.futex.round_trip",
        "ipc.eventfd.round_trip",
        "bandwidth.pipe",
        "bandwidth.tcp",
        "switch.16p.64k",
    ];
    // It has peers where it may move.
    let unpinned = (crate::bench::cpus().len() > 1).then_some("switch.2p.0k.unpinned");
    for probe in probes.into_iter().chain(unpinned) {
        let bench = Bench::new();
        let (output, took) = with_a_peer_killed(&bench, probe);
        // The run had a minute.
        assert!(took < Duration::from_secs(30), "{probe} ended {took:?} later");
        assert_eq!(output.status.code(), Some(1), "{probe}: {}", err(&output));
        let model = page_of(&output.stdout);
        let row = row(&model, probe);
        assert_eq!(row["status"], "failed", "{probe}");
        let why = row["notes"][0].as_str().unwrap();
        // The end of its pipe may be seen before its death is.
        let observed = ["was ended", "Broken pipe", "Connection reset", "Connection refused"];
        assert!(observed.iter().any(|text| why.contains(text)), "{probe}: {why}");
    }
}

/// Every row has a value or says why not; these metrics have one.
fn complete(output: &Output, with_values: &[&str]) -> Value {
    let model = page_of(&output.stdout);
    for row in model["rows"].as_array().unwrap() {
        let explained = row["notes"][0].as_str().is_some_and(|note| !note.is_empty());
        assert!(row["value"].is_number() || explained, "{row}");
    }
    for metric in with_values {
        assert!(row(&model, metric)["value"].is_number(), "{metric} is not touched by it");
    }
    model
}

#[test]
#[ignore = "second tier: bubblewrap"]
fn a_disk_that_is_full() {
    let bench = Bench::new();
    let output = Command::new("bwrap")
        // Five pages: room for one file of 10 KiB, however few of them a slow machine makes in a batch.
        .args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--size", "20480", "--tmpfs", "/mnt"])
        .args(["--setenv", "TMPDIR", "/mnt", program(), "run", "file", "bandwidth", "syscall.null", "--once"])
        .args(["--small", "--budget", "1s", "--format", "json"])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    let model =
        complete(&output, &["syscall.null", "file.create.0k", "bandwidth.pipe", "bandwidth.memory.read"]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    for metric in ["bandwidth.file_reread", "bandwidth.mmap_reread", "file.create.10k", "file.delete.10k"] {
        let row = row(&model, metric);
        assert!(row["value"].is_null(), "{row}");
        assert!(row["notes"][0].as_str().unwrap().contains("No space left on device"), "{row}");
    }
}

#[test]
fn few_descriptors() {
    let bench = Bench::new();
    let script =
        format!("ulimit -n 32; exec {} run lmbench --once --small --budget 2s --format json", program());
    let output =
        Command::new("sh").args(["-c", &script]).env("TICKMARK_STORE", bench.store()).output().unwrap();
    let model =
        complete(&output, &["syscall.null", "ipc.tcp.round_trip", "switch.8p.64k", "file.create.10k"]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    for metric in ["syscall.select.files", "syscall.select.tcp", "switch.16p.64k"] {
        let row = row(&model, metric);
        assert_eq!(row["status"], "failed", "{row}");
        assert!(row["notes"][0].as_str().unwrap().contains("Too many open files"), "{row}");
    }
}

#[test]
#[ignore = "second tier: root"]
fn few_processes() {
    // The limit is not root's: another user runs it, who needs a way to the program and to the store.
    let folder = tempfile::Builder::new().prefix("tickmark-nproc").tempdir().unwrap();
    let copy = folder.path().join("tickmark");
    fs::copy(program(), &copy).unwrap();
    let open = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(folder.path());
    let output = Command::new("setpriv")
        .args(["--reuid=64321", "--regid=64321", "--clear-groups", "prlimit", "--nproc=10"])
        .arg(copy)
        .args(["run", "communication", "process.thread", "process.fork", "syscall.null", "--once", "--small"])
        .args(["--budget", "2s", "--format", "json"])
        .env("TICKMARK_STORE", folder.path().join("store"))
        .output()
        .unwrap();
    let model = complete(&output, &["syscall.null", "ipc.pipe.round_trip", "switch.2p.0k", "process.fork"]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
    let row = row(&model, "switch.16p.0k");
    assert_eq!(row["status"], "failed", "{row}");
    assert!(row["notes"][0].as_str().unwrap().contains("clone: Resource temporarily unavailable"), "{row}");
}

/// A memory cgroup of its own, removed when it is dropped.
struct Cgroup(PathBuf);

impl Cgroup {
    /// Version 1 or 2, whichever is mounted; none where it cannot be made.
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("tickmark-test-{}", std::process::id());
        for (root, limit) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let group = Self(Path::new(root).join(&name));
            if fs::create_dir(&group.0).is_ok() && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What ran in it has ended; the kernel may take a moment to see that.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
#[ignore = "second tier: root"]
fn the_whole_suite_in_16_mb() {
    let group = Cgroup::new(16 << 20).unwrap_or_else(|| panic!("no memory cgroup can be made"));
    let bench = Bench::new();
    // As after a boot: nothing of the program is in memory, and what reading it brings counts as the group's.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("tickmark");
    // The program as users have it, where it is built: of the one for tests twice as much is in memory.
    let released = Path::new(program()).with_file_name("../release/tickmark");
    fs::copy(if released.exists() { &released } else { Path::new(program()) }, &copy).unwrap();
    let cold = Command::new("dd")
        .arg(format!("of={}", copy.display()))
        .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"])
        .status();
    assert!(cold.unwrap().success());
    let run = format!("{} run lmbench --runs 2 --budget 16s --format json", copy.display());
    let script = format!("echo $$ > {}/cgroup.procs && exec {run}", group.0.display());
    let output =
        Command::new("sh").args(["-c", &script]).env("TICKMARK_STORE", bench.store()).output().unwrap();
    assert!(!output.stdout.is_empty(), "{}: {}", output.status, err(&output));
    let model = complete(&output, &["process.exec", "switch.16p.64k", "bandwidth.file_reread", "vm.mmap"]);
    let without: Vec<&Value> =
        model["rows"].as_array().unwrap().iter().filter(|row| row["status"] != "ok").collect();
    assert_eq!(output.status.code(), Some(0), "{}\n{without:?}", err(&output));
    let names: Vec<&str> = without.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["memory.latency.random.main"], "{without:?}");
    let sizes = &model["environment"]["sizes.memory"];
    assert_eq!(sizes["value"], "2097152");
    let why = sizes["source"].as_str().unwrap();
    assert!(why.starts_with("small: ") && why.contains(" MiB free by cgroup.memory"), "{sizes}");
}
