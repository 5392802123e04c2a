//! The kernel and how it was built.

use super::file;
use std::io::Read;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

/// Options that shape time: recorded as `y`, `m`, a value, or `n`.
const OPTIONS: &[&str] = &[
    "HZ",
    "HZ_PERIODIC",
    "NO_HZ",
    "NO_HZ_COMMON",
    "NO_HZ_IDLE",
    "NO_HZ_FULL",
    "HIGH_RES_TIMERS",
    "IRQ_TIME_ACCOUNTING",
    "VIRT_CPU_ACCOUNTING_GEN",
    "PARAVIRT_TIME_ACCOUNTING",
    "PREEMPT_NONE",
    "PREEMPT_VOLUNTARY",
    "PREEMPT",
    "PREEMPT_LAZY",
    "PREEMPT_DYNAMIC",
    "PREEMPT_RT",
    "RT_GROUP_SCHED",
    "CFS_BANDWIDTH",
    "SCHED_INFO",
    "SCHEDSTATS",
    "TIME_NS",
    "HYPERVISOR_GUEST",
    "SMP",
    "DEBUG_PREEMPT",
    "PROVE_LOCKING",
    "KASAN",
];

pub(super) fn collect(facts: &mut Environment) {
    let [release, version, machine, node] = host::uname();
    facts.know("host.name", "uname", node);
    facts.know("kernel.release", "uname", release.clone());
    facts.know("kernel.version", "uname", version.clone());
    facts.know("kernel.machine", "uname", machine);
    facts.know("kernel.vdso", "AT_SYSINFO_EHDR", if host::has_vdso() { "yes" } else { "no" });
    facts.know("libc", "gnu_get_libc_version", host::libc_version());
    file(facts, "boot.id", "/proc/sys/kernel/random/boot_id");
    file(facts, "kernel.command_line", "/proc/cmdline");
    configuration(facts, &release);
    preemption(facts, &version);
    timer_module(facts);
}

/// Back end of the module tickmark_timer, where it is loaded.
fn timer_module(facts: &mut Environment) {
    let place = tickmark_probe::sys::timer_module::STATISTICS;
    for line in std::fs::read_to_string(place).unwrap_or_default().lines() {
        if let Some((
            name @ ("backend" | "tsc_khz" | "bus_khz" | "divider" | "bus_ratio" | "rounding" | "correction"),
            value,
        )) = line.split_once(": ")
        {
            facts.know(&format!("tickmark_timer.{name}"), place, value);
        }
    }
}

fn configuration(facts: &mut Environment, release: &str) {
    let places = [
        "/proc/config.gz".to_owned(),
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/usr/lib/kernel/config-{release}"),
    ];
    let Some((place, text)) = places.iter().find_map(|place| Some((place, read(place)?))) else {
        let why = "neither /proc/config.gz nor a config of this release in /boot or /lib/modules";
        facts.miss("kernel.config.HZ", "kernel configuration", why);
        return;
    };
    for option in OPTIONS {
        let key = format!("CONFIG_{option}=");
        let value = text.lines().find_map(|line| line.strip_prefix(&key)).unwrap_or("n");
        facts.know(&format!("kernel.config.{option}"), place, value);
    }
}

/// A configuration as text; unpacked where it is compressed.
fn read(place: &str) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(place).ok()?.read_to_end(&mut bytes).ok()?;
    if place.ends_with(".gz") {
        bytes = gunzip(&bytes)?;
    }
    String::from_utf8(bytes).ok()
}

/// One gzip member (RFC 1952), as the kernel packs its configuration: a header of 10 bytes, perhaps a
/// name, then deflate.
fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let &[0x1f, 0x8b, 8, flags, ..] = bytes else { return None };
    let mut body = bytes.get(10..)?;
    if flags & 8 != 0 {
        let end = body.iter().position(|byte| *byte == 0)?;
        body = body.get(end + 1..)?;
    }
    miniz_oxide::inflate::decompress_to_vec(body).ok()
}

/// The preemption model in force. With PREEMPT_DYNAMIC the configuration is only the default, so the
/// kernel's own word is preferred, then the command line.
fn preemption(facts: &mut Environment, version: &str) {
    const NAME: &str = "kernel.preemption";
    let debug = "/sys/kernel/debug/sched/preempt";
    if let Ok(text) = std::fs::read_to_string(debug) {
        // "none voluntary (full) lazy"
        let in_force = text.split_whitespace().find_map(|m| m.strip_prefix('(')?.strip_suffix(')'));
        if let Some(model) = in_force {
            return facts.know(NAME, debug, model);
        }
    }
    if version.contains("PREEMPT_RT") {
        return facts.know(NAME, "uname", "rt");
    }
    let command_line = facts.get("kernel.command_line").unwrap_or_default().to_owned();
    if let Some(model) = command_line.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="))
    {
        return facts.know(NAME, "/proc/cmdline", model);
    }
    let on = |option: &str| facts.get(&format!("kernel.config.{option}")) == Some("y");
    let models = [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy")];
    let model = models.iter().find(|(option, _)| on(option)).map(|(_, model)| *model);
    let model = model.or_else(|| on("PREEMPT").then_some("full"));
    let dynamic = on("PREEMPT_DYNAMIC");
    let source = if dynamic {
        "configuration: the default, which could have been changed since"
    } else {
        "configuration"
    };
    match model {
        Some(model) => facts.know(NAME, source, model),
        None => facts.miss(NAME, debug, "neither debugfs nor command line nor configuration say"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_configuration_is_read() {
        let text = b"CONFIG_HZ=250\n".repeat(50);
        let body = miniz_oxide::deflate::compress_to_vec(&text, 6);
        for (flags, name) in [(0u8, &b""[..]), (8, b"config\0")] {
            let mut packed = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
            packed.extend_from_slice(name);
            packed.extend_from_slice(&body);
            packed.extend_from_slice(&[0; 8]);
            assert_eq!(gunzip(&packed).as_deref(), Some(&text[..]));
        }
        assert_eq!(gunzip(b"PK\x03\x04"), None);
        assert_eq!(gunzip(&[0x1f, 0x8b]), None);
    }
}
