//! `tickmark tick`: what interrupts a CPU, with names, against disturbers of a known kind.

use crate::bench::{Bench, err, machine, out, page_of, refused, signal};
use crate::half::Half;
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// A child that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A shell's script on a CPU, behind other programs; it ends after 30 s of CPU time, whatever happens to this test.
fn on(cpu: &str, starters: &[&str], script: &str) -> Ended {
    let script = format!("ulimit -t 30; {script}");
    let words = [starters, &["taskset", "-c", cpu, "bash", "-c", &script]].concat();
    let null = Stdio::null;
    let child = Command::new(words[0]).args(&words[1..]).stdout(null()).stderr(null()).spawn();
    Ended(child.unwrap())
}

fn kinds(page: &Value) -> &Vec<Value> {
    page["kinds"].as_array().unwrap()
}

/// The share of the CPU that gaps of this name took.
fn share(page: &Value, what: &str) -> f64 {
    let own = kinds(page).iter().filter(|kind| kind["what"] == what);
    own.filter_map(|kind| kind["share"].as_f64()).sum()
}

#[test]
fn what_interrupts_a_cpu_is_named() {
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let page = bench.tick(&["--cpu", &cpu, "--duration", "2s", "--hz-what-if", "100,1000", "--mhz", "50"]);
    let run = &page;
    assert_eq!(run["cpu"].to_string(), cpu);
    let all: f64 = kinds(&page).iter().map(|kind| kind["share"].as_f64().unwrap()).sum();
    assert!((all / run["lost"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{page:#}");
    let parts = run["over_time"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap());
    assert!((parts.sum::<f64>() / 60.0 / all - 1.0).abs() < 1e-6, "each gap lies in its stretch: {page:#}");
    let known = run["named"].as_f64().unwrap() + run["unseen"].as_f64().unwrap();
    assert!((1.0 - share(&page, "unknown") / all - known).abs() < 1e-9, "{page:#}");
    let longest = run["longest"].as_array().unwrap();
    assert!(
        longest.windows(2).all(|two| two[0]["length"].as_f64() >= two[1]["length"].as_f64()),
        "{longest:#?}"
    );
    // Beside other tests the tick may not be found, or its cost not be known: then nothing is predicted.
    let predicted = &run["hz_what_if"];
    match predicted["cost"].as_f64() {
        Some(cost) => {
            let at = |which: usize| predicted["at"][which]["share"].as_f64().unwrap();
            assert!((at(0) / (cost * 100.0 / 1e9) - 1.0).abs() < 1e-9 && (at(1) / at(0) - 10.0).abs() < 1e-9);
            assert!(share(&page, "tick") > 0.0, "{page:#}");
            let slower = &predicted["clocks"][0];
            let clock = predicted["mhz"].as_f64().unwrap();
            assert!((slower["cost"].as_f64().unwrap() / (cost * clock / 50.0) - 1.0).abs() < 1e-9);
        }
        None => assert!(predicted["at"].as_array().unwrap().is_empty(), "{predicted:#}"),
    }
    let again = bench.run(&["tick", "--of", "last", "--hz-what-if", "300"]);
    let text = out(&again);
    assert!(again.status.success(), "{}", err(&again));
    let watched = format!("CPU {cpu} · watched for ");
    for part in ["a name", "Longest", &watched, "What another HZ would cost"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
#[ignore = "second tier: root"]
fn another_task_and_what_the_network_leaves_are_told_apart() {
    let bench = Bench::new();
    let watch = || bench.tick(&["--cpu", "0", "--duration", "2s"]);
    {
        let _competitor = on("0", &[], "while :; do :; done");
        let page = watch();
        assert!(share(&page, "task") > 0.2, "a competitor has about half of the CPU: {page:#}");
        let tick = share(&page, "tick");
        assert!(tick < 0.1, "and its time is no tick's: {page:#}");
    }
    // Packets that another CPU sends to itself, in a network namespace of its own, steered to this one.
    let flood = "mount -t sysfs sysfs /sys && ip link set lo up && echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus && \
        exec 3>/dev/udp/127.0.0.1/9 && while :; do echo x >&3; done";
    let _flood = on("1", &["unshare", "-n", "-m"], flood);
    let page = watch();
    let received = kinds(&page).iter().find(|kind| kind["line"] == "NET_RX");
    let received = received.and_then(|kind| kind["count"].as_u64()).unwrap_or(0);
    assert!(received > 500, "{received} soft interrupts in 2 s: {page:#}");
}

/// Who took the CPU by the kernel's own events: the first cause of which this is true.
fn taker<'a>(page: &'a Value, is: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    page["witness"]["takers"].as_array()?.iter().find(|taker| is(taker))
}

#[test]
#[ignore = "second tier: root"]
fn the_kernels_events_say_who_took_the_cpu() {
    let bench = Bench::new();
    let quiet = bench.tick(&["--cpu", "0", "--duration", "2s"]);
    let named =
        |page: &Value, at: usize| page["witness"]["named"][at].as_f64().unwrap_or_else(|| panic!("{page:#}"));
    assert!(named(&quiet, 0) >= 0.99 && named(&quiet, 1) >= 0.99, "{quiet:#}");
    let tick = taker(&quiet, &|taker| taker["what"] == "tick").unwrap_or_else(|| panic!("{quiet:#}"));
    // Another count of the same: the interrupts of timers in the other half of the time.
    let (rate, counted) =
        (tick["count"].as_f64().unwrap(), quiet["accounts"]["timer_interrupts_hz"].as_f64().unwrap());
    assert!(rate / (quiet["witness"]["span"].as_f64().unwrap() / 1e9) < counted * 1.5, "{quiet:#}");
    // A task that computes, and one that a timer wakes.
    let _competitor = on("0", &[], "exec -a x perl -e '$0 = \"tmhog\"; 1 while 1'");
    let _sleeper =
        on("0", &[], "exec perl -e '$0 = \"tmsleeper\"; select(undef, undef, undef, .005) while 1'");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let page = bench.tick(&["--cpu", "0", "--duration", "4s"]);
    assert!(named(&page, 0) >= 0.99 && named(&page, 1) >= 0.99, "{page:#}");
    let of = |name: &str| {
        let is = |taker: &Value| taker["what"] == "task" && taker["name"].as_str().unwrap().starts_with(name);
        taker(&page, &is).unwrap_or_else(|| panic!("{name} is not in {page:#}")).clone()
    };
    // Beside what else the machine has to do.
    assert!(of("tmhog")["share"].as_f64().unwrap() > 0.05, "{page:#}");
    let sleeper = of("tmsleeper");
    assert_eq!(sleeper["woken_by"][0]["by"], "timer hrtimer_wakeup", "{sleeper:#}");
    // Own times are all of the lost time.
    let total: f64 =
        page["witness"]["takers"].as_array().unwrap().iter().map(|one| one["total"].as_f64().unwrap()).sum();
    let (lost, span) = (page["witness"]["lost"].as_f64().unwrap(), page["witness"]["span"].as_f64().unwrap());
    assert!((total / (lost * span) - 1.0).abs() < 1e-6, "{page:#}");
    let text = out(&bench.run(&["tick", "--of", "last"]));
    for part in ["who took the CPU", "tmhog", "hrtimer_wakeup", "Recording the first event"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let both = out(&bench.run(&["show", "last"]));
    assert!(both.contains("all gaps ") && both.contains("all gaps, events recorded"), "{both}");
    let narrow = bench.command(&["tick", "--of", "last"]).env("COLUMNS", "60").output().unwrap();
    assert!(out(&narrow).contains("(no room for: "), "{}", out(&narrow));
    // The same with what ran in each gap, on the clock of other traces.
    let trace = bench.run(&["export", "last", "--format", "perfetto"]);
    let trace: Value = serde_json::from_slice(&trace.stdout).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap();
    let sum = |is: &dyn Fn(&Value) -> bool| -> f64 {
        slices.iter().filter(|slice| is(slice)).filter_map(|slice| slice["dur"].as_f64()).sum()
    };
    let (gaps, parts) = (sum(&|slice| slice["cat"] == "gap"), sum(&|slice| slice["cat"] != "gap"));
    assert!((gaps / parts - 1.0).abs() < 1e-6 && gaps > 0.0, "{gaps} and {parts}");
}

/// Who may not open the kernel's tracepoints is told what that would add.
#[test]
#[ignore = "second tier: root"]
fn without_root_the_names_come_from_counters() {
    let bench = Bench::new();
    let output = bench.without_rights(&["tick", "--duration", "1s"]);
    let text = out(&output);
    assert!(output.status.success(), "{}", err(&output));
    assert!(
        text.replace('\n', " ").contains("(sudo tickmark tick)") && text.contains("a name for"),
        "{text}"
    );
}

/// No task had that time: the kernel stopped all of the group, also where the quota is that of the group above.
#[test]
#[ignore = "second tier: root"]
fn what_a_quota_takes_is_no_other_tasks() {
    let _machine = machine();
    let (page, stops) = with_half_a_cpu();
    assert!(stops >= 8, "the kernel stopped the group in {stops} of 20 periods");
    let quota =
        kinds(&page).iter().find(|kind| kind["what"] == "quota").unwrap_or_else(|| panic!("{page:#}"));
    let count = quota["count"].as_u64().unwrap();
    // The first and the last may lie half outside.
    assert!(count <= stops + 2 && count * 2 >= stops, "{count} and {stops}: {quota:#}");
    // Both together are what the kernel says that it waited.
    let (named, waited) =
        (share(&page, "quota") + share(&page, "task"), page["accounts"]["waited"].as_f64().unwrap());
    // What the hypervisor took meanwhile may have been of either.
    let steal = page["accounts"]["steal"].as_f64().unwrap_or(0.0);
    assert!((named - waited).abs() < 0.25 * waited + steal, "{named} and {waited}: {page:#}");
}

/// Watches CPU 0 for 2 s in a group that may have half of it; gives the page, and how often the group was stopped in this time.
fn with_half_a_cpu() -> (Value, u64) {
    let bench = Bench::new();
    let (output, stops) =
        Half::make().run(&bench, &["tick", "--cpu", "0", "--duration", "4s", "--format", "json"]);
    let page = page_of(&output.stdout)["cpus"][0].take();
    // The gaps of the run without the kernel's events have the quota's name; the two runs come in random order.
    let lines = events(&bench, &page);
    let plain = lines.iter().find(|line| line["started"]["probe"] == "tick").unwrap();
    let finished = lines.iter().find(|line| line["finished"]["run"] == plain["started"]["run"]).unwrap();
    let (begun, ended) = (&plain["started"]["monotonic"], &finished["finished"]["ended"]);
    let (begun, ended) = (begun.as_i64().unwrap(), ended.as_i64().unwrap());
    let stops = stops.iter().filter(|stop| (begun..=ended).contains(&(**stop as i64))).count();
    (page, stops as u64)
}

/// All times of a kind in the recording of a page, `CLOCK_MONOTONIC` ns.
fn times(bench: &Bench, page: &Value, time: &str) -> Vec<i64> {
    events(bench, page).iter().filter_map(|line| line.pointer(time)?.as_i64()).collect()
}

/// The lines of a page's recording.
fn events(bench: &Bench, page: &Value) -> Vec<Value> {
    let id = page["recording"]["id"].as_str().unwrap();
    let events = bench.store().join("recordings").join(id).join("events.jsonl");
    let text = std::fs::read_to_string(events).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
#[ignore = "second tier: CPUs 0 and 1"]
fn several_cpus_are_watched_at_the_same_time() {
    let bench = Bench::new();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(cpus > 1, "two CPUs are needed");
    let page = bench.json(&["tick", "--cpu", "0-1", "--duration", "3s"]);
    let both = page["cpus"].as_array().unwrap();
    assert_eq!(both.iter().map(|one| one["cpu"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1], "{page:#}");
    // Each began before the other ended.
    for (one, other) in [(0, 1), (1, 0)] {
        let begun = times(&bench, &both[one], "/started/monotonic");
        let ended = times(&bench, &both[other], "/finished/ended");
        assert!(begun[0] < *ended.last().unwrap(), "one after the other: {begun:?} {ended:?}");
    }
    let list = bench.recordings();
    let list = list.as_array().unwrap();
    let names: Vec<&str> = list.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(
        names.iter().any(|name| name.ends_with("-cpu0")) && names.iter().any(|name| name.ends_with("-cpu1"))
    );
    let text = out(&bench.run(&["tick", "--cpu", "0,1,1", "--duration", "400ms"]));
    // Columns are as wide as their figures.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["CPU lost tick", "Over time", " CPU 1", "Shares of each CPU's time"] {
        assert!(words.contains(part), "{part} is not in\n{text}");
    }
    assert_eq!(text.matches("saved as").count(), 2, "{text}");
    // One that is not there is said before anything is measured.
    refused(&bench.run(&["tick", "--cpu", "0,4000", "--duration", "60s"]), 2, &["CPU 4000 does not exist"]);
    refused(&bench.run(&["tick", "--cpu", "0,1", "--osnoise"]), 2, &["--osnoise", "one CPU"]);
    refused(&bench.run(&["tick", "--cpu", "3-1"]), 2, &["numbers of CPUs"]);
    refused(&bench.run(&["tick", "--cpu", "some"]), 2, &["or all"]);
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    let bench = Bench::new();
    refused(&bench.run(&["tick", "--cpu", "4000"]), 2, &["CPU 4000 does not exist"]);
    refused(&bench.run(&["tick", "--hz-what-if", "0"]), 2, &["a rate above 0"]);
    refused(&bench.run(&["tick", "--mhz", "50"]), 2, &["--hz-what-if"]);
    refused(&bench.run(&["tick", "--duration", "5"]), 2, &["60s"]);
    refused(&bench.run(&["tick", "--of", "nothing"]), 2, &["nothing"]);
    // A tracer that cannot be stopped is said before anything is waited for.
    if std::fs::File::options().write(true).open("/sys/kernel/tracing/tracing_on").is_err() {
        let output = bench.run(&["tick", "--duration", "20s", "--on-threshold", "1us", "trace"]);
        refused(&output, 1, &["/sys/kernel/tracing/tracing_on", "tracefs"]);
    }
    assert!(bench.run(&["run", "syscall.null", "--once", "--name", "once"]).status.success());
    refused(&bench.run(&["tick", "--of", "last"]), 2, &["of the kind that this command works on"]);
    refused(&bench.run(&["tick", "--of", "once"]), 2, &["no whole trace of the tick's probe"]);
    // A trace that was cut short is no trace.
    bench.run(&["tick", "--duration", "400ms", "--name", "cut"]);
    let list = bench.recordings();
    let list = list.as_array().unwrap();
    let cut = list.iter().find(|one| one["name"] == "cut").unwrap()["id"].as_str().unwrap();
    let events = bench.store().join("recordings").join(cut).join("events.jsonl");
    let text = std::fs::read_to_string(&events).unwrap();
    let observed = text.find("\"gaps\"").unwrap();
    std::fs::write(&events, &text[..observed + 200]).unwrap();
    let resumes = format!("`tickmark run --resume {}` completes it", &cut[..8]);
    refused(&bench.run(&["tick", "--of", "cut"]), 2, &["no whole trace of the tick's probe", &resumes]);
}

#[test]
fn gaps_are_exported_for_viewers_of_traces_and_of_latencies() {
    let bench = Bench::new();
    let page = bench.tick(&["--duration", "1500ms"]);
    let counts = kinds(&page).iter().map(|kind| kind["count"].as_u64().unwrap());
    let gaps: u64 = counts.sum();
    let trace: Value =
        serde_json::from_slice(&bench.run(&["export", "last", "--format", "perfetto"]).stdout).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let slices: Vec<&Value> = events.iter().filter(|event| event["cat"] == "gap").collect();
    // Where the kernel's events were recorded, the gaps of that time.
    let shown = Some(&page["witness"]).filter(|witness| witness["gaps"].is_u64()).unwrap_or(&page);
    assert_eq!(slices.len() as u64, shown["gaps"].as_u64().unwrap_or(gaps));
    let total: f64 = slices.iter().map(|slice| slice["dur"].as_f64().unwrap()).sum();
    let lost = shown["lost"].as_f64().unwrap() * shown["span"].as_f64().unwrap();
    assert!((total * 1e3 / lost - 1.0).abs() < 1e-6, "{total} us, {lost} ns");
    // A line a second, which HdrHistogram reads again.
    let log = out(&bench.run(&["export", "last", "--format", "hdr"]));
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("Tag=cpu")).collect();
    assert_eq!(lines.len() as f64, (page["span"].as_f64().unwrap() / 1e9).ceil(), "{log}");
    let mut load = 0;
    for line in lines {
        let packed = line.rsplit(',').next().unwrap();
        let bytes = base64(packed);
        let histogram: hdrhistogram::Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        load += histogram.len();
    }
    assert_eq!(load, gaps);
    assert!(bench.run(&["run", "syscall.null", "--once"]).status.success());
    refused(&bench.run(&["export", "last", "--format", "hdr"]), 2, &["no whole trace of the tick's probe"]);
}

/// The bytes of a text in base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|byte| *byte != b'=');
    let digits = digits.map(|byte| alphabet.iter().position(|known| *known == byte).unwrap() as u32);
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0, 0u32);
    for digit in digits {
        (held, bits) = (held << 6 | digit, bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    bytes
}

#[test]
fn the_first_long_gap_ends_the_loop_and_runs_a_command() {
    let bench = Bench::new();
    let log = bench.store().with_extension("told");
    let command = format!("shell:echo $TICKMARK_GAP_NS $TICKMARK_RECORDING > {}", log.display());
    // Any gap is longer than that, and there is one within a tick.
    let output = bench.run(&["tick", "--duration", "20s", "--on-threshold", "400ns", &command]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let text = std::fs::read_to_string(&log).unwrap();
    let mut words = text.split_whitespace();
    let (length, id) = (words.next().unwrap().parse::<f64>().unwrap(), words.next().unwrap());
    assert!(length > 400.0, "{text}");
    let page = bench.tick(&["--of", id]);
    assert!(page["span"].as_f64().unwrap() < 1e9, "it ended there: {page:#}");
    let gaps: u64 = kinds(&page).iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
    let longest = page["longest"][0]["length"].as_f64().unwrap();
    assert!(longest == length && gaps < 5, "{page:#}");
    refused(
        &bench.run(&["tick", "--on-threshold", "1ms", "sing"]),
        2,
        &["sing is no action", "stop, trace or shell:COMMAND"],
    );
    refused(&bench.run(&["tick", "--on-threshold", "1", "stop"]), 2, &["--on-threshold 1"]);
    // What was waited for and did not come is an answer.
    let quiet = bench.run(&["tick", "--duration", "300ms", "--on-threshold", "1h", "stop"]);
    assert!(
        quiet.status.code() == Some(0)
            && err(&quiet).contains("no gap above ")
            && err(&quiet).contains(" in 300 ms"),
        "{}",
        err(&quiet)
    );
}

/// Hours are many runs: what is interrupted keeps those that ended.
#[test]
#[ignore = "second tier: 14 s"]
fn a_long_watch_that_is_interrupted_keeps_what_it_saw() {
    let bench = Bench::new();
    let watch = bench.command(&["tick", "--duration", "30s"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(14));
    assert!(signal("INT", watch.id()));
    let output = watch.wait_with_output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(out(&output).contains("interrupted; saved as"), "{}", out(&output));
    let page = bench.tick(&["--of", "last"]);
    let span = page["span"].as_f64().unwrap();
    assert!((1e9..29e9).contains(&span), "{span}");
}

/// One that waits for a long gap is a single run, and keeps what it saw all the same.
#[test]
fn a_watch_for_a_long_gap_that_is_interrupted_keeps_what_it_saw() {
    let bench = Bench::new();
    let arguments = ["tick", "--duration", "60s", "--on-threshold", "100s", "stop"];
    let output = bench.interrupted(&arguments);
    let (text, said) = (out(&output), err(&output));
    assert_eq!(output.status.code(), Some(4), "{text}{said}");
    assert!(
        text.contains("interrupted; saved as") && said.contains("no gap above 100 s in "),
        "{text}{said}"
    );
    let page = bench.tick(&["--of", "last"]);
    let span = page["span"].as_f64().unwrap();
    assert!((1e8..59e9).contains(&span) && !kinds(&page).is_empty(), "{page:#}");
}

/// Of whatever was measured: that others had its CPU stands above it, also where the tick is not found beside them.
#[test]
fn a_cpu_that_others_had_is_notable() {
    let _machine = machine();
    let bench = Bench::new();
    let cpu = crate::bench::cpu();
    let _competitors: Vec<Ended> = (0..6).map(|_| on(&cpu, &[], "while :; do :; done")).collect();
    let page = bench.json(&["run", "syscall.null", "--runs", "1", "--budget", "300ms", "--cpu", &cpu]);
    let findings = page["findings"].as_array().unwrap();
    let noise = findings.iter().find(|finding| finding["finding"] == "noise").unwrap();
    assert!(noise["share"].as_f64() > Some(0.3) && noise["others"]["task"].as_f64() > Some(0.3), "{noise}");
}

/// The limit on our own priority is stated once before measuring, however many CPUs are watched.
#[test]
fn the_real_time_limit_is_said_once() {
    let _machine = machine();
    let bench = Bench::new();
    let done = bench.run(&["tick", "--cpu", "all", "--duration", "400ms", "--priority", "fifo:5"]);
    let limit = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let is_limited = limit.trim().parse::<i64>().is_ok_and(|us| (0..1_000_000).contains(&us));
    let said = err(&done);
    assert_eq!(said.matches("sched_rt_runtime_us = ").count(), usize::from(is_limited), "{said}");
}
