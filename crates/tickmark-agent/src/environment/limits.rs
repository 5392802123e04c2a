//! Limits that the scheduler, the memory manager and the cgroups impose.

use super::{file, line};
use tickmark_probe::sys::{cgroup, ethtool, host};
use tickmark_wire::Environment;

/// cgroup files that limit a process, version 2 and version 1.
const CGROUP: &[(&str, &str)] = &[
    ("cpu.max", "cpu"),
    ("cpu.weight", "cpu"),
    ("cpu.cfs_quota_us", "cpu"),
    ("cpu.cfs_period_us", "cpu"),
    ("cpu.shares", "cpu"),
    ("cpu.rt_runtime_us", "cpu"),
    ("cpuset.cpus.effective", "cpuset"),
    ("cpuset.cpus", "cpuset"),
    ("memory.max", "memory"),
    ("memory.limit_in_bytes", "memory"),
    ("memory.current", "memory"),
    ("memory.usage_in_bytes", "memory"),
    ("memory.stat", "memory"),
    ("pids.max", "pids"),
];

pub(super) fn collect(facts: &mut Environment, cpu: u32) {
    file(facts, "sched.rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us");
    file(facts, "sched.rt_period_us", "/proc/sys/kernel/sched_rt_period_us");
    file(facts, "sched.autogroup", "/proc/sys/kernel/sched_autogroup_enabled");
    file(facts, "sched.fair_server_ns", format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"));
    file(facts, "interrupts.default_affinity", "/proc/irq/default_smp_affinity");
    interrupts(facts, cpu);
    coalescing(facts);
    match host::numa_policy() {
        Ok(mode) => {
            let names = ["default", "preferred", "bind", "interleave", "local", "preferred many", "weighted"];
            let name = usize::try_from(mode).ok().and_then(|mode| names.get(mode)).unwrap_or(&"unknown");
            facts.know("numa.policy", "get_mempolicy", *name);
        }
        Err(error) => facts.miss("numa.policy", "get_mempolicy", error.to_string()),
    }
    file(facts, "numa.balancing", "/proc/sys/kernel/numa_balancing");
    file(facts, "numa.nodes", "/sys/devices/system/node/online");
    file(facts, "memory.thp", "/sys/kernel/mm/transparent_hugepage/enabled");
    file(facts, "memory.shmem_thp", "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    line(facts, "memory.total", "/proc/meminfo", "MemTotal");
    line(facts, "process.memory_nodes", "/proc/self/status", "Mems_allowed_list");
    line(facts, "process.capabilities", "/proc/self/status", "CapEff");
    line(facts, "process.seccomp", "/proc/self/status", "Seccomp");
    line(facts, "process.rtprio_limit", "/proc/self/limits", "Max realtime priority");
    cgroups(facts);
}

/// The interrupts that may be handled on the measured CPU.
fn interrupts(facts: &mut Environment, cpu: u32) {
    let folder = "/proc/irq";
    let Ok(entries) = std::fs::read_dir(folder) else {
        return facts.miss("interrupts.on_cpu", folder, "cannot be read");
    };
    let mut here: Vec<u32> = entries
        .flatten()
        .filter(|entry| {
            let list = entry.path().join("effective_affinity_list");
            let list = std::fs::read_to_string(list).unwrap_or_default();
            tickmark_wire::text::list(list.trim()).is_some_and(|cpus| cpus.contains(&cpu))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    here.sort_unstable();
    facts.know("interrupts.on_cpu", folder, crate::settle::ranges(&here));
}

/// How network devices gather interrupts; those that are no hardware have none.
fn coalescing(facts: &mut Environment) {
    for device in std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        if let (Some(name), true) = (device.file_name().to_str(), device.path().join("device").exists()) {
            let (fact, source) = (format!("interrupts.coalescing.{name}"), "ioctl (ETHTOOL_GCOALESCE)");
            match ethtool::coalescing(name) {
                Ok(value) => facts.know(&fact, source, value),
                Err(error) => facts.miss(&fact, source, error.to_string()),
            }
        }
    }
}

/// The limits of this process's cgroups.
fn cgroups(facts: &mut Environment) {
    file(facts, "cgroup", "/proc/self/cgroup");
    of_cgroups(facts, CGROUP, "cgroup");
    let Some(limits) = cgroup::limits() else {
        return facts.miss("cgroup.cpu.quotas", "/proc/self/cgroup", "no folder of a cgroup can be found");
    };
    let quotas = limits.iter().map(|limit| format!("{} CPUs by {}", limit.cpus, limit.folder.display()));
    let quotas: Vec<String> = quotas.collect();
    facts.know(
        "cgroup.cpu.quotas",
        "/proc/self/cgroup",
        if quotas.is_empty() { "none".to_owned() } else { quotas.join("; ") },
    );
}

/// How often each quota ended turns: it changes by itself. The nearest group with one comes first.
pub(super) fn throttling(facts: &mut Environment) {
    let limits = cgroup::limits().unwrap_or_default();
    if limits.is_empty() {
        return of_cgroups(facts, &[("cpu.stat", "cpu")], "state.cgroup");
    }
    for (above, limit) in limits.iter().enumerate() {
        let above = if above == 0 { String::new() } else { format!("above{above}.") };
        file(facts, &format!("state.cgroup.{above}cpu.stat"), limit.folder.join("cpu.stat"));
    }
}

/// Files of this process's cgroups, where the file systems are mounted in the usual places.
fn of_cgroups(facts: &mut Environment, files: &[(&str, &str)], prefix: &str) {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for entry in text.lines() {
        let mut fields = entry.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        for (name, controller) in files {
            let roots: &[&str] = match controllers {
                "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
                some if some.split(',').any(|c| c == *controller) => {
                    &[if *controller == "cpu" { "/sys/fs/cgroup/cpu" } else { "" }, "/sys/fs/cgroup"]
                }
                _ => continue,
            };
            // In a container the path is the host's, and the files lie where the mount begins.
            let places = roots.iter().filter(|root| !root.is_empty()).flat_map(|root| {
                let middle = if controllers.is_empty() || root.ends_with("cpu") { "" } else { controller };
                [path, ""].map(|path| format!("{root}/{middle}{path}/{name}").replace("//", "/"))
            });
            let places: Vec<String> = places.collect();
            let fact = format!("{prefix}.{name}");
            match places.iter().find(|place| std::path::Path::new(place).exists()) {
                Some(place) => file(facts, &fact, place),
                None if *name == "cpu.stat" => facts.miss(&fact, &places.join(", "), "no such file"),
                None => {}
            }
        }
    }
}
