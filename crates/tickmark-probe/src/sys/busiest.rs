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

/// A process, by the kernel's accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    name: String,
    parent: u32,
    /// When it was started, in ticks since the boot: another one has another.
    started: u64,
    /// CPU time in ticks: its own, and that of the children that it waited for, with theirs.
    used: [u64; 2],
}

/// Every process, by its number.
#[derive(Debug)]
struct CpuTimes(BTreeMap<u32, Account>);

impl CpuTimes {
    fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let one = |id: u32| {
            let status = fs::read(format!("/proc/{id}/stat")).ok()?;
            Some((id, parsed(&String::from_utf8_lossy(&status))?))
        };
        Self(numbers.filter_map(one).collect())
    }

    /// Those that had most of `seconds` since then, with what each had: `rustc 12.3 s, cc1 0.8 s`; empty where none had much.
    /// `own` are left out.
    fn since(&self, before: &Self, seconds: f64, own: &[u32]) -> String {
        let mut grown: BTreeMap<u32, [i64; 2]> = BTreeMap::new();
        for (id, account) in &self.0 {
            let earlier = before.0.get(id).filter(|earlier| earlier.started == account.started);
            let earlier = earlier.map_or([0; 2], |earlier| earlier.used);
            grown.insert(*id, [0, 1].map(|at| account.used[at] as i64 - earlier[at] as i64));
        }
        // What was there and has ended brought its whole life into the account of who waited for it.
        for (id, account) in before.0.iter().filter(|(id, account)| !self.has(**id, account)) {
            let mut heir = (*id, account);
            // They were not read at one time: a number that was given anew may make a circle.
            for _ in 0..before.0.len() {
                let Some(parent) = before.0.get(&heir.1.parent) else { break };
                heir = (heir.1.parent, parent);
                if self.has(heir.0, parent) {
                    let all: u64 = account.used.iter().sum();
                    grown.entry(heir.0).and_modify(|[_, waited]| *waited -= all as i64);
                    break;
                }
            }
        }
        let mut named = BTreeMap::<String, f64>::new();
        for (id, [used, waited]) in grown.into_iter().filter(|(id, _)| !own.contains(id)) {
            let name = &self.0[&id].name;
            *named.entry(name.clone()).or_default() += used as f64 / TICKS;
            *named.entry(format!("children of {name}")).or_default() += waited.max(0) as f64 / TICKS;
        }
        let mut named: Vec<(String, f64)> =
            named.into_iter().filter(|(_, had)| *had > LEAST * seconds).collect();
        named.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words = named.iter().take(MOST).map(|(name, had)| format!("{name} {had:.1} s"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// True if that process is there, and not another one of its number.
    fn has(&self, id: u32, account: &Account) -> bool {
        self.0.get(&id).is_some_and(|own| own.started == account.started)
    }
}

/// Of proc_pid_stat(5): comm, ppid, starttime, utime with stime, and cutime with cstime.
fn parsed(status: &str) -> Option<Account> {
    let name = status.split_once('(')?.1.rsplit_once(')')?.0;
    let number = |field| fields(status)?.nth(field)?.parse::<u64>().ok();
    let used = [number(11)? + number(12)?, number(13)? + number(14)?];
    // A kernel's worker is named by what it works on; the list has commas.
    let name = if name.starts_with("kworker/") { name.split(['-', '+']).next()? } else { name };
    let name = name.replace(|c: char| c.is_control() || c == ',', " ");
    Some(Account { name, parent: number(1)? as u32, started: number(19)?, used })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, parent, start, ticks of its own and of its children.
    fn times(all: &[(u32, u32, u64, &str, [u64; 2])]) -> CpuTimes {
        let one = |(id, parent, started, name, used): &(u32, u32, u64, &str, [u64; 2])| {
            let (parent, started, used) = (*parent, *started, *used);
            (*id, Account { name: (*name).to_owned(), parent, started, used })
        };
        CpuTimes(all.iter().map(one).collect())
    }

    #[test]
    fn a_line_of_the_kernel_is_read_with_any_name() {
        let line = "7 (a (b), c) S 3 7 7 0 -1 4194560 1 2 3 4 100 20 3000 400 20 0 1 0 55 6 7";
        let account = Account { name: "a (b)  c".to_owned(), parent: 3, started: 55, used: [120, 3400] };
        assert_eq!(parsed(line), Some(account));
        let worker = line.replace("a (b), c", "kworker/u8:0-ext4-rsv-conversion");
        assert_eq!(parsed(&worker).map(|account| account.name), Some("kworker/u8:0".to_owned()));
    }

    #[test]
    fn who_had_the_cpu_is_named_with_what_it_waited_for_meanwhile() {
        let init = (1, 0, 1, "init", [900, 0]);
        let before = times(&[init, (2, 1, 5, "cargo", [50, 0]), (3, 1, 6, "tickmark", [10, 0])]);
        let mut all = vec![init, (2, 1, 5, "cargo", [250, 90]), (3, 1, 6, "tickmark", [500, 0])];
        all.extend([(4, 2, 90, "cc1", [30, 0]), (5, 2, 91, "cc1", [40, 0])]);
        assert_eq!(times(&all).since(&before, 10.0, &[3]), "cargo 2.0 s, children of cargo 0.9 s, cc1 0.7 s");
        let other = times(&[init, (2, 1, 99, "cargo", [60, 0])]);
        assert_eq!(other.since(&before, 10.0, &[]), "cargo 0.6 s", "another process has the number");
        let renamed = times(&[(2, 1, 5, "cargo-build", [80, 0])]);
        assert_eq!(renamed.since(&before, 10.0, &[]), "cargo-build 0.3 s");
    }

    /// A child and what that had waited for, an hour before: the shell above both has only what came since.
    #[test]
    fn who_ends_takes_nothing_from_before_along() {
        let mut all = vec![(1, 0, 1, "init", [0, 0]), (2, 1, 5, "sh", [10, 0])];
        all.extend([(3, 2, 6, "make", [0, 3000]), (4, 3, 7, "cc1", [600, 0])]);
        let after = times(&[(1, 0, 1, "init", [0, 0]), (2, 1, 5, "sh", [12, 3000 + 600 + 150])]);
        assert_eq!(after.since(&times(&all), 10.0, &[]), "children of sh 1.5 s");
        let circle = times(&[(5, 6, 1, "a", [900, 0]), (6, 5, 2, "b", [900, 0])]);
        assert_eq!(times(&[(9, 0, 3, "c", [50, 0])]).since(&circle, 10.0, &[]), "c 0.5 s");
    }
}
