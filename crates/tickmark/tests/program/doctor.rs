//! `tickmark doctor`, on this machine and with faults that are really made.

use crate::bench::{Bench, err, machine, out, page_of, program, refused, words};
use crate::half::{Half, in_group};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

fn check<'a>(page: &'a Value, name: &str) -> &'a Value {
    let all = page["checks"].as_array().unwrap();
    all.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check {name}: {page:#}"))
}

fn is_found(page: &Value, name: &str) -> bool {
    check(page, name)["outcome"].get("found").is_some()
}

#[test]
fn a_machine_is_looked_at_and_every_check_ends_in_one_of_four_ways() {
    let _machine = machine();
    let bench = Bench::new();
    let output = bench.run(&["doctor", "--format", "json"]);
    let page = page_of(&output.stdout);
    let all = page["checks"].as_array().unwrap();
    let names: BTreeSet<&str> = all.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), all.len(), "each once: {page:#}");
    for one in all {
        let outcome = &one["outcome"];
        let ways = [
            outcome == "fine",
            outcome.get("found").is_some(),
            outcome.get("usual").is_some(),
            outcome["not_visible"].is_string(),
        ];
        assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{one:#}");
        assert!(
            outcome.get("not_visible").is_some() || !one["evidence"].as_array().unwrap().is_empty(),
            "{one:#}"
        );
    }
    let found = names.iter().any(|name| is_found(&page, name));
    assert_eq!(output.status.code(), Some(if found { 3 } else { 0 }), "{}", err(&output));
    // The same recording again, for people and for a scraper: nothing is measured a second time.
    let text = out(&bench.run(&["doctor", "--of", "last"]));
    assert_eq!(text.contains("Nothing found by"), !found, "{text}");
    let metrics = out(&bench.run(&["doctor", "--of", "last", "--format", "prometheus"]));
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    for one in all {
        let name = one["name"].as_str().unwrap();
        let line = |value: u8| metrics.contains(&format!("tickmark_finding{{name=\"{name}\"}} {value}\n"));
        let visible = one["outcome"].get("not_visible").is_none();
        assert_eq!(
            (line(0), line(1)),
            (visible && !is_found(&page, name), is_found(&page, name)),
            "{metrics}"
        );
    }
    let recordings = bench.recordings();
    let count = recordings.as_array().or_else(|| recordings["recordings"].as_array()).unwrap().len();
    assert_eq!(count, 1);
}

#[test]
#[ignore = "second tier: 13 s"]
fn what_delays_wake_ups_is_found_and_its_removal_proved() {
    let _machine = machine();
    let bench = Bench::new();
    let output = bench.run(&["doctor", "--only", "timer-slack", "--format", "json"]);
    // What every Linux has is no fault: a node that is as it comes is in order.
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = page_of(&output.stdout);
    assert_eq!(page["checks"].as_array().unwrap().len(), 1);
    // The usual slack of 50 us is a tenth of the wake-up latency and more, but where the machine is so busy that it is no matter.
    let of = check(&page, "timer-slack");
    let late = of["evidence"][1]["value"]["time"].as_f64().unwrap();
    assert!(!is_found(&page, "timer-slack"), "{page:#}");
    assert_eq!(of["outcome"].get("usual").is_some(), late < 500_000.0, "{page:#}");
    let output = bench.run(&["doctor", "--only", "timer-slack", "--prove"]);
    let text = out(&output);
    if !text.contains("Usual on Linux") {
        assert!(text.contains("nothing to prove"), "{text}");
        return;
    }
    // How sure it can be depends on what else runs here; that less slack is no later does not.
    for part in ["proving timer-slack: slack=50000ns,1ns", "timer.clock_nanosleep.late", "slack restored"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // What would decide more is an experiment: the doctor takes no number of blocks.
    let next = words(&text).split_once("next: tickmark ").map(|(_, next)| next.to_owned());
    assert!(next.is_none_or(|next| next.starts_with("experiment slack=50000ns,1ns ")), "{text}");
    let row = text.lines().find(|line| line.starts_with("timer.clock_nanosleep.late  ")).unwrap_or_default();
    assert!(!row.contains("worse"), "{text}");
}

/// What a task took, by the kernel's events, is what is saved when it is kept away; and it may run where it did, afterwards.
#[test]
#[ignore = "second tier: root, two CPUs"]
fn what_a_task_took_is_saved_when_it_is_moved_away_and_it_comes_back() {
    let _machine = machine();
    let (bench, cpu) = (Bench::new(), crate::bench::cpu());
    let busy = "$0 = 'tmmoved'; alarm 600; while (1) { $i = 0; $i++ while $i < 600000; select(undef, undef, undef, .01) }";
    let mut task = Command::new("taskset").args(["-c", &cpu, "perl", "-e", busy]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let knob = format!("proving busy-cpu: affinity:{}=now,not:{cpu}", task.id());
    let text = proved(&bench, &cpu, &knob);
    let allowed = std::fs::read_to_string(format!("/proc/{}/status", task.id())).unwrap();
    let _ = task.kill();
    let _ = task.wait();
    for part in
        [&knob, "less of the CPU is lost: promised", "99 % of wake-ups are at most this late: promised"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // Beside whatever else this machine does, what was lost becomes less.
    let lost = text.lines().find(|line| line.trim_start().starts_with("tick.lost ")).unwrap_or_default();
    assert!(lost.contains(" -") && text.contains("restored"), "{text}");
    let list = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    assert_eq!(list, cpu, "put back");
}

/// What the doctor says of the proof by a knob. Another test's task may take more of the CPU for once: then that one is moved away.
fn proved(bench: &Bench, cpu: &str, knob: &str) -> String {
    let prove = || out(&bench.run(&["doctor", "--only", "busy-cpu", "--cpu", cpu, "--prove"]));
    let mut text = prove();
    for _ in 0..2 {
        if text.contains(knob) {
            break;
        }
        text = prove();
    }
    text
}

/// A thread of the kernel stays on its CPU; a task in real time makes it wait.
#[test]
#[ignore = "second tier: root, two CPUs"]
fn what_a_thread_of_the_kernel_took_is_saved_by_a_priority() {
    let _machine = machine();
    let (bench, cpus) = (Bench::new(), crate::bench::cpus());
    let (cpu, other) =
        (crate::bench::cpu(), cpus.iter().map(u32::to_string).find(|one| *one != crate::bench::cpu()));
    // Each write has a worker of each CPU gather its counts (vm.rst of the kernel's documentation).
    let gather = "ulimit -t 300; while :; do echo 1 > /proc/sys/vm/stat_refresh; done";
    let mut task =
        Command::new("taskset").args(["-c", &other.unwrap(), "bash", "-c", gather]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let text = proved(&bench, &cpu, "proving busy-cpu: policy=other,fifo:1");
    let _ = task.kill();
    let _ = task.wait();
    // The function that a worker carries out, and what is the worker's own.
    assert!(text.contains("lost to work ") || text.contains("lost to kworker/"), "{text}");
    for part in ["proving busy-cpu: policy=other,fifo:1", "less of the CPU is lost: promised"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let lost = text.lines().find(|line| line.trim_start().starts_with("tick.lost ")).unwrap_or_default();
    assert!(lost.contains(" -") && !text.contains("wake-ups are at most this late"), "{text}");
}

/// The time that a quota takes comes back when it is lifted, and the quota is there again afterwards.
#[test]
#[ignore = "second tier: root"]
fn what_a_quota_took_is_saved_when_it_is_lifted_and_it_comes_back() {
    let _machine = machine();
    let (bench, half) = (Bench::new(), Half::make());
    let quota =
        ["cpu.max", "cpu.cfs_quota_us"].map(|name| half.0.join(name)).into_iter().find(|file| file.exists());
    let quota = quota.unwrap();
    let before = std::fs::read_to_string(&quota).unwrap();
    let words = ["doctor", "--only", "throttled,busy-cpu", "--cpu", &crate::bench::cpu(), "--prove"];
    let output = in_group(&half.0, &bench, &words).output().unwrap();
    let after = std::fs::read_to_string(&quota).unwrap();
    drop(half);
    let text = out(&output);
    // Another task may be found, and proved, beside it.
    let own = text.split("\nproving ").find(|part| part.starts_with("throttled: ")).unwrap_or_default();
    let knob = format!("throttled: {}={}", quota.display(), before.trim());
    for part in [&knob, "without cgroup quota, less of the CPU is lost: promised"] {
        assert!(own.contains(part), "{part} is not in\n{text}{}", err(&output));
    }
    let lost = own.lines().find(|line| line.trim_start().starts_with("tick.lost ")).unwrap_or_default();
    assert!(lost.contains(" -") && own.contains("restored") && after == before, "{after} {text}");
    // Wake-ups beside a quota are late for idle states, too: of them nothing is promised.
    assert!(!own.contains("wake-ups are at most this late"), "{text}");
}

#[test]
fn a_task_on_the_cpu_is_found() {
    let _machine = machine();
    let (bench, cpu) = (Bench::new(), crate::bench::cpu());
    let spin = "ulimit -t 30; while :; do :; done";
    let mut task =
        Command::new("taskset").args(["-c", &cpu, "sh", "-c", spin]).stdout(Stdio::null()).spawn().unwrap();
    let page = bench.json(&["doctor", "--only", "busy-cpu,steal", "--cpu", &cpu]);
    let _ = task.kill();
    let _ = task.wait();
    assert!(is_found(&page, "busy-cpu"), "{page:#}");
    let share = check(&page, "busy-cpu")["outcome"]["found"]["share"].as_f64().unwrap();
    assert!(share > 0.1, "{page:#}");
}

/// As root by its name, which the kernel's events have.
#[test]
#[ignore = "second tier: root"]
fn a_task_on_the_cpu_is_named() {
    let _machine = machine();
    let (bench, cpu) = (Bench::new(), crate::bench::cpu());
    let spin = "ulimit -t 30; while :; do :; done";
    let mut task =
        Command::new("taskset").args(["-c", &cpu, "sh", "-c", spin]).stdout(Stdio::null()).spawn().unwrap();
    let page = bench.json(&["doctor", "--only", "busy-cpu", "--cpu", &cpu]);
    let _ = task.kill();
    let _ = task.wait();
    let evidence = check(&page, "busy-cpu")["evidence"].as_array().unwrap().clone();
    let name = format!("lost to sh ({})", task.id());
    let own = evidence.iter().find(|one| one["name"] == name.as_str()).unwrap_or_else(|| panic!("{page:#}"));
    assert!(own["value"]["share"].as_f64().unwrap() > 0.1, "{page:#}");
}

#[test]
fn what_is_asked_wrongly_is_one_line() {
    let bench = Bench::new();
    refused(&bench.run(&["doctor", "--only", "slow-clok"]), 2, &["slow-clok (did you mean slow-clock?)"]);
    refused(&bench.run(&["doctor", "--only", "xyzzy"]), 2, &["there are slow-clock, ", "timer-slack"]);
    refused(&bench.run(&["doctor", "--of", "nothing"]), 2, &["nothing"]);
    refused(&bench.run(&["doctor", "--", "true"]), 2, &["--prove"]);
    refused(&bench.run(&["doctor", "--cpu", "4000"]), 2, &["CPU 4000 does not exist"]);
}

/// Puts the files of a tree over those of this machine for one command alone: in a mount namespace of its own.
const OVER: &str = r#"
tree=$1; shift
set -e
cpus=$(mktemp -d); mount -t tmpfs none "$cpus"
cp -r /sys/devices/system/cpu/. "$cpus" 2>/dev/null || true
# What this processor is vulnerable to, another one is not.
rm -rf "$cpus/vulnerabilities"
[ -d "$tree/sys/devices/system/cpu" ] && cp -r "$tree/sys/devices/system/cpu/." "$cpus"
mount --bind "$cpus" /sys/devices/system/cpu
cd "$tree"
find . -type f ! -path './sys/devices/system/cpu/*' | while read file; do mount --bind "$file" "/$file"; done
cd /
exec "$@"
"#;

/// Report of `tickmark doctor` on these checks where a tree is mounted over the machine's own files.
fn over(tree: &str, checks: &str) -> Value {
    let bench = Bench::new();
    let tree = format!("{}/../../fixtures/doctor/trees/{tree}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "bash", "-c", OVER, "over", &tree, program()])
        .args(["doctor", "--only", checks, "--cpu", "0", "--format", "json"])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    page_of(&output.stdout)
}

/// From the files to the finding, by the real program: nothing is planted but what a machine's kernel would say.
#[test]
#[ignore = "second tier: root"]
fn faults_that_stand_in_the_files_of_a_machine_are_found() {
    let _machine = machine();
    let by_files = "slow-clock,governor,mitigations,huge-pages-off,pressure";
    let found = |tree: &str| -> Vec<String> {
        let page = over(tree, by_files);
        let names = by_files.split(',').filter(|name| is_found(&page, name));
        names.map(str::to_owned).collect()
    };
    assert_eq!(found("tuned"), [""; 0], "no false alarm");
    assert_eq!(found("hpet-server"), ["slow-clock"]);
    // What else is found there is this machine's own.
    let laptop = over("laptop", "governor,deep-idle");
    assert!(is_found(&laptop, "governor"), "{laptop:#}");
    let states = &check(&laptop, "deep-idle")["evidence"];
    let of = |name: &str| states.as_array().unwrap().iter().find(|one| one["name"] == name);
    assert_eq!(
        of("cpu.idle.states").unwrap()["value"]["text"],
        "POLL 0 us; C1 2 us; C6 133 us",
        "{laptop:#}"
    );
    // No state was entered while it looked, as the counts stand still: however late a wake-up, none of them delayed it.
    assert!(!is_found(&laptop, "deep-idle"), "{laptop:#}");
    let old = found("old-cloud");
    assert!(
        ["mitigations", "huge-pages-off", "pressure"].iter().all(|name| old.contains(&(*name).to_owned())),
        "{old:?}"
    );
    let isolated = over("isolated", "nohz-full-broken");
    assert!(is_found(&isolated, "nohz-full-broken"), "{isolated:#}");
}

/// The earlier value of a figure stands beside it, from the fourth recording of the same on.
#[test]
fn figures_are_told_with_what_they_were_here_before() {
    let _machine = machine();
    let bench = Bench::new();
    let pages: Vec<Value> = (0..4)
        .map(|_| bench.json(&["doctor", "--only", "mitigations", "--cpu", &crate::bench::cpu()]))
        .collect();
    let before = |page: &Value| check(page, "mitigations")["evidence"][0]["before"].clone();
    assert!(pages[..3].iter().all(|page| before(page).is_null()), "{pages:#?}");
    let last = before(&pages[3]);
    assert_eq!(last["recordings"], 3, "{last:#}");
    let calls = pages[..3]
        .iter()
        .map(|page| check(page, "mitigations")["evidence"][0]["value"]["time"].as_f64().unwrap());
    assert_eq!(last["low"].as_f64(), calls.reduce(f64::min));
    // Its lines break where the figures are long.
    let text = out(&bench.run(&["doctor", "--of", "last"]));
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("in 3 recordings]"), "{text}");
}
