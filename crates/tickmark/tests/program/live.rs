//! `tickmark live`: what is planted is seen within a second, and it costs what it says.

use crate::bench::{Bench, err, out, refused};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs before other tasks for 1 ms of every 2, and for 12 s at most.
const SPINS: &str = "import os,time\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))\nprint(flush=True)\nend = time.time() + 12\n\
                     while time.time() < end:\n  t = time.time()\n  while time.time() < t + .001: pass\n  time.sleep(.001)\n";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "second tier: root"]
fn a_load_a_late_wake_up_and_a_gap_are_seen_within_a_second() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let mut command = bench.command(&["live", "--cpu", &cpu, "--format", "json", "--duration", "20s"]);
    let mut live = Ended(command.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(live.0.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = lines.next().unwrap();
    assert_eq!(first["cpus"][0]["cpu"].to_string(), cpu, "{first}");
    let mut busy = Command::new("taskset");
    busy.args(["-c", &cpu, "python3", "-c", SPINS]).stdout(Stdio::piped());
    let mut busy = Ended(busy.spawn().unwrap());
    let mut begun = String::new();
    BufReader::new(busy.0.stdout.take().unwrap()).read_line(&mut begun).unwrap();
    assert_eq!(begun, "\n", "the disturber did not begin");
    // The first line of which it had the whole second.
    let whole = jiff::Timestamp::now() + Duration::from_secs(1);
    let at = |line: &Value| line["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let observed = lines.find(|line| at(line) >= whole).unwrap();
    let of = |path: &str| {
        observed.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {observed}"))
    };
    assert!(of("/cpus/0/busy") > 0.3, "{observed}");
    assert!(of("/cpus/0/wake_up/max") > 0.4e6, "{observed}");
    assert!(of("/cpus/0/longest_gap") > 0.9e6 && of("/cpus/0/lost_share") > 0.2, "{observed}");
    // Of a second that the hypervisor took no part of, as its time counts as the program's.
    let own = |line: Value| line["own_share_of_a_cpu"].as_f64().unwrap();
    let least = lines.take(5).map(own).fold(of("/own_share_of_a_cpu"), f64::min);
    assert!(least <= 0.02, "{least}");
}

#[test]
#[ignore = "second tier: root"]
fn who_has_a_cpu_is_named() {
    let _machine = crate::bench::machine();
    let (bench, cpu) = (Bench::new(), crate::bench::cpu());
    let mut busy = Command::new("taskset");
    busy.args(["-c", &cpu, "perl", "-e", "$0 = 'tmbusy'; alarm 20; 1 while 1"]);
    let _busy = Ended(busy.spawn().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    let page = bench.run(&["live", "--cpu", &cpu, "--format", "json", "--duration", "4s"]);
    let last: Value = serde_json::from_str(out(&page).lines().last().unwrap()).unwrap();
    let occupants = last["cpus"][0]["occupants"].as_array().unwrap_or_else(|| panic!("{last}"));
    let busy = occupants.iter().find(|one| one["name"].as_str().unwrap().starts_with("tmbusy"));
    // Beside what else the machine has to do.
    assert!(busy.is_some_and(|one| one["share"].as_f64().unwrap() > 0.1), "{last}");
    let sum: f64 = occupants.iter().map(|one| one["share"].as_f64().unwrap()).sum();
    assert!(sum <= 1.001 && last["own_share_of_a_cpu"].as_f64().unwrap() <= 0.03, "{last}");
    let text = out(&bench.run(&["live", "--cpu", &cpu, "--duration", "3s"]));
    assert!(text.contains(", had by ") && text.contains("tmbusy"), "{text}");
}

#[test]
fn without_a_terminal_each_cpu_is_a_line_and_the_end_says_the_cost() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // The second that ends it is shown.
    let short = out(&bench.run(&["live", "--duration", "1s"]));
    assert!(short.lines().any(|line| line.contains("wake max ")), "{short}");
    let done = bench.run(&["live", "--duration", "3500ms"]);
    let (text, cpus) = (out(&done), crate::bench::cpus());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    // A line of each CPU a second, and the last.
    assert!(
        text.lines().count() > cpus.len() && text.lines().count() % cpus.len() == 1 % cpus.len(),
        "{text}"
    );
    assert!(text.contains("wake max ") && text.contains("clock read "), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("this view takes ")), "{text}");
    refused(&bench.run(&["live", "--cpu", "4095"]), 2, &["--cpu", "may run on"]);
}

/// A terminal that obeys no sequences gets rows, and one of a C locale ASCII.
#[test]
fn a_plain_terminal_gets_plain_text() {
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let shown = |name: &str, value: &str| {
        let words = format!("{} live --cpu {cpu} --duration 2s", crate::bench::program());
        let mut script = Command::new("script");
        script.args(["-qec", &words, "/dev/null"]).env("TICKMARK_STORE", bench.store());
        script.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").env(name, value).stdin(Stdio::null());
        out(&script.output().unwrap())
    };
    for (name, value) in [("TERM", "dumb"), ("LC_ALL", "C")] {
        let text = shown(name, value);
        assert!(!text.contains("\u{1b}[?") && text.contains("CPU "), "{name}={value}: {text:?}");
    }
    assert!(shown("TERM", "xterm").contains("\u{1b}[?1049h"), "the view");
    assert!(bench.run(&["run", "syscall.null", "--once"]).status.success());
    let shown = bench.command(&["show"]).env("LC_ALL", "C").output().unwrap();
    assert!(out(&shown).is_ascii() && out(&shown).contains(" - Linux "), "{}", out(&shown));
}
