//! An outcome beside probes: a number that a command prints, or the time that it takes.

use crate::shell::{CommandResult, Run};
use crate::{Control, Error};
use std::path::Path;
use std::time::Duration;
use tickmark_wire::printed::{number_after, only_number};
use tickmark_wire::{Better, Group, Metric, Printed, Settings, Unit};

/// A command with one number.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Of the metric.
    pub name: String,
    /// For the shell.
    pub command: String,
    /// Where the number is.
    pub take: OutcomeSource,
    /// Which way is good.
    pub better: Better,
    /// How long it may take.
    pub limit: Duration,
}

/// Where the number is.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeSource {
    /// The only number of what it prints.
    Only,
    /// The first number after this text.
    After(String),
    /// How long it runs, on the wall.
    Time,
}

impl Outcome {
    pub(super) fn metric(&self) -> Metric {
        let unit = if self.take == OutcomeSource::Time { Unit::Time } else { Unit::Count };
        Metric {
            sleeps: true,
            roams: true,
            ..Metric::of_values(&self.name, &self.name, Group::Command, unit, self.better)
        }
    }

    /// Runs it once, with the settings of the experiment and in its cgroup.
    ///
    /// # Errors
    /// It fails, or what it prints has no number, or more than one to choose from.
    pub(super) fn run(
        &self,
        settings: &Settings,
        joins: Option<&Path>,
        control: &Control,
    ) -> Result<Printed, Error> {
        let command = joins.map_or_else(
            || self.command.clone(),
            |procs| format!("echo $$ > '{}' || exit; {}", procs.display(), self.command),
        );
        let run = Run { command: &command, limit: self.limit, stop: Some(control), alone: true };
        let settings = settings.clone();
        let CommandResult { text, time } = run.run(move || settle(&settings))?;
        let wrong = |why: String| Error::Refused(format!("`{}` {why}", self.command));
        match &self.take {
            OutcomeSource::Time => Ok((time.as_nanos() as f64).into()),
            OutcomeSource::Only => only_number(&text).map_err(wrong),
            OutcomeSource::After(before) => number_after(&text, before).map_err(wrong),
        }
    }
}

/// Gives this thread the settings, and so what it starts.
///
/// # Errors
/// Which one the system refuses: a command that ran without would pass for one that ran with it.
fn settle(settings: &Settings) -> Result<(), Error> {
    use tickmark_probe::sys::limits;
    let refused = |what: String| move |error| Error::Refused(format!("{what} was refused: {error}"));
    if let Some(cpu) = settings.cpu {
        limits::pin(&[cpu]).map_err(refused(format!("CPU {cpu}")))?;
    }
    if let Some(slack) = settings.slack {
        limits::set_slack(slack).map_err(refused(format!("timer slack {} ns", slack.get())))?;
    }
    match limits::set_priority(settings.priority) {
        Err(error) if !settings.priority_optional => {
            Err(crate::knob::refused_priority(settings.priority, error.errno))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_number_is_meant() {
        let outcome = |command: &str, take| Outcome {
            name: "x".to_owned(),
            command: command.to_owned(),
            take,
            better: Better::Lower,
            limit: Duration::from_secs(5),
        };
        let run =
            |o: Outcome| o.run(&Settings::default(), None, &Control::default()).map_err(|e| e.to_string());
        let printed = |value, step| Ok(Printed { value, step });
        assert_eq!(run(outcome("echo took 42 ms", OutcomeSource::Only)), printed(42.0, 1.0));
        assert_eq!(
            run(outcome("echo a: 1 b: 2.0", OutcomeSource::After("b:".to_owned()))),
            printed(2.0, 0.1)
        );
        assert!(run(outcome("echo 1 2", OutcomeSource::Only)).unwrap_err().contains("more than one"));
        assert!(run(outcome("true", OutcomeSource::Only)).unwrap_err().contains("no number"));
        assert!(
            run(outcome("echo 1", OutcomeSource::After("b:".to_owned())))
                .unwrap_err()
                .contains("did not print")
        );
        assert!(run(outcome("sleep 0.05", OutcomeSource::Time)).unwrap().value > 4e7);
    }
}
