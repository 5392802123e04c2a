//! Tables of unknown programs, what is damaged, and what only looks like a format.

use super::*;

#[test]
fn colours_of_a_terminal_are_passed_over() {
    let text =
        "\u{1b}[1mTest session\u{1b}[0m\n\u{1b}[32;1mtest a ... bench:\u{1b}[0m 12 ns/iter (+/- 1)\n\u{1b}[";
    let plain = without_escapes(text);
    assert_eq!(plain, "Test session\ntest a ... bench: 12 ns/iter (+/- 1)\n");
    let found = read_alone("b", text).unwrap();
    assert_eq!(value(&found[0], "bench.a"), 12.0);
}

#[test]
fn plain_columns_are_one_replicate() {
    let found = read_alone("plain", "10 1e3\n\n20 0x10\n15 7\n").unwrap().remove(0);
    assert_eq!(
        (found.host.as_str(), found.series["column.2"].values[1].value, found.is_one_replicate),
        ("plain", 16.0, true)
    );
    let large = read_alone("large", "9007199254740993\n9007199254740995\n").unwrap().remove(0);
    assert!(large.remarks[0].contains("above 2^53 are rounded"), "{:?}", large.remarks);
    let one = read_alone("one", "5\n").unwrap().remove(0);
    assert_eq!((one.rounds, one.series["column.1"].values[0].value), (1, 5.0));
    let headed = read_alone("t.csv", "\"time_ms\"\n12.1\n12.4 # slow\n").unwrap().remove(0);
    assert_eq!(headed.series["column.time_ms"].values[1].value, 12.4e6);
    let units = read_alone("u", "12.1 ms\n13ms\n").unwrap().remove(0);
    assert_eq!(units.kinds["column.1"].unit, Unit::Time);
    for refused in
        ["1,234\n1,240\n", "0,8729\n0,3\n", "12.1\n-\n12.3\n", "1\ntwo\n3\n", "12.1 ms\n3 widgets\n"]
    {
        assert!(read_alone("t", refused).is_err(), "{refused:?}");
    }
    let comma = TableOptions { decimal_comma: true, ..TableOptions::default() };
    let found = read(&[("t".to_owned(), "0,8729\n0,3\n".to_owned())], &comma).unwrap().0.remove(0);
    assert_eq!(found.series["column.1"].values[0].value, 0.8729);
}

#[test]
fn tables_are_read_as_the_user_names_them() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let read = |text: &str, options: TableOptions| {
        read(&[("t.csv".to_owned(), text.to_owned())], &options).map(|(found, _)| found)
    };
    let text = "size,\"lat (us)\",note\n64,1.5,a\n64,1.6,b\n128,-,c\n";
    let options = || TableOptions {
        values: words(&["lat (us)"]),
        groups: words(&["size"]),
        missing: words(&["-"]),
        ..TableOptions::default()
    };
    let why = read(text, options()).unwrap_err();
    assert!(why.contains("line 3") && why.contains("--lines repetitions"), "{why}");
    let found = read(text, TableOptions { lines: Some(Lines::Repetitions), ..options() }).unwrap().remove(0);
    let values: Vec<f64> = found.series["lat.size=64"].values.iter().map(|value| value.value).collect();
    assert_eq!((values, found.series.len(), found.is_one_replicate), (vec![1500.0, 1600.0], 1, true));
    let found = read(text, TableOptions { lines: Some(Lines::Replicates), ..options() }).unwrap().remove(0);
    assert!(!found.is_one_replicate);
    let why = read(text, TableOptions { missing: Vec::new(), lines: Some(Lines::Repetitions), ..options() })
        .unwrap_err();
    assert!(why.contains("--missing"), "{why}");
    let long = "when,test,ns\n2026-11-25T10:00:00Z,a,5\n2026-11-25T10:00:00Z,b,6\n2026-11-26,a,7\n";
    let options = TableOptions {
        values: words(&["ns:ns"]),
        metric: Some("test".to_owned()),
        time: Some("when".to_owned()),
        ..TableOptions::default()
    };
    let found = read(long, options).unwrap();
    assert_eq!((found.len(), found[0].series.len(), found[1].series["a"].values[0].value), (2, 2, 7.0));
    assert!(found[0].at < found[1].at && found[0].kinds["a"].unit == Unit::Time);
    let options = TableOptions {
        columns: words(&["size", "-", "rate:MB/s"]),
        groups: words(&["size"]),
        ..TableOptions::default()
    };
    let found = read("1 9 3.5\n2 9 4\n", options.clone()).unwrap().remove(0);
    assert_eq!((found.series["rate.size=1"].values[0].value, found.kinds.len()), (3.5e6, 2));
    assert!(read("1 9\n", options).unwrap_err().contains("names 3 columns"));
    let lines = "{\"cfg\": {\"n\": 1}, \"ms\": 2.5}\n{\"cfg\": {\"n\": 2}, \"ms\": 3}\n";
    let options =
        TableOptions { values: words(&["ms:ms"]), groups: words(&["cfg.n"]), ..TableOptions::default() };
    let found = read(lines, options).unwrap().remove(0);
    assert_eq!(found.series["ms.cfg.n=2"].values[0].value, 3e6);
    let german = TableOptions {
        values: words(&["2:us"]),
        groups: words(&["1"]),
        decimal_comma: true,
        ..TableOptions::default()
    };
    assert_eq!(read("a;1.234,5\nb;0,5\n", german).unwrap()[0].series["2.1=a"].values[0].value, 1_234_500.0);
}

#[test]
fn what_is_damaged_is_said() {
    let mut all = Vec::new();
    assert!(
        of_a_format("h.json", "{\"results\": [{\"command\": \"x\", \"times\": [1, 2", MOST_SYSTEMS, &mut all)
            .is_err()
    );
    assert!(
        of_a_format(
            "c.json",
            "{\"cmdline\": \"cyclictest\", \"thread\": {\"0\": {}}}",
            MOST_SYSTEMS,
            &mut all
        )
        .unwrap_err()
        .contains("without")
    );
    assert!(
        of_a_format("p", "# Running 'sched/pipe' benchmark:\n", MOST_SYSTEMS, &mut all)
            .unwrap_err()
            .contains("no figure")
    );
    assert!(!of_a_format("x", "nothing of that kind", MOST_SYSTEMS, &mut all).unwrap() && all.is_empty());
}

#[test]
fn iperf3() {
    let text = r#"{"start":{"version":"iperf 3.12","test_start":{"protocol":"TCP","num_streams":2,"blksize":131072,"duration":10}},"intervals":[],
        "end":{"sum_sent":{"bits_per_second":17528474683.367123,"retransmits":4},"sum_received":{"bits_per_second":17527616012.0},
        "cpu_utilization_percent":{"host_total":98.8,"remote_total":40.75}}}"#;
    let found = only("i.json", text);
    assert_eq!(
        (value(&found, "iperf3.received"), value(&found, "iperf3.retransmits")),
        (17_527_616_012.0 / 8.0, 4.0)
    );
    assert!((value(&found, "iperf3.cpu.there") - 0.4075).abs() < 1e-9 && found.tool == "iperf 3.12");
    assert!(found.facts.iter().any(|(name, value, _)| name == "iperf3.num_streams" && value == "2"));
    let udp = r#"{"start":{"test_start":{}},"end":{"sum":{"bits_per_second":800.0,"jitter_ms":0.5,"lost_percent":2.0}}}"#;
    let found = only("u.json", udp);
    assert_eq!(
        (value(&found, "iperf3.datagrams"), value(&found, "iperf3.jitter"), value(&found, "iperf3.lost")),
        (100.0, 5e5, 0.02)
    );
    let failed = r#"{"start":{"test_start":{}},"end":{},"error":"unable to connect","bits_per_second":0}"#;
    assert!(read_alone("f.json", failed).unwrap_err().contains("unable to connect"));
}

#[test]
fn sockperf() {
    let text = "test was performed using the following parameters: --msg-size=14\nsockperf: \u{1b}[2;35m====> avg-latency=46.990 (std-dev=37.568)\u{1b}[0m\n\
                sockperf: # dropped messages = 3; # duplicated messages = 0; # out-of-order messages = 0\nsockperf: Total 5852 observations\n\
                sockperf: ---> <MAX> observation = 1842.273\nsockperf: ---> percentile 99.900 =  406.220\nsockperf: ---> percentile 50.000 =   43.133\n\
                packet, txTime(sec), rxTime(sec), latency(usec)\n0, 2.416511956, 2.416599736, 43.890\n";
    let found = only("s.csv", text);
    assert_eq!(
        (value(&found, "sockperf.latency.p50"), value(&found, "sockperf.latency.p99_9")),
        (43_133.0, 406_220.0)
    );
    assert_eq!(
        (value(&found, "sockperf.latency.mean"), value(&found, "sockperf.latency.max")),
        (46_990.0, 1_842_273.0)
    );
    assert_eq!(value(&found, "sockperf.dropped"), 3.0);
    let whole = only("w.csv", &text.replace("--msg-size=14", "--msg-size=14 --full-rtt"));
    assert_eq!(value(&whole, "sockperf.round_trip.p50"), 43_133.0);
}

#[test]
fn netperf() {
    let text = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost () port 0 AF_INET\n\
                Recv   Send    Send                          Utilization       Service Demand\nSocket Socket  Message  Elapsed              Send     Recv     Send    Recv\n\
                Size   Size    Size     Time     Throughput  local    remote   local   remote\nbytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB\n\n \
                87380  16384  16384    10.00      16254.40   25.00    25.00    1.008   1.010\n\
                MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo\n\
                Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n\n16384  87380  1        1       10.00    27037.33\n16384  87380\n\
                UDP STREAM TEST from a to b\n212992   65507   10.00      293827      0    15398.00\n212992           10.00      293820           15397.60\n";
    let found = only("n.txt", text);
    assert_eq!(
        (value(&found, "netperf.tcp_stream"), value(&found, "netperf.tcp_stream.cpu.here")),
        (16_254.4 * 125e3, 0.25)
    );
    assert_eq!(
        (value(&found, "netperf.tcp_stream.cpu_of_a_kilobyte.there"), value(&found, "netperf.tcp_rr")),
        (1010.0, 27_037.33)
    );
    assert_eq!(
        (value(&found, "netperf.udp_stream.sent"), value(&found, "netperf.udp_stream.received")),
        (15_398.0 * 125e3, 15_397.6 * 125e3)
    );
    // Another unit, one side's CPU alone, and datagrams with theirs.
    let other = "TCP Connect/Request/Response TEST from a to b\n16384  87380  1        1       10.00    9000.00   25.00  -1.00   12.5  -1.000\n\
                 UDP UNIDIRECTIONAL SEND TEST\nMIGRATED UDP STREAM TEST from a to b\nbytes   bytes    secs            #      #   MBytes/sec % SS     us/KB\n\n\
                 212992   65507   10.00      293827      0    2.0     50.00    3.500\n212992           10.00      29382            1.0     20.00    1.500\n";
    let found = only("c.txt", other);
    assert_eq!((value(&found, "netperf.tcp_crr"), value(&found, "netperf.tcp_crr.cpu.here")), (9000.0, 0.25));
    assert!(!found.series.contains_key("netperf.tcp_crr.cpu.there"));
    assert_eq!(
        (
            value(&found, "netperf.udp_stream.received"),
            value(&found, "netperf.udp_stream.received.cpu.there")
        ),
        (1_048_576.0, 0.2)
    );
    assert_eq!(value(&found, "netperf.udp_stream.sent.cpu_of_a_kilobyte.here"), 3500.0);
    let omni = "THROUGHPUT=9404.5\nTHROUGHPUT_UNITS=Trans/s\nP99_LATENCY=112\nLOCAL_CPU_UTIL=-1.00\n";
    let found = only("o.txt", omni);
    assert_eq!((value(&found, "netperf.rate"), value(&found, "netperf.latency.p99")), (9404.5, 112_000.0));
    assert!(!found.series.contains_key("netperf.cpu.here"));
}

#[test]
fn no_two_have_one_name_whatever_they_are_called() {
    let mut all: Vec<Imported> = ["a", "a (2)", "a", "a", "a (2)"]
        .map(|host| Imported { host: host.to_owned(), ..Imported::default() })
        .into();
    tell_apart(&mut all);
    let names: Vec<&str> = all.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(names, ["a", "a (2)", "a (3)", "a (4)", "a (2) (2)"]);
}

#[test]
fn more_columns_than_a_person_reads_are_refused() {
    let line = |columns: usize| vec!["1"; columns].join(" ") + "\n";
    let table = |columns: usize| read_alone("wide.csv", &line(columns).repeat(3));
    assert!(table(1_000).is_ok());
    assert!(table(1_001).unwrap_err().contains("no known program"));
}

/// Mutations of each file: bytes changed, parts cut out, doubled and swapped, numbers made enormous.
#[test]
fn damaged_files_never_panic() {
    let count = std::env::var("TICKMARK_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    // Knuth's linear congruential generator (MMIX).
    let mut state = 42u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most.max(1)
    };
    let files: BTreeSet<String> = expected().into_iter().map(|(file, ..)| file).collect();
    let hostile = [
        "-1",
        "1e308",
        "NaN",
        "999999999999999999999",
        "0",
        "\u{0}",
        "\u{2502}",
        "%",
        "\"",
        "{",
        "]",
        "\n",
        "=",
        "0x",
        "1,2,3",
        "\u{b5}s",
    ];
    let mut read = 0;
    for file in files {
        let (name, text) = text(&file);
        for _ in 0..count {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=below(3) {
                let (at, length) = (below(bytes.len()), below(200));
                let end = (at + length).min(bytes.len());
                match below(6) {
                    0 if !bytes.is_empty() => bytes[at] = below(256) as u8,
                    1 => drop(bytes.drain(at..end)),
                    2 => {
                        let part = bytes[at..end].to_vec();
                        bytes.splice(at..at, part);
                    }
                    3 => bytes.truncate(at),
                    _ => {
                        drop(bytes.splice(at..end.min(at + below(8)), hostile[below(hostile.len())].bytes()));
                    }
                }
            }
            let damaged = String::from_utf8_lossy(&bytes).into_owned();
            if let Ok(found) = read_alone(&name, &damaged) {
                read += 1;
                for value in
                    found.iter().flat_map(|one| one.series.values()).flat_map(|series| &series.values)
                {
                    assert!(value.value.is_finite(), "{name}: {damaged}");
                }
            }
        }
    }
    assert!(read > 0);
}

/// Forms that other versions, locales and options print: text, metric, values of all results.
#[test]
fn other_versions_locales_and_options() {
    let k6 = "   \u{2713} http_req_duration..............: avg=120.1ms min=1ms med=1m2.5s max=1h0m0s p(90)=2ms p(95)=3ms\n";
    let io = "sysbench 1.1.0-df89d34 (using bundled LuaJIT)\nNumber of threads: 1\n\nThroughput:\n         read:  IOPS=2120.50 33.13 MiB/s (34.74 MB/s)\n         \
              write: IOPS=1413.66 22.09 MiB/s (23.16 MB/s)\n         fsync: IOPS=4540.75\n\nLatency (ms):\n         min:   0.00\n         avg:   0.12\n";
    let old = "sysbench 0.4.12:  multi-threaded system evaluation benchmark\nExtra file open flags: 0\nRead 93.797Mb  Written 62.531Mb  Total transferred 156.33Mb  (5.3247Mb/sec)\n  \
               340.78 Requests/sec executed\n    total time:  29.3s\n";
    let sweep = "sysbench 1.0.20\nNumber of threads: 1\nCPU speed:\n    events per second:  1000\ntotal time: 1s\nsysbench 1.0.20\nNumber of threads: 2\nCPU speed:\n    events per second:  2000\ntotal time: 1s\n";
    let perf = |line: &str| format!(" Performance counter stats for './x':\n\n{line}\n\n");
    let twice = |one: &str, two: &str| {
        format!(
            "[{{\"jmhVersion\":\"1\",\"benchmark\":\"{one}\",\"mode\":\"avgt\",\"primaryMetric\":{{\"score\":1,\"scoreUnit\":\"ns/op\",\"rawData\":[[10.0]]}}}},\
                 {{\"jmhVersion\":\"1\",\"benchmark\":\"{two}\",\"mode\":\"avgt\",\"primaryMetric\":{{\"score\":1,\"scoreUnit\":\"ns/op\",\"rawData\":[[90.0]]}}}}]"
        )
    };
    let cases: Vec<(String, &str, &[f64])> = vec![
        (k6.to_owned(), "k6.http_req_duration.p50", &[62.5e9]),
        (k6.to_owned(), "k6.http_req_duration.max", &[3600e9]),
        (io.to_owned(), "sysbench.fileio.reads", &[2120.5]),
        (io.to_owned(), "sysbench.fileio.written", &[22.09 * 1_048_576.0]),
        (old.to_owned(), "sysbench.fileio.operations", &[340.78]),
        (old.to_owned(), "sysbench.fileio.throughput", &[5.3247 * 1_048_576.0]),
        (sweep.to_owned(), "sysbench.cpu.events", &[1000.0, 2000.0]),
        ("     1.000123456,1000.12,msec,task-clock,1000120000,100.00,1.000,CPUs utilized\n".to_owned(), "perf.stat.task-clock", &[1000.12e6]),
        ("1281,90,msec,task-clock:u,1281901128,100,00,4,CPUs utilized\n".to_owned(), "perf.stat.task-clock:u", &[1281.9e6]),
        ("1281,90;msec;task-clock:u;1281901128;100,00;4;CPUs utilized\n".to_owned(), "perf.stat.task-clock:u", &[1281.9e6]),
        ("CPU1,500,,cycles,1000,100.00,,\n".to_owned(), "perf.stat.cycles.cpu=1", &[500.0]),
        (perf("     1.018,23 msec task-clock"), "perf.stat.task-clock", &[1018.23e6]),
        (perf("     1.121      context-switches"), "perf.stat.context-switches", &[1121.0]),
        (perf("     121\u{202f}212      cycles"), "perf.stat.cycles", &[121_212.0]),
        (perf("CPU0        1,121      cycles"), "perf.stat.cycles.cpu=0", &[1121.0]),
        ("PING h\nicmp_seq=1 time=1 ms\n4 packets transmitted, 1 received, +3 errors, 75% packet loss, time 3ms\n".to_owned(), "ping.lost", &[0.75]),
        ("# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# Size                  MB/s        Messages/s\n1  10.46  10463712.49\n".to_owned(), "osu.multiple_bandwidth___message_rate.throughput.size=1", &[10.46e6]),
        ("# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)\n1.45\n".to_owned(), "osu.barrier_latency.avg_latency", &[1450.0]),
        ("# Benchmarking Barrier\n# #processes = 2\n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  1000   0.5   0.7  0.6\n".to_owned(), "imb.Barrier.max.processes=2", &[700.0]),
        (twice("com.a.Map.get", "com.b.Map.get"), "jmh.com.b.Map.get", &[90.0]),
        ("{\"context\":{},\"benchmarks\":[{\"name\":\"BM_x/8\",\"real_time\":5.0,\"cpu_time\":5.0,\"time_unit\":\"ns\"},{\"name\":\"BM_x/8_mean\",\"real_time\":7.0,\"cpu_time\":7.0,\"time_unit\":\"ns\"}]}".to_owned(), "benchmark.BM_x/8.real_time", &[5.0]),
    ];
    for (text, metric, wanted) in cases {
        let found = read_alone("t", &text).unwrap_or_else(|why| panic!("{metric}: {why}"));
        let own: Vec<f64> = found
            .iter()
            .filter_map(|one| one.series.get(metric))
            .flat_map(|series| &series.values)
            .map(|value| value.value)
            .collect();
        let known: Vec<&String> = found.iter().flat_map(|one| one.series.keys()).collect();
        assert_eq!(own.len(), wanted.len(), "{metric}: {own:?} in {known:?}");
        assert!(own.iter().zip(wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{metric}: {own:?}");
    }
    let found = read_alone("sweep.txt", sweep).unwrap();
    assert_eq!(
        found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(),
        ["sweep (threads=1)", "sweep (threads=2)"]
    );
    let skipped = "{\"benchmarks\":[{\"name\":\"a\",\"run_type\":\"iteration\",\"skipped\":true,\"skip_message\":\"no\",\"real_time\":0,\"cpu_time\":0,\"time_unit\":\"ns\"}]}";
    assert!(read_alone("g", skipped).is_err());
}

#[test]
fn what_only_looks_like_a_format_is_refused() {
    for text in [
        "{\"net\":{\"latency\":{\"value\":12,\"unit\":\"ms\"}}}",
        "{\"metrics\":{\"iterations\":{\"count\":3},\"loss\":{\"avg\":0.1}}}",
        "{\"results\":[{\"name\":\"t1\",\"times\":[1,2,3]}]}",
        "{\"benchmarks\":[{\"name\":\"x\",\"runs\":[{\"warmups\":1,\"values\":[1,2]}]}]}",
        "[    0.000000] Linux version 6.12\n[    0.100000] smpboot: CPU0\n",
        "[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0-10.0 sec  1.1 GBytes\n",
    ] {
        let why = read_alone("t", text).unwrap_err();
        assert!(!why.contains("damaged"), "{text}: {why}");
    }
    for (text, wanted) in [
        ("commit,time_ms\nabc,5\nabc,6\n", "--value time_ms --group commit --lines repetitions"),
        ("name,t\na,5\nb,NaN\nc,5\nd,6\n", "--missing NaN"),
        ("[1,2,3]", "--value value --lines repetitions"),
        ("12.1\nNaN\n12.3\n", "--missing NaN"),
        ("name;zeit\na;1,5\nb;2,5\n", "--value zeit --group name --decimal"),
        ("Benchmark Mode Score Units\na avgt 5 \u{b1} 1 us/op\n", "-rf json"),
        ("Name Kind Time Units\na avgt 5 \u{b1} 1 us/op\n", "--columns names each"),
    ] {
        let why = read_alone("t", text).unwrap_err();
        assert!(why.contains(wanted), "{text}: {why}");
    }
    let options = |values: &str| TableOptions {
        values: vec![values.to_owned()],
        lines: Some(Lines::Repetitions),
        ..TableOptions::default()
    };
    let read = |text: &str, options: &TableOptions| read(&[("t".to_owned(), text.to_owned())], options);
    assert!(read("n,t\n1,5ms\n2,6us\n3,7\n", &options("t")).unwrap_err().contains("is a count"));
    let comma = TableOptions { decimal_comma: true, ..options("t") };
    assert!(read("n;t\n1;5.5\n", &comma).is_err());
    let time = TableOptions { time: Some("when".to_owned()), ..options("t") };
    assert!(read("when,t\n2023,5\n", &time).unwrap_err().contains("is no time"));
    assert!(
        read("when,t\n20230102,5\n", &time).unwrap().0[0].at.unwrap().to_string().starts_with("2023-01-02")
    );
}
