//! The kernel's osnoise tracer (Documentation/trace/osnoise-tracer.rst), in a trace instance of this process's own, so that nobody
//! else's trace is touched.

use super::CallError;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted, by the kernel's own documentation.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Which CPUs it watches: one setting of the whole machine.
const CPUS: &str = "osnoise/cpus";
/// What the name of an instance begins with; the process's number follows.
const OWN: &str = "tickmark-";
/// Those that there may be at all: what the setting is where nobody changed it.
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// A tracer that runs; it is put away when this is dropped.
#[derive(Debug)]
pub struct Tracer {
    root: PathBuf,
    id: u32,
    cpus: String,
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

/// Why it cannot be used; none where it can.
#[must_use]
pub fn unavailable() -> Option<String> {
    let tracers = Path::new(TRACEFS).join("available_tracers");
    match std::fs::read_to_string(&tracers) {
        Err(error) => Some(format!("{}: {error}", tracers.display())),
        Ok(text) if !text.split_whitespace().any(|tracer| tracer == "osnoise") => {
            Some("this kernel has no osnoise tracer (CONFIG_OSNOISE_TRACER)".to_owned())
        }
        Ok(_) => {
            let others = instances(Path::new(TRACEFS)).into_iter().find(|id| is_alive(*id));
            others.map(|id| format!("process {id} of tickmark uses the osnoise tracer"))
        }
    }
}

impl Tracer {
    /// Begins to trace one CPU.
    ///
    /// # Errors
    /// The user may not, or the kernel refuses.
    pub fn begin(cpu: u32) -> Result<Self, CallError> {
        Self::under(Path::new(TRACEFS), cpu)
    }

    fn under(root: &Path, cpu: u32) -> Result<Self, CallError> {
        // What a process that was killed left.
        instances(root).into_iter().filter(|id| !is_alive(*id)).for_each(|id| put_away_under(root, id, None));
        let failed = |call: &'static str| move |error: std::io::Error| CallError::of(call, &error);
        let cpus = std::fs::read_to_string(root.join(CPUS)).map_err(failed("read of osnoise/cpus"))?;
        let id = std::process::id();
        let tracer = Self { root: root.to_owned(), id, cpus: cpus.trim().to_owned() };
        std::fs::create_dir_all(tracer.folder()).map_err(failed("mkdir of a trace instance"))?;
        std::fs::write(root.join(CPUS), cpu.to_string()).map_err(failed("write to osnoise/cpus"))?;
        let begun = std::fs::write(tracer.folder().join("current_tracer"), "osnoise");
        begun.map_err(failed("write to current_tracer"))?;
        Ok(tracer)
    }

    fn folder(&self) -> PathBuf {
        folder(&self.root, self.id)
    }

    /// The periods that are over so far.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let text = std::fs::read_to_string(self.folder().join("trace")).unwrap_or_default();
        text.lines().filter_map(sample).collect()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        put_away_under(&self.root, self.id, Some(&self.cpus));
    }
}

/// Ends what a process left that was killed while it traced: its instance, and which CPUs are watched.
pub fn put_away(id: u32) {
    let root = Path::new(TRACEFS);
    if folder(root, id).exists() {
        put_away_under(root, id, None);
    }
}

fn put_away_under(root: &Path, id: u32, cpus: Option<&str>) {
    let folder = folder(root, id);
    let _ = std::fs::write(folder.join("current_tracer"), "nop");
    let _ = std::fs::remove_dir(&folder);
    let possible = std::fs::read_to_string(POSSIBLE).unwrap_or_default();
    let _ = std::fs::write(root.join(CPUS), cpus.unwrap_or(possible.trim()));
}

fn folder(root: &Path, id: u32) -> PathBuf {
    root.join("instances").join(format!("{OWN}{id}"))
}

/// The processes of tickmark that have an instance.
fn instances(root: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(root.join("instances")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(OWN)?.parse().ok()).collect()
}

fn is_alive(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

/// A line of the trace: after its time runtime, noise, share available, longest, and the counts of hardware, non-maskable and other
/// interrupts, soft interrupts and threads.
fn sample(line: &str) -> Option<Sample> {
    let (_, rest) = line.trim_start().strip_prefix('#').is_none().then(|| line.rsplit_once(": "))??;
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
        let samples: Vec<Sample> = TRACE.lines().filter_map(sample).collect();
        let first = Sample { runtime: 1e6, noise: 190.0, interrupts: 1007.0 };
        assert_eq!((samples.len(), samples[0]), (2, first));
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("osnoise")).unwrap();
        std::fs::create_dir_all(root.path().join("instances/tickmark-4000000000")).unwrap();
        std::fs::write(root.path().join(CPUS), "0-63\n").unwrap();
        let tracer = Tracer::under(root.path(), 5).unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join(CPUS)).unwrap(), "5");
        assert!(!root.path().join("instances/tickmark-4000000000/trace").exists());
        std::fs::write(tracer.folder().join("trace"), TRACE).unwrap();
        assert_eq!(tracer.samples().len(), 2);
        // In the kernel's own file system a folder goes with its files.
        let tracing = std::fs::read_to_string(tracer.folder().join("current_tracer")).unwrap();
        let folder = tracer.folder();
        drop(tracer);
        assert_eq!(tracing, "osnoise");
        assert_eq!(std::fs::read_to_string(folder.join("current_tracer")).unwrap(), "nop");
        assert_eq!(std::fs::read_to_string(root.path().join(CPUS)).unwrap(), "0-63");
        assert!(Tracer::under(Path::new("/nowhere"), 0).is_err());
    }
}
