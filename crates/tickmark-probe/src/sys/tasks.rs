//! The CPU time of every process, by its clock.

use super::usage::CpuClock;
use std::collections::BTreeMap;
use std::fs;

/// A flag of proc_pid_stat(5), field 9: a thread of the kernel (PF_KTHREAD of linux/sched.h).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// CPU time of a process so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// In ns; of one that runs now, as of its last tick.
    pub cpu: i64,
    /// True if it is a thread of the kernel.
    pub is_kernel: bool,
    /// Who started it, or whoever it was given to when that ended.
    pub parent: u32,
}

/// Of every process that is there, by its number.
#[must_use]
pub fn all() -> BTreeMap<u32, Used> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let one = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let parent = fields(&status)?.nth(1)?.parse().ok()?;
        Some((
            id,
            Used { cpu: CpuClock::for_process(id)?.read().get(), is_kernel: is_kernel(&status)?, parent },
        ))
    };
    numbers.filter_map(one).collect()
}

/// Ticks (of 10 ms) that say something of a share.
const FEWEST: u64 = 50;

/// The kernel's accounts of a process with all of its living threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// CPU time, in ns.
    pub cpu: i64,
    /// How long its threads stood runnable without a CPU, in ns (proc_pid_schedstat(5)).
    pub waited: i64,
    /// Their context switches.
    pub switches: u64,
    /// Ticks that found it in user mode, and in the kernel.
    pub ticks: [u64; 2],
}

impl Account {
    /// Of a process; nothing where it is gone.
    #[must_use]
    pub fn for_process(pid: u32) -> Self {
        let cpu = CpuClock::for_process(pid).map_or(0, |clock| clock.read().get());
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ticks = |field| fields(&status).and_then(|mut all| all.nth(field)?.parse().ok()).unwrap_or(0);
        let (mut waited, mut switches) = (0, 0);
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Self::default() };
        for thread in threads.flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let number = |word: Option<&str>| word.and_then(|word| word.trim().parse().ok()).unwrap_or(0u64);
            waited += number(read("schedstat").split(' ').nth(1)) as i64;
            for line in read("status").lines() {
                let kinds = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
                switches += kinds.iter().map(|kind| number(line.strip_prefix(kind))).sum::<u64>();
            }
        }
        Self { cpu, waited, switches, ticks: [ticks(11), ticks(12)] }
    }

    /// Growth since then; never below zero, as threads end.
    #[must_use]
    pub fn less(&self, before: &Self) -> Self {
        let ticks = std::array::from_fn(|at| self.ticks[at].saturating_sub(before.ticks[at]));
        Self {
            cpu: (self.cpu - before.cpu).max(0),
            waited: (self.waited - before.waited).max(0),
            switches: self.switches.saturating_sub(before.switches),
            ticks,
        }
    }

    /// The share of its time that was in the kernel, by ticks; none of too few.
    #[must_use]
    pub fn system_share(&self) -> Option<f64> {
        let [user, system] = self.ticks;
        (user + system >= FEWEST).then(|| system as f64 / (user + system) as f64)
    }
}

/// Context switches of processes with all of their threads that are there: those that they asked for, and those that were forced upon them.
#[must_use]
pub fn switches(pids: &[u32]) -> [u64; 2] {
    let mut all = [0; 2];
    let threads = |pid: &u32| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in pids.iter().flat_map(threads) {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        for line in status.lines() {
            for (sum, kind) in all.iter_mut().zip(["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"])
            {
                let number = line.strip_prefix(kind).and_then(|word| word.trim().parse::<u64>().ok());
                *sum += number.unwrap_or(0);
            }
        }
    }
    all
}

/// All of them together.
#[must_use]
pub fn sum(accounts: impl Iterator<Item = Account>) -> Account {
    accounts.fold(Account::default(), |sum, one| Account {
        cpu: sum.cpu + one.cpu,
        waited: sum.waited + one.waited,
        switches: sum.switches + one.switches,
        ticks: [sum.ticks[0] + one.ticks[0], sum.ticks[1] + one.ticks[1]],
    })
}

/// Of proc_pid_stat(5), from the third on.
pub(super) fn fields(status: &str) -> Option<std::str::SplitWhitespace<'_>> {
    Some(status.rsplit_once(')')?.1.split_whitespace())
}

fn is_kernel(status: &str) -> Option<bool> {
    let flags: u32 = fields(status)?.nth(6)?.parse().ok()?;
    Some(flags & KERNEL_THREAD != 0)
}

/// A process and all below it.
#[must_use]
pub fn below(pid: u32, all: &BTreeMap<u32, Used>) -> Vec<u32> {
    let mut own = vec![pid];
    let mut at = 0;
    while let Some(parent) = own.get(at).copied() {
        own.extend(all.iter().filter(|(id, used)| used.parent == parent && **id != pid).map(|(id, _)| *id));
        at += 1;
    }
    own
}

/// CPU time of those that a process started and waited for, in ns; in hundredths of a second.
#[must_use]
pub fn ended_below(pid: u32) -> i64 {
    let ended = || {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let ticks: i64 = fields(&status)?.skip(13).take(2).filter_map(|word| word.parse::<i64>().ok()).sum();
        Some(ticks * 10_000_000)
    };
    ended().unwrap_or(0)
}

/// CPU time of the kernel's threads and the other processes between two readings, ns; `own` are left out. Those that began meanwhile count
/// whole, those that ended do not.
#[must_use]
pub fn between(before: &BTreeMap<u32, Used>, now: &BTreeMap<u32, Used>, own: &[u32]) -> [i64; 2] {
    let mut sums = [0; 2];
    for (id, used) in now.iter().filter(|(id, _)| !own.contains(id)) {
        let earlier = before.get(id).map_or(0, |used| used.cpu);
        sums[usize::from(!used.is_kernel)] += (used.cpu - earlier).max(0);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_told_from_processes() {
        let status = |flags: u32| format!("2 (a) b) S 0 0 0 0 -1 {flags} 0 0");
        assert_eq!(
            [is_kernel(&status(KERNEL_THREAD)), is_kernel(&status(4_194_560))],
            [Some(true), Some(false)]
        );
        assert_eq!(is_kernel("2 (a"), None);
        assert!(all().contains_key(&std::process::id()));
    }

    #[test]
    fn an_account_grows_with_what_is_done() {
        // A process of one thread: where threads end, what they did is no more in the account.
        let work = "sleep 0.01; while :; do :; done";
        let mut child = std::process::Command::new("sh").args(["-c", work]).spawn().unwrap();
        let before = Account::for_process(child.id());
        let begun = std::time::Instant::now();
        let more = loop {
            let more = Account::for_process(child.id()).less(&before);
            if (more.cpu > 1_000_000 && more.switches > 0) || begun.elapsed().as_secs() > 20 {
                break more;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(more.cpu > 1_000_000 && more.switches > 0, "{more:?}");
        assert_eq!(Account::for_process(0x7fff_ffff), Account::default());
        let ticks = Account { ticks: [25, 75], ..more };
        assert_eq!((ticks.system_share(), before.less(&before).cpu), (Some(0.75), 0));
        assert_eq!(sum([more, more].into_iter()).cpu, 2 * more.cpu);
    }

    #[test]
    fn what_was_used_meanwhile_is_of_the_kernel_or_of_others() {
        let used = |cpu, is_kernel| Used { cpu, is_kernel, parent: 1 };
        let before = [(1, used(10, true)), (2, used(5, false)), (3, used(7, false))].into();
        let now =
            [(1, used(14, true)), (2, used(25, false)), (4, used(3, false)), (9, used(90, false))].into();
        assert_eq!(between(&before, &now, &[9]), [4, 23]);
        let child = |parent| Used { cpu: 0, is_kernel: false, parent };
        let all = [(2, child(1)), (3, child(2)), (4, child(3)), (5, child(1))].into();
        assert_eq!((below(2, &all), below(5, &all)), (vec![2, 3, 4], vec![5]));
    }
}
