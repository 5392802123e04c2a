//! How much memory and how large files probes work on: fixed, stated, never a share of what there is.

use tickmark_probe::Sizes;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

const MB: u64 = 1 << 20;
/// Memory is this many times the last-level cache.
const TIMES: u64 = 4;
/// The least, the most, and what is taken where no cache is known.
const LEAST: u64 = 32 * MB;
const MOST: u64 = 512 * MB;
const UNKNOWN: u64 = 128 * MB;
const MAPPED: u64 = 128 * MB;
/// Where memory is short: for memory, for the file that is mapped.
const SMALL: [u64; 2] = [2 * MB, MB];
/// Memory that must remain free beside twice the largest size, bytes.
const REST: u64 = 64 * MB;

/// Chooses and says so in the record.
pub(crate) fn choose(facts: &mut Environment, small: bool) -> Sizes {
    let bytes = |name: &str| facts.get(name).and_then(bytes);
    let cache = |level: &str| bytes(&format!("cpu.cache.{level}")).filter(|size| *size > 0);
    let last = cache("L3").or_else(|| cache("L2"));
    let full = last.map_or(UNKNOWN, |last| (TIMES * last).next_multiple_of(MB).clamp(LEAST, MOST));
    let available = available(facts);
    let needed = 2 * full.max(MAPPED) + REST;
    let because = match (small, available) {
        (true, _) => Some("asked for".to_owned()),
        (false, Some((there, name))) if there < needed => Some(format!("{} MiB free by {name}", there / MB)),
        _ => None,
    };
    let [memory, mapped] = if because.is_some() { SMALL } else { [full, MAPPED] };
    let why = match (because, last) {
        (Some(because), _) => format!("small: {because}"),
        (None, Some(last)) => {
            let (last, least, most) = (last >> 10, LEAST / MB, MOST / MB);
            format!("{TIMES} times the last-level cache of {last} KiB, {least} to {most} MiB")
        }
        (None, None) => "no cache is listed".to_owned(),
    };
    let sizes = Sizes {
        memory,
        mapped,
        l1: cache("L1d").unwrap_or(32 << 10),
        l2: cache("L2").unwrap_or(256 << 10),
        last: last.unwrap_or(0),
        line: facts
            .get("cpu.cache.line")
            .and_then(|line| line.parse().ok())
            .filter(|line| *line >= 8)
            .unwrap_or(64),
        short: available.is_some_and(|(there, _)| there < REST),
    };
    facts.know("sizes.memory", &why, sizes.memory.to_string());
    facts.know("sizes.mapped", &why, sizes.mapped.to_string());
    sizes
}

/// The least memory that is free by any account, and which one: of the machine, and of the cgroup (its limit less
/// what it holds beside the page cache).
fn available(facts: &Environment) -> Option<(u64, &'static str)> {
    let of = |name: &str| facts.get(name).and_then(bytes);
    let machine = of("state.memory.available").map(|there| (there, "state.memory.available"));
    let machine = machine.or_else(|| Some((host::free_memory()?, "sysinfo")));
    let cache = |key: &str| {
        let text = facts.get("cgroup.memory.stat")?;
        text.split("; ").find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    let group = |limit: &'static str, used: &str, key: &str| {
        let held = of(used).unwrap_or(0).saturating_sub(cache(key).unwrap_or(0));
        Some((of(limit)?.saturating_sub(held), limit))
    };
    let second = group("cgroup.memory.max", "cgroup.memory.current", "file ");
    let first = group("cgroup.memory.limit_in_bytes", "cgroup.memory.usage_in_bytes", "total_cache ");
    [machine, second, first].into_iter().flatten().min()
}

/// A number with its unit: `32768K`, `1M`, `24251112 kB`, `16777216`. "max" is none.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim().find(|c: char| !c.is_ascii_digit()).unwrap_or(text.trim().len());
    let (number, unit) = text.trim().split_at(digits);
    let factor = match unit.trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" => MB,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(facts: &[(&str, &str)], small: bool) -> (Sizes, String) {
        let mut environment = Environment::default();
        facts.iter().for_each(|(name, value)| environment.know(name, "test", *value));
        let sizes = choose(&mut environment, small);
        let why =
            environment.iter().find(|(name, _)| *name == "sizes.memory").map(|(_, fact)| fact.source.clone());
        (sizes, why.unwrap())
    }

    #[test]
    fn a_multiple_of_the_last_cache_or_small_and_why() {
        let cache = ("cpu.cache.L3", "24576K");
        let (sizes, why) = with(&[cache, ("state.memory.available", "4000000 kB")], false);
        assert_eq!((sizes.memory, sizes.mapped), (96 * MB, 128 * MB));
        assert!(why.contains("24576 KiB"), "{why}");
        let limit = ("cgroup.memory.limit_in_bytes", "16777216");
        let (sizes, why) = with(&[cache, ("state.memory.available", "4000000 kB"), limit], false);
        assert_eq!((sizes.memory, sizes.mapped), (2 * MB, MB));
        assert_eq!(why, "small: 16 MiB free by cgroup.memory.limit_in_bytes");
        assert!(sizes.short);
        let group = [
            cache,
            ("state.memory.available", "4000000 kB"),
            ("cgroup.memory.max", "629145600"),
            ("cgroup.memory.current", "524288000"),
            ("cgroup.memory.stat", "anon 100; file 419430400; kernel 5"),
        ];
        assert_eq!(with(&group, false).0.memory, 96 * MB, "500 MiB are free: the page cache can go");
        let [a, b, c, d, _] = group;
        assert_eq!(with(&[a, b, c, d], false).1, "small: 100 MiB free by cgroup.memory.max");
        let (sizes, why) = with(&[cache, ("state.memory.available", "4000000 kB")], true);
        assert_eq!((why.as_str(), sizes.short), ("small: asked for", false));
        let (sizes, _) = with(&[("cgroup.memory.max", "max")], false);
        assert_eq!(sizes.line, 64);
        let huge = ("cpu.cache.L3", "1048576K");
        assert_eq!(with(&[huge, ("state.memory.available", "4000000 kB")], false).0.memory, 512 * MB);
    }
}
