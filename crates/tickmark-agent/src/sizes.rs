//! How much memory and how large files probes work on: fixed, stated, never a share of what there is.

use std::cmp::Reverse;
use tickmark_probe::Sizes;
use tickmark_wire::Environment;

const MB: u64 = 1 << 20;
/// Memory is this many times the last-level cache.
const TIMES: u64 = 4;
/// The least, and what is taken where no cache is known.
const LEAST: u64 = 32 * MB;
const UNKNOWN: u64 = 128 * MB;
const MAPPED: u64 = 128 * MB;
/// Where memory is short.
const SMALL: Sizes = Sizes { memory: 2 * MB, mapped: MB, l1: 0, l2: 0, line: 0 };
/// What must be left beside twice the largest.
const REST: u64 = 64 * MB;

/// Chooses and says so in the record.
pub(crate) fn choose(facts: &mut Environment, small: bool) -> Sizes {
    let bytes = |name: &str| facts.get(name).and_then(bytes);
    let cache = |level: &str| bytes(&format!("cpu.cache.{level}"));
    let last = cache("L3").or_else(|| cache("L2"));
    let memory = last.map_or(UNKNOWN, |last| (TIMES * last).next_multiple_of(MB).max(LEAST));
    let limits = ["state.memory.available", "cgroup.memory.max", "cgroup.memory.limit_in_bytes"];
    let known = limits.iter().filter_map(|name| Some((Reverse(bytes(name)?), *name)));
    let available = known.max().map(|(Reverse(bytes), name)| (bytes, name));
    let needed = 2 * memory.max(MAPPED) + REST;
    let because = match (small, available) {
        (true, _) => Some("asked for".to_owned()),
        (false, Some((there, name))) if there < needed => Some(format!("{} MB of {name}", there / MB)),
        _ => None,
    };
    let sizes = match &because {
        Some(_) => SMALL,
        None => Sizes { memory, mapped: MAPPED, ..SMALL },
    };
    let why = match (because, last) {
        (Some(because), _) => format!("small: {because}"),
        (None, Some(last)) => {
            format!("{TIMES} times the last-level cache of {} KB, at least 32 MB", last >> 10)
        }
        (None, None) => "no cache is listed".to_owned(),
    };
    let line = facts.get("cpu.cache.line").and_then(|line| line.parse().ok()).unwrap_or(64);
    let sizes =
        Sizes { l1: cache("L1d").unwrap_or(32 << 10), l2: cache("L2").unwrap_or(256 << 10), line, ..sizes };
    facts.know("sizes.memory", &why, sizes.memory.to_string());
    facts.know("sizes.mapped", &why, sizes.mapped.to_string());
    sizes
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
        assert!(why.contains("24576 KB"), "{why}");
        let limit = ("cgroup.memory.limit_in_bytes", "16777216");
        let (sizes, why) = with(&[cache, ("state.memory.available", "4000000 kB"), limit], false);
        assert_eq!((sizes.memory, sizes.mapped), (2 * MB, MB));
        assert_eq!(why, "small: 16 MB of cgroup.memory.limit_in_bytes");
        assert_eq!(with(&[cache], true).1, "small: asked for");
        let (sizes, _) = with(&[("cgroup.memory.max", "max")], false);
        assert_eq!((sizes.memory, sizes.line), (128 * MB, 64), "what is not known limits nothing");
    }
}
