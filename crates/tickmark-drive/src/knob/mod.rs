//! Knobs of experiments. A new knob is one file here and a line in [`parse`].

mod affinity;
mod boot;
mod commands;
mod file;
mod process;
mod quota;
mod sources;

pub use boot::Boot;
pub use commands::Commands;
pub use sources::with_each_clock_source;

use crate::Error;
use crate::journal::Undo;
use crate::lab::BootTarget;
use affinity::Affinity;
pub(crate) use affinity::move_back;
use file::Kernel;
use process::{Cpu, Policy, Send, Slack};
pub(crate) use process::{refused_priority, set_slack};
use quota::Quota;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use tickmark_wire::{Hello, Settings};

/// Something that can be set to one value or another. What a knob has nothing to do for, it says so itself: nothing is left out
/// by default.
pub trait Knob: Debug {
    /// Refuses a setting that cannot be meant.
    ///
    /// # Errors
    /// Why, and what can be.
    fn check(&self, setting: &str) -> Result<(), Error>;
    /// Settings that it changes outside of the measured processes, by name, so that two experiments do not change the same.
    fn targets(&self) -> Vec<String>;
    /// How all that is put back at the end, as it stands now.
    ///
    /// # Errors
    /// What is there cannot be read.
    fn undo(&self) -> Result<Vec<Undo>, Error>;
    /// How a setting is taken back that is about to be made, where it does not wait for the end.
    fn undo_setting(&self, number: usize) -> Option<Undo>;
    /// Makes a setting, the one with this number.
    ///
    /// # Errors
    /// The system refuses it.
    fn set(&self, number: usize, setting: &str) -> Result<(), Error>;
    /// Leaves a setting, where the next does not simply replace it.
    ///
    /// # Errors
    /// It cannot be taken back.
    fn leave(&self, number: usize, setting: &str) -> Result<(), Error>;
    /// The setting in force, as far as a person or the agent can read it; none where it is unknown.
    ///
    /// # Errors
    /// It cannot be read.
    fn current_setting(&self, hello: Option<&Hello>) -> Result<Option<String>, Error>;
    /// True if what is in force is the setting.
    fn is(&self, current: &str, setting: &str) -> bool;
    /// Settings of the measured processes.
    fn settings(&self, setting: &str, settings: &Settings) -> Settings;
    /// Where the setting with this number is measured.
    fn place(&self, number: usize) -> SettingTarget<'_>;
    /// True if what was put back has been read back, and not only been commanded.
    fn is_read_back(&self) -> bool;
}

/// Where a setting is measured.
#[derive(Debug)]
pub enum SettingTarget<'a> {
    /// On this machine.
    Here {
        /// The list of processes of a cgroup that the measured ones join.
        joins: Option<PathBuf>,
    },
    /// In a machine that is booted for it.
    Booted(&'a BootTarget),
}

/// This machine as it is.
const HERE: SettingTarget<'static> = SettingTarget::Here { joins: None };

/// A knob as it was asked for.
#[derive(Debug)]
pub struct Turned {
    /// Its name, as it was typed.
    pub name: String,
    /// The knob.
    pub knob: Box<dyn Knob>,
    /// Two or more; the first is what the others are compared with.
    pub settings: Vec<String>,
}

/// Knobs by their names alone.
const NAMES: [&str; 10] =
    ["affinity:", "irq:", "clocksource", "hugepages", "slack", "policy", "cpu", "send", "quota", "kernel"];

/// Instead of settings of the knob clocksource: all that this machine has.
const AVAILABLE: &str = "available";

/// A knob with its name and its settings, from KNOB=A,B.
///
/// # Errors
/// No such knob, fewer than two settings, or one that cannot be meant.
pub fn parse(text: &str) -> Result<Turned, Error> {
    let form = "give KNOB=A,B such as clocksource=tsc,kvm-clock (or clocksource=available), slack=50us,1ns, policy=other,fifo:50, cpu=0,1, send=write,zerocopy (streams), \
                sysctl:kernel.sched_autogroup_enabled=0,1, /sys/...=a,b, hugepages=always,never, affinity:TID=now,not:0, irq:N=now,not:0, quota=none,50% or kernel=x86_64:hz=100,x86_64:hz=1000 (guests)";
    let wrong = |why: String| Error::Usage(format!("{why}; {form}"));
    let (name, settings) = text.split_once('=').ok_or_else(|| {
        let near = tickmark_store::did_you_mean(text, crate::file::names().chain(NAMES));
        wrong(format!("{text} is no experiment{near}, and no knob with settings"))
    })?;
    let settings: Vec<String> = settings.split(',').map(|setting| setting.trim().to_owned()).collect();
    let knob: Box<dyn Knob> = match name {
        "clocksource" => Box::new(Kernel::clock_source()?),
        "hugepages" => Box::new(Kernel::at("/sys/kernel/mm/transparent_hugepage/enabled".as_ref())?),
        "slack" => Box::new(Slack),
        "policy" => Box::new(Policy),
        "cpu" => Box::new(Cpu),
        "send" => Box::new(Send),
        "quota" => Box::new(Quota::new()?),
        _ => match name.strip_prefix("sysctl:") {
            None if let Some(task) = name.strip_prefix("affinity:") => Box::new(Affinity::task(task)?),
            None if let Some(number) = name.strip_prefix("irq:") => Box::new(Affinity::interrupt(number)?),
            // As sysctl(8) has it: dots are slashes.
            Some(variable) => Box::new(Kernel::at(&Path::new("/proc/sys").join(variable.replace('.', "/")))?),
            None if name.starts_with('/') => Box::new(Kernel::at(name.as_ref())?),
            None if name.contains('.') => {
                let why = format!("no knob is called {name}; a sysctl is given as sysctl:{name}=A,B");
                return Err(Error::Usage(why));
            }
            None => {
                let near = tickmark_store::did_you_mean(name, NAMES);
                let why = format!("no knob is called {name}{near}");
                return Err(if near.is_empty() { wrong(why) } else { Error::Usage(why) });
            }
        },
    };
    let settings = match (name, &settings[..]) {
        // The one in use comes last: what the others cost is what it saves.
        ("clocksource", [only]) if only == AVAILABLE => {
            let kernel = Kernel::clock_source()?;
            let current = kernel.current_setting(None)?.unwrap_or_default();
            let mut all: Vec<String> = kernel.choices()?;
            // The one that timecounter-cost.txt had comes first.
            all.sort_by_key(|source| (*source == current, source != "acpi_pm", source != "hpet"));
            all
        }
        _ => settings,
    };
    distinct(name, &settings)?;
    for setting in &settings {
        knob.check(setting)?;
    }
    Ok(Turned { name: name.to_owned(), knob, settings })
}

/// Refuses fewer than two settings, and any twice.
///
/// # Errors
/// Which.
pub fn distinct(name: &str, settings: &[String]) -> Result<(), Error> {
    let twice = settings.iter().enumerate().find(|(at, setting)| settings[..*at].contains(setting));
    match twice {
        Some((_, setting)) => Err(Error::Usage(format!("{name}: setting {setting} is given twice"))),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text).map(|turned| turned.name).unwrap_err().to_string()
    }

    #[test]
    fn knobs_as_they_are_typed() {
        let Turned { name, knob, settings } = parse("sysctl:kernel.sched_autogroup_enabled=0,1").unwrap();
        assert_eq!(
            (name.as_str(), settings),
            ("sysctl:kernel.sched_autogroup_enabled", vec!["0".to_owned(), "1".to_owned()])
        );
        assert_eq!(knob.targets(), ["/proc/sys/kernel/sched_autogroup_enabled"]);
        let settings =
            |knob: &str, setting: &str| parse(knob).unwrap().knob.settings(setting, &Settings::default());
        assert_eq!(settings("slack=50us,1ns", "1ns").slack.map(tickmark_wire::Nanos::get), Some(1));
        assert_eq!(settings("policy=other,fifo:50", "fifo:50").priority, tickmark_wire::Priority::Fifo(50));
        let knob = parse("slack=50us,1ns").unwrap().knob;
        assert!(knob.is("50000ns", "50us") && !knob.is("50000ns", "1ns"));
        assert!(refused("slack=50us").contains("one setting"));
        assert!(refused("slack=50us,50us").contains("twice"));
        assert!(refused("slack=50us,").contains("empty"));
        assert!(refused("slack=1,2").contains("unit"));
        assert!(refused("policy=other,fast").contains("fifo:1"));
        assert!(refused("cpu=0,4095").contains("not allowed"));
        assert_eq!(settings("send=write,io_uring", "io_uring").send, Some(tickmark_wire::Sending::Uring));
        assert!(refused("send=write,pigeon").contains("write, zerocopy, io_uring"));
        assert!(refused("clocksource=tsc,sundial").contains("no clock source sundial"));
        assert!(refused("colour=red,blue").contains("no knob is called colour"));
        assert!(refused("kernel.x=0,1").ends_with("sysctl:kernel.x=A,B"));
        assert!(refused("clock").contains("KNOB=A,B"));
    }
}
