//! What people bring that looks like what it is not.

use super::*;

fn column(text: &str) -> Result<Imported, String> {
    read_alone("t", text).map(|mut found| found.remove(0))
}

#[test]
fn a_rate_in_a_heading_is_no_time() {
    for (head, unit, first, better) in [
        ("ops_per_sec", Unit::Rate, 1200.0, Better::Higher),
        ("MB_per_sec", Unit::Throughput, 1200e6, Better::Higher),
        ("throughput(MB/s)", Unit::Throughput, 1200e6, Better::Higher),
        ("latency(us)", Unit::Time, 1.2e6, Better::Lower),
        ("time_sec", Unit::Time, 1200e9, Better::Lower),
        ("time_per_op_ms", Unit::Time, 1.2e9, Better::Lower),
        ("req_ms", Unit::Time, 1.2e9, Better::Lower),
        ("ms", Unit::Time, 1.2e9, Better::Lower),
        // Neither a time nor a rate that is known.
        ("ops_per_ms", Unit::Count, 1200.0, Better::Neither),
        ("iters_ms", Unit::Count, 1200.0, Better::Neither),
        ("MB_sec", Unit::Count, 1200.0, Better::Neither),
        ("mb_sec", Unit::Count, 1200.0, Better::Neither),
        ("gib_sec", Unit::Count, 1200.0, Better::Neither),
    ] {
        let found = column(&format!("{head}\n1200\n1300\n")).unwrap();
        let (name, series) = found.series.first_key_value().unwrap();
        let kind = &found.kinds[name];
        assert_eq!((kind.unit, kind.better), (unit, better), "{head}");
        assert!((series.values[0].value / first - 1.0).abs() < 1e-12, "{head}: {:?}", series.values);
    }
    let found = column("errors_per_sec\n3\n4\n").unwrap();
    assert_eq!(found.kinds["column.errors_per_sec"].better, Better::Neither);
}

#[test]
fn a_number_with_more_behind_it_is_none() {
    for text in [
        "1min 30.5s\n58.3s\n",
        "1 s 200 ms\n1 s 900 ms\n",
        "50.000%    1.20ms\n75.000%    2.20ms\n",
        "12.1ms ok\n900ms FAILED\n",
        "12-13ms\n10-12ms\n",
        "2026-11-30s\n2026-12-01s\n",
        "1,5 ms\n1,234 ms\n",
        "NaN\n12.1\n12.3\n",
        "FAILED\n12.1\n12.3\n",
        "-\n12.1\n12.3\n",
    ] {
        assert!(column(text).is_err(), "{text:?}");
    }
    let values = TableOptions { values: vec!["t".to_owned()], ..TableOptions::default() };
    assert!(read(&[("t".to_owned(), "n,t\na,1 s 200 ms\n".to_owned())], &values).is_err());
    let comma = TableOptions { decimal_comma: true, ..TableOptions::default() };
    assert!(read(&[("t".to_owned(), "0.123\n0.125\n".to_owned())], &comma).is_err());
    let found = read(&[("t".to_owned(), "1.234\n2.345\n".to_owned())], &comma).unwrap().0.remove(0);
    assert_eq!(found.series["column.1"].values[0].value, 1234.0);
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    for (bytes, wanted) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0"[..], "gunzip"),
        (b"\xfd7zXZ\0\0", "unxz"),
        (b"(\xb5/\xfd\x04\0", "unzstd"),
        (b"PK\x03\x04\x14\0", "unzip"),
        (b"\x7fELF\x02\x01\x01\0 Simple syscall: 0.1 microseconds\n", "a program"),
        (b"12.1\n\0\0\n12.2\n", "bytes of zero"),
    ] {
        let why = column(&String::from_utf8_lossy(bytes)).unwrap_err();
        assert!(why.contains(wanted), "{wanted}: {why}");
    }
    // An archive of two results is not two runs.
    let mut archive = vec![0; 512];
    archive[257..262].copy_from_slice(b"ustar");
    archive.extend(b"Running 2s test @ http://127.0.0.1/\nRequests/sec:  12.5\n");
    assert!(column(&String::from_utf8_lossy(&archive)).unwrap_err().contains("untar"));
}

#[test]
fn a_number_without_its_end_is_said() {
    let read = |text: &str| column(text).unwrap().remarks;
    let says = |text: &str| read(text).iter().any(|remark| remark.contains("within a number"));
    assert!(says("12.1\n12.3\n12."));
    assert!(!says("12.1\n12.3\n12.2") && !says("12.1\n12.3\n12.\n") && !says("11.\n12.\n13."));
}

#[test]
fn a_line_of_another_program_hides_no_result() {
    let text = "=== stream test ===\ngoos: linux\nBenchmarkSum-2   	     100	     12.5 ns/op\n";
    assert_eq!(column(text).unwrap().tool, "go test");
}

#[test]
fn the_time_of_an_interval_is_no_part_of_a_count() {
    let text = "     1.000123456          1,001.23 msec task-clock\n\n Performance counter stats for 'x':\n\n          2,002.46 msec task-clock\n";
    let found = column(text).unwrap();
    let short = text.replace("1,001.23", "100.23");
    for found in [&found, &column(&short).unwrap()] {
        assert_eq!(found.series["perf.stat.task-clock"].values.len(), 1, "{:?}", found.series);
    }
    let values = &found.series["perf.stat.task-clock"].values;
    assert_eq!(values.iter().map(|value| value.value).collect::<Vec<_>>(), [2_002.46e6]);
    assert_eq!(found.left_out.len(), 1, "{:?}", found.left_out);
}

#[test]
fn counters_of_google_benchmark_have_small_prefixes() {
    let text = "Run on (2 X 2000 MHz CPU s)\n-----------------------------------------------------\nBenchmark           Time             CPU   Iterations UserCounters...\n-----------------------------------------------------\nBM_A              100 ns          100 ns      7000000 miss=5m err=30.2u cost=2.5ns big=1.2P/s large=512Ki/s plain=7\n";
    let found = column(text).unwrap();
    for (counter, wanted) in [
        ("miss", 5e-3),
        ("err", 30.2e-6),
        ("cost", 2.5e-9),
        ("big", 1.2e15),
        ("large", 524_288.0),
        ("plain", 7.0),
    ] {
        let (_, series) = found.series.iter().find(|(name, _)| name.ends_with(counter)).unwrap();
        assert!((series.values[0].value / wanted - 1.0).abs() < 1e-9, "{counter}: {:?}", series.values);
    }
}

#[test]
fn a_history_of_two_hosts_is_two_series() {
    let text = "host,date,ms\nh0,2026-01-01,100\nh1,2026-01-01,200\nh0,2026-01-02,101\nh1,2026-01-02,202\n";
    let history = TableOptions { is_history: true, ..TableOptions::default() };
    let found = read(&[("t.csv".to_owned(), text.to_owned())], &history).unwrap().0;
    let names: Vec<&str> = found[0].series.keys().map(String::as_str).collect();
    assert_eq!((found.len(), names), (2, vec!["ms.host=h0", "ms.host=h1"]));
    // Sorted by host they are two all the same; a kernel that became another one is the change that is looked for.
    let sorted = "host,date,ms\nh0,2026-01-01,100\nh0,2026-01-02,101\nh1,2026-01-01,200\nh1,2026-01-02,202\n";
    let found = read(&[("t.csv".to_owned(), sorted.to_owned())], &history).unwrap().0;
    assert_eq!(found[0].series.len(), 2);
    let newer = "kernel,date,ms\n6.1a,2026-01-01,100\n6.1a,2026-01-02,101\n6.8b,2026-01-03,200\n6.8b,2026-01-04,202\n";
    let found = read(&[("t.csv".to_owned(), newer.to_owned())], &history).unwrap().0;
    assert!(found.iter().all(|one| one.series.contains_key("ms")));
    // One host is no parameter.
    let text = text.replace("h1", "h0").replace("2026-01-01,200", "2026-01-03,102");
    let found = read(&[("t.csv".to_owned(), text)], &history).unwrap().0;
    assert!(found[0].series.contains_key("ms"), "{:?}", found[0].series.keys());
}
