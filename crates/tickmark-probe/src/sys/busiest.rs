//! Which processes had the CPUs meanwhile.

use super::tasks::fields;
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Ticks of the kernel's accounts in a second (USER_HZ, the same on every Linux).
const TICKS: f64 = 100.0;
/// Named at most.
const MOST: usize = 3;
/// Less than this share of a CPU is not worth a name.
const LEAST: f64 = 0.02;

/// Watches other processes from here on.
#[derive(Debug)]
pub struct Watch {
    before: CpuTimes,
    begun: Instant,
}

impl Watch {
    /// Reads who had what so far.
    #[must_use]
    pub fn begin() -> Option<Self> {
        Some(Self { before: CpuTimes::read(), begun: Instant::now() })
    }

    /// Those that had most CPU time meanwhile, this process and its parent left out: `rustc 12.3 s, cc1 0.8 s`; none where none had much.
    #[must_use]
    pub fn end(self) -> Option<String> {
        let own = [std::process::id(), std::os::unix::process::parent_id()];
        let words = CpuTimes::read().since(&self.before, self.begun.elapsed().as_secs_f64(), &own);
        (!words.is_empty()).then_some(words)
    }
}

/// CPU time of every process and of what it waited for, in ticks, by its number.
#[derive(Debug)]
struct CpuTimes(BTreeMap<u32, (String, u64)>);

impl CpuTimes {
    /// As they are now.
    fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let one = |id: u32| Some((id, parsed(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?));
        Self(numbers.filter_map(one).collect())
    }

    /// Those that had most of `seconds` since then, with what each had: `rustc 12.3 s, cc1 0.8 s`; empty where none had much.
    /// `own` are left out.
    fn since(&self, before: &Self, seconds: f64, own: &[u32]) -> String {
        let mut grown = BTreeMap::<&str, u64>::new();
        for (id, (name, ticks)) in self.0.iter().filter(|(id, _)| !own.contains(id)) {
            let earlier = before.0.get(id).filter(|(other, _)| other == name).map_or(0, |(_, ticks)| *ticks);
            *grown.entry(name).or_default() += ticks.saturating_sub(earlier);
        }
        let mut grown: Vec<(&str, f64)> =
            grown.into_iter().map(|(name, ticks)| (name, ticks as f64 / TICKS)).collect();
        grown.retain(|(_, had)| *had > LEAST * seconds);
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words: Vec<String> =
            grown.iter().take(MOST).map(|(name, had)| format!("{name} {had:.1} s")).collect();
        words.join(", ")
    }
}

/// Name, and the sum of utime, stime, cutime and cstime, of proc_pid_stat(5).
fn parsed(status: &str) -> Option<(String, u64)> {
    let name = status.split_once('(')?.1.rsplit_once(')')?.0;
    let times = fields(status)?.skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok());
    Some((name.to_owned(), times.sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[(u32, &str, u64)]) -> CpuTimes {
        CpuTimes(all.iter().map(|(id, name, ticks)| (*id, ((*name).to_owned(), *ticks))).collect())
    }

    #[test]
    fn who_had_the_cpu_is_named_with_what_it_waited_for() {
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3000 400 20 0 1 0 5 6 7";
        assert_eq!(parsed(line), Some(("a (b) c".to_owned(), 3520)));
        let before = times(&[(1, "init", 900), (2, "cargo", 50), (3, "tickmark", 10)]);
        let after = times(&[
            (1, "init", 901),
            (2, "cargo", 250),
            (3, "tickmark", 500),
            (4, "cc1", 30),
            (5, "cc1", 40),
        ]);
        assert_eq!(after.since(&before, 10.0, &[3]), "cargo 2.0 s, cc1 0.7 s");
        let reused = times(&[(2, "make", 60), (1, "init", 901)]);
        assert_eq!(reused.since(&before, 10.0, &[]), "make 0.6 s", "another process has the number");
    }
}
