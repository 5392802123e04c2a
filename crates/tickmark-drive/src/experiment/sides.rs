//! The recordings of an experiment: one for each setting, new or gone on with.

use super::definition::Experiment;
use super::outcome::Outcome;
use super::program::Program;
use crate::Error;
use crate::knob::SettingTarget;
use crate::target::{FILE, MODULE};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tickmark_store::{Arm, Id, Meta, Status, Store, Writer};
use tickmark_wire::{FORMAT, Name, Nanos, Plan, RunId, RunPlan};

/// One setting's recording.
pub(super) struct Side {
    pub(super) id: Id,
    pub(super) plan: Plan,
    pub(super) writer: Writer,
    /// Which kernel its first boot had, where it is booted.
    pub(super) kernel: Option<String>,
    /// True if an agent said how the machine is.
    pub(super) is_described: bool,
}

/// Identity of what was booted: the kernel, and the files and modules that a guest has beside it.
pub(super) fn kernel_of(facts: &tickmark_wire::Environment) -> String {
    let fact = |name| facts.get(name).unwrap_or("unknown").to_owned();
    let kernel = [fact("kernel.release"), fact("kernel.version"), fact("guest.image")];
    let carried = facts.iter().filter_map(|(name, _)| {
        let own = name.strip_prefix(FILE).or_else(|| name.strip_prefix(MODULE))?;
        Some(format!("{own} {}", fact(name)))
    });
    kernel.into_iter().chain(carried).collect::<Vec<_>>().join(", ")
}

impl Experiment {
    /// True if every boot is to be the same to the last byte.
    fn is_exact(&self) -> bool {
        (0..self.settings.len()).all(|number| match self.knob.place(number) {
            SettingTarget::Booted(place) => place.is_exact(),
            SettingTarget::Here { .. } => false,
        })
    }

    pub(super) fn new_sides(&self, store: &Store, random: &mut StdRng) -> Result<Vec<Side>, Error> {
        let experiment = self
            .added
            .as_ref()
            .map_or_else(|| Id::random().as_str().to_owned(), |added| added.experiment.clone());
        let mut sides = Vec::new();
        for number in 0..self.settings.len() {
            match self.side(store, Some(number), self.numbers(), &experiment, random) {
                Ok(side) => sides.push(side),
                Err(error) => {
                    sides.iter().for_each(|side: &Side| store.discard(&side.id));
                    return Err(error);
                }
            }
        }
        Ok(sides)
    }

    /// The recordings of an interrupted experiment, and the first block that not all of them have whole.
    pub(super) fn reopened(&self, store: &Store) -> Result<(Vec<Side>, u32), Error> {
        let mut sides = Vec::new();
        let mut first = self.blocks + 1;
        let other = |id: &str, what: &str| {
            Err(Error::Usage(format!(
                "recording {id} is of another matrix ({what}); give the file that it was begun with"
            )))
        };
        if self.resumed.len() != self.settings.len() {
            let why = format!("{} settings and not {}", self.resumed.len(), self.settings.len());
            return other(self.resumed.first().map_or("", Id::short), &why);
        }
        for (id, setting) in self.resumed.iter().zip(&self.settings) {
            let (recording, writer) = Store::resume(&store.read(id)?)?;
            let plan = recording.meta.plan.clone();
            let rounds = plan.runs.iter().map(|run| run.round).max().unwrap_or(0);
            let same = recording
                .meta
                .arm
                .as_ref()
                .is_some_and(|arm| arm.knob == self.knob_name && arm.setting == *setting);
            if !same {
                return other(id.short(), &format!("not {} of {}", setting, self.knob_name));
            }
            let planned: BTreeSet<&Name> = plan.runs.iter().flat_map(RunPlan::metrics).collect();
            let metrics = self.probes.iter().flat_map(|offer| &offer.metrics).map(|metric| &metric.name);
            if planned != metrics.collect() {
                return other(id.short(), "other probes");
            }
            let is_probe = |run: &RunPlan| self.probes.iter().any(|offer| offer.arguments == run.arguments);
            if !plan.runs.iter().all(is_probe) {
                return other(id.short(), "another command");
            }
            if rounds != self.blocks {
                let why = format!("recording {id} was planned with {rounds} boots and not {}", self.blocks);
                return Err(Error::Usage(why));
            }
            // A boot that was not finished, or failed as a whole, is made again; a probe that fails does so in each.
            let whole = |round: u32| {
                let own = || recording.runs.iter().filter(move |run| run.planned.round == round);
                own().all(|run| run.status != Status::Open)
                    && own().any(|run| !matches!(run.status, Status::Failed(_)))
            };
            first = first.min((1..=rounds).find(|round| !whole(*round)).unwrap_or(first));
            let kernel = recording.sessions.first().map(|hello| kernel_of(&hello.environment));
            sides.push(Side { id: id.clone(), plan, writer, kernel, is_described: true });
        }
        Ok((sides, first))
    }

    /// The recording of a setting, or of the pilot, with all of its runs drawn.
    pub(super) fn side(
        &self,
        store: &Store,
        number: Option<usize>,
        rounds: RangeInclusive<u32>,
        experiment: &str,
        random: &mut StdRng,
    ) -> Result<Side, Error> {
        let setting = number.map_or("pilot", |number| self.settings[number].as_str());
        let mut runs: Vec<RunPlan> = Vec::new();
        let mut metrics = Vec::new();
        for round in rounds {
            let budget = Some(self.slice);
            // What is to be the same to the last byte has one order and one layout.
            let mut same = StdRng::seed_from_u64(1);
            let random = if self.is_exact() { &mut same } else { &mut *random };
            let one = crate::plan::make(&self.probes, 1, budget, self.measured.clone(), true, random);
            metrics = one.metrics;
            let command =
                |outcome: &Outcome| RunPlan::new(RunId(0), round, Name::new(&outcome.name), Nanos::ZERO);
            let program = number.and_then(|number| self.programs.get(number));
            let program = program.map(|program| program.planned(round, random));
            for run in one.runs.into_iter().chain(self.outcomes.iter().map(command)).chain(program) {
                runs.push(RunPlan { id: RunId(runs.len() as u32), round, ..run });
            }
        }
        metrics.extend(self.outcomes.iter().map(Outcome::metric));
        metrics.extend(
            number.and_then(|number| self.programs.get(number)).map(Program::metrics).into_iter().flatten(),
        );
        let settings = number.map_or_else(|| self.measured.clone(), |number| self.given(number));
        let plan = Plan { settings, metrics, runs };
        let meta = Meta {
            format: FORMAT,
            id: Id::random(),
            name: format!("{}:{setting}", self.name),
            created: jiff::Timestamp::now(),
            program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
            select: self.commands(),
            plan: plan.clone(),
            arm: Some(Arm {
                experiment: experiment.to_owned(),
                knob: self.knob_name.clone(),
                setting: setting.to_owned(),
                number: number.map_or(0, |number| number as u32),
                pilot: number.is_none(),
                looks: if number.is_some() { self.looks.clone() } else { Vec::new() },
                primary: self.primary.clone(),
            }),
            target: None,
        };
        let writer = store.create(&meta)?;
        Ok(Side { id: meta.id, plan, writer, kernel: None, is_described: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_length_is_another_boot() {
        let with = |name: &str, value: &str| {
            let mut facts = tickmark_wire::Environment::default();
            facts.know("kernel.release", "uname(2)", "6.1");
            facts.know(name, "tickmark lab", value);
            kernel_of(&facts)
        };
        let file = |value| with("guest.file.bin/load", value);
        assert_ne!(file("9 bytes, SHA-256 0a"), file("9 bytes, SHA-256 0b"));
        assert_ne!(file("9 bytes, SHA-256 0a"), with("guest.module.load", "9 bytes, SHA-256 0c"));
        assert_eq!(file("9 bytes, SHA-256 0a"), file("9 bytes, SHA-256 0a"));
    }
}
