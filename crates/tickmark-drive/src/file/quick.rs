//! The short form of an experiment.

use super::File;
use serde::Deserialize;

/// What a short form of the experiment has instead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    blocks: Option<u32>,
    slice: Option<String>,
    budget: Option<String>,
    /// Instead of the file's probes; machines keep their own.
    #[serde(default)]
    probes: Vec<String>,
    /// Machines that are booted, each at its first speed.
    #[serde(default)]
    machines: Vec<String>,
    /// Settings that are measured.
    #[serde(default)]
    settings: Vec<String>,
}

impl File {
    /// Takes what the short form has.
    pub(super) fn shorten(&mut self, quick: Quick) -> Result<(), String> {
        let Quick { blocks, slice, budget, probes, machines, settings } = quick;
        let known = |name: &String| self.machine.iter().any(|machine| machine.name == *name);
        let other = |name: &String| self.setting.iter().any(|setting| setting.name == *name);
        let unknown = machines.iter().find(|name| !known(name));
        if let Some(name) = unknown.or_else(|| settings.iter().find(|name| !other(name))) {
            return Err(format!("quick: no machine or setting {name}"));
        }
        self.blocks = blocks.or(self.blocks);
        self.slice = slice.or_else(|| self.slice.take());
        self.budget = budget.or_else(|| self.budget.take());
        if !machines.is_empty() {
            self.machine.retain(|machine| machines.contains(&machine.name));
            self.machine.iter_mut().for_each(|machine| machine.speeds.truncate(1));
            self.speeds.truncate(1);
        }
        if !settings.is_empty() {
            self.setting.retain(|setting| settings.contains(&setting.name));
        }
        for machine in &mut self.machine {
            machine.blocks = blocks.or(machine.blocks);
            machine.explain.truncate(1);
        }
        if !probes.is_empty() {
            self.probes = probes;
        }
        Ok(())
    }
}
