//! Planted culprits, each of which takes a CPU in one way by an amount that it counts itself: whether `tickmark tick` names them by the kernel's events, and by which
//! amount. Here, and in guests with Debian's own kernels.

mod guest;

use super::Tickmark;
use super::tick::watch;
use crate::{Result, shell};
use guest::Guest;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long each is watched: half of it without events.
const LENGTH: &str = "4s";
/// Debian's kernels, by their meta packages or names.
const KERNELS: [&str; 2] =
    ["linux-image-6\\.1\\.[0-9-]*-cloud-amd64$", "linux-image-6\\.12\\..*-cloud-amd64$"];
const NAME: &str = "tmculprit";
/// One of the lab, which has the kernel's tracer osnoise; and how far that may be from what is measured at another time.
const TRACED: &str = "x86_64:hz=1000:osnoise=on";
const APART: f64 = 0.1;
/// A culprit's CPU time without what interrupted it is at least this part of it, where both are its limits.
const NARROW: f64 = 0.85;

/// What is compared.
#[derive(Clone, Copy)]
enum Amount {
    /// Share of the CPU: between its own CPU time without and with what interrupted it.
    Share,
    /// How often: its own count.
    Rate,
    /// Nothing that it knows.
    None,
}

/// A kind, what names it, who set it off, and what is compared.
const KINDS: &[(&str, &[&str], bool, Amount)] = &[
    ("hog", &["tmculprit ("], false, Amount::Share),
    ("fifo", &["tmculprit ("], false, Amount::Share),
    ("timer", &["timer hrtimer_wakeup"], true, Amount::Rate),
    ("wheel", &["timer process_timeout"], true, Amount::Rate),
    ("packets", &["softirq NET_RX"], false, Amount::Rate),
    // Before Linux 6.3 functions that other CPUs call have no tracepoint of their own.
    ("call", &["function call remote_function", "interrupt: call function single"], false, Amount::Rate),
    ("work", &["work refresh_vm_stats"], false, Amount::Rate),
    ("stopper", &["migration/"], false, Amount::Rate),
    ("rcu", &["softirq RCU"], false, Amount::None),
    ("fault", &["page fault"], false, Amount::Rate),
    ("flush", FORGETS, false, Amount::Rate),
    ("module", &["timer tmculprit_expire"], false, Amount::Rate),
    ("vmalloc", FORGETS, false, Amount::Rate),
];
/// Another CPU has addresses forgotten here.
const FORGETS: &[&str] = &["TLB flush for another CPU", "interrupt: call function"];
/// Kinds that need CONFIG_MEM_SOFT_DIRTY, and those that need headers to build a module with.
const SOFT_DIRTY: [&str; 2] = ["fault", "flush"];
const MODULES: [&str; 2] = ["module", "vmalloc"];

pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("gcc", "gcc"),
        ("cpio", "cpio"),
        ("dpkg-deb", "dpkg"),
        ("qemu-system-x86_64", "qemu-system-x86"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let culprit = folder.path().join("culprit");
    let source = shell::root().join("crates/xtask/src/peers/culprit.c");
    shell::output(Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&culprit).arg(source))?;
    let (mut right, mut all) = (0, 0);
    println!("{:12} {:9} {:44} {:>12} {:>16}", "where", "culprit", "named", "amount", "its own");
    for kind in KINDS.iter().filter(|kind| ![SOFT_DIRTY, MODULES].concat().contains(&kind.0)) {
        let other = if tickmark.cpu == "0" { "1" } else { "0" };
        let child =
            Command::new(&culprit).args([kind.0, &tickmark.cpu, other]).stdout(Stdio::piped()).spawn();
        let child = child.map_err(|error| error.to_string())?;
        std::thread::sleep(Duration::from_millis(300));
        let page = watch(&tickmark, &[], LENGTH, &[])?;
        shell::output(Command::new("kill").args(["-TERM", &child.id().to_string()]))?;
        let said = child.wait_with_output().map_err(|error| error.to_string())?.stdout;
        right += u32::from(judge("this kernel", kind, &said, &page));
        all += 1;
    }
    let stock = KERNELS.iter().map(|kernel| Guest::stock(kernel, folder.path()));
    for guest in stock.chain([Guest::traced(&tickmark, TRACED, folder.path())]) {
        let guest = guest?;
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.0).filter(|kind| guest.can(kind)).collect();
        let results = guest.boot(&tickmark, &culprit, &kinds, LENGTH)?;
        for known in KINDS.iter().filter(|known| kinds.contains(&known.0)) {
            all += 1;
            let Some(shown) = results.iter().find(|shown| shown.kind == known.0) else {
                println!("{:12} {:9} no result came out of the guest", guest.name, known.0);
                continue;
            };
            right += u32::from(judge(&guest.name, known, shown.said.as_bytes(), &shown.page));
            agree(known, &shown.osnoise, &shown.page);
        }
    }
    println!(
        "{right} of {all} named, with amounts within 5 % (of RCU's soft interrupt: named; of a share: of its limits)"
    );
    Ok(())
}

/// Prints what the kernel's own tracer says of the same, at another time.
fn agree((kind, names, ..): &(&str, &[&str], bool, Amount), osnoise: &Value, page: &Value) {
    let Some(span) = osnoise["span"].as_f64() else { return };
    // Threads by their time, soft interrupts by their number.
    let (key, column) = match *kind {
        "hog" | "fifo" => ("thread_noise: tmculprit", 1),
        "packets" => ("softirq_noise: NET_RX", 0),
        "rcu" => ("softirq_noise: RCU", 0),
        _ => return,
    };
    let own = osnoise.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with(key));
    let theirs: f64 = own.filter_map(|(_, both)| both[column].as_f64()).sum::<f64>() / span;
    let takers = page["witness"]["takers"].as_array().into_iter().flatten();
    let found = takers.into_iter().filter(|taker| {
        let name = taker["name"].as_str().unwrap_or_default();
        names.iter().any(|prefix| name.starts_with(prefix))
    });
    let seconds = page["witness"]["span"].as_f64().unwrap_or(f64::NAN) / 1e9;
    let ours: f64 =
        found.filter_map(|taker| taker[["count", "total"][column]].as_f64()).sum::<f64>() / seconds;
    let scale = [1.0, 1e9][column];
    let verdict = if (ours / theirs - 1.0).abs() <= APART { "" } else { "  differ" };
    println!("{:12} {kind:9} {key:44} {:12.4} {:16.4}{verdict}", "osnoise", ours / scale, theirs / scale);
}

/// Prints a line; true if it was named, and the amount is within 5 %.
fn judge(
    place: &str,
    (kind, names, is_set, amount): &(&str, &[&str], bool, Amount),
    said: &[u8],
    page: &Value,
) -> bool {
    let truth: Value = serde_json::from_slice(said).unwrap_or_default();
    let own = |key: &str| grown(&truth, key, page);
    let takers = page["witness"]["takers"].as_array().into_iter().flatten();
    let is_named = |taker: &&Value| {
        let name = taker["name"].as_str().unwrap_or_default();
        let by = taker["woken_by"].as_array().into_iter().flatten();
        names.iter().any(|prefix| name.starts_with(prefix))
            && (!is_set || by.into_iter().any(|by| by["by"] == NAME))
    };
    let found = takers.into_iter().find(is_named);
    let span = page["witness"]["span"].as_f64().unwrap_or(f64::NAN) / 1e9;
    let figure = |key: &str| found.map_or(f64::NAN, |taker| taker[key].as_f64().unwrap_or(f64::NAN));
    // Of a timer those that others set are not its own.
    let set = || {
        let by = found.and_then(|taker| taker["woken_by"].as_array()).into_iter().flatten();
        by.into_iter().filter(|by| by["by"] == NAME).filter_map(|by| by["count"].as_f64()).sum::<f64>()
    };
    let (ours, theirs) = match amount {
        // Its CPU time has interrupts in it; the pauses of its loop are these and what a hypervisor took.
        Amount::Share => (figure("share"), ["uninterrupted", "cpu"].map(|key| own(key) / own("time"))),
        Amount::Rate if *is_set => (set() / span, [own("count") / own("time") * 1e9; 2]),
        Amount::Rate => (figure("count") / span, [own("count") / own("time") * 1e9; 2]),
        Amount::None => (figure("count") / span, [figure("count") / span; 2]),
    };
    let is_near = (ours / theirs[1] - 1.0).abs() <= 0.05;
    // Limits far from each other say nothing: then its CPU time alone is taken.
    let is_right =
        is_near || (theirs[0] >= NARROW * theirs[1] && ours >= 0.95 * theirs[0] && ours <= 1.05 * theirs[1]);
    let name = found.and_then(|taker| taker["name"].as_str()).unwrap_or("not named");
    let verdict = if is_right { "" } else { "  differ" };
    let [least, most] = theirs;
    let theirs = if least < most { format!("{least:.4} to {most:.4}") } else { format!("{most:.4}") };
    println!("{place:12} {kind:9} {name:44} {ours:12.4} {theirs:>16}{verdict}");
    is_right
}

/// By how much a column of a culprit's grew while events were recorded.
fn grown(truth: &Value, key: &str, page: &Value) -> f64 {
    let column = |key: &str| -> Vec<f64> {
        truth[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let is_raw = page["witness"]["clock"] == "CLOCK_MONOTONIC_RAW";
    let (times, values) = (column(if is_raw { "time" } else { "monotonic" }), column(key));
    // From the first look in a run to the last: what the measuring process does beside it is not counted.
    let one = |run: &Value| {
        let [begin, end] = [run[0].as_f64()?, run[1].as_f64()?];
        let first = times.partition_point(|own| *own < begin);
        let last = times.partition_point(|own| *own <= end).checked_sub(1)?;
        Some(values.get(last)? - values.get(first)?)
    };
    page["witness"]["runs"].as_array().into_iter().flatten().filter_map(one).sum()
}
