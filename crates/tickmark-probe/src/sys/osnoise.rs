//! The kernel's tracers osnoise and timerlat (Documentation/trace/osnoise-tracer.rst, timerlat-tracer.rst), in a trace instance of this
//! process's own. Which CPUs they watch is one setting of the whole machine: where anybody traces with one, it is left alone.

use super::CallError;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where tracefs is mounted, by the kernel's own documentation.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Which CPUs are watched.
const CPUS: &str = "osnoise/cpus";
/// Prefix of an instance's name; the process's number follows, and the CPUs that were watched before.
const OWN: &str = "tickmark-";
/// A tracer that shares the setting with the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Time that a spinning thread loses.
    Osnoise,
    /// How late a timer's interrupt and the thread that it wakes are.
    Timerlat,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Osnoise, Self::Timerlat];

    /// As the kernel calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Osnoise => "osnoise",
            Self::Timerlat => "timerlat",
        }
    }
}

/// Waits until nobody is left who could say that all is done, as where all processes were killed, and puts the setting back then.
/// Where the instance has gone meanwhile another one has done it. Its arguments are the instance, what was in the setting, and the setting.
const KEEPER: &str = r#"read -r done && exit; [ -d "$1" ] || exit; echo nop >"$1/current_tracer"; rmdir "$1" || [ -d "$1" ] || exit; echo "$2" >"$3""#;

/// A tracer that runs; it is put away when this is dropped.
#[derive(Debug)]
pub struct Tracer {
    /// Without a shell there is none.
    keeper: Option<Child>,
    root: PathBuf,
    folder: PathBuf,
    cpu: u32,
}

/// One period of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// How long it looked, in us.
    pub runtime: f64,
    /// How much of that was not its own, in us.
    pub noise: f64,
    /// Interrupts that it met.
    pub interrupts: f64,
}

/// One wake-up of timerlat's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// How late the interrupt came, or the thread went on, in ns.
    pub late: i64,
    /// True if it is the thread's.
    pub is_thread: bool,
}

/// Why a tracer cannot be used; none where it can.
#[must_use]
pub fn unavailable(kind: Kind) -> Option<String> {
    let root = Path::new(TRACEFS);
    let tracers = root.join("available_tracers");
    match std::fs::read_to_string(&tracers) {
        Err(error) => Some(format!("{}: {error}; run as root, with tracefs mounted", tracers.display())),
        Ok(text) if !text.split_whitespace().any(|tracer| tracer == kind.name()) => {
            let name = kind.name();
            Some(format!("this kernel has no {name} tracer (CONFIG_{}_TRACER)", name.to_uppercase()))
        }
        Ok(_) => {
            clear(root);
            user(root).map(|place| format!("{} traces with it", place.display()))
        }
    }
}

/// Starts the one that puts the setting back where all are killed; in a guest, where the small agent is, nobody kills.
fn keeper(root: &Path, folder: &Path, before: &str) -> Option<Child> {
    if !cfg!(feature = "whole") {
        return None;
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", KEEPER, "sh"]);
    shell.args([folder.as_os_str(), before.as_ref(), root.join(CPUS).as_os_str()]);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Who kills the run and its peers does not kill it.
    shell.process_group(0).spawn().ok()
}

/// A trace of somebody that needs the setting as it is.
fn user(root: &Path) -> Option<PathBuf> {
    let instances = std::fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    let mut all = std::iter::once(root.to_owned()).chain(instances.map(|entry| entry.path()));
    let shares = |place: &PathBuf| {
        let tracer = std::fs::read_to_string(place.join("current_tracer")).unwrap_or_default();
        Kind::ALL.iter().any(|kind| kind.name() == tracer.trim())
    };
    all.find(shares)
}

impl Tracer {
    /// Begins to trace one CPU.
    ///
    /// # Errors
    /// The user may not, or the kernel refuses.
    pub fn begin(kind: Kind, cpu: u32) -> Result<Self, CallError> {
        Self::under(Path::new(TRACEFS), kind, cpu)
    }

    fn under(root: &Path, kind: Kind, cpu: u32) -> Result<Self, CallError> {
        let failed = |call: &'static str| move |error: std::io::Error| CallError::from_io(call, &error);
        let before = std::fs::read_to_string(root.join(CPUS)).map_err(failed("read of osnoise/cpus"))?;
        // Whoever finds the instance later knows from its name what to put back.
        let name = format!("{OWN}{}-{}", std::process::id(), before.trim());
        let folder = root.join("instances").join(name);
        let mut tracer = Self { keeper: None, root: root.to_owned(), folder, cpu };
        std::fs::create_dir(&tracer.folder).map_err(failed("mkdir of a trace instance"))?;
        if user(root).is_some() {
            // Another began meanwhile: the setting is its own.
            let _ = std::fs::remove_dir(&tracer.folder);
            std::mem::forget(tracer);
            return Err(CallError { call: "write to osnoise/cpus", errno: libc::EBUSY });
        }
        tracer.keeper = keeper(root, &tracer.folder, before.trim());
        std::fs::write(root.join(CPUS), cpu.to_string()).map_err(failed("write to osnoise/cpus"))?;
        let begun = std::fs::write(tracer.folder.join("current_tracer"), kind.name());
        begun.map_err(failed("write to current_tracer"))?;
        Ok(tracer)
    }

    /// The periods of osnoise that are over so far.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        self.lines().lines().filter_map(|line| sample(line, self.cpu)).collect()
    }

    /// Gives the trace room for so many seconds of timerlat: two lines of a hundred bytes a millisecond.
    ///
    /// # Errors
    /// The kernel has not as much.
    pub fn room(&self, seconds: usize) -> Result<(), CallError> {
        let kib = (seconds * 200).max(1408).to_string();
        let written = std::fs::write(self.folder.join("buffer_size_kb"), kib);
        written.map_err(|error| CallError::from_io("write to buffer_size_kb", &error))
    }

    /// Lines that the trace lost, as it was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let stats = self.folder.join(format!("per_cpu/cpu{}/stats", self.cpu));
        let text = std::fs::read_to_string(stats).unwrap_or_default();
        let count = |line: &str| line.strip_prefix("overrun:").and_then(|count| count.trim().parse().ok());
        text.lines().find_map(count).unwrap_or(0)
    }

    /// The wake-ups of timerlat so far, as far back as the trace holds them.
    #[must_use]
    pub fn wakes(&self) -> Vec<Wake> {
        self.lines().lines().filter_map(|line| wake(line, self.cpu)).collect()
    }

    fn lines(&self) -> String {
        std::fs::read_to_string(self.folder.join("trace")).unwrap_or_default()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        put_back(&self.root, &self.folder);
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.stdin.take().map(|mut done| done.write_all(b"\n"));
            let _ = keeper.wait();
        }
    }
}

/// Ends what a process left that was killed while it traced: its instance, and which CPUs are watched.
pub fn put_away(id: u32) {
    let root = Path::new(TRACEFS);
    instances(root)
        .into_iter()
        .filter(|(owner, _)| *owner == id)
        .for_each(|(_, folder)| put_back(root, &folder));
}

/// The same for all that are gone.
fn clear(root: &Path) {
    let dead = instances(root).into_iter().filter(|(owner, _)| !is_alive(*owner));
    dead.for_each(|(_, folder)| put_back(root, &folder));
}

fn put_back(root: &Path, folder: &Path) {
    let _ = std::fs::write(folder.join("current_tracer"), "nop");
    let gone = std::fs::remove_dir(folder).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let before = name.strip_prefix(OWN).and_then(|rest| rest.split_once('-'));
    // Another process may have done it, and a trace of the next run may have the setting now.
    if let Some((_, before)) = before.filter(|_| !gone) {
        let _ = std::fs::write(root.join(CPUS), before);
    }
}

/// The instances of tickmark, with the processes that made them.
fn instances(root: &Path) -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    let own = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let (id, _) = name.to_str()?.strip_prefix(OWN)?.split_once('-')?;
        Some((id.parse().ok()?, entry.path()))
    };
    entries.filter_map(own).collect()
}

/// True if a process of tickmark has this number: numbers come again.
fn is_alive(id: u32) -> bool {
    let comm = |id: &str| std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    let name = comm(&id.to_string());
    name.starts_with("tickmark") || (!name.is_empty() && name == comm("self"))
}

/// Text of a line of the trace after its time, where it is of this CPU.
fn text_of_line(line: &str, cpu: u32) -> Option<&str> {
    let (_, after) = line.trim_start().strip_prefix('#').is_none().then(|| line.split_once('['))??;
    let (number, _) = after.split_once(']')?;
    line.rsplit_once(": ").filter(|_| number.parse() == Ok(cpu)).map(|(_, rest)| rest)
}

/// A line of timerlat: `#NUMBER context irq|thread timer_latency N ns`.
fn wake(line: &str, cpu: u32) -> Option<Wake> {
    let words: Vec<&str> = text_of_line(line, cpu)?.split_whitespace().collect();
    let [_, "context", context, "timer_latency", late, "ns"] = words[..] else { return None };
    let is_thread = match context {
        "irq" => false,
        "thread" => true,
        _ => return None,
    };
    Some(Wake { late: late.parse().ok()?, is_thread })
}

/// A line of the trace: after its time runtime, noise, share available, longest, and the counts of hardware, non-maskable and other
/// interrupts, soft interrupts and threads.
fn sample(line: &str, cpu: u32) -> Option<Sample> {
    let rest = text_of_line(line, cpu)?;
    let numbers: Option<Vec<f64>> = rest.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers?[..] {
        [runtime, noise, _, _, _, _, interrupts, _, _] if runtime > 0.0 && noise <= runtime => {
            Some(Sample { runtime, noise, interrupts })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "# tracer: osnoise\n#
#                                _-----=> irqs-off
#           TASK-PID      CPU# |||||  TIMESTAMP: IN US       IN US  AVAILABLE  IN US
       osnoise/0-859     [000] .....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1
       osnoise/0-859     [000] .....    82.638154: 1000000        656  99.93440      74     23      0   1006     16      3
          <...>-859     [000] .....    83.638154: a word\n";

    #[test]
    fn its_lines_are_read_and_what_it_changed_is_put_back() {
        let samples: Vec<Sample> = TRACE.lines().filter_map(|line| sample(line, 0)).collect();
        let first = Sample { runtime: 1e6, noise: 190.0, interrupts: 1007.0 };
        assert_eq!((samples.len(), samples[0]), (2, first));
        assert_eq!(TRACE.lines().filter_map(|line| sample(line, 1)).count(), 0, "of another CPU");
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir_all(root.join("osnoise")).unwrap();
        let (dead, user_of) = (root.join("instances/tickmark-4000000000-2-7"), root.join("instances/rtla"));
        std::fs::create_dir_all(&dead).unwrap();
        let cpus = || std::fs::read_to_string(root.join(CPUS)).unwrap();
        std::fs::write(root.join(CPUS), "5\n").unwrap();
        // What a process left that is gone is put back as it was before that.
        clear(root);
        assert_eq!((cpus().as_str(), user(root)), ("2-7", None));
        let _ = std::fs::remove_file(dead.join("current_tracer"));
        let _ = std::fs::remove_dir(&dead);
        let tracer = Tracer::under(root, Kind::Osnoise, 0).unwrap();
        assert_eq!(cpus(), "0");
        assert_eq!(user(root), Some(tracer.folder.clone()));
        std::fs::write(tracer.folder.join("trace"), TRACE).unwrap();
        assert_eq!(tracer.samples().len(), 2);
        let folder = tracer.folder.clone();
        drop(tracer);
        assert_eq!(std::fs::read_to_string(folder.join("current_tracer")).unwrap(), "nop");
        assert_eq!(cpus(), "2-7");
        std::fs::remove_dir_all(&folder).unwrap();
        // As where its owner is killed: nobody says that all is done.
        let mut killed = std::mem::ManuallyDrop::new(Tracer::under(root, Kind::Osnoise, 1).unwrap());
        assert_eq!(cpus(), "1");
        match killed.keeper.take() {
            Some(mut keeper) => {
                drop(keeper.stdin.take());
                keeper.wait().unwrap();
            }
            // The small agent has none: who comes next finds what it left.
            None => put_back(root, &killed.folder),
        }
        let ended = std::fs::read_to_string(killed.folder.join("current_tracer")).unwrap();
        assert_eq!((ended.trim(), cpus().trim()), ("nop", "2-7"));
        // Where somebody else traces, nothing is touched.
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir_all(&user_of).unwrap();
        std::fs::write(user_of.join("current_tracer"), "timerlat\n").unwrap();
        assert!(Tracer::under(root, Kind::Timerlat, 0).is_err());
        assert_eq!(cpus().trim(), "2-7");
        assert!(Tracer::under(Path::new("/nowhere"), Kind::Osnoise, 0).is_err());
    }

    #[test]
    fn lines_of_timerlat_are_of_interrupts_and_of_threads() {
        let lines = "          <idle>-0       [000] d.h1.    54.029328: #1     context    irq timer_latency       932 ns\n\
                               <...>-867     [000] .....    54.029339: #1     context thread timer_latency     11700 ns\n\
                     # a word: #1 context irq timer_latency 1 ns\n\
                               <...>-867     [000] .....    54.029339: #2     context   user timer_latency     11700 ns\n";
        let wakes: Vec<Wake> = lines.lines().filter_map(|line| wake(line, 0)).collect();
        assert_eq!(wakes, [Wake { late: 932, is_thread: false }, Wake { late: 11_700, is_thread: true }]);
        assert_eq!(lines.lines().filter_map(|line| wake(line, 3)).count(), 0, "of another CPU");
    }
}
