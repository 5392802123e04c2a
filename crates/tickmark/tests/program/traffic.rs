//! Packets, streams, tokens, and where a message's time goes.

use crate::bench::{Bench, err, out, refused, row};

#[test]
fn packets_streams_and_tokens_are_measured() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let probes = [
        "net.udp.packets:rate=0",
        "net.udp.packets:rate=1000",
        "net.tcp.streams:streams=3",
        "ipc.juggle:over=pipe,by=one",
        "ipc.juggle:over=udp,by=threads,pipeline=4",
        "ipc.juggle:over=unix,by=processes,pipeline=2",
    ];
    let page = bench
        .json(&[&["run"], &probes[..], &["--runs", "1", "--budget", "300ms", "--name", "traffic"]].concat());
    let value =
        |metric: &str| row(&page, metric)["value"].as_f64().unwrap_or_else(|| panic!("no {metric}: {page}"));
    // What is received was sent, and a fixed rate is kept where the machine has the time.
    assert!(value("net.udp.packets.64b.0") > 100.0);
    let lost = value("net.udp.packets.64b.0.lost");
    assert!((0.0..1.0).contains(&lost), "{lost}");
    assert!(value("net.udp.packets.64b.0.sent") >= value("net.udp.packets.64b.0") * 0.5);
    let kept = value("net.udp.packets.64b.1000.sent");
    assert!((500.0..1500.0).contains(&kept), "{kept}");
    assert!(
        value("net.udp.packets.64b.1000.late") >= 0.0 && value("net.udp.packets.64b.1000.cpu_receive") > 0.0
    );
    assert!(value("net.tcp.streams.3") > 1e6 && value("net.tcp.streams.3.cpu_receive") > 0.0);
    for juggled in ["pipe.one", "udp.threads.4", "unix.processes.2"] {
        assert!(value(&format!("ipc.juggle.{juggled}")) > 100.0, "{juggled}");
    }
    let text = out(&bench.run(&["show", "traffic"]));
    assert!(text.contains("/s") && text.contains("packets received"), "{text}");
    // One message of shared memory at a time.
    let memory = bench.run(&["run", "ipc.juggle:over=memory,by=one,pipeline=2", "--runs", "1"]);
    assert!(
        memory.status.code() == Some(4) && out(&memory).contains("over is pipe"),
        "{} {}",
        out(&memory),
        err(&memory)
    );
    refused(&bench.run(&["run", "net.udp.packets:bytes=64", "--runs", "1"]), 2, &["rate"]);
}

#[test]
fn the_stages_of_a_message_are_its_way() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    for (over, stages) in [("udp", 5), ("tcp", 6)] {
        let probe = format!("ipc.stages:over={over},samples=500");
        let page = bench.json(&["run", &probe, "--runs", "1", "--budget", "400ms"]);
        let value = |part: &str| {
            let metric = format!("ipc.stages.{over}.{part}");
            row(&page, &metric)["value"].as_f64().unwrap_or_else(|| panic!("no {metric}: {page}"))
        };
        let way: f64 = ["to_queue", "to_device", "to_receive", "to_user"].map(value).iter().sum();
        let whole = value("round_trip");
        // Medians of parts are no parts of a median: but they are a part of the whole way.
        assert!(way > 0.0 && way < 1.5 * whole && value("send") < whole, "{way} {whole}");
        let all = ["send", "to_queue", "to_device", "to_receive", "to_user", "acknowledged"];
        assert!(all[..stages].iter().all(|part| value(part) > 0.0));
    }
}

#[test]
#[ignore = "second tier: 14 s"]
fn a_file_of_messages_is_launched_and_shows_the_documents_tables() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    std::fs::create_dir_all(bench.store()).unwrap();
    let file = bench.store().join("load.toml");
    let probe = |load: &str, mtu: u32| {
        format!(
            "\"comms:benchmark=comms2,link=veth,offloads=off,mtu={mtu},load={load},sizes=1 64 1024 4096 524288\""
        )
    };
    let probes = [
        probe("none", 4096),
        probe("thread", 4096),
        probe("process", 4096),
        probe("process", 1024),
        probe("process", 512),
    ];
    let text = format!(
        "name = \"small\"\nreport = [\"messages\"]\nblocks = 3\nbudget = \"9s\"\nprobes = [{}]\n",
        probes.join(", ")
    );
    std::fs::write(&file, text).unwrap();
    let made = bench.run(&["experiment", file.to_str().unwrap()]);
    assert!(matches!(made.status.code(), Some(0 | 4)), "{}", err(&made));
    let text = out(&made);
    assert!(text.contains("Table 2 again") && text.contains("beside a process"), "{text}");
    assert!(text.contains("load process against thread") && text.contains("Figure 11 again"), "{text}");
    let page = bench.json(&["comms", "--of", "small"]);
    assert_eq!(page["document"]["table_2"].as_array().unwrap().len(), 3, "{page}");
    assert_eq!(page["settings"].as_array().unwrap().len(), 18, "{}", page["settings"]);
    refused(&bench.run(&["experiment", file.to_str().unwrap(), "--width", "1%"]), 2, &["--width"]);
    refused(&bench.run(&["lab", "run", file.to_str().unwrap()]), 2, &["boots nothing"]);
}

#[test]
fn how_streams_send_is_a_knob() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let streams = "net.tcp.streams:streams=1";
    let arguments = ["experiment", "send=write,zerocopy,io_uring", streams, "--blocks", "2", "--no-pilot"];
    let done = bench.run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let sent = |back: usize| {
        let folder = bench.json(&["show", &format!("last~{back}")]);
        let rate = row(&folder, "net.tcp.streams.1")["value"].as_f64();
        rate.filter(|rate| *rate > 1e6).unwrap_or_else(|| panic!("{folder}"))
    };
    assert!([0, 1, 2].map(sent).iter().all(|rate| rate.is_finite()));
    refused(&bench.run(&["experiment", "send=write,pigeon", streams]), 2, &["pigeon", "zerocopy"]);
}
