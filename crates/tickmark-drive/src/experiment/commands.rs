//! Commands of the user in an experiment: those that settings are about, and those whose number is kept beside probes.

use super::definition::Experiment;
use super::program::Trial;
use super::run::Guard;
use super::sides::Side;
use crate::knob::SettingTarget;
use crate::{Control, Error};
use std::path::PathBuf;
use tickmark_wire::{
    Event, Nanos, Observations, Observed, Part, Printed, Reason, RunPlan, Settings, Started, Values,
};

impl Experiment {
    /// Runs the command of a setting once, under the setting, before anything is measured.
    ///
    /// # Errors
    /// It fails.
    pub fn trial(&self, guard: &Guard<'_>, number: usize, control: &Control) -> Result<Trial, Error> {
        let settings = self.given(number);
        let tried = guard.set(number).and_then(|()| {
            self.programs[number].trial(guard, &settings, self.joins(number).as_deref(), control)
        });
        let left = guard.leave(number);
        tried.and_then(|trial| left.map(|()| trial))
    }

    /// The cgroup's list of processes that what is measured joins.
    fn joins(&self, number: usize) -> Option<PathBuf> {
        match self.knob.place(number) {
            SettingTarget::Here { joins } => joins,
            SettingTarget::Booted(_) => None,
        }
    }

    /// Runs the command of the setting, and keeps all that is said of it.
    pub(super) fn program(
        &self,
        guard: &Guard<'_>,
        side: &mut Side,
        number: usize,
        run: &RunPlan,
        settings: &Settings,
        control: &Control,
    ) -> Result<(), Error> {
        side.writer.write(&started(run))?;
        let joins = self.joins(number);
        let ran = self.programs[number].run(guard, run, settings, joins.as_deref(), control);
        // What was interrupted is no run that failed.
        if control.stopped() {
            return Ok(());
        }
        let (events, failed) = ran?;
        events.iter().try_for_each(|event| side.writer.write(event))?;
        failed.map_or(Ok(()), |why| Err(Error::Refused(why)))
    }

    /// Runs a command and keeps its number as it keeps a probe's.
    pub(super) fn outcome(
        &self,
        side: &mut Side,
        number: usize,
        run: &RunPlan,
        settings: &Settings,
        control: &Control,
    ) -> Result<(), Error> {
        let Some(outcome) = self.outcomes.iter().find(|outcome| outcome.name == run.probe.as_str()) else {
            return Ok(());
        };
        side.writer.write(&started(run))?;
        let event = match outcome.run(settings, self.joins(number).as_deref(), control) {
            Ok(Printed { value, step }) => Event::Observed(Observed {
                run: run.id,
                metric: run.probe.clone(),
                part: Part::Whole,
                observations: Observations::Values(Values { values: vec![value], step, over: 0 }),
                segments: Vec::new(),
            }),
            Err(error) => Event::Failed(run.id, Reason::new(error.to_string())),
        };
        Ok(side.writer.write(&event)?)
    }
}

/// That a run of this program begins.
fn started(run: &RunPlan) -> Event {
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Event::Started(Started {
        run: run.id,
        round: run.round,
        probe: run.probe.clone(),
        arguments: run.arguments.clone(),
        gives: run.gives.clone(),
        at: Nanos::from(at),
        monotonic: None,
    })
}
