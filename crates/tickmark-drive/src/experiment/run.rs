//! Carries an experiment out: sets, measures, reads back, keeps.

use super::definition::Experiment;
use super::sides::{Side, kernel_of};
use crate::control::ProgressEvent;
use crate::journal::Journal;
use crate::knob::{SettingTarget, set_slack};
use crate::runner::Runner;
use crate::{Control, Error, Target, ThisMachine};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::cell::RefCell;
use std::time::Instant;
use tickmark_store::{Id, Store};
use tickmark_wire::{
    Event, Execution, ExecutionRequest, Hello, Nanos, Plan, Reason, RunId, RunPlan, Settings, names,
};

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// All blocks were made.
    Done,
    /// The intervals are as narrow as was asked for, or all is decided.
    Narrow,
    /// The time is over.
    Budget,
    /// The user ended it.
    Stopped,
}

/// Makes settings and takes them back; puts everything back when it goes out of scope, in whatever way.
pub struct Guard<'a> {
    experiment: &'a Experiment,
    control: &'a Control,
    journal: RefCell<Journal>,
    slack: i32,
    restored: bool,
    /// What runs commands, once one was run.
    runner: RefCell<Option<Runner>>,
}

impl Guard<'_> {
    /// Runs a command.
    pub(super) fn execute(
        &self,
        request: &ExecutionRequest,
        control: &Control,
    ) -> Result<Vec<Execution>, Error> {
        let mut runner = self.runner.borrow_mut();
        if runner.is_none() {
            *runner = Some(Runner::start()?);
        }
        runner.as_mut().map_or(Ok(Vec::new()), |runner| runner.run(request, control))
    }

    pub(super) fn set(&self, number: usize) -> Result<(), Error> {
        let knob = &self.experiment.knob;
        self.journal.borrow_mut().push(knob.undo_setting(number))?;
        knob.set(number, &self.experiment.settings[number])
    }

    pub(super) fn leave(&self, number: usize) -> Result<(), Error> {
        let knob = &self.experiment.knob;
        knob.leave(number, &self.experiment.settings[number])?;
        self.journal.borrow_mut().pop(knob.undo_setting(number))
    }

    fn restore(&mut self) -> Result<(), Error> {
        self.restored = true;
        let slack = set_slack(Nanos::new(i64::from(self.slack)));
        self.journal.borrow().restore().and(slack)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.restored
            && let Err(error) = self.restore()
        {
            self.control.tell(ProgressEvent::NotRestored(&error));
        }
    }
}

/// Message for a setting that could not be restored.
#[must_use]
pub fn not_restored(error: &Error) -> String {
    format!("not everything was restored: {error}; `tickmark experiment --restore` tries again")
}

impl Experiment {
    /// Carries `work` out with everything that it changes put back afterwards. Beside what it gave stands why something could
    /// not be put back.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn guarded<T, E: From<Error> + std::fmt::Display>(
        &self,
        store: &Store,
        control: &Control,
        work: impl FnOnce(&Guard<'_>) -> Result<T, E>,
    ) -> Result<(T, Option<Error>), E> {
        let journal = Journal::begin(store.root(), &self.knob.targets(), || self.knob.undo())?;
        let slack = tickmark_probe::sys::host::slack();
        let mut guard = Guard {
            experiment: self,
            control,
            journal: RefCell::new(journal),
            slack,
            restored: false,
            runner: RefCell::default(),
        };
        let result = work(&guard);
        let restored = guard.restore().err();
        match (result, restored) {
            (Ok(done), restored) => Ok((done, restored)),
            (Err(error), None) => Err(error),
            (Err(error), Some(restored)) => {
                Err(Error::Refused(format!("{error}; {}", not_restored(&restored))).into())
            }
        }
    }

    /// Makes each setting once and reads it back, so that one that does not stick is known before anything is measured.
    ///
    /// # Errors
    /// Which one, and what was there instead.
    pub fn try_settings(&self, guard: &Guard<'_>) -> Result<(), Error> {
        for (number, setting) in self.settings.iter().enumerate() {
            let made = guard.set(number).and_then(|()| self.check(setting, None));
            // What failed halfway is taken back as well.
            let left = guard.leave(number);
            made.and(left)?;
        }
        Ok(())
    }

    /// Refuses a setting that, read back, is not what was set: a clock source that the kernel did not take.
    fn check(&self, setting: &str, hello: Option<&Hello>) -> Result<(), Error> {
        match self.knob.current_setting(hello)? {
            Some(observed) if !self.knob.is(&observed, setting) => {
                Err(Error::Refused(format!("{} does not stay {setting}: it is {observed}", self.knob_name)))
            }
            _ => Ok(()),
        }
    }

    /// Pairs of runs at the first setting, before anything is compared: the id of their recording.
    pub fn pilot(
        &self,
        store: &Store,
        guard: &Guard<'_>,
        pairs: u32,
        control: &Control,
        random: &mut StdRng,
    ) -> Result<Id, Error> {
        // The first finds caches and pages cold, as no later one does.
        let rounds = 1 + 2 * pairs;
        let mut side = self.side(store, None, 1..=rounds, Id::random().as_str(), random)?;
        let (mut cpu, mut result) = (self.measured.cpu, Ok(()));
        for round in 1..=rounds {
            control.tell(ProgressEvent::Block {
                what: "pilot",
                block: round,
                of: rounds,
                setting: &self.settings[0],
            });
            result = self.visit(guard, &mut side, 0, round, &mut cpu, control);
            if result.is_err() || control.stopped() {
                break;
            }
        }
        control.tell(ProgressEvent::Over);
        let id = side.id.clone();
        self.end(store, vec![side], result.is_err());
        result.map(|()| id)
    }

    /// All blocks; the ids of the recordings, one for each setting, and why it ended. `narrow` is asked after each block.
    pub fn run(
        &self,
        store: &Store,
        guard: &Guard<'_>,
        control: &Control,
        random: &mut StdRng,
        begun: Instant,
        narrow: &dyn Fn(&[Id], u32) -> bool,
    ) -> Result<(Vec<Id>, u32, Halt), Error> {
        let (from, last) = self.numbers().into_inner();
        let (mut sides, first) = if self.resumed.is_empty() {
            (self.new_sides(store, random)?, from)
        } else {
            self.reopened(store)?
        };
        let ids: Vec<Id> = sides.iter().map(|side| side.id.clone()).collect();
        let (started, mut cpu) = (Instant::now(), self.measured.cpu);
        let (mut made, mut halt, mut result) = (first - 1, Halt::Done, Ok(()));
        'blocks: for block in first..=last {
            let mut order: Vec<usize> = (0..self.settings.len()).collect();
            order.shuffle(random);
            for number in order {
                let setting = &self.settings[number];
                control.tell(ProgressEvent::Block { what: "block", block, of: last, setting });
                result = self.visit(guard, &mut sides[number], number, block, &mut cpu, control);
                if result.is_err() || control.stopped() {
                    halt = Halt::Stopped;
                    break 'blocks;
                }
            }
            made = block;
            let (spent, left) = (started.elapsed(), last - block);
            if left > 0 && narrow(&ids, block) {
                halt = Halt::Narrow;
                break;
            }
            if left > 0
                && self.budget.is_some_and(|budget| begun.elapsed() + spent / (block + 1 - first) > budget)
            {
                halt = Halt::Budget;
                break;
            }
        }
        control.tell(ProgressEvent::Over);
        let nothing = made < from && result.is_err() && self.resumed.is_empty();
        self.end(store, sides, nothing);
        match result {
            Err(error) if nothing => Err(error),
            // What was measured stays.
            Err(error) => Err(Error::Kept { error: Box::new(error), blocks: made, ids: Id::all(&ids) }),
            Ok(()) => Ok((ids, made, halt)),
        }
    }

    /// Closes recordings and puts them into the index; takes them away where nothing was measured.
    fn end(&self, store: &Store, sides: Vec<Side>, discard: bool) {
        for side in sides {
            let folder = side.writer.folder().to_owned();
            let _ = side.writer.finish();
            if discard { store.discard(&side.id) } else { store.index(&folder) }
        }
    }

    /// One setting in one block.
    fn visit(
        &self,
        guard: &Guard<'_>,
        side: &mut Side,
        number: usize,
        block: u32,
        cpu: &mut Option<u32>,
        control: &Control,
    ) -> Result<(), Error> {
        let made = guard.set(number).and_then(|()| self.measure(guard, side, number, block, cpu, control));
        if let Err(error) = &made {
            // What was measured under another setting than this is no figure of it.
            let is_own = |run: &&RunPlan| run.round == block && !is_program(run, self);
            let own: Vec<RunId> = side.plan.runs.iter().filter(is_own).map(|run| run.id).collect();
            let failed = |run| side.writer.write(&Event::Failed(run, Reason::new(error.to_string())));
            let _ = own.into_iter().try_for_each(failed);
        }
        let left = guard.leave(number);
        made.and(left)
    }

    fn measure(
        &self,
        guard: &Guard<'_>,
        side: &mut Side,
        number: usize,
        block: u32,
        cpu: &mut Option<u32>,
        control: &Control,
    ) -> Result<(), Error> {
        let setting = &self.settings[number];
        // The same CPU in all blocks, unless the knob is the CPU.
        let turned = self.knob.settings(setting, &Settings::default()).cpu;
        let mut settings = self.knob.settings(setting, &Settings { cpu: *cpu, ..self.measured.clone() });
        if let SettingTarget::Booted(place) = self.knob.place(number) {
            settings.phase = place.phase(block, self.blocks);
        }
        let own = side.plan.runs.iter().filter(|run| run.round == block).cloned();
        let (programs, own): (Vec<RunPlan>, Vec<RunPlan>) = own.partition(|run| is_program(run, self));
        let (commands, runs): (Vec<RunPlan>, Vec<RunPlan>) = own
            .into_iter()
            .partition(|run| self.outcomes.iter().any(|outcome| outcome.name == run.probe.as_str()));
        let mut hello = None;
        // Without probes the agent says once how the machine is.
        let unknown = !programs.is_empty() && !side.is_described;
        side.is_described = true;
        if !runs.is_empty() || unknown {
            let plan = Plan { settings: settings.clone(), metrics: side.plan.metrics.clone(), runs };
            let said = self.probes(side, number, block, &plan, control)?;
            *cpu = turned.map_or(Some(said.settled.cpu), |_| *cpu);
            hello = Some(said);
        }
        let turned_settings = self.knob.settings(setting, &self.measured);
        for run in programs {
            self.program(guard, side, number, &run, &turned_settings, control)?;
        }
        for run in commands {
            if control.stopped() {
                break;
            }
            let settings = Settings { cpu: turned.or(*cpu), ..settings.clone() };
            self.outcome(side, number, &run, &settings, control)?;
        }
        self.check(setting, hello.as_ref())
    }

    /// Measures the probes of a block at one setting.
    fn probes(
        &self,
        side: &mut Side,
        number: usize,
        block: u32,
        plan: &Plan,
        control: &Control,
    ) -> Result<Hello, Error> {
        let mut hello: Option<Hello> = None;
        let place = self.knob.place(number);
        let mut target: Box<dyn Target> = match &place {
            SettingTarget::Booted(place) => place.target(block, &side.writer.transcripts(), control),
            SettingTarget::Here { joins } => {
                Box::new(ThisMachine { control: control.clone(), joins: joins.clone(), wake_ups: None })
            }
        };
        target.run(plan, &mut |heard| {
            match heard.event() {
                Some(Event::Refused(refusal)) => return Err(refusal.clone().into()),
                Some(Event::Hello(said)) => hello = Some((**said).clone()),
                _ => {}
            }
            let ends = heard.ends();
            Ok(side.writer.keep(heard.line, ends)?)
        })?;
        let said = hello.ok_or_else(|| Error::AgentEnded("it sent no event".to_owned()))?;
        if let SettingTarget::Booted(_) = place {
            let now = kernel_of(&said.environment);
            match &side.kernel {
                Some(before) if *before != now => {
                    let setting = &self.settings[number];
                    let why = format!("{setting} was booted into {now}, and before into {before}");
                    return Err(Error::Refused(why));
                }
                _ => side.kernel = Some(now),
            }
        }
        Ok(said)
    }
}

/// True if a run is of the command of a setting, which says itself how it ended.
fn is_program(run: &RunPlan, experiment: &Experiment) -> bool {
    !experiment.programs.is_empty() && run.probe.as_str() == names::COMMAND
}
