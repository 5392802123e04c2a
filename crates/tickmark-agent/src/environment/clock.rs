//! The clocks and who disciplines them.

use super::file;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

pub(super) fn collect(facts: &mut Environment) {
    let root = "/sys/devices/system/clocksource/clocksource0";
    file(facts, "clock.source", format!("{root}/current_clocksource"));
    file(facts, "clock.sources", format!("{root}/available_clocksource"));
    file(facts, "clock.event_device", "/sys/devices/system/clockevents/clockevent0/current_device");
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
