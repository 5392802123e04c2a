//! TCP's timers in guests that tick 100 and 1000 times a second.

use crate::bench::{Bench, err, row};

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn tcps_timers_count_ticks() {
    let late = |kernel: &str| {
        let bench = Bench::new();
        let begin = ["lab", "boot", "--kernel", kernel, "--slice", "600ms"];
        let probes = [
            "ipc.tcp.timer:timer=delayed-ack,samples=10",
            "ipc.tcp.timer:timer=retransmission,samples=1",
            "ipc.tcp.timer:timer=keepalive,samples=1",
        ];
        let shown = bench.json(&[&begin[..], &probes].concat());
        ["delayed_ack", "retransmission", "keepalive"].map(|timer| {
            let value = row(&shown, &format!("ipc.tcp.timer.{timer}.late"))["value"].as_f64().unwrap();
            value / 1e6
        })
    };
    // Nothing is early; an acknowledgement is late by a tick at most, half of one in the median.
    let [ack, again, alive] = late("x86_64:hz=100");
    assert!(
        (1.5..10.5).contains(&ack) && (0.0..25.0).contains(&again) && (0.0..90.0).contains(&alive),
        "{ack} {again} {alive}"
    );
    let [fine, again, alive] = late("x86_64:hz=1000");
    assert!(
        (0.0..1.5).contains(&fine) && (0.0..25.0).contains(&again) && (0.0..90.0).contains(&alive),
        "{fine} {again} {alive}"
    );
}

/// The static agent in a guest: messages beside a computing thread and a process, where the kernel charges interrupts to no task. What
/// they cost is in no account of a task.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn messages_in_a_guest_cost_more_than_their_tasks_account_for() {
    let bench = Bench::new();
    let sizes = "sizes=1 1024 16384";
    let probes =
        [format!("comms:load=process,{sizes}"), format!("comms:over=pipe,load=thread,peer=thread,{sizes}")];
    let begin = ["lab", "boot", "--kernel", "x86_64", "--speed", "250", "--slice", "4s"];
    let made = bench
        .run(&[&begin[..], &[&probes[0], &probes[1], "timer.wake:ahead=500,method=posix-signal"]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let page = bench.json(&["comms", "--of", "last"]);
    let all = page["comms"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{page}");
    for comms in all {
        for row in comms["rows"].as_array().unwrap() {
            let of =
                |name: &str| row["loads"][0][name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
            assert!((of("gaps") - of("counter")).abs() < 0.02, "{row}");
            assert!(of("gaps") > of("tasks"), "{row}");
        }
    }
}
