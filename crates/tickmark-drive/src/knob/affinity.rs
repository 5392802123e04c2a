//! CPUs that a task or an interrupt may use: kept from one, a disturber is gone from it.

use super::{HERE, Knob, SettingTarget};
use crate::Error;
use crate::journal::Undo;
use crate::setting_file::{self, bytes, of_kernel};
use std::path::{Path, PathBuf};
use tickmark_probe::sys::host::effective_user;
use tickmark_probe::sys::limits;
use tickmark_wire::{Hello, Settings, text};

/// The setting that leaves everything as it was, and what a setting that leaves a CPU out begins with.
const NOW: &str = "now";
const NOT: &str = "not:";

#[derive(Debug)]
enum Whose {
    /// Its number, and when it was started: another one may have the number later.
    Task(u32, u64),
    /// The file with its CPUs.
    Interrupt(PathBuf),
}

/// The CPUs of one of them, and those that it could use at first.
#[derive(Debug)]
pub(super) struct Affinity {
    whose: Whose,
    first: Vec<u32>,
}

impl Affinity {
    pub(super) fn task(number: &str) -> Result<Self, Error> {
        let task = number.parse().ok().filter(|task| *task > 0);
        let task =
            task.ok_or_else(|| Error::Usage(format!("affinity:{number}: give the number of a thread")))?;
        let started =
            started(task).ok_or_else(|| Error::Usage(format!("affinity:{task}: there is no such thread")))?;
        let mut new = Self { whose: Whose::Task(task, started), first: Vec::new() };
        new.first = new.read()?;
        Ok(new)
    }

    pub(super) fn interrupt(number: &str) -> Result<Self, Error> {
        number
            .parse::<u32>()
            .map_err(|_| Error::Usage(format!("irq:{number}: give an interrupt's number")))?;
        let path = Path::new("/proc/irq").join(number).join("smp_affinity_list");
        if !path.exists() {
            return Err(Error::Usage(format!(
                "irq:{number}: there is no such interrupt; /proc/interrupts lists them"
            )));
        }
        let path = of_kernel(&path)?;
        let mut new = Self { whose: Whose::Interrupt(path), first: Vec::new() };
        new.first = new.read()?;
        Ok(new)
    }

    fn read(&self) -> Result<Vec<u32>, Error> {
        match &self.whose {
            Whose::Task(task, _) => {
                limits::cpus_of(*task).map_err(|error| Error::Refused(format!("thread {task}: {error}")))
            }
            Whose::Interrupt(path) => {
                let list = setting_file::read(path)?;
                text::list(list.trim())
                    .ok_or_else(|| Error::Refused(format!("{} is no list of CPUs: {list}", path.display())))
            }
        }
    }

    /// What a setting means: where nothing is left beside the CPU, all others that this process may use.
    fn resolve(&self, setting: &str) -> Result<Vec<u32>, Error> {
        if setting == NOW {
            return Ok(self.first.clone());
        }
        let left_out = setting.strip_prefix(NOT).and_then(|cpu| cpu.parse::<u32>().ok());
        let left_out = left_out.ok_or_else(|| {
            Error::Usage(format!("{setting}: give {NOW}, or {NOT}N for every CPU that it may use but N"))
        })?;
        let others = |all: Vec<u32>| all.into_iter().filter(|cpu| *cpu != left_out).collect::<Vec<u32>>();
        let mut left = others(self.first.clone());
        if left.is_empty() {
            left = others(limits::allowed_cpus().map_err(|error| Error::Refused(error.to_string()))?);
        }
        match left.is_empty() {
            true => Err(Error::Refused(format!("there is no other CPU than {left_out} to move it to"))),
            false => Ok(left),
        }
    }
}

/// When a thread was started, in ticks since the boot (proc(5), field 22 of stat); none where there is none.
fn started(task: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{task}/stat")).ok()?;
    // Its name may have spaces and brackets.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Lets a thread use these CPUs, if it is still the one that was started then.
pub(crate) fn move_task(task: u32, start: u64, cpus: &[u32]) -> Result<(), Error> {
    if started(task) != Some(start) {
        return Err(Error::Refused(format!("thread {task} has ended")));
    }
    limits::pin_task(task, cpus).map_err(|error| {
        let as_root = crate::error::as_root(&std::io::Error::from_raw_os_error(error.errno));
        Error::Refused(format!("thread {task} cannot be moved: {error}{as_root}"))
    })
}

/// The same where it may have ended, or never was moved: then there is nothing to be put back.
pub(crate) fn move_back(task: u32, start: u64, cpus: &[u32]) -> Result<(), Error> {
    let is_there = started(task) == Some(start);
    let is_back = limits::cpus_of(task).is_ok_and(|now| now == cpus);
    if is_there && !is_back { move_task(task, start, cpus) } else { Ok(()) }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Knob for Affinity {
    fn check(&self, setting: &str) -> Result<(), Error> {
        self.resolve(setting).map(drop)
    }

    fn targets(&self) -> Vec<String> {
        vec![match &self.whose {
            Whose::Task(task, _) => format!("affinity of thread {task}"),
            Whose::Interrupt(path) => path.display().to_string(),
        }]
    }

    fn undo(&self) -> Result<Vec<Undo>, Error> {
        Ok(vec![match &self.whose {
            Whose::Task(task, started) => {
                // Under the lock: an experiment that has ended since may have moved it when this one looked first.
                Undo::Affinity { task: *task, started: *started, cpus: self.read()? }
            }
            Whose::Interrupt(path) => Undo::Write { path: path.clone(), value: bytes(path)?.into() },
        }])
    }

    fn undo_setting(&self, _: usize) -> Option<Undo> {
        None
    }

    fn set(&self, _: usize, setting: &str) -> Result<(), Error> {
        let cpus = self.resolve(setting)?;
        match &self.whose {
            Whose::Task(task, started) => move_task(*task, *started, &cpus),
            Whose::Interrupt(path) => match setting_file::write(path, list(&cpus).as_bytes()) {
                Err(_) if effective_user() == 0 => {
                    let why = "interrupts of some devices stay where the kernel or the driver has put them";
                    Err(Error::Refused(format!("{} cannot be changed: {why}", path.display())))
                }
                written => written,
            },
        }
    }

    fn leave(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        self.read().map(|cpus| Some(list(&cpus)))
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        self.resolve(setting).is_ok_and(|meant| text::list(current) == Some(meant))
    }

    fn settings(&self, _: &str, settings: &Settings) -> Settings {
        settings.clone()
    }

    fn place(&self, _: usize) -> SettingTarget<'_> {
        HERE
    }

    fn is_read_back(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_moved_and_comes_back_and_another_one_of_its_number_is_left_alone() {
        let allowed = limits::allowed_cpus().unwrap();
        let [first, _, ..] = allowed[..] else { return };
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let task = child.id();
        let own = Affinity::task(&task.to_string()).unwrap();
        let now = || limits::cpus_of(task).unwrap();
        own.set(1, &format!("not:{first}")).unwrap();
        let moved = now();
        let Whose::Task(_, start) = own.whose else { panic!("{own:?}") };
        move_back(task, start + 1, &allowed).unwrap();
        let other = now();
        move_back(task, start, &allowed).unwrap();
        let back = now();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((moved.contains(&first), other == moved, back), (false, true, allowed));
        assert!(own.set(0, "now").unwrap_err().to_string().contains("has ended"));
        // Who may not move a thread has nothing to put back, either.
        let init = started(1).unwrap();
        assert!(limits::cpus_of(1).is_ok_and(|cpus| move_back(1, init, &cpus).is_ok()));
        let refused = Affinity::interrupt("99999").unwrap_err().to_string();
        assert!(refused.contains("there is no such interrupt"), "{refused}");
    }

    #[test]
    fn a_setting_is_a_list_of_cpus() {
        let own = |first: &[u32]| Affinity { whose: Whose::Task(1, 0), first: first.to_vec() };
        assert_eq!(own(&[0, 1, 4]).resolve("not:1").unwrap(), [0, 4]);
        assert_eq!(own(&[0, 1]).resolve("now").unwrap(), [0, 1]);
        assert!(own(&[0]).resolve("never").unwrap_err().to_string().contains("not:N"));
        assert!(own(&[0, 1]).is("0,1", "now") && !own(&[0, 1]).is("0,1", "not:0"));
        // Where it may use no other, it goes to one of this process's.
        let allowed = limits::allowed_cpus().unwrap();
        if let [only, _, ..] = allowed[..] {
            assert!(!own(&[only]).resolve(&format!("not:{only}")).unwrap().contains(&only));
        }
    }
}
