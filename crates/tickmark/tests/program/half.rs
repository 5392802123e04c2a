//! A cgroup that may have half a CPU.

use crate::bench::{Bench, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A cgroup with half a CPU, of version 1 or 2, that goes with the test.
pub(crate) struct Half(pub(crate) PathBuf);

impl Half {
    pub(crate) fn make() -> Self {
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let root = if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        let half = Self(Path::new(root).join(format!("tickmark-test-{}", std::process::id())));
        fs::create_dir(&half.0).unwrap();
        let write = |name: &str, text: &str| fs::write(half.0.join(name), text).unwrap();
        // Other tests on its CPU would leave it less than the half, and the kernel never had to stop it.
        if unified {
            write("cpu.weight", "10000");
            write("cpu.max", "50000 100000");
        } else {
            write("cpu.shares", "262144");
            write("cpu.cfs_period_us", "100000");
            write("cpu.cfs_quota_us", "50000");
        }
        half
    }

    /// Runs the program in the group; gives its output, and when each stop was noticed (every 10 ms it is looked for), as `CLOCK_MONOTONIC` ns.
    pub(crate) fn run(&self, bench: &Bench, words: &[&str]) -> (Output, Vec<u64>) {
        let own = self.0.join("own");
        fs::create_dir(&own).unwrap();
        let command = in_group(&own, bench, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let running = std::thread::spawn(|| command.unwrap().wait_with_output().unwrap());
        let (mut stops, before) = (Vec::new(), self.stops());
        while !running.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(10));
            stops.resize((self.stops() - before) as usize, tickmark_timer::monotonic_ns());
        }
        let output = running.join().unwrap();
        let _ = fs::remove_dir(&own);
        (output, stops)
    }

    /// In how many periods the kernel stopped the group.
    fn stops(&self) -> u64 {
        let text = fs::read_to_string(self.0.join("cpu.stat")).unwrap();
        let stops = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        stops.and_then(|stops| stops.trim().parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        // Those in it are gone a moment after they have ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The program in a cgroup.
pub(crate) fn in_group(group: &Path, bench: &Bench, words: &[&str]) -> Command {
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", program()]).args(words).env("TICKMARK_STORE", bench.store());
    command
}
