//! Settings of the measured processes: timer slack, scheduling policy, CPU. Nothing else is changed.

use super::{HERE, Knob, SettingTarget};
use crate::Error;
use crate::journal::Undo;
use tickmark_probe::sys::limits;
use tickmark_wire::text::duration;
use tickmark_wire::{Hello, Nanos, Priority, Sending, Settings};

/// The common part of the knobs of measured processes: they change nothing that would have to be restored, but their own thread.
macro_rules! changes_nothing {
    () => {
        fn targets(&self) -> Vec<String> {
            Vec::new()
        }

        fn undo(&self) -> Result<Vec<Undo>, Error> {
            Ok(Vec::new())
        }

        fn undo_setting(&self, _: usize) -> Option<Undo> {
            None
        }

        fn leave(&self, _: usize, _: &str) -> Result<(), Error> {
            Ok(())
        }

        fn place(&self, _: usize) -> SettingTarget<'_> {
            HERE
        }

        fn is_read_back(&self) -> bool {
            true
        }
    };
}

/// Timer slack.
#[derive(Debug)]
pub(super) struct Slack;

fn slack(text: &str) -> Result<Nanos, Error> {
    duration(text).map_err(|why| Error::Usage(format!("slack {text}: {why}")))
}

/// Gives this thread a timer slack, and so what it starts.
pub(crate) fn set_slack(slack: Nanos) -> Result<(), Error> {
    limits::set_slack(slack).map_err(|error| Error::Refused(error.to_string()))
}

impl Knob for Slack {
    changes_nothing!();

    fn check(&self, setting: &str) -> Result<(), Error> {
        slack(setting).map(drop)
    }

    fn set(&self, _: usize, setting: &str) -> Result<(), Error> {
        slack(setting).and_then(set_slack)
    }

    fn current_setting(&self, hello: Option<&Hello>) -> Result<Option<String>, Error> {
        Ok(hello.and_then(|hello| hello.environment.get("clock.slack_ns")).map(|ns| format!("{ns}ns")))
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        slack(current).ok() == slack(setting).ok()
    }

    fn settings(&self, setting: &str, settings: &Settings) -> Settings {
        Settings { slack: slack(setting).ok(), ..settings.clone() }
    }
}

/// That a priority was refused, why, and what can be done.
pub(crate) fn refused_priority(priority: Priority, errno: i32) -> Error {
    let why = limits::refused_because(errno);
    Error::Refused(format!("priority {priority} was refused ({why}); run as root or raise the rtprio limit"))
}

/// Scheduling policy.
#[derive(Debug)]
pub(super) struct Policy;

fn policy(text: &str) -> Result<Priority, Error> {
    text.parse().map_err(|why| Error::Usage(format!("policy {text}: {why}")))
}

impl Knob for Policy {
    changes_nothing!();

    fn check(&self, setting: &str) -> Result<(), Error> {
        policy(setting).map(drop)
    }

    fn set(&self, _: usize, setting: &str) -> Result<(), Error> {
        let priority = policy(setting)?;
        // It is the measured process's to set: whether it may is tried, by a thread that takes the priority with it.
        let tried = std::thread::scope(|scope| scope.spawn(|| limits::set_priority(priority)).join());
        let Ok(Err(error)) = tried else { return Ok(()) };
        Err(refused_priority(priority, error.errno))
    }

    fn current_setting(&self, hello: Option<&Hello>) -> Result<Option<String>, Error> {
        Ok(hello.map(|hello| hello.settled.priority.to_string()))
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        current == setting
    }

    fn settings(&self, setting: &str, settings: &Settings) -> Settings {
        Settings { priority: policy(setting).unwrap_or_default(), ..settings.clone() }
    }
}

/// The CPU that they run on.
#[derive(Debug)]
pub(super) struct Cpu;

fn cpu(text: &str) -> Result<u32, Error> {
    let number = text.parse().map_err(|_| Error::Usage(format!("cpu {text}: give a CPU number")))?;
    match limits::allowed_cpus() {
        Ok(allowed) if !allowed.contains(&number) => {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            Err(Error::Usage(format!("CPU {number} is not allowed here; {} are", list.join(", "))))
        }
        _ => Ok(number),
    }
}

impl Knob for Cpu {
    changes_nothing!();

    fn check(&self, setting: &str) -> Result<(), Error> {
        cpu(setting).map(drop)
    }

    fn set(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn current_setting(&self, hello: Option<&Hello>) -> Result<Option<String>, Error> {
        Ok(hello.map(|hello| hello.settled.cpu.to_string()))
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        current == setting
    }

    fn settings(&self, setting: &str, settings: &Settings) -> Settings {
        Settings { cpu: cpu(setting).ok(), ..settings.clone() }
    }
}

/// How streams send.
#[derive(Debug)]
pub(super) struct Send;

fn sending(text: &str) -> Result<Sending, Error> {
    let words = || Sending::ALL.map(Sending::word).join(", ");
    let known = Sending::ALL.into_iter().find(|way| way.word() == text);
    known.ok_or_else(|| Error::Usage(format!("send {text}: streams send by {}", words())))
}

impl Knob for Send {
    changes_nothing!();

    fn check(&self, setting: &str) -> Result<(), Error> {
        sending(setting).map(drop)
    }

    fn set(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Nothing tells: a run that cannot send so says so.
    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        Ok(None)
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        current == setting
    }

    fn settings(&self, setting: &str, settings: &Settings) -> Settings {
        Settings { send: sending(setting).ok(), ..settings.clone() }
    }
}
