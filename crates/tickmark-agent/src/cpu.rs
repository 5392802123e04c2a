//! Which CPU to measure on.

use std::collections::BTreeMap;
use std::time::Duration;

/// How long the machine is watched.
const WATCH: Duration = Duration::from_millis(200);

/// Busy time in clock ticks and interrupts of each CPU so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    busy: u64,
    interrupts: u64,
}

/// The quietest of the allowed CPUs over a fifth of a second, and why: the least busy one, then the one
/// with the fewest interrupts, then the last, as the first ones get the machine's own work.
pub(crate) fn quietest(allowed: &[u32]) -> (u32, String) {
    let last = allowed.iter().copied().max().unwrap_or(0);
    if allowed.len() < 2 {
        return (last, "the only one allowed".to_owned());
    }
    let before = loads();
    std::thread::sleep(WATCH);
    let after = loads();
    choose(allowed, &before, &after).map_or(
        (last, "the last one allowed; /proc/stat cannot be read".to_owned()),
        |(cpu, load)| {
            let Load { busy, interrupts } = load;
            (cpu, format!("the quietest over 200 ms: {busy} ticks busy, {interrupts} interrupts"))
        },
    )
}

fn choose(allowed: &[u32], before: &BTreeMap<u32, Load>, after: &BTreeMap<u32, Load>) -> Option<(u32, Load)> {
    let difference = |cpu: &u32| {
        let (b, a) = (before.get(cpu)?, after.get(cpu)?);
        let busy = a.busy.saturating_sub(b.busy);
        Some((*cpu, Load { busy, interrupts: a.interrupts.saturating_sub(b.interrupts) }))
    };
    let observed = allowed.iter().filter_map(difference);
    observed.min_by_key(|(cpu, load)| (*load, std::cmp::Reverse(*cpu)))
}

fn loads() -> BTreeMap<u32, Load> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    parse(&read("/proc/stat"), &read("/proc/interrupts"))
}

fn parse(stat: &str, interrupts: &str) -> BTreeMap<u32, Load> {
    let mut loads = BTreeMap::new();
    for line in stat.lines() {
        let mut fields = line.split_whitespace();
        let Some(cpu) = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok()) else {
            continue;
        };
        let times: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        // user nice system [idle iowait] irq softirq steal
        let busy =
            times.iter().take(8).enumerate().filter(|(i, _)| !matches!(i, 3 | 4)).map(|(_, t)| t).sum();
        loads.insert(cpu, Load { busy, interrupts: 0 });
    }
    let mut lines = interrupts.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    for line in lines {
        let counts = line.split_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
        for (cpu, count) in cpus.iter().zip(counts) {
            if let Some(load) = loads.get_mut(cpu) {
                load.interrupts += count;
            }
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_cpu_with_few_interrupts_is_chosen() {
        let stat = |a, b, c| {
            format!("cpu  9 9\ncpu0 {a} 0 0 5 5 0 0 0\ncpu1 {b} 0 0 5 5 0 0 0\ncpu3 {c} 0 0 5 5 0 0 0\n")
        };
        let before = parse(&stat(0, 0, 0), "");
        let interrupts = "      CPU0 CPU1 CPU3\n LOC: 5 50 5 Local\n 24: 0 0 40 disk\n";
        let after = parse(&stat(9, 2, 2), interrupts);
        assert_eq!(choose(&[0, 1, 3], &before, &after), Some((3, Load { busy: 2, interrupts: 45 })));
        assert_eq!(choose(&[0, 1], &before, &after).map(|c| c.0), Some(1));
        assert_eq!(choose(&[7], &before, &after), None);
    }
}
