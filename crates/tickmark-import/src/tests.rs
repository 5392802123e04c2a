mod doors;
mod refused;

use super::*;
use tickmark_wire::{Better, Unit};

fn only(name: &str, text: &str) -> Imported {
    let mut all = Vec::new();
    assert!(of_a_format(name, text, MOST_SYSTEMS, &mut all).unwrap(), "{name} is of no known format");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn value(of: &Imported, metric: &str) -> f64 {
    of.series.get(metric).unwrap_or_else(|| panic!("no {metric} in {:?}", of.series.keys())).values[0].value
}

#[test]
fn the_mail_of_2005_as_it_stands() {
    let text = "ACPI-Fast\n    select_index    20000   0       0       14097.47\n    select_index    20000   0       0       13741.43\n\n\
                vs\n\nTSC\n    select_index    20000   1       0       13638.09\n    select_index    20000   1       0       15204.89\n\
                The far right column\n    N           Min           Max        Median           Avg         Stddev\n\
                x   4      13626.05      13769.32      13722.72     13710.203      62.155788\n";
    let mut all = Vec::new();
    assert!(of_a_format("timecounter-cost.txt", text, MOST_SYSTEMS, &mut all).unwrap());
    let names: Vec<&str> = all.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(names, ["ACPI-Fast", "TSC"]);
    assert_eq!((all[0].rounds, all[1].series["smack.select_index"].values[1].value), (2, 15_204.89));
    assert_eq!(all[0].kinds["smack.select_index"].better, Better::Higher);
}

#[test]
fn hyperfine() {
    let text = r#"{"results": [{"command": "true", "mean": 0.001, "user": 0.0005, "system": 0.0003,
        "times": [0.001, 0.0012], "exit_codes": [0, 0]}, {"command": "sleep 0", "times": [0.002]}]}"#;
    let mut all = Vec::new();
    assert!(of_a_format("h.json", text, MOST_SYSTEMS, &mut all).unwrap());
    assert_eq!((all.len(), all[0].host.as_str(), all[0].rounds), (2, "true", 2));
    assert!((value(&all[1], "hyperfine.time") - 2e6).abs() < 1e-6);
}

#[test]
fn sysbench_and_its_runs() {
    let text = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nCPU speed:\n    events per second:  1234.50\n\nGeneral statistics:\n    \
                total time:                          10.0008s\n    total number of events:              12348\n\nLatency (ms):\n         \
                min:                                    0.80\n         avg:                                    0.81\n         \
                max:                                    1.23\n         95th percentile:                        0.83\n         sum:    9998.12\n\n\
                Threads fairness:\n    events (avg/stddev):           12348.0000/0.00\n";
    let mut all = Vec::new();
    assert!(
        of_a_format("a.txt", text, MOST_SYSTEMS, &mut all).unwrap()
            && of_a_format("b.txt", text, MOST_SYSTEMS, &mut all).unwrap()
    );
    assert_eq!((all.len(), all[0].rounds, all[0].tool.as_str()), (1, 2, "sysbench 1.0.20"));
    assert_eq!(
        (value(&all[0], "sysbench.cpu.events"), value(&all[0], "sysbench.cpu.latency.p95")),
        (1234.5, 830_000.0)
    );
    let memory = only(
        "m",
        "sysbench 1.0.20\n\nTotal operations: 5 ( 2.50 per second)\n\n10240.00 MiB transferred (100.00 MiB/sec)\ntotal time: 2s\n",
    );
    assert_eq!(
        (value(&memory, "sysbench.memory.operations"), value(&memory, "sysbench.memory.throughput")),
        (2.5, 104_857_600.0)
    );
}

#[test]
fn wrk() {
    let text = "Running 30s test @ http://127.0.0.1:8080/index.html\n  12 threads and 400 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency   635.91us    0.89ms  12.92ms   93.69%\n    Req/Sec    56.20k     8.07k   62.00k    86.54%\n  Latency Distribution\n     \
                50%  250.00us\n     99%    1.20s\n  Socket errors: connect 0, read 49, write 0, timeout 458\n  22464657 requests in 30.00s, 17.76GB read\n  Non-2xx or 3xx responses: 7\n\
                Requests/sec: 748868.53\nTransfer/sec:    606.33MB\n";
    let found = only("wrk.txt", text);
    assert_eq!(
        (
            value(&found, "wrk.requests"),
            value(&found, "wrk.errors.status"),
            value(&found, "wrk.errors.socket")
        ),
        (748_868.53, 7.0, 507.0)
    );
    assert_eq!(
        (value(&found, "wrk.latency.max").round(), value(&found, "wrk.latency.p99")),
        (12_920_000.0, 1.2e9)
    );
    assert_eq!(found.facts[0].1, "http://127.0.0.1:8080/index.html");
}

#[test]
fn perf_bench() {
    let text = "# Running 'sched/pipe' benchmark:\n# Executed 1000000 pipe operations between two processes\n\n     Total time: 5.123 [sec]\n\n       \
                5.123456 usecs/op\n         195181 ops/sec\n\n# Running 'mem/memcpy' benchmark:\n# Copying 1MB bytes ...\n\n      12.5 GB/sec\n";
    let found = only("perf.txt", text);
    assert!((value(&found, "perf.sched.pipe") - 5123.456).abs() < 1e-9);
    assert_eq!(
        (value(&found, "perf.sched.pipe.total"), value(&found, "perf.mem.memcpy")),
        (5.123e9, 12.5 * 1_073_741_824.0)
    );
}

#[test]
fn numbers_of_other_languages() {
    let value = |text| first_number(text).map(|number| number.value);
    assert_eq!((value("6,180775 GB/sec"), value("8,103,727 ops/sec")), (Some(6.180_775), Some(8_103_727.0)));
    assert_eq!((value("1,234.5"), value("-12,5"), value("1,23,4")), (Some(1234.5), Some(-12.5), None));
}

#[test]
fn functions_of_perf_are_metrics() {
    let text = "# Running 'mem/memcpy' benchmark:\n# function 'default' (Default memcpy())\n# Copying 1MB bytes ...\n\n       7.5 GB/sec\n\
                # function 'x86-64-movsb' (movsb)\n       1.5 GB/sec\n";
    let found = only("p", text);
    assert_eq!(
        found.series.keys().collect::<Vec<_>>(),
        ["perf.mem.memcpy.default", "perf.mem.memcpy.x86_64_movsb"]
    );
}

#[test]
fn only_the_same_is_joined() {
    let text = |threads: u32| {
        format!(
            "sysbench 1.0.20\nNumber of threads: {threads}\nCPU speed:\n    events per second:  10\ntotal time: 1s\n"
        )
    };
    let mut all = Vec::new();
    for threads in [1, 1, 2] {
        assert!(of_a_format("a", &text(threads), MOST_SYSTEMS, &mut all).unwrap());
    }
    tell_apart(&mut all);
    let kept: Vec<(&str, u32)> = all.iter().map(|one| (one.host.as_str(), one.rounds)).collect();
    assert_eq!(kept, [("a", 2), ("a (2)", 1)]);
}

#[test]
fn cyclictest_in_three_forms() {
    let screen = "# /dev/cpu_dma_latency set to 0us\npolicy: fifo: loadavg: 0.00 0.00 0.00 1/100 999\n\n\
                  T: 0 ( 1234) P:80 I:1000 C:    500 Min:      9 Act:    9 Avg:    9 Max:       9\n\
                  T: 0 ( 1234) P:80 I:1000 C:   1000 Min:      3 Act:    4 Avg:    5 Max:     123\n\
                  T: 1 ( 1235) P:80 I:1500 C:   3000 Min:      2 Act:    4 Avg:    9 Max:      50\n";
    let found = only("c.txt", screen);
    let late = |found: &Imported, which: &str| value(found, &format!("cyclictest.late.{which}"));
    assert_eq!((late(&found, "min"), late(&found, "avg"), late(&found, "max")), (2e3, 8e3, 123e3));

    let histogram = "# Histogram\n000000 000000\t000000\n000002 000090\t000000\n000005 000008\t000100\n# Total: 000000100 000000100\n\
                     # Min Latencies: 00002 00005\n# Avg Latencies: 00003 00005\n# Max Latencies: 00700 00005\n# Histogram Overflows: 00002 00000\n\
                     # Histogram Overflow at cycle number:\n# Thread 0: 00007\n";
    let found = only("h.txt", histogram);
    assert_eq!((late(&found, "p50"), late(&found, "p99"), late(&found, "avg")), (5e3, 5e3, 4e3));
    assert_eq!(value(&found, "cyclictest.overflows"), 2.0);
    assert!(!found.series.contains_key("cyclictest.late.p99_9"), "it lies beyond the histogram");

    let json = r#"{"file_version": 1, "cmdline": "cyclictest -q --json=x", "num_threads": 1, "resolution_in_ns": 0,
        "thread": {"0": {"histogram": {"3": 9, "8": 1}, "cycles": 10, "min": 3, "max": 8, "avg": 3.5, "cpu": 0}}}"#;
    let found = only("c.json", json);
    assert_eq!((late(&found, "avg"), late(&found, "p50"), late(&found, "p99")), (3500.0, 3e3, 8e3));
}

#[test]
fn rows_of_the_timer_module_in_the_kernels_log() {
    let log = "[    0.38] tickmark_timer: apic\n[    0.38] tickmark_timer_test: 1 1 1000 2015 1015\n[    0.38] tickmark_timer_test: 1 2 2000 2050 50\n\
               [    0.39] random: crng init done\n[    0.39] tickmark_timer_test: 1 3 3000 2970 -30\n\
               [    0.40] tickmark_timer_test: 1 1 9000 9100 100\n[    0.40] tickmark_timer_test: 2 2 9000 9200 200\n\
               [    0.50] tickmark_timer: hrtimer\n[    0.60] tickmark_timer_test: 1 1 70 75 5\n[    0.60] tickmark_timer_test: 1 2 990 99";
    let found = only("dmesg.txt", log);
    let late = |which: &str| value(&found, &format!("tickmark_timer.simple.apic.late.{which}"));
    assert_eq!(
        (late("first"), late("min"), late("max"), late("others_absolute")),
        (1015.0, -30.0, 1015.0, 40.0)
    );
    assert_eq!((found.rounds, found.kinds["tickmark_timer.simple.apic.late.max"].unit), (2, Unit::Count));
    assert_eq!(value(&found, "tickmark_timer.many.apic.late.first"), 200.0);
    assert_eq!(value(&found, "tickmark_timer.simple.hrtimer.late.first"), 5.0);
    assert_eq!(found.kinds["tickmark_timer.simple.hrtimer.late.max"].unit, Unit::Time);
}

fn text(name: &str) -> (String, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/results/").to_owned() + name;
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    (name.to_owned(), String::from_utf8_lossy(&bytes).into_owned())
}

fn read_alone(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    read(&[(name.to_owned(), text.to_owned())], &TableOptions::default()).map(|(found, _)| found)
}

/// The lines of EXPECTED: file, metric, values.
fn expected() -> Vec<(String, String, Vec<f64>)> {
    let (_, all) = text("EXPECTED");
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, metric, values] = fields[..] else { panic!("{line:?}") };
        let values = values.split(' ').filter_map(|value| value.parse().ok()).collect();
        (file.to_owned(), metric.to_owned(), values)
    };
    all.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

#[test]
fn every_result_file_has_its_right_values() {
    let mut wrong = Vec::new();
    for (file, metric, values) in expected() {
        let (name, text) = text(&file);
        let found = match read_alone(&name, &text) {
            Ok(found) => found,
            Err(why) => {
                wrong.push(format!("{file}: {why}"));
                continue;
            }
        };
        let own: Vec<f64> = found
            .iter()
            .filter_map(|one| one.series.get(&metric))
            .flat_map(|series| &series.values)
            .map(|value| value.value)
            .collect();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        if own.is_empty()
            || (!values.is_empty() && (own.len() != values.len() || !own.iter().zip(&values).all(near)))
        {
            let known: Vec<&String> = found.iter().flat_map(|one| one.series.keys()).take(40).collect();
            wrong.push(format!("{file}: {metric} is {own:?}, not {values:?}; there are {known:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let named: BTreeSet<String> = expected().into_iter().map(|(file, ..)| file).collect();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/results")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "EXPECTED" || named.contains(&name), "{name} has no expected value");
    }
}

#[test]
fn every_format_has_a_case() {
    let texts: Vec<String> = expected().into_iter().map(|(file, ..)| text(&file).1).collect();
    for format in FORMATS {
        // Other tests have theirs in their text.
        let here = ["tickmark_timer_test", "netperf", "perf bench", "super-smack"];
        let has = here.contains(&format.name) || texts.iter().any(|text| (format.recognizes)(text));
        assert!(has, "{} has no file in fixtures/results", format.name);
    }
}

#[test]
fn lines_that_were_not_taken_and_contradictions_are_said() {
    let remarks = |name: &str| {
        let (name, text) = text(name);
        read_alone(&name, &text)
            .unwrap()
            .into_iter()
            .flat_map(|one| [one.remarks, one.left_out].concat())
            .collect::<Vec<_>>()
    };
    let has = |name: &str, wanted: &str| {
        let all = remarks(name);
        assert!(all.iter().any(|remark| remark.contains(wanted)), "{name}: {all:?}");
    };
    has("sysbench-p95.txt", "p95 is below min");
    has("sysbench-zeros.txt", "below 10 us");
    has("lmbench-serial.log", "syscall.stat takes");
    has("cyclictest-ns.txt", "taken for ns (-N)");
    has("hyperfine.csv", "--export-json");
    has("googlebench.json", "BM_Bad: not measured: no device");
    has("perfstat-r.txt", "mean of perf's runs");
    let twice = text("rtla-timerlat-top.txt").1 + &text("rtla-timerlat-top.txt").1.replace("#58", "#8");
    assert!(read_alone("r", &twice).unwrap()[0].left_out[0].contains("several runs"));
    assert!(
        remarks("gobench.txt").is_empty() && remarks("wrk-two-runs.log").is_empty(),
        "{:?} {:?}",
        remarks("gobench.txt"),
        remarks("wrk-two-runs.log")
    );
    let more = text("sysbench-p95.txt").1 + "\n    rows locked: 12 of 14\n";
    let found = read_alone("s", &more).unwrap();
    assert_eq!(found[0].left_out.len(), 1, "{:?}", found[0].left_out);
}

#[test]
fn what_is_no_sample_is_refused_with_the_command_that_reads_it() {
    for (text, wanted) in [
        ("# 64 bytes\n1 0.5 3\n2 0.6 4\n4 0.9 7\n", "tickmark import t --value 2 --value 3 --group 1"),
        ("size,us\n64,1.5\n128,1.7\n", "--value us --group size"),
        ("name,seconds\na,1\nb,2\n", "--value seconds --group name"),
        ("1 10\n2 11\n3 12\n", "--group 1"),
        ("{\"a\": {\"b\": 3}}", "--value a.b"),
        ("1,234\n1,240\n", "--decimal ,"),
        ("<html><body>3</body></html>", "XML or HTML"),
        ("nothing to see here\n", "text of no known program"),
        ("", "empty"),
        ("# JMH version: 1.37\n# Benchmark: a.B\nIteration 1: 3 ns/op\n", "-rf json"),
    ] {
        let why = read_alone("t", text).unwrap_err();
        assert!(why.contains(wanted), "{text:?}: {why}");
    }
}

#[test]
fn netperf_as_csv() {
    let text = "OMNI Send TEST from 0.0.0.0 port 0 AF_INET\nThroughput,Throughput Units,Mean Latency Microseconds,Local CPU Util %\n\
                941.2,10^6bits/s,-1,-1\n940.8,10^6bits/s,12.5,33.00\n";
    let found = only("netperf.csv", text);
    assert_eq!(found.series["netperf.throughput"].values[1].value, 117.6e6);
    assert!((value(&found, "netperf.latency.mean") - 12_500.0).abs() < 1e-9 && found.rounds == 2);
}

#[test]
fn results_of_several_settings_are_not_runs_of_one() {
    let names = |text: &str| -> Vec<String> {
        read_alone("log", text).unwrap().into_iter().map(|one| one.host).collect()
    };
    let perf =
        |what: &str| format!(" Performance counter stats for '{what}':\n\n 100.50 msec task-clock\n\n");
    assert_eq!(names(&(perf("old") + &perf("new"))), ["log (command='old')", "log (command='new')"]);
    let ping = |host: &str| {
        format!("PING {host} (192.0.2.1) 56(84) bytes of data.\n64 bytes: icmp_seq=1 ttl=64 time=0.1 ms\n")
    };
    assert_eq!(names(&(ping("a") + &ping("b"))), ["log (host=a)", "log (host=b)"]);
    let memory = |size: &str| {
        format!(
            "sysbench 1.0.20\nRunning memory speed test\n  block size: {size}\n  operation: write\n\n\
                 100.00 MiB transferred (1000.00 MiB/sec)\ntotal time: 1s\n"
        )
    };
    assert_eq!(names(&(memory("1KiB") + &memory("4KiB"))).len(), 2);
    assert_eq!(read_alone("log", &(memory("1KiB") + &memory("1KiB"))).unwrap()[0].rounds, 2);
    let go =
        "commit: a\nBenchmarkX 10 100 ns/op\nBenchmarkX 10 110 ns/op\ncommit: b\nBenchmarkX 10 900 ns/op\n";
    let found = read_alone("log", go).unwrap();
    assert_eq!((found.len(), found[0].series["go.X.time"].values.len()), (2, 2));
    // What a test logs is no key of benchfmt.
    let logged = "commit: a\nBenchmarkX 10 100 ns/op\nx_test.go:12: one\nBenchmarkX 10 110 ns/op\nx_test.go:12: two\nBenchmarkX 10 120 ns/op\n";
    assert_eq!(read_alone("log", logged).unwrap()[0].series["go.X.time"].values.len(), 3);
    let fio = |size: &str| {
        format!(
            "{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"j\",\"job options\":{{\"bs\":\"{size}\"}},\
                 \"read\":{{\"total_ios\":10,\"iops\":5.0}}}}]}}\n"
        )
    };
    assert_eq!(read_alone("log", &(fio("4k") + &fio("4k"))).unwrap()[0].rounds, 2);
    let files: Vec<(String, String)> = ["4k", "1m"].map(|size| (size.to_owned(), fio(size))).to_vec();
    assert_eq!(read(&files, &TableOptions::default()).unwrap().0.len(), 2);
    let pgbench =
        "pgbench (15.4)\ntransaction type: x\nnumber of clients: 1\nlatency average = 1 ms\ntps = 1000\n";
    assert_eq!(read_alone("log", &pgbench.repeat(3)).unwrap()[0].rounds, 3);
}

#[test]
fn units_and_shares_are_what_the_programs_mean() {
    let only_value = |text: &str, metric: &str| value(&read_alone("t", text).unwrap()[0], metric);
    let old = "Performance counter stats for 'x':\n\n 0.512345 task-clock (msec) # 0.001 CPUs utilized\n 1,234,567 cycles\n";
    assert_eq!(only_value(old, "perf.stat.task-clock").round(), 512_345.0);
    assert_eq!(only_value(old, "perf.stat.cycles"), 1_234_567.0);
    let socket = "S0,8,1001234567,ns,duration_time,1001234567,100.00,,\n";
    assert_eq!(only_value(socket, "perf.stat.duration_time.of=S0"), 1_001_234_567.0);
    let k6 = r#"{"metrics":{"iteration_duration":{"type":"trend","contains":"time","values":{"avg":5.0}},
        "errors":{"type":"rate","contains":"default","values":{"rate":0.05,"passes":5,"fails":95}}}}"#;
    let found = read_alone("k", k6).unwrap();
    assert_eq!((value(&found[0], "k6.errors"), &found[0].kinds["k6.errors"].unit), (0.05, &Unit::Share));
    assert_eq!(found[0].kinds["k6.errors"].better, Better::Lower);
    for (text, wanted) in [
        (
            "name n min_us max_us mean_us\nalloc_small 1000 12 14 13.1\nalloc_large 1000 112 140 131.0\n",
            "a table of 5",
        ),
        ("THROUGHPUT=512\nLATENCY=4.5\n", "no known program"),
    ] {
        assert!(read_alone("t", text).unwrap_err().contains(wanted), "{text}");
    }
    assert_eq!(only_value("latency_min\n12\n13\n", "column.latency_min"), 12.0);
    assert_eq!(unit("Mbps"), Some((Unit::Throughput, 125_000.0)));
    let own = "Benchmark Time CPU Iterations\nBM_geo_mean          5 ns            5 ns    100\n\
               BM_long 1234567890 ns   1234567000 ns            1\n";
    assert_eq!(only_value(own, "benchmark.BM_geo_mean.real_time"), 5.0);
    assert_eq!(only_value(own, "benchmark.BM_long.real_time"), 1_234_567_890.0);
}
