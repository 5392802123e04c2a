//! Whom a bill is for: a command, processes that run already, or a cgroup.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tickmark_probe::sys::tasks::{self, Used};
use tickmark_probe::sys::{limits, usage};
use tickmark_probe::{Params, ProbeError};
use tickmark_timer::monotonic_ns;
use tickmark_wire::Nanos;

/// The subject of a bill.
pub(super) enum Subject {
    /// The program and its arguments.
    Command(Vec<String>),
    /// A process with those that it started.
    Process(u32),
    /// The file with its CPU time, and the folder.
    Cgroup(PathBuf),
}

/// Files of a cgroup with its CPU time: of the first version in ns, of the second with a line in us.
const USAGE: [&str; 2] = ["cpuacct.usage", "cpu.stat"];

impl Subject {
    pub(super) fn from_params(params: &Params) -> Result<Self, String> {
        let argument = |name: &str| Some(params.argument(name)).filter(|text| !text.is_empty());
        // The tasks that compute are of this process: whatever it is part of would be billed for them.
        let is_apart = |subject: Self, name: String| match subject
            .own(&tasks::all())
            .contains(&std::process::id())
        {
            true => Err(format!("{name} holds this tickmark itself: what it computes would be in the bill")),
            false => Ok(subject),
        };
        if let Some(pid) = argument("pid") {
            let pid = pid.parse().map_err(|_| format!("pid={pid} is no number of a process"))?;
            return match usage::CpuClock::for_process(pid) {
                Some(_) => is_apart(Self::Process(pid), format!("process {pid}")),
                None => Err(format!("there is no process {pid}")),
            };
        }
        if let Some(folder) = argument("cgroup") {
            let mut files = USAGE.iter().map(|name| Path::new(folder).join(name));
            let file = files.find(|path| used_by(path).is_some());
            let none =
                || format!("{folder} is no cgroup that counts CPU time (neither cpuacct.usage nor cpu.stat)");
            return is_apart(Self::Cgroup(file.ok_or_else(none)?), folder.to_owned());
        }
        let words: Vec<String> = params.argument("words").split('\0').map(str::to_owned).collect();
        if words.iter().all(String::is_empty) {
            return Err("no command was named".to_owned());
        }
        Ok(Self::Command(words))
    }

    /// Processes that are no others.
    pub(super) fn own(&self, all: &BTreeMap<u32, Used>) -> Vec<u32> {
        match self {
            Self::Command(_) => Vec::new(),
            Self::Process(pid) => tasks::below(*pid, all),
            Self::Cgroup(file) => {
                let mut own = Vec::new();
                processes(file.parent().unwrap_or(Path::new("/")), &mut own);
                own
            }
        }
    }

    /// Carries out the command on every CPU that it might use; of others it looks at them for so long. How long that was, and its CPU time, in ns.
    pub(super) fn watch(&self, params: &Params, time: Nanos) -> Result<[f64; 2], ProbeError> {
        match self {
            Self::Command(words) => carry_out(words, params),
            Self::Process(pid) => self.wait(time, || {
                let own = tasks::all();
                // What ended is in the account of who waited for it; what began meanwhile counts whole.
                let used = |pid: u32| own.get(&pid).map_or(0, |used| used.cpu);
                let all = tasks::below(*pid, &own).into_iter();
                let sum = all.map(|pid| used(pid) + tasks::ended_below(pid)).sum::<i64>();
                Some(sum).filter(|_| own.contains_key(pid))
            }),
            Self::Cgroup(file) => self.wait(time, || used_by(file)),
        }
    }

    fn wait(&self, time: Nanos, used: impl Fn() -> Option<i64>) -> Result<[f64; 2], ProbeError> {
        let gone = || {
            ProbeError::Other(match self {
                Self::Process(pid) => format!("process {pid} has ended"),
                _ => "the cgroup is gone".to_owned(),
            })
        };
        // Reading takes long where there are many processes: the same part of it is before each stamp.
        let (before, begun) = (used().ok_or_else(gone)?, monotonic_ns());
        std::thread::sleep(time.to_duration());
        let (after, ended) = (used().ok_or_else(gone)?, monotonic_ns());
        Ok([(ended - begun) as f64, (after - before) as f64])
    }
}

/// Those of a cgroup and of all below it, whose CPU time is in its own.
fn processes(folder: &Path, all: &mut Vec<u32>) {
    let text = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    all.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    let below = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        processes(&entry.path(), all);
    }
}

/// CPU time of a cgroup with all that ended in it, in ns.
fn used_by(file: &Path) -> Option<i64> {
    let text = std::fs::read_to_string(file).ok()?;
    match text.lines().find_map(|line| line.strip_prefix("usage_usec ")) {
        Some(micros) => micros.trim().parse::<i64>().ok().map(|micros| micros * 1_000),
        None => text.trim().parse().ok(),
    }
}

/// How long the command took, and the CPU time of it and of what it waited for, in ns.
fn carry_out(words: &[String], params: &Params) -> Result<[f64; 2], ProbeError> {
    let wrong = |why: String| ProbeError::Other(format!("`{}`: {why}", words.join(" ")));
    // Where the user is; nothing of this run's is written from here on.
    let folder = params.argument("folder");
    if !folder.is_empty() {
        std::env::set_current_dir(folder).map_err(|error| wrong(format!("{folder}: {error}")))?;
    }
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    limits::pin(&params.allowed)?;
    let (begun, before) = (monotonic_ns(), usage::ended_children());
    let status = command.status();
    let (took, used) = (monotonic_ns() - begun, usage::ended_children().get() - before.get());
    limits::pin(&[params.cpu])?;
    let status = status.map_err(|error| wrong(error.to_string()))?;
    match status.success() {
        true => Ok([took as f64, used as f64]),
        false => Err(wrong(format!("ended with {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_has_its_cpu_time_in_one_of_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            used_by(&path)
        };
        assert_eq!(write("cpuacct.usage", "1234\n"), Some(1234));
        assert_eq!(write("cpu.stat", "usage_usec 56\nuser_usec 40\n"), Some(56_000));
        assert_eq!(write("other", "none\n"), None);
    }
}
