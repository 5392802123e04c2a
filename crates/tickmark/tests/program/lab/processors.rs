//! 64-bit ARM and RISC-V: what a boot counts, and where its instructions are.

use super::explain::{function, number};
use crate::bench::{Bench, refused, row};
use std::ops::Range;

/// What is known of a processor's kernel: its way in for system calls, instructions of the null call and of a tick, share lost at HZ 1000
/// (docs/LAB.md: 249.6, 2616 and 4.198 % on arm64, 186.8, 3187 and 5.208 % on riscv64).
struct Processor {
    kernel: &'static str,
    entry: &'static str,
    null_call: Range<f64>,
    tick: Range<f64>,
    lost: Range<f64>,
}

const PROCESSORS: [Processor; 2] = [
    Processor {
        kernel: "arm64:hz=1000",
        entry: "el0t_64_sync",
        null_call: 225.0..275.0,
        tick: 2400.0..2800.0,
        lost: 0.037..0.046,
    },
    Processor {
        kernel: "riscv64:hz=1000",
        entry: "handle_exception",
        null_call: 165.0..205.0,
        tick: 2900.0..3500.0,
        lost: 0.046..0.057,
    },
];

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn ticks_and_calls_of_arm64_and_riscv64() {
    for Processor { kernel, null_call, tick, lost, .. } in PROCESSORS {
        let bench = Bench::new();
        let shown = bench.json(&["lab", "boot", "--kernel", kernel, "tick", "tick.spin", "syscall.null"]);
        let [null, cost] =
            ["syscall.null", "tick.cost"].map(|metric| number(row(&shown, metric), "instructions"));
        assert!(null_call.contains(&null) && tick.contains(&cost), "{kernel}: {null} {cost}");
        let share = number(row(&shown, "tick.spin.lost"), "value");
        assert!(lost.contains(&share), "{kernel}: {share}");
    }
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn what_arm64_and_riscv64_execute_by_function() {
    for Processor { kernel, entry, null_call, tick, .. } in PROCESSORS {
        let bench = Bench::new();
        let explained =
            |probe: &str| bench.json(&["lab", "explain", probe, "--kernel", kernel])["kernels"][0].clone();
        let null = explained("syscall.null");
        let all = number(&null, "kernel_instructions") + number(&null, "program");
        assert!(null_call.contains(&all), "{kernel}: {all}");
        // One function of each name in a stack: what comes back to the entry is in it, and no callee.
        let entered = function(&null, entry);
        assert!((number(entered, "calls") - 1.0).abs() < 0.01, "{entered}");
        assert!(number(entered, "inclusive") / number(&null, "kernel_instructions") > 0.99, "{entered}");
        // A thousand a second, and nothing but the timer's.
        let [interrupt] = &null["interrupts"].as_array().unwrap()[..] else { panic!("{null}") };
        assert_eq!(interrupt["name"], "interrupt");
        assert!((990.0..1010.0).contains(&number(interrupt, "count")), "{kernel}: {}", interrupt["count"]);
        assert!(tick.contains(&number(interrupt, "mean")), "{kernel}: {}", interrupt["mean"]);
        // Threads that begin, are switched to and end; faults by an instruction, which is counted once; a door that interrupts share.
        let fork = explained("process.fork");
        let copied = function(&fork, "copy_process");
        assert!((number(copied, "calls") - 1.0).abs() < 0.02, "{copied}");
        let pipe = explained("ipc.pipe.round_trip");
        let read = function(&pipe, "pipe_read");
        assert!((number(read, "calls") - 2.0).abs() < 0.1, "{read}");
        let resumed = pipe["resumed"].as_array().unwrap().iter().map(|one| number(one, "own")).sum::<f64>();
        assert!(resumed < number(&pipe["agreement"], "instructions") * 0.05, "{resumed}");
        let fault = explained("syscall.fault.protection");
        assert!(number(&fault["agreement"], "beside") < 200.0, "{}", fault["agreement"]);
    }
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn an_agent_for_another_processor_is_refused() {
    let bench = Bench::new();
    let boot = ["lab", "boot", "--kernel", "arm64:hz=1000", "--agent", "rust", "syscall.null"];
    refused(&bench.run(&boot), 1, &["is not a program for arm64, as the guest needs"]);
    let boot = ["lab", "boot", "--kernel", "riscv64:hz=1000", "--agent", "rust", "syscall.null"];
    refused(&bench.run(&boot), 2, &["give agent c on riscv64"]);
}
