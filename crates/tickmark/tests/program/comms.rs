//! Messages by their sizes, and what they cost the processor.

use crate::bench::{Bench, err, out, refused};
use serde_json::Value;

fn all(page: &Value) -> &Vec<Value> {
    page["comms"].as_array().unwrap()
}

fn rows(comms: &Value) -> &Vec<Value> {
    comms["rows"].as_array().unwrap_or_else(|| panic!("no rows in {comms}"))
}

#[test]
fn both_benchmarks_over_every_transport() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let over = ["tcp", "udp", "unix", "unix-dgram", "pipe", "memory"];
    let arguments =
        ["comms", "--over", &over.join(","), "--load", "none", "--sizes", "1,4096,40000", "--runs", "2"];
    let page = bench.json(&[&arguments[..], &["--duration", "4s", "--name", "all"]].concat());
    assert_eq!(all(&page).len(), 12, "{page}");
    for comms in all(&page) {
        let divisor = comms["divisor"].as_f64().unwrap();
        assert_eq!(divisor == 4.0, comms["title"].as_str().unwrap().starts_with("Comms2"), "{comms}");
        let sizes: Vec<u64> = rows(comms).iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [1, 4096, 40000]);
        for row in rows(comms) {
            let time = row["time"].as_f64().unwrap();
            assert!(
                time > 0.0 && (row["rate"].as_f64().unwrap() * time / 1e9).round() as u64 == row["bytes"],
                "{row}"
            );
            // Of two launches the median is between their medians, as all messages' is.
            let [low, high] = [0, 1].map(|end| row["launches"][end].as_f64().unwrap() * divisor);
            let whole = row["whole"]["median"].as_f64().unwrap();
            assert!(low <= whole + 1.0 && whole <= high + 1.0, "{row}");
            assert_eq!(row["loads"][0]["gaps"], Value::Null, "nothing computes: {row}");
            assert!(row["loads"][0]["tasks"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    let columns = out(&bench.run(&["comms", "--of", "all", "--output", "values"]));
    assert_eq!(columns.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(), 36);
    assert!(out(&bench.run(&["comms", "--of", "all", "--output", "plot"])).contains("Rate by size"));
}

/// A thread and a process compute beside the messages: both meters have a load for most windows, and agree. A machine on which others
/// run has windows that are refused, and says so.
#[test]
#[ignore = "second tier: 10 s"]
fn what_messages_cost_is_found_by_two_meters() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let folder = bench.store().join("plots");
    let arguments =
        ["comms", "comms1", "--place", "same", "--load", "thread,process", "--step", "multiply,increment"];
    let more = [
        "--sizes",
        "1,64,512,1024,4096,16384,32768,65536",
        "--duration",
        "12s",
        "--runs",
        "2",
        "--name",
        "loads",
    ];
    let page = bench.json(&[&arguments[..], &more, &["--plots", folder.to_str().unwrap()]].concat());
    assert_eq!(all(&page).len(), 4, "{page}");
    for comms in all(&page) {
        let cpu = &comms["cpus"][0];
        assert_eq!(cpu["windows"], 64, "{comms}");
        assert!(comms["model"].as_array().is_some_and(|pieces| !pieces.is_empty()), "{comms}");
        for row in rows(comms) {
            let load = &row["loads"][0];
            let good = load["windows"].as_u64().unwrap() - load["refused"].as_u64().unwrap();
            assert_eq!(load["gaps"].is_null(), good * 2 < load["windows"].as_u64().unwrap(), "{load}");
            if let Some(gaps) = load["gaps"].as_f64() {
                // Two tasks have the CPU, and both have some of it.
                assert!((0.05..1.05).contains(&gaps), "{load}");
            }
        }
        // The counter in memory has no steady pace (it is the document's): it is not held to that.
        let steady = !comms["metric"].as_str().unwrap().contains("increment");
        let apart = cpu["apart_median"].as_f64().filter(|_| steady);
        assert!(apart.is_none_or(|apart| apart < 0.3), "{cpu}");
    }
    let svg = std::fs::read_to_string(folder.join("comms-1.svg")).unwrap();
    assert_eq!(crate::bench::lines_drawn(&svg), 4, "{svg}");
    let text = out(&bench.run(&["comms", "--of", "loads"]));
    assert!(text.contains("Model t = t0 + n / r_inf. 1 to ") && text.contains("refused"), "{text}");
    // It is a recording like others.
    let shown = bench.json(&["show", "loads"]);
    let row = crate::bench::row(&shown, "comms.comms1.tcp.beside_thread");
    let first = rows(&all(&page)[0])[0]["whole"]["median"].as_f64().unwrap();
    assert!((row["value"].as_f64().unwrap() / first - 1.0).abs() < 0.5, "{row} and {first}");
}

/// Between two namespaces of their own: smaller packets cost more for each byte. Nothing of them is left.
#[test]
#[ignore = "second tier: root"]
fn packets_between_two_namespaces_cost_what_their_size_says() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let devices = || std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let before = devices();
    let arguments = [
        "comms",
        "comms1",
        "--link",
        "veth",
        "--mtu",
        "512,9000",
        "--offloads",
        "off",
        "--rps",
        "off,on",
        "--load",
        "none",
    ];
    let page =
        bench.json(&[&arguments[..], &["--sizes", "262144", "--duration", "4s", "--runs", "3"]].concat());
    let rate = |at: usize| rows(&all(&page)[at])[0]["rate"].as_f64().unwrap();
    assert!(all(&page)[0]["metric"].as_str().unwrap().contains("veth512.plain"), "{page}");
    assert!(all(&page)[1]["metric"].as_str().unwrap().contains("veth512.plain.rps"), "{page}");
    assert!(rate(2) > 1.3 * rate(0) && rate(3) > 1.3 * rate(1), "{page}");
    assert_eq!(devices(), before);
    // TCP's timers over such a pair.
    let timer = bench.json(&["run", "ipc.tcp.timer:timer=delayed-ack,samples=3,link=veth", "--once"]);
    let late = crate::bench::row(&timer, "ipc.tcp.timer.delayed_ack.veth.late");
    assert!(late["value"].as_f64().is_some_and(|late| late.abs() < 4e8), "{late}");
}

/// The other side as a thread, and processes that compute: all of them end with the run, whose figures are kept.
#[test]
fn a_thread_as_the_other_side_beside_computing_processes() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments = [
        "comms",
        "--peer",
        "thread,process",
        "--over",
        "tcp,memory",
        "--load",
        "process",
        "--sizes",
        "1,20000",
    ];
    let page = bench.json(&[&arguments[..], &["--duration", "6s", "--runs", "2"]].concat());
    assert_eq!(all(&page).len(), 8, "{page}");
    for comms in all(&page) {
        assert_eq!((rows(comms).len(), &comms["runs"]), (2, &Value::from(2)), "{comms}");
    }
}

#[test]
fn what_cannot_be_asked_of_messages_is_refused_in_one_line() {
    let bench = Bench::new();
    refused(&bench.run(&["comms", "--over", "udp", "--sizes", "100000"]), 2, &["100000 bytes", "65507"]);
    refused(&bench.run(&["comms", "--duration", "10ms"]), 2, &["--duration", "too short for"]);
    refused(&bench.run(&["comms", "--over", "pigeon"]), 2, &["pigeon", "unix-dgram"]);
    refused(&bench.run(&["comms", "--mtu", "20"]), 2, &["68"]);
    refused(&bench.run(&["comms", "--offloads", "off"]), 2, &["--link veth"]);
    refused(&bench.run(&["comms", "--over", "unix", "--link", "veth"]), 2, &["tcp and udp", "unix"]);
    refused(&bench.run(&["comms", "--sizes", "0"]), 2, &["--sizes"]);
    refused(&bench.run(&["comms", "comms1", "--plots", "/proc/none"]), 1, &["--plots", "/proc/none"]);
    assert!(bench.run(&["run", "syscall.null", "--once", "--name", "other"]).status.success());
    refused(&bench.run(&["comms", "--of", "other"]), 2, &["has no messages"]);
    // More than a datagram holds, asked by the probe's own name.
    let wrong = bench.run(&["run", "comms:over=udp,sizes=70000", "--once"]);
    assert_eq!(wrong.status.code(), Some(4), "{}", err(&wrong));
    assert!(out(&wrong).contains("70000 bytes"), "{}", out(&wrong));
}
