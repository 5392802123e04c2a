//! What an experiment turns: a file of the kernel, a setting of the measured processes, a cgroup's quota, or a pair of
//! commands.

use super::journal::Undo;
use super::quota::Quota;
use super::setting_file::{bytes, of_kernel, read, write};
use super::shell::setting as shell;
use crate::error::Error;
use crate::lab::Place;
use crate::target::{Stop, Target, ThisMachine};
use std::path::PathBuf;
use tickmark_wire::{Hello, Nanos, Phase, Priority, Settings};

/// A knob.
#[derive(Debug, Clone)]
pub(crate) enum Knob {
    /// A file that is written and read: /sys, /proc/sys.
    File(PathBuf),
    /// Timer slack of the measured processes.
    Slack,
    /// Their scheduling policy.
    Policy,
    /// Their CPU.
    Cpu,
    /// The share of a CPU that a cgroup leaves them.
    Quota(Quota),
    /// Commands of the user.
    Commands(Commands),
    /// Machines to boot, one for each setting: nothing here is changed.
    Boot(Vec<Place>),
}

/// Commands that make a setting and take it back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commands {
    /// One for each setting, in their order; empty where there is nothing to do.
    pub(crate) set: Vec<String>,
    pub(crate) reset: Vec<String>,
    /// Prints the setting in force.
    pub(crate) get: Option<String>,
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// A knob with its settings, from KNOB=A,B.
pub(crate) fn parse(text: &str) -> Result<(String, Knob, Vec<String>), Error> {
    let form = "give KNOB=A,B such as clocksource=tsc,kvm-clock, slack=50us,1ns, policy=other,fifo:50, cpu=0,1, \
                sysctl:kernel.sched_autogroup_enabled=0,1, /sys/...=a,b, hugepages=always,never, quota=none,50% or kernel=x86_64:hz=100,x86_64:hz=1000 (guests)";
    let wrong = |why: String| Error::Usage(format!("{why}; {form}"));
    let (name, settings) = text.split_once('=').ok_or_else(|| wrong(format!("{text} has no settings")))?;
    let settings: Vec<String> = settings.split(',').map(|setting| setting.trim().to_owned()).collect();
    let knob = match name {
        "clocksource" => Knob::File(of_kernel(&PathBuf::from(CLOCK_SOURCE).join("current_clocksource"))?),
        "hugepages" => Knob::File(of_kernel(HUGE_PAGES.as_ref())?),
        "slack" => Knob::Slack,
        "policy" => Knob::Policy,
        "cpu" => Knob::Cpu,
        "quota" => Knob::Quota(Quota::new()?),
        _ => match name.strip_prefix("sysctl:") {
            // As sysctl(8) has it: dots are slashes.
            Some(variable) => {
                Knob::File(of_kernel(&PathBuf::from("/proc/sys").join(variable.replace('.', "/")))?)
            }
            None if name.starts_with('/') => Knob::File(of_kernel(name.as_ref())?),
            None if name.contains('.') => {
                let why = format!("no knob is called {name}; a sysctl is given as sysctl:{name}=A,B");
                return Err(Error::Usage(why));
            }
            None => return Err(wrong(format!("no knob is called {name}"))),
        },
    };
    distinct(name, &settings)?;
    for setting in &settings {
        knob.check(setting)?;
    }
    Ok((name.to_owned(), knob, settings))
}

/// Two or more settings, none of them twice.
pub(crate) fn distinct(name: &str, settings: &[String]) -> Result<(), Error> {
    let twice = settings.iter().enumerate().find(|(at, setting)| settings[..*at].contains(setting));
    match twice {
        Some((_, setting)) => {
            Err(Error::Usage(format!("{name} is to be {setting} twice; nothing would differ")))
        }
        None if settings.len() < 2 => {
            let only = settings.first().map_or("", String::as_str);
            Err(Error::Usage(format!("{name}={only} is one setting; an experiment compares two or more")))
        }
        None if settings.iter().any(String::is_empty) => {
            Err(Error::Usage(format!("one of the settings of {name} is empty")))
        }
        None => Ok(()),
    }
}

impl Knob {
    /// Whether a setting can be meant at all.
    fn check(&self, setting: &str) -> Result<(), Error> {
        match self {
            Self::File(path) if path.starts_with(CLOCK_SOURCE) => {
                let available = path.with_file_name("available_clocksource");
                let text = std::fs::read_to_string(&available).map_err(Error::file("read", available))?;
                match text.split_whitespace().any(|source| source == setting) {
                    true => Ok(()),
                    false => Err(Error::Usage(format!(
                        "this machine has no clock source {setting}; it has {}",
                        text.trim().replace(' ', ", ")
                    ))),
                }
            }
            Self::Slack => slack(setting).map(drop),
            Self::Policy => policy(setting).map(drop),
            Self::Cpu => cpu(setting).map(drop),
            Self::Quota(_) => Quota::micros(setting).map(drop),
            Self::File(_) | Self::Commands(_) | Self::Boot(_) => Ok(()),
        }
    }

    /// What it changes beside the measured processes, so that two experiments do not change the same.
    pub(super) fn targets(&self) -> Vec<String> {
        match self {
            Self::File(path) => vec![path.display().to_string()],
            Self::Slack | Self::Policy | Self::Cpu | Self::Quota(_) | Self::Boot(_) => Vec::new(),
            Self::Commands(commands) => commands.set.iter().filter(|set| !set.is_empty()).cloned().collect(),
        }
    }

    /// How everything is put back, as it stands now.
    pub(super) fn undo(&self) -> Result<Vec<Undo>, Error> {
        Ok(match self {
            Self::File(path) => vec![Undo::Write { path: path.clone(), value: bytes(path)?.into() }],
            Self::Quota(quota) => vec![Undo::Remove { path: quota.folder().to_owned() }],
            // A command's setting is undone by its own reset, which the journal holds while it is in force.
            Self::Slack | Self::Policy | Self::Cpu | Self::Commands(_) | Self::Boot(_) => Vec::new(),
        })
    }

    /// How a setting is taken back that is about to be made by a command.
    pub(super) fn undo_setting(&self, number: usize) -> Option<Undo> {
        match self {
            Self::Commands(commands) => {
                let reset = commands.reset.get(number).filter(|reset| !reset.is_empty())?;
                Some(Undo::Run { command: reset.clone() })
            }
            _ => None,
        }
    }

    /// Makes a setting, the one with this number.
    pub(super) fn set(&self, number: usize, setting: &str) -> Result<(), Error> {
        match self {
            Self::File(path) => write(path, setting.as_bytes()),
            Self::Slack => slack(setting).and_then(set_slack),
            Self::Policy | Self::Cpu | Self::Boot(_) => Ok(()),
            Self::Quota(quota) => quota.set(Quota::micros(setting)?),
            Self::Commands(commands) => run("set", setting, commands.set.get(number)),
        }
    }

    /// Takes a setting back that is made by commands; the others are only put back at the end.
    pub(super) fn leave(&self, number: usize, setting: &str) -> Result<(), Error> {
        match self {
            Self::Commands(commands) => run("reset", setting, commands.reset.get(number)),
            _ => Ok(()),
        }
    }

    /// What is in force; none where nothing tells.
    pub(super) fn get(&self, hello: Option<&Hello>) -> Result<Option<String>, Error> {
        Ok(match self {
            Self::File(path) => Some(read(path)?),
            Self::Slack => {
                hello.and_then(|h| h.environment.get("clock.slack_ns")).map(|ns| format!("{ns}ns"))
            }
            Self::Policy => hello.map(|hello| hello.settled.priority.to_string()),
            Self::Cpu => hello.map(|hello| hello.settled.cpu.to_string()),
            Self::Quota(quota) => Some(quota.get()?),
            Self::Commands(commands) => match &commands.get {
                Some(command) => Some(shell(command)?.trim().to_owned()),
                None => None,
            },
            Self::Boot(_) => None,
        })
    }

    /// Whether what is in force is the setting.
    pub(super) fn is(&self, seen: &str, setting: &str) -> bool {
        match self {
            Self::Slack => slack(seen).ok() == slack(setting).ok(),
            Self::Quota(_) => Quota::micros(seen).ok() == Quota::micros(setting).ok(),
            _ => seen == setting,
        }
    }

    /// What the measured processes are given.
    pub(super) fn settings(&self, setting: &str, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        match self {
            Self::Slack => settings.slack = slack(setting).ok(),
            Self::Policy => settings.priority = policy(setting).unwrap_or_default(),
            Self::Cpu => settings.cpu = cpu(setting).ok(),
            _ => {}
        }
        settings
    }

    /// Where a setting is measured in a block of so many: in a guest that is booted for it, or here.
    pub(super) fn target(
        &self,
        number: usize,
        block: u32,
        transcripts: &std::path::Path,
        stop: &Stop,
    ) -> Box<dyn Target> {
        match self {
            Self::Boot(places) if number < places.len() => places[number].target(block, transcripts, stop),
            _ => Box::new(ThisMachine { stop: stop.clone(), joins: self.joins() }),
        }
    }

    /// Whether its runs are to be the same to the last byte.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Self::Boot(places) if places.iter().all(Place::is_exact))
    }

    /// Where in the tick the streams of a block begin, where that can be said.
    pub(super) fn phase(&self, number: usize, block: u32, blocks: u32) -> Option<Phase> {
        match self {
            Self::Boot(places) => places.get(number)?.phase(block, blocks),
            _ => None,
        }
    }

    /// The file by which a process joins the cgroup.
    pub(super) fn joins(&self) -> Option<PathBuf> {
        match self {
            Self::Quota(quota) => Some(quota.folder().join("cgroup.procs")),
            _ => None,
        }
    }
}

fn slack(text: &str) -> Result<Nanos, Error> {
    crate::cli::duration(text).map_err(|why| Error::Usage(format!("slack {text}: {why}")))
}

fn policy(text: &str) -> Result<Priority, Error> {
    text.parse().map_err(|why| Error::Usage(format!("policy {text}: {why}")))
}

fn cpu(text: &str) -> Result<u32, Error> {
    let number = text.parse().map_err(|_| Error::Usage(format!("cpu {text}: CPUs have numbers")))?;
    match tickmark_probe::sys::limits::allowed_cpus() {
        Ok(allowed) if !allowed.contains(&number) => {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            Err(Error::Usage(format!("CPU {number} is not allowed here; {} are", list.join(", "))))
        }
        _ => Ok(number),
    }
}

/// Gives this thread a timer slack, and so what it starts.
pub(super) fn set_slack(slack: Nanos) -> Result<(), Error> {
    tickmark_probe::sys::limits::set_slack(slack).map_err(|error| Error::Refused(error.to_string()))
}

fn run(what: &str, setting: &str, command: Option<&String>) -> Result<(), Error> {
    let Some(command) = command.filter(|command| !command.is_empty()) else { return Ok(()) };
    shell(command)
        .map(drop)
        .map_err(|error| Error::Refused(format!("the {what} command of {setting} failed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text).map(|(name, ..)| name).unwrap_err().to_string()
    }

    #[test]
    fn knobs_as_they_are_typed() {
        let (name, knob, settings) = parse("sysctl:kernel.sched_autogroup_enabled=0,1").unwrap();
        assert_eq!(
            (name.as_str(), settings),
            ("sysctl:kernel.sched_autogroup_enabled", vec!["0".to_owned(), "1".to_owned()])
        );
        assert!(matches!(knob, Knob::File(path) if path.ends_with("sys/kernel/sched_autogroup_enabled")));
        assert!(matches!(parse("slack=50us,1ns").unwrap().1, Knob::Slack));
        assert!(matches!(parse("policy=other,fifo:50").unwrap().1, Knob::Policy));
        let knob = Knob::Slack;
        assert!(knob.is("50000ns", "50us") && !knob.is("50000ns", "1ns"));
        assert!(refused("slack=50us").contains("one setting"));
        assert!(refused("slack=50us,50us").contains("twice"));
        assert!(refused("slack=50us,").contains("empty"));
        assert!(refused("slack=1,2").contains("unit"));
        assert!(refused("policy=other,fast").contains("fifo:1"));
        assert!(refused("cpu=0,4095").contains("not allowed"));
        assert!(refused("clocksource=tsc,sundial").contains("no clock source sundial"));
        assert!(refused("colour=red,blue").contains("no knob is called colour"));
        assert!(refused("kernel.x=0,1").ends_with("sysctl:kernel.x=A,B"));
        assert!(refused("clock").contains("KNOB=A,B"));
    }
}
