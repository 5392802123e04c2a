//! The tick's loop against the kernel's own instrument and counts, in a guest that has nothing else to do.

use crate::bench::{Bench, err};

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_kernels_own_tracer_and_its_counts_say_the_same() {
    let bench = Bench::new();
    let kernel =
        ["lab", "boot", "--kernel", "x86_64:hz=1000:osnoise=on", "--speed", "250", "--slice", "100ms"];
    let booted = bench.run(&[&kernel[..], &["tick", "osnoise:seconds=1"]].concat());
    assert!(booted.status.success(), "{}", err(&booted));
    let page = bench.tick(&["--of", "last"]);
    let hz = page["tick"]["frequency_hz"].as_f64().unwrap();
    assert!((hz / 1000.0 - 1.0).abs() < 1e-5, "{page:#}");
    // As many ticks as the kernel counted interrupts of its timer: within 2 %.
    let counted = page["accounts"]["timer_interrupts_hz"].as_f64().unwrap();
    assert!((counted / hz - 1.0).abs() < 0.02, "{counted} and {hz}");
    // osnoise wakes up by timers of its own (1009.5 seen), and its timestamps lengthen each interrupt: 1.33 times the loop's loss was seen.
    let observed = page["osnoise"]["interrupts_hz"].as_f64().unwrap();
    assert!((0.99..1.03).contains(&(observed / hz)), "{page:#}");
    let (ours, theirs) = (page["lost"].as_f64().unwrap(), page["osnoise"]["lost"].as_f64().unwrap());
    assert!((0.9..1.8).contains(&(theirs / ours)), "{theirs} and {ours}");
    // Nothing but the tick, and the kernel's own threads.
    assert!(page["named"].as_f64().unwrap() > 0.99, "{page:#}");
}

/// How late timers are by this instrument and by the kernel's own, in turns in one boot: the thread that timerlat wakes does what a sleeping
/// program does, and its interrupt comes before.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_kernels_own_tracer_of_timers_says_the_same() {
    let bench = Bench::new();
    let kernel = [
        "lab",
        "boot",
        "--kernel",
        "x86_64:hz=1000:osnoise=on",
        "--speed",
        "250",
        "--slice",
        "400ms",
        "--runs",
        "2",
    ];
    let booted =
        bench.run(&[&kernel[..], &["timer.wake:ahead=1000,class=fifo", "timerlat:seconds=1"]].concat());
    assert!(booted.status.success(), "{}", err(&booted));
    let page = bench.json(&["timers", "--of", "last"]);
    let p50 = |metric: &str| {
        let way = page["ways"].as_array().unwrap().iter().find(|way| way["metric"] == metric).unwrap();
        assert!(way["wakes"].as_u64().unwrap() > 100, "{way}");
        way["quantiles"]["p50"].as_f64().unwrap()
    };
    let (sleep, interrupt, thread) =
        (p50("timer.wake.1000.nanosleep.fifo"), p50("timerlat.interrupt"), p50("timerlat.thread"));
    assert!(interrupt < thread, "{page:#}");
    assert!((0.3..3.0).contains(&(thread / sleep)), "{thread} and {sleep}");
}
