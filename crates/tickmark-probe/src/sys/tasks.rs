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
    /// Whether it is a thread of the kernel.
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
        Some((id, Used { cpu: CpuClock::of(id)?.read().get(), is_kernel: is_kernel(&status)?, parent }))
    };
    numbers.filter_map(one).collect()
}

/// Of proc_pid_stat(5), from the third on.
fn fields(status: &str) -> Option<std::str::SplitWhitespace<'_>> {
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

/// What the kernel's threads and the other processes used between two looks, in ns; `own` are left out. Those that began meanwhile count whole,
/// those that ended do not.
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
