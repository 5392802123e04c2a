//! What had a CPU lately, by the scheduler's own account of each task (/proc/PID/sched, CONFIG_SCHED_DEBUG).

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
}

/// The tasks other than this one that had the CPU at some time in the last `nanos` before this one was put on it, which has just happened;
/// none where the kernel does not say.
#[must_use]
pub fn ran_lately(cpu: u32, nanos: u64) -> Option<Vec<Task>> {
    // By the clock of the CPU's run queue, which stands still in interrupts: in that one the time is shorter.
    let now = began("/proc/thread-self/sched")?;
    let own: u32 = fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()?;
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
            let lately = || began(&format!("{folder}/sched")).is_some_and(|at| at + nanos as f64 >= now);
            if last == cpu && lately() && ran.len() < MOST {
                ran.push(Task { name: name.to_owned(), id });
            }
        }
    }
    Some(ran)
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

    /// A thread that shares the CPU with this one is found; one that has slept for a while is not.
    #[test]
    fn who_shares_the_cpu_is_found() {
        if began("/proc/thread-self/sched").is_none() {
            // A kernel without CONFIG_SCHED_DEBUG says nothing, and that is told apart from nobody.
            assert_eq!(ran_lately(0, 1), None);
            return;
        }
        let cpu = limits::allowed_cpus().unwrap()[0];
        let (send, receive) = std::sync::mpsc::channel();
        let busy = std::thread::spawn(move || {
            limits::pin(&[cpu]).unwrap();
            let own = fs::read_link("/proc/thread-self").unwrap();
            send.send(own.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap()).unwrap();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(2) {}
        });
        let id = receive.recv().unwrap();
        limits::pin(&[cpu]).unwrap();
        let ran = |nanos| ran_lately(cpu, nanos).unwrap().iter().any(|task| task.id == id);
        // Asked when this thread was woken beside it, a second at most.
        let found = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            ran(20_000_000)
        });
        assert!(found);
        busy.join().unwrap();
        assert!(!ran_lately(cpu, 1_000_000_000).unwrap().iter().any(|task| task.id == id), "it is gone");
    }
}
