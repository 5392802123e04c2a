//! The clocks and who disciplines them.

use super::file;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

/// Messages of the kernel where it stops to trust a clock source (kernel/time/clocksource.c, arch/x86/kernel/tsc.c).
const UNSTABLE: [&str; 3] = ["as unstable because", "Marking TSC unstable", "TSC found unstable"];

const ROOT: &str = "/sys/devices/system/clocksource/clocksource0";

/// The clock source in force.
pub(crate) fn source() -> Option<String> {
    let text = std::fs::read_to_string(format!("{ROOT}/current_clocksource")).ok()?;
    Some(text.trim().to_owned())
}

/// Why the kernel gave a clock source up, by its log.
fn unstable(facts: &mut Environment) {
    const NAME: &str = "clock.unstable";
    let source = "/dev/kmsg";
    let file = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(source);
    let mut file = match file {
        Ok(file) => file,
        Err(error) => return facts.miss(NAME, source, error.to_string()),
    };
    let mut record = [0; 8192];
    let mut found = None;
    // Each read gives a record, and an error that ends it where there is no more; one that was overwritten meanwhile is passed over.
    for _ in 0..100_000 {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                let text = String::from_utf8_lossy(&record[..length]);
                let (head, message) = text.split_once(';').unwrap_or_default();
                let message = message.lines().next().unwrap_or_default();
                // Priority, number, and us of the kernel's log (Documentation/ABI/testing/dev-kmsg).
                let at: f64 = head.split(',').nth(2).and_then(|at| at.parse().ok()).unwrap_or(0.0);
                if UNSTABLE.iter().any(|part| message.contains(part)) {
                    found = Some(format!("{message} (at {:.3} s of the kernel's log)", at / 1e6));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(_) => break,
        }
    }
    match found {
        Some(message) => facts.know(NAME, source, message),
        None => facts.miss(NAME, source, "no such line in the kernel's log"),
    }
}

pub(super) fn collect(facts: &mut Environment) {
    file(facts, "clock.source", format!("{ROOT}/current_clocksource"));
    file(facts, "clock.sources", format!("{ROOT}/available_clocksource"));
    unstable(facts);
    file(facts, "clock.event_device", "/sys/devices/system/clockevents/clockevent0/current_device");
    let list = std::fs::read_to_string("/proc/timer_list").unwrap_or_default();
    let active = list.lines().find_map(|line| line.trim().strip_prefix(".hres_active"));
    match active.and_then(|rest| rest.split(':').nth(1)) {
        Some(active) => facts.know("clock.hres_active", "/proc/timer_list", active.trim()),
        None => facts.miss("clock.hres_active", "/proc/timer_list", "not readable"),
    }
    match host::clock_discipline() {
        Ok(state) => {
            // STA_UNSYNC is 0x40 (adjtimex(2)).
            let synchronised = if state.flags & 0x40 == 0 { "synchronised" } else { "not synchronised" };
            let ppm = state.frequency as f64 / 65_536.0;
            let text = format!("{synchronised}, frequency {ppm:+.3} ppm, tick {} us", state.tick);
            facts.know("clock.ntp", "adjtimex", text);
        }
        Err(error) => facts.miss("clock.ntp", "adjtimex", error.to_string()),
    }
    file(facts, "clock.namespace_offsets", "/proc/self/timens_offsets");
    facts.know("clock.slack_ns", "prctl(PR_GET_TIMERSLACK)", host::slack().to_string());
}
