//! Carries an experiment out: sets, measures, reads back, keeps.

use super::definition::Experiment;
use super::journal::Journal;
use super::knob::{Knob, set_slack};
use super::sides::{Side, kernel_of};
use crate::error::Error;
use crate::progress::Blocks;
use crate::target::Stop;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::cell::RefCell;
use std::time::Instant;
use tickmark_store::{Id, Store};
use tickmark_wire::{
    Event, Hello, Nanos, Observations, Observed, Part, Plan, Reason, RunId, RunPlan, Settings, Started,
    Values,
};

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// All blocks were made.
    Done,
    /// The intervals are as narrow as was asked for.
    Narrow,
    /// The time is over.
    Budget,
    /// The user ended it.
    Stopped,
}

/// Makes settings and takes them back; puts everything back when it goes out of scope, in whatever way.
pub(crate) struct Guard<'a> {
    experiment: &'a Experiment,
    journal: RefCell<Journal>,
    slack: i32,
    restored: bool,
}

impl Guard<'_> {
    fn set(&self, number: usize) -> Result<(), Error> {
        let knob = &self.experiment.knob;
        self.journal.borrow_mut().push(knob.undo_setting(number))?;
        knob.set(number, &self.experiment.settings[number])
    }

    fn leave(&self, number: usize) -> Result<(), Error> {
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
            anstream::eprintln!("tickmark: {}", not_restored(&error));
        }
    }
}

/// What to say where something could not be put back.
pub(crate) fn not_restored(error: &Error) -> String {
    format!("not everything was restored: {error}; `tickmark experiment --restore` tries again")
}

impl Experiment {
    /// Carries `work` out with everything that it changes put back afterwards. Beside what it gave stands why something could
    /// not be put back.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn guarded<T>(
        &self,
        store: &Store,
        work: impl FnOnce(&Guard<'_>) -> Result<T, Error>,
    ) -> Result<(T, Option<Error>), Error> {
        let journal = Journal::begin(store.root(), &self.knob.targets(), || self.knob.undo())?;
        let slack = tickmark_probe::sys::host::slack();
        let mut guard = Guard { experiment: self, journal: RefCell::new(journal), slack, restored: false };
        let result = work(&guard);
        let restored = guard.restore().err();
        match (result, restored) {
            (Ok(done), restored) => Ok((done, restored)),
            (Err(error), None) => Err(error),
            (Err(error), Some(restored)) => {
                Err(Error::Refused(format!("{error}; {}", not_restored(&restored))))
            }
        }
    }

    /// Makes each setting once and reads it back, so that one that does not stick is known before anything is measured.
    ///
    /// # Errors
    /// Which one, and what was there instead.
    pub(crate) fn try_settings(&self, guard: &Guard<'_>) -> Result<(), Error> {
        for (number, setting) in self.settings.iter().enumerate() {
            let made = guard.set(number).and_then(|()| self.check(setting, None));
            // What failed halfway is taken back as well.
            let left = guard.leave(number);
            made.and(left)?;
        }
        Ok(())
    }

    fn check(&self, setting: &str, hello: Option<&Hello>) -> Result<(), Error> {
        match self.knob.get(hello)? {
            Some(seen) if !self.knob.is(&seen, setting) => {
                Err(Error::Refused(format!("{} does not stay {setting}: it is {seen}", self.knob_name)))
            }
            _ => Ok(()),
        }
    }

    /// Pairs of runs at the first setting, before anything is compared: the id of their recording.
    pub(crate) fn pilot(
        &self,
        store: &Store,
        guard: &Guard<'_>,
        pairs: u32,
        stop: &Stop,
        random: &mut StdRng,
    ) -> Result<Id, Error> {
        // The first finds caches and pages cold, as no later one does.
        let rounds = 1 + 2 * pairs;
        let mut side = self.side(store, None, rounds, Id::random().as_str(), random)?;
        let mut progress = Blocks::new("pilot", rounds);
        let (mut cpu, mut result) = (self.measured.cpu, Ok(()));
        for round in 1..=rounds {
            progress.at(round, &self.settings[0]);
            result = self.visit(guard, &mut side, 0, round, &mut cpu, stop);
            if result.is_err() || stop.stopped() {
                break;
            }
        }
        progress.finish();
        let id = side.id.clone();
        self.end(store, vec![side], result.is_err());
        result.map(|()| id)
    }

    /// All blocks; the ids of the recordings, one for each setting, and why it ended. `narrow` is asked after each block.
    pub(crate) fn run(
        &self,
        store: &Store,
        guard: &Guard<'_>,
        stop: &Stop,
        random: &mut StdRng,
        begun: Instant,
        narrow: &dyn Fn(&[Id], u32) -> bool,
    ) -> Result<(Vec<Id>, u32, Halt), Error> {
        let (mut sides, first) =
            if self.resumed.is_empty() { (self.new_sides(store, random)?, 1) } else { self.reopened(store)? };
        let ids: Vec<Id> = sides.iter().map(|side| side.id.clone()).collect();
        let mut progress = Blocks::new("block", self.blocks);
        let (started, mut cpu) = (Instant::now(), self.measured.cpu);
        let (mut made, mut halt, mut result) = (first - 1, Halt::Done, Ok(()));
        'blocks: for block in first..=self.blocks {
            let mut order: Vec<usize> = (0..self.settings.len()).collect();
            order.shuffle(random);
            for number in order {
                progress.at(block, &self.settings[number]);
                result = self.visit(guard, &mut sides[number], number, block, &mut cpu, stop);
                if result.is_err() || stop.stopped() {
                    halt = Halt::Stopped;
                    break 'blocks;
                }
            }
            made = block;
            let (spent, left) = (started.elapsed(), self.blocks - block);
            if left > 0 && narrow(&ids, block) {
                halt = Halt::Narrow;
                break;
            }
            if left > 0 && self.budget.is_some_and(|budget| begun.elapsed() + spent / block > budget) {
                halt = Halt::Budget;
                break;
            }
        }
        progress.finish();
        let nothing = made == 0 && result.is_err() && self.resumed.is_empty();
        self.end(store, sides, nothing);
        match result {
            Err(error) if nothing => Err(error),
            // What was measured stays.
            Err(error) => Err(Error::Refused(format!(
                "{error}; {made} blocks are kept: tickmark compare {}",
                Id::all(&ids)
            ))),
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
        stop: &Stop,
    ) -> Result<(), Error> {
        let made = guard.set(number).and_then(|()| self.measure(side, number, block, cpu, stop));
        if let Err(error) = &made {
            // What was measured under another setting than this is no figure of it.
            let own: Vec<RunId> =
                side.plan.runs.iter().filter(|run| run.round == block).map(|run| run.id).collect();
            let failed = |run| side.writer.write(&Event::Failed(run, Reason::new(error.to_string())));
            let _ = own.into_iter().try_for_each(failed);
        }
        let left = guard.leave(number);
        made.and(left)
    }

    fn measure(
        &self,
        side: &mut Side,
        number: usize,
        block: u32,
        cpu: &mut Option<u32>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let setting = &self.settings[number];
        // The same CPU in all blocks, unless the knob is the CPU.
        let mut settings = self.knob.settings(setting, &Settings { cpu: *cpu, ..self.measured.clone() });
        settings.phase = self.knob.phase(number, block, self.blocks);
        let own = side.plan.runs.iter().filter(|run| run.round == block);
        let is_probe = |run: &&RunPlan| tickmark_probe::find(run.probe.as_str()).is_some();
        let plan = Plan {
            settings: settings.clone(),
            metrics: side.plan.metrics.clone(),
            runs: own.clone().filter(is_probe).cloned().collect(),
        };
        let others: Vec<RunPlan> = own.filter(|run| !is_probe(run)).cloned().collect();
        let mut hello: Option<Hello> = None;
        if !plan.runs.is_empty() {
            let mut target = self.knob.target(number, block, &side.writer.transcripts(), stop);
            target.run(&plan, &mut |event| {
                match &event {
                    Event::Refused(refusal) => return Err(refusal.clone().into()),
                    Event::Hello(said) => hello = Some((**said).clone()),
                    _ => {}
                }
                Ok(side.writer.write(&event)?)
            })?;
            if let (Knob::Boot(_), Some(said)) = (&self.knob, &hello) {
                let now = kernel_of(&said.environment);
                match &side.kernel {
                    Some(before) if *before != now => {
                        return Err(Error::Refused(format!(
                            "{setting} was booted into {now}, and before into {before}"
                        )));
                    }
                    _ => side.kernel = Some(now),
                }
            }
            let said = hello.as_ref().ok_or_else(|| Error::AgentEnded("it said nothing".to_owned()))?;
            if !matches!(self.knob, Knob::Cpu) {
                *cpu = Some(said.settled.cpu);
            }
        }
        for run in others {
            if stop.stopped() {
                break;
            }
            let settings = Settings {
                cpu: if matches!(self.knob, Knob::Cpu) { settings.cpu } else { *cpu },
                ..settings.clone()
            };
            self.outcome(side, &run, &settings, stop)?;
        }
        self.check(setting, hello.as_ref())
    }

    /// Runs a command and keeps its number as it keeps a probe's.
    fn outcome(&self, side: &mut Side, run: &RunPlan, settings: &Settings, stop: &Stop) -> Result<(), Error> {
        let Some(outcome) = self.outcomes.iter().find(|outcome| outcome.name == run.probe.as_str()) else {
            return Ok(());
        };
        let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let started = Started {
            run: run.id,
            round: run.round,
            probe: run.probe.clone(),
            at: Nanos::from(at),
            monotonic: None,
        };
        side.writer.write(&Event::Started(started))?;
        let event = match outcome.run(settings, self.knob.joins().as_deref(), stop) {
            Ok(value) => Event::Observed(Observed {
                run: run.id,
                metric: run.probe.clone(),
                part: Part::Whole,
                observations: Observations::Values(Values { values: vec![value], step: 0.0, over: 0 }),
                segments: Vec::new(),
            }),
            Err(error) => Event::Failed(run.id, Reason::new(error.to_string())),
        };
        Ok(side.writer.write(&event)?)
    }
}
