//! Facts that change by themselves: load, steal, pressure, and how busy the siblings of the CPU are.

use super::{file, line};
use tickmark_wire::Environment;

pub(super) fn collect(facts: &mut Environment, cpu: u32) {
    file(facts, "state.load", "/proc/loadavg");
    file(facts, "state.uptime", "/proc/uptime");
    // user nice system idle iowait irq softirq steal guest guest_nice, in 1/100 s
    line(facts, "state.cpu_times", "/proc/stat", &format!("cpu{cpu} "));
    line(facts, "state.all_cpu_times", "/proc/stat", "cpu ");
    line(facts, "state.memory.available", "/proc/meminfo", "MemAvailable");
    for what in ["cpu", "memory", "io"] {
        file(facts, &format!("state.pressure.{what}"), format!("/proc/pressure/{what}"));
    }
    file(facts, "state.frequency_khz", format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    super::limits::throttling(facts);
    super::cpu::idle_entered(facts, cpu);
    siblings(facts, cpu);
}

/// Times of the hardware threads that share the core: the difference between start and end is their
/// load.
fn siblings(facts: &mut Environment, cpu: u32) {
    let place = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(&place).unwrap_or_default();
    for sibling in tickmark_wire::text::list(list.trim()).unwrap_or_default() {
        if sibling != cpu {
            let name = format!("state.sibling.{sibling}.cpu_times");
            line(facts, &name, "/proc/stat", &format!("cpu{sibling} "));
        }
    }
}
