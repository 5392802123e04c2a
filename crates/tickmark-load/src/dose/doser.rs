//! Makes clock reads longer (injects a delay), and counts them: a library in the server, or the clock source of the whole machine (kernel/tickmark_clock).

use super::super::preloaded::Preloaded;
use super::super::started::Started;
use super::slices::Dose;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickmark_probe::ProbeError;

/// Where the module's parameters are, and which clock source is selected.
const MODULE: &str = "/sys/module/tickmark_clock/parameters";
const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// One of them, with the server.
pub(super) enum Doser {
    Preload(Preloaded),
    Kernel(Started, Module),
}

/// Reads of the clock source so far, counter ticks by which they took longer, and how many of them something else held up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) reads: u64,
    pub(super) spent: u64,
    pub(super) held_up: u64,
    /// CPU time of the reads that were timed by the thread's own clock, in ns, and how many these are.
    pub(super) cpu: u64,
    pub(super) timed: u64,
}

impl Counted {
    pub(super) fn middle(self, other: Self) -> Self {
        Self {
            reads: self.reads.midpoint(other.reads),
            spent: self.spent.midpoint(other.spent),
            held_up: self.held_up.midpoint(other.held_up),
            cpu: self.cpu.midpoint(other.cpu),
            timed: self.timed.midpoint(other.timed),
        }
    }
}

impl Doser {
    pub(super) fn server(&mut self) -> &mut Started {
        match self {
            Self::Preload(preloaded) => &mut preloaded.started,
            Self::Kernel(started, _) => started,
        }
    }

    /// From now on; `frequency` is that of the processor's counter, and an operation takes `each` ns.
    pub(super) fn set(&self, dose: Dose, frequency: f64, each: f64) -> Result<(), ProbeError> {
        match (self, dose) {
            (Self::Preload(all), _) => {
                let set = match dose {
                    Dose::Nanos(nanos) => {
                        all.preload.dose((f64::from(nanos) * frequency / 1e9).round() as u64)
                    }
                    Dose::Syscall => all.preload.by_syscall(),
                    Dose::Operations(which, number) => {
                        let longest = HELD_UP * each * frequency / 1e9;
                        all.preload.operations(which, u64::from(number), longest.ceil() as u64)
                    }
                };
                set.map_err(|error| all.started.wrong(&error.to_string()))
            }
            (Self::Kernel(_, module), Dose::Nanos(nanos)) => module.set(nanos).map_err(ProbeError::Other),
            (Self::Kernel(..), _) => {
                Err(ProbeError::Other("the clock source takes doses of ns alone".to_owned()))
            }
        }
    }

    /// That the dose which was set is still there, and the same clock is read: both can be changed by others meanwhile.
    pub(super) fn has(&self, dose: Dose) -> Result<(), ProbeError> {
        match (self, dose) {
            (Self::Kernel(_, module), Dose::Nanos(nanos)) => module.has(nanos).map_err(ProbeError::Other),
            _ => Ok(()),
        }
    }

    pub(super) fn counted(&self) -> Result<Counted, ProbeError> {
        match self {
            Self::Preload(all) => {
                let counts = all.preload.counts().map_err(|error| all.started.wrong(&error.to_string()))?;
                Ok(Counted {
                    reads: counts.of_source(),
                    spent: counts.spent,
                    held_up: counts.held_up,
                    cpu: counts.cpu_spent,
                    timed: counts.cpu_reads,
                })
            }
            Self::Kernel(_, module) => module.counted().map_err(ProbeError::Other),
        }
    }
}

/// The most that a host is given, in ns: at 30 us with a timer every 200 us a program keeps a fifth of its CPU.
const MOST_HERE: u64 = 10_000;
/// A read that takes so many times as long as the shortest was held up.
const HELD_UP: f64 = 3.0;

/// The loaded module, whose clock source is selected; without a delay when this is dropped.
#[derive(Debug)]
pub(super) struct Module {
    folder: PathBuf,
    current: PathBuf,
}

impl Module {
    /// Looks whether it may be used with these doses and slices.
    ///
    /// # Errors
    /// What is missing and what to do, in one line.
    pub(super) fn find(doses: &[Dose], slice: Duration) -> Result<Self, String> {
        Self::at(Path::new(MODULE), Path::new(CURRENT), doses, slice)
    }

    fn at(folder: &Path, current: &Path, doses: &[Dose], slice: Duration) -> Result<Self, String> {
        let module = Self { folder: folder.to_owned(), current: current.to_owned() };
        if !folder.is_dir() {
            return Err(
                "the module tickmark_clock is not loaded: kernel/tickmark_clock/HOWTO.md says how".to_owned()
            );
        }
        module.is_selected()?;
        let most = module.number("most_ns")?.min(MOST_HERE);
        for dose in doses {
            match dose {
                Dose::Nanos(nanos) if u64::from(*nanos) <= most => {}
                Dose::Nanos(nanos) => {
                    return Err(format!(
                        "{nanos} ns: up to {most} are given to a whole machine (most_ns, and 10000)"
                    ));
                }
                _ => {
                    return Err(
                        "the clock source takes doses of ns alone: each read is a system call already"
                            .to_owned(),
                    );
                }
            }
        }
        // It forgets a delay that nobody sets again.
        let forgets = module.number("deadman_ms")?;
        if forgets == 0 {
            return Err(
                "the module would keep a delay for ever if this ended: load it with deadman_ms above 0"
                    .to_owned(),
            );
        }
        if slice.as_millis() as u64 * 2 > forgets {
            return Err(format!(
                "slices of {} ms: the module forgets a delay after {forgets} ms (deadman_ms): give half of that at most",
                slice.as_millis()
            ));
        }
        module.set(0)?;
        Ok(module)
    }

    fn is_selected(&self) -> Result<(), String> {
        let selected = std::fs::read_to_string(&self.current).unwrap_or_default();
        if selected.trim() == "tickmark" {
            return Ok(());
        }
        let path = self.current.display();
        Err(format!("the clock source is {}: select the other (echo tickmark > {path})", selected.trim()))
    }

    fn has(&self, nanos: u32) -> Result<(), String> {
        self.is_selected()?;
        match self.number("extra_ns")? {
            there if there == u64::from(nanos) => Ok(()),
            _ => Err("the module forgot its delay within a slice, or somebody changed it: transactions that take longer than half of deadman_ms".to_owned()),
        }
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        let path = self.folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        text.trim().parse().map_err(|_| format!("{}: {:?} is no number", path.display(), text.trim()))
    }

    fn set(&self, nanos: u32) -> Result<(), String> {
        let path = self.folder.join("extra_ns");
        std::fs::write(&path, nanos.to_string()).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn counted(&self) -> Result<Counted, String> {
        Ok(Counted {
            reads: self.number("reads")?,
            spent: self.number("spent_cycles")?,
            ..Counted::default()
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_used_where_it_can_be_and_left_without_a_delay() {
        let folder = tempfile::tempdir().unwrap();
        let (parameters, current) = (folder.path().join("parameters"), folder.path().join("current"));
        let at = |doses: &[u32], slice| {
            let doses: Vec<Dose> = doses.iter().map(|nanos| Dose::Nanos(*nanos)).collect();
            Module::at(&parameters, &current, &doses, Duration::from_millis(slice))
        };
        assert!(at(&[0], 350).unwrap_err().contains("HOWTO"));
        std::fs::create_dir(&parameters).unwrap();
        std::fs::write(&current, "tsc\n").unwrap();
        assert!(at(&[0], 350).unwrap_err().contains("echo tickmark"));
        std::fs::write(&current, "tickmark\n").unwrap();
        for (name, value) in [
            ("most_ns", "10000"),
            ("deadman_ms", "5000"),
            ("reads", "70"),
            ("spent_cycles", "900"),
            ("extra_ns", "7"),
        ] {
            std::fs::write(parameters.join(name), value).unwrap();
        }
        assert!(at(&[0, 20_000], 350).unwrap_err().contains("10000"));
        assert!(at(&[0, 1000], 3000).unwrap_err().contains("deadman_ms"));
        let syscall = Module::at(&parameters, &current, &[Dose::Syscall], Duration::ZERO);
        assert!(syscall.unwrap_err().contains("system call"));
        let module = at(&[0, 1000], 350).unwrap();
        let extra = || std::fs::read_to_string(parameters.join("extra_ns")).unwrap();
        assert_eq!(extra(), "0");
        assert_eq!(module.counted(), Ok(Counted { reads: 70, spent: 900, ..Counted::default() }));
        module.set(1000).unwrap();
        assert_eq!(extra(), "1000");
        assert!(module.has(1000).is_ok() && module.has(0).unwrap_err().contains("forgot"));
        std::fs::write(&current, "tsc\n").unwrap();
        assert!(module.has(1000).unwrap_err().contains("tsc"));
        std::fs::write(&current, "tickmark\n").unwrap();
        // More than a host is given, and a module that never forgets.
        std::fs::write(parameters.join("most_ns"), "100000").unwrap();
        assert!(at(&[0, 20_000], 350).unwrap_err().contains("10000"));
        std::fs::write(parameters.join("deadman_ms"), "0").unwrap();
        assert!(at(&[0, 1000], 350).unwrap_err().contains("for ever"));
        drop(module);
        assert_eq!(extra(), "0");
    }
}
