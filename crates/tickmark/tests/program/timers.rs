//! How late each way to wait wakes a program.

use crate::bench::{Bench, err, out, refused};

#[test]
fn every_way_has_its_distribution_and_a_limit_for_its_tail() {
    let bench = Bench::new();
    let arguments = ["timers", "--duration", "4s", "--runs", "2", "--interval", "200us", "--name", "timers"];
    let page = bench.json(&[&arguments[..], &["--late", "50us"]].concat());
    let ways = page["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 13, "{page}");
    for way in ways.iter().filter(|way| way["none"].is_null()) {
        assert!(way["wakes"].as_u64().unwrap() > 50, "{way}");
        assert!(way["quantiles"]["p50"].as_f64() <= way["max"].as_f64(), "{way}");
        assert!(way["cpu"].as_f64().unwrap() > 0.0, "{way}");
        let limits = way["limits"].as_array().unwrap();
        assert!(limits.iter().any(|limit| limit["later_than"] == 50_000.0), "{way}");
        let shares = limits.iter().map(|limit| limit["share_at_most"].as_f64().unwrap());
        assert!(shares.clone().all(|share| share > 0.0) && shares.is_sorted_by(|a, b| a >= b), "{way}");
    }
    // The sleeper wakes nobody early, and its median is far below that of what it sleeps by.
    let medians = |ways: &[serde_json::Value]| {
        ["timer.wake.200.sleeper", "timer.wake.200.nanosleep"].map(|metric| {
            let way = ways.iter().find(|way| way["metric"] == metric).unwrap();
            way["quantiles"]["p50"].as_f64().unwrap()
        })
    };
    // Beside a task that computes both wait for the end of its slice.
    let pair = [
        "timers",
        "--methods",
        "sleeper,nanosleep",
        "--interval",
        "200us",
        "--duration",
        "1s",
        "--runs",
        "1",
    ];
    let again = || medians(bench.json(&pair)["ways"].as_array().unwrap());
    let mut all = std::iter::once(medians(ways)).chain((0..4).map(|_| again()));
    assert!(
        all.any(|[sleeper, sleep]| 2.0 * sleeper < sleep),
        "the sleeper is as late as nanosleep, five times"
    );
    assert_eq!(page["interval"], 200_000.0);
    let text = out(&bench.run(&["timers", "--of", "timers", "--late", "50us"]));
    assert!(text.contains("Times 200 us ahead"), "{text}");
    assert!(text.contains("wake-up latency") && text.contains("later, at most (95 % conf.)"), "{text}");
}

/// As cyclictest prints it, which is read again as its result; and as HdrHistogram has it.
#[test]
fn other_programs_read_the_wake_ups() {
    let bench = Bench::new();
    let arguments =
        ["timers", "--methods", "nanosleep,timerfd", "--duration", "2s", "--runs", "2", "--name", "timers"];
    let page = bench.json(&arguments);
    let text = out(&bench.run(&["timers", "--of", "timers", "--cyclictest"]));
    let threads: Vec<&str> = text.lines().filter(|line| line.starts_with("T: ")).collect();
    assert!(threads.len() == 2 && threads[1].starts_with("T: 1 (    0) P: 0 I:500 C:"), "{text}");
    let file = bench.store().join("cyclictest.txt");
    std::fs::write(&file, &text).unwrap();
    assert!(bench.run(&["import", file.to_str().unwrap(), "--name", "again"]).status.success());
    let again = bench.json(&["show", "again"]);
    let value = |metric: &str| crate::bench::row(&again, metric)["value"].as_f64().unwrap();
    let ways = page["ways"].as_array().unwrap();
    let most = ways.iter().map(|way| way["max"].as_f64().unwrap()).fold(0.0, f64::max);
    assert!((most - value("cyclictest.late.max")).abs() < 1_000.0, "{most}: {text}");
    assert!(value("cyclictest.late.min") <= value("cyclictest.late.p50"), "{text}");
    // A line for each run, under the way's name.
    let log = out(&bench.run(&["export", "timers", "--format", "hdr"]));
    let tags = |tag: &str| log.lines().filter(|line| line.starts_with(tag)).count();
    assert_eq!((tags("Tag=500.nanosleep,"), tags("Tag=500.timerfd,")), (2, 2), "{log}");
    refused(&bench.run(&["timers", "many", "--cyclictest"]), 2, &["--cyclictest"]);
}

/// On a terminal the wake-ups of the run under way are a histogram, which is gone at the end; without one nothing is printed between the lines of a minute.
#[test]
fn wake_ups_are_shown_as_they_come() {
    let bench = Bench::new();
    let arguments = ["timers", "--methods", "nanosleep", "--duration", "3s", "--runs", "1", "--live"];
    let program = crate::bench::program();
    let script = format!("stty cols 100 rows 40; exec '{program}' {}", arguments.join(" "));
    let mut terminal = std::process::Command::new("script");
    terminal.args(["-qec", &script, "/dev/null"]).env("TICKMARK_STORE", bench.store()).env("TERM", "xterm");
    let shown = out(&terminal.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(shown.matches("wake-ups  p50 ").count() > 1, "{shown}");
    assert!(shown.contains("####") && shown.contains("round 1 of 1"), "{shown}");
    assert!(shown.contains("wake-up latency") && shown.contains("saved as"), "{shown}");
    let plain = bench.run(&arguments);
    assert!(err(&plain).is_empty() && out(&plain).contains("wake-up latency"), "{}", err(&plain));
    refused(&bench.run(&["timers", "many", "--live"]), 2, &["--live"]);
}

/// Every CPU at the same time, a recording each; as one page, and as cyclictest's threads.
#[test]
fn all_cpus_are_measured_at_the_same_time() {
    let bench = Bench::new();
    let cpus = crate::bench::cpus().len();
    let arguments = ["timers", "--methods", "nanosleep", "--cpus", "all", "--duration", "1s", "--runs", "1"];
    let page = bench.json(&arguments);
    let titles: Vec<&str> =
        page["ways"].as_array().unwrap().iter().map(|way| way["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), cpus, "{page}");
    assert!(cpus == 1 || titles.iter().all(|title| title.starts_with("CPU ")), "{titles:?}");
    assert_eq!(bench.recordings().as_array().unwrap().len(), cpus);
    let text = out(&bench.run(&[&arguments[..], &["--cyclictest"]].concat()));
    assert_eq!(text.lines().filter(|line| line.starts_with("T: ")).count(), cpus, "{text}");
    refused(
        &bench.run(&["timers", "--cpus", &format!("{},4000", crate::bench::cpu())]),
        2,
        &["CPU 4000", "allowed"],
    );
    refused(&bench.run(&["timers", "--cpus", "all", "--cpu", "0"]), 2, &["--cpu"]);
}

/// The first wake-up that is too late ends it: what ran meanwhile is told, here a thread with a higher priority, and the command knows.
#[test]
#[ignore = "second tier: root"]
fn a_late_wake_up_ends_the_measurement_with_what_ran_meanwhile() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let spins = "import os,time\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))\nend = time.time() + 60\n\
                 while time.time() < end:\n  t = time.time()\n  while time.time() < t + .02: pass\n  time.sleep(.03)\n";
    let mut busy = std::process::Command::new("taskset");
    let mut busy = busy.args(["-c", &cpu, "python3", "-c", spins]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let file = bench.store().join("ran");
    let action = format!("shell:echo $TICKMARK_LATE_NS $TICKMARK_RAN > {}", file.display());
    // Above all ordinary tasks: those of a busy machine are not what is late.
    let arguments =
        ["timers", "--methods", "nanosleep", "--class", "fifo", "--duration", "10s", "--cpu", &cpu];
    let python = format!("python3 ({})", busy.id());
    // Once, a hypervisor may have been the first who had the CPU for so long.
    let mut made = None;
    for _ in 0..3 {
        made = Some(bench.run(&[&arguments[..], &["--on-threshold", "15ms", &action]].concat()));
        if std::fs::read_to_string(&file).is_ok_and(|ran| ran.contains(&python)) {
            break;
        }
    }
    let made = made.unwrap();
    let _ = busy.kill();
    let _ = busy.wait();
    assert_eq!(made.status.code(), Some(3), "{}", err(&made));
    let said = err(&made);
    assert!(said.contains("late on CPU") && said.contains("ran there since its time: "), "{said}");
    let ran = std::fs::read_to_string(&file).unwrap();
    let late: f64 = ran.split(' ').next().unwrap().parse().unwrap();
    assert!(late > 15e6, "{ran}");
    assert!(ran.contains(&python), "{ran}: {said}");
    // It is in the recording, and nothing else of the page is lost.
    let page = bench.json(&["timers", "--of", "last"]);
    assert_eq!(page["ways"][0]["max"].as_f64().unwrap(), late, "{page}");
    // It is a time like others, and no trace without a tick.
    let shown = bench.json(&["show", "last"]);
    let rows = shown["rows"].as_array().unwrap();
    let met = rows.iter().find(|row| row["metric"].as_str().unwrap().ends_with(".met")).unwrap();
    assert_eq!((met["value"].as_f64(), &met["status"]), (Some(late), &"ok".into()), "{met}");
    let roams = ["timers", "--methods", "ppoll", "--class", "deadline", "--on-threshold", "1ms", "stop"];
    refused(&bench.run(&roams), 2, &["SCHED_DEADLINE"]);
    let many = ["timers", "--methods", "nanosleep,ppoll", "--on-threshold", "1ms", "stop"];
    refused(&bench.run(&many), 2, &["--on-threshold", "2 ways"]);
    // Where none is named, the usual one.
    let usual = bench.json(&["timers", "--duration", "1s", "--on-threshold", "1h", "stop"]);
    let ways = usual["ways"].as_array().unwrap();
    assert!(ways.len() == 1 && ways[0]["title"] == "clock_nanosleep", "{usual}");
    refused(
        &bench.run(&["timers", "--methods", "ppoll", "--on-threshold", "1ms", "dance"]),
        2,
        &["dance", "shell:"],
    );
}

#[test]
fn waiting_for_a_late_wake_up_that_is_interrupted_keeps_the_others() {
    for method in ["nanosleep", "ppoll"] {
        let bench = Bench::new();
        let output = bench.interrupted(&[
            "timers",
            "--methods",
            method,
            "--on-threshold",
            "100s",
            "stop",
            "--duration",
            "60s",
        ]);
        let (text, said) = (out(&output), err(&output));
        assert_eq!(output.status.code(), Some(4), "{text}{said}");
        assert!(
            text.contains("interrupted; saved as") && said.contains(" wake-ups was later than 100 s"),
            "{text}{said}"
        );
        let page = bench.json(&["timers", "--of", "last"]);
        let way = &page["ways"][0];
        let wakes = way["wakes"].as_u64().unwrap();
        assert!(wakes > 50 && said.contains(&format!("none of {wakes} wake-ups")), "{way}{said}");
    }
}

#[test]
fn rows_of_ones_own_come_from_a_file() {
    let bench = Bench::new();
    let file = bench.store().join("rows.toml");
    let file = file.to_str().unwrap();
    std::fs::create_dir_all(bench.store()).unwrap();
    let text = "[[scenario]]\nname = \"burst\"\nns = [1000, 2000, 90000]\n";
    std::fs::write(file, text).unwrap();
    let arguments =
        ["timers", "--rows-from", file, "--strategy", "spin,one-shot", "--duration", "1s", "--runs", "1"];
    let page = bench.json(&arguments);
    let scenarios = page["scenarios"].as_array().unwrap();
    assert_eq!(scenarios.len(), 2, "{page}");
    for (scenario, strategy) in scenarios.iter().zip(["spin", "one_shot"]) {
        assert_eq!(scenario["metric"], format!("timer.scenario.own.burst.ns.{strategy}"));
        assert_eq!(scenario["timers"].as_array().unwrap().len(), 3, "{scenario}");
    }
    let p50 = |at: usize| scenarios[at]["absolute"]["p50"].as_f64().unwrap();
    assert!(p50(0) < p50(1), "{page}");
    let text = out(&bench.run(&["timers", "--of", "last"]));
    assert!(text.contains("burst: spin") && !text.contains("The document"), "{text}");
    std::fs::write(file, "[[scenario]]\nname = \"burst\"\nns = [2, 1]\n").unwrap();
    refused(&bench.run(&["timers", "--rows-from", file]), 2, &["rows.toml", "ascending"]);
    refused(&bench.run(&["timers", "--rows-from", "/nowhere"]), 1, &["/nowhere"]);
    refused(&bench.run(&["timers", "--rows-from", file, "--cpus", "all"]), 2, &["--cpus"]);
    let wrong = bench.run(&["run", "timer.row:name=x,at=5 3,repeats=1"]);
    assert_eq!(wrong.status.code(), Some(4), "{}", err(&wrong));
    assert!(out(&wrong).contains("no row of times"), "{}", out(&wrong));
}

/// A way whose system call is denied is refused: the message names the call, and nothing hangs.
#[test]
fn a_way_whose_call_is_denied_is_unsupported() {
    let bench = Bench::new();
    let denied = [
        ("nanosleep", "clock_nanosleep"),
        ("nanosleep-relative", "clock_nanosleep"),
        ("timerfd", "timerfd_create"),
        ("timerfd", "timerfd_settime"),
        ("ppoll", "ppoll"),
        ("epoll_pwait2", "epoll_create1"),
        ("epoll_pwait2", "epoll_pwait2"),
        ("futex", "futex"),
        ("posix-signal", "timer_create"),
        ("posix-signal", "timer_settime"),
        ("posix-signal", "rt_sigtimedwait"),
        ("posix-thread", "timer_settime"),
        ("io_uring", "io_uring_setup"),
    ];
    for (method, call) in denied {
        let probe = format!("timer.wake:ahead=100,method={method}");
        let outcome = &bench.json(&["verify", &probe, "--deny", call])["probes"][0];
        assert_eq!(outcome["status"], "unsupported", "{method} without {call}: {outcome}");
        assert!(
            outcome["reason"]["message"].to_string().contains(call),
            "{method} without {call}: {outcome}"
        );
    }
}

#[test]
fn what_cannot_be_asked_is_refused_in_one_line() {
    let bench = Bench::new();
    refused(&bench.run(&["timers", "--methods", "sundial"]), 2, &["sundial", "nanosleep"]);
    refused(&bench.run(&["timers", "--interval", "10s"]), 2, &["--duration", "too short for 10"]);
    refused(&bench.run(&["timers", "simple", "--plots", "/proc/none"]), 1, &["--plots", "/proc/none"]);
    refused(&bench.run(&["timers", "--unit", "time"]), 2, &["SCENARIO"]);
    refused(&bench.run(&["timers", "simple", "--of", "last"]), 2, &["--of"]);
    refused(&bench.run(&["timers", "--interval", "1us"]), 2, &["--interval", "20us"]);
    refused(&bench.run(&["timers", "--confidence", "2"]), 2, &["--confidence"]);
    refused(&bench.run(&["run", "timer.wake:ahead=5"]), 2, &["ahead", "number from 20"]);
    assert!(bench.run(&["run", "syscall.null", "--once", "--name", "other"]).status.success());
    refused(&bench.run(&["timers", "--of", "other"]), 2, &["has no wake-ups"]);
}

#[test]
fn scenarios_have_the_error_of_each_timer_as_table_columns_and_plot() {
    let bench = Bench::new();
    let folder = bench.store().join("plots");
    let arguments = ["timers", "simple", "too-many", "--unit", "time", "--repeats", "20", "--duration", "3s"];
    let more = ["--runs", "2", "--name", "rows", "--plots", folder.to_str().unwrap()];
    let page = bench.json(&[&arguments[..], &more].concat());
    let scenarios = page["scenarios"].as_array().unwrap();
    assert_eq!(scenarios.len(), 8, "{page}");
    for scenario in scenarios {
        let timers = scenario["timers"].as_array().unwrap();
        let simple = scenario["metric"].as_str().unwrap().contains("simple");
        assert_eq!(timers.len(), if simple { 10 } else { 29 }, "{scenario}");
        assert!(scenario["min"].as_f64() <= scenario["mean"].as_f64(), "{scenario}");
        // What is shown as the largest is the largest that was seen.
        let most = |timer: &serde_json::Value| timer["max"].as_f64().unwrap();
        assert_eq!(timers.iter().map(most).fold(f64::MIN, f64::max), scenario["max"].as_f64().unwrap());
    }
    let medians = |scenarios: &[serde_json::Value]| {
        ["timer.scenario.simple.time.hybrid", "timer.scenario.simple.time.one_shot"].map(|metric| {
            let own = scenarios.iter().find(|scenario| scenario["metric"] == metric).unwrap();
            own["absolute"]["p50"].as_f64().unwrap()
        })
    };
    // Beside a task that computes both wait for the end of its slice.
    let simple = ["timers", "simple", "--unit", "time", "--repeats", "20", "--duration", "1s", "--runs", "1"];
    let again = || medians(bench.json(&simple)["scenarios"].as_array().unwrap());
    let mut all = std::iter::once(medians(scenarios)).chain((0..4).map(|_| again()));
    assert!(all.any(|[hybrid, one_shot]| hybrid < one_shot), "the hybrid is as late as one shot, five times");
    for number in [1, 2] {
        let svg = std::fs::read_to_string(folder.join(format!("scenario-{number}.svg"))).unwrap();
        assert_eq!(crate::bench::lines_drawn(&svg), 4);
    }
    let shown = |output: &str| out(&bench.run(&["timers", "--of", "rows", "--output", output]));
    assert!(shown("summary").contains("The document (450 MHz"));
    assert!(shown("plot").contains("o one-shot"), "{}", shown("plot"));
    let values = shown("values");
    assert_eq!(values.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(), 4 * 39);
}

/// Late wake-ups are named by the kernel's events: a task of a higher priority that takes the CPU each 10 ms is what most waited for, for
/// as long as it computes, and without it the tail is as short as it is in fact when the task is gone.
#[test]
#[ignore = "second tier: root"]
fn late_wake_ups_are_told_link_by_link() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let spins = "$0 = 'tmculprit'; alarm 30; use Time::HiRes qw(time sleep); \
                 while (1) { my $t = time + .003; 1 while time < $t; sleep .01 }";
    let mut busy = std::process::Command::new("taskset");
    let mut busy = busy.args(["-c", &cpu, "chrt", "-f", "60", "perl", "-e", spins]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    // Above all ordinary tasks of a busy machine.
    let arguments = [
        "timers",
        "--methods",
        "nanosleep",
        "--class",
        "fifo",
        "--duration",
        "8s",
        "--runs",
        "2",
        "--cpu",
        &cpu,
    ];
    let made = bench.run(&[&arguments[..], &["--late", "1ms"]].concat());
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert!(made.status.success(), "{}", err(&made));
    let page = bench.json(&["timers", "--of", "last", "--late", "1ms"]);
    let late = &page["late"][0];
    let reasons = late["reasons"].as_array().unwrap_or_else(|| panic!("{page:#}"));
    let first = &reasons[0];
    assert_eq!((&first["link"], &first["cause"]), (&"switch".into(), &"task".into()), "{late:#}");
    assert!(first["name"].as_str().unwrap().starts_with("tmculprit ("), "{late:#}");
    let all: u64 = reasons.iter().map(|reason| reason["wakes"].as_u64().unwrap()).sum();
    assert!(first["wakes"].as_u64().unwrap() * 2 > all && all >= 50, "{late:#}");
    assert!(late["unknown"].as_u64().unwrap() * 10 <= all, "{late:#}");
    // A wait ends anywhere in its 3 ms; what a hypervisor took meanwhile is in the one or the other.
    let latest = late["latest"].as_array().unwrap();
    let mut waits: Vec<f64> = latest
        .iter()
        .filter(|wake| wake["reason"].as_str().unwrap().starts_with("waited for tmculprit ("))
        .map(|wake| wake["late"].as_f64().unwrap())
        .collect();
    waits.sort_by(f64::total_cmp);
    assert!(waits.get(waits.len() / 2).is_some_and(|wait| (2e6..8e6).contains(wait)), "{late:#}");
    // The links of each are all of it.
    for wake in latest {
        let links: f64 = wake["links"].as_array().unwrap().iter().map(|link| link[1].as_f64().unwrap()).sum();
        assert!((links - wake["late"].as_f64().unwrap()).abs() < 1.0, "{wake}");
    }
    let quantile = |page: &serde_json::Value| page["value"].as_f64();
    let with = quantile(&late["quantiles"]["p99"]).unwrap();
    // It is not known where it is below the latest ones that were kept.
    let without = quantile(&first["without"]["p99"]).unwrap_or(late["above"].as_f64().unwrap());
    assert!(without < with / 2.0, "{without} and {with}: {late:#}");
    let text = out(&bench.run(&["timers", "--of", "last"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Why late, by the kernel's events", "waited for tmculprit", "p99 without", "until the program had"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
