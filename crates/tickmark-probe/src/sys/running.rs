//! Tasks that recently had a CPU, by the scheduler's own account of each task (/proc/PID/sched, CONFIG_SCHED_DEBUG).

use std::fs;

/// Tasks that are named at most.
const MOST: usize = 64;

/// A task that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name: that of its program, or the kernel's.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// True if it has had the CPU again since the moment: its time before the moment is unknown then.
    pub again: bool,
}

/// A moment by the clock of a CPU's run queue, which stands still in interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Moment(f64);

/// When this thread was put on its CPU, to be asked at once; none where the kernel does not say.
#[must_use]
pub fn moment() -> Option<Moment> {
    began("/proc/thread-self/sched").map(Moment)
}

/// The tasks other than this one that had the CPU at some time in the `nanos` before a moment, or later.
#[must_use]
pub fn ran_before(moment: Moment, cpu: u32, nanos: u64) -> Vec<Task> {
    let own = super::usage::thread_id();
    let numbers = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).collect::<Vec<_>>()
    };
    let mut ran = Vec::new();
    for process in numbers("/proc") {
        for id in numbers(&format!("/proc/{process}/task")) {
            let folder = format!("/proc/{process}/task/{id}");
            let status = fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
            let Some((name, last)) = last_on(&status).filter(|_| id != own) else { continue };
            if last != cpu || ran.len() >= MOST {
                continue;
            }
            let at = began(&format!("{folder}/sched")).filter(|at| at + nanos as f64 >= moment.0);
            ran.extend(at.map(|at| Task { name: name.to_owned(), id, again: at > moment.0 }));
        }
    }
    ran
}

/// When the scheduler last charged a task for the CPU, in ns of its run queue's clock.
fn began(path: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("se.exec_start"))?;
    let millis: f64 = line.trim_start_matches([' ', ':']).parse().ok()?;
    Some(millis * 1e6)
}

/// The name of a task and the CPU that it ran on last, from its stat (proc_pid_stat(5), fields 2 and 39).
fn last_on(status: &str) -> Option<(&str, u32)> {
    let (before, after) = status.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name, after.split_whitespace().nth(36)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::limits;
    use std::time::{Duration, Instant};

    #[test]
    fn the_cpu_of_a_task_stands_behind_its_name() {
        let rest = (3..=52).map(|field: u32| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(last_on(&format!("7 (a (b) c) {rest}")), Some(("a (b) c", 39)));
        assert!(last_on("7 (a) R 1").is_none() && last_on("").is_none());
    }

    /// A thread that shares the CPU with this one is found; one that is gone is not.
    #[test]
    fn who_shares_the_cpu_is_found() {
        if moment().is_none() {
            // A kernel without CONFIG_SCHED_DEBUG says nothing.
            return;
        }
        let cpu = limits::allowed_cpus().unwrap()[0];
        let (send, receive) = std::sync::mpsc::channel();
        let busy = std::thread::spawn(move || {
            limits::pin(&[cpu]).unwrap();
            send.send(crate::sys::usage::thread_id()).unwrap();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(2) {}
        });
        let id = receive.recv().unwrap();
        limits::pin(&[cpu]).unwrap();
        let ran = |nanos| ran_before(moment().unwrap(), cpu, nanos).iter().any(|task| task.id == id);
        // Asked when this thread was woken beside it, a second at most.
        let found = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            ran(20_000_000)
        });
        assert!(found);
        busy.join().unwrap();
        assert!(!ran(1_000_000_000), "it is gone");
    }
}
