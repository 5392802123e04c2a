//! Whose CPU time a command was.

use crate::bench::{Bench, err, out, refused};

/// Takes half a second of CPU time, in bursts of 10 ms with as long a rest between them, and says how much it took.
const HALF: &str = "import time\nwhile time.process_time() < .5:\n  t = time.process_time()\n  while time.process_time() < t + .01: pass\n  time.sleep(.01)\n";

#[test]
fn a_bill_has_what_the_command_took_and_adds_up() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // Behind the dashes everything is the command's.
    let asked = ["bill", "--runs", "3", "--name", "half", "--format", "json", "--", "python3", "-c", HALF];
    let page: serde_json::Value = serde_json::from_str(&out(&bench.run(&asked))).unwrap();
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
    sums.sort_by(f64::total_cmp);
    assert!((sums[1] - total).abs() < 1e3, "{sums:?} and {total}: {page}");
    let text = out(&bench.run(&["bill", "--of", "half"]));
    assert!(text.contains("billed to it") && text.contains("without them, billed"), "{text}");
}

#[test]
fn a_command_that_fails_has_no_bill() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    refused(&bench.run(&["bill", "--runs", "1", "--", "/nowhere"]), 1, &["no bill", "/nowhere"]);
    refused(&bench.run(&["bill", "--runs", "1", "--", "sh", "-c", "exit 3"]), 1, &["exit status: 3"]);
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
