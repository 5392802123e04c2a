//! Whose CPU time a command was.

use crate::bench::{Bench, err, out, page_of, refused};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

/// Takes half a second of CPU time, in bursts of 10 ms with as long a rest between them, and says how much it took.
const HALF: &str = "import time\nwhile time.process_time() < .5:\n  t = time.process_time()\n  while time.process_time() < t + .01: pass\n  time.sleep(.01)\n";

#[test]
#[ignore = "second tier: Python"]
fn a_bill_has_what_the_command_took_and_adds_up() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // Behind the dashes everything is the command's.
    let arguments =
        ["bill", "--runs", "3", "--name", "half", "--format", "json", "--", "python3", "-c", HALF];
    let page = page_of(out(&bench.run(&arguments)));
    let part =
        |name: &str| page["parts"][name]["median"].as_f64().unwrap_or_else(|| panic!("no {name}: {page}"));
    // The interpreter takes some more to start.
    assert!((0.5e9..0.8e9).contains(&part("billed")), "{page}");
    assert_eq!(page["parts"]["billed"]["runs"].as_array().unwrap().len(), 3);
    let (total, time) = (page["total"].as_f64().unwrap(), page["time"].as_f64().unwrap());
    assert!(total > 0.9 * part("billed") && time > part("billed"), "{page}");
    assert!((0.5e9..0.8e9).contains(&page["unwatched"]["billed"].as_f64().unwrap()), "{page}");
    // In each run the parts are the total.
    let parts = ["billed", "interrupts", "kernel_threads", "others", "no_task", "unattributed"];
    let run =
        |run: usize| parts.iter().map(|part| page["parts"][part]["runs"][run].as_f64().unwrap()).sum::<f64>();
    let mut sums = [0, 1, 2].map(run);
    sums.sort_unstable_by(f64::total_cmp);
    assert!((sums[1] - total).abs() < 1e3, "{sums:?} and {total}: {page}");
    let text = out(&bench.run(&["bill", "--of", "half"]));
    assert!(text.contains("billed to it") && text.contains("without them, billed"), "{text}");
}

/// Sends 3000 datagrams to itself over loopback, computes for a second, and is called tmbilled.
const SENDS: &str = "exec perl -e '$0 = \"tmbilled\"; use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0); bind($s, sockaddr_in(0, INADDR_LOOPBACK)); \
                     my $own = getsockname($s); send($s, \"x\", 0, $own) for 1..3000; my $i = 0; $i++ while (times)[0] + (times)[1] < 1;'";

#[test]
#[ignore = "second tier: root"]
fn who_had_the_cpus_beside_the_command_is_named_by_the_kernels_events() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let page =
        page_of(&bench.run(&["bill", "--runs", "1", "--format", "json", "--", "sh", "-c", SENDS]).stdout);
    let recorded = &page["recorded"];
    let takers = recorded["takers"].as_array().unwrap_or_else(|| panic!("{page:#}"));
    let sum = |name: &str, key: &str| -> f64 {
        let own = takers.iter().filter(|one| one["name"].as_str().unwrap().starts_with(name));
        own.map(|one| one[key].as_f64().unwrap()).sum()
    };
    // By its own account in another run, and by events in this one.
    let billed = page["parts"]["billed"]["median"].as_f64().unwrap();
    let own = sum("tmbilled", "total");
    assert!((0.7..1.4).contains(&(own / billed)), "{own} of {billed}: {page:#}");
    // Each packet, where the kernel does not handle several at once; and those of others.
    let packets = sum("softirq NET_RX", "count");
    assert!((1_500.0..5_000.0).contains(&packets), "{packets}: {page:#}");
    // All that was had, and what was left, is all of the time of all CPUs.
    let all = |key: &str| recorded[key].as_f64().unwrap();
    let whole = sum("", "total") + all("left") + all("unknown");
    assert!((whole / all("span") - 1.0).abs() < 1e-3, "{page:#}");
    let text = out(&bench.run(&["bill", "--of", "last"]));
    assert!(text.contains("by the kernel's events") && text.contains("tmbilled"), "{text}");
}

#[test]
fn a_command_that_fails_has_no_bill() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    refused(&bench.run(&["bill", "--runs", "1", "--", "/nowhere"]), 2, &["no program /nowhere"]);
    refused(&bench.run(&["bill", "--runs", "1", "--", "nosuchcmd"]), 2, &["no program nosuchcmd"]);
    assert_eq!(bench.recordings().as_array().map(Vec::len), Some(0), "nothing was begun");
    refused(&bench.run(&["bill", "--runs", "1", "--", "sh", "-c", "exit 3"]), 1, &["exit status: 3"]);
    // What failed says so, and is no last recording.
    let listed = out(&bench.run(&["recordings"]));
    assert!(listed.contains("failed") && !listed.contains("complete"), "{listed}");
    refused(&bench.run(&["show", "last"]), 2, &["last", "measured something"]);
    // Where the user is: a program of this folder, and a file that it finds there.
    std::fs::create_dir_all(bench.store()).unwrap();
    std::fs::write(bench.store().join("work"), "#!/bin/sh\ntest -f work\n").unwrap();
    let made = std::process::Command::new("chmod").args(["+x", "work"]).current_dir(bench.store()).status();
    assert!(made.unwrap().success());
    let here =
        bench.command(&["bill", "--runs", "1", "--", "./work"]).current_dir(bench.store()).output().unwrap();
    assert_eq!(here.status.code(), Some(0), "{}", err(&here));
    let none = bench.run(&["bill"]);
    assert_eq!(none.status.code(), Some(2), "{}", err(&none));
    assert!(bench.run(&["run", "syscall.null", "--once", "--name", "other"]).status.success());
    refused(&bench.run(&["bill", "--of", "other"]), 2, &["has no bill"]);
}

/// A process that runs already, for ever: a quarter of a CPU.
const QUARTER: &str = "import time\nwhile True:\n  t = time.perf_counter() + .005\n  while time.perf_counter() < t: pass\n  time.sleep(.015)\n";

struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = std::process::Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "second tier: Python"]
fn what_runs_already_is_billed_and_counted() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // The work is done by a process that the one which is named has started.
    let shell = format!("python3 -c '{QUARTER}' & wait");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &shell]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().unwrap());
    let pid = running.0.id().to_string();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let counter = bench.store().join("count");
    std::fs::create_dir_all(bench.store()).unwrap();
    std::fs::write(&counter, "0").unwrap();
    // Each reading adds ten.
    let count = format!("n=$(cat {0}); echo $((n + 10)) > {0}; echo $n", counter.display());
    let page = bench.json(&[
        "bill",
        "--pid",
        &pid,
        "--runs",
        "2",
        "--duration",
        "4s",
        "--count",
        &count,
        "--name",
        "run",
    ]);
    let (time, billed) =
        (page["time"].as_f64().unwrap(), page["parts"]["billed"]["median"].as_f64().unwrap());
    // 4 s for two runs of each way, and one that is recorded.
    assert!((0.7e9..2e9).contains(&time) && (0.1..0.5).contains(&(billed / time)), "{page}");
    assert_eq!(
        (&page["count"], &page["unwatched"]["count"], &page["ran_already"]),
        (&10.0.into(), &10.0.into(), &true.into())
    );
    let text = out(&bench.run(&["bill", "--of", "run"]));
    assert!(
        text.contains(&format!("process {pid}"))
            && text.contains("for each")
            && text.contains("ticks among them"),
        "{text}"
    );
    // What holds the computing tasks would be billed for them.
    let own = std::process::id().to_string();
    refused(&bench.run(&["bill", "--pid", &own, "--runs", "1"]), 1, &["holds this tickmark itself"]);
    drop(running);
    refused(&bench.run(&["bill", "--pid", &pid, "--runs", "1"]), 1, &["no bill", "no process"]);
    refused(&bench.run(&["bill", "--cgroup", "/tmp", "--runs", "1"]), 1, &["is no cgroup"]);
    refused(
        &bench.run(&["bill", "--runs", "1", "--count", "echo many", "--", "true"]),
        1,
        &["echo many", "no number"],
    );
}
