//! Events of the kernel, defined in tracefs.

use super::FunctionLocation;
use crate::sys::CallError;
use crate::sys::tracefs::Tracefs;
use rustix::fs::OFlags;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// Prefix of event names; their owner's identity follows.
const OWN: &str = "tickmark_";
/// Events that were defined, a line each, and where they are.
const DEFINED: &str = "uprobe_events";

/// Events of the kernel for some places; gone with this. What holds them open has to be gone first.
///
/// They are defined by name, and not by perf_event_open(2) alone: where a task starts another, the kernel reads the path of such an event again, from the memory of the task.
#[derive(Debug)]
pub struct Places {
    tracefs: Tracefs,
    /// Names, and the numbers by which they are opened.
    all: Vec<(String, u64)>,
}

impl Places {
    /// Defines them.
    ///
    /// # Errors
    /// EPERM or EACCES without root, ENODEV or ENOENT without uprobes, EINVAL where no code can be stopped.
    pub fn define(places: &[FunctionLocation]) -> Result<Self, CallError> {
        let mut own = Self { tracefs: Tracefs::open(DEFINED)?, all: Vec::new() };
        let owner =
            owner(std::process::id()).ok_or(CallError { call: "/proc/self/stat", errno: libc::ENOENT })?;
        own.clear();
        for (number, place) in places.iter().enumerate() {
            let name = format!("{OWN}{owner}/place{number}");
            let (file, offset) = (place.file.as_raw_fd(), place.offset);
            own.write(&format!("p:{name} /proc/self/fd/{file}:{offset:#x}"))?;
            // From now on it is taken away, whatever comes.
            own.all.push((name.clone(), 0));
            let id = own.read(&format!("events/{name}/id"))?.trim().parse();
            let id = id.map_err(|_| CallError { call: "uprobe_events", errno: libc::EINVAL })?;
            own.all[number].1 = id;
        }
        Ok(own)
    }

    /// By what they are opened.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.all.iter().map(|(_, id)| *id)
    }

    /// The number of an event that the kernel has by itself, such as `syscalls/sys_enter_time`; none where it has no such event.
    pub(super) fn event(&self, name: &str) -> Option<u64> {
        self.tracefs.event(name).ok()
    }

    /// Takes away those of processes that are gone; what somebody uses stays, and what other namespaces of processes have.
    fn clear(&self) {
        let defined = self.read(DEFINED).unwrap_or_default();
        for name in defined.lines().filter_map(|line| line.split_whitespace().next()?.strip_prefix("p:")) {
            let Some((who, _)) = name.strip_prefix(OWN).and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let mut parts = who.split('_');
            let is_ours = parts.next().map(str::to_owned) == namespace();
            let process = parts.next().and_then(|pid| pid.parse().ok());
            if is_ours && process.is_some_and(|pid| owner(pid).as_deref() != Some(who)) {
                let _ = self.write(&format!("-:{name}"));
            }
        }
    }

    fn read(&self, name: &str) -> Result<String, CallError> {
        self.tracefs.read(name)
    }

    /// One command.
    fn write(&self, command: &str) -> Result<(), CallError> {
        let mut file = self.tracefs.file(DEFINED, OFlags::WRONLY | OFlags::APPEND)?;
        file.write_all(command.as_bytes()).map_err(|error| CallError::from_io(DEFINED, &error))
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for (name, _) in &self.all {
            let _ = self.write(&format!("-:{name}"));
        }
    }
}

/// Takes away what a run left that was ended.
pub fn put_away() {
    if let Ok(tracefs) = Tracefs::open(DEFINED) {
        Places { tracefs, all: Vec::new() }.clear();
    }
}

/// The namespace of processes of this one.
fn namespace() -> Option<String> {
    Some(std::fs::metadata("/proc/self/ns/pid").ok()?.ino().to_string())
}

/// A process that is there: its namespace, its number, and when it began, as numbers are used again.
fn owner(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let began = status.rsplit_once(')')?.1.split_whitespace().nth(19)?.to_owned();
    Some(format!("{}_{pid}_{began}", namespace()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_defined_an_event_is_told_from_who_has_its_number_today() {
        let own = owner(std::process::id()).unwrap();
        assert_eq!(owner(std::process::id()), Some(own.clone()));
        assert_eq!(own.split('_').count(), 3, "{own}");
        assert!(owner(1).is_none_or(|other| other != own) && owner(u32::MAX).is_none());
    }
}
