//! Transactions over HTTP: our own pair, other servers, and bad ones.

use crate::bench::{Bench, err, out, page_of, refused};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

fn summary(page: &Value, load: usize) -> &Value {
    &page["loads"][load]["summary"]
}

fn median(value: &Value) -> f64 {
    value["median"].as_f64().unwrap_or_else(|| panic!("no median: {value}"))
}

const SHORT: [&str; 4] = ["--runs", "2", "--duration", "700ms"];

/// Has the CPU for some milliseconds, and then rests for ten times as long.
const DISTURBS: &str = "$0 = 'tmdisturb'; alarm 60; while (1) { $i = 0; $i++ while $i < 100000; select(undef, undef, undef, .05) }";

#[test]
#[ignore = "second tier: root"]
fn what_had_the_servers_cpu_during_slow_requests_is_named() {
    let _machine = crate::bench::machine();
    let (bench, cpu) = (Bench::new(), crate::bench::cpu());
    let mut disturber = std::process::Command::new("taskset");
    let mut disturber = disturber.args(["-c", &cpu, "perl", "-e", DISTURBS]).spawn().unwrap();
    let asked = ["--connection", "keep-alive", "--connections", "4", "--workers", "4", "--place", "same"];
    let page = bench.json(&[&["http", "--cpu", &cpu], &asked[..], &SHORT].concat());
    let _ = disturber.kill();
    let _ = disturber.wait();
    // The recorded load is told with the one that it repeats.
    assert_eq!(page["loads"].as_array().unwrap().len(), 1, "{page:#}");
    let slowest = &summary(&page, 0)["slowest"];
    let groups = slowest["groups"].as_array().unwrap_or_else(|| panic!("{page:#}"));
    let own = groups.iter().find(|one| one["name"].as_str().unwrap().starts_with("tmdisturb"));
    let own = own.unwrap_or_else(|| panic!("{page:#}"));
    assert!(own["requests"].as_u64() > Some(2) && own["longest"].as_f64() > Some(2e5), "{page:#}");
    // Without it no quantile is later than it was.
    for at in 0..2 {
        let value = |of: &Value| of[at]["value"].as_f64().unwrap_or(0.0);
        assert!(value(&own["without"]) <= value(&slowest["quantiles"]), "{page:#}");
    }
    assert!(slowest["requests"].as_u64() >= slowest["kept"].as_u64(), "{page:#}");
    let text = out(&bench.run(&["http", "--of", "last"]));
    assert!(text.contains("had the server's CPU") && text.contains("tmdisturb"), "{text}");
}

#[test]
fn our_own_pair_says_what_a_transaction_costs() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments = [
        "http",
        "--connection",
        "close,keep-alive",
        "--connections",
        "8",
        "--workers",
        "8",
        "--place",
        "same",
        "--name",
        "pair",
    ];
    let page = bench.json(&[&arguments[..], &SHORT].concat());
    assert_eq!(page["loads"].as_array().unwrap().len(), 2, "{page}");
    for load in 0..2 {
        let observed = summary(&page, load);
        // A transaction has four system calls a side at least, and sleeps on neither for long.
        for side in ["server", "client"] {
            assert!((1e3..1e7).contains(&median(&observed["cpu"][side])), "{page}");
        }
        assert!(median(&observed["reached"]) > 50.0 && observed["failed"].as_f64() == Some(0.0), "{page}");
        // The clock is read once for each.
        assert!((0.99..1.01).contains(&observed["clock_reads"].as_f64().unwrap()), "{page}");
        let latency = &observed["latency"]["service"];
        assert!(
            latency["quantiles"]["p50"].as_f64() <= latency["quantiles"]["p99"].as_f64()
                && latency["count"].as_u64() > Some(50),
            "{page}"
        );
        assert!(observed["latency"]["response"].is_null(), "{page}");
    }
    // A connection each costs both sides more.
    assert!(
        median(&summary(&page, 0)["cpu"]["client"]) > median(&summary(&page, 1)["cpu"]["client"]),
        "{page}"
    );
    let text = out(&bench.run(&["http", "--of", "pair"]));
    assert!(text.contains("CPU time, server") && text.contains("service latency"), "{text}");
    refused(&bench.run(&["http", "--of", "pair", "--runs", "3"]), 2, &["--of"]);
    // Nothing reads a clock where latency is not asked for; workers may be threads.
    let counted = bench.json(
        &[&["http", "--count-only", "--by", "threads", "--place", "same", "--connections", "4"][..], &SHORT]
            .concat(),
    );
    assert_eq!(summary(&counted, 0)["clock_reads"].as_f64(), Some(0.0), "{counted}");
    assert!(
        median(&summary(&counted, 0)["reached"]) > 50.0
            && summary(&counted, 0)["latency"]["service"].is_null(),
        "{counted}"
    );
    refused(
        &bench.run(&[
            "http",
            "--connection",
            "keep-alive",
            "--connections",
            "9",
            "--workers",
            "8",
            "--quick",
        ]),
        1,
        &["worker"],
    );
}

#[test]
#[ignore = "second tier: 20 to 30 s"]
fn requests_at_times_of_their_own_come_as_often_as_they_are_due() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    for arrivals in ["fixed", "poisson"] {
        let arguments = [
            "http",
            "--connection",
            "keep-alive",
            "--connections",
            "16",
            "--workers",
            "16",
            "--rate",
            "200",
            "--arrivals",
            arrivals,
            "--place",
            "same",
        ];
        let page = bench.json(&[&arguments[..], &["--runs", "1", "--duration", "3s"]].concat());
        let observed = summary(&page, 0);
        // What was not sent was due as well: at the end of a run the machine may have been away.
        let missed = observed["missed"].as_f64().unwrap();
        let due = median(&observed["reached"]) / (1.0 - missed);
        assert!((150.0..250.0).contains(&due) && missed < 0.5, "{page}");
        let p50 = |name: &str| observed["latency"][name]["quantiles"]["p50"].as_f64();
        assert!(p50("service") > Some(0.0) && p50("late") > Some(0.0), "{page}");
        // Beside others the client may be so late that response latency is its own: it is refused then, and only then.
        assert_eq!(observed["limit"] == "late", p50("response").is_none(), "{page}");
        assert!(p50("response").is_none_or(|response| Some(response) >= p50("service")), "{page}");
    }
    refused(&bench.run(&["http", "--rate", "10", "--count-only"]), 2, &["--count-only"]);
}

/// A server's behaviour on a connection.
type Does = fn(TcpStream);

/// Listens, and does that with each connection, in a thread of its own that ends with the test.
fn server(does: Does) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|one| drop(std::thread::spawn(move || does(one))));
    });
    url
}

fn request(stream: &mut TcpStream) -> bool {
    let (mut got, mut piece) = (Vec::new(), [0; 1024]);
    while !got.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => got.extend_from_slice(&piece[..count]),
            _ => return false,
        }
    }
    assert!(got.starts_with(b"GET /page HTTP/1.1\r\nHost: 127.0.0.1:"), "{}", String::from_utf8_lossy(&got));
    true
}

/// Answers every request; each in chunks after a while.
fn good(mut stream: TcpStream) {
    while request(&mut stream) {
        std::thread::sleep(Duration::from_millis(2));
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
#[ignore = "second tier: 20 to 30 s"]
fn the_capacity_of_a_server_that_is_known_is_found_and_what_cannot_be_found_is_said() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    // One request at a time, of 2 ms at least: no more than 500 a second, whatever the machine does.
    let url = one_at_a_time(Duration::from_millis(2));
    let search = ["http", "--url", &url, "--connections", "8", "--runs", "2", "--duration", "6s"];
    let output = bench.run(&[&search[..], &["--find-capacity", "p50=40ms"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("HTTP, highest rate with p50 up to 40000 us"), "{}", out(&output));
    let model = bench.json(&["http", "--of", "last"]);
    let observed = &model["capacities"][0]["summary"];
    let of = |value: &Value| value.as_f64().unwrap();
    // In a slice of 200 ms a queue that grows by 40 ms of work still keeps the limit, and by no more.
    let found = of(&observed["rate"]["median"]);
    assert!((20.0..700.0).contains(&found), "{observed}");
    assert!(of(&observed["kept"]) < 1000.0, "{observed}");
    // A slice of 100 ms may count answers that were ready before it, one a connection.
    assert!(of(&observed["closed_loop"]) <= 600.0, "{observed}");
    assert_eq!((&observed["runs"], model["capacities"].as_array().unwrap().len()), (&2.into(), 1));
    // Each answer takes longer.
    let never = bench
        .run(&[&search[..5], &["--runs", "1", "--duration", "3s", "--find-capacity", "p50=1ms"]].concat());
    refused(&never, 1, &["requests a second broke the limit"]);
    let recorded = bench.recordings().as_array().map_or(0, Vec::len);
    let gone = bench.run(&["http", "--url", "http://127.0.0.1:1/", "--quick", "--find-capacity", "p99=5ms"]);
    refused(&gone, 1, &["nobody answers at 127.0.0.1:1", "refused"]);
    assert_eq!(bench.recordings().as_array().map(Vec::len), Some(recorded), "nothing was begun");
    refused(&bench.run(&["http", "--find-capacity", "p98=5ms"]), 2, &["p50, p90, p95, p99 and p99.9"]);
    refused(&bench.run(&["http", "--find-capacity", "p99=5"]), 2, &["a time with its unit"]);
}

/// A server that takes one connection at a time, answers its one request after so long, and closes it.
fn one_at_a_time(takes: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            request(&mut stream);
            std::thread::sleep(takes);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn bad_servers_are_counted_and_said_in_one_line() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let bad: [(Does, &str); 6] = [
        (
            |mut stream| {
                request(&mut stream);
            },
            "closed before an answer",
        ),
        (
            |mut stream| {
                request(&mut stream);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
            },
            "cut short",
        ),
        (
            |mut stream| {
                request(&mut stream);
                let _ = stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
            },
            "error status",
        ),
        (
            |mut stream| {
                request(&mut stream);
                let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n");
            },
            "other than what was asked for",
        ),
        (
            // What was not read makes the end of the connection a reset.
            |stream| {
                std::thread::sleep(Duration::from_millis(20));
                drop(stream);
            },
            "reset",
        ),
        (|_stream| std::thread::sleep(Duration::from_secs(60)), "without an answer in time"),
    ];
    for (does, says) in bad {
        let url = server(does);
        let arguments = [
            "http",
            "--url",
            &url,
            "--connections",
            "4",
            "--runs",
            "1",
            "--duration",
            "300ms",
            "--patience",
            "1",
        ];
        refused(&bench.run(&arguments), 1, &["nothing was measured", says]);
    }
    refused(&bench.run(&["http", "--quick", "--url", "http://127.0.0.1:1/"]), 1, &["refused"]);
    refused(&bench.run(&["http", "--url", "https://127.0.0.1/"]), 2, &["https"]);
    refused(&bench.run(&["http", "--url", "ftp://127.0.0.1/"]), 2, &["http://HOST:PORT/PATH"]);
    refused(&bench.run(&["http", "--url", "http://127.0.0.1/", "--pid", "4194304"]), 2, &["no such process"]);
}

#[test]
fn a_stall_is_in_the_response_latency_and_not_in_the_service_latency() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    /// One second without an answer, once, on every connection that asks meanwhile: the server as a whole stands still.
    fn stalls(mut stream: TcpStream) {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        while request(&mut stream) {
            let begin = *BEGAN.get_or_init(Instant::now) + Duration::from_millis(1500);
            let now = Instant::now();
            if now > begin && now < begin + Duration::from_secs(1) {
                std::thread::sleep(begin + Duration::from_secs(1) - now);
            }
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
    let url = server(stalls);
    let arguments = [
        "http",
        "--url",
        &url,
        "--connection",
        "keep-alive",
        "--connections",
        "4",
        "--rate",
        "200",
        "--runs",
        "1",
        "--duration",
        "4s",
    ];
    let page = bench.json(&arguments);
    let latency = &summary(&page, 0)["latency"];
    let at = |which: &str, what: &str| latency[which]["quantiles"][what].as_f64().unwrap();
    // A fifth of all requests was due while it stood still; four connections waited for their answers.
    assert!(at("response", "p90") > 2e8 && latency["response"]["max"].as_f64().unwrap() > 8e8, "{page}");
    assert!(at("service", "p90") < 2e8, "{page}");
    let ok = bench.json(&[
        "http",
        "--url",
        &server(good),
        "--connections",
        "2",
        "--connection",
        "close,keep-alive",
        "--runs",
        "1",
        "--duration",
        "600ms",
    ]);
    assert!(
        (0..2).all(|load| summary(&ok, load)["latency"]["service"]["quantiles"]["p50"].as_f64() > Some(2e6)),
        "{ok}"
    );
    // It is this test itself that serves.
    let own = std::process::id().to_string();
    let known = bench.run(&[
        "http",
        "--url",
        &server(good),
        "--pid",
        &own,
        "--connections",
        "2",
        "--runs",
        "1",
        "--duration",
        "600ms",
        "--format",
        "json",
    ]);
    assert_eq!(known.status.code(), Some(0), "{}", err(&known));
    let known = page_of(out(&known));
    assert!(median(&summary(&known, 0)["cpu"]["server"]) > 1e3, "{known}");
}
