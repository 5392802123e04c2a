//! The clocks and who disciplines them.

use super::file;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

const ROOT: &str = "/sys/devices/system/clocksource/clocksource0";

/// The clock source in force.
pub(crate) fn source() -> Option<String> {
    let text = std::fs::read_to_string(format!("{ROOT}/current_clocksource")).ok()?;
    Some(text.trim().to_owned())
}

pub(super) fn collect(facts: &mut Environment) {
    file(facts, "clock.source", format!("{ROOT}/current_clocksource"));
    file(facts, "clock.sources", format!("{ROOT}/available_clocksource"));
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
